"""Questions that a hostile server may send: honest ones with wild numbers, and mutations of them.

Every object is made past its own checks, as another installation would send it. What the wire and
the checks of the client let through must still keep its bound.
"""

import dataclasses
import math

import numpy as np

from voile import Category, Number, Schema, Unit
from voile.models.ebm.cyclic import LeafSums
from voile.models.ebm.grid_counts import GridCounts
from voile.models.ebm.misses import MissSizes
from voile.models.ebm.objectives import EXPOSED, LINK_OF, SQUARED, Aim
from voile.models.ebm.pair_cells import PairCells
from voile.models.ebm.pairs import GROUPS, PairCounts
from voile.models.ebm.queries import BinLayout, ResidualSizes, ResidualSums
from voile.models.locally_linear.inputs import Inputs, KeptPoints
from voile.models.locally_linear.pictures import STILL, Move, SmoothBasis
from voile.models.locally_linear.projections import KeptSquares, ProjectedSteps
from voile.models.locally_linear.queries import ClassPoints, Directions, MapSteps
from voile.models.lvq.metric_steps import MetricPulls
from voile.models.lvq.plain import MarginCosts
from voile.models.lvq.queries import ClassSums, ClusterSums, Lengths, Moments, Pulls
from voile.models.lvq.space import Space
from voile.models.networks.architectures import Description, parameter_count, register
from voile.models.networks.images import KeptImages, Standard
from voile.models.networks.queries import Brightness, NetworkSteps
from voile.models.pixels import PixelRanges
from voile.models.public_numbers import feature_count
from voile.privacy.discovery import LogCells, TreeCells
from voile.privacy.queries import TARGET, CategoryCounts, NumberCounts, Query, RowCount, Together

FLOATS = [0.0, -0.0, 5e-324, -1e-310, 1e-300, 1e-154, 1e-9, 0.5, 1.0, -1.0, 1.0000001, 8.0, 255.0]
FLOATS += [2.0**15, 2.0**31, 2.0**53, 2.0**62, 2.0**63, -(2.0**63), 1e99, 1e150, 1e300, -1e300]
FLOATS += [1.7e308, math.nan, math.inf, -math.inf]
INTS = [0, 1, -1, 2, 3, 4, 7, 8, 16, 63, 64, 65, 255, 2**15 - 1, 2**15, -(2**15), 2**16, 2**24]
INTS += [2**31, 2**32, 2**53, 2**62, 2**63 - 1, -(2**63), 2**64]
DTYPES = [np.float32, np.float64, np.int64, np.int32, np.uint8, np.bool_, np.uint64, np.float16]

NUMBERS = {"n": Number(-2, 3), "u": Number(-1e3, 1e3)}
FEATURES = {**NUMBERS, "c": Category(["a", "b", 1])}
PIXELS = {f"p{i}": Number(0, 255) for i in range(4)}
TWO, THREE = Category(["a", "b"]), Category(["a", "b", 1])

OWN = {
    "two": Schema(FEATURES, target=TWO),
    "three": Schema(FEATURES, target=THREE),
    "number": Schema(FEATURES, target=Number(-2, 3)),
    "counts": Schema({**FEATURES, "u": Number(0.5, 1e3)}, target=Number(0, 4)),
    "open": Schema({"n": Number(), "u": Number(), "c": Category()}, target=Category()),
    "pictures": Schema(PIXELS, target=TWO),
    "units": Schema(FEATURES, target=TWO, unit=Unit("who", rows=2)),
    "weighted": Schema(FEATURES, target=TWO),
}
"""What clients have said of their tables."""

NUMBERED = ("number", "counts")
"""Those whose target is a number."""

COMPLETE = {**OWN, "open": Schema(FEATURES, target=TWO)}

ODD_COLUMNS = [Number(0, 5e-324), Number(-8e307, 8e307), Number(1e15, 1e15 + 1), Number(0, 1)]
ODD_COLUMNS += [Number(0, 255, whole=True), Number(-2, 3, missing=False), Number()]
ODD_COLUMNS += [Category([]), Category(["a"]), Category(["zzz", "a", 1, 7]), Category(range(40))]
ODD_COLUMNS += [Category(["a", "b"], missing=False), Category()]


class TinyNetwork:
    """The smallest network that is worth a gradient."""

    def __call__(self, shape, classes):
        from torch import nn

        return nn.Sequential(nn.Flatten(), nn.Linear(math.prod(shape), classes))


NETWORK = "hostile tiny"
register(NETWORK, TinyNetwork())


def forged(cls, **fields):
    """An object whose own checks were passed over; fields that are not named have defaults."""
    result = object.__new__(cls)
    for one in dataclasses.fields(cls):
        value = fields.pop(one.name) if one.name in fields else one.default
        object.__setattr__(result, one.name, value)
    assert not fields, fields
    return result


@dataclasses.dataclass(frozen=True, eq=False)
class Case:
    """One question: the client it is for, and what the server sends."""

    own: str
    schema: Schema
    preparations: tuple
    query: object


class Chance:
    """A seeded generator with the few draws that are needed here."""

    def __init__(self, seed):
        self.generator = np.random.default_rng(seed)

    def below(self, n):
        return int(self.generator.integers(n))

    def pick(self, values):
        values = list(values)
        return values[self.below(len(values))]

    def of(self, share):
        return self.generator.random() < share

    def array(self, shape, *pools):
        """Numbers of one pool, or normal ones at some scale."""
        pool = self.pick(pools) if pools and self.of(0.6) else None
        if pool is None:
            scale = self.pick([1e-6, 1e-2, 0.3, 1.0, 1.0, 1.0, 30.0])
            return self.generator.normal(size=shape) * scale
        return self.generator.choice(np.array(pool, dtype=np.float64), shape)

    def wholes(self, low, high, shape):
        return self.generator.integers(low, high, shape, dtype=np.int64)


# -- honest questions, with numbers as wild as the checks let them be ------------------------------


def schema_for(rng, own, *, plain):
    """The job's schema: the client's, completed, or with other bounds and levels."""
    schema = COMPLETE[own]
    if plain or rng.of(0.6):
        return schema
    columns = dict(schema)
    for name in list(columns):
        if rng.of(0.3):
            kind = type(columns[name])
            known = [one for one in ODD_COLUMNS if type(one) is kind and one.known]
            columns[name] = rng.pick(known)
    target = schema.target
    if rng.of(0.2):
        known = [one for one in ODD_COLUMNS if type(one) is type(target) and one.known]
        target = rng.pick(known)
    if rng.of(0.2) and len(columns) > 1:
        del columns[rng.pick(columns)]
    return Schema(columns, target=target, rows=schema.rows, unit=schema.unit)


def classes_of(schema):
    return len(schema.target.levels or ()) if isinstance(schema.target, Category) else 0


def space_of(rng, schema):
    features = feature_count(schema)
    wild = [-1.0, -0.3, 0.0, 1.0, 30.0, 1e9]
    centre = rng.array(features, wild, [*wild, 1e300, -1.7e308, 5e-324])
    omega = None
    if rng.of(0.4):
        scale = rng.pick([1.0, 1.0, 1e-6, 1e6, 1e-300, 1e300])
        omega = rng.generator.normal(size=(rng.pick([1, 2, features, 7]), features)) * scale
    radius = rng.pick([1.0, 0.4, 2.3, 1e-3, 1e3, 1e-12, 1e12, 5e-324, 1e-300, 1e300])
    return forged(Space, schema=schema, centre=centre, radius=radius, omega=omega)


def size_of(space):
    return len(space.centre) if space.omega is None else len(space.omega)


def prototypes_of(rng, space):
    count, size = rng.pick([1, 2, 2, 3, 5]), size_of(space)
    values = np.clip(rng.array((count, size), [-1.0, 0.0, 1.0], [1.0]), -1.0, 1.0)
    if rng.of(0.2):
        values[:] = values[0]
    labels = rng.wholes(0, max(classes_of(space.schema), 1), count)
    return {"layout": space, "prototypes": values, "labels": labels}


def class_sums(rng, schema):
    space = space_of(rng, schema)
    return (space,), forged(ClassSums, layout=space, scatter=rng.of(0.5))


def lengths(rng, schema):
    space = space_of(rng, schema)
    shape = (rng.pick([1, 2, 5]), size_of(space))
    matrix = rng.generator.normal(size=shape) * rng.pick([1.0, 1.0, 1e-9, 1e9, 1e150, 1e300])
    cap = rng.pick([1.0, 4.0, 0.3, 1e-9, 1e9, 1e-139, 1e139])
    return (space,), forged(Lengths, layout=space, matrix=matrix, cap=cap)


def cluster_sums(rng, schema):
    space = space_of(rng, schema)
    return (space,), forged(ClusterSums, **prototypes_of(rng, space))


def pulls(rng, schema):
    space = space_of(rng, schema)
    more = {
        "rule": rng.pick(["glvq", "lvq1"]),
        "slope": rng.pick([1.0, 15.0, 1e-300, 1e-4, 9e5]),
        "clip": rng.pick([1.0, 0.5, 8.0, 1e-6, 1e-139]),
        "weight": rng.pick([1.0, 1.0, 1e-300, 9e5]),
        "lot": (0, 2) if rng.of(0.1) else None,
    }
    return (space,), forged(Pulls, **prototypes_of(rng, space), **more)


def metric_pulls(rng, schema):
    space = space_of(rng, schema)
    size = size_of(space)
    shape = (rng.pick([size, 1, 9]), size)
    more = {
        "slope": rng.pick([1.0, 15.0, 1e-300, 9e5]),
        "clip": rng.pick([1.0, 0.5, 8.0, 1e-6, 1e-139]),
        "omega": rng.generator.normal(size=shape) * rng.pick([1.0, 0.0, 1e-150, 1e150, 1e300]),
        "lot": (0, 2) if rng.of(0.1) else None,
    }
    return (space,), forged(MetricPulls, **prototypes_of(rng, space), **more)


def costs(rng, schema):
    space = space_of(rng, schema)
    slope = rng.pick([1.0, 15.0, 1e-99, 1e-4, 9e5])
    return (space,), forged(MarginCosts, **prototypes_of(rng, space), slope=slope)


def moments(rng, schema):
    return (), forged(Moments, schema=schema)


def layout_of(rng, schema, link=None):
    target = schema.target
    if link is None:
        links = {2: ["logit", "softmax", "logit"]}.get(classes_of(schema), ["softmax"])
        link = "identity" if isinstance(target, Number) else rng.pick(links)
    aim = aim_of(rng, schema)
    if isinstance(target, Number) and rng.of(0.95):
        link = LINK_OF[aim.objective]
    cuts, widths = [], []
    for name, column in schema.items():
        if name == aim.exposure:
            continue
        if isinstance(column, Category):
            own = np.zeros(0)
            widths.append(len(column.levels or ()) + 2 - (1 if rng.of(0.2) else 0))
        else:
            own = np.unique(rng.array(rng.pick([0, 1, 3, 6]), [-2.0, 0.0, 1.0, 1e300, -1e-310]))
            widths.append(len(own) + rng.pick([2, 2, 1, 5]))
        cuts.append(own)
    offsets = np.cumsum([0, *widths]).astype(np.int64)
    own = {"schema": schema, "link": link, "cuts": tuple(cuts), "offsets": offsets}
    return forged(BinLayout, **own, aim=aim)


def aim_of(rng, schema):
    """What a regression is to tell; now and then of a target or exposure that does not suit it."""
    target = schema.target
    if not isinstance(target, Number):
        return SQUARED if rng.of(0.95) else forged(Aim, objective="poisson")
    positive = target.lower is not None and target.lower >= 0
    objective = rng.pick(["squared", "squared", "quantile", "poisson", "gamma"])
    if objective in EXPOSED and not positive and rng.of(0.9):
        objective = "quantile"
    quantile = rng.pick([0.5, 0.5, 0.01, 0.9, -1.0])
    exposure = None
    if len(schema.numbers) and rng.of(0.3 if objective in EXPOSED else 0.05):
        exposure = rng.pick(schema.numbers)
    return forged(Aim, objective=objective, quantile=quantile, exposure=exposure)


def pairs_of(rng, layout):
    """Grids of pairs; now and then with parts, columns or bins that are not there."""
    widths = np.diff(layout.offsets)
    result = []
    for _ in range(rng.pick([0, 0, 1, 2])):
        first, second = rng.below(len(widths)), rng.below(len(widths))
        if rng.of(0.9):
            first, second = min(first, second), max(first, second)
        height, width = rng.pick([1, 2, 3, 20]), rng.pick([1, 2, 4, 64])
        rows = rng.wholes(0, rng.pick([height] * 8 + [200]), int(widths[first]))
        columns = rng.wholes(0, rng.pick([width] * 8 + [1]), int(widths[second]))
        own = {"rows": rows, "columns": columns, "height": height, "width": width}
        result.append(forged(PairCells, first=first, second=second, **own))
    return tuple(result)


def state_of(rng, layout, pairs=()):
    outputs = max(classes_of(layout.schema), 1) if layout.link == "softmax" else 1
    cells = int(layout.offsets[-1]) + sum(one.height * one.width for one in pairs)
    scores = rng.array((cells, outputs), [-8.0, 0.0, 700.0], [9e99, -9e99, 0.0, 1e-300])
    return {"layout": layout, "scores": scores, "intercept": rng.array(outputs, [0.0, 9e99])}


def residual_sums(rng, schema):
    layout = layout_of(rng, schema)
    pairs = pairs_of(rng, layout)
    widths = [*np.diff(layout.offsets), *(one.height * one.width for one in pairs)]
    mixing, excess = [], rng.pick([1.0] * 6 + [1.5, 40.0])
    for width, share in zip(widths, rng.generator.dirichlet(np.ones(len(widths))), strict=True):
        most = excess * 4096 * math.sqrt(share)
        if rng.of(0.5) or width > 100:
            one = np.trunc(rng.generator.choice([-1.0, 1.0], width) * most)
        else:
            one = rng.generator.normal(size=(rng.pick([width, width, 1]), width))
            one = np.trunc(one / np.linalg.norm(one, axis=0) * most)
        mixing.append(one.astype(np.int64))
    cap = rng.pick([0.5, 1.0, 2.0, 1e-9, 1e9, 1e-139, 1e139])
    state = {**state_of(rng, layout, pairs), "pairs": pairs}
    width = rng.pick([1.0, 1.0, 0.5, 15.0, 1e6, 1e-9, -1.0])
    return (layout,), forged(ResidualSums, **state, cap=cap, mixing=tuple(mixing), width=width)


def residual_sizes(rng, schema):
    layout = layout_of(rng, schema)
    pairs = pairs_of(rng, layout)
    return (layout,), forged(ResidualSizes, **state_of(rng, layout, pairs), pairs=pairs)


def miss_sizes(rng, schema):
    layout = layout_of(rng, schema)
    pairs = pairs_of(rng, layout)
    return (layout,), forged(MissSizes, **state_of(rng, layout, pairs), pairs=pairs)


def grid_counts(rng, schema):
    layout = layout_of(rng, schema)
    return (layout,), forged(GridCounts, layout=layout, pairs=pairs_of(rng, layout))


def leaf_sums(rng, schema):
    link = rng.pick(["logit", "logit", None]) if classes_of(schema) == 2 else None
    layout = layout_of(rng, schema, link)
    term = rng.below(len(layout.offsets) - 1)
    leaf = rng.wholes(0, rng.pick([1, 3, 50]), int(np.diff(layout.offsets)[term]))
    return (layout,), forged(LeafSums, **state_of(rng, layout), term=term, leaf=leaf)


def pair_counts(rng, schema):
    layout = layout_of(rng, schema)
    groups = rng.wholes(0, rng.pick([GROUPS, 1]), int(layout.offsets[-1]))
    return (layout,), forged(PairCounts, layout=layout, groups=groups)


def inputs_of(rng, schema, *, basis=True):
    pictures = set(schema) == set(PIXELS)
    shape = (2, 2, 1) if pictures and rng.of(0.8) else None
    own = None
    if shape is not None and basis and rng.of(0.5):
        width = rng.pick([5.5, 1.0, 1e-9, 1e9])
        own = forged(SmoothBasis, shape=shape, cut=rng.pick([1, 2]), width=width)
    features = feature_count(schema)
    size = features if own is None else {1: 1, 2: 4}[own.cut]
    return forged(
        Inputs,
        schema=schema,
        picture=shape,
        basis=own,
        root=rng.of(0.5) and shape is not None,
        normalise=rng.of(0.6),
        centre=rng.array(size, [-1.0, 0.0, 0.3, 30.0], [0.0], [1e300, -1.7e308, 0.0]),
        radius=np.abs(rng.array(size, [1.0], [1e-9, 1.0, 3.0, 1e9], [5e-324, 1e308])) + 5e-324,
        filling=rng.array(features, [0.0], [-1.0, 1.0, 0.5], [1e300, 0.0]),
    )


def size_of_inputs(inputs):
    return len(inputs.centre)


def copies_of(rng, inputs):
    if inputs.picture is None or rng.of(0.4):
        return (STILL,) * (1 if rng.of(0.8) else 3)
    moves = [STILL, Move(down=1), Move(right=-0.3), Move(turn=40), Move(shear=0.7), Move(turn=-180)]
    moves += [Move(down=1e4, turn=9e3), Move(shear=-1e4)]
    return tuple(rng.pick(moves) for _ in range(rng.pick([1, 2, 5, 9])))


def weights_of(rng, shape):
    return rng.array(shape, [0.0], [9e11, -9e11, 0.0], [-1.0, 1.0], [1e6, 1e-300])


def steps_of(rng):
    return {
        "beta": rng.pick([0.1, 0.0, 1.0, 50.0, 9e3]),
        "bias": rng.pick([0.3, 0.0, 1.0, 1e-3]),
        "clip": rng.pick([1.0, 0.05, 1e-3, 1e-6, 1e3, 1e4, 1e-139]),
        "lot": (1, 2) if rng.of(0.1) else None,
    }


def map_steps(rng, schema):
    inputs = inputs_of(rng, schema)
    copies = copies_of(rng, inputs)
    maps = rng.pick([1, 2, 5])
    shape = (max(classes_of(schema), 1), maps, size_of_inputs(inputs) + 1)
    chosen = None
    if rng.of(0.4):
        chosen = tuple(rng.below(len(copies)) for _ in range(rng.pick([1, 2, 5])))
    kept = forged(KeptPoints, layout=inputs, copies=copies)
    query = {"layout": inputs, "weights": weights_of(rng, shape), "chosen": chosen}
    return (kept,), forged(MapSteps, **query, **steps_of(rng))


def projected_steps(rng, schema):
    inputs = inputs_of(rng, schema)
    size, maps, seen = size_of_inputs(inputs), rng.pick([1, 2, 3]), rng.pick([1, 2, 4])
    shape = (rng.pick([1, maps]), seen, size)
    most = rng.pick([512, 512, 2**15, 2**15, 2])
    if rng.of(0.15):
        most = rng.pick([2**15 + 1, 2**20, 2**31, 2**45, 2**62])
    drawn = rng.wholes(-most + 1, most, shape)
    if rng.of(0.4):
        drawn = np.where(drawn < 0, -most + 1, most - 1)
    if most > 2**15 and size > 1 and rng.of(0.7):
        # Rows at two corners cancel: no length, a large coefficient, and products that round.
        drawn[...] = 0
        drawn[..., 0], drawn[..., 1] = most - 1 + 12346, -most + 1 - 12346
        inputs = substitute(inputs, inputs.centre, np.zeros(size))
        inputs = substitute(inputs, inputs.radius, np.ones(size))
    weights = weights_of(rng, (max(classes_of(schema), 1), maps, seen + 1)) * 1e-9
    points = forged(KeptPoints, layout=inputs, copies=(STILL,))
    query = {"layout": inputs, "weights": weights, "projections": drawn}
    squares = forged(KeptSquares, projections=drawn)
    prepared = (points, squares)
    if rng.of(0.25):
        # Lengths of shorter projections, of other points, or of one copy among several.
        several = forged(KeptPoints, layout=inputs, copies=(STILL,) * 2)
        other = forged(KeptPoints, layout=inputs_of(rng, schema), copies=(STILL,))
        prepared = rng.pick(
            [
                (points, forged(KeptSquares, projections=drawn // 64)),
                (other, squares, points),
                (several, squares),
                (points, squares, several),
                (points, squares, forged(KeptSquares, projections=drawn * 0)),
            ]
        )
        query["chosen"] = rng.pick([None, None, (0, 0), (0,)])
    return prepared, forged(ProjectedSteps, **query, **steps_of(rng))


def class_points(rng, schema):
    inputs = inputs_of(rng, schema)
    kept = forged(KeptPoints, layout=inputs, copies=copies_of(rng, inputs))
    return (kept,), forged(ClassPoints, layout=inputs)


def directions(rng, schema):
    return (), forged(Directions, layout=inputs_of(rng, schema))


def pixel_ranges(rng, schema):
    numbers = [name for name, one in schema.items() if isinstance(one, Number)]
    return (), forged(PixelRanges, columns=tuple(numbers[: rng.below(len(numbers) + 1)]))


def number_of(rng, schema):
    return rng.pick([name for name, one in schema.items() if isinstance(one, Number)] or ["n"])


def row_count(rng, schema):
    size = rng.pick([1, 1, 3, 1000])
    return (), forged(RowCount, columns=tuple(schema) if rng.of(0.2) else (), size=size)


def category_counts(rng, schema):
    named = {name: one for name, one in schema.items() if isinstance(one, Category)}
    if classes_of(schema):
        named[TARGET] = schema.target
    name = rng.pick(named or ["c"])
    column = named.get(name, Category(()))
    return (), forged(CategoryCounts, column=name, listed=len(column.levels or ()))


def number_counts(rng, schema):
    cuts = rng.array(rng.below(6), [-math.inf, 0.0, math.inf], [-1e308, 5e-324, 1e308])
    column = number_of(rng, schema)
    return (), forged(NumberCounts, column=column, cuts=tuple(np.unique(cuts).tolist()))


def tree_cells(rng, schema):
    ends = rng.pick([(-2.0, 3.0), (0.0, 5e-324), (-1e308, 1e308), (-1.0, 1e-310), (5.0, 6.0)])
    return (), forged(TreeCells, column=number_of(rng, schema), lower=ends[0], upper=ends[1])


def log_cells(rng, schema):
    return (), forged(LogCells, column=number_of(rng, schema))


def together(rng, schema):
    makers = [row_count, category_counts, number_counts, tree_cells, log_cells, moments]
    makers += [class_sums, pulls, residual_sums]
    prepared, parts = (), []
    for _ in range(rng.pick([1, 2, 3])):
        more, one = rng.pick(makers)(rng, schema)
        prepared += more
        parts.append(one)
    query = forged(Together, parts=tuple(parts))
    return prepared, forged(Together, parts=(query,)) if rng.of(0.2) else query


def images(rng, schema):
    kept = forged(KeptImages, schema=schema)
    ends = {(one.lower, one.upper) for one in schema.values() if isinstance(one, Number)}
    return kept, 8 if ends == {(0.0, 255.0)} else 16


def brightness(rng, schema):
    kept, bits = images(rng, schema)
    return (kept,), forged(Brightness, channels=rng.pick([1, 2, 4, len(schema)]), bits=bits)


def network_steps(rng, schema):
    kept, bits = images(rng, schema)
    shape, classes = (1, 1, max(len(schema), 1)), max(classes_of(schema), 2)
    count = parameter_count(Description(NETWORK, shape, classes, 0))
    wild = [rng.pick([0.0, 0.5, 1e300, -1e9])]
    standard = forged(Standard, means=tuple(wild), spreads=(rng.pick([1.0, 1e-6]),), bits=bits)
    more = {}
    if rng.of(0.3):
        more["groups"] = rng.wholes(0, 2, count)
        more["scales"] = tuple(rng.pick([1.0, 1e-9, 1e9]) for _ in range(2))
        more["clips"] = tuple(rng.pick([1.0, 1e-9, 1e9]) for _ in range(2))
    if rng.of(0.2):
        more["mask"] = np.flatnonzero(rng.generator.random(count) < 0.5).astype(np.int64)
    if rng.of(0.1):
        more["turn" if rng.of(0.5) else "exact"] = (0, 2) if "turn" in more else False
    query = forged(
        NetworkSteps,
        architecture=NETWORK,
        image_shape=shape,
        classes=classes,
        seed=0,
        weights=weights_of(rng, count),
        standard=standard,
        clip=rng.pick([1.0, 1e-9, 1e9, 1e-3]),
        **more,
    )
    return (kept,), query


MAKERS = {
    RowCount: row_count,
    CategoryCounts: category_counts,
    NumberCounts: number_counts,
    TreeCells: tree_cells,
    LogCells: log_cells,
    Together: together,
    Moments: moments,
    ClassSums: class_sums,
    Lengths: lengths,
    ClusterSums: cluster_sums,
    Pulls: pulls,
    MetricPulls: metric_pulls,
    MarginCosts: costs,
    ResidualSums: residual_sums,
    ResidualSizes: residual_sizes,
    MissSizes: miss_sizes,
    LeafSums: leaf_sums,
    PairCounts: pair_counts,
    GridCounts: grid_counts,
    PixelRanges: pixel_ranges,
    Directions: directions,
    ClassPoints: class_points,
    MapSteps: map_steps,
    ProjectedSteps: projected_steps,
    Brightness: brightness,
    NetworkSteps: network_steps,
}
"""How to make a question of each kind; a new sendable query needs a line here."""

OF_PIXELS = (Brightness, NetworkSteps)


def honest_case(rng, kind, *, plain=False):
    """A question that an honest server might send, but for its numbers."""
    names = ["two", "two", "three", "open", "units", "pictures", "weighted", *NUMBERED]
    if kind in OF_PIXELS:
        names = ["pictures"]
    elif kind in (ResidualSizes, MissSizes):
        names = [*NUMBERED]
    own = rng.pick(names)
    schema = schema_for(rng, own, plain=plain)
    prepared, query = MAKERS[kind](rng, schema)
    return Case(own, schema, tuple(prepared), query)


# -- mutations -------------------------------------------------------------------------------------


def substitute(value, old, new):
    """A copy in which an object is another one wherever it stands; shared parts stay shared."""
    if value is old:
        return new
    if isinstance(value, tuple):
        found = tuple(substitute(one, old, new) for one in value)
        same = all(a is b for a, b in zip(found, value, strict=True))
        return value if same else found
    if isinstance(value, Schema) or not dataclasses.is_dataclass(value):
        return value
    fields = {one.name: getattr(value, one.name) for one in dataclasses.fields(value) if one.init}
    found = {name: substitute(one, old, new) for name, one in fields.items()}
    if all(found[name] is one for name, one in fields.items()):
        return value
    return forged(type(value), **found)


def mutated(rng, value, depth=0):
    """Something else of about the same kind, or of another."""
    if rng.of(0.06):
        return rng.pick([None, True, 0, 1.5, "a", (), b"a", np.zeros(0), math.nan, -(2**63)])
    match value:
        case bool():
            return not value
        case int():
            return rng.pick(INTS) if rng.of(0.7) else value + rng.pick([-1, 1])
        case float():
            return rng.pick(FLOATS) if rng.of(0.8) else rng.pick(INTS)
        case str():
            return rng.pick(["", "n", "c", "zzz", TARGET, "softmax", "logit", "identity", "\ud800"])
        case tuple():
            return _mutated_tuple(rng, value, depth)
        case np.ndarray():
            return _mutated_array(rng, value)
        case Schema():
            return odd_schema(rng, value)
        case None:
            return rng.pick([0, 1.0, np.eye(3), (0, 1), (0,), (0, 0), np.zeros(4, np.int64)])
    if dataclasses.is_dataclass(value):
        return mutated_object(rng, value, depth + 1)
    return None


def _mutated_tuple(rng, value, depth):
    kind = rng.below(4)
    if kind == 0 or not value:
        return (*value, rng.pick(value)) if value else (rng.pick([0, 1.0, "a"]),)
    place = rng.below(len(value))
    if kind == 1:
        return (*value[:place], *value[place + 1 :])
    if kind == 2 and len(value) < 50:
        return value * rng.pick([2, 40])
    return (*value[:place], mutated(rng, value[place], depth + 1), *value[place + 1 :])


def _mutated_array(rng, value):
    match rng.below(9):
        case 0:
            with np.errstate(all="ignore"):
                return value.astype(rng.pick(DTYPES))
        case 1:
            return value[..., :-1] if value.ndim else value[None]
        case 2:
            return value[None] if rng.of(0.5) else value.reshape(-1)
        case 3:
            return value[:0] if value.ndim else value
        case 4:
            return np.concatenate([value, value]) if value.ndim else value
        case 5:
            return np.ascontiguousarray(value.T)
    if not value.size:
        return np.zeros(3, dtype=value.dtype)
    result = value.copy()
    places = rng.wholes(0, result.size, rng.pick([1, 1, result.size]))
    pool = FLOATS
    if result.dtype.kind in "iu":
        pool = [
            one for one in INTS if np.iinfo(result.dtype).min <= one <= np.iinfo(result.dtype).max
        ]
    with np.errstate(over="ignore"):  # into few bits
        result.reshape(-1)[places] = rng.pick(pool)
    return result


def mutated_object(rng, value, depth=0):
    """A copy of a dataclass with one or two fields changed."""
    fields = {one.name: getattr(value, one.name) for one in dataclasses.fields(value) if one.init}
    for _ in range(rng.pick([1, 1, 2])):
        name = rng.pick(fields)
        if depth < 3:
            fields[name] = mutated(rng, fields[name], depth)
    return forged(type(value), **fields)


def odd_schema(rng, schema):
    """Kinds changed, levels unlisted, bounds tiny or huge, columns missing, repeated or others."""
    columns, target, unit = dict(schema), schema.target, schema.unit
    match rng.below(7):
        case 0 if columns:
            columns[rng.pick(columns)] = rng.pick(ODD_COLUMNS)
        case 1:
            target = rng.pick([*ODD_COLUMNS, None])
        case 2 if columns:
            del columns[rng.pick(columns)]
        case 3:
            columns["another"] = rng.pick(ODD_COLUMNS)
        case 4:
            columns = dict(reversed(columns.items()))
        case 5:
            return rng.pick(list(COMPLETE.values()))
        case _:
            unit = None if unit is not None else Unit("who", rows=rng.pick([1, 2, 9]))
    return Schema(columns, target=target, rows=schema.rows, unit=unit)


def layouts_in(case):
    """Everything in a case that is a dataclass and no query: preparations, layouts, bases."""
    found = []

    def walk(value):
        if isinstance(value, tuple):
            for one in value:
                walk(one)
        elif dataclasses.is_dataclass(value) and not isinstance(value, Schema):
            if not isinstance(value, Query) and not any(value is one for one in found):
                found.append(value)
            for one in dataclasses.fields(value):
                walk(getattr(value, one.name))

    walk((case.preparations, case.query))
    return found


def mutated_case(rng, case):
    """A case with something changed: in the query, a layout, the schema, or what is prepared."""
    kind, inside = rng.below(9), layouts_in(case)
    if kind <= 2 or (kind <= 5 and not inside):
        query = mutated_object(rng, case.query)
        return dataclasses.replace(case, query=query)
    if kind <= 5:
        old = rng.pick(inside)
        new = mutated_object(rng, old)
        # Everywhere, or on one side alone.
        where = rng.pick(["both", "both", "both", "query", "preparations"])
        query, prepared = case.query, case.preparations
        if where != "preparations":
            query = substitute(query, old, new)
        if where != "query":
            prepared = substitute(prepared, old, new)
        return dataclasses.replace(case, query=query, preparations=prepared)
    if kind == 6:
        new = odd_schema(rng, case.schema)
        if rng.of(0.4):
            return dataclasses.replace(case, schema=new)
        query, prepared = (
            substitute(one, case.schema, new) for one in (case.query, case.preparations)
        )
        return dataclasses.replace(case, schema=new, query=query, preparations=prepared)
    return dataclasses.replace(case, preparations=_odd_preparations(rng, case))


def _odd_preparations(rng, case):
    """Stale ones, others, repeated ones, in another order, or too few."""
    prepared = list(case.preparations)
    other, _ = MAKERS[rng.pick([ClassSums, ResidualSums, MapSteps, ProjectedSteps])](
        rng, case.schema
    )
    match rng.below(5):
        case 0:
            prepared = [*other, *prepared]
        case 1:
            prepared = [*prepared, *other]
        case 2:
            prepared = [*prepared, *prepared]
        case 3:
            prepared = prepared[::-1] if len(prepared) > 1 else prepared[:-1]
        case _:
            prepared = prepared[:-1]
    return tuple(prepared)


def draw_case(seed, kind=None, *, mutate=0.5):
    """The case of a seed; about half of them are mutated."""
    rng = Chance(seed)
    drawn = rng.pick(MAKERS)
    case = honest_case(rng, kind or drawn)
    if rng.of(mutate):
        case = mutated_case(rng, case)
        if rng.of(0.2):
            case = mutated_case(rng, case)
    return case

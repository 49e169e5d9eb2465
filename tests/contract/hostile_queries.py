"""Questions that a hostile server may send: honest ones with wild numbers, and mutations of them.

Every object is made past its own checks, as another installation would send it. What the wire and
the checks of the client let through must still keep its bound.
"""

import dataclasses
import math

import numpy as np

from voile import Category, Number, Schema, Unit
from voile.federated.networks.architectures import Description, parameter_count, register
from voile.federated.networks.images import KeptImages, Standard
from voile.federated.networks.queries import Brightness, NetworkSteps
from voile.models.ebm.cyclic import LeafSums
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
    "open": Schema({"n": Number(), "u": Number(), "c": Category()}, target=Category()),
    "pictures": Schema(PIXELS, target=TWO),
    "units": Schema(FEATURES, target=TWO, unit=Unit("who", rows=2)),
    "weighted": Schema(FEATURES, target=TWO),
}
"""What clients have said of their tables."""

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


def schema_for(chance, own, *, plain):
    """The job's schema: the client's, completed, or with other bounds and levels."""
    schema = COMPLETE[own]
    if plain or chance.of(0.6):
        return schema
    columns = dict(schema)
    for name in list(columns):
        if chance.of(0.3):
            kind = type(columns[name])
            known = [one for one in ODD_COLUMNS if type(one) is kind and one.known]
            columns[name] = chance.pick(known)
    target = schema.target
    if chance.of(0.2):
        known = [one for one in ODD_COLUMNS if type(one) is type(target) and one.known]
        target = chance.pick(known)
    if chance.of(0.2) and len(columns) > 1:
        del columns[chance.pick(columns)]
    return Schema(columns, target=target, rows=schema.rows, unit=schema.unit)


def classes_of(schema):
    return len(schema.target.levels or ()) if isinstance(schema.target, Category) else 0


def space_of(chance, schema):
    features = feature_count(schema)
    wild = [-1.0, -0.3, 0.0, 1.0, 30.0, 1e9]
    centre = chance.array(features, wild, [*wild, 1e300, -1.7e308, 5e-324])
    omega = None
    if chance.of(0.4):
        scale = chance.pick([1.0, 1.0, 1e-6, 1e6, 1e-300, 1e300])
        omega = chance.generator.normal(size=(chance.pick([1, 2, features, 7]), features)) * scale
    radius = chance.pick([1.0, 0.4, 2.3, 1e-3, 1e3, 1e-12, 1e12, 5e-324, 1e-300, 1e300])
    return forged(Space, schema=schema, centre=centre, radius=radius, omega=omega)


def size_of(space):
    return len(space.centre) if space.omega is None else len(space.omega)


def prototypes_of(chance, space):
    count, size = chance.pick([1, 2, 2, 3, 5]), size_of(space)
    values = np.clip(chance.array((count, size), [-1.0, 0.0, 1.0], [1.0]), -1.0, 1.0)
    if chance.of(0.2):
        values[:] = values[0]
    labels = chance.wholes(0, max(classes_of(space.schema), 1), count)
    return {"layout": space, "prototypes": values, "labels": labels}


def class_sums(chance, schema):
    space = space_of(chance, schema)
    return (space,), forged(ClassSums, layout=space, scatter=chance.of(0.5))


def lengths(chance, schema):
    space = space_of(chance, schema)
    shape = (chance.pick([1, 2, 5]), size_of(space))
    matrix = chance.generator.normal(size=shape) * chance.pick([1.0, 1.0, 1e-9, 1e9, 1e150, 1e300])
    cap = chance.pick([1.0, 4.0, 0.3, 1e-9, 1e9, 1e-139, 1e139])
    return (space,), forged(Lengths, layout=space, matrix=matrix, cap=cap)


def cluster_sums(chance, schema):
    space = space_of(chance, schema)
    return (space,), forged(ClusterSums, **prototypes_of(chance, space))


def pulls(chance, schema):
    space = space_of(chance, schema)
    more = {
        "rule": chance.pick(["glvq", "lvq1"]),
        "slope": chance.pick([1.0, 15.0, 1e-300, 1e-4, 9e5]),
        "clip": chance.pick([1.0, 0.5, 8.0, 1e-6, 1e-139]),
        "weight": chance.pick([1.0, 1.0, 1e-300, 9e5]),
        "lot": (0, 2) if chance.of(0.1) else None,
    }
    return (space,), forged(Pulls, **prototypes_of(chance, space), **more)


def metric_pulls(chance, schema):
    space = space_of(chance, schema)
    size = size_of(space)
    shape = (chance.pick([size, 1, 9]), size)
    more = {
        "slope": chance.pick([1.0, 15.0, 1e-300, 9e5]),
        "clip": chance.pick([1.0, 0.5, 8.0, 1e-6, 1e-139]),
        "omega": chance.generator.normal(size=shape)
        * chance.pick([1.0, 0.0, 1e-150, 1e150, 1e300]),
        "lot": (0, 2) if chance.of(0.1) else None,
    }
    return (space,), forged(MetricPulls, **prototypes_of(chance, space), **more)


def costs(chance, schema):
    space = space_of(chance, schema)
    slope = chance.pick([1.0, 15.0, 1e-99, 1e-4, 9e5])
    return (space,), forged(MarginCosts, **prototypes_of(chance, space), slope=slope)


def moments(chance, schema):
    return (), forged(Moments, schema=schema)


def layout_of(chance, schema, link=None):
    target = schema.target
    if link is None:
        links = {2: ["logit", "softmax", "logit"]}.get(classes_of(schema), ["softmax"])
        link = "identity" if isinstance(target, Number) else chance.pick(links)
    cuts, widths = [], []
    for column in schema.values():
        if isinstance(column, Category):
            own = np.zeros(0)
            widths.append(len(column.levels or ()) + 2 - (1 if chance.of(0.2) else 0))
        else:
            own = np.unique(
                chance.array(chance.pick([0, 1, 3, 6]), [-2.0, 0.0, 1.0, 1e300, -1e-310])
            )
            widths.append(len(own) + chance.pick([2, 2, 1, 5]))
        cuts.append(own)
    offsets = np.cumsum([0, *widths]).astype(np.int64)
    return forged(BinLayout, schema=schema, link=link, cuts=tuple(cuts), offsets=offsets)


def state_of(chance, layout):
    outputs = max(classes_of(layout.schema), 1) if layout.link == "softmax" else 1
    cells = int(layout.offsets[-1])
    scores = chance.array((cells, outputs), [-8.0, 0.0, 700.0], [9e99, -9e99, 0.0, 1e-300])
    return {"layout": layout, "scores": scores, "intercept": chance.array(outputs, [0.0, 9e99])}


def residual_sums(chance, schema):
    layout = layout_of(chance, schema)
    widths = np.diff(layout.offsets)
    mixing, excess = [], chance.pick([1.0] * 6 + [1.5, 40.0])
    for width, share in zip(widths, chance.generator.dirichlet(np.ones(len(widths))), strict=True):
        most = excess * 4096 * math.sqrt(share)
        if chance.of(0.5):
            one = np.trunc(chance.generator.choice([-1.0, 1.0], width) * most)
        else:
            one = chance.generator.normal(size=(width, width))
            one = np.trunc(one / np.linalg.norm(one, axis=0) * most)
        mixing.append(one.astype(np.int64))
    cap = chance.pick([0.5, 1.0, 2.0, 1e-9, 1e9, 1e-139, 1e139])
    state = state_of(chance, layout)
    return (layout,), forged(ResidualSums, **state, cap=cap, mixing=tuple(mixing))


def residual_sizes(chance, schema):
    layout = layout_of(chance, schema)
    return (layout,), forged(ResidualSizes, **state_of(chance, layout))


def leaf_sums(chance, schema):
    link = chance.pick(["logit", "logit", None]) if classes_of(schema) == 2 else None
    layout = layout_of(chance, schema, link)
    term = chance.below(len(layout.offsets) - 1)
    leaf = chance.wholes(0, chance.pick([1, 3, 50]), int(np.diff(layout.offsets)[term]))
    return (layout,), forged(LeafSums, **state_of(chance, layout), term=term, leaf=leaf)


def pair_counts(chance, schema):
    layout = layout_of(chance, schema)
    groups = chance.wholes(0, chance.pick([GROUPS, 1]), int(layout.offsets[-1]))
    return (layout,), forged(PairCounts, layout=layout, groups=groups)


def inputs_of(chance, schema, *, basis=True):
    pictures = set(schema) == set(PIXELS)
    shape = (2, 2, 1) if pictures and chance.of(0.8) else None
    own = None
    if shape is not None and basis and chance.of(0.5):
        width = chance.pick([5.5, 1.0, 1e-9, 1e9])
        own = forged(SmoothBasis, shape=shape, cut=chance.pick([1, 2]), width=width)
    features = feature_count(schema)
    size = features if own is None else {1: 1, 2: 4}[own.cut]
    return forged(
        Inputs,
        schema=schema,
        picture=shape,
        basis=own,
        root=chance.of(0.5) and shape is not None,
        normalise=chance.of(0.6),
        centre=chance.array(size, [-1.0, 0.0, 0.3, 30.0], [0.0], [1e300, -1.7e308, 0.0]),
        radius=np.abs(chance.array(size, [1.0], [1e-9, 1.0, 3.0, 1e9], [5e-324, 1e308])) + 5e-324,
        filling=chance.array(features, [0.0], [-1.0, 1.0, 0.5], [1e300, 0.0]),
    )


def size_of_inputs(inputs):
    return len(inputs.centre)


def copies_of(chance, inputs):
    if inputs.picture is None or chance.of(0.4):
        return (STILL,) * (1 if chance.of(0.8) else 3)
    moves = [STILL, Move(down=1), Move(right=-0.3), Move(turn=40), Move(shear=0.7), Move(turn=-180)]
    moves += [Move(down=1e4, turn=9e3), Move(shear=-1e4)]
    return tuple(chance.pick(moves) for _ in range(chance.pick([1, 2, 5, 9])))


def weights_of(chance, shape):
    return chance.array(shape, [0.0], [9e11, -9e11, 0.0], [-1.0, 1.0], [1e6, 1e-300])


def steps_of(chance):
    return {
        "beta": chance.pick([0.1, 0.0, 1.0, 50.0, 9e3]),
        "bias": chance.pick([0.3, 0.0, 1.0, 1e-3]),
        "clip": chance.pick([1.0, 0.05, 1e-3, 1e-6, 1e3, 1e4, 1e-139]),
        "lot": (1, 2) if chance.of(0.1) else None,
    }


def map_steps(chance, schema):
    inputs = inputs_of(chance, schema)
    copies = copies_of(chance, inputs)
    maps = chance.pick([1, 2, 5])
    shape = (max(classes_of(schema), 1), maps, size_of_inputs(inputs) + 1)
    chosen = None
    if chance.of(0.4):
        chosen = tuple(chance.below(len(copies)) for _ in range(chance.pick([1, 2, 5])))
    kept = forged(KeptPoints, layout=inputs, copies=copies)
    query = {"layout": inputs, "weights": weights_of(chance, shape), "chosen": chosen}
    return (kept,), forged(MapSteps, **query, **steps_of(chance))


def projected_steps(chance, schema):
    inputs = inputs_of(chance, schema)
    size, maps, seen = size_of_inputs(inputs), chance.pick([1, 2, 3]), chance.pick([1, 2, 4])
    shape = (chance.pick([1, maps]), seen, size)
    most = chance.pick([512, 512, 2**15, 2**15, 2])
    if chance.of(0.15):
        most = chance.pick([2**15 + 1, 2**20, 2**31, 2**45, 2**62])
    drawn = chance.wholes(-most + 1, most, shape)
    if chance.of(0.4):
        drawn = np.where(drawn < 0, -most + 1, most - 1)
    if most > 2**15 and size > 1 and chance.of(0.7):
        # Rows at two corners cancel: no length, a large coefficient, and products that round.
        drawn[...] = 0
        drawn[..., 0], drawn[..., 1] = most - 1 + 12346, -most + 1 - 12346
        inputs = substitute(inputs, inputs.centre, np.zeros(size))
        inputs = substitute(inputs, inputs.radius, np.ones(size))
    weights = weights_of(chance, (max(classes_of(schema), 1), maps, seen + 1)) * 1e-9
    points = forged(KeptPoints, layout=inputs, copies=(STILL,))
    query = {"layout": inputs, "weights": weights, "projections": drawn}
    squares = forged(KeptSquares, projections=drawn)
    prepared = (points, squares)
    if chance.of(0.25):
        # Lengths of shorter projections, of other points, or of one copy among several.
        several = forged(KeptPoints, layout=inputs, copies=(STILL,) * 2)
        other = forged(KeptPoints, layout=inputs_of(chance, schema), copies=(STILL,))
        prepared = chance.pick(
            [
                (points, forged(KeptSquares, projections=drawn // 64)),
                (other, squares, points),
                (several, squares),
                (points, squares, several),
                (points, squares, forged(KeptSquares, projections=drawn * 0)),
            ]
        )
        query["chosen"] = chance.pick([None, None, (0, 0), (0,)])
    return prepared, forged(ProjectedSteps, **query, **steps_of(chance))


def class_points(chance, schema):
    inputs = inputs_of(chance, schema)
    kept = forged(KeptPoints, layout=inputs, copies=copies_of(chance, inputs))
    return (kept,), forged(ClassPoints, layout=inputs)


def directions(chance, schema):
    return (), forged(Directions, layout=inputs_of(chance, schema))


def pixel_ranges(chance, schema):
    numbers = [name for name, one in schema.items() if isinstance(one, Number)]
    return (), forged(PixelRanges, columns=tuple(numbers[: chance.below(len(numbers) + 1)]))


def number_of(chance, schema):
    return chance.pick([name for name, one in schema.items() if isinstance(one, Number)] or ["n"])


def row_count(chance, schema):
    size = chance.pick([1, 1, 3, 1000])
    return (), forged(RowCount, columns=tuple(schema) if chance.of(0.2) else (), size=size)


def category_counts(chance, schema):
    named = {name: one for name, one in schema.items() if isinstance(one, Category)}
    if classes_of(schema):
        named[TARGET] = schema.target
    name = chance.pick(named or ["c"])
    column = named.get(name, Category(()))
    return (), forged(CategoryCounts, column=name, listed=len(column.levels or ()))


def number_counts(chance, schema):
    cuts = chance.array(chance.below(6), [-math.inf, 0.0, math.inf], [-1e308, 5e-324, 1e308])
    column = number_of(chance, schema)
    return (), forged(NumberCounts, column=column, cuts=tuple(np.unique(cuts).tolist()))


def tree_cells(chance, schema):
    ends = chance.pick([(-2.0, 3.0), (0.0, 5e-324), (-1e308, 1e308), (-1.0, 1e-310), (5.0, 6.0)])
    return (), forged(TreeCells, column=number_of(chance, schema), lower=ends[0], upper=ends[1])


def log_cells(chance, schema):
    return (), forged(LogCells, column=number_of(chance, schema))


def together(chance, schema):
    makers = [row_count, category_counts, number_counts, tree_cells, log_cells, moments]
    makers += [class_sums, pulls, residual_sums]
    prepared, parts = (), []
    for _ in range(chance.pick([1, 2, 3])):
        more, one = chance.pick(makers)(chance, schema)
        prepared += more
        parts.append(one)
    query = forged(Together, parts=tuple(parts))
    return prepared, forged(Together, parts=(query,)) if chance.of(0.2) else query


def images(chance, schema):
    kept = forged(KeptImages, schema=schema)
    ends = {(one.lower, one.upper) for one in schema.values() if isinstance(one, Number)}
    return kept, 8 if ends == {(0.0, 255.0)} else 16


def brightness(chance, schema):
    kept, bits = images(chance, schema)
    return (kept,), forged(Brightness, channels=chance.pick([1, 2, 4, len(schema)]), bits=bits)


def network_steps(chance, schema):
    kept, bits = images(chance, schema)
    shape, classes = (1, 1, max(len(schema), 1)), max(classes_of(schema), 2)
    count = parameter_count(Description(NETWORK, shape, classes, 0))
    wild = [chance.pick([0.0, 0.5, 1e300, -1e9])]
    standard = forged(Standard, means=tuple(wild), spreads=(chance.pick([1.0, 1e-6]),), bits=bits)
    more = {}
    if chance.of(0.3):
        more["groups"] = chance.wholes(0, 2, count)
        more["scales"] = tuple(chance.pick([1.0, 1e-9, 1e9]) for _ in range(2))
        more["clips"] = tuple(chance.pick([1.0, 1e-9, 1e9]) for _ in range(2))
    if chance.of(0.2):
        more["mask"] = np.flatnonzero(chance.generator.random(count) < 0.5).astype(np.int64)
    if chance.of(0.1):
        more["turn" if chance.of(0.5) else "exact"] = (0, 2) if "turn" in more else False
    query = forged(
        NetworkSteps,
        architecture=NETWORK,
        image_shape=shape,
        classes=classes,
        seed=0,
        weights=weights_of(chance, count),
        standard=standard,
        clip=chance.pick([1.0, 1e-9, 1e9, 1e-3]),
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
    LeafSums: leaf_sums,
    PairCounts: pair_counts,
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


def honest_case(chance, kind, *, plain=False):
    """A question that an honest server might send, but for its numbers."""
    names = ["two", "two", "three", "open", "units", "pictures", "weighted", "number"]
    if kind in OF_PIXELS:
        names = ["pictures"]
    elif kind is ResidualSizes:
        names = ["number"]
    own = chance.pick(names)
    schema = schema_for(chance, own, plain=plain)
    prepared, query = MAKERS[kind](chance, schema)
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


def mutated(chance, value, depth=0):
    """Something else of about the same kind, or of another."""
    if chance.of(0.06):
        return chance.pick([None, True, 0, 1.5, "a", (), b"a", np.zeros(0), math.nan, -(2**63)])
    match value:
        case bool():
            return not value
        case int():
            return chance.pick(INTS) if chance.of(0.7) else value + chance.pick([-1, 1])
        case float():
            return chance.pick(FLOATS) if chance.of(0.8) else chance.pick(INTS)
        case str():
            return chance.pick(
                ["", "n", "c", "zzz", TARGET, "softmax", "logit", "identity", "\ud800"]
            )
        case tuple():
            return _mutated_tuple(chance, value, depth)
        case np.ndarray():
            return _mutated_array(chance, value)
        case Schema():
            return odd_schema(chance, value)
        case None:
            return chance.pick([0, 1.0, np.eye(3), (0, 1), (0,), (0, 0), np.zeros(4, np.int64)])
    if dataclasses.is_dataclass(value):
        return mutated_object(chance, value, depth + 1)
    return None


def _mutated_tuple(chance, value, depth):
    kind = chance.below(4)
    if kind == 0 or not value:
        return (*value, chance.pick(value)) if value else (chance.pick([0, 1.0, "a"]),)
    place = chance.below(len(value))
    if kind == 1:
        return (*value[:place], *value[place + 1 :])
    if kind == 2 and len(value) < 50:
        return value * chance.pick([2, 40])
    return (*value[:place], mutated(chance, value[place], depth + 1), *value[place + 1 :])


def _mutated_array(chance, value):
    match chance.below(9):
        case 0:
            with np.errstate(all="ignore"):
                return value.astype(chance.pick(DTYPES))
        case 1:
            return value[..., :-1] if value.ndim else value[None]
        case 2:
            return value[None] if chance.of(0.5) else value.reshape(-1)
        case 3:
            return value[:0] if value.ndim else value
        case 4:
            return np.concatenate([value, value]) if value.ndim else value
        case 5:
            return np.ascontiguousarray(value.T)
    if not value.size:
        return np.zeros(3, dtype=value.dtype)
    result = value.copy()
    places = chance.wholes(0, result.size, chance.pick([1, 1, result.size]))
    pool = FLOATS
    if result.dtype.kind in "iu":
        pool = [
            one for one in INTS if np.iinfo(result.dtype).min <= one <= np.iinfo(result.dtype).max
        ]
    result.reshape(-1)[places] = chance.pick(pool)
    return result


def mutated_object(chance, value, depth=0):
    """A copy of a dataclass with one or two fields changed."""
    fields = {one.name: getattr(value, one.name) for one in dataclasses.fields(value) if one.init}
    for _ in range(chance.pick([1, 1, 2])):
        name = chance.pick(fields)
        if depth < 3:
            fields[name] = mutated(chance, fields[name], depth)
    return forged(type(value), **fields)


def odd_schema(chance, schema):
    """Kinds changed, levels unlisted, bounds tiny or huge, columns missing, repeated or others."""
    columns, target, unit = dict(schema), schema.target, schema.unit
    match chance.below(7):
        case 0 if columns:
            columns[chance.pick(columns)] = chance.pick(ODD_COLUMNS)
        case 1:
            target = chance.pick([*ODD_COLUMNS, None])
        case 2 if columns:
            del columns[chance.pick(columns)]
        case 3:
            columns["another"] = chance.pick(ODD_COLUMNS)
        case 4:
            columns = dict(reversed(columns.items()))
        case 5:
            return chance.pick(list(COMPLETE.values()))
        case _:
            unit = None if unit is not None else Unit("who", rows=chance.pick([1, 2, 9]))
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


def mutated_case(chance, case):
    """A case with something changed: in the query, a layout, the schema, or what is prepared."""
    kind, inside = chance.below(9), layouts_in(case)
    if kind <= 2 or (kind <= 5 and not inside):
        query = mutated_object(chance, case.query)
        return dataclasses.replace(case, query=query)
    if kind <= 5:
        old = chance.pick(inside)
        new = mutated_object(chance, old)
        # Everywhere, or on one side alone.
        where = chance.pick(["both", "both", "both", "query", "preparations"])
        query, prepared = case.query, case.preparations
        if where != "preparations":
            query = substitute(query, old, new)
        if where != "query":
            prepared = substitute(prepared, old, new)
        return dataclasses.replace(case, query=query, preparations=prepared)
    if kind == 6:
        new = odd_schema(chance, case.schema)
        if chance.of(0.4):
            return dataclasses.replace(case, schema=new)
        query, prepared = (
            substitute(one, case.schema, new) for one in (case.query, case.preparations)
        )
        return dataclasses.replace(case, schema=new, query=query, preparations=prepared)
    return dataclasses.replace(case, preparations=_odd_preparations(chance, case))


def _odd_preparations(chance, case):
    """Stale ones, others, repeated ones, in another order, or too few."""
    prepared = list(case.preparations)
    other, _ = MAKERS[chance.pick([ClassSums, ResidualSums, MapSteps, ProjectedSteps])](
        chance, case.schema
    )
    match chance.below(5):
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
    chance = Chance(seed)
    drawn = chance.pick(MAKERS)
    case = honest_case(chance, kind or drawn)
    if chance.of(mutate):
        case = mutated_case(chance, case)
        if chance.of(0.2):
            case = mutated_case(chance, case)
    return case

"""No row moves a sum further than its query says: every query, both relations, exact integers."""

import dataclasses
import importlib
import inspect
import itertools
import math
import pkgutil
from fractions import Fraction

import numpy as np
import pytest
from evaluated import evaluated
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import poisson
from torch import nn

import voile
from voile.audit.trials.mechanisms import ClippedNumber
from voile.errors import SchemaError, SettingError, VoileError
from voile.explain.blackbox.rows.points import ANSWERS, PointSpace
from voile.explain.blackbox.rows.points import ONE as BALL_ONE
from voile.explain.blackbox.rows.points import POINTS as BALL_POINTS
from voile.explain.blackbox.solvers import products
from voile.explain.blackbox.solvers.products import LocalProducts
from voile.explain.blackbox.solvers.weights import envelope, read_weight
from voile.explain.blackbox.synthetic.cells import CELLS
from voile.explain.blackbox.synthetic.marginals import BinCounts, PairProducts, SignProducts
from voile.models.ebm import queries as ebm_queries
from voile.models.ebm.cyclic import LeafSums
from voile.models.ebm.grid_counts import GridCounts
from voile.models.ebm.misses import MISS_CUTS, MissSizes
from voile.models.ebm.objectives import LINK_OF, Aim
from voile.models.ebm.pair_cells import PairCells, all_offsets
from voile.models.ebm.pairs import GROUPS, PairCounts
from voile.models.ebm.queries import (
    MIXING_BITS,
    BinLayout,
    ResidualSizes,
    ResidualSums,
    whole_mixing,
)
from voile.models.evaluation.queries import ScoreCells
from voile.models.features import Features
from voile.models.locally_linear.inputs import ONE as MAP_ONE
from voile.models.locally_linear.inputs import POINTS, Inputs
from voile.models.locally_linear.pictures import STILL, Move, SmoothBasis
from voile.models.locally_linear.projections import PROJECTION_BITS, ProjectedSteps, keep_squares
from voile.models.locally_linear.queries import (
    ClassPoints,
    Directions,
    MapSteps,
)
from voile.models.lvq.metric_steps import MetricPulls
from voile.models.lvq.plain import MarginCosts
from voile.models.lvq.queries import ClassSums, ClusterSums, Lengths, Moments, Pulls
from voile.models.lvq.space import ONE, Space
from voile.models.networks.architectures import Description, parameter_count, register
from voile.models.networks.images import KeptImages, Standard
from voile.models.networks.queries import Brightness, NetworkSteps
from voile.models.pixels import PixelRanges
from voile.privacy import queries
from voile.privacy.budget import NeighbouringRelation
from voile.privacy.discovery import LogCells, TreeCells
from voile.privacy.queries import (
    CategoryCounts,
    CellQuery,
    NumberCounts,
    Query,
    RowCount,
    Together,
)
from voile.privacy.query_kernels import clipped_total
from voile.privacy.sources.table import TableSource
from voile.privacy.sources.weights import RowWeights
from voile.schema import Category, Number, Schema

ROUNDING = Fraction(1, 10**12)
SCHEMA = Schema({"n": Number(-2, 3), "u": Number(), "c": Category(["a", "b", 1])})

WILD = [0.0, -0.0, 5e-324, -1e-310, 1e-170, -1e-154, 1e-9, 0.1, -0.3, 1.0, 3.7, -1e3, 1e12]
WILD += [-1e30, 1e153, 1.3e154, -1e160, 1e308, math.inf, -math.inf, math.nan]


# -- tables and their neighbours -------------------------------------------------------------------

numbers = st.one_of(
    st.sampled_from([None, "x", "", " 2 ", True, 10**400, -(10**30), [1], b"1", *WILD]),
    st.floats(-3, 4),
    st.floats(),
)
levels = st.sampled_from(["a", "b", 1, True, 1.0, None, math.nan, "", "zzz", 7, [], object(), b"a"])
rows = st.tuples(numbers, numbers, levels)
tables = st.lists(rows, max_size=6)
labelled_rows = st.tuples(numbers, numbers, levels, st.one_of(levels, numbers))
"""With a target, which is last."""
grids = st.integers(-60, 10).map(lambda power: 2.0**power)


def source_of(table, layout=None, weights=None):
    """The rows; for queries of an additive model with a target, and with their bins kept."""
    frame = {name: [row[i] for row in table] for i, name in enumerate(SCHEMA)}
    weighing = None if weights is None else RowWeights(weights[: len(table)], 1.0)
    if layout is None:
        return TableSource(frame, None, SCHEMA, weighing)
    source = TableSource(frame, [row[len(SCHEMA)] for row in table], layout.schema, weighing)
    source.keep(layout.columns, layout.prepare)
    return source


def total_of(table, query, grid, weights=None):
    source = source_of(table, getattr(query, "layout", None), weights)
    return [int(value) for value in source.total(query, grid)]


def wrapped(number):
    """As 64 bits hold it; noise is added in the same arithmetic."""
    return (number + 2**63) % 2**64 - 2**63


def moves(before, after):
    return [wrapped(b - a) for a, b in zip(before, after, strict=True)]


def assert_within(difference, query, relation, grid):
    units = 1 / Fraction(grid)
    allowed = Fraction(query.sensitivity(relation)) * units * (1 + ROUNDING)
    assert sum(d * d for d in difference) <= allowed**2
    allowed = Fraction(query.sensitivity_l1(relation)) * units * (1 + ROUNDING)
    assert sum(abs(d) for d in difference) <= allowed
    allowed = Fraction(query.sensitivity_max(relation)) * units * (1 + ROUNDING)
    assert max(abs(d) for d in difference) <= allowed


def assert_neighbours_are_close(query, table, row, other, grid, weights=None):
    without = total_of(table, query, grid, weights)
    with_row, with_other = (total_of([*table, r], query, grid, weights) for r in (row, other))
    assert_within(moves(without, with_row), query, NeighbouringRelation.ADD_REMOVE, grid)
    assert_within(moves(without, with_other), query, NeighbouringRelation.ADD_REMOVE, grid)
    assert_within(moves(with_row, with_other), query, NeighbouringRelation.REPLACE_ONE, grid)


# -- every query there is --------------------------------------------------------------------------

intervals = st.tuples(st.floats(-1e300, 1e300), st.floats(-1e300, 1e300)).filter(
    lambda pair: pair[0] < pair[1]
)
simple = {
    RowCount: st.just(RowCount()),
    CategoryCounts: st.just(CategoryCounts("c", 3)),
    NumberCounts: st.builds(
        NumberCounts,
        st.sampled_from(["n", "u"]),
        st.lists(st.floats(allow_nan=False), max_size=5, unique=True).map(sorted).map(tuple),
    ),
    LogCells: st.builds(LogCells, st.sampled_from(["n", "u"])),
    TreeCells: st.builds(
        lambda column, pair: TreeCells(column, *pair),
        st.sampled_from(["n", "u"]),
        st.one_of(st.just((-2.0, 3.0)), st.just((0.0, 5e-324)), intervals),
    ),
}


# -- queries of additive models --------------------------------------------------------------------

TARGETS = {
    "logit": [Category(["a", "b"])],
    "softmax": [Category(["a", "b", 1]), Category(["a", "b", *range(2, 12)])],
    "identity": [Number(-2, 3), Number(1000, 1001), Number(-8e307, 8e307), Number(0, 5e-324)],
    "poisson": [Number(0, 3), Number(0, 1e4), Number(2, 8e307), Number(0, 5e-324)],
    "gamma": [Number(0, 3), Number(1, 1e6), Number(5e-324, 8e307), Number(0, 5e-324)],
    "quantile": [Number(-2, 3), Number(1000, 1001), Number(-8e307, 8e307), Number(0, 5e-324)],
}
"""By the link, or by the objective of a regression with another one."""
OBJECTIVES = ("poisson", "gamma", "quantile")
FEATURES = {"n": Number(-2, 3), "u": Number(-1e3, 1e3), "c": Category(["a", "b", 1])}


def layout_of(link, target, cuts):
    """Bins between the cuts of n and of u, and the levels of c."""
    sizes = [len(cuts[0]) + 2, len(cuts[1]) + 2, 5]
    arrays = (*(np.array(one, dtype=np.float64) for one in cuts), np.zeros(0))
    offsets = np.cumsum([0, *sizes]).astype(np.int64)
    schema = Schema(FEATURES, target=target)
    if link in OBJECTIVES:
        aim = Aim(link, 0.25 if link == "quantile" else 0.5)
        return BinLayout(schema, LINK_OF[link], arrays, offsets, aim)
    return BinLayout(schema, link, arrays, offsets)


def exposed_layout(objective, lower, upper, target):
    """Where u is an exposure: n and c alone are terms."""
    schema = Schema({**FEATURES, "u": Number(lower, upper)}, target=target)
    cuts, offsets = (np.array([-1.0, 0.5]), np.zeros(0)), np.array([0, 4, 9])
    return BinLayout(schema, "log", cuts, offsets, Aim(objective, exposure="u"))


def cuts_between(lower, upper):
    return st.lists(st.floats(lower, upper), max_size=5, unique=True).map(sorted)


@st.composite
def layouts(draw, links=tuple(TARGETS)):
    link = draw(st.sampled_from(links))
    # A column of more than 256 bins is kept in two bytes.
    wide = st.just(np.linspace(-1.9, 2.9, 300).tolist())
    first = draw(st.one_of(cuts_between(-2, 3), cuts_between(-2, 3), wide))
    return layout_of(
        link, draw(st.sampled_from(TARGETS[link])), [first, draw(cuts_between(-1e3, 1e3))]
    )


@st.composite
def pairs_of(draw, layout, least=0):
    """Grids of some pairs of columns, coarse or with more cells than a byte can number."""
    generator = np.random.default_rng(draw(st.integers(0, 10**6)))
    widths = np.diff(layout.offsets)
    result = []
    for first, second in draw(
        st.lists(st.sampled_from([(0, 1), (0, 2), (1, 2)]), min_size=least, max_size=3)
    ):
        height, width = draw(st.sampled_from([(1, 1), (2, 3), (5, 4), (20, 20), (64, 64)]))
        rows = generator.integers(0, height, widths[first])
        columns = generator.integers(0, width, widths[second])
        result.append(PairCells(first, second, rows, columns, height, width))
    return tuple(result)


@st.composite
def scores_of(draw, layout, pairs=()):
    """Scores and an intercept, tame or as large as no training makes them."""
    generator = np.random.default_rng(draw(st.integers(0, 10**6)))
    cells = int(all_offsets(layout.offsets, pairs)[-1])
    scores = generator.normal(size=(cells, layout.outputs))
    extreme = draw(st.sampled_from([0.0, 8.0, 700.0]))
    scores += generator.choice([-extreme, 0.0, extreme], scores.shape)
    return scores, generator.choice([-8.0, -0.1, 0.0, 3.0], layout.outputs)


def mixing_of(layout, generator, kinds, excess=1.0, pairs=()):
    """Columns of norm 1 times weights whose squares sum to 1; too long by a factor on demand."""
    weights = np.sqrt(generator.dirichlet(np.ones(len(kinds))))
    result = []
    widths = np.diff(all_offsets(layout.offsets, pairs)).tolist()
    for bins, kind, weight in zip(widths, kinds, weights, strict=True):
        matrix = generator.choice([-1.0, 1.0], bins)
        if kind == "dense":
            matrix = generator.normal(size=(bins, bins)) + np.diag(3.0 * matrix)
            matrix = matrix / np.linalg.norm(matrix, axis=0)
        if kind == "contrasts":
            # The first has one at least, so that something is asked.
            count = generator.integers(0 if result else 1, min(bins, 4) + 1)
            matrix = generator.normal(size=(count, bins))
            matrix = matrix / np.maximum(np.linalg.norm(matrix, axis=0), 1e-9)
        result.append(whole_mixing(matrix * excess, float(weight)))
    return tuple(result)


@st.composite
def residual_sums(draw):
    layout = draw(layouts())
    generator = np.random.default_rng(draw(st.integers(0, 10**6)))
    pairs = draw(st.one_of(st.just(()), pairs_of(layout)))
    kinds = draw(st.tuples(*[st.sampled_from(["dense", "diagonal", "contrasts"])] * 3))
    # A dense matrix of thousands of cells takes long, and says no more.
    small = ["diagonal", "contrasts"]
    kinds = (*kinds, *(draw(st.sampled_from(small)) for _ in pairs))
    cap = draw(st.one_of(st.sampled_from([0.5, math.sqrt(0.5), 2.0]), st.floats(2.0**-9, 2.0)))
    scores, intercept = draw(scores_of(layout, pairs))
    mixing = mixing_of(layout, generator, kinds, pairs=pairs)
    width = draw(st.sampled_from([1.0, 1.0, 0.5, 3.0, 1e6]))
    return ResidualSums(layout, scores, intercept, cap, mixing, pairs, width)


@st.composite
def exposed_sums(draw):
    bounds = draw(st.sampled_from([(0.1, 1.0), (1.0, 1e3), (5e-324, 8e307)]))
    objective = draw(st.sampled_from(["poisson", "gamma"]))
    layout = exposed_layout(objective, *bounds, draw(st.sampled_from(TARGETS[objective])))
    generator = np.random.default_rng(draw(st.integers(0, 10**6)))
    scores, intercept = draw(scores_of(layout))
    mixing = mixing_of(layout, generator, ["dense", "diagonal"])
    return ResidualSums(layout, scores, intercept, draw(st.floats(0.5, 2.0)), mixing)


@st.composite
def miss_sizes_of(draw):
    layout = draw(layouts(OBJECTIVES))
    pairs = draw(st.one_of(st.just(()), pairs_of(layout)))
    return MissSizes(layout, *draw(scores_of(layout, pairs)), pairs)


@st.composite
def residual_sizes_of(draw):
    layout = draw(layouts(("identity",)))
    pairs = draw(st.one_of(st.just(()), pairs_of(layout)))
    return ResidualSizes(layout, *draw(scores_of(layout, pairs)), pairs)


residual_sizes = residual_sizes_of()
grid_counts = layouts().flatmap(
    lambda layout: pairs_of(layout, 1).map(lambda pairs: GridCounts(layout, pairs))
)
pair_counts = layouts().flatmap(
    lambda layout: st.integers(0, 10**6).map(
        lambda seed: PairCounts(
            layout, np.random.default_rng(seed).integers(0, GROUPS, layout.offsets[-1])
        )
    )
)


@st.composite
def leaf_sums(draw):
    layout = draw(layouts(("logit", "identity")))
    scores, intercept = draw(scores_of(layout))
    term = draw(st.integers(0, 2))
    bins = int(layout.offsets[term + 1] - layout.offsets[term])
    leaf = np.random.default_rng(draw(st.integers(0, 10**6))).integers(0, 3, bins)
    return LeafSums(layout, scores, intercept, term, leaf)


# -- queries of prototype models -------------------------------------------------------------------

CLASSES = [["a", "b"], ["a", "b", 1], ["a", "b", 1, 7]]
KNOWN = [(0.5, 0.0, "a"), (-0.75, 250.0, "b"), (None, -500.0, 1), (3, 1e3, "zzz")]
"""Rows at whose very places prototypes can lie."""

labels = st.sampled_from(["a", "b", 1, 7, None, "?"])
known_rows = st.builds(lambda row, label: (*row, label), st.sampled_from(KNOWN), labels)


def metrics_of(generator, size):
    """Matrices: none, any, with a direction that hardly counts, of huge and of tiny numbers."""
    any_one = generator.normal(size=(size, size))
    flat = np.outer(any_one[0], any_one[1]) + 1e-9 * np.eye(size)
    return {
        "none": None,
        "any": any_one,
        "tenths": np.round(any_one, 1) / 3,
        "flat": flat,
        "nothing": np.zeros((size, size)),
        "long": any_one * 1e6,
        "short": any_one * 1e-6,
    }


@st.composite
def spaces(draw):
    schema = Schema(FEATURES, target=Category(draw(st.sampled_from(CLASSES))))
    generator = np.random.default_rng(draw(st.integers(0, 10**6)))
    size = len(Features(schema))
    centre = generator.choice([-1.0, -0.3, 0.0, 0.1, 1.0], size)
    radius = draw(st.sampled_from([1e-12, 1e-3, 0.4, 1.0, 2.3, 5.0, 1e3, 1e12]))
    kind = draw(st.sampled_from(["none", "none", "any", "tenths", "flat", "nothing", "long"]))
    return Space(schema, centre, radius, metrics_of(generator, size)[kind])


@st.composite
def prototypes_of(draw, space):
    """Prototypes with their classes: anywhere, at the border, on rows and either side of rows."""
    generator = np.random.default_rng(draw(st.integers(0, 10**6)))
    count, size = draw(st.integers(2, 6)), space.size
    n, u, c = zip(*(KNOWN[i] for i in generator.integers(0, len(KNOWN), count)), strict=True)
    codes = [["a", "b", 1, "zzz"].index(level) for level in c]
    columns = {"n": np.array(n, dtype=float), "u": np.array(u), "c": np.array(codes)}
    on_rows = space.place(Features(space.schema).encode(columns, count)).astype(np.int64)
    gap = generator.integers(-ONE // 3, ONE // 3, size)
    result = {
        "anywhere": generator.uniform(-1, 1, (count, size)) / math.sqrt(size),
        "border": generator.choice([-1.0, 1.0, 0.0], (count, size)),
        "on rows": on_rows / ONE,
        "one place": np.tile(on_rows[:1] / ONE, (count, 1)),
        # As far from the row on one side as on the other, by any metric.
        "either side": (on_rows[:1] + np.outer(np.resize([1, -1], count), gap)) / ONE,
    }[draw(st.sampled_from(["anywhere", "border", "on rows", "one place", "either side"]))]
    # A class may have no prototype; if all are of one class, no row has another one.
    most = draw(st.sampled_from([space.class_count, 2, 1]))
    return np.clip(result, -1.0, 1.0), generator.integers(0, most, count)


slopes = st.sampled_from([1e-4, 0.5, 1.0, 15.0, 1e3, 1e5])
clips = st.one_of(st.sampled_from([1e-6, 1e-3, 0.5, 1.0, 8.0]), st.floats(1e-6, 8.0))
class_sums = st.builds(ClassSums, spaces(), st.booleans())


@st.composite
def lengths(draw):
    space = draw(spaces())
    generator = np.random.default_rng(draw(st.integers(0, 10**6)))
    matrix = metrics_of(generator, space.size)[draw(st.sampled_from(["any", "long", "short"]))]
    return Lengths(space, matrix, draw(st.sampled_from([1e-9, 0.3, 1.0, 4.0, 1e9])))


@st.composite
def cluster_sums(draw):
    space = draw(spaces())
    return ClusterSums(space, *draw(prototypes_of(space)))


@st.composite
def pulls(draw):
    space = draw(spaces())
    rule, weight = draw(st.sampled_from(["glvq", "lvq1"])), draw(st.sampled_from([1.0, 1e-3, 1e5]))
    return Pulls(space, *draw(prototypes_of(space)), rule, draw(slopes), draw(clips), weight)


@st.composite
def metric_pulls(draw):
    space = draw(spaces())
    generator = np.random.default_rng(draw(st.integers(0, 10**6)))
    kind = draw(st.sampled_from(["any", "tenths", "flat", "nothing", "long", "short"]))
    metric = metrics_of(generator, space.size)[kind]
    return MetricPulls(space, *draw(prototypes_of(space)), draw(slopes), draw(clips), metric)


@st.composite
def costs(draw):
    space = draw(spaces())
    return MarginCosts(space, *draw(prototypes_of(space)), draw(slopes))


moments = st.sampled_from(
    [
        Moments(Schema({"n": Number(-2, 3)})),
        Moments(Schema({"c": Category(["a", "b", 1])})),
        Moments(Schema({"n": Number(-2, 3), "c": Category(["a", "b", 1])})),
        # Narrower than the source's own, and without a middle that doubles could tell apart.
        Moments(Schema({"n": Number(-1, 0.5), "c": Category(["a"])})),
        Moments(Schema({"n": Number(0, 5e-324)})),
    ]
)

# -- queries of locally linear maps ----------------------------------------------------------------

either = st.booleans()


@dataclasses.dataclass(frozen=True, eq=False)
class Prepared:
    """Inputs that also keep moved copies, or lengths of projections, of each row."""

    inputs: Inputs
    copies: tuple = (STILL,)
    projections: np.ndarray | None = None
    kind: str = "moved"

    @property
    def schema(self):
        return self.inputs.schema

    @property
    def columns(self):
        return self.inputs.columns

    @property
    def size(self):
        return self.inputs.size

    @property
    def class_count(self):
        return self.inputs.class_count

    def prepare(self, block):
        self.inputs.prepare(block, self.copies)
        if self.kind != "moved":
            block.kept[POINTS] = self.twisted(block.kept[POINTS])
        if self.projections is not None:
            keep_squares(block, self.projections)

    def twisted(self, points):
        """Copies that nearly cancel each other, or that are nearly the same."""
        _, copies, size = points.shape
        places = np.arange(copies)[:, None]
        sign = np.where(places % 2, -1, 1) if self.kind == "opposite" else 1
        # A little shorter, so that no copy is longer than 1 with one unit more or less.
        base = np.trunc(points[:, :1] * (1 - 2 * math.sqrt(size) / MAP_ONE))
        return (sign * base + (places + np.arange(size)) % 3 - 1).astype(np.int16)


@st.composite
def inputs_of(draw, picture=either):
    """Rows of a table, or pictures of two pixels; centres, widths and fillings anywhere."""
    target = Category(draw(st.sampled_from(CLASSES)))
    generator = np.random.default_rng(draw(st.integers(0, 10**6)))
    if draw(picture):
        shape = draw(st.sampled_from([(1, 2, 1), (2, 1, 1), (1, 1, 2)]))
        schema = Schema({"n": Number(-2, 3), "u": Number(-1e3, 1e3)}, target=target)
        basis = draw(st.sampled_from([None, SmoothBasis(shape, 2, 6.0), SmoothBasis(shape, 1, 1)]))
    else:
        schema, shape, basis = Schema(FEATURES, target=target), None, None
    features = len(Features(schema))
    size = features if basis is None else len(basis.matrix())
    centre = generator.choice([-1.0, -0.3, 0.0, 0.1, 1.0, 30.0], size)
    radius = generator.choice([1e-9, 0.1, 1.0, 3.0, 1e9], size)
    filling = generator.choice([-1.0, 0.0, 0.5], features)
    root = shape is not None and draw(st.booleans())
    return Inputs(schema, shape, basis, root, draw(st.booleans()), centre, radius, filling)


def weights_of(generator, shape):
    """Maps: of any size, all alike, and such that one of them is far ahead of the others."""
    drawn = generator.normal(size=shape)
    kinds = [drawn, drawn * 30, drawn * 1e6, drawn * 1e-6, np.zeros(shape), np.round(drawn)]
    kinds += [drawn * 1e10, drawn * generator.choice([1e-6, 1.0, 1e6], shape)]
    return kinds[generator.integers(len(kinds))]


betas = st.sampled_from([0.0, 0.1, 1.0, 50.0])
biases = st.sampled_from([0.0, 0.3, 1.0])
map_clips = st.one_of(st.sampled_from([1e-6, 1e-3, 0.05, 1.0, 1e3]), st.floats(1e-6, 10.0))
MOVES = (STILL, Move(down=1), Move(right=-0.3), Move(turn=40), Move(shear=0.7), Move(turn=-180))


@st.composite
def map_steps(draw):
    moved = draw(st.booleans())
    inputs = draw(inputs_of(st.just(moved)))
    generator = np.random.default_rng(draw(st.integers(0, 10**6)))
    copies = MOVES[: draw(st.integers(1, len(MOVES)))] if moved else (STILL,)
    shape = (inputs.class_count, draw(st.sampled_from([1, 2, 4, 20])), inputs.size + 1)
    weights = weights_of(generator, shape)
    kind = draw(st.sampled_from(["moved", "opposite", "parallel"])) if moved else "moved"
    layout = Prepared(inputs, copies, kind=kind)
    numbers = st.lists(st.integers(0, len(copies) - 1), min_size=1, max_size=4, unique=True)
    chosen = draw(st.one_of(st.none(), numbers.map(tuple)))
    query = (layout, weights, draw(betas), draw(biases), draw(map_clips))
    return MapSteps(*query, chosen=chosen)


@st.composite
def projected_steps(draw):
    inputs = draw(inputs_of())
    generator = np.random.default_rng(draw(st.integers(0, 10**6)))
    maps, seen = draw(st.integers(1, 3)), draw(st.integers(1, 4))
    drawn = generator.normal(size=(draw(st.sampled_from([1, maps])), seen, inputs.size))
    projections = np.round(drawn * 2**PROJECTION_BITS).astype(np.int64)
    weights = weights_of(generator, (inputs.class_count, maps, seen + 1))
    layout = Prepared(inputs, (STILL,), projections)
    query = (layout, weights, draw(betas), draw(biases), draw(map_clips))
    return ProjectedSteps(*query, projections=projections)


mapped = {
    ClassPoints: inputs_of().map(ClassPoints),
    MapSteps: map_steps(),
    ProjectedSteps: projected_steps(),
}

# -- queries of explanations -----------------------------------------------------------------------

EXPLAINED = Schema(FEATURES, target=Number(-2, 3))


@dataclasses.dataclass(frozen=True)
class Explained:
    """Keeps a point and answers of each row: as an explainer does, or as wild as a test likes."""

    kind: str
    outputs: int
    schema = EXPLAINED
    columns = (*FEATURES, queries.TARGET)

    def prepare(self, block):
        PointSpace(self.schema).prepare(block)
        points = block.kept[BALL_POINTS].astype(np.int64)
        target = np.nan_to_num(block[queries.TARGET])[:, None] + np.arange(self.outputs)
        answers = np.trunc(np.clip(target / 2.0, -1, 1) * BALL_ONE)
        if self.kind == "corners":
            # At the surface: along an axis that the category chooses, on the side of the number.
            axes = np.eye(points.shape[1], dtype=np.int64)[block["c"] % points.shape[1]]
            points = axes * np.where(points[:, :1] < 0, -BALL_ONE, BALL_ONE)
            answers = np.where(answers < 0, -BALL_ONE, BALL_ONE)
        elif self.kind == "too long":
            points, answers = points * 7, answers * 1000
        elif self.kind == "one unit too long":
            points = np.where(points == 0, 0, np.sign(points)) * (BALL_ONE + 1)
            answers = np.sign(answers) * (BALL_ONE + 1)
        elif self.kind == "as long as can be":
            points = np.where(points < 0, -(2**31), 2**31 - 1)
            answers = np.where(answers < 0, -(2**31), 2**31 - 1)
        block.kept[BALL_POINTS] = points.astype(np.int32)
        block.kept[ANSWERS] = answers.astype(np.int32)


OWN_WEIGHTS = {
    "near": lambda r, c: np.where(r < 0.5, envelope(r, c), 0.0),
    "far": lambda r, c: np.where(r > 1.5, envelope(r, c), 0.0),
    "jumping": lambda r, c: envelope(r, c) * (np.arange(len(r)) % 2),
    "hardly any": lambda r, c: 1e-12 * envelope(r, c),
}


@st.composite
def ball_weights(draw):
    c = draw(st.sampled_from([1e-9, 1e-3, 0.3, 1.0, 12.0, 100.0]))
    name = draw(st.sampled_from(["stable", "exponential", "gaussian", *OWN_WEIGHTS]))
    if name in OWN_WEIGHTS:
        return read_weight(lambda r: OWN_WEIGHTS[name](r, c), c=c)
    return read_weight(name, width=draw(st.sampled_from([None, 1e-3, 0.2, 50.0])), c=c)


@st.composite
def local_products(
    draw, kinds=("placed", "corners", "too long", "one unit too long", "as long as can be")
):
    outputs = draw(st.integers(1, 3))
    layout = Explained(draw(st.sampled_from(kinds)), outputs)
    generator = np.random.default_rng(draw(st.integers(0, 10**6)))
    count, size = draw(st.integers(1, 5)), len(PointSpace(EXPLAINED))
    drawn = generator.normal(size=(count, size))
    drawn *= generator.choice([0.0, 1e-4, 0.5, 1.0], (count, 1)) / np.linalg.norm(
        drawn, axis=1, keepdims=True
    )
    asked = np.trunc(drawn * BALL_ONE * (1 - 1e-9)).astype(np.int32)
    if draw(st.booleans()):
        asked[0] = 0
        asked[0, 0] = draw(st.sampled_from([-BALL_ONE, BALL_ONE]))
    query = LocalProducts(
        asked, draw(ball_weights()), outputs, draw(either), draw(st.integers(1, 4))
    )
    object.__setattr__(query, "layout", layout)
    return query


@dataclasses.dataclass(frozen=True)
class Celled:
    """Keeps the cell of each row in each of three columns; wild ones are beyond every map."""

    kind: str
    schema = EXPLAINED
    columns = (*FEATURES, queries.TARGET)

    def prepare(self, block):
        numbers = [np.nan_to_num(block["n"]) + 2, np.nan_to_num(block["u"]) / 250 + 4]
        codes = np.column_stack([*(one.astype(np.int64) for one in numbers), block["c"]])
        if self.kind == "wild":
            codes = codes * 9973
        block.kept[CELLS] = codes.astype(np.uint16)


@st.composite
def binned(draw, make, most=9):
    """Cells of three columns, dealt into bins at random; a bin may be without cells."""
    generator = np.random.default_rng(draw(st.integers(0, 10**6)))
    cells, bins = generator.integers(1, 10, 3), generator.integers(1, most + 1, 3)
    query = make(draw, tuple(generator.integers(0, b, c) for b, c in zip(bins, cells, strict=True)))
    object.__setattr__(query, "layout", Celled(draw(st.sampled_from(["tame", "wild"]))))
    return query


some_pairs = st.lists(st.sampled_from([(0, 1), (0, 2), (1, 2)]), min_size=1, max_size=4).map(tuple)
summarised = {
    BinCounts: binned(lambda draw, maps: BinCounts(maps)),
    PairProducts: binned(
        lambda draw, maps: PairProducts(maps, draw(st.one_of(st.none(), some_pairs)))
    ),
    SignProducts: binned(lambda draw, maps: SignProducts(maps), most=2),
}

# -- queries of networks ---------------------------------------------------------------------------


def make_tiny(image_shape, classes):
    return nn.Sequential(
        nn.Conv2d(image_shape[0], 2, 1),
        nn.Tanh(),
        nn.Flatten(),
        nn.Linear(2 * image_shape[1] * image_shape[2], classes),
    )


register("contract tiny", make_tiny)
kept_images = st.builds(
    lambda levels, ends: KeptImages(
        Schema({"n": Number(*ends), "u": Number(*ends)}, target=Category(levels))
    ),
    st.sampled_from(CLASSES),
    st.sampled_from([(-2, 3), (0, 255), (0, 1)]),
)


@st.composite
def network_steps(draw):
    layout = draw(kept_images)
    shape = draw(st.sampled_from([(1, 1, 2), (1, 2, 1), (2, 1, 1)]))
    generator = np.random.default_rng(draw(st.integers(0, 10**6)))
    description = Description("contract tiny", shape, layout.class_count)
    weights = weights_of(generator, parameter_count(description))
    standard = Standard((0.3,) * shape[0], (0.2,) * shape[0], layout.bits)
    query = NetworkSteps(
        "contract tiny", shape, layout.class_count, 0, weights, standard, draw(map_clips)
    )
    if draw(either):
        groups, more = generator.integers(0, 3, len(weights)), {}
        more["scales"] = tuple(generator.choice([1e-2, 1.0, 7.0], 3))
        if draw(either):
            more["clips"] = tuple(generator.choice([1e-3, 0.3, 1e5], 3))
        query = dataclasses.replace(query, groups=groups, **more)
    if draw(either):
        sent = np.flatnonzero(generator.random(len(weights)) < 0.5)
        query = dataclasses.replace(query, mask=sent if len(sent) else np.array([0]))
    object.__setattr__(query, "layout", layout)
    return query


@st.composite
def brightness(draw):
    layout = draw(kept_images)
    query = Brightness(draw(st.sampled_from([1, 2])), layout.bits)
    object.__setattr__(query, "layout", layout)
    return query


prototyped = {
    NetworkSteps: network_steps(),
    LocalProducts: local_products(),
    **summarised,
    ClassSums: class_sums,
    Lengths: lengths(),
    ClusterSums: cluster_sums(),
    Pulls: pulls(),
    MetricPulls: metric_pulls(),
    MarginCosts: costs(),
    **mapped,
}
"""Queries of prototypes, maps, networks and explanations; they refuse weights."""

prepared = {
    LeafSums: leaf_sums(),
    ResidualSums: residual_sums(),
    ResidualSizes: residual_sizes,
    MissSizes: miss_sizes_of(),
    PairCounts: pair_counts,
    GridCounts: grid_counts,
    Directions: st.builds(Directions, inputs_of()),
    Brightness: brightness(),
    **evaluated,
    **prototyped,
}
"""Queries that read what their layout kept of the rows, of the target too."""

strategies = {
    **simple,
    ClippedNumber: st.builds(ClippedNumber, st.sampled_from(["n", "u"])),
    Moments: moments,
    PixelRanges: st.sampled_from([PixelRanges(("n",)), PixelRanges(("n", "u"))]),
    **prepared,
    Together: st.lists(st.one_of(*simple.values()), min_size=1, max_size=3).map(
        lambda parts: Together(tuple(parts))
    ),
}
"""How to draw an instance of each query over SCHEMA. A new query needs a line here."""


def rows_for(cls):
    if cls in prototyped:
        return st.one_of(known_rows, known_rows, labelled_rows)
    return labelled_rows if cls in prepared else rows


def all_modules():
    for found in pkgutil.walk_packages(voile.__path__, "voile."):
        if found.name.endswith("__main__"):
            continue  # importing it runs the command
        try:
            importlib.import_module(found.name)
        except ImportError as error:
            if (error.name or "").startswith("voile"):
                raise  # only what belongs to an optional package may be left out


def concrete_queries():
    all_modules()
    found, waiting = set(), [Query]
    while waiting:
        cls = waiting.pop()
        waiting += cls.__subclasses__()
        # What audits ask on purpose to fail is no query of a model.
        own = cls.__module__.startswith("voile.") and not cls.__module__.startswith("voile.audit.")
        if own and not inspect.isabstract(cls):
            found.add(cls)
    return found


def test_every_query_has_a_strategy_here():
    missing = {cls.__qualname__ for cls in concrete_queries() - set(strategies)}
    assert not missing, f"give {missing} a strategy in this file, so that their bounds are tested"


@pytest.mark.parametrize("cls", strategies, ids=lambda cls: cls.__name__)
def test_no_row_moves_a_sum_by_more_than_the_sensitivity(cls):
    one = rows_for(cls)

    @settings(max_examples=300 if cls is ResidualSums else 120 if cls in prototyped else 60)
    @given(strategies[cls], st.lists(one, max_size=6), one, one, grids)
    def check(query, table, row, other, grid):
        assert type(query) is cls
        assert_neighbours_are_close(query, table, row, other, grid)

    check()


@pytest.mark.parametrize("cls", strategies, ids=lambda cls: cls.__name__)
def test_what_a_row_adds_does_not_depend_on_the_others(cls):
    """Otherwise one row more could move what all the others add, by more than any bound."""
    one = rows_for(cls)

    @settings(max_examples=80 if cls in prototyped else 25)
    @given(strategies[cls], st.lists(one, min_size=2, max_size=6), st.sampled_from([-50, -40, -9]))
    def check(query, table, power):
        grid = 2.0**power
        alone = [total_of([row], query, grid) for row in table]
        together = [wrapped(sum(column)) for column in zip(*alone, strict=True)]
        assert total_of(table, query, grid) == together
        assert total_of(table[::-1], query, grid) == together

    check()


weighted = [cls for cls in strategies if cls not in prototyped]


@pytest.mark.parametrize("cls", weighted, ids=lambda cls: cls.__name__)
def test_no_weight_moves_a_sum_by_more_than_the_sensitivity(cls):
    one = rows_for(cls)
    weights = st.lists(st.one_of(st.floats(), st.floats(0, 1)), min_size=7, max_size=7)

    @settings(max_examples=40)
    @given(strategies[cls], st.lists(one, max_size=6), one, one, grids, weights)
    def check(query, table, row, other, grid, weights):
        assert_neighbours_are_close(query, table, row, other, grid, weights)

    check()


def test_every_query_heeds_the_weights():
    for cls in weighted:
        one = rows_for(cls)

        @settings(max_examples=20)
        @given(strategies[cls], st.lists(one, min_size=1, max_size=4))
        def check(query, table):
            zeros, ones = np.zeros(len(table)), np.ones(len(table))
            assert not any(total_of(table, query, 2.0**-20, zeros))
            assert total_of(table, query, 2.0**-20, ones) == total_of(table, query, 2.0**-20)

        check()


@pytest.mark.parametrize("cls", prototyped, ids=lambda cls: cls.__name__)
def test_queries_of_prototypes_and_maps_refuse_weights(cls):
    @settings(max_examples=10)
    @given(strategies[cls], st.lists(rows_for(cls), min_size=1, max_size=4))
    def check(query, table):
        for weights in (np.zeros(len(table)), np.ones(len(table))):
            with pytest.raises(SettingError, match="without weights"):
                total_of(table, query, 2.0**-40, weights)

    check()


def cut(share, bound, grid):
    """Clip and cut one row's share, in exact arithmetic."""
    exact = [Fraction(float(value)) for value in share]
    square = sum(value * value for value in exact)
    assert square <= Fraction(bound) ** 2 * (1 + ROUNDING), (
        "counts are within the bound as they are"
    )
    return [math.trunc(value / Fraction(grid)) for value in exact]


CELLS_OF_ROWS = [
    *simple,
    ResidualSizes,
    MissSizes,
    PairCounts,
    GridCounts,
    *(c for c in evaluated if issubclass(c, CellQuery | ScoreCells)),
]


@pytest.mark.parametrize("cls", CELLS_OF_ROWS, ids=lambda cls: cls.__name__)
def test_kernels_add_up_the_shares(cls):
    @settings(max_examples=40)
    @given(strategies[cls], st.lists(rows_for(cls), min_size=1, max_size=4), grids)
    def check(query, table, grid):
        (block,) = source_of(table, getattr(query, "layout", None)).blocks(query.columns)
        parts = [cut(share, query.bound, grid) for share in query.contributions(block)]
        expected = [wrapped(sum(column)) for column in zip(*parts, strict=True)]
        assert total_of(table, query, grid) == expected

    check()


@settings(max_examples=30)
@given(strategies[Together], tables, grids)
def test_together_is_the_parts_end_to_end(query, table, grid):
    parts = [value for part in query.parts for value in total_of(table, part, grid)]
    assert total_of(table, query, grid) == parts
    assert [v for part in query.split(np.array(parts)) for v in part] == parts


# -- residuals of additive models ------------------------------------------------------------------


def residual_of(query, row, label):
    """The documented residual of one row, in floats: y - p, weighted so that none exceeds cap."""
    scores = query.intercept + sum(query.scores[cell] for cell in row)
    kind, aim = query.layout.residual, query.layout.aim
    if kind == "poisson":
        return np.array([query.cap * count_residual(label, math.exp(scores[0]), query.width)])
    if kind == "gamma":
        ratio = label / math.exp(scores[0])
        return np.array([min(max(ratio - 1, -query.cap), query.cap)])
    if kind == "quantile":
        residual = aim.quantile if label > scores[0] else aim.quantile - 1
        return np.array([min(max(residual, -query.cap), query.cap)])
    if query.layout.link == "identity":
        return np.clip(label - scores, -query.cap, query.cap)
    if query.layout.link == "logit":
        p = 1 / (1 + math.exp(-scores[0]))
        return np.array([query.cap * (label - p) / max(p, 1 - p)])
    p = np.exp(scores - scores.max())
    p /= p.sum()
    longest = max(np.linalg.norm(unit - p) for unit in np.eye(len(p)))
    return (np.eye(len(p))[int(label)] - p) * min(1.0, query.cap / longest)


def count_residual(count, mean, width):
    """A count in its window, minus what Poisson's distribution expects, by the longest way."""
    half = width * max(1.0, 1.5 * math.sqrt(mean))
    lower, upper = max(mean - half, 0.0), mean + half
    counts = np.arange(400)
    expected = poisson.pmf(counts, mean) @ np.clip(counts, lower, upper)
    return (min(max(count, lower), upper) - expected) / max(expected - lower, upper - expected)


@pytest.mark.parametrize("kind", ["dense", "diagonal"])
@pytest.mark.parametrize("link", TARGETS)
def test_residual_sums_are_what_the_documentation_says(link, kind):
    layout = layout_of(link, TARGETS[link][0], [[-1.0, 0.5], [0.0]])
    generator = np.random.default_rng(1)
    scores = generator.normal(size=(int(layout.offsets[-1]), layout.outputs))
    intercept = generator.normal(size=layout.outputs)
    mixing = mixing_of(layout, generator, [kind] * 3)
    query = ResidualSums(layout, scores, intercept, 0.6, mixing)
    # Value and bin of each: n has bins 0 to 3, u 4 to 6, c 7 to 11; the last ones are for missing.
    columns = (
        [(-9, 0), (-1.0, 1), (0.4, 1), (0.5, 2), (math.inf, 2), (None, 3), ("x", 3)],
        [(-1e9, 4), (0.0, 5), (None, 6)],
        [("a", 7), ("b", 8), (1, 9), ("zzz", 10), (None, 11)],
    )
    targets = {
        "logit": [("a", 0), ("b", 1), ("zzz", None), (None, None)],
        "softmax": [("a", 0), ("b", 1), (1, 2), ("zzz", None), (None, None)],
        "identity": [(-2, -1.0), (0.5, 0.0), (99.0, 1.0), (None, None), ("x", None)],
        "poisson": [(0, 0), (1.0, 1), (2.5, 2.5), (99.0, 3), (-7, 0), (None, None), ("x", None)],
        "gamma": [(0, 0), (1.5, 1.5), (99.0, 3), (-7, 0), (None, None), ("x", None)],
        "quantile": [(-2, -1.0), (0.5, 0.0), (99.0, 1.0), (None, None), ("x", None)],
    }[link]
    table, expected = [], np.zeros(scores.shape)
    for _ in range(200):
        drawn = [one[generator.integers(len(one))] for one in (*columns, targets)]
        table.append(tuple(value for value, _ in drawn))
        *row, label = (cell for _, cell in drawn)
        if label is None:
            continue
        residual = residual_of(query, row, label)
        assert np.linalg.norm(residual) <= query.cap * (1 + 1e-12)
        for k, cell in enumerate(row):
            matrix = np.diag(mixing[k]) if mixing[k].ndim == 1 else mixing[k]
            part = layout.part(k)
            column = matrix[:, cell - part.start] / 2.0**MIXING_BITS
            expected[part] += np.outer(column, residual)
    total = np.array(total_of(table, query, 2.0**-40)) * 2.0**-40
    # What is expected of a clipped count is read from a table.
    near = 1e-4 if link == "poisson" else 1e-5
    np.testing.assert_allclose(total, expected.ravel(), atol=near)
    (block,) = source_of(table, layout).blocks(())
    np.testing.assert_allclose(query.contributions(block).sum(axis=0), expected.ravel(), atol=near)


@pytest.mark.parametrize("link", ["logit", "identity"])
def test_leaf_sums_are_plain_residuals_of_one_column(link):
    layout = layout_of(link, TARGETS[link][0], [[0.0], [0.0]])
    scores = np.zeros((int(layout.offsets[-1]), 1))
    scores[0] = 0.7
    query = LeafSums(layout, scores, np.array([-0.2]), 0, np.array([1, 0, 1]))
    label, scaled = ("b", 1.0) if link == "logit" else (3, 1.0)
    residual = scaled - (1 / (1 + math.exp(-0.5)) if link == "logit" else 0.5)
    rows = [(-1.0, 0, "a", label), (-1.0, 0, "a", None)]
    total = np.array(total_of(rows, query, 2.0**-40)) * 2.0**-40
    np.testing.assert_allclose(total, [0.0, residual], atol=1e-9)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_scores_that_are_not_finite_never_reach_the_kernels(bad):
    # As an integer, a residual that is not a number is the smallest there is: no bound holds.
    for link, targets in TARGETS.items():
        layout = layout_of(link, targets[0], [[], []])
        fine, wrong = np.zeros((9, layout.outputs)), np.full((9, layout.outputs), bad)
        mixing = mixing_of(layout, np.random.default_rng(0), ["diagonal"] * 3)
        for scores, intercept, cap in (
            (wrong, fine[0], 0.5),
            (fine, wrong[0], 0.5),
            (fine, fine[0], bad),
        ):
            with pytest.raises(VoileError):
                ResidualSums(layout, scores, intercept, cap, mixing)


@settings(max_examples=100)
@given(exposed_sums(), st.lists(labelled_rows, max_size=6), labelled_rows, labelled_rows, grids)
def test_no_exposure_moves_a_sum_by_more_than_the_sensitivity(query, table, row, other, grid):
    assert_neighbours_are_close(query, table, row, other, grid)


@pytest.mark.parametrize("objective", ["poisson", "gamma"])
def test_an_exposure_multiplies_the_mean_and_is_no_term(objective):
    layout = exposed_layout(objective, 0.5, 2.0, Number(0, 100))
    scores, intercept = np.zeros((9, 1)), np.array([math.log(3.0)])
    mixing = mixing_of(layout, np.random.default_rng(0), ["diagonal"] * 2)
    query = ResidualSums(layout, scores, intercept, 1.0, mixing)
    for told, taken in ((0.5, 0.5), (2, 2), (-4, 0.5), (99, 2)):
        (cell,) = {abs(v) for v in total_of([(0, told, "a", 5)], query, 2.0**-40)[:4]} - {0}
        residual = cell * 2.0**-40 / (abs(mixing[0][1]) / 2.0**MIXING_BITS)
        mean = 3.0 * taken
        expected = 5 / mean - 1 if objective == "gamma" else count_residual(5, mean, 1.0)
        assert residual == pytest.approx(min(abs(expected), 1.0), abs=1e-5)
    # Without an exposure nothing is known of the row's mean: it adds nothing.
    assert not any(total_of([(0, None, "a", 5), (0, "x", "a", 5)], query, 2.0**-40))


def test_misses_are_counted_in_their_cells():
    ends = [-math.inf, *MISS_CUTS, math.inf]
    for objective, score, label, miss in (
        ("quantile", 0.25, 0.5, -0.25),
        ("gamma", 0.5, math.e, 0.5),
        ("gamma", 0.5, 0, -math.inf),
        ("poisson", math.log(4.0), 10, 2.0),
        ("poisson", math.log(0.25), 2, 1.75),
    ):
        target = Number(-2, 3) if objective == "quantile" else Number(0, 30)
        layout = layout_of(objective, target, [[], []])
        query = MissSizes(layout, np.zeros((9, 1)), np.array([score]))
        counts = total_of([(0, 0, "a", label), (0, 0, "a", None)], query, 1.0)
        (cell,) = np.flatnonzero(counts[:-1])
        assert ends[cell] - 1e-6 <= miss <= ends[cell + 1] + 1e-6
        assert counts[-1] == 1


def test_sizes_of_residuals_are_counted_in_their_cells():
    layout = layout_of("identity", Number(-2, 3), [[], []])
    query = ResidualSizes(layout, np.zeros((9, 1)), np.zeros(1))
    rows = [(0, 0, "a", 0.5), (0, 0, "a", 3), (0, 0, "a", -2), (0, 0, "a", None)]
    expected = dict.fromkeys(range(query.size), 0)
    # Scaled: 0, 1, -1 and missing; 1 is the 19th of the cuts, half a doubling below the last one.
    expected |= {0: 1, 19: 2, query.size - 1: 1}
    assert total_of(rows, query, 1.0) == list(expected.values())


def test_groups_and_leaves_outside_their_tables_are_refused():
    layout = layout_of("identity", Number(-2, 3), [[], []])
    for wrong in (-1, GROUPS):
        with pytest.raises(SettingError, match="numbered"):
            PairCounts(layout, np.full(9, wrong))
    with pytest.raises(SettingError, match="numbered"):
        LeafSums(layout, np.zeros((9, 1)), np.zeros(1), 0, np.array([0, -1]))


# -- products of explanations ----------------------------------------------------------------------


def ball_block(generator, rows, outputs, points=None):
    """Rows anywhere in the ball, many of them at its surface."""
    size = len(PointSpace(EXPLAINED)) if points is None else points.shape[1]
    drawn = generator.normal(size=(rows, size))
    drawn *= generator.choice([0.1, 1.0], (rows, 1)) / np.linalg.norm(drawn, axis=1, keepdims=True)
    kept = {
        BALL_POINTS: np.trunc(drawn * BALL_ONE * (1 - 1e-9)).astype(np.int32),
        ANSWERS: generator.integers(-BALL_ONE, BALL_ONE + 1, (rows, outputs)).astype(np.int32),
    }
    return queries.Block(rows, {}.__getitem__, kept)


@settings(max_examples=25)
@given(
    local_products(("placed",)), st.integers(0, 10**6), st.sampled_from([-60, -44, -36, -25, -9])
)
def test_products_do_not_depend_on_company_nor_on_how_blocks_are_cut(query, seed, power):
    generator, grid = np.random.default_rng(seed), 2.0**power
    block = ball_block(generator, 300, query.outputs)
    whole = query.total(block, grid)
    cuts = [0, *sorted(generator.integers(0, 300, 4).tolist()), 300]
    parts = [query.total(block.part(a, b), grid) for a, b in itertools.pairwise(cuts)]
    assert (np.sum(parts, axis=0) == whole).all()
    alone = [query.total(block.part(i, i + 1), grid) for i in range(300)]
    assert (np.sum(alone, axis=0) == whole).all()
    # One row more: exactly its own share, in the company of 299 others.
    assert (whole - query.total(block.part(0, 299), grid) == alone[299]).all()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(products, "MOST_ROWS", 7)
        assert (query.total(block, grid) == whole).all()
        patch.setattr(products, "_CHUNK", 11)
        assert (query.total(block, grid) == whole).all()


@pytest.mark.parametrize("c", [1.0, 100.0])
def test_products_of_many_rows_in_one_place_are_exact(c):
    """The largest sums that doubles must hold: every row at the far side, with most weight."""
    rows = 3 * products.MOST_ROWS
    points = np.zeros((rows, 3), dtype=np.int32)
    points[:, 0] = BALL_ONE
    kept = {BALL_POINTS: points, ANSWERS: np.full((rows, 2), BALL_ONE, dtype=np.int32)}
    block = queries.Block(rows, {}.__getitem__, kept)
    asked = np.array([[-BALL_ONE, 0, 0], [BALL_ONE, 0, 0], [0, 0, 0]], dtype=np.int32)
    query = LocalProducts(asked, read_weight("stable", c=c), 2, True)
    one = query.total(block.part(0, 1), 2.0**-36)
    total = query.total(block, 2.0**-36)
    assert [int(v) for v in total] == [rows * int(v) for v in one]
    far = one[: query.size // 3].reshape(query.width, -1)[0, 0] * 2.0**-36
    assert far == pytest.approx(2 * 4 * min(1.0, c / 12), rel=1e-4)


@settings(max_examples=60)
@given(local_products(), st.integers(0, 10**6))
def test_a_row_is_in_the_sums_of_few_points(query, seed):
    block = ball_block(np.random.default_rng(seed), 20, query.outputs)
    for i in range(20):
        one = query.total(block.part(i, i + 1), 2.0**-36).reshape(len(query.points), -1)
        assert np.count_nonzero(one.any(axis=1)) <= -(-len(query.points) // query.parts)


def test_disjoint_parts_share_all_rows_among_them():
    block = ball_block(np.random.default_rng(0), 400, 1)
    asked = np.zeros((4, len(PointSpace(EXPLAINED))), dtype=np.int32)
    weight = read_weight("stable")
    query = LocalProducts(asked, weight, 1, True, parts=4)
    parts = query.total(block, 2.0**-36).reshape(4, -1)
    whole = LocalProducts(asked[:1], weight, 1, True).total(block, 2.0**-36)
    assert (parts.sum(axis=0) == whole).all()
    counts = [int(np.round(part.reshape(query.width, -1)[-1, -2] * 2.0**-37)) for part in parts]
    assert min(counts) > 20  # of a hundred or so, and the weights below 1


class HalfTheProducts(LocalProducts):
    @property
    def bound(self):
        return super().bound * 0.95


class EveryPoint(LocalProducts):
    """The mistake of dealing rows out by chance and still counting one part."""

    def total(self, block, grid):
        return LocalProducts(self.points, self.weight, self.outputs, self.intercept).total(
            block, grid
        )


class NotClipped(LocalProducts):
    def _weighed(self, moved, answers, roots):
        return super()._weighed(moved * 1.2, answers, roots)


def test_wrong_bounds_of_products_are_caught():
    asked = np.zeros((3, len(PointSpace(EXPLAINED))), dtype=np.int32)
    asked[:, 0] = -BALL_ONE
    weight = read_weight(lambda r: OWN_WEIGHTS["far"](r, 100.0), c=100.0)
    row, other = (3, 1000, "a", 3), (-2, -1000, "b", -2)
    for cls, parts in ((HalfTheProducts, 1), (EveryPoint, 3), (NotClipped, 1)):
        right = LocalProducts(asked, weight, 1, False, parts)
        wrong = cls(asked, weight, 1, False, parts)
        for query in (right, wrong):
            object.__setattr__(query, "layout", Explained("corners", 1))
        assert_neighbours_are_close(right, [], row, other, 2.0**-40)
        with pytest.raises(AssertionError):
            assert_neighbours_are_close(wrong, [], row, other, 2.0**-40)


def test_placed_points_lie_in_the_ball_whatever_the_rows_hold():
    """Otherwise a row would be left out, or lie further from a point than any bound knows."""
    generator, longest = np.random.default_rng(0), []
    wild = [None, 1e300, -1e300, math.inf, -math.inf, math.nan, "x"]
    for _ in range(40):
        columns = {}
        for i in range(int(generator.integers(1, 60))):
            lower = generator.normal() * 10.0 ** generator.integers(-8, 8)
            wide = generator.uniform(1e-9, 1.0) * max(abs(lower), 10.0 ** generator.integers(-8, 8))
            number = Number(float(lower), float(lower + wide))
            columns[f"x{i}"] = number if generator.random() < 0.8 else Category(["a", "b"])
        space = PointSpace(Schema(columns))
        frame = {
            name: [one.lower, one.upper, *wild] if isinstance(one, Number) else [*"abababzab"]
            for name, one in columns.items()
        }
        source = TableSource(frame, None, space.schema)
        source.keep(list(columns), space.prepare)
        (block,) = source.blocks(())
        squares = (block.kept[BALL_POINTS].astype(object) ** 2).sum(axis=1)
        longest.append(max(squares) / BALL_ONE**2)
    assert 0.999 < max(longest) <= 1.0


def test_asked_points_outside_the_ball_are_refused():
    asked = np.zeros((2, 3), dtype=np.int32)
    asked[1, 2] = BALL_ONE + 1
    with pytest.raises(SettingError, match="outside"):
        LocalProducts(asked, read_weight("stable"), 1, True)
    asked[1, 2] = -(2**31)
    with pytest.raises(SettingError, match="outside"):
        LocalProducts(asked, read_weight("stable"), 1, True)


# -- the default path: any shares, clipped ---------------------------------------------------------


@dataclasses.dataclass(frozen=True, eq=False)
class Looked(Query):
    """Shares looked up by the number in the row: as wild as a test likes."""

    wild: np.ndarray
    bound: float
    signed: bool = True
    columns = ("u",)

    @property
    def size(self):
        return self.wild.shape[1]

    def contributions(self, block):
        return self.wild[block["u"].astype(np.int64)]


def expected_units(share, bound, grid, signed):
    """The documented rule in Python floats, one operation after the other."""
    share = [0.0 if value < 0 and not signed else value for value in map(float, share)]
    square = 0.0
    for value in share:
        square += value * value
    if not math.isfinite(square):
        return [0] * len(share)
    limit = bound * (1.0 - (len(share) + 16) * 2.3e-16)
    norm = math.sqrt(square)
    scale = 1.0 if norm <= limit else limit / norm
    most = 2**63 - 1024
    return [max(-most, min(most, int(value * scale * (1.0 / grid)))) for value in share]


def wild_matrix(seed, size):
    generator = np.random.default_rng(seed)
    pool = WILD if seed % 2 else [v for v in WILD if abs(v) < 1e150]
    matrix = generator.choice(pool, (4, size)) * generator.choice([1.0, 0.7, -1.1], (4, size))
    if size > 10:  # one wild entry must not always hide all the others
        matrix[:2, 5:] = generator.normal(size=(2, size - 5))
    return matrix


@pytest.mark.parametrize("size", [1, 3, 1000])
@pytest.mark.parametrize("signed", [True, False])
def test_any_share_is_clipped_to_the_bound(size, signed):
    @settings(max_examples=60 if size < 1000 else 25)
    @given(st.integers(0, 10**6), st.sampled_from([1e-140, 1e-9, 0.7, 1.0, 55.5, 1e140]), grids)
    def check(seed, bound, grid):
        query = Looked(wild_matrix(seed, size), bound, signed)
        parts = [total_of([(0, i, "a")], query, grid) for i in range(4)]
        for share, part in zip(query.wild, parts, strict=True):
            assert part == expected_units(share, bound, grid, signed)
            # Without any tolerance: the clip aims below the bound by more than its rounding error.
            assert sum(v * v for v in part) <= (Fraction(bound) / Fraction(grid)) ** 2
            assert signed or min(part) >= 0
        whole = [wrapped(sum(column)) for column in zip(*parts, strict=True)]
        assert total_of([(0, i, "a") for i in range(4)], query, grid) == whole
        assert_neighbours_are_close(query, [(0, 0, "a")], (0, 1, "a"), (0, 2, "a"), grid)

    check()


@pytest.mark.parametrize("size", [1, 7, 100_000])
def test_shares_just_above_the_bound_are_cut_below_it(size):
    generator = np.random.default_rng(size)
    for excess in (1.0, 1 + 1e-16 * size, 1 + 1e-15 * size, 1.5):
        shares = generator.normal(size=(1, size))
        shares *= excess / np.linalg.norm(shares)
        part = clipped_total(shares, 1.0, 2.0**-58)
        assert sum(int(v) ** 2 for v in part) <= Fraction(2) ** 116


def test_a_bound_whose_squares_vanish_is_refused():
    # 1e-170 squared is zero: its norm would look like nothing, however small the bound.
    for bound in (1e-200, 0.0, -1.0, 1e160, math.inf, math.nan):
        with pytest.raises(SettingError, match="rescale"):
            clipped_total(np.array([[1e-170]]), bound, 2.0**-60)


def test_pieces_of_a_block_add_up_to_the_block(monkeypatch):
    wild = np.random.default_rng(0).normal(size=(50, 3))
    query, table = Looked(wild, 0.8), [(0, i, "a") for i in range(50)]
    whole = total_of(table, query, 2.0**-40)
    monkeypatch.setattr(queries, "_DENSE", 21)
    assert total_of(table, query, 2.0**-40) == whole


# -- the checks above would notice -----------------------------------------------------------------


class MissingInOneCell(TreeCells):
    """The mistake of counting a missing value three times in the same cell."""

    def cells(self, block):
        nodes = super().cells(block)
        return [np.where(cells >= self.size - 3, self.size - 1, cells) for cells in nodes]

    total = CellQuery.total


class Unclipped(Looked):
    def total(self, block, grid):
        return (np.nan_to_num(self.contributions(block)) / grid).astype(np.int64).sum(axis=0)


class HalfTheBound(NumberCounts):
    def sensitivity(self, relation):
        return super().sensitivity(relation) * 0.999999

    def sensitivity_l1(self, relation):
        return super().sensitivity_l1(relation)


class SaysUnsigned(Unclipped):
    """Negative shares under the smaller bound of those that have none."""

    signed = False


@pytest.mark.parametrize(
    ("query", "row", "other"),
    [
        (MissingInOneCell("n", -2.0, 3.0), (None, 0, "a"), (1.0, 0, "a")),
        (Unclipped(np.array([[1.0], [1.1]]), 1.0), (0, 1, "a"), (0, 0, "a")),
        (HalfTheBound("n", (0.0,)), (1.0, 0, "a"), (-1.0, 0, "a")),
        (SaysUnsigned(np.array([[1.0], [-1.0]]), 1.0, False), (0, 0, "a"), (0, 1, "a")),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_wrong_bound_is_caught(query, row, other):
    with pytest.raises(AssertionError):
        assert_neighbours_are_close(query, [], row, other, 2.0**-20)


@pytest.mark.parametrize("kind", ["dense", "diagonal"])
@pytest.mark.parametrize("link", TARGETS)
def test_mixing_columns_that_are_too_long_are_caught(link, kind, monkeypatch):
    layout = layout_of(link, TARGETS[link][0], [[0.0], [0.0]])
    numbers = isinstance(TARGETS[link][0], Number)
    row = (1.0, 1.0, "a", 3 if numbers else "a")
    other = (-1.0, -1.0, "b", -2 if numbers else "b")
    # As far from both rows as can be, so that each residual is as long as its cap.
    for excess, caught in ((1.0, False), (1.01, True)):
        generator = np.random.default_rng(3)
        mixing = mixing_of(layout, generator, [kind] * 3, excess)
        scores = np.zeros((int(layout.offsets[-1]), layout.outputs))
        intercept = np.linspace(0, 60, layout.outputs) if link == "softmax" else np.zeros(1)
        if caught:
            with pytest.raises(SettingError, match=r"too long|larger"):
                ResidualSums(layout, scores, intercept, 0.5, mixing)
            # Without that refusal, the neighbours below would tell.
            monkeypatch.setattr(ebm_queries, "check_mixing", lambda mixing: None)
        query = ResidualSums(layout, scores, intercept, 0.5, mixing)
        if caught:
            with pytest.raises(AssertionError):
                assert_neighbours_are_close(query, [], row, other, 2.0**-40)
        else:
            assert_neighbours_are_close(query, [], row, other, 2.0**-40)


@dataclasses.dataclass(frozen=True, eq=False)
class UnderstatedCap(ResidualSums):
    """Residuals longer than the bound says."""

    @property
    def bound(self):
        return self.cap * 0.999


def test_residuals_longer_than_the_bound_are_caught():
    layout = layout_of("logit", TARGETS["logit"][0], [[], []])
    mixing = (np.array([4096, 4096]), np.zeros(2, dtype=np.int64), np.zeros(5, dtype=np.int64))
    query = UnderstatedCap(layout, np.zeros((9, 1)), np.zeros(1), 0.5, mixing)
    with pytest.raises(AssertionError):
        assert_neighbours_are_close(query, [], (0, 0, "a", "a"), (0, 0, "a", "b"), 2.0**-40)


# -- what a query may not do -----------------------------------------------------------------------


class Misshapen(Looked):
    size = 3


class TwicePerRow(Looked):
    def contributions(self, block):
        return np.repeat(super().contributions(block), 2, axis=0)


class OneTooMany(RowCount):
    def cells(self, block):
        return [*super().cells(block), *super().cells(block)]


class RowsTwice(RowCount):
    def cells(self, block):
        return [np.zeros(2 * block.rows, dtype=np.int64)]


@pytest.mark.parametrize(
    "query",
    [Misshapen(np.ones((1, 1)), 1.0), TwicePerRow(np.ones((1, 1)), 1.0), OneTooMany(), RowsTwice()],
    ids=lambda query: type(query).__name__,
)
def test_shares_of_another_shape_are_refused(query):
    with pytest.raises(SettingError, match="shape"):
        total_of([(0, 0, "a")], query, 1.0)


def test_a_query_on_a_column_of_another_kind_says_nothing_of_the_rows():
    source = TableSource({"a": ["secret"]}, None, Schema({"a": Category()}))
    for query in (CategoryCounts("a", 2), NumberCounts("a", (0.0,))):
        with pytest.raises(SettingError) as caught:
            source.total(query, 1.0)
        assert "secret" not in str(caught.value)


def test_more_levels_in_the_schema_than_in_the_query_is_no_error_that_depends_on_rows():
    for values in (["a", "b"], ["b", 1], [None, None]):
        source = TableSource({"c": values}, None, Schema({"c": Category(["a", "b", 1])}))
        assert source.total(CategoryCounts("c", 1), 1.0).sum() == 2


@pytest.mark.parametrize("values", [[], [1.0]])
def test_unknown_columns_are_refused_with_and_without_rows(values):
    source = TableSource({"a": values}, None, Schema({"a": Number(0, 1)}))
    for query in (CategoryCounts("b", 2), NumberCounts("\0target", (0.0,))):
        with pytest.raises(SchemaError):
            source.total(query, 1.0)


def test_cuts_must_increase():
    with pytest.raises(SettingError, match="increase"):
        NumberCounts("a", (1.0, 1.0))


def test_a_bad_bound_is_refused_however_many_rows_there_are():
    class Vast(queries.RowCount):
        bound = 1e200

    messages = set()
    for rows in ([], [1.0]):
        source = TableSource({"a": rows}, None, Schema({"a": Number(0, 1)}))
        with pytest.raises(SettingError) as caught:
            source.total(Vast(), 1.0)
        messages.add(str(caught.value))
    assert len(messages) == 1

"""Questions that got through once: each is refused now, before an access is used up."""

import dataclasses
import math

import numpy as np
import pytest
from test_enemy import agent, forged, layout, paid, rows

from voile import Category, Number, Schema
from voile.errors import SettingError
from voile.models.ebm.cyclic import LeafSums
from voile.models.ebm.queries import BinLayout, ResidualSizes, ResidualSums
from voile.models.locally_linear.inputs import Inputs, KeptPoints
from voile.models.locally_linear.pictures import STILL, Move, SmoothBasis
from voile.models.locally_linear.projections import KeptSquares, ProjectedSteps
from voile.models.locally_linear.queries import ClassPoints, MapSteps
from voile.models.lvq.plain import MarginCosts
from voile.models.lvq.queries import ClassSums, ClusterSums, Lengths, Moments, Pulls
from voile.models.lvq.space import Space
from voile.models.pixels import PixelRanges
from voile.privacy.clients.questions import RefusalMessage, SumAnswer
from voile.privacy.discovery import LogCells, TreeCells
from voile.privacy.queries import CategoryCounts, NumberCounts, RowCount, Together

SCHEMA = Schema({f"x{i}": Number(-4, 4) for i in range(4)}, target=Category([0, 1]))
THREE = SCHEMA.with_target(Category([0, 1, 2]))
SPACE = Space(SCHEMA, np.zeros(4), 1.0)
INPUTS = Inputs.uncentred(SCHEMA, None, None, root=False, normalise=True)
DRAWN = np.full((1, 3, 4), 500)
POINTS, SQUARES = KeptPoints(INPUTS, (STILL,)), KeptSquares(DRAWN)
MOVED = KeptPoints(INPUTS, (STILL, STILL))
LABELS = np.array([0, 1])


def projected(**changes):
    given = {"layout": INPUTS, "weights": np.zeros((2, 1, 4)), "beta": 1.0, "bias": 0.1}
    given |= {"clip": 1.0, "lot": None, "chosen": None, "projections": DRAWN}
    return forged(ProjectedSteps, *(given | changes).values())


def mapped(**changes):
    given = {"layout": INPUTS, "weights": np.zeros((2, 1, 5)), "beta": 1.0, "bias": 0.1}
    given |= {"clip": 1.0, "lot": None, "chosen": None}
    return forged(MapSteps, *(given | changes).values())


def kept_at(size):
    return forged(KeptSquares, np.full((1, 3, size), 500))


REFUSED = {
    "larger entries": (projected(projections=DRAWN * 2**40), (POINTS, kept_at(4))),
    "entries of 2^15": (projected(projections=np.full((1, 3, 4), 2**15)), (POINTS, SQUARES)),
    "lengths of other projections": (projected(), (POINTS, KeptSquares(DRAWN // 64))),
    "lengths of earlier points": (projected(), (POINTS, SQUARES, POINTS)),
    "lengths and no points": (projected(), (SQUARES,)),
    "lengths of one copy": (projected(), (MOVED, SQUARES)),
    "later copies": (projected(), (POINTS, SQUARES, MOVED)),
    "one copy twice": (projected(chosen=(0, 0)), (POINTS, SQUARES)),
    "lengths of more coordinates": (projected(), (POINTS, kept_at(5))),
    "projections of more maps": (projected(projections=np.full((3, 3, 4), 5)), (POINTS, SQUARES)),
    "a copy that is not kept": (mapped(chosen=(1,)), (POINTS,)),
    "a negative copy": (mapped(chosen=(-1,)), (POINTS,)),
    "no copy": (mapped(chosen=()), (POINTS,)),
    "many copies": (mapped(chosen=(0,) * 65), (POINTS,)),
    "maps of fewer coordinates": (mapped(weights=np.zeros((2, 1, 4))), (POINTS,)),
    "maps of fewer classes": (mapped(weights=np.zeros((1, 1, 5))), (POINTS,)),
    "no maps": (mapped(weights=np.zeros((2, 0, 5))), (POINTS,)),
    "flat maps": (mapped(weights=np.zeros((2, 5))), (POINTS,)),
    "maps of other inputs": (mapped(layout=dataclasses.replace(INPUTS)), (POINTS,)),
    "maps of nothing": (mapped(), ()),
    "class points of nothing": (ClassPoints(INPUTS), (SPACE,)),
    "65 copies": (ClassPoints(INPUTS), (forged(KeptPoints, INPUTS, (STILL,) * 65),)),
    "a moved table": (ClassPoints(INPUTS), (forged(KeptPoints, INPUTS, (Move(down=1),)),)),
    "class sums of another space": (ClassSums(SPACE, True), (Space(SCHEMA, np.zeros(4), 1.0),)),
    "class sums of an earlier space": (
        ClassSums(SPACE, True),
        (SPACE, Space(SCHEMA, np.zeros(4), 2.0)),
    ),
    "class sums of nothing": (ClassSums(SPACE, True), ()),
    "a space of no number": (RowCount(), (forged(Space, SCHEMA, np.full(4, np.nan), 1.0, None),)),
    "a space without radius": (RowCount(), (forged(Space, SCHEMA, np.zeros(4), 0.0, None),)),
    "a space of other features": (RowCount(), (forged(Space, SCHEMA, np.zeros(3), 1.0, None),)),
    "a space of other classes": (RowCount(), (Space(THREE, np.zeros(4), 1.0),)),
    "prototypes outside": (
        forged(ClusterSums, SPACE, np.full((2, 4), 3.0), LABELS),
        (SPACE,),
    ),
    "labels of no class": (forged(ClusterSums, SPACE, np.zeros((2, 4)), LABELS + 1), (SPACE,)),
    "labels of no row": (forged(ClusterSums, SPACE, np.zeros((2, 4)), LABELS - 1), (SPACE,)),
    "more labels": (forged(ClusterSums, SPACE, np.zeros((1, 4)), LABELS), (SPACE,)),
    "a lot of none": (
        forged(Pulls, SPACE, np.zeros((2, 4)), LABELS, "glvq", 1.0, 1.0, 1.0, (0, 0)),
        (SPACE,),
    ),
    "another rule": (
        forged(Pulls, SPACE, np.zeros((2, 4)), LABELS, "lvq9", 1.0, 1.0, 1.0, None),
        (SPACE,),
    ),
    "a slope of nothing": (forged(MarginCosts, SPACE, np.zeros((2, 4)), LABELS, 5e-324), (SPACE,)),
    "lengths of other points": (forged(Lengths, SPACE, np.zeros((2, 3)), 1.0), (SPACE,)),
    "an endless cap": (forged(Lengths, SPACE, np.eye(4), 1e200), (SPACE,)),
    "moments of another schema": (Moments(Schema({"x0": Number(-1, 1)})), ()),
    "three classes under a logit": (
        RowCount(),
        (forged(BinLayout, THREE, "logit", layout().cuts, layout().offsets),),
    ),
    "counts of fewer levels": (CategoryCounts("\0target", 1), ()),
    "counts of levels of a number": (CategoryCounts("x0", 0), ()),
    "cuts of a class": (NumberCounts("\0target", (0.0,)), ()),
    "a tree of classes": (TreeCells("\0target", 0.0, 1.0), ()),
    "powers of classes": (LogCells("\0target"), ()),
    "no cuts": (forged(NumberCounts, "x0", (0.0, math.nan)), ()),
    "a tree of nothing": (forged(TreeCells, "x0", 1.0, 1.0), ()),
    "a tree of no number": (forged(TreeCells, "x0", math.nan, 1.0), ()),
    "pixels twice": (PixelRanges(("x0", "x0")), ()),
    "too many at once": (forged(Together, (RowCount(),) * 10_001), ()),
    "nested": (
        forged(Together, (forged(Together, (Together((Together((Together((RowCount(),)),)),)),)),)),
        (),
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_meant_is_refused_before_a_look_is_used_up(name):
    query, prepared = REFUSED[name]
    X, y = rows(20)
    server = paid(agent(X, y), trust="aggregator")
    reply = server.ask(query, prepared=prepared, grid=2.0**-30)
    assert isinstance(reply, RefusalMessage), reply
    assert "failed with" not in reply.reason
    assert server.agent.receipts()[0].lines[0].openings == 0
    assert isinstance(server.ask(RowCount()), SumAnswer)


def test_their_honest_kind_is_answered():
    X, y = rows(20)
    server = paid(agent(X, y), trust="aggregator")
    assert isinstance(server.ask(projected(), 0, prepared=(POINTS, SQUARES)), SumAnswer)
    assert isinstance(server.ask(mapped(chosen=(1, 0)), 1, prepared=(POINTS, MOVED)), SumAnswer)
    assert isinstance(server.ask(ClassSums(SPACE, True), 2, prepared=(POINTS, SPACE)), SumAnswer)


def _no_classes():
    """A target without a single level: its kernels have no score to read."""
    return Schema(dict(SCHEMA), target=Category([]))


@pytest.mark.parametrize(
    "make",
    [
        lambda: layout(link="softmax", schema=_no_classes()),
        lambda: layout(link="softmax", schema=SCHEMA.with_target(Category(["a"]))),
        lambda: layout(link="softmax", schema=SCHEMA.with_target(Number(0, 1))),
        lambda: layout(link="identity"),
        lambda: layout(link="logit", schema=SCHEMA.with_target(Number(0, 1))),
        lambda: layout(link="identity", schema=SCHEMA.with_target(Number())),
        lambda: layout((0, 3, 6, 9, 12), cuts=(np.array([1.0, 0.0]),) * 4),
        lambda: layout((0, 3, 6, 9, 12), cuts=(np.array([math.nan]),) * 4),
        lambda: layout((0, 3, 6, 9, 12), cuts=(np.zeros((1, 1)),) * 4),
        lambda: LeafSums(
            layout(link="softmax", schema=THREE), np.zeros((4, 3)), np.zeros(3), 0, LABELS[:1]
        ),
        lambda: ResidualSizes(layout(), np.zeros((4, 1)), np.zeros(1)),
        lambda: ResidualSums(layout(), np.zeros((4, 1)), np.zeros(1), 1e200, ()),
        lambda: ResidualSums(
            layout(), np.zeros((4, 1)), np.zeros(1), 1.0, (np.ones((1, 1, 1), dtype=np.int64),) * 4
        ),
        lambda: SmoothBasis((2, 2, 1), 2, 0.0),
        lambda: SmoothBasis((2, 2, 1), 2, math.nan),
        lambda: SmoothBasis((120, 120, 1), 120, 1.0),
        lambda: Move(down=math.inf),
        lambda: Move(turn=math.nan),
        lambda: KeptPoints(INPUTS, ()),
        lambda: KeptSquares(np.zeros((1, 1, 2**13 + 1), dtype=np.int64)),
        lambda: KeptSquares(np.zeros((0, 1, 4), dtype=np.int64)),
        lambda: KeptSquares(np.zeros((1, 3, 4))),
        lambda: dataclasses.replace(INPUTS, radius=np.zeros(4)),
        lambda: dataclasses.replace(INPUTS, picture=(2, 3, 1)),
        lambda: dataclasses.replace(INPUTS, basis=SmoothBasis((2, 2, 1), 2, 1.0)),
        lambda: Moments(Schema({"x0": Number()})),
        lambda: Together(()),
    ],
)
def test_odd_numbers_are_refused_when_they_are_made(make):
    with pytest.raises(SettingError):
        make()


@pytest.mark.parametrize("radius", [5e-324, 1e-300, 1e300])
@pytest.mark.parametrize("scale", [1e300, 1.7e308, 1e-320])
def test_points_are_whole_numbers_in_the_ball_at_the_ends_of_the_scale(radius, scale):
    space = Space(SCHEMA, np.full(4, scale), radius, np.full((3, 4), scale))
    features = np.array([[1.0, -1.0, 0.0, np.nan], [1.0, 1.0, 1.0, 1.0]], dtype=np.float32)
    with np.errstate(all="ignore"):
        placed = space.place(features).astype(np.int64)
    assert ((placed**2).sum(axis=1) <= 2**28).all()


def test_the_size_of_a_basis_is_known_before_it_is_made():
    for shape in ((1, 1, 1), (2, 5, 1), (7, 4, 3), (12, 12, 2)):
        for cut in range(1, 13):
            basis = SmoothBasis(shape, cut, 3.0)
            assert basis.matrix().shape == (basis.size, basis.pixels)


def test_many_classes_and_prototypes_take_little_memory_per_row():
    """Distances and places of classes are made for some rows at a time."""
    schema = Schema({"x0": Number(-1, 1)}, target=Category(range(3000)))
    space = Space(schema, np.zeros(1), 1.0)
    prototypes = np.linspace(-1, 1, 3000)[:, None]
    one = ClusterSums(space, prototypes, np.arange(3000))
    X, y = np.linspace(-1, 1, 5000)[:, None], np.arange(5000) % 3000
    server = paid(agent(X, y, schema), trust="aggregator", schema=schema)
    reply = server.ask(one, prepared=(space,))
    assert isinstance(reply, SumAnswer), reply

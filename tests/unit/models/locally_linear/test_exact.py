"""Sums of locally linear maps are exact and bounded: no order, block or neighbour changes a bit."""

import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from threadpoolctl import threadpool_limits

from voile import Budget, Category, Ledger, Number, Schema, protect
from voile.errors import PlanError, SettingError
from voile.models import exact_sums as whole_numbers
from voile.models.exact_sums import exact_product
from voile.models.locally_linear import inputs as inputs_module
from voile.models.locally_linear import projections as projections_module
from voile.models.locally_linear import queries as queries_module
from voile.models.locally_linear.inputs import BITS, CLASSES, ONE, POINTS, Inputs
from voile.models.locally_linear.kernels import blend_copies
from voile.models.locally_linear.pictures import STILL, Move, SmoothBasis
from voile.models.locally_linear.projections import (
    PROJECTION_BITS,
    SQUARES,
    ProjectedSteps,
    keep_squares,
)
from voile.models.locally_linear.queries import ClassPoints, Directions, MapSteps
from voile.privacy.events import Gaussian, Laplace, Plan, PoissonGaussian
from voile.privacy.mechanisms import gaussian_sum, laplace_sum
from voile.privacy.queries import TARGET, Block
from voile.privacy.sources import parquet, table
from voile.privacy.sources.parquet import ParquetSource
from voile.privacy.sources.table import TableSource
from voile.privacy.vault import keep

CLASS_COUNT = 3
GRID = 2.0**-48
FINE = 2.0**-42
"""Fine enough for all bits of a coefficient, a point and a projection."""


def inputs_of(size, classes=CLASS_COUNT):
    columns = {f"x{i}": Number(-1, 1) for i in range(size)}
    schema = Schema(columns, target=Category(range(classes)))
    return Inputs.uncentred(schema, None, None, root=False, normalise=False)


def block_of(points, classes, projections=None):
    """Rows as `Inputs.prepare` keeps them; points of shape (rows[, copies], size)."""
    points = np.asarray(points, np.int16)
    if points.ndim == 2:
        points = points[:, None]
    kept = {POINTS: points, CLASSES: np.asarray(classes, np.int32)}
    block = Block(len(points), lambda name: np.zeros(0), kept)
    if projections is not None:
        keep_squares(block, projections)
    return block


def random_points(generator, shape):
    """Whole points of all lengths up to 1, some of them nought."""
    found = generator.normal(size=shape)
    lengths = generator.uniform(0, 0.9999, (*shape[:-1], 1))
    found *= lengths / np.linalg.norm(found, axis=-1, keepdims=True)
    found = np.trunc(found * ONE).astype(np.int16)
    found[::17] = 0
    return found


def random_projections(generator, maps, seen, size):
    drawn = generator.normal(size=(maps, seen, size)) / math.sqrt(seen)
    return np.round(drawn * 2**PROJECTION_BITS).astype(np.int64)


# -- the gradient ----------------------------------------------------------------------------------


def loss_of(seen, own, weights, beta):
    """Cross-entropy of one row; ``seen`` of shape (maps, size + 1) is what each map sees."""
    g = np.einsum("kmj,mj->km", weights, seen)
    shares = np.exp(beta * (g - g.max(axis=1, keepdims=True)))
    shares /= shares.sum(axis=1, keepdims=True)
    f = (shares * g).sum(axis=1)
    return math.log(np.exp(f - f.max()).sum()) + f.max() - f[own]


def slope_of(seen, own, weights, beta, step=1e-5):
    """The gradient by the weights, by central differences."""
    result = np.zeros_like(weights)
    for place in np.ndindex(weights.shape):
        ends = []
        for sign in (1, -1):
            moved = weights.copy()
            moved[place] += sign * step
            ends.append(loss_of(seen, own, moved, beta))
        result[place] = (ends[0] - ends[1]) / (2 * step)
    return result


@pytest.mark.parametrize("beta", [0.0, 0.1, 2.0, 20.0])
@pytest.mark.parametrize("maps", [1, 3])
@pytest.mark.parametrize("copies", [1, 4])
def test_what_a_row_adds_is_the_slope_of_its_loss(beta, maps, copies):
    generator = np.random.default_rng(maps + 10 * copies)
    size, bias = 4, 0.25
    for spread in (0.0, 0.5, 3.0):
        weights = generator.normal(0, spread, (CLASS_COUNT, maps, size + 1))
        points = random_points(generator, (5, copies, size))
        own = generator.integers(0, CLASS_COUNT, 5)
        query = MapSteps(inputs_of(size), weights, beta, bias, 1e3)
        for i in range(5):
            found = query.total(block_of(points[i : i + 1], own[i : i + 1]), FINE) * FINE
            slopes = [
                slope_of(np.tile(np.append(z / ONE, bias), (maps, 1)), own[i], weights, beta)
                for z in points[i]
            ]
            # Weights are rounded to 12 bits of their length for the scores, and exp is short.
            np.testing.assert_allclose(
                found.reshape(weights.shape), np.mean(slopes, axis=0), atol=2e-3 * (1 + spread)
            )


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("beta", [0.1, 2.0])
def test_what_a_row_adds_behind_projections_is_the_slope_of_its_loss(beta, shared):
    generator = np.random.default_rng(5)
    size, seen, maps, bias = 6, 3, 2, 0.25
    projections = random_projections(generator, 1 if shared else maps, seen, size)
    weights = generator.normal(0, 1.0, (CLASS_COUNT, maps, seen + 1))
    query = ProjectedSteps(inputs_of(size), weights, beta, bias, 1e3, projections=projections)
    for point in random_points(generator, (5, size)):
        for own in range(CLASS_COUNT):
            found = query.total(block_of([point], [own], projections), FINE) * FINE
            views = [
                np.append(projections[m % len(projections)] @ point / 2.0 ** (BITS + 9), bias)
                for m in range(maps)
            ]
            exact = slope_of(np.array(views), own, weights, beta)
            np.testing.assert_allclose(found.reshape(weights.shape), exact, atol=3e-3)


def test_chosen_copies_are_the_only_ones():
    generator = np.random.default_rng(7)
    weights = generator.normal(0, 1.0, (CLASS_COUNT, 2, 6))
    points, own = random_points(generator, (20, 5, 5)), generator.integers(0, 3, 20)
    for chosen in ((0,), (0, 3), (1, 2, 4), (0, 1, 2, 3, 4)):
        query = MapSteps(inputs_of(5), weights, 0.5, 0.3, 0.1, chosen=chosen)
        plain = MapSteps(inputs_of(5), weights, 0.5, 0.3, 0.1)
        found = query.total(block_of(points, own), FINE)
        assert np.array_equal(found, plain.total(block_of(points[:, chosen], own), FINE))
        check_bound(query, block_of(points, own))


def test_a_row_of_no_class_adds_nothing():
    weights = np.random.default_rng(0).normal(size=(CLASS_COUNT, 2, 4))
    query = MapSteps(inputs_of(3), weights, 0.5, 0.3, 1.0)
    assert not query.total(block_of([[ONE, 0, 0], [0, 5, 0]], [-1, -1]), FINE).any()


# -- the bound, in fractions -----------------------------------------------------------------------


def length_squared(whole, grid):
    return sum(int(v) ** 2 for v in whole) * Fraction(grid) ** 2


def check_bound(query, block, at_least=0.0):
    """Every row's share is within the clip, to the bit; nothing is given away for nothing."""
    for i in range(block.rows):
        found = query.total(block.part(i, i + 1), FINE)
        squared = length_squared(found, FINE)
        assert squared <= Fraction(query.clip) ** 2
        assert float(squared) >= (at_least * query.clip) ** 2


WEIGHTS = {"none": 0.0, "small": 1e-3, "usual": 3.0, "large": 300.0, "huge": 1e6}


@pytest.mark.parametrize("clip", [1e-5, 0.05, 1 / 3, 1.0])
@pytest.mark.parametrize("spread", WEIGHTS.values(), ids=WEIGHTS)
@pytest.mark.parametrize("maps", [1, 20])
def test_no_share_is_longer_than_the_clip(spread, maps, clip):
    generator = np.random.default_rng(1)
    size, classes = 30, 3
    weights = generator.normal(0, spread, (classes, maps, size + 1))
    points, own = random_points(generator, (12, size)), generator.integers(0, classes, 12)
    for bias in (0.0, 0.3, 1.0):
        check_bound(MapSteps(inputs_of(size), weights, 0.5, bias, clip), block_of(points, own))
    projections = random_projections(generator, maps, 5, size)
    weights = generator.normal(0, spread, (classes, maps, 6))
    query = ProjectedSteps(inputs_of(size), weights, 0.5, 0.3, clip, projections=projections)
    check_bound(query, block_of(points, own, projections))


def copies_of(generator, kind, rows, copies, size):
    """Copies of rows: anywhere, nearly parallel, cancelling each other, or one as good as none."""
    first = random_points(generator, (rows, 1, size)).astype(np.int64)
    noise = generator.integers(-2, 3, (rows, copies, size))
    sign = np.resize([1, -1], copies)[None, :, None]
    found = {
        "anywhere": random_points(generator, (rows, copies, size)),
        "parallel": first + noise,
        "alike": np.repeat(first, copies, axis=1),
        "opposite": first * sign,
        "nearly opposite": first * sign + noise,
        "one alone": np.where(np.arange(copies)[None, :, None] == 1, first, 0),
    }[kind].astype(float)
    longest = np.sqrt((found**2).sum(axis=2, keepdims=True))
    return np.trunc(found * np.minimum(1.0, ONE / np.maximum(longest, 1)))


KINDS = ["anywhere", "parallel", "alike", "opposite", "nearly opposite", "one alone"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("copies", [2, 9])
def test_no_mean_over_copies_is_longer_than_the_clip(kind, copies):
    generator = np.random.default_rng(copies)
    size = 16
    points = copies_of(generator, kind, 6, copies, size)
    own = generator.integers(0, CLASS_COUNT, 6)
    for maps, spread in ((1, 0.0), (4, 0.01), (20, 3.0), (20, 1e4)):
        weights = generator.normal(0, spread, (CLASS_COUNT, maps, size + 1))
        for clip, bias in ((1e-3, 0.0), (0.05, 0.3), (0.4, 0.0)):
            query = MapSteps(inputs_of(size), weights, 0.5, bias, clip)
            check_bound(query, block_of(points, own))


def test_copies_that_cancel_add_nothing_to_speak_of():
    """Otherwise the test above would say little: sums are far shorter than their parts."""
    point = np.array([[1200, -900, 600, 300]])
    weights = np.zeros((CLASS_COUNT, 2, 5))
    query = MapSteps(inputs_of(4), weights, 0.5, 0.0, 1.0)
    both = query.total(block_of([np.vstack([point, -point])], [0]), FINE)
    alone = query.total(block_of([point], [0]), FINE)
    assert not both.any()
    assert float(length_squared(alone, FINE)) > 0.01


@pytest.mark.parametrize("copies", [1, 3])
@pytest.mark.parametrize("maps", [1, 20])
def test_a_gradient_exactly_at_the_clip(maps, copies):
    generator = np.random.default_rng(3)
    size = 10
    weights = generator.normal(0, 1.0, (CLASS_COUNT, maps, size + 1))
    points = copies_of(generator, "parallel", 20, copies, size)
    own = generator.integers(0, CLASS_COUNT, 20)
    free = MapSteps(inputs_of(size), weights, 0.5, 0.3, 1e3)
    for i in range(20):
        block = block_of(points[i : i + 1], own[i : i + 1])
        length = math.sqrt(length_squared(free.total(block, FINE), FINE))
        for clip in (length, math.nextafter(length, 0), math.nextafter(length, 9), length * 0.999):
            query = MapSteps(inputs_of(size), weights, 0.5, 0.3, clip)
            # One part in a thousand is all that rounding may cost.
            check_bound(query, block, at_least=0.998)


def test_a_clip_below_the_rounding_of_copies_lets_nothing_through():
    weights = np.ones((CLASS_COUNT, 20, 5))
    query = MapSteps(inputs_of(4), weights, 0.5, 0.3, 1e-5)
    block = block_of([[[1000, 0, 0, 0], [0, 1000, 0, 0]]], [0])
    assert not query.total(block, 2.0**-20).any()
    assert not query.total(block, 2.0**-10).any()


def lengths_of_kernel(scores, points, own, clip, bias=0):
    """Squared lengths of whole rows in fractions, from coefficients that are hardly cut at all."""
    rows, copies, width = scores.shape
    fine, out = 2.0**60, np.empty(scores.shape)
    settings = (width // 2, 2, np.float32(1.0), np.float32(0.5), float(bias**2), clip, 1e4, fine)
    classes, maps, *rest = settings
    blend_copies(scores.copy(), points, own, classes, maps, *rest, out)
    for i in range(rows):
        found = [[int(one) for one in line] for line in out[i]]
        total = 0
        for a in range(copies):
            for b in range(copies):
                pairs = zip(points[i, a].tolist(), points[i, b].tolist(), strict=True)
                inner = sum(p * q for p, q in pairs) + bias**2
                total += sum(p * q for p, q in zip(found[a], found[b], strict=True)) * inner
        yield Fraction(total, 2**120 * ONE**2)


@pytest.mark.parametrize("kind", ["nearly opposite", "parallel", "anywhere"])
@pytest.mark.parametrize("copies", [1, 2, 9])
def test_the_margins_for_rounding_are_wide_enough(kind, copies):
    """With coefficients that are not cut, so that nothing but the margins keeps rows within."""
    generator = np.random.default_rng(copies)
    points = copies_of(generator, kind, 30, copies, 16).astype(np.int16)
    own = generator.integers(0, 20, 30)
    same = np.repeat(generator.normal(0, 2, (30, 1, 40)), copies, axis=1)
    for noise in (0.0, 1e-6, 1e-3, 1.0):
        scores = (same + generator.normal(0, noise, same.shape)).astype(np.float32)
        for clip in (3e-7, 1e-5, 1e-4, 1e-2, 0.3):
            for squared in lengths_of_kernel(scores, points, own, clip, bias=0):
                assert squared <= Fraction(clip) ** 2


def test_many_maps_of_many_classes_stay_within_the_clip():
    """The longest sums in single precision: 4,000 coefficients."""
    generator = np.random.default_rng(4)
    layout = inputs_of(3, 40)
    for spread in (0.0, 5.0):
        weights = generator.normal(0, spread, (40, 100, 4))
        for copies in (1, 5):
            points = copies_of(generator, "nearly opposite", 3, copies, 3)
            query = MapSteps(layout, weights, 0.5, 0.3, 0.01)
            check_bound(query, block_of(points, [0, 7, 39]))


@pytest.mark.parametrize("size", [1e20, 1e35, 1e39, 1e100])
@pytest.mark.parametrize("kind", ["plain", "copies", "projected"])
def test_wild_weights_break_neither_the_bound_nor_other_rows(kind, size):
    """No training reaches them: refused, or "what is not a number adds nothing"."""
    generator = np.random.default_rng(2)
    points = random_points(generator, (20, 2 if kind == "copies" else 1, 4))
    own = generator.integers(0, CLASS_COUNT, 20)
    projections = random_projections(generator, 2, 4, 4)
    weights = generator.normal(size=(CLASS_COUNT, 2, 5)) * size
    for beta in (0.1, 9e3):
        try:
            if kind == "projected":
                query = ProjectedSteps(
                    inputs_of(4), weights, beta, 0.3, 0.05, projections=projections
                )
            else:
                query = MapSteps(inputs_of(4), weights, beta, 0.3, 0.05)
        except SettingError:
            continue  # weights are public, so a refusal before the first row tells nothing
        block = block_of(points, own, projections)
        with np.errstate(all="ignore"):
            check_bound(query, block)
            alone = [query.total(block.part(i, i + 1), FINE) for i in range(20)]
            assert np.array_equal(query.total(block, FINE), sum(alone))


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_settings_that_no_bound_survives_are_refused(bad):
    weights = np.zeros((CLASS_COUNT, 2, 5))
    fine = {"weights": weights, "beta": 0.1, "bias": 0.3, "clip": 1.0}
    for wrong in (
        {"weights": weights + bad},
        *({name: value} for name in ("beta", "bias", "clip") for value in (bad, -1.0, 1e5)),
        {"clip": 0.0},
    ):
        with pytest.raises(SettingError):
            MapSteps(inputs_of(4), **fine | wrong)


# -- the same integers, however they are added -----------------------------------------------------


def queries_of(size, seed=0):
    generator = np.random.default_rng(seed)
    weights = generator.normal(0, 2.0, (CLASS_COUNT, 3, size + 1))
    seen = generator.normal(0, 2.0, (CLASS_COUNT, 3, 5))
    layout = inputs_of(size)
    own = random_projections(generator, 3, 4, size)
    return {
        "maps": MapSteps(layout, weights, 0.7, 0.3, 0.3),
        "copies": MapSteps(layout, weights, 0.7, 0.3, 0.3),
        "projected": ProjectedSteps(layout, seen, 0.7, 0.3, 0.3, projections=own),
        "shared": ProjectedSteps(layout, seen, 0.7, 0.3, 0.3, projections=own[:1]),
    }


@pytest.mark.parametrize("size", [1, 5, 40])
@pytest.mark.parametrize("name", list(queries_of(2)))
def test_orders_blocks_and_threads_change_nothing(name, size, monkeypatch):
    query = queries_of(size)[name]
    generator = np.random.default_rng(1)
    shape = (61, 4, size) if name == "copies" else (61, 1, size)
    points, classes = random_points(generator, shape), generator.integers(-1, 3, 61)
    projections = getattr(query, "projections", None)

    def block(rows):
        return block_of(points[rows], classes[rows], projections)

    whole = query.total(block(np.arange(61)), GRID)
    assert whole.any()
    assert np.array_equal(query.total(block(generator.permutation(61)), GRID), whole)
    for step in (1, 2, 7, 33):
        parts = [block(np.arange(i, min(i + step, 61))) for i in range(0, 61, step)]
        assert np.array_equal(sum(query.total(part, GRID) for part in parts), whole), step
    with ThreadPoolExecutor(4) as pool:
        added = pool.map(lambda part: query.total(part, GRID), parts)
        assert np.array_equal(sum(added), whole)
    with threadpool_limits(2):
        assert np.array_equal(query.total(block(np.arange(61)), GRID), whole)
    mask = generator.uniform(size=61) < 0.5
    some, rest = block(np.arange(61)).where(mask), block(np.arange(61)).where(~mask)
    assert np.array_equal(query.total(some, GRID) + query.total(rest, GRID), whole)
    part = block(np.arange(61)).part(7, 61)
    first = block(np.arange(61)).part(0, 7)
    assert np.array_equal(query.total(part, GRID) + query.total(first, GRID), whole)
    for numbers in (1, 500, 10**6):
        monkeypatch.setattr(queries_module, "_CHUNK_NUMBERS", numbers)
        assert np.array_equal(query.total(block(np.arange(61)), GRID), whole), numbers
    # One row at a time, as tests of every query see them.
    shares = query.contributions(block(np.arange(61)))
    assert np.array_equal((shares.sum(axis=0) / 2.0**-40).astype(np.int64) << 8, whole)


PICTURE = (5, 4, 1)
MOVES = (STILL, Move(down=1), Move(turn=20), Move(shear=0.3, right=-0.5))


def pictures(rows=60):
    generator = np.random.default_rng(8)
    frame = generator.uniform(0, 1, (rows, 20))
    frame[::9, 3] = np.nan
    frame[5] = 0.0
    columns = {f"x{i}": Number(0, 1) for i in range(20)}
    schema = Schema(columns, target=Category(["a", "b"]))
    return frame, generator.choice(["a", "b", "?"], rows), schema


@pytest.mark.parametrize("projected", [False, True])
def test_memory_and_files_in_any_pieces_give_the_same_sums(projected, tmp_path, monkeypatch):
    frame, labels, schema = pictures()
    generator = np.random.default_rng(0)
    basis = SmoothBasis(PICTURE, 3, 6.0)
    layout = Inputs.uncentred(schema, PICTURE, basis, root=True, normalise=True)
    layout = replace(layout, centre=generator.normal(0, 0.1, layout.size))
    if projected:
        drawn = random_projections(generator, 2, 4, layout.size)
        weights = generator.normal(0, 1, (2, 2, 5))
        query = ProjectedSteps(layout, weights, 0.5, 0.3, 0.1, projections=drawn)
    else:
        weights = generator.normal(0, 1, (2, 2, layout.size + 1))
        query = MapSteps(layout, weights, 0.5, 0.3, 0.1)
    names = list(schema)
    path = tmp_path / "rows.parquet"
    columns = {name: frame[:, i] for i, name in enumerate(names)} | {"label": labels}
    pq.write_table(pa.table(columns), path, row_group_size=37)

    def sums(source):
        source.keep(layout.columns, lambda b: layout.prepare(b, (STILL,) if projected else MOVES))
        if projected:
            source.keep((), lambda b: keep_squares(b, drawn))
        return source.total(query, GRID), source.total(Directions(layout), GRID)

    whole = sums(TableSource(frame, labels, schema))
    assert all(one.any() for one in whole)
    for rows in (3, 20):
        monkeypatch.setattr(table, "_FEWEST_ROWS", rows)
        monkeypatch.setattr(table, "_BLOCK_NUMBERS", rows)
        monkeypatch.setattr(parquet, "BLOCK_ROWS", rows)
        monkeypatch.setattr(inputs_module, "_CHUNK_NUMBERS", 20 * rows)
        for source in (
            TableSource(frame, labels, schema),
            TableSource(frame[::-1], labels[::-1], schema),
            ParquetSource(path, "label", schema),
        ):
            for found, expected in zip(sums(source), whole, strict=True):
                assert np.array_equal(found, expected), rows


# -- points ----------------------------------------------------------------------------------------


def kept_points(layout, frame, labels, copies=(STILL,)):
    source = TableSource(frame, labels, layout.schema)
    source.keep(layout.columns, lambda block: layout.prepare(block, copies))
    return np.concatenate([block.kept[POINTS] for block in source.blocks(())])


@pytest.mark.parametrize("normalise", [True, False])
@pytest.mark.parametrize("root", [True, False])
@pytest.mark.parametrize("basis", [None, SmoothBasis(PICTURE, 4, 6.0)])
def test_points_are_never_longer_than_one_and_never_depend_on_company(basis, root, normalise):
    frame, labels, schema = pictures()
    frame[7], frame[8], frame[9] = 1.0, np.nan, np.inf
    layout = Inputs.uncentred(schema, PICTURE, basis, root=root, normalise=normalise)
    generator = np.random.default_rng(1)
    for centre, radius in ((0.0, 1.0), (0.3, 0.01), (-30.0, 1e9), (0.1, 1e-9)):
        signs = generator.choice([-1, 1], layout.size)
        moved = replace(layout, centre=centre * signs, radius=np.full(layout.size, radius))
        points = kept_points(moved, frame, labels, MOVES)
        assert points.dtype == np.int16
        assert (points.astype(np.int64) ** 2).sum(axis=2).max() <= ONE**2
        for i in (0, 5, 7, 8, 9, 50):
            alone = kept_points(moved, frame[i : i + 1], labels[i : i + 1], MOVES)
            assert np.array_equal(alone[0], points[i])
        order = generator.permutation(len(frame))
        again = kept_points(moved, frame[order], labels[order], MOVES)
        assert np.array_equal(again, points[order])


@pytest.mark.parametrize("rows", [1, 30])
def test_coordinates_next_to_a_whole_number_are_cut_the_same_way_in_any_company(rows):
    """A plain matrix product rounds otherwise for another number of rows."""
    shape = (8, 8, 1)
    schema = Schema({f"x{i}": Number(0, 1) for i in range(64)}, target=Category([0, 1]))
    for seed in range(40):
        generator = np.random.default_rng(seed)
        row = generator.uniform(0, 1, 64).astype(np.float32).astype(np.float64)
        basis = SmoothBasis(shape, 6, 6.0)
        layout = Inputs.uncentred(schema, shape, basis, root=False, normalise=False)
        scaled = layout.transform(row[None])[0]
        scaled *= ONE * (1.0 - 1e-9) / max(1.0, np.linalg.norm(scaled))
        with np.errstate(divide="ignore", invalid="ignore"):
            radius = np.where(np.abs(scaled) > 1, np.abs(scaled / np.round(scaled)), 1.0)
        layout = replace(layout, radius=radius)
        many = layout.place(layout.transform(np.tile(row, (rows + 1, 1))))
        one = layout.place(layout.transform(row[None]))
        assert np.array_equal(np.tile(one, (rows + 1, 1)), many), seed


def test_a_row_without_length_stays_nought():
    frame = np.zeros((2, 20))
    _, _, schema = pictures()
    layout = Inputs.uncentred(schema, PICTURE, None, root=True, normalise=True)
    assert not kept_points(layout, frame, ["a", "b"]).any()


@pytest.mark.parametrize("size", [1, 3, 7, 64, 785])
@pytest.mark.parametrize("normalise", [True, False])
def test_what_a_row_adds_to_the_centre_does_not_depend_on_company(size, normalise):
    """To the last bit of a double: numpy may add a row up another way when there are more."""
    generator = np.random.default_rng(size)
    layout = replace(inputs_of(size), normalise=normalise)
    frame = generator.uniform(-1, 1, (1000, size))
    source = TableSource(frame, np.zeros(1000), layout.schema)
    (block,) = source.blocks(layout.columns)
    whole = Directions(layout).contributions(block)
    assert np.linalg.norm(whole, axis=1).max() <= Directions(layout).bound * (1 + 1e-12)
    for start, stop in ((0, 1), (5, 6), (3, 5), (10, 17), (100, 300), (999, 1000)):
        part = Directions(layout).contributions(block.part(start, stop))
        assert np.array_equal(part, whole[start:stop]), (start, stop)
    order = generator.permutation(1000)
    (other,) = TableSource(frame[order], np.zeros(1000), layout.schema).blocks(layout.columns)
    assert np.array_equal(Directions(layout).contributions(other), whole[order])


# -- products of whole numbers ---------------------------------------------------------------------


@pytest.mark.parametrize("columns", [1, 2, 2047, 2048, 2049, 4096, 5000])
def test_the_largest_products_are_exact(columns):
    """All coordinates as large as can be, of one sign: partial sums come as near 2^53 as any."""
    largest = math.nextafter(1.0, 0.0)
    rows = np.full((3, columns), largest)
    rows[1] *= 1e-200
    rows[2] = np.random.default_rng(columns).uniform(-1, 1, columns)
    matrix = np.full((2, columns), -largest)
    matrix[1] = np.random.default_rng(1).normal(size=columns) * 1e-3
    found = exact_product(rows, matrix)
    for i, row in enumerate(rows):
        assert np.array_equal(exact_product(rows[i : i + 1], matrix)[0], found[i])
        for k, line in enumerate(matrix):
            plain = math.fsum(a * b for a, b in zip(row.tolist(), line.tolist(), strict=True))
            size = np.abs(row).max() * np.abs(matrix).max() * columns
            assert abs(found[i, k] - plain) <= size * 2.0**-15
    fewer = max(0, math.ceil(math.log2(columns)) - 11)
    whole = (2 ** (22 - fewer // 2) - 1) * (2 ** (20 - (fewer - fewer // 2)) - 1) * columns
    assert whole < 2**53
    assert Fraction(found[0, 0]) == -Fraction(whole, 2 ** (42 - fewer))


def test_products_of_too_many_columns_are_refused(monkeypatch):
    monkeypatch.setattr(whole_numbers, "MOST_COLUMNS", 4)
    exact_product(np.ones((1, 4)), np.ones((1, 4)))
    with pytest.raises(SettingError, match="at most 4"):
        exact_product(np.ones((1, 5)), np.ones((1, 5)))


@pytest.mark.parametrize("terms", [1, 100, 8192])
def test_sums_are_projected_without_losing_a_bit(terms):
    generator = np.random.default_rng(terms)
    sums = generator.integers(-(2**56), 2**56, (3, terms))
    sums[0], sums[1] = 2**52 - 1, -(2**52)
    matrix = generator.integers(-(2**15) + 1, 2**15, (2, terms))
    matrix[0] = 2**15 - 1
    found = projections_module._whole_product(sums, matrix)
    for i in range(3):
        for k in range(2):
            pairs = zip(sums[i].tolist(), matrix[k].tolist(), strict=True)
            exact = sum(a * b for a, b in pairs)
            assert int(found[i, k]) == (exact + 2**63) % 2**64 - 2**63


@pytest.mark.parametrize("spread", [0.0, 1e-9, 1e-3, 1.0, 300.0, 1e6, 1e10])
@pytest.mark.parametrize("size", [1, 7, 784])
def test_scores_are_exact_in_single_precision(size, spread):
    """Even for a point along the longest weights, where all terms have one sign."""
    generator = np.random.default_rng(size)
    for bias in (0.0, 0.3, 1.0):
        weights = generator.normal(0, spread, (CLASS_COUNT, 2, size + 1))
        weights[0, 0] *= 5
        query = MapSteps(inputs_of(size), weights, 0.5, bias, 1.0)
        whole, unit = query._whole_weights
        constant = query._constant
        exact = np.array([[int(v) for v in line] for line in whole.tolist()], dtype=object)
        longest = max(sum(int(v) ** 2 for v in line) for line in exact)
        assert longest * (ONE**2 + constant**2) < 2**48
        flat = weights.reshape(6, -1)
        np.testing.assert_allclose(whole * unit, flat, atol=unit / 2)
        direction = flat[0, :-1] / max(np.linalg.norm(flat[0, :-1]), 1e-300)
        points = np.vstack([np.trunc(direction * ONE * (1 - 1e-9)), -direction * 1000])
        points = np.trunc(points)
        full = np.column_stack([points, np.full(2, constant)])
        found = full.astype(np.float32) @ whole.T
        wanted = full.astype(np.int64).astype(object) @ exact.T
        assert np.array_equal(found.astype(np.int64), wanted.astype(np.int64))


@pytest.mark.parametrize("size", [7, 784, 20_000])
def test_scores_are_exact_when_rounding_lengthens_every_weight(size):
    """The longest weights that still fit a unit, with all coordinates half way between two."""
    inputs = inputs_of(size)
    for bias in (0.0, 0.3, 1.0):
        constant = math.floor(bias * ONE + 0.5)
        longest = 2.0**24 / math.hypot(ONE, constant) * (1 - 1e-12)
        # Odd halves first: each is rounded to a whole number, half of them upwards.
        each = math.floor(longest / math.sqrt(size + 1)) + 0.5 + 1e-7
        line = np.full(size + 1, each)
        line *= min(1.0, longest / np.linalg.norm(line))
        for power in (-3, 0, 9):
            weights = np.tile(line * 2.0**power, (CLASS_COUNT, 1, 1))
            query = MapSteps(inputs, weights, 0.5, bias, 1.0)
            whole, _ = query._whole_weights
            squared = max(sum(int(v) ** 2 for v in one) for one in whole.tolist())
            assert squared * (ONE**2 + constant**2) < 2**48


def test_squares_of_projections_are_never_too_small():
    generator = np.random.default_rng(6)
    for seen, size in ((1, 1), (3, 40), (20, 5)):
        projections = random_projections(generator, 2, seen, size)
        points = random_points(generator, (30, size))
        block = block_of(points, np.zeros(30), projections)
        kept = block.kept[SQUARES]
        assert kept.shape == (30, 2)
        for i in range(30):
            alone = block_of(points[i : i + 1], [0], projections).kept[SQUARES]
            assert np.array_equal(alone[0], kept[i])
            for m in range(2):
                views = projections[m] @ points[i].astype(np.int64)
                exact = Fraction(sum(int(v) ** 2 for v in views), 2**40)
                assert exact <= Fraction(float(kept[i, m])) <= exact * Fraction(100002, 100000)


MOST = 65_536


@pytest.mark.parametrize("size", [1, 2])
def test_a_full_block_of_the_longest_points_loses_no_bit(size):
    points = np.zeros((MOST, size), dtype=np.int16)
    points[:, 0] = ONE - 1
    points[::3, -1] = 1 - ONE
    points[-1] = 0
    points[-1, -1] = 77
    layout = inputs_of(size, 2)
    for maps in (1, 30):
        weights = np.random.default_rng(maps).normal(0, 9.0, (2, maps, size + 1))
        query = MapSteps(layout, weights, 8.0, 0.01, 1e3)
        whole = query.total(block_of(points, np.zeros(MOST)), 2.0**-31)
        kinds, counts = np.unique(points, axis=0, return_counts=True)
        shares = [query.total(block_of(kind[None], [0]), 2.0**-31) for kind in kinds]
        exact = [
            sum(int(s) * int(c) for s, c in zip(column, counts, strict=True))
            for column in zip(*shares, strict=True)
        ]
        assert whole.tolist() == exact


@pytest.mark.parametrize("size", [1, 5])
def test_points_of_classes_are_added_without_losing_a_bit(size):
    generator = np.random.default_rng(size)
    points = random_points(generator, (MOST, 1, size))
    points[: MOST // 2] = 0
    points[: MOST // 2, 0, 0] = ONE
    classes = generator.integers(-1, CLASS_COUNT, MOST)
    classes[: MOST // 2] = 1
    query = ClassPoints(inputs_of(size))
    found = query.total(block_of(points, classes), 2.0**-20)
    table = found.reshape(CLASS_COUNT, size + 1)
    for c in range(CLASS_COUNT):
        own = points[classes == c, 0].astype(object)
        assert (table[c, :-1] >> (20 - BITS)).tolist() == own.sum(axis=0).tolist()
        assert table[c, -1] == len(own) << (20 - 2)
    halves = [block_of(points[a::2], classes[a::2]) for a in (0, 1)]
    assert np.array_equal(sum(query.total(half, 2.0**-20) for half in halves), found)
    sums, counts = query.split(found * 2.0**-20)
    np.testing.assert_allclose(counts, [(classes == c).sum() for c in range(CLASS_COUNT)])
    np.testing.assert_allclose(sums[0] * ONE, points[classes == 0, 0].sum(axis=0))
    # The longest point there is, and its quarter, are within the bound; no row is in two classes.
    share = query.total(block_of(points[:1], classes[:1]), FINE)
    assert length_squared(share, FINE) <= Fraction(query.bound) ** 2 * (1 + Fraction(1, 10**15))
    assert np.count_nonzero(share) == 2


# -- lots, and rows that were not prepared ---------------------------------------------------------


@pytest.mark.parametrize("event", [Gaussian(), PoissonGaussian(rate=0.5), Laplace()])
@pytest.mark.parametrize("projected", [False, True])
def test_lots_by_place_are_for_looks_without_noise(event, projected):
    """One row in front of the others moves all of them to other lots."""
    generator = np.random.default_rng(0)
    layout = inputs_of(4)
    rows = protect(generator.uniform(-1, 1, (10, 4)), np.arange(10) % 3, schema=layout.schema)
    keep(rows, layout.columns, layout.prepare)
    parts = (layout, np.zeros((3, 2, 5)), 0.5, 0.3, 1.0, (0, 2))
    if projected:
        drawn = random_projections(generator, 2, 4, 4)
        keep(rows, (), lambda block: keep_squares(block, drawn))
        query = ProjectedSteps(*parts, projections=drawn)
    else:
        query = MapSteps(*parts)
    grant = Ledger(Budget(math.inf, 1e-6)).pay(Plan.of(look=event), rows, "test")
    release = laplace_sum if isinstance(event, Laplace) else gaussian_sum
    with pytest.raises(PlanError, match="no bound"):
        release(rows, query, grant.take("look"))
    assert grant.openings == {"look": 0}


def test_lots_take_every_row_once():
    generator = np.random.default_rng(0)
    points, own = random_points(generator, (50, 4)), generator.integers(0, 3, 50)
    weights = generator.normal(size=(3, 2, 5))
    whole = MapSteps(inputs_of(4), weights, 0.5, 0.3, 0.1).total(block_of(points, own), GRID)
    lots = [MapSteps(inputs_of(4), weights, 0.5, 0.3, 0.1, (k, 7)) for k in range(7)]
    assert np.array_equal(sum(lot.total(block_of(points, own), GRID) for lot in lots), whole)
    assert not any(np.array_equal(lot.total(block_of(points, own), GRID), whole) for lot in lots)


def test_rows_that_were_not_prepared_are_an_error_whatever_they_hold():
    layout = inputs_of(4)
    query = MapSteps(layout, np.zeros((3, 2, 5)), 0.5, 0.3, 1.0)
    said = set()
    for rows in (np.zeros((3, 4)), np.full((5, 4), np.nan)):
        source = TableSource(rows, np.zeros(len(rows)), layout.schema)
        with pytest.raises(KeyError) as caught:
            source.total(query, GRID)
        said.add(str(caught.value))
    assert said == {repr(POINTS)}


def test_what_was_kept_under_another_schema_is_forgotten():
    layout = inputs_of(4)
    source = TableSource(np.zeros((3, 4)), np.zeros(3), layout.schema)
    source.keep(layout.columns, layout.prepare)
    other = source.with_schema(layout.schema)
    (block,) = other.blocks((TARGET,))
    assert block.kept == {}

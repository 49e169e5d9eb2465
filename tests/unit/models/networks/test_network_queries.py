"""Sums of gradients: bounds, rows that know nothing of each other, masks, groups and wild rows."""

import math
from dataclasses import replace

import network_modules  # noqa: F401
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from voile import Budget, Category, Ledger, Number, Schema
from voile.errors import PlanError, SettingError
from voile.models.networks.architectures import (
    Description,
    initial_weights,
    parameter_count,
)
from voile.models.networks.clipping import PerExample, cross_entropy_pull
from voile.models.networks.images import (
    CLASSES,
    IMAGES,
    KeptImages,
    Standard,
)
from voile.models.networks.kernels import (
    add_squares,
    add_units,
    find_factors,
)
from voile.models.networks.parameters import (
    flatten,
)
from voile.models.networks.per_example_engine import (
    PerExampleEngine,
    check_rows_apart,
    engine_of,
    one_thread,
)
from voile.models.networks.queries import Brightness, NetworkSteps
from voile.privacy.budget import NeighbouringRelation
from voile.privacy.events import Gaussian, Plan
from voile.privacy.mechanisms import gaussian_sum
from voile.privacy.queries import Block
from voile.privacy.sources.table import TableSource
from voile.privacy.vault import keep, protect

SHAPE = (1, 6, 6)
STANDARD = Standard((0.3,), (0.2,), 8)
WEIGHTS = {"tame": 1.0, "large": 30.0, "huge": 1e6, "wild": 1e11, "none": 0.0}


def steps(name="test small", shape=SHAPE, classes=4, size=1.0, clip=1.0, **more):
    weights = initial_weights(Description(name, shape, classes, 0)) * size
    standard = Standard((0.3,) * shape[0], (0.2,) * shape[0], 8)
    return NetworkSteps(name, shape, classes, 0, weights, standard, clip, **more)


def block_of(images, classes):
    kept = {
        IMAGES: np.asarray(images, dtype=np.uint8),
        CLASSES: np.asarray(classes, dtype=np.int32),
    }
    return Block(len(classes), lambda name: None, kept)


def rows(count, seed=0, pixels=36, classes=4):
    generator = np.random.default_rng(seed)
    return generator.integers(0, 256, (count, pixels)), generator.integers(0, classes, count)


def grouped(query, generator, clips):
    count = len(query.weights)
    groups = generator.integers(0, 3, count)
    scales = tuple(generator.choice([0.01, 0.5, 1.0, 7.0], 3))
    more = tuple(generator.choice([1e-3, 0.3, 1e5], 3)) if clips else ()
    return replace(query, groups=groups, scales=scales, clips=more)


@st.composite
def queries(draw):
    name = draw(st.sampled_from(["test small", "test odd", "test tokens", "test deciding"]))
    size = WEIGHTS[draw(st.sampled_from(sorted(WEIGHTS)))]
    query = steps(name, size=size, clip=draw(st.sampled_from([1e-6, 0.1, 1.0, 1e3])))
    generator = np.random.default_rng(draw(st.integers(0, 10**6)))
    if draw(st.booleans()):
        query = grouped(query, generator, draw(st.booleans()))
    if draw(st.booleans()):
        chosen = np.flatnonzero(generator.random(len(query.weights)) < 0.5)
        query = replace(query, mask=chosen if len(chosen) else np.array([0]))
    return query


pixels = st.one_of(
    st.just([0] * 36),
    st.just([255] * 36),
    st.just([7] * 36),
    st.just([0, 255] * 18),
    st.integers(0, 10**6).map(lambda seed: np.random.default_rng(seed).integers(0, 256, 36)),
)
one_row = st.tuples(pixels, st.sampled_from([-(2**31), -1, 0, 1, 2, 3, 4, 2**31 - 1]))
grids = st.integers(-60, 10).map(lambda power: 2.0**power)


def total_of(query, table, grid):
    images = np.array([row[0] for row in table]).reshape(len(table), 36)
    return query.total(block_of(images, [row[1] for row in table]), grid)


def norm(whole):
    return math.sqrt(math.fsum(float(one) ** 2 for one in whole))


@settings(max_examples=80, deadline=None)
@given(queries(), st.lists(one_row, max_size=5), one_row, one_row, grids)
def test_no_row_moves_a_sum_by_more_than_the_sensitivity(query, table, row, other, grid):
    """Sums wrap around beyond 64 bits, and so do their differences."""
    without, *with_one = (total_of(query, t, grid) for t in (table, [*table, row], [*table, other]))
    for found in with_one:
        assert norm(found - without) <= query.sensitivity(
            NeighbouringRelation.ADD_REMOVE
        ) / grid * (1 + 1e-12)
    moved = norm(with_one[0] - with_one[1])
    assert moved <= query.sensitivity(NeighbouringRelation.REPLACE_ONE) / grid * (1 + 1e-12)


@settings(max_examples=40, deadline=None)
@given(queries(), st.lists(one_row, min_size=2, max_size=6), st.sampled_from([2.0**-40, 2.0**-9]))
def test_what_a_row_adds_does_not_depend_on_the_others(query, table, grid):
    alone = sum(total_of(query, [row], grid) for row in table)
    assert np.array_equal(total_of(query, table, grid), alone)
    assert np.array_equal(total_of(query, table[::-1], grid), alone)


@pytest.mark.parametrize(
    ("name", "shape"), [("cnn", (1, 28, 28)), ("cnn", (3, 28, 28)), ("resnet8", (1, 16, 16))]
)
def test_rows_of_included_networks_are_kept_apart_to_the_bit(name, shape):
    query = steps(name, shape, 10)
    size = math.prod(shape)
    images, classes = rows(45, 1, size, 10)
    images[3], images[40] = 0, 255
    block, grid = block_of(images, classes), 2.0**-30
    assert engine_of(query.description).rows_at_once == 32
    whole = query.total(block, grid)
    order = np.random.default_rng(0).permutation(45)
    assert np.array_equal(query.total(block_of(images[order], classes[order]), grid), whole)
    parts = [query.total(block.part(a, b), grid) for a, b in ((0, 1), (1, 20), (20, 45))]
    assert np.array_equal(sum(parts), whole)


@pytest.mark.parametrize(
    ("name", "shape"),
    [("cnn", (1, 28, 28)), ("resnet8", (1, 8, 8)), ("test odd", SHAPE), ("test deciding", SHAPE)],
)
def test_sums_are_those_of_a_network_that_was_never_copied(name, shape):
    """The same bits: copies and comparisons change no number."""
    query = steps(name, shape, 4)
    images, classes = rows(32, 5, math.prod(shape))
    per_example = PerExample(query.description.build(), shape)
    inputs = query.standard.inputs(images.astype(np.uint8), shape, 32)
    chunks = torch.arange(32).split(engine_of(query.description).rows_at_once)
    own = torch.from_numpy(classes)
    with one_thread():
        parts = [per_example.gradients(inputs[c], cross_entropy_pull(own[c])) for c in chunks]
    found = [torch.cat(part) for part in zip(*parts, strict=True)]
    total, squares, end = np.zeros(len(query.weights), np.int64), np.zeros((32, 1)), 0
    for part in found:
        add_squares(part.numpy(), squares)
    factors = np.empty_like(squares)
    find_factors(squares, 1.0, np.array([1e15]), np.ones(1), len(total), factors)
    for part in found:
        place = slice(end, end + part.shape[1])
        end += part.shape[1]
        add_units(part.numpy(), factors, 2.0**30, total[place])
    assert np.array_equal(query.total(block_of(images, classes), 2.0**-30), total)


def test_one_row_at_a_time_gives_nearly_the_same():
    query = steps("cnn", (1, 28, 28), 10)
    images, classes = rows(8, 2, 784, 10)
    block, grid = block_of(images, classes), 2.0**-30
    alone = replace(query, rows_at_once=1).total(block, grid)
    together = query.total(block, grid)
    assert np.abs(alone - together).max() * grid < 1e-5


def test_a_network_that_mixes_rows_works_on_one_at_a_time():
    query = steps("test mixing")
    assert engine_of(query.description).rows_at_once == 1
    assert not check_rows_apart(PerExampleEngine(query.description), 32)
    images, classes = rows(5)
    block, grid = block_of(images, classes), 2.0**-30
    alone = sum(query.total(block.part(i, i + 1), grid) for i in range(5))
    assert np.array_equal(query.total(block, grid), alone)


def test_the_bound_is_reached():
    query = steps(size=30.0, clip=0.5)
    images, classes = rows(20)
    lengths = np.linalg.norm(query.contributions(block_of(images, classes)), axis=1)
    assert lengths.max() <= 0.5
    assert lengths.max() > 0.5 * (1 - 1e-6)


def test_scales_and_clips_are_those_of_the_groups():
    plain = steps(clip=1e6)
    count = len(plain.weights)
    groups = np.arange(count) % 2
    images, classes = rows(6)
    block = block_of(images, classes)
    shares = plain.contributions(block)
    scaled = replace(plain, groups=groups, scales=(2.0, 0.25)).contributions(block)
    assert np.allclose(scaled, shares / np.where(groups == 0, 2.0, 0.25), atol=1e-9)
    clips = (0.01, 0.02)
    query = replace(plain, groups=groups, scales=(2.0, 0.25), clips=clips)
    assert query.bound == pytest.approx(math.hypot(0.01 / 2.0, 0.02 / 0.25))
    found = query.contributions(block)
    for group, (clip, scale) in enumerate(zip(clips, (2.0, 0.25), strict=True)):
        lengths = np.linalg.norm(shares[:, groups == group], axis=1)
        expected = np.minimum(lengths, clip) / scale
        mine = np.linalg.norm(found[:, groups == group], axis=1)
        assert np.allclose(mine, expected, rtol=1e-6)
        assert (lengths > clip).any()


def test_a_mask_sends_its_coordinates_alone():
    plain = steps(clip=1e6)
    mask = np.array([0, 5, 17])
    images, classes = rows(6)
    block = block_of(images, classes)
    found = replace(plain, mask=mask)
    assert found.size == 3
    assert np.allclose(found.contributions(block), plain.contributions(block)[:, mask], atol=1e-9)
    short = replace(found, clip=1e-3).contributions(block)
    assert np.allclose(np.linalg.norm(short, axis=1), 1e-3, rtol=1e-6)


def test_buffers_and_frozen_parameters_stay_as_they_began():
    query = steps("test odd")
    images, classes = rows(50)
    query.total(block_of(images, classes), 2.0**-30)
    module, fresh = engine_of(query.description).module, query.description.build()
    for name, buffer in fresh.named_buffers():
        assert torch.equal(dict(module.named_buffers())[name], buffer)
    assert module.order.dtype == torch.int64
    assert torch.equal(module.frozen, fresh.frozen)
    other = Description("test odd", SHAPE, 4, 1).build()
    assert not torch.equal(other.features, fresh.features)


def test_noise_reaches_parameters_without_dimensions():
    query = steps("test odd")
    count = parameter_count(query.description)
    schema = Schema({f"p{i}": Number(0, 255) for i in range(36)}, target=Category([0, 1, 2, 3]))
    table = protect(np.zeros((0, 36)), np.zeros(0, dtype=int), schema=schema)
    kept = KeptImages(schema)
    keep(table, kept.columns, kept.prepare)
    plan = Plan.of(look=Gaussian(noise_multiplier=2.0))
    grant = Ledger(Budget(5.0, 1e-5)).pay(plan, table, "test")
    released = gaussian_sum(table, query, grant.take("look")).values
    assert released.shape == (count,)
    assert (released != 0).all()


def test_dropout_is_off_and_rows_stay_apart():
    query = steps("test tokens")
    images, classes = rows(20)
    block = block_of(images, classes)
    assert np.array_equal(query.total(block, 2.0**-30), query.total(block, 2.0**-30))


def test_quick_sums_agree_and_may_not_be_noised():
    exact = steps("cnn", (1, 28, 28), 10)
    quick = replace(exact, exact=False)
    images, classes = rows(300, 3, 784, 10)
    block, grid = block_of(images, classes), 2.0**-30
    assert np.abs(exact.total(block, grid) - quick.total(block, grid)).max() * grid < 1e-4
    for query in (quick, replace(exact, turn=(0, 3))):
        assert not query.bounded
        schema = Schema({"p": Number(0, 1)}, target=Category([0, 1]))
        table = protect([[0.5]], [0], schema=schema)
        grant = Ledger(Budget(5.0, 1e-5)).pay(Plan.of(look=Gaussian()), table, "test")
        with pytest.raises(PlanError, match="no bound"):
            gaussian_sum(table, query, grant.take("look"))
    with pytest.raises(SettingError, match="neither groups nor masks"):
        replace(quick, mask=np.array([1])).total(block, grid)


def test_lots_by_place_take_every_row_once():
    query = steps()
    images, classes = rows(11)
    block, grid = block_of(images, classes), 2.0**-30
    turns = [replace(query, turn=(k, 3)).total(block, grid) for k in range(3)]
    assert np.array_equal(sum(turns), query.total(block, grid))


def test_an_empty_block_adds_nothing():
    query = steps()
    assert not query.total(block_of(np.zeros((0, 36)), []), 1.0).any()


def test_weights_of_rows_are_refused():
    block = block_of(*rows(2))
    block.weights = np.ones(2, dtype=np.float32)
    with pytest.raises(SettingError, match="weights of rows"):
        steps().total(block, 1.0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"weights": np.zeros(3)}, "must have shape"),
        ({"weights": "nan"}, "smaller than"),
        ({"weights": "inf"}, "smaller than"),
        ({"clip": 0.0}, "clip"),
        ({"clip": math.nan}, "clip"),
        ({"clip": math.inf}, "clip"),
        ({"standard": Standard((0.1, 0.1), (1.0, 1.0), 8)}, "channels"),
        ({"scales": (1.0,)}, "say the groups"),
        ({"groups": np.zeros(3, int), "scales": (1.0,)}, "Groups"),
        ({"groups": "zeros"}, "Groups"),
        ({"groups": "zeros", "scales": (1.0, 2.0), "clips": (1.0,)}, "Groups"),
        ({"groups": "ones", "scales": (1.0,)}, "from 0 to 0"),
        ({"groups": "zeros", "scales": (0.0,)}, "1e-9"),
        ({"groups": "zeros", "scales": (math.nan,)}, "1e-9"),
        ({"mask": np.array([], dtype=int)}, "mask"),
        ({"mask": np.array([3, 3])}, "mask"),
        ({"mask": np.array([-1, 3])}, "mask"),
        ({"mask": np.array([10**6])}, "mask"),
        ({"mask": np.array([0.5])}, "mask"),
        ({"mask": np.array([1, 2], dtype=np.int32)}, "int64"),
        ({"groups": "unsigned", "scales": (1.0,)}, "int64"),
        ({"groups": "zeros", "scales": ("one",)}, "1e-9"),
        ({"clip": "long"}, "clip"),
        ({"clip": True}, "clip"),
        ({"turn": (3, 3)}, "turn"),
        ({"turn": (-1, 3)}, "turn"),
        ({"turn": (0, 0)}, "turn"),
        ({"turn": (0, 1, 2)}, "turn"),
        ({"turn": (0.0, 2)}, "turn"),
        ({"turn": 3}, "turn"),
        ({"image_shape": [1, 6, 6]}, "image shape"),
        ({"image_shape": (1, 4096, 4096)}, "numbers"),
        ({"architecture": ["cnn"]}, "no architecture"),
        ({"rows_at_once": 7}, "rows_at_once"),
        ({"architecture": "nothing"}, "no architecture"),
    ],
)
def test_what_makes_no_sense_is_refused(change, message):
    query = steps()
    count = len(query.weights)
    words = {
        "nan": np.full(count, np.nan),
        "inf": np.full(count, np.inf),
        "zeros": np.zeros(count, int),
        "ones": np.ones(count, int),
        "unsigned": np.zeros(count, np.uint64),
    }
    change = {k: words[v] if isinstance(v, str) and v in words else v for k, v in change.items()}
    with pytest.raises(SettingError, match=message):
        replace(query, **change)


# -- images ----------------------------------------------------------------------------------------


def kept_of(values, classes, schema):
    table = {name: [row[i] for row in values] for i, name in enumerate(schema)}
    source = TableSource(table, classes, schema)
    kept = KeptImages(schema)
    source.keep(kept.columns, kept.prepare)
    return next(iter(source.blocks(()))).kept


def test_pixels_are_kept_between_their_bounds():
    schema = Schema({"a": Number(0, 255), "b": Number(0, 255)}, target=Category(["x", "y"]))
    values = [(0, 255), (1, 254), (-7, 300), (math.inf, 3), (math.nan, 3), (None, 3), (1, 2)]
    kept = kept_of(values, ["x", "y", "x", "y", "x", "x", "other"], schema)
    assert kept[IMAGES].dtype == np.uint8
    assert kept[IMAGES][:3].tolist() == [[0, 255], [1, 254], [0, 255]]
    assert kept[CLASSES][[0, 1, 2, 4, 5, 6]].tolist() == [0, 1, 0, -1, -1, -1]


def test_other_ranges_are_kept_in_two_bytes():
    schema = Schema({"a": Number(-1, 1), "b": Number(0, 1)}, target=Category(["x", "y"]))
    kept = kept_of([(-1, 1), (0, 0.5)], ["x", "y"], schema)
    assert kept[IMAGES].dtype == np.uint16
    assert np.abs(kept[IMAGES] / 65535 - [[0, 1], [0.5, 0.5]]).max() < 1e-4


def test_inputs_are_standardised_and_filled_up_with_zeros():
    images = np.array([[0, 255, 51, 0, 10, 20, 30, 40]], dtype=np.uint8)
    found = Standard((0.5, 0.1), (0.25, 2.0), 8).inputs(images, (2, 2, 2), 3).numpy()
    assert found.shape == (3, 2, 2, 2)
    assert not found[1:].any()
    assert np.allclose(found[0, 0], (images[0, ::2].reshape(2, 2) / 255 - 0.5) / 0.25)
    assert np.allclose(found[0, 1], (images[0, 1::2].reshape(2, 2) / 255 - 0.1) / 2.0)


@pytest.mark.parametrize(
    "facts",
    [
        *(((), (), 8), ((0.1,), (0.0,), 8), ((math.nan,), (1.0,), 8), ((0.1,), (1.0,), 7)),
        *(((0.1, 0.2), (1.0,), 8), ((1e7,), (1.0,), 8), ((math.inf,), (1.0,), 8)),
        *((("dark",), (1.0,), 8), ((0.1,), ("flat",), 8), ((0.1,), (math.nan,), 8)),
        *(((0.1,), (1.0,), 8.0), ((0.1,), (1.0,), [8]), (0.1, 1.0, 8)),
        ((0.1,) * 4097, (1.0,) * 4097, 8),
    ],
)
def test_standards_are_checked(facts):
    with pytest.raises(SettingError):
        Standard(*facts)


@pytest.mark.parametrize(
    ("channels", "bits"),
    [(0, 8), (-1, 8), (4097, 8), (1.0, 8), (True, 8), ("1", 8), (1, 0), (1, 63), (1, True)],
)
def test_brightness_is_checked(channels, bits):
    with pytest.raises(SettingError):
        Brightness(channels, bits)


def test_brightness_is_counted_and_bounded():
    generator = np.random.default_rng(0)
    images = generator.integers(0, 256, (3000, 12)).astype(np.uint8)
    images[0], images[1] = 255, 0
    query = Brightness(3, 8)
    block = block_of(images, np.zeros(3000))
    shares = query.contributions(block)
    assert np.linalg.norm(shares, axis=1).max() <= query.bound
    assert np.linalg.norm(shares[0]) == pytest.approx(query.bound)
    rows_found, means, spreads = query.split(query.total(block, 2.0**-30) * 2.0**-30)
    each = images.reshape(-1, 3) / 255
    assert rows_found == pytest.approx(3000)
    assert np.allclose(means, each.mean(0), atol=1e-6)
    assert np.allclose(spreads, each.std(0), atol=1e-6)


def test_brightness_of_noise_alone_makes_a_standard():
    rows_found, means, spreads = Brightness(1, 8).split(np.array([-5.0, -9.0, -1.0]))
    Standard(tuple(means), tuple(spreads), 8)
    assert rows_found == 10.0


def test_one_thread_is_put_back():
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        with one_thread():
            assert torch.get_num_threads() == 1
            with one_thread():
                assert torch.get_num_threads() == 1
            assert torch.get_num_threads() == 1
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


def test_the_same_weights_are_not_loaded_twice_and_cannot_be_changed():
    query = steps()
    engine = engine_of(query.description)
    query.total(block_of(*rows(2)), 2.0**-30)
    with pytest.raises(ValueError, match="read-only"):
        query.weights[0] = 1.0
    other = replace(query, weights=query.weights + 1.0)
    other.total(block_of(*rows(2)), 2.0**-30)
    assert np.allclose(flatten(engine.module), other.weights)

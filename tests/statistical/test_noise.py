"""The noise follows its stated law, bit by bit, and nobody draws the same noise twice.

Statistical checks run on fixed noise, so they cannot fail by chance; the others fail by chance
with probability below 2**-60.
"""

import contextlib
import functools
import itertools
import math
import os
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor
from decimal import ROUND_FLOOR, Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from voile.errors import SettingError
from voile.privacy import noise, noise_kernels, noise_shapes

SCALES = [1.0, 1.37, 20.3, 2.0**20, 2.0**30, 1.234567 * 2**30, 2.0**31 - 129.7, 1.9 * 2**39]
SIZE = 1_000_000
SURPRISE = 1e-4  # fixed noise: a correct sampler passes for good, a wrong one has p near 0


def normal_cell_p(draws, scale, cells=50):
    """p-value of a chi-square test of draws against the rounded normal law, in exact cells."""
    edges = np.unique(np.round(stats.norm.ppf(np.arange(1, cells) / cells) * scale)) + 0.5
    chances = np.diff(stats.norm.cdf(edges / scale), prepend=0.0, append=1.0)
    counts = np.bincount(np.searchsorted(edges, draws), minlength=chances.size)
    return stats.chisquare(counts, chances * draws.size).pvalue


def laplace_cell_p(draws, scale, cells=50):
    """p-value of a chi-square test of draws against the discrete Laplace law, in exact cells."""
    edges = np.unique(np.round(stats.laplace.ppf(np.arange(1, cells) / cells) * scale)) + 0.5
    decay = np.exp(-1.0 / scale)
    # P(K <= k) of the discrete Laplace law, at the integer below each edge
    below = np.floor(edges)
    tail = np.exp(-(np.abs(below + (below >= 0))) / scale)
    cdf = np.where(below >= 0, 1.0 - tail / (1.0 + decay), tail / (1.0 + decay))
    chances = np.diff(cdf, prepend=0.0, append=1.0)
    counts = np.bincount(np.searchsorted(edges, draws), minlength=chances.size)
    return stats.chisquare(counts, chances * draws.size).pvalue


# --- the laws -----------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", SCALES)
def test_gaussian_has_the_stated_probabilities(scale):
    with noise.fixed_noise(1):
        draws = noise.gaussian(SIZE, scale)
    assert normal_cell_p(draws, scale) > SURPRISE
    if scale >= 2**20:
        assert stats.kstest(draws[:200_000] / scale, "norm").pvalue > SURPRISE


@pytest.mark.parametrize("scale", SCALES)
def test_laplace_has_the_stated_probabilities(scale):
    with noise.fixed_noise(2):
        draws = noise.laplace(SIZE, scale)
    assert laplace_cell_p(draws, scale) > SURPRISE
    if scale >= 2**20:
        assert stats.kstest(draws[:200_000] / scale, "laplace").pvalue > SURPRISE


def test_the_chi_square_tests_would_notice_one_percent():
    scale = 2.0**30
    with noise.fixed_noise(3):
        assert normal_cell_p(noise.gaussian(SIZE, 1.01 * scale), scale) < 1e-9
        assert laplace_cell_p(noise.laplace(SIZE, 1.01 * scale), scale) < 1e-9


def test_the_chi_square_tests_would_notice_a_wrong_rounding():
    with noise.fixed_noise(4):
        draws = noise.gaussian(1_000_000, 3.0)
        assert normal_cell_p(np.where(draws == 0, 1, draws), 3.0) < 1e-9
        draws = noise.laplace(1_000_000, 20.0)
        twice_zero = np.concatenate([draws, np.zeros(np.sum(draws == 0), dtype=np.int64)])
        assert laplace_cell_p(twice_zero, 20.0) < 1e-9


@pytest.mark.parametrize(
    ("draw", "moments"),
    [(noise.gaussian, [1, 3, 15, 105]), (noise.laplace, [2, 24, 720, 40320])],
)
def test_moments(draw, moments):
    scale, size = 1.5 * 2**30, 2_000_000
    with noise.fixed_noise(5):
        standard = draw(size, scale) / scale
    second, fourth, sixth, eighth = moments
    assert abs(standard.mean()) < 4 * math.sqrt(second / size)
    assert abs((standard**2).mean() - second) < 4 * math.sqrt((fourth - second**2) / size)
    assert abs((standard**3).mean()) < 4 * math.sqrt(sixth / size)
    assert abs((standard**4).mean() - fourth) < 4 * math.sqrt((eighth - fourth**2) / size)


@pytest.mark.parametrize("draw", [noise.gaussian, noise.laplace])
@pytest.mark.parametrize("scale", [2.0**20, 2.0**30, 1.234567 * 2**30])
@pytest.mark.parametrize("modulus", [2, 4, 256])
def test_low_bits_are_uniform(draw, scale, modulus):
    with noise.fixed_noise(6):
        draws = draw(500_000, scale)
    counts = np.bincount(draws & (modulus - 1), minlength=modulus)
    assert stats.chisquare(counts).pvalue > SURPRISE


@pytest.mark.parametrize(
    ("draw", "law", "limits"),
    [
        (noise.gaussian, stats.norm, [3.5, 4.0, 4.5, 5.0]),
        (noise.laplace, stats.laplace, [8.0, 10.0, 12.0, 14.0]),
    ],
)
def test_tails(draw, law, limits):
    scale, size = 1.1 * 2**30, 10_000_000
    with noise.fixed_noise(7):
        draws = draw(size, scale)
    for limit in limits:
        for count in (np.sum(draws > limit * scale), np.sum(draws < -limit * scale)):
            expected = size * law.sf(limit)
            both = 2 * min(
                stats.poisson.cdf(count, expected), stats.poisson.sf(count - 1, expected)
            )
            assert both > SURPRISE


def test_draws_are_not_correlated():
    with noise.fixed_noise(8):
        draws = noise.gaussian(1_000_000, 2.0**30) / 2**30
    for lag in (1, 2, 3):
        assert abs(np.mean(draws[lag:] * draws[:-lag])) < 4e-3
        assert abs(np.mean(np.abs(draws[lag:]) * np.abs(draws[:-lag])) - 2 / math.pi) < 4e-3


# --- the kernel decides only what is certain ----------------------------------------------------


class NoMoreBits:
    """A stream for proposals that the first bits should have decided."""

    def __init__(self, fill):
        self.fill = fill

    def bits(self, count):
        assert count < 1000, "the first bits did not decide"
        return self.fill * ((1 << count) - 1)


def kernel_step(shape, scale, first, second):
    """Let the kernel look at one proposal: 'undecided', None (rejected) or the value."""
    table = noise_shapes.table_of(shape)
    setting = noise_shapes.settings_of(shape, scale)
    out = np.zeros(1, dtype=np.int64)
    words = np.array([first, second], dtype=np.uint64)
    _, filled, undecided = noise_kernels.draw(
        words, 0, out, 0, table.thresholds, table.guide, *setting
    )
    if undecided:
        return "undecided"
    return int(out[0]) if filled else None


def check_step(shape, scale, first, second):
    """Whatever bits would follow, the exact decision is the one of the kernel, if it made one."""
    answer = kernel_step(shape, scale, first, second)
    if answer == "undecided":
        return 1
    exact = Fraction(scale)
    for fill in (0, 1):
        assert noise_shapes.decide(shape, exact, first, second, NoMoreBits(fill)) == answer
    return 0


# No deadline: the first example may compile a kernel.
MANY = settings(deadline=None, database=None, max_examples=200)
SHAPES = st.sampled_from([noise_shapes.GAUSSIAN, noise_shapes.LAPLACE])


def spread(size):
    """Integers of `size` random bytes; st.integers would mostly draw small ones."""
    return st.binary(min_size=size, max_size=size).map(lambda text: int.from_bytes(text, "big"))


WORD = spread(8)
SCALE = st.builds(
    lambda top, power: (1 + top / 2**52) * 2.0**power,
    spread(8).map(lambda w: w >> 12),
    st.integers(0, 39),
)


@MANY
@given(SHAPES, SCALE, WORD, WORD)
def test_kernel_agrees_with_exact_decisions_anywhere(shape, scale, first, second):
    check_step(shape, scale, first, second)


@MANY
@given(SHAPES, SCALE, WORD, WORD, st.integers(-3, 3))
def test_kernel_agrees_next_to_a_block_boundary(shape, scale, second, block, nudge):
    thresholds = noise_shapes.table_of(shape).thresholds
    choice = int(thresholds[block % thresholds.size]) + nudge
    first = min(max(choice, 0), 2**32 - 1) << 32
    undecided = check_step(shape, scale, first, second)
    if nudge in (0, 1) or choice >= 2**32 - 2:
        assert undecided


@MANY
@given(SHAPES, SCALE, WORD, WORD, st.integers(-3, 3))
def test_kernel_agrees_next_to_the_acceptance_bound(shape, scale, first, second, nudge):
    choice = first >> 32
    block = (
        int(np.searchsorted(noise_shapes.table_of(shape).thresholds, np.uint64(choice), "right"))
        - 1
    )
    place = Fraction(second % 2**53, 2**53)
    linear = shape.constant + 2 * shape.quadratic * block
    chance = math.exp(-float(place * (linear + shape.quadratic * place) / 512))
    accept = min(max(int(chance * 2**32) + nudge, 0), 2**32 - 1)
    check_step(shape, scale, choice << 32 | accept, second)


@MANY
@given(SHAPES, SCALE, st.integers(0, 60), WORD, st.integers(-2, 2))
def test_kernel_agrees_next_to_a_rounding_boundary(shape, scale, block, target, nudge):
    thresholds = noise_shapes.table_of(shape).thresholds
    first = (int(thresholds[block]) + int(thresholds[block + 1])) // 2 << 32
    exact = Fraction(scale) / 16
    start = exact * block
    goal = math.floor(start) + target % max(1, math.floor(exact))
    goal = goal + (Fraction(1, 2) if shape.to_nearest else 0)
    place = math.floor((goal / exact - block) * 2**53) + nudge
    if 0 <= place < 2**53:
        check_step(shape, scale, first, place)


@pytest.mark.parametrize("shape", [noise_shapes.GAUSSIAN, noise_shapes.LAPLACE])
def test_kernel_rarely_hands_a_proposal_back(shape):
    with noise.fixed_noise(9):
        words = noise._Stream().words(2**15)
    table, setting = noise_shapes.table_of(shape), noise_shapes.settings_of(shape, 2.0**30)
    out = np.empty(2**15, dtype=np.int64)
    position, filled, undecided = noise_kernels.draw(
        words, 0, out, 0, table.thresholds, table.guide, *setting
    )
    assert (position, undecided) == (2**15, False)
    assert filled > 0.94 * 2**14


# --- exact decisions ----------------------------------------------------------------------------


@MANY
@given(st.integers(0, 2**80), st.integers(60, 120), st.sampled_from([64, 100, 128, 256]))
def test_exponential_bounds_enclose_the_exponential(numerator, shift, precision):
    low, high = noise_shapes.exp_bounds(numerator, shift, precision)
    with localcontext() as context:
        context.prec = 120
        exponent = Decimal(numerator) / Decimal(2) ** shift
        true = (-exponent).exp() * Decimal(2) ** precision
        assert low <= true <= high
    assert high - low <= 3
    if precision >= 100:
        assert Fraction(high - low, 2**precision) < Fraction(1, 10**28)


@MANY
@given(st.floats(0.0, 0.5))
def test_kernel_exponential_keeps_its_error_bound(t):
    with localcontext() as context:
        context.prec = 60
        true = (-Decimal(t)).exp()
        assert abs(Decimal(noise_kernels.exp_minus(t)) - true) < Decimal(2) ** -45


@pytest.mark.parametrize("shape", [noise_shapes.GAUSSIAN, noise_shapes.LAPLACE])
def test_cumulative_probabilities(shape):
    blocks = range(120)
    with localcontext() as context:
        context.prec = 60
        weights = [
            (-Decimal(m * (shape.constant + shape.quadratic * m)) / 512).exp() for m in range(3000)
        ]
        total = sum(weights)
        for precision in (64, 128):
            lows, highs = noise_shapes._cumulative(shape, precision)
            for m in blocks:
                true = sum(weights[:m], Decimal(0)) / total * Decimal(2) ** precision
                assert lows[m] <= true <= highs[m]
                assert highs[m] - lows[m] <= 2


@pytest.mark.parametrize("shape", [noise_shapes.GAUSSIAN, noise_shapes.LAPLACE])
def test_a_tie_of_the_choice_is_broken_with_the_right_chance(shape):
    lows, _ = noise_shapes._cumulative(shape, 64)
    tie = lows[5] >> 32
    below = (lows[5] - (tie << 32)) / 2**32
    with noise.fixed_noise(10):
        stream = noise._Stream()
        blocks = [
            noise_shapes._choose_block(shape, noise_shapes._Lazy(tie, 32), stream)
            for _ in range(2000)
        ]
    assert set(blocks) <= {4, 5}
    assert stats.binomtest(blocks.count(4), len(blocks), below).pvalue > SURPRISE


TAPE = 512  # bits; an oracle with 200 digits can tell any two tapes apart


@functools.cache
def block_starts(shape):
    """Cumulative block probabilities to 200 digits."""
    with localcontext() as context:
        context.prec = 200
        weights = [
            (-Decimal(m * (shape.constant + shape.quadratic * m)) / 512).exp() for m in range(500)
        ]
        # Blocks beyond 500 weigh 10**-211 in the Gaussian, and a geometric rest in the Laplace.
        rest = weights[-1] / ((1 / Decimal(16)).exp() - 1) if shape.constant else Decimal(0)
        total = sum(weights) + rest
        return [start / total for start in itertools.accumulate(weights, initial=Decimal(0))]


def acceptance(shape, block, place):
    linear = shape.constant + 2 * shape.quadratic * block
    return (-(place * (linear + shape.quadratic * place)) / 512).exp()


def tied(bits, goal, depth):
    """Replace the first `depth` bits of a tape by those of a number in [0, 1)."""
    rest = TAPE - depth
    leading = min(max(int(goal * 2**depth), 0), 2**depth - 1)
    return leading << rest | bits & (2**rest - 1)


TAPES = spread(TAPE // 8)
DEPTH = st.sampled_from([0, 0, 32, 53, 63, 64, 65, 100, 128, 130, 200])


@MANY
@given(
    SHAPES,
    SCALE,
    st.integers(0, 90),
    st.tuples(TAPES, TAPES, TAPES),
    st.tuples(DEPTH, DEPTH, DEPTH),
    st.booleans(),
)
def test_exact_decisions_hold_however_long_the_ties(shape, scale, block, tapes, depths, negative):
    """Give the three uniform numbers to 512 bits, tied with what they are compared with."""
    choice, accept, place = tapes
    starts = block_starts(shape)
    with localcontext() as context:
        context.prec = 200
        unit = Decimal(2) ** -TAPE
        choice = tied(choice, starts[block], depths[0])
        block = sum(start <= choice * unit for start in starts) - 1
        step = Decimal(scale) / 16
        offset = Decimal("0.5") if shape.to_nearest else Decimal(0)
        edge = ((block + place * unit) * step).to_integral_value(ROUND_FLOOR) + offset
        place = tied(place, edge / step - block, depths[1])
        chance = acceptance(shape, block, place * unit)
        accept = tied(accept, chance, depths[2])
        expected = None
        if accept * unit < chance:
            size = int(((block + place * unit) * step + offset).to_integral_value(ROUND_FLOOR))
            if shape.to_nearest or size or not negative:
                expected = -size if negative else size

    remaining = [choice, accept, place]

    class Taped(noise_shapes._Lazy):
        def __init__(self, value, width):
            self.tape = remaining.pop(0)
            super().__init__(value, width)
            assert value == self.tape >> (TAPE - width)

        def extend(self, stream, width):
            self.width = max(width, self.width)
            self.value = self.tape >> (TAPE - self.width)

    first = choice >> (TAPE - 32) << 32 | accept >> (TAPE - 32)
    second = negative << 63 | place >> (TAPE - 53)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(noise_shapes, "_Lazy", Taped)
        assert noise_shapes.decide(shape, Fraction(scale), first, second, None) == expected
    answer = kernel_step(shape, scale, first, second)
    assert answer in ("undecided", expected)


@pytest.mark.parametrize("shape", [noise_shapes.GAUSSIAN, noise_shapes.LAPLACE])
def test_the_far_tail_is_reached(shape):
    last = noise_shapes._Lazy(2**32 - 1, 32)
    block = noise_shapes._choose_block(shape, last, NoMoreBits(0))
    # All further bits one: the choice is within 2**-64 of 1, and more precision is asked for.

    class OnesThenZeros:
        left = 32

        def bits(self, count):
            ones = min(self.left, count)
            self.left -= ones
            return ((1 << ones) - 1) << (count - ones)

    further = noise_shapes._choose_block(shape, noise_shapes._Lazy(2**32 - 1, 32), OnesThenZeros())
    lows, highs = noise_shapes._cumulative(shape, 128)
    assert block < further
    assert highs[further] <= (2**64 - 1) << 64 < lows[further + 1]


@pytest.mark.parametrize(
    ("shape", "chance"),
    [(noise_shapes.GAUSSIAN, normal_cell_p), (noise_shapes.LAPLACE, laplace_cell_p)],
)
def test_exact_decisions_alone_follow_the_law(shape, chance):
    scale = 5.5
    with noise.fixed_noise(11):
        stream = noise._Stream()
        words = stream.words(20_000).tolist()
        values = [
            noise_shapes.decide(shape, Fraction(scale), first, second, stream)
            for first, second in zip(words[::2], words[1::2], strict=True)
        ]
    kept = np.array([value for value in values if value is not None])
    assert chance(kept, scale, cells=20) > SURPRISE


def test_a_draw_with_an_undecided_proposal_goes_on(monkeypatch):
    """Hand every proposal to the exact decision: the draws are the same."""
    with noise.fixed_noise(12):
        expected = noise.gaussian(100, 2.0**30)

    def hesitate(words, position, out, filled, *_):
        more = filled < out.size and position < words.size - 1
        return position, filled, more

    monkeypatch.setattr(noise.kernels, "draw", hesitate)
    with noise.fixed_noise(12):
        drawn = noise.gaussian(100, 2.0**30)
    # Extra bits come from the same stream, so only the first chunk of words is shared.
    assert np.array_equal(drawn[:90], expected[:90])


# --- masks, coins, permutations, integers -------------------------------------------------------


@pytest.mark.parametrize("rate", [0.1, 0.5, 1 / 3, 0.999, 1.5 * 2**-16, 3 * 2**-20])
def test_bernoulli_rate(rate):
    size = 2**23
    with noise.fixed_noise(13):
        mask = noise.bernoulli(size, rate)
    assert mask.dtype == np.bool_
    assert stats.binomtest(int(mask.sum()), size, rate).pvalue > SURPRISE


def test_bernoulli_ends():
    assert not noise.bernoulli(1000, 0.0).any()
    assert noise.bernoulli(1000, 1.0).all()
    assert noise.bernoulli(0, 0.5).size == 0
    assert not noise.bernoulli(1000, 5e-324).any()  # fails by chance with probability 2**-1064
    assert noise.bernoulli(1000, math.nextafter(1, 0)).sum() >= 998
    for rate in (-0.1, 1.1, math.nan):
        with pytest.raises(SettingError, match="sampling rate"):
            noise.bernoulli(3, rate)


@pytest.mark.parametrize(
    "exponent", [Fraction(0), Fraction(1, 7), Fraction(1), Fraction(5, 2), Fraction(10**40, 10**39)]
)
def test_flip_exp_frequency(exponent):
    size = 6000
    with noise.fixed_noise(14):
        hits = sum(noise.flip_exp(exponent) for _ in range(size))
    assert stats.binomtest(hits, size, math.exp(-exponent)).pvalue > SURPRISE


def test_flip_exp_of_a_huge_exponent_is_quick_and_false():
    assert noise.flip_exp(Fraction(10**30)) is False
    for exponent in (Fraction(-1, 2), 0.5):
        with pytest.raises(SettingError, match="exponent"):
            noise.flip_exp(exponent)


def test_permutations_are_equally_likely():
    with noise.fixed_noise(15):
        seen = [tuple(noise.permutation(4).tolist()) for _ in range(12_000)]
    counts = [seen.count(one) for one in set(seen)]
    assert len(counts) == 24
    assert stats.chisquare(counts).pvalue > SURPRISE


def test_long_permutations():
    size = 100_000
    with noise.fixed_noise(16):
        order = noise.permutation(size)
    assert np.array_equal(np.sort(order), np.arange(size))
    assert abs(np.corrcoef(order, np.arange(size))[0, 1]) < 4 / math.sqrt(size)
    counts = np.bincount(order[: size // 2] * 50 // size, minlength=50)
    assert stats.chisquare(counts).pvalue > SURPRISE


def test_shuffle_rejects_words_that_would_bias():
    # With bound 3 a word whose product leaves a low word below 2**64 mod 3 = 1 is thrown away.
    items = np.arange(3)
    assert noise_kernels.shuffle(np.array([0], dtype=np.uint64), items, 3) == 3
    assert noise_kernels.shuffle(np.array([0, 1], dtype=np.uint64), items, 3) == 2


@MANY
@given(WORD, WORD)
def test_products_are_exact(a, b):
    high, low = noise_kernels.multiply(np.uint64(a), np.uint64(b))
    assert (int(high) << 64) + int(low) == a * b


def test_uniform_below():
    with noise.fixed_noise(17):
        draws = [noise.uniform_below(7) for _ in range(14_000)]
    assert stats.chisquare(np.bincount(draws, minlength=7)).pvalue > SURPRISE
    assert noise.uniform_below(1) == 0
    # wider than one chunk of words
    assert 0 < noise.uniform_below(1 << 3_000_000) < 1 << 3_000_000
    with pytest.raises(SettingError, match="bound"):
        noise.uniform_below(0)


# --- where the bits come from -------------------------------------------------------------------


def test_fixed_noise_is_reproducible_and_nests():
    def sample():
        return [*noise.gaussian(3, 2.0**30), *noise.laplace(3, 2.0**30), noise.uniform_below(2**90)]

    with noise.fixed_noise(1):
        once, twice = sample(), sample()
    with noise.fixed_noise(1):
        assert sample() == once
        with noise.fixed_noise(2):
            other = sample()
        assert sample() == twice
    assert len({tuple(once), tuple(twice), tuple(other)}) == 3
    assert sample() != once


def test_the_source_is_named():
    assert noise.current_source() == "operating system entropy"
    with noise.fixed_noise(1):
        assert noise.current_source() == "fixed seed (test only, no guarantee)"
        with contextlib.suppress(ZeroDivisionError), noise.fixed_noise(2):
            raise ZeroDivisionError
        assert noise.current_source() is noise.NoiseSource.FIXED
    assert noise.current_source() is noise.NoiseSource.SYSTEM


def test_fixed_noise_does_not_reach_other_threads():
    seen = []
    with noise.fixed_noise(1):
        thread = threading.Thread(target=lambda: seen.append(noise.current_source()))
        thread.start()
        thread.join()
    assert seen == [noise.NoiseSource.SYSTEM]


def test_keys_are_replaced_after_a_while(monkeypatch):
    monkeypatch.setattr(noise, "_REKEY_BYTES", 64)
    with noise.fixed_noise(1):
        stream = noise._Stream()
        words = [stream.words(8).tolist() for _ in range(3)]
    with noise.fixed_noise(1):
        assert words == [noise._Stream().words(8).tolist() for _ in range(3)]


def test_unwritten_memory_never_passes_as_random():
    with pytest.raises(RuntimeError, match="random bytes"):
        noise._Stream().words(noise._CHUNK_WORDS + 1)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_forked_processes_draw_different_noise():
    noise.gaussian(4, 2.0**30)
    seen = []
    for _ in range(2):
        read, write = os.pipe()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # other tests' threads are idle
            child = os.fork()
        if child == 0:
            os.write(write, noise.gaussian(4, 2.0**30).tobytes())
            os._exit(0)
        os.close(write)
        seen.append(os.read(read, 64))
        os.close(read)
        os.waitpid(child, 0)
    seen.append(noise.gaussian(4, 2.0**30).tobytes())
    assert [len(one) for one in seen] == [32, 32, 32]
    assert len(set(seen)) == 3


def test_threads_draw_different_noise():
    with ThreadPoolExecutor(4) as pool:
        parts = list(pool.map(lambda _: noise.gaussian(20_000, 2.0**39), range(8)))
    draws = np.concatenate(parts)
    # 160 000 draws over 2**39 values: by chance a few hundredths of a pair fall together.
    assert np.unique(draws).size > draws.size - 20
    assert len({part[:4].tobytes() for part in parts}) == 8


# --- settings -----------------------------------------------------------------------------------


@MANY
@given(st.floats(1e-298, 1e298))
def test_grid(scale):
    grid = noise.grid_for(scale)
    assert math.frexp(grid)[0] == 0.5
    assert 2**noise.GRID_BITS <= scale / grid < 2 ** (noise.GRID_BITS + 1)
    assert scale / grid * grid == scale
    assert math.isfinite(2.0**63 * grid)


@pytest.mark.parametrize("scale", [0.0, -1.0, math.inf, math.nan, 5e-324, 1e-305, 1e308])
def test_grid_refuses(scale):
    with pytest.raises(SettingError, match="noise scale"):
        noise.grid_for(scale)


@pytest.mark.parametrize("draw", [noise.gaussian, noise.laplace])
def test_sizes_and_scales(draw):
    for size in (0, 1, 10, np.int64(3)):
        drawn = draw(size, 2.0**30)
        assert drawn.shape == (size,)
        assert drawn.dtype == np.int64
    with pytest.raises(SettingError, match="size"):
        draw(-1, 2.0**30)
    for scale in (0.0, -1.0, 0.99, 2.0**40, math.inf, math.nan):
        with pytest.raises(SettingError, match="grid_for"):
            draw(1, scale)

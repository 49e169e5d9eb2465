"""Where an axis is written on, and what: as many round numbers, or names, as there is room for."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from voile.report.kit.drawing.chart import Axis
from voile.report.kit.drawing.letters import SIZE, Line, measure, read_text

APART = 10.0
"""Pixels between two texts beside each other."""

LINE, COLUMN, MOST = 30.0, 42.0, 8
"""Pixels between two numbers above and beside each other, at least; how many there are, at most."""

_POWERS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_LARGE = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))


@dataclass(frozen=True)
class Tick:
    """A place on an axis, from 0 to 1, and the lines that stand there."""

    at: float
    lines: tuple[Line, ...]


def find_ticks(axis: Axis, room: float, *, upright: bool) -> tuple[Tick, ...]:
    """What is written on an axis of so many pixels.

    Parameters
    ----------
    axis : Axis
    room : float
    upright : bool
        Whether texts stand above each other.
    """
    if axis.places is not None:
        texts = axis.texts or tuple(number_text(one, axis) for one in axis.places)
        ticks = _make(axis, axis.places, texts)
        return _thin(ticks, room, upright=upright)
    fit = max(int(room / (LINE if upright else COLUMN)), 3)
    for count in range(min(axis.most or MOST, fit), 1, -1):
        values, step = _round_values(axis, count)
        ticks = _make(axis, values, [number_text(one, axis, step) for one in values])
        if upright or len(_thin(ticks, room, upright=False)) == len(ticks):
            return ticks
    return _thin(ticks, room, upright=upright)


def _make(axis: Axis, values: Sequence[float], texts: Sequence[str]) -> tuple[Tick, ...]:
    made = [
        Tick(float(at), read_text(text))
        for at, text in zip(axis.along(values), texts, strict=True)
        if -1e-6 <= at <= 1 + 1e-6
    ]
    return tuple(made)


def _thin(ticks: tuple[Tick, ...], room: float, *, upright: bool) -> tuple[Tick, ...]:
    """Without those that would overlap another; the first and the last stay."""

    def apart(one: Tick, other: Tick) -> bool:
        distance = abs(one.at - other.at) * room
        return distance >= SIZE if upright else distance >= (width(one) + width(other)) / 2 + APART

    if len(ticks) < 3:
        return ticks
    order = sorted(ticks, key=lambda tick: tick.at)
    kept = [order[0]]
    for tick in order[1:-1]:
        if not width(tick) or (apart(kept[-1], tick) and apart(tick, order[-1])):
            kept.append(tick)
    return (*kept, order[-1])


def width(tick: Tick) -> float:
    """Pixels of its widest line."""
    return max((measure(line) for line in tick.lines), default=0.0)


def _round_values(axis: Axis, count: int) -> tuple[list[float], float]:
    """About so many round numbers within an axis, and the distance between them."""
    low, high = sorted((axis.low, axis.high))
    if axis.log:
        return _decades(low, high, axis.step, count), 0.0
    step = axis.step if isinstance(axis.step, (int, float)) else _round_step((high - low) / count)
    if not step or not math.isfinite(step):
        return [low], 1.0
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [i * step for i in range(first, last + 1)], step


def _round_step(least: float) -> float:
    if least <= 0 or not math.isfinite(least):
        return 0.0
    power = 10.0 ** math.floor(math.log10(least))
    return next((k * power for k in (1, 2, 5) if k * power >= least * (1 - 1e-9)), 10 * power)


def _decades(low: float, high: float, step: float | str | None, count: int) -> list[float]:
    """Powers of ten between two exponents, and numbers between those where there are few."""
    digits = (1, 2, 5) if step == "D2" else (1,)
    if step is None and high - low < 2.5:
        digits = (1, 2, 5) if (high - low) * 3 <= count else (1,)
    every = max(1, math.ceil((high - low) / max(count, 1))) if digits == (1,) else 1
    values = [
        digit * 10.0**power
        for power in range(math.floor(low), math.ceil(high) + 1)
        for digit in digits
        if power % every == 0
    ]
    return [one for one in values if low - 1e-9 <= math.log10(one) <= high + 1e-9]


def number_text(value: float, axis: Axis, step: float = 0.0) -> str:
    """A number as it stands on an axis.

    Examples
    --------
    >>> number_text(-0.25, Axis(-1, 1), 0.05), number_text(1500, Axis(0, 20_000), 500)
    ('−0.25', '1,500')
    >>> number_text(1500, Axis(0, 2000), 500), number_text(3e9, Axis(0, 9e9), 1e9)
    ('1500', '3×10⁹')
    >>> number_text(1500, Axis(0, 1, form="~s")), number_text(0.2, Axis(0, 1, form=".0%"))
    ('1.5k', '20 %')
    """
    if value == 0:
        text = "0"
    elif axis.form.endswith("%"):
        text = f"{100 * value:{axis.form[:-1] or '.0'}f} %"
    elif axis.form.endswith("s") and abs(value) >= 1000:
        size, letter = next((size, sign) for size, sign in _LARGE if abs(value) >= size)
        text = f"{value / size:.6g}{letter}"
    elif value and not 1e-4 <= (step or abs(value)) < 1e6:
        text = _power_text(value)
    else:
        # Years have no comma.
        comma = "," if max(abs(axis.low), abs(axis.high)) >= 1e4 and not axis.log else ""
        digits = f".{max(0, -math.floor(math.log10(step) + 1e-9))}f" if step else ".6g"
        text = f"{value:{comma}{digits}}"
    return text.replace("-", "−") + axis.suffix


def scale_texts(low: float, high: float) -> tuple[str, str]:
    """The two ends of a scale of colours, as they are written."""
    axis = Axis(low, high)
    return number_text(float(f"{low:.2g}"), axis), number_text(float(f"{high:.2g}"), axis)


def _power_text(value: float) -> str:
    """A very large or small number: a factor and a power of ten."""
    factor, power = f"{abs(value):.3e}".split("e")
    factor = factor.rstrip("0").rstrip(".")
    sign = "-" if value < 0 else ""
    return f"{sign}{'' if factor == '1' else factor + '×'}10{str(int(power)).translate(_POWERS)}"

"""What attacks on updates found: frozen records, with text and plain data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from voile.audit.gradient_leakage.measures import Score
from voile.codec import Order, Writable
from voile.record import Record

Floats = NDArray[np.float64]

ALLOWED_GAIN = 1.0
"""Decibels above the grey guess from which on an image counts as given away."""

NO_GUARANTEE = (
    "A failed attack is no guarantee: a better one may come. Only the receipt of a private training"
    " holds against all attacks."
)
ORACLE = (
    "The best attack is chosen by comparing with the true image: an enemy with an oracle, stronger"
    " than a real one."
)


@dataclass(frozen=True, eq=False)
class Reconstruction(Writable):
    """Images rebuilt from one update.

    Attributes
    ----------
    images : ndarray of shape (images, *shape)
        From 0 to 1.
    method : {"dlg", "cosine_tv", "analytic"}
    labels : tuple of int
        Classes that the attack took the images to have.
    objective : tuple of float
        What was made small, before the first iteration and after each: 1 minus the cosine between
        updates, for ``cosine_tv`` plus the weighted total variation. One number if nothing was
        searched; empty if the update was zero and said nothing.
    iterations : tuple of int
        When snapshots were taken.
    snapshots : ndarray of shape (snapshots, images, *shape)
    scores : tuple of Score
        Beside the true images; empty if these were not given.
    """

    file_order: ClassVar[Order] = ("method", "labels", "objective", "iterations", "scores")
    """Without pictures."""

    images: Floats
    method: str
    labels: tuple[int, ...]
    objective: tuple[float, ...]
    iterations: tuple[int, ...]
    snapshots: Floats
    scores: tuple[Score, ...] = ()

    @property
    def psnr(self) -> float | None:
        """Mean over the images, in decibels; None without true images."""
        return float(np.mean([one.psnr for one in self.scores])) if self.scores else None

    @property
    def gain(self) -> float | None:
        """Mean gain over the grey guess, in decibels; None without true images."""
        return float(np.mean([one.gain for one in self.scores])) if self.scores else None

    def __str__(self) -> str:
        count = f"{len(self.images)} image{'s' if len(self.images) > 1 else ''}"
        text = f"{count} rebuilt by {self.method}, {max(len(self.objective) - 1, 0)} iterations"
        if self.psnr is not None:
            text += f": PSNR {self.psnr:.1f} dB, {self.gain:+.1f} dB beside the grey guess"
        return text


@dataclass(frozen=True, eq=False)
class ModeFindings(Writable):
    """How far attacks got against one way of sending updates.

    Attributes
    ----------
    mode : str
    lot : int
        Images in the sum that was sent.
    attacks : tuple of tuple of Reconstruction
        For each update that was attacked, what each method made of it, the best first.
    stranger_gains : tuple of float
        For each update, the gain of the best attack's images on as many images that were *not* in
        the lot: what it owes to the group alone. Empty if no strangers were given.
    """

    file_order: ClassVar[Order] = (
        *("mode", "lot", "attack=methods", "images", "mean_psnr", "max_psnr", "mean_ssim"),
        *("grey_psnr", "mean_gain", "max_gain", "max_toned_gain", "stranger_gains", "own_gain"),
        *("leaks", "psnr_by_method", "scores"),
    )

    mode: str
    lot: int
    attacks: tuple[tuple[Reconstruction, ...], ...]
    stranger_gains: tuple[float, ...] = ()

    @property
    def scores(self) -> tuple[Score, ...]:
        """Of the best method for each update."""
        return tuple(score for one in self.attacks for score in one[0].scores)

    @property
    def methods(self) -> tuple[str, ...]:
        """The methods that were best, the most frequent first."""
        best = [one[0].method for one in self.attacks]
        return tuple(sorted(set(best), key=lambda name: (-best.count(name), name)))

    @property
    def mean_psnr(self) -> float:
        """In decibels."""
        return float(np.mean([one.psnr for one in self.scores]))

    @property
    def max_psnr(self) -> float:
        """Of the image that was given away most, in decibels."""
        return max(one.psnr for one in self.scores)

    @property
    def mean_ssim(self) -> float:
        """Structural similarity, 1 for the same image."""
        return float(np.mean([one.ssim for one in self.scores]))

    @property
    def grey_psnr(self) -> float:
        """Mean of the grey guess, in decibels."""
        return float(np.mean([one.grey_psnr for one in self.scores]))

    @property
    def mean_gain(self) -> float:
        """Over the grey guess, in decibels."""
        return float(np.mean([one.gain for one in self.scores]))

    @property
    def max_gain(self) -> float:
        """Over the grey guess, of the image with the largest, in decibels."""
        return max(one.gain for one in self.scores)

    @property
    def max_toned_gain(self) -> float:
        """The largest gain of any method on any image, its brightness and contrast set best.

        Chance alone reaches some tenths of a decibel on images of 28 x 28, and a few on small
        smooth ones: compare with the mode `noise_only`.
        """
        return max(
            score.toned_gain for update in self.attacks for one in update for score in one.scores
        )

    @property
    def own_gain(self) -> float:
        """The largest gain beyond the grey guess and beyond that on strangers, in decibels.

        A large lot gives away what its images have in common, and that looks like strangers, too:
        it is no one's own. Without strangers, the largest gain.
        """
        if not self.stranger_gains:
            return self.max_gain
        return max(
            max(score.gain for score in one[0].scores) - max(other, 0.0)
            for one, other in zip(self.attacks, self.stranger_gains, strict=True)
        )

    @property
    def leaks(self) -> bool:
        """Whether the own gain is above 1 dB on some image."""
        return self.own_gain > ALLOWED_GAIN

    @property
    def images(self) -> int:
        """How many were attacked."""
        return len(self.scores)

    @property
    def psnr_by_method(self) -> dict[str, float]:
        """Mean PSNR of each method, in decibels."""
        found: dict[str, list[float]] = {}
        for update in self.attacks:
            for one in update:
                found.setdefault(one.method, []).extend(score.psnr for score in one.scores)
        return {name: float(np.mean(values)) for name, values in sorted(found.items())}


@dataclass(frozen=True, eq=False)
class LeakageReport(Record):
    """Attacks on updates, against each way of sending them.

    Attributes
    ----------
    modes : tuple of ModeFindings
    truth : ndarray of shape (images, *shape)
        All true images, those under attack first. They are made up, public, or the owner's, who
        alone may see this record.
    parameters : int
        Length of an update.
    knows_labels : bool
        Whether the enemy was told the classes.
    """

    indent: ClassVar[int | None] = None
    file_order: ClassVar[Order] = ("parameters", "image_shape", "knows_labels", "modes", "note")
    """Without pictures; the page shows them, and is for those who may see them."""
    has_terminal_form: ClassVar[bool] = False

    modes: tuple[ModeFindings, ...]
    truth: Floats
    parameters: int
    knows_labels: bool

    def __getitem__(self, mode: str) -> ModeFindings:
        for one in self.modes:
            if one.mode == mode:
                return one
        raise KeyError(mode)

    def table(self) -> list[list[str]]:
        """Texts, a line per mode.

        Mode, lot, attack, mean and largest PSNR, SSIM, grey, gains, and
        the largest gain of any method with the best brightness and contrast (toned), the largest
        gain on strangers, and whether it leaks.
        """
        return [
            [
                one.mode,
                str(one.lot),
                " ".join(one.methods),
                f"{one.mean_psnr:.1f}",
                f"{one.max_psnr:.1f}",
                f"{one.mean_ssim:.2f}",
                f"{one.grey_psnr:.1f}",
                f"{one.mean_gain:+.1f}",
                f"{one.max_gain:+.1f}",
                f"{one.max_toned_gain:+.1f}",
                f"{max(one.stranger_gains):+.1f}" if one.stranger_gains else "",
                "yes" if one.leaks else "not seen",
            ]
            for one in self.modes
        ]

    @property
    def image_shape(self) -> tuple[int, ...]:
        """Of one image."""
        return self.truth.shape[1:]

    @property
    def note(self) -> str:
        """What a reader should know besides."""
        return f"{ORACLE} {NO_GUARANTEE}"

    def __str__(self) -> str:
        lines = [list(HEAD), *self.table()]
        widths = [max(len(line[i]) for line in lines) for i in range(len(HEAD))]
        body = [
            "  ".join(
                cell.ljust(width) if i in (0, 2, 11) else cell.rjust(width)
                for i, (cell, width) in enumerate(zip(line, widths, strict=True))
            ).rstrip()
            for line in lines
        ]
        shape = " x ".join(str(one) for one in self.truth.shape[1:])
        return "\n".join(
            [
                f"Images of {shape} rebuilt from one update of {self.parameters:,} parameters",
                *(f"  {line}" for line in body),
                "  PSNR and gains over the grey guess (the true mean everywhere) in dB. Toned: the",
                "  largest gain of any attack, its brightness and contrast set by the true image;",
                "  compare it with that on noise alone. Strangers: the gain on images in no",
                "  lot. Leaks: a gain more than 1 dB above the grey guess and that on strangers.",
                f"  {ORACLE}",
                f"  {NO_GUARANTEE}",
            ]
        )


HEAD = (
    "mode",
    "lot",
    "best attack",
    "PSNR",
    "largest",
    "SSIM",
    "grey",
    "gain",
    "largest gain",
    "toned",
    "strangers",
    "leaks",
)
"""Head of `LeakageReport.table`."""

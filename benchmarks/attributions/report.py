"""What the attribution benchmark found, as Markdown tables and a JSON file.

Not a script: see `quality.py`.
"""

import math
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.kit.script import write_findings
from benchmarks.kit.tables import table

Floats = NDArray[np.float64]
Likeness = dict[str, float]

MODELS = {"cnn": "CNN", "maps": "locally linear maps", "readable": "maps, readable"}
KINDS = {
    "IG": "integrated gradients",
    "SmoothGrad": "SmoothGrad",
    "IG x input": "integrated gradients x input",
    "filter": "weighted filter",
    "filter x input": "weighted filter x input",
    "contributions": "contributions",
    "top filter": "top filter",
}


@dataclass(frozen=True, slots=True)
class Trained:
    """One training; `spent` is the epsilon that Opacus' accountant tells."""

    model: str
    epsilon: float
    seed: int
    accuracy: float
    seconds: float
    spent: float | None


@dataclass(frozen=True, slots=True)
class Explained:
    """What one explanation of one model at one epsilon is worth, means over pictures and seeds.

    Attributes
    ----------
    anew, private : dict of str to float
        Likeness to that of the model trained anew, and of one without privacy.
    true, by_chance : dict of str to float
        Areas of deletion and insertion on the model itself, and with pixels in random order.
    rough : float
        Differences of neighbours over sizes: 1.41 for independent noise.
    """

    model: str
    epsilon: float
    kind: str
    anew: Likeness
    private: Likeness
    true: dict[str, float]
    by_chance: dict[str, float]
    rough: float


@dataclass(frozen=True, slots=True)
class Agreement:
    """Likeness of two explanations of the same pictures at the same epsilon."""

    epsilon: float
    one: str
    other: str
    alike: Likeness


@dataclass(frozen=True, eq=False)
class SetResult:
    """Everything found on one set."""

    name: str
    rows: int
    pictures: int
    trained: list[Trained]
    explained: list[Explained]
    agreements: list[Agreement]

    def epsilons(self) -> list[float]:
        """From none to much privacy."""
        return sorted({one.epsilon for one in self.trained}, reverse=True)


@dataclass(slots=True)
class Findings:
    """All that a run found so far."""

    settings: dict[str, object]
    sets: list[SetResult] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def at(epsilon: float) -> str:
    return "no privacy" if math.isinf(epsilon) else f"eps {epsilon:g}"


def accuracy_table(one: SetResult) -> tuple[list[str], list[list[str]]]:
    epsilons, rows = one.epsilons(), []
    for model in dict.fromkeys(each.model for each in one.trained):
        cells, took = [], []
        for eps in epsilons:
            found = [t for t in one.trained if (t.model, t.epsilon) == (model, eps)]
            cells.append(f"{100 * np.mean([t.accuracy for t in found]):.2f} %")
            took += [t.seconds for t in found]
        rows.append([MODELS[model], *cells, f"{np.mean(took):.0f} s"])
    return ["test accuracy", *map(at, epsilons), "mean fit"], rows


def likeness_table(one: SetResult, which: str) -> tuple[list[str], list[list[str]]]:
    """Spearman, cosine and overlap of every explanation at every epsilon."""
    epsilons = [e for e in one.epsilons() if which == "anew" or math.isfinite(e)]
    rows = []
    for model, kind in dict.fromkeys((each.model, each.kind) for each in one.explained):
        cells = []
        for eps in epsilons:
            found = next(
                e for e in one.explained if (e.model, e.kind, e.epsilon) == (model, kind, eps)
            )
            cells.append(likeness(getattr(found, which)))
        rows.append([f"{MODELS[model]}: {KINDS[kind]}", *cells])
    return ["explanation", *map(at, epsilons)], rows


def likeness(found: Likeness) -> str:
    return f"{found['spearman']:.2f} / {found['cosine']:.2f} / {found['overlap']:.2f}"


def truth_table(one: SetResult) -> tuple[list[str], list[list[str]]]:
    """Deletion and insertion, with those of random order, and roughness."""
    epsilons, rows = one.epsilons(), []
    for model, kind in dict.fromkeys((each.model, each.kind) for each in one.explained):
        cells = []
        for eps in epsilons:
            found = next(
                e for e in one.explained if (e.model, e.kind, e.epsilon) == (model, kind, eps)
            )
            pairs = [
                f"{found.true[name]:.2f} ({found.by_chance[name]:.2f})"
                for name in ("deletion", "insertion")
            ]
            cells.append(f"{' / '.join(pairs)} / {found.rough:.2f}")
        rows.append([f"{MODELS[model]}: {KINDS[kind]}", *cells])
    return ["explanation", *map(at, epsilons)], rows


def agreement_table(one: SetResult) -> tuple[list[str], list[list[str]]]:
    epsilons = one.epsilons()
    rows = []
    for first, second in dict.fromkeys((each.one, each.other) for each in one.agreements):
        cells = [
            likeness(each.alike)
            for eps in epsilons
            for each in one.agreements
            if (each.one, each.other, each.epsilon) == (first, second, eps)
        ]
        rows.append([f"{KINDS[first]} and {KINDS[second]}", *cells])
    return ["explanations", *map(at, epsilons)], rows


Section = tuple[str, str, tuple[list[str], list[list[str]]]]


def sections(one: SetResult) -> list[Section]:
    """Title, text and table of each part."""
    triple = (
        "Spearman / cosine / overlap of the top tenth of pixels (by chance: 0 / 0 / 0.1, and an "
        "overlap of about a half for what is times the input, where only lit pixels count)"
    )
    return [
        ("Accuracy", f"{one.rows:,} training rows; means over the trainings.", accuracy_table(one)),
        (
            "Trained anew",
            f"How much an explanation of the same picture stays the same if the model is trained "
            f"anew at the same epsilon (other start, other lots, other noise). {triple}.",
            likeness_table(one, "anew"),
        ),
        (
            "With and without privacy",
            f"How like the explanation is to that of a model of the same kind without privacy "
            f"(another training). {triple}.",
            likeness_table(one, "private"),
        ),
        (
            "True to the model",
            "Area under the probability of the class as its lit pixels go black, those that count "
            "most first (deletion, low is good) and as they come back to a black picture "
            "(insertion, high is good), judged on the model that is explained, in brackets with "
            "pixels in random order; then roughness: mean difference of neighbours over mean size, "
            "1.41 for independent noise. Filters are smooth by their basis, so theirs is low even "
            "where they are noise: read it together with the tables above. Sensitivities count "
            "times the input.",
            truth_table(one),
        ),
        (
            "Do the two models agree?",
            f"Explanations of the CNN beside those of the maps, at the same epsilon. {triple}.",
            agreement_table(one),
        ),
    ]


INTRODUCTION = (
    "Integrated gradients (from black, not times the input, as in the paper) and SmoothGrad of a "
    "CNN of 26,010 numbers, trained by DP-SGD (Opacus, Poisson lots, PRV accountant), beside the "
    "weighted filters and contributions of locally linear maps at the same epsilon, delta 1e-5. "
    "All explain the score of the class less the mean score of all classes, for test pictures that "
    "every model gets right."
)


def markdown(found: Findings) -> str:
    parts = [f"Not measured: {one}." for one in found.problems]
    if found.sets:
        parts.append(INTRODUCTION)
    for one in found.sets:
        parts.append(f"## {one.name}, {one.pictures} pictures")
        for title, text, (head, rows) in sections(one):
            parts += [f"### {title}", text, table(head, rows)]
    return "\n\n".join(parts) + "\n"


def write(found: Findings, folder: Path) -> None:
    data = {
        "settings": found.settings,
        "problems": found.problems,
        "sets": [asdict(one) for one in found.sets],
    }
    write_findings(folder, "attributions", data, markdown(found))

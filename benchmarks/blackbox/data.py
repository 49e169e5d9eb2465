"""The tables of the explainer benchmark: private rows, rows that are asked about, public facts.

They are read from `data_folder`;
one that is missing is skipped and said to be. Bounds, levels and words are taken to be public; the
number of rows is not.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmarks.ebm.data import describe
from benchmarks.hospital import data as hospital_data
from benchmarks.kit.data_folder import read, read_pictures
from voile import Category, Number, Schema

WORDS = 500
HELD_OUT = 5_000
PAPER_LOSSES = {
    "fer": {0.01: 1.4e-2, 0.1: 2.2e-3},
    "imdb": {0.01: 2.7e-3, 0.1: 4.3e-4},
    "adult": {0.01: 5.7e-3, 0.1: 2.6e-4},
}
"""Table 3 of the paper: mean loss of Algorithm 1 for one question. Its texts are 8.8 million, and
its table of people is ACS13 with 1.49 million rows, so that only its faces are like ours."""


@dataclass(frozen=True, eq=False)
class Task:
    """A table whose model is explained.

    Attributes
    ----------
    name : str
    rows : data frame or ndarray of shape (m, k)
        Private, as the model takes them.
    target : ndarray of shape (m,)
        0 and 1: what the model learns.
    others : data frame or ndarray of shape (h, k)
        Rows held out, to ask about.
    others_target : ndarray of shape (h,)
    schema : Schema
    queries : int
        How many questions the budget is divided into.
    most_asked : int
        How many rows are asked about at most: where a question costs seconds, few.
    note : str
    """

    name: str
    rows: Any
    target: NDArray[np.int64]
    others: Any
    others_target: NDArray[np.int64]
    schema: Schema
    queries: int
    most_asked: int
    note: str

    def ask(self, count: int, seed: int = 5) -> Any:
        """Some of the rows held out."""
        return take(self.others, self.choose(count, seed))

    def choose(self, count: int, seed: int = 5) -> NDArray[np.int64]:
        """Which rows of those held out `ask` takes."""
        rng = np.random.default_rng(seed)
        return np.asarray(rng.permutation(len(self.others))[:count])


def take(rows: Any, which: Any) -> Any:
    """Some rows of a frame or an array."""
    return rows.iloc[which] if isinstance(rows, pd.DataFrame) else rows[which]


def adult() -> Task:
    table = read("adult")
    frame = table.drop(columns=["income", "split"])
    target = (table["income"] == ">50K").to_numpy().astype(np.int64)
    train = (table["split"] == "train").to_numpy()
    schema = describe(frame, Category([0, 1])).with_target(None)
    note = "UCI Adult: its training rows are private, its test rows are asked about"
    return Task(
        "adult",
        frame[train].reset_index(drop=True),
        target[train],
        frame[~train].reset_index(drop=True),
        target[~train],
        schema,
        4_500,
        100,
        note,
    )


def diabetes130() -> Task:
    table = read("diabetes130")
    frame, known = hospital_data.features(table)
    frame = frame[list(known)].reset_index(drop=True)
    target = (table["readmitted"] == "<30").to_numpy().astype(np.int64)
    order = np.random.default_rng(0).permutation(len(frame))
    held, kept = order[: len(frame) // 5], order[len(frame) // 5 :]
    note = (
        "early readmission; diagnoses in the nine groups of Strack et al. (2014); a fifth held out"
    )
    return Task(
        "diabetes130",
        frame.iloc[kept].reset_index(drop=True),
        target[kept],
        frame.iloc[held].reset_index(drop=True),
        target[held],
        Schema(known),
        4_500,
        60,
        note,
    )


def imdb() -> Task:
    from sklearn.feature_extraction.text import CountVectorizer

    table = read("imdb")
    counter = CountVectorizer(max_features=WORDS, binary=True)
    counter.fit(table["text"][table["split"] == "train"])
    words = counter.transform(table["text"]).toarray().astype(np.int64)
    names = [str(word) for word in counter.get_feature_names_out()]
    target = table["sentiment"].to_numpy().astype(np.int64)
    order = np.random.default_rng(0).permutation(len(words))
    held, kept = order[:HELD_OUT], order[HELD_OUT:]
    frame = pd.DataFrame(words, columns=names)
    note = f"{WORDS} most frequent words of the training texts as 0 or 1; {HELD_OUT:,} held out"
    return Task(
        "imdb",
        frame.iloc[kept].reset_index(drop=True),
        target[kept],
        frame.iloc[held].reset_index(drop=True),
        target[held],
        Schema({name: Number(0, 1) for name in names}),
        1_000,
        24,
        note,
    )


def fer(*, full: bool = False) -> Task:
    file = read_pictures("fer")
    pictures = [file["x_train"], np.concatenate([file["x_val"], file["x_test"]])]
    happy = [file["y_train"], np.concatenate([file["y_val"], file["y_test"]])]
    if not full:
        pictures = [halve(one) for one in pictures]
    rows, others = (one.reshape(len(one), -1).astype(np.float64) for one in pictures)
    names = [f"pixel {k}" for k in range(rows.shape[1])]
    size = "48x48 pixels" if full else "24x24 pixels (means of 2x2)"
    return Task(
        "fer",
        pd.DataFrame(rows, columns=names),
        happy[0].astype(np.int64),
        pd.DataFrame(others, columns=names),
        happy[1].astype(np.int64),
        Schema({name: Number(0, 255) for name in names}),
        1,
        16,
        f"FER2013, happy or sad, {size}",
    )


def halve(pictures: NDArray[Any]) -> NDArray[np.float64]:
    """Means of 2x2 pixels."""
    n, height, width = pictures.shape
    return np.asarray(pictures.reshape(n, height // 2, 2, width // 2, 2).mean(axis=(2, 4)))


def made(rows: int = 600, others: int = 200) -> Task:
    """A small table like adult, for tests."""
    rng = np.random.default_rng(0)
    n = rows + others
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 90, n).astype(float),
            "hours": rng.integers(1, 99, n).astype(float),
            "sex": rng.choice(["Female", "Male"], n),
            "race": rng.choice(["a", "b", "c"], n, p=[0.7, 0.2, 0.1]),
        }
    )
    score = (frame["age"] - 50) / 20 + (frame["hours"] - 50) / 40 + (frame["sex"] == "Male") - 0.5
    target = (score + rng.normal(size=n) > 0).to_numpy().astype(np.int64)
    schema = Schema(
        {
            "age": Number(18, 90),
            "hours": Number(1, 99),
            "sex": Category(["Female", "Male"]),
            "race": Category(["a", "b", "c"]),
        }
    )
    return Task(
        "made",
        frame.iloc[:rows].reset_index(drop=True),
        target[:rows],
        frame.iloc[rows:].reset_index(drop=True),
        target[rows:],
        schema,
        100,
        20,
        "made up",
    )


SETS: dict[str, Callable[..., Task]] = {
    make.__name__: make for make in (adult, diabetes130, imdb, fer)
}
NAMES = tuple(SETS)


def load(name: str, *, full: bool = False) -> Task:
    """One set by name ("made" is the small one for tests).

    Raises
    ------
    KeyError
        If there is no such set.
    FileNotFoundError
        If it is not in the folder.
    """
    if name == "made":
        return made()
    return fer(full=full) if name == "fer" else SETS[name]()

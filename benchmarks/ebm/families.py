"""Which family of models is the most accurate on which kind of table, at the same budget.

Made-up tables: classes that lie about centres in correlated numbers, of which much is common to all
("correlated", as textures are) or nothing is ("clouds"), and classes that follow from columns each
by itself, all of them numbers ("curves") or half of them ("mixed"). Every family is trained on the
same rows with its own rules for everything, and judged on public rows that nobody trained on.
Prints a table and JSON.

    python benchmarks/ebm/families.py --classes 2,11 --rows 5000 --eps 1,8
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))  # benchmarks are a package

import argparse
import json
import time
import warnings

import numpy as np

from benchmarks.kit.script import note, numbers
from voile import (
    Category,
    EBMClassifier,
    GLVQClassifier,
    GMLVQClassifier,
    LocallyLinearClassifier,
    Number,
    Schema,
)

FAMILIES = {
    "ebm": EBMClassifier,
    "gmlvq": GMLVQClassifier,
    "glvq": GLVQClassifier,
    "locally_linear": LocallyLinearClassifier,
}
KINDS = ("correlated", "clouds", "curves", "mixed")
COLUMNS, TEST = 16, 4_000
SPREADS = {"correlated": (3.0, 2.0, 1.0, 0.5, 0.5, 0.5), "clouds": (1.0,) * 6}
"""Spreads of rows of one class along each factor; centres are spread evenly."""
LEVELS = 5


def about_centres(rng, rows, classes, spreads):
    """Centres in a few factors, which all numbers are mixtures of.

    Where spreads differ, what all classes have in common hides in each single number what tells
    them apart: brightness in pictures, size in letters.
    """
    factors = len(spreads)
    centres = rng.normal(size=(classes, factors))
    mixture = rng.normal(size=(factors, COLUMNS)) / np.sqrt(factors)
    target = rng.integers(0, classes, rows)
    points = centres[target] + np.array(spreads) * rng.normal(size=(rows, factors))
    table = np.clip(points @ mixture + 0.1 * rng.normal(size=(rows, COLUMNS)), -6, 6)
    columns = {f"n{k}": Number(-6, 6) for k in range(COLUMNS)}
    return {name: table[:, k] for k, name in enumerate(columns)}, target, columns


def one_by_one(rng, rows, classes, count):
    """Numbers, so many, and categories; each has a curve of its own for every class."""
    columns, table = {}, {}
    scores = np.zeros((rows, classes))
    for k in range(count):
        values = rng.random(rows)
        phases, turns = rng.uniform(0, 2 * np.pi, classes), rng.choice([1.0, 2.0], classes)
        scores += 1.5 * np.sin(np.pi * turns * values[:, None] + phases)
        columns[f"n{k}"], table[f"n{k}"] = Number(0, 1), values
    for k in range(COLUMNS - count):
        levels = rng.integers(0, LEVELS, rows)
        scores += 1.2 * rng.normal(size=(LEVELS, classes))[levels]
        columns[f"c{k}"], table[f"c{k}"] = Category(range(LEVELS)), levels
    return table, (scores + rng.gumbel(size=scores.shape)).argmax(axis=1), columns


def measure(kind, classes, rows, epsilons, seed):
    """Yield one record per family and epsilon."""
    rng = np.random.default_rng([seed, classes, rows, KINDS.index(kind)])
    if kind in ("curves", "mixed"):
        count = COLUMNS if kind == "curves" else COLUMNS // 2
        table, target, columns = one_by_one(rng, rows + TEST, classes, count)
    else:
        table, target, columns = about_centres(rng, rows + TEST, classes, SPREADS[kind])
    schema = Schema(columns, target=Category(range(classes)), unit="row")
    learned = {name: values[:rows] for name, values in table.items()}
    held = {name: values[rows:] for name, values in table.items()}
    for epsilon in epsilons:
        for family, cls in FAMILIES.items():
            begun = time.perf_counter()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # each fit is of other people: none has a ledger
                model = cls(epsilon=epsilon, schema=schema).fit(learned, target[:rows])
            accuracy = float((model.predict(held) == target[rows:]).mean())
            yield {
                "table": kind,
                "classes": classes,
                "rows": rows,
                "epsilon": epsilon,
                "family": family,
                "accuracy": round(accuracy, 4),
                "seconds": round(time.perf_counter() - begun, 2),
            }


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--classes", type=numbers, default=(2.0, 3.0, 5.0, 8.0, 11.0, 26.0))
    parser.add_argument("--rows", type=numbers, default=(2_000.0, 5_000.0, 20_000.0))
    parser.add_argument("--eps", type=numbers, default=(0.5, 1.0, 2.0, 8.0))
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    found = []
    print("table       classes    rows   eps  " + "".join(f"{one:>16}" for one in FAMILIES))
    for kind in KINDS:
        for classes in map(int, given.classes):
            for rows in map(int, given.rows):
                note(f"{kind}, {classes} classes, {rows} rows")
                made = list(measure(kind, classes, rows, given.eps, given.seed))
                found += made
                for epsilon in given.eps:
                    line = [one["accuracy"] for one in made if one["epsilon"] == epsilon]
                    cells = "".join(f"{one:16.3f}" for one in line)
                    print(f"{kind:12}{classes:7d}{rows:8d}{epsilon:6g}  {cells}", flush=True)
    print(json.dumps(found))


if __name__ == "__main__":
    main()

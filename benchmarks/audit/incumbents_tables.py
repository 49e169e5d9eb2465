"""The neighbouring tables of the attacks: the same ones for every library.

Not a script: see `incumbents.py`.
"""

from benchmarks.audit.incumbents_attacks import ADDED, Neighbours

CATEGORY = Neighbours(
    "a category that one record holds",
    {"x": ["A"] * 500 + ["B"] * 500, "y": ["yes", "no"] * 500},
    {"x": "C", "y": "yes"},
)
"""500 A and 500 B; one A becomes a C."""

TARGET = Neighbours(
    "one record of a regression moved, target in [1000, 1001]",
    {"x": ["a", "b"] * 500, "y": [1000.0] * 1000},
    {"x": "b", "y": 1000.0},
)
"""One a becomes a b; nobody's target changes."""

COUNT = Neighbours(
    "how many rows there were",
    {"x": ["A"] * 500 + ["B"] * 500, "y": ["yes", "no"] * 500},
    {"x": "A", "y": "yes"},
    ADDED,
)

CLASS = Neighbours(
    "a class that one record holds",
    {"x": [i / 999 for i in range(1000)], "y": ["0", "1"] * 500},
    {"x": 0.0, "y": "2"},
)

EXTREME = Neighbours(
    "an extreme value, bounds not given",
    {"x": [i / 999 for i in range(1000)], "y": ["0", "1"] * 500},
    {"x": 1000.0, "y": "0"},
)
"""Values in [0, 1]; one becomes 1000."""

LEVER = Neighbours(
    "one record at the upper bound, x in [0, 10]",
    {"x": [0.001] * 10_000, "y": [0.5] * 10_000},
    {"x": 10.0, "y": 0.5},
)
"""All but one record near 0."""

FOLDS = Neighbours(
    "cross-validation with one budget",
    {"x": [0.5] * 40, "y": ["0", "1"] * 20},
    {"x": 1.0, "y": "1"},
)
"""Ten times five folds: 50 fits of epsilon 1, out of a budget of 1."""

FOLD_COUNT, FOLD_REPEATS = 5, 10

TWO_BINS = Neighbours(
    "one record moved to another bin",
    {"x": [0.25] * 20, "y": ["0", "1"] * 10},
    {"x": 0.75, "y": "0"},
)

TWO_BINS_MORE = Neighbours(
    "one record more in a bin",
    {"x": [0.25] * 20, "y": ["0", "1"] * 10},
    {"x": 0.25, "y": "0"},
    ADDED,
)

OTHER_END = Neighbours(
    "one record from the lower to the upper bound",
    {"x": [0.0] + [0.5] * 99, "y": ["0", "1"] * 50},
    {"x": 1.0, "y": "0"},
)

OTHER_LABEL = Neighbours(
    "one record with another label",
    {"x": [0.5] * 20, "y": ["0", "1"] * 10},
    {"x": 0.5, "y": "1"},
)

SHIFT = Neighbours(
    "one record at the end",
    {
        "x": [0.5] * 110,
        "y": [str((tree + (row > 5)) % 2) for tree in range(10) for row in range(11)],
    },
    {"x": 0.5, "y": "0"},
    ADDED,
)
"""Eleven rows for each of ten trees: one row more shifts a row from every tree to the one before.

Six of a tree's rows are of one class, and its first is among them; the first row of the next tree
is of the other class. So the majority of every tree turns.
"""

CLASS_COUNT = Neighbours(
    "how many rows there were",
    {"x": [0.5] * 100, "y": ["0", "1"] * 50},
    {"x": 0.5, "y": "0"},
    ADDED,
)

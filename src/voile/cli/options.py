"""Options that several verbs share, with one help text each."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class ModelKind(StrEnum):
    """Models that a table can train."""

    EBM = "ebm"
    LOCALLY_LINEAR = "locally-linear"
    GLVQ = "glvq"
    GMLVQ = "gmlvq"
    LVQ1 = "lvq1"


class Task(StrEnum):
    """What is predicted."""

    CLASSIFICATION = "classification"
    REGRESSION = "regression"


class Aimed(StrEnum):
    """What an additive model tells of a number."""

    SQUARED = "squared"
    POISSON = "poisson"
    GAMMA = "gamma"
    QUANTILE = "quantile"


Objectives = Annotated[
    Aimed,
    typer.Option(
        "--objective", help="Of an additive model, what to tell of a number: see the how-to guide."
    ),
]
ExposureColumn = Annotated[
    str | None,
    typer.Option(
        "--exposure",
        help="Column that counts or amounts are proportional to; the schema tells its bounds, "
        "above 0.",
    ),
]
TaskOption = Annotated[
    Task | None,
    typer.Option("--task", help="Needed where a target is a number and nothing says which."),
]


AsJson = Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")]
Epsilon = Annotated[float, typer.Option(help="Budget of this job; smaller is more private.")]
Delta = Annotated[
    float | None,
    typer.Option(
        help="Probability that the guarantee fails; by default 1e-6, and at most a hundredth of "
        "one over the rows, if the schema tells how many there are.",
        show_default=False,
    ),
]
SchemaFile = Annotated[
    Path | None,
    typer.Option("--schema", help="What is public (YAML or JSON); see voile schema."),
]
LedgerPlace = Annotated[
    str | None,
    typer.Option(
        "--ledger",
        help="Ledger of the data set: a file (made if --budget is given) or a PostgreSQL url.",
    ),
]
LedgerBudget = Annotated[
    float | None,
    typer.Option("--budget", help="Epsilon that a new ledger may spend in all, for ever."),
]
KeyFile = Annotated[
    Path | None,
    typer.Option("--key", help="Private key to sign with; by default the one VOILE_KEY names."),
]
ModelFile = Annotated[Path, typer.Argument(help="File of a model, as voile train writes it.")]
Target = Annotated[str | None, typer.Option(help="Name of the column to predict.")]
PageFile = Annotated[
    Path | None, typer.Option("--output", "-o", help="Write a page with pictures.")
]
AmongSeveral = Annotated[
    str | None, typer.Option("--dataset", help="Name of the data set, if there are several.")
]
Model = Annotated[ModelKind, typer.Option(help="Kind of model.")]
UnitColumn = Annotated[
    str | None,
    typer.Option(
        help="Who is protected: the column that tells whose row it is, or row if every row is "
        "another person's."
    ),
]
UnitRows = Annotated[
    int | None,
    typer.Option(
        help="Most rows of one person that are used (1 by default); without --unit, most rows that "
        "anybody has."
    ),
]
DataSetName = Annotated[
    str | None,
    typer.Option(
        "--dataset",
        help="Name of the data set in the ledger; by default the name of the file.",
    ),
]

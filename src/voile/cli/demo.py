"""The demo: a private summary of a real health table, its receipt and its ledger."""

from __future__ import annotations

import math
import statistics
from pathlib import Path

from rich.console import Console
from rich.table import Table

from voile.errors import DataError, MissingExtra
from voile.privacy.budget import Budget
from voile.privacy.ledger import Ledger
from voile.schema import Category, Number, Schema
from voile.summary import NumberSummary, Summary, summarize

# From the documentation of the experiment, not from its rows. "lpi" and "fmde" (logarithms of
# payments) have no documented range: their bounds are found privately.
SCHEMA = Schema(
    {
        "mdvis": Number(0, 100),
        "lncoins": Number(0, 5),
        "idp": Category([0, 1]),
        "lpi": Number(),
        "fmde": Number(),
        "physlm": Number(0, 1),
        "disea": Number(0, 60),
        "hlthg": Category([0, 1]),
        "hlthf": Category([0, 1]),
        "hlthp": Category([0, 1]),
    }
)

MEANING = {
    "mdvis": "doctor visits a year",
    "lncoins": "log coinsurance rate",
    "idp": "individual deductible plan",
    "lpi": "log incentive payment",
    "fmde": "log max. deductible exp.",
    "physlm": "physical limitation",
    "disea": "chronic diseases",
    "hlthg": "health good",
    "hlthf": "health fair",
    "hlthp": "health poor",
}


def run_demo(output: Path, *, epsilon: float, as_json: bool) -> None:
    """Summarise the table, print what came out, write the page and the JSON."""
    rows = _rand_rows()
    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(
            f"The folder {str(output)!r} cannot be written: {error.strerror}."
        ) from None
    where = output / "voile-demo-ledger.db"
    where.unlink(missing_ok=True)  # the demo's data are public: each run may start anew
    ledger = Ledger(where, Budget(2 * epsilon, 1e-6), dataset="RAND health insurance experiment")
    summary = summarize(rows, epsilon=epsilon, delta=1e-6, schema=SCHEMA, ledger=ledger)
    (output / "summary.json").write_text(summary.to_json(), encoding="utf-8")
    page = summary.to_html(output / "summary.html")
    if as_json:
        print(summary.to_json())
        return
    console = Console()
    console.print(_picture(summary))
    console.print()
    console.print(str(summary.receipt), highlight=False)
    console.print()
    console.print(
        f"Ledger: {ledger.fraction_spent():.0%} of {ledger.budget} is spent; a training with "
        f"epsilon {ledger.remaining().epsilon:.3g} would still be admitted."
    )
    console.print(f"Page with pictures: {page.resolve()}")
    console.print(f"JSON:               {(output / 'summary.json').resolve()}", soft_wrap=True)


def _rand_rows() -> object:
    try:
        from statsmodels.datasets import randhie
    except ImportError:
        raise MissingExtra("statsmodels", "demo") from None
    return randhie.load_pandas().data


def _picture(summary: Summary) -> Table:
    table = Table(
        title=f"A private summary of about {summary.rows:,.0f} people "
        f"(+- {2 * summary.rows_standard_error:,.0f})",
        title_justify="left",
    )
    table.add_column("column", no_wrap=True)
    table.add_column("25, 50, 75 %", no_wrap=True)
    table.add_column("distribution", no_wrap=True)
    table.add_column("2 s.e.", justify="right", no_wrap=True)
    for column in summary.columns:
        meaning = MEANING.get(column.name, column.name)
        if isinstance(column, NumberSummary):
            digits = max(0, math.ceil(-math.log10((column.upper - column.lower) / 100)))
            quartiles = "  ".join(f"{value:.{digits}f}" for value in column.quartiles)
            error = statistics.median(column.standard_errors)
            table.add_row(meaning, quartiles, _bars(list(column.counts)), f"{2 * error:,.0f}")
        else:
            words = "  ".join(
                f"{level}: {count:,.0f}"
                for level, count in zip(column.levels, column.counts, strict=True)
                if count > 2 * column.standard_error
            )
            table.add_row(meaning, "", words, f"{2 * column.standard_error:,.0f}")
    return table


def _bars(values: list[float]) -> str:
    """Heights as block characters; square roots, so that small bins remain visible."""
    blocks = "▁▂▃▄▅▆▇█"
    top = max(max(values), 1e-300)
    return "".join(blocks[round((max(value, 0) / top) ** 0.5 * 7)] for value in values)

"""The demo verb: a private model of a real health table, its report, and a black box explained.

The table (the RAND health insurance experiment, 20,190 rows) comes with the package statsmodels. It
is public; the demo treats it as if it were not. A row is a person in a year, nobody has more than
five, and the guarantee is for a person.
"""

from __future__ import annotations

import os
import sys
import webbrowser
from pathlib import Path
from typing import Annotated, Any

import typer

from voile.cli.account import current, part_of, tell_ledger
from voile.cli.options import AsJson
from voile.cli.results import print_json

MEANING = {
    "lncoins": "log coinsurance rate",
    "idp": "individual deductible",
    "lpi": "log incentive payment",
    "fmde": "log deductible",
    "physlm": "physical limitation",
    "disea": "chronic diseases",
    "hlthg": "good health",
    "hlthf": "fair health",
    "hlthp": "poor health",
}
"""Names that a reader understands."""

_ASKED = {
    "log coinsurance rate": 0.0,
    "individual deductible": 0,
    "log incentive payment": 5.0,
    "log deductible": 0.0,
    "physical limitation": 1.0,
    "chronic diseases": 30.0,
    "good health": 0,
    "fair health": 1,
    "poor health": 0,
}
"""A made-up person to explain."""


def demo(
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder for the report, model and ledger.")
    ] = Path("demo-output"),
    epsilon: Annotated[float, typer.Option(help="Budget of the model.")] = 1.0,
    show: Annotated[
        bool, typer.Option("--open/--no-open", help="Open the report, if there is a screen.")
    ] = True,
    as_json: AsJson = False,
) -> None:
    """Train a private model of a real health table, write its report, explain a black box.

    Example: voile demo --epsilon 0.5 -o out
    """
    from voile.privacy.budget import Budget
    from voile.privacy.ledger import Ledger

    rows, answers, schema = _rand_rows()
    whole = Budget(2 * Budget(epsilon).epsilon, 1e-6)
    try:
        output.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise NotADirectoryError(20, "it is no folder", str(output)) from None
    where = output / "voile-demo-ledger.db"
    where.unlink(missing_ok=True)  # the demo's data are public: each run may start anew
    ledger = Ledger(where, whole, dataset="RAND health insurance experiment")
    current().pay_from(ledger, str(where))
    model, quality = _train(rows, answers, schema, epsilon, ledger, output)
    why = _explain_black_box(rows, answers, model.model_.schema, ledger)
    page = model.report(
        output / "report.html",
        title="Who visits a doctor more than twice a year?",
        evaluation=quality,
        ledger=ledger,
    )
    why.to_html(output / "black-box.html")
    if as_json:
        _print_json(model, quality, why, ledger, page)
        return
    _tell(model, quality, why, ledger, page, output)
    if show and _has_screen():
        webbrowser.open(page.resolve().as_uri())


def _rand_rows() -> tuple[Any, Any, Any]:
    """The rows, whether there were more than two visits, and what the documentation says of them.

    What it does not say (payments, chronic diseases) is found privately.
    """
    from voile.datasets import load
    from voile.schema import Category, Schema

    found = load("randhie")
    rows = found.to_pandas().rename(columns=MEANING)[list(MEANING.values())]
    known = {MEANING[name]: column for name, column in found.schema.items()}
    schema = Schema(known, target=Category([False, True]), unit=found.schema.unit)
    return rows, found.y > 2, schema


def _train(
    rows: Any, answers: Any, schema: Any, epsilon: float, ledger: Any, output: Path
) -> tuple[Any, Any]:
    from voile.models.ebm.estimator import EBMClassifier
    from voile.privacy.holdout import hold_out

    learned, held, said, true = hold_out(rows, answers)
    model = EBMClassifier(epsilon=epsilon, schema=schema, ledger=ledger).fit(learned, said)
    model.save(output / "visits.voile")
    quality = model.score_private(held, true, epsilon=epsilon, groups=["individual deductible"])
    return model, quality


def _explain_black_box(rows: Any, answers: Any, schema: Any, ledger: Any) -> Any:
    """Explain somebody else's model from what is left of the budget."""
    import pandas as pd
    from sklearn.ensemble import HistGradientBoostingClassifier

    from voile.explain.blackbox.explainer import PrivateExplainer

    black_box = HistGradientBoostingClassifier(random_state=0).fit(rows, answers)
    left = ledger.remaining()
    explainer = PrivateExplainer(
        black_box,
        rows,
        schema=schema.with_target(None),
        epsilon=0.98 * left.epsilon,
        delta=left.delta,
        ledger=ledger,
    )
    return explainer.explain(pd.DataFrame([_ASKED]))


def _tell(model: Any, quality: Any, why: Any, ledger: Any, page: Path, output: Path) -> None:
    from rich.console import Console

    from voile.report.model.ledger import find_jobs

    console = Console(highlight=False)

    def heading(text: str) -> None:
        console.print()
        console.rule(f"[bold]{text}", align="left")

    heading("1. A private model: who visits a doctor more than twice a year?")
    model.explain_global().show()
    heading("2. What was guaranteed, and every access to the rows")
    console.print(str(model.receipt_), markup=False, soft_wrap=True)
    heading("3. How good it is, on rows held out (privately, too)")
    console.print(str(quality), markup=False, soft_wrap=True)
    heading("4. Somebody else's black box, explained from what is left of the budget")
    why.show()
    heading("5. What all of it cost together")
    spent, unit = ledger.spent(), model.model_.schema.privacy_unit
    console.print(
        f"Any one {unit.described} is protected: epsilon {spent.epsilon:.4g} at delta "
        f"{spent.delta:g}. A row is a person in a year, and nobody took part for more than five.",
        markup=False,
        soft_wrap=True,
    )
    for job in find_jobs(ledger.history()):
        part = part_of(ledger, job.net.loss)
        console.print(f"  {part:>6.1%}  {job.first.what}", markup=False)
    console.print(
        f"  {ledger.fraction_spent():.0%} of the budget ({ledger.budget}) is spent.",
        markup=False,
    )
    console.print()
    for name, path in (
        ("Report", page),
        ("Black box", output / "black-box.html"),
        ("Model", output / "visits.voile"),
    ):
        console.print(f"{name + ':':<11}{path.resolve()}", markup=False, soft_wrap=True)


def _print_json(model: Any, quality: Any, why: Any, ledger: Any, page: Path) -> None:

    print_json(
        {
            "report": str(page),
            "receipt": model.receipt_.to_dict(),
            "quality": quality.to_dict(),
            "explanation": why.to_dict(),
            "ledger": tell_ledger(ledger),
        }
    )


def _has_screen() -> bool:
    """Whether a browser would open where a person sees it."""
    if not sys.stdout.isatty() or os.environ.get("CI"):
        return False
    unix = sys.platform not in ("win32", "darwin")
    return not unix or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))

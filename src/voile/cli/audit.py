"""The audit verb: the library attacks itself and prints what it found."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from voile.audit.trials.catalogue import self_audit
from voile.errors import DataError


def run_audit(
    families: Sequence[str],
    *,
    epsilon: float,
    runs: int | None,
    page: Path | None,
    as_json: bool,
) -> int:
    """Run the trials, print the report; 1 if a claim was refuted, else 0."""
    report = self_audit(list(families) or None, epsilon=epsilon, runs=runs)
    if page is not None:
        try:
            report.to_html(page)
        except OSError as error:
            raise DataError(
                f"The page {str(page)!r} cannot be written: {error.strerror}."
            ) from None
    if as_json:
        print(report.to_json())
    else:
        report.show()
        if page is not None:
            print(f"Page with pictures: {page.resolve()}")
    return 1 if report.broken else 0

"""Settings of every test: Hypothesis draws the same examples in every run, at any speed."""

import sys
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from needs import find_absent
from repeatable import RepeatableEntropy

settings.register_profile(
    "voile",
    derandomize=True,
    deadline=None,
    print_blob=False,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("voile")


ENTROPY = RepeatableEntropy()


def pytest_configure(config: pytest.Config) -> None:
    """Tests fit many models to one made-up table, about nobody: they need no ledger for it.

    All other warnings are errors; tests/unit/privacy/test_origins.py makes this one an error again.
    """
    config.addinivalue_line("filterwarnings", "ignore::voile.errors.NoLedgerWarning")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the tests that wait, so that the others run meanwhile."""
    items.sort(key=lambda item: item.get_closest_marker("waits") is None)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Give each test noise of its own, the same in every run."""
    from voile.privacy import noise

    noise.os = ENTROPY  # type: ignore[assignment]
    with ENTROPY.at(item.nodeid):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef: Any, request: Any) -> Iterator[None]:
    """What tests share is made with noise of its own, whichever test comes first."""
    if fixturedef.scope == "function":
        return (yield)
    with ENTROPY.at(f"{fixturedef.baseid} {fixturedef.argname} {request.param_index}"):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Iterator[None]:
    """Skip a test module that imports a library that may be absent, and say which one is."""
    report = yield
    if report.failed and isinstance(collector, pytest.Module):
        absent = find_absent(report.call.excinfo.value)
        if absent is not None:
            report.outcome = "skipped"
            report.longrepr = (str(collector.path), 0, f"Skipped: needs {absent}")
    return report


@pytest.fixture
def openings(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Labels of all openings of the vault, wherever it is opened from."""
    from voile.privacy import vault

    seen: list[str] = []
    original: Any = vault.open_rows

    def watched(table: object, ticket: Any) -> object:
        rows = original(table, ticket)
        seen.append(ticket.label)
        return rows

    for name, module in list(sys.modules.items()):
        if name.startswith("voile.") and getattr(module, "open_rows", None) is original:
            monkeypatch.setattr(module, "open_rows", watched)
    return seen


@pytest.fixture
def few_synthetic_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Explainers draw a tenth of the usual rows, for tests of all but how exact they are."""
    from voile.explain.blackbox.synthetic.summary import SYNTHETIC_ROWS, PaidSummary

    assert PaidSummary.draw.__defaults__ == (None, SYNTHETIC_ROWS)
    monkeypatch.setattr(PaidSummary.draw, "__defaults__", (None, SYNTHETIC_ROWS // 10))

"""Settings of every test: Hypothesis draws the same examples in every run, at any speed."""

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "voile",
    derandomize=True,
    deadline=None,
    print_blob=False,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("voile")


def pytest_configure(config: pytest.Config) -> None:
    """Tests fit many models to one made-up table, about nobody: they need no ledger for it.

    All other warnings are errors; tests/unit/test_origins.py makes this one an error again.
    """
    config.addinivalue_line("filterwarnings", "ignore::voile.errors.NoLedgerWarning")

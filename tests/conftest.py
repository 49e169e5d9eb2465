"""Settings of every test: Hypothesis draws the same examples in every run, at any speed."""

from hypothesis import HealthCheck, settings

settings.register_profile(
    "voile",
    derandomize=True,
    deadline=None,
    print_blob=False,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("voile")

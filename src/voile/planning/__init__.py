"""Planning before anything is spent: what a training would give, and what it would give away."""

from voile.planning.forecast import forecast
from voile.planning.record import Forecast

__all__ = ["Forecast", "forecast"]

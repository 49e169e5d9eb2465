"""Pages of forecasts."""

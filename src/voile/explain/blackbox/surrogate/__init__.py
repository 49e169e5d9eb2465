"""The local surrogate: a weighted linear model around a row, the slopes of a black box."""

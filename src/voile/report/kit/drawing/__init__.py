"""Figures as files and pages have them: a plotly figure, read once, drawn in each form."""

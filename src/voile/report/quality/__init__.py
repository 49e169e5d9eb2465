"""Pages of figures: how good models and explanations are, and what a table looks like."""

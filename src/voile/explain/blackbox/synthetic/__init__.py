"""A private summary of a table, and synthetic rows drawn from it."""

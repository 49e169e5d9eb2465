"""The only code that sees private rows or draws noise."""

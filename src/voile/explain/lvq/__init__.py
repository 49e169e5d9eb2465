"""Explanations of prototype models: typical points, and why single rows are near to them."""

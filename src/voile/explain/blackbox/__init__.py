"""Explanations of any model, however it was made, from what a private summary released."""

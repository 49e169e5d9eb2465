"""Private models that can be read."""

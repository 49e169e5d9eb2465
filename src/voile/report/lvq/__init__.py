"""Pages of prototype models."""

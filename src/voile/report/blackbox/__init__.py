"""Pages of explained black boxes."""

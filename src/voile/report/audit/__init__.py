"""Pages of attacks."""

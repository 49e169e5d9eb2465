"""Pages of networks: heat maps."""

"""The voile command: one file per verb."""

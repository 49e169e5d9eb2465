"""Run the voile command with ``python -m voile``."""

from voile.cli.app import main

main()

"""Replays: the exact totals behind all releases of a run, compared on neighbouring tables."""

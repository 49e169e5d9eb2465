"""Attacks on the core itself: errors and messages, copies, odd values, and refusals."""

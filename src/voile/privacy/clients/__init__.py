"""Rows that lie with clients: what is asked of them, how they answer, and who adds the noise."""

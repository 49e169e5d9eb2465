"""Questions, answers, and what is kept of them."""

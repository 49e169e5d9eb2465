"""The user's rows and model: how they come, and how they are handed on."""

"""Explanations of locally linear maps: the maps of each class, and how rows blend them."""

"""Trials of federated fits: clients, and servers that leave the protocol."""

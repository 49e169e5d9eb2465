"""Flower as a carrier of bytes: a channel for the server, and an app for each client.

Nothing here looks at rows, sums or noise: messages and answers are bytes that
`voile.privacy.clients` writes and reads. Needs the extra ``voile[federated]``.
"""

"""Training together without pooling rows: networks, clients, servers, and who is protected."""

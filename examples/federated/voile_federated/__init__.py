"""A Flower app: several holders of rows train one private, readable model with Voile."""

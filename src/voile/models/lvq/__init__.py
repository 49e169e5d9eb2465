"""Learning vector quantization: private prototypes."""

"""The simulated backend: a virtual clock with planted truths, so that everything above it can be proved."""

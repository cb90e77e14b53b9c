"""Ways in which the ranks of a launch come into being."""

"""Cost models: what T is as a function of size, and how its parameters are found and judged."""

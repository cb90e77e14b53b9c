"""Pictures: every figure is a function from one DataFrame to a matplotlib Figure, drawn with seaborn."""

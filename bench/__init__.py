"""Measure: the runner, clocks, stopping rules, checks and launchers. Knows nothing of analysis."""

if __name__ != "collmark.bench":
    raise ImportError(f"this folder is the package collmark.bench: import collmark.bench, not {__name__}")

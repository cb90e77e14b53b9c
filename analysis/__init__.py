"""Turn results into models, verdicts, comparisons, figures and reports. Knows nothing of bench."""

if __name__ != "collmark.analysis":
    raise ImportError(f"this folder is the package collmark.analysis: import collmark.analysis, not {__name__}")

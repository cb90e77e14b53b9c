"""Facts of ranks and hosts for :mod:`collmark.core.doctor`, gathered by small probes before anything is timed."""

"""Pictures: every figure is a function from one DataFrame to a matplotlib Figure, drawn with seaborn."""

import logging

# Where the home cannot be written to, Matplotlib warns of the cache that it makes elsewhere: of no use to a reader.
logging.getLogger("matplotlib").setLevel(logging.ERROR)

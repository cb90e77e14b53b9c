"""Pictures: every figure is a function from one DataFrame to a matplotlib Figure, drawn with seaborn."""

import logging
import os
from pathlib import Path

# Where the home cannot be written to, Matplotlib warns of the cache that it makes elsewhere: of no use to a reader.
logging.getLogger("matplotlib").setLevel(logging.ERROR)
# No settings of the user's own enter a figure: it need not make a folder to look for them, beside that of its cache.
if _cache := os.environ.get("XDG_CACHE_HOME") or (os.environ.get("HOME") and f"{os.environ['HOME']}/.cache"):
    os.environ.setdefault("MPLCONFIGDIR", str(Path(_cache, "matplotlib")))

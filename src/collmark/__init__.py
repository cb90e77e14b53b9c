"""collmark: measure, model and compare collective communication.

This module owns the version, and the guard for checkouts that lost their links. It must import nothing
else of collmark until that guard speaks.
"""

import sys
from pathlib import Path

__version__ = "0.1.0"

# In a checkout these are links to the folders at the top; in a wheel they are plain folders.
_LINKED = frozenset(f"{__name__}.{name}" for name in ("analysis", "bench", "kernels", "slurm"))


class _LostLinks:
    """Answer the import of a part that is not there, as the last finder to be asked."""

    @staticmethod
    def find_spec(name: str, _path: object = None, _target: object = None) -> None:
        """Raise an error that is both an ImportError and one that the command line shows as one line."""
        if name not in _LINKED:
            return
        from collmark.core.errors import UnavailableError

        class LostLinksError(UnavailableError, ImportError):
            """The checkout lost its symbolic links."""

        part = name.rpartition(".")[2]
        raise LostLinksError(
            f"{name} is missing: src/collmark/{part} should be a link to ../../{part}, which zip archives and"
            " Windows lose; get collmark with pip, or with git clone on Linux, macOS or WSL2"
        )


if not all(Path(__file__).with_name(name.rpartition(".")[2]).is_dir() for name in _LINKED):
    sys.meta_path.append(_LostLinks)

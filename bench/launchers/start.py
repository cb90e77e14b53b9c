"""Which launcher starts a backend's ranks on this machine."""

from __future__ import annotations

import os
from pathlib import Path

from collmark.bench.backends.index import BACKENDS
from collmark.bench.backends.mpi_library import choose
from collmark.bench.job import Job
from collmark.bench.launchers.local import LocalLaunch
from collmark.bench.launchers.mpiexec import MpiexecLaunch
from collmark.core.errors import UnavailableError


def launch_of(job: Job, logs: Path, keep: tuple[int, ...]) -> LocalLaunch:
    """Return a launch that has not yet started; parameters as for :class:`LocalLaunch`.

    Raises
    ------
    UnavailableError, UsageError
        If the backend needs the launcher of an MPI library, and there is none, or no library was chosen.
    """
    if not BACKENDS[job.backend].needs_mpiexec:
        return LocalLaunch(job, logs, keep)
    library = choose(job.plan.mpi_library, os.environ)
    if not library.mpiexec:
        raise UnavailableError(
            f"no mpiexec belongs to {library}: install it (Debian: openmpi-bin), choose another with --mpi-library, or "
            "start the ranks yourself: mpiexec -n N collmark run ... --into RUN"
        )
    return MpiexecLaunch(job, logs, keep, library.mpiexec)

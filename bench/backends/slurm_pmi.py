"""Which process management interface srun offers to the ranks of an MPI, and what to do where it is the wrong one.

With a wrong one an MPI library may end the process, believe to be alone, or wait for ever.
"""

from __future__ import annotations

from collections.abc import Mapping


def offered(environ: Mapping[str, str]) -> str:
    """Return what srun's --mpi was as far as a rank can tell (pmix, pmi2, none); empty where srun started no ranks.

    Examples
    --------
    >>> offered({"SLURM_STEP_ID": "0", "SLURM_PROCID": "1", "PMI_RANK": "1"})
    'pmi2'
    """
    if not {"SLURM_STEP_ID", "SLURM_PROCID"} <= environ.keys() or "MPI_LOCALNRANKS" in environ:
        return ""  # the last is of an mpiexec inside the step
    if "PMIX_RANK" in environ:
        return "pmix" if "OMPI_COMM_WORLD_SIZE" not in environ else ""
    return "pmi2" if "PMI_RANK" in environ else "none"


def remedy(environ: Mapping[str, str]) -> str:
    """Return what to try where an MPI does not open under srun; empty where srun is not what started the ranks."""
    found = offered(environ)
    if not found:
        return ""
    others = " and ".join(
        f"{family} as a rule needs --mpi={name}" for family, name in (("MPICH", "pmi2"), ("Open MPI", "pmix"))
    )
    return f"these ranks were started with srun --mpi={found}: {others}; srun --mpi=list shows what this site has"

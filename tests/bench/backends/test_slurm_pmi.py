"""Which process management interface srun offers is told from what a rank sees: the variables of Slurm 22.05."""

from collections.abc import Mapping

import pytest

from collmark.bench.backends.slurm_pmi import offered, remedy

STEP = {"SLURM_JOB_ID": "7", "SLURM_STEP_ID": "0", "SLURM_PROCID": "1"}
PMI2 = {**STEP, "PMI_RANK": "1", "PMI_SIZE": "2"}


@pytest.mark.parametrize(
    ("environ", "found"),
    [
        (STEP, "none"),
        (PMI2, "pmi2"),
        ({**STEP, "PMIX_RANK": "1", "PMIX_NAMESPACE": "slurm.pmix.7.0"}, "pmix"),
        ({**PMI2, "MPI_LOCALNRANKS": "2"}, ""),  # Hydra's proxies are a step too
        ({**STEP, "PMIX_RANK": "1", "OMPI_COMM_WORLD_SIZE": "2"}, ""),  # mpirun's daemons as well
        ({"PMI_RANK": "1"}, ""),
        ({"SLURM_JOB_ID": "7", "SLURM_PROCID": "0"}, ""),  # a batch script
    ],
)
def test_what_srun_offers(environ: Mapping[str, str], found: str) -> None:
    assert offered(environ) == found
    assert bool(remedy(environ)) is bool(found)


def test_the_remedy_names_what_was_asked_for_and_what_each_family_needs() -> None:
    words = remedy(STEP)
    assert words.startswith("these ranks were started with srun --mpi=none: ")
    assert "MPICH as a rule needs --mpi=pmi2" in words
    assert "Open MPI as a rule needs --mpi=pmix" in words

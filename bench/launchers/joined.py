"""What the environment says of the ranks that torchrun, mpiexec or srun has started."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

import msgspec

from collmark.core.errors import UnavailableError

# As the kernel shows them: at most 15 characters of a name.
LAUNCHERS = frozenset({"mpiexec", "mpirun", "orterun", "prterun", "orted", "prted", "hydra_pmi_proxy", "mpiexec.hydra"})
ANCESTORS = 4  # shells and wrappers between a launcher and this process
INTERACTIVE_STEP = 0xFFFFFFF0  # Slurm's own steps (batch, extern, interactive) have ids from here on


class Joined(msgspec.Struct, frozen=True, kw_only=True):
    """What the environment says of the process set that this process belongs to.

    Attributes
    ----------
    launcher : str
        torchrun, mpiexec or srun.
    rank, ranks, local_rank, nodes : int
        Index, number of ranks, index on the host, hosts.
    host : str
        Where rank 0 listens.
    job : str
        What the processes of this set have in common, and no other set has.
    """

    launcher: str
    rank: int
    ranks: int
    local_rank: int
    nodes: int
    host: str
    job: str


def detect(environ: Mapping[str, str], parent: str) -> Joined | None:
    """Return the process set this process belongs to, or None where nobody started several.

    MPI's variables come first: under mpiexec inside a Slurm job, Slurm's say rank 0 of everybody. torchrun's come
    before them only where it says that it started this very process, as ``srun --mpi=pmi2 torchrun`` does.

    Parameters
    ----------
    environ : mapping
        Environment variables.
    parent : str
        Command name of the process that started this one, to recognise a launcher that said nothing to us.

    Raises
    ------
    UnavailableError
        If the variables contradict each other, or a launcher started this process without saying its rank.
    """
    sources = [_open_mpi, _pmi, _torchrun, _srun]
    if "TORCHELASTIC_RUN_ID" in environ:
        sources.insert(0, _torchrun)
    try:
        for source in sources:
            found = source(environ)
            if found is not None:
                return _checked(found)
    except (KeyError, ValueError) as error:
        what = f"{error.args[0]} is missing" if isinstance(error, KeyError) else str(error)
        raise UnavailableError(
            f"the launcher's variables cannot be read ({what}); unset them, or start collmark without a launcher"
        ) from error
    if parent in LAUNCHERS:
        raise UnavailableError(
            f"{parent} started this process but told it no rank: every copy would be rank 0. It belongs to an MPI "
            "that collmark does not know; use --ranks N without it"
        )
    return None


def parent_name() -> str:
    """Return the command name of the parent, or of a launcher a few processes above it; empty where unknown."""
    names: list[str] = []
    pid = os.getppid()
    try:
        while pid > 1 and len(names) < ANCESTORS:
            # "pid (name) state parent ...", where the name may hold anything.
            name, rest = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").split("(", 1)[1].rsplit(")", 1)
            names.append(name)
            pid = int(rest.split()[1])
    except (OSError, ValueError, IndexError):
        pass
    return next((name for name in names if name in LAUNCHERS), names[0] if names else "")


def _checked(joined: Joined) -> Joined | None:
    if joined.ranks == 1 and joined.launcher == "srun":
        return None  # an interactive shell, or a plain command in a step of one task
    if not 0 <= joined.rank < joined.ranks:
        raise UnavailableError(
            f"{joined.launcher} says rank {joined.rank} of {joined.ranks}: these are variables of another launch"
        )
    if joined.ranks % joined.nodes:
        raise UnavailableError(f"{joined.ranks} ranks on {joined.nodes} nodes: collmark needs equally many on each")
    return joined


def _nodes(ranks: int, local_ranks: int) -> int:
    return max(1, -(-ranks // max(1, local_ranks)))


def _host(nodes: int, environ: Mapping[str, str], *nodelists: str) -> str:
    """Return where rank 0 listens; `nodelists` name Slurm's variables whose first host has it."""
    if nodes == 1:
        return "127.0.0.1"
    host = environ.get("COLLMARK_CONTROL_HOST") or environ.get("MASTER_ADDR")
    if not host:
        host = next((first_node(environ[name]) for name in nodelists if environ.get(name)), "")
    if not host:
        raise UnavailableError("no address of rank 0's host is known: set COLLMARK_CONTROL_HOST to it on all ranks")
    return host


def first_node(nodelist: str) -> str:
    """Return the first host of a Slurm node list.

    >>> first_node("node-[03-07,9],other"), first_node("rack[1-2]n[01-04]"), first_node("a,b")
    ('node-03', 'rack1n01', 'a')
    """
    found = re.match(r"(?:[^\[,]|\[[^\]]*\])*", nodelist)
    return re.sub(r"\[([^\],-]*)[^\]]*\]", r"\1", found[0] if found else nodelist)


def _mpi_job(nodes: int, environ: Mapping[str, str], *names: str) -> str:
    """Return what the ranks of one mpiexec have in common: what it says, else its Slurm step, else its proxy."""
    said = next((environ[name] for name in names if environ.get(name)), "")
    step = environ.get("SLURM_STEP_ID", "")
    if said or step:
        return f"{said} {environ.get('SLURM_JOB_ID', '')}.{step}"
    # Every rank of one host has the same proxy for a parent; on several only COLLMARK_SECRET tells launches apart.
    return f"parent {os.getppid()}" if nodes == 1 else "mpiexec"


def _open_mpi(environ: Mapping[str, str]) -> Joined | None:
    if "OMPI_COMM_WORLD_RANK" not in environ:
        return None
    ranks = int(environ["OMPI_COMM_WORLD_SIZE"])
    nodes = _nodes(ranks, int(environ.get("OMPI_COMM_WORLD_LOCAL_SIZE", ranks)))
    return Joined(
        launcher="mpiexec",
        rank=int(environ["OMPI_COMM_WORLD_RANK"]),
        ranks=ranks,
        local_rank=int(environ.get("OMPI_COMM_WORLD_LOCAL_RANK", 0)),
        nodes=nodes,
        host=_host(nodes, environ, "SLURM_JOB_NODELIST"),
        # Under mpirun only some ranks are in a Slurm step: the job's own name is the same for all.
        job=environ.get("PMIX_NAMESPACE") or environ.get("OMPI_MCA_ess_base_jobid") or _mpi_job(nodes, {}),
    )


def _pmi(environ: Mapping[str, str]) -> Joined | None:
    if "PMI_RANK" not in environ:
        return None
    rank, ranks = int(environ["PMI_RANK"]), int(environ["PMI_SIZE"])
    nodes = _nodes(ranks, int(environ.get("MPI_LOCALNRANKS", ranks)))
    return Joined(
        launcher="mpiexec",
        rank=rank,
        ranks=ranks,
        local_rank=int(environ.get("MPI_LOCALRANKID", rank)),
        nodes=nodes,
        host=_host(nodes, environ, "SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST"),
        job=_mpi_job(nodes, environ, "PMI_JOBID"),
    )


def _torchrun(environ: Mapping[str, str]) -> Joined | None:
    if not {"RANK", "WORLD_SIZE", "LOCAL_RANK"} <= environ.keys():
        return None
    ranks = int(environ["WORLD_SIZE"])
    nodes = _nodes(ranks, int(environ.get("LOCAL_WORLD_SIZE", ranks)))
    return Joined(
        launcher="torchrun",
        rank=int(environ["RANK"]),
        ranks=ranks,
        local_rank=int(environ["LOCAL_RANK"]),
        nodes=nodes,
        host=_host(nodes, environ),
        job=f"{environ.get('TORCHELASTIC_RUN_ID', '')} {environ.get('MASTER_PORT', '')}",
    )


def _srun(environ: Mapping[str, str]) -> Joined | None:
    step = environ.get("SLURM_STEP_ID", environ.get("SLURM_STEPID"))
    if step is None or "SLURM_PROCID" not in environ or int(step) >= INTERACTIVE_STEP:
        return None  # a batch script that did not call srun is one process, whatever SLURM_NTASKS says
    nodes = int(environ.get("SLURM_STEP_NUM_NODES", 1))
    return Joined(
        launcher="srun",
        rank=int(environ["SLURM_PROCID"]),
        ranks=int(environ.get("SLURM_STEP_NUM_TASKS", environ.get("SLURM_NTASKS", 1))),
        local_rank=int(environ.get("SLURM_LOCALID", 0)),
        nodes=nodes,
        host=_host(nodes, environ, "SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST"),
        job=f"{environ.get('SLURM_JOB_ID', '')}.{step}",
    )

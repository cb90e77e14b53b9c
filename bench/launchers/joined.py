"""What the environment says of the ranks that torchrun, mpiexec or srun has started."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Mapping
from pathlib import Path

import msgspec

from collmark.core.errors import UnavailableError, excerpt

# As the kernel shows them: at most 15 characters of a name.
LAUNCHERS = frozenset(
    {"mpiexec", "mpirun", "orterun", "prterun", "orted", "prted", "hydra_pmi_proxy", "mpiexec.hydra"}
    | {f"{name}.{family}" for name in ("mpiexec", "mpirun") for family in ("openmpi", "mpich")}  # Debian's names
)
ANCESTORS = 4  # shells and wrappers between a launcher and this process
INTERACTIVE_STEP = 0xFFFFFFF0  # Slurm's own steps (batch, extern, interactive) have ids from here on
MOST = 2**32  # steps of Slurm have the largest of all these numbers
NUMBER = re.compile(r"[0-9]{1,10}")
LOOPBACK = "127.0.0.1"


class Joined(msgspec.Struct, frozen=True, kw_only=True):
    """What the environment says of the process set that this process belongs to.

    Attributes
    ----------
    launcher : str
        torchrun (or whoever else sets torch's variables), mpiexec or srun.
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

    @property
    def speaks_up(self) -> bool:
        """Whether this rank tells the user that rank 0 is lost: one on each host, however many there are."""
        return self.local_rank == 0 or self.rank == self.local_rank == 1


def detect(environ: Mapping[str, str], parent: str) -> Joined | None:
    """Return the process set this process belongs to, or None where nobody started several.

    MPI's variables come first: under mpiexec inside a Slurm job, Slurm's say rank 0 of everybody. torchrun's come
    before them only where it says that it started this very process, as ``srun --mpi=pmi2 torchrun`` does. RANK and
    WORLD_SIZE alone come last: scripts set them inside other launchers too.

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
    sources = [_open_mpi, _pmi, _torchrun, _srun, _torch_like]
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
    names = [name for _pid, name in _ancestors()]
    return next((name for name in names if name in LAUNCHERS), names[0] if names else "")


def launcher_program() -> str:
    """Return the executable of the launcher that started this process; empty where the system does not tell."""
    for pid, name in _ancestors():
        if name in LAUNCHERS:
            with contextlib.suppress(OSError):
                return str(Path(f"/proc/{pid}/exe").readlink())
    return ""


def _ancestors() -> list[tuple[int, str]]:
    """Return the pids and command names of the nearest processes above, as far as the system tells."""
    found: list[tuple[int, str]] = []
    pid = os.getppid()
    with contextlib.suppress(OSError, ValueError, IndexError):
        while pid > 1 and len(found) < ANCESTORS:
            # "pid (name) state parent ...", where the name may hold anything.
            text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
            name, rest = text.split("(", 1)[1].rsplit(")", 1)
            found.append((pid, name))
            pid = int(rest.split()[1])
    return found


def _checked(joined: Joined) -> Joined:
    if joined.rank >= joined.ranks:
        raise UnavailableError(
            f"{joined.launcher} says rank {joined.rank} of {joined.ranks}: these are variables of another launch"
        )
    try:
        joined.host.encode("idna")  # as a socket does
    except UnicodeError as error:
        raise UnavailableError(
            f"rank 0's host {excerpt(joined.host)!r} is no host name or address: set COLLMARK_CONTROL_HOST or "
            "MASTER_ADDR to it on all ranks"
        ) from error
    return joined


def _number(
    environ: Mapping[str, str], name: str, default: int | None = None, *, least: int = 0, most: int = MOST
) -> int:
    """Return a variable as a number; KeyError where it is missing without a default, ValueError where it is none."""
    text = environ[name] if default is None else environ.get(name, str(default))
    if not NUMBER.fullmatch(text) or not least <= int(text) <= most:
        bounds = f"{least} to {most}" if most < MOST else f"{least} on"
        raise ValueError(f"{name}={excerpt(repr(text))} is no whole number from {bounds}")
    return int(text)


def _nodes(ranks: int, local_ranks: int) -> int:
    return -(-ranks // local_ranks)


def _host(nodes: int, environ: Mapping[str, str], *nodelists: str) -> str:
    """Return where rank 0 listens; `nodelists` name Slurm's variables whose first host has it."""
    if nodes == 1:
        return LOOPBACK
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
    ranks = _number(environ, "OMPI_COMM_WORLD_SIZE", least=1)
    local_ranks = _number(environ, "OMPI_COMM_WORLD_LOCAL_SIZE", ranks, least=1)
    nodes = _nodes(ranks, local_ranks)
    return Joined(
        launcher="mpiexec",
        rank=_number(environ, "OMPI_COMM_WORLD_RANK"),
        ranks=ranks,
        local_rank=_number(environ, "OMPI_COMM_WORLD_LOCAL_RANK", 0, most=local_ranks - 1),
        nodes=nodes,
        host=_host(nodes, environ, "SLURM_JOB_NODELIST"),
        # Under mpirun only some ranks are in a Slurm step: the job's own name is the same for all.
        job=environ.get("PMIX_NAMESPACE") or environ.get("OMPI_MCA_ess_base_jobid") or _mpi_job(nodes, {}),
    )


def _pmi(environ: Mapping[str, str]) -> Joined | None:
    if "PMI_RANK" not in environ:
        return None
    if "MPI_LOCALNRANKS" not in environ and environ["PMI_RANK"] == environ.get("SLURM_PROCID"):
        return _srun(environ)  # srun --mpi=pmi2: only its own variables tell which ranks share a node
    rank, ranks = _number(environ, "PMI_RANK"), _number(environ, "PMI_SIZE", least=1)
    local_ranks = _number(environ, "MPI_LOCALNRANKS", ranks, least=1)
    nodes = _nodes(ranks, local_ranks)
    return Joined(
        launcher="mpiexec",
        rank=rank,
        ranks=ranks,
        local_rank=_number(environ, "MPI_LOCALRANKID", rank % local_ranks, most=local_ranks - 1),
        nodes=nodes,
        host=_host(nodes, environ, "SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST"),
        job=_mpi_job(nodes, environ, "PMI_JOBID"),
    )


def _torchrun(environ: Mapping[str, str]) -> Joined | None:
    if not {"RANK", "WORLD_SIZE", "LOCAL_RANK"} <= environ.keys():
        return None
    ranks = _number(environ, "WORLD_SIZE", least=1)
    local_ranks = _number(environ, "LOCAL_WORLD_SIZE", ranks, least=1)
    nodes = _nodes(ranks, local_ranks)
    host = _host(nodes, environ)
    if "LOCAL_WORLD_SIZE" not in environ:
        # That there is one host is a guess then: ranks of another one must reach rank 0 for it to be seen.
        host = environ.get("COLLMARK_CONTROL_HOST") or environ.get("MASTER_ADDR") or host
    return Joined(
        launcher="torchrun",
        rank=_number(environ, "RANK"),
        ranks=ranks,
        local_rank=_number(environ, "LOCAL_RANK", most=local_ranks - 1),
        nodes=nodes,
        host=host,
        job=f"{environ.get('TORCHELASTIC_RUN_ID', '')} {environ.get('MASTER_PORT', '')}",
    )


def _torch_like(environ: Mapping[str, str]) -> Joined | None:
    """RANK and WORLD_SIZE are all that torch itself asks for; ranks then fill one host after the other."""
    if not {"RANK", "WORLD_SIZE"} <= environ.keys():
        return None
    ranks = _number(environ, "WORLD_SIZE", least=1)
    if ranks == 1:
        return None  # containers say of themselves that they are alone
    local_rank = _number(environ, "RANK") % _number(environ, "LOCAL_WORLD_SIZE", ranks, least=1)
    return _torchrun({**environ, "LOCAL_RANK": str(local_rank)})


def _srun(environ: Mapping[str, str]) -> Joined | None:
    step = "SLURM_STEP_ID" if "SLURM_STEP_ID" in environ else "SLURM_STEPID"
    if not {step, "SLURM_PROCID"} <= environ.keys() or _number(environ, step) >= INTERACTIVE_STEP:
        return None  # a batch script that did not call srun is one process, whatever SLURM_NTASKS says
    tasks = "SLURM_STEP_NUM_TASKS" if "SLURM_STEP_NUM_TASKS" in environ else "SLURM_NTASKS"
    ranks = _number(environ, tasks, 1, least=1)
    if ranks == 1:
        return None  # an interactive shell, or a plain command in a step of one task
    nodes = _number(environ, "SLURM_STEP_NUM_NODES", 1, least=1)
    return Joined(
        launcher="srun",
        rank=_number(environ, "SLURM_PROCID"),
        ranks=ranks,
        local_rank=_number(environ, "SLURM_LOCALID", 0),
        nodes=nodes,
        host=_host(nodes, environ, "SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST"),
        job=f"{environ.get('SLURM_JOB_ID', '')}.{environ[step]}",
    )

"""Joins ranks that torchrun, mpiexec or srun has started, after checking that they see each other."""

from __future__ import annotations

import hashlib
import os
import re
import socket
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from collmark.bench import environment
from collmark.bench.control import PULSES, join
from collmark.bench.event import PipedEvent
from collmark.bench.job import Job, Seat
from collmark.bench.lead import follow, hello_of, lead
from collmark.bench.watchdog import Watchdog
from collmark.core.errors import UnavailableError

FIRST_PORT, PORTS, TRIES = 20000, 9000, 8
LAUNCHERS = ("mpiexec", "mpirun", "orterun", "prterun", "orted", "prted", "hydra_pmi_proxy", "hydra_bstrap_proxy")
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

    MPI's variables come first: under mpiexec inside a Slurm job, Slurm's say rank 0 of everybody.

    Parameters
    ----------
    environ : mapping
        Environment variables.
    parent : str
        Command name of the parent process, to recognise a launcher that said nothing to us.

    Raises
    ------
    UnavailableError
        If the variables contradict each other, or a launcher started this process without saying its rank.
    """
    try:
        for found in (_open_mpi(environ), _pmi(environ), _torchrun(environ), _srun(environ)):
            if found is not None:
                return _checked(found)
    except ValueError as error:
        msg = f"the launcher's variables cannot be read ({error}); unset them, or start collmark without a launcher"
        raise UnavailableError(msg) from error
    if parent in LAUNCHERS:
        msg = (
            f"{parent} started this process but told it no rank: every copy would be rank 0. It belongs to an MPI "
            "that collmark does not know; use --ranks N without it"
        )
        raise UnavailableError(msg)
    return None


def parent_name() -> str:
    """Return the command name of the parent process; empty where the system does not tell."""
    try:
        return Path(f"/proc/{os.getppid()}/comm").read_text(encoding="utf-8").strip()
    except OSError:
        return ""


def _checked(joined: Joined) -> Joined | None:
    if joined.ranks == 1 and joined.launcher == "srun":
        return None  # an interactive shell, or a plain command in a step of one task
    if not 0 <= joined.rank < joined.ranks:
        msg = f"{joined.launcher} says rank {joined.rank} of {joined.ranks}: these are variables of another launch"
        raise UnavailableError(msg)
    if joined.ranks % joined.nodes:
        msg = f"{joined.ranks} ranks on {joined.nodes} nodes: collmark needs equally many on each"
        raise UnavailableError(msg)
    return joined


def _nodes(ranks: int, local_ranks: int) -> int:
    return max(1, -(-ranks // max(1, local_ranks)))


def _host(nodes: int, environ: Mapping[str, str]) -> str:
    if nodes == 1:
        return "127.0.0.1"
    host = environ.get("COLLMARK_CONTROL_HOST") or environ.get("MASTER_ADDR")
    if not host and "SLURM_STEP_NODELIST" in environ:
        host = first_node(environ["SLURM_STEP_NODELIST"])
    if not host:
        msg = "no address of rank 0's host is known: set COLLMARK_CONTROL_HOST to it on all ranks"
        raise UnavailableError(msg)
    return host


def first_node(nodelist: str) -> str:
    """Return the first host of a Slurm node list, as ``node-[03-07,9],other``."""
    found = re.match(r"([^\[,]*)(?:\[([^\]]*)\])?([^,]*)", nodelist)
    if found is None or found[2] is None:
        return nodelist.split(",", maxsplit=1)[0]
    return found[1] + re.split(r"[-,]", found[2])[0] + found[3]


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
        host=_host(nodes, environ),
        job=environ.get("PMIX_NAMESPACE") or environ.get("OMPI_MCA_ess_base_jobid") or f"parent {os.getppid()}",
    )


def _pmi(environ: Mapping[str, str]) -> Joined | None:
    if "PMI_RANK" not in environ or "PMI_SIZE" not in environ:
        return None
    rank, ranks = int(environ["PMI_RANK"]), int(environ["PMI_SIZE"])
    nodes = _nodes(ranks, int(environ.get("MPI_LOCALNRANKS", ranks)))
    return Joined(
        launcher="mpiexec",
        rank=rank,
        ranks=ranks,
        local_rank=int(environ.get("MPI_LOCALRANKID", rank)),
        nodes=nodes,
        host=_host(nodes, environ),
        job=environ.get("PMI_JOBID") or environ.get("SLURM_STEP_ID") or f"parent {os.getppid()}",
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
        host=_host(nodes, environ),
        job=f"{environ.get('SLURM_JOB_ID', '')}.{step}",
    )


def seat_of(joined: Joined) -> Seat:
    """Return this rank's place: port and secret follow from the job, the same on every rank.

    The secret keeps launches apart; it hides nothing from other users of the machine, unless COLLMARK_SECRET does.
    """
    local = environment.boot_id() if joined.nodes == 1 else ""
    words = f"{joined.job}/{os.getuid()}/{local}/{os.environ.get('COLLMARK_SECRET', '')}"
    digest = hashlib.sha256(words.encode()).digest()
    first = FIRST_PORT + int.from_bytes(digest[:4], "little") % PORTS
    return Seat(
        rank=joined.rank,
        ranks=joined.ranks,
        local_rank=joined.local_rank,
        addresses=tuple((joined.host, first + offset) for offset in range(TRIES)),
        secret=digest,
    )


def open_listener(seat: Seat) -> socket.socket:
    """Listen at the first free of rank 0's addresses.

    Raises
    ------
    UnavailableError
        If another rank 0 of the same job is there already, or no port is free.
    """
    for address in seat.addresses:
        try:
            return socket.create_server(address, backlog=2 * seat.ranks)
        except OSError:
            try:
                # A hub that knows our secret tells us that we are the second rank 0, by raising UnavailableError.
                join([address], seat.secret, hello_of(seat), PULSES, timeout=1.0).close()
            except UnavailableError as error:
                if "two processes" in str(error):
                    raise
    host, port = seat.addresses[0]
    msg = f"rank 0 cannot listen on {host}, ports {port} to {port + TRIES - 1}: is {host} an address of this host?"
    raise UnavailableError(msg)


def be_rank(
    joined: Joined,
    job: Job,
    emit: Callable[[PipedEvent], None],
    is_stopping: Callable[[], bool],
    on_fault: Callable[[str], None],
) -> None:
    """Be one rank of a joined launch; only rank 0 emits events.

    Raises
    ------
    UnavailableError, MeasurementError, InterruptedRunError
        As :func:`collmark.bench.lead.lead`.
    """
    seat = seat_of(joined)
    watchdog = Watchdog(job.plan.timeout, on_fault)
    if joined.rank:
        watchdog.start()
        follow(job, seat, watchdog)
        return
    listener = open_listener(seat)
    watchdog.start()
    lead(job, seat, listener, watchdog, emit, is_stopping)

"""Start a program on emulated hosts, a rank on each, as torchrun or MPICH's mpiexec would across real ones."""

from __future__ import annotations

import contextlib
import os
import secrets
import shlex
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from collmark.bench.emulated.hosts import Hosts
from collmark.bench.launchers.rank_process import last_line
from collmark.core.errors import MeasurementError, one_line

POLL = 0.02  # s
END_SECONDS = 5.0
LAUNCHER_PREFIXES = ("OMPI_", "PMI_", "PMIX_", "MPI_LOCAL", "SLURM_", "TORCHELASTIC_", "GLOO_", "UCX_", "FI_", "HYDRA_")
LAUNCHER_NAMES = frozenset({"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"})


def run_gloo(hosts: Hosts, network: str, words: Sequence[str], log: Path, patience: float) -> None:
    """Run a program with a rank on every host, joined by torch's variables.

    Parameters
    ----------
    hosts, network
        Where, and over which network.
    words : sequence of str
        The command line.
    log, patience
        As for :func:`run_together`.
    """
    shared = {
        "WORLD_SIZE": str(hosts.count),
        "LOCAL_RANK": "0",
        "LOCAL_WORLD_SIZE": "1",
        "MASTER_ADDR": hosts.address(network, 0),
        "MASTER_PORT": "29500",
        "COLLMARK_SECRET": secrets.token_hex(16),
    }
    commands = [[*hosts.words(rank), *words] for rank in range(hosts.count)]
    run_together(commands, [shared | {"RANK": str(rank)} for rank in range(hosts.count)], log, patience)


def run_mpich(hosts: Hosts, network: str, mpiexec: str, words: Sequence[str], log: Path, patience: float) -> None:
    """Run a program with a rank on every host, started by MPICH's own launcher, which the switch stands for a login of.

    Parameters
    ----------
    mpiexec : str
        Hydra. It starts its agent on a host through a program that is named instead of ssh.
    hosts, network, words, log, patience
        As for :func:`run_gloo`.
    """
    addresses = [hosts.address(network, host) for host in range(hosts.count)]
    cases = [f'{address}) exec {shlex.join(hosts.words(host))} sh -c "$*" ;;' for host, address in enumerate(addresses)]
    reach = log.with_suffix(".reach")
    reach.write_text(
        "\n".join(["#!/bin/sh", "host=$1; shift", 'case "$host" in', *cases, "esac", ""]), encoding="utf-8"
    )
    reach.chmod(0o755)
    launcher = [mpiexec, "-localhost", hosts.switch_address(network), "-launcher", "rsh", "-launcher-exec", str(reach)]
    placed = ["-hosts", ",".join(addresses), "-n", str(hosts.count), "-ppn", "1"]
    environment = {
        "COLLMARK_CONTROL_HOST": addresses[0],
        "COLLMARK_SECRET": secrets.token_hex(16),
        "UCX_TLS": "tcp,self",
        "UCX_NET_DEVICES": network,
        "FI_PROVIDER": "tcp",
        "FI_TCP_IFACE": network,
    }
    run_together([[*hosts.switch_words(), *launcher, *placed, *words]], [environment], log, patience)


def _clean(environ: Mapping[str, str]) -> dict[str, str]:
    """Return an environment without what another launcher, or a real network, has put there."""
    kept = {
        name: value
        for name, value in environ.items()
        if not name.startswith(LAUNCHER_PREFIXES) and name not in LAUNCHER_NAMES
    }
    return kept | {"OMP_NUM_THREADS": "1"}


def run_together(
    commands: Sequence[Sequence[str]], environments: Sequence[Mapping[str, str]], log: Path, patience: float
) -> None:
    """Run commands until all have ended well, one has not, or the time is over; none is left running.

    Parameters
    ----------
    commands, environments : sequence
        Command lines, and what is added to the environment of each, launchers' words taken out.
    log : Path
        Takes what the first prints; the others have logs beside it.
    patience : float
        Seconds after which they are ended.

    Raises
    ------
    MeasurementError
        If one fails, or they take longer.
    """
    deadline = time.monotonic() + patience
    logs = [log if not number else log.with_suffix(f".{number}{log.suffix}") for number in range(len(commands))]
    processes: list[subprocess.Popen[bytes]] = []
    try:
        for words, environment, own in zip(commands, environments, logs, strict=True):
            with own.open("wb") as output:
                processes.append(
                    subprocess.Popen(
                        words,
                        env={**_clean(os.environ), **environment},
                        stdin=subprocess.DEVNULL,
                        stdout=output,
                        stderr=subprocess.STDOUT,
                        start_new_session=True,  # to be ended as a group: nsenter hands no signal on
                    )
                )
        while (statuses := [process.poll() for process in processes]) != [0] * len(processes):
            failed = next((number for number, status in enumerate(statuses) if status), None)
            if failed is not None:
                said = one_line(last_line(logs[failed]))
                raise MeasurementError(f"program {failed} on emulated hosts ended with {statuses[failed]}: {said}")
            if time.monotonic() > deadline:
                said = one_line(last_line(log))
                raise MeasurementError(f"programs on emulated hosts were not over after {patience:g} s: {said}")
            time.sleep(POLL)
    finally:
        for process in processes:
            _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    for number in (signal.SIGTERM, signal.SIGKILL):
        if process.poll() is not None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(END_SECONDS)

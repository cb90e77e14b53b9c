"""How rank 0 comes from what the ranks say to a diagnosis, and what follows from it."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator

import msgspec

from collmark.bench import environment
from collmark.bench.control import Hub
from collmark.bench.doctor.gather import LOOKS, Gathering, offset
from collmark.bench.job import Job
from collmark.bench.rank import TellTime
from collmark.bench.watchdog import Watchdog
from collmark.core.doctor.facts import Objection
from collmark.core.doctor.finding import Diagnosis
from collmark.core.errors import UnavailableError


@contextlib.contextmanager
def objecting(gathering: Gathering, check: str, job: Job, rank: int | None = None) -> Iterator[None]:
    """Note what keeps a launch from beginning as one finding of several, where findings are all that is asked for."""
    try:
        yield
    except UnavailableError as error:
        if not job.only_examine:
            raise
        gathering.objections.append(Objection(check=check, words=str(error), rank=rank))


def wall_offsets(hub: Hub, gathering: Gathering, watchdog: Watchdog, timeout: float) -> dict[str, float]:
    """Return by how much the wall clock of each other host is ahead of ours, s."""
    offsets = {}
    for host, rank in gathering.others().items():
        watchdog.arm(timeout, f"a look at the clock of {hub.name(rank)}")
        request = msgspec.msgpack.encode(TellTime(count=LOOKS))
        offsets[host] = offset(hub.ask_time(rank, LOOKS, request, time.time_ns))
        watchdog.disarm()
    return offsets


def way_of(address: str) -> str:
    """Return the interface that has an address; empty where there is none."""
    return environment.interface_of(address) if address else ""


def check_health(diagnosis: Diagnosis) -> None:
    """Raise UnavailableError where something was found with which nothing may be timed."""
    if diagnosis.blocking:
        first, *more = diagnosis.blocking
        others = f" (and {len(more)} more; collmark doctor shows them)" if more else ""
        raise UnavailableError(f"{first}{others}")

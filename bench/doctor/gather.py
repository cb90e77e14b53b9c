"""From what each rank says of itself to the facts of a launch, as rank 0 holds them: O(hosts) of text, not O(ranks)."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from collmark.bench.doctor.gpus import probe_for
from collmark.bench.doctor.host import host_facts
from collmark.bench.doctor.process import process_facts
from collmark.bench.doctor.sources import Sources
from collmark.bench.handshake import Hello
from collmark.bench.job import Job
from collmark.core.doctor.facts import Facts, HostFacts, Objection, ProcessFacts, RankFacts
from collmark.core.units import NANOSECONDS_PER_SECOND, Seconds

LOOKS = 5  # at the wall clock of a host: the quickest of them is within its way there


class Told(msgspec.Struct, frozen=True, kw_only=True):
    """What a rank says of itself; fields as in :class:`RankFacts`.

    Attributes
    ----------
    process : Raw
        Process facts as they were encoded: rank 0 decodes those of many ranks once.
    host : HostFacts or None
        From the first rank of each host.
    """

    process: msgspec.Raw
    host: HostFacts | None
    interface: str
    gpu: str
    visible_gpus: int | None


def tell(backend: str, mpi_library: str, local_rank: int, interface: str, sources: Sources | None = None) -> Told:
    """Return what this process knows of itself, and of its host if it is the first there."""
    sources = sources or Sources(gpus=probe_for(backend))
    seat = sources.gpus.seat(local_rank)
    return Told(
        process=msgspec.Raw(msgspec.msgpack.encode(process_facts(sources, backend, mpi_library))),
        host=host_facts(sources, on_gpus=backend == "nccl") if local_rank == 0 else None,
        interface=interface,
        gpu=seat.uuid,
        visible_gpus=seat.visible,
    )


class Gathering:
    """Takes in what the ranks say.

    Parameters
    ----------
    hellos : sequence of Hello
        What every rank said when it joined, in rank order.
    """

    def __init__(self, hellos: Sequence[Hello]) -> None:
        self._hellos = hellos
        self._names = host_names(hellos)
        self._processes: dict[bytes, ProcessFacts] = {}
        self._hosts = dict.fromkeys(self._names, HostFacts())
        self._ranks: list[RankFacts] = []
        self.objections: list[Objection] = []

    def add(self, rank: int, told: Told) -> None:
        """Take in what a rank says."""
        hello, name, raw = self._hellos[rank], self._names[rank], bytes(told.process)
        if raw not in self._processes:
            self._processes[raw] = msgspec.msgpack.decode(raw, type=ProcessFacts)
        if told.host is not None:
            self._hosts[name] = told.host
        self._ranks.append(
            RankFacts(
                rank=rank,
                host=name,
                cores=hello.cores,
                interface=told.interface,
                gpu=told.gpu,
                visible_gpus=told.visible_gpus,
                process=self._processes[raw],
            )
        )

    def others(self) -> dict[str, int]:
        """Return the first rank of every host but rank 0's."""
        first = {name: rank for rank, name in reversed(list(enumerate(self._names)))}
        return {name: first[name] for name in self._hosts if name != self._names[0]}

    def facts(self, job: Job, offsets: dict[str, Seconds]) -> Facts:
        """Return all that is judged."""
        return Facts(
            backend=job.backend,
            launcher=job.launcher,
            asked=job.asked,
            hosts=self._hosts,
            ranks=tuple(self._ranks),
            offsets=offsets,
            objections=(*job.objections, *self.objections),
        )


def host_names(hellos: Sequence[Hello]) -> list[str]:
    """Return the name of each rank's host; hosts in networks of their own that share a name are numbered."""
    networks: dict[str, dict[str, int]] = {}
    for hello in hellos:
        known = networks.setdefault(hello.host, {})
        known.setdefault(hello.network, len(known) + 1)
    return [
        hello.host if len(networks[hello.host]) == 1 else f"{hello.host}#{networks[hello.host][hello.network]}"
        for hello in hellos
    ]


def offset(exchanges_E3: NDArray[np.int64]) -> Seconds:
    """Return by how much another clock is ahead of ours, s, by the quickest of some exchanges.

    Parameters
    ----------
    exchanges_E3 : array of int64, shape (exchanges, 3)
        Our clock before, theirs, ours after, ns.
    """
    before, theirs, after = exchanges_E3[np.argmin(exchanges_E3[:, 2] - exchanges_E3[:, 0])]
    return float(theirs - (before + after) // 2) / NANOSECONDS_PER_SECOND

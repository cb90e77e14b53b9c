"""What PARAM prints above its tables: how many ranks on which hosts, backend, mode."""

from __future__ import annotations

import re

import msgspec

from collmark.core.case import Cadence, Device

_MARKS = ("[Rank ", "environment: {", " nw-stack: ", "collective=")
_ENVIRONMENT = re.compile(r"\s*(?:MPI|PARAM COMM) environment: \{'world_size': (\d+), 'local_size': (-?\d+), ")
_BACKEND = re.compile(r"\s*backend: (\w+) nw-stack: \S+ mode: ([\w-]+) (?:.*\bargs\.z: (\d) )?")
_HELLO = re.compile(r"\[Rank +(\d+)\] host ([\w.-]+), device: (\w+)\S*, local_rank: -?\d+ world_size: (\d+), master_ip")
_SIZES = re.compile(r"\[Rank +\d+\] allSizes: ")
_GROUPS = re.compile(r"num_pg (\d+), groupSize (\d+)$")
_PAIRS = re.compile(r"\s*collective=\w+(?:,|\s+(?:one2one|pairwise),) src_ranks=(\[[\d, ]*\]|\w+), dst_ranks=")


class Settled(msgspec.Struct, frozen=True, kw_only=True):
    """What holds for one table; what is not told is empty or None."""

    ranks: int | None = None
    nodes: int | None = None
    backend: str = ""
    device: Device | None = None
    cadence: Cadence = Cadence.ISOLATED
    settings: str = ""


class World:
    """Collects the lines above a table."""

    def __init__(self) -> None:
        self._begin()

    def _begin(self) -> None:
        self._fresh = True
        self._world: set[int] = set()
        self._local = 0
        self._hosts: dict[int, str] = {}
        self._groups: tuple[int, int] | None = None
        self._backend = ""
        self._device: Device | None = None
        self._cadence = Cadence.ISOLATED
        self._pairs = 0
        self.computes = False
        """Whether the run says that it times compute kernels alone."""

    @staticmethod
    def tells(text: str) -> bool:
        """Return whether a line may be one of PARAM's preamble."""
        return any(mark in text for mark in _MARKS) and (
            text.lstrip()[:2] in {"[R", "['", "He", "MP", "PA", "ba", "co"}
        )

    def read(self, text: str) -> None:
        """Read a line of the preamble; the first of a further run makes everything forgotten."""
        if _SIZES.match(text):
            groups = _GROUPS.search(text)
            self._groups = (int(groups[1]), int(groups[2])) if groups else None
            return
        if pairs := _PAIRS.match(text):
            self._pairs = pairs[1].count(",") + 1 if "pairwise" in text else 0
            return
        if not self._fresh:
            self._begin()
        self._read_run(text)

    def _read_run(self, text: str) -> None:
        if environment := _ENVIRONMENT.match(text):
            self._world.add(int(environment[1]))
            self._local = int(environment[2])
        elif backend := _BACKEND.match(text):
            self._backend = backend[1]
            self.computes = backend[2] == "compute"
            self._cadence = Cadence.STREAMING if backend[3] == "0" else Cadence.ISOLATED
        else:
            for rank, host, device, world in _HELLO.findall(text):
                self._hosts[int(rank)] = host
                self._world.add(int(world))
                self._device = Device.CPU if device == "cpu" else Device.CUDA

    def settled(self, *, grouped: bool) -> Settled:
        """Return what holds for the table that stands below.

        Parameters
        ----------
        grouped : bool
            The version divides ranks into groups, and says their size above each table. It stands at the end of its
            line, where it may have been cut off: it is believed where it agrees with the number of all ranks.
        """
        world = next(iter(self._world)) if len(self._world) == 1 else None
        groups, size = self._groups or (1, None if grouped else world)
        agree = world is not None and size is not None and world in {size, size * groups}
        together = f"{groups} groups at once" if agree and groups > 1 and world != size else ""
        return Settled(
            ranks=size if agree else None,
            nodes=self._nodes(world) if agree and world == size else None,
            backend=self._backend,
            device=self._device,
            cadence=self._cadence,
            settings=together or self._paired(),
        )

    def _paired(self) -> str:
        return f"{self._pairs} pairs at once" if self._pairs > 1 else ""

    def _nodes(self, world: int | None) -> int | None:
        if world is None:
            return None
        if len(self._hosts) == world:
            return len(set(self._hosts.values()))
        return world // self._local if self._local > 0 and world % self._local == 0 else None

    def used(self) -> None:
        """Note that a table came: what tells of a run then begins another."""
        self._fresh = False

    def lose(self) -> None:
        """Forget everything: what stood above the table that begins here has been lost."""
        self._begin()

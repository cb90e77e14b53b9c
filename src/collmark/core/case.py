"""One point to measure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum
from functools import cached_property

import msgspec

from collmark.core.bounds import Count, Ordinal
from collmark.core.dtype import DTYPES
from collmark.core.errors import UnknownNameError, UsageError
from collmark.core.grouping import Company, Group, groups_of
from collmark.core.operation import Estimand, Exchange, check_ranks
from collmark.core.operation_table import OPERATIONS
from collmark.core.placement import Placement
from collmark.core.reduction import REDUCTIONS
from collmark.core.traffic import check_traffic, counts_of, elements_of


class Device(StrEnum):
    """Where the buffers lie."""

    CPU = "cpu"
    CUDA = "cuda"


class Cadence(StrEnum):
    """How calls follow each other."""

    ISOLATED = "isolated"
    """Synchronised start, one call."""
    STREAMING = "streaming"
    """Back to back."""
    GRAPH = "graph"
    """Replay of a CUDA graph."""


class InPlace(StrEnum):
    """Whether send and receive buffer are the same memory."""

    NO = "no"
    YES = "yes"


class Buffers(StrEnum):
    """Buffer temperature."""

    SAME = "same"
    """The same buffers in every repetition."""
    ROTATED = "rotated"
    """Rotated through a pool larger than the last-level cache."""


class Scheduling(StrEnum):
    """Scheduling class of the ranks' threads."""

    OTHER = "other"
    FIFO = "fifo"


class Binding(StrEnum):
    """Which cores a rank's threads may run on."""

    NONE = "none"
    """Wherever the system puts them, as torchrun leaves it."""
    CORES = "cores"
    """An equal share of the host's cores for each rank, as mpirun does it."""


class Form(StrEnum):
    """How an operation of MPI is called."""

    BLOCKING = "blocking"
    PERSISTENT = "persistent"
    """Set up once, then started and waited for (collectives: MPI 4)."""
    NONBLOCKING = "nonblocking"
    """Started and at once waited for."""


class ThreadLevel(StrEnum):
    """What MPI is asked to allow the threads of a process."""

    SINGLE = "single"
    FUNNELED = "funneled"
    SERIALIZED = "serialized"
    MULTIPLE = "multiple"


class Case(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, dict=True):
    """One point to measure; equal cases may be compared.

    Attributes
    ----------
    operation, backend, dtype, reduction : str
        Names; reduction is empty where the operation takes none.
    device : Device
        Where the buffers lie.
    nbytes, requested_nbytes : int
        Effective size S in bytes, and the size asked for.
    placement : Placement
        Nodes and ranks per node.
    group : Group or None
        Which ranks these are, where they are not all that there are.
    traffic : str
        For ragged operations; empty otherwise.
    cadence, buffers, scheduling, binding : StrEnum
        How calls follow each other, buffer temperature, scheduling class, cores.
    in_place : bool
        Send and receive buffer are the same.
    directions : int
        Directions in which one link carries data at once.
    messages : int
        Messages per call.
    batch : int
        Calls between two reads of the clock, back to back; T is that of one.
    root : int
        Rank of the root.
    form : Form
        How it is called.
    thread_level : str
        Thread level of MPI; empty for other backends.

    Raises
    ------
    UnknownNameError
        If operation, dtype or reduction is not in its table.
    UsageError
        If the operation cannot run on so many ranks, a ragged one has a traffic that cannot be read, or the group lies
        elsewhere.
    """

    operation: str
    backend: str
    dtype: str
    placement: Placement
    nbytes: Count
    requested_nbytes: Count
    reduction: str = ""
    device: Device = Device.CPU
    traffic: str = ""
    cadence: Cadence = Cadence.ISOLATED
    buffers: Buffers = Buffers.SAME
    scheduling: Scheduling = Scheduling.OTHER
    binding: Binding = Binding.NONE
    in_place: bool = False
    directions: Ordinal = 1
    messages: Ordinal = 1
    batch: Ordinal = 1
    root: Count = 0
    form: Form = Form.BLOCKING
    thread_level: str = ""
    group: Group | None = None

    def __post_init__(self) -> None:
        """Check the names, also after decoding."""
        operation, dtype = OPERATIONS[self.operation], DTYPES[self.dtype]
        if self.reduction:
            REDUCTIONS[self.reduction]
        if self.thread_level and self.thread_level not in list(ThreadLevel):
            raise UnknownNameError("thread level", self.thread_level, ThreadLevel)
        check_ranks(operation, self.placement.ranks)
        if operation.ragged:
            check_traffic(self.traffic, ranks=self.placement.ranks, itemsize=dtype.itemsize)
        if self.group is not None and self.group.placement != self.placement:
            raise UsageError(f"group {self.group} lies on {self.group.placement}, not on {self.placement}")

    @property
    def world(self) -> Placement:
        """Nodes and ranks per node of all ranks that are there."""
        return self.placement if self.group is None else self.group.world

    @property
    def members(self) -> Sequence[int]:
        """Indices of the case's ranks among all that are there."""
        return range(self.placement.ranks) if self.group is None else self.group.members

    @cached_property
    def company(self) -> tuple[Case, ...]:
        """The cases that are measured at once: this one, and that of every other group which communicates with it."""
        if self.group is None or self.group.company is Company.ALONE:
            return (self,)
        groups = groups_of(self.group.arrangement, self.group.world, self.group.company)
        return tuple(msgspec.structs.replace(self, group=group, placement=group.placement) for group in groups)

    @cached_property
    def key(self) -> str:
        """Everything that must be equal for two figures to be comparable, as text; the requested size is not.

        Under ragged traffic two requested sizes may have the same heaviest rank and yet other counts elsewhere: the
        elements that all ranks send tell them apart.
        """
        parts = [
            self.operation,
            self.backend,
            self.device,
            self.dtype,
            self.reduction or "-",
            f"{self.nbytes}B",
            str(self.placement),
            self.cadence,
            "in-place" if self.in_place else "out-of-place",
            self.buffers,
            self.scheduling,
            f"bind-{self.binding}",
            f"{self.directions}way",
            f"{self.messages}msg",
            f"{self.batch}calls",
            f"root{self.root}",
            self.form,
            self.thread_level or "-",
            self.traffic or "-",
        ]
        if OPERATIONS[self.operation].ragged:
            parts.append(f"{self._elements()}el")
        if self.group is not None:
            parts.append(str(self.group))
        return "/".join(parts)

    def _elements(self) -> int:
        return elements_of(
            self.traffic,
            nbytes=self.requested_nbytes,
            ranks=self.placement.ranks,
            itemsize=DTYPES[self.dtype].itemsize,
        )

    @cached_property
    def exchange(self) -> Exchange:
        """The size of one call in elements."""
        operation, itemsize, ranks = OPERATIONS[self.operation], DTYPES[self.dtype].itemsize, self.placement.ranks
        counts = None
        if operation.ragged:
            counts = counts_of(self.traffic, nbytes=self.requested_nbytes, ranks=ranks, itemsize=itemsize)
        return Exchange(
            ranks=ranks,
            block=operation.block_of(self.nbytes, ranks=ranks, itemsize=itemsize),
            itemsize=itemsize,
            root=self.root,
            counts=counts,
            messages=self.messages,
        )

    @property
    def estimand(self) -> Estimand:
        """What T is where clocks can be compared."""
        return OPERATIONS[self.operation].estimand_of(self.exchange)

    @property
    def count(self) -> int:
        """Elements of the vector whose size is `nbytes`."""
        return self.nbytes // DTYPES[self.dtype].itemsize

    def __str__(self) -> str:
        group = "" if self.group is None else f", {self.group}"
        return f"{self.operation} {self.nbytes} B {self.dtype} {self.traffic}".rstrip() + group


def companies(cases: Iterable[Case]) -> list[tuple[Case, ...]]:
    """Return cases with those that are measured at once with them, in their order."""
    return list({case.company[0].key: case.company for case in cases}.values())

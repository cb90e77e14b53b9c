"""What a backend is: a way to open a session on a group of ranks, and to bind cases to callables.

A session separates binding (buffers, choice of function), queueing, waiting and the device's own time stamps, so
that the runner is the same for libraries that block and for those that only queue work on a device.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

import msgspec

from collmark.bench.start_page import BlockTimer
from collmark.core.case import Case
from collmark.core.expansion import Capability
from collmark.core.grouping import Group
from collmark.core.plan import Plan
from collmark.core.record import Evidence
from collmark.kernels.addition import Adder
from collmark.kernels.buffer import Buffer
from collmark.kernels.native import Program


class World(Protocol):
    """The group of ranks as a backend sees it while opening."""

    @property
    def rank(self) -> int:
        """Index of this rank."""

    @property
    def ranks(self) -> int:
        """Number of ranks."""

    @property
    def local_rank(self) -> int:
        """Index on this host."""

    @property
    def one_host(self) -> bool:
        """Whether all ranks share one host's loopback; two containers of a machine do not."""

    @property
    def host(self) -> str:
        """Address by which every rank reaches rank 0."""

    @property
    def address(self) -> str:
        """Own address on the network that leads to rank 0."""

    @property
    def timeout(self) -> float:
        """Seconds after which silence means a fault."""

    @property
    def plan(self) -> Plan:
        """What is to be measured, with what a library is asked for when it is opened."""

    def share(self, value: bytes) -> bytes:
        """Return rank 0's value on every rank; all ranks call it."""


class Bound(Protocol):
    """A case bound to buffers on one rank."""

    @property
    def send(self) -> Buffer | None:
        """What this rank sends."""

    @property
    def receive(self) -> Buffer | None:
        """What this rank receives; the same memory as `send` where the case is in place."""

    @property
    def call(self) -> Callable[[], object]:
        """The operation, without arguments."""

    @property
    def program(self) -> Program | None:
        """The operation as the native loop takes it; None where only `call` does."""

    def overlapping(self, compute: int) -> Program | None:
        """Return `program` with a computation of so many ns before the wait; None unless it is non-blocking."""

    def device_time(self) -> int:
        """Ns between the device's stamps around the last call; 0 without a device."""

    def release(self) -> None:
        """Free the buffers."""


class Session(Protocol):
    """A backend opened on a group."""

    @property
    def asynchronous(self) -> bool:
        """Whether a call only queues work."""

    @property
    def clock(self) -> Callable[[], int]:
        """The host's clock in ns."""

    @property
    def timer(self) -> BlockTimer | None:
        """Times whole blocks of programs; None where the loop in Python times calls."""

    @property
    def add(self) -> Adder:
        """Adds one float32 array to another, as its reductions do, or as near as can be had."""

    def reserve(self, nbytes: int) -> None:
        """Allocate buffers of `nbytes`, the largest that any case will ask for, once and before all others."""

    def arrange(self, group: Group) -> None:
        """Make the communicators of all groups of an arrangement, where there are none yet; all ranks call it."""

    def bind(self, case: Case, slot: int) -> Bound:
        """Take the so-manieth pair of buffers and choose the function; UnavailableError where that cannot be done."""

    def synchronize(self) -> None:
        """Wait for everything queued."""

    def facts(self) -> Mapping[str, str]:
        """Library versions and the settings in force."""

    def evidence(self, *, one_host: bool) -> Evidence:
        """The link that ranks communicate over, all of them on one host or not, and how that is known."""

    def close(self) -> None:
        """Give everything back."""


class Backend(msgspec.Struct, frozen=True, kw_only=True):
    """One row of the index of backends.

    Attributes
    ----------
    name : str
        Name on the command line.
    capability : Capability
        What it can do; known without importing its library.
    missing : callable
        Why it cannot be used here, with the remedy; empty where it can. Imports nothing heavy.
    open : callable
        Opens a session on a group; imports the library.
    needs_mpiexec : bool
        Local ranks are started through the launcher of an MPI library.
    devices : callable
        Memory in B of each device of this host, of which every rank takes one; empty where ranks need none.
    load : callable
        Imports the library, and nothing more: it is timed, and `open` finds it loaded.
    remedy : callable
        What to try where it does not open in time, if that is known.
    """

    name: str
    capability: Capability
    missing: Callable[[], str]
    open: Callable[[World], Session]
    needs_mpiexec: bool = False
    devices: Callable[[], Sequence[int]] = tuple
    load: Callable[[Plan], object] = lambda _plan: None
    remedy: Callable[[], str] = str

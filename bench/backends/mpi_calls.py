"""The call table of MPI: what each operation calls, in each form, as a program of the native loop.

Names and argument orders are those of the MPI standard, version 4.1. Where a count does not fit into an int, the
large-count function of MPI 4 (``MPI_Allreduce_c``) takes the place of the other.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Protocol

import numpy as np

from collmark.core.case import Case, Form
from collmark.core.errors import UnavailableError
from collmark.kernels.native import WORD, Program, Step

LARGEST_COUNT = 2**31 - 1
TAG = 7
ACKNOWLEDGEMENT = 4  # bytes


class Library:
    """Addresses of MPI's functions and words of its handles, from the very library that mpi4py loaded.

    Parameters
    ----------
    path : str
        mpi4py's own module: symbols are looked up in it and in what it is linked to.
    version : str
        In words, for what is said where a function is missing.
    status_nbytes, request_nbytes : int
        Sizes of MPI_Status and MPI_Request.
    ignore : int or None
        MPI_STATUS_IGNORE and MPI_STATUSES_IGNORE as words, where known.
    """

    def __init__(self, path: str, version: str, *, status_nbytes: int, request_nbytes: int, ignore: int | None) -> None:
        self.version = version
        self.status_nbytes = status_nbytes
        self.request_nbytes = request_nbytes
        self.ignore = ignore
        self._library = ctypes.CDLL(path)

    def address(self, name: str) -> int:
        """Return a function's address; UnavailableError where this library has none of that name."""
        try:
            return ctypes.cast(self._library[name], ctypes.c_void_p).value or 0
        except AttributeError as error:
            remedy = "choose smaller --sizes, or" if name.endswith("_c") else "use --form blocking, or"
            raise UnavailableError(f"{self.version} has no {name}: {remedy} a library of MPI 4") from error

    def call(self, name: str, *words: int) -> int:
        """Call a function now, and return what it returns."""
        prototype = ctypes.CFUNCTYPE(ctypes.c_int, *[WORD] * len(words))
        return int(prototype(self.address(name))(*words))

    def has(self, name: str) -> bool:
        """Whether the library, or mpi4py's module, has a symbol."""
        return hasattr(self._library, name)

    def free_request(self, address: int) -> None:
        """Free a persistent request."""
        self.call("MPI_Request_free", address)


class Handles:
    """Words of the handles that the calls of one case take."""

    def __init__(self, *, comm: int, element: int, byte: int, op: int, info: int, in_place: int) -> None:
        self.comm, self.element, self.byte, self.op, self.info = comm, element, byte, op, info
        self.in_place = in_place


def is_large(case: Case) -> bool:
    """Whether the counts of a case do not fit into an int."""
    return max(case.count, case.exchange.block) > LARGEST_COUNT


class Functions(Protocol):
    """What a call is made of: a :class:`Library`, or what only notes what a library must have."""

    version: str
    status_nbytes: int
    request_nbytes: int
    ignore: int | None

    def address(self, name: str) -> int:
        """Return a function's address."""

    def call(self, name: str, *words: int) -> int:
        """Call a function now."""


class Call:
    """What a call is made of: the library, the case, the buffers' addresses, and memory that lives as long.

    Parameters
    ----------
    library, handles
        Of MPI.
    case : Case
        What is called.
    rank : int
        Own index.
    send, receive : int
        Addresses.
    """

    def __init__(self, library: Functions, handles: Handles, case: Case, *, rank: int, send: int, receive: int) -> None:
        self.library, self.handles, self.case, self.rank = library, handles, case, rank
        self.send, self.receive = send, receive
        self.ranks = case.placement.ranks
        self.is_large = is_large(case)
        self.keeps: list[object] = []
        self.requests: list[int] = []

    def peer(self, place: int) -> int:
        """Return what the communicator calls a rank of the case: pairs have none of their own."""
        place %= self.ranks
        return self.case.members[place] if self.case.group is not None and self.case.group.is_pair else place

    def step(self, name: str, *arguments: int) -> Step:
        """Return a call; the large-count function where the case needs it and `name` takes counts."""
        return Step(self.library.address(name), arguments)

    def counted(self, name: str) -> str:
        """Return the name of a function that takes counts, as large as the case needs it."""
        return f"{name}_c" if self.is_large else name

    def memory(self, nbytes: int) -> int:
        """Return the address of memory that lives as long as the program."""
        block = ctypes.create_string_buffer(max(8, nbytes))
        self.keeps.append(block)
        return ctypes.addressof(block)

    def counts(self, numbers: Sequence[int]) -> int:
        """Return the address of an array of counts or displacements: ints, or MPI_Count and MPI_Aint."""
        array = np.array(numbers, dtype=np.int64 if self.is_large else np.int32)
        self.keeps.append(array)
        return int(array.ctypes.data)

    def new_requests(self, count: int) -> list[int]:
        """Return the addresses of so many requests, one after the other."""
        first, size = self.memory(count * self.library.request_nbytes), self.library.request_nbytes
        return [first + index * size for index in range(count)]

    def statuses(self, count: int) -> int:
        """Return where statuses go: nowhere, where the library's word for that is known."""
        ignore = self.library.ignore
        return self.memory(count * self.library.status_nbytes) if ignore is None else ignore


Arguments = Callable[[Call], tuple[int, ...]]


def _source(c: Call) -> int:
    return c.handles.in_place if c.case.in_place else c.send


def _vector(c: Call) -> tuple[int, ...]:
    return _source(c), c.receive, c.case.exchange.block, c.handles.element, c.handles.op


def _blocks(c: Call) -> tuple[int, ...]:
    count, element = c.case.exchange.block, c.handles.element
    return _source(c), count, element, c.receive, count, element


def _to_root(c: Call) -> tuple[int, ...]:
    # Only the root has a place where a result could be.
    source = c.send if c.rank != c.case.root else _source(c)
    return source, *_vector(c)[1:], c.case.root


def _ragged(c: Call) -> tuple[int, ...]:
    counts = c.case.exchange.counts
    assert counts is not None, "only ragged operations come here"
    sent = counts[c.rank]
    received = [row[c.rank] for row in counts]
    return (
        c.send, c.counts(sent), c.counts(_displacements(sent)), c.handles.element,
        c.receive, c.counts(received), c.counts(_displacements(received)), c.handles.element,
    )  # fmt: skip


def _displacements(counts: Sequence[int]) -> list[int]:
    return [0, *accumulate(counts[:-1])]


COLLECTIVES: dict[str, tuple[str, Arguments]] = {
    "all_reduce": ("Allreduce", lambda c: (*_vector(c), c.handles.comm)),
    "all_gather": ("Allgather", lambda c: (*_blocks(c), c.handles.comm)),
    "reduce_scatter": ("Reduce_scatter_block", lambda c: (*_vector(c), c.handles.comm)),
    "all_to_all": ("Alltoall", lambda c: (*_blocks(c), c.handles.comm)),
    "all_to_all_v": ("Alltoallv", lambda c: (*_ragged(c), c.handles.comm)),
    "broadcast": (
        "Bcast",
        lambda c: (c.send, c.case.exchange.block, c.handles.element, c.case.root, c.handles.comm),
    ),
    "reduce": ("Reduce", lambda c: (*_to_root(c), c.handles.comm)),
    "gather": ("Gather", lambda c: (*_blocks(c), c.case.root, c.handles.comm)),
    "scatter": ("Scatter", lambda c: (*_blocks(c), c.case.root, c.handles.comm)),
    "barrier": ("Barrier", lambda c: (c.handles.comm,)),
}
"""Name of the collective, and its arguments up to the communicator."""

IN_PLACE = ("all_reduce", "all_gather", "reduce_scatter", "reduce")
"""Operations that take MPI_IN_PLACE."""


def own_part(case: Case, rank: int) -> int:
    """Return the byte of the common buffer at which a rank's own part begins, where it works in place."""
    # MPI 4.1, 6.7: the contribution of an all-gather lies where it will be received.
    return rank * case.exchange.block * case.exchange.itemsize if case.operation == "all_gather" else 0


def program_of(call: Call) -> Program:
    """Return what a case calls on one rank.

    Raises
    ------
    UnavailableError
        If the library has no function for the case's form or counts.
    """
    return Program(steps_of(call), call.keeps)


def steps_of(call: Call) -> list[Step]:
    """Return the calls of :func:`program_of` one by one."""
    operation, form = call.case.operation, call.case.form
    if operation in COLLECTIVES:
        return _collective(call, *COLLECTIVES[operation], form)
    return POINT_TO_POINT[operation](call, form)


def _collective(c: Call, name: str, arguments: Arguments, form: Form) -> list[Step]:
    words = arguments(c)
    function = f"MPI_{name}" if form is not Form.NONBLOCKING else f"MPI_I{name.lower()}"
    counted = (lambda text: text) if name == "Barrier" else c.counted
    if form is Form.BLOCKING:
        return [c.step(counted(function), *words)]
    (request,) = c.new_requests(1)
    wait = c.step("MPI_Wait", request, c.statuses(1))
    if form is Form.NONBLOCKING:
        return [c.step(counted(function), *words, request), wait]
    _make_persistent(c, counted(f"{function}_init"), *words, c.handles.info, request)
    return [c.step("MPI_Start", request), wait]


def _make_persistent(c: Call, name: str, *words: int) -> None:
    """Call the function that makes a persistent request, whose address is the last word."""
    fault = c.library.call(name, *words)
    if fault:
        raise UnavailableError(f"{name} of {c.library.version} returned {fault}")
    c.requests.append(words[-1])


class _Message:
    """One direction between two ranks: how it starts and how it is waited for."""

    def __init__(self, c: Call, *, sends: bool, peer: int, buffer: int, count: int, element: int) -> None:
        self._c = c
        self._verb = "send" if sends else "recv"
        self._words = (buffer, count, element, peer, TAG, c.handles.comm)

    def blocking(self) -> Step:
        """Return the call that does it all."""
        status = () if self._verb == "send" else (self._c.statuses(1),)
        return self._c.step(self._c.counted(f"MPI_{self._verb.title()}"), *self._words, *status)

    def begun(self, request: int, form: Form) -> Step:
        """Return the call that begins it."""
        if form is Form.PERSISTENT:
            _make_persistent(self._c, self._c.counted(f"MPI_{self._verb.title()}_init"), *self._words, request)
            return self._c.step("MPI_Start", request)
        return self._c.step(self._c.counted(f"MPI_I{self._verb}"), *self._words, request)

    def whole(self, form: Form) -> list[Step]:
        """Return the calls that begin and end it, in a form."""
        if form is Form.BLOCKING:
            return [self.blocking()]
        (request,) = self._c.new_requests(1)
        return [self.begun(request, form), self._c.step("MPI_Wait", request, self._c.statuses(1))]


def _to(c: Call, peer: int) -> _Message:
    return _Message(c, sends=True, peer=peer, buffer=c.send, count=c.case.exchange.block, element=c.handles.element)


def _from(c: Call, peer: int) -> _Message:
    return _Message(c, sends=False, peer=peer, buffer=c.receive, count=c.case.exchange.block, element=c.handles.element)


def _acknowledged(c: Call, peer: int, *, sends: bool) -> Step:
    """Return the four bytes after the last message, always blocking."""
    buffer = c.memory(ACKNOWLEDGEMENT)
    words = (buffer, ACKNOWLEDGEMENT, c.handles.byte, peer, TAG + 1, c.handles.comm)
    return c.step("MPI_Send", *words) if sends else c.step("MPI_Recv", *words, c.statuses(1))


def _all_at_once(c: Call, messages: Sequence[_Message], form: Form) -> list[Step]:
    """Return calls that begin all messages and then wait for all."""
    requests = c.new_requests(len(messages))
    begun = [message.begun(request, form) for message, request in zip(messages, requests, strict=True)]
    if form is Form.PERSISTENT:
        begun = [c.step("MPI_Startall", len(messages), requests[0])]
    return [*begun, c.step("MPI_Waitall", len(messages), requests[0], c.statuses(len(messages)))]


def _send_recv(c: Call, form: Form) -> list[Step]:
    after, before = c.peer(c.rank + 1), c.peer(c.rank - 1)
    if form is not Form.BLOCKING:
        return _all_at_once(c, [_from(c, before), _to(c, after)], form)
    count, element = c.case.exchange.block, c.handles.element
    name = c.counted("MPI_Sendrecv")
    words = (c.send, count, element, after, TAG, c.receive, count, element, before, TAG, c.handles.comm, c.statuses(1))
    return [c.step(name, *words)]


def _ping_pong(c: Call, form: Form) -> list[Step]:
    if c.rank > 1:
        return []
    there, back = _to(c, c.peer(1 - c.rank)), _from(c, c.peer(1 - c.rank))
    return [*there.whole(form), *back.whole(form)] if c.rank == 0 else [*back.whole(form), *there.whole(form)]


def _stream(c: Call, form: Form) -> list[Step]:
    if c.rank > 1:
        return []
    form = Form.NONBLOCKING if form is Form.BLOCKING else form  # a window is in flight, whatever the form
    make = _to if c.rank == 0 else _from
    window = [make(c, c.peer(1 - c.rank)) for _ in range(c.case.messages)]
    return [*_all_at_once(c, window, form), _acknowledged(c, c.peer(1 - c.rank), sends=c.rank == 1)]


def _bidirectional_stream(c: Call, form: Form) -> list[Step]:
    if c.rank > 1:
        return []
    form = Form.NONBLOCKING if form is Form.BLOCKING else form
    other, window = c.peer(1 - c.rank), range(c.case.messages)
    messages = [*(_from(c, other) for _ in window), *(_to(c, other) for _ in window)]
    return [*_all_at_once(c, messages, form), _acknowledged(c, other, sends=c.rank == 1)]


POINT_TO_POINT: dict[str, Callable[[Call, Form], list[Step]]] = {
    "send_recv": _send_recv,
    "ping_pong": _ping_pong,
    "stream": _stream,
    "bidirectional_stream": _bidirectional_stream,
}

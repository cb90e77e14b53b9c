"""Whether the buffers of a plan fit into the memory of this machine, or of its devices, said before any rank starts."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

from collmark.bench.backends.index import BACKENDS
from collmark.bench.rotation import eviction_nbytes, last_level_cache, slots_of
from collmark.core.case import Case, Device
from collmark.core.dtype import DTYPES
from collmark.core.errors import UsageError
from collmark.core.numeral import counted
from collmark.core.operation_table import OPERATIONS
from collmark.core.units import format_about_nbytes

MEMINFO = Path("/proc/meminfo")
MEASURES = {"MemAvailable", "SwapFree"}


def available_memory() -> int | None:
    """Return the bytes that processes may still fill, swap included; None where the system does not tell.

    Where only the whole memory is known, it is that: a limit must not reject what fits.
    """
    try:
        found = re.findall(r"^(\w+):\s+(\d+) kB$", MEMINFO.read_text(encoding="ascii"), re.MULTILINE)
    except (OSError, ValueError):
        found = []
    parts = {name: int(number) * 1024 for name, number in found if name in MEASURES}
    if parts.keys() == MEASURES:
        return sum(parts.values())
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (OSError, ValueError):
        return None


def check_memory(cases: Sequence[Case]) -> None:
    """Raise UsageError where the buffers of a case cannot lie in the memory of this machine, a host of it.

    Counted is what the buffer law says that ranks write to, send and receive buffer, and on a device both whole; the
    payload that a result is compared with is made in pieces. What interpreters and libraries take comes on top, and may
    be what does not fit.
    """
    largest = sorted(_largest_of_each_kind(cases), key=lambda case: -case.nbytes)
    _check_host([case for case in largest if case.device is Device.CPU])
    _check_devices([case for case in largest if case.device is not Device.CPU])


def _check_host(cases: Sequence[Case]) -> None:
    there, cache = available_memory(), last_level_cache()
    if there is None:
        return
    for case in cases:
        # At most two buffers of nbytes on every rank: only where those do not fit is it worth to look closer.
        each = _ranks_per_node(case)
        slots, emptying = slots_of(case, cache), eviction_nbytes(case, cache) * each
        if 2 * slots * case.nbytes * each + emptying <= there:
            continue
        need = slots * _need(case) + emptying
        if need > there:
            ranks = counted(each, "rank")
            raise UsageError(
                f"{case} needs {format_about_nbytes(need)} of memory on each host (send and receive buffers of "
                f"{ranks}), {format_about_nbytes(there)} can be had: choose smaller --sizes or fewer ranks"
            )


def _check_devices(cases: Sequence[Case]) -> None:
    for case in cases:
        memories = BACKENDS[case.backend].devices()
        ranks = -(-_ranks_per_node(case) // max(1, len(memories)))
        # A device gives memory when it is asked for, and not, as a host does, when it is written to.
        need = 2 * case.nbytes * ranks
        if memories and need > min(memories):
            raise UsageError(
                f"{case} needs {format_about_nbytes(need)} of memory on each GPU (two buffers of "
                f"{counted(ranks, 'rank')}), which has {format_about_nbytes(min(memories))}: choose smaller --sizes"
            )


def _largest_of_each_kind(cases: Sequence[Case]) -> list[Case]:
    """Return the cases that need most among those alike but for their size."""
    largest: dict[object, Case] = {}
    for case in cases:
        kind = (case.operation, case.dtype, len(case.company), case.placement, case.traffic, case.device, case.buffers)
        known = largest.setdefault(kind, case)
        if case.nbytes > known.nbytes:
            largest[kind] = case
    return list(largest.values())


def _need(case: Case) -> int:
    """Return the least bytes that the ranks of one host write to; of several hosts, the one with the least to do."""
    operation, itemsize = OPERATIONS[case.operation], DTYPES[case.dtype].itemsize
    needs = []
    for rank in range(case.placement.ranks):
        sent = sum(segment.count for segment in operation.sends(case.exchange, rank))
        received = sum(segment.count for segment in operation.expects(case.exchange, rank))
        needs.append((max(sent, received) if case.in_place else sent + received) * itemsize)
    return sum(sorted(needs * len(case.company))[: _ranks_per_node(case)])


def _ranks_per_node(case: Case) -> int:
    """Return the ranks of one host that communicate, those of all groups that do so at once."""
    return case.placement.ranks_per_node if len(case.company) == 1 else case.world.ranks_per_node

"""What a test case of nvbandwidth measures, by its name.

From testcases_ce.cpp, testcases_sm.cpp and memcpy.cpp: a bandwidth is bytes over the time of the measured copy (10^9
B/s). In a bidirectional test a copy the other way runs beside it and is not counted; kernels that copy both ways at
once (device_to_device_bidirectional_*_sm in one matrix, and with several nodes) count both (SUM_BW). Later versions
print a matrix for each way, read1 and read2, and their total. Reads and writes name the GPU that starts the copy, and
their arrows in the descriptions are no guide to the direction of the data.
"""

from __future__ import annotations

import re

import msgspec

_NAME = re.compile(r"(?:multinode_)?(.+?)(?:_(ce|sm))?")
_PART = re.compile(r"(.+_(?:ce|sm))_((?:read|write)[12]|total)")
_PAIR = re.compile(r"(multinode_)?device_to_device_(bidirectional_)?memcpy_(read|write)_(ce|sm)")
_SIZED = re.compile(
    r"(?:host_to_device|device_to_host|device_to_device)_(?:bidirectional_)?memcpy(?:_(?:read|write))?_ce"
)
_ENGINES = {"ce": "copy engine", "sm": "kernel", "": ""}


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """A test case, or one of its matrices.

    Attributes
    ----------
    operation : str
        stream and bidirectional_stream between two GPUs, otherwise the case's own name.
    directions : int
        Two where copies both ways run at once.
    counts_both : bool
        The figure is the sum of both ways.
    settings : str
        Engine and side.
    square : bool
        Between each two of the same GPUs.
    latency : bool
        Figures are times in ns.
    total : bool
        The sum of two other matrices.
    sized : bool
        What is copied is as large as the option says: kernels cut it to what fits the GPU.
    """

    operation: str
    directions: int
    counts_both: bool
    settings: str
    square: bool
    latency: bool
    total: bool
    sized: bool


def split_key(key: str) -> tuple[str, str]:
    """Return the name of a case and its matrix ("", read1, write2, total, ...) of what follows SUM."""
    match = _PART.fullmatch(key)
    return (key, "") if match is None else (match[1], match[2])


def case_of(name: str, part: str) -> Case | None:
    """Return what a matrix of a case holds; None where a case has no such matrix."""
    pair = _PAIR.fullmatch(name)
    if part and (pair is None or not pair[2] or (part != "total" and not part.startswith(pair[3]))):
        return None
    latency = "latency" in name
    if pair is not None:
        both = pair[2] is not None
        return Case(
            operation="bidirectional_stream" if both else "stream",
            directions=2 if both else 1,
            counts_both=both and pair[4] == "sm" and not part,
            settings=f"{_ENGINES[pair[4]]}, {part or pair[3]}",
            square=True,
            latency=False,
            total=part == "total",
            sized=_SIZED.fullmatch(name) is not None,
        )
    match = _NAME.fullmatch(name)
    assert match is not None, "a name has at least one letter"
    return Case(
        operation=match[1],
        directions=2 if "bidirectional" in name else 1,
        counts_both=False,
        settings=_ENGINES[match[2] or ""],
        square="device_to_device" in name,
        latency=latency,
        total=False,
        sized=_SIZED.fullmatch(name) is not None,
    )

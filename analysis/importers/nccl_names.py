"""Names of nccl-tests and rccl-tests in collmark's.

Sources: nccl-tests src/common.cu (test_typenames, test_opnames), src/*.cu (struct testColl, and what each test hands to
TimeTest as operator and root); rccl-tests src/common.cu for its own element types.
"""

from __future__ import annotations

import re

import msgspec

TOOLS = {"nccl": "nccl-tests", "rccl": "rccl-tests"}
"""By backend. Both print the same table; where nothing tells whose it is, it is said to be the first's."""

DTYPES: dict[str, tuple[str, int]] = {
    "int8": ("int8", 1),
    "char": ("int8", 1),
    "uint8": ("uint8", 1),
    "int32": ("int32", 4),
    "int": ("int32", 4),
    "uint32": ("uint32", 4),
    "int64": ("int64", 8),
    "uint64": ("uint64", 8),
    "half": ("float16", 2),
    "float": ("float32", 4),
    "double": ("float64", 8),
    "bfloat16": ("bfloat16", 2),
    "f8e4m3": ("float8_e4m3fn", 1),
    "f8e5m2": ("float8_e5m2", 1),
    "fp8_e4m3": ("float8_e4m3fn", 1),
    "fp8_e5m2": ("float8_e5m2", 1),
}
"""Name and bytes of an element; collmark's names, and torch's where it has none."""
REDUCTIONS = {
    "sum": "sum",
    "prod": "prod",
    "max": "max",
    "min": "min",
    "avg": "avg",
    "mulsum": "premul_sum",
}
NONE = "none"
"""Printed as operator by tests that reduce nothing, since the column is always there (2022)."""


class Test(msgspec.Struct, frozen=True, kw_only=True):
    """What a test prints beside its figures.

    Attributes
    ----------
    operation : str
    reduces, rooted : bool
        It names an operator, or a root.
    divides : bool or None
        Size is count times ranks, and not count; None where size and count are not tied.
    checks_in_place : bool
        Otherwise "#wrong" in place is N/A.
    """

    operation: str
    reduces: bool = False
    rooted: bool = False
    divides: bool | None = False
    checks_in_place: bool = True


_TESTS = (
    Test(operation="all_reduce", reduces=True),
    Test(operation="reduce", reduces=True, rooted=True),
    Test(operation="broadcast", rooted=True),
    Test(operation="all_gather", divides=True),
    Test(operation="reduce_scatter", reduces=True, divides=True),
    Test(operation="all_to_all", divides=True, checks_in_place=False),
    Test(operation="all_to_all_v", divides=None, checks_in_place=False),
    Test(operation="gather", rooted=True, divides=True),
    Test(operation="scatter", rooted=True, divides=True),
    Test(operation="send_recv", reduces=True, checks_in_place=False),
    Test(operation="hypercube", divides=True),
)
TESTS = {test.operation: test for test in _TESTS}

_OWN = {"alltoall": "all_to_all", "alltoallv": "all_to_all_v", "sendrecv": "send_recv"}
_PROGRAM = re.compile(r"\b([a-z]\w*?)_perf(?:_mpi)?\b")
COLLECTIVES = {
    "allreduce": "all_reduce",
    "reduce": "reduce",
    "broadcast": "broadcast",
    "allgather": "all_gather",
    "reducescatter": "reduce_scatter",
    "alltoall": "all_to_all",
    "alltoallv": "all_to_all_v",
    "gather": "gather",
    "scatter": "scatter",
    "sendrecv": "send_recv",
    "hypercube": "hypercube",
}
"""By the name in struct testColl, in lower case."""


def operation_of(program: str) -> str | None:
    """Return the operation of the program ``.../all_reduce_perf``; None where no such name is in the text."""
    match = _PROGRAM.search(program)
    return None if match is None else _OWN.get(match[1], match[1])

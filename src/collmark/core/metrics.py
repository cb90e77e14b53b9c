"""Bandwidths, computed when a record is read and never stored."""

from __future__ import annotations

from collmark.core.case import Case
from collmark.core.operation_table import OPERATIONS


def algorithm_bandwidth(case: Case, seconds: float) -> float | None:
    """Return nbytes / T in B/s; None where the operation moves no payload, or the clock saw no time pass."""
    return case.nbytes / seconds if case.nbytes and seconds > 0 else None


def bus_bandwidth(case: Case, seconds: float) -> float | None:
    """Return bus factor x nbytes / T in B/s, the convention of nccl-tests; None as above.

    For all_to_all_v it is only what nccl-tests prints: the factor does not describe ragged traffic.
    """
    algorithm = algorithm_bandwidth(case, seconds)
    if algorithm is None:
        return None
    return algorithm * OPERATIONS[case.operation].bus_factor(case.placement.ranks)

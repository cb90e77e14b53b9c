"""What a call that DeepSpeed's communication logger has logged says, alone or in a summary."""

from __future__ import annotations

import math

import msgspec

from collmark.analysis.importers.deepspeed_size import nbytes_of, with_rounding
from collmark.analysis.importers.figure import Figure, figure, quotient, ratio
from collmark.analysis.importers.line import Line
from collmark.analysis.importers.row import Row, SizeIs
from collmark.analysis.importers.section import Draft, Log
from collmark.analysis.importers.settle import SLACK, recovered
from collmark.core.case import Cadence, Device

OPERATIONS = {
    "all_reduce": "all_reduce",
    "inference_all_reduce": "all_reduce",
    "all_reduce_coalesced": "all_reduce_coalesced",
    "all_gather": "all_gather",
    "all_gather_base": "all_gather",
    "all_gather_into_tensor": "all_gather",
    "allgather_fn": "all_gather",
    "all_gather_coalesced": "all_gather_coalesced",
    "reduce_scatter": "reduce_scatter",
    "reduce_scatter_base": "reduce_scatter",
    "reduce_scatter_tensor": "reduce_scatter",
    "reduce_scatter_fn": "reduce_scatter",
    "all_to_all": "all_to_all",
    "all_to_all_single": "all_to_all",
    "broadcast": "broadcast",
    "broadcast_object_list": "broadcast_object_list",
    "reduce": "reduce",
    "gather": "gather",
    "scatter": "scatter",
    "barrier": "barrier",
    "monitored_barrier": "barrier",
    "send": "send",
    "recv": "receive",
    "isend": "send",
    "irecv": "receive",
    "batch_isend_irecv": "batched_send_receive",
}
"""Names in collmark of those in deepspeed/comm/comm.py; what collmark has no operation for has a name of its own."""
FACTORED = frozenset({"all_reduce", "all_gather", "reduce_scatter", "all_to_all"})
BLOCKS = frozenset({"all_gather", "gather", "scatter"})
"""Their tensor is one rank's share."""
IN_PLACE = frozenset({"all_reduce", "broadcast", "reduce"})
REDUCING = frozenset({"all_reduce", "reduce_scatter", "reduce"})
MILLI, GIGABIT = 1e-3, 1e9 / 8
LARGE = 100.0
"""Gb/s with two decimals, above which n - 1 and n of a few thousand ranks differ."""


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """The parts of a line, as printed; the bandwidths are empty in the table of stragglers."""

    name: str
    caller: str
    size: str
    time: str
    algorithm: str
    bus: str
    count: str = ""
    others: tuple[str, ...] = ()


def call_draft(call: Call, log: Log, line: Line, group: int) -> Draft | str:
    """Return the row of one call, or why it is none."""
    operation = OPERATIONS.get(call.name)
    if operation is None:
        return "no operation of DeepSpeed's"
    row = _row(call, operation, log, line, group)
    printed = {
        "time (ms)": call.time,
        "msg size": call.size,
        "algbw (Gbps)": call.algorithm,
        "busbw (Gbps)": call.bus,
    }
    row = msgspec.structs.replace(row, statistic="one call, rank 0", printed=printed, repetitions=1)
    return _judged(row, call, exact=True)


def summary_draft(call: Call, log: Log, line: Line, group: int) -> Draft | str:
    """Return a row of the tables of log_summary, or why it is none."""
    count = int(call.count)
    pairs = [(call.time, call.others[0])]
    if not call.algorithm:
        pairs.append((call.others[2], call.others[1]))
    if not count or any(_contradict(mean, total, count) for mean, total in pairs):
        return "its average, count and total contradict each other"
    row = _row(call, OPERATIONS[call.name], log, line, group)
    if call.algorithm:
        names = ("Total Latency(ms)", "Avg Latency(ms)", "tput_avg (Gbps)", "busbw_avg (Gbps)")
        values = (call.others[0], call.time, call.algorithm, call.bus)
        statistic = "trimmed mean of iterations, rank 0"
    else:
        names = ("Total comm lat(ms)", "Total straggler(ms)", "Avg comm lat(ms)", "Avg straggler(ms)")
        values = (call.others[0], call.others[1], call.time, call.others[2])
        statistic = "trimmed mean of iterations, min of ranks"
    printed = {"Message Size": call.size, "Count": call.count} | dict(zip(names, values, strict=True))
    row = msgspec.structs.replace(row, statistic=statistic, printed=printed, repetitions=count)
    return _judged(row, call, exact=count == 1)


def _contradict(mean: str, total: str, count: int) -> bool:
    """Return whether a mean without a tenth at each end (timer.py trim_mean) cannot be that of so many with a total."""
    kept = count - 2 * round(count * 0.1)
    if count == 1:
        return mean != total
    return (float(mean) - 0.005) * kept > float(total) + 0.005 + 1e-9


def _row(call: Call, operation: str, log: Log, line: Line, group: int) -> Row:
    nbytes = nbytes_of(call.size)
    return Row(
        tool="deepspeed-logger",
        operation=operation,
        reduction="sum" if operation in REDUCING else "",
        nbytes_printed=nbytes,
        size_is=SizeIs.BLOCK if operation in BLOCKS and nbytes else SizeIs.CANONICAL,
        seconds=None,
        statistic="",
        in_place=True if operation in IN_PLACE else None,
        group=group,
        file=log.name,
        line=line.number,
        printed={},
        backend="",
        device=Device.CUDA,
        cadence=Cadence.ISOLATED,  # the logger makes every call wait for the device
        settings=f"called by {call.caller}" if call.caller else "",
    )


def _judged(row: Row, call: Call, *, exact: bool) -> Draft | str:
    """Return a row with what its bandwidths tell, or why it is none.

    Parameters
    ----------
    row : Row
        Without them.
    call : Call
        As printed.
    exact : bool
        The bandwidths are those of the printed time; otherwise means of many, which are not over a mean of many times.
    """
    seconds = figure(call.time, MILLI)
    if seconds is None or seconds.value <= 0:
        return "its time rounds to nothing"
    draft = Draft(row=row, seconds=with_rounding(seconds, call.size))
    algorithm, bus = figure(call.algorithm, GIGABIT), figure(call.bus, GIGABIT)
    if algorithm is None or bus is None:
        return draft
    odd = _odd(row, call, algorithm, bus)
    if odd or not row.nbytes_printed:
        return odd or draft
    factor = ratio(bus, algorithm) if row.operation in FACTORED else None
    if factor is not None and row.operation == "all_reduce":
        factor = Figure("", 2 * factor.value, 2 * factor.lower, 2 * factor.upper)
    draft = msgspec.structs.replace(draft, factor=factor)
    least, most = recovered([draft])
    if least > most or (call.count and factor is not None and most <= 1):
        return "its bandwidths are those of no number of ranks"
    return _with_meaning(draft, algorithm, bus, exact=exact)


def _odd(row: Row, call: Call, algorithm: Figure, bus: Figure) -> str:
    """Return what cannot be in the bandwidths of a row."""
    if bus.value > algorithm.value:
        return "its bus bandwidth is over its algorithm bandwidth"
    if not row.nbytes_printed and algorithm.value > 0:
        return "it moves nothing and has a bandwidth"
    same = call.algorithm == call.bus
    if row.operation in FACTORED and same and float(call.bus) >= LARGE:
        return "its bus bandwidth is its algorithm bandwidth, which it is not for this operation"
    if row.operation not in FACTORED and call.count and not same:
        return "its bus bandwidth is not its algorithm bandwidth, which it is for this operation"
    return ""


def _with_meaning(draft: Draft, algorithm: Figure, bus: Figure, *, exact: bool) -> Draft | str:
    """Return a row with the bandwidths that are those of its size and time, and the size that they are of.

    They are k x size over time: k is 2 for all_reduce; the number of ranks for all_gather and, until 2026, for
    reduce_scatter; 1 else; 2 for everything before the first release, where a size was never one rank's share.
    """
    by_time = quotient(float(draft.row.nbytes_printed or 0), draft.seconds) if draft.seconds else None
    k = None if by_time is None else ratio(algorithm, by_time)
    if k is None:
        return draft
    least, most = recovered([draft])
    if not exact:
        total = draft.row.operation == "all_gather" and k.value < math.sqrt(2 * least)
        return _total(draft) if total else draft
    return _meant(draft, algorithm, bus, (_may(k, 1, 1), _may(k, 2, 2), _may(k, least, most)))


def _meant(draft: Draft, algorithm: Figure, bus: Figure, may: tuple[bool, bool, bool]) -> Draft | str:
    """Return a row by what k may be: 1, 2, the number of ranks."""
    one, two, ranks = may
    operation = draft.row.operation
    known = {"all_reduce": two, "all_gather": two or ranks, "reduce_scatter": one or two or ranks}
    if not known.get(operation, one or two):
        return "its bandwidths do not fit its size and time"
    if operation == "all_reduce":
        return msgspec.structs.replace(draft, bus=bus)
    if operation == "all_gather" and not ranks:
        return _total(draft)
    other = two or operation in {"gather", "scatter"} or (ranks and operation == "reduce_scatter")
    return draft if other else msgspec.structs.replace(draft, algorithm=algorithm, bus=bus)


def _total(draft: Draft) -> Draft:
    return msgspec.structs.replace(draft, row=msgspec.structs.replace(draft.row, size_is=SizeIs.CANONICAL))


def _may(k: Figure, least: float, most: float) -> bool:
    return k.lower <= most * (1 + SLACK) and least <= k.upper * (1 + SLACK)

"""From a row of nccl-tests to drafts.

Source: nccl-tests src/common.cu BenchTime: algorithm and bus bandwidth come from the time of the whole loop, also where
-C 1 prints the CPU's. Until 2018 the clock of process 0 was read, since then all processes' are averaged (-a).
"""

from __future__ import annotations

from typing import NamedTuple

from collmark.analysis.importers.figure import figure
from collmark.analysis.importers.nccl_half import COLUMNS, JSON_COLUMNS, MICRO, OLD, UNCHECKED, Half
from collmark.analysis.importers.nccl_head import USUAL_RULE
from collmark.analysis.importers.nccl_names import DTYPES, REDUCTIONS, TOOLS
from collmark.analysis.importers.nccl_row import Parsed
from collmark.analysis.importers.row import Row
from collmark.analysis.importers.section import Draft
from collmark.core.case import Cadence, Device

_STATISTICS = {"i_min": "min", "i_max": "max", "i_p50": "p50", "i_p95": "p95", "i_p99": "p99"}
_PLACES = {2: (False, True)}


class Context(NamedTuple):
    """What holds for every figure of a run.

    Attributes
    ----------
    file : str
    group : int
    backend, version, settings : str
    cadence : Cadence
    rule : str
        Of processes.
    repetitions : int or None
    in_place : bool or None
        Where one half stands alone.
    cpu_time : bool
        The time is the CPU's.
    """

    file: str
    group: int
    backend: str = "nccl"
    version: str = ""
    settings: str = ""
    cadence: Cadence = Cadence.STREAMING
    rule: str = USUAL_RULE
    repetitions: int | None = None
    in_place: bool | None = None
    cpu_time: bool = False


def drafts_of(row: Parsed, operations: tuple[str, ...], line: int, context: Context) -> list[Draft]:
    """Return the figures of a row that may be of any of some operations."""
    places = _PLACES.get(len(row.halves), (context.in_place,))
    return [
        _draft(row, half, operations, line, context, in_place=in_place)
        for half, in_place in zip(row.halves, places, strict=True)
    ]


def _draft(
    row: Parsed, half: Half, operations: tuple[str, ...], line: int, context: Context, *, in_place: bool | None
) -> Draft:
    old = half.layout == OLD
    is_told = len(operations) == 1
    return Draft(
        row=Row(
            tool=TOOLS[context.backend],
            version=context.version,
            operation=operations[0] if is_told else "",
            candidates=() if is_told else operations,
            dtype=DTYPES[row.type][0],
            reduction=REDUCTIONS.get(row.redop or "", ""),
            nbytes_printed=row.size,
            seconds=None,
            statistic="one loop, process 0" if old else f"one loop, {context.rule}",
            wrong=wrong_of(half),
            in_place=in_place,
            group=context.group,
            file=context.file,
            line=line,
            printed=_printed(row, half, context),
            backend=context.backend,
            device=Device.CUDA,
            cadence=context.cadence,
            repetitions=context.repetitions,
            percentiles=_percentiles(half) if len(half.tokens) > 4 else {},
            settings=row.settings or context.settings,
        ),
        seconds=None if context.cpu_time else half.seconds,
        algorithm=None if operations == ("hypercube",) or half.scaled else half.algorithm,
        bus=half.bus,
    )


def _printed(row: Parsed, half: Half, context: Context) -> dict[str, str]:
    tokens = half.tokens
    found = {
        "size": str(row.size),
        "count": str(row.elements),
        "cputime" if context.cpu_time else "time": tokens[0],
        "algbw": tokens[1],
        "busbw": tokens[2],
    }
    if row.root is not None:
        found["root"] = row.root
    if half.wrong:
        found[wrong_column(half)] = half.wrong
    if len(tokens) > 4:
        found |= dict(zip(_names(half)[4:], tokens[4:], strict=True))
    return found


def _names(half: Half) -> tuple[str, ...]:
    return COLUMNS.get(half.layout) or JSON_COLUMNS[half.layout]


def wrong_column(half: Half) -> str:
    """Return what the column is called."""
    if half.layout == OLD:
        return "res"
    return "error" if half.differs else "#wrong"


def wrong_of(half: Half) -> int | None:
    """Return the number of wrong elements; None where they were not counted."""
    token = half.wrong
    if token in UNCHECKED or half.layout == OLD or half.differs:
        return None
    return int(float(token))


def _percentiles(half: Half) -> dict[str, float]:
    found = {}
    for column, token in zip(_names(half), half.tokens, strict=True):
        printed = figure(token, MICRO) if column in _STATISTICS else None
        if printed is not None:
            found[_STATISTICS[column]] = printed.value
    return found

"""Rows of PARAM's tables: their layouts, and what they say."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

import msgspec

from collmark.analysis.importers.figure import Figure, figure, quotient, ratio
from collmark.analysis.importers.line import Line
from collmark.analysis.importers.row import Row, SizeIs
from collmark.analysis.importers.section import Draft, Log

COLLECTIVES = {
    "all_reduce": "all_reduce",
    "reduce": "reduce",
    "broadcast": "broadcast",
    "gather": "gather",
    "scatter": "scatter",
    "all_to_all": "all_to_all",
    "all_to_all_single": "all_to_all",
    "all_to_allv": "all_to_all_v",
    "all_gather": "all_gather",
    "all_gather_base": "all_gather",
    "all_gather_v": "all_gather_v",
    "reduce_scatter": "reduce_scatter",
    "reduce_scatter_base": "reduce_scatter",
    "reduce_scatter_v": "reduce_scatter_v",
    "incast": "incast",
    "multicast": "multicast",
    "pt2pt": "pt2pt",
}
"""Names in collmark of those in pytorch_backend_utils.py; what collmark has no operation for keeps its name."""
DTYPES = {
    "float": ("float32", 4),
    "float32": ("float32", 4),
    "float16": ("float16", 2),
    "half": ("float16", 2),
    "float64": ("float64", 8),
    "double": ("float64", 8),
    "bfloat16": ("bfloat16", 2),
    "int32": ("int32", 4),
    "int": ("int32", 4),
    "long": ("int64", 8),
    "short": ("int16", 2),
    "int8": ("int8", 1),
    "char": ("int8", 1),
    "uint8": ("uint8", 1),
    "byte": ("uint8", 1),
    "bool": ("bool", 1),
}
"""Name and bytes of an element (comms_utils.py dtypeMap)."""
UNDIVIDED = frozenset({"all_reduce", "reduce", "broadcast"})
"""Every rank has the whole: size / elements is the size of one."""
UNFACTORED = frozenset({"all_gather_v", "reduce_scatter_v", "incast", "multicast"})
REDUCING = frozenset({"all_reduce", "reduce", "reduce_scatter", "reduce_scatter_v"})
MICRO, GIGA = 1e-6, 1e9
STATISTIC = "mean of iterations, median of ranks"
_TOKEN = re.compile(r"\d{1,18}(?:\.(\d{1,6}))?", re.ASCII)
_DECIMALS = {0: "i", 1: "f", 3: "g", 5: "h"}
_NAME = re.compile(r"(?:QUANT-)?(\w+)(?:-(\w+)(?:-\S+)?)?", re.ASCII)


class Layout(msgspec.Struct, frozen=True, kw_only=True):
    """One kind of table.

    Attributes
    ----------
    columns : tuple of str
        As in the heading.
    kinds : str
        One letter for each: i whole, f one decimal, g three, h five.
    extras : tuple of str
        What may follow: total and compute latency, TFlops.
    """

    columns: tuple[str, ...]
    kinds: str
    extras: tuple[str, ...] = ("",)

    def kinds_with(self, extra: str) -> tuple[str, ...]:
        """Return what rows under a heading may look like; some layouts print fewer columns than their heading."""
        return (self.kinds + (extra if extra in self.extras else ""),)

    def communicates(self, kinds: str) -> bool:
        """Return whether the times are those of communication alone: TFlops without it means that they are not."""
        extra = kinds[len(self.kinds) :]
        return extra in {"", "ff", "ffh"}


_OVER_RANKS = ("p50", "p75", "p95", "Min", "Max")
_BANDWIDTHS = ("AlgBW(GB/s)", "BusBW(GB/s)")
_COMPUTING = ("", "ff", "ffh", "h")
LAYOUTS = {
    "plain": Layout(
        columns=("size (B)", "nElementsPerRank", *_OVER_RANKS, *_BANDWIDTHS), kinds="iifffffgg", extras=_COMPUTING
    ),
    "pair": Layout(
        columns=("total-size (B)", "nElementsPerRank", "nElementsPairPerRank", *_OVER_RANKS, *_BANDWIDTHS),
        kinds="iiifffffgg",
        extras=_COMPUTING,
    ),
    "pt2pt": Layout(
        columns=(
            "size (B)",
            *("ping p50", "ping p75", "ping p95"),
            *("pingPong p50", "pingPong p75", "pingPong p95"),
            *("avgUniBW(GB/s)", "avgBiBW(GB/s)", "totalUniBW(GB/s)", "totalBiBW(GB/s)"),
        ),
        kinds="iffffffgggg",
    ),
    "quantised": Layout(
        columns=("size (B)", "nElementsPerRank", "Quant", "Comms", "De-Quant", "Overall"), kinds="iiffff"
    ),
    "early": Layout(columns=("size (B)", "num-elements", "p50", "p75", "p95", *_BANDWIDTHS), kinds="iifffgg"),
    "rank0": Layout(columns=("size (B)", "num-elements", "p50", "p75", "p95", *_BANDWIDTHS, "op[0]"), kinds="iifffggg"),
}
EARLY = frozenset({"early", "rank0"})
"""Their rows do not name the collective."""
_BY_KINDS = {layout.kinds + extra: name for name, layout in LAYOUTS.items() for extra in layout.extras}


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """A row whose numbers make sense.

    Attributes
    ----------
    layout, kinds : str
        Which of `LAYOUTS`, and one letter for each column.
    operation, dtype : str
        In collmark's names; dtype is empty where the row does not tell it.
    nbytes : int
        As printed.
    size_is : SizeIs
        What it means.
    tokens : dict of str to str
        By column.
    """

    layout: str
    kinds: str
    operation: str
    dtype: str
    nbytes: int
    size_is: SizeIs
    tokens: dict[str, str]

    @property
    def key(self) -> tuple[str, str, str]:
        """What is equal for the rows of one table."""
        return self.layout, self.operation, self.dtype


def entry_of(name: str, tokens: Sequence[str], early_operation: str) -> Entry | str:
    """Return what a row says, or why it is none.

    Parameters
    ----------
    name : str
        What follows COMMS-RES- in the first column; empty in the tables of 2020.
    tokens : sequence of str
        The other columns.
    early_operation : str
        What a table of 2020 is of, as PARAM calls it; empty where nobody says.
    """
    kinds = _kinds(tokens)
    layout = _BY_KINDS.get(kinds)
    if layout is None or (layout in EARLY) == bool(name):
        return "not the columns of any of PARAM's tables"
    named = _NAME.fullmatch(name or early_operation)
    if named is None:
        return "the table does not say which collective it is of: say --operation"
    dtype, itemsize = DTYPES.get(named[2] or "", ("", 0))
    operation = COLLECTIVES.get(named[1], "")
    by_column = dict(zip(LAYOUTS[layout].columns, tokens, strict=False))
    size_is = _size_is(named[1], by_column, itemsize)
    odd = ""
    if not operation or (named[2] and not dtype):
        odd = "no collective or no element type of PARAM's"
    elif (layout == "quantised") != name.startswith("QUANT-") or (layout == "pt2pt") != (operation == "pt2pt"):
        odd = "its columns are not those of its collective"
    elif size_is is None:
        odd = "its size may be that of the input or of the output"
    odd = odd or _odd(layout, by_column, operation, itemsize)
    if odd or size_is is None:
        return odd
    return Entry(
        layout=layout,
        kinds=kinds,
        operation=f"{operation}_paired" if layout == "pair" else operation,
        dtype=dtype,
        nbytes=int(tokens[0]),
        size_is=size_is,
        tokens=by_column,
    )


def _kinds(tokens: Sequence[str]) -> str:
    matches = [_TOKEN.fullmatch(token) for token in tokens]
    return "".join("?" if one is None else _DECIMALS.get(len(one[1] or ""), "?") for one in matches)


def _odd(layout: str, tokens: dict[str, str], operation: str, itemsize: int) -> str:
    """Return what cannot be in the numbers of a row."""
    rising = ([f"{kind} {p}" for p in ("p50", "p75", "p95")] for kind in ("ping", "pingPong"))
    orders = [*rising, ["Min", "p50", "p75", "p95", "Max"], ["p50", "p75", "p95"]]
    for order in orders:
        if all(one in tokens for one in order):
            times = [float(tokens[one]) for one in order]
            if any(after < before for before, after in pairwise(times)):
                return "its percentiles do not rise"
    if layout in {"plain", "quantised"} and operation in UNDIVIDED:
        nbytes, count = int(tokens["size (B)"]), int(tokens["nElementsPerRank"])
        fits = nbytes == count * itemsize if itemsize else any(nbytes == count * one for one in (1, 2, 4, 8))
        if not fits:
            return "its size is not that of so many elements"
    return ""


def _size_is(collective: str, tokens: dict[str, str], itemsize: int) -> SizeIs | None:
    """Return what a size means: PARAM gave the output's for reduce_scatter_base before it gave the input's."""
    count = int(tokens.get("nElementsPerRank", "0"))
    if collective != "reduce_scatter_base" or not count:
        return SizeIs.CANONICAL
    each = int(next(iter(tokens.values()))) / count
    if itemsize:
        return SizeIs.BLOCK if each == itemsize else SizeIs.CANONICAL
    return None if each <= 8 else SizeIs.CANONICAL


def drafts_of(entry: Entry, log: Log, line: Line, group: int) -> list[Draft]:
    """Return the rows that a line holds: one, or four of point to point; warn of what rounds to nothing."""
    if entry.layout == "pt2pt":
        return _pair_drafts(entry, log, line, group)
    if entry.layout == "quantised":
        row = _row(entry, log, line, group)
        seconds = figure(entry.tokens["Overall"], MICRO)
        row = msgspec.structs.replace(row, statistic="mean of iterations, p95 of ranks", settings="quantised")
        return [Draft(row=row, seconds=seconds)]
    tokens = entry.tokens
    row = msgspec.structs.replace(
        _row(entry, log, line, group),
        percentiles={
            name.lower(): float(tokens[name]) * MICRO for name in ("p75", "p95", "Min", "Max") if name in tokens
        },
    )
    seconds = figure(tokens["p50"], MICRO)
    algorithm, bus = figure(tokens["AlgBW(GB/s)"], GIGA), figure(tokens["BusBW(GB/s)"], GIGA)
    assert seconds is not None, "checked"
    assert algorithm is not None, "checked"
    assert bus is not None, "checked"
    if entry.layout == "rank0":
        return [Draft(row=row, seconds=seconds, factor=ratio(bus, algorithm))]
    if not entry.dtype and entry.layout == "plain":
        seconds = _between(seconds, tokens)
    own = entry.layout == "pair" or entry.operation in UNFACTORED or entry.size_is is SizeIs.BLOCK
    return [Draft(row=row, seconds=seconds, algorithm=algorithm, bus=None if own else bus)]


def _between(seconds: Figure, tokens: dict[str, str]) -> Figure:
    """Return the median with what any rank's time may be as bounds: the bandwidths beside it are rank 0's."""
    least, most = figure(tokens["Min"], MICRO), figure(tokens["Max"], MICRO)
    if least is None or most is None:
        return seconds
    return Figure(seconds.text, seconds.value, min(least.lower, seconds.lower), max(most.upper, seconds.upper))


def _row(entry: Entry, log: Log, line: Line, group: int) -> Row:
    in_place = entry.operation in UNDIVIDED
    return Row(
        tool="param",
        operation=entry.operation,
        dtype=entry.dtype,
        reduction="sum" if entry.operation in REDUCING else "",
        nbytes_printed=entry.nbytes,
        size_is=entry.size_is,
        seconds=None,
        statistic=STATISTIC,
        in_place=True if in_place else None,
        group=group,
        file=log.name,
        line=line.number,
        printed=entry.tokens,
        backend="",
    )


def _pair_drafts(entry: Entry, log: Log, line: Line, group: int) -> list[Draft]:
    """Return ping-pong, one way, and the streams of one direction and of both (comms.py runPt2Pt).

    The round trip is halved. The bandwidth of both directions counts both (getBiBW: 2 x size), and the total is that
    of all pairs.
    """
    tokens = entry.tokens
    drafts = []  # ping-pong first: it is of two ranks, whatever the user says of the others
    for operation, name, share in (("ping_pong", "pingPong", 0.5), ("ping", "ping", 1.0)):
        seconds = figure(tokens[f"{name} p50"], MICRO * share)
        row = _pair_row(
            entry, log, line, group, operation, ("size (B)", *(f"{name} {p}" for p in ("p50", "p75", "p95")))
        )
        percentiles = {p: float(tokens[f"{name} {p}"]) * MICRO * share for p in ("p75", "p95")}
        drafts.append(Draft(row=msgspec.structs.replace(row, percentiles=percentiles), seconds=seconds))
    for operation, name, directions in (("stream", "UniBW", 1), ("bidirectional_stream", "BiBW", 2)):
        columns = (f"avg{name}(GB/s)", f"total{name}(GB/s)")
        bandwidth = figure(tokens[columns[0]], GIGA)
        seconds = None if bandwidth is None else quotient(float(entry.nbytes * directions), bandwidth)
        if seconds is None or not entry.nbytes:
            log.skip(line, f"{columns[0]} rounds to nothing: no time can be told from it")
            continue
        row = _pair_row(entry, log, line, group, operation, ("size (B)", *columns))
        row = msgspec.structs.replace(
            row, statistic="mean of iterations, mean of rates of ranks", directions=directions
        )
        drafts.append(Draft(row=row, seconds=seconds, algorithm=bandwidth if directions == 1 else None))
    return drafts


def _pair_row(entry: Entry, log: Log, line: Line, group: int, operation: str, columns: Sequence[str]) -> Row:
    return msgspec.structs.replace(
        _row(entry, log, line, group), operation=operation, printed={name: entry.tokens[name] for name in columns}
    )

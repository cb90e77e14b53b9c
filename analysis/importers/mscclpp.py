"""mscclpp-test: the JSON lines of --output_file.

Keys from test/mscclpp-test/common.cc of MSCCL++: the time in us is the mean over ranks of a loop of CUDA graph
launches, the bandwidths in 10^9 B/s follow from it with nccl-tests' factors, the elements are int (setupCollTest).
Lines of test/deploy/perf_*.jsonl have a target too: they are limits to compare with, and no measurement.
"""

from __future__ import annotations

import re

from collmark.analysis.importers.document import Document, Located, Number
from collmark.analysis.importers.figure import Figure, figure
from collmark.analysis.importers.row import Row, Skipped
from collmark.analysis.importers.section import Draft, Importer, Log
from collmark.analysis.importers.settle import settle
from collmark.core.case import Cadence, Device

_OPERATIONS = {
    "allgather": "all_gather",
    "allreduce": "all_reduce",
    "alltoall": "all_to_all",
    "alltoallv": "all_to_all_v",
    "reducescatter": "reduce_scatter",
    "sendrecv": "send_recv",
}
_REDUCING = ("all_reduce", "reduce_scatter")
_COUNTS = ("kernel", "ranks", "ranksPerNode", "size")
_FIGURES = ("time", "algBw", "busBw")
_KEYS = {"name", *_COUNTS, *_FIGURES}
_ITEMSIZE = 4
_NEAR, _LARGEST = 1e-3, 1e11  # a double has digits enough to tell a whole number of bytes from another
_WHOLE = re.compile(r"\d{1,19}", re.ASCII)


def read_line(log: Log, document: Document) -> bool:
    """Read one object; return whether it is this tool's."""
    value = document.value
    if not isinstance(value, Located) or not value.keys() >= _KEYS:
        return False
    line, lines = document.lines_of(value)
    reason = _read(log, line, value) if lines == 1 else "it does not stand on one line"
    if reason:
        log.skipped.append(Skipped(file=log.name, line=line, text=str(value.get("name"))[:160], reason=reason))
    return True


def _read(log: Log, line: int, value: Located) -> str:
    if "target" in value:
        return "a limit to compare measurements with, and none itself"
    operation = _OPERATIONS.get(str(value["name"]).lower().replace("_", "").replace("-", ""))
    if operation is None:
        return "no operation of this tool has that name"
    if not all(isinstance(value[key], Number) for key in (*_COUNTS, *_FIGURES)):
        return "figures are no numbers"
    if not all(_WHOLE.fullmatch(value[key]) for key in _COUNTS):
        return "size, kernel and ranks are not whole numbers"
    ranks, on_node = int(value["ranks"]), int(value["ranksPerNode"])
    seconds = figure(value["time"], 1e-6)
    algorithm, bus = _exact(value["algBw"]), _exact(value["busBw"])
    if seconds is None or seconds.value <= 0 or algorithm is None or bus is None or ranks < 1 or on_node < 1:
        return "nothing was measured"
    nodes = ranks // on_node if ranks % on_node == 0 else None
    draft = Draft(
        row=_row(log, line, value, operation, ranks),
        seconds=_wider(seconds),
        algorithm=algorithm,
        bus=bus,
        nbytes=_effective(algorithm.value * seconds.value, int(value["size"])),
    )
    settle(log, [draft], ranks=ranks, nodes=nodes)
    return ""


def _row(log: Log, line: int, value: Located, operation: str, ranks: int) -> Row:
    settings = f"kernel {value['kernel']}"
    return Row(
        tool="mscclpp",
        operation=operation,
        nbytes_printed=int(value["size"]),
        seconds=None,
        statistic="one loop, mean of processes",
        file=log.name,
        line=line,
        printed={key: str(value[key]) for key in ("size", *_FIGURES)},
        backend="mscclpp",
        dtype="int32",
        reduction="sum" if operation in _REDUCING else "",
        group=_group(log, operation, settings, ranks, int(value["size"])),
        device=Device.CUDA,
        cadence=Cadence.GRAPH,
        settings=settings,
    )


def _effective(moved: float, asked: int) -> int | None:
    """Return the size that was moved, where it was rounded down from the one asked for, which alone is printed."""
    if not moved <= _LARGEST:
        return None  # among them inf, which has no whole number
    nbytes = round(moved)
    if nbytes >= asked or nbytes % _ITEMSIZE or abs(moved - nbytes) > _NEAR:
        return None
    return nbytes


def _exact(text: str) -> Figure | None:
    found = figure(text, 1e9)
    return None if found is None else _wider(found)


def _wider(found: Figure) -> Figure:
    """Return a figure whose last digit may be one of the double that the tool printed in full."""
    slack = 1e-9 * found.value
    return Figure(found.text, found.value, min(found.lower, found.value - slack), max(found.upper, found.value + slack))


def _group(log: Log, operation: str, settings: str, ranks: int, nbytes: int) -> int:
    """Return the number of the run that a line goes on with, or of a new one: within a run the sizes grow."""
    last = log.rows[-1] if log.rows else None
    if (
        last is not None
        and last.tool == "mscclpp"
        and (last.operation, last.settings, last.ranks) == (operation, settings, ranks)
        and (last.nbytes_printed or 0) < nbytes
    ):
        return last.group
    log.groups += 1
    return log.groups


IMPORTER = Importer(name="mscclpp", says="mscclpp-test", opens=None, section=None, reads=read_line)

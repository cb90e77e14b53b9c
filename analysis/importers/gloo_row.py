"""A line of figures of gloo's benchmark as a row."""

from __future__ import annotations

import re

import msgspec

from collmark.analysis.importers.figure import Figure, figure
from collmark.analysis.importers.gloo_algorithm import Algorithm
from collmark.analysis.importers.line import Line
from collmark.analysis.importers.row import Row
from collmark.analysis.importers.section import Draft

_WHOLE = re.compile(r"\d{1,18}", re.ASCII)
_THREE = re.compile(r"\d{1,12}\.\d{3}", re.ASCII)
_RISING = ("min", "p50", "p99", "p995", "max")
_PERCENTILES = {"min": "min", "p99": "p99", "p995": "p99.5", "max": "max", "avg": "mean"}
_DTYPES = {4: "float32", 2: "float16"}


class Read(msgspec.Struct, frozen=True, kw_only=True):
    """A line of figures.

    Attributes
    ----------
    unit : float
        Of the times, in s; they are cut down to whole units, not rounded.
    """

    line: int
    printed: dict[str, str]
    size: int | None
    elements: int
    unit: float
    bandwidth: Figure | None

    @property
    def mean(self) -> tuple[float, float]:
        """Bounds of the mean time, in s.

        Where it is not printed: half of the times are at most the median, half at least; all but a hundredth are at
        most the 99th percentile.
        """
        least, median, late, most = (int(self.printed[name]) for name in ("min", "p50", "p99", "max"))
        if "avg" in self.printed:
            mean = int(self.printed["avg"])
            return max(0, mean - 1) * self.unit, (mean + 1) * self.unit
        return (least + median) / 2 * self.unit, (0.5 * median + 0.49 * late + 0.01 * most + 1) * self.unit


def read_figures(line: Line, columns: list[str], edges: tuple[int, int], unit: float) -> Read | str:
    """Return the figures of a line, or why they are none; `edges` is where the header's first and last column end."""
    tokens = line.text.split()
    if len(tokens) != len(columns):
        return f"{len(tokens)} columns instead of {len(columns)}"
    if (len(line.text) - len(line.text.lstrip()) + len(tokens[0]), len(line.text)) != edges:
        return "its figures do not end where their columns do: they may be cut off"
    printed = dict(zip(columns, tokens, strict=True))
    return _refusal(printed) or Read(
        line=line.number,
        printed=printed,
        size=int(printed["size"]) if "size" in printed else None,
        elements=int(printed["elements"]),
        unit=unit,
        bandwidth=figure(printed["bandwidth"], 2.0**30),
    )


def _refusal(printed: dict[str, str]) -> str:
    """Return why figures cannot be those of a line, or nothing."""
    if not _THREE.fullmatch(printed["bandwidth"]):
        return "the bandwidth is cut off or no number"
    if not all(_WHOLE.fullmatch(text) for column, text in printed.items() if column != "bandwidth"):
        return "sizes or times are no whole numbers"
    times = [int(printed[name]) for name in _RISING if name in printed]
    if times != sorted(times) or ("avg" in printed and not times[0] <= int(printed["avg"]) <= times[-1]):
        return "the times contradict each other"
    if int(printed["p50"]) == 0 or int(printed["samples"]) == 0:
        return "nothing was measured, or too short for the clock's unit"
    elements = int(printed["elements"])
    if "size" in printed and (elements == 0 or int(printed["size"]) not in (1 * elements, 2 * elements, 4 * elements)):
        return "size and elements contradict each other"
    return ""


def draft_of(algorithm: Algorithm, one: Read, itemsize: int | None, inputs: int, place: tuple[str, int, str]) -> Draft:
    """Return a row before it is settled; `place` is file, group and settings."""
    file, group, settings = place
    scale = one.unit / algorithm.trips
    moved = algorithm.itemsize_moved or itemsize
    # With several inputs a process, only what is reduced or copied within it first has the size of one.
    known = algorithm.sized and moved is not None and (inputs == 1 or algorithm.operation in ("all_reduce", "reduce"))
    row = Row(
        tool="gloo",
        operation=algorithm.operation,
        nbytes_printed=one.size if algorithm.sized else None,
        size_is=algorithm.size_is,
        seconds=None,
        statistic="median of iterations, rank 0",
        file=file,
        line=one.line,
        printed=one.printed,
        backend="gloo",
        dtype=_DTYPES.get(itemsize or 0, "") if algorithm.sized and algorithm.itemsize_moved is None else "",
        reduction=algorithm.reduction,
        group=group,
        device=algorithm.device,
        repetitions=int(one.printed["samples"]),
        percentiles={
            _PERCENTILES[name]: int(text) * scale for name, text in one.printed.items() if name in _PERCENTILES
        },
        settings=settings,
    )
    return Draft(
        row=row,
        seconds=figure(one.printed["p50"], scale),
        nbytes=one.elements * moved if known and moved is not None else None,
        is_unclear=not known,
    )

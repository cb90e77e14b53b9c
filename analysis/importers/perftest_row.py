"""A line of figures of perftest, checked against itself, as a row.

Formats (src/perftest_parameters.h): REPORT_FMT prints bandwidths with two decimals, REPORT_FMT_EXT below 0.1 Gb/s with
six, message rates always with six, times with two. MB/sec and MiB/sec are both 2^20 bytes a second, Gb/sec is 10^9 bits
a second (format_factor in print_report_bw). Rate and bandwidth come from one division, so that each checks the other.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import pairwise

from collmark.analysis.importers.figure import Figure, figure, quotient
from collmark.analysis.importers.perftest_trial import Kind, Trial
from collmark.analysis.importers.row import Row
from collmark.analysis.importers.section import Draft
from collmark.analysis.importers.settle import SLACK
from collmark.core.case import Device

UNITS = {"MB": 2.0**20, "MiB": 2.0**20, "Gb": 1e9 / 8}
_WHOLE = re.compile(r"\d{1,19}", re.ASCII)
_TWO = re.compile(r"\d{1,15}\.\d\d", re.ASCII)
_SIX = re.compile(r"\d{1,15}\.\d{6}", re.ASCII)
_TICKS = (".00", ".50")
_RANKED = ("t_min", "t_typical", "99%", "99.9%", "t_max")  # single samples, in rising order

BANDWIDTH = ("#bytes", "#iterations", "BW peak", "BW average", "MsgRate")
LATENCY = ("t_min", "t_max", "t_typical", "t_avg", "t_stdev", "99%", "99.9%")
PERCENTILES = {
    "t_min": "min",
    "t_max": "max",
    "t_typical": "median",
    "t_stdev": "stdev",
    "99%": "p99",
    "99.9%": "p99.9",
}


class Place:
    """Where a figure stands, and what else the text says about its run."""

    def __init__(self, file: str, group: int, line: int, lines: int = 1) -> None:
        self.file, self.group, self.line, self.lines = file, group, line, lines
        self.settings = ""
        self.device: Device | None = None

    def set(self, verb: str, connection: str, queue_pairs: str) -> None:
        """Say what was connected; nothing where part of it is missing, so that no two runs look alike that are not."""
        if connection and queue_pairs:
            self.settings = f"{verb}, {connection}, {queue_pairs} queue pair{'' if queue_pairs == '1' else 's'}"


def draft_of(test: Trial, printed: Mapping[str, str], unit: str | None, place: Place) -> Draft | str:
    """Return a row before it is settled, or why the figures cannot be those of one.

    Parameters
    ----------
    test : Trial
        What was measured.
    printed : mapping of str to str
        Figures by column, as printed.
    unit : str or None
        Of the bandwidths; None where no header says it.
    place : Place
        Where they stand.
    """
    if not _WHOLE.fullmatch(printed["#bytes"]) or not _WHOLE.fullmatch(printed["#iterations"]):
        return "size and iterations are not whole numbers"
    if int(printed["#iterations"]) == 0:
        return "no iteration was made"
    if test.kind is Kind.BANDWIDTH:
        return _bandwidth(test, printed, unit, place)
    return _latency(test, printed, place)


def _row(test: Trial, printed: Mapping[str, str], place: Place, statistic: str, times: dict[str, float]) -> Row:
    return Row(
        tool="perftest",
        operation=test.operation,
        nbytes_printed=int(printed["#bytes"]),
        seconds=None,
        statistic=statistic,
        file=place.file,
        line=place.line,
        lines=place.lines,
        printed=dict(printed),
        backend="verbs",
        dtype="uint8",  # what moves is bytes
        group=place.group,
        device=place.device,
        directions=test.directions,
        repetitions=int(printed["#iterations"]),
        percentiles=times,
        settings=place.settings,
    )


def _bandwidth(test: Trial, printed: Mapping[str, str], unit: str | None, place: Place) -> Draft | str:
    bandwidths = printed["BW peak"], printed["BW average"]
    if not all(map(_TWO.fullmatch, bandwidths)) and not all(map(_SIX.fullmatch, bandwidths)):
        return "bandwidths are cut off or no numbers"
    if not _SIX.fullmatch(printed["MsgRate"]):
        return "the message rate is cut off or no number"
    rate = figure(printed["MsgRate"], 1e6 / test.directions)
    average = bandwidths[1]
    found = {name: figure(average, UNITS[name] / test.directions) for name in ([unit] if unit else ["MiB", "Gb"])}
    fitting = [one for one in found.values() if one is not None and _fits(int(printed["#bytes"]), rate, one)]
    if not fitting:
        return "bandwidth, message rate and size contradict each other" if unit else "no header, and no unit fits"
    if len(fitting) > 1:
        return "no header tells the unit of the bandwidth"
    algorithm = fitting[0]
    interval = None if rate is None else quotient(1.0, rate)
    if algorithm.value <= 0 and interval is None:
        return "nothing was measured"
    both = "mean of both sides" if test.directions == 2 else "initiating side"
    return Draft(
        row=_row(test, printed, place, f"one loop, {both}", {}),
        seconds=interval if interval is not None and _width(interval) < _width(algorithm) else None,
        algorithm=algorithm,
    )


def _fits(nbytes: int, rate: Figure | None, bandwidth: Figure) -> bool:
    if rate is None:
        return False
    lower, upper = nbytes * rate.lower, nbytes * rate.upper
    return lower <= bandwidth.upper * (1 + SLACK) and bandwidth.lower <= upper * (1 + SLACK)


def _width(found: Figure) -> float:
    return (found.upper - found.lower) / found.value if found.value > 0 else float("inf")


def _latency(test: Trial, printed: Mapping[str, str], place: Place) -> Draft | str:
    times = {name: printed[name] for name in LATENCY if name in printed}
    if not all(map(_TWO.fullmatch, times.values())):
        return "times are cut off or no numbers"
    found = {name: float(text) for name, text in times.items()}
    if "t_min" in found and all(times[name].endswith(_TICKS) for name in _RANKED if name in times):
        return "the times are whole or half numbers, as processor cycles are (-C)"
    if not _ordered(found):
        return "the times contradict each other"
    column = "t_avg" if "t_avg" in times else "t_typical"
    seconds = figure(times[column], 1e-6)
    if seconds is None or seconds.value <= 0:
        return "nothing was measured"
    statistic = {"t_avg": "mean of iterations", "t_typical": "median of iterations"}[column]
    if "t_min" not in times:
        statistic = "one loop"
    percentiles = {PERCENTILES[name]: value * 1e-6 for name, value in found.items() if name not in (column, "t_avg")}
    return Draft(row=_row(test, printed, place, f"{statistic}, initiating side", percentiles), seconds=seconds)


def _ordered(times: Mapping[str, float]) -> bool:
    known = [times[name] for name in _RANKED if name in times]
    if any(low > high for low, high in pairwise(known)):
        return False
    mean = times.get("t_avg")
    return mean is None or "t_min" not in times or times["t_min"] <= mean <= times["t_max"]

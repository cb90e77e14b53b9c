"""One result in nccl-tests' JSON, as a row of its table.

Source: nccl-tests src/util.cu (writeBenchmarkLinePreamble, writeBenchmarkLineBody, computeIterStats,
writePerIterReport). Tools that lay JSON out anew may shorten numbers; a result some of whose lines are gone is told by
what no longer fits.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from collmark.analysis.importers.document import Located
from collmark.analysis.importers.nccl_names import NONE, REDUCTIONS
from collmark.analysis.importers.nccl_row import Parsed, row_of

HALVES = {"out_of_place": False, "in_place": True}
_STATISTICS = ("min_us", "p50_us", "p95_us", "p99_us", "max_us")
_DECIMAL = re.compile(r"\d{1,15}(?:\.\d{1,9})?", re.ASCII)
_FULL = re.compile(r"\d+\.\d{6}", re.ASCII)
_ROOT = re.compile(r"-1|0|[1-9]\d{0,6}", re.ASCII)
NO_NUMBER = "time, bandwidth or wrong elements are no numbers"


class Result(NamedTuple):
    """A result.

    Attributes
    ----------
    row : Parsed
    cpu_time : bool
    in_place : bool
        Of the first half.
    """

    row: Parsed
    cpu_time: bool
    in_place: bool


def read_result(one: Located, *, ragged: bool, one_line: bool) -> tuple[Result | None, list[str]]:
    """Return a result without those of its halves that are no numbers, and what is wrong about it.

    Parameters
    ----------
    one : Located
    ragged : bool
        Size does not follow from the count.
    one_line : bool
        It stands on one line, as the tool writes it: over several, nothing ties statistics to their result if some
        of these are gone.
    """
    if not one.keys() >= HALVES.keys():
        return None, ["half of it is missing: the tool writes null where it has nothing"]
    size, count, kind, redop, root = (text_of(one.get(name)) for name in ("size", "count", "type", "redop", "root"))
    columns: dict[str, tuple[str, ...]] = {}
    faults = []
    cpu_time = False
    for name in HALVES:
        half = one.get(name)
        if isinstance(half, Located):
            cpu_time = cpu_time or "cpu_time" in half
            tokens = _tokens_of(half, one.get(f"{name}_per_iter"))
            if tokens:
                columns[name] = tokens
            else:
                faults.append(f"{name}: {NO_NUMBER}")
    if not columns:
        return None, faults or ["no figures out of place or in place"]
    if not one_line:
        columns = {name: tokens[:4] for name, tokens in columns.items()}
    named = redop if redop in REDUCTIONS or redop == NONE else None
    row = row_of(
        (size, count, kind, named, root if _ROOT.fullmatch(root) else None),
        [("json" if len(tokens) == 4 else "json_iterations", tokens) for tokens in columns.values()],
    )
    fault = row if isinstance(row, str) else _misfit(row, ragged=ragged, cpu_time=cpu_time)
    if fault or isinstance(row, str):
        return None, [fault]
    return Result(row, cpu_time, HALVES[next(iter(columns))]), faults


def _tokens_of(half: Located, statistics: object) -> tuple[str, ...]:
    """Return the figures of a half as written, with those of its iterations; nothing where they are no numbers."""
    time = text_of(half.get("cpu_time" if "cpu_time" in half else "time"))
    algorithm, bus = (text_of(half.get(name)) for name in ("alg_bw", "bus_bw"))
    if not all(_DECIMAL.fullmatch(one) for one in (time, algorithm, bus)):
        return ()
    wrong = half.get("nwrong", "")
    tokens = (time, algorithm, bus, "null" if wrong is None else text_of(wrong))
    if isinstance(wrong, str) and wrong and not _is_count(tokens[3], time):
        return ()
    if isinstance(statistics, Located):
        further = tuple(text_of(statistics.get(name)) for name in _STATISTICS)
        if all(_DECIMAL.fullmatch(token) for token in further) and _are_of(further, statistics.get("times_us")):
            return tokens + further
    return tokens


def _is_count(token: str, time: str) -> bool:
    """Return whether a number of wrong elements is whole, and not cut off: it is the last of its object."""
    if not _DECIMAL.fullmatch(token) or float(token) % 1:
        return False
    return float(token) == 0 or _FULL.fullmatch(token) is not None or _FULL.fullmatch(time) is None


def _are_of(statistics: tuple[str, ...], times: object) -> bool:
    """Return whether statistics are those of the times beside them (nearest ranks)."""
    values = [float(one) for one in statistics]
    if not isinstance(times, list):
        return values == sorted(values)
    if not times or not all(isinstance(one, str) and _DECIMAL.fullmatch(one) for one in times):
        return False
    ordered = sorted(float(one) for one in times)
    last = len(ordered) - 1
    at = (0, len(ordered) // 2, *(min(last, (len(ordered) * share + 99) // 100 - 1) for share in (95, 99)), last)
    return values == [ordered[index] for index in at]


def text_of(value: object) -> str:
    """Return a number or string without the spaces that pad it."""
    return value.strip() if isinstance(value, str) else ""


def _misfit(row: Parsed, *, ragged: bool, cpu_time: bool) -> str:
    """Return what is impossible about a row."""
    fault = row.misfit(ragged=ragged)
    if not fault and not cpu_time and not all(half.fits for half in row.halves):
        return "time and bandwidth do not fit: figures of several results are mixed"
    return fault

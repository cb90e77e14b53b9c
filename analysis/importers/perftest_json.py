"""perftest's --out_json: one object a size, with what was tested and the figures.

Keys and formats from REPORT_FMT_JSON, REPORT_FMT_LAT_JSON and REPORT_FMT_LAT_DUR_JSON of src/perftest_parameters.h. The
unit of a bandwidth is in no key; it follows from the message rate and the size.
"""

from __future__ import annotations

from typing import Any

from collmark.analysis.importers.document import Document, Located, Number
from collmark.analysis.importers.perftest_row import Place, draft_of
from collmark.analysis.importers.perftest_trial import Kind, Trial, named_trial
from collmark.analysis.importers.row import Skipped
from collmark.analysis.importers.section import Log
from collmark.analysis.importers.settle import settle
from collmark.core.case import Device

_SIZE = {"#bytes": "MsgSize", "#iterations": "n_iterations"}
_BANDWIDTH = _SIZE | {"BW peak": "BW_peak", "BW average": "BW_average", "MsgRate": "MsgRate"}
_LATENCY = _SIZE | {
    "t_min": "t_min",
    "t_max": "t_max",
    "t_typical": "t_typical",
    "t_avg": "t_avg",
    "t_stdev": "t_stdev",
    "99%": "percentile_99",
    "99.9%": "percentile_99.9",
}
_DURATION = _SIZE | {"t_avg": "t_avg"}


def read_report(log: Log, document: Document) -> bool:
    """Read a report; return whether the document is one."""
    value = document.value
    if not isinstance(value, Located) or not isinstance(value.get("test_info"), Located):
        return False
    told = value["test_info"]
    results = value.get("results")
    found = [one for one in (results if isinstance(results, list) else [results]) if isinstance(one, Located)]
    if not isinstance(told.get("test"), str) or not found:
        return False
    log.groups += 1
    for one in found:
        reason = _read(log, document, told, one)
        if reason:
            line, _ = document.lines_of(one)
            log.skipped.append(Skipped(file=log.name, line=line, text='"results"', reason=reason))
    return True


def _read(log: Log, document: Document, told: Located, found: Located) -> str:
    test = named_trial(told["test"])
    connection, queue_pairs = told.get("Connection_type"), told.get("Number_of_qps")
    if test is None:
        return f"{told['test'][:40]!r} is no known test"
    if test.verb == "send" and not isinstance(connection, str):
        return "no key says whether the connection is one of raw Ethernet"
    if connection == "RawEth":
        test = Trial(verb=test.verb, kind=test.kind, directions=test.directions, special="raw_ethernet")
    printed = _figures(test, found)
    if printed is None:
        return "figures are missing"
    place = Place(log.name, log.groups, *document.lines_of(found))
    if isinstance(connection, str) and isinstance(queue_pairs, Number):
        place.set(test.verb, connection, str(queue_pairs))
    if "cuda_device" in told or told.get("Use_ROCm_memory") == "ON":
        place.device = Device.CUDA
    draft = draft_of(test, printed, None, place)
    if isinstance(draft, str):
        return draft
    settle(log, [draft], ranks=2)
    return ""


def _figures(test: Trial, found: dict[str, Any]) -> dict[str, str] | None:
    keys = _BANDWIDTH if test.kind is Kind.BANDWIDTH else _LATENCY if "t_min" in found else _DURATION
    if keys is _DURATION and "tps_average" not in found:
        return None
    printed = {column: found.get(key) for column, key in keys.items()}
    if not all(isinstance(token, Number) for token in printed.values()):
        return None
    return {column: str(token) for column, token in printed.items()}

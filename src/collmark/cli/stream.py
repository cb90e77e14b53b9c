"""A run as JSON objects, one a line, as it happens."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from collmark.bench.event import Event, LaunchStarted, RunStarted
from collmark.bench.runner import Finished
from collmark.cli.conclusion import missing_records, next_command
from collmark.cli.console import Terminal
from collmark.core.disturbance import findings
from collmark.core.lower_bound import of_bound
from collmark.core.metrics import algorithm_bandwidth, bus_bandwidth
from collmark.core.record import Record, Run
from collmark.core.slowdown import slowdowns
from collmark.core.straggler import stragglers
from collmark.workflow.listing import count_statuses, modes_of_run


def record_object(record: Record) -> dict[str, Any]:
    """Return a record as builtins, with the bandwidths that are computed when it is read, in B/s."""
    thing: dict[str, Any] = msgspec.to_builtins(record)
    timing = record.timing
    thing["algorithm_bandwidth"] = None if timing is None else algorithm_bandwidth(record.case, timing.median)
    thing["bus_bandwidth"] = None if timing is None else bus_bandwidth(record.case, timing.median)
    thing["oversubscribed"] = record.oversubscribed
    return thing


def write_event(terminal: Terminal, event: Event) -> None:
    """Write the start of a run, what the doctor found, or a record; other events are for people."""
    match event:
        case RunStarted():
            start = msgspec.to_builtins(event)
            terminal.emit({"event": "start", **{key: start[key] for key in start if key != "type"}})
        case LaunchStarted(launch=launch) if launch.doctor is not None and launch.doctor.findings:
            found = msgspec.to_builtins(launch.doctor.findings)
            terminal.emit({"event": "doctor", "launch": launch.id, "findings": found})
        case Finished():
            terminal.emit({"event": "record", **record_object(event.record)})


def write_end(terminal: Terminal, path: Path, run: Run, records: Sequence[Record], seconds: float) -> None:
    """Write the last object of a run that came to its end."""
    terminal.emit(
        {
            "event": "end",
            "folder": str(path),
            "seconds": seconds,
            "records": sum(record.sentinel is None for record in records),
            "missing": missing_records(run, records),
            "statuses": {str(status): count for status, count in count_statuses(records).items()},
            "findings": findings(run, records),
            "of_bound": msgspec.to_builtins(of_bound(records)),
            "slowdowns": msgspec.to_builtins(slowdowns(records)),
            "modes": msgspec.to_builtins(modes_of_run(run, records, path.name)),
            "stragglers": msgspec.to_builtins(stragglers(run, records)),
            "next": next_command(path, run, records),
        }
    )

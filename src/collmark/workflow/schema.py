"""results/README.md: what the files of a run mean, from the field tables of the stored types."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

import msgspec

from collmark.core.field_table import STORED, field_table
from collmark.core.record import SCHEMA_VERSION

INTRODUCTION = f"""\
# Results

This page is written by `collmark schema`; change the field tables in `src/collmark/core/record.py` instead.

A run is one plan carried out: a folder `<UTC stamp>-<label>` under `./results`, `--output` or `COLLMARK_RESULTS`.
Every command takes a run by its path, its folder's name, its label, or `latest`. Schema version: {SCHEMA_VERSION}.
A newer schema is refused; an older one is read as the current one.

| file | what it holds |
|---|---|
| `run.json` | one Run: plan, cases, and a Launch for each set of fresh processes, with hosts, libraries, clock |
| `records.jsonl` | one Record a line: one case in one launch; on disk before the next case starts |
| `samples-NNNN.i64` | stamps of launch NNNN, on rank 0's clock: little-endian int64 in ns; see the record's `samples` |
| `logs/` | what each rank printed |
| `.lock` | held while the run is written |

Times are in s, sizes in B. Bandwidth is computed when a record is read and never stored: algorithm bandwidth is
nbytes / T, bus bandwidth is the operation's bus factor times that. A torn last line of `records.jsonl` is what a
crash leaves: it is skipped with a warning, and cut off when the run is resumed. A line that repeats an earlier one's
case, launch and sentinel is left out with a warning; any other line that is no record is refused, by its number and
field. Records with a `sentinel` are repeats
of one case that show the drift of a launch, and count in nothing else. Environment variables are kept by an
allow-list, without credentials.

`collmark export RUN` writes one flat row per record: the names below joined by underscores (`timing_median`), SI
units, and `algorithm_bandwidth`, `bus_bandwidth` (B/s), `oversubscribed`, and facts of the launch.

The interval to believe is over launches, not the one inside a record: Student's t on the logarithms of the launches'
medians.
"""


def schema_text() -> str:
    """Return the page."""
    sections = [line for struct in STORED for line in _section(struct)]
    return "\n".join([INTRODUCTION, *sections]).rstrip("\n") + "\n"


def _section(struct: type[msgspec.Struct]) -> Iterator[str]:
    yield f"## {struct.__name__}"
    yield ""
    yield (inspect.getdoc(struct) or "").split("\n\n")[0].replace("\n", " ")
    yield ""
    yield "| field | type | unit | meaning |"
    yield "|---|---|---|---|"
    for field in field_table(struct):
        yield f"| `{field.name}` | {field.type} | {field.unit} | {field.meaning} |"
    yield ""

"""Other tools' logs to runs: read, convert, store. Nothing here prints."""

from __future__ import annotations

import itertools
import json
import re
import signal
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime
from operator import attrgetter
from pathlib import Path

import msgspec

from collmark import __version__
from collmark.analysis.importers.index import IMPORTERS
from collmark.analysis.importers.read import Read, read_log
from collmark.analysis.importers.records import Terms, record_of, sort_rows, uneven_words
from collmark.analysis.importers.row import Facts, Row
from collmark.core.case import Case, Device
from collmark.core.dtype import DTYPES
from collmark.core.errors import UnknownNameError, UsageError, excerpt, short_path
from collmark.core.operation_table import OPERATIONS
from collmark.core.placement import MOST_RANKS, Fabric, Tier
from collmark.core.plan import Plan
from collmark.core.record import SCHEMA_VERSION, Run
from collmark.core.store import RunFolder
from collmark.workflow.places import new_run_path

STDIN, STDIN_NAME = "-", "<stdin>"
MANY = 16
"""Logs from which on they are shared out to several processes."""
JSON_FIELDS = (
    "tool", "operation", "dtype", "reduction", "ranks", "ranks_from", "nbytes", "nbytes_printed", "seconds",
    "statistic", "algorithm_bandwidth", "bus_bandwidth", "wrong", "in_place", "group", "file", "line",
)  # fmt: skip
"""Fields of a row that ``--json`` prints."""
_NOT_ASCII = re.compile(r"[^\x00-\x7f]+")
_NAME = re.compile(r"[A-Za-z0-9-]{1,32}")
_NO_LABEL = re.compile(r"[^A-Za-z0-9._-]+")


class Stored(msgspec.Struct, frozen=True, kw_only=True):
    """A run made of a log.

    Attributes
    ----------
    path : str
        Its folder.
    label : str
    tools, operations : tuple of str
        What is in it.
    records, launches : int
    """

    path: str
    label: str
    tools: tuple[str, ...]
    operations: tuple[str, ...]
    records: int
    launches: int


class Import(msgspec.Struct, frozen=True, kw_only=True):
    """What became of some logs.

    Attributes
    ----------
    runs : tuple of Stored
        What was stored.
    missing : dict of str to int
        How many rows each reason kept from being stored.
    uneven : str
        Which cases are in how many launches, where several logs are launches and not all cases are in all.
    """

    runs: tuple[Stored, ...]
    missing: dict[str, int]
    uneven: str


def facts_of(
    *,
    ranks: str | None = None,
    nodes: str | None = None,
    operation: str | None = None,
    dtype: str | None = None,
    device: str | None = None,
    backend: str | None = None,
) -> Facts:
    """Return what the options say about logs.

    Raises
    ------
    UsageError
        If a number or a name is none.
    """
    if operation is not None:
        OPERATIONS[operation]
    if dtype is not None:
        DTYPES[dtype]
    if device is not None and device not in list(Device):
        raise UnknownNameError("device", device, Device)
    if backend is not None and not _NAME.fullmatch(backend):
        raise UsageError(f"--backend: {excerpt(backend)!r}: use letters, digits and dashes, as nccl")
    return Facts(
        ranks=_number("--ranks", ranks),
        nodes=_number("--nodes", nodes),
        operation=operation,
        dtype=dtype,
        device=None if device is None else Device(device),
        backend=backend,
    )


def _number(option: str, text: str | None) -> int | None:
    if text is None:
        return None
    if not text.isascii() or not text.isdigit() or len(text) > 7 or not 1 <= int(text) <= MOST_RANKS:
        raise UsageError(f"{option}: {text!r}: must be a whole number from 1 to {MOST_RANKS}")
    return int(text)


def tier_of(text: str | None) -> tuple[Tier, Fabric | None]:
    """Return the tier and fabric that ``nvlink`` or ``rdma:infiniband`` means.

    Raises
    ------
    UsageError
        If there is no such tier or fabric.
    """
    if text is None:
        return Tier.UNKNOWN, None
    tier, _, fabric = text.partition(":")
    allowed = [one.value for one in Tier if one not in (Tier.SIMULATED, Tier.SHARED_GPU)]
    if tier not in allowed:
        raise UsageError(f"--tier: {text!r} is none; allowed: {', '.join(allowed)}, and a fabric as rdma:infiniband")
    if not fabric:
        return Tier(tier), None
    if Tier(tier) is not Tier.RDMA or fabric not in list(Fabric):
        raise UsageError(f"--tier: {text!r}: fabrics of rdma are {', '.join(Fabric)}; other tiers have none")
    return Tier(tier), Fabric(fabric)


def read_files(names: Sequence[str], facts: Facts) -> tuple[list[Read], list[str]]:
    """Return what each log says, and the names of those that nobody recognises.

    Raises
    ------
    UsageError
        If a file cannot be opened, or is named twice.
    """
    first: dict[str, str] = {}
    for name in names:
        target = _target_of(name)
        if target in first:
            also = "" if first[target] == name else f", also as {short_path(first[target])}"
            raise UsageError(f"{short_path(name)} is named twice{also}: its figures would count twice")
        first[target] = name
    found, unknown = [], []
    for name, read in zip(names, _read_all(names, facts), strict=True):
        if read.rows or read.skipped:
            found.append(read)
        else:
            unknown.append(STDIN_NAME if name == STDIN else short_path(name))
    return found, unknown


def _target_of(name: str) -> str:
    """Return what a name leads to, whatever links are between."""
    try:
        return name if name == STDIN else str(Path(name).resolve())
    except (OSError, RuntimeError, ValueError):
        return name  # it cannot be read either, which is said where it is opened


def _read_all(names: Sequence[str], facts: Facts) -> list[Read]:
    """Return what each log says; many are shared out to the cores, since all the time goes into taking text apart."""
    if len(names) < MANY or STDIN in names:
        return [_read_one(name, facts) for name in names]
    with ProcessPoolExecutor(initializer=_leave_signals) as pool:
        parts = pool.map(_read_encoded, names, itertools.repeat(facts), chunksize=len(names) // 64 + 1)
        return [msgspec.msgpack.decode(part, type=Read) for part in parts]


def _leave_signals() -> None:
    """Leave Ctrl-C to the process that shares the work out."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _read_encoded(name: str, facts: Facts) -> bytes:
    return msgspec.msgpack.encode(_read_one(name, facts))


def _read_one(name: str, facts: Facts) -> Read:
    return read_log(_bytes_of(name), STDIN_NAME if name == STDIN else name, facts)


def supported() -> str:
    """Return the tools whose output is read, in words."""
    return ", ".join(dict.fromkeys(importer.says for importer in IMPORTERS.values()))


def _bytes_of(name: str) -> bytes:
    if name == STDIN:
        return sys.stdin.buffer.read()
    try:
        return Path(name).read_bytes()
    except IsADirectoryError as error:
        raise UsageError(f"{short_path(name)} is a folder: name the files in it, as {short_path(name)}/*") from error
    except (OSError, ValueError) as error:
        words = error.strerror if isinstance(error, OSError) else str(error)
        raise UsageError(f"{short_path(name)} cannot be read: {words}") from error


def to_json(reads: Sequence[Read], more: Mapping[str, object]) -> str:
    """Return rows and skipped lines, and more members, as one JSON object, in ASCII."""
    fields = attrgetter(*JSON_FIELDS)
    rows = [dict(zip(JSON_FIELDS, fields(row), strict=True)) for one in reads for row in one.rows]
    skipped = [line for one in reads for line in one.skipped]
    text = msgspec.json.encode({"rows": rows, "skipped": skipped, **more}).decode()
    return text if text.isascii() else _NOT_ASCII.sub(lambda match: json.dumps(match[0])[1:-1], text)


def store(
    reads: Sequence[Read], *, output: Path | None, label: str, as_launches: bool, terms: Terms, command: Sequence[str]
) -> Import:
    """Make runs of what was read: one for each log, or one of all in which several logs of a case are its launches.

    Parameters
    ----------
    reads : sequence of Read
        What logs say.
    output : Path or None
        Where runs lie.
    label : str
        Name of the runs; empty for those of the files.
    as_launches : bool
        The n-th figure of a case is its launch n. Otherwise figures of a case that stood there before go to a run of
        their own: nobody said that they are repetitions of one measurement.
    terms : Terms
        What holds for every record.
    command : sequence of str
        The command line, kept.

    Raises
    ------
    UsageError
        If a table stands twice among launches.
    """
    if as_launches:
        _refuse_copies(reads)
    missing: Counter[str] = Counter()
    runs: list[Stored] = []
    uneven = ""
    batches = [list(reads)] if as_launches else [[one] for one in reads]
    for batch in batches:
        rows = [row for one in batch for row in one.rows]
        found = sort_rows(rows)
        missing += found.missing
        notices = [f"{warned.file}:{warned.line}: {warned.text}" for one in batch for warned in one.warned]
        name = label or _label_of(rows)
        uneven = uneven_words(found.passes, sum(bool(one.rows) for one in batch)) if as_launches else ""
        notices[:0] = [uneven] if uneven else []
        passes = [found.passes] if as_launches else [[one] for one in found.passes]
        for number, launches in enumerate(passes, 1):
            if any(launches):
                own = name if number == 1 else f"{name}-{number}"
                runs.append(_store(launches, own, output, terms, command, notices))
    return Import(runs=tuple(runs), missing=dict(missing), uneven=uneven)


def _refuse_copies(reads: Sequence[Read]) -> None:
    """Raise UsageError where a table is another's copy: as launches they would show no variation at all.

    A single figure may well come again by chance.
    """
    tables: dict[tuple[str, int], list[Row]] = {}
    for row in (row for one in reads for row in one.rows):
        tables.setdefault((row.file, row.group), []).append(row)
    seen: dict[bytes, Row] = {}
    for rows in tables.values():
        figures = [(row.operation, row.dtype, row.settings, row.in_place, row.printed) for row in rows]
        first = seen.setdefault(msgspec.msgpack.encode(figures), rows[0])
        if first is not rows[0] and len(rows) > 1:
            copy, original = (f"{short_path(one.file)}:{one.line}" for one in (rows[0], first))
            raise UsageError(f"{copy}: the same figures as from {original} on: a copy is no launch, leave it away")


def now() -> str:
    """Return the moment, as run.json and records have it."""
    return datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def _label_of(rows: Sequence[Row]) -> str:
    """Return the name of a file as a label may be."""
    stem = Path(rows[0].file).name.split(".")[0] if rows else ""
    return _NO_LABEL.sub("-", stem).strip("-._")[:56] or "imported"


def _store(
    launches: Sequence[Sequence[tuple[Row, Case]]],
    label: str,
    output: Path | None,
    terms: Terms,
    command: Sequence[str],
    notices: Sequence[str],
) -> Stored:
    rows = [row for one in launches for row, _case in one]
    cases = list({case.key: case for one in launches for _row, case in one}.values())
    plan = Plan(
        operations=tuple(dict.fromkeys(case.operation for case in cases)),
        sizes=",".join(f"{nbytes}B" for nbytes in sorted({case.nbytes for case in cases})),
        dtypes=tuple(dict.fromkeys(case.dtype for case in cases)),
        reductions=tuple(dict.fromkeys(case.reduction for case in cases if case.reduction)),
        backends=tuple(dict.fromkeys(case.backend for case in cases)),
        placements=tuple({str(case.placement): case.placement for case in cases}.values()),
        launches=len(launches),
    )
    run = Run(
        schema_version=SCHEMA_VERSION,
        label=label,
        created=now(),
        version=__version__,
        command=list(command),
        plan=plan,
        cases=cases,
        notices=list(notices),
    )
    records = (record_of(row, case, launch, terms) for launch, one in enumerate(launches, 1) for row, case in one)
    folder = RunFolder.create(new_run_path(output, label), run, records)
    return Stored(
        path=str(folder.path),
        label=label,
        tools=tuple(dict.fromkeys(row.tool for row in rows)),
        operations=plan.operations,
        records=len(rows),
        launches=len(launches),
    )

"""From rows of a log to cases and records, so that other tools' figures serve fits, claims and reports."""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec

from collmark.analysis.importers.row import Row
from collmark.core.case import Case
from collmark.core.dtype import DTYPES
from collmark.core.errors import UsageError
from collmark.core.numeral import counted, listed
from collmark.core.operation_table import OPERATIONS
from collmark.core.placement import Fabric, Placement, Tier
from collmark.core.record import SCHEMA_VERSION, Check, Clock, Evidence, Imported, Record, Status

EVEN = "uniform"
"""Traffic of a ragged operation that a tool calls with equal counts."""
MOST_LABEL = 64
"""Characters of a placement's label; what is longer in a log is no setting that somebody reads."""
NO_OPERATION = " is no operation of collmark"
"""End of the reason, whose beginning is the name."""
ONE_EMPTY = "size 0 comes several times in a table: the first is stored"


class Terms(msgspec.Struct, frozen=True, kw_only=True):
    """What holds for every record of one import.

    Attributes
    ----------
    tier, fabric : Tier, Fabric or None
        As the user says; a log shows no link.
    read_at : str
        UTC time.
    """

    tier: Tier = Tier.UNKNOWN
    fabric: Fabric | None = None
    read_at: str


def case_of(row: Row) -> Case | str:
    """Return the case that a row is a figure of, or what is missing for there to be one, in words."""
    missing = _missing(row)
    if missing:
        return missing
    assert row.nbytes is not None, "known where ranks are"
    assert row.ranks is not None, "checked"
    assert row.nodes is not None, "checked"
    assert row.device is not None, "checked"
    operation = OPERATIONS[row.operation]
    try:
        return Case(
            operation=row.operation,
            backend=row.backend,
            dtype=row.dtype,
            placement=Placement(nodes=row.nodes, ranks_per_node=row.ranks // row.nodes, label=label_of(row.settings)),
            nbytes=row.nbytes,
            requested_nbytes=row.nbytes,
            reduction=row.reduction if operation.reduces else "",
            device=row.device,
            traffic=EVEN if operation.ragged else "",
            cadence=row.cadence,
            in_place=bool(row.in_place),
            directions=row.directions,
            messages=row.messages,
            form=row.form,
        )
    except (UsageError, msgspec.ValidationError) as error:
        return str(error)


def label_of(settings: str) -> str:
    """Return a text of a log as the label of a placement may be: printable, without /, at most `MOST_LABEL` long."""
    text = "".join("-" if one == "/" or not one.isprintable() else one for one in settings)
    if len(text) <= MOST_LABEL:
        return text
    end = f"-{zlib.crc32(settings.encode(errors='surrogatepass')):08x}"  # what differs further on stays apart
    return text[: MOST_LABEL - len(end)] + end


_NEEDS: tuple[tuple[Callable[[Row], object], str], ...] = (
    (lambda row: row.operation, "the operation is not in the log: say --operation {either}"),
    (lambda row: row.operation in OPERATIONS, "{row.operation}" + NO_OPERATION),
    (lambda row: row.ranks is not None, "the number of ranks is not in the log: say --ranks"),
    (lambda row: row.nbytes is not None, "no size is printed"),
    (lambda row: row.nodes is not None, "the number of nodes is not in the log: say --nodes"),
    (lambda row: (row.ranks or 0) % (row.nodes or 1) == 0, "{row.ranks} ranks do not lie evenly on {row.nodes} nodes"),
    (lambda row: row.dtype in DTYPES, "the element type is not in the log: say --dtype"),
    (lambda row: row.device is not None, "where the buffers lie is not in the log: say --device cpu or --device cuda"),
    (lambda row: row.backend, "what moved the bytes is not in the log: say --backend, as nccl"),
    (lambda row: row.seconds is not None or row.wrong, "no time can be told"),
)
"""What a row must have to be a case's, and what is said where it has not."""


def _missing(row: Row) -> str:
    *some, last = row.possible
    either = f"{', '.join(some)} or {last}" if some else last
    return next((words.format(row=row, either=either) for has, words in _NEEDS if not has(row)), "")


def record_of(row: Row, case: Case, launch: int, terms: Terms) -> Record:
    """Return the record of a row."""
    checked = 0 if row.wrong is None else max(case.count, row.wrong)
    first = f"{counted(row.wrong, 'wrong element')}: {row.file}:{row.line}" if row.wrong else ""
    because = [] if terms.tier is Tier.UNKNOWN else ["the user says so"]
    return Record(
        schema_version=SCHEMA_VERSION,
        launch=launch,
        case=case,
        status=Status.WRONG if row.wrong else Status.IMPORTED,
        simulated=False,
        started=terms.read_at,
        wall=0.0,
        clock=Clock.LOCAL,
        check=Check(
            checked=checked,
            wrong=row.wrong or 0,
            first=first,
            left_out="" if checked else "the log tells of no check",
        ),
        evidence=Evidence(tier=terms.tier, fabric=terms.fabric, because=because),
        imported=Imported(
            tool=row.tool,
            version=row.version,
            file=row.file,
            line=row.line,
            group=row.group,
            printed=dict(row.printed),
            seconds=row.seconds or 0.0,
            statistic=row.statistic,
            ranks_from="" if row.ranks_from is None else row.ranks_from.value,
            settings=row.settings,
            repetitions=row.repetitions or None,
            percentiles=dict(row.percentiles),
        ),
    )


class Sorted(msgspec.Struct, frozen=True, kw_only=True):
    """Rows that are figures of cases, and what is missing for the others.

    Attributes
    ----------
    passes : list of list of (Row, Case)
        No pass holds a case twice: the first has every case once, the second those that stood there again, ...
    missing : Counter of str
        How many rows each reason keeps out.
    """

    passes: list[list[tuple[Row, Case]]]
    missing: Counter[str]


def sort_rows(rows: Iterable[Row]) -> Sorted:
    """Return rows with their cases, those of one case in passes of their own; a run inside a log stays together."""
    passes: list[dict[str, tuple[Row, Case]]] = []
    missing: Counter[str] = Counter()
    for group in _groups(rows):
        own: list[dict[str, tuple[Row, Case]]] = []
        for row, case in _cases(group, missing):  # a case may stand several times in one run of a tool
            home = next((one for one in own if case.key not in one), None)
            if home is None:
                home = {}
                own.append(home)
            home[case.key] = row, case
        at = 0
        for part in own:
            while at < len(passes) and not passes[at].keys().isdisjoint(part):
                at += 1
            if at == len(passes):
                passes.append({})
            passes[at] |= part
            at += 1
    return Sorted(passes=[list(one.values()) for one in passes], missing=missing)


def uneven_words(passes: Sequence[Sequence[tuple[Row, Case]]], logs: int) -> str:
    """Return which cases are in how many launches; empty where all are in all.

    Parameters
    ----------
    passes : sequence of sequence of (Row, Case)
        Launches.
    logs : int
        That they were read from: so many launches at least were meant.
    """
    found = [case for one in passes for _row, case in one]
    times, named = Counter(case.key for case in found), {case.key: case for case in found}
    of_count: dict[int, list[str]] = {}
    for key, count in times.items():
        of_count.setdefault(count, []).append(f"{named[key]} on {named[key].placement}")
    most = max(len(passes), logs)
    if of_count.keys() <= {most}:
        return ""
    words = [
        f"{counted(len(own), 'case')} in {count} of {most} launches ({listed(list(dict.fromkeys(own)))})"
        for count, own in sorted(of_count.items(), reverse=True)
    ]
    return f"launches differ in their cases: {'; '.join(words)}"


def _cases(group: Sequence[Row], missing: Counter[str]) -> Iterator[tuple[Row, Case]]:
    """Yield the rows of one table that are figures of cases; count the others by reason."""
    empty: set[str] = set()
    for row in group:
        case = case_of(row)
        if isinstance(case, str):
            missing[case] += 1
        elif case.key in empty:
            missing[ONE_EMPTY] += 1
        else:
            if not case.nbytes and OPERATIONS[row.operation].sized:
                # Several sizes asked for are less than an element a rank: all move nothing, and none is another run's.
                empty.add(case.key)
            yield row, case


def _groups(rows: Iterable[Row]) -> Sequence[Sequence[Row]]:
    groups: dict[tuple[str, int], list[Row]] = {}
    for row in rows:
        groups.setdefault((row.file, row.group), []).append(row)
    return list(groups.values())

"""How often each rank came last, as a DataFrame: a row per launch and rank, all cases together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import pandas as pd

from collmark.analysis.columns import Column
from collmark.analysis.figures.place import run_names
from collmark.analysis.results import Results
from collmark.core.errors import one_line
from collmark.core.marker import markers_of
from collmark.core.metrics import counted_records
from collmark.core.operation import Estimand
from collmark.core.record import Record

RANK: dict[str, Column] = {
    "panel": Column(kind="str", meaning="what ran where, the run, where there are several, and the end"),
    "what": Column(kind="str", meaning="the same without the end"),
    "end": Column(kind="str", meaning="entered or left: at which end of a call"),
    "run": Column(kind="str", meaning="name of the run's folder"),
    "launch": Column(kind="int64", meaning="id of the launch"),
    "rank": Column(kind="int64", meaning="index of the rank"),
    "ranks": Column(kind="int64", meaning="number of ranks"),
    "host": Column(kind="str", meaning="name of its host; empty where unknown"),
    "last": Column(kind="int64", meaning="repetitions in which it came last"),
    "repetitions": Column(kind="int64", meaning="repetitions in all"),
    "lateness": Column(
        kind="float64", unit="s", meaning="its entry minus the earliest other, or exit minus the latest other, median"
    ),
    "marker": Column(kind="str", meaning="why figures are no measurement; empty where they are one"),
    "shown": Column(kind="bool", meaning="whether it is drawn"),
}
"""The columns of :func:`rank_shares`, in their order."""

ENDS = {"entered": ("last_in", "lateness"), "left": ("last_out", "overtime")}
"""The ends of a call, and the counts and delays of a record that belong to them."""
COLLECTIVE = (Estimand.LAST_IN_LAST_OUT, Estimand.FIRST_IN_LAST_OUT)


def rank_shares(results: Iterable[Results], *, include_unstable: bool = False) -> pd.DataFrame:
    """Return how often each rank entered and left last, over all collective cases of a launch.

    Parameters
    ----------
    results : iterable of Results
        Runs that were read. Records without a common clock, and those of a pair of ranks, are left out.
    include_unstable : bool
        Take unstable records though there are others of their case.
    """
    results = list(results)
    names = run_names([one.name for one in results])
    rows = [
        row
        for one in results
        for row in _rows(one, names[one.name] if len(results) > 1 else "", include_unstable=include_unstable)
    ]
    table = pd.DataFrame(rows, columns=list(RANK))
    return table.astype({name: column.kind for name, column in RANK.items()})


def _is_told(record: Record) -> bool:
    """Whether a record says for each rank of a collective how often it came last."""
    facts, timing, ranks = record.ranks, record.timing, record.case.placement.ranks
    if facts is None or timing is None or ranks < 2:
        return False
    return timing.estimand in COLLECTIVE and all(
        len(told) == ranks for told in (facts.last_in, facts.last_out, facts.lateness)
    )


def _rows(one: Results, name: str, *, include_unstable: bool) -> Iterator[dict[str, object]]:
    groups: dict[tuple[str, int], list[Record]] = {}
    counted = counted_records(one.records, include_unstable=include_unstable)
    for record in filter(_is_told, (record for own in counted.values() for record in own)):
        groups.setdefault((f"{record.case.backend} {record.case.placement}", record.launch), []).append(record)
    hosts = {
        (launch.id, rank): one_line(host.name)
        for launch in one.run.launches for host in launch.hosts for rank in host.ranks
    }  # fmt: skip
    for (what, launch), records in groups.items():
        facts = [record.ranks for record in records if record.ranks is not None]
        words = one_line(", ".join(filter(None, (name, what))))
        for end, (counts, delays) in ENDS.items():
            last = np.sum([getattr(fact, counts) for fact in facts], axis=0)
            late = np.median([getattr(fact, delays) or [np.nan] * len(last) for fact in facts], axis=0)
            for rank in range(len(last)):
                yield {
                    "panel": f"{words}: {end} last",
                    "what": words,
                    "end": end,
                    "run": one.name,
                    "launch": launch,
                    "rank": rank,
                    "ranks": len(last),
                    "host": hosts.get((launch, rank), ""),
                    "last": last[rank],
                    "repetitions": last.sum(),
                    "lateness": late[rank],
                    "marker": markers_of(records),
                    "shown": True,
                }

"""Links made in memory: records with the evidence of a tier, on a line that is known."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
from tests.analysis.made import curve, replaced, results_of, times

from collmark.analysis.claims.finding import Finding
from collmark.analysis.claims.judge import judge
from collmark.analysis.claims.measured.selector import read_selector
from collmark.analysis.claims.measurement import Tiers
from collmark.analysis.claims.table import Table
from collmark.analysis.results import Results
from collmark.core.case import Device
from collmark.core.operation import Estimand
from collmark.core.placement import Fabric, Placement, Tier
from collmark.core.record import Imported, Record, Status

GB = 1e9
US = 1e-6
SIZES = tuple(8 * 4**power for power in range(14))
# Factors of five launches, geometric mean 1: within 1 %, and so wide that nothing is decided near a limit.
TIGHT = (0.99, 1.01, 0.995, 1.005, 1.0)
WIDE = (0.6, 1.6, 0.8, 1.3, 1.0)
ONE = (1.0,)
PLACES: dict[str, tuple[Tier, Fabric | None]] = {
    "nvlink": (Tier.NVLINK, None),
    "xgmi": (Tier.XGMI, None),
    "infiniband": (Tier.RDMA, Fabric.INFINIBAND),
    "roce": (Tier.RDMA, Fabric.ROCE),
    "tcp": (Tier.TCP, None),
    "loopback": (Tier.LOOPBACK, None),
    "simulated": (Tier.SIMULATED, None),
}


def link(
    place: str,
    operation: str = "stream",
    *,
    rate: float = 50 * GB,
    alpha: float = 3 * US,
    levels: Sequence[float] = TIGHT,
    ranks: int = 2,
    sizes: Iterable[int] = SIZES,
    label: str = "",
    of_case: dict[str, Any] | None = None,
    **changes: object,
) -> list[Record]:
    """Return records of one operation on one link: asymptotic (bus) bandwidth `rate` in B/s, latency `alpha` in s."""
    tier, fabric = PLACES[place]
    within = tier in (Tier.NVLINK, Tier.XGMI, Tier.LOOPBACK)
    shape: dict[str, Any] = {"nodes": 1, "ranks_per_node": ranks} if within else {"nodes": ranks, "ranks_per_node": 1}
    case: dict[str, Any] = {
        "backend": "nccl",
        "device": Device.CUDA,
        "placement": Placement(**shape, label=label),
        "directions": 2 if operation == "bidirectional_stream" else 1,
        **(of_case or {}),
    }
    return curve(
        operation,
        alpha=alpha,
        beta=1 / rate,
        ranks=ranks,
        sizes=sizes,
        levels=levels,
        tier=tier,
        fabric=fabric,
        of_case=case,
        **changes,
    )


def imported(records: Iterable[Record], tool: str = "nccl-tests", statistic: str = "mean over ranks") -> list[Record]:
    """Return records as the log of another tool gives them: one figure, and what was done to get it."""
    found = []
    for record in records:
        assert record.timing is not None
        figure = Imported(
            tool=tool,
            version="",
            file="a.log",
            line=1,
            group=1,
            printed={},
            seconds=record.timing.median,
            statistic=statistic,
            ranks_from="text",
        )
        found.append(replaced(record, status=Status.IMPORTED, timing=None, ranks=None, imported=figure))
    return found


def without_common_clock(records: Iterable[Record]) -> list[Record]:
    """Return records as several hosts without a clock model give them: T is the longest local duration."""
    found = []
    for record in records:
        assert record.timing is not None
        assert record.ranks is not None
        timing = times(record, record.ranks.longest / record.timing.median).timing
        assert timing is not None
        longest = msgspec.structs.replace(timing, estimand=Estimand.LONGEST_LOCAL)
        ranks = msgspec.structs.replace(record.ranks, skew=None, skewed=None)
        found.append(replaced(record, timing=longest, ranks=ranks))
    return found


def runs(*groups: list[Record]) -> list[Results]:
    """Return each group as a run of its own."""
    return [results_of(group, f"run{number}") for number, group in enumerate(groups, 1)]


def named(name: str, label: str, *groups: list[Record]) -> Results:
    """Return groups as one run with a label."""
    one = results_of([record for group in groups for record in group], name)
    return msgspec.structs.replace(one, run=msgspec.structs.replace(one.run, label=label))


def findings(
    table: Table,
    name: str,
    results: Sequence[Results],
    *,
    a: str | None = None,
    b: str | None = None,
    include_unstable: bool = False,
    unequal_ranks: bool = False,
) -> list[Finding]:
    """Return the findings of kind M of one claim, the claim's own first."""
    tiers = Tiers(
        a=None if a is None else read_selector(a), b=None if b is None else read_selector(b), named=frozenset([name])
    )
    found = judge(
        table.of([name]),
        table.rules,
        results,
        tiers=tiers,
        include_unstable=include_unstable,
        unequal_ranks=unequal_ranks,
    )
    return [finding for finding in found if finding.kind == "M"]


def finding(
    table: Table,
    name: str,
    *groups: list[Record],
    a: str | None = None,
    include_unstable: bool = False,
    unequal_ranks: bool = False,
) -> Finding:
    """Return the finding of kind M of one claim on some records."""
    found = findings(table, name, runs(*groups), a=a, include_unstable=include_unstable, unequal_ranks=unequal_ranks)
    return found[0]

"""Records made in memory, for the tests of analysis."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
import numpy as np

from collmark.analysis.results import Results
from collmark.core.case import Case
from collmark.core.operation import Estimand
from collmark.core.operation_table import OPERATIONS
from collmark.core.placement import Fabric, Placement, Tier
from collmark.core.plan import Plan
from collmark.core.record import SCHEMA_VERSION, Check, Clock, Evidence, Ranks, Record, Run, Status, Timing

SIZES = tuple(16 * 4**power for power in range(12))


def case_of(operation: str = "all_reduce", nbytes: int = 1024, ranks: int = 2, **changes: object) -> Case:
    row = OPERATIONS[operation]
    values: dict[str, Any] = {
        "backend": "gloo",
        "dtype": "float32",
        "reduction": "sum" if row.reduces else "",
        "placement": Placement(ranks_per_node=ranks),
        "traffic": "uniform" if row.ragged else "",
    }
    size = nbytes if row.sized else 0
    values |= {"nbytes": size, "requested_nbytes": size}
    return Case(operation=operation, **{**values, **changes})


def timing_of(seconds: float, estimand: Estimand) -> Timing:
    return Timing(
        estimand=estimand, repetitions=100, cut=0, median=seconds, lower=seconds * 0.98, upper=seconds * 1.02,
        level=0.95, tau=1.0, minimum=seconds * 0.9, p25=seconds * 0.97, p75=seconds * 1.03, p95=seconds * 1.1,
        p99=seconds * 1.2, maximum=seconds * 2, second_mode=0.0, outliers=0, tick_limited=False,
    )  # fmt: skip


def record_of(case: Case, seconds: float | None, launch: int = 1, **changes: object) -> Record:
    """Return a converged record, or a failed one where there is no time."""
    ranks = case.placement.ranks
    timing = None if seconds is None else timing_of(seconds, case.estimand)
    values: dict[str, Any] = {
        "status": Status.FAILED if seconds is None else Status.CONVERGED,
        "evidence": Evidence(tier=Tier.LOOPBACK, because=["made for a test"]),
        "simulated": False,
        "clock": Clock.SHARED,
        "check": Check(checked=10, wrong=0),
        "timing": timing,
        "ranks": None
        if seconds is None
        else Ranks(
            shortest=seconds, longest=seconds * 1.5, skew=0.0, skewed=0.0, late=0.0, local=[seconds] * ranks,
            last_in=[50] * ranks, last_out=[50] * ranks, lateness=[0.0] * ranks, slowest=0,
            overtime=[0.0] * ranks, chance_in=1.0, chance_out=1.0,
        ),
    }  # fmt: skip
    return Record(
        schema_version=SCHEMA_VERSION, launch=launch, case=case, started="2030-01-01T00:00:00Z", wall=0.1,
        **{**values, **changes},
    )  # fmt: skip


def curve(
    operation: str = "all_reduce",
    *,
    alpha: float = 20e-6,
    beta: float = 1e-10,
    ranks: int = 2,
    sizes: Iterable[int] = SIZES,
    levels: Iterable[float] = (0.98, 1.0, 1.03),
    tier: Tier = Tier.LOOPBACK,
    fabric: Fabric | None = None,
    of_case: Mapping[str, Any] | None = None,
    **changes: object,
) -> list[Record]:
    """Return records on the line alpha + bus bytes x beta, one launch for each level."""
    evidence = Evidence(tier=tier, fabric=fabric, because=["made for a test"])
    records = []
    for launch, level in enumerate(levels, 1):
        for nbytes in sizes:
            case = case_of(operation, nbytes, ranks, **(of_case or {}))
            seconds = (alpha + OPERATIONS[operation].model_nbytes(case.exchange) * beta) * level
            records.append(record_of(case, seconds, launch, **{"evidence": evidence, **changes}))
    return records


def results_of(records: Iterable[Record], name: str = "made") -> Results:
    """Return records as the results of one run."""
    kept = list(records)
    cases = {record.case.key: record.case for record in kept}
    run = Run(
        schema_version=SCHEMA_VERSION, label="", created="2030-01-01T00:00:00Z", version="0", command=["collmark"],
        plan=Plan(), cases=list(cases.values()), notices=[],
    )  # fmt: skip
    return Results(name=name, run=run, records=kept)


def replaced(record: Record, **changes: object) -> Record:
    """Return a record with some fields changed."""
    return msgspec.structs.replace(record, **changes)


def times(record: Record, factor: float) -> Record:
    """Return a record whose T is `factor` times as long."""
    assert record.timing is not None
    return replaced(record, timing=timing_of(record.timing.median * factor, record.timing.estimand))


def noisy(records: Iterable[Record], sd: float = 0.02, seed: int = 5) -> list[Record]:
    """Return records whose times scatter, each by a lognormal factor of its own."""
    random = np.random.default_rng(seed)
    return [times(record, float(np.exp(random.normal(0, sd)))) for record in records]

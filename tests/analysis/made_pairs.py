"""Records of pairs for tests, one rank among them slow."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from tests.analysis.made import case_of, record_of, results_of

from collmark.analysis.results import Results
from collmark.core.grouping import Company, groups_of
from collmark.core.placement import Placement
from collmark.core.record import Record

WORLD = Placement(nodes=4, ranks_per_node=2)
NOISE = 0.01


def run_of(arrangements: Sequence[str], name: str, launches: int = 1, slow: int = 5, factor: float = 1.2) -> Results:
    """Return a run of streams in which a rank takes longer with everybody."""
    random = np.random.default_rng(3)
    records: list[Record] = []
    for launch in range(1, launches + 1):
        for arrangement in arrangements:
            for group in groups_of(arrangement, WORLD, Company.TOGETHER):
                usual = 2e-5 if group.placement.nodes == 1 else 1e-4
                seconds = usual * (factor if slow in group.members else 1.0) * float(np.exp(random.normal(0, NOISE)))
                case = case_of("stream", 1 << 20, placement=group.placement, group=group)
                records.append(record_of(case, seconds, launch))
    return results_of(records, name)


def sweep_run(**changes: float) -> Results:
    rounds = [f"pairs:{number}{way}" for number in range(7) for way in ("", ":back")]
    return run_of(rounds, "sweep", **changes)  # type: ignore[arg-type]

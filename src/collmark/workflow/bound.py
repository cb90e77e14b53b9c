"""How long a plan takes at most, said before it starts.

Budgets bound what is repeated. Whatever the budget, buffers are reserved, filled and checked, and a few calls made: for
large sizes that is what takes the time.
"""

from __future__ import annotations

from collections.abc import Sequence

from collmark.bench.measurement import OVERLAP_LEAST
from collmark.bench.rotation import eviction_nbytes, last_level_cache, pool_nbytes
from collmark.bench.runner import sentinel_of
from collmark.core.case import Case, Form, companies
from collmark.core.plan import Plan
from collmark.workflow.prepare import SIMULATED

START_SECONDS = 5.0  # to be expected for interpreters and libraries to start
SENTINELS = 3  # times that the sentinel is measured
CHECKS = 2  # of every case, before and after its repetitions
# What is assumed of a rank with a core of its own; what was measured stands in docs/method.md, "How long".
FILL_RATE = 0.5e9  # B/s to touch fresh memory, or write one value all over
ELEMENT_SECONDS = 10e-9  # s to make an element of the payload and write it, or compare it
CALL_RATE = 0.25e9  # B/s of a call's nbytes


def most_seconds(plan: Plan, launches: Sequence[Sequence[Case]], cores: int) -> float:
    """Return the seconds that launches of these cases take at most, all together.

    Parameters
    ----------
    plan : Plan
        Its budgets; what has begun when the budget of the run is spent comes to its end.
    launches : sequence of sequence of Case
        The cases of each launch, which share processes.
    cores : int
        Of a host, which its ranks share.
    """
    bound = sum(launch_seconds(plan, cases, cores) for cases in launches)
    if not plan.budget:
        return bound
    last = [
        reserve_seconds(cases, cores) + max(unbudgeted_seconds(case, cores) for case in cases) for cases in launches
    ]
    return min(bound, plan.budget + max(last, default=0.0))


def launch_seconds(plan: Plan, cases: Sequence[Case], cores: int) -> float:
    """Return the seconds that one launch takes at most, its start and its sentinel's repeats included."""
    each = [max(plan.case_budget, unbudgeted_seconds(company[0], cores)) for company in companies(cases)]
    sentinel = max(plan.case_budget, SENTINELS * unbudgeted_seconds(sentinel_of(cases), cores))
    return START_SECONDS + reserve_seconds(cases, cores) + sum(each) + sentinel


def reserve_seconds(cases: Sequence[Case], cores: int) -> float:
    """Return the seconds to reserve the largest buffers of a launch, and to touch them."""
    if cases[0].backend == SIMULATED:
        return 0.0
    cache = last_level_cache()
    pools = 2 * max(pool_nbytes(case, cache) for case in cases)
    return _crowding(cases[0], cores) * (pools + max(eviction_nbytes(case, cache) for case in cases)) / FILL_RATE


def unbudgeted_seconds(case: Case, cores: int) -> float:
    """Return the seconds that one measurement of a case takes whatever its budget; 0 where time is virtual."""
    if case.backend == SIMULATED:
        return 0.0
    checks = CHECKS * 2 * case.count * ELEMENT_SECONDS + case.nbytes / FILL_RATE  # the receive buffer is poisoned once
    # A check each time, and at least one repetition each to warm up and to be timed.
    calls = CHECKS + 2 * case.batch + (2 * OVERLAP_LEAST if case.form is Form.NONBLOCKING else 0)
    return _crowding(case, cores) * (checks + calls * case.messages * case.nbytes / CALL_RATE)


def _crowding(case: Case, cores: int) -> float:
    """Return how many ranks of a host share a core."""
    return max(1.0, case.world.ranks_per_node / cores)

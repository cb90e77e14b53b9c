"""Simulated runs of one plan whose launches alternate, and runs that add launches until they agree: what is covered."""

from __future__ import annotations

import msgspec
from tests.prove.coverage_draws import LAUNCHES, Setting, measure

from collmark.analysis.ratio import ratio
from collmark.core.estimate import Estimate
from collmark.core.plan import FIRST_LAUNCHES, Plan
from collmark.core.statistics import log_t_interval
from collmark.workflow.run import MOST_AUTO_LAUNCHES, is_settled

APART = 500_000_000
"""Between the seeds of the two runs."""


class Pair(msgspec.Struct, frozen=True, kw_only=True):
    """What two runs of the same say of their ratio, and one that adds launches of its T.

    Attributes
    ----------
    ratio : Estimate
        Of the two, which is 1 in truth.
    sequential : Estimate
        T in s over as many launches as ``--launches auto`` makes.
    """

    ratio: Estimate
    sequential: Estimate


def median(setting: Setting, seed: int, launch: int) -> float:
    """Return the median of T in s of one launch."""
    timing = measure(setting, seed, launch).record.timing
    assert timing is not None, "a simulation without planted faults is measured"
    return timing.median


def make_pair(setting: Setting, seed: int) -> Pair:
    """Measure two runs, and go on with the first until it is settled."""
    first, second = (
        [median(setting, number, launch) for launch in range(1, LAUNCHES + 1)] for number in (seed, seed + APART)
    )
    return Pair(ratio=_known(ratio(first, second)), sequential=_known(go_on(setting, seed, first)))


def go_on(setting: Setting, seed: int, medians: list[float]) -> Estimate | None:
    """Return the interval at which ``--launches auto`` stops."""
    medians = medians[:FIRST_LAUNCHES]
    while not is_settled(medians, Plan().precision) and len(medians) < MOST_AUTO_LAUNCHES:
        medians = [*medians, median(setting, seed, len(medians) + 1)]
    return log_t_interval(medians)


def _known(interval: Estimate | None) -> Estimate:
    assert interval is not None, "there are two launches or more"
    return interval

"""What disturbed a run, said in words: ranks that come last, launches that drift.

A finding must be unlikely by chance (1 in 1,000) and large enough to matter; what is named here was measured, and
what is not named was not ruled out.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from collmark.core.chance import CHANCE
from collmark.core.estimate import Estimate
from collmark.core.quantile import normal_quantile
from collmark.core.record import Record, Run, Sentinel
from collmark.core.straggler import straggler_words, stragglers

LEAST_DRIFT = 0.05  # relative, below which a drift does not matter


def drift_of(records: Iterable[Record]) -> Estimate | None:
    """Return the sentinel's median at the end of a launch over that at its start, for the records of one launch.

    The interval follows from the two order-statistic intervals on the logarithm, at a level of 99.9 %.
    """
    marks = {
        record.sentinel: record.timing
        for record in records
        if record.sentinel is not None and record.timing is not None
    }
    start, end = marks.get(Sentinel.START), marks.get(Sentinel.END)
    if start is None or end is None:
        return None
    widths = []
    for timing in (start, end):
        if timing.lower is None or timing.upper is None or timing.lower <= 0:
            return None
        widths.append((math.log(timing.upper) - math.log(timing.lower)) / 2)
    wider = normal_quantile(1 - CHANCE / 2) / normal_quantile((1 + start.level) / 2)
    half, center = wider * math.hypot(*widths), math.log(end.median) - math.log(start.median)
    try:
        value, lower, upper = (math.exp(x) for x in (center, center - half, center + half))
    except OverflowError:
        return None
    return Estimate(
        value=value,
        lower=lower,
        upper=upper,
        level=1 - CHANCE,
        method="ratio of two medians, order-statistic intervals",
        count=2,
        over="repetitions",
    )


def findings(run: Run, records: Sequence[Record]) -> list[str]:
    """Return one sentence for every rank that straggles and every launch that drifted."""
    sentences = [straggler_words(straggler) for straggler in stragglers(run, records)]
    for launch in run.launches:
        own = [record for record in records if record.launch == launch.id]
        ratio = drift_of(own)
        if ratio is None or ratio.lower <= 1 <= ratio.upper or abs(math.log(ratio.value)) < LEAST_DRIFT:
            continue
        case = next(record.case for record in own if record.sentinel is not None)
        sentences.append(
            f"launch {launch.id} drifted: {case} took {ratio.value:.2f} [{ratio.lower:.2f}, {ratio.upper:.2f}] times "
            "as long at its end as at its start"
        )
    return sentences

"""What disturbed a run, said in words: ranks that come last, launches that drift, clocks that are off, noise.

A finding must be unlikely by chance (1 in 1,000) and large enough to matter; what is named here was measured, and
what is not named was not ruled out.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from collmark.core.chance import CHANCE
from collmark.core.errors import one_line
from collmark.core.estimate import Estimate
from collmark.core.noise_of_run import noise_sentences
from collmark.core.numeral import counted
from collmark.core.operation import Estimand
from collmark.core.quantile import normal_quantile
from collmark.core.record import Clock, Record, Run, Sentinel
from collmark.core.straggler import straggler_words, stragglers

LEAST_DRIFT = 0.05  # relative, below which a drift does not matter
MOST_NOTES = 3  # on clocks


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
    if start is None or end is None or start.estimand is not end.estimand:
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


def findings(run: Run, records: Sequence[Record], *, include_unstable: bool = False) -> list[str]:
    """Return a sentence for every rank that straggles, every launch that drifted, on clocks, on noise."""
    measured = [record for record in records if record.sentinel is None]
    late = stragglers(run, records, include_unstable=include_unstable)
    sentences = [straggler_words(straggler) for straggler in late] + _clock_notes(measured)
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
    return sentences + noise_sentences(run)


def clock_words(records: Iterable[Record]) -> list[str]:
    """Return how well the clocks of several hosts could be compared, in sentences; none where there was one clock."""
    modelled = [
        (r.clock, r.clock_model, r.timing) for r in records if r.clock_model is not None and r.timing is not None
    ]
    shares = [model.error / timing.median for clock, model, timing in modelled if clock is Clock.MODELLED]
    local = sum(timing.estimand is Estimand.LONGEST_LOCAL for _clock, _model, timing in modelled)
    sentences = []
    if shares:
        of_all = f"{len(shares)} of {counted(len(modelled), 'record')}"
        sentences.append(f"clocks of several hosts, off by at most {max(shares) * 100:.1f} % of T, tell {of_all}")
    if local:
        of_all = f"{local} of {counted(len(modelled), 'record')}"
        sentences.append(f"T is {Estimand.LONGEST_LOCAL}, skew included, where clocks cannot tell better: in {of_all}")
    return sentences


def _clock_notes(records: Iterable[Record]) -> list[str]:
    """Return what clocks did that no model foresaw."""
    notes = dict.fromkeys(record.clock_model.note for record in records if record.clock_model is not None)
    return [one_line(note) for note in notes if note][:MOST_NOTES]

"""What the figures are not, and what disturbed them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from collmark.analysis.modes import modes_words
from collmark.analysis.report.content import Items, Mark, Section, Text
from collmark.analysis.report.material import Material
from collmark.analysis.report.sentences import LOCAL_TIERS
from collmark.analysis.results import Results
from collmark.core.case import Scheduling
from collmark.core.disturbance import clock_words, findings
from collmark.core.doctor.finding import Level
from collmark.core.doctor.of_run import found_before
from collmark.core.marker import NO_MEASUREMENT, Marker
from collmark.core.numeral import counted
from collmark.core.record import Outcome, Record, Status

NAMED = 5
"""Records of one kind that are named."""
NOTICES = 10
"""Of a run that are shown: an import has one for every odd line of a log."""


def warnings(material: Material) -> Section:
    """Return the warnings; there always are some, for no figure is without limits."""
    items = [Text(lead="unreadable", words=problem, mark=Mark.BAD) for problem in material.problems]
    for one in material.results:
        name = f"{material.names[one.name]}: " if len(material.results) > 1 else ""
        items += [Text(lead=lead, words=name + words, mark=mark) for lead, words, mark in _of_run(material, one)]
    bad = [fit.series.operation for fit in material.fits.fits if not fit.describes]
    if bad:
        words = f"the model does not describe {', '.join(dict.fromkeys(bad))}: no verdict rests on it"
        items.append(Text(lead="misfit", words=words, mark=Mark.UNDECIDED))
    items += [Text(lead="what it is not", words=words) for words in _limits(material)]
    return Section(
        anchor="warnings", title="Warnings", question="What must I know before I use these figures?",
        blocks=(Items(items=tuple(items)),),
    )  # fmt: skip


Line = tuple[str, str, Mark]


def _of_run(material: Material, one: Results) -> Iterator[Line]:
    records = [record for record in one.records if record.sentinel is None]
    if not records:
        yield "empty", "no record was kept", Mark.BAD
    for notice in one.run.notices[:NOTICES]:
        yield "notice", notice, Mark.NONE
    more = len(one.run.notices) - NOTICES
    if more > 0:
        yield "notice", f"{counted(more, 'more notice')}, in run.json", Mark.NONE
    for launch in one.run.launches:
        if launch.outcome in (Outcome.LOST, Outcome.INTERRUPTED):
            reason = f": {launch.reason}" if launch.reason else ""
            yield "launch", f"launch {launch.id} ended as {launch.outcome}{reason}", Mark.BAD
    for finding in found_before(one.run):
        yield "doctor", str(finding), Mark.NONE if finding.level is Level.HINT else Mark.UNDECIDED
    yield from _bad(records)
    yield from _oversubscribed(records)
    for sentence in findings(one.run, one.records, include_unstable=material.include_unstable):
        yield "disturbance", sentence, Mark.UNDECIDED
    for sentence in clock_words(records):
        yield "clocks", sentence, Mark.NONE
    if several := modes_words([modes for modes in material.modes if modes.run == one.name]):
        yield "modes", several, Mark.UNDECIDED
    yield from _counts(records)


def _bad(records: list[Record]) -> Iterator[Line]:
    for status in (Status.WRONG, Status.FAILED):
        bad = [record for record in records if record.status is status]
        for record in bad[:NAMED]:
            why = record.check.first or record.error or "no reason was kept"
            yield status.value, f"{record.case}, launch {record.launch}: {why}", Mark.BAD
        if len(bad) > NAMED:
            yield status.value, f"and {len(bad) - NAMED} more records", Mark.BAD


def _oversubscribed(records: list[Record]) -> Iterator[Line]:
    over = [record for record in records if record.oversubscribed]
    if not over:
        return
    most = max(over, key=lambda r: (r.busy_threads or 0) / (r.cores or 1))
    words = f"up to {most.busy_threads} busy threads on {most.cores} core{'' if most.cores == 1 else 's'}"
    if all(record.case.scheduling is Scheduling.FIFO for record in over):
        yield "threads", f"{words}, run at SCHED_FIFO", Mark.NONE
    else:
        yield (
            "scheduler test",
            f"{words} in {len(over)} of {len(records)} records: they time the scheduler",
            Mark.UNDECIDED,
        )


def _counts(records: list[Record]) -> Iterator[Line]:
    counts = Counter(record.status for record in records)
    if counts[Status.UNSTABLE]:
        words = "have a second mode beyond 3 x the median, or took over a third to warm up; drawn hollow"
        yield "unstable", f"{counts[Status.UNSTABLE]} of {len(records)} records {words}", Mark.UNDECIDED
    if counts[Status.BUDGET]:
        words = "records ended by their time before the interval was narrow enough; drawn hollow"
        yield "budget", f"{counts[Status.BUDGET]} of {len(records)} {words}", Mark.NONE
    skewed = [r.ranks.skewed for r in records if r.ranks is not None and r.ranks.skewed is not None]
    if skewed and sum(skewed) / len(skewed) > 0.1:
        share = f"{sum(skewed) / len(skewed):.0%}".replace("%", " %")
        yield "skew", f"ranks entered more than 10 % of T apart in {share} of repetitions, mean over records", Mark.NONE


def _limits(material: Material) -> Iterator[str]:
    records = [record for one in material.results for record in one.records]
    tiers = {record.evidence.tier.value for record in records}
    markers = {record.marker for record in records}
    if Marker.SIMULATED in markers:
        yield "SIMULATED figures come from a model with planted values: they decide nothing about any machine"
    if Marker.TEST in markers:
        yield f"TEST figures are those of an arrangement, not of a machine: {NO_MEASUREMENT[Marker.TEST]}"
    if Marker.EMULATED in markers:
        yield f"EMULATED figures are those of links that stand for others: {NO_MEASUREMENT[Marker.EMULATED]}"
    if tiers & set(LOCAL_TIERS):
        yield "loopback and shared memory: figures about one machine and its software, not about a network"
    if "unknown" in tiers:
        yield "tier unknown: nothing showed which link was used, and nothing was assumed"
    yield "all ranks start together: with late ranks an application sees longer times"
    yield "bus bandwidth is a rate of the wire only for flat ring or pairwise traffic"
    if material.include_unstable:
        yield "unstable records entered the fits, as was asked for"

"""Three findings in sentences: what was found, how sure it is, what to do. The demonstration says the same ones.

Nothing is said here that was not measured, and no figure without its unit, its interval and what it is over.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable

import msgspec
import pandas as pd

from collmark.analysis.claims.finding import Finding, Verdict
from collmark.analysis.columns import Series
from collmark.analysis.expected.share import Share, declared
from collmark.analysis.figures.words import ABSENT, gigabytes, interval_words, microseconds, percent
from collmark.analysis.models.fit import Fit
from collmark.analysis.models.quantity import Quantity
from collmark.analysis.pairs.words import next_words, short_words
from collmark.analysis.report.changes import changed
from collmark.analysis.report.material import Material
from collmark.analysis.report.scatter import needed_launches
from collmark.analysis.report.sure import Part, count_range, parts_of, records_of, sure
from collmark.analysis.report.verdicts import by_records, reason_words, verdict_words
from collmark.core.case import Buffers, Cadence, Form, Scheduling
from collmark.core.disturbance import findings as disturbances
from collmark.core.doctor.finding import Level
from collmark.core.doctor.of_run import found_before
from collmark.core.errors import one_line
from collmark.core.marker import NO_MEASUREMENT, Marker, by_marker, said_before
from collmark.core.record import Status
from collmark.core.units import format_nbytes

LOCAL_TIERS = ("loopback", "shared-memory")
INSTEAD = {Marker.TEST: "with a GPU for each rank", Marker.EMULATED: "between hosts that a network joins"}
"""What to do where all figures are of an arrangement."""
WANTED = 0.05
"""Relative half-width that is good enough for most uses, as the default precision is."""
VERBS: dict[Verdict, str] = {Verdict.FAILS: "fail", Verdict.INCONCLUSIVE: "inconclusive", Verdict.HOLDS: "hold"}
MOST_UNSTABLE = 0.2
"""Share of unstable records above which the run itself is the first thing to mend."""


class Sentences(msgspec.Struct, frozen=True, kw_only=True):
    """What a reader should take away.

    Attributes
    ----------
    found, sure, next : str
        What was found, how sure that is, what to do; a sentence each, which is read in seconds: the rest stands below.
    """

    found: str
    sure: str
    next: str


def sentences(material: Material) -> Sentences:
    """Return the three findings of some results."""
    return Sentences(found=_found(material), sure=sure(material), next=_next(material))


def quantity_words(write: Callable[[float], str], quantity: Quantity | None) -> str:
    """Return a fitted quantity with its interval; a dash where the times do not tell it."""
    if quantity is None or quantity.value is None:
        return ABSENT
    return interval_words(write, quantity.value, *_ends(quantity))


def _ends(quantity: Quantity) -> tuple[float, float]:
    ends = quantity.estimate
    return (math.nan, math.nan) if ends is None else (ends.lower, ends.upper)


def _found(material: Material) -> str:
    if material.pairs:
        return " ".join(f"{short_words(one)}." for one in material.pairs)
    if not records_of(material):
        return "Nothing was measured: there is no record."
    if not material.drawn["seconds"].gt(0).any():
        return "No case has a time: every record failed, was wrong, or the clock saw no time pass."
    decided = by_records(material.findings)
    # That something cannot be told, without an interval, says less than what was measured.
    is_told = any(
        one.verdict is not Verdict.INCONCLUSIVE or (one.found is not None and one.found.estimate is not None)
        for one in decided
    )
    if material.changes is not None:
        return changed(material.changes)
    if is_told:
        return " ".join(filter(None, (_verdicts(decided), of_expected(material))))
    return of_expected(material) or _fitted(material)


def _fitted(material: Material) -> str:
    """Return what the plainest call takes and comes near, or what all runs come near."""
    told = [fit for fit in material.fits.fits if fit.describes and fit.asymptote and fit.asymptote.value is not None]
    if not told:
        return _unfitted(material)
    first = _plainest(told)
    kind = (_variant(first.series), first.series.marker)
    alike = [fit for fit in told if (_variant(fit.series), fit.series.marker) == kind]
    if len({fit.series.run for fit in alike}) > 1:
        return _of_runs(material, alike)
    name = f"{one_line(material.names[first.series.run])}: " if len(material.results) > 1 else ""
    return name + _leading(first)


def _verdicts(decided: list[Finding]) -> str:
    """Return the worst of some verdicts with its reason, and how many there are of each."""
    first, more = decided[0], len(decided) - 1
    counts = Counter(one.verdict for one in decided)
    others = ", ".join(f"{counts[verdict]} {verb}" for verdict, verb in VERBS.items() if counts[verdict])
    rest = f" (of {len(decided)} verdicts by these records {others})" if more else ""
    return f"{first.claim} {verdict_words(first)}: {reason_words(first)}{rest}."


def of_expected(material: Material) -> str:
    """Return the lowest and the highest share of what was declared to be expected; nothing where nothing was."""
    found = declared(material.shares)
    if not found:
        return ""
    lowest, highest = _share_words(found[0], "reaches "), _share_words(found[-1], "")
    if len(found) == 1:
        return f"{lowest}."
    return f"{lowest} and {highest}: the lowest and the highest of {len(found)} figures with a declared expectation."


def _share_words(share: Share, verb: str) -> str:
    value, ends = share.percent_words
    name = f"{said_before(share.series.marker)}{share.series.operation}"
    return f"{name} {verb}{value} %{f' {ends}' if ends else ''} of {share.expected_words}, {share.expected}"


def _plainest(told: list[Fit]) -> Fit:
    """Return the fit that speaks for others: of the plainest call, and well known where there is one."""
    known = [fit for fit in told if fit.asymptote is not None and not fit.asymptote.weak]
    return min(known or told, key=lambda fit: len(_variant(fit.series)))


def _of_runs(material: Material, alike: list[Fit]) -> str:
    """Return what several runs reach, from the least to the most."""
    order = sorted(alike, key=lambda fit: fit.asymptote.value if fit.asymptote and fit.asymptote.value else 0.0)
    ends = [
        f"{quantity_words(gigabytes, fit.asymptote)} ({one_line(material.names[fit.series.run])}: "
        f"{fit.series.operation}{_doubt(fit)})"
        for fit in (order[0], order[-1])
    ]
    runs = len({fit.series.run for fit in alike})
    said = f"{said_before(order[0].series.marker)}{runs} runs come near {' to '.join(ends)} GB/s of bus bandwidth"
    return f"{said} at large sizes."


def _doubt(fit: Fit) -> str:
    return ", weakly known" if fit.asymptote is not None and fit.asymptote.weak else ""


def _variant(series: Series | pd.Series) -> tuple[str, ...]:
    """Return in which respects figures are not those of the plainest call, in words."""
    return (
        *((str(series.cadence),) if series.cadence != Cadence.ISOLATED else ()),
        *((f"{series.buffers} buffers",) if series.buffers not in {"", Buffers.SAME} else ()),
        *((str(series.form),) if series.form != Form.BLOCKING else ()),
        *(("",) if series.groups else ()),  # which is told where they are
    )


def _leading(fit: Fit) -> str:
    series = fit.series
    where = "" if series.marker == Marker.SIMULATED else f" over {series.tier_words}"
    what = f"{said_before(series.marker)}{series.operation}{where}"
    variant = "".join(f", {words}" for words in _variant(series) if words)
    return (
        f"{what} ({series.backend}, {placement_words(series.placement)}{variant}{_group_words(series)}) takes "
        f"{quantity_words(microseconds, fit.smallest)} µs at {format_nbytes(fit.first)} and comes near "
        f"{quantity_words(gigabytes, fit.asymptote)} GB/s of bus bandwidth at large sizes{_doubt(fit)}."
    )


def _group_words(series: Series) -> str:
    return f", group {series.group} of {series.groups}, {series.company}" if series.groups else ""


def placement_words(placement: str) -> str:
    """Return nodes and ranks in words.

    Examples
    --------
    >>> placement_words("1x2"), placement_words("4x8@rail")
    ('1 node x 2 ranks', '4 nodes x 8 ranks, rail')
    """
    shape, _, label = one_line(placement).partition("@")
    nodes, _, ranks = shape.partition("x")
    words = f"{nodes} node{'' if nodes == '1' else 's'} x {ranks} rank{'' if ranks == '1' else 's'}"
    return f"{words}, {label}" if label else words


def _unfitted(material: Material) -> str:
    rows = material.cases[material.cases["center"] > 0]
    if rows.empty:
        return "No case has a time that can be believed."
    one = min((row for _index, row in rows.iterrows()), key=lambda row: len(_variant(row)))
    value = interval_words(microseconds, one["center"], one["center_lower"], one["center_upper"])
    size = f" at {format_nbytes(int(one['nbytes']))}" if one["nbytes"] else ""
    said = f"{said_before(one['marker'])}{one['operation']}"
    name = f"{one_line(material.names[one['run']])}: " if len(material.results) > 1 else ""
    variant = "".join(f", {words}" for words in _variant(one) if words)
    return f"{name}{said} over {one['tier']}{variant} takes {value} µs{size}{_why(material, one['run'])}."


def _why(material: Material, run: str) -> str:
    """Return why no bandwidth is told."""
    fits = [fit for fit in material.fits.fits if fit.series.run == run]
    if any(fit.describes for fit in fits):
        return ""
    if fits:
        return "; no model describes its times"
    reasons = [refused.reason for refused in material.fits.refused if refused.series.run == run]
    return f"; no model was fitted: {one_line(reasons[0])}" if reasons else ""


def _next(material: Material) -> str:
    records = records_of(material)
    if material.pairs:
        return next_words(material.pairs)
    if not records:
        return "Measure first: collmark demo, or collmark run."
    # Measurements come first: what is simulated tells nothing of what to mend.
    part = parts_of(material)[0]
    advice = next(filter(None, (rule(material, part) for rule in _RULES)))
    tiers = {record.evidence.tier.value for record in records}
    if tiers <= set(LOCAL_TIERS):
        advice += " Carry no figure over to a network: all ranks shared one machine."
    return advice


def _wrong(_material: Material, part: Part) -> str:
    wrong = [record for record in part.records if record.status is Status.WRONG]
    if not wrong:
        return ""
    case = one_line(str(wrong[0].case))
    return f"Find out first why {len(wrong)} of {len(part.records)} records gave wrong results, {case} for one."


def _failed(_material: Material, part: Part) -> str:
    failed = [record for record in part.records if record.status is Status.FAILED]
    if not failed:
        return ""
    return f"Look at the {len(failed)} records that failed, {one_line(str(failed[0].case))} first (see warnings)."


def _tested(_material: Material, part: Part) -> str:
    marker = Marker(part.marker) if part.marker else None
    if marker not in INSTEAD:
        return ""
    return f"Measure {INSTEAD[marker]}: {NO_MEASUREMENT[marker]}."


def _scheduler(_material: Material, part: Part) -> str:
    over = [r for r in part.records if r.oversubscribed and r.case.scheduling is Scheduling.OTHER]
    if not over:
        return ""
    return (
        f"In {len(over)} of {len(part.records)} records more threads ran than there are cores: they time the "
        "scheduler. Repeat with --scheduling fifo --bind cores, or with fewer ranks."
    )


def _single(_material: Material, part: Part) -> str:
    if (part.cases["launches"] > 1).any() or part.scatter is not None:
        return ""
    if part.marker == Marker.IMPORTED:
        return "Import several logs of each case with --as-launches: one launch gives no interval."
    return "Repeat with --launches 5: one launch gives no interval."


def _unstable(_material: Material, part: Part) -> str:
    number = sum(record.status is Status.UNSTABLE for record in part.records)
    if number <= MOST_UNSTABLE * len(part.records):
        return ""
    return f"Look for what disturbs the machine: {number} of {len(part.records)} records are unstable."


def _disturbed(material: Material, part: Part) -> str:
    runs = ((one.run, by_marker(one.records).get(part.marker)) for one in material.results)
    said = [
        words
        for run, records in runs
        if records
        for words in disturbances(run, records, include_unstable=material.include_unstable)
    ]
    if not said:
        return ""
    what, _colon, figures = one_line(said[0]).partition(": ")
    return f"Look at this first: {what}{' (see warnings)' if figures else ''}."


def _examined(material: Material, _part: Part) -> str:
    found = [
        finding for one in material.results for finding in found_before(one.run) if finding.level is not Level.HINT
    ]
    return f"Look at this first, {one_line(str(found[0]))}." if found else ""


def _wide(_material: Material, part: Part) -> str:
    known = part.cases[part.cases["center_upper"].notna()]
    half_width = (known["center_upper"] / known["center"] - 1).median()
    if part.scatter is None or not half_width > WANTED:
        return ""
    needed = needed_launches(known, WANTED)
    if needed is None:
        return "Look for what differs between launches: no number of them would make these intervals narrow."
    wide = f"these have ±{percent(half_width)} % in the median over cases"
    if needed <= known["launches"].max():
        return (
            f"Repeat the cases that have few launches ({count_range(known['launches'])} now): about {needed} of each "
            f"give half of them intervals of ±{percent(WANTED)} %; {wide}."
        )
    return (
        f"For intervals of ±{percent(WANTED)} % in half of the cases take about {needed} launches "
        f"(--launches {needed}); {wide}."
    )


def _misfit(_material: Material, part: Part) -> str:
    bad = [fit.series.operation for fit in part.fits if not fit.describes]
    return f"Use the measured times of {', '.join(dict.fromkeys(bad))}: no model describes them." if bad else ""


def _cliff(_material: Material, part: Part) -> str:
    fit = next((fit for fit in part.fits if fit.cliffs), None)
    return f"Find out why {fit.series.operation} stands apart: {fit.cliff_words}." if fit else ""


def _quiet(_material: Material, part: Part) -> str:
    if part.marker == Marker.IMPORTED:
        return "How these figures were taken is not in the logs: ask whoever took them what disturbed them."
    return "Nothing that was looked for disturbed these figures: use them within the sizes measured."


_RULES = (
    _wrong,
    _failed,
    _tested,
    _scheduler,
    _single,
    _unstable,
    _disturbed,
    _wide,
    _misfit,
    _cliff,
    _examined,
    _quiet,
)
"""What to do, the most pressing first; the first that has something to say speaks."""

"""What a predicate takes from records: figures over launches, or why there is none."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import msgspec

from collmark.analysis.claims.finding import Figure, Missing
from collmark.analysis.claims.measured.curve import Curve, Side
from collmark.analysis.claims.quantity import natural_unit, scale_of, shown
from collmark.analysis.fieller import Fieller, fieller
from collmark.analysis.ratio import APART, APART_LEVEL, LogMean, are_apart, log_contrast
from collmark.core.errors import one_line
from collmark.core.estimate import Estimate

ONE_LAUNCH = "one launch: no interval"
DIFFER = "runs of one side differ"
"""Said of a ratio that has no figure for that reason."""
DIGITS = 3
LEVEL = 0.95


class Fitted(msgspec.Struct, frozen=True, kw_only=True):
    """A quantity of a fit: in words, and its SI unit."""

    words: str
    unit: str


FITTED = {
    "asymptote": Fitted(words="asymptotic bandwidth", unit="B/s"),
    "alpha": Fitted(words="latency alpha", unit="s"),
}
"""The fitted quantities that predicates take, by field of a fit."""


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """One figure that a rule judges.

    Attributes
    ----------
    says : str
        What it is.
    unit : str
        SI unit.
    mean : LogMean or None
        Over launches; None where there is no interval.
    value : float or None
        The figure where there is no interval, in `unit`.
    problem : str
        Why no verdict may rest on it; empty where one may.
    apart : str
        That runs disagree, and so have no figure in common; such a reading has a problem too.
    can_only_fail : str
        Why it may show a claim false but not true; empty where it may do both.
    by : str
        In a few words, what it was taken from.
    steps : tuple of str
        How it was worked out.
    over, under : str
        What stands over what, in a ratio of two measurements.
    check : Fieller or None
        The same ratio by another interval, which decides nothing.
    """

    says: str
    unit: str = ""
    mean: LogMean | None = None
    value: float | None = None
    problem: str = ""
    apart: str = ""
    can_only_fail: str = ""
    by: str
    steps: tuple[str, ...] = ()
    over: str = ""
    under: str = ""
    check: Fieller | None = None

    def with_steps(self, *steps: str) -> Reading:
        """Return the same with the steps by which it was worked out."""
        return msgspec.structs.replace(self, steps=steps)

    def with_sides(self, over: str, under: str) -> Reading:
        """Return the same as a ratio whose sides are said in words."""
        return msgspec.structs.replace(self, over=over, under=under)

    def estimate(self, level: float = LEVEL) -> Estimate | None:
        """Return the figure with its interval, in SI units."""
        return None if self.mean is None else self.mean.interval(level)


class Sample(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that one condition of measurement says about a claim.

    Attributes
    ----------
    condition : str
        Backend, device, dtype and so on, in a few words.
    readings : tuple of Reading
        All of them have to hold.
    evidence : tuple of str
        Runs, series and launches.
    also : tuple of Figure
        Related figures.
    missing : tuple of Missing
        Those of them that there are no records for.
    notes : tuple of str
        What to look out for.
    imported : bool
        Whether other tools measured any of it.
    """

    condition: str
    readings: tuple[Reading, ...]
    evidence: tuple[str, ...]
    also: tuple[Figure, ...] = ()
    missing: tuple[Missing, ...] = ()
    notes: tuple[str, ...] = ()
    imported: bool = False


class Absent(msgspec.Struct, frozen=True, kw_only=True):
    """No record can decide.

    Attributes
    ----------
    reason : str
        What is missing.
    """

    reason: str


class Values(msgspec.Struct, frozen=True, kw_only=True):
    """A fitted quantity of a side, in each launch.

    Attributes
    ----------
    per_launch : tuple of float
        In SI units; empty where the times do not tell it.
    problem : str
        Why no verdict may rest on it.
    apart : str
        That runs disagree, which is such a reason: their launches have no mean in common.
    """

    per_launch: tuple[float, ...]
    problem: str = ""
    apart: str = ""


def fitted(side: Side, name: str) -> Values:
    """Return a fitted quantity of a side over all of its launches.

    Parameters
    ----------
    side : Side
        Curves whose launches count together.
    name : str
        Field of :class:`collmark.analysis.models.fit.Fit`: ``asymptote`` or ``alpha``.
    """
    of_runs = []
    for curve in side.curves:
        quantity = None if curve.fit is None else getattr(curve.fit, name)
        of_runs.append((curve.series.run, () if quantity is None else quantity.per_launch))
    apart = runs_apart(of_runs, FITTED[name].unit)
    problems = (*problems_of(side, lambda curve: _problem(curve, name)), apart)
    what = f"{side.tier} {side.curves[0].series.operation}"
    return Values(
        per_launch=tuple(value for _run, values in of_runs for value in values),
        problem="; ".join(f"{what}: {problem}" for problem in problems if problem),
        apart=apart,
    )


def problems_of(side: Side, problem_of: Callable[[Curve], str]) -> tuple[str, ...]:
    """Return why no verdict may rest on curves of a side, each reason once, with its runs unless it is that of all."""
    found: dict[str, list[str]] = {}
    for curve in side.curves:
        found.setdefault(problem_of(curve), []).append(curve.series.run)
    return tuple(
        problem if len(runs) == len(side.curves) else f"run {one_line(', '.join(runs))}: {problem}"
        for problem, runs in found.items()
        if problem
    )


def runs_apart(of_runs: Iterable[tuple[str, Sequence[float]]], unit: str) -> str:
    """Return that runs differ by far more than their launches scatter, in words; empty where they may be pooled.

    Parameters
    ----------
    of_runs : iterable of (str, sequence of float)
        Name of each run, and a positive quantity in each of its launches; runs of one launch tell nothing.
    unit : str
        Its SI unit.
    """
    told = [(run, values) for run, values in of_runs if len(values) > 1]
    if not are_apart([values for _run, values in told]):
        return ""
    means = [(one_line(run), geometric_mean(values)) for run, values in told]
    each = ", ".join(f"{run} {shown(mean, unit, natural_unit(mean, unit), DIGITS)}" for run, mean in means)
    by = f"by over {APART - 1:.0%}, and far more than their launches (F test at {APART_LEVEL:.0%})"
    return f"runs differ {by}: {each}"


def _problem(curve: Curve, name: str) -> str:
    fit = curve.fit
    if fit is None:
        return curve.refused or "no fit"
    if not fit.describes:
        return f"the {fit.model} model does not describe its times (rms misfit {100 * fit.rms:.0f} %)"
    quantity = getattr(fit, name)
    if quantity is None or not quantity.per_launch:
        return f"the times do not tell {name}"
    return f"{name} is weakly known: {quantity.weak}" if quantity.weak else ""


def read(
    says: str,
    over: Sequence[Sequence[float]],
    under: Sequence[Sequence[float]] = (),
    *,
    unit: str = "",
    factor: float = 1.0,
    problem: str = "",
    apart: str = "",
    by: str,
) -> Reading:
    """Return a reading from values in each launch: the product of some over the product of others, times a factor.

    Parameters
    ----------
    over, under : sequence of sequence of float
        Groups of launches, positive, in SI units.
    unit : str
        Of the result.
    factor : float
        A constant.
    problem, apart : str
        Why no verdict may rest on it, and that runs disagree.
    says, by : str
        As in :class:`Reading`.
    """
    if not all((*over, *under)):
        return Reading(says=says, unit=unit, problem=problem or "nothing measured", by=by)
    mean = log_contrast(over, under)
    value = factor
    for sign, groups in ((1, over), (-1, under)):
        for group in groups:
            value *= geometric_mean(group) ** sign
    return Reading(
        says=says,
        unit=unit,
        mean=None if mean is None else mean.scaled(factor),
        value=value,
        problem=problem or ("" if mean is not None else ONE_LAUNCH),
        apart=apart,
        by=by,
        check=_checked(over, under, factor),
    )


def _checked(over: Sequence[Sequence[float]], under: Sequence[Sequence[float]], factor: float) -> Fieller | None:
    """Return the same ratio by Fieller, which knows one mean over one mean only."""
    found = fieller(over[0], under[0]) if len(over) == len(under) == 1 else None
    return None if found is None else msgspec.structs.replace(found, value=found.value * factor)


def geometric_mean(values: Sequence[float]) -> float:
    """Return the geometric mean of positive values."""
    product = 1.0
    for value in values:
        product *= value ** (1 / len(values))
    return product


def figure(name: str, reading: Reading, shown_in: str | None = None, level: float = LEVEL) -> Figure | None:
    """Return a reading as a figure with its interval; None where there is no value, or each run has its own."""
    estimate = reading.estimate(level)
    value = estimate.value if estimate is not None else reading.value
    if value is None or reading.apart:
        return None
    unit = natural_unit(value, reading.unit) if shown_in is None else shown_in
    scale = scale_of(unit)
    if estimate is not None:
        estimate = Estimate(
            value=estimate.value / scale,
            lower=estimate.lower / scale,
            upper=estimate.upper / scale,
            level=estimate.level,
            method=estimate.method,
            count=estimate.count,
            over=estimate.over,
        )
    return Figure(name=name, value=value / scale, unit=unit, estimate=estimate, over=reading.over, under=reading.under)


def words(reading: Reading, shown_in: str | None = None) -> str:
    """Return a reading as text: value, interval, unit; of runs that disagree that they do."""
    found = figure("", reading, shown_in)
    if found is None:
        return f"no figure, {reading.apart}" if reading.apart else "-"
    text = shown(found.value * scale_of(found.unit), reading.unit, found.unit, DIGITS)
    if found.estimate is None:
        return text
    ends = (shown(end, "", "", DIGITS) for end in (found.estimate.lower, found.estimate.upper))
    return f"{text} [{', '.join(ends)}], {100 * found.estimate.level:g} %"

"""What a report is made of: results, and everything that is worked out from them once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
import pandas as pd

from collmark.analysis.claims.finding import Finding
from collmark.analysis.columns import SERIES, Series
from collmark.analysis.compare.compare import Compared, compare
from collmark.analysis.compare.side import Side
from collmark.analysis.expected.share import Share, shares
from collmark.analysis.expected.system import System
from collmark.analysis.figures.drawn import with_fits
from collmark.analysis.figures.place import placed, run_names
from collmark.analysis.figures.rank_shares import rank_shares
from collmark.analysis.figures.repetitions import repetitions
from collmark.analysis.frame import frame
from collmark.analysis.models.fit import Fit, Fits, fit_frame
from collmark.analysis.modes import Modes, several_modes
from collmark.analysis.pairs.of_runs import Judged, is_sweep, judge, without_pairs
from collmark.analysis.report.changes import drawn_changes
from collmark.analysis.report.scatter import Scatter, scatters
from collmark.analysis.results import Results
from collmark.analysis.skew import Skew, skews
from collmark.core.case import Case
from collmark.core.units import format_nbytes

MOST_SAMPLED = 3
"""Cases whose raw repetitions are read."""


class Material(msgspec.Struct, frozen=True, kw_only=True):
    """All that sections draw from.

    Attributes
    ----------
    results : tuple of Results
        Runs, in the order named.
    names : dict of str to str
        Short names of the runs, by the name of their folder.
    table : DataFrame
        Their frame: all else follows from it.
    drawn : DataFrame
        A row per measurement, as figures take it (:mod:`collmark.analysis.figures.drawn`).
    curves : dict of str to str
        What each series is called beside others.
    fits : Fits
        Of all series.
    skews : dict of Series to Skew
        Of those whose T is the longest local duration.
    shares : tuple of Share
        What was measured over what may be expected.
    findings : tuple of Finding
        Verdicts on claims; empty where none were asked for.
    scatters : dict of str to Scatter
        How launches and repetitions vary, by the marker of the records; none where no case has two launches.
    modes : tuple of Modes
        Of the cases that have several in a launch.
    repetitions : DataFrame
        Raw repetitions of a few cases, as the picture of tails takes them.
    ranks : DataFrame
        How often each rank came last.
    problems : tuple of str
        What could not be read.
    include_unstable : bool
        Whether unstable records entered the fits.
    prior : str
        Name of a prior to set beside measurements; empty for none.
    compared : Compared or None
        All other runs against the first; None where no case is in both.
    changed : DataFrame or None
        A row for each of its comparisons, as figures take them.
    pairs : tuple of Judged
        What is slow among pairs of ranks. Their records are in nothing else: a pair is no curve.
    """

    results: tuple[Results, ...]
    names: dict[str, str]
    table: pd.DataFrame
    drawn: pd.DataFrame
    curves: dict[str, str]
    fits: Fits
    skews: dict[Series, Skew] = {}
    shares: tuple[Share, ...] = ()
    findings: tuple[Finding, ...] = ()
    scatters: dict[str, Scatter] = {}
    modes: tuple[Modes, ...] = ()
    repetitions: pd.DataFrame
    ranks: pd.DataFrame
    problems: tuple[str, ...] = ()
    include_unstable: bool = False
    prior: str = ""
    compared: Compared | None = None
    changed: pd.DataFrame | None = None
    pairs: tuple[Judged, ...] = ()

    @property
    def cases(self) -> pd.DataFrame:
        """One row a case, in the order of the frame."""
        return self.drawn.drop_duplicates([*SERIES, "nbytes", "case"])

    @property
    def changes(self) -> Compared | None:
        """The comparison with the first run, where the report is about it: half of its cases are in another."""
        if self.compared is None:
            return None
        matched = max(len(one.comparisons) for one in self.compared.others)
        own = self.cases["run"].eq(self.results[0].name).sum()
        return self.compared if 2 * matched >= own else None

    @property
    def is_simulated(self) -> bool:
        """Whether any figure comes from a simulation."""
        return any(record.simulated for one in self.results for record in one.records)

    @property
    def leading(self) -> Fit | None:
        """The fit that speaks first: the first, in the order of operations, that describes and tells a bandwidth."""
        told = [fit for fit in self.fits.fits if fit.describes and fit.asymptote and fit.asymptote.value is not None]
        known = [fit for fit in told if fit.asymptote is not None and not fit.asymptote.weak]
        return next(iter(known or told), None)

    def curve_of(self, series: Series) -> str:
        """Return what a series is called beside others."""
        return self.curves[_key(msgspec.structs.astuple(series))]


def gather(
    results: Sequence[Results],
    findings: Sequence[Finding] = (),
    systems: Sequence[System] = (),
    *,
    include_unstable: bool = False,
    prior: str = "",
) -> Material:
    """Work out all that a report needs.

    Parameters
    ----------
    results : sequence of Results
        Runs of different names.
    findings : sequence of Finding
        Verdicts on claims.
    systems : sequence of System
        What was measured, as the user says.
    include_unstable : bool
        Let unstable records enter the fits.
    prior : str
        Name of a prior to set beside measurements: ``nccl:HOPPER``.
    """
    pairs = tuple(judge(results)) if any(is_sweep(one) for one in results) else ()
    results = [without_pairs(one) for one in results]
    table = frame(results)
    fits = Fits(fits=(), refused=()) if table.empty else fit_frame(table, include_unstable=include_unstable)
    drawn = placed(with_fits(table, fits, include_unstable=include_unstable))
    named = drawn[[*SERIES, "series"]].drop_duplicates()
    bare = Material(
        results=tuple(results),
        names=run_names([one.name for one in results]),
        table=table,
        drawn=drawn,
        curves={_key(values[:-1]): values[-1] for values in named.itertuples(index=False)},
        fits=fits,
        skews=skews(table),
        shares=shares(table, fits, systems, include_unstable=include_unstable),
        findings=tuple(findings),
        scatters=scatters(results, include_unstable=include_unstable),
        modes=tuple(several_modes(results)),
        repetitions=pd.DataFrame(),
        ranks=rank_shares(results, include_unstable=include_unstable),
        include_unstable=include_unstable,
        prior=prior,
        pairs=pairs,
    )
    compared = _compared(bare)
    changed = None if compared is None else drawn_changes(compared)
    return msgspec.structs.replace(_with_repetitions(bare), compared=compared, changed=changed)


def _compared(material: Material) -> Compared | None:
    if len(material.results) < 2:
        return None
    rows = material.table[material.table["sentinel"] == ""]
    sides = [Side(name=material.names[one.name], results=(one,)) for one in material.results]
    tables = [rows[rows["run"] == one.name] for one in material.results]
    found = compare(sides[0], sides[1:], tables=tables, include_unstable=material.include_unstable)
    return found if any(one.comparisons for one in found.others) else None


def _key(values: Iterable[object]) -> str:
    return "/".join(map(str, values))


def _with_repetitions(material: Material) -> Material:
    chosen = _sampled(material)
    told = {(case["run"], case["case"]): case["estimand"] for case in chosen}
    table, problems = repetitions(material.results, told)
    places = pd.DataFrame(chosen, columns=["run", "case", "panel", "swatch", "marker"])
    joined = table.merge(places, on=["run", "case"], how="right" if table.empty else "inner").assign(shown=True)
    joined = joined if len(table) else joined.iloc[:0]
    order = {case["panel"]: position for position, case in enumerate(chosen)}
    rows = joined.sort_values("panel", key=lambda panel: panel.map(order), kind="stable").reset_index(drop=True)
    return msgspec.structs.replace(material, repetitions=rows, problems=tuple(problems))


def _sampled(material: Material) -> list[dict[str, Any]]:
    """Return the cases whose raw repetitions are worth reading: smallest, near n1/2, largest of the leading series."""
    kept: dict[tuple[str, str], Case] = {
        (one.name, record.case.key): record.case
        for one in material.results
        for record in one.records
        if one.folder is not None and record.samples is not None and record.timing is not None
    }
    cases = material.cases
    has_samples = [key in kept for key in zip(cases["run"], cases["case"], strict=True)]
    cases = cases[has_samples]
    leading = material.leading
    if leading is not None:
        own = cases.loc[(cases[list(SERIES)] == [getattr(leading.series, name) for name in SERIES]).all(axis=1)]
        cases = own if len(own) else cases
    if cases.empty:
        return []
    # Without a fit the first series with samples has to do.
    first = cases[(cases[list(SERIES)] == cases[list(SERIES)].iloc[0]).all(axis=1)].sort_values("nbytes")
    half = first["half_size"].iloc[0]
    middle = (first["nbytes"] - half).abs().argmin() if half == half else len(first) // 2  # noqa: PLR0124 - NaN
    places = dict.fromkeys([0, int(middle), len(first) - 1])
    return [
        {**one, "panel": f"{one['operation']}, {format_nbytes(one['nbytes'])}" if one["nbytes"] else one["operation"]}
        for one in first.iloc[list(places)][
            ["run", "case", "operation", "nbytes", "estimand", "swatch", "marker"]
        ].to_dict("records")
    ][:MOST_SAMPLED]

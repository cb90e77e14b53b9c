"""How sure the findings are: what is measured, simulated, imported, each by itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import msgspec
import pandas as pd

from collmark.analysis.figures.words import percent
from collmark.analysis.models.fit import Fit
from collmark.analysis.pairs.words import sure_words
from collmark.analysis.report.material import Material
from collmark.analysis.report.scatter import Scatter
from collmark.core.marker import Marker, by_marker, said_before
from collmark.core.numeral import counted
from collmark.core.record import Record, Status


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """What of some results has one marker: no count and no figure is over two.

    Attributes
    ----------
    marker : str
        Empty for measurements of ours.
    records : list of Record
        Those of the plan, sentinels apart.
    cases : DataFrame
        A row each.
    fits : tuple of Fit
        Of them.
    scatter : Scatter or None
        None unless two launches of a case count.
    """

    marker: str
    records: list[Record]
    cases: pd.DataFrame
    fits: tuple[Fit, ...]
    scatter: Scatter | None


def records_of(material: Material) -> list[Record]:
    """Return the records of the plan, sentinels apart."""
    return [record for one in material.results for record in one.records if record.sentinel is None]


def parts_of(material: Material) -> list[Part]:
    """Return the parts of some results, measurements first."""
    cases = material.cases
    return [
        Part(
            marker=marker,
            records=records,
            cases=cases[cases["marker"] == marker],
            fits=tuple(fit for fit in material.fits.fits if (fit.series.marker or "") == marker),
            scatter=material.scatters.get(marker),
        )
        for marker, records in by_marker(records_of(material)).items()
    ]


def sure(material: Material) -> str:
    """Return how sure the findings are, in sentences."""
    if material.pairs:
        return sure_words(material.pairs)
    parts = parts_of(material)
    if not parts:
        return "There is nothing to be sure of."
    return " ".join(f"{said_before(part.marker)}{'; '.join(_of(part))}." for part in parts)


def _of(part: Part) -> Iterator[str]:
    yield _statuses(part.marker, part.records)
    several = part.cases["launches"][part.cases["launches"] > 1]
    if part.scatter is None and not several.empty:
        yield f"intervals are 95 % over {count_range(several)} launches"
    elif part.scatter is None:
        yield "one launch: no interval"
    elif several.empty:
        yield "no case has a time that can be believed in two launches: no interval"
    else:
        # The standard deviation, in the median over cases: see Launches.
        differ = f"which differ by {percent(part.scatter.between)} %"
        yield f"intervals are 95 % over {count_range(several)} launches, {differ}"
    misfits = sorted(fit.rms for fit in part.fits if fit.beta is not None)
    if misfits:
        ends = dict.fromkeys(percent(rms) for rms in (misfits[0], misfits[-1]))
        yield f"models miss by {' to '.join(ends)} % (rms)"


def _statuses(marker: str, records: Sequence[Record]) -> str:
    if marker == Marker.IMPORTED:
        return f"{counted(len(records), 'figure')} of other tools, as their logs give them"
    counts = Counter(record.status for record in records)
    others = ", ".join(f"{counts[status]} {status}" for status in Status if counts[status] and status != "converged")
    return f"{counts[Status.CONVERGED]} of {len(records)} records converged" + (f" ({others})" if others else "")


def count_range(counts: pd.Series) -> str:
    """Return the least and the most of some counts, as ``2 to 5``; once where they are the same."""
    least, most = int(counts.min()), int(counts.max())
    return str(most) if least == most else f"{least} to {most}"

"""A finding: the verdict on one kind of one claim, with everything it rests on."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from collmark.core.estimate import Estimate
from collmark.core.marker import Marker


class Kind(StrEnum):
    """What can decide a claim; none stands in for another."""

    LINK = "S"
    """Arithmetic on published link rates."""
    WORKLOAD = "W"
    """Arithmetic on a workload: volumes, memory, FLOPs."""
    MEASURED = "M"
    """Records of the named tiers."""
    PROJECTED = "P"
    """Fits and a layout."""


class Verdict(StrEnum):
    """The four words that a claim is answered with."""

    HOLDS = "holds"
    FAILS = "fails"
    INCONCLUSIVE = "inconclusive"
    NO_DATA = "no data"


class Figure(msgspec.Struct, frozen=True, kw_only=True):
    """One number with its unit and what it is, shown beside a verdict.

    Attributes
    ----------
    name : str
        What it is, in words.
    value : float
        In `unit`.
    unit : str
        As shown; empty for a ratio.
    estimate : Estimate or None
        With its interval, in the same unit, where it was measured: of the figure that decides a claim, the interval at
        the level that its verdict was decided at.
    over, under : str
        What stands over what, where it is a ratio of two measurements; empty otherwise.
    """

    name: str
    value: float
    unit: str = ""
    estimate: Estimate | None = None
    over: str = ""
    under: str = ""


class Missing(msgspec.Struct, frozen=True, kw_only=True):
    """A ratio of the same family that the records do not give, and which evidence is missing."""

    name: str
    reason: str


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """One statement of a claim that makes several; such a claim fails where any of them fails.

    Attributes
    ----------
    says : str
        The statement.
    verdict : Verdict
        On it alone.
    claimed, found, band, by, rule, problem
        As in :class:`Finding`.
    """

    says: str
    verdict: Verdict
    claimed: str
    found: Figure | None = None
    band: tuple[float, float] | None = None
    by: str = ""
    rule: str = ""
    problem: str = ""


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """The verdict on one kind of one claim.

    Attributes
    ----------
    claim, sentence : str
        Id, and the claim in words.
    kind : Kind
        What decided it.
    verdict : Verdict
        How.
    claimed : str
        The claimed figure with its unit and tolerance.
    found : Figure or None
        The figure that decides (of a claim with parts, that of the first that fails); None for no data.
    band : tuple of float or None
        The range, in the unit of `found`, inside which the claim holds; an end may be infinite.
    by : str
        In a few words, what it was decided by, or why it was not.
    steps : tuple of str
        The formula worked step by step, with units.
    evidence : tuple of str
        Sources of constants; runs, series and launches of measurements.
    rule : str
        The decision rule with its thresholds.
    would_change : str
        What would change the verdict.
    command : str
        For no data: the command that would decide it.
    problem : str
        Why no verdict may rest on the figure, empty where its interval alone decides; of no data, what is missing where
        some of its evidence is there.
    also : tuple of Figure
        Related figures that are shown beside it.
    missing : tuple of Missing
        Ratios that belong beside it and that the records do not give.
    parts : tuple of Part
        Each statement of a claim that makes more than one; empty otherwise.
    notes : tuple of str
        What to look out for, contradictions with other rows among it.
    imported : bool
        Whether other tools measured any of its figures.
    marker : str
        ``simulated`` or ``emulated`` where the figures are; such a verdict is never the claim's.
    """

    claim: str
    sentence: str
    kind: Kind
    verdict: Verdict
    claimed: str
    found: Figure | None = None
    band: tuple[float, float] | None = None
    by: str = ""
    steps: tuple[str, ...] = ()
    evidence: tuple[str, ...] = ()
    rule: str = ""
    would_change: str = ""
    command: str = ""
    problem: str = ""
    also: tuple[Figure, ...] = ()
    missing: tuple[Missing, ...] = ()
    parts: tuple[Part, ...] = ()
    notes: tuple[str, ...] = ()
    imported: bool = False
    marker: str = ""

    @property
    def mark(self) -> str:
        """What is said beside its verdict: SIMULATED and the like, or IMPORTED; empty where all was measured by us."""
        return self.marker.upper() or (Marker.IMPORTED.value if self.imported else "")

    @property
    def ratios(self) -> tuple[Figure, ...]:
        """Every ratio of two measurements in it, the one that decides first."""
        return tuple(figure for figure in (self.found, *self.also) if figure is not None and figure.over)

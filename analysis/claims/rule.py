"""Decision rules as data: what a phrase means, with thresholds that can be set and are printed with every finding."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from collmark.analysis.claims.finding import Verdict
from collmark.analysis.claims.quantity import Quantity, number
from collmark.analysis.claims.shape import SHAPES, Band, Shape
from collmark.core.errors import UnknownNameError, UsageError, nearest
from collmark.core.registry import Registry

if TYPE_CHECKING:
    from collmark.core.estimate import Estimate

FILE = Path(__file__).with_name("rules.toml")
INTERVAL = "interval"
"""The pseudo rule that holds the levels at which every interval is judged."""
_LEVELS = {"inside": (0.5, 1.0), "outside": (0.5, 1.0)}
_NOTHING = Quantity(low=1.0, high=1.0, unit="", text="", shown_in="", rounding=0.0)


class Interval(Protocol):
    """What has an interval at any level: a mean of logarithms, or a ratio by Fieller."""

    def interval(self, level: float) -> Estimate | None:
        """Return value and interval; None where it is not bounded."""


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """One decision rule.

    Attributes
    ----------
    name, says, shape : str
        Its name, the phrases it gives a meaning to, and the shape of its range.
    thresholds, defaults : dict of str to float
        As set, and as they come.
    """

    name: str
    says: str
    shape: str
    thresholds: dict[str, float] = {}
    defaults: dict[str, float] = {}

    @property
    def form(self) -> Shape:
        """The shape of its range."""
        return SHAPES[self.shape]

    def band(self, claimed: Quantity | None) -> Band:
        """Return the range in which a claim of some figure holds."""
        return self.form.band(self.thresholds, claimed or _NOTHING)

    def cell(self, claimed: Quantity | None) -> str:
        """Return the claimed figure with its tolerance, in a few characters."""
        return self.form.cell(self.thresholds, claimed or _NOTHING)

    def words(self) -> str:
        """Return the rule with its thresholds; one that was set says what it was before."""
        settings = [
            f"{key} {number(value)}" + (f" (set; default {number(default)})" if value != default else "")
            for key, value in self.thresholds.items()
            for default in [self.defaults.get(key, value)]
        ]
        return f"{self.name}: {self.says}" + (f"; {', '.join(settings)}" if settings else "")

    def with_threshold(self, key: str, value: object) -> Rule:
        """Return the rule with one threshold set.

        Raises
        ------
        UsageError
            If it has no such threshold, or the value makes no sense.
        """
        allowed = _allowed(self.shape)
        if key not in allowed:
            raise UnknownNameError(f"threshold of {self.name}", key, allowed)
        low, high = allowed[key]
        # TOML's true is a number to Python.
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not is_number or not low <= float(value) < high or not math.isfinite(float(value)):  # type: ignore[arg-type]
            bound = f"{number(low)} up to {number(high)}" if math.isfinite(high) else f"{number(low)} or more"
            raise UsageError(f"{self.name}.{key} = {value}: must be a number, {bound}")
        return msgspec.structs.replace(self, thresholds={**self.thresholds, key: float(value)})  # type: ignore[arg-type]


def _allowed(shape: str) -> Mapping[str, tuple[float, float]]:
    return _LEVELS if shape == "levels" else SHAPES[shape].thresholds


class Rules:
    """All decision rules, and the levels of their intervals.

    Parameters
    ----------
    rules : mapping of str to Rule
        By name, `interval` among them.
    """

    def __init__(self, rules: Mapping[str, Rule]) -> None:
        self.rules = dict(rules)

    def __getitem__(self, name: str) -> Rule:
        """Return a rule, or raise UnknownNameError with the nearest."""
        return Registry("rule", {key: rule for key, rule in self.rules.items() if key != INTERVAL})[name]

    @property
    def levels(self) -> Rule:
        """The levels at which every interval is judged."""
        return self.rules[INTERVAL]

    def with_setting(self, name: str, key: str, value: object) -> Rules:
        """Return the rules with one threshold set.

        Raises
        ------
        UsageError
            If there is no such rule or threshold, or the value makes no sense.
        """
        if name not in self.rules:
            raise UnknownNameError("rule", name, self.rules)
        return Rules({**self.rules, name: self.rules[name].with_threshold(key, value)})

    def with_rule(self, rule: Rule) -> Rules:
        """Return the rules and one more."""
        return Rules({**self.rules, rule.name: rule})

    def decide(self, found: Interval, band: Band) -> Verdict:
        """Return the verdict on a quantity that was measured over launches.

        Parameters
        ----------
        found : Interval
            In the unit of `band`.
        band : Band
            Where the claim holds.

        Notes
        -----
        Two one-sided tests (Schuirmann 1987): holds where the interval at level `inside` lies in the range, fails where
        the one at level `outside` lies wholly outside. Both hold the estimate itself, so that never both are true; a
        wider interval does neither more readily.
        """
        inner, outer = (found.interval(self.levels.thresholds[key]) for key in ("inside", "outside"))
        if inner is not None and band.has(inner.lower, inner.upper):
            return Verdict.HOLDS
        if outer is not None and band.misses(outer.lower, outer.upper):
            return Verdict.FAILS
        return Verdict.INCONCLUSIVE


def decide_exactly(value: float, band: Band) -> Verdict:
    """Return the verdict on a figure that was worked out: there is nothing to wait for."""
    return Verdict.HOLDS if band.has(value, value) else Verdict.FAILS


def built_in_rules() -> Rules:
    """Return the rules that come with collmark."""
    tables = tomllib.loads(FILE.read_text(encoding="utf-8"))
    return Rules({name: _built_in(name, table) for name, table in tables.items()})


def _built_in(name: str, table: Mapping[str, Any]) -> Rule:
    rule = Rule(name=name, says=table["says"], shape=table["shape"])
    for key, value in table.items():
        if key not in ("says", "shape"):
            rule = rule.with_threshold(key, value)
    return msgspec.structs.replace(rule, defaults=rule.thresholds)


def read_rules(rules: Rules, tables: object, where: str) -> tuple[Rules, list[str]]:
    """Read thresholds, and rules of one's own, from a TOML table.

    Parameters
    ----------
    rules : Rules
        Those that are there.
    tables : object
        Tables by the rule's name: thresholds; for a new rule also ``like``, the rule whose shape it has.
    where : str
        For messages.

    Returns
    -------
    Rules, list of str
        With what could be read, and everything that is wrong.
    """
    problems: list[str] = []
    if not isinstance(tables, Mapping):
        return rules, [f"{where} is no table of rules"]
    for name, table in tables.items():
        try:
            rules = _read_rule(rules, name, table)
        except UsageError as error:
            problems.append(f"{where}.{name}: {error}")
    return rules, problems


def _read_rule(rules: Rules, name: str, table: object) -> Rules:
    if not isinstance(table, Mapping):
        raise UsageError("a rule is a table, as [rules.about]")
    settings = dict(table)
    like, says = settings.pop("like", None), settings.pop("says", None)
    if name not in rules.rules:
        if like is None:
            close = nearest(name, rules.rules)
            hint = f"did you mean {close!r}? " if close else ""
            raise UsageError(f'no such rule; {hint}a new one says which it is like, as like = "about"')
        model = rules[str(like)]
        rules = rules.with_rule(msgspec.structs.replace(model, name=name, says=str(says or model.says)))
    elif like is not None or says is not None:
        raise UsageError("it is there already: set its thresholds, or choose another name")
    for key, value in settings.items():
        rules = rules.with_setting(name, key, value)
    return rules

"""Rows of claims as they stand in TOML, read strictly: a misspelt key is named with the nearest right one."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec

from collmark.analysis.claims.arithmetic.index import ARITHMETIC
from collmark.analysis.claims.constants import Constants
from collmark.analysis.claims.finding import Kind
from collmark.analysis.claims.measured.index import MEASURED
from collmark.analysis.claims.measured.selector import Selector, read_selector
from collmark.analysis.claims.predicate import Parameter, read_parameters
from collmark.analysis.claims.quantity import Quantity, read_quantity
from collmark.analysis.claims.row import Aspect, Claim, Question
from collmark.analysis.claims.rule import Rule, Rules
from collmark.core.errors import UsageError, excerpt, nearest

ID = re.compile(r"[a-z][a-z0-9.-]{1,39}", re.ASCII)
Row = TypeVar("Row", bound=msgspec.Struct)


class PartRow(msgspec.Struct, frozen=True, kw_only=True):
    """One statement of a row of kind S or W, as written."""

    predicate: str
    rule: str
    claimed: str | int | float | None = None
    says: str = ""
    by: str = ""
    parameters: dict[str, Any] = {}


class ArithmeticRow(msgspec.Struct, frozen=True, kw_only=True):
    """Kind S or W, as written: one part, or a list of parts."""

    parts: list[dict[str, Any]]
    closed_form: bool = True
    would_change: str = ""


class MeasuredRow(msgspec.Struct, frozen=True, kw_only=True):
    """Kind M, as written."""

    predicate: str
    rule: str
    tier_a: str
    tier_b: str | None = None
    claimed: str | int | float | None = None
    parameters: dict[str, Any] = {}


class ProjectedRow(msgspec.Struct, frozen=True, kw_only=True):
    """Kind P, as written."""

    rule: str
    claimed: str | int | float | None = None
    needs: str = ""


class ClaimRow(msgspec.Struct, frozen=True, kw_only=True):
    """A claim, as written."""

    id: str
    sentence: str
    source: str = ""
    figures: str = ""
    notes: list[str] = []
    contradicts: dict[str, str] = {}
    S: dict[str, Any] | None = None
    W: dict[str, Any] | None = None
    M: dict[str, Any] | None = None
    P: dict[str, Any] | None = None


class Reader:
    """Turns tables of TOML into claims, and keeps everything that is wrong.

    Parameters
    ----------
    rules : Rules
        Decision rules.
    constants : Constants
        The data table.
    """

    def __init__(self, rules: Rules, constants: Constants) -> None:
        self.rules = rules
        self.constants = constants
        self.problems: list[str] = []

    def claim(self, table: object, where: str, source: str) -> Claim | None:
        """Return the claim of one table; None where it cannot be read."""
        row = self._convert(table, ClaimRow, where)
        if row is None:
            return None
        where = f"{where} {excerpt(row.id, 40)!r}"
        before = len(self.problems)
        if not ID.fullmatch(row.id):
            self.problems.append(f"{where}: an id is 2 to 40 small letters, digits, dots and dashes")
        if not row.sentence.strip():
            self.problems.append(f"{where}: the sentence is empty")
        written = {Kind.LINK: row.S, Kind.WORKLOAD: row.W, Kind.MEASURED: row.M, Kind.PROJECTED: row.P}
        aspects = [
            self._aspect(kind, table, f"{where}, {kind}") for kind, table in written.items() if table is not None
        ]
        if not aspects and len(self.problems) == before:
            self.problems.append(f"{where}: nothing can decide it; add a table S, W, M or P")
        if len(self.problems) > before:
            return None
        rivals = [f"contradicts {'itself' if name == row.id else name}: {why}" for name, why in row.contradicts.items()]
        return Claim(
            id=row.id,
            sentence=row.sentence,
            source=row.source or source,
            figures=row.figures,
            notes=(*rivals, *row.notes),
            aspects=tuple(aspect for aspect in aspects if aspect is not None),
            rivals=tuple(name for name in row.contradicts if name != row.id),
        )

    def _aspect(self, kind: Kind, table: object, where: str) -> Aspect | None:
        if kind in (Kind.LINK, Kind.WORKLOAD):
            return self._arithmetic(kind, table, where)
        if kind is Kind.MEASURED:
            return self._measured(table, where)
        row = self._convert(table, ProjectedRow, where)
        rule = None if row is None else self._rule(row.rule, row.claimed, where)
        if row is None or rule is None:
            return None
        return Aspect(kind=kind, questions=(Question(kind=kind, rule=rule[0], claimed=rule[1], needs=row.needs),))

    def _arithmetic(self, kind: Kind, table: object, where: str) -> Aspect | None:
        # A row that makes one statement may leave the list away.
        if isinstance(table, Mapping) and "parts" not in table:
            outer = {key: value for key, value in table.items() if key in ArithmeticRow.__struct_fields__}
            table = {**outer, "parts": [{key: value for key, value in table.items() if key not in outer}]}
        row = self._convert(table, ArithmeticRow, where)
        if row is None:
            return None
        if not row.parts:
            self.problems.append(f"{where}: parts is empty")
        many = len(row.parts) > 1
        questions = [
            self._part(kind, part, f"{where}, part {n}" if many else where) for n, part in enumerate(row.parts, 1)
        ]
        if many and any(one is not None and not one.says for one in questions):
            self.problems.append(f"{where}: each of several parts needs says, its statement in words")
        return Aspect(
            kind=kind,
            questions=tuple(one for one in questions if one is not None),
            closed_form=row.closed_form,
            would_change=row.would_change,
        )

    def _part(self, kind: Kind, table: object, where: str) -> Question | None:
        row = self._convert(table, PartRow, where)
        if row is None:
            return None
        rule = self._rule(row.rule, row.claimed, where)
        predicate = self._named(ARITHMETIC, row.predicate, where)
        if predicate is None or rule is None:
            return None
        return Question(
            kind=kind,
            predicate=row.predicate,
            rule=rule[0],
            claimed=rule[1],
            parameters=self._parameters(predicate.parameters, row.parameters, where),
            says=row.says,
            by=row.by,
        )

    def _measured(self, table: object, where: str) -> Aspect | None:
        row = self._convert(table, MeasuredRow, where)
        if row is None:
            return None
        rule = self._rule(row.rule, row.claimed, where)
        predicate = self._named(MEASURED, row.predicate, where)
        if predicate is None or rule is None:
            return None
        texts = [row.tier_a, *([row.tier_b] if row.tier_b is not None else [])]
        if len(texts) != predicate.tiers:
            wanted = "tier_a and tier_b" if predicate.tiers == 2 else "tier_a alone"
            self.problems.append(f"{where}: {row.predicate} takes {wanted}")
        if rule[0].form.exact:
            self.problems.append(f"{where}: rule {row.rule} is for arithmetic; take about, over or under")
        if rule[1] is not None and rule[1].unit != predicate.unit:
            self.problems.append(
                f"{where}: {row.predicate} gives {predicate.unit or 'a number'}, claimed {rule[1].text!r} does not"
            )
        question = Question(
            kind=Kind.MEASURED,
            predicate=row.predicate,
            rule=rule[0],
            claimed=rule[1],
            parameters=self._parameters(predicate.parameters, row.parameters, where),
            tiers=self._tiers(texts, where),
        )
        return Aspect(kind=Kind.MEASURED, questions=(question,))

    def _parameters(self, declared: Mapping[str, Parameter], table: dict[str, Any], where: str) -> dict[str, Any]:
        values, problems = read_parameters(declared, table, self.constants)
        self.problems += [f"{where}: {problem}" for problem in problems]
        return values

    def _tiers(self, texts: list[str], where: str) -> tuple[Selector, ...]:
        found = []
        for text in texts:
            try:
                found.append(read_selector(text))
            except UsageError as error:
                self.problems.append(f"{where}: {error}")
        return tuple(found)

    def _rule(self, name: str, written: object, where: str) -> tuple[Rule, Quantity | None] | None:
        rule = self._named(self.rules, name, where)
        if rule is None:
            return None
        if rule.form.compares != (written is not None):
            wanted = (
                "needs claimed, the figure" if rule.form.compares else "takes no claimed figure: its limits are its own"
            )
            self.problems.append(f"{where}: rule {name} {wanted}")
            return None
        try:
            return rule, None if written is None else read_quantity(written)
        except UsageError as error:
            self.problems.append(f"{where}: claimed: {error}")
            return None

    def _named(self, index: Any, name: str, where: str) -> Any:  # noqa: ANN401 - an entry of any index
        try:
            return index[name]
        except UsageError as error:
            self.problems.append(f"{where}: {error}")
            return None

    def _convert(self, table: object, row: type[Row], where: str) -> Row | None:
        """Return a table as a struct, with every unknown key named."""
        if not isinstance(table, Mapping):
            self.problems.append(f"{where}: must be a table")
            return None
        known = row.__struct_fields__
        unknown = [key for key in table if key not in known]
        for key in unknown:
            close = nearest(key, known)
            hint = f"did you mean {close!r}?" if close else f"allowed: {', '.join(known)}"
            self.problems.append(f"{where}: unknown key {excerpt(key)!r}; {hint}")
        if unknown:
            return None
        try:
            return msgspec.convert(dict(table), row)
        except msgspec.ValidationError as error:
            self.problems.append(f"{where}: {str(error).replace('`', '').replace(' - at $.', ': ')}")
            return None

"""The table of claims: the rows that come with collmark, and those of the user's own files."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from collmark.analysis.claims.constants import Constants, read_constants
from collmark.analysis.claims.reader import Reader
from collmark.analysis.claims.row import Claim
from collmark.analysis.claims.rule import Rules, built_in_rules, read_rules
from collmark.core.errors import UnknownNameError, UsageError, nearest, one_line
from collmark.core.store import LATEST

FOLDER = Path(__file__).parent
ROWS = ("links", "tensor", "pipeline", "data", "fabric")
"""The files of rows, in their order."""
SCOPE = "scope"
KEYS = ("source", "rules", "constants", "claims")
"""What a file of claims may hold."""
MOST_BYTES = 1_000_000
"""A file of claims larger than this is something else."""


class OutOfScope(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is left alone, and why."""

    subject: str
    reason: str


class Table(msgspec.Struct, frozen=True, kw_only=True):
    """All claims, and what they are judged by.

    Attributes
    ----------
    claims : tuple of Claim
        In the order of the files.
    rules : Rules
        Decision rules with their thresholds.
    out_of_scope : tuple of OutOfScope
        What is left alone.
    """

    claims: tuple[Claim, ...]
    rules: Rules
    out_of_scope: tuple[OutOfScope, ...]

    def ids(self) -> tuple[str, ...]:
        """Return the ids of all claims, in order."""
        return tuple(claim.id for claim in self.claims)

    def of(self, ids: Iterable[str]) -> tuple[Claim, ...]:
        """Return the claims of some ids, in the order asked for; all where none is named.

        Raises
        ------
        UnknownNameError
            With the nearest id.
        """
        by_id = {claim.id: claim for claim in self.claims}
        wanted = list(dict.fromkeys(ids))
        for name in wanted:
            if name not in by_id:
                raise UnknownNameError("claim", name, by_id)
        return tuple(by_id[name] for name in wanted) or self.claims


def load_table(files: Iterable[Path] = (), settings: Iterable[str] = ()) -> Table:
    """Return the table: built-in rows, then those of some files; thresholds as set.

    Parameters
    ----------
    files : iterable of Path
        Files of claims in TOML, in the form of the built-in ones.
    settings : iterable of str
        ``RULE.THRESHOLD=VALUE``; they win over the files.

    Raises
    ------
    UsageError
        With everything that is wrong, in one line.
    """
    own = [(str(path), _read_file(path)) for path in files]
    rules, constants, problems = _ground(own)
    for setting in settings:
        rules = _with_setting(rules, setting)
    claims: list[Claim] = []
    reader = Reader(rules, constants)
    for name in ROWS:
        claims += _claims_of(reader, _built_in(f"rows/{name}"), name)
    for where, table in own:
        claims += [msgspec.structs.replace(claim, file=where) for claim in _claims_of(reader, table, where)]
    problems += reader.problems
    problems += _problems_between(claims)
    if problems:
        raise UsageError("; ".join(problems))
    scope = msgspec.convert(_built_in(f"rows/{SCOPE}")["out_of_scope"], tuple[OutOfScope, ...])
    return Table(claims=tuple(claims), rules=rules, out_of_scope=scope)


def _ground(own: list[tuple[str, dict[str, Any]]]) -> tuple[Rules, Constants, list[str]]:
    """Return rules and constants, built-in and of some files, and everything that is wrong with them."""
    rules = built_in_rules()
    constants, problems = read_constants(_built_in("constants"), "constants")
    for where, table in own:
        if not table:
            problems.append(f"{where}: holds no claims, rules or constants; docs/how-to-add-a-claim.md has an example")
        for key in table:
            if key not in KEYS:
                close = nearest(key, KEYS)
                hint = f"did you mean {close!r}?" if close else f"allowed: {', '.join(KEYS)}"
                problems.append(f"{where}: unknown key {key!r}; {hint}")
        rules, wrong = read_rules(rules, table.get("rules", {}), f"{where}: rules")
        more, wrong_too = read_constants(table.get("constants", {}), f"{where}: constants")
        problems += [*wrong, *wrong_too]
        constants = constants.with_more(more, where)
    return rules, constants, problems


def _built_in(name: str) -> dict[str, Any]:
    return tomllib.loads((FOLDER / f"{name}.toml").read_text(encoding="utf-8"))


def _read_file(path: Path) -> dict[str, Any]:
    hint = "docs/how-to-add-a-claim.md has an example"
    try:
        with path.open("rb") as file:
            content = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise UsageError(f"claims {path}: {error.strerror}; {hint}") from error
    if len(content) > MOST_BYTES:
        raise UsageError(f"claims {path}: larger than {MOST_BYTES} bytes, so that it is something else; {hint}")
    try:
        # Bytes that are no UTF-8, bad TOML, and numbers of thousands of digits are all ValueErrors.
        table: dict[str, Any] = _printable(tomllib.loads(content.decode("utf-8")))
    except (ValueError, RecursionError) as error:
        raise UsageError(f"claims {path}: {error}; {hint}") from error
    return table


def _printable(thing: Any) -> Any:  # noqa: ANN401 - whatever TOML holds
    """Return what was read with every text as one line that a terminal only shows."""
    if isinstance(thing, str):
        return one_line(thing)
    if isinstance(thing, dict):
        return {one_line(key): _printable(value) for key, value in thing.items()}
    return [_printable(item) for item in thing] if isinstance(thing, list) else thing


def _with_setting(rules: Rules, setting: str) -> Rules:
    name, equals, value = setting.partition("=")
    rule, dot, key = name.strip().rpartition(".")
    if not equals or not dot or not rule or not key:
        raise UsageError(f"--set {setting}: must be RULE.THRESHOLD=VALUE, as about.tolerance=1.3")
    text = value.strip()
    try:
        number = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError as error:
        raise UsageError(f"--set {setting}: {text!r} is no number") from error
    try:
        return rules.with_setting(rule, key, number)
    except UsageError as error:
        raise UsageError(f"--set {setting}: {error}") from error


def _claims_of(reader: Reader, table: Mapping[str, Any], where: str) -> list[Claim]:
    rows, source = table.get("claims", []), table.get("source", "")
    if not isinstance(rows, list) or not isinstance(source, str):
        reader.problems.append(f"{where}: claims must be tables, as [[claims]], and source a text")
        return []
    found = (reader.claim(row, f"{where}: claim {number}", source) for number, row in enumerate(rows, start=1))
    claims = [claim for claim in found if claim is not None]
    if any(claim.id == LATEST for claim in claims):
        reader.problems.append(f"{where}: claim {LATEST!r}: that names the newest run; choose another id")
    return claims


def _problems_between(claims: list[Claim]) -> list[str]:
    ids = [claim.id for claim in claims]
    problems = [
        f"claim {name!r} stands there twice: choose another id" for name in dict.fromkeys(ids) if ids.count(name) > 1
    ]
    for claim in claims:
        for rival in claim.rivals:
            if rival not in ids:
                close = nearest(rival, ids)
                hint = f"; did you mean {close!r}?" if close else ""
                problems.append(f"claim {claim.id!r} contradicts {rival!r}, which is no claim{hint}")
    return problems

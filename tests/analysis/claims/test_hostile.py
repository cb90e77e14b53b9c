"""Tables of any kind at all: a claim, or words about what is wrong; never a fault of ours."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.analysis.claims.links import GB, link, runs

from collmark.analysis.claims.arithmetic.index import ARITHMETIC
from collmark.analysis.claims.constants import Constants, read_constants
from collmark.analysis.claims.judge import judge
from collmark.analysis.claims.measured.index import MEASURED
from collmark.analysis.claims.predicate import Form, Parameter
from collmark.analysis.claims.quantity import read_quantity
from collmark.analysis.claims.reader import Reader
from collmark.analysis.claims.rule import INTERVAL, built_in_rules, read_rules
from collmark.core.errors import UsageError
from collmark.core.operation_table import OPERATIONS

RULES = built_in_rules()
WORDS = st.sampled_from(
    [
        "2",
        "1 GB",
        "4 GB/s",
        "2 s",
        "50 %",
        "1 to 2",
        "1e30",
        "1e-30",
        "stream",
        "all_reduce",
        "nvlink",
        "tcp@a",
        "x.y",
        "",
    ]
)
PLAIN = st.one_of(
    WORDS, st.text(max_size=8), st.booleans(), st.integers(-(10**40), 10**40), st.floats(), st.integers(0, 70)
)
ANY = st.recursive(
    PLAIN,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=6), inner, max_size=3)),
    max_leaves=6,
)


NUMBER = st.sampled_from(["1", "2", "3", "7", "64", "80", "0.5", "1e3", "1e15", "1e30", "1e-30", "0"])


def fitting(parameter: Parameter) -> st.SearchStrategy[Any]:
    """Return values of the form that a parameter has, some of them out of range."""
    quantity = st.tuples(NUMBER, st.sampled_from(["GB", "s"])).map(" ".join)
    if parameter.unit is not None:
        quantity = NUMBER.map(lambda number: f"{number} {parameter.unit}".strip())
    pair = st.fixed_dictionaries({"name": st.just("x"), "over": quantity, "under": quantity})
    found: dict[Form, st.SearchStrategy[Any]] = {
        Form.QUANTITY: quantity,
        Form.QUANTITIES: st.lists(quantity, min_size=1, max_size=3),
        Form.PAIRS: st.lists(pair, min_size=1, max_size=2),
        Form.OPERATION: st.sampled_from(OPERATIONS.names()),
        Form.TRUTH: st.booleans(),
        Form.WORDS: st.lists(st.sampled_from(parameter.choices or ("x",)), min_size=1),
    }
    return found[parameter.form]


def aspect(kind: str) -> st.SearchStrategy[dict[str, Any]]:
    index: Any = MEASURED if kind == "M" else ARITHMETIC

    def of(name: str, rule: str) -> st.SearchStrategy[dict[str, Any]]:
        predicate, compares = index[name], RULES[rule].form.compares
        units = st.sampled_from(["", "B", "s", "B/s"]) if kind != "M" else st.just(predicate.unit)
        fields: dict[str, st.SearchStrategy[Any]] = {
            "predicate": st.just(name),
            "rule": st.just(rule),
            "parameters": st.fixed_dictionaries({key: fitting(one) for key, one in predicate.parameters.items()}),
        }
        if compares:
            fields["claimed"] = st.tuples(NUMBER, units).map(lambda pair: " ".join(pair).strip())
        if kind == "M":
            fields |= {"tier_a": st.sampled_from(["nvlink", "tcp@a"])}
            fields |= {"tier_b": st.just("rdma")} if predicate.tiers == 2 else {}
        return st.fixed_dictionaries(fields)

    names = [name for name in RULES.rules if name != INTERVAL and not (kind == "M" and RULES[name].form.exact)]
    return st.tuples(st.sampled_from(index.names()), st.sampled_from(names)).flatmap(lambda pair: of(*pair))


def broken(table: dict[str, Any], where: str, value: object) -> dict[str, Any]:
    """Return a table with one value replaced, or one more."""
    return {**table, where: value}


def rows() -> st.SearchStrategy[dict[str, Any]]:
    """Return rows of which most are sound and some have one thing wrong, at any level."""

    def row(kind: str) -> st.SearchStrategy[dict[str, Any]]:
        sound = aspect(kind)
        keys = ["predicate", "rule", "parameters", "claimed", "tier_a", "tier_b", "parts", "by", "closed_form", "other"]
        unsound = st.builds(broken, sound, st.sampled_from(keys), ANY)
        table = {"id": st.just("mine"), "sentence": st.just("It is."), kind: st.one_of(sound, sound, unsound)}
        whole = st.fixed_dictionaries(table)
        heads = st.sampled_from(["id", "sentence", "notes", "contradicts", "S", "P", "other"])
        return st.one_of(whole, whole, st.builds(broken, whole, heads, ANY))

    return st.sampled_from(["S", "W", "M"]).flatmap(row)


@settings(max_examples=200)
@given(rows())
def test_any_row_is_a_claim_or_a_problem(table: dict[str, Any]) -> None:
    reader = Reader(RULES, Constants({}))
    claim = reader.claim(table, "row", "")
    assert (claim is None) == bool(reader.problems)
    if claim is not None:
        with contextlib.suppress(UsageError):  # figures that have no sense together
            assert judge([claim], RULES)


@given(ANY)
def test_any_table_gives_rules_and_constants_or_problems(table: object) -> None:
    for read in (lambda: read_rules(RULES, table, "rules"), lambda: read_constants(table, "constants")):
        _found, problems = read()
        assert all(isinstance(problem, str) for problem in problems)


@given(ANY)
def test_anything_is_a_quantity_or_refused(written: object) -> None:
    try:
        quantity = read_quantity(written)
    except UsageError:
        return
    assert 0 <= quantity.low <= quantity.high


MEASURED_ROWS: dict[str, dict[str, Any]] = {
    "asymptote": {"claimed": "50 GB/s", "rule": "about", "parameters": {}},
    "asymptote_ratio": {"claimed": 9, "rule": "about", "parameters": {"family": True}},
    "alpha_ratio": {"rule": "lower", "parameters": {}},
    "smallest_time": {"claimed": "2 us", "rule": "about", "parameters": {"at_most": "64 B"}},
    "time_at": {"rule": "microseconds", "parameters": {"sizes": ["1 MB", "512 B"], "smallest": True}},
    "sensitivity": {"rule": "more-sensitive", "parameters": {"against": "all_reduce", "ragged": "all_to_all_v"}},
    "pair_uniformity": {"rule": "uniform", "parameters": {"members": 4}},
}


def test_rows_above_are_all_predicates() -> None:
    assert tuple(MEASURED_ROWS) == MEASURED.names()


@pytest.mark.parametrize("operation", OPERATIONS.names())
def test_every_predicate_takes_every_operation(operation: str) -> None:
    reader = Reader(RULES, Constants({}))
    claims = []
    for name, row in MEASURED_ROWS.items():
        tiers = {"tier_a": "nvlink", **({"tier_b": "infiniband"} if MEASURED[name].tiers == 2 else {})}
        kind = {**row, "predicate": name, "parameters": {**row["parameters"], "operation": operation}, **tiers}
        claims.append(reader.claim({"id": name.replace("_", "-"), "sentence": "It is.", "M": kind}, "row", ""))
    assert not reader.problems
    fast, slow = (link(place, operation, rate=rate * GB) for place, rate in (("nvlink", 400), ("infiniband", 50)))
    found = judge([claim for claim in claims if claim is not None], RULES, runs(fast, slow))
    assert len(found) == len(MEASURED_ROWS)
    assert all(finding.by and finding.would_change for finding in found)

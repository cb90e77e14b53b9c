"""Decision rules: never two verdicts at once, no decision by a wider interval, every threshold settable."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.analysis.claims.links import GB, finding, link

from collmark.analysis.claims.finding import Verdict
from collmark.analysis.claims.quantity import read_quantity
from collmark.analysis.claims.rule import INTERVAL, Rules, built_in_rules, decide_exactly
from collmark.analysis.claims.shape import SHAPES, Band
from collmark.analysis.claims.table import Table, load_table
from collmark.analysis.ratio import LogMean, log_mean
from collmark.core.errors import UsageError

RULES = built_in_rules()
NAMES = [name for name in RULES.rules if name != INTERVAL]
CLAIMED = read_quantity(18)
MEANS = st.builds(
    lambda centre, variance, count: LogMean(
        centre=centre, variances=(variance, variance), counts=(count, count), method="made"
    ),
    st.floats(-8, 8),
    st.floats(0, 4),
    st.integers(2, 30),
)


def band_of(name: str, rules: Rules = RULES) -> Band:
    rule = rules[name]
    return rule.band(CLAIMED if rule.form.compares else None)


@given(name=st.sampled_from(NAMES), mean=MEANS)
def test_no_interval_both_holds_and_fails(name: str, mean: LogMean) -> None:
    band = band_of(name)
    inner, outer = mean.interval(0.90), mean.interval(0.95)
    if inner is None or outer is None:
        return
    holds, fails = band.has(inner.lower, inner.upper), band.misses(outer.lower, outer.upper)
    assert not (holds and fails)
    expected = Verdict.HOLDS if holds else Verdict.FAILS if fails else Verdict.INCONCLUSIVE
    assert RULES.decide(mean, band) is expected


@given(name=st.sampled_from(NAMES), mean=MEANS, factor=st.floats(1, 50))
def test_wider_interval_never_decides(name: str, mean: LogMean, factor: float) -> None:
    band = band_of(name)
    wider = LogMean(
        centre=mean.centre, variances=tuple(v * factor for v in mean.variances), counts=mean.counts, method="made"
    )
    before, after = RULES.decide(mean, band), RULES.decide(wider, band)
    assert after in (before, Verdict.INCONCLUSIVE)


@given(value=st.floats(1e-6, 1e6), name=st.sampled_from(NAMES))
def test_exact_figure_is_decided(value: float, name: str) -> None:
    assert decide_exactly(value, band_of(name)) in (Verdict.HOLDS, Verdict.FAILS)


@pytest.mark.parametrize(
    ("name", "claimed", "inside", "outside"),
    [
        ("about", "18", (15.01, 21.59), (14.99, 21.61)),
        ("about", "10 to 50", (8.34, 59.9), (8.33, 60.1)),
        ("parity", None, (0.9092, 1.0999), (0.9090, 1.1001)),
        ("lower", None, (0.1, 0.999), (1.0, 1.001)),
        ("more-sensitive", None, (1.201, 5), (1.2, 1.0)),
        ("uniform", None, (0.95, 1.0), (0.949, 0.1)),
        ("microseconds", None, (1e-6, 99e-6), (100e-6, 1e-3)),
        ("tolerates", None, (0.0, 0.05), (0.051, 1.0)),
        ("crosses", None, (0.0, 0.10), (0.101, 1.0)),
        ("must-stay-inside", None, (1.5, 9), (1.49, 1.0)),
        ("rounding", "2.8", (2.751, 2.849), (2.749, 2.851)),
        ("rounding", "18 to 20", (17.51, 20.49), (17.49, 20.51)),
        ("rounding", "1/64", (1 / 64, 1 / 64), (0.0157, 0.0156)),
        ("over", "900", (900.1, 1e6), (900, 1)),
        ("under", "1120", (1119, 1), (1120, 1121)),
        ("at-least", "24", (24, 25), (23.9, 4)),
    ],
)
def test_ranges_are_those_of_the_phrases(
    name: str, claimed: str | None, inside: tuple[float, float], outside: tuple[float, float]
) -> None:
    band = RULES[name].band(None if claimed is None else read_quantity(claimed))
    assert all(decide_exactly(value, band) is Verdict.HOLDS for value in inside)
    assert all(decide_exactly(value, band) is Verdict.FAILS for value in outside)


@pytest.mark.parametrize(
    ("name", "share", "verdict"),
    [
        ("bandwidth-bound", 0.05, Verdict.HOLDS),
        ("bandwidth-bound", 0.30, Verdict.INCONCLUSIVE),
        ("bandwidth-bound", 0.70, Verdict.FAILS),
        ("latency-bound", 0.70, Verdict.HOLDS),
        ("latency-bound", 0.30, Verdict.INCONCLUSIVE),
        ("latency-bound", 0.05, Verdict.FAILS),
    ],
)
def test_between_latency_and_bandwidth_nothing_is_decided(name: str, share: float, verdict: Verdict) -> None:
    mean = log_mean([share, share * 1.001, share * 0.999])
    assert mean is not None
    assert RULES.decide(mean, band_of(name)) is verdict


def test_interval_that_is_not_bounded_decides_nothing() -> None:
    mean = LogMean(centre=0.0, variances=(1e6,), counts=(2,), method="made")
    assert all(RULES.decide(mean, band_of(name)) is Verdict.INCONCLUSIVE for name in NAMES)


def test_every_shape_has_a_rule_and_says_its_thresholds() -> None:
    assert {rule.shape for rule in RULES.rules.values()} == {*SHAPES, "levels"}
    for name in NAMES:
        rule = RULES[name]
        assert set(rule.thresholds) == set(rule.form.thresholds)
        assert all(key in rule.words() for key in rule.thresholds)
        assert rule.cell(CLAIMED if rule.form.compares else None)


def test_setting_a_threshold_changes_the_verdict_and_is_said(table: Table) -> None:
    records = [link("nvlink", rate=23 * 50 * GB), link("infiniband")]
    before = finding(table, "gap-18x", *records)
    after = finding(load_table(settings=["about.tolerance=1.5"]), "gap-18x", *records)
    assert (before.verdict, after.verdict) == (Verdict.FAILS, Verdict.HOLDS)
    assert "tolerance 1.2" in before.rule
    assert "tolerance 1.5 (set; default 1.2)" in after.rule
    assert after.claimed == "18 x/1.5"
    assert after.band == pytest.approx((12, 27))


def test_levels_can_be_set(table: Table) -> None:
    levels = (0.9, 1.1, 0.95, 1.05, 1.0)
    records = [link("nvlink", rate=15.9 * 50 * GB, levels=levels), link("infiniband", levels=levels)]
    assert finding(table, "gap-18x", *records).verdict is Verdict.INCONCLUSIVE
    eager = load_table(settings=["interval.inside=50%"])
    assert finding(eager, "gap-18x", *records).verdict is Verdict.HOLDS
    assert "inside 0.5 (set; default 0.9)" in finding(eager, "gap-18x", *records).rule


@pytest.mark.parametrize("name", [n for n in NAMES if RULES[n].thresholds])
def test_each_threshold_is_settable(name: str) -> None:
    for key in RULES[name].thresholds:
        rules = load_table(settings=[f"{name}.{key}={1.7 if key == 'tolerance' else 0.3}"]).rules
        assert rules[name].thresholds[key] == (1.7 if key == "tolerance" else 0.3)
        assert rules[name].defaults == RULES[name].defaults


@pytest.mark.parametrize(
    ("setting", "wanted"),
    [
        ("about", "must be RULE.THRESHOLD=VALUE"),
        ("about=1.3", "must be RULE.THRESHOLD=VALUE"),
        ("abuot.tolerance=1.3", "did you mean 'about'?"),
        ("about.tolerence=1.3", "did you mean 'tolerance'?"),
        ("about.tolerance=wide", "'wide' is no number"),
        ("about.tolerance=0.5", "must be a number, 1 up to 100"),
        ("about.tolerance=nan", "must be a number"),
        ("lower.limit=inf", "must be a number"),
        ("interval.inside=1", "must be a number, 0.5 up to 1"),
        ("rounding.digits=2", "allowed: none"),
    ],
)
def test_bad_setting_is_one_line(setting: str, wanted: str) -> None:
    with pytest.raises(UsageError) as raised:
        load_table(settings=[setting])
    assert str(raised.value).startswith(f"--set {setting}: ")
    assert wanted in str(raised.value)


def test_an_end_may_be_open() -> None:
    assert band_of("over").upper == math.inf
    assert band_of("under").lower == -math.inf

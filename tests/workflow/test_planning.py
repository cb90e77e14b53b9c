"""Options over a plan file: every option changes what is planned."""

from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from collmark.bench.event import Event, RunStarted
from collmark.cli.options import PLAN_OPTIONS
from collmark.core.errors import PlanError, UsageError
from collmark.core.plan import TABLES, Plan, check_plan, plan_template
from collmark.core.plan_field import FIELDS
from collmark.workflow.interruption import StopSignals
from collmark.workflow.planning import KNOBS, SIMULATE, bytes_on_links, make_plan, preview, read_ranks, upper_bound
from collmark.workflow.prepare import prepare
from collmark.workflow.run import Sink, carry_out, create_run

OTHER = {
    "--operation": ["barrier"],
    "--sizes": ["8B"],
    "--dtype": ["int8"],
    "--reduction": ["max"],
    "--backend": ["simulated"],
    "--launches": ["7"],
    "--precision": ["1%"],
    "--case-budget": ["3 s"],
    "--budget": ["1h"],
    "--timeout": ["1 min"],
    "--scheduling": ["fifo"],
    "--bind": ["cores"],
    "--cadence": ["streaming"],
    "--buffers": ["rotated"],
    "--in-place": ["yes"],
    "--batch": ["8"],
    "--groups": ["blocked:2"],
    "--form": ["nonblocking"],
    "--mpi-library": ["site"],
    "--thread-level": ["multiple"],
    "--messages": ["8"],
    "--traffic": ["zipf:1.2"],
    "--seed": ["2"],
    "--samples": ["1KiB"],
    "--simulate": ["alpha=1e-6", "asynchronous=true"],
}


def test_there_is_another_value_for_every_option() -> None:
    assert set(OTHER) == {knob.option for knob in KNOBS} | {SIMULATE} == set(PLAN_OPTIONS.values())


def test_every_field_of_a_plan_has_an_option() -> None:
    fields = {knob.field for knob in KNOBS}
    assert fields | set(TABLES) == set(Plan.__struct_fields__)
    assert fields == set(FIELDS)


@pytest.mark.parametrize("option", OTHER)
def test_option_changes_exactly_its_field(option: str) -> None:
    given = {"--backend": ["simulated"]} if option == "--simulate" else {}
    before = make_plan(None, given)
    after = make_plan(None, given | {option: OTHER[option]})
    field = next((knob.field for knob in KNOBS if knob.option == option), "simulation")
    changed = [name for name in Plan.__struct_fields__ if getattr(before, name) != getattr(after, name)]
    assert changed == [field]
    check_plan(after)


@pytest.mark.parametrize("option", [name for name in OTHER if name not in ("--seed", "--samples", "--timeout")])
def test_option_changes_what_is_measured(option: str) -> None:
    base = {"--operation": ["all_reduce,all_to_all_v,stream"], "--sizes": ["64KiB"]}
    needs = {"--simulate": ["simulated"], "--form": ["mpi"]}
    given = base | ({"--backend": needs[option]} if option in needs else {})
    before, after = (preview(make_plan(None, options), 4) for options in (given, given | {option: OTHER[option]}))
    assert (before.cases, before.records, before.at_most, before.plan) != (
        after.cases,
        after.records,
        after.at_most,
        after.plan,
    )


@given(st.sets(st.sampled_from(sorted(OTHER))))
def test_options_do_not_depend_on_each_other(options: set[str]) -> None:
    used = options | ({"--backend"} if "--simulate" in options else set())
    plan = make_plan(None, {option: OTHER[option] for option in used})
    for knob in KNOBS:
        alone = make_plan(None, {o: OTHER[o] for o in (knob.option, "--backend")}) if knob.option in used else Plan()
        assert getattr(plan, knob.field) == getattr(alone, knob.field)


def test_option_wins_over_the_file(tmp_path: Path) -> None:
    file = tmp_path / "plan.toml"
    file.write_text('sizes = "1KiB"\nlaunches = 3\n[simulation]\nalpha = 1e-5\n', encoding="utf-8")
    given = {"--launches": ["2"], "--backend": ["simulated"], "--simulate": ["beta=1e-9"]}
    plan = make_plan(file, given)
    assert (plan.sizes, plan.launches) == ("1KiB", 2)
    assert plan.simulation == {"alpha": 1e-5, "beta": 1e-9}


def test_template_is_the_default_plan(tmp_path: Path) -> None:
    file = tmp_path / "plan.toml"
    file.write_text(plan_template(), encoding="utf-8")
    assert make_plan(file, {}) == Plan()


def test_repeated_and_listed_names_are_the_same() -> None:
    listed = make_plan(None, {"--operation": ["barrier, all_reduce"]})
    assert listed == make_plan(None, {"--operation": ["barrier", "all_reduce"]})


@pytest.mark.parametrize(("text", "share"), [("5%", 0.05), ("5 %", 0.05), ("0.05", 0.05), ("0.5%", 0.005)])
def test_precision_is_a_share(text: str, share: float) -> None:
    assert make_plan(None, {"--precision": [text]}).precision == pytest.approx(share)


def test_all_problems_are_told_at_once() -> None:
    with pytest.raises(PlanError) as caught:
        make_plan(None, {"--sizes": ["x"], "--seed": ["y"], "--dtype": ["int7,int9"], "--simulate": ["alpha"]})
    assert len(caught.value.problems) == 5


def test_upper_bound_is_what_the_run_announces(tmp_path: Path) -> None:
    given = {"--backend": ["simulated"], "--sizes": ["8B,64B"], "--launches": ["2"]}
    prepared = prepare(make_plan(None, given), ranks=2, oversubscribe=False, joined=None)
    folder = create_run(prepared, output=tmp_path, label="", command=[])
    events: list[Event] = []
    with StopSignals(lambda _number: None) as signals:
        carry_out(folder, Sink(emit=events.append, on_fault=lambda _text: None), signals)
    started = events[0]
    assert isinstance(started, RunStarted)
    seen = preview(make_plan(None, given), 2)
    assert upper_bound(prepared.plan, prepared.cases) == started.at_most == seen.at_most
    assert seen.records == started.records
    assert list(seen.cases) == started.run.cases


def test_preview_of_a_cluster_needs_no_cluster() -> None:
    plan = make_plan(None, {"--operation": ["all_reduce"], "--sizes": ["1GiB"]})
    seen = preview(plan, 512)
    assert seen.cases[0].placement.ranks == 512
    assert any("--oversubscribe" in notice for notice in seen.notices)
    assert bytes_on_links(seen.cases[0]) == 2 * 511 * 2**30


def test_ranks_and_placements_exclude_each_other(tmp_path: Path) -> None:
    file = tmp_path / "plan.toml"
    file.write_text("[[placements]]\nranks_per_node = 2\n", encoding="utf-8")
    with pytest.raises(UsageError, match="leave one of them away"):
        preview(make_plan(file, {}), 2)
    assert read_ranks(None) is None


def test_long_notices_are_cut() -> None:
    given = {"--sizes": ["1B,1KiB"], "--dtype": ["float32,float64,int32,bfloat16,float16"]}
    (notice, *_rest) = preview(make_plan(None, given), 2).notices
    assert len(notice) < 200
    assert notice.endswith("more)")


def test_plan_can_be_stored() -> None:
    plan = make_plan(None, {option: OTHER[option] for option in OTHER})
    assert msgspec.json.decode(msgspec.json.encode(plan), type=Plan) == plan

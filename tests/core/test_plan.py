"""Plans: the template is the default, and everything that is wrong is said at once."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import msgspec
import pytest

from collmark.core.case import Binding, Scheduling
from collmark.core.dtype import DTYPES
from collmark.core.errors import PlanError, UsageError
from collmark.core.operation_table import OPERATIONS
from collmark.core.placement import Placement
from collmark.core.plan import AUTO, Plan, check_plan, load_plan, plan_from_table, plan_template
from collmark.core.reduction import REDUCTIONS


def problems_of(plan: Plan) -> tuple[str, ...]:
    with pytest.raises(PlanError) as caught:
        check_plan(plan)
    return caught.value.problems


def problems_in(path: Path, text: str) -> list[str]:
    path.write_text(text, encoding="utf-8")
    with pytest.raises(PlanError) as caught:
        load_plan(path)
    start = f"plan {path}: "
    assert all(problem.startswith(start) for problem in caught.value.problems)
    return [problem.removeprefix(start) for problem in caught.value.problems]


def test_the_template_is_the_default_plan(tmp_path: Path) -> None:
    path = tmp_path / "plan.toml"
    path.write_text(plan_template(), encoding="utf-8")
    assert load_plan(path) == Plan()


def test_the_template_shows_every_key_and_every_name() -> None:
    text = plan_template()
    shown = set(tomllib.loads(text)) | {"placements", "simulation"}
    assert shown == set(Plan.__struct_fields__)
    assert "# [[placements]]" in text
    for name in (*OPERATIONS, *DTYPES, *REDUCTIONS):
        assert name in text


def test_the_placements_of_the_template_can_be_taken_in() -> None:
    lines = [line.removeprefix("# ") for line in plan_template().splitlines()]
    block = "\n".join(lines[lines.index("[[placements]]") :])
    plan = plan_from_table(tomllib.loads(block))
    assert plan.placements == (Placement(nodes=1, ranks_per_node=2, label="this machine"),)


def test_values_may_be_written_as_people_write_them() -> None:
    plan = plan_from_table(
        {
            "operations": "barrier",
            "dtypes": ["int8", "uint8"],
            "sizes": ["1KiB", 3000, "1MiB:2MiB:x2"],
            "case_budget": "500 ms",
            "budget": "2 min",
            "timeout": 45,
            "launches": AUTO,
            "scheduling": "fifo",
            "binding": "cores",
            "placements": [{"nodes": 2, "ranks_per_node": 8}, {"label": "x"}],
            "simulation": {"alpha": 1e-6},
        }
    )
    assert plan == Plan(
        operations=("barrier",),
        dtypes=("int8", "uint8"),
        sizes="1KiB,3000,1MiB:2MiB:x2",
        case_budget=0.5,
        budget=120.0,
        timeout=45.0,
        launches=AUTO,
        scheduling=Scheduling.FIFO,
        binding=Binding.CORES,
        placements=(Placement(nodes=2, ranks_per_node=8), Placement(label="x")),
        simulation={"alpha": 1e-6},
    )
    check_plan(plan)


@pytest.mark.parametrize("key", Plan.__struct_fields__)
def test_each_misspelt_key_is_answered_with_the_nearest(key: str) -> None:
    misspelt = key[:-2] + key[-1] + key[-2] if key[-1] != key[-2] else key[:-1]
    with pytest.raises(PlanError) as caught:
        plan_from_table({misspelt: 1})
    assert caught.value.problems == (f"unknown key {misspelt!r}; did you mean {key!r}?",)


def test_a_key_like_no_other_is_answered_with_all() -> None:
    with pytest.raises(PlanError, match="unknown key 'zzz'; allowed: operations, sizes, dtypes"):
        plan_from_table({"zzz": 1})


def test_everything_that_is_wrong_in_a_file_is_said_at_once(tmp_path: Path) -> None:
    found = problems_in(
        tmp_path / "plan.toml",
        """
        operation = ["all_reduce"]
        operations = ["all_reduce", "allgather"]
        precison = 0.01
        precision = "five"
        sizes = "8B:4B:x2"
        case_budget = "2 parsecs"
        launches = 0
        seed = -1
        traffic = "zipf:-1"
        [[placements]]
        node = 2
        """,
    )
    assert len(found) == 10
    for part in (
        "unknown key 'operation'; did you mean 'operations'?",
        "unknown key 'precison'; did you mean 'precision'?",
        "Expected float, got str: precision",
        "placements: unknown key 'node'; did you mean 'nodes'?",
        "unknown operation 'allgather'; did you mean 'all_gather'?",
        "case_budget:",
        "8B:4B:x2: the last size must not be below the first",
        "launches is a whole number in 1 to 1000",
        "seed is not negative",
        "traffic 'zipf:-1'",
    ):
        assert sum(part in problem for problem in found) == 1, (part, found)


@pytest.mark.parametrize(
    ("table", "problem"),
    [
        ({"precision": "1"}, "Expected float, got str: precision"),
        ({"operations": [1]}, r"Expected str, got int: operations\[0\]"),
        ({"launches": True}, "launches"),
        ({"launches": 2.5}, "launches"),
        ({"seed": 1.5}, "seed"),
        ({"scheduling": "rt"}, "Invalid enum value 'rt': scheduling"),
        ({"placements": [{"nodes": 0}]}, r"placements\[0\].nodes"),
        ({"placements": [3]}, "placements"),
        ({"simulation": 3}, "simulation"),
        ({"sizes": 1024}, "sizes"),
        ({"timeout": "soon"}, "timeout: "),
    ],
)
def test_a_wrong_type_is_named_with_its_place(table: dict[str, Any], problem: str) -> None:
    with pytest.raises(PlanError, match=problem) as caught:
        plan_from_table(table)
    assert len(caught.value.problems) == 1


@pytest.mark.parametrize(
    ("field", "inside", "outside"),
    [
        ("precision", (0.0005, 0.5), (0.0004, 0.51, float("nan"))),
        ("case_budget", (0.01, 86400), (0.009, 86401)),
        ("budget", (0, 30 * 86400), (-1, 30 * 86400 + 1)),
        ("timeout", (1, 86400), (0.5, 86401)),
        ("messages", (1, 1024), (0, 1025)),
        ("samples", (0,), (-1,)),
        ("seed", (0,), (-1,)),
        ("launches", (1, 1000, AUTO), (0, 1001, "automatic")),
    ],
)
def test_limits(field: str, inside: tuple[float | str, ...], outside: tuple[float | str, ...]) -> None:
    for value in inside:
        check_plan(msgspec.structs.replace(Plan(), **{field: value}))
    for value in outside:
        (problem,) = problems_of(msgspec.structs.replace(Plan(), **{field: value}))
        assert problem.startswith(field)


@pytest.mark.parametrize("axis", ["operations", "dtypes", "reductions", "backends"])
def test_an_axis_has_names_and_each_once(axis: str) -> None:
    assert problems_of(msgspec.structs.replace(Plan(), **{axis: ()})) == (f"{axis} needs at least one name",)
    name = getattr(Plan(), axis)[0]
    assert problems_of(msgspec.structs.replace(Plan(), **{axis: (name, name)})) == (f"{axis} names {name} twice",)


def test_five_launches_by_default_and_to_start_with() -> None:
    assert Plan().first_launches == Plan(launches=AUTO).first_launches == 5
    assert Plan(launches=3).first_launches == 3


@pytest.mark.parametrize("content", [b"operations = [", b"\xff\xfe", None])
def test_a_file_that_cannot_be_read(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "plan.toml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(UsageError, match="collmark plan --init writes one"):
        load_plan(path)


def test_it_survives_json() -> None:
    plan = Plan(launches=AUTO, placements=(Placement(nodes=2),), simulation={"alpha": 1e-6, "seed": 3})
    assert msgspec.json.decode(msgspec.json.encode(plan), type=Plan) == plan

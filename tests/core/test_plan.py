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
from collmark.core.plan import AUTO, Plan, check_plan, load_plan, plan_from_table, plan_template, with_matrices
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
    shown = set(tomllib.loads(text)) | {"placements", "shares", "simulation", "matrices"}
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
        sizes="1KiB,3000B,1MiB:2MiB:x2",
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
        "precision: five: must be a share from 0.05% to 50%",
        "placements[0]: unknown key 'node'; did you mean 'nodes'?",
        "operations: unknown operation 'allgather'; did you mean 'all_gather'?",
        "case_budget: '2 parsecs' is not a time",
        "sizes: 8B:4B:x2: the last size must not be below the first",
        "launches: 0: must be a whole number in 1 to 1000",
        "seed: -1: must be a whole number in 0 to",
        "traffic: zipf:-1: the exponent lies in 0 to 10",
    ):
        assert sum(part in problem for problem in found) == 1, (part, found)


@pytest.mark.parametrize(
    ("table", "problem"),
    [
        ({"precision": "high"}, "precision: high: must be a share from 0.05% to 50%, as 5% or 0.05"),
        ({"precision": "1"}, "precision: 1: must be a share"),
        ({"operations": [1]}, r"operations: [1]: must be a name, or a list of names"),
        ({"operations": {"a": 1}}, "operations: {'a': 1}: must be a name"),
        ({"dtypes": "float23"}, "dtypes: unknown dtype 'float23'; did you mean 'float32'? allowed: float32"),
        ({"launches": True}, 'launches: true: must be a whole number in 1 to 1000, or "auto"'),
        ({"launches": 2.5}, "launches: 2.5: must be"),
        ({"launches": [3]}, "launches: [3]: must be"),
        ({"seed": 1.5}, "seed: 1.5: must be a whole number"),
        ({"seed": "1_0"}, "seed: 1_0: must be a whole number"),
        ({"messages": "\u0663"}, "messages: \u0663: must be a whole number"),
        ({"scheduling": "rt"}, "scheduling: unknown scheduling 'rt'; allowed: other, fifo"),
        ({"binding": "core"}, "binding: unknown binding 'core'; did you mean 'cores'? allowed: none, cores"),
        ({"traffic": 3}, "traffic: 3: must be a name, or a list of names"),
        ({"traffic": []}, "traffic: needs at least one name"),
        ({"traffic": ["uniform", "zipf:1", "uniform"]}, "traffic: names uniform twice"),
        (
            {"traffic": ["uniform", "moe:8:9"]},
            "traffic: moe:8:9: 9 experts per token: must be 1 to 8; write moe:EXPERTS",
        ),
        ({"traffic": "unifrom"}, "traffic: unknown traffic 'unifrom'; did you mean 'uniform'? allowed: uniform, zipf"),
        ({"matrices": {"x": {"name": "m", "ranks": "two"}}}, "matrices"),
        ({"placements": [{"nodes": 0}]}, "placements[0].nodes: 0: must be a whole number, at least 1"),
        ({"placements": [{}, {"nodes": "two"}]}, "placements[1].nodes: two: must be a whole number"),
        ({"placements": [{"nodes": 10**30}]}, "placements[0].nodes: 1000000000000000000000000000000: must be"),
        ({"placements": [3]}, "placements[0]: 3: must be a table"),
        ({"placements": {"nodes": 2}}, "placements: {'nodes': 2}: must be a list"),
        ({"simulation": 3}, "simulation: 3: must be a table"),
        ({"shares": 3}, "shares: 3: must be a table"),
        ({"sizes": 1.5}, "sizes: 1.5: must be sizes such as 8B:1GiB:x2, or a list of them"),
        ({"sizes": [8, [3]]}, "sizes: [8, [3]]: must be sizes"),
        ({"sizes": "8B:4B:x2"}, "sizes: 8B:4B:x2: the last size must not be below the first"),
        ({"samples": "lots"}, "samples: 'lots' is not a size: it is not a number and a unit"),
        ({"timeout": "soon"}, "timeout: 'soon' is not a time"),
        ({"timeout": 10**400}, "timeout: 1000"),
        ({"case_budget": float("nan")}, "case_budget: nan: must be a time from 20 ms to one day"),
    ],
)
def test_a_wrong_type_is_named_with_its_place(table: dict[str, Any], problem: str) -> None:
    with pytest.raises(PlanError) as caught:
        plan_from_table(table)
    (found,) = caught.value.problems
    assert found.startswith(problem)
    assert "`" not in found
    assert len(found) < 260


@pytest.mark.parametrize(
    ("field", "inside", "outside"),
    [
        ("precision", (0.0005, 0.5), (0.0004, 0.51, float("nan"))),
        ("case_budget", (0.02, 86400), (0.019, 86401)),
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
        assert problem.startswith(f"{field}: {value}: must be ")


@pytest.mark.parametrize(
    ("field", "written", "value"),
    [
        ("precision", "5%", 0.05),
        ("precision", "5 %", 0.05),
        ("precision", "0.01", 0.01),
        ("samples", "64 MiB", 64 << 20),
        ("samples", 0, 0),
        ("sizes", 8, "8B"),
        ("sizes", "3000,1KiB", "1KiB,3000B"),
        ("sizes", [8, "1KiB"], "8B,1KiB"),
        ("budget", "2min", 120.0),
        ("budget", "none", 0.0),
        ("budget", "0", 0.0),
        ("timeout", 45, 45.0),
        ("launches", "3", 3),
        ("launches", "auto", "auto"),
        ("seed", "3", 3),
        ("messages", "8", 8),
        ("traffic", "zipf:1.2", "zipf:1.2"),
        ("traffic", ["uniform", "zipf:1.2, moe:8:2"], "uniform,zipf:1.2,moe:8:2"),
        ("operations", "barrier, all_reduce", ("barrier", "all_reduce")),
        ("backends", ["gloo,simulated"], ("gloo", "simulated")),
    ],
)
def test_a_file_takes_whatever_the_option_takes(field: str, written: object, value: object) -> None:
    assert getattr(plan_from_table({field: written}), field) == value


@pytest.mark.parametrize("axis", ["operations", "dtypes", "reductions", "backends"])
def test_an_axis_has_names_and_each_once(axis: str) -> None:
    assert problems_of(msgspec.structs.replace(Plan(), **{axis: ()})) == (f"{axis}: needs at least one name",)
    name = getattr(Plan(), axis)[0]
    assert problems_of(msgspec.structs.replace(Plan(), **{axis: (name, name)})) == (f"{axis}: names {name} twice",)


def test_a_matrix_lies_beside_the_plan_that_names_it_and_then_in_the_plan(tmp_path: Path) -> None:
    (tmp_path / "trace.csv").write_text("0 8\n16 0\n", encoding="utf-8")
    path = tmp_path / "plan.toml"
    path.write_text('traffic = ["uniform", "file:trace.csv", "file:trace.csv:scaled"]\n', encoding="utf-8")
    plan = load_plan(path)
    ((digest, matrix),) = plan.matrices.items()
    assert plan.traffic == f"uniform,file:{digest},file:{digest}:scaled"
    assert matrix.name == "trace.csv"
    (tmp_path / "trace.csv").unlink()
    stored = msgspec.json.encode(plan)
    assert msgspec.json.decode(stored, type=Plan) == plan
    assert with_matrices(plan, tmp_path / "elsewhere") == plan
    assert with_matrices(msgspec.structs.replace(plan, traffic="uniform"), tmp_path).matrices == {}
    with pytest.raises(msgspec.ValidationError, match=f"matrices: {digest[:-1]}x: its data have another digest"):
        msgspec.json.decode(stored.replace(f'{{"{digest}":'.encode(), f'{{"{digest[:-1]}x":'.encode()), type=Plan)


def test_a_file_that_is_no_matrix_is_named_with_its_place(tmp_path: Path) -> None:
    (tmp_path / "trace.csv").write_text("0 8\n16 -1\n", encoding="utf-8")
    (problem,) = problems_in(tmp_path / "plan.toml", 'traffic = "file:trace.csv"')
    assert problem.endswith(f"traffic: {tmp_path}/trace.csv:2: column 2: must not be negative: '-1'")
    (problem,) = problems_in(tmp_path / "plan.toml", 'traffic = "file:trace.txt"')
    assert problem.endswith("trace.txt: No such file or directory")


def test_five_launches_by_default_and_to_start_with() -> None:
    assert Plan().first_launches == Plan(launches=AUTO).first_launches == 5
    assert Plan(launches=3).first_launches == 3


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"seed = " + b"9" * 5000, "a number has thousands of digits"),
        (b"sizes = [" + b"9" * 5000 + b"]", "a number has thousands of digits"),
        (b"sizes = " + b"[" * 5000 + b"]" * 5000, "nested too deeply"),
    ],
)
def test_a_hostile_file_is_one_short_line(tmp_path: Path, content: bytes, reason: str) -> None:
    (tmp_path / "plan.toml").write_bytes(content)
    with pytest.raises(UsageError, match=reason) as caught:
        load_plan(tmp_path / "plan.toml")
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize("key", ["seed", "switch_at"])
def test_numbers_that_cannot_be_stored_are_refused(key: str) -> None:
    (problem,) = problems_of(Plan(simulation={key: 10**30}))
    assert problem.startswith(f"simulation.{key}: 1000000000000000000000000000000: must not be above")


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


@pytest.mark.parametrize(("shares", "words"), [
    ({"gloo": 0.0}, "shares.gloo: 0.0: must be a number in 0.01 to 100"),
    ({"gloo": "half"}, "shares.gloo: half: must be a number in 0.01 to 100"),
    ({"gloo": True}, "shares.gloo: true: must be a number in 0.01 to 100"),
    ({"gloo": 1.0, "mpi": 2.0}, "shares: unknown backend of the plan 'mpi'; allowed: gloo"),
])  # fmt: skip
def test_shares_are_of_the_plans_backends(shares: dict[str, Any], words: str) -> None:
    with pytest.raises(PlanError) as caught:
        check_plan(Plan(backends=("gloo",), shares=shares))
    assert list(caught.value.problems) == [words]
    check_plan(Plan(backends=("gloo", "mpi"), shares={"mpi": 2.5}))


def test_a_plan_may_be_json_as_jobs_are_given_theirs(tmp_path: Path) -> None:
    place = Placement(nodes=2, label="fast", nodelist="n[1],m7")
    plan = Plan(backends=("gloo", "mpi"), sizes="8B:1KiB:x2", launches=3, placements=(place,), shares={"mpi": 0.5})
    path = tmp_path / "plan.json"
    path.write_bytes(msgspec.json.encode(plan))
    assert load_plan(path) == plan


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "plan.json: Expecting property name"),
        ("[]", "plan.json: must be a table of a plan's keys"),
        ('{"sizes": null}', "plan.json: sizes: "),
        ('{"precision": NaN}', "plan.json: precision: "),
        ('{"sises": "8B"}', "plan.json: unknown key 'sises'; did you mean 'sizes'?"),
        ("[" * 100_000, "plan.json: tables or lists nested too deeply"),
    ],
)
def test_what_is_wrong_with_a_plan_in_json_is_said_in_one_line(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "plan.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError) as told:
        load_plan(path)
    assert words in str(told.value)


NO_NODES = ("n1 n2", "n[1-2]; id", "-n1", "n1\n", "n1,$(id)", "n[1-", "n[1,2", "n1,,n2", "n[a]")


@pytest.mark.parametrize("nodelist", NO_NODES)
def test_nodes_are_named_as_slurm_names_them(nodelist: str) -> None:
    with pytest.raises(PlanError, match="write it as Slurm does"):
        check_plan(Plan(placements=(Placement(nodes=2, label="x", nodelist=nodelist),)))


def test_named_nodes_have_a_label_and_may_be_as_many_as_others() -> None:
    with pytest.raises(PlanError, match="give it a label"):
        check_plan(Plan(placements=(Placement(nodes=2, nodelist="n[1-2]"),)))
    with pytest.raises(PlanError, match=r"nodelist 'n\[1-4\]': names 4 nodes, and nodes is 2"):
        check_plan(Plan(placements=(Placement(nodes=2, label="x", nodelist="n[1-4]"),)))
    places = [Placement(label=name, nodelist=name) for name in ("n1", "n2")]
    check_plan(Plan(placements=tuple(places)))
    with pytest.raises(PlanError, match="1 x 1 stands there twice"):
        check_plan(Plan(placements=(places[0], places[0])))

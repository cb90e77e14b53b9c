"""A site's profile: what is wrong in one is said in one line that names the key, and nothing in it can add a line."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import msgspec
import pytest

import collmark.slurm
from collmark.bench.cluster.profile import Kind, Profile, load_profile, profile_from_table
from collmark.core.errors import PlanError, UsageError

GOOD: dict[str, Any] = {"partition": "gpu", "nodes": 4, "cpus_per_node": 64, "gpus_per_node": 8}
EXAMPLES = sorted(Path(collmark.slurm.__file__).parent.glob("profiles/*.toml"))

# What is laid over a good profile, and the key that the answer starts with.
WRONG: tuple[tuple[dict[str, Any], str], ...] = (
    ({"nodes": 0}, "nodes: 0: must be a whole number, at least 1"),
    ({"nodes": "four"}, "nodes: four: must be a whole number"),
    ({"nodes": 2**40}, "nodes: "),
    ({"cpus_per_node": -1}, "cpus_per_node: "),
    ({"gpus_per_node": 1.5}, "gpus_per_node: "),
    ({"partition": "gpu queue"}, "partition: 'gpu queue': must be names"),
    ({"partition": "gpu\n#SBATCH --uid=0"}, "partition: "),
    ({"partiton": "gpu"}, "unknown key 'partiton'; did you mean 'partition'?"),
    ({"account": "a;reboot"}, "account: "),
    ({"account": 'a" --uid=0 "'}, "account: "),
    ({"qos": "$(id)"}, "qos: "),
    ({"reservation": "week 1"}, "reservation: "),
    ({"constraint": "h100 & ndr"}, "constraint: "),
    ({"constraint": "h100\r"}, "constraint: "),
    ({"gres": "gpu:h100"}, "gres: "),
    ({"gres": "gpu:h100:4"}, "gres: gpu:h100:4: must give as many GPUs as gpus_per_node, 8"),
    ({"switches": "one"}, "switches: "),
    ({"memory": "all"}, "memory: "),
    ({"time_limit": "a day"}, "time_limit: 'a day': must be as sbatch writes it"),
    ({"time_limit": "0"}, "time_limit: 0: must be above 0"),
    ({"exclusive": "yes"}, "exclusive: yes: must be true or false"),
    ({"ranks_per_node": 9}, "ranks_per_node: 9: a node has 8 GPUs"),
    ({"modules": "cuda"}, "modules: "),
    ({"modules": ["cuda;id"]}, "modules: 'cuda;id'"),
    ({"python": " "}, "python: "),
    ({"python": "/opt/py\x1b[2J"}, "python: "),
    ({"mpi": "PMIx v4"}, "mpi: "),
    ({"container": {"runtime": "docker", "image": "x"}}, "container.runtime: unknown runtime 'docker'"),
    ({"container": {"runtime": "pyxis"}}, "container: 'image' is missing"),
    ({"container": {"runtime": "pyxis", "image": ""}}, "container.image: "),
    ({"container": {"runtime": "pyxis", "image": "a\nb"}}, "container.image: "),
    ({"container": {"runtime": "pyxis", "image": "a", "mounts": ["/a\n:/b"]}}, "container.mounts: "),
    ({"environment": {"tier-c": {}}}, "environment: unknown kind of job 'tier-c'; did you mean 'tier-b'?"),
    ({"environment": {"all": {"A": 1}}}, "environment.all.A: 1: must be text"),
    ({"environment": {"all": "A=1"}}, "environment.all: A=1: must be a table"),
    ({"environment": {"all": {"A=1;id": "x"}}}, "environment.all: 'A=1;id'"),
    ({"environment": {"all": {"A": "x\ny"}}}, "environment.all.A: "),
    ({"environment": {"all": {"nodes": "9"}}}, "environment.all: 'nodes'"),
    ({"sbatch_options": ["--uid 0"]}, "sbatch_options: '--uid 0'"),
    ({"sbatch_options": ["--comment=a b"]}, "sbatch_options: "),
    ({"sbatch_options": ["--nodes=9"]}, "sbatch_options: --nodes=9: collmark sets --nodes itself"),
    ({"sbatch_options": ["--nod=9"]}, "sbatch_options: --nod=9: collmark sets --nod itself"),
    ({"sbatch_options": ["--clusters=b"]}, "sbatch_options: --clusters=b: collmark sets"),
    ({"srun_options": ["--partition=x"]}, "srun_options: --partition=x: collmark sets"),
)


def said_of(changes: dict[str, Any]) -> tuple[str, ...]:
    with pytest.raises(PlanError) as told:
        profile_from_table(GOOD | changes)
    assert len(str(told.value).splitlines()) == 1
    assert str(told.value).isprintable()
    return told.value.problems


def test_there_are_thirty_kinds_of_wrong_profiles() -> None:
    assert len(WRONG) >= 30


@pytest.mark.parametrize(("changes", "start"), WRONG)
def test_what_is_wrong_is_one_line_that_names_the_key(changes: dict[str, Any], start: str) -> None:
    problems = said_of(changes)
    assert len(problems) == 1
    assert problems[0].startswith(start)


@pytest.mark.parametrize("key", ["nodes", "cpus_per_node"])
def test_what_must_be_known_is_asked_for(key: str) -> None:
    with pytest.raises(PlanError, match=f"'{key}' is missing"):
        profile_from_table({name: value for name, value in GOOD.items() if name != key})


def test_everything_that_is_wrong_is_said_at_once() -> None:
    assert [problem.split(":")[0] for problem in said_of({"nodes": 0, "qos": "a b", "mpi": "X"})] == [
        "nodes",
        "qos",
        "mpi",
    ]


def test_a_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "site.toml"
    with pytest.raises(UsageError, match="collmark slurm init writes one"):
        load_profile(path)
    path.write_text("nodes = [", encoding="utf-8")
    with pytest.raises(UsageError, match=r"site\.toml: "):
        load_profile(path)
    path.write_text("nodes = 4", encoding="utf-8")
    with pytest.raises(PlanError, match=r"site\.toml: 'cpus_per_node' is missing"):
        load_profile(path)
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match=r"site\.toml: "):
        load_profile(path)


def test_a_full_node_has_a_rank_for_each_gpu_else_for_each_core() -> None:
    assert Profile(nodes=1, cpus_per_node=64, gpus_per_node=8).full_node == 8
    assert Profile(nodes=1, cpus_per_node=64).full_node == 64
    assert Profile(nodes=1, cpus_per_node=64, ranks_per_node=4).full_node == 4


def test_the_environment_of_a_tier_wins_over_that_of_all() -> None:
    table = GOOD | {"environment": {"all": {"A": "1", "B": "1"}, "tier-b": {"B": "2"}}}
    profile = profile_from_table(table)
    assert profile.variables(Kind.TIER_A) == {"A": "1", "B": "1"}
    assert profile.variables(Kind.TIER_B) == {"A": "1", "B": "2"}


def left_away(path: Path) -> list[str]:
    """Return the settings that an example holds as comments."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return [line.removeprefix("# ") for line in lines if line.startswith("# ") and " = " in line]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_is_right(path: Path) -> None:
    table = tomllib.loads(path.read_text(encoding="utf-8"))
    assert load_profile(path) == profile_from_table(table)


@pytest.mark.parametrize(("path", "line"), [(path, line) for path in EXAMPLES for line in left_away(path)])
def test_so_is_each_line_that_it_leaves_away(path: Path, line: str) -> None:
    table = tomllib.loads(line)
    whole = GOOD | {"gpus_per_node": load_profile(path).gpus_per_node or 8} | table
    found = json.loads(msgspec.json.encode(profile_from_table(whole)))
    assert {key: found[key] for key in table} == table


def test_there_is_an_example_of_each_kind_of_site() -> None:
    assert [path.stem for path in EXAMPLES] == ["cpu", "gb200-nvl72", "hgx-h100-ndr", "roce-cloud"]

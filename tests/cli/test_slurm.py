"""``collmark slurm`` as it is typed: what it prints, its statuses, and that a login node needs no library."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from tests.cli.conftest import Cli
from tests.workflow.slurm_stub import SlurmStub

from collmark.bench.cluster.profile import profile_from_table
from collmark.bench.cluster.site import Nodes, choose, describe, mpi_types, read_nodes
from collmark.core.errors import UnknownNameError, UsageError

SITE = "nodes = 4\ncpus_per_node = 2\n"
OPTIONS = ("--backend", "simulated", "--operation", "all_reduce", "--sizes", "64B:4KiB:x8", "--launches", "1")
# Everything that a login node may lack, and nothing that the package itself depends on to read a plan.
ABSENT = ("torch", "mpi4py", "cupy", "pynvml", "pandas", "pyarrow", "scipy", "matplotlib", "seaborn", "jinja2")
PROGRAM = """
import sys
for name in {absent!r}:
    sys.modules[name] = None
from collmark.cli.main import main
main()
"""


@pytest.fixture
def slurm(workplace: Path, monkeypatch: pytest.MonkeyPatch) -> SlurmStub:
    (workplace / "bin").mkdir()
    stub = SlurmStub(workplace / "bin")
    monkeypatch.setenv("PATH", stub.path)
    (workplace / "site.toml").write_text(SITE, encoding="utf-8")
    return stub


@pytest.mark.parametrize("backend", ["gloo", "mpi", "nccl"])
def test_a_login_node_needs_no_library(slurm: SlurmStub, workplace: Path, backend: str) -> None:
    words = ["slurm", "submit", "--backend", backend, "--profile", "site.toml"]
    environment = os.environ | {"PATH": slurm.path}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(absent=ABSENT), *words],
        cwd=workplace, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert len(slurm.calls("sbatch")) == 4


def test_a_dry_run_prints_the_scripts_and_touches_nothing(cli: Cli, slurm: SlurmStub, workplace: Path) -> None:
    before = sorted(workplace.rglob("*"))
    done = cli("slurm", "submit", *OPTIONS, "--dry-run")
    assert done.status == 0
    assert done.out.count("#!/usr/bin/env bash") == 4
    assert "#SBATCH --array=2,4" in done.out
    assert "tier-a: 1x2; --time=" in done.err
    assert "half as much again" in " ".join(done.err.split())
    assert not slurm.jobs
    assert sorted(workplace.rglob("*")) == before
    told = cli("slurm", "submit", *OPTIONS, "--dry-run", "--json").json
    assert [script["name"] for script in told["scripts"]] == ["tier-a", "tier-b", "nodes", "collect"]


def test_submit_says_each_job_and_what_to_do_next(cli: Cli, slurm: SlurmStub) -> None:
    done = cli("slurm", "submit", *OPTIONS, "--allocations", "2")
    assert done.status == 0
    assert "tier-a, allocation 2: submitted as job" in done.err
    assert done.err.splitlines()[-1] == "next: collmark slurm status results/slurm --watch"
    again = cli("slurm", "submit", *OPTIONS, "--allocations", "2", "--json").json
    assert {job["words"] for job in again["jobs"]} == {"queued already, pending"}
    assert len(slurm.calls("sbatch")) == 7


def test_status_is_a_table_and_an_object(cli: Cli, slurm: SlurmStub) -> None:
    cli("slurm", "submit", *OPTIONS)
    slurm.set("RUNNING", "100")
    shown = cli("slurm", "status")
    assert shown.status == 0
    rows = [line.split() for line in shown.out.splitlines()]
    assert rows[1][:5] == ["tier-a", "1x2", "100", "running", "0/3"]
    told = cli("slurm", "status", "--json").json
    assert [row["queued"]["state"] for row in told["rows"]] == ["RUNNING", "PENDING", "PENDING", "PENDING"]
    assert told["is_over"] is False
    assert "*.out" not in shown.out
    slurm.set("CANCELLED")
    assert "what jobs said: results/slurm/slurm/*.out" in cli("slurm", "status").out
    assert cli("slurm", "status", "--watch", "--json").json["is_over"] is True


def test_watch_looks_again_until_all_is_over(cli: Cli, slurm: SlurmStub) -> None:
    cli("slurm", "submit", *OPTIONS)
    # The third look finds everything ended.
    text = (slurm.folder / "squeue").read_text(encoding="utf-8")
    ended = text.replace(
        'elif name == "squeue":',
        'elif name == "squeue":\n    if (folder / "calls").read_text().count("squeue") > 3:\n'
        '        jobs = dict.fromkeys(jobs, "FAILED")',
    )
    (slurm.folder / "squeue").write_text(ended, encoding="utf-8")
    shown = cli("slurm", "status", "--watch", "--period", "1", "--json").objects
    assert [one["is_over"] for one in shown] == [False, False, True]


def test_cancel_and_render(cli: Cli, slurm: SlurmStub, workplace: Path) -> None:
    Path("plan.toml").write_text('backends = ["simulated"]\nlaunches = 2\n', encoding="utf-8")
    done = cli("slurm", "render", "plan.toml", "--output", "mine")
    assert done.status == 0
    assert [Path(line).name for line in done.out.splitlines()] == [
        "tier-a.sbatch", "tier-b.sbatch", "nodes.sbatch", "collect.sbatch",
    ]  # fmt: skip
    assert not slurm.jobs
    told = cli("slurm", "render", "plan.toml", "--output", "mine", "--json").json
    assert told["scripts"] == done.out.splitlines()
    assert (workplace / "mine/slurm/nodes-4.json").exists()
    assert cli("slurm", "status", "mine").status == 2
    cli("slurm", "submit", "plan.toml", "--output", "mine")
    assert cli("slurm", "cancel", "mine", "--json").json == {"cancelled": ["100", "101", "102_2", "102_4", "103"]}
    assert "no job runs or waits" in cli("slurm", "cancel", "mine").err


def test_collect_reports_what_is_there_and_what_is_not(cli: Cli, slurm: SlurmStub, measured: str) -> None:
    del slurm
    folder = str(Path(measured).parent)
    done = cli("slurm", "collect", folder)
    assert done.status == 0
    assert Path(folder, "report.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    assert Path(folder, "report.md").read_text(encoding="utf-8").startswith("# collmark report")
    assert "SIMULATED" in " ".join(done.out.split())
    assert cli("slurm", "collect", folder, "--json").json["report"]["runs"] == [Path(measured).name]
    cli("slurm", "submit", *OPTIONS, "--output", folder)
    assert "tier-b-simulated: not all of launch 1 is there" in cli("slurm", "collect", folder).err
    assert cli("slurm", "collect", "nothing").status == 2
    Path(measured, "records.jsonl").write_bytes(b"")
    assert "no run with a record" in cli("slurm", "collect", folder).err


@pytest.mark.parametrize(
    ("words", "start"),
    [
        (("slurm", "submit", "--profile", "none.toml"), "error: profile none.toml: No such file"),
        (("slurm", "submit", "--profile", ""), "error: --profile: the name is empty"),
        (("slurm", "submit", "--launches", "auto"), "error: launches auto"),
        (("slurm", "submit", "--allocations", "0"), "error: "),
        (("slurm", "submit", "--sizes", "x"), "error: --sizes"),
        (("slurm", "submit", "--output", "a b"), "error: --output"),
        (("slurm", "submit", "nothing.toml"), "error: plan nothing.toml"),
        (("slurm", "submt"), "error: unknown command 'submt'; did you mean 'submit'?"),
        (("slurm", "status"), "error: results/slurm: nothing was submitted for it"),
        (("slurm", "cancel"), "error: results/slurm: nothing was submitted for it"),
        (("slurm", "status", "--period", "0"), "error: "),
    ],
)
def test_wrong_use_is_one_line(cli: Cli, slurm: SlurmStub, words: tuple[str, ...], start: str) -> None:
    done = cli(*words)
    assert done.status == 2
    assert done.out == ""
    assert done.err.startswith(start), done.err
    assert not slurm.jobs


def test_without_slurm_the_status_says_that_something_is_missing(cli: Cli, workplace: Path) -> None:
    (workplace / "site.toml").write_text(SITE, encoding="utf-8")
    done = cli("slurm", "submit", *OPTIONS, env={"PATH": str(workplace)})
    assert done.status == 3
    assert done.err.splitlines()[-1].startswith("error: squeue is not here")
    assert cli("slurm", "init").status == 3


NODES = """\
gpu*|gpu|1-00:00:00|4/10/2/16|1-infinite|112+|2:56:1|gpu:h100:8(S:0-1)|h100,ndr
gpu*|gpu|1-00:00:00|0/2/0/2|1-infinite|64|2:16:2|gpu:a100:4|a100
cpu|cpu|infinite|0/32/0/32|1-12|128|2:32:2+|(null)|(null)
"""
CONFIG = "ClusterName             = big\nSLURM_VERSION           = 23.11.4\n"
LISTED = "MPI plugin types are...\n\tnone\n\tpmi2\n\tpmix\nspecific pmix plugin versions available: pmix_v4\n"


def nodes_of(text: str) -> list[Nodes]:
    return read_nodes([line.split("|") for line in text.splitlines()])


def described(partition: str | None) -> str:
    nodes = nodes_of(NODES)
    return describe(choose(nodes, partition), nodes, CONFIG, mpi_types(LISTED), '/opt/a "b"/python')


def test_init_writes_what_is_known_and_leaves_the_rest_as_comments() -> None:
    profile = profile_from_table(tomllib.loads(described(None)))
    assert (profile.partition, profile.nodes, profile.cpus_per_node, profile.gpus_per_node) == ("gpu", 14, 112, 8)
    assert "# most of one job; 16 in the partition; 2 more were down or drained" in described(None)
    assert (profile.time_limit, profile.mpi, profile.python) == ("1-00:00:00", "pmix", '/opt/a "b"/python')
    assert '# constraint = "h100&ndr"' in described(None)
    cpu = profile_from_table(tomllib.loads(described("cpu")))
    assert (cpu.partition, cpu.nodes, cpu.gpus_per_node, cpu.time_limit) == ("cpu", 12, 0, "")
    assert "# most of one job; the partition allows no more, of 32" in described("cpu")
    assert cpu.full_node == 64, "a rank on each core, and not on each of its two hardware threads"


@pytest.mark.parametrize("partition", ["gpu", "cpu"])
def test_every_line_that_init_leaves_away_may_be_taken_in(partition: str) -> None:
    text = described(partition)
    full = text.replace("\n# ", "\n")
    head, _first, rest = full.partition("\n")
    assert head.startswith("# big, Slurm 23.11.4")
    lines = [line for line in rest.splitlines() if "=" in line or line.startswith("[")]
    profile_from_table(tomllib.loads("\n".join(lines)))


def test_a_partition_that_is_not_there() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'gpu'"):
        choose(nodes_of(NODES), "gpus")
    with pytest.raises(UsageError, match="name one with --partition: gpu, cpu"):
        choose(nodes_of(NODES.replace("gpu*", "gpu")), None)
    with pytest.raises(UsageError, match="sinfo shows no partition"):
        choose([], None)


def test_init_asks_slurm_and_overwrites_nothing(cli: Cli, slurm: SlurmStub) -> None:
    slurm.answer(sinfo=NODES, srun=LISTED, scontrol=CONFIG)
    assert cli("slurm", "init").status == 2, "site.toml is there"
    done = cli("slurm", "init", "other.toml", "--partition", "cpu")
    assert done.status == 0, done.err
    assert 'partition = "cpu"' in Path("other.toml").read_text(encoding="utf-8")
    assert 'partition = "gpu"' in cli("slurm", "init", "-").out
    assert cli("slurm", "init", "-", "--json").json["profile"] == cli("slurm", "init", "-").out

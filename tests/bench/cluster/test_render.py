"""Job scripts: what they ask for, that no value adds a line or a word, and that they share one body."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import time
from pathlib import Path

import pytest

import collmark.slurm
from collmark.bench.cluster.layout import shapes_of
from collmark.bench.cluster.profile import Container, Profile, Runtime
from collmark.bench.cluster.render import Script, Work, check_folder, collect_script, job_script
from collmark.core.errors import UsageError
from collmark.core.placement import Placement

FOLDER = Path(collmark.slurm.__file__).parent
SITE = Profile(partition="gpu", nodes=4, cpus_per_node=64, gpus_per_node=8, account="a", mpi="pmix")
NASTY = """a'b"c $(touch hit) `touch hit` \\ ; touch hit & * $HOME"""


def scripts(profile: Profile, *placements: Placement) -> dict[str, Script]:
    shapes, _notices = shapes_of(placements, profile)
    works = [
        Work(shape=shape, backends=("gloo", "mpi"), launches=5, plans=Path("/r/slurm"), results=Path("/r"), seconds=600)
        for shape in shapes
    ]
    return {work.shape.name: job_script(work, profile) for work in works}


def options(script: Script) -> dict[str, str]:
    found = re.findall(r"^#SBATCH --([a-z-]+)(?:=(.*))?$", script.text, re.MULTILINE)
    assert len(found) == len(dict(found)) == script.text.count("#SBATCH")
    return dict(found)


def variables(script: Script, tmp_path: Path) -> dict[str, str]:
    """Return what a script's lines before the common part set, as bash understands them."""
    lines = script.text.split("\n\n")[1]
    shown = "\nfor name in ${!A*} results plan nodes ranks_per_node backends launches cpus_per_task mpi; do"
    shown += ' printf "%s=%s\\0" "$name" "${!name:-}"; done; printf "python=%s\\0" "${python[*]@Q}"'
    shown += '; printf "srun_options=%s" "${srun_options[*]@Q}"'
    done = subprocess.run(["bash", "-c", lines + shown], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert not done.stderr
    return dict(part.split("=", 1) for part in done.stdout.split("\0"))


def test_jobs_ask_for_the_nodes_and_gpus_of_their_placement() -> None:
    made = scripts(SITE)
    asked = {name: options(script) for name, script in made.items()}
    assert asked["tier-a"] | {"nodes": "1", "ntasks-per-node": "4", "gpus-per-node": "8"} == asked["tier-a"]
    assert asked["tier-b"] | {"nodes": "4", "ntasks-per-node": "1"} == asked["tier-b"]
    assert asked["nodes"] | {"nodes": "4", "ntasks-per-node": "8", "array": "1,2,4"} == asked["nodes"]
    for found in asked.values():
        assert found["cpus-per-task"] == "8", "a rank has as many cores wherever it lies"
        assert found["time"] == "0:10:00"
        assert found | {"partition": "gpu", "account": "a", "exclusive": "", "requeue": ""} == found
        assert found["signal"].startswith("B:USR1@")
        assert "qos" not in found


def test_nodes_that_a_plan_names_are_asked_for() -> None:
    made = scripts(SITE, Placement(nodes=2, ranks_per_node=8, label="fast", nodelist="n[1-2]"))
    assert options(made["fast"])["nodelist"] == "n[1-2]"
    assert "array" not in options(made["fast"])


def test_what_a_site_asks_for_otherwise() -> None:
    site = Profile(
        nodes=2,
        cpus_per_node=8,
        gpus_per_node=2,
        gres="gpu:h100:2",
        exclusive=False,
        memory="0",
        switches="1@10:00",
        qos="high",
        reservation="week",
        sbatch_options=("--licenses=scratch", "--oversubscribe"),
    )
    asked = options(scripts(site)["tier-b"])
    assert asked | {"qos": "high", "reservation": "week"} == asked
    assert asked | {"gres": "gpu:h100:2", "mem": "0", "switches": "1@10:00", "licenses": "scratch"} == asked
    assert asked["oversubscribe"] == ""
    assert "exclusive" not in asked
    assert "gpus-per-node" not in asked
    assert "switches" not in options(collect_script(Path("/r"), Path("/r/slurm"), site))


@pytest.mark.parametrize(("gpus", "start"), [(0, "apptainer exec /i.sif"), (8, "apptainer exec --nv /i.sif")])
def test_a_container_sees_the_gpus_there_are(gpus: int, start: str) -> None:
    box = Container(runtime=Runtime.APPTAINER, image="/i.sif")
    site = Profile(nodes=2, cpus_per_node=64, gpus_per_node=gpus, container=box)
    assert f"python=({start} python3)" in scripts(site)["tier-a"].text


@pytest.mark.parametrize("runtime", list(Runtime))
def test_no_value_is_more_than_a_word_to_the_shell(runtime: Runtime, tmp_path: Path) -> None:
    box = Container(runtime=runtime, image=NASTY, mounts=(NASTY, "/b:/b"))
    site = Profile(
        nodes=2, cpus_per_node=2, python=NASTY, container=box, environment={"all": {"A_VALUE": NASTY}}, mpi="pmi2"
    )
    script = scripts(site)["tier-a"]
    found = variables(script, tmp_path)
    assert not (tmp_path / "hit").exists()
    assert found["A_VALUE"] == NASTY
    words = shlex.split(found["python"]) + shlex.split(found["srun_options"])
    if runtime is Runtime.APPTAINER:
        assert words == ["apptainer", "exec", "--bind", NASTY, "--bind", "/b:/b", NASTY, NASTY]
    else:
        assert words == [NASTY, f"--container-image={NASTY}", f"--container-mounts={NASTY},/b:/b"]
    assert (
        found | {"ranks_per_node": "2", "backends": "gloo mpi", "launches": "5", "plan": "/r/slurm/tier-a.json"}
        == found
    )


def test_a_variable_of_the_users_shell_is_none_of_the_jobs(tmp_path: Path) -> None:
    script = scripts(SITE)["nodes"]
    lines = script.text.split("\n\n")[1]
    shown = '\n: "${name:=nodes-$nodes}"; echo "$name $nodes"'
    environment = {**os.environ, "name": "mine", "nodes": "9", "SLURM_ARRAY_TASK_ID": "4"}
    done = subprocess.run(
        ["bash", "-c", lines + shown], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout == "nodes-4 4\n"


SLURM = """\
#!/bin/bash
echo "${0##*/} $*" >>calls
env >>variables
case "${0##*/} $*" in
  *" slurm next "*)
    while [ ! -e go ]; do sleep 0.05; done
    echo 1
    ;;
esac
"""


def in_a_job(folder: Path, **more: str) -> dict[str, str]:
    """Return the environment of a script whose commands of Slurm are stubs in a folder."""
    for name in ("srun", "scancel", "scontrol"):
        (folder / name).write_text(SLURM, encoding="utf-8")
        (folder / name).chmod(0o755)
    path = f"{folder}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
    return {**os.environ, "PATH": path, "SLURM_CPUS_ON_NODE": "2", "SLURM_JOB_ID": "7", **more}


@pytest.mark.parametrize(("backend", "mpi"), [("gloo", "none"), ("mpi", "pmi2")])
def test_srun_is_told_what_versions_and_sites_do_otherwise(tmp_path: Path, backend: str, mpi: str) -> None:
    """Each of these is a trap of docs/cluster.md."""
    (tmp_path / "go").touch()
    more = {"backends": backend, "mpi": "pmi2", "cpus_per_task": "2", "SRUN_CPUS_PER_TASK": "1"}
    words = ["bash", str(FOLDER / "tier-a.sbatch"), "plan.toml"]
    done = subprocess.run(words, cwd=tmp_path, env=in_a_job(tmp_path, **more), check=False, timeout=30)
    assert done.returncode == 4, "the stub measures nothing, which counts more than its status, 0"
    (line,) = [one for one in (tmp_path / "calls").read_text(encoding="utf-8").splitlines() if "collmark run" in one]
    assert {
        "--gpu-bind=none", "--kill-on-bad-exit=1", "--distribution=block", "--export=ALL", "--cpus-per-task=2",
        "--ntasks=2", "--ntasks-per-node=2", f"--mpi={mpi}",
    } <= set(line.split())  # fmt: skip
    assert "SRUN_CPUS_PER_TASK" not in (tmp_path / "variables").read_text(encoding="utf-8")


# Of an array the last element has the array's id for its own: to requeue that would requeue them all.
ELEMENT = {"SLURM_ARRAY_JOB_ID": "7", "SLURM_ARRAY_TASK_ID": "4"}


@pytest.mark.parametrize(("number", "more", "own"), [
    (signal.SIGUSR1, {}, "7"), (signal.SIGTERM, {}, "7"), (signal.SIGUSR1, ELEMENT, "7_4"),
])  # fmt: skip
def test_a_signal_before_there_are_ranks_is_not_lost(
    tmp_path: Path, number: int, more: dict[str, str], own: str
) -> None:
    """The script asks which launch is next, by a step of its own, when the signal comes."""
    (tmp_path / "results/tier-a-gloo").mkdir(parents=True)
    words = ["bash", str(FOLDER / "tier-a.sbatch"), "plan.toml"]
    with subprocess.Popen(words, cwd=tmp_path, env=in_a_job(tmp_path, **more), stdout=subprocess.DEVNULL) as job:
        calls = tmp_path / "calls"
        deadline = time.monotonic() + 20
        while not calls.exists():
            assert time.monotonic() < deadline
            time.sleep(0.02)
        # Of an earlier start of the job: what is new counts.
        (tmp_path / "results/tier-a-gloo/records.jsonl").write_text("{}\n", encoding="utf-8")
        job.send_signal(number)
        (tmp_path / "go").touch()
        assert job.wait(20)
    said = calls.read_text(encoding="utf-8")
    assert "collmark run" not in said
    assert (f"scontrol requeue {own}" in said.splitlines()) is (number == signal.SIGUSR1)


def test_a_folder_whose_name_a_script_cannot_hold_is_refused() -> None:
    check_folder(Path("/scratch/me/run-1_a.b"))
    for name in ("/a b", "/a%j", "/a\n#SBATCH --uid=0", '/a"b', "relative"):
        with pytest.raises(UsageError, match="--output"):
            check_folder(Path(name))


def test_scripts_share_one_body() -> None:
    """Each can be copied and used by itself: what they have in common stands in each, and must not drift apart."""
    texts = [(FOLDER / f"{name}.sbatch").read_text(encoding="utf-8") for name in ("tier-a", "tier-b", "nodes")]
    bodies = {text[text.index(': "${plan:') :] for text in texts}
    assert len(bodies) == 1


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.sbatch")), ids=lambda path: path.stem)
def test_nothing_that_sbatch_would_pass_over(path: Path) -> None:
    """Options behind the first command are ignored without a word."""
    lines = path.read_text(encoding="utf-8").splitlines()
    first = next(number for number, line in enumerate(lines) if line and not line.startswith("#"))
    assert not [line for line in lines[first:] if line.startswith("#SBATCH")]
    assert lines[0].startswith("#!")
    assert len(lines) < 80, "short enough to read"
    assert path.read_bytes().count(b"\r") == 0

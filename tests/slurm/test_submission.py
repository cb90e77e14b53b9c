"""From a plan to a report on a real cluster: by ``collmark slurm``, and by each script of slurm/ and plain sbatch."""

from __future__ import annotations

import re
import sys
import time
from pathlib import Path

import pytest
from tests.slurm.cluster import Cluster

import collmark.slurm
from collmark.core.placement import Placement
from collmark.core.record import Outcome, Sentinel
from collmark.core.store import RunFolder
from collmark.workflow.slurm_status import missing_launches

pytestmark = [pytest.mark.root, pytest.mark.slow, pytest.mark.timeout(240)]

SCRIPTS = Path(collmark.slurm.__file__).parent
PLAN = """\
operations = ["all_reduce"]
sizes = "64B:4KiB:x8"
backends = ["{backend}"]
case_budget = "300 ms"
launches = 1
"""
SITE = f"""\
nodes = 2
cpus_per_node = 2
exclusive = false
memory = "1000"
python = "{sys.executable}"
[environment.tier-b]
A_TIER = "b"
"""
CASES = 3


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "plan.toml").write_text(PLAN.format(backend="simulated"), encoding="utf-8")
    (tmp_path / "site.toml").write_text(SITE, encoding="utf-8")
    return tmp_path


def collmark_on(cluster: Cluster, folder: Path, *words: str) -> str:
    """Run collmark on the login node; return what it says."""
    done = cluster.run(sys.executable, "-m", "collmark", *words, cwd=folder, timeout=100)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def logs(folder: Path) -> str:
    return "\n".join(path.read_text(encoding="utf-8") for path in folder.rglob("*.out"))


def test_a_plan_becomes_a_report_and_nothing_is_measured_twice(cluster: Cluster, folder: Path) -> None:
    submit = ("slurm", "submit", "plan.toml", "--profile", "site.toml", "--output", "results")
    said = collmark_on(cluster, folder, *submit)
    jobs = re.findall(r"submitted.* as job (\d+)", said)
    assert len(jobs) == 4
    assert cluster.wait(jobs[-1], timeout=180) == "COMPLETED", logs(folder)
    results = folder / "results"
    runs = {name: RunFolder(results / f"{name}-simulated") for name in ("tier-a", "tier-b", "nodes-2")}
    placements = {"tier-a": (1, 2), "tier-b": (2, 1), "nodes-2": (2, 2)}
    for job, (name, run) in zip(jobs, runs.items(), strict=False):
        cases = {record.case.key for record in run.records() if record.sentinel is None}
        nodes, ranks = placements[name]
        assert len(cases) == CASES
        assert {record.case.placement for record in run.records()} == {Placement(nodes=nodes, ranks_per_node=ranks)}
        (launch,) = run.read_run().launches
        assert launch.outcome is Outcome.COMPLETE
        if name != "nodes-2":  # an element of an array has a number of its own
            assert launch.allocation == job
    assert (results / "report.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    assert "A_TIER=b" in (results / "slurm/tier-b.sbatch").read_text(encoding="utf-8")
    status = collmark_on(cluster, folder, "slurm", "status", "results", "--watch")
    assert status.count(f"{CASES}/{CASES}") == 3
    again = collmark_on(cluster, folder, *submit)
    assert "as job" not in again
    assert again.count("all there") == 3


def test_each_script_ends_with_a_run_that_a_report_opens(cluster: Cluster, folder: Path) -> None:
    export = f"--export=ALL,python={sys.executable},backends=simulated,launches=1"
    words = {
        "tier-a": ["--ntasks-per-node=2", f"{export},ranks_per_node=2"],
        "tier-b": ["--nodes=2", "--ntasks-per-node=1", export],
        "nodes": ["--nodes=2", "--array=2", "--ntasks-per-node=2", f"{export},ranks_per_node=2"],
    }
    jobs = [
        cluster.submit(*options, str(SCRIPTS / f"{name}.sbatch"), "plan.toml", "results", cwd=folder)
        for name, options in words.items()
    ]
    collect = cluster.submit(
        f"--dependency=afterany:{':'.join(jobs)}",
        f"--export=ALL,python={sys.executable}",
        str(SCRIPTS / "collect.sbatch"),
        "results",
        cwd=folder,
    )
    assert cluster.wait(collect, timeout=180) == "COMPLETED", logs(folder)
    assert (folder / "results/report.html").stat().st_size > 10_000
    for name in ("tier-a", "tier-b", "nodes-2"):
        assert not missing_launches(folder / f"results/{name}-simulated", 1), logs(folder)


def test_a_job_near_its_limit_is_queued_anew_and_goes_on(cluster: Cluster, folder: Path) -> None:
    text = PLAN.format(backend="gloo").replace("x8", "x4").replace("300 ms", "500 ms")
    (folder / "plan.toml").write_text(text, encoding="utf-8")
    export = f"--export=ALL,python={sys.executable},launches=1,ranks_per_node=2"
    script = str(SCRIPTS / "tier-a.sbatch")
    job = cluster.submit("--ntasks-per-node=2", export, script, "plan.toml", "results", cwd=folder)
    run, records = folder / "results/tier-a-gloo", folder / "results/tier-a-gloo/records.jsonl"
    cluster.wait_until(lambda: records.exists() and records.stat().st_size > 0, "the first record", 60)
    # What Slurm sends before the limit, which is minutes away.
    cluster.run("scancel", "--batch", "--signal=USR1", job)
    cluster.wait_until(lambda: cluster.job(job).get("Restarts") == "1", f"the job to be requeued: {logs(folder)}", 60)
    kept = records.read_bytes()
    assert cluster.wait(job, timeout=120) == "COMPLETED", logs(folder)
    assert records.read_bytes().startswith(kept), "what was finished is as it was"
    assert not missing_launches(run, 1)
    keys = [(record.case.key, record.launch, record.sentinel) for record in RunFolder(run).records()]
    assert len(keys) == len(set(keys)) == 4 + len(Sentinel)
    assert "the limit is near" in logs(folder)


def test_a_job_that_is_cancelled_stays_so(cluster: Cluster, folder: Path) -> None:
    text = PLAN.format(backend="gloo").replace("300 ms", "20 s")
    (folder / "plan.toml").write_text(text, encoding="utf-8")
    collmark_on(cluster, folder, "slurm", "submit", "plan.toml", "--profile", "site.toml", "--output", "results")
    run = folder / "results/tier-a-gloo/run.json"
    cluster.wait_until(run.exists, "tier A to begin", 60)
    said = collmark_on(cluster, folder, "slurm", "cancel", "results")
    jobs = re.findall(r"\d+(?:_\d+)?", said)
    assert len(jobs) == 4
    began = time.monotonic()
    states = {job: cluster.wait(job, timeout=60) for job in jobs}
    assert set(states.values()) == {"CANCELLED"}, time.monotonic() - began
    status = collmark_on(cluster, folder, "slurm", "status", "results")
    assert "cancelled" in status

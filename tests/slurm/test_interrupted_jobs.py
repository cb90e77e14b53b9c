"""Jobs that are told to end, requeued, or lose a node: nothing finished is lost, and what is missing is measured."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.mpi_libraries import DEBIAN, path_of
from tests.multiprocess.program import collmark
from tests.slurm.cluster import Cluster

from collmark.core.record import Launch, Outcome
from collmark.core.store import RECORDS_FILE, RunFolder

pytestmark = [pytest.mark.root, pytest.mark.slow, pytest.mark.timeout(180)]

PLAN = ("--operation", "all_reduce", "--sizes", "8B:8KiB:x4", "--case-budget", "600ms", "--precision", "0.1%")
CASES, SENTINELS = 6, 3
SCRIPT = """\
#!/bin/bash
#SBATCH --nodes=2 --ntasks-per-node=1 --open-mode=append --output=job.out
for attempt in 1 2 3; do
  srun --mpi=pmix {words}
  status=$?
  [ $status = 139 ] || break  # Open MPI 4.1.4 now and then dies in MPI_Init on a busy node
done
[ $status = 138 ] && scontrol requeue $SLURM_JOB_ID
exit $status
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    """Return a batch script that makes launch 1 of a run, and goes on with it where it was ended before its time."""
    words = collmark(
        "run", "--backend", "mpi", "--mpi-library", path_of(DEBIAN), *PLAN, "--timeout", "3 s", "--into", "run",
        "--launch", "1",
    )  # fmt: skip
    path = tmp_path / "job.sh"
    path.write_text(SCRIPT.format(words=" ".join(map(repr, words))), encoding="utf-8")
    return path


def wait_for_records(cluster: Cluster, folder: Path, count: int) -> None:
    path = folder / "run" / RECORDS_FILE
    cluster.wait_until(lambda: path.exists() and path.read_bytes().count(b"\n") >= count, f"{count} records")


def only_launch(folder: Path) -> Launch:
    """Return the launch, of which every case is there once, and every repeat of the sentinel."""
    run = RunFolder(folder / "run")
    (launch,) = run.read_run().launches
    there = Counter((record.launch, record.case.key, record.sentinel) for record in run.records())
    lines = (folder / "run" / RECORDS_FILE).read_bytes().count(b"\n")
    assert (len(there), lines) == (CASES + SENTINELS, CASES + SENTINELS)
    assert (launch.id, launch.outcome) == (1, Outcome.COMPLETE)
    return launch


def errors(folder: Path) -> list[str]:
    text = (folder / "job.out").read_text(encoding="utf-8")
    return [line for line in text.splitlines() if line.startswith("error:")]


def test_a_job_that_is_told_to_end_is_requeued_and_goes_on(cluster: Cluster, script: Path) -> None:
    folder = script.parent
    job = cluster.submit("--requeue", str(script), cwd=folder)
    wait_for_records(cluster, folder, 2)
    cluster.run("scancel", "--signal=USR1", job)
    assert cluster.wait(job) == "COMPLETED", (folder / "job.out").read_text()
    assert cluster.job(job)["Restarts"] == "1"
    launch = only_launch(folder)
    (restart,) = launch.restarts
    assert restart.endswith(f"on {', '.join(host.name for host in launch.hosts)}: ended after a case, as was asked for")
    # Once more is nothing more.
    again = cluster.submit(str(script), cwd=folder)
    assert cluster.wait(again) == "COMPLETED", (folder / "job.out").read_text()
    assert only_launch(folder) == launch


@pytest.fixture
def booted(cluster: Cluster) -> Iterator[str]:
    """Yield a node that a test may crash."""
    node = cluster.nodes[3]
    yield node
    cluster.boot(node)


def test_a_lost_node_is_one_line_and_the_run_goes_on_elsewhere(cluster: Cluster, script: Path, booted: str) -> None:
    folder = script.parent
    job = cluster.submit("--no-requeue", "-w", f"{cluster.nodes[2]},{booted}", str(script), cwd=folder)
    wait_for_records(cluster, folder, 2)
    cluster.hosts.crash(3)  # and Slurm knows nothing yet
    cluster.wait_until(lambda: errors(folder) != [], "an error within the time-out, 3 s, and a little")
    before = list(RunFolder(folder / "run").records())
    cluster.crash(booted)
    assert cluster.wait(job) == "NODE_FAIL"
    (line,) = errors(folder)
    assert line.startswith(f"error: rank 1 ({booted}) silent for 3 s in ")
    assert f"{sum(record.sentinel is None for record in before)} of {CASES} records kept in run" in line
    (launch,) = RunFolder(folder / "run").read_run().launches
    assert launch.outcome == Outcome.LOST
    other = cluster.submit("-w", ",".join(cluster.nodes[:2]), str(script), cwd=folder)
    assert cluster.wait(other) == "COMPLETED", (folder / "job.out").read_text()
    assert list(RunFolder(folder / "run").records())[: len(before)] == before
    (restart,) = only_launch(folder).restarts
    assert booted in restart

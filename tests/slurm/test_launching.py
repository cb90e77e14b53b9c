"""Ranks that Slurm's own launchers start on several nodes find each other, or one line says why not."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from tests.mpi_libraries import DEBIAN, WHEEL, path_of
from tests.multiprocess.program import BIN, collmark, is_complete
from tests.slurm.cluster import SIDE, Cluster

from collmark.core.record import Launch
from collmark.core.store import RunFolder

pytestmark = [pytest.mark.root, pytest.mark.slow, pytest.mark.timeout(300)]

PLAN = ("--operation", "all_reduce", "--sizes", "8B:16KiB:x2048", "--case-budget", "50ms", "--timeout", "5 s")
SEGFAULT = 139  # status of a process that died of one
LAUNCHERS = {
    WHEEL: (str(BIN / "mpiexec"),),
    DEBIAN: ("mpirun.openmpi", "--allow-run-as-root"),
}


def run(backend: str, *more: str) -> tuple[str, ...]:
    return collmark("run", "--backend", backend, *PLAN, *more)


def mpi(library: str, *more: str) -> tuple[str, ...]:
    return run("mpi", "--mpi-library", path_of(library), *more)


def only_launch(folder: Path) -> Launch:
    run = RunFolder(folder)
    assert is_complete(run, launches=1)
    assert {record.check.wrong for record in run.records()} == {0}
    (launch,) = run.read_run().launches
    assert launch.outcome == "complete"
    return launch


def errors(done: subprocess.CompletedProcess[str]) -> list[str]:
    """Return the lines of collmark's own errors; srun adds one for each task."""
    return [line for line in done.stderr.splitlines() if line.startswith("error:")]


def run_again_where_it_breaks(cluster: Cluster, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run; again where slurmstepd lost or mixed up MPICH's requests, or Open MPI 4.1.4 died: busy nodes do that."""
    for _attempt in range(2):
        try:
            done = cluster.run(*words, cwd=folder, timeout=70)
        except subprocess.TimeoutExpired:  # MPI_Init waits for an answer that does not come
            cluster.run("scancel", "--user=root")
            continue
        if "mpi/pmi2:" not in done.stderr and done.returncode != SEGFAULT:
            return done
    return cluster.run(*words, cwd=folder, timeout=100)


def test_gloo_by_srun_over_the_interface_that_is_asked_for(cluster: Cluster, tmp_path: Path) -> None:
    before = cluster.hosts.counters(SIDE)
    words = ("srun", "-N2", "--ntasks-per-node=1", *run("gloo", "--into", "run"))
    done = cluster.run(*words, cwd=tmp_path, environment={"GLOO_SOCKET_IFNAME": SIDE})
    assert done.returncode == 0, done.stderr
    launch = only_launch(tmp_path / "run")
    assert (launch.launcher, launch.placement, launch.libraries["interface"]) == ("srun", "2x1", SIDE)
    assert [(host.name, host.ranks) for host in launch.hosts] == [(cluster.nodes[0], [0]), (cluster.nodes[1], [1])]
    records = [record for record in RunFolder(tmp_path / "run").records() if record.timing is not None]
    moved = sum(record.case.nbytes * record.timing.repetitions for record in records if record.timing)
    for host, counters in enumerate(cluster.hosts.counters(SIDE)[:2]):
        assert counters.since(before[host]).sent > moved, "all_reduce of two ranks sends the vector once at least"


@pytest.mark.parametrize(("library", "pmi"), [(WHEEL, "pmi2"), (DEBIAN, "pmix")])
def test_mpi_by_srun(cluster: Cluster, tmp_path: Path, library: str, pmi: str) -> None:
    words = ("srun", f"--mpi={pmi}", "-N2", "--ntasks-per-node=2", *mpi(library, "--into", "run"))
    done = run_again_where_it_breaks(cluster, tmp_path, *words)
    assert done.returncode == 0, done.stderr
    launch = only_launch(tmp_path / "run")
    assert (launch.launcher, launch.placement) == ("srun", "2x2")
    assert [host.ranks for host in launch.hosts] == [[0, 1], [2, 3]]


@pytest.mark.parametrize("library", LAUNCHERS)
def test_mpirun_in_a_batch_job(cluster: Cluster, tmp_path: Path, library: str) -> None:
    words = " ".join([*LAUNCHERS[library], "-n", "4", *(f"'{word}'" for word in mpi(library, "--into", "run"))])
    job = cluster.submit("-N2", "--ntasks-per-node=2", "--wrap", words, cwd=tmp_path)
    said = (tmp_path / f"slurm-{job}.out").read_text if cluster.wait(job) != "COMPLETED" else str
    assert not said(), said()
    launch = only_launch(tmp_path / "run")
    assert (launch.launcher, launch.placement, launch.allocation) == ("mpiexec", "2x2", job)


def test_torchrun_by_srun_in_a_batch_job(cluster: Cluster, tmp_path: Path) -> None:
    script = tmp_path / "job.sh"
    words = " ".join(f"'{word}'" for word in run("gloo", "--into", "run"))
    script.write_text(
        "#!/bin/bash\n"
        'MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n1)\n'
        f"srun --ntasks-per-node=1 {BIN}/torchrun --nnodes=2 --nproc-per-node=1 --rdzv-backend=c10d "
        f"--rdzv-endpoint=$MASTER_ADDR:29503 --no-python {words}\n"
    )
    job = cluster.submit("-N2", "--ntasks-per-node=1", str(script), cwd=tmp_path)
    cluster.wait(job)
    launch = only_launch(tmp_path / "run")
    assert (launch.launcher, launch.placement) == ("torchrun", "2x1")


def test_nodes_that_srun_has_packed_unevenly_are_refused_in_one_line(cluster: Cluster, tmp_path: Path) -> None:
    done = cluster.run("srun", "--mpi=pmix", "-N4", "-n8", *mpi(DEBIAN, "--into", "run"), cwd=tmp_path)
    assert done.returncode == 3
    (line,) = errors(done)
    there = ", ".join(f"{count} on {node}" for count, node in zip((4, 2, 1, 1), cluster.nodes, strict=True))
    assert line.startswith(f"error: ranks lie unevenly, {there}, and")
    assert "srun --ntasks-per-node=2" in line


def test_a_wrong_mpi_option_is_named_with_the_right_one_in_one_line(cluster: Cluster, tmp_path: Path) -> None:
    done = cluster.run("srun", "--mpi=none", "-N2", "--ntasks-per-node=2", *mpi(WHEEL, "--into", "run"), cwd=tmp_path)
    assert done.returncode == 3, done.stderr
    (line,) = errors(done)
    assert "counts 1 rank, 4 were started: these ranks were started with srun --mpi=none: MPICH as a rule needs" in line


def test_two_steps_at_once_in_one_allocation_do_not_meet(cluster: Cluster, tmp_path: Path) -> None:
    words = f"srun --overlap --exact --mem=500 --mpi=pmix -N2 --ntasks-per-node=1 {' '.join(map(repr, mpi(DEBIAN)))}"
    (tmp_path / "job.sh").write_text(
        f"#!/bin/bash\nstep() {{ for attempt in 1 2 3; do {words} --into $1; status=$?; [ $status = {SEGFAULT} ] || "
        "return $status; done; }\nstep one & step two; other=$?\nwait $! && exit $other\n"
    )
    job = cluster.submit("-N2", "--ntasks-per-node=2", str(tmp_path / "job.sh"), cwd=tmp_path)
    assert cluster.wait(job) == "COMPLETED", (tmp_path / f"slurm-{job}.out").read_text()
    launches = [only_launch(tmp_path / name) for name in ("one", "two")]
    assert [launch.allocation for launch in launches] == [job, job]
    steps = {launch.environment["SLURM_STEP_ID"] for launch in launches}
    assert len(steps) == 2

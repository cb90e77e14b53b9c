"""The cluster of the tests is one: jobs run on several hosts, links have rates, nodes fail; and it leaves nothing."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.multiprocess.program import MARK, clean_environment, processes_with
from tests.slurm.cluster import LAN, Cluster, missing

from collmark.bench.emulated.hosts import _output

pytestmark = [pytest.mark.root, pytest.mark.slow]

STARTER = """
import sys, tempfile
from pathlib import Path
from tests.slurm.cluster import started
with tempfile.TemporaryDirectory(prefix="collmark-slurm-") as name, started(Path(name), nodes=1) as cluster:
    job = cluster.submit("--wrap", "sleep 1000")
    cluster.wait_until(lambda: cluster.job(job)["JobState"] == "RUNNING", "the job to run")
    print(name, flush=True)
    sys.stdin.read()
"""


def test_a_job_runs_on_every_node(cluster: Cluster) -> None:
    done = cluster.run("srun", "-N4", "sh", "-c", "echo $(hostname) $SLURM_PROCID $(ls /proc | grep -c '^[0-9]')")
    names, ranks, processes = zip(*(line.split() for line in sorted(done.stdout.splitlines())), strict=True)
    assert (list(names), sorted(ranks)) == (cluster.nodes, ["0", "1", "2", "3"])
    assert max(map(int, processes)) < 20, "a node sees its own processes alone"


def test_a_batch_job_ends_with_its_status(cluster: Cluster) -> None:
    job = cluster.submit("-N2", "--wrap", "srun hostname; exit 7")
    assert cluster.wait(job) == "FAILED"
    assert cluster.job(job)["ExitCode"] == "7:0"
    assert len((cluster.folder / f"slurm-{job}.out").read_text(encoding="utf-8").split()) == 2


def test_a_link_is_no_faster_than_it_is_shaped(cluster: Cluster) -> None:
    rate = 80e6
    cluster.rate(cluster.nodes[1], rate)
    try:
        before = cluster.hosts.counters(LAN)[1]
        began = time.monotonic()
        done = cluster.run("srun", "-N1", "-w", cluster.nodes[1], "head", "-c", "4M", "/dev/zero")
        seconds = time.monotonic() - began
        sent = cluster.hosts.counters(LAN)[1].since(before).sent
    finally:
        cluster.rate(cluster.nodes[1], None)
    assert len(done.stdout) == 4 * 2**20
    assert sent > 4 * 2**20
    assert 8 * (sent - 2 * cluster.hosts.networks[LAN].link.burst) / seconds <= rate


def test_a_job_on_a_node_that_fails_is_lost_and_the_node_comes_back(cluster: Cluster) -> None:
    node = cluster.nodes[3]
    job = cluster.submit("--no-requeue", "-w", node, "--wrap", "sleep 1000")
    cluster.wait_until(lambda: cluster.job(job)["JobState"] == "RUNNING", "the job to run")
    cluster.crash(node)
    try:
        assert cluster.wait(job) == "NODE_FAIL"
    finally:
        cluster.boot(node)
    assert cluster.run("srun", "-w", node, "hostname").stdout == f"{node}\n"


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_nothing_is_left_of_a_cluster_however_its_process_ends(number: int) -> None:
    if reason := missing():
        pytest.skip(reason)
    before, mark = _output(["ip", "-br", "link"]), f"cluster {number}"
    environment = clean_environment(PYTHONPATH=":".join(path for path in sys.path if path), **{MARK: mark})
    starter = subprocess.Popen(
        [sys.executable, "-c", STARTER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=environment,
    )
    with starter:
        assert starter.stdout is not None, "a pipe was asked for"
        folder = starter.stdout.readline().strip()
        assert len(processes_with(mark)) > 5, "all of it carries the mark"
        starter.send_signal(number)
    deadline = time.monotonic() + 20
    while left := processes_with(mark):
        assert time.monotonic() < deadline, left
        time.sleep(0.05)
    assert folder
    assert folder not in Path("/proc/mounts").read_text(encoding="utf-8")
    assert _output(["ip", "-br", "link"]) == before
    assert Path(folder).exists() == (number == signal.SIGKILL), "only a killed process cannot take its folder away"
    subprocess.run(["rm", "-r", "-f", folder], check=True)

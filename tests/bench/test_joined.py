"""What is made of a launcher's variables, and ranks that a launcher has started wrongly."""

import os
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.multiprocess.program import SMALL_PLAN, clean_environment, collmark

from collmark.bench.launchers.joined import Joined, detect, first_node
from collmark.bench.launchers.seating import open_listener, seat_of
from collmark.core.errors import UnavailableError
from collmark.core.store import RunFolder

START_SECONDS = 8.0  # for an interpreter on a busy machine

OPEN_MPI = {
    "OMPI_COMM_WORLD_RANK": "5",
    "OMPI_COMM_WORLD_SIZE": "8",
    "OMPI_COMM_WORLD_LOCAL_RANK": "1",
    "OMPI_COMM_WORLD_LOCAL_SIZE": "4",
    "PMIX_NAMESPACE": "prterun-n1-77@1",
}
HYDRA = {"PMI_RANK": "1", "PMI_SIZE": "2", "MPI_LOCALRANKID": "1", "MPI_LOCALNRANKS": "2"}
TORCHRUN = {
    "RANK": "3",
    "WORLD_SIZE": "4",
    "LOCAL_RANK": "1",
    "LOCAL_WORLD_SIZE": "2",
    "MASTER_ADDR": "n1",
    "MASTER_PORT": "29500",
    "TORCHELASTIC_RUN_ID": "none",
}
SRUN = {
    "SLURM_JOB_ID": "17",
    "SLURM_STEP_ID": "2",
    "SLURM_PROCID": "3",
    "SLURM_LOCALID": "1",
    "SLURM_STEP_NUM_TASKS": "4",
    "SLURM_STEP_NUM_NODES": "2",
    "SLURM_STEP_NODELIST": "node-[03-04]",
    "SLURM_JOB_NODELIST": "node-[03-09]",
    "SLURM_NTASKS": "14",
}
BATCH = {"SLURM_JOB_ID": "17", "SLURM_PROCID": "0", "SLURM_NTASKS": "8", "SLURM_JOB_NODELIST": "node-[03-04]"}


def found(environ: Mapping[str, str], parent: str = "bash") -> Joined:
    joined = detect(environ, parent)
    assert joined is not None
    return joined


def place(joined: Joined) -> tuple[str, int, int, int, int, str]:
    return joined.launcher, joined.rank, joined.ranks, joined.local_rank, joined.nodes, joined.host


def test_nobody_started_several() -> None:
    assert detect({"PATH": "/bin", "RANK": "gold"}, "bash") is None


def test_open_mpi_in_a_slurm_job() -> None:
    joined = found({**OPEN_MPI, **BATCH})
    assert place(joined) == ("mpiexec", 5, 8, 1, 2, "node-03")
    assert joined.job == "prterun-n1-77@1"


def test_open_mpi_over_hosts_without_slurm_needs_an_address() -> None:
    with pytest.raises(UnavailableError, match="set COLLMARK_CONTROL_HOST to it on all ranks"):
        detect(OPEN_MPI, "prted")
    assert found({**OPEN_MPI, "COLLMARK_CONTROL_HOST": "ib-n1"}).host == "ib-n1"


def test_hydra_on_one_host() -> None:
    joined = found(HYDRA, "hydra_pmi_proxy")
    assert place(joined) == ("mpiexec", 1, 2, 1, 1, "127.0.0.1")
    assert joined.job == f"parent {os.getppid()}"


def test_hydra_inside_a_slurm_step_that_says_rank_0_of_everybody() -> None:
    step = {"SLURM_PROCID": "0", "SLURM_STEP_ID": "4", "SLURM_STEP_NUM_TASKS": "2", "SLURM_JOB_ID": "17"}
    joined = found({**HYDRA, **step})
    assert place(joined) == ("mpiexec", 1, 2, 1, 1, "127.0.0.1")
    assert joined.job == " 17.4"


def test_torchrun() -> None:
    assert place(found(TORCHRUN)) == ("torchrun", 3, 4, 1, 2, "n1")


def test_torchrun_inside_srun_with_pmi() -> None:
    # Every torchrun is one task of the step; its children inherit that task's variables.
    outer = {**SRUN, "SLURM_PROCID": "1", "PMI_RANK": "1", "PMI_SIZE": "2"}
    assert place(found({**outer, **TORCHRUN})) == ("torchrun", 3, 4, 1, 2, "n1")


def test_mpi_inside_plain_rank_variables() -> None:
    plain = {"RANK": "0", "WORLD_SIZE": "8", "LOCAL_RANK": "0"}
    assert found({**plain, **HYDRA}).launcher == "mpiexec"


def test_srun() -> None:
    joined = found(SRUN)
    assert place(joined) == ("srun", 3, 4, 1, 2, "node-03")
    assert joined.job == "17.2"


def test_one_rank_on_each_host_says_that_rank_0_is_lost() -> None:
    def speaks(rank: int) -> bool:
        joined = found({**SRUN, "SLURM_PROCID": str(rank), "SLURM_LOCALID": str(rank % 2)})
        return joined.speaks_up

    assert [rank for rank in range(1, 4) if speaks(rank)] == [1, 2]


def test_a_batch_script_without_srun_is_one_process() -> None:
    assert detect(BATCH, "slurm_script") is None


@pytest.mark.parametrize("step", [0xFFFFFFFA, 0xFFFFFFFB])
def test_slurms_own_steps_start_no_ranks(step: int) -> None:
    assert detect({**SRUN, "SLURM_STEP_ID": str(step)}, "bash") is None


def test_a_step_of_one_task_is_one_process() -> None:
    assert detect({**SRUN, "SLURM_PROCID": "0", "SLURM_STEP_NUM_TASKS": "1"}, "slurmstepd") is None


@pytest.mark.parametrize("parent", ["hydra_pmi_proxy", "prted", "mpirun"])
def test_an_unknown_mpi_is_named_before_every_copy_becomes_rank_0(parent: str) -> None:
    with pytest.raises(UnavailableError, match=f"{parent} started this process but told it no rank"):
        detect({}, parent)


def test_variables_of_another_launch() -> None:
    with pytest.raises(UnavailableError, match="says rank 3 of 2"):
        detect({**TORCHRUN, "WORLD_SIZE": "2"}, "")
    with pytest.raises(UnavailableError, match="PMI_SIZE is missing"):
        detect({"PMI_RANK": "0"}, "")
    with pytest.raises(UnavailableError, match="OMPI_COMM_WORLD_SIZE is missing"):
        detect({"OMPI_COMM_WORLD_RANK": "0"}, "")


@pytest.mark.parametrize(
    ("environ", "name", "value"),
    [
        (TORCHRUN, "LOCAL_WORLD_SIZE", "0"),
        (TORCHRUN, "WORLD_SIZE", "4.0"),
        (TORCHRUN, "LOCAL_RANK", "2"),
        (TORCHRUN, "RANK", "-1"),
        (TORCHRUN, "RANK", "9" * 5000),
        (HYDRA, "PMI_SIZE", "two"),
        (HYDRA, "MPI_LOCALNRANKS", ""),
        (HYDRA, "MPI_LOCALRANKID", "2"),
        (OPEN_MPI, "OMPI_COMM_WORLD_SIZE", "0"),
        (OPEN_MPI, "OMPI_COMM_WORLD_LOCAL_RANK", "x"),
        (SRUN, "SLURM_STEP_NUM_NODES", "0"),
        (SRUN, "SLURM_STEP_ID", "batch"),
        (SRUN, "SLURM_LOCALID", "-"),
    ],
)
def test_a_variable_that_cannot_be_is_named_with_its_value(environ: Mapping[str, str], name: str, value: str) -> None:
    with pytest.raises(
        UnavailableError, match=rf"\({name}='{value[:60]}.* is no whole number from . (on|to .)\); unset"
    ):
        detect({**environ, name: value}, "")


def test_rank_and_world_size_are_enough_on_one_host() -> None:
    plain = {"RANK": "3", "WORLD_SIZE": "4"}
    assert place(found(plain)) == ("torchrun", 3, 4, 3, 1, "127.0.0.1")
    assert place(found({**plain, "LOCAL_WORLD_SIZE": "2", "MASTER_ADDR": "n1"})) == ("torchrun", 3, 4, 1, 2, "n1")
    with pytest.raises(UnavailableError, match="WORLD_SIZE='four' is no whole number"):
        detect({**plain, "WORLD_SIZE": "four"}, "bash")


def test_ranks_that_do_not_know_how_many_share_a_host_meet_where_all_can_come() -> None:
    assert found({"RANK": "3", "WORLD_SIZE": "4", "MASTER_ADDR": "n1"}).host == "n1"
    on_hosts = [seat_of(found({"RANK": str(rank), "WORLD_SIZE": "2", "MASTER_ADDR": "n1"}), 1.0) for rank in range(2)]
    assert len({seat.secret for seat in on_hosts}) == 1


def test_a_container_that_says_it_is_alone_is_one_process() -> None:
    assert detect({"RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "localhost"}, "bash") is None


def test_srun_knows_better_than_variables_that_a_script_has_set() -> None:
    assert found({**SRUN, "RANK": "0", "WORLD_SIZE": "4"}).launcher == "srun"
    alone = {**SRUN, "SLURM_PROCID": "0", "SLURM_STEP_NUM_TASKS": "1"}
    assert found({**alone, "RANK": "1", "WORLD_SIZE": "2"}).rank == 1


def test_srun_with_pmi2_which_does_not_tell_the_ranks_of_a_node() -> None:
    joined = found({**SRUN, "PMI_RANK": "3", "PMI_SIZE": "4"})
    assert place(joined) == ("srun", 3, 4, 1, 2, "node-03")


@pytest.mark.parametrize(
    ("nodelist", "first"),
    [
        ("n1", "n1"),
        ("n1,n2", "n1"),
        ("n[1-4]", "n1"),
        ("node-[03-07,9],other", "node-03"),
        ("gpu[9]", "gpu9"),
        ("rack[1-2]n[01-04]", "rack1n01"),
        ("a[1,3-4]-ib,b", "a1-ib"),
        ("x,y[1-2]", "x"),
    ],
)
def test_the_first_node_of_a_list(nodelist: str, first: str) -> None:
    assert first_node(nodelist) == first


def test_a_launcher_is_seen_through_a_shell(tmp_path: Path) -> None:
    launcher = tmp_path / "mpirun"
    launcher.symlink_to("/bin/sh")
    code = f"{sys.executable} -c 'from collmark.bench.launchers.joined import parent_name; print(parent_name())'; true"
    done = subprocess.run(
        [launcher, "-c", f'sh -c "{code}; true"; true'], capture_output=True, text=True, check=True, timeout=100
    )
    assert done.stdout.strip() == "mpirun"


def test_a_seat_is_the_same_for_all_ranks_of_a_job_and_for_no_other() -> None:
    ranks = [seat_of(found({**SRUN, "SLURM_PROCID": str(rank)}), 1.0) for rank in range(4)]
    assert len({(seat.addresses, seat.secret) for seat in ranks}) == 1
    assert [seat.rank for seat in ranks] == [0, 1, 2, 3]
    other = seat_of(found({**SRUN, "SLURM_STEP_ID": "3"}), 1.0)
    assert other.secret != ranks[0].secret


def test_a_port_that_is_taken_is_passed_over() -> None:
    seat = seat_of(found({**HYDRA, "PMI_RANK": "0"}), 1.0)
    with open_listener(seat, 1) as first, open_listener(seat, 1) as second:
        assert first.getsockname()[1] != second.getsockname()[1]
        assert {first.getsockname(), second.getsockname()} <= set(seat.addresses)


def test_several_nodes_never_meet_on_a_loopback_address() -> None:
    seat = seat_of(found({**TORCHRUN, "RANK": "0", "MASTER_ADDR": "localhost"}), 1.0)
    with open_listener(seat, 2) as listener:
        assert listener.getsockname()[0] in ("0.0.0.0", "::")


def test_a_host_that_is_not_this_one_is_named() -> None:
    seat = seat_of(found({**TORCHRUN, "RANK": "0", "MASTER_ADDR": "no-such-host.invalid"}), 1.0)
    with pytest.raises(UnavailableError, match=r"rank 0's host no-such-host\.invalid has no address"):
        open_listener(seat, 2)


def start_rank(rank: int, folder: Path, ranks: int = 2, *more: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        collmark("run", *SMALL_PLAN[:-4], "--timeout", "3 s", "--output", f"results-{rank}", *more),
        cwd=folder,
        env=clean_environment(PMI_RANK=str(rank), PMI_SIZE=str(ranks)),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.slow
@pytest.mark.timeout(60)
@pytest.mark.parametrize("copies", [2, 3])
def test_copies_of_rank_0_are_told_so_and_stop(tmp_path: Path, copies: int) -> None:
    folders = [tmp_path / str(copy) for copy in range(copies)]
    for folder in folders:
        folder.mkdir()
    processes = [start_rank(0, folder, ranks=copies) for folder in folders]
    for process in processes:
        _out, errors = process.communicate(timeout=40)
        assert process.returncode == 3, errors
        assert "two processes are rank 0" in " ".join(errors.split())
        assert "the launcher gave both the same rank" in " ".join(errors.split())


@pytest.mark.slow
@pytest.mark.timeout(60)
def test_ranks_that_count_differently_are_two_launches(tmp_path: Path) -> None:
    processes = [start_rank(0, tmp_path, ranks=2), start_rank(1, tmp_path, ranks=4)]
    errors = [" ".join(process.communicate(timeout=40)[1].split()) for process in processes]
    assert [process.returncode for process in processes] == [3, 3]
    assert all("rank 1 counts 4 ranks, rank 0 counts 2: two launches are mixed" in text for text in errors)


@pytest.mark.slow
@pytest.mark.timeout(60)
@pytest.mark.parametrize(("ranks", "missing"), [(2, "rank 1"), (4, "ranks 1, 2, 3")])
def test_a_rank_that_does_not_come_is_a_loss_and_named_within_four_timeouts(
    tmp_path: Path, ranks: int, missing: str
) -> None:
    began = time.monotonic()
    process = start_rank(0, tmp_path, ranks)
    _out, errors = process.communicate(timeout=50)
    assert time.monotonic() - began < 12 + START_SECONDS
    assert process.returncode == 4
    assert f"error: {missing} of {ranks} did not join within 12 s" in " ".join(errors.split())
    assert errors.count("error:") == 1


@pytest.mark.slow
@pytest.mark.timeout(60)
def test_a_rank_0_that_does_not_come_is_a_loss_and_named_within_four_timeouts(tmp_path: Path) -> None:
    began = time.monotonic()
    process = start_rank(1, tmp_path)
    _out, errors = process.communicate(timeout=50)
    assert time.monotonic() - began < 12 + START_SECONDS
    assert process.returncode == 4
    assert "error: rank 1 did not find rank 0 at 127.0.0.1:" in " ".join(errors.split())


@pytest.mark.slow
@pytest.mark.timeout(90)
@pytest.mark.parametrize("claimed", [0, 1])
def test_a_second_process_of_a_rank_is_told_so_however_late_it_comes(tmp_path: Path, claimed: int) -> None:
    folders = [tmp_path / name for name in ("lead", "other", "late")]
    for folder in folders:
        folder.mkdir()
    long = ("--case-budget", "2 s", "--precision", "0.1%")
    processes = [start_rank(rank, folder, 2, *long) for rank, folder in enumerate(folders[:2])]
    run = folders[0] / "results-0"
    while not any(path.stat().st_size for path in run.glob("*/records.jsonl")):
        assert processes[0].poll() is None, processes[0].communicate()
        time.sleep(0.02)
    processes.append(start_rank(claimed, folders[2], 2, *long))
    began = time.monotonic()
    errors = [" ".join(process.communicate(timeout=40)[1].split()) for process in processes]
    assert time.monotonic() - began < 5 + START_SECONDS
    assert [process.returncode for process in processes] == [3, 3, 3], errors
    for said in (errors[0], errors[2]):
        assert f"error: two processes are rank {claimed} (pid {processes[claimed].pid} on " in said
        assert f", pid {processes[2].pid} on " in said
    (folder,) = run.iterdir()
    (launch,) = RunFolder(folder).read_run().launches
    assert (launch.outcome, launch.reason[:20]) == ("lost", "two processes are ra")

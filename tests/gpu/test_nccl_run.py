"""Whole runs over NCCL on this machine's GPUs; where there is one GPU, two ranks share it, and nothing is measured."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from tests.gpus import sharing
from tests.multiprocess.program import BIN, Program, collmark, is_complete, only_run
from tests.multiprocess.test_joined_run import free_port

from collmark.bench.backends.gpu_seat import VARIABLE
from collmark.bench.backends.index import BACKENDS
from collmark.bench.rank import DEVICE, ENTER, EXIT, QUEUED
from collmark.core.case import Device
from collmark.core.placement import Tier
from collmark.core.record import Status
from collmark.core.store import RunFolder, read_samples

Start = Callable[..., Program]
pytestmark = [pytest.mark.gpu, pytest.mark.slow, pytest.mark.timeout(300)]
RANKS = 2
PLAN = (
    *("--backend", "nccl", "--operation", "all_reduce,all_gather,send_recv,ping_pong,barrier"),
    *("--sizes", "1KiB:1MiB:x32", "--case-budget", "300ms", "--launches", "1"),
)
RESOLUTION = 1000  # ns: twice what CUDA's events resolve


def gpus() -> int:
    sharing(1)
    return len(BACKENDS["nccl"].devices())


@pytest.fixture(scope="module")
def environment() -> dict[str, str]:
    """Return the variables under which two ranks run here."""
    return sharing(RANKS)


class Made(NamedTuple):
    """A run that was made, and what was said meanwhile."""

    folder: RunFolder
    errors: str


@pytest.fixture(scope="module")
def made(environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Made:
    """Make a small run of two ranks, once for all tests."""
    place = tmp_path_factory.mktemp("nccl")
    command = collmark("run", "--json", "--ranks", str(RANKS), *PLAN, "--oversubscribe", "--output", "results")
    program = Program(*command, folder=place, **environment)
    try:
        assert program.end(280) == 0, program.errors
        program.wait_until_gone(10)
    finally:
        program.clean_up()
    return Made(only_run(place), program.errors)


def test_a_run_is_right_and_says_what_ran(made: Made, environment: dict[str, str]) -> None:
    folder = made.folder
    assert is_complete(folder, launches=1)
    (launch,) = folder.read_run().launches
    assert {"torch", "nccl", "cuda", "gpu", "event_record"} <= launch.libraries.keys()
    assert ("arrangement" in launch.libraries) is bool(environment)
    tier = Tier.SHARED_GPU if environment else Tier.UNKNOWN
    for record in folder.records():
        assert record.status in (Status.CONVERGED, Status.BUDGET, Status.UNSTABLE), (record.case, record.error)
        assert record.case.device is Device.CUDA
        assert record.evidence.tier is tier
        assert record.evidence.because
        assert record.check.wrong == 0


def test_what_the_gpu_stamps_lies_within_what_the_host_does(made: Made) -> None:
    folder, seen = made.folder, 0
    for record in folder.records():
        assert record.samples is not None
        layers_SRI = read_samples(folder, record.samples)
        local_RI, queued_RI = layers_SRI[EXIT] - layers_SRI[ENTER], layers_SRI[QUEUED] - layers_SRI[ENTER]
        device_RI = layers_SRI[DEVICE]
        assert (queued_RI > 0).all()
        assert (queued_RI <= local_RI).all()
        # Both events are queued, and done, between the host's two stamps.
        assert (device_RI >= 0).all()
        assert (device_RI <= local_RI + RESOLUTION).all(), record.case
        if record.case.operation != "barrier":
            # Were the second event on another stream than the operation, it would not have waited for it: on the rank
            # that came last, nothing but the operation is left between its stamps.
            last = np.argmax(layers_SRI[ENTER], axis=0)
            share_I = device_RI[last, np.arange(device_RI.shape[1])] / local_RI[last, np.arange(local_RI.shape[1])]
            assert np.median(share_I) > 0.1, record.case
        seen += 1
    assert seen


def test_what_shared_a_gpu_decides_nothing(start: Start, made: Made, environment: dict[str, str]) -> None:
    if not environment:
        pytest.skip(f"{RANKS} ranks have a GPU each here, and share none")
    assert "a test arrangement, in which no figure is a measurement" in made.errors
    assert "TEST: no figure above was measured (ranks shared a GPU" in made.errors
    fit = start(*collmark("fit", str(made.folder.path)))
    assert fit.end() == 0, fit.errors
    assert "nothing to fit" in fit.errors
    assert "of a test arrangement" in fit.errors
    claims = start(*collmark("claims", str(made.folder.path), "--json"))
    assert claims.end() == 0, claims.errors
    findings = json.loads("".join(claims.lines))["findings"]
    assert {one["verdict"] for one in findings if one["kind"] == "M"} == {"no data"}


def test_a_report_is_made(start: Start, tmp_path: Path, made: Made, environment: dict[str, str]) -> None:
    program = start(*collmark("report", str(made.folder.path), "-o", "report.html"))
    assert program.end(120) == 0, program.errors
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert ("TEST. No figure here was measured" in text) is bool(environment)
    assert "nccl" in text


def test_ranks_of_torchrun_are_joined(start: Start, tmp_path: Path, environment: dict[str, str]) -> None:
    torchrun = ("--nnodes", "1", "--nproc-per-node", str(RANKS), "--master-port", str(free_port()), "--no-python")
    command = (*collmark("run", "--json", *PLAN[:-2]), "--into", "joined")
    program = start(str(BIN / "torchrun"), *torchrun, *command, **environment)
    assert program.end(280) == 0, program.errors
    (launch,) = RunFolder(tmp_path / "joined").read_run().launches
    assert (launch.launcher, launch.outcome) == ("torchrun", "complete")


def test_more_ranks_than_gpus_are_refused_with_the_remedy(start: Start, tmp_path: Path) -> None:
    there = gpus()
    program = start(*collmark("run", "--ranks", str(there + 1), *PLAN, "--oversubscribe", "--output", "results"))
    assert program.end() == 2
    assert f"use --ranks {there}; {VARIABLE}=1 lets them share it" in program.errors
    assert not (tmp_path / "results").exists()


def test_ranks_of_a_launcher_that_share_unasked_are_refused(start: Start) -> None:
    there = gpus()
    torchrun = ("--nnodes", "1", "--nproc-per-node", str(there + 1), "--master-port", str(free_port()), "--no-python")
    program = start(str(BIN / "torchrun"), *torchrun, *collmark("run", *PLAN[:-2], "--into", "joined"))
    assert program.end(280) != 0
    assert "have the same GPU" in program.errors or "no GPU is left" in program.errors


def test_more_than_fits_into_a_gpu_is_refused(start: Start, environment: dict[str, str]) -> None:
    words = ("--backend", "nccl", "--operation", "all_reduce", "--sizes", "100TiB", "--oversubscribe")
    program = start(*collmark("run", "--ranks", str(RANKS), *words), **environment)
    assert program.end() == 2
    assert "of memory on each GPU (two buffers of" in program.errors

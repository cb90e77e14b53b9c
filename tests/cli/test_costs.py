"""``collmark fit`` on several rank counts: costs of messages and bytes, predictions, cliffs, a prior."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.analysis.made import SIZES, curve, noisy, results_of, times
from tests.analysis.report.conftest import with_launches

from collmark.analysis.costs.index import ALGORITHMS
from collmark.analysis.results import Results
from collmark.core.host_noise import HostNoise
from collmark.core.record import Record
from collmark.core.store import RunFolder, Writer

GAMMA = 4e-11  # s/B


def ring(ranks: Sequence[int] = (2, 4, 6, 8), gamma: float = 0.0, backend: str = "gloo") -> list[Record]:
    """Return records of rings: 3 us a message and 2 us besides, 10 GB/s."""
    row = ALGORITHMS["all_reduce/ring"]
    return [
        record
        for count in ranks
        for record in curve(
            ranks=count,
            alpha=2e-6 + row.terms(count).alpha * 3e-6,
            beta=1e-10 + row.bus_terms(count).gamma * gamma,
            sizes=SIZES,
            of_case={"backend": backend},
        )
    ]


def kept(results: Results, folder: Path) -> str:
    made = RunFolder.create(folder, results.run)
    writer = Writer(made, 1, 0)
    for record in results.records:
        writer.append(record, None)
    return str(made.path)


@pytest.fixture
def run(tmp_path: Path) -> Callable[[list[Record]], str]:
    """Return a function that keeps records as a run and returns its path."""
    return lambda records: kept(results_of(noisy(records, sd=0.005)), tmp_path / "rings")


def test_message_and_byte_costs_and_their_algorithm(cli: Callable[..., Any], run: Callable[..., str]) -> None:
    result = cli("fit", run(ring()))
    assert result.status == 0
    assert max(map(len, result.out.splitlines())) <= 100
    words = " ".join(result.out.split())
    (line,) = (line for line in result.out.splitlines() if "2,4,6,8" in line)
    cells = line.split()
    assert cells[:4] == ["all_reduce", "float32", "2,4,6,8", "ring"]
    assert "(us/message)" in words
    notes = " ".join(result.err.split())
    assert "these ranks do not tell ring from segmented ring" in notes
    assert "beta holds 0.5 gamma for each byte: the runs did not measure gamma" in notes


def test_json_holds_them_in_si_units(cli: Callable[..., Any], run: Callable[..., str]) -> None:
    said = cli("fit", run(ring()), "--predict", "1M@16", "--json").json
    (scaling,) = said["scalings"]["scalings"]
    best = scaling["candidates"][0]
    assert best["latency"] == "all_reduce/ring"
    assert best["alpha"]["value"] == pytest.approx(3e-6, rel=0.05)
    assert best["beta"]["value"] == pytest.approx(1e-10, rel=0.02)
    assert best["overhead"]["value"] == pytest.approx(2e-6, rel=0.3)
    (prediction,) = said["predictions"]
    assert prediction["ranks"] == 16
    truth = 2e-6 + 30 * 3e-6 + 2 * 15 / 16 * (1 << 20) * 1e-10
    assert prediction["lower"] <= truth <= prediction["upper"]
    assert said["fits"]
    assert said["cliffs"] == []


def test_simulated_figures_say_so_and_a_latency_that_does_not_grow_has_no_message(cli: Callable[..., Any]) -> None:
    for ranks in ("2", "3", "4", "6"):
        cli(
            "run", "--backend", "simulated", "--ranks", ranks, "--operation", "all_reduce,barrier",
            "--label", f"n{ranks}", "--sizes", "16B:64MiB:x4", "--launches", "2",
            "--simulate", "alpha=2e-5", "--simulate", "beta=1e-10", "--simulate", "launch_sd=0.01",
        )  # fmt: skip
    result = cli("fit", "n2", "n3", "n4", "n6", "--predict", "1M@5")
    assert "SIMULATED cost of a message" in result.out
    assert "SIMULATED predicted T" in result.out
    notes = " ".join(result.err.split())
    assert "SIMULATED all_reduce float32 (simulated, simulated): T of small sizes does not grow with ranks" in notes
    assert "barrier float32 - 5 2" in " ".join(result.out.split())  # no size, 5 ranks, some 20 us


def test_three_rank_counts_say_nothing_of_messages(cli: Callable[..., Any], run: Callable[..., str]) -> None:
    result = cli("fit", run(ring((2, 4, 8))))
    assert "us/message" not in result.out
    assert result.status == 0


def test_predictions_say_where_they_are_outside(cli: Callable[..., Any], run: Callable[..., str]) -> None:
    result = cli("fit", run(ring()), "--predict", "1M@5", "--predict", "1M@16", "--predict", "1M@512")
    words, notes = " ".join(result.out.split()), " ".join(result.err.split())
    assert "inside" in words
    assert "outside" in words
    assert "outside the measured range (ranks 16, measured 2 to 8): interval widened by 10%" in notes
    assert "1 MiB at 512 ranks: not predicted: outside the measured range" in notes


@pytest.mark.parametrize("text", ["1M", "1M@", "@4", "1M@1", "1M@0", "big@4", "1M@4@4", "1M@-2", "-1@4"])
def test_a_place_that_cannot_be_read_is_one_line(cli: Callable[..., Any], run: Callable[..., str], text: str) -> None:
    result = cli("fit", run(ring()), f"--predict={text}")
    assert result.status == 2
    assert result.out == ""
    assert f"--predict {text}" in result.err
    assert len(result.err.splitlines()) == 1


def test_a_cliff_is_named(cli: Callable[..., Any], run: Callable[..., str]) -> None:
    slow = SIZES[7]
    path = run([times(record, 10) if record.case.nbytes == slow else record for record in ring((2,))])
    notes = " ".join(cli("fit", path).err.split())
    assert "off the model by over 10 % and its interval: 256 KiB takes" in notes


def test_a_cliff_does_not_hide_what_a_message_costs(cli: Callable[..., Any], run: Callable[..., str]) -> None:
    records = [times(record, 10) if record.case.nbytes == SIZES[7] else record for record in ring()]
    result = cli("fit", run(records), "--predict", "1M@4")
    assert "us/message" in result.out
    assert "the fit at 4 ranks" in " ".join(result.out.split())


def test_the_prior_stands_beside_and_is_called_so(cli: Callable[..., Any], run: Callable[..., str]) -> None:
    result = cli("fit", run(ring((8,), backend="nccl")), "--prior", "nccl:HOPPER")
    words = " ".join(result.out.split())
    assert "NCCL's own model, a prior (nccl:HOPPER), beside" in words
    assert "ring/LL" in words
    assert "nvls/Simple" in words


def test_a_report_draws_the_prior_where_it_is_asked_for(cli: Callable[..., Any], run: Callable[..., str]) -> None:
    path = run(ring((8,), backend="nccl"))
    cli("report", path, "-o", "without.html")
    cli("report", path, "--prior", "nccl:HOPPER", "-o", "with.html")
    without, beside = (Path(name).read_text(encoding="utf-8") for name in ("without.html", "with.html"))
    assert "NCCL" not in without
    assert "times what NCCL" in beside
    assert "a prior" in beside
    assert "nvls/Simple" in beside
    wrong = cli("report", path, "--prior", "hopper", "-o", "wrong.html")
    assert wrong.status == 2
    assert "must be nccl:GENERATION" in wrong.err


@pytest.mark.parametrize("operation", ["ping_pong", "all_reduce"])
def test_a_prior_beside_nothing_says_why(cli: Callable[..., Any], run: Callable[..., str], operation: str) -> None:
    """gloo's all_reduce is another software's: NCCL's model says nothing of it."""
    path = run(curve(operation))
    why = "note: --prior nccl:HOPPER: NCCL's own model speaks of NCCL alone, of all_reduce, all_gather, "
    said = cli("fit", path, "--prior", "nccl:HOPPER")
    assert why in " ".join(said.err.split())
    assert "NCCL" not in cli("fit", path).err
    said = cli("report", path, "--prior", "nccl:HOPPER", "-o", "none.html")
    assert why in " ".join(said.err.split())
    said = cli("report", path, "--prior", "nccl:HOPPER", "--format", "md")
    assert "note: --prior nccl:HOPPER: only HTML shows it" in said.err


def test_an_unknown_prior_is_one_line(cli: Callable[..., Any], run: Callable[..., str]) -> None:
    result = cli("fit", run(ring((8,))), "--prior", "nccl:KEPLER")
    assert result.status == 2
    assert "unknown generation of GPUs 'kepler'" in result.err
    assert len(result.err.splitlines()) == 1


def measured(results: Results) -> Results:
    """Return a run whose launches measured gamma."""
    noise = HostNoise(
        loop="native", threshold=5e-6, watched=[0.3] * 2, lost=[0.0] * 2, long=[0] * 2, largest=[0.0] * 2,
        summed=[1 / GAMMA] * 2,
    )  # fmt: skip
    made = with_launches(results)
    launches = [
        msgspec.structs.replace(launch, hosts=[msgspec.structs.replace(launch.hosts[0], noise=noise)])
        for launch in made.run.launches
    ]
    return msgspec.structs.replace(made, run=msgspec.structs.replace(made.run, launches=launches))


def test_gamma_of_the_launches_is_told_from_beta(cli: Callable[..., Any], tmp_path: Path) -> None:
    path = kept(measured(results_of(noisy(ring(gamma=GAMMA), sd=0.005))), tmp_path / "rings")
    (scaling,) = cli("fit", path, "--json").json["scalings"]["scalings"]
    assert scaling["gamma"] == pytest.approx(GAMMA)
    assert scaling["candidates"][0]["beta"]["value"] == pytest.approx(1e-10, rel=0.02)
    result = cli("fit", path)
    assert "0.04" in result.out
    assert "beta is what 0.5 gamma for each byte leave" in " ".join(result.err.split())

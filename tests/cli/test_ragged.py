"""Ragged traffic from the command line to the report: measured, shown against its bound, and kept without its file."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from collmark.core.store import RECORDS_FILE

TRACE = "8192 65536 4096\n4096 8192 65536\n65536 4096 8192\n"
SIZES = "1KiB:1MiB:x8"
QUIET = [word for key in ("within_cv", "launch_sd", "skew") for word in ("--simulate", f"{key}=0.0")]
RUN = ("run", "--backend", "simulated", "--ranks", "3", "--operation", "all_to_all_v", "--sizes", SIZES)

Cli = Callable[..., Any]


@pytest.fixture
def traced(cli: Cli, workplace: Path) -> Path:
    """Return a run under four kinds of traffic whose matrix file is gone."""
    (workplace / "trace.csv").write_text(TRACE, encoding="utf-8")
    traffic = ("--traffic", "uniform,zipf:1.2:7", "--traffic", "moe:6:2:1:3:64B,file:trace.csv")
    result = cli(*RUN, *traffic, "--launches", "2", *QUIET, "--label", "traced")
    assert result.status == 0, result.err
    (workplace / "trace.csv").unlink()
    (path,) = (workplace / "results").iterdir()
    return path


def test_the_table_names_traffic_imbalance_and_share(traced: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    result = cli("list", str(traced))
    assert "of bound: T of uniform all_to_all_v with as many bytes at the busiest rank, over T" in result.out
    rows = [line.split() for line in result.out.splitlines() if line.startswith("all_to_all_v")]
    # The simulator's law is the busiest rank's bytes: without noise every case reaches its bound.
    shares = {row[1].partition(":")[0]: row[-5:-2] for row in rows}
    assert shares["uniform"] == ["1.00", "-", "-"]
    assert shares["file"] == ["1.00", "100", "0"]
    for name in ("zipf", "moe"):
        uneven, share, half = shares[name]
        assert float(uneven) > 1.1
        assert (share, half) == ("100", "0")
    assert "file:" in result.err
    assert "is trace.csv as it is, 77824 B at the heaviest rank whatever the sizes" in " ".join(result.err.split())


def test_a_share_that_cannot_be_said_has_its_reason(cli: Cli, workplace: Path) -> None:
    (workplace / "trace.csv").write_text(TRACE, encoding="utf-8")
    result = cli(*RUN, "--traffic", "file:trace.csv", "--launches", "1")
    said = " ".join(result.err.split())
    assert "1 ragged case without a share of the lower bound (all_to_all_v " in said
    assert "): no uniform traffic and no all_to_all beside it" in said


def test_machines_get_the_shares_and_the_matrix(traced: Path, cli: Cli) -> None:
    found = cli("list", str(traced), "--json").json
    shares = {key: share["value"] for key, share in found["of_bound"].items()}
    assert len(shares) == len([case for case in found["run"]["cases"] if case["traffic"] != "uniform"])
    # The smallest size of a traffic with own shares may lie below the smallest uniform one.
    known = {key: value for key, value in shares.items() if value is not None}
    assert len(known) >= len(shares) - 2
    assert list(known.values()) == pytest.approx([1.0] * len(known), rel=2e-3)
    ((digest, matrix),) = found["run"]["plan"]["matrices"].items()
    assert (matrix["name"], matrix["ranks"]) == ("trace.csv", 3)
    assert f"file:{digest}" in found["run"]["plan"]["traffic"]
    assert not any("trace.csv" in key for key in shares)


def test_a_run_is_resumed_fitted_exported_and_reported_without_the_file(traced: Path, cli: Cli) -> None:
    records = traced / RECORDS_FILE
    lines = records.read_bytes().splitlines(keepends=True)
    records.write_bytes(b"".join(lines[: len(lines) // 2]))
    resumed = cli("run", "--resume", str(traced))
    assert resumed.status == 0, resumed.err
    plan = cli("list", str(traced), "--json").json
    assert len([r for r in plan["records"] if r["sentinel"] is None]) == 2 * len(plan["run"]["cases"])
    assert cli("fit", str(traced)).status == 0
    assert cli("export", str(traced)).out.count("file:") == 2
    report = cli("report", str(traced), "--format", "md").out
    section = report.partition("## Ragged traffic")[2].partition("\n## ")[0]
    (row,) = [line for line in section.splitlines() if "| file:" in line]
    assert [cell.strip() for cell in row.split("|")][-7:-1] == [
        "76 KiB", "68.0 KiB", "1.00", "100", "[100, 100]", "uniform all_to_all_v",
    ]  # fmt: skip


def test_a_run_whose_matrix_was_changed_is_refused(traced: Path, cli: Cli) -> None:
    path = traced / "run.json"
    (digest,) = cli("list", str(traced), "--json").json["run"]["plan"]["matrices"]
    path.write_text(path.read_text(encoding="utf-8").replace(digest, "0" * len(digest)), encoding="utf-8")
    result = cli("list", str(traced))
    assert result.status == 2
    (line,) = result.err.splitlines()
    assert line.endswith(f"plan: matrices: {'0' * len(digest)}: its data have another digest")


def test_joining_a_run_with_another_matrix_is_refused(cli: Cli, workplace: Path) -> None:
    words = (*RUN, "--traffic", "file:trace.csv", "--launches", "1", "--into", "site")
    (workplace / "trace.csv").write_text(TRACE, encoding="utf-8")
    assert cli(*words).status == 0
    (workplace / "trace.csv").write_text(TRACE.replace("4096", "4100"), encoding="utf-8")
    result = cli(*words)
    assert result.status == 2
    assert "the run was made with another plan: traffic, matrices differ" in result.err

"""16,384 ranks on hosts and in runs with names as long as they may be: tables fit, and no two names look alike."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from tests.analysis.made import curve, noisy, replaced, results_of
from tests.analysis.report.conftest import launch_of
from tests.cli.conftest import Cli

from collmark.core.doctor.finding import Diagnosis, Finding, Level
from collmark.core.placement import Placement
from collmark.core.record import Host
from collmark.core.store import RunFolder
from collmark.workflow.doctor import Examination

pytestmark = pytest.mark.manner(22)

LABELS = tuple(f"a-label-of-sixty-four-letters-that-tells-its-run-at-the-end-only{number}" for number in "12")
PLACES = ("a-rail-of-forty-letters-that-ends-with-1a", "a-rail-of-forty-letters-that-ends-with-1b")
HOSTS = tuple(f"a-host-whose-name-has-forty-letters-{number:04}" for number in range(2048))


def lay(label: str, factor: float) -> None:
    """Write a run on 2,048 hosts of eight ranks each, over two rails."""
    records = [
        replaced(record, ranks=None)
        for place in PLACES
        for record in noisy(
            curve(
                beta=1e-10 * factor, sizes=(1024, 65536, 1 << 24), levels=(1.0, 1.01, 1.02),
                of_case={"placement": Placement(nodes=2048, ranks_per_node=8, label=place)},
            ),
            0.005,
        )
    ]  # fmt: skip
    hosts = [
        Host(name=name, ranks=[*range(8 * at, 8 * at + 8)], cores=8, cpu="x", system="x", governor="x")
        for at, name in enumerate(HOSTS)
    ]
    results = results_of(records, label)
    run = msgspec.structs.replace(
        results.run, label=label, launches=[launch_of(number, hosts=hosts) for number in (1, 2, 3)]
    )
    RunFolder.create(Path("results") / f"20300101T000000Z-{label}", run, results.records)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("list",), LABELS),
        (("list", LABELS[0]), PLACES),
        (("fit", *LABELS), (*LABELS, *PLACES)),
        (("compare", *LABELS), LABELS),
        (("history", "--each"), (*LABELS, *PLACES)),
        (("claims", LABELS[0]), ()),
    ],
    ids=lambda words: " ".join(words)[:12],
)
def test_tables_fit_and_names_stay_distinct(cli: Cli, words: tuple[str, ...], told: tuple[str, ...]) -> None:
    for at, label in enumerate(LABELS):
        lay(label, 1 + 0.5 * at)
    result = cli(*words, env={"COLUMNS": "100"})
    assert result.status == 0, result.err
    lines = result.out.splitlines()
    assert [line for line in lines if len(line) > 100 and not line.startswith("collmark")] == []
    assert "..." not in result.out
    text = "".join(result.out.split())
    assert [name for name in told if name not in text] == []
    if words[0] == "list" and len(words) > 1:
        assert "2048 nodes x 8 ranks" in " ".join(result.out.split())


def test_the_doctor_names_hosts_whole(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    finding = Finding(
        check="memlock", level=Level.BLOCKING, where=f"{HOSTS[0]}, {HOSTS[1]} and 2046 more hosts", found="64 KiB",
        breaks="RDMA registration fails", mend="LimitMEMLOCK=infinity",
    )  # fmt: skip
    diagnosis = Diagnosis(findings=[finding], good=["world"], unknown={})
    examination = Examination(backend="nccl", launcher="srun", placement="2048x8", diagnosis=diagnosis)
    monkeypatch.setattr("collmark.workflow.doctor.examine", lambda *_words, **_named: examination)
    result = cli("doctor", env={"COLUMNS": "100"})
    assert max(map(len, result.out.splitlines())) <= 100
    assert {HOSTS[0], HOSTS[1]} <= {word.strip(",") for word in result.out.split()}

"""Two networks of a planted ratio, measured end to end: tier, fit, ratio and a verdict that is marked and no claim's.

The small form of tests/prove/prove_shaped.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.mpi_libraries import WHEEL, path_of
from tests.prove.prove_shaped import TOLERANCE, Row, measure

from collmark.bench.emulated.hosts import Hosts, emulated_hosts, refusal
from collmark.core.marker import Marker
from collmark.core.placement import Tier
from collmark.core.record import Clock
from collmark.core.store import RunFolder
from collmark.workflow import emulated

pytestmark = [pytest.mark.slow, pytest.mark.root, pytest.mark.timeout(300)]
PLANTED = 9
NEAR = 0.06  # twice what 38 of 40 runs keep within


@pytest.fixture(scope="module")
def hosts() -> Iterator[Hosts]:
    if reason := refusal():
        pytest.skip(reason)
    with emulated_hosts(2, emulated.two_networks()) as made:
        yield made


@pytest.fixture(scope="module")
def measured(hosts: Hosts, tmp_path_factory: pytest.TempPathFactory) -> tuple[Row, Path]:
    """Return one run by gloo of two launches over each network, and where it lies."""
    folder = tmp_path_factory.mktemp("gloo")
    return measure(hosts, PLANTED, "gloo", folder, launches=2), folder


def check_records(folder: Path) -> None:
    """Every record says which link it was, and that it was emulated."""
    for name in ("fast", "slow"):
        for record in RunFolder(folder / name).records():
            assert record.marker is Marker.EMULATED
            assert record.evidence.tier is Tier.TCP
            assert record.evidence.because[-1] == "the hosts are network namespaces of one machine"
            assert str(record.case.placement) == f"2x1@{name}"
            assert record.clock is Clock.SHARED
            assert record.check.wrong == 0


def test_the_ratio_is_that_of_raw_tcp(measured: tuple[Row, Path]) -> None:
    row, _folder = measured
    assert row.found.raw == pytest.approx(PLANTED, rel=0.1)
    assert abs(row.error) < NEAR, row
    assert row.covers


def test_the_verdict_is_right_marked_and_no_claims(measured: tuple[Row, Path]) -> None:
    row, _folder = measured
    assert row.is_right
    assert row.is_kept_apart


def test_every_record_of_gloo_is_marked(measured: tuple[Row, Path]) -> None:
    _row, folder = measured
    check_records(folder)


def test_mpi_goes_over_the_links_too(hosts: Hosts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLLMARK_MPI_LIBRARY", path_of(WHEEL))
    ((fast,), (slow,)) = measure(hosts, PLANTED, "mpi", tmp_path, launches=1).found.asymptotes
    # Ranks that poll are disturbed by whatever else runs; over shared memory both would be thousands of times as fast.
    assert PLANTED / TOLERANCE < fast / slow < PLANTED * TOLERANCE
    assert slow < emulated.SLOW_RATE
    check_records(tmp_path)

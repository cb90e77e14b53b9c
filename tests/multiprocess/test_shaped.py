"""Two networks of a planted ratio, measured end to end: tier, fit, ratio and a verdict that is marked and no claim's.

The small form of tests/prove/prove_shaped.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.mpi_libraries import WHEEL, path_of
from tests.prove.prove_shaped import MODEL_ERROR, Row, measure

from collmark.bench.emulated.hosts import emulated_hosts, refusal
from collmark.core.marker import Marker
from collmark.core.placement import Tier
from collmark.core.record import Clock, Record
from collmark.core.store import RunFolder
from collmark.workflow import emulated

pytestmark = [pytest.mark.slow, pytest.mark.root, pytest.mark.timeout(300)]
PLANTED = 9
NEAR = 0.06  # twice what 38 of 40 runs keep within


@pytest.fixture(scope="module", params=["gloo", "mpi"])
def measured(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Row, Path]]:
    """Return one run of two launches over each network, and where it lies."""
    if reason := refusal():
        pytest.skip(reason)
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "mpi":
            patch.setenv("COLLMARK_MPI_LIBRARY", path_of(WHEEL))
        folder = tmp_path_factory.mktemp(request.param)
        with emulated_hosts(2, emulated.two_networks()) as hosts:
            yield measure(hosts, PLANTED, request.param, folder, launches=2), folder


def records_of(folder: Path) -> list[Record]:
    return [record for name in ("fast", "slow") for record in RunFolder(folder / name).records()]


def test_the_ratio_is_that_of_raw_tcp(measured: tuple[Row, Path]) -> None:
    row, _folder = measured
    assert row.found.raw == pytest.approx(PLANTED, rel=0.1)
    assert abs(row.error) < NEAR, row
    assert row.found.fitted is not None
    assert row.found.fitted.lower / (1 + MODEL_ERROR) <= row.found.raw <= row.found.fitted.upper * (1 + MODEL_ERROR)


def test_the_verdict_is_right_marked_and_no_claims(measured: tuple[Row, Path]) -> None:
    row, _folder = measured
    assert row.is_right
    assert row.is_kept_apart


def test_every_record_says_which_link_it_was_and_that_it_was_emulated(measured: tuple[Row, Path]) -> None:
    _row, folder = measured
    for record in records_of(folder):
        assert record.marker is Marker.EMULATED
        assert record.evidence.tier is Tier.TCP
        assert record.evidence.because[-1] == "the hosts are network namespaces of one machine"
        assert (record.case.placement.nodes, record.case.placement.ranks_per_node) == (2, 1)
        assert record.clock is Clock.SHARED
        assert record.check.wrong == 0
    assert {record.case.placement.label for record in records_of(folder)} == {"fast", "slow"}

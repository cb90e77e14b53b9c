"""Raw TCP finds the rates that links were given."""

from __future__ import annotations

import pytest

from collmark.bench.emulated.hosts import Hosts
from collmark.bench.emulated.link import HEADERS, LARGEST_FRAME
from collmark.bench.emulated.raw_tcp import measure_raw

pytestmark = pytest.mark.root
SIZES = (65536, 262144)


def test_it_gives_the_share_of_payload_in_the_rate_of_frames(hosts: Hosts) -> None:
    share = 1 - HEADERS / LARGEST_FRAME
    found = {name: measure_raw(hosts, name, SIZES, 0.3) for name in hosts.networks}
    for name, rates in found.items():
        assert list(rates) == list(SIZES)
        # A busy machine gives less than a link allows; more it cannot give.
        assert max(rates.values()) < 1.01 * share * hosts.networks[name].link.rate
    assert found["fast"][SIZES[1]] / found["slow"][SIZES[1]] == pytest.approx(4, rel=0.1)

"""Emulated hosts for a whole module, where they can be made."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from collmark.bench.emulated.hosts import Hosts, emulated_hosts, refusal
from collmark.bench.emulated.link import Link, Network

FAST, SLOW = (Network(name=name, link=Link(rate=rate)) for name, rate in (("fast", 50e6), ("slow", 12.5e6)))


@pytest.fixture(scope="module")
def hosts() -> Iterator[Hosts]:
    """Return two hosts, joined by a network of 400 Mbit/s and one of a quarter of that."""
    if reason := refusal():
        pytest.skip(reason)
    with emulated_hosts(2, [FAST, SLOW]) as made:
        yield made

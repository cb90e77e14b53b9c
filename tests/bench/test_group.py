"""Hosts that one machine plays are told from real ones by what ranks say of their kernel and network."""

from __future__ import annotations

import pytest

from collmark.bench.group import emulates_hosts


@pytest.mark.parametrize(
    ("networks", "expected"),
    [
        (["a net:[1]", "a net:[1]"], False),
        (["a net:[1]", "a net:[2]"], True),
        (["a net:[1]", "b net:[1]"], False),
        # Two machines with two containers each: what joins the machines is a network.
        (["a net:[1]", "a net:[2]", "b net:[1]", "b net:[2]"], False),
        (["a net:[1]"], False),
        # Where the system tells of no namespaces.
        (["host/Darwin 1 ", "host/Darwin 1 "], False),
        (["one/Darwin 1 ", "two/Darwin 1 "], False),
    ],
)
def test_several_networks_of_one_kernel_stand_for_hosts(networks: list[str], expected: bool) -> None:  # noqa: FBT001 - one row of a table
    assert emulates_hosts(networks) is expected

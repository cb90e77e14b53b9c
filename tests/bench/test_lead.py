"""What rank 0 makes of the ranks that have joined."""

import socket
from collections.abc import Callable, Iterator

import pytest

from collmark.bench.control import Hub
from collmark.bench.handshake import Hello
from collmark.bench.lead import check_evenness, cores_of
from collmark.core.errors import UnavailableError
from collmark.core.placement import Placement


def hello(rank: int, host: str, ranks: int) -> Hello:
    return Hello(
        rank=rank,
        ranks=ranks,
        host=host,
        clock="c",
        network=f"network of {host}",
        pid=100 + rank,
        cores=(rank % 2,),
        purpose="",
        proof=b"",
        nonce=b"",
    )


@pytest.fixture
def joined_from() -> Iterator[Callable[..., Hub]]:
    """Return a function that makes a hub which ranks of these hosts have joined."""
    hubs: list[Hub] = []

    def make(*hosts: str) -> Hub:
        hellos = {rank: hello(rank, host, len(hosts)) for rank, host in enumerate(hosts)}
        hubs.append(Hub(socket.create_server(("127.0.0.1", 0)), b"s" * 32, hellos[0]))
        hubs[-1]._hellos = hellos
        return hubs[-1]

    yield make
    for hub in hubs:
        hub.close()


def test_ranks_that_lie_as_they_are_meant_to(joined_from: Callable[..., Hub]) -> None:
    check_evenness(Placement(ranks_per_node=2), joined_from("a", "a"))
    check_evenness(Placement(nodes=2, ranks_per_node=2), joined_from("a", "b", "a", "b"))
    # Several nodes that one machine plays.
    check_evenness(Placement(nodes=2, ranks_per_node=2), joined_from("a", "a", "a", "a"))


def test_ranks_that_lie_unevenly(joined_from: Callable[..., Hub]) -> None:
    with pytest.raises(UnavailableError, match=r"ranks lie unevenly, 3 on a, 1 on b, .*--ntasks-per-node=2"):
        check_evenness(Placement(nodes=2, ranks_per_node=2), joined_from("a", "a", "a", "b"))


def test_more_hosts_than_were_told_of(joined_from: Callable[..., Hub]) -> None:
    with pytest.raises(UnavailableError, match=r"ranks lie on 2 hosts, 1 on a, 1 on b, .*1x2.*set LOCAL_WORLD_SIZE"):
        check_evenness(Placement(ranks_per_node=2), joined_from("a", "b"))


def test_cores_of_a_host_are_those_of_all_its_ranks(joined_from: Callable[..., Hub]) -> None:
    # As mpiexec of Open MPI binds each of two ranks to a core of its own.
    assert cores_of(joined_from("a", "a", "b", "b", "b", "c")) == {"a": 2, "b": 2, "c": 1}

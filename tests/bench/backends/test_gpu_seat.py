"""Which GPU a rank has, and under which variables several may share one."""

from __future__ import annotations

import pytest

from collmark.bench.backends.gpu_seat import (
    VARIABLE,
    check_local_ranks,
    choose_gpu,
    is_asked,
    shared_words,
    sharing_environment,
)
from collmark.core.errors import UnavailableError, UsageError


@pytest.mark.parametrize(
    ("local_rank", "visible", "shared", "gpu"),
    [
        (0, 8, False, 0),
        (7, 8, False, 7),
        (3, 1, False, 0),  # srun has given each rank its own, which each sees as the first
        (1, 1, True, 0),
        (5, 2, True, 1),
        (1, 4, True, 1),
    ],
)
def test_a_rank_has_the_gpu_of_its_place(local_rank: int, visible: int, shared: bool, gpu: int) -> None:  # noqa: FBT001 - one row of a table
    assert choose_gpu(local_rank, visible, shared=shared) == gpu


def test_a_rank_too_many_has_none() -> None:
    with pytest.raises(UnavailableError, match=r"rank 2 of this host has no GPU: 2 are seen here, .*start 2 ranks"):
        choose_gpu(2, 2, shared=False)


def test_more_local_ranks_than_gpus_only_to_test() -> None:
    check_local_ranks(2, 2)
    with pytest.raises(UsageError, match=rf"2 ranks on 1 GPU, .* use --ranks 1; {VARIABLE}=1 .* never to measure"):
        check_local_ranks(2, 1)


def test_the_arrangement_is_asked_for_in_words() -> None:
    assert is_asked({VARIABLE: "1"})
    assert not any(is_asked(environ) for environ in ({}, {VARIABLE: ""}, {VARIABLE: "0"}))


def test_ranks_that_share_are_hosts_of_their_own_to_nccl() -> None:
    found = [sharing_environment(rank, "node1", one_host=True) for rank in range(3)]
    assert len({one["NCCL_HOSTID"] for one in found}) == 3
    assert {one["NCCL_NET"] for one in found} == {"Socket"}
    assert {one["NCCL_SOCKET_IFNAME"] for one in found} == {"lo"}
    # Ranks of one index on two hosts differ too, and there the loopback leads nowhere.
    far = sharing_environment(0, "node2", one_host=False)
    assert far["NCCL_HOSTID"] != found[0]["NCCL_HOSTID"]
    assert "NCCL_SOCKET_IFNAME" not in far


def test_ranks_of_one_gpu_are_named() -> None:
    assert shared_words(["a", "b", "c"]) == shared_words([]) == ""
    assert shared_words(["a", "b", "c", "b", "b"]).startswith("ranks 1, 3, 4 have the same GPU, and NCCL wants one for")
    assert f"{VARIABLE}=1" in shared_words(["a", "a"])

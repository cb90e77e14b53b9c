"""The index of backends, and what can be said of each without its library."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from typing import NoReturn

import pytest

from collmark.bench.backends import gloo
from collmark.bench.backends.index import BACKENDS
from collmark.bench.group import Group
from collmark.core.errors import UnavailableError


def not_asked(_value: bytes) -> NoReturn:
    raise AssertionError("nothing is to be shared")


def group_of(*, one_host: bool, address: str = "127.0.0.1") -> Group:
    return Group(
        rank=0, ranks=2, local_rank=0, one_host=one_host, host="127.0.0.1", address=address, timeout=1.0,
        hand_over=not_asked,
    )  # fmt: skip


def test_names_are_those_of_the_rows() -> None:
    assert {"gloo", "simulated"} <= set(BACKENDS)
    assert all(name == row.name for name, row in BACKENDS.items())


def test_capabilities_are_known_without_any_library() -> None:
    program = (
        "import sys; from collmark.bench.backends.index import BACKENDS; "
        "print(sorted({'torch', 'mpi4py', 'cupy'} & set(sys.modules)))"
    )
    command = [sys.executable, "-c", program]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip() == "[]"


def test_simulated_ranks_are_not_opened_one_by_one() -> None:
    assert BACKENDS["simulated"].missing() == ""
    with pytest.raises(UnavailableError, match="start collmark without torchrun, mpiexec or srun"):
        BACKENDS["simulated"].open(group_of(one_host=True))


def test_without_torch_the_remedy_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
    assert BACKENDS["gloo"].missing() == "torch is not installed: pip install 'collmark[torch]'"


@pytest.mark.skipif(sys.platform != "linux", reason="the loopback has another name there")
def test_on_one_host_gloo_is_bound_to_loopback_unless_the_user_chose(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GLOO_SOCKET_IFNAME", "")
    monkeypatch.delenv("GLOO_SOCKET_IFNAME")
    assert gloo._choose_interface(group_of(one_host=True)) == "lo"
    assert os.environ["GLOO_SOCKET_IFNAME"] == "lo"
    monkeypatch.setenv("GLOO_SOCKET_IFNAME", "ib0")
    assert gloo._choose_interface(group_of(one_host=True)) == "ib0"


@pytest.mark.skipif(not Path("/proc/net/dev").exists(), reason="interfaces are found through Linux's ioctl")
def test_across_hosts_gloo_is_bound_to_the_interface_that_leads_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GLOO_SOCKET_IFNAME", "")
    monkeypatch.delenv("GLOO_SOCKET_IFNAME")
    assert gloo._choose_interface(group_of(one_host=False, address="192.0.2.77")) == ""
    assert gloo._choose_interface(group_of(one_host=False, address="127.0.0.1")) == "lo"

"""Emulated hosts share nothing but what they should, and leave nothing behind however they end."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from collmark.bench.emulated.hosts import Hosts, emulated_hosts, refusal
from collmark.bench.emulated.link import Link, Network
from collmark.core.errors import UnavailableError

ROOT_ONLY = pytest.mark.root
LAN = Network(name="lan", link=Link(rate=12.5e6))
MAKER = """
import sys
from collmark.bench.emulated.hosts import emulated_hosts
from collmark.bench.emulated.link import Link, Network
with emulated_hosts(2, [Network(name="lan", link=Link(rate=12.5e6))]) as hosts:
    print(*hosts.pids, flush=True)
    sys.stdin.read()
"""

DATAGRAMS = """
import socket, sys
with socket.socket(type=socket.SOCK_DGRAM) as sender:
    for _number in range(3):
        sender.sendto(bytes(1000), (sys.argv[1], 9))
"""


def said(hosts: Hosts, host: int, *words: str) -> str:
    return subprocess.run([*hosts.words(host), *words], capture_output=True, text=True, check=True).stdout.strip()


def skip_unless_possible() -> None:
    if reason := refusal():
        pytest.skip(reason)


def wait_until_gone(pids: list[int], seconds: float = 10.0) -> None:
    deadline = time.monotonic() + seconds
    while left := [pid for pid in pids if _lives(pid)]:
        assert time.monotonic() < deadline, f"still there: {left}"
        time.sleep(0.02)


def _lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


@ROOT_ONLY
def test_every_host_has_namespaces_of_its_own(hosts: Hosts) -> None:
    for kind in ("net", "uts", "ipc", "mnt", "pid"):
        names = [said(hosts, host, "readlink", f"/proc/self/ns/{kind}") for host in range(2)]
        assert len({*names, str(Path(f"/proc/self/ns/{kind}").readlink())}) == 3, kind
    assert [said(hosts, host, "hostname") for host in range(2)] == ["emulated0", "emulated1"]
    # One clock below both.
    names = [said(hosts, host, "readlink", "/proc/self/ns/time") for host in range(2)]
    assert names[0] == names[1]


@ROOT_ONLY
def test_shared_memory_and_processes_of_another_host_are_out_of_sight(hosts: Hosts) -> None:
    said(hosts, 0, "touch", "/dev/shm/mine")
    assert said(hosts, 1, "ls", "/dev/shm") == ""
    assert not Path("/dev/shm/mine").exists()
    assert len(said(hosts, 1, "sh", "-c", "ls -d /proc/[0-9]*").splitlines()) < 8


@ROOT_ONLY
def test_a_command_runs_in_the_working_folder(hosts: Hosts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert said(hosts, 0, "pwd") == str(tmp_path)


@ROOT_ONLY
@pytest.mark.parametrize("network", ["fast", "slow"])
def test_counters_follow_what_is_sent(hosts: Hosts, network: str) -> None:
    other = {"fast": "slow", "slow": "fast"}[network]
    before, beside = hosts.counters(network), hosts.counters(other)
    said(hosts, 0, sys.executable, "-c", DATAGRAMS, hosts.address(network, 1))
    first, second = (after.since(one) for after, one in zip(hosts.counters(network), before, strict=True))
    # UDP over IPv4 over Ethernet: 42 B of headers; one ask for the address may come before.
    assert 3 * 1042 <= first.sent <= 3 * 1042 + 200
    assert 3 <= first.packets_sent <= 5
    assert second.received == first.sent
    assert hosts.counters(other) == beside


@ROOT_ONLY
@pytest.mark.parametrize("end", [KeyboardInterrupt, ValueError])
def test_nothing_is_left_after_an_exception(end: type[BaseException]) -> None:
    skip_unless_possible()
    pids: list[int] = []
    running: list[subprocess.Popen[bytes]] = []
    before = links()

    def break_off() -> None:
        with emulated_hosts(2, [LAN]) as made:
            running.append(subprocess.Popen([*made.words(0), "sleep", "1000"]))
            pids.extend(made.pids)
            raise end

    with pytest.raises(end):
        break_off()
    running[0].wait(10)
    wait_until_gone(pids)
    assert links() == before


def links() -> str:
    return subprocess.run(["ip", "-o", "link"], capture_output=True, text=True, check=True).stdout


@ROOT_ONLY
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_nothing_is_left_after_a_signal_that_nobody_handles(number: signal.Signals) -> None:
    skip_unless_possible()
    maker = subprocess.Popen([sys.executable, "-c", MAKER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert maker.stdout is not None
    assert maker.stdin is not None
    pids = [int(word) for word in maker.stdout.readline().split()]
    assert len(pids) == 3
    assert all(map(_lives, pids))
    os.kill(maker.pid, number)
    maker.wait(10)
    wait_until_gone(pids)
    maker.stdout.close()
    maker.stdin.close()


@ROOT_ONLY
def test_what_cannot_be_made_is_one_line() -> None:
    skip_unless_possible()
    match = r"hosts cannot be emulated here: ip -batch -: .*exist"
    with pytest.raises(UnavailableError, match=match), emulated_hosts(2, [LAN, LAN]):
        pass


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("sys.platform", "darwin", "another system"),
        ("os.geteuid", lambda: 1000, "only root"),
        ("shutil.which", lambda name: None if name == "tc" else name, r"^tc \(Debian: iproute2\) not found"),
    ],
)
def test_where_it_cannot_be_done_is_said_with_the_remedy(
    monkeypatch: pytest.MonkeyPatch, name: str, value: object, words: str
) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(shutil, "which", lambda name: name)
    assert refusal() == ""
    monkeypatch.setattr(name, value)
    with pytest.raises(UnavailableError, match="hosts cannot be emulated here"), emulated_hosts(2, [LAN]):
        pass
    assert re.search(words, refusal())

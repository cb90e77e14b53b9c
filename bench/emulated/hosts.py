"""Hosts in namespaces of their own (network, pid, IPC, host name, mounts), joined by shaped veth links to a switch.

Nothing has a name outside and nothing is added to the machine's own network: every namespace is held by one process,
which ends when this process closes its standard input or dies, and with it go its links and whatever runs there. The
pid and IPC namespaces are for truth: with a network namespace alone MPI finds shared memory between such hosts.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from collmark.bench.emulated.link import MTU, Counters, Network
from collmark.core.errors import UnavailableError, one_line

PROGRAMS = {"ip": "iproute2", "tc": "iproute2", "nsenter": "util-linux", "unshare": "util-linux", "sh": "dash"}
END_SECONDS = 5.0
WHOLE = ("--net", "--uts", "--ipc", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc")
# Neighbour discovery of IPv6 would be counted as traffic. The last words answer whoever waits; then the process lasts
# as long as its standard input. On a host it is the shell that stays, as the first process, which takes in orphans.
START = """
for kind in all default; do echo 1 2>/dev/null >/proc/sys/net/ipv6/conf/$kind/disable_ipv6; done
ip link set lo up && echo ready &&
"""
SWITCH = f"{START} exec cat"
HOST = f"""
hostname "$1" && mount -t tmpfs tmpfs /dev/shm && mount -t sysfs sysfs /sys || exit
{START} cat; exit
"""
COUNTED = {"sent": "tx_bytes", "packets_sent": "tx_packets", "received": "rx_bytes", "packets_received": "rx_packets"}


def refusal() -> str:
    """Return why hosts cannot be emulated here, with the remedy; empty where they can, as far as is seen at once."""
    if not sys.platform.startswith("linux"):
        return "hosts are emulated by namespaces of Linux, and this is another system"
    if os.geteuid():
        return "only root may make network namespaces: run it as root (sudo)"
    missing = [f"{name} (Debian: {package})" for name, package in PROGRAMS.items() if shutil.which(name) is None]
    return f"{', '.join(missing)} not found: install it" if missing else ""


class Hosts:
    """Emulated hosts, as :func:`emulated_hosts` makes them.

    Parameters
    ----------
    stack : ExitStack
        Ends their processes.
    count : int
        Hosts.
    networks : sequence of Network
        Each joins all hosts, over a switch of its own.
    """

    def __init__(self, stack: contextlib.ExitStack, count: int, networks: Sequence[Network]) -> None:
        self.count = count
        self.networks = {network.name: network for network in networks}
        self._stack = stack
        self._links = {(network.name, host): network.link for network in networks for host in range(count)}
        self._switch = _hold(stack, ("--net",), SWITCH).pid
        self._processes: dict[int, subprocess.Popen[bytes]] = {}
        for network in networks:
            bridge, address = self._bridge(network.name), self.switch_address(network.name)
            self._at_switch(f"link add {bridge} type bridge", f"addr add {address}/24 dev {bridge}")
        for host in range(count):
            self.boot(host)
        self._at_switch(*(f"link set {self._bridge(name)} up" for name in self.networks))

    @property
    def pids(self) -> list[int]:
        """Processes that hold the hosts and, last, the switch."""
        return [*(process.pid for process in self._processes.values()), self._switch]

    def name(self, host: int) -> str:
        """Return the host name of a host."""
        return f"emulated{host}"

    def address(self, network: str, host: int) -> str:
        """Return the IPv4 address of a host in a network; it means nothing outside."""
        return f"{self._subnet(network)}.{host + 1}"

    def switch_address(self, network: str) -> str:
        """Return the address of a network's switch, where a launcher may run."""
        return f"{self._subnet(network)}.254"

    def _subnet(self, network: str) -> str:
        return f"10.77.{list(self.networks).index(network)}"

    def words(self, host: int) -> tuple[str, ...]:
        """Return how a command line begins that runs on a host, in the working folder of this process."""
        pid = self._processes[host].pid
        spaces = ("--mount", "--uts", "--ipc", "--net", f"--pid=/proc/{pid}/ns/pid_for_children")
        return ("nsenter", "--target", str(pid), *spaces, "env", f"--chdir={Path.cwd()}")

    def switch_words(self) -> tuple[str, ...]:
        """Return how a command line begins that runs at the switches, with this machine's processes in view."""
        return ("nsenter", "--target", str(self._switch), "--net")

    def counters(self, network: str) -> tuple[Counters, ...]:
        """Return what the interface of each host has sent and received."""
        files = [f"/sys/class/net/{network}/statistics/{name}" for name in COUNTED.values()]
        texts = [_output([*self.words(host), "cat", *files]) for host in range(self.count)]
        return tuple(Counters(**dict(zip(COUNTED, map(int, text.split()), strict=True))) for text in texts)

    def boot(self, host: int) -> None:
        """Make a host, or make it anew once it has crashed, and plug it into all networks."""
        self._processes[host] = process = _hold(self._stack, WHOLE, HOST, self.name(host))
        for name in self.networks:
            port = self._port(name, host)
            pair = f"link add {port} mtu {MTU} type veth peer name {name} mtu {MTU} netns {process.pid}"
            self._at_switch(pair, f"link set {port} master {self._bridge(name)} up")
            own = [f"addr add {self.address(name, host)}/24 dev {name}", f"link set {name} up"]
            _batch([*self.words(host), "ip"], own)
            self._shape(name, host)

    def _at_switch(self, *lines: str) -> None:
        _batch([*self.switch_words(), "ip"], lines)

    def crash(self, host: int) -> None:
        """Turn a host off: its first process is killed, and so all others at once."""
        self._processes[host].kill()
        self._processes[host].wait(END_SECONDS)
        for name in self.networks:
            with contextlib.suppress(UnavailableError):  # the kernel takes its links away, sooner or later
                self._at_switch(f"link del {self._port(name, host)}")

    def shape(self, network: Network, hosts: Iterable[int] | None = None) -> None:
        """Give a network of this name, or the links of some of its hosts, another rate."""
        if hosts is None:
            self.networks[network.name] = network
        for host in range(self.count) if hosts is None else hosts:
            self._links[network.name, host] = network.link
            self._shape(network.name, host)

    def _shape(self, name: str, host: int) -> None:
        rule = f"root {self._links[name, host].discipline}"
        _batch([*self.switch_words(), "tc"], [f"qdisc replace dev {self._port(name, host)} {rule}"])
        _batch([*self.words(host), "tc"], [f"qdisc replace dev {name} {rule}"])

    def _port(self, network: str, host: int) -> str:
        return f"{network}{host}"

    def _bridge(self, network: str) -> str:
        return f"{network}br"


@contextlib.contextmanager
def emulated_hosts(count: int, networks: Sequence[Network]) -> Iterator[Hosts]:
    """Make hosts and networks between them, and take all of it away at the end, whatever that is.

    Raises
    ------
    UnavailableError
        If that cannot be done here.
    """
    reason = refusal()
    if reason:
        raise UnavailableError(f"hosts cannot be emulated here: {reason}")
    with contextlib.ExitStack() as stack:
        yield Hosts(stack, count, networks)


def _hold(stack: contextlib.ExitStack, spaces: Sequence[str], script: str, *words: str) -> subprocess.Popen[bytes]:
    """Start the process that holds namespaces, to be ended with the stack."""
    process = subprocess.Popen(
        ["unshare", *spaces, "sh", "-c", script, "sh", *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,  # Ctrl-C ends what runs on a host, and not the host below it
    )
    stack.callback(_end, process)
    assert process.stdout is not None, "a pipe was asked for"
    assert process.stderr is not None, "a pipe was asked for"
    if process.stdout.readline() != b"ready\n":
        process.kill()
        said = process.stderr.read().decode(errors="replace").strip()
        raise UnavailableError(f"namespaces cannot be made here: {one_line(said) or 'unshare says nothing'}")
    return process


def _end(process: subprocess.Popen[bytes]) -> None:
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            stream.close()
    try:
        process.wait(END_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait(END_SECONDS)


def _batch(words: Sequence[str], lines: Sequence[str]) -> None:
    _output([*words, "-batch", "-"], "\n".join(lines) + "\n")


def _output(words: Sequence[str], text: str = "") -> str:
    """Return what a command prints; UnavailableError with its last words where it fails."""
    done = subprocess.run(words, input=text, capture_output=True, text=True, check=False)
    if done.returncode:
        said = one_line(done.stderr.strip()) or f"status {done.returncode}"
        raise UnavailableError(f"hosts cannot be emulated here: {' '.join(words[-3:])}: {said}")
    return done.stdout

"""Two hosts on one machine: network namespaces joined by veth, and on the second a clock that is off and drifts.

So all that several hosts do to clocks happens, and the truth is known: beneath both is one clock.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import sysconfig
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import numpy as np
import pytest
from numpy.typing import NDArray

SOURCE = Path(__file__).with_name("drifting_clock.c")
ADDRESSES = ("10.211.77.1", "10.211.77.2")
RATE = 100e-6  # by which the second host's clock gains


class Hosts(msgspec.Struct, frozen=True, kw_only=True):
    """The two hosts.

    Attributes
    ----------
    names : (str, str)
        Network namespaces.
    library : str
        Preloaded, makes a clock drift.
    since : int
        When the second host's clock, its offset apart, shows the truth, ns.
    """

    names: tuple[str, str]
    library: str
    since: int

    def words(self, rank: int, ahead: int, *more: str) -> tuple[str, ...]:
        """Return how the command line of a rank begins; rank 1's clock is so many seconds ahead, and drifts."""
        inside = ("ip", "netns", "exec", self.names[rank])
        if rank == 0:
            return (*inside, "env", *more)
        apart = ("unshare", "--time", "--monotonic", str(ahead), "--") if ahead else ()
        reference = self.since + ahead * 10**9
        drifting = (f"LD_PRELOAD={self.library}", f"DRIFT_SINCE={reference}", f"DRIFT_RATE={RATE}")
        return (*inside, *apart, "env", *drifting, *more)

    def truth(self, readings: NDArray[np.int64], ahead: int) -> NDArray[np.int64]:
        """Return the true moments at which rank 1's clock showed these readings, ns."""
        reference = self.since + ahead * 10**9
        return self.since + np.rint((readings - reference) / (1 + RATE)).astype(np.int64)


@contextlib.contextmanager
def two_hosts(folder: Path) -> Iterator[Hosts]:
    """Make two hosts, and take them away again; skip the test where that is not possible."""
    if not sys.platform.startswith("linux") or os.geteuid():
        pytest.skip("needs root on Linux to make network namespaces")
    compiler = shutil.which("cc")
    if compiler is None or not shutil.which("ip") or not shutil.which("unshare"):
        pytest.skip("needs cc, ip (iproute2) and unshare (util-linux)")
    library = folder / f"drifting_clock{sysconfig.get_config_var('SHLIB_SUFFIX')}"
    subprocess.run([compiler, "-O2", "-shared", "-fPIC", "-o", library, SOURCE, "-ldl"], check=True)
    names = (f"collmark-{os.getpid()}-0", f"collmark-{os.getpid()}-1")
    try:
        _connect(names)
        yield Hosts(names=names, library=str(library), since=time.monotonic_ns())
    finally:
        for name in names:
            subprocess.run(["ip", "netns", "delete", name], capture_output=True, check=False)


def _connect(names: tuple[str, str]) -> None:
    for probe in (*(("ip", "netns", "add", name) for name in names), ("unshare", "--time", "--monotonic", "1", "true")):
        done = subprocess.run(probe, capture_output=True, text=True, check=False)
        if done.returncode:
            pytest.skip(f"cannot make network and time namespaces here: {done.stderr.strip()}")
    steps = [f"link add name veth netns {names[0]} type veth peer name veth netns {names[1]}"]
    for name, address in zip(names, ADDRESSES, strict=True):
        steps += [f"-n {name} address add {address}/24 dev veth"]
        steps += [f"-n {name} link set {device} up" for device in ("lo", "veth")]
    for step in steps:
        subprocess.run(["ip", *step.split()], check=True)

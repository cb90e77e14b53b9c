"""gloo through torch.distributed's public functions: what PyTorch users feel, buffers in host memory."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

import msgspec

from collmark.bench import environment
from collmark.bench.backends.torch_session import CAPABILITY, TorchSession, load_torch, without_torch
from collmark.bench.session import Backend, World
from collmark.core.placement import Tier
from collmark.core.record import Evidence

NO_AVERAGE = "torch divides by the ranks in floating point and refuses avg of integers"
LOOPBACK = {"linux": "lo", "darwin": "lo0"}


class GlooSession(TorchSession):
    """torch.distributed's gloo process group on one rank."""

    def __init__(self, world: World) -> None:
        super().__init__(world)
        # Sums are gloo's own; more threads of torch would only take cores away.
        self.torch.set_num_threads(1)
        self._interface = _choose_interface(world)
        self.join("gloo", self.open_store())

    def facts(self) -> Mapping[str, str]:
        """Versions and settings."""
        return {
            "torch": str(self.torch.__version__),
            "interface": self._interface or "chosen by gloo",
            "torch_threads": str(self.torch.get_num_threads()),
            "loop": "torch.distributed's public functions from Python",
        }

    def evidence(self, *, one_host: bool) -> Evidence:
        """Tier from the hosts and the interface."""
        if one_host and self._interface == LOOPBACK.get(sys.platform):
            because = [f"all ranks on one host, gloo bound to {self._interface} by GLOO_SOCKET_IFNAME"]
            return Evidence(tier=Tier.LOOPBACK, because=because)
        if one_host and not self.world.one_host and sys.platform == "linux":
            because = ["all ranks of the group on one host: Linux routes what is for an address of its own over lo"]
            return Evidence(tier=Tier.LOOPBACK, because=because)
        if one_host:
            return Evidence(tier=Tier.UNKNOWN, because=[f"one host, interface {self._interface or 'not known'}"])
        return Evidence(tier=Tier.TCP, because=["several hosts; gloo's transport is TCP"])


def _choose_interface(world: World) -> str:
    """Bind gloo to the interface that leads to the other ranks, unless the user chose; host names often do not."""
    interface = LOOPBACK.get(sys.platform, "") if world.one_host else environment.interface_of(world.address)
    if interface:
        os.environ.setdefault("GLOO_SOCKET_IFNAME", interface)
    return os.environ.get("GLOO_SOCKET_IFNAME", "")


GLOO = Backend(
    name="gloo",
    capability=msgspec.structs.replace(CAPABILITY, except_for={("avg", True): NO_AVERAGE}),
    missing=without_torch,
    open=GlooSession,
    load=load_torch,
)

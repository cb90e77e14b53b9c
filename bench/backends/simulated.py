"""The simulated backend's row in the index; its ranks are made by :mod:`collmark.bench.simulation`."""

from __future__ import annotations

from collmark.bench.session import Backend, Session, World
from collmark.core.dtype import DTYPES
from collmark.core.errors import UnavailableError
from collmark.core.expansion import Capability
from collmark.core.operation_table import OPERATIONS
from collmark.core.reduction import REDUCTIONS


def _open(_world: World) -> Session:
    msg = "simulated ranks live in one process: start collmark without torchrun, mpiexec or srun"
    raise UnavailableError(msg)


SIMULATED = Backend(
    name="simulated",
    capability=Capability(
        operations=dict.fromkeys(OPERATIONS, False), dtypes=tuple(DTYPES), reductions=tuple(REDUCTIONS)
    ),
    missing=lambda: "",
    open=_open,
)

"""The backends, one row each."""

from __future__ import annotations

from collmark.bench.backends.gloo import GLOO
from collmark.bench.backends.mpi import MPI
from collmark.bench.backends.nccl import NCCL
from collmark.bench.backends.simulated import SIMULATED
from collmark.core.registry import Registry

BACKENDS = Registry("backend", {row.name: row for row in (GLOO, MPI, NCCL, SIMULATED)})

"""Fits with planted costs: what the choice of algorithms, intervals and predictions are counted on.

Each launch has a level of its own at every rank count, for alpha and for beta. Legend: L launches, P rank counts.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from collmark.analysis.columns import Series
from collmark.analysis.costs.index import ALGORITHMS
from collmark.analysis.models.fit import Fit, Fits
from collmark.analysis.models.quantity import Quantity
from collmark.core.operation_table import OPERATIONS
from collmark.core.statistics import log_t_interval

OVERHEAD, ALPHA, BETA = 5e-6, 10e-6, 1e-10  # s, s a message, s/B
SERIES = Series(
    run="draw", operation="all_reduce", backend="gloo", device="cpu", dtype="float32", reduction="sum",
    placement="1x2", traffic="", cadence="isolated", in_place=False, buffers="same", scheduling="other",
    binding="none", directions=1, window=1, root=0, form="blocking", thread_level="", groups="", group="", company="",
    tier="shared-memory", fabric="", origin="", estimand="L", marker="SIMULATED",
)  # fmt: skip


class Planted(msgspec.Struct, frozen=True, kw_only=True):
    """What is planted: whose messages, whose bytes, and what they cost."""

    latency: str = "all_reduce/ring"
    bandwidth: str = ""
    overhead: float = OVERHEAD
    alpha: float = ALPHA
    beta: float = BETA
    gamma: float = 0.0
    backend: str = "simulated"
    launch_sd: float = 0.05
    launches: int = 5
    ranks: tuple[int, ...] = (2, 4, 8, 16)

    @property
    def operation(self) -> str:
        return ALGORITHMS[self.latency].operation

    def line(self, ranks: int) -> tuple[float, float]:
        """Return alpha in s, and beta in s per bus byte, of the fit at a rank count."""
        messages = ALGORITHMS[self.latency].bus_terms(ranks)
        moved = ALGORITHMS[self.bandwidth or self.latency].bus_terms(ranks)
        return self.overhead + messages.alpha * self.alpha, moved.beta * self.beta + moved.gamma * self.gamma

    def seconds(self, nbytes: int, ranks: int) -> float:
        alpha, beta = self.line(ranks)
        return alpha + beta * nbytes * OPERATIONS[self.operation].bus_factor(ranks)


def quantity(values: Sequence[float]) -> Quantity:
    estimate = log_t_interval(values)
    return Quantity(per_launch=tuple(values), value=float(np.exp(np.log(values).mean())), estimate=estimate)


def draw(planted: Planted, seed: int) -> Fits:
    """Return the fits of one run."""
    random = np.random.default_rng(seed)
    fits = []
    for ranks in planted.ranks:
        levels_2L = np.exp(random.normal(0, planted.launch_sd, (2, planted.launches)))
        alpha, beta = planted.line(ranks)
        is_sized = OPERATIONS[planted.operation].sized
        alphas = quantity((alpha * levels_2L[0]).tolist())
        betas = quantity((beta * levels_2L[1]).tolist()) if is_sized else None
        fits.append(
            Fit(
                series=msgspec.structs.replace(
                    SERIES, operation=planted.operation, backend=planted.backend, placement=f"1x{ranks}"
                ),
                model="alpha-beta" if is_sized else "constant",
                parameters={"alpha": alphas, "beta": betas} if is_sized and betas else {"alpha": alphas},
                launches=planted.launches,
                sizes=12,
                left_out=0,
                alpha=alphas,
                beta=betas,
                smallest=alphas,
                first=16,
                last=64 << 20,
                bus_ratio=OPERATIONS[planted.operation].bus_factor(ranks),
                rms=0.01,
                line_rms=0.01,
                worst=0.02,
                worst_at=16,
            )
        )
    return Fits(fits=tuple(fits), refused=())

"""NCCL's own model, a prior, beside measured points; nothing is fitted to it or decided by it."""

from __future__ import annotations

import msgspec
import pandas as pd

from collmark.analysis.columns import Series
from collmark.analysis.costs.cliffs import by_series
from collmark.analysis.costs.nccl_tuning import ALGORITHMS, Prior, prior, system_of
from collmark.analysis.costs.scaling import placement_of


class PriorPoint(msgspec.Struct, frozen=True, kw_only=True):
    """What it says of one measured point: nbytes in B, T measured in s, and the prior."""

    nbytes: int
    seconds: float
    prior: Prior


class PriorOf(msgspec.Struct, frozen=True, kw_only=True):
    """The prior beside the points of one series."""

    series: Series
    name: str
    points: tuple[PriorPoint, ...]


def priors_beside(points: pd.DataFrame, name: str) -> tuple[PriorOf, ...]:
    """Return the prior of a name (``nccl:HOPPER``) beside the points of every series that NCCL's model knows.

    Parameters
    ----------
    points : DataFrame
        As :func:`collmark.analysis.points.points` returns them.
    name : str
        The prior.

    Raises
    ------
    UsageError
        If there is no such prior.
    """
    found = []
    for series, rows in by_series(points).items():
        placement = placement_of(series)
        if series.operation not in ALGORITHMS or placement.ranks < 2:
            continue
        system = system_of(name, gpus_per_node=placement.ranks_per_node, nodes=placement.nodes)
        beside = tuple(
            PriorPoint(nbytes=nbytes, seconds=seconds, prior=prior(series.operation, system, nbytes))
            for nbytes, seconds in sorted(zip(rows["nbytes"].tolist(), rows["seconds"].tolist(), strict=True))
            if nbytes > 0
        )
        found.append(PriorOf(series=series, name=name, points=beside))
    return tuple(found)

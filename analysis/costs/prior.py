"""NCCL's own model, a prior, beside measured points; nothing is fitted to it or decided by it."""

from __future__ import annotations

import msgspec
import pandas as pd

from collmark.analysis.columns import Column, Series
from collmark.analysis.costs.cliffs import by_series
from collmark.analysis.costs.nccl_tuning import ALGORITHMS, Prior, prior, system_of
from collmark.analysis.costs.scaling import placement_of

BACKEND = "nccl"
"""The only software that the model speaks of: beside times of any other it would be drawn as if it were theirs."""

OF_PRIOR: dict[str, Column] = {
    "prior_name": Column(kind="str", meaning="name of the prior"),
    "prior_seconds": Column(kind="float64", unit="s", meaning="T that NCCL's own model, a prior, reckons with"),
    "prior_path": Column(kind="str", meaning="algorithm and protocol that it would choose"),
}
"""What a prior adds to the table that figures draw from, by column."""


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
        if series.backend != BACKEND or series.operation not in ALGORITHMS or placement.ranks < 2:
            continue
        system = system_of(name, gpus_per_node=placement.ranks_per_node, nodes=placement.nodes)
        beside = tuple(
            PriorPoint(nbytes=nbytes, seconds=seconds, prior=prior(series.operation, system, nbytes))
            for nbytes, seconds in sorted(zip(rows["nbytes"].tolist(), rows["seconds"].tolist(), strict=True))
            if nbytes > 0
        )
        found.append(PriorOf(series=series, name=name, points=beside))
    return tuple(found)


def nothing_beside(name: str) -> str:
    """Return why a prior that was asked for stands beside nothing."""
    known = ", ".join(ALGORITHMS)
    return (
        f"--prior {name}: NCCL's own model speaks of NCCL alone, of {known} on 2 or more ranks, and these runs have "
        "no time of any; of other software it says nothing"
    )


def with_prior(drawn: pd.DataFrame, name: str) -> pd.DataFrame:
    """Return the rows of a table that NCCL's model knows, with :data:`OF_PRIOR` beside them.

    Parameters
    ----------
    drawn : DataFrame
        As :func:`collmark.analysis.figures.place.placed` returns it.
    name : str
        The prior: ``nccl:HOPPER``.
    """
    is_known = drawn["backend"].eq(BACKEND) & drawn["operation"].isin(ALGORITHMS)
    rows = drawn[is_known & (drawn["ranks"] > 1) & (drawn["nbytes"] > 0)]
    found = [
        prior(operation, system_of(name, gpus_per_node=ranks // nodes, nodes=nodes), nbytes)
        for operation, ranks, nodes, nbytes in rows[["operation", "ranks", "nodes", "nbytes"]].itertuples(index=False)
    ]
    beside = pd.DataFrame(
        {
            "prior_name": [name] * len(found),
            "prior_seconds": [one.seconds for one in found],
            "prior_path": [f"{one.algorithm}/{one.protocol}" for one in found],
        },
        index=rows.index,
    )
    return rows.join(beside.astype({"prior_seconds": "float64"}))

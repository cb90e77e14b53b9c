"""What fits of several rank counts say: cost of a message and a byte, the algorithm, cliffs, predictions, a prior."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec
import numpy as np

from collmark.analysis.costs.cliffs import CliffsOf, all_cliffs
from collmark.analysis.costs.nccl_tuning import system_of
from collmark.analysis.costs.prediction import Prediction, Unpredicted, predict
from collmark.analysis.costs.prior import PriorOf, priors_beside
from collmark.analysis.costs.scaling import Scalings, scale
from collmark.analysis.frame import frame
from collmark.analysis.models.fit import Fits
from collmark.analysis.points import points
from collmark.analysis.results import Results
from collmark.core.errors import UsageError, excerpt
from collmark.core.units import parse_nbytes

_WHERE = re.compile(r"(?P<nbytes>[^@]+)@(?P<ranks>[1-9]\d{0,6})", re.ASCII)


class Explained(msgspec.Struct, frozen=True, kw_only=True):
    """All of some runs."""

    cliffs: tuple[CliffsOf, ...] = ()
    scalings: Scalings = Scalings()
    predictions: tuple[Prediction | Unpredicted, ...] = ()
    priors: tuple[PriorOf, ...] = ()


def explain(
    results: Sequence[Results],
    fits: Fits,
    *,
    wanted: Sequence[str] = (),
    prior_name: str | None = None,
    include_unstable: bool = False,
) -> Explained:
    """Return what the fits of some runs say beyond themselves.

    Parameters
    ----------
    results, fits
        The runs, and the fits of all of them.
    wanted : sequence of str
        Where to predict, as the user wrote it: ``1M@16``.
    prior_name : str or None
        A prior to set beside measurements: ``nccl:HOPPER``.
    include_unstable : bool
        As for the fits.

    Raises
    ------
    UsageError
        If a place or the prior cannot be read.
    """
    places = [read_place(text) for text in wanted]
    if prior_name is not None:
        system_of(prior_name, gpus_per_node=2, nodes=1)  # its name is read before anything is worked out
    cases = points(frame(results), include_unstable=include_unstable)
    scalings = scale(fits, gammas(results))
    return Explained(
        cliffs=all_cliffs(fits, cases),
        scalings=scalings,
        predictions=tuple(one for place in places for one in predict(fits, scalings, *place)),
        priors=() if prior_name is None else priors_beside(cases, prior_name),
    )


def read_place(text: str) -> tuple[int, int]:
    """Return size in B and ranks of ``1M@16``; UsageError where it cannot be read."""
    match = _WHERE.fullmatch(text.strip())
    if not match or int(match["ranks"]) < 2:
        raise UsageError(f"--predict {excerpt(text)}: must be NBYTES@RANKS, as 1M@16, with at least 2 ranks")
    try:
        return parse_nbytes(match["nbytes"]), int(match["ranks"])
    except UsageError as error:
        raise UsageError(f"--predict {excerpt(text)}: {error}") from error


def gammas(results: Sequence[Results]) -> dict[str, float]:
    """Return the time to add a byte of float32 locally, s/B, of each run whose launches measured it."""
    found = {}
    for one in results:
        noises = [host.noise for launch in one.run.launches for host in launch.hosts]
        rates = [rate for noise in noises for rate in (noise.summed or () if noise else ())]
        if rates and min(rates) > 0:
            found[one.name] = float(np.exp(-np.log(rates).mean()))
    return found

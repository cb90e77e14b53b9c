"""From raw stamps to T: ranks are combined first, repetitions later. Legend: R ranks, I repetitions."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from collmark.core.operation import Estimand
from collmark.core.units import NANOSECONDS_PER_SECOND


def durations(
    enter_RI: NDArray[np.int64], exit_RI: NDArray[np.int64], estimand: Estimand, *, messages: int = 1, batch: int = 1
) -> NDArray[np.float64]:
    """Return T of each repetition, that of one call, in s, shape (I,).

    Parameters
    ----------
    enter_RI, exit_RI : array of int64
        Time stamps in ns.
    estimand : Estimand
        One that the clocks allow.
    messages : int
        Messages per call of a stream.
    batch : int
        Calls between the two stamps.

    Notes
    -----
    L = last exit - last entry, G = last exit - first entry (method of Hunold and Carpen-Amarie 2016, ReproMPI, for
    the global clock; L after Faraj, Patarasuk and Yuan 2008); point-to-point times come from rank 0's clock alone.
    """
    nanoseconds: NDArray[np.int64]
    parts = batch
    match estimand:
        case Estimand.LAST_IN_LAST_OUT:
            nanoseconds = exit_RI.max(axis=0) - enter_RI.max(axis=0)
        case Estimand.FIRST_IN_LAST_OUT:
            nanoseconds = exit_RI.max(axis=0) - enter_RI.min(axis=0)
        case Estimand.HALF_ROUND_TRIP:
            nanoseconds, parts = exit_RI[0] - enter_RI[0], 2 * batch
        case Estimand.PER_MESSAGE:
            nanoseconds, parts = exit_RI[0] - enter_RI[0], messages * batch
        case _:
            nanoseconds = (exit_RI - enter_RI).max(axis=0)
    return nanoseconds / (NANOSECONDS_PER_SECOND * parts)

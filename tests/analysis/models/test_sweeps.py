"""Published sweeps of 8 and 32 GPUs: the chosen model describes what a line does not.

The figures are facts from elsewhere; each file of tests/data/sweeps names its source.
"""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from collmark.analysis.models.choose import choose
from collmark.analysis.models.hockney import HOCKNEY
from collmark.analysis.models.model import FloatArray
from collmark.analysis.models.solve import solve

SWEEPS = sorted((Path(__file__).parents[2] / "data" / "sweeps").glob("*.csv"))
MOST_OFF = 0.03
PLATEAU = 2  # sizes: on B200 the algorithm changes once more between 4 and 8 GiB


def sweep(path: Path) -> tuple[FloatArray, FloatArray]:
    """Return sizes in bytes and times in s; of a bus bandwidth, times as if the bus factor were one."""
    table = pd.read_csv(path, comment="#").astype(np.float64)
    nbytes = table["nbytes"].to_numpy()
    if "microseconds" in table:
        return nbytes, table["microseconds"].to_numpy() * 1e-6
    return nbytes, nbytes / (table["bus_bandwidth"].to_numpy() * 1e9)


def rms(residuals: FloatArray) -> float:
    return float(np.sqrt(np.mean(residuals**2)))


@pytest.mark.parametrize("path", SWEEPS, ids=lambda path: path.stem)
def test_chosen_model_describes_a_published_sweep(path: Path) -> None:
    nbytes, seconds = sweep(path)
    found = choose(nbytes, seconds)
    line = np.log(seconds / HOCKNEY.predict(solve(HOCKNEY, nbytes, seconds).tolist(), nbytes))
    assert rms(found.residuals_N[~found.cliffs_N]) <= 0.5 * rms(line)
    slope = found.parameters_P[found.model.index(found.model.slope)]
    assert 1 / slope == pytest.approx((nbytes / seconds)[-PLATEAU:].mean(), rel=MOST_OFF)


@pytest.mark.parametrize("path", SWEEPS, ids=lambda path: path.stem)
@pytest.mark.parametrize("place", [4, 10, -2])
def test_cliff_in_a_published_sweep_leaves_the_plateau(path: Path, place: int) -> None:
    nbytes, seconds = sweep(path)
    without = choose(nbytes, seconds)
    seconds[place] *= 10
    found = choose(nbytes, seconds)
    assert found.cliffs_N[place]
    slopes = [one.parameters_P[one.model.index(one.model.slope)] for one in (found, without)]
    assert slopes[0] == pytest.approx(slopes[1], rel=MOST_OFF)

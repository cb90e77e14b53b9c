"""Published sweeps of 8 and 32 GPUs: the chosen model describes what a line does not.

The figures are facts from elsewhere; each file of tests/data/sweeps names its source.
"""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from collmark.analysis.models.choose import choose, tried
from collmark.analysis.models.hockney import HOCKNEY

SWEEPS = sorted((Path(__file__).parents[2] / "data" / "sweeps").glob("*.csv"))
MOST_OFF = 0.03
PLATEAU = 2  # sizes: on B200 the algorithm changes once more between 4 and 8 GiB


@pytest.mark.parametrize("path", SWEEPS, ids=lambda path: path.stem)
def test_chosen_model_describes_a_published_sweep(path: Path) -> None:
    table = pd.read_csv(path, comment="#")
    nbytes, rate = table["nbytes"].to_numpy(dtype=np.float64), table["bus_bandwidth"].to_numpy() * 1e9
    found, line = choose(nbytes, nbytes / rate), tried(HOCKNEY, nbytes, nbytes / rate)

    def rms(residuals: np.ndarray) -> float:
        return float(np.sqrt(np.mean(residuals**2)))

    assert rms(found.residuals_N[~found.cliffs_N]) <= 0.5 * rms(line.residuals_N)
    slope = found.parameters_P[found.model.index(found.model.slope)]
    assert 1 / slope == pytest.approx(rate[-PLATEAU:].mean(), rel=MOST_OFF)

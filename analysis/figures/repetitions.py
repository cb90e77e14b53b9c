"""Raw repetitions of a few cases as a DataFrame: samples are large, and are read for the cases that are drawn only."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from collmark.analysis.columns import Column
from collmark.analysis.results import Results
from collmark.core.durations import durations
from collmark.core.errors import CollmarkError
from collmark.core.operation import Estimand
from collmark.core.store import read_samples

ENTER, EXIT = 0, 1
"""Layers of the raw stamps (:class:`collmark.core.record.SampleReference`)."""

REPETITION: dict[str, Column] = {
    "run": Column(kind="str", meaning="name of the run's folder"),
    "case": Column(kind="str", meaning="key of the case"),
    "launch": Column(kind="int64", meaning="id of the launch"),
    "seconds": Column(kind="float64", unit="s", meaning="T of one repetition, warm-up cut away"),
}
"""The columns of :func:`repetitions`, in their order."""


def repetitions(results: Iterable[Results], cases: Mapping[tuple[str, str], str]) -> tuple[pd.DataFrame, list[str]]:
    """Return the repetitions of some cases, and what could not be read, in words.

    Parameters
    ----------
    results : iterable of Results
        With their folders.
    cases : dict of (str, str) to str
        What T is on the curve that a case lies on, by the name of the run and the key of the case.

    Returns
    -------
    (DataFrame, list of str)
        A row per repetition, in the order measured, with the columns :data:`REPETITION`.
    """
    found: list[pd.DataFrame] = []
    problems: list[str] = []
    for one in results:
        wanted = {case: Estimand(estimand) for (run, case), estimand in cases.items() if run == one.name}
        for record in one.records:
            if one.folder is None or record.samples is None or record.timing is None or record.sentinel is not None:
                continue
            if record.case.key not in wanted:
                continue
            try:
                stamps_SRI = read_samples(one.folder, record.samples)
            except CollmarkError as error:
                problems.append(str(error))
                continue
            case, cut = record.case, record.timing.cut
            told = times_of(stamps_SRI, wanted[case.key], messages=case.messages, batch=case.batch)
            seconds = told[cut:]
            own = {"run": one.name, "case": record.case.key, "launch": record.launch, "seconds": seconds}
            found.append(pd.DataFrame(own))
    kinds = {name: "str" if column.kind == "str" else column.kind for name, column in REPETITION.items()}
    table = pd.concat(found, ignore_index=True) if found else pd.DataFrame(columns=list(REPETITION))
    return table.astype(kinds), problems


def times_of(stamps_SRI: NDArray[np.int64], estimand: Estimand, *, messages: int, batch: int) -> NDArray[np.float64]:
    """Return T of each repetition in s, as a record's summary has it."""
    return durations(stamps_SRI[ENTER], stamps_SRI[EXIT], estimand, messages=messages, batch=batch)

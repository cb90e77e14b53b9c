"""Records as one tidy DataFrame: a row per record, declared columns, SI units."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd

from collmark.analysis.columns import COLUMNS, OF_CASE, OF_RECORD, SERIES
from collmark.analysis.results import Results
from collmark.core.case import Case
from collmark.core.marker import NOT_IN_LOGS
from collmark.core.operation_table import OPERATIONS


def frame(results: Iterable[Results]) -> pd.DataFrame:
    """Return the records of some runs as one tidy DataFrame.

    Parameters
    ----------
    results : iterable of Results
        Runs that were read.

    Returns
    -------
    DataFrame
        One row per record, sentinels included; the columns of :data:`collmark.analysis.columns.COLUMNS` in their
        order, in SI units; rows by run, operation, nbytes and launch, those of groups of ranks after all
        others.
    """
    columns: dict[str, list[object]] = {name: [] for name in COLUMNS}
    known: dict[Case, list[object]] = {}
    for one in results:
        for record in one.records:
            case = record.case
            # Looked up once a case: a ragged size is summed over all pairs of ranks.
            of_case = known.get(case)
            if of_case is None:
                of_case = known[case] = [value(case) for _column, value in OF_CASE.values()]
            columns["run"].append(one.name)
            for name, found in zip(OF_CASE, of_case, strict=True):
                columns[name].append(found)
            if record.imported is not None:
                for name in NOT_IN_LOGS:
                    columns[name][-1] = ""
            for name, (_column, value) in OF_RECORD.items():
                columns[name].append(value(record))
    columns["window"] = [1] * len(columns["run"])
    return _sorted(_with_window(pd.DataFrame({name: _series(name, values) for name, values in columns.items()})))


def _with_window(table: pd.DataFrame) -> pd.DataFrame:
    """Return the table with the window of each stream: our plan has one for a run, a log may hold several."""
    is_ours = table["origin"].eq("")
    most = table[is_ours].groupby(["run", "operation", "cadence"])["messages"].transform("max")
    return table.assign(window=most.reindex(table.index).fillna(table["messages"]).astype("int64"))


def _series(name: str, values: list[object]) -> pd.Series:
    kind = COLUMNS[name].kind
    if kind == "float64":
        return pd.Series(np.array(values, dtype=np.float64), name=name)
    return pd.Series(values, name=name, dtype="str" if kind == "str" else kind)


def _sorted(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows by run, groups, operation in the order of the operation table, the rest of the series, nbytes."""
    order = {name: position for position, name in enumerate(OPERATIONS.names())}
    keys = table.assign(operation=table["operation"].map(order))
    by = dict.fromkeys(["run", "groups", *SERIES, "nbytes", "launch", "started"])
    rows = keys.sort_values(list(by), kind="stable").index
    return table.loc[rows].reset_index(drop=True)

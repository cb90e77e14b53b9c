"""Rows to a Parquet file, through pyarrow where it is installed."""

from __future__ import annotations

import typing
from collections.abc import Iterable, Mapping
from pathlib import Path

from collmark.core.errors import UnavailableError


def write_parquet(columns: Mapping[str, object], rows: Iterable[Mapping[str, object]], path: Path) -> None:
    """Write rows to a Parquet file.

    Parameters
    ----------
    columns : mapping of str to type
        Name and type of every column: str, int, float, bool or a list of one of them.
    rows : iterable of mapping
        Values by column; None for absent.
    path : Path
        The file.

    Raises
    ------
    UnavailableError
        If pyarrow is not installed.
    """
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise UnavailableError('Parquet needs pyarrow: pip install "collmark[parquet]", or --format csv') from error
    plain: dict[object, pa.DataType] = {str: pa.string(), int: pa.int64(), float: pa.float64(), bool: pa.bool_()}

    def arrow(kind: object) -> pa.DataType:
        parts = typing.get_args(kind)
        return pa.list_(arrow(parts[0])) if parts else plain[kind]

    schema = pa.schema([(name, arrow(kind)) for name, kind in columns.items()])
    pq.write_table(pa.Table.from_pylist([dict(row) for row in rows], schema=schema), path)

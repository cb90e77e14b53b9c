"""Every figure is a function from one DataFrame with declared columns to a Figure, drawn with seaborn."""

from __future__ import annotations

import ast
import inspect
import typing
from collections.abc import Iterator
from typing import Any

import pandas as pd
import pytest
import seaborn as sns
from matplotlib.figure import Figure
from tests.analysis.figures.tables import drawn_of, ordinary, table_for

from collmark.analysis.columns import COLUMNS, SERIES
from collmark.analysis.contrasts import CONTRAST
from collmark.analysis.costs.prior import OF_PRIOR
from collmark.analysis.figures.drawn import DRAWN, OF_PLACE
from collmark.analysis.figures.index import FIGURES
from collmark.analysis.figures.rank_shares import RANK, rank_shares
from collmark.analysis.frame import frame

SEABORN = ("scatterplot", "lineplot", "heatmap", "ecdfplot", "stripplot", "pointplot", "histplot")


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_takes_one_table_and_returns_a_figure(name: str) -> None:
    draw = FIGURES[name].draw
    hints = typing.get_type_hints(draw)
    assert list(hints.values()) == [pd.DataFrame, Figure]
    assert len(inspect.signature(draw).parameters) == 1


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_has_a_file_of_its_own(name: str) -> None:
    files = [inspect.getsourcefile(row.draw) for row in FIGURES.values()]
    assert len(files) == len(set(files))
    assert inspect.getsourcefile(FIGURES[name].draw)


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_is_drawn_with_seaborn(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    used: list[str] = []

    def watch(function: str) -> None:
        original = getattr(sns, function)

        def watched(*words: Any, **named: Any) -> Any:  # noqa: ANN401 - as seaborn has it
            used.append(function)
            return original(*words, **named)

        monkeypatch.setattr(sns, function, watched)

    for function in SEABORN:
        watch(function)
    FIGURES[name].draw(table_for(name, ordinary()))
    assert used, f"{name} drew nothing with seaborn"


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_needs_declared_columns(name: str) -> None:
    row = FIGURES[name]
    table = table_for(name, ordinary())
    assert len(set(row.needs)) == len(row.needs)
    assert set(row.needs) <= set(table.columns)


BASE = {name: COLUMNS[name] for name in (*SERIES, "nbytes", "case")}


def test_tables_have_exactly_the_declared_columns() -> None:
    results = ordinary()
    tables = {
        "frame": (frame([results]), COLUMNS),
        "drawn": (drawn_of(results), DRAWN),
        "prior": (table_for("prior", results), {**DRAWN, **OF_PRIOR}),
        "rank": (rank_shares([results]), RANK),
        "contrast": (table_for("contrast", results), {**BASE, **CONTRAST, **OF_PLACE}),
    }
    for name, (table, columns) in tables.items():
        assert list(table.columns) == list(columns), name
        for column, declared in columns.items():
            kind = "object" if declared.kind == "str" else declared.kind
            assert str(table[column].dtype) in {kind, declared.kind}, (name, column)


def imports(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def test_nothing_uses_pyplot(code: dict[str, ast.Module]) -> None:
    found = [path for path, tree in code.items() if any("pyplot" in name for name in imports(tree))]
    assert not found, "pyplot keeps every figure until it is closed, and may want a display"

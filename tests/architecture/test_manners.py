"""Every manner of docs/manners.md is proven by a test that carries its marker.

To write the page's tests anew: ``COLLMARK_WRITE_MANNERS=1 .venv/bin/pytest tests/architecture/test_manners.py``.
"""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterator
from pathlib import Path

MANNERS = range(1, 31)
ROW = re.compile(r"^\| (\d+) \| ([^|]+) \|([^|]*)\|$", re.MULTILINE)


def marks(nodes: list[ast.expr]) -> Iterator[int]:
    """Yield the numbers of the markers among some expressions: decorators, or what pytestmark is."""
    for node in (inner for outer in nodes for inner in ast.walk(outer)):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.mark.manner":
            (argument,) = node.args
            yield int(ast.unparse(argument))


def proofs(path: str, tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield a manner and the test that proves it; of a whole file that is marked, the file."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "pytestmark":
            yield from ((number, path) for number in marks([node.value]))
        elif isinstance(node, ast.FunctionDef):
            assert node.name.startswith("test_") or not [*marks(node.decorator_list)], f"{path}: {node.name} is no test"
            yield from ((number, f"{path}::{node.name}") for number in marks(node.decorator_list))


def found(trees: dict[str, ast.Module]) -> dict[int, list[str]]:
    tests: dict[int, list[str]] = {number: [] for number in MANNERS}
    for path, tree in sorted(trees.items()):
        if path.startswith("tests/"):
            for number, test in proofs(path, tree):
                tests[number].append(test)
    return tests


def cell(tests: list[str]) -> str:
    """Return tests as the page names them: each file once, with the tests behind it."""
    files: dict[str, list[str]] = {}
    for test in tests:
        file, _, name = test.partition("::")
        files.setdefault(file, []).extend([name] if name else [])
    return "; ".join(
        f"`{file}`" + (": " + ", ".join(f"`{one}`" for one in own) if own else "") for file, own in files.items()
    )


def test_every_manner_has_a_test(code_and_tests: dict[str, ast.Module]) -> None:
    tests = found(code_and_tests)
    assert [number for number in MANNERS if not tests[number]] == []


def test_the_page_names_the_tests_that_there_are(root: Path, code_and_tests: dict[str, ast.Module]) -> None:
    page, tests = root / "docs" / "manners.md", found(code_and_tests)
    text = page.read_text(encoding="utf-8")
    if os.environ.get("COLLMARK_WRITE_MANNERS"):
        text = ROW.sub(lambda row: f"| {row[1]} | {row[2]} | {cell(tests[int(row[1])])} |", text)
        page.write_text(text, encoding="utf-8")
    rows = {int(row[1]): row[3].strip() for row in ROW.finditer(text)}
    assert list(rows) == list(MANNERS)
    stale = [number for number, named in rows.items() if named != cell(tests[number])]
    assert not stale, (
        f"docs/manners.md: other tests prove manners {stale} now; run\n"
        "COLLMARK_WRITE_MANNERS=1 .venv/bin/pytest tests/architecture/test_manners.py"
    )


def test_a_manner_without_a_test_is_found() -> None:
    marked = "".join(f"@pytest.mark.manner({number})\ndef test_{number}(): ...\n" for number in MANNERS if number != 7)
    tests = found({"tests/x.py": ast.parse(marked)})
    assert [number for number in MANNERS if not tests[number]] == [7]
    whole = found({"tests/y.py": ast.parse("pytestmark = [pytest.mark.slow, pytest.mark.manner(7)]")})
    assert whole[7] == ["tests/y.py"]

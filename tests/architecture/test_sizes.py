"""Files and functions stay small enough to read at once."""

import ast
from collections.abc import Iterator
from pathlib import Path

# (aim, limit) in lines. Over the aim is reported (pytest -rP), over the limit fails.
FILE = (300, 400)
FUNCTION = (40, 60)


def functions(path: str, tree: ast.Module) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            yield lines, f"{path}:{node.lineno} {node.name}"


def over(limit: int, sizes: list[tuple[int, str]]) -> list[str]:
    return [f"{lines:5d} lines  {what}" for lines, what in sorted(sizes, reverse=True) if lines > limit]


def test_files_are_short(root: Path, code_and_tests: dict[str, ast.Module]) -> None:
    sizes = [(len((root / path).read_text(encoding="utf-8").splitlines()), path) for path in code_and_tests]
    aim, limit = FILE
    print(f"files over {aim} lines:", *over(aim, sizes), sep="\n")
    assert not over(limit, sizes), f"split what is over {limit} lines:\n" + "\n".join(over(limit, sizes))


def test_functions_are_short(code_and_tests: dict[str, ast.Module]) -> None:
    sizes = [size for path, tree in code_and_tests.items() for size in functions(path, tree)]
    aim, limit = FUNCTION
    print(f"functions over {aim} lines:", *over(aim, sizes), sep="\n")
    assert not over(limit, sizes), f"split what is over {limit} lines:\n" + "\n".join(over(limit, sizes))

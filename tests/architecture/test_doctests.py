"""Every module can be imported without its optional library, and the examples in its docstrings are true."""

import ast
import doctest
import importlib
from pathlib import PurePosixPath


def module_name(path: str) -> str:
    parts = PurePosixPath(path.removeprefix("src/collmark/")).with_suffix("").parts
    return ".".join(("collmark", *parts)).removesuffix(".__init__")


def test_examples_are_true(code: dict[str, ast.Module]) -> None:
    failed = []
    for path in code:
        result = doctest.testmod(importlib.import_module(module_name(path)))
        if result.failed:
            failed.append(f"{path}: {result.failed} of {result.attempted}")
    assert not failed, "\n".join(failed)

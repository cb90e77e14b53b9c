"""Below the command line nothing prints and nothing ends the process: library code raises."""

import ast
from collections.abc import Iterator

FORBIDDEN = frozenset({"print", "exit", "quit", "sys.exit", "os._exit", "os.abort", "SystemExit"})

# path: {call: reason}. A row that is no longer needed fails the test too.
ALLOWED: dict[str, dict[str, str]] = {
    "bench/process.py": {
        "os._exit": "the program of one rank: library threads may run on where the interpreter would wait for them",
        "sys.exit": "the program of one rank",
    },
    "bench/watchdog.py": {"os._exit": "a call into a hung library can be ended in no other way"},
}


def calls(tree: ast.Module) -> Iterator[tuple[str, int]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = ast.unparse(node.func)
            if name in FORBIDDEN:
                yield name, node.lineno


def test_calls_are_seen() -> None:
    tree = ast.parse("import sys\ndef f():\n    print(1)\n    sys.exit(2)\n    raise SystemExit(3)\n")
    assert list(calls(tree)) == [("print", 3), ("sys.exit", 4), ("SystemExit", 5)]


def test_nothing_below_the_command_line_prints_or_exits(code: dict[str, ast.Module]) -> None:
    found = [
        f"{path}:{line}: {name}()"
        for path, tree in code.items()
        if not path.startswith("src/collmark/cli/")
        for name, line in calls(tree)
        if name not in ALLOWED.get(path, {})
    ]
    assert not found, "raise an error of collmark.core.errors instead:\n" + "\n".join(found)


def test_every_allowance_is_used(code: dict[str, ast.Module]) -> None:
    unused = [
        f"{path}: {name}"
        for path, names in ALLOWED.items()
        for name in names
        if path in code and name not in {call for call, _ in calls(code[path])}
    ]
    assert not unused, f"remove from ALLOWED: {unused}"

"""Asking for help loads no heavy library."""

import json
import subprocess
import sys

import pytest

HEAVY = frozenset({"cupy", "jinja2", "matplotlib", "mpi4py", "pandas", "pyarrow", "scipy", "seaborn", "torch"})

# Runs the module as `python -m collmark` would, and says on stderr what that loaded.
PROGRAM = """
import json, runpy, sys
try:
    runpy.run_module("collmark", run_name="__main__", alter_sys=True)
except SystemExit as stop:
    print(json.dumps({"status": stop.code or 0, "modules": sorted(sys.modules)}), file=sys.stderr)
"""


@pytest.mark.parametrize("arguments", [["--help"], ["run", "--help"], ["plan", "--help"], ["--version"]])
def test_help_loads_no_heavy_library(arguments: list[str]) -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM, *arguments], capture_output=True, text=True, check=True)
    said = json.loads(done.stderr.splitlines()[-1])
    assert said["status"] == 0
    assert done.stdout
    assert not HEAVY & {name.partition(".")[0] for name in said["modules"]}

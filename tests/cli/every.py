"""Every command with words that work and words that fail, so that a manner is shown of all of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from collmark.cli.main import _program

SIMULATED = ("--backend", "simulated", "--operation", "all_reduce", "--sizes", "64B:4KiB:x8", "--launches", "2")
JOBS = ("slurm", "submit", "plan.toml", "--output", "jobs")

WORKS: dict[str, tuple[str, ...]] = {
    "demo": (),
    "run": (*SIMULATED, "--ranks", "2"),
    "plan": (*SIMULATED, "--ranks", "2"),
    "list": (),
    "doctor": (),
    "noise": (),
    "pairs": ("--backend", "simulated", "--ranks", "4", "--sizes", "64B", "--case-budget", "20ms"),
    "import": ("a100.log", "--tier", "nvlink", "--nodes", "1"),
    "fit": ("small",),
    "claims": ("small",),
    "compare": ("small", "slower"),
    "history": (),
    "report": ("small", "-o", "new.html"),
    "export": ("small",),
    "schema": (),
    "slurm init": ("new.toml",),
    "slurm render": ("plan.toml", "--output", "jobs"),
    "slurm submit": ("plan.toml", "--output", "jobs"),
    "slurm status": ("jobs",),
    "slurm collect": ("one",),
    "slurm cancel": ("jobs",),
    "slurm next": ("small-run", "--launches", "2"),
}
"""Words behind each command that end with status 0 in the place that `everything` lays."""

BEFORE: dict[str, tuple[str, ...]] = {"slurm status": JOBS, "slurm cancel": JOBS}
"""What must have been done for it."""

FAILS: dict[str, tuple[str, ...]] = {
    "demo": ("--launches", "0"),
    "run": (*SIMULATED, "--simulate", "wrong_rank=1", "--ranks", "2"),
    "plan": ("nowhere.toml",),
    "list": ("nothing",),
    "doctor": ("--backend", "simulated"),
    "noise": ("--duration", "soon"),
    "pairs": ("nothing",),
    "import": ("nowhere.log",),
    "fit": ("nothing",),
    "claims": ("nothing",),
    "compare": ("small", "nothing"),
    "history": ("--output", "nowhere"),
    "report": ("nothing",),
    "export": ("nothing",),
    "schema": ("--nonsense",),
    "slurm init": ("plan.toml",),
    "slurm render": ("nowhere.toml",),
    "slurm submit": ("nowhere.toml",),
    "slurm status": ("nothing",),
    "slurm collect": ("nothing",),
    "slurm cancel": ("nothing",),
    "slurm next": ("small-run",),
}
"""Words that end otherwise, most of them when the command is under way already."""


def commands() -> Iterator[tuple[str, Any]]:
    """Yield the path and the definition of every command and group, the program itself first, without a name."""
    found: list[tuple[str, Any]] = [("", _program())]
    for path, command in found:  # which grows as groups are met
        yield path, command
        found += [(f"{path} {word}".strip(), child) for word, child in getattr(command, "commands", {}).items()]


LEAVES = tuple(path for path, command in commands() if not getattr(command, "commands", {}))

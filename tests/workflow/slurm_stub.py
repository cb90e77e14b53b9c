"""Slurm's commands as a small program that keeps jobs in a file: what was submitted can be seen, and its state set."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

NAMES = ("sbatch", "squeue", "scontrol", "scancel", "sacct", "sinfo", "srun")

PROGRAM = """#!{python} -SE
import json, os, sys
from pathlib import Path
name, words, folder = Path(sys.argv[0]).name, sys.argv[1:], Path({folder!r})
file = folder / "jobs.json"
jobs = json.loads(file.read_text()) if file.exists() else {{}}
(folder / "calls").open("a").write(json.dumps([name, *words]) + "\\n")
(folder / "variables").open("a").write(json.dumps([name, sorted(os.environ)]) + "\\n")
if (folder / "fails").exists() and name in (folder / "fails").read_text().split():
    sys.exit((folder / "words").read_text())
if name == "sbatch":
    job = str(100 + len({{key.partition("_")[0] for key in jobs}}))
    options = dict(word[2:].partition("=")[::2] for word in words if word.startswith("--"))
    for index in options.get("array", "").split(","):
        jobs[f"{{job}}_{{index}}" if index else job] = "PENDING"
        (folder / f"{{job}}_{{index}}.script").write_text(words[-1])
    print(job)
elif name == "squeue":
    for key, state in jobs.items():
        job, _, index = key.partition("_")
        if state != "FORGOTTEN":
            script = (folder / f"{{job}}_{{index}}.script").read_text()
            print(f"{{job}}|{{job}}|{{index or 'N/A'}}|{{state}}|0:00|1:00||{{script}}|None")
elif name == "scancel":
    jobs.update({{key: "CANCELLED" for key in words}})
elif name == "sacct":
    sys.exit("Slurm accounting storage is disabled")
file.write_text(json.dumps(jobs))
"""


class SlurmStub:
    """The commands, in a folder that stands first on the search path.

    Parameters
    ----------
    folder : Path
        Takes everything.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name in NAMES:
            path = folder / name
            path.write_text(PROGRAM.format(python=sys.executable, folder=str(folder)), encoding="utf-8")
            path.chmod(0o755)
        self.path = f"{folder}{os.pathsep}{os.environ.get('PATH', os.defpath)}"

    @property
    def jobs(self) -> dict[str, str]:
        """The state of every job and element that was submitted."""
        file = self.folder / "jobs.json"
        return json.loads(file.read_text()) if file.exists() else {}

    def set(self, state: str, *jobs: str) -> None:
        """Give jobs a state; all where none is named. FORGOTTEN ones are no longer listed."""
        known = self.jobs
        (self.folder / "jobs.json").write_text(json.dumps({**known, **dict.fromkeys(jobs or known, state)}))

    def calls(self, name: str) -> list[list[str]]:
        """Return the words that a command was called with, each time."""
        file = self.folder / "calls"
        lines = map(json.loads, file.read_text().splitlines()) if file.exists() else ()
        return [words for called, *words in lines if called == name]

    def variables(self, name: str) -> list[str]:
        """Return the names of the variables that a command was last called with."""
        lines = map(json.loads, (self.folder / "variables").read_text().splitlines())
        last: list[str] = [names for called, names in lines if called == name][-1]
        return last

    def fail(self, *names: str, words: str = "") -> None:
        """Let commands fail with these words on stderr."""
        (self.folder / "fails").write_text(" ".join(names))
        (self.folder / "words").write_text(words)

    def answer(self, **texts: str) -> None:
        """Let commands print a text, whatever they are asked."""
        for name, text in texts.items():
            (self.folder / f"{name}.txt").write_text(text)
            (self.folder / name).write_text(f"#!/bin/sh\ncat '{self.folder / name}.txt'\n")

"""Slurm's own commands: submit, ask, change, cancel. Each is waited for with a bound."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from collmark.core.errors import UnavailableError, UsageError, excerpt

PATIENCE = 60.0
"""Seconds for a command to answer: a busy controller takes tens of them."""
ACTIVE = frozenset(
    {
        "PENDING", "RUNNING", "CONFIGURING", "COMPLETING", "SUSPENDED", "REQUEUED", "REQUEUE_HOLD", "REQUEUE_FED",
        "RESIZING", "SIGNALING", "STAGE_OUT", "STOPPED", "SPECIAL_EXIT", "RESV_DEL_HOLD",
    }
)  # fmt: skip
"""States of jobs that run or will; source: squeue(1), JOB STATE CODES."""
DEFAULTS = ("SACCT_", "SBATCH_", "SCANCEL_", "SINFO_", "SLURM_", "SQUEUE_", "SRUN_")
"""Beginnings of variables in which users keep options, or an allocation that this shell is inside says what it is;
source: INPUT ENVIRONMENT VARIABLES of these commands' pages."""
CONFIGURATION = "SLURM_CONF"
OF_USER = frozenset({"account", "constraint", "partition", "qos", "reservation", "wckey"})
"""Options of sbatch that a user's variable may give where a script does not."""
OTHER_CLUSTER = "SLURM_CLUSTERS"


class Queued(msgspec.Struct, frozen=True, kw_only=True):
    """What Slurm says of a job, or of an element of an array.

    Attributes
    ----------
    state : str
        In Slurm's words, as ``RUNNING``.
    elapsed, limit : str
        Time that it has run, and may.
    nodes : str
        Nodes that it has.
    command : str
        The script that was submitted.
    reason : str
        Why it waits, or how it ended.
    """

    state: str
    elapsed: str = ""
    limit: str = ""
    nodes: str = ""
    command: str = ""
    reason: str = ""

    @property
    def is_active(self) -> bool:
        """Whether it runs, or will."""
        return self.state in ACTIVE


def ask(words: Sequence[str], *, more: Mapping[str, str] | None = None, patience: float = PATIENCE) -> str:
    """Run a command of Slurm and return what it prints.

    Parameters
    ----------
    words : sequence of str
        The command line.
    more : mapping of str to str or None
        Variables to set.
    patience : float
        Seconds to answer in.

    Raises
    ------
    UnavailableError
        If it is not there or does not answer.
    UsageError
        If it refuses, or would ask another cluster.
    """
    if os.environ.get(OTHER_CLUSTER):
        raise UsageError(f"{OTHER_CLUSTER} is set: jobs go to this login node's own cluster; unset it")
    # They would filter the answer, win over the lines of a script, or contradict them inside the job.
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(DEFAULTS) or name == CONFIGURATION
    } | dict(more or {})
    try:
        done = subprocess.run(
            words, env=environment, capture_output=True, text=True, timeout=patience, check=False, errors="replace"
        )
    except FileNotFoundError as error:
        raise UnavailableError(f"{words[0]} is not here: run this on a login node, or load the site's Slurm") from error
    except subprocess.TimeoutExpired as error:
        raise UnavailableError(f"{words[0]} did not answer within {patience:.0f} s; try again") from error
    if done.returncode:
        said = " ".join((done.stderr or done.stdout).split())
        said = re.sub(rf"{re.escape(words[0])}: (error: )?", "", said)
        error_class = UnavailableError if "contact slurm controller" in said.lower() else UsageError
        raise error_class(f"{words[0]} refused: {excerpt(said, 300) or f'status {done.returncode}'}")
    return done.stdout


def fields(words: Sequence[str], count: int) -> list[list[str]]:
    """Return the fields of each line that a command prints, with ``|`` between them.

    Raises
    ------
    UnavailableError
        As of :func:`ask`, and if a line has fewer.
    """
    lines = [line.split("|", count - 1) for line in ask(words).splitlines()]
    for line in lines:
        if len(line) < count:
            raise UnavailableError(f"{words[0]} gave a line that is not understood: {excerpt(repr('|'.join(line)))}")
    return lines


def submit(script: Path, options: Sequence[str]) -> str:
    """Submit a script and return the id of the job."""
    written = re.findall(r"^#SBATCH --([a-z-]+)", script.read_text(encoding="utf-8"), re.MULTILINE)
    names = {f"SBATCH_{option.upper()}" for option in OF_USER.difference(written)}
    more = {name: os.environ[name] for name in names & os.environ.keys()}
    said = ask(["sbatch", "--parsable", *options, str(script)], more=more).split()
    job = said[-1].partition(";")[0] if said else ""  # on federations the cluster's name follows
    if not job.isdigit():
        raise UnavailableError(f"sbatch gave no job id but {excerpt(repr(' '.join(said)))}")
    return job


def queue() -> dict[str, Queued]:
    """Return this user's jobs by id (``12``, or ``12_4`` for an element), ended ones while Slurm remembers them."""
    form = "%A|%F|%K|%T|%M|%l|%N|%o|%r"
    words = ["squeue", "--noheader", "--all", "--array", "--states=all", f"--user={os.getuid()}", f"--format={form}"]
    found = {}
    for job, array, index, state, elapsed, limit, nodes, command, reason in fields(words, 9):
        key = f"{array}_{index}" if index.isdigit() else job
        found[key] = Queued(state=state, elapsed=elapsed, limit=limit, nodes=nodes, command=command, reason=reason)
    return found


def accounted(jobs: Sequence[str]) -> dict[str, Queued]:
    """Return what the site's accounting still knows of jobs that left the queue; nothing where there is none."""
    if not jobs:
        return {}
    words = ["sacct", "--noheader", "--allocations", "--parsable2", f"--jobs={','.join(jobs)}"]
    try:
        lines = fields([*words, "--format=JobID,State,Elapsed,Timelimit,NodeList"], 5)
    except (UnavailableError, UsageError):
        return {}
    found = {}
    for job, state, elapsed, limit, nodes in lines:
        found[job] = Queued(state=state.partition(" ")[0], elapsed=elapsed, limit=limit, nodes=nodes)  # CANCELLED by 0
    return found


def resize(job: str, *, nodes: int, tasks: int, cpus: int) -> None:
    """Ask for fewer nodes for an element of an array that is held: sbatch asks for the same for all."""
    ask(["scontrol", "update", f"JobId={job}", f"NumNodes={nodes}-{nodes}", f"NumTasks={tasks}", f"NumCPUs={cpus}"])


def release(job: str) -> None:
    """Let a held job start."""
    ask(["scontrol", "release", job])


def cancel(jobs: Sequence[str]) -> None:
    """Cancel jobs and elements."""
    ask(["scancel", *jobs])

"""A plan: which cases to measure, how precisely, and for how long; read from TOML."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from collmark.core.case import Binding, Scheduling
from collmark.core.dtype import DTYPES
from collmark.core.errors import PlanError, UsageError, excerpt, nearest
from collmark.core.operation_table import OPERATIONS
from collmark.core.placement import Placement
from collmark.core.reduction import REDUCTIONS
from collmark.core.sweep import parse_sweep
from collmark.core.traffic import DEFAULT_TRAFFIC, counts_of
from collmark.core.units import parse_seconds

AUTO = "auto"
FIRST_LAUNCHES = 5
"""Launches by default, and those that `auto` starts with."""
LISTS = ("operations", "dtypes", "reductions", "backends")
DURATIONS = ("case_budget", "budget", "timeout")
CORE_OPERATIONS = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all", "ping_pong")


class Plan(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is to be measured.

    Attributes
    ----------
    operations, dtypes, reductions, backends : tuple of str
        Axes: every combination that makes sense is a case.
    sizes : str
        Size sweep, as ``8B:1GiB:x2``.
    placements : tuple of Placement
        Nodes and ranks per node; empty for whatever the launcher gives.
    traffic : str
        For ragged operations.
    precision : float
        Relative half-width of the interval of the median at which a case is finished.
    case_budget, budget : float
        Seconds for one case in one launch, verification included; seconds for the whole run, 0 for no bound.
    launches : int or "auto"
        Fresh process sets per case.
    timeout : float
        Seconds after which a silent rank is given up; a call predicted to last longer has ten times that.
    scheduling, binding : Scheduling, Binding
        Scheduling class of the ranks, and the cores that each may run on.
    messages : int
        Most messages in flight per call of a stream.
    seed : int
        Seeds the order of cases in each launch.
    samples : int
        Bytes of raw samples kept per run.
    simulation : dict
        What the simulated backend plants; see docs/how-to-simulate.md.
    """

    operations: tuple[str, ...] = CORE_OPERATIONS
    sizes: str = "16B:16MiB:x4"
    dtypes: tuple[str, ...] = ("float32",)
    reductions: tuple[str, ...] = ("sum",)
    backends: tuple[str, ...] = ("gloo",)
    placements: tuple[Placement, ...] = ()
    traffic: str = DEFAULT_TRAFFIC
    precision: float = 0.05
    case_budget: float = 2.0
    budget: float = 0.0
    launches: int | str = FIRST_LAUNCHES
    timeout: float = 30.0
    scheduling: Scheduling = Scheduling.OTHER
    binding: Binding = Binding.NONE
    messages: int = 64
    seed: int = 1
    samples: int = 64 * 2**20
    simulation: dict[str, Any] = {}

    @property
    def first_launches(self) -> int:
        """Launches to make before anything is decided from them."""
        return FIRST_LAUNCHES if isinstance(self.launches, str) else self.launches


def check_plan(plan: Plan) -> None:
    """Raise PlanError naming everything that is wrong in `plan`."""
    problems: list[str] = []

    def attempt(action: Callable[[], object]) -> None:
        try:
            action()
        except UsageError as error:
            problems.append(str(error))

    for registry, names in (
        (OPERATIONS, plan.operations),
        (DTYPES, plan.dtypes),
        (REDUCTIONS, plan.reductions),
    ):
        for name in names:
            attempt(partial(registry.__getitem__, name))
    attempt(lambda: parse_sweep(plan.sizes))
    attempt(lambda: counts_of(plan.traffic, nbytes=1, ranks=1, itemsize=1))
    rules = (
        *((name, bool(getattr(plan, name)), "needs at least one name") for name in LISTS),
        ("precision", 0.0005 <= plan.precision <= 0.5, "lies in 0.0005 (0.05 %) to 0.5 (50 %)"),
        ("case_budget", 0.01 <= plan.case_budget <= 86400, "lies in 10 ms to one day"),
        ("budget", 0 <= plan.budget <= 30 * 86400, "lies in 0 (no bound) to 30 days"),
        ("timeout", 1 <= plan.timeout <= 86400, "lies in 1 s to one day"),
        ("messages", 1 <= plan.messages <= 1024, "lies in 1 to 1024"),
        ("samples", plan.samples >= 0, "is not negative"),
        ("seed", plan.seed >= 0, "is not negative"),
        (
            "launches",
            plan.launches == AUTO if isinstance(plan.launches, str) else 1 <= plan.launches <= 1000,
            'is a whole number in 1 to 1000, or "auto"',
        ),
    )
    problems += [f"{name} {wanted}" for name, holds, wanted in rules if not holds]
    for name in LISTS:
        values = getattr(plan, name)
        problems += [f"{name} names {value} twice" for value in sorted({v for v in values if values.count(v) > 1})]
    problems += _placement_problems(plan.placements)
    if problems:
        raise PlanError(problems)


def _placement_problems(placements: tuple[Placement, ...]) -> list[str]:
    shapes = [(placement.nodes, placement.ranks_per_node) for placement in placements]
    problems = [
        f"placements: {nodes} x {ranks} stands there twice: the same ranks would be measured twice as if they were more"
        for nodes, ranks in sorted({shape for shape in shapes if shapes.count(shape) > 1})
    ]
    problems += [
        f"placements: label {excerpt(repr(placement.label))}: use letters, digits, spaces and punctuation without /"
        for placement in placements
        if "/" in placement.label or not placement.label.isprintable()
    ]
    return problems


def load_plan(path: Path) -> Plan:
    """Read and check a plan file.

    Raises
    ------
    PlanError
        With everything that is wrong in the file, each misspelt key with the nearest right one.
    UsageError
        If the file cannot be read.
    """
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        msg = f"plan {path}: {reason}; collmark plan --init writes one to start from"
        raise UsageError(msg) from error
    plan, problems = _read(table)
    try:
        check_plan(plan)
    except PlanError as error:
        problems += error.problems
    if problems:
        raise PlanError([f"plan {path}: {problem}" for problem in problems])
    return plan


def plan_from_table(table: dict[str, Any]) -> Plan:
    """Turn a TOML table into a plan; values may be written as people write them (``"2 min"``, lists of sizes)."""
    plan, problems = _read(table)
    if problems:
        raise PlanError(problems)
    return plan


def _read(table: dict[str, Any]) -> tuple[Plan, list[str]]:
    """Return the plan as far as it can be read, with defaults for the rest, and everything that is wrong."""
    values: dict[str, Any] = {}
    problems: list[str] = []
    for key, value in table.items():
        unknown = [_unknown(key, Plan.__struct_fields__)] if key not in Plan.__struct_fields__ else []
        if key == "placements":
            unknown = _unknown_in_rows(value)
        problems += unknown
        if unknown:
            continue
        try:
            # One key at a time: msgspec stops at the first fault.
            values[key] = getattr(msgspec.convert({key: _as_written(key, value)}, Plan), key)
        except PlanError as error:
            problems += error.problems
        except msgspec.ValidationError as error:
            problems.append(str(error).replace("`", "").replace(" - at $.", ": "))
    return Plan(**values), problems


def _unknown_in_rows(rows: object) -> list[str]:
    allowed = Placement.__struct_fields__
    return [
        f"placements: {_unknown(key, allowed)}"
        for row in (rows if isinstance(rows, list) else [])
        if isinstance(row, dict)
        for key in row
        if key not in allowed
    ]


def _as_written(key: str, value: object) -> object:
    """Return a value of a plan file in the form that the plan keeps."""
    if key == "sizes" and isinstance(value, list):
        return ",".join(str(size) for size in value)
    if key in LISTS and isinstance(value, str):
        return [value]
    if key in DURATIONS and isinstance(value, str):
        try:
            return parse_seconds(value)
        except UsageError as error:
            raise PlanError([f"{key}: {error}"]) from error
    return value


def _unknown(key: str, allowed: tuple[str, ...]) -> str:
    close = nearest(key, allowed)
    return f"unknown key {key!r}" + (f"; did you mean {close!r}?" if close else f"; allowed: {', '.join(allowed)}")


TEMPLATE = """\
# A collmark plan: every combination of the axes below that makes sense is one case.
# collmark plan this-file.toml   shows the cases and an upper bound of the time
# collmark run this-file.toml    measures them

# Names as in torch.distributed: {operations}.
operations = ["all_reduce", "all_gather", "reduce_scatter", "all_to_all", "ping_pong"]

# FIRST:LAST:xFACTOR, FIRST:LAST:+STEP, a list, or a mixture. K, M, G and KiB, MiB, GiB are binary, KB, MB, GB
# decimal. The size is the largest over ranks of max(bytes sent, bytes received), as nccl-tests prints it.
sizes = "16B:16MiB:x4"

# {dtypes}.
dtypes = ["float32"]

# {reductions}.
reductions = ["sum"]

backends = ["gloo"]

# Counts of the ragged all_to_all_v: "uniform", or "zipf:EXPONENT:SEED".
traffic = "uniform"

# A case is finished when the 95 % interval of its median is within this share, twice in a row ...
precision = 0.05
# ... or when its time in one launch is spent (checks included). budget bounds the whole run; 0: no bound.
case_budget = "2 s"
budget = 0

# Fresh processes and communicators, the unit of every interval; "auto" adds launches until they agree.
launches = 5

# A rank silent for longer is given up (ten times the predicted duration, where that is longer).
timeout = "30 s"

# "fifo" runs the ranks at SCHED_FIFO 1, where permitted: on a busy or small machine the figures are otherwise
# those of the scheduler.
scheduling = "other"
# "cores" gives each rank an equal share of the cores, as mpirun does; "none" leaves it to the system.
binding = "none"

# Most messages in flight per call of stream and bidirectional_stream.
messages = 64

# Seeds the order of the cases, which is another in every launch.
seed = 1

# Bytes of raw samples kept per run.
samples = 67108864

# Where the ranks lie; without one, as many local ranks as the launcher or --ranks gives.
# [[placements]]
# nodes = 1
# ranks_per_node = 2
# label = "this machine"
"""


def plan_template() -> str:
    """Return a commented plan file with the default values."""
    return TEMPLATE.format(
        operations=", ".join(OPERATIONS.names()),
        dtypes=", ".join(DTYPES.names()),
        reductions=", ".join(REDUCTIONS.names()),
    )

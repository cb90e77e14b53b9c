"""A plan: which cases to measure, how precisely, and for how long; read from TOML."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from collmark.core.bounds import LARGEST, Count, NotNegative, Ordinal
from collmark.core.case import Binding, Buffers, Cadence, Form, InPlace, Scheduling, ThreadLevel
from collmark.core.decoding import decoded, unknown_key
from collmark.core.dtype import DTYPES
from collmark.core.errors import PlanError, UsageError, excerpt, short_path
from collmark.core.grouping import ALL, FORMS
from collmark.core.matrix import Matrix, learn
from collmark.core.numeral import counted, shown
from collmark.core.operation_table import OPERATIONS
from collmark.core.placement import Placement, count_nodes
from collmark.core.plan_field import AUTO, FIELDS, unknown_names
from collmark.core.plan_file import read_table
from collmark.core.reduction import REDUCTIONS
from collmark.core.registry import Registry
from collmark.core.traffic import DEFAULT_TRAFFIC, with_digests

__all__ = [
    "AUTO",
    "CORE_OPERATIONS",
    "FIRST_LAUNCHES",
    "TABLES",
    "TEMPLATE",
    "Plan",
    "check_plan",
    "load_plan",
    "plan_from_table",
    "plan_template",
    "with_matrices",
]

FIRST_LAUNCHES = 5
"""Launches by default, and those that `auto` starts with."""
TABLES: dict[str, Any] = {
    "placements": tuple[Placement, ...],
    "shares": dict[str, Any],
    "matrices": dict[str, Matrix],
    "simulation": dict[str, Any],
}
"""The fields that a plan file writes as tables."""
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
        For ragged operations: one, or several with commas between them (:mod:`collmark.core.traffic`): an axis.
    matrices : dict of str to Matrix
        Those that `traffic` names, by digest.
    precision : float
        Relative half-width of the interval of the median at which a case is finished.
    case_budget, budget : float
        Seconds for one case in one launch, verification included; seconds for the whole run, 0 for no bound.
    shares : dict of str to float
        How launches divide the whole run's seconds: the weight of each backend's, 1 where it has none.
    launches : int or "auto"
        Fresh process sets per case.
    timeout : float
        Seconds after which a silent rank is given up; a call predicted to last longer has ten times that.
    scheduling, binding : Scheduling, Binding
        Scheduling class of the ranks, and the cores that each may run on.
    cadences : tuple of Cadence
        How calls follow each other: an axis.
    buffers : tuple of Buffers
        Buffer temperature: an axis.
    in_place : tuple of InPlace
        Whether send and receive buffer are the same, where a call leaves the choice: an axis; empty for what each call
        does by nature.
    forms : tuple of Form
        How operations of MPI are called: an axis.
    mpi_library : str
        Which MPI: environment, site, or a path; empty for the only one there is. A run holds the path.
    thread_level : ThreadLevel
        That MPI is asked for.
    groups : tuple of str
        How ranks are grouped (:mod:`collmark.core.grouping`): an axis. Of each arrangement but ``all`` every group is
        measured alone, and all together.
    messages : int
        Most messages in flight per call of a stream.
    batch : int
        Most calls between two reads of the clock in streaming cadence.
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
    matrices: dict[str, Matrix] = {}
    precision: NotNegative = 0.05
    case_budget: NotNegative = 2.0
    budget: NotNegative = 0.0
    shares: dict[str, Any] = {}
    launches: Ordinal | str = FIRST_LAUNCHES
    timeout: NotNegative = 30.0
    scheduling: Scheduling = Scheduling.OTHER
    binding: Binding = Binding.NONE
    cadences: tuple[Cadence, ...] = (Cadence.ISOLATED,)
    buffers: tuple[Buffers, ...] = (Buffers.SAME,)
    in_place: tuple[InPlace, ...] = ()
    forms: tuple[Form, ...] = (Form.BLOCKING,)
    mpi_library: str = ""
    thread_level: ThreadLevel = ThreadLevel.FUNNELED
    groups: tuple[str, ...] = (ALL,)
    messages: Ordinal = 64
    batch: Ordinal = 20
    seed: Count = 1
    samples: Count = 64 * 2**20
    simulation: dict[str, Any] = {}

    def __post_init__(self) -> None:
        """Make its matrices known, also after decoding; UsageError where one is not what its digest says."""
        for digest, matrix in self.matrices.items():
            if learn(matrix) != digest:
                raise UsageError(f"matrices: {digest}: its data have another digest")

    @property
    def first_launches(self) -> int:
        """Launches to make before anything is decided from them."""
        return FIRST_LAUNCHES if isinstance(self.launches, str) else self.launches


def check_plan(plan: Plan) -> None:
    """Raise PlanError naming everything that is wrong in `plan`, each with its field and value."""
    problems = [
        f"{name}: {fault}"
        for name, field in FIELDS.items()
        for fault in field.faults(getattr(plan, name), getattr(plan, name))
    ]
    problems += _placement_problems(plan.placements)
    problems += [
        f"shares.{name}: {shown(share)}: must be a number in 0.01 to 100"
        for name, share in plan.shares.items()
        if not isinstance(share, int | float) or isinstance(share, bool) or not 0.01 <= share <= 100
    ]
    problems += [f"shares: {error}" for error in unknown_names(tuple(plan.shares), _names(plan.backends))]
    # What a simulation plants is known to the simulator; here only that it can be stored.
    problems += [
        f"simulation.{key}: {shown(value)}: must not be above {LARGEST}"
        for key, value in plan.simulation.items()
        if isinstance(value, int) and abs(value) > LARGEST
    ]
    if problems:
        raise PlanError(problems)


def _names(backends: tuple[str, ...]) -> Registry[None]:
    return Registry("backend of the plan", dict.fromkeys(backends))


def _placement_problems(placements: tuple[Placement, ...]) -> list[str]:
    shapes = [(placement.nodes, placement.ranks_per_node, placement.nodelist) for placement in placements]
    problems = [
        f"placements: {nodes} x {ranks} stands there twice: the same ranks would be measured twice as if they were more"
        for nodes, ranks, _nodelist in sorted({shape for shape in shapes if shapes.count(shape) > 1})
    ]
    problems += [fault for placement in placements for fault in _nodelist_faults(placement)]
    problems += [
        f"placements: label {excerpt(repr(placement.label))}: use letters, digits, spaces and punctuation without /"
        for placement in placements
        if "/" in placement.label or not placement.label.isprintable()
    ]
    return problems


def _nodelist_faults(placement: Placement) -> list[str]:
    """Return what is wrong with the nodes that a placement names."""
    if not placement.nodelist:
        return []
    start = f"placements: nodelist {excerpt(repr(placement.nodelist))}"
    try:
        there = count_nodes(placement.nodelist)
    except UsageError as error:
        return [f"{start}: {error}"]
    if there != placement.nodes:
        return [f"{start}: names {counted(there, 'node')}, and nodes is {placement.nodes}"]
    return [] if placement.label else [f"{start}: give it a label, by which these nodes are told from others"]


def load_plan(path: Path, under: Mapping[str, Any] | None = None) -> Plan:
    """Read and check a plan file: TOML, or a JSON object of the same keys, as jobs are given theirs.

    Parameters
    ----------
    path : Path
        The file.
    under : mapping or None
        Values of the fields that the file leaves out, where they are not the defaults.

    Raises
    ------
    PlanError
        With everything that is wrong in the file, each misspelt key with the nearest right one.
    UsageError
        If the file cannot be read.
    """
    where = f"plan {short_path(path)}"
    plan, problems = _read(read_table(path), under or {})
    try:
        check_plan(plan)
        plan = with_matrices(plan, path.parent)
    except PlanError as error:
        problems += error.problems
    except UsageError as error:
        problems.append(f"traffic: {error}")
    if problems:
        raise PlanError([f"{where}: {problem}" for problem in problems])
    return plan


def with_matrices(plan: Plan, folder: Path) -> Plan:
    """Return a plan that holds the matrices of the files that its traffic names; relative paths start at `folder`.

    Raises
    ------
    UsageError
        If a file cannot be read, or is no matrix.
    """
    traffic, read = with_digests(plan.traffic, folder)
    kept = {digest: matrix for digest, matrix in plan.matrices.items() if digest in traffic}
    return msgspec.structs.replace(plan, traffic=traffic, matrices=read | kept)


def plan_from_table(table: dict[str, Any]) -> Plan:
    """Turn a TOML table into a plan; values may be written as in options (``"2 min"``, ``"5%"``, lists of sizes)."""
    plan, problems = _read(table, {})
    if problems:
        raise PlanError(problems)
    return plan


def _read(table: dict[str, Any], under: Mapping[str, Any]) -> tuple[Plan, list[str]]:
    """Return the plan as far as it can be read, with what lies under it for the rest, and everything that is wrong."""
    values: dict[str, Any] = dict(under)
    problems: list[str] = []
    for key, written in table.items():
        value, found = _read_field(key, written)
        if found:
            problems += found
        else:
            values[key] = value
    return Plan(**values), problems


def _read_field(key: str, written: object) -> tuple[Any, list[str]]:
    if key in FIELDS:
        value, faults = FIELDS[key].read(written)
        return value, [f"{key}: {fault}" for fault in faults]
    if key not in TABLES:
        return None, [unknown_key(key, Plan.__struct_fields__)]
    try:
        return decoded(written, TABLES[key], key), []
    except UsageError as error:
        return None, [str(error)]


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

# Counts of the ragged all_to_all_v, one or a list: "uniform"; "zipf:EXPONENT:SEED"; "moe:EXPERTS:TOPK:EXPONENT:SEED",
# tokens routed to experts; "file:PATH", a matrix of bytes exactly as it is, or "file:PATH:scaled" to the sizes. Beside
# "uniform" the others are shown against the lower bound of their heaviest rank.
traffic = "uniform"

# A case is finished when the 95 % interval of its median is within this share, twice in a row ...
precision = "5%"
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

# How calls follow each other: {cadences}. Streaming makes up to batch calls back to back between two
# reads of the clock, as nccl-tests does, and gives the time of one; isolated waits for all ranks before each.
cadences = ["isolated"]
batch = 20
# Buffer temperature: {buffers}. Rotated goes through so many buffers that none is in a cache when its turn comes.
buffers = ["same"]
# One buffer for what is sent and received, or two: "no", "yes" or both; left empty, what each call does by nature.
in_place = []

# Of the mpi backend: {forms}. Which library (environment: the one
# of a wheel; site: that of mpiexec on the path; or a path), and the thread level that it is asked for; multiple makes
# small operations slower.
forms = ["blocking"]
mpi_library = ""
thread_level = "funneled"

# Groups of ranks that communicate at the same time: {groups}. In "blocked:2" ranks 0 and 1
# are the first group; in "strided:2" of 8 ranks, 0 and 4. Each group is measured alone, and all together, which shows
# what they cost each other. "all" is all ranks in one group.
groups = ["all"]

# Most messages in flight per call of stream and bidirectional_stream.
messages = 64

# Seeds the order of the cases, which is another in every launch.
seed = 1

# Bytes of raw samples kept per run.
samples = "64 MiB"

# How the launches of several backends share the time of budget: by these weights, 1 where there is none.
# [shares]
# gloo = 5
# mpi = 3

# Where the ranks lie; without one, as many local ranks as the launcher or --ranks gives. Under Slurm
# nodelist = "n[1-2]" may say which nodes these must be.
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
        cadences=f"{Cadence.ISOLATED} or {Cadence.STREAMING}",
        buffers=" or ".join(Buffers),
        forms=", ".join(Form),
        groups=", ".join(FORMS),
    )

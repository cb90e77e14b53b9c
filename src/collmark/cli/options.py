"""The options that lay a plan's axes and limits, shared by the commands that read a plan.

All are read as text; :mod:`collmark.workflow.planning` knows what they mean, so that a wrong value is answered in
collmark's words and before any library is loaded.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from collmark.cli.completion import among, backends, dtypes, operations, reductions, runs
from collmark.core.case import Binding, Buffers, Cadence, Form, InPlace, Scheduling, ThreadLevel
from collmark.core.errors import UsageError


def refuse_empty(parameter: typer.CallbackParam, value: str | None) -> str | None:
    """Return the name of a file or folder, unless it is empty: pathlib would take it for the current folder."""
    if value is not None and not value.strip():
        what = max(parameter.opts, key=len) if parameter.param_type_name == "option" else parameter.metavar
        raise UsageError(f"{what}: the name is empty; give one, or leave it away")
    return value


PlanFile = Annotated[
    str | None,
    typer.Argument(metavar="PLAN.toml", help="A plan; options win over it.", callback=refuse_empty),
]
Operations = Annotated[
    list[str] | None,
    typer.Option(
        "--operation",
        metavar="NAMES",
        help="Operations, as all_reduce,all_to_all; repeatable.",
        autocompletion=among(operations),
    ),
]
Sizes = Annotated[
    str | None,
    typer.Option(
        "--sizes",
        metavar="SWEEP",
        help="FIRST:LAST:xFACTOR, FIRST:LAST:+STEP or a list. K, M, G and KiB, MiB, GiB are binary; KB, MB, GB "
        "decimal.",
    ),
]
Dtypes = Annotated[
    list[str] | None,
    typer.Option("--dtype", metavar="NAMES", help="Element types, as float32,bfloat16.", autocompletion=among(dtypes)),
]
Reductions = Annotated[
    list[str] | None,
    typer.Option("--reduction", metavar="NAMES", help="Reductions, as sum,max.", autocompletion=among(reductions)),
]
Backends = Annotated[
    list[str] | None,
    typer.Option("--backend", metavar="NAMES", help="What moves the bytes, as gloo.", autocompletion=among(backends)),
]
Ranks = Annotated[
    str | None, typer.Option("--ranks", metavar="N", help="Local ranks: as many as cores, at most 8; for nccl as GPUs.")
]
Launches = Annotated[
    str | None,
    typer.Option("--launches", metavar="N|auto", help="Fresh process sets, the unit of every interval (5)."),
]
Precision = Annotated[
    str | None,
    typer.Option("--precision", metavar="SHARE", help="Half-width at which a case is done, as 5% (the default)."),
]
CaseBudget = Annotated[
    str | None, typer.Option("--case-budget", metavar="TIME", help="Most time for a case in one launch (2 s).")
]
Budget = Annotated[
    str | None, typer.Option("--budget", metavar="TIME", help="Most time for the whole run; 0 for no bound.")
]
Timeout = Annotated[
    str | None, typer.Option("--timeout", metavar="TIME", help="Silence after which a rank is given up (30 s).")
]
SchedulingClass = Annotated[
    str | None,
    typer.Option(
        "--scheduling",
        metavar="other|fifo",
        help="Scheduling class of the ranks.",
        autocompletion=among(lambda: Scheduling),
    ),
]
Bind = Annotated[
    str | None,
    typer.Option(
        "--bind",
        metavar="none|cores",
        help="Give each rank a share of the cores.",
        autocompletion=among(lambda: Binding),
    ),
]
Cadences = Annotated[
    list[str] | None,
    typer.Option(
        "--cadence",
        metavar="NAMES",
        help="How calls follow: isolated,streaming.",
        autocompletion=among(lambda: Cadence),
    ),
]
Temperatures = Annotated[
    list[str] | None,
    typer.Option(
        "--buffers", metavar="NAMES", help="Buffer temperature: same,rotated.", autocompletion=among(lambda: Buffers)
    ),
]
InPlaces = Annotated[
    list[str] | None,
    typer.Option(
        "--in-place",
        metavar="no|yes",
        help="One buffer or two, where a call can do both.",
        autocompletion=among(lambda: InPlace),
    ),
]
Batch = Annotated[
    str | None, typer.Option("--batch", metavar="N", help="Most calls between clock reads in streaming cadence (20).")
]
Forms = Annotated[
    list[str] | None,
    typer.Option(
        "--form",
        metavar="NAMES",
        help="How MPI is called: blocking,persistent,nonblocking.",
        autocompletion=among(lambda: Form),
    ),
]
MpiLibrary = Annotated[
    str | None,
    typer.Option("--mpi-library", metavar="environment|site|PATH", help="Which MPI, where there are several."),
]
Threads = Annotated[
    str | None,
    typer.Option(
        "--thread-level",
        metavar="LEVEL",
        help="Of MPI: single, funneled (the default), ... multiple.",
        autocompletion=among(lambda: ThreadLevel),
    ),
]
Messages = Annotated[
    str | None, typer.Option("--messages", metavar="N", help="Most messages in flight per call of a stream (64).")
]
Traffic = Annotated[
    list[str] | None,
    typer.Option(
        "--traffic",
        metavar="NAMES",
        help="Counts of all_to_all_v: uniform, zipf:EXPONENT[:SEED], moe:EXPERTS:TOPK[:EXPONENT[:SEED[:TOKEN]]], "
        "file:PATH[:scaled]; repeatable.",
    ),
]
Groups = Annotated[
    list[str] | None,
    typer.Option(
        "--groups",
        metavar="NAMES",
        help="Groups of ranks at once, and each alone: blocked:RANKS, strided:RANKS, node, all (one group); rounds of "
        "pairs at once: pairs:ROUND, pairs:I-J+K-L; repeatable.",
    ),
]
Seed = Annotated[str | None, typer.Option("--seed", metavar="N", help="Seeds the order of cases (1).")]
Samples = Annotated[
    str | None, typer.Option("--samples", metavar="SIZE", help="Raw samples kept per run (64 MiB); 0 for none.")
]
Simulate = Annotated[
    list[str] | None,
    typer.Option("--simulate", metavar="KEY=VALUE", help="What the simulated backend plants; repeatable."),
]
Oversubscribe = Annotated[
    bool, typer.Option("--oversubscribe", help="Allow more ranks than cores: times the scheduler.")
]
Output = Annotated[
    str | None,
    typer.Option(
        "--output",
        metavar="FOLDER",
        help="Where runs lie: else COLLMARK_RESULTS, else ./results.",
        callback=refuse_empty,
    ),
]
Label = Annotated[
    str | None, typer.Option("--label", metavar="NAME", help="A name for the run.", callback=refuse_empty)
]
Into = Annotated[
    str | None,
    typer.Option(
        "--into",
        metavar="RUN",
        help="Join this run, or make it: for ranks started by a launcher.",
        callback=refuse_empty,
    ),
]
Launch = Annotated[
    int | None,
    typer.Option("--launch", metavar="N", min=1, help="With --into: be launch N, and measure what it still lacks."),
]
Resume = Annotated[
    str | None,
    typer.Option("--resume", metavar="RUN", help="Measure only what is missing in this run.", autocompletion=runs),
]
Prior = Annotated[
    str | None,
    typer.Option("--prior", metavar="nccl:GPUS", help="NCCL's own model, a prior, beside T; as nccl:HOPPER."),
]
IncludeUnstable = Annotated[
    bool, typer.Option("--include-unstable", help="Let unstable records enter; they do not unless asked.")
]
Expect = Annotated[
    list[str] | None,
    typer.Option(
        "--expect",
        metavar="SYSTEM",
        help="What was measured, as h100-nvlink4 or ndr: shares of its link rate and of published figures; repeatable.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="JSON on stdout, SI units, for machines.")]


def given(parameters: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, list[str]]:
    """Return the texts of the options that were used.

    Parameters
    ----------
    parameters : mapping
        Parsed parameters of a command by their Python names.
    names : mapping of str to str
        Python name to option name.
    """
    used = {}
    for name, option in names.items():
        value = parameters.get(name)
        if isinstance(value, str):
            used[option] = [value]
        elif value:
            used[option] = list(value)
    return used


PLAN_OPTIONS = {
    "operation": "--operation",
    "sizes": "--sizes",
    "dtype": "--dtype",
    "reduction": "--reduction",
    "backend": "--backend",
    "launches": "--launches",
    "precision": "--precision",
    "case_budget": "--case-budget",
    "budget": "--budget",
    "timeout": "--timeout",
    "scheduling": "--scheduling",
    "bind": "--bind",
    "cadence": "--cadence",
    "buffers": "--buffers",
    "in_place": "--in-place",
    "batch": "--batch",
    "groups": "--groups",
    "form": "--form",
    "mpi_library": "--mpi-library",
    "thread_level": "--thread-level",
    "messages": "--messages",
    "traffic": "--traffic",
    "seed": "--seed",
    "samples": "--samples",
    "simulate": "--simulate",
}
"""Python name of each parameter that lays the plan, and the option behind it."""

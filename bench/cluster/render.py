"""Job scripts: the ones in slurm/, with their ``#SBATCH`` lines and variables filled in from a profile and a plan."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path

import msgspec

from collmark.bench.cluster.layout import Shape
from collmark.bench.cluster.profile import Kind, Profile, Runtime
from collmark.bench.cluster.slurm_time import format_limit
from collmark.core.errors import UsageError, excerpt

TEMPLATES = {Kind.TIER_A: "tier-a.sbatch", Kind.TIER_B: "tier-b.sbatch", Kind.NODES: "nodes.sbatch"}
NAMED = "tier-b.sbatch"
"""For nodes that a plan names: without an array, the number of nodes is that of the job."""
COLLECT = "collect.sbatch"
SIGNAL_SECONDS = 180
"""Time from the signal to the limit: for the case that is being measured to end, with its checks."""
COLLECT_SECONDS = 1800
_OPTION = re.compile(r"#SBATCH --([a-z-]+)(?:=(.*))?")
_PATH = re.compile(r"/[A-Za-z0-9_.,+=@:/-]*")


class Script(msgspec.Struct, frozen=True, kw_only=True):
    """A job script.

    Attributes
    ----------
    name : str
        Of the job.
    text : str
        The script.
    """

    name: str
    text: str


class Work(msgspec.Struct, frozen=True, kw_only=True):
    """What one job measures.

    Attributes
    ----------
    shape : Shape
        Its placements.
    backends : tuple of str
        One run for each.
    launches : int
        That its runs are to have when it ends.
    plans : Path
        Folder with the plan of each element, as ``NAME.json``.
    results : Path
        Where its runs lie.
    seconds : float
        Time limit.
    """

    shape: Shape
    backends: tuple[str, ...]
    launches: int
    plans: Path
    results: Path
    seconds: float


def check_folder(results: Path) -> None:
    """Raise UsageError where a folder of results has a name that a job script cannot hold."""
    if not _PATH.fullmatch(str(results)):
        raise UsageError(
            f"--output {excerpt(repr(str(results)))}: a job's output cannot be sent there: use letters, digits and "
            "_.,+=@:- in the names of folders"
        )


def job_script(work: Work, profile: Profile) -> Script:
    """Return the script that measures the placements of one job."""
    shape, largest = work.shape, work.shape.largest
    options = {
        "job-name": f"collmark-{shape.name}",
        "output": f"{work.plans}/%x-{'%A_%a' if shape.is_array else '%j'}.out",
        "nodes": str(largest.nodes),
        "ntasks-per-node": str(largest.ranks_per_node),
        "cpus-per-task": str(cpus_per_task(profile)),
        "time": format_limit(work.seconds),
        "signal": f"B:USR1@{SIGNAL_SECONDS}",
    }
    if shape.is_array:
        options["array"] = ",".join(str(element.placement.nodes) for element in shape.elements)
    if largest.nodelist:
        options["nodelist"] = largest.nodelist
    if profile.gres or profile.gpus_per_node:
        # The whole node's: which GPUs a rank sees is part of what is measured, and a site binds them as it likes.
        name = "gres" if profile.gres else "gpus-per-node"
        options[name] = profile.gres or str(profile.gpus_per_node)
    variables = {
        "results": str(work.results),
        "backends": " ".join(work.backends),
        "launches": str(work.launches),
        "ranks_per_node": str(largest.ranks_per_node),
        "cpus_per_task": str(cpus_per_task(profile)),
        "mpi": profile.mpi,
    }
    if shape.is_array:
        # All that a script sets by default, too: the user's shell may have exported a variable of that name.
        setting = ["nodes=$SLURM_ARRAY_TASK_ID", "name=nodes-$nodes"]
        setting.append(f"plan={shlex.quote(str(work.plans))}/nodes-$nodes.json")
    else:
        (element,) = shape.elements
        variables |= {"name": element.name, "nodes": str(largest.nodes), "plan": f"{work.plans}/{element.name}.json"}
        setting = []
    template = TEMPLATES[shape.kind] if shape.is_array or shape.kind is not Kind.NODES else NAMED
    options |= _site_options(profile)
    lines = [*setting, *_assignments(variables), *_site_lines(profile, shape.kind)]
    return Script(name=shape.name, text=_filled(template, shape.name, options, lines, exclusive=profile.exclusive))


def collect_script(results: Path, plans: Path, profile: Profile) -> Script:
    """Return the script that fits, judges and reports what jobs have measured."""
    options = {"job-name": "collmark-collect", "output": f"{plans}/%x-%j.out", "time": format_limit(COLLECT_SECONDS)}
    kept = {name: value for name, value in _site_options(profile).items() if name not in ("switches", "mem")}
    lines = [*_assignments({"results": str(results)}), *_site_lines(profile, None)]
    return Script(name="collect", text=_filled(COLLECT, "collect", options | kept, lines, exclusive=False))


def cpus_per_task(profile: Profile) -> int:
    """Return the cores of a rank: its share of a full node, whatever the placement, so that only the link differs."""
    return max(1, profile.cpus_per_node // profile.full_node)


def _site_options(profile: Profile) -> dict[str, str]:
    names = ("partition", "account", "qos", "constraint", "reservation", "switches")
    options = {name: getattr(profile, name) for name in names} | {"mem": profile.memory}
    for option in profile.sbatch_options:
        name, _equals, value = option.removeprefix("--").partition("=")
        options[name] = value
    return {name: value for name, value in options.items() if value or f"--{name}" in profile.sbatch_options}


def _site_lines(profile: Profile, kind: Kind | None) -> list[str]:
    """Return the lines that prepare a job's environment."""
    lines = []
    if profile.modules:
        lines += ["# shellcheck source=/dev/null", "command -v module >/dev/null || source /etc/profile"]
        lines += [f"module load {shlex.quote(name)}" for name in profile.modules]
    variables = profile.variables(kind) if kind else profile.environment.get("all", {})
    lines += [f"export {line}" for line in _assignments(variables)]
    python, options = [profile.python], list(profile.srun_options)
    box = profile.container
    if box is not None and box.runtime is Runtime.PYXIS:
        options.append(f"--container-image={box.image}")
        options += [f"--container-mounts={','.join(box.mounts)}"] if box.mounts else []
    elif box is not None:
        binds = [word for mount in box.mounts for word in ("--bind", mount)]
        python = ["apptainer", "exec", *(["--nv"] if profile.gpus_per_node else []), *binds, box.image, *python]
    return [*lines, f"python=({shlex.join(python)})", f"srun_options=({shlex.join(options)})"]


def _assignments(variables: Mapping[str, str]) -> list[str]:
    # What starts with = is right without quotes too, and yet looks like a comparison gone wrong.
    quoted = {name: shlex.quote(value) for name, value in variables.items()}
    return [f"{name}='{word}'" if word.startswith("=") else f"{name}={word}" for name, word in quoted.items()]


def _filled(template: str, name: str, options: dict[str, str], lines: Sequence[str], *, exclusive: bool) -> str:
    """Return a template with other options, and with variables set before it looks at them."""
    written = files("collmark.slurm").joinpath(template).read_text(encoding="utf-8").splitlines()
    body = next(number for number, line in enumerate(written) if line and not line.startswith("#"))
    known = {}
    for line in written[:body]:
        found = _OPTION.fullmatch(line)
        if found:
            known[found[1]] = found[2] or ""
    if not exclusive:
        known.pop("exclusive", None)
    merged = known | options
    heads = [f"#SBATCH --{option}={value}" if value else f"#SBATCH --{option}" for option, value in merged.items()]
    said = f"# {name}: written by collmark slurm from a plan and a profile, to be changed there."
    return "\n".join([written[0], said, *heads, "", *lines, "", *written[body:]]) + "\n"

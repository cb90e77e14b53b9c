"""A site's profile: what its Slurm must be asked for, read from TOML and checked before any job script is written.

Nothing in it can add a line or a word to a job script: values of ``#SBATCH`` lines hold neither spaces nor quotes, all
others are quoted for the shell, and control characters are refused everywhere.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import msgspec

from collmark.bench.cluster.slurm_time import parse_limit
from collmark.core.decoding import decoded, unknown_key
from collmark.core.errors import PlanError, UnknownNameError, UsageError, excerpt, short_path
from collmark.core.numeral import shown

Positive = Annotated[int, msgspec.Meta(ge=1, le=2**20)]
Number = Annotated[int, msgspec.Meta(ge=0, le=2**20)]


class Kind(StrEnum):
    """What a placement is for; the environment of a profile may differ between them."""

    TIER_A = "tier-a"
    """All ranks on one node."""
    TIER_B = "tier-b"
    """As many ranks, one on each node."""
    NODES = "nodes"
    """Full nodes, or nodes that the plan names."""


ALL = "all"
KINDS = (ALL, *Kind)


class Runtime(StrEnum):
    """What starts a container."""

    PYXIS = "pyxis"
    """Slurm's plug-in for enroot: options of srun."""
    APPTAINER = "apptainer"


class Container(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An image that ranks run in.

    Attributes
    ----------
    runtime : Runtime
        What starts it.
    image : str
        A file, or a name that the runtime knows.
    mounts : tuple of str
        ``HOST:CONTAINER``; the folder of results must be among them, unless the site mounts it anyway.
    """

    runtime: Runtime
    image: str
    mounts: tuple[str, ...] = ()


class Profile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a site's Slurm must be asked for; empty text and 0 leave an option away.

    Attributes
    ----------
    partition, account, qos, constraint, reservation, switches, gres : str
        As the options of sbatch of these names; `gres` takes the place of `gpus_per_node` in the request.
    nodes, cpus_per_node, gpus_per_node : int
        Most nodes of one job, and what each has.
    ranks_per_node : int
        Ranks of a full node; 0 for one a GPU, or one a core where there is no GPU.
    exclusive : bool
        Ask for whole nodes: jobs of others on them would be measured as well.
    memory : str
        Of a node, as ``0`` for all or ``64G``.
    time_limit : str
        Longest job that the partition allows, as sbatch writes it.
    modules : tuple of str
        Loaded before anything starts.
    python : str
        Interpreter that has collmark, on the nodes or in the container.
    mpi : str
        What srun is told with ``--mpi`` for ranks of the mpi backend.
    container : Container or None
        An image that ranks run in.
    environment : dict
        Variables for `all` jobs, and for those of one kind: tier-a, tier-b, nodes.
    sbatch_options, srun_options : tuple of str
        What else this site wants, as ``--licenses=scratch``.
    """

    partition: str = ""
    nodes: Positive
    cpus_per_node: Positive
    gpus_per_node: Number = 0
    gres: str = ""
    ranks_per_node: Number = 0
    account: str = ""
    qos: str = ""
    constraint: str = ""
    reservation: str = ""
    switches: str = ""
    exclusive: bool = True
    memory: str = ""
    time_limit: str = ""
    modules: tuple[str, ...] = ()
    python: str = "python3"
    mpi: str = ""
    container: Container | None = None
    environment: dict[str, Any] = {}
    sbatch_options: tuple[str, ...] = ()
    srun_options: tuple[str, ...] = ()

    @property
    def full_node(self) -> int:
        """Ranks of a full node."""
        return self.ranks_per_node or self.gpus_per_node or self.cpus_per_node

    def variables(self, kind: Kind) -> dict[str, str]:
        """Return the environment of jobs of one kind."""
        found: dict[str, str] = self.environment.get(ALL, {}) | self.environment.get(kind, {})
        return found


_WORD = r"[A-Za-z0-9_][A-Za-z0-9_.+-]*"
_PATTERNS = {
    "partition": (rf"{_WORD}(,{_WORD})*", "names with commas between them"),
    "account": (_WORD, "one name"),
    "qos": (_WORD, "one name"),
    "reservation": (rf"{_WORD}(,{_WORD})*", "names with commas between them"),
    "constraint": (r"[A-Za-z0-9_.,:&|*()\[\]+-]+", "features joined by & or |, without spaces"),
    "gres": (r"gpu(:[A-Za-z0-9_.-]+)?:[1-9][0-9]{0,3}", "gpu:TYPE:NUMBER"),
    "switches": (r"[1-9][0-9]{0,4}(@[0-9:-]+)?", "COUNT or COUNT@TIME"),
    "memory": (r"[0-9]{1,9}[KMGT]?", "a number with K, M, G or T, or 0 for all"),
    "mpi": (r"[a-z][a-z0-9_]*", "a name that srun --mpi=list shows"),
}
_OPTION = re.compile(r"--[a-z][a-z-]*(=[A-Za-z0-9_.,:/@%+*=\[\]-]+)?")
_MODULE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+/@:=-]*")
_VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]*")
OURS = frozenset(
    {
        "array", "chdir", "clusters", "cpus-per-task", "dependency", "distribution", "error", "export", "gpu-bind",
        "gpus-per-node", "job-name", "kill-on-bad-exit", "label", "mem", "no-requeue", "nodelist", "ntasks",
        "ntasks-per-node", "open-mode", "output", "parsable", "requeue", "signal", "tasks-per-node", "test-only",
        "time", "wait", "wrap",
    }
)  # fmt: skip
"""Options of sbatch and srun that collmark sets, beside those that are keys of a profile."""


def load_profile(path: Path) -> Profile:
    """Read and check a site's profile.

    Raises
    ------
    PlanError
        With everything that is wrong in the file, each with its key.
    UsageError
        If the file cannot be read.
    """
    where = f"profile {short_path(path)}"
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"{where}: {error.strerror}; collmark slurm init writes one to start from") from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{where}: {error}") from error
    try:
        return profile_from_table(table)
    except PlanError as error:
        raise PlanError([f"{where}: {problem}" for problem in error.problems]) from error


def profile_from_table(table: dict[str, Any]) -> Profile:
    """Return the profile of a TOML table; PlanError naming everything that is wrong."""
    kinds = {field.name: field for field in msgspec.structs.fields(Profile)}
    problems = [f"{name!r} is missing" for name, field in kinds.items() if field.required and name not in table]
    values: dict[str, Any] = {}
    for key, written in table.items():
        if key not in kinds:
            problems.append(unknown_key(key, tuple(kinds)))
            continue
        try:
            values[key] = decoded(written, kinds[key].type, key)
        except UsageError as error:
            problems.append(str(error))
            continue
        problems += _faults(key, values[key])
    if not problems:
        profile = Profile(**values)
        problems += _faults_between(profile)
        if not problems:
            return profile
    raise PlanError(problems)


def _faults(key: str, value: Any) -> Iterator[str]:  # noqa: ANN401 - a field of any type
    """Yield what is wrong with the value of one key, each with the place."""
    for place, text in _texts(key, value):
        if not text.isprintable():
            yield f"{place}: {excerpt(repr(text))}: must be one line without control characters"
            return
    if key in _PATTERNS and value:
        pattern, words = _PATTERNS[key]
        if not re.fullmatch(pattern, value):
            yield f"{key}: {excerpt(repr(value))}: must be {words}"
    elif key in _CHECKS:
        yield from (f"{key}{fault}" for fault in _CHECKS[key](value))


def _texts(place: str, value: object) -> Iterator[tuple[str, str]]:
    """Yield every text that a value holds, with its place."""
    if isinstance(value, str):
        yield place, value
    elif isinstance(value, tuple):
        for text in value:
            yield from _texts(place, text)
    elif isinstance(value, dict):
        for name, inner in value.items():
            yield place, name
            yield from _texts(f"{place}.{name}" if name.isprintable() else place, inner)
    elif isinstance(value, Container):
        yield from _texts(f"{place}.image", value.image)
        yield from _texts(f"{place}.mounts", value.mounts)


def _option_faults(options: Sequence[str]) -> Iterator[str]:
    for option in options:
        name = option.removeprefix("--").partition("=")[0]
        if not _OPTION.fullmatch(option):
            yield f": {excerpt(repr(option))}: must be --option or --option=value, without spaces and quotes"
        elif any(ours.startswith(name) for ours in (*OURS, *Profile.__struct_fields__)):  # its beginning is enough
            yield f": {option}: collmark sets --{name} itself, from the plan and the other keys"


def _environment_faults(tables: dict[str, Any]) -> Iterator[str]:
    for kind, variables in tables.items():
        if kind not in KINDS:
            yield f": {UnknownNameError('kind of job', kind, KINDS)}"
        elif not isinstance(variables, dict):
            yield f".{kind}: {shown(variables)}: must be a table of variables"
        else:
            for name, value in variables.items():
                if not _VARIABLE.fullmatch(name):
                    yield f".{kind}: {excerpt(repr(name))}: must be a variable's name in capitals"
                elif not isinstance(value, str):
                    yield f".{kind}.{name}: {shown(value)}: must be text, in quotes"


def _limit_faults(text: str) -> Iterator[str]:
    try:
        if text:
            parse_limit(text)
    except UsageError as error:
        yield f": {error}"


_CHECKS: dict[str, Callable[[Any], Iterable[str]]] = {
    "time_limit": _limit_faults,
    "python": lambda python: [] if python.strip() else [": must name an interpreter"],
    "modules": lambda names: [
        f": {excerpt(repr(n))}: must be a module's name" for n in names if not _MODULE.fullmatch(n)
    ],
    "sbatch_options": _option_faults,
    "srun_options": _option_faults,
    "environment": _environment_faults,
    "container": lambda box: [".image: must name an image"] if box and not box.image.strip() else [],
}
"""What is wrong with the value of a key, each fault with what follows the key."""


def _faults_between(profile: Profile) -> Iterator[str]:
    if profile.gres and int(profile.gres.rpartition(":")[2]) != profile.gpus_per_node:
        yield f"gres: {profile.gres}: must give as many GPUs as gpus_per_node, {profile.gpus_per_node}"
    most = profile.gpus_per_node or profile.cpus_per_node
    if profile.ranks_per_node > most:
        what = "GPUs" if profile.gpus_per_node else "cores"
        yield f"ranks_per_node: {profile.ranks_per_node}: a node has {most} {what}; one for each rank"

"""A profile to start from: what sinfo and scontrol say of a partition; what they do not is a comment."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

import msgspec

from collmark.bench.cluster.client import ask, fields
from collmark.core.errors import UnknownNameError, UsageError

MPI_PREFERRED = ("pmix", "pmi2")


class Nodes(msgspec.Struct, frozen=True, kw_only=True):
    """Nodes of one kind in a partition, a line of sinfo.

    Attributes
    ----------
    partition : str
        Its name.
    is_default : bool
        Whether jobs go there that name none.
    limit : str
        Longest job, or ``infinite``.
    nodes, broken : int
        How many take jobs, and how many do not now: down, drained.
    most : int
        Nodes of one job that the partition allows; 0 for no limit.
    cpus, threads : int
        The processors of each as Slurm counts them, and how many of these a core has.
    gpus : int
        Of each.
    gres, features : str
        As Slurm writes them; empty for none.
    """

    partition: str
    is_default: bool
    limit: str
    nodes: int
    broken: int
    most: int
    cpus: int
    threads: int
    gpus: int
    gres: str
    features: str


def read_nodes(lines: Sequence[Sequence[str]]) -> list[Nodes]:
    """Return the lines of ``sinfo --format=%P|%R|%l|%F|%s|%c|%z|%G|%f``, each as its fields."""
    found = []
    for shown, partition, limit, by_state, sizes, cpus, shape, gres, features in lines:
        _allocated, _idle, other, total = map(int, by_state.split("/"))
        most = sizes.rpartition("-")[2]  # of 1-infinite, 1-4
        gpus = re.findall(r"gpu(?::[^:,()]+)?:(\d+)", gres)
        found.append(
            Nodes(
                partition=partition,
                is_default=shown.endswith("*"),
                limit=limit,
                nodes=total - other or total,
                broken=other if other < total else 0,
                most=int(most) if most.isdecimal() else 0,
                cpus=int(cpus.rstrip("+")),
                threads=int(shape.split(":")[-1].rstrip("+")),
                gpus=sum(map(int, gpus)),
                gres="" if gres == "(null)" else gres,
                features="" if features == "(null)" else features,
            )
        )
    return found


def choose(nodes: Sequence[Nodes], partition: str | None) -> Nodes:
    """Return the most numerous nodes of a partition, or of the default one.

    Raises
    ------
    UsageError
        If there is no such partition, or none is the default.
    """
    names = list(dict.fromkeys(one.partition for one in nodes))
    if not names:
        raise UsageError("sinfo shows no partition that you may use")
    if partition is not None and partition not in names:
        raise UnknownNameError("partition", partition, names)
    fitting = [one for one in nodes if (one.is_default if partition is None else one.partition == partition)]
    if not fitting:
        raise UsageError(f"no partition is the default: name one with --partition: {', '.join(names)}")
    return max(fitting, key=lambda one: one.nodes)


def mpi_types(text: str) -> list[str]:
    """Return the names that ``srun --mpi=list`` shows, on either stream, one a line."""
    return [line.strip() for line in text.splitlines() if re.fullmatch(r"\s*[a-z][a-z0-9_]*\s*", line)]


def describe(chosen: Nodes, nodes: Sequence[Nodes], config: str, mpi: Sequence[str], python: str) -> str:
    """Return a profile for these nodes.

    Parameters
    ----------
    chosen : Nodes
        What jobs are to run on.
    nodes : sequence of Nodes
        All there are, to name other partitions.
    config : str
        What ``scontrol show config`` prints.
    mpi : sequence of str
        What srun can be told with --mpi.
    python : str
        Interpreter that runs this.
    """
    version = re.search(r"^SLURM_VERSION\s*=\s*(\S+)", config, re.MULTILINE)
    cluster = re.search(r"^ClusterName\s*=\s*(\S+)", config, re.MULTILINE)
    others = sorted({one.partition for one in nodes} - {chosen.partition})
    known = next((name for name in MPI_PREFERRED if name in mpi), "")
    limit = "" if chosen.limit in ("infinite", "UNLIMITED", "n/a") else chosen.limit
    alike = sum(one.nodes for one in nodes if one.partition == chosen.partition)
    where = f"{cluster[1] if cluster else 'A site'}, Slurm {version[1] if version else 'of unknown version'}"
    lines = [
        f"# {where}, written by collmark slurm init. Lines behind # are not known, or not needed.",
        f"partition = {_text(chosen.partition)}" + (f"  # others: {', '.join(others)}" if others else ""),
        _nodes_line(chosen, alike),
        f"cpus_per_node = {chosen.cpus}",
        f"gpus_per_node = {chosen.gpus}" if chosen.gpus else "# gpus_per_node = 0",
        f"# gres = {_text(chosen.gres.partition('(')[0])}  # in place of --gpus-per-node, where the site wants it so"
        if chosen.gpus
        else '# gres = ""',
        _ranks_line(chosen),
        '# account = ""',
        '# qos = ""',
        f"# constraint = {_text('&'.join(chosen.features.split(',')))}" if chosen.features else '# constraint = ""',
        '# reservation = ""',
        '# switches = ""  # "1" for nodes of one switch, "1@30:00" to wait for them no longer',
        "exclusive = true  # jobs of others on the same nodes would be measured as well",
        '# memory = "0"  # all of a node, where jobs get little by default',
        f"time_limit = {_text(limit)}" if limit else '# time_limit = ""  # the partition has none',
        '# modules = ["cuda", "openmpi"]',
        f"python = {_text(python)}  # this one; nodes must see it",
        f"mpi = {_text(known)}  # srun --mpi=list: {', '.join(mpi)}" if known else '# mpi = "pmix"',
        "",
        "# [container]",
        '# runtime = "pyxis"  # or "apptainer"',
        '# image = "/shared/collmark.sqsh"',
        '# mounts = ["/shared:/shared"]  # with the folder of results',
        "",
        "# Variables of all jobs, and of those of one tier.",
        "# [environment.all]",
        '# NCCL_SOCKET_IFNAME = "eth0"',
        "# [environment.tier-b]",
        '# NCCL_IB_HCA = "mlx5"',
    ]
    return "\n".join(lines) + "\n"


def _nodes_line(chosen: Nodes, alike: int) -> str:
    said = [
        *([f"the partition allows no more, of {chosen.nodes}"] if 0 < chosen.most < chosen.nodes else []),
        *([f"{alike} in the partition"] if alike > chosen.nodes else []),
        *([f"{chosen.broken} more were down or drained"] if chosen.broken else []),
    ]
    nodes = min(chosen.nodes, chosen.most or chosen.nodes)
    return f"nodes = {nodes}  # " + "; ".join(["most of one job", *said])


def _ranks_line(chosen: Nodes) -> str:
    if chosen.threads > 1 and not chosen.gpus:
        cores = chosen.cpus // chosen.threads
        return f"ranks_per_node = {cores}  # one a core, which Slurm counts as {chosen.threads}"
    return "# ranks_per_node = 0  # one a GPU, or a core; less where a rank needs several cores"


def _text(text: str) -> str:
    return json.dumps(text)  # a string of JSON is one of TOML


def profile_of_site(partition: str | None, python: str) -> str:
    """Return a profile of the partition, or of the default one.

    Raises
    ------
    UnavailableError
        If Slurm is not here or does not answer.
    UsageError
        If there is no such partition.
    """
    nodes = read_nodes(fields(["sinfo", "--noheader", "--format=%P|%R|%l|%F|%s|%c|%z|%G|%f"], 9))
    chosen = choose(nodes, partition)
    listed = ask(["srun", "--mpi=list"])
    return describe(chosen, nodes, ask(["scontrol", "show", "config"]), mpi_types(listed), python)

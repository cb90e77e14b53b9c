"""Which jobs a plan becomes on a site: the ranks and nodes of each."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from collmark.bench.cluster.profile import Kind, Profile
from collmark.core.errors import PlanError
from collmark.core.numeral import counted
from collmark.core.placement import Placement

LARGEST_INDEX = 1000
"""Of an array, unless the site allows more; source: slurm.conf(5), MaxArraySize."""


class Element(msgspec.Struct, frozen=True, kw_only=True):
    """One placement that is measured by itself, a job or an element of an array.

    Attributes
    ----------
    name : str
        Its runs lie in ``NAME-BACKEND``.
    placement : Placement
        Its nodes and ranks.
    """

    name: str
    placement: Placement


class Shape(msgspec.Struct, frozen=True, kw_only=True):
    """One job to submit.

    Attributes
    ----------
    name : str
        Of the job.
    elements : tuple of Element
        All have as many ranks on each node.
    is_array : bool
        Whether the elements are those of an array, whose indices are their numbers of nodes.
    """

    name: str
    elements: tuple[Element, ...]
    is_array: bool = False

    @property
    def largest(self) -> Placement:
        """The placement with the most nodes: what the whole array is submitted with."""
        return max((element.placement for element in self.elements), key=lambda placement: placement.nodes)

    @property
    def kind(self) -> Kind:
        """What it is for."""
        if self.is_array:
            return Kind.NODES
        if self.largest.nodes == 1:
            return Kind.TIER_A
        return Kind.TIER_B if self.largest.ranks_per_node == 1 else Kind.NODES


def shapes_of(placements: Sequence[Placement], profile: Profile) -> tuple[tuple[Shape, ...], tuple[str, ...]]:
    """Return the jobs for a plan's placements, or where it has none those that tell tiers and scaling; and notices.

    Raises
    ------
    PlanError
        If the site has not so many nodes, cores or GPUs.
    """
    if placements:
        return _named(placements, profile), ()
    full, nodes = profile.full_node, profile.nodes
    ranks = min(full, nodes)
    if full * nodes == 1:
        raise PlanError(["profile: one node with one rank: there is nobody to communicate with"])
    shapes: list[Shape] = []
    notices: list[str] = []
    if ranks > 1:
        shapes.append(_shape("tier-a", Placement(nodes=1, ranks_per_node=ranks)))
        shapes.append(_shape("tier-b", Placement(nodes=ranks, ranks_per_node=1)))
    else:
        what = "one node" if nodes == 1 else "one rank on a node"
        notices.append(f"the profile has {what}: tier A and tier B cannot be set side by side")
    if 1 < ranks < full:
        notices.append(
            f"tier A shrinks to {ranks} of a node's {counted(full, 'rank')}: tier B needs a node for each, and the "
            f"profile has {counted(nodes, 'node')}; the full node is measured beside 2, 4 ... full nodes"
        )
    counts = [2**power for power in range(nodes.bit_length())]
    if ranks == full:  # then tier A is the one full node
        counts = counts[1:]
    elements = [
        Element(name=f"nodes-{count}", placement=Placement(nodes=count, ranks_per_node=full)) for count in counts
    ]
    if elements:
        in_array = tuple(element for element in elements if element.placement.nodes <= LARGEST_INDEX)
        shapes.append(Shape(name="nodes", elements=in_array, is_array=True))
        shapes += [_shape(one.name, one.placement) for one in elements if one not in in_array]
    return tuple(shapes), tuple(notices)


def _named(placements: Sequence[Placement], profile: Profile) -> tuple[Shape, ...]:
    """Return a job for each placement that a plan names."""
    problems = []
    most = profile.gpus_per_node or profile.cpus_per_node
    for placement in placements:
        if placement.nodes > profile.nodes:
            problems.append(f"placements: {placement}: the profile has {counted(profile.nodes, 'node')}")
        if placement.ranks_per_node > most:
            what = "GPU" if profile.gpus_per_node else "core"
            problems.append(f"placements: {placement}: a node of the profile has {counted(most, what)}, one a rank")
    names = [_file_name(placement.label or str(placement)) for placement in placements]
    problems += [
        f"placements: {name} would name two jobs: label them" for name in sorted(set(names)) if names.count(name) > 1
    ]
    if problems:
        raise PlanError(problems)
    return tuple(_shape(name, placement) for name, placement in zip(names, placements, strict=True))


def _file_name(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9._]+", "-", text)


def _shape(name: str, placement: Placement) -> Shape:
    return Shape(name=name, elements=(Element(name=name, placement=placement),))

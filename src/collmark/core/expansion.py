"""From a plan to its cases."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import product

import msgspec

from collmark.core.case import Buffers, Cadence, Case, Device, Form, InPlace
from collmark.core.dtype import DTYPES, Dtype
from collmark.core.errors import PlanError, UnknownNameError, UsageError
from collmark.core.grouping import ALL, PAIRS, Company, Group, groups_of
from collmark.core.numeral import counted
from collmark.core.operation import Exchange, Operation, check_ranks
from collmark.core.operation_table import OPERATIONS
from collmark.core.payload import contribution_of
from collmark.core.placement import Placement
from collmark.core.plan import Plan
from collmark.core.sweep import parse_sweep
from collmark.core.traffic import DEFAULT_TRAFFIC, Given, check_traffic, counts_of, law_of
from collmark.core.units import format_nbytes

IN_FLIGHT = 64 * 2**20  # bytes that a stream, or calls back to back, aim to move at large sizes
LEAST_TOGETHER = 4  # messages, or calls
NAMED = 3  # operations that a notice names
ONLY_FOR = (
    ("traffic", "ragged", "is ragged, as all_to_all_v is"),
    ("messages", "streams", "is a stream"),
    ("reductions", "reduces", "reduces"),
)
"""Fields of a plan, the kind of operation that each is for, and that kind in words."""
ONLY_FOR_MPI = ("mpi_library", "thread_level")


class Capability(msgspec.Struct, frozen=True, kw_only=True):
    """What a backend can do; known without importing its library.

    Attributes
    ----------
    operations : mapping of str to bool
        Operations, each with whether its call works in place by nature.
    also_in_place : tuple of str
        Those of the others that can be called in place as well.
    cadences : tuple of Cadence
        How its calls can follow each other.
    temperatures : tuple of Buffers
        Which buffers it can be given.
    dtypes, reductions : tuple of str
        Names.
    except_for : mapping of (reduction, is_integer) to str
        Reductions it refuses for integer or floating types, with the reason.
    device : Device
        Where its buffers lie.
    forms : tuple of Form
        How its operations can be called.
    takes_thread_level : bool
        Whether figures depend on a thread level that its library is asked for.
    unreduced : mapping of str to str
        Element types that it moves and does not reduce, with the reason.
    """

    operations: Mapping[str, bool]
    dtypes: tuple[str, ...]
    reductions: tuple[str, ...]
    also_in_place: tuple[str, ...] = ()
    cadences: tuple[Cadence, ...] = (Cadence.ISOLATED, Cadence.STREAMING)
    temperatures: tuple[Buffers, ...] = tuple(Buffers)
    except_for: Mapping[tuple[str, bool], str] = {}
    device: Device = Device.CPU
    forms: tuple[Form, ...] = (Form.BLOCKING,)
    takes_thread_level: bool = False
    unreduced: Mapping[str, str] = {}

    def refusal(self, operation: Operation, dtype: Dtype, reduction: str) -> str:
        """Return why the combination cannot be done, empty where it can."""
        if operation.name not in self.operations:
            return f"has no {operation.name}; it has {', '.join(self.operations)}"
        if dtype.name not in self.dtypes:
            return f"has no {dtype.name}; it has {', '.join(self.dtypes)}"
        if reduction and reduction not in self.reductions:
            return f"has no {reduction}; it has {', '.join(self.reductions)}"
        if reduction and dtype.name in self.unreduced:
            return self.unreduced[dtype.name]
        return self.except_for.get((reduction, dtype.is_integer), "")

    def can_be(self, place: InPlace, operation: str) -> bool:
        """Whether an operation can be called with one buffer (or with two)."""
        by_nature = self.operations[operation]
        return by_nature is (place is InPlace.YES) or (not by_nature and operation in self.also_in_place)


class Expansion(msgspec.Struct, frozen=True, kw_only=True):
    """The cases of a plan, in the plan's order, and what was left out or rounded."""

    cases: tuple[Case, ...]
    notices: tuple[str, ...]


class _Point(msgspec.Struct, frozen=True, kw_only=True):
    """One combination of a plan's axes, but for the size."""

    backend: str
    operation: Operation
    dtype: Dtype
    reduction: str
    traffic: str
    cadence: Cadence
    buffers: Buffers
    place: InPlace | None
    """None for what the call does by nature."""
    form: Form
    group: Group | None
    placement: Placement


def expand(plan: Plan, placement: Placement, capabilities: Mapping[str, Capability]) -> Expansion:
    """Return the cases of `plan` on `placement`.

    Raises
    ------
    PlanError
        Naming every combination that a backend refuses, with the reason: nothing has been started then.
    """
    cases: dict[str, Case] = {}
    dropped: dict[str, list[int]] = {}
    unplaced: dict[InPlace, dict[str, None]] = {}
    merged = 0
    groups, problems, ungrouped = _groups(plan, placement)
    for point in _combinations(plan, placement, groups):
        operation = point.operation
        capability = capabilities.get(point.backend)
        if capability is None:
            problems.append(str(UnknownNameError("backend", point.backend, tuple(capabilities))))
            continue
        refused = _refusal(capability, point)
        if refused:
            problems.append(f"{point.backend}: {refused}")
            continue
        if point.place and not capability.can_be(point.place, operation.name):
            unplaced.setdefault(point.place, {})[f"{point.backend} {operation.name}"] = None
            continue
        for requested in _sizes(plan, point):
            case = _case(plan, capability, point, requested)
            if operation.sized and case.nbytes == 0:
                ragged = "" if point.traffic == DEFAULT_TRAFFIC else point.traffic
                dropped.setdefault(f"{operation.name} {point.dtype.name} {ragged}".rstrip(), []).append(requested)
            elif case.key in cases:
                merged += 1
            else:
                cases[case.key] = case
    if problems:
        raise PlanError(list(dict.fromkeys(problems)))
    notices = [*ungrouped, *_notices(dropped, merged), *_unplaced_words(unplaced), *_idle(plan, capabilities)]
    if not cases:
        ranks = counted(placement.ranks, "rank")
        nothing = f"no size of {plan.sizes} holds {_least(dropped)} per rank on {ranks}"
        raise PlanError([*([] if groups else ungrouped), *_unplaced_words(unplaced)] or [nothing])
    notices += dict.fromkeys(_of_files(plan, cases.values()))
    return Expansion(cases=tuple(cases.values()), notices=tuple(notices))


def _groups(plan: Plan, placement: Placement) -> tuple[list[Group | None], list[str], list[str]]:
    """Return the groups of a plan on a placement, None for all ranks; what is wrong, and what is left out."""
    groups: list[Group | None] = []
    problems, ungrouped = [], []
    for arrangement in plan.groups:
        if arrangement == ALL:
            groups.append(None)
            continue
        try:
            together = groups_of(arrangement, placement, Company.TOGETHER)
            if together[0].is_pair:  # all of a round at once is what they are for
                groups += together
                continue
            alone = groups_of(arrangement, placement, Company.ALONE)
        except UsageError as error:
            problems.append(f"groups {error}")
            continue
        if len(alone) == 1:
            ungrouped.append(
                f"groups {arrangement}: left out on {placement}, where it is one group of all ranks, as {ALL} is"
            )
        else:
            groups += [*alone, *together]
    return groups, problems, ungrouped


def _sizes(plan: Plan, point: _Point) -> Iterable[int]:
    if not point.operation.sized:
        return (0,)
    own = law_of(point.traffic).own_nbytes if point.operation.ragged else None
    return parse_sweep(plan.sizes) if own is None else (own,)


def _least(dropped: Iterable[str]) -> str:
    """Return what a size must hold, in words."""
    return "one element, of moe one token," if any(" moe:" in what for what in dropped) else "one element"


def _unplaced_words(unplaced: Mapping[InPlace, Mapping[str, None]]) -> Iterator[str]:
    for place, names in unplaced.items():
        more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
        how = "be called in place" if place is InPlace.YES else "leave send and receive buffer apart"
        yield f"in_place {place}: left out where the call cannot {how} ({', '.join(list(names)[:NAMED])}{more})"


def _notices(dropped: Mapping[str, list[int]], merged: int) -> tuple[str, ...]:
    notices = []
    if dropped:
        largest = max(max(sizes) for sizes in dropped.values())
        more = f" and {len(dropped) - NAMED} more" if len(dropped) > NAMED else ""
        notices.append(
            f"left out {counted(sum(map(len, dropped.values())), 'size')} up to {format_nbytes(largest)}, below "
            f"{_least(dropped)} per rank ({', '.join(list(dropped)[:NAMED])}{more})"
        )
    if merged:
        rounds = "rounds" if merged == 1 else "round"
        notices.append(f"{counted(merged, 'size')} {rounds} to the same whole elements as another: measured once")
    return tuple(notices)


def _of_files(plan: Plan, cases: Iterable[Case]) -> Iterator[str]:
    """Yield which file is behind each digest, and what is rounded away of one that is taken as it is."""
    for case in cases:
        law = law_of(case.traffic) if case.traffic else None
        if not isinstance(law, Given) or law.digest not in plan.matrices:
            continue
        name = plan.matrices[law.digest].name
        if law.is_scaled:
            yield f"{case.traffic} is {name}, scaled to the sizes"
            continue
        yield f"{case.traffic} is {name} as it is, {law.own_nbytes} B at the heaviest rank whatever the sizes"
        sent, counts = law.counts(0, case.placement.ranks, 1), case.exchange.counts or ()
        lost = sum(map(sum, sent)) - sum(map(sum, counts)) * case.exchange.itemsize
        if lost:
            yield f"{lost} B of {case.traffic} are no whole {case.dtype} and left out: --dtype uint8 moves every byte"


def _idle(plan: Plan, capabilities: Mapping[str, Capability]) -> Iterator[str]:
    """Yield what a plan sets and none of its operations or backends takes; defaults are not set."""
    default, operations = Plan(), [OPERATIONS[name] for name in plan.operations]
    for field, kind, words in ONLY_FOR:
        value = getattr(plan, field)
        if value != getattr(default, field) and not any(getattr(operation, kind) for operation in operations):
            text = ", ".join(value) if isinstance(value, tuple) else value
            yield f"{field} {text}: no effect, since no operation of the plan {words}"
    if plan.batch != default.batch and Cadence.STREAMING not in plan.cadences:
        yield f"batch {plan.batch}: no effect, since no cadence of the plan is {Cadence.STREAMING}"
    if not any(capabilities[name].takes_thread_level for name in plan.backends):
        for field in ONLY_FOR_MPI:
            if getattr(plan, field) != getattr(default, field):
                yield f"{field} {getattr(plan, field)}: no effect, since no backend of the plan is MPI"


def _combinations(plan: Plan, placement: Placement, groups: Iterable[Group | None]) -> Iterator[_Point]:
    for backend in plan.backends:
        for name in plan.operations:
            operation = OPERATIONS[name]
            # Without payload or reduction an axis has one point.
            for dtype in plan.dtypes if operation.sized else plan.dtypes[:1]:
                for reduction in plan.reductions if operation.reduces else ("",):
                    for traffic, cadence, buffers, place, form, group in product(
                        plan.traffic.split(",") if operation.ragged else ("",),
                        plan.cadences,
                        plan.buffers if operation.sized else (Buffers.SAME,),
                        plan.in_place if operation.sized and plan.in_place else (None,),
                        plan.forms,
                        groups,
                    ):
                        yield _Point(
                            backend=backend,
                            operation=operation,
                            dtype=DTYPES[dtype],
                            reduction=reduction,
                            traffic=traffic,
                            cadence=cadence,
                            buffers=buffers,
                            place=place,
                            form=form,
                            group=group,
                            placement=placement if group is None else group.placement,
                        )


def _refusal(capability: Capability, point: _Point) -> str:
    operation, dtype, reduction, ranks = point.operation, point.dtype, point.reduction, point.placement.ranks
    what = f"{operation.name} {dtype.name} {reduction}".rstrip()
    refused = capability.refusal(operation, dtype, reduction)
    if refused:
        return f"{what}: {refused}"
    if point.group is not None and point.group.is_pair and not (operation.pair or operation.name == "send_recv"):
        return f"{what}: {PAIRS}... are of two ranks each, for operations between two"
    ways = (
        ("form", point.form, capability.forms),
        ("cadence", point.cadence, capability.cadences),
        ("buffers", point.buffers, capability.temperatures),
    )
    for kind, way, known in ways:
        if way not in known:
            return f"has no {way} {kind}; it has {', '.join(known)}"
    # With one result for all epochs stale data would pass.
    if reduction and contribution_of(reduction, ranks, dtype).span < 2:
        return f"{what}: a result over {counted(ranks, 'rank')} cannot be checked exactly"
    try:
        check_ranks(operation, ranks)
        if operation.ragged:
            check_traffic(point.traffic, ranks=ranks, itemsize=dtype.itemsize)
    except ValueError as error:
        return str(error)
    return ""


def _case(plan: Plan, capability: Capability, point: _Point, requested: int) -> Case:
    ranks, operation, dtype = point.placement.ranks, point.operation, point.dtype
    block = operation.block_of(requested, ranks=ranks, itemsize=dtype.itemsize)
    counts = None
    if operation.ragged:
        counts = counts_of(point.traffic, nbytes=requested, ranks=ranks, itemsize=dtype.itemsize)
    nbytes = operation.nbytes_of(Exchange(ranks=ranks, block=block, itemsize=dtype.itemsize, counts=counts))
    together = max(LEAST_TOGETHER, IN_FLIGHT // max(1, nbytes))
    in_place = capability.operations[operation.name] if point.place is None else point.place is InPlace.YES
    return Case(
        operation=operation.name,
        backend=point.backend,
        dtype=dtype.name,
        placement=point.placement,
        group=point.group,
        nbytes=nbytes,
        requested_nbytes=requested,
        reduction=point.reduction,
        device=capability.device,
        traffic=point.traffic,
        scheduling=plan.scheduling,
        binding=plan.binding,
        cadence=point.cadence,
        buffers=point.buffers,
        in_place=in_place,
        directions=operation.both_ways(ranks),
        messages=min(plan.messages, together) if operation.streams else 1,
        batch=min(plan.batch, together) if point.cadence is Cadence.STREAMING else 1,
        form=point.form,
        thread_level=plan.thread_level if capability.takes_thread_level else "",
    )

"""What the ranks of a launch know of each other: what each says when it joins, and what a backend sees of them."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Collection

import msgspec

from collmark.bench import environment
from collmark.bench.doctor.gather import Told
from collmark.bench.handshake import Hello
from collmark.bench.job import Job, Seat
from collmark.core.errors import UsageError, excerpt
from collmark.core.plan import Plan

NAMED = 3  # fields that differ


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """What another rank says once all are there: the plan it was started with, or why it cannot do its part.

    `load_seconds` is what it took to load the backend's library.
    """

    plan: Plan
    told: Told
    refused: str = ""
    load_seconds: float = 0.0


class Roster(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """What rank 0 tells everybody once all are there.

    Attributes
    ----------
    one_host : bool
        All ranks share one loopback.
    host : str
        Address by which every rank reaches rank 0.
    """

    one_host: bool
    host: str


class Group(msgspec.Struct, frozen=True, kw_only=True):
    """A backend's view of the ranks (:class:`collmark.bench.session.World`)."""

    rank: int
    ranks: int
    local_rank: int
    one_host: bool
    host: str
    address: str
    timeout: float
    hand_over: Callable[[bytes], bytes]
    plan: Plan = Plan()

    def share(self, value: bytes) -> bytes:
        """Return rank 0's value on every rank."""
        return self.hand_over(value)


def hello_of(seat: Seat) -> Hello:
    """Return what this process says of itself when it joins."""
    return Hello(
        rank=seat.rank,
        ranks=seat.ranks,
        host=socket.gethostname(),
        clock=environment.clock_id(),
        network=environment.network_id(),
        pid=os.getpid(),
        cores=environment.usable_core_ids(),
        purpose="",
        proof=b"",
        nonce=b"",
        age=max(0.0, environment.process_age()),
    )


def report_of(plan: Plan, told: Told, refused: str = "", load_seconds: float = 0.0) -> Report:
    """Return what this rank says of itself."""
    return Report(plan=_sent(plan), told=told, refused=refused, load_seconds=load_seconds)


def _sent(plan: Plan) -> Plan:
    """Return a plan without its matrices, which can be large: they are known by the digest in `traffic`."""
    return msgspec.structs.replace(plan, matrices={})


def check_plan_of(name: str, report: Report, own: Plan) -> None:
    """Raise UsageError where another rank was started with another plan than rank 0, whose plan is measured."""
    there, here = report.plan, _sent(own)
    fields = [field for field in Plan.__struct_fields__ if getattr(there, field) != getattr(here, field)]
    if fields:
        each = [f"{field} {_words(there, field)} (rank 0: {_words(here, field)})" for field in fields[:NAMED]]
        more = f" and {len(fields) - NAMED} more" if len(fields) > NAMED else ""
        raise UsageError(
            f"{name} was started with another plan: {', '.join(each)}{more}; start all ranks with the same plan and "
            "options"
        )


def _words(plan: Plan, field: str) -> str:
    value = getattr(plan, field)
    return excerpt(", ".join(map(str, value)) if isinstance(value, tuple) else str(value)) or "none"


def emulates_hosts(networks: Collection[str]) -> bool:
    """Whether ranks lie in several networks of one running kernel: what joins them is no link between machines.

    Parameters
    ----------
    networks : collection of str
        As :func:`collmark.bench.environment.network_id` names that of each rank.
    """
    return len(set(networks)) > 1 and len({network.rpartition(" ")[0] for network in networks}) == 1


def group_of(job: Job, seat: Seat, roster: Roster, address: str, share: Callable[[bytes], bytes]) -> Group:
    """Return what a backend is told when it is opened."""
    return Group(
        rank=seat.rank,
        ranks=seat.ranks,
        local_rank=seat.local_rank,
        one_host=roster.one_host,
        host=roster.host,
        address=address,
        timeout=job.plan.timeout,
        hand_over=share,
        plan=job.plan,
    )

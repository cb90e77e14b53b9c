"""What the system's scheduler may do with ranks: their scheduling class, and the cores they may run on.

SCHED_FIFO keeps other work from taking slices out of a measurement; bound cores keep the library's threads from
wandering between cores, which shows as slow changes of level within a launch.
"""

from __future__ import annotations

import os

from collmark.core.case import Binding, Scheduling
from collmark.core.errors import UnavailableError

FIFO_PRIORITY = 1  # above all ordinary work, below what the system itself runs in real time


def refusal() -> str:
    """Return why this process may not use SCHED_FIFO, empty where it may; nothing is left changed."""
    if not hasattr(os, "sched_setscheduler"):
        return "this system has no SCHED_FIFO"
    policy, parameters = os.sched_getscheduler(0), os.sched_getparam(0)
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(FIFO_PRIORITY))
    except OSError as error:
        return f"SCHED_FIFO is not permitted here: {error.strerror}"
    os.sched_setscheduler(0, policy, parameters)
    return ""


def apply(scheduling: Scheduling) -> None:
    """Put this process, and all threads it starts from now on, into a scheduling class."""
    if scheduling is not Scheduling.FIFO:
        return
    reason = refusal()
    if reason:
        msg = f"{reason}; use --scheduling other, or give the right (ulimit -r, CAP_SYS_NICE)"
        raise UnavailableError(msg)
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(FIFO_PRIORITY))


def bind(binding: Binding, local_rank: int, local_ranks: int) -> None:
    """Give this process, and all threads it starts from now on, its share of the host's cores."""
    if binding is Binding.NONE:
        return
    if not hasattr(os, "sched_setaffinity"):
        msg = "this system cannot bind processes to cores; use --bind none"
        raise UnavailableError(msg)
    cores = sorted(os.sched_getaffinity(0))
    share = len(cores) // local_ranks
    if share == 0:
        msg = f"{local_ranks} ranks cannot have a core each, there are {len(cores)}; use --bind none"
        raise UnavailableError(msg)
    os.sched_setaffinity(0, cores[share * local_rank : share * (local_rank + 1)])


def name() -> str:
    """Return the scheduling class in force, as a record shows it."""
    if not hasattr(os, "sched_getscheduler"):
        return "other"
    policy = os.sched_getscheduler(0)
    return {os.SCHED_OTHER: "other", os.SCHED_FIFO: "fifo", os.SCHED_RR: "round-robin"}.get(policy, str(policy))

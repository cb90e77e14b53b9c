"""What differs between the environments of two sides, what matters first."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from collmark.analysis.facts import facts_of
from collmark.analysis.results import Results
from collmark.core.plan import Plan

FIRST = (
    "nccl", "rccl", "mpi", "ucx", "libfabric", "gloo", "cuda", "driver", "torch", "processor", "hosts", "system",
    "governor", "$nccl", "$ucx", "$", "scheduling", "timing loop", "plan.", "collmark",
)  # fmt: skip
"""Beginnings of names in the order of what moves figures most; all others come between the last two."""
ABSENT = "not set"
OF_PLAN = ("simulation", "precision", "case_budget", "seed")
"""What of a plan is no part of a case, and moves figures or how well they are known."""
MOST_VALUES = 3


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """A fact that is not the same on both sides; each side's values, each once."""

    name: str
    a: tuple[str, ...]
    b: tuple[str, ...]

    @property
    def words(self) -> str:
        """The difference as ``NCCL 2.27.5 -> 2.28.3``."""
        return f"{self.name} {_joined(self.a)} -> {_joined(self.b)}"


def differences(a: Iterable[Results], b: Iterable[Results]) -> tuple[Difference, ...]:
    """Return what was recorded of two sides and is not the same, what matters first."""
    one, two = _facts(a), _facts(b)
    names = {**dict.fromkeys(one), **dict.fromkeys(two)}
    found = [
        Difference(name=name, a=one.get(name, (ABSENT,)), b=two.get(name, (ABSENT,)))
        for name in names
        if one.get(name) != two.get(name)
    ]
    return tuple(sorted(found, key=lambda difference: _rank(difference.name)))


def _rank(name: str) -> int:
    low = name.lower()
    # The longest beginning: $nccl before $.
    fitting = [beginning for beginning in FIRST if low.startswith(beginning)]
    return FIRST.index(max(fitting, key=len)) if fitting else len(FIRST) - 2


def _facts(results: Iterable[Results]) -> dict[str, tuple[str, ...]]:
    found: dict[str, dict[str, None]] = {}
    for one in results:
        for fact in facts_of(one.run):
            found.setdefault(fact.name, {})[fact.value] = None
            if fact.host:
                found.setdefault("hosts", {})[fact.host] = None
        for name in OF_PLAN:
            found.setdefault(f"plan.{name}", {})[_shown(one.run.plan, name)] = None
        found.setdefault("collmark", {})[one.run.version] = None
    return {name: tuple(sorted(values)) for name, values in found.items()}


def _shown(plan: Plan, name: str) -> str:
    value = getattr(plan, name)
    if isinstance(value, dict):
        return ", ".join(f"{key}={own}" for key, own in value.items()) or ABSENT
    return str(value)


def _joined(values: tuple[str, ...]) -> str:
    more = f" and {len(values) - MOST_VALUES} more" if len(values) > MOST_VALUES else ""
    return ", ".join(values[:MOST_VALUES]) + more

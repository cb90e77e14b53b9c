"""The index of predicates that records decide, for kind M; each is imported when there are records to look at."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from collmark.analysis.claims.measured.command import FROM_SMALLEST, Need
from collmark.analysis.claims.predicate import Form, Parameter
from collmark.core.registry import Registry
from collmark.core.sweep import parse_sweep
from collmark.core.units import GIGA, compact_nbytes

if TYPE_CHECKING:
    from collmark.analysis.claims.measured.reading import Absent, Sample

_Parameters = Mapping[str, Any]


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """A predicate of kind M.

    Attributes
    ----------
    module, function : str
        Where it stands below :mod:`collmark.analysis.claims.measured`: it needs pandas and scipy, and they are not
        loaded where nothing was measured.
    tiers : int
        Tiers that it looks at.
    unit : str
        SI unit of its figure; a claimed figure is in it too.
    parameters : mapping of str to Parameter
        By name.
    need : callable
        From the parameters to what has to be measured.
    """

    module: str
    function: str
    tiers: int
    unit: str
    parameters: Mapping[str, Parameter]
    need: Callable[[_Parameters], Need]

    @property
    def read(self) -> Callable[..., tuple[Sample, ...] | Absent]:
        """The function: ``read(material, tiers, **parameters)``."""
        module = importlib.import_module(f"collmark.analysis.claims.measured.{self.module}")
        function: Callable[..., tuple[Sample, ...] | Absent] = getattr(module, self.function)
        return function


_OPERATION = Parameter(form=Form.OPERATION, meaning="an operation")
_RANKS = Parameter(optional=True, least=2, meaning="number of ranks; any if left away")
_TRUTH = Parameter(form=Form.TRUTH, optional=True, meaning="true or false")
_FAMILY = (
    "stream", "bidirectional_stream", "ping_pong", "all_reduce", "all_gather", "reduce_scatter", "all_to_all",
)  # fmt: skip


def _ranks(parameters: _Parameters) -> int:
    ranks = parameters.get("ranks")
    return 2 if ranks is None else int(ranks.whole)


def _one(parameters: _Parameters) -> Need:
    return Need(operations=(parameters["operation"],), ranks=_ranks(parameters))


def _ratio(parameters: _Parameters) -> Need:
    operations = (parameters["operation"], *(_FAMILY if parameters.get("family") else ()))
    return Need(operations=tuple(dict.fromkeys(operations)), ranks=_ranks(parameters))


def _at_sizes(parameters: _Parameters) -> Need:
    wanted = sorted({size.whole for size in parameters["sizes"]})
    if parameters.get("smallest"):
        # A size that stands twice in a sweep is refused.
        there = set(parse_sweep(FROM_SMALLEST))
        sweep = ",".join([FROM_SMALLEST, *(_written(nbytes) for nbytes in wanted if nbytes not in there)])
    else:
        sweep = ",".join(map(_written, wanted))
    return Need(operations=(parameters["operation"],), ranks=_ranks(parameters), sizes=sweep)


def _written(nbytes: int) -> str:
    """Return a size as people would write it: in whole GB where it is, else in the largest binary unit."""
    return f"{nbytes // GIGA}GB" if nbytes % GIGA == 0 else compact_nbytes(nbytes)


MEASURED: Registry[Measured] = Registry(
    "predicate of kind M",
    [
        (
            "asymptote",
            Measured(
                module="link",
                function="asymptote",
                tiers=1,
                unit="B/s",
                parameters={"operation": _OPERATION, "ranks": _RANKS, "both_ways": _TRUTH},
                need=_one,
            ),
        ),
        (
            "asymptote_ratio",
            Measured(
                module="link",
                function="asymptote_ratio",
                tiers=2,
                unit="",
                parameters={
                    "operation": _OPERATION,
                    "directions": Parameter(optional=True, least=1, most=2, meaning="1 or 2"),
                    "ranks": _RANKS,
                    "family": _TRUTH,
                },
                need=_ratio,
            ),
        ),
        (
            "alpha_ratio",
            Measured(
                module="link",
                function="alpha_ratio",
                tiers=2,
                unit="",
                parameters={"operation": _OPERATION},
                need=_one,
            ),
        ),
        (
            "smallest_time",
            Measured(
                module="time",
                function="smallest_time",
                tiers=1,
                unit="s",
                parameters={
                    "operation": _OPERATION,
                    "at_most": Parameter(unit="B", meaning="the largest size that still shows latency"),
                },
                need=_one,
            ),
        ),
        (
            "time_at",
            Measured(
                module="time",
                function="time_at",
                tiers=1,
                unit="s",
                parameters={
                    "operation": _OPERATION,
                    "sizes": Parameter(form=Form.QUANTITIES, unit="B", least=1, most=2**63 - 1, meaning="sizes"),
                    "ranks": _RANKS,
                    "smallest": _TRUTH,
                },
                need=_at_sizes,
            ),
        ),
        (
            "sensitivity",
            Measured(
                module="sensitivity",
                function="sensitivity",
                tiers=2,
                unit="",
                parameters={"operation": _OPERATION, "against": _OPERATION, "ragged": _OPERATION, "ranks": _RANKS},
                need=lambda p: Need(operations=(p["operation"], p["against"], p["ragged"]), ranks=_ranks(p)),
            ),
        ),
        (
            "pair_uniformity",
            Measured(
                module="pairs",
                function="pair_uniformity",
                tiers=1,
                unit="",
                parameters={
                    "operation": _OPERATION,
                    "members": Parameter(least=2, most=1e6, meaning="members of the whole domain"),
                },
                need=lambda p: Need(operations=(p["operation"],), sizes="64KiB:1GiB:x4", pairs=True),
            ),
        ),
    ],
)
"""Every predicate of kind M."""

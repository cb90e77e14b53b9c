"""The table of references: each with a source, and what figures of one system must agree on."""

from __future__ import annotations

import pytest

from collmark.analysis.expected.system import labelled_system, named_systems, systems
from collmark.core.errors import UnknownNameError
from collmark.core.placement import Tier


@pytest.mark.parametrize("name", systems().names())
def test_every_figure_has_a_source(name: str) -> None:
    system = systems()[name]
    assert system.meaning
    assert len(system.source) > 10
    for figure in system.figures:
        assert len(figure.source) > 10
        assert figure.how
        assert figure.value.unit in ("B/s", "s")
        assert figure.ranks >= 2


@pytest.mark.parametrize(
    ("name", "rate"),
    [("nvlink3", 300), ("nvlink4", 450), ("nvlink5", 900), ("hdr", 25), ("ndr", 50), ("xdr", 100), ("pcie5", 63)],
)
def test_rates_are_of_one_direction(name: str, rate: float) -> None:
    assert systems()[name].rate == rate * 1e9


def test_published_figures_above_the_link_say_why() -> None:
    for system in systems().values():
        for figure in system.figures:
            if system.rate is not None and figure.value.unit == "B/s" and not system.ports:
                assert figure.value.low <= system.rate or figure.how.startswith("NVLS")


def test_unknown_name_lists_all() -> None:
    with pytest.raises(UnknownNameError, match="h100-nvlink4"):
        named_systems(["h100"])


def test_rate_of_a_label_is_in_bits() -> None:
    system = labelled_system("400G")
    assert system is not None
    assert (system.rate, system.tier, system.ports) == (50e9, None, None)
    assert systems()["ndr"].tier is Tier.RDMA

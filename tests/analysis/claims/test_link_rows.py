"""Every row of kind S once more, from lanes, links and GPUs instead of published sums."""

from __future__ import annotations

from fractions import Fraction

import pytest

from collmark.analysis.claims.constants import read_constants
from collmark.analysis.claims.finding import Finding, Kind
from collmark.analysis.claims.table import FOLDER, Table

GB = 10**9
BITS = 8
# Bits per second: lanes of a 4x port, and of a 400GBASE-R port, with what each carries.
NDR = 4 * 100 * GB
HDR = 4 * 50 * GB
ETHERNET_400 = 8 * 50 * GB
# A link of NVLink 4: 2 differential pairs of 100 Gb/s each way, 18 links a GPU; NVLink 5 doubles a pair.
NVLINK4_ONE_WAY = 18 * 2 * 100 * GB
NVLINK5_ONE_WAY = 18 * 2 * 200 * GB
# An Infinity Fabric link of an MI300X: 16 lanes of 32 Gb/s each way, 7 links a GPU.
XGMI_LINK_ONE_WAY = 16 * 32 * GB

FOUND = {
    "gap-18x": Fraction(NVLINK4_ONE_WAY, NDR),
    "gap-36x": Fraction(NVLINK4_ONE_WAY, HDR),
    "ndr-50": Fraction(NDR, BITS * GB),
    "eth-50": Fraction(ETHERNET_400, BITS * GB),
    "nvlink4-900": Fraction(sum(NVLINK4_ONE_WAY for _direction in ("out", "in")), BITS * GB),
    "xgmi-parity": Fraction(7 * 2 * XGMI_LINK_ONE_WAY, 2 * NVLINK4_ONE_WAY),
    # 130 TB/s over 72 GPUs are published for the rack: 1.8 TB/s a GPU, which the fifth generation has.
    "nvl72-gen": Fraction(min((4, 5), key=lambda g: abs({4: 0.9e12, 5: 1.8e12}[g] - 130e12 / 72))),
    "nvl72-9x": Fraction(len(range(72)), len(range(8))),
}
VERDICTS = {
    "gap-18x": "fails",
    "gap-36x": "fails",
    "ndr-50": "holds",
    "eth-50": "holds",
    "nvlink4-900": "holds",
    "xgmi-parity": "holds",
    "nvl72-gen": "fails",
    "nvl72-9x": "holds",
}


def also(finding: Finding, start: str) -> float:
    (figure,) = (figure for figure in finding.also if figure.name.startswith(start))
    return figure.value


def test_every_row_is_here(table: Table) -> None:
    rows = [claim.id for claim in table.claims if any(aspect.kind is Kind.LINK for aspect in claim.aspects)]
    assert rows == list(FOUND) == list(VERDICTS)


@pytest.mark.parametrize("name", FOUND)
def test_figure_and_verdict(bare: dict[tuple[str, str], Finding], name: str) -> None:
    finding = bare[name, "S"]
    assert finding.found is not None
    assert finding.found.value == pytest.approx(float(FOUND[name]), rel=1e-12)
    assert finding.verdict == VERDICTS[name]
    assert finding.steps
    assert finding.evidence


def test_gap_shows_its_whole_family(bare: dict[tuple[str, str], Finding]) -> None:
    finding = bare["gap-18x", "S"]
    assert also(finding, "B200 over NDR, one way over one way") == pytest.approx(NVLINK5_ONE_WAY / NDR)
    assert also(finding, "H100 over NDR, two-way over one-way: unlike") == pytest.approx(2 * NVLINK4_ONE_WAY / NDR)
    assert also(finding, "H100 over NDR, two-way over two-way") == pytest.approx(9)
    assert also(finding, "B200 over NDR, two-way over one-way: unlike") == pytest.approx(36)
    assert any("both directions" in note for note in finding.notes)


def test_gap_of_36_compares_with_hdr(bare: dict[tuple[str, str], Finding]) -> None:
    finding = bare["gap-36x", "S"]
    assert also(finding, "H100 over HDR, two-way over one-way: unlike") == pytest.approx(2 * NVLINK4_ONE_WAY / HDR)
    assert any("HDR" in note for note in finding.notes)


def test_a_pair_of_infinity_fabric_is_a_seventh(bare: dict[tuple[str, str], Finding]) -> None:
    finding = bare["xgmi-parity", "S"]
    assert also(finding, "one pair over one pair") == pytest.approx(XGMI_LINK_ONE_WAY / NVLINK4_ONE_WAY)


def test_island_of_72_fits_no_heads(bare: dict[tuple[str, str], Finding]) -> None:
    finding = bare["nvl72-9x", "S"]
    for heads in (64, 128):
        widest = max(degree for degree in range(1, 73) if heads % degree == 0)
        assert also(finding, f"widest degree over a server, {heads} heads") == widest / 8 == 8
        assert f"72 does not divide {heads} heads" in " ".join(finding.steps)


def test_published_sums_are_those_of_their_links() -> None:
    import tomllib

    found, problems = read_constants(tomllib.loads((FOLDER / "constants.toml").read_text(encoding="utf-8")), "")
    assert not problems
    rates = {name: quantity.value for name, quantity in found.quantities.items()}
    for group in ("nvlink4", "nvlink5"):
        assert rates[f"{group}.links"] * rates[f"{group}.link_one_way"] == rates[f"{group}.one_way"]
    for group in ("nvlink3", "nvlink4", "nvlink5", "hdr", "ndr"):
        assert 2 * rates[f"{group}.one_way"] == rates[f"{group}.two_way"]
    assert rates["mi300x.links"] * rates["mi300x.link_two_way"] == rates["mi300x.two_way"]
    assert rates["adam.master"] + rates["adam.momentum"] + rates["adam.variance"] == rates["adam.states"]
    assert all(quantity.source for quantity in found.quantities.values())

"""From run folders on disk to a verdict: records with the evidence of an HGX H100 with NDR, made and not measured."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.analysis.claims.links import GB, TIGHT, US, WIDE, link, without_common_clock
from tests.analysis.made import results_of
from tests.cli.test_import import nccl

from collmark.core.case import Cadence
from collmark.core.placement import Fabric, Tier
from collmark.core.record import Evidence, Record
from collmark.core.store import RunFolder

Cli = Callable[..., Any]
EVIDENCE = {
    "nvlink": Evidence(
        tier=Tier.NVLINK,
        because=["NVML: 18 links of 26.562 GB/s active between the GPUs", "NCCL INFO: via P2P/CUMEM"],
    ),
    "infiniband": Evidence(
        tier=Tier.RDMA,
        fabric=Fabric.INFINIBAND,
        because=["mlx5_0: link_layer InfiniBand, rate 400 Gb/sec (4X NDR)", "NCCL INFO: via NET/IB/0/GDRDMA"],
    ),
}
"""What evidence of an HGX H100 node and of its NDR port would say, in short."""
UNKNOWN = Evidence(tier=Tier.UNKNOWN)


def store(name: str, *groups: Sequence[Record]) -> str:
    """Write records as a run under results/, and return its name."""
    results = results_of([record for group in groups for record in group], name)
    RunFolder.create(Path("results") / name, results.run, results.records)
    return name


def streams(fast: float, slow: float, levels: Sequence[float] = TIGHT) -> tuple[str, str]:
    """Write two runs of streams: over NVLink and over InfiniBand, at rates in GB/s."""
    return tuple(
        store(name, link(place, rate=rate * GB, levels=levels, evidence=EVIDENCE[place]))
        for name, place, rate in (("hgx", "nvlink", fast), ("ndr", "infiniband", slow))
    )  # type: ignore[return-value]


def verdict(text: str) -> str:
    """Return the line of kind M of an explanation."""
    (line,) = [line for line in text.splitlines() if line.startswith("M  ")]
    return line


def test_390_over_48_fails_at_8(cli: Cli) -> None:
    runs = streams(390, 48)
    result = cli("claims", "gap-18x", *runs)
    assert result.status == 0
    said = r"M  FAILS  claimed 18 x/1\.2, found 8\.1\d* \[8\.0\d*, 8\.[12]\d*\] \(95 % over 10 launches\)"
    assert re.fullmatch(said, verdict(result.out))
    text = " ".join(result.out.split())
    assert "stream asymptotic bandwidth, one-way, nvlink, 2 ranks on 1 node, isolated, T is per message" in text
    assert "/ stream asymptotic bandwidth, one-way, rdma:infiniband, 2 ranks on 2 nodes, isolated, T is per" in text
    found = cli("claims", "gap-18x", *runs, "--json").json["findings"]
    (measured,) = [one for one in found if one["kind"] == "M"]
    assert measured["verdict"] == "fails"
    assert measured["found"]["value"] == pytest.approx(390 / 48, rel=0.01)


@pytest.mark.parametrize(("levels", "word"), [(TIGHT, "holds"), (WIDE, "inconclusive")], ids=["tight", "wide"])
def test_750_over_48_is_what_its_interval_says(cli: Cli, levels: Sequence[float], word: str) -> None:
    """15.6 lies above 18 / 1.2 = 15: it holds where the interval does too, else nothing is decided."""
    result = cli("claims", "gap-18x", *streams(750, 48, levels))
    line = verdict(result.out)
    assert line.startswith(f"M  {word}  claimed 18 x/1.2, found 15.6")
    assert bool(re.search(r"would change  \d+ launches on each side", result.out)) == (word == "inconclusive")
    assert line.endswith("(90 % over 10 launches)" if word == "holds" else "(95 % over 10 launches)")


def test_table_names_the_interval_that_decides(cli: Cli) -> None:
    runs = streams(750, 48)
    lines = cli("claims", *runs, "--kind", "M").out.splitlines()
    assert lines[2] == "[...]: the interval that decides, 90 % where the claim holds, 95 % elsewhere"
    assert "[...]" not in cli("claims", "--kind", "W").out
    eager = cli("claims", *runs, "--kind", "M", "--set", "interval.inside=0.5").out
    assert "the interval that decides, 50 % where the claim holds" in eager


def test_without_the_evidence_there_is_no_data(cli: Cli) -> None:
    runs = [
        store(name, link(place, rate=rate * GB, evidence=UNKNOWN))
        for name, place, rate in (("hgx", "nvlink", 390), ("ndr", "infiniband", 48))
    ]
    result = cli("claims", "gap-18x", *runs)
    assert verdict(result.out) == "M  no data  claimed 18 x/1.2, found -"
    assert "no records of nvlink, infiniband, and no evidence of the link that was used in 2 runs" in " ".join(
        result.out.split()
    )


def test_bracketed_and_exact_side_both_take_d_max(cli: Cli) -> None:
    exact = link("roce", "all_reduce", rate=45 * GB, ranks=4, alpha=20 * US)
    bracketed = without_common_clock(link("infiniband", "all_reduce", rate=45 * GB, ranks=4, alpha=20 * US))
    result = cli("claims", "roce-parity", store("a", exact), store("b", bracketed))
    assert verdict(result.out).startswith("M  holds")
    text = " ".join(result.out.split())
    assert "clocks could be compared on one side only: T is D_max on both, skew included" in text
    assert text.count("T is D_max") >= 4
    assert "T is L" not in text


def test_run_option_names_runs_only(cli: Cli) -> None:
    """A run may be called as a claim is: by the option it is the run that is meant."""
    store("gap-18x", link("nvlink", rate=390 * GB), link("infiniband", rate=48 * GB))
    ambiguous = cli("claims", "gap-18x")
    assert "M  no data" in ambiguous.out
    result = cli("claims", "--run", "gap-18x", "gap-18x")
    assert verdict(result.out).startswith("M  FAILS")
    assert cli("claims", "gap-18x", "--run", "nothing").status == 2


def test_unequal_ranks_are_compared_where_asked(cli: Cli) -> None:
    runs = [
        store(name, link(place, "all_reduce", ranks=ranks))
        for name, place, ranks in (("a", "roce", 4), ("b", "infiniband", 8))
    ]
    assert "unlike sides: 4 against 8 ranks" in cli("claims", "roce-parity", *runs).out
    asked = cli("claims", "roce-parity", *runs, "--unequal-ranks")
    assert verdict(asked.out).startswith("M  holds")
    assert "4 over 8 ranks" in asked.out


def test_family_is_one_table_with_the_ratio_that_decides_first(cli: Cli) -> None:
    run = store(
        "all",
        link("nvlink", rate=390 * GB),
        link("infiniband", rate=48 * GB),
        link("nvlink", "bidirectional_stream", rate=380 * GB),
        link("nvlink", "all_reduce", rate=480 * GB, alpha=20 * US, ranks=8),
        link("infiniband", "all_reduce", rate=350 * GB, alpha=30 * US, ranks=16),
        link("nvlink", "ping_pong", alpha=3.3 * US),
        link("infiniband", "ping_pong", alpha=3 * US),
    )
    text = cli("claims", "gap-18x", run).out
    lines = text.splitlines()
    start = next(position for position, line in enumerate(lines) if line.startswith("  ratio  "))
    names = [line.strip() for line in lines[start + 1 :] if re.match(r"  [^ /]", line)]
    assert re.match(r"stream asymptotic bandwidth, nvlink over infiniband \(decides\) +8\.1", names[0])
    assert [re.split(r"\s{2,}", name)[0] for name in names[1:5]] == [
        "two-way over one-way: unlike",
        "all_reduce bus bandwidth, 8 over 16 ranks",
        "all_reduce bus bandwidth at 128 KiB, 8 over 16 ranks",
        "latency",
    ]
    assert max(map(len, (line for line in lines if "collmark" not in line))) <= 100


def logs(name: str, tier: str, rate: float, cli: Cli) -> str:
    """Import logs of nccl-tests of three launches on two nodes, over a tier as the user says; rate in GB/s."""
    files = []
    for number, level in enumerate((0.99, 1.0, 1.01)):
        times = [level * (20 + (1024 << i) / rate / 1e3) for i in range(19)]  # us
        files.append(f"{name}-{number}.log")
        text = nccl(*times, hosts=("node01", "node02")).replace("maxBytes 4096", f"maxBytes {1024 << 18}")
        Path(files[-1]).write_text(text, encoding="utf-8")
    assert cli("import", *files, "--as-launches", "--tier", tier, "--label", name).status == 0
    return name


@pytest.mark.parametrize(("rate", "word"), [(44, "holds"), (22, "FAILS")])
def test_imported_logs_decide_a_claim_and_are_marked(cli: Cli, rate: float, word: str) -> None:
    runs = logs("roce", "rdma:roce", rate, cli), logs("ib", "rdma:infiniband", 45, cli)
    result = cli("claims", "roce-parity", "--run", runs[0], "--run", runs[1])
    assert verdict(result.out).startswith(f"M  IMPORTED {word}  claimed 1 ±10 %, found 0.")
    assert "IMPORTED, T as nccl-tests: " in " ".join(result.out.split())
    table = cli("claims", *runs, "--kind", "M").out
    assert re.search(rf"^roce-parity +M +IMPORTED {word}", table, flags=re.MULTILINE)
    (found,) = cli("claims", "roce-parity", *runs, "--json").json["findings"]
    assert found["imported"] is True
    # Of the tiers that the user names instead, for the claim named.
    other = cli("claims", "ib-under-roce", *runs, "--tier-a", "infiniband", "--tier-b", "roce")
    assert verdict(other.out).startswith("M  no data")


def test_imported_figures_are_not_put_beside_measured_ones(cli: Cli) -> None:
    own = store("own", link("roce", "all_reduce", rate=45 * GB, of_case={"cadence": Cadence.STREAMING}))
    result = cli("claims", "roce-parity", own, logs("ib", "rdma:infiniband", 45, cli))
    assert verdict(result.out).startswith("M  no data")
    assert "statistic of collmark's own against nccl-tests: " in " ".join(result.out.split())


def test_fit_sets_what_was_measured_against_the_system_named(cli: Cli) -> None:
    run = store(
        "hgx",
        link("nvlink", "all_reduce", rate=482 * GB, alpha=20 * US, ranks=8, evidence=EVIDENCE["nvlink"]),
        link("nvlink", rate=390 * GB, evidence=EVIDENCE["nvlink"]),
    )
    result = cli("fit", run, "--expect", "h100-nvlink4")
    assert result.status == 0
    text = " ".join(result.out.split())
    assert re.search(r"all_reduce 1x8 107 \[106, 108\] 482 GB/s, asymptote 450 GB/s, link h100-nvlink4", text)
    assert re.search(r"101 \[99\.\d, 10\d\] 482 GB/s, asymptote 476 to 480 GB/s, published: NVLS", text)
    assert re.search(r"stream 1x2 86\.\d \[8\d\.?\d*, 8\d\.?\d*\] 390 GB/s", text)
    assert "warning: all_reduce 1x8: bus bandwidth above the wire rate" in result.err
    assert "source: published: ring: github.com/NVIDIA/nccl, issue 1455" in result.err
    assert max(map(len, result.out.splitlines())) <= 100
    shares = cli("fit", run, "--expect", "h100-nvlink4", "--json").json["expected"]
    assert {share["unit"] for share in shares} == {"B/s"}
    assert "published" not in cli("fit", run).out


def test_report_shows_shares_and_why_one_is_above_the_link(cli: Cli) -> None:
    run = store("hgx", link("nvlink", "all_reduce", rate=482 * GB, alpha=20 * US, ranks=8))
    text = cli("report", run, "--format", "md", "--expect", "h100-nvlink4").out
    assert "## Expected" in text
    assert "published: NVLS" in text
    assert "bus bandwidth above the wire rate" in text
    bare = cli("report", run, "--format", "md").out
    assert "its own asymptote" in bare
    assert "No link is declared" in bare


def test_system_that_was_not_measured_and_one_that_is_none_are_said(cli: Cli) -> None:
    run = store("ndr", link("infiniband", rate=48 * GB))
    assert "nothing was measured over the system named" in cli("fit", run, "--expect", "h100-nvlink4").err
    result = cli("fit", run, "--expect", "h100-nvlink5")
    assert result.status == 2
    assert "did you mean 'h100-nvlink4'" in result.err


def test_simulated_run_is_set_against_no_link(cli: Cli) -> None:
    store("sim", link("simulated", rate=48 * GB, simulated=True, label="ndr"))
    result = cli("fit", "sim", "--expect", "ndr")
    assert "link" not in result.out
    assert cli("fit", "sim", "--expect", "ndr", "--json").json["expected"] == []
    assert "## Expected" not in cli("report", "sim", "--format", "md", "--expect", "ndr").out


def test_page_shows_the_ratios_with_what_stands_over_what(cli: Cli) -> None:
    runs = streams(390, 48)
    assert cli("report", *runs, "-o", "page.html", "--expect", "h100-nvlink4").status == 0
    page = Path("page.html").read_text(encoding="utf-8")
    table = page[page.index('id="claim-gap-18x-M-ratios"') :]
    table = table[: table.index("</table>")]
    assert "stream asymptotic bandwidth, nvlink over infiniband (decides)" in table
    assert "stream asymptotic bandwidth, one-way, nvlink, 2 ranks on 1 node, isolated, T is per message" in table
    assert "stream asymptotic bandwidth, one-way, rdma:infiniband, 2 ranks on 2 nodes" in table
    assert "published: p2pBandwidthLatencyTest" in page[page.index('id="expected') :]

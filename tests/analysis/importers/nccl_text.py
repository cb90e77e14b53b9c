"""Text of nccl-tests for tests, as the tool prints it."""

from collmark.analysis.importers.read import Read, read_log
from collmark.analysis.importers.row import Facts

NAMES = (
    "#       size         count      type   redop    root     time   algbw   busbw  #wrong"
    "     time   algbw   busbw  #wrong"
)


def row_text(
    size: int, redop: str = "sum", root: int = -1, ranks: int = 8, factor: float = 1.75, *, share: bool = False,
    checked: tuple[bool, bool] = (True, True), us: float = 100.0,
) -> str:  # fmt: skip
    """Return a row as the tool prints it."""
    us += size / 2e5
    text = f"{size:12d}  {size // 4 // (ranks if share else 1):12d}  {'float':>8}  {redop:>6}  {root:6d}"
    for one in checked:
        text += f"  {us:7.1f}  {size / us / 1e3:6.2f}  {size / us / 1e3 * factor:6.2f}  {'0' if one else 'N/A':>6}"
    return text


def head_text(first: int, last: int, *, ranks: int = 8, gpus: int = 8, hosts: int = 1, more: str = "") -> list[str]:
    sizes = f"minBytes {first} maxBytes {last} step: 2(factor)"
    counts = f"warmup iters: 5 iters: 20 agg iters: 1 validation: 1 graph: 0{more}"
    return [
        f"# nThread 1 nGpus {gpus} {sizes} {counts}",
        "#",
        "# Using devices",
        *(
            f"#  Rank {rank:2d} Group  0 Pid {4000 + rank:6d} on node{rank * hosts // ranks:02d} device"
            f" {rank % 8:2d} [0x{rank:02x}] NVIDIA A100-SXM4-80GB"
            for rank in range(ranks)
        ),
        "#",
        NAMES,
    ]


SIZES = [2**power for power in range(20, 25)]


def read(*lines: str, facts: Facts | None = None) -> Read:
    return read_log("\n".join((*lines, "")).encode(), "log", facts or Facts())

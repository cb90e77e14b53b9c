"""The colours: a light and a dark one for each meaning, so that one drawing serves both themes.

A drawing is made in the light colours; :mod:`collmark.analysis.figures.svg` puts a CSS variable in the place of each.
Colour means tier wherever no two runs stand beside each other, shape means backend, and a word says the same.
Contrast and distances, also as colour-blind people see them, are held by the tests.
"""

from __future__ import annotations

import msgspec


class Shade(msgspec.Struct, frozen=True):
    """One meaning in both themes.

    Attributes
    ----------
    light, dark : str
        As ``#RRGGBB``.
    """

    light: str
    dark: str


GROUND = Shade("#FFFFFF", "#14171C")
INK = Shade("#1B1F24", "#E8EAED")
MUTED = Shade("#57606A", "#A3ABB5")
AXIS = Shade("#7A828C", "#6F7882")
GRID = Shade("#E3E6EA", "#2B3038")
BAND = Shade("#EDEFF2", "#20252C")

RUNS = (Shade("#0072B2", "#56A8E8"), Shade("#C94F00", "#F08A4B"))
"""Where exactly two runs stand side by side."""

GOOD = Shade("#0B5CAD", "#7DBBFF")
BAD = Shade("#B03A00", "#FF9D5C")
UNDECIDED = Shade("#5B6470", "#A6AEB8")

TIERS: dict[str, Shade] = {
    "nvlink": Shade("#048F65", "#1FA97C"),
    "rdma:infiniband": Shade("#063B6D", "#2E6BD9"),
    "rdma:roce": Shade("#D55E00", "#E67E2B"),
    "tcp": Shade("#5E4700", "#FFD447"),
    "shared-memory": Shade("#8431D6", "#CF8BFF"),
    "loopback": Shade("#0098EE", "#A5E6FA"),
    "pcie": Shade("#741B3A", "#C73A86"),
    "xgmi": Shade("#968796", "#87693C"),
    "unknown": Shade("#6A626B", "#A9A6AD"),
}

SLOWER_TO_FASTER = tuple(
    Shade(light, dark)
    for light, dark in (
        ("#7F2704", "#FFC08A"),
        ("#C4510A", "#E07B28"),
        ("#F08A3C", "#9A5318"),
        ("#FBC99A", "#5A3214"),
        ("#F4F4F2", "#23272E"),
        ("#B7D3EC", "#1D3A5C"),
        ("#6FA8DC", "#2A5F99"),
        ("#2B6CB0", "#4C93DB"),
        ("#0B3C6F", "#A9D4FF"),
    )
)
"""Diverging: from slower over as fast to faster."""

NAMED: dict[str, Shade] = {
    "ground": GROUND,
    "ink": INK,
    "muted": MUTED,
    "axis": AXIS,
    "grid": GRID,
    "band": BAND,
    "run-a": RUNS[0],
    "run-b": RUNS[1],
    "good": GOOD,
    "bad": BAD,
    "undecided": UNDECIDED,
    **{f"tier-{tier.replace(':', '-')}": shade for tier, shade in TIERS.items()},
    **{f"step-{position}": shade for position, shade in enumerate(SLOWER_TO_FASTER)},
}
"""Every colour by the name of its CSS variable."""

VARIABLES = {shade.light.lower(): f"var(--{name})" for name, shade in NAMED.items()}
"""What stands for a light colour on a page."""

MARKERS = {"gloo": "o", "mpi": "s", "nccl": "^", "cupy-nccl": "D"}
"""Shape of a backend's points; a circle for any other."""


def swatch_of(tier: str) -> str:
    """Return the name of a tier's colour; fabrics and tiers without one of their own share that of the unknown.

    Examples
    --------
    >>> swatch_of("rdma:roce"), swatch_of("rdma:efa")
    ('tier-rdma-roce', 'tier-unknown')
    """
    return f"tier-{(tier if tier in TIERS else 'unknown').replace(':', '-')}"


def variables(theme: str) -> str:
    """Return the CSS declarations of all colours in a theme, ``light`` or ``dark``."""
    return "".join(f"--{name}:{getattr(shade, theme)};" for name, shade in NAMED.items())

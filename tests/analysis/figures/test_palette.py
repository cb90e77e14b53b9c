"""Colours that can be seen and told apart, in both themes, also by those who see fewer of them."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from numpy.typing import NDArray

from collmark.analysis.figures import palette
from collmark.analysis.figures.palette import NAMED, TIERS

Vector = NDArray[np.float64]
THEMES = ("light", "dark")
TEXT = ("ink", "muted", "good", "bad", "undecided")
MARKS = ("axis", "run-a", "run-b", *(name for name in NAMED if name.startswith("tier-")))
# Machado, Oliveira and Fernandes 2009, severity 1, on linear RGB.
VISIONS = {
    "normal": [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
    "protan": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deutan": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "tritan": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}
TO_XYZ = [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
LEAST_DISTANCE = 10.0


def linear(colour: str) -> Vector:
    share = np.array([int(colour[start : start + 2], 16) for start in (1, 3, 5)]) / 255
    return np.where(share <= 0.04045, share / 12.92, ((share + 0.055) / 1.055) ** 2.4)


def contrast(one: str, other: str) -> float:
    """WCAG 2: relative luminances."""
    weights = np.array([0.2126, 0.7152, 0.0722])
    dark, bright = sorted(float(linear(colour) @ weights) for colour in (one, other))
    return (bright + 0.05) / (dark + 0.05)


def lab(rgb: Vector) -> Vector:
    white = np.array([0.95047, 1.0, 1.08883])
    xyz = np.clip(np.array(TO_XYZ) @ np.clip(rgb, 0, 1), 0, None) / white
    f = np.where(xyz > 216 / 24389, np.cbrt(xyz), (24389 / 27 * xyz + 16) / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def ciede2000(one: Vector, other: Vector) -> float:
    """Sharma, Wu and Dalal 2005."""
    (l1, a1, b1), (l2, a2, b2) = one.tolist(), other.tolist()
    mean = (math.hypot(a1, b1) + math.hypot(a2, b2)) / 2
    stretch = 1 + 0.5 * (1 - math.sqrt(mean**7 / (mean**7 + 25**7)))
    c1, c2 = math.hypot(a1 * stretch, b1), math.hypot(a2 * stretch, b2)
    h1, h2 = (math.degrees(math.atan2(b, a * stretch)) % 360 for a, b in ((a1, b1), (a2, b2)))
    turn = (h2 - h1 + 180) % 360 - 180
    hue = 2 * math.sqrt(c1 * c2) * math.sin(math.radians(turn) / 2)
    h = (h1 + turn / 2) % 360
    lightness, chroma = (l1 + l2) / 2, (c1 + c2) / 2
    t = 1 - 0.17 * _cos(h - 30) + 0.24 * _cos(2 * h) + 0.32 * _cos(3 * h + 6) - 0.2 * _cos(4 * h - 63)
    sl = 1 + 0.015 * (lightness - 50) ** 2 / math.sqrt(20 + (lightness - 50) ** 2)
    sc, sh = 1 + 0.045 * chroma, 1 + 0.015 * chroma * t
    angle = 30 * math.exp(-(((h - 275) / 25) ** 2))
    rotation = -math.sin(math.radians(2 * angle)) * 2 * math.sqrt(chroma**7 / (chroma**7 + 25**7))
    dl, dc, dh = (l2 - l1) / sl, (c2 - c1) / sc, hue / sh
    return math.sqrt(dl**2 + dc**2 + dh**2 + rotation * dc * dh)


def _cos(degrees: float) -> float:
    return math.cos(math.radians(degrees))


def test_the_distance_is_that_of_its_paper() -> None:
    # Pairs 1 and 17 of the paper's table 1.
    assert ciede2000(np.array([50, 2.6772, -79.7751]), np.array([50, 0, -82.7485])) == pytest.approx(2.0425, abs=1e-4)
    assert ciede2000(np.array([50, 2.5, 0]), np.array([73, 25, -18])) == pytest.approx(27.1492, abs=1e-4)


def test_contrast_is_that_of_its_definition() -> None:
    assert contrast("#FFFFFF", "#000000") == pytest.approx(21)


@pytest.mark.manner(26)
@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize(("names", "least"), [(TEXT, 4.5), (MARKS, 3.0)])
def test_colours_stand_out_from_the_ground(theme: str, names: tuple[str, ...], least: float) -> None:
    ground = getattr(palette.GROUND, theme)
    faint = {name: contrast(getattr(NAMED[name], theme), ground) for name in names}
    assert {name: found for name, found in faint.items() if found < least} == {}


@pytest.mark.manner(26)
@pytest.mark.parametrize("theme", THEMES)
def test_text_on_a_band_can_be_read(theme: str) -> None:
    assert contrast(getattr(palette.INK, theme), getattr(palette.BAND, theme)) >= 4.5


@pytest.mark.manner(26)
@pytest.mark.parametrize("theme", THEMES)
def test_tiers_are_told_apart_by_everyone(theme: str) -> None:
    near = [
        (round(found, 1), vision, one, other)
        for vision, matrix in VISIONS.items()
        for one, other in combinations(TIERS, 2)
        if (found := ciede2000(*(lab(np.array(matrix) @ linear(getattr(TIERS[tier], theme))) for tier in (one, other))))
        < LEAST_DISTANCE
    ]
    assert near == []


@pytest.mark.manner(26)
@pytest.mark.parametrize("theme", THEMES)
def test_slower_and_faster_are_told_apart_by_everyone(theme: str) -> None:
    steps = [getattr(shade, theme) for shade in palette.SLOWER_TO_FASTER]
    for matrix in VISIONS.values():
        for one, other in zip(steps[:4], reversed(steps[5:]), strict=True):
            assert ciede2000(*(lab(np.array(matrix) @ linear(colour)) for colour in (one, other))) >= LEAST_DISTANCE


def test_no_two_meanings_share_a_light_colour() -> None:
    lights = [shade.light.lower() for shade in NAMED.values()]
    assert len(lights) == len(set(lights)), "a drawing is made in the light colours, and read back by them"


def test_every_tier_has_a_colour() -> None:
    assert {palette.swatch_of(tier) for tier in (*TIERS, "simulated", "rdma:efa")} == {
        name for name in NAMED if name.startswith("tier-")
    }

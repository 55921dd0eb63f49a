"""The palette can be told apart by everyone, on light and on dark."""

from itertools import combinations

import numpy as np
import polars as pl
import pytest

from howsure.charts.kinds import _BRIGHT, _DARK, _is_dark
from howsure.charts.theme import DARK, DASHES, DIVERGING, LIGHT, PALETTE, PALETTE_DARK, SEQUENTIAL, SHAPES, color_css

# Machado, Oliveira and Fernandes (2009), severity 1, for linear RGB.
VISION = {
    "full": np.eye(3),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
    "tritanopia": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]
    ),
}
# Ottosson (2020): linear RGB to OKLab.
TO_LMS = np.array(
    [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
)
TO_LAB = np.array(
    [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
)


def linear(color):
    channels = np.array([int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]) if isinstance(color, str) else color
    return np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)


def contrast(first, second):
    """WCAG 2.2's contrast ratio."""
    bright, dim = sorted((float(linear(color) @ [0.2126, 0.7152, 0.0722]) for color in (first, second)), reverse=True)
    return (bright + 0.05) / (dim + 0.05)


def distance(first, second, vision):
    labs = [TO_LAB @ np.cbrt(TO_LMS @ np.clip(VISION[vision] @ linear(color), 0, 1)) for color in (first, second)]
    return 100 * float(np.linalg.norm(labs[0] - labs[1]))


@pytest.mark.parametrize("vision", VISION)
@pytest.mark.parametrize("palette", [PALETTE, PALETTE_DARK], ids=["light", "dark"])
def test_colours_differ_for_every_kind_of_vision_and_the_first_three_most(palette, vision):
    assert min(distance(*pair, vision) for pair in combinations(palette[:3], 2)) > 10
    assert min(distance(*pair, vision) for pair in combinations(palette, 2)) > 5


@pytest.mark.parametrize(("palette", "ground"), [(PALETTE, LIGHT["paper"]), (PALETTE_DARK, DARK["paper"])])
def test_colours_stand_out_from_the_ground(palette, ground):
    assert min(contrast(color, ground) for color in palette) >= 3


@pytest.mark.parametrize("colors", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize("ground", ["paper", "soft"])
def test_text_can_be_read(colors, ground):
    assert min(contrast(colors[name], colors[ground]) for name in ("ink", "muted")) >= 4.5


def test_black_is_last_and_white_is_its_partner():
    assert (PALETTE[-1], PALETTE_DARK[-1]) == ("#000000", "#ffffff")


def test_every_colour_has_its_own_shape_and_dash():
    assert len(set(SHAPES)) == len({tuple(dash) for dash in DASHES}) == len(PALETTE)


def test_every_colour_of_a_chart_is_swapped_on_dark_screens_only():
    light, dark = color_css().split("@media screen and (prefers-color-scheme: dark)")
    assert "[fill=" not in light
    for color in (*PALETTE, *LIGHT.values()):
        assert f'[fill="{color}"]' in dark
        assert f'[stroke="{color}"]' in dark


def test_no_colour_is_swapped_twice():
    swapped = [*PALETTE, *LIGHT.values()]
    assert len(swapped) == len(set(swapped))


@pytest.mark.parametrize(("colors", "is_diverging"), [(SEQUENTIAL, False), (DIVERGING, True)])
def test_figures_in_cells_can_be_read_at_every_shade(colors, is_diverging):
    shades = np.linspace(0, 1, 101)
    is_dark = pl.DataFrame({"value": shades}).select(_is_dark((0, 1), is_diverging=is_diverging)).to_series()
    channels = np.array([[int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)] for color in colors])
    steps = np.linspace(0, 1, len(colors))
    for shade, dark in zip(shades, is_dark, strict=True):
        cell = np.array([np.interp(shade, steps, channels[:, i]) for i in range(3)])
        assert contrast(_BRIGHT if dark else _DARK, cell) >= 4.4

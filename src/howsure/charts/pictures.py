"""Still pictures. A specification goes through Vega once; the figure of a page, the SVG file and the PNG file come from that one picture.

Vega draws it without title and caption: a page shows them as text, and files get them as lines above the picture, as Vega would have set them.
"""

from __future__ import annotations

import json
import logging
import re
import unicodedata
from functools import cache, lru_cache
from types import ModuleType
from typing import Any
from xml.etree import ElementTree

from howsure.charts.theme import FONT, TITLE
from howsure.errors import MissingExtraError, need

__all__ = ["can_draw", "engine", "figure_svg", "png", "svg"]

Spec = dict[str, Any]

_SVG = "http://www.w3.org/2000/svg"
_KEPT = 64  # pictures of one run; a report holds fewer charts
_HEAD = ("title", "description")
_DATA = ("data", "datasets")
_PADDING = 8
_SHORTEST = 1e-3  # pixels
_STRAIGHT = r"M[-\d.e]+, ?[-\d.e]+(?:L[-\d.e]+, ?[-\d.e]+)*Z?"  # a path of straight lines
_ASCENT = 0.79  # of the font's size


def can_draw() -> bool:
    """Whether the package that draws charts is installed."""
    try:
        need("vl_convert", "charts", "Drawing a chart")
    except MissingExtraError:
        return False
    return True


def figure_svg(spec: Spec, *, prefix: str, without: frozenset[str]) -> str:
    """The picture for a page, without title and caption. Ids start with `prefix`, so that pictures can share a page; `without` drops attributes."""
    root = _parsed(_bare(spec))
    _count_ids_anew(root, prefix)
    for element in root.iter():
        for name in without & element.attrib.keys():
            del element.attrib[name]
    return ElementTree.tostring(root, encoding="unicode")


def svg(spec: Spec) -> str:
    """The picture for a file: on white, with title and caption."""
    lines = _head(spec)
    root = _parsed(spec if lines is None else _bare(spec))
    if lines:
        _put_above(root, lines)
    _count_ids_anew(root, "")
    size = {name: root.attrib[name] for name in ("width", "height")}
    root.insert(0, ElementTree.Element(f"{{{_SVG}}}rect", {**size, "fill": "white"}))
    if spec.get("description"):
        root.attrib |= {"role": "img", "aria-label": str(spec["description"])}
    return ElementTree.tostring(root, encoding="unicode")


def png(spec: Spec) -> bytes:
    """The same picture with 1.5 dots per pixel, about 1,080 in its width: sharp on a screen. For print there is SVG."""
    return bytes(engine().svg_to_png(svg(spec), scale=1.5))  # 2 dots take 1.4 times the work


@cache
def engine() -> ModuleType:
    """What draws: vl-convert, with Vega inside. It fetches nothing, and its remarks about how it works are not printed."""
    need("vl_convert", "charts", "Drawing a chart")
    import vl_convert

    if _is_second(vl_convert):
        vl_convert.configure(allowed_base_urls=[], base_url=False)
        for name in ("vl_convert", "swc_ecma_transforms_optimization"):
            logging.getLogger(name).setLevel(logging.CRITICAL)
    module: ModuleType = vl_convert
    return module


def _is_second(engine: ModuleType) -> bool:
    """Whether it is version 2, which starts in a third of the time and has settings instead of arguments."""
    return hasattr(engine, "configure")


def _bare(spec: Spec) -> Spec:
    return {name: value for name, value in spec.items() if name not in _HEAD}


def _parsed(spec: Spec) -> ElementTree.Element:
    ElementTree.register_namespace("", _SVG)
    root = ElementTree.fromstring(_through_vega(json.dumps(_still(spec), sort_keys=True, allow_nan=False)))
    _without_points(root)
    _pale_by_colour(root)
    return root


def _still(spec: Spec) -> Spec:
    """The specification without what a still picture does not show: text under the pointer, and a name for each mark."""
    return {**_without_tooltips(spec), "config": {**spec.get("config", {}), "aria": False}}


def _without_tooltips(part: Any) -> Any:
    if isinstance(part, dict):
        shown = (name for name in part if name != "tooltip")
        return {name: part[name] if name in _DATA else _without_tooltips(part[name]) for name in shown}
    return [_without_tooltips(inner) for inner in part] if isinstance(part, list) else part


@lru_cache(maxsize=_KEPT)
def _through_vega(spec: str) -> str:
    """The picture that Vega draws; nothing is fetched for it."""
    own: dict[str, Any] = {} if _is_second(engine()) else {"allowed_base_urls": []}
    return str(engine().vegalite_to_svg(spec, **own))


def _head(spec: Spec) -> list[tuple[str, float, dict[str, str]]] | None:
    """Title and caption line by line, each with the height of its baseline and its look; None where the title is not in our style: Vega sets it."""
    title = spec.get("title")
    if title is None:
        return []
    is_ours = isinstance(title, dict) and spec.get("config", {}).get("title") == TITLE
    if not is_ours or title.keys() - {"text", "subtitle"}:
        return None
    upper, lower = _lines(title.get("text", [])), _lines(title.get("subtitle", []))
    size, small = TITLE["fontSize"], TITLE["subtitleFontSize"]
    look = {"font-size": f"{size}px", "font-weight": str(TITLE["fontWeight"]), "fill": TITLE["color"]}
    small_look = {"font-size": f"{small}px", "fill": TITLE["subtitleColor"]}
    first = _PADDING + round(_ASCENT * size)
    end = _PADDING + size + TITLE["lineHeight"] * (len(upper) - 1)
    second = end + TITLE["subtitlePadding"] + round(_ASCENT * small)
    return [
        *((line, first + TITLE["lineHeight"] * number, look) for number, line in enumerate(upper)),
        *((line, second + TITLE["subtitleLineHeight"] * number, small_look) for number, line in enumerate(lower)),
    ]


def _lines(text: str | list[str]) -> list[str]:
    return [text] if isinstance(text, str) else list(text)


def _put_above(root: ElementTree.Element, lines: list[tuple[str, float, dict[str, str]]]) -> None:
    """Make room above the picture, and to its right where a line is longer than the picture is wide, and write the lines there."""
    _, last, look = lines[-1]
    size = float(look["font-size"].removesuffix("px"))
    shift = round(last + (1 - _ASCENT) * size + TITLE["offset"] - _PADDING)
    wanted = [_width(line, float(look["font-size"].removesuffix("px"))) for line, _, look in lines]
    width, height = (
        max(round(float(root.attrib["width"])), round(max(wanted)) + 2 * _PADDING),
        round(float(root.attrib["height"])) + shift,
    )
    root.attrib |= {"width": str(width), "height": str(height), "viewBox": f"0 0 {width} {height}"}
    moved = ElementTree.Element(f"{{{_SVG}}}g", {"transform": f"translate(0,{shift})"})
    moved.extend(list(root))
    for child in list(root):
        root.remove(child)
    root.append(moved)
    for line, y, look in lines:
        place = {"x": str(_PADDING), "y": f"{y:g}", "font-family": FONT}
        ElementTree.SubElement(root, f"{{{_SVG}}}text", {**place, **look}).text = line


def _width(line: str, size: float) -> float:
    """About how many pixels a line takes; rather too many than too few."""

    def of(letter: str) -> float:
        if unicodedata.east_asian_width(letter) in "WF":
            return 1.0
        if letter in " .,:;'|!()[]ijltfrI":
            return 0.3
        return 0.9 if letter in "mwMW@%" or unicodedata.category(letter) == "So" else 0.7 if letter.isupper() else 0.57

    return size * sum(map(of, line))


def _without_points(root: ElementTree.Element) -> None:
    """Leave out lines without a length, such as the bar of an interval whose ends are equal: they show nothing, and the drawing of PNG files complains about each."""
    for parent in root.iter():
        for element in [one for one in parent if _is_point(one)]:
            parent.remove(element)


def _is_point(element: ElementTree.Element) -> bool:
    if element.tag == f"{{{_SVG}}}line":
        ends = [float(element.get(name, 0)) for name in ("x1", "x2", "y1", "y2")]
    elif element.tag == f"{{{_SVG}}}path" and (given := re.fullmatch(_STRAIGHT, element.get("d", ""))):
        numbers = [float(number) for number in re.split("[MLZ, ]+", given[0]) if number]
        ends = [min(numbers[::2]), max(numbers[::2]), min(numbers[1::2]), max(numbers[1::2])]
    else:
        return False
    return abs(ends[1] - ends[0]) < _SHORTEST and abs(ends[3] - ends[2]) < _SHORTEST


def _pale_by_colour(root: ElementTree.Element) -> None:
    """A shape that has only a filling or only a line gets that one's opacity: for the opacity of the whole, each is drawn as a picture of its own."""
    for element in root.iter():
        opacity = element.get("opacity")
        paints = [paint for paint in ("fill", "stroke") if element.get(paint, "none") not in ("none", "transparent")]
        if opacity is None or len(element) or len(paints) != 1:
            continue
        del element.attrib["opacity"]
        own = f"{paints[0]}-opacity"
        if (product := float(opacity) * float(element.get(own, 1))) < 1:
            element.set(own, f"{product:g}")


def _count_ids_anew(root: ElementTree.Element, prefix: str) -> None:
    """Vega counts ids on from chart to chart, so the same chart would not give the same picture twice."""
    ids = [element.attrib["id"] for element in root.iter() if "id" in element.attrib]
    own = {old: f"{prefix}part{number}" for number, old in enumerate(ids, 1)}
    for element in root.iter():
        for name, value in element.items():
            if name == "id":
                element.set(name, own[value])
            elif value.startswith("url(#"):
                element.set(name, f"url(#{own[value[5:-1]]})")

"""Markdown, code, formulas and pictures as elements that a page can show: sanitised, without a network, the same for every text.

::

    text ─ markdown-it-py ─→ HTML ─ nh3 (an allow-list) ─→ elements in the page's content ─→ built one by one in the browser

HTML in a text is shown as it stands. Links lose their address, pictures carry their data, formulas between dollar signs become MathML.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Mapping
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

from howsure.errors import InputError, need
from howsure.people.screens import ATTRIBUTES, TAGS, Element
from howsure.safe_io import read_bytes

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

__all__ = ["pictures_in", "read_picture", "rendered"]

_LARGEST_PICTURE = 2 * 2**20
_KINDS = {b"\x89PNG\r\n\x1a\n": "png", b"\xff\xd8\xff": "jpeg", b"GIF8": "gif", b"RIFF": "webp"}
_VOID = ("br", "hr", "img")
_FORMULA = re.compile(r"\$\$(.+?)\$\$|\$(?=[^\s$])((?:\\.|[^$\\`\n])*?[^\s$\\`])\$(?!\d)", re.DOTALL)
_MATH = "m{}x"  # the text of a placeholder; the author's texts cannot make the element that it stands in


def rendered(text: str, pictures: Mapping[str, str] | None = None) -> tuple[str | Element, ...]:
    """The elements of a text in Markdown; ``pictures`` has the data of each picture that it names.

    >>> rendered("*now*")[0].children[0].tag
    'em'
    """
    import nh3

    formulas: list[tuple[str, bool]] = []
    engine = _engine()
    html = engine.render(text, {"formulas": formulas, "pictures": pictures or {}})
    tags = {tag for tag in TAGS if tag != "math"} | {"div", "span"}
    clean = nh3.clean(
        html,
        tags=tags,
        attributes={"img": {"src", "alt"}, "ol": {"start"}, "span": {"class"}, "div": {"class"}, "p": {"class"}},
        url_schemes={"data"},
        link_rel=None,
    )
    reader = _Reader([_mathml(*one) for one in formulas])
    reader.feed(clean)
    reader.close()
    return tuple(reader.whole())


def pictures_in(text: str) -> list[str]:
    """The names of the pictures that a text in Markdown shows."""
    tokens = _engine().parse(text)
    inner = (child for token in tokens for child in token.children or ())
    return [str(token.attrs["src"]) for token in inner if token.type == "image"]


def read_picture(path: Path) -> str:
    """A picture from its file, as a page carries it."""
    data = read_bytes(path)
    kind = next((kind for start, kind in _KINDS.items() if data.startswith(start)), None)
    if kind is None or (kind == "webp" and data[8:12] != b"WEBP"):
        raise InputError(f"{path}: not a picture that pages show. Use png, jpeg, gif or webp.")
    if len(data) > _LARGEST_PICTURE:
        raise InputError(f"{path}: {len(data) / 2**20:.1f} MB are too large for a page. Use at most 2 MB.")
    return f"data:image/{kind};base64,{base64.b64encode(data).decode()}"


@cache
def _engine() -> MarkdownIt:
    from markdown_it import MarkdownIt

    engine = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    engine.validateLink = lambda url: True  # type: ignore[method-assign]  # pictures are named, links lose their address
    engine.inline.ruler.before("escape", "formula", _find_formula)
    engine.add_render_rule("formula", _render_formula)
    engine.add_render_rule("image", _render_picture)
    for name in ("link_open", "link_close"):
        engine.add_render_rule(name, lambda *_: "")
    for name, tag in (("heading_open", '<p class="h">'), ("heading_close", "</p>\n")):
        engine.add_render_rule(name, lambda *_, told=tag: told)  # headings of a text are none of the page
    return engine


def _find_formula(state: Any, silent: bool) -> bool:  # noqa: FBT001 - markdown-it calls it so
    if state.src[state.pos] != "$":
        return False
    match = _FORMULA.match(state.src, state.pos)
    if match is None:
        return False
    if not silent:
        token = state.push("formula", "math", 0)
        token.content, token.meta = (match[1] or match[2]).strip(), {"is_block": bool(match[1])}
    state.pos = match.end()
    return True


def _render_formula(renderer: Any, tokens: Any, place: int, options: Any, env: Any) -> str:
    token = tokens[place]
    env["formulas"].append((token.content, token.meta["is_block"]))
    return f'<span class="{_MATH.format(len(env["formulas"]) - 1)}"></span>'


def _render_picture(renderer: Any, tokens: Any, place: int, options: Any, env: Any) -> str:
    from markupsafe import escape

    token = tokens[place]
    name = str(token.attrs["src"])
    if name not in env["pictures"]:
        raise InputError(
            f"The picture {name[:80]!r} is not there. Put its file beside the study; pages load nothing from a network."
        )
    return f'<img src="{escape(env["pictures"][name])}" alt="{escape(token.content)}">'


def _mathml(formula: str, is_block: bool) -> Element:  # noqa: FBT001
    need("latex2mathml", "formulas", "A formula in a page")
    from latex2mathml.converter import convert

    try:
        tree = ElementTree.fromstring(convert(formula, display="block" if is_block else "inline"))
    except Exception as error:  # noqa: BLE001 - the package has no error of its own
        raise InputError(
            f"The formula {formula[:60]!r} cannot be read ({str(error)[:80] or type(error).__name__})."
        ) from None
    (element,) = _math_elements(tree)
    assert isinstance(element, Element)
    return element


def _math_elements(node: ElementTree.Element) -> Iterator[str | Element]:
    tag = node.tag.rpartition("}")[2]
    children = [*([node.text] if node.text else []), *(one for child in node for one in _math_elements(child))]
    if tag in TAGS:
        kept = {name: value for name, value in node.attrib.items() if name in ATTRIBUTES and name != "src"}
        yield Element(tag=tag, attributes=kept, children=tuple(children))
    else:
        yield from children


class _Reader(HTMLParser):
    """Sanitised HTML as elements."""

    def __init__(self, formulas: list[Element]) -> None:
        super().__init__(convert_charrefs=True)
        self._formulas = {_MATH.format(number): one for number, one in enumerate(formulas)}
        self._open: list[tuple[str, dict[str, str], list[str | Element]]] = [("", {}, [])]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs if name in ATTRIBUTES}
        self._open.append((tag, given, []))
        if tag in _VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag in _VOID and self._open[-1][0] != tag:
            return
        name, attributes, children = self._open.pop()
        into = self._open[-1][2]
        if name == "span" and attributes.get("class") in self._formulas:
            into.append(self._formulas[attributes["class"]])
        elif name in TAGS:
            into.append(Element(tag=name, attributes=attributes, children=tuple(children)))
        else:
            into += children

    def handle_data(self, data: str) -> None:
        into = self._open[-1][2]
        if data.strip() or self._open[-1][0] not in ("", "ul", "ol", "table", "thead", "tbody", "tr"):
            into.append(data)

    def whole(self) -> list[str | Element]:
        """What was read; the sanitiser has closed every element."""
        return self._open[0][2]

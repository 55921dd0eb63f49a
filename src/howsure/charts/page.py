"""Charts inside a page: a figure's markup, and the style, scripts and policy that the page around it needs."""

from __future__ import annotations

import base64
import contextlib
import copy
import hashlib
from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from howsure.charts.pictures import Spec, engine, figure_svg
from howsure.charts.theme import FONT, color_css
from howsure.errors import InputError, need
from howsure.outside_text import templates
from howsure.safe_io import cache_folder, write_atomic

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

__all__ = ["bundle", "figure", "kept_bundle", "page", "policy", "scripts", "style", "title_and_caption"]

# The page gives the font, and the figure the role and the name: half of a picture's bytes.
_IDLE = frozenset(
    {"aria-hidden", "aria-label", "aria-roledescription", "class", "font-family", "pointer-events", "role"}
)
_NARROW = 270  # pixels between the axes of a chart on half a page
_PAGE_STYLE = "body{margin:0;padding:1.25rem;background:var(--paper);color:var(--ink);font-family:var(--sans)}main{max-width:60rem;margin:auto}"


def page(spec: Spec) -> str:
    """One chart as a page of its own."""
    from markupsafe import Markup

    look, code = style() + _PAGE_STYLE, scripts()
    return (
        _templates()
        .get_template("page.html")
        .render(
            title=title_and_caption(spec)[0],
            figure=figure(spec, key="chart", tag="h1"),
            policy=policy(code, look),
            style=Markup(look),
            scripts=[Markup(one) for one in code],
        )
    )


def figure(spec: Spec, *, key: str, alt: str = "", tag: str = "strong", is_narrow: bool = False) -> Markup:
    """A chart as an HTML figure: title and caption as text, a still picture, and the specification for the live one.

    `key` names the figure within the page, and `alt` what a reader who sees nothing is told; by default the chart's description.
    `tag` is the element of the title. With `is_narrow`, the still picture is drawn for half a page.
    """
    from markupsafe import Markup

    title, caption = title_and_caption(spec)
    shown = _narrowed(spec) if is_narrow else spec
    bare = {name: value for name, value in shown.items() if name not in ("title", "description")}
    text = (
        _templates()
        .get_template("figure.html")
        .render(
            key=key,
            tag=tag,
            title=title,
            caption=caption,
            alt=alt or spec.get("description") or title,
            picture=Markup(figure_svg(shown, prefix=f"{key}-", without=_IDLE)),
            spec=_json(bare),
        )
    )
    return Markup(text)


def _narrowed(spec: Spec) -> Spec:
    """The chart for half a page, with its text as large as in a whole one; facets and rows of charts keep their widths."""
    if "layer" not in spec and "mark" not in spec:
        return spec
    narrow = copy.deepcopy(spec)
    narrow["width"] = _NARROW
    narrow["config"]["axisY"] |= {"labelLimit": 140}
    narrow["config"]["legend"] |= {"titleOrient": "top", "gradientLength": 120}
    for layer in narrow.get("layer", [narrow]):
        for channel in layer.get("encoding", {}).values():
            if isinstance(channel, dict) and (channel.get("legend") or {}).get("columns"):
                channel["legend"]["columns"] = 1
    return narrow


def title_and_caption(spec: Spec) -> tuple[str, str]:
    """What `captioned` wrote on the chart, each as one line."""
    head = spec.get("title") or {}
    head = head if isinstance(head, dict) else {"text": head}
    return _joined(head.get("text", "Chart")), _joined(head.get("subtitle", ""))


def style() -> str:
    """The style sheet that figures need: the colours as variables, light and dark, and the figures' own rules."""
    return f":root{{--sans:{FONT}}}\n{color_css()}{_asset('charts.css')}"


def scripts() -> tuple[str, ...]:
    """The scripts that figures need, in their order."""
    return bundle(), _asset("charts.js")


def policy(code: Iterable[str], look: str) -> str:
    """A Content-Security-Policy under which just these scripts and this style run, and nothing is fetched or sent."""
    allowed = " ".join(_digest(text) for text in code)
    return f"default-src 'none'; script-src {allowed}; style-src {_digest(look)}; img-src data:; base-uri 'none'; form-action 'none'"


def _joined(lines: str | list[str]) -> str:
    return lines if isinstance(lines, str) else " ".join(lines)


def _json(spec: Spec) -> Markup:
    from jinja2.utils import htmlsafe_json_dumps

    return htmlsafe_json_dumps(spec, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


@cache
def _asset(name: str) -> str:
    return files("howsure.charts").joinpath("assets", name).read_text(encoding="utf-8")


@cache
def _templates() -> Environment:
    return templates(_asset)


# The JavaScript that draws charts in a page: Vega, Vega-Lite and Vega-Embed in one text, made once for this machine.


# Vega-Embed alone brings the other two and the interpreter that needs no eval; naming them too only adds bytes.
_SNIPPET = "window.vegaEmbed=vegaEmbed;"


@cache
def bundle() -> str:
    """The script that defines ``vegaEmbed``.

    Making it takes seconds, so it is kept in `cache_folder` under vl-convert's version and its own digest; a damaged file is
    made again. Processes that make it at the same time each write a whole file; where the folder cannot be written the script
    lives in memory only.
    """
    if (kept := kept_bundle()) is not None:
        return kept
    made = _make()
    with contextlib.suppress(OSError, InputError):
        for damaged in _kept_files():
            damaged.unlink(missing_ok=True)
        write_atomic(cache_folder() / f"vega-embed-{_version()}-{_short_digest(made.encode())}.js", made)
    return made


def kept_bundle() -> str | None:
    """The script from the cache if it is there, whole and of this version."""
    for path in _kept_files():
        with contextlib.suppress(OSError):
            data = path.read_bytes()
            if path.stem.endswith(f"-{_short_digest(data)}"):
                return data.decode()
    return None


def _kept_files() -> list[Path]:
    return sorted(cache_folder().glob(f"vega-embed-{_version()}*.js"))


def _short_digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:32]


def _version() -> str:
    need("vl_convert", "charts", "A page with charts")
    from importlib.metadata import version

    return version("vl-convert-python")


def _make() -> str:
    return str(engine().javascript_bundle(_SNIPPET))

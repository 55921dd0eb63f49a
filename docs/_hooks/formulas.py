"""Formulas as MathML, made when the pages are built: a browser shows them without a script and without a network."""

import html
import re
from typing import Any

from latex2mathml.converter import convert

_INLINE = re.compile(r'<span class="arithmatex">\\\((.*?)\\\)</span>', re.S)
_BLOCK = re.compile(r'<div class="arithmatex">\s*\\\[(.*?)\\\]\s*</div>', re.S)


def on_page_content(content: str, **_: Any) -> str:
    """MkDocs calls this with each page."""
    content = _BLOCK.sub(lambda found: f'<div class="formula">{_mathml(found[1], "block")}</div>', content)
    return _INLINE.sub(lambda found: _mathml(found[1], "inline"), content)


def _mathml(formula: str, display: str) -> str:
    return convert(html.unescape(formula), display=display)

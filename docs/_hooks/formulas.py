"""Formulas as MathML, made when the pages are built: a browser shows them without a script and without a network."""

import html
import re
from typing import Any

from latex2mathml.converter import convert

_INLINE = re.compile(r'<span class="arithmatex">\\\((.*?)\\\)</span>', re.S)
_BLOCK = re.compile(r'<div class="arithmatex">\\\[(.*?)\\\]</div>', re.S)


def on_page_content(content: str, **_: Any) -> str:
    """MkDocs calls this with each page."""
    content = _BLOCK.sub(lambda found: convert(html.unescape(found[1]), display="block"), content)
    return _INLINE.sub(lambda found: convert(html.unescape(found[1])), content)

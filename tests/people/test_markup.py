"""Markdown, code, formulas and pictures: what is shown, and what never gets through."""

import base64
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from howsure.errors import InputError
from howsure.people import Item, Page, Passage, TextQuestion, Turn, build_page, opaque_id
from howsure.people.markup import pictures_in, read_picture, rendered
from howsure.people.screens import TAGS, Element

from .page_examples import HOSTILE

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


def tags(nodes):
    for node in nodes:
        if isinstance(node, Element):
            yield node.tag
            yield from tags(node.children)


def words(nodes):
    return "".join(node if isinstance(node, str) else words(node.children) for node in nodes)


def test_markdown_becomes_elements_of_a_fixed_list():
    text = "# Head\n\n*now* **then** ~~gone~~ `a < b`\n\n1. one\n2. two\n\n> said\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```\nx = 1\n```"
    nodes = rendered(text)
    assert [node.tag for node in nodes] == ["p", "p", "ol", "blockquote", "table", "pre"]
    assert nodes[0].attributes == {"class": "h"}
    assert {"em", "strong", "s", "code", "li", "th", "td"} <= set(tags(nodes))
    assert "a < b" in words(nodes)


def test_formulas_become_mathml_and_prices_stay_prices():
    nodes = rendered("It is $\\frac{1}{2}$ of $$\\sum_i x_i$$ and costs $5 or $6; `$x$` is code.")
    assert {"math", "mfrac", "munder"} <= set(tags(nodes))
    assert "costs $5 or $6" in words(nodes)
    assert "$x$" in words(nodes)
    with pytest.raises(InputError, match="cannot be read"):
        rendered("$\\frac{$")


@pytest.mark.parametrize(
    "text",
    [
        HOSTILE,
        "<img src=x onerror=alert(1)>",
        "[click](javascript:alert(1))",
        "[x](http://evil.example)",
        "<style>body{display:none}</style>",
        "<math><mtext><script>1</script></mtext></math>",
        "<svg onload=alert(1)>",
        "$\\href{javascript:alert(1)}{x}$",
        '<span class="m0x">a</span> $x$',
    ],
)
def test_hostile_texts_stay_texts(text):
    try:
        nodes = rendered(text)
    except InputError:
        return
    told = json.dumps([node if isinstance(node, str) else node.model_dump() for node in nodes])
    assert set(tags(nodes)) <= set(TAGS)
    for word in ('"href"', '"onerror"', '"onload"', '"style"', '"javascript:'):
        assert word not in told


@settings(max_examples=150, deadline=None)
@given(st.text(alphabet=st.sampled_from(list("<>&\"'`*_#[]()!|$\\ \nab1:/=")), max_size=120))
def test_any_text_gives_only_listed_elements(text):
    try:
        nodes = rendered(text)
    except InputError:
        return
    assert set(tags(nodes)) <= set(TAGS)


def test_pictures_come_from_files_and_from_nowhere_else(tmp_path):
    (tmp_path / "dot.png").write_bytes(PNG)
    data = read_picture(tmp_path / "dot.png")
    assert pictures_in("![a dot](dot.png) and `![no](code.png)`") == ["dot.png"]
    (paragraph,) = rendered("![a dot](dot.png)", {"dot.png": data})
    assert paragraph.children[0].attributes == {"src": data, "alt": "a dot"}
    with pytest.raises(InputError, match="nothing from a network"):
        rendered("![x](https://evil.example/x.png)")
    (tmp_path / "bad.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg'/>")
    with pytest.raises(InputError, match="png, jpeg, gif or webp"):
        read_picture(tmp_path / "bad.svg")
    with pytest.raises(ValueError, match="must carry its data"):
        Element(tag="img", attributes={"src": "https://evil.example/x.png"})


def test_the_browser_builds_formatted_texts_and_conversations(tmp_path, browser_page, axe):
    (tmp_path / "dot.png").write_bytes(PNG)
    text = "# Head\n\n**bold** $x^2$ ![dot](dot.png)\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n<b>no markup</b>"
    rich = rendered(text, {"dot.png": read_picture(tmp_path / "dot.png")})
    turns = (Turn(who="User", text="Hello?", rich=rendered("*Hello?*")), Turn(who="Assistant", text="Yes."))
    item = Item(
        id=opaque_id("s", 1),
        title="Formatted",
        context=(Passage(label="Conversation", turns=turns),),
        passages=(Passage(label="Response", text=text, rich=rich),),
        questions=(TextQuestion(name="note", text="Anything?"),),
    )
    path = build_page(Page(instrument="study", title="T", rater="r1", screens=(item,))).save(tmp_path / "page.html")
    page = browser_page(path)
    assert page.locator(".formatted strong").inner_text() == "bold"
    assert page.evaluate("document.querySelector('msup').namespaceURI").endswith("MathML")
    assert page.evaluate("document.querySelector('.formatted img').naturalWidth") == 1
    assert "<b>no markup</b>" in page.locator(".box.formatted").inner_text()
    assert page.locator(".turn .who").all_inner_texts() == ["User", "Assistant"]
    assert page.locator(".box.formatted h1, .box.formatted h2").count() == 0
    assert axe(page) == []

"""The page tells right from wrong as the check does that scores: the same cases through the page's own script and through Python."""

import pytest

from howsure.horizon.task_bank import DOMAINS, EVERYDAY, Exact, Task, families
from howsure.people.build import asset
from howsure.people.questions import TextQuestion, plain_forms
from howsure.people.screens import GameScreen

CHECKED = [
    (domain, one)
    for domain in (*DOMAINS, *EVERYDAY)
    for one in families(domain)
    if one.verification_type == "automated"
]
TYPED = TextQuestion(name="answer", text="Answer", required=True)
RIGHT = (
    *(
        "{}",
        " {} ",
        "{}.",
        "`{}`",
        "“{}”",
        "**{}**",
        "Answer: {}",
        "answer : `{}`.",
        "The answer is {}.",
        "So the answer is: {}",
    ),
    *(
        "Final answer: {}",
        "\\boxed{{{}}}",
        "$\\boxed{{{}}}$.",
        "\\text{{{}}}",
        "'{}'",
        "\u00a0{}",
        "My answer is **{}**",
        "It should be {}.",
        "The missing piece: `{}`",
        "`{}` belongs in the blank.",
        "I think <answer>{}</answer>.",
    ),
)
WRONG = (
    *(
        "not {}",
        "{} or not",
        "The answer is not {}.",
        "Answer: {}\nAnswer: none",
        "{}{}",
        "The wrong answer is {}",
        "{} ?",
        "no",
    ),
    *("- {}!", "Anything but {} is right", "Is it {}?", "..", "```", "Answer:"),
    *("It should be none.\nIt should be {}.", "<answer>{}</answer><answer>none</answer>", "It should be {} or none."),
)


@pytest.fixture
def page_marks(browser_page, tmp_path):
    """What the page's script says of texts: right or wrong, and the forms it compares."""
    (tmp_path / "empty.html").write_text("<!doctype html><title>x</title>")
    page = browser_page(tmp_path / "empty.html")
    code = asset("sha256.js") + asset("answers.js")

    def marks(game, texts):
        given = {"salt": game.salt, "rights": list(game.steps[0].rights), "texts": texts}
        said = "given.texts.map((text) => [isRight(given.salt, 0, { kind: 'text' }, text, given.rights), plainForms(text)])"
        return page.evaluate(f"(given) => {{ {code}; return {said}; }}", given)

    return marks


def agree(page_marks, rights, check, cases):
    """Both say what is expected of each case."""
    game = GameScreen.hiding([("?", rights)], answer=TYPED, id="a" * 16, title="T")
    there = page_marks(game, list(cases))
    for (text, expected), (is_right, forms) in zip(cases.items(), there, strict=True):
        assert forms == list(plain_forms(text)), text
        assert is_right == game.is_right(0, text), text
        assert (is_right, check(text)) == (expected, float(expected)), text


@pytest.mark.parametrize(("domain", "family"), CHECKED, ids=[family.name for _, family in CHECKED])
def test_every_domain_is_marked_alike(domain, family, page_marks):
    for seed, difficulty in ((1, 0.2), (2, 0.8)):
        task = Task(id="t", domain=domain, generator=family.name, verification_type="automated", difficulty=difficulty)
        one = task.instance(seed)
        typed = dict.fromkeys(
            way(right) for right in one.accepted()[:3] for way in (str, str.upper, str.lower, _unspaced)
        )
        cases = {form.format(answer): True for answer in typed for form in RIGHT}
        cases |= {form.format(one.answer, one.answer): False for form in WRONG}
        agree(page_marks, one.accepted(), one.check, cases)


def _unspaced(text):
    return text.replace(" ", "")


@pytest.mark.parametrize(
    ("answers", "right", "wrong"),
    [
        (
            ("42",),
            ("042", "42.0", "+42", "４２", "4 2", "42,0"),
            ("43", "-42", "4.2", "42 or 43", "421", "42%", "42 apples"),
        ),
        (("1250.5",), ("1,250.50", "1{,}250.5", "1 250.5", "1250,5"), ("1.250.5", "12505", "1,25,0.5")),
        (("New York", "NYC"), ("new  york", "nyc.", "The answer is NYC"), ("York", "New", "not NYC", "NYC or Paris")),
        (("-7",), ("−7", "- 7", "the number is -7"), ("7", "--7", "-7-")),
        (("Σας",), ("ΣΑΣ", "σας"), ("σα",)),
    ],
)
def test_tasks_of_ones_own_are_marked_alike(answers, right, wrong, page_marks):
    check = Exact(answers)
    agree(page_marks, answers, check, dict.fromkeys(right, True) | dict.fromkeys(wrong, False))

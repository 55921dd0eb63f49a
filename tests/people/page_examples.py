"""A study in miniature that uses every kind of screen and question, and raters who answer it without a browser."""

import random
from datetime import UTC, datetime, timedelta

from howsure.people import (
    ChoiceQuestion,
    Consent,
    GameScreen,
    Item,
    NumberQuestion,
    Option,
    Page,
    Passage,
    QuizScreen,
    ReadingScreen,
    ScaleQuestion,
    TextQuestion,
    build_page,
    digest,
    opaque_id,
)

HOSTILE = (
    '</script><script>globalThis.owned=1</script><img src=x onerror="globalThis.owned=1">'
    "<!-- {{7*7}} ${7*7} {% raw %} &amp; \u202eevil\u202c \u2066\u200f \u2028\u2029 \x00\x07 \ufeff ']]> --> \U0001f600"
)
VOICE = ScaleQuestion(
    name="voice",
    text="Which response sounds like the sample?",
    labels=("Definitely 1", "Leaning 1", "Hard to tell", "Leaning 2", "Definitely 2"),
)
VIBE = ScaleQuestion(name="vibe", text="Does it capture the energy?", low=1, labels=("No", "A little", "Yes"))
TRUST = ChoiceQuestion(
    name="trust",
    text="Would you trust it to be the same collaborator?",
    options=tuple(Option(value=v, label=v.replace("_", " ")) for v in ("yes", "sort_of", "no")),
)
SURE = NumberQuestion(name="sure", text="How sure are you?", low=0, high=100, unit="%")
QUIZ = ChoiceQuestion(
    name="q1",
    text="The sample speaks of …",
    options=(Option(value="ants", label="ants"), Option(value="bees", label="bees")),
)
MEDIAN = NumberQuestion(name="median", text="Median of all numbers so far", low=0, high=99, decimals=1)


def study_page(rater="r1", texts=("First text.", "Second text."), n_items=2, seed=0):
    """Consent, sample, quiz, items, comments."""
    random_ = random.Random(f"{rater} {seed}")

    def name(what):
        return opaque_id("a secret", rater, what)

    def item(number):
        shown = random_.sample(texts, len(texts))
        return Item(
            id=name(f"item {number}"),
            title="Two responses",
            prompt="What went wrong?",
            passages=tuple(Passage(label=f"Response {n}", text=text) for n, text in enumerate(shown, 1)),
            questions=(VOICE, VIBE, TRUST, SURE),
        )

    items = [item(number) for number in range(n_items)]
    random_.shuffle(items)
    screens = (
        Consent(id=name("consent"), title="Before you begin", text="You rate texts.\n\nYou can stop at any time."),
        ReadingScreen(
            id=name("sample"),
            title="The sample",
            text="Read this.",
            passages=(Passage(label="Sample", text="It is like finding an ant in the kitchen."),),
            at_hand=True,
        ),
        QuizScreen.hiding(
            {"q1": ["ants"]}, questions=[QUIZ], id=name("quiz"), title="A question", pass_mark=1, tries=2
        ),
        *items,
        Item(
            id=name("comments"),
            title="Comments",
            questions=(TextQuestion(name="comments", text="Anything you want to tell us?", lines=4),),
        ),
    )
    return build_page(Page(instrument="study", title="Voices", rater=rater, screens=screens))


def track_page(rater="", numbers=(5, 5, 9, 1), stop="wrong", tells=False):
    """A practice round and a round of running medians."""

    def game(what):
        steps = [(str(n), [_median(numbers[: i + 1])]) for i, n in enumerate(numbers)]
        return GameScreen.hiding(
            steps, answer=MEDIAN, id=opaque_id("s", what), title=what, text="Type the median.", stop=stop, tells=tells
        )

    return build_page(
        Page(instrument="track", title="Medians", rater=rater, screens=(game("Practice"), game("Round 1")))
    )


def answered(built, *, voice=1, comment=None, rater=None, quiz="ants", ms=60_000):
    """What the page would record of a diligent rater."""
    screens = {screen.id: _record(screen, voice, comment, quiz, ms) for screen in built.page.screens}
    begun = datetime(2025, 6, 1, 12, tzinfo=UTC)
    ended = begun + timedelta(milliseconds=sum(record["ms"] for record in screens.values()))
    body = {
        "format": "howsure-result/1",
        "page": built.digest,
        "rater": rater or built.page.rater,
        "started": instant(begun),
        "finished": instant(ended),
        "reloads": 0,
        "screens": screens,
    }
    return signed(body)


def instant(time):
    """A time as pages write it."""
    return time.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def signed(body):
    """The body with the digest that fits it."""
    rest = {name: value for name, value in body.items() if name != "digest"}
    return rest | {"digest": digest(rest)}


def draft(built, *, saves=1, at=1, rater=None):
    """What the page sends on the way."""
    whole = answered(built, rater=rater)
    kept = {name: whole[name] for name in ("page", "rater", "started", "reloads")}
    first = built.page.screens[0]
    return kept | {"at": at, "saves": saves, "screens": {first.id: whole["screens"][first.id]}}


def _record(screen, voice, comment, quiz, ms):
    base = {"kind": screen.kind, "ms": ms, "visits": 1}
    if screen.kind == "consent":
        return base | {"agreed": True}
    if screen.kind == "quiz":
        return base | {"answers": {"q1": quiz}, "tries": [{"q1": quiz}]}
    if screen.kind == "game":
        return base | {"begun": True, "open_ms": 0, "steps": [{"answer": "5", "ms": 900}, {"answer": "4", "ms": 700}]}
    if screen.kind == "item":
        given = {"voice": voice, "vibe": 2, "trust": "yes", "sure": "80"} if screen.passages else {}
        return base | {"answers": given | ({"comments": comment} if comment and not given else {}), "revisions": {}}
    return base


def _median(numbers):
    ordered = sorted(numbers)
    middle = len(ordered) // 2
    value = ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2
    return f"{value:g}"

"""A small study and a model that answers its questions, for the tests of judges."""

import re

from howsure.study.judging.runs import asked
from howsure.study.protocol import ResponsePair, Study

SECRET = ("target", "comparison", "TECH", "pair-")


def small_study(n_pairs=3, **changes):
    pairs = [
        ResponsePair(
            id=f"pair-{number}",
            prompt=f"Question {number}?",
            target=f"Zoom out {number}: mind the ants.",
            comparison=f"Answer {number}: just restart it.",
            domain="TECH",
        )
        for number in range(n_pairs)
    ]
    told = {"title": "Voices", "consent": "Yes.", "gold": "Hold on, zoom out.", "characteristics": ["likes ants"]}
    return Study(**told | {"pairs": pairs} | changes)


def lines(study, places):
    """A reply with these places, by dimension and slot: ``{"voice": 1, "vibe": {1: 3, 2: 1}}``."""
    told = []
    for question in asked(study.dimensions):
        place = places[question.dimension.name]
        told.append(f"[{question.key}: {place[question.slot] if question.slot else place}]")
    return "\n".join(told)


def slot_of_ants(text):
    """In which slot the response about ants stands."""
    return 1 if re.search(r"Response 1:\n(=+\w+)\nZoom", text) else 2


def fan(study):
    """Always for the ants: the perfect rater."""

    def answer(text):
        slot = slot_of_ants(text)
        each = {slot: 3, 3 - slot: 1}
        return "They differ.\n\n" + lines(
            study, {"voice": 1 if slot == 1 else 5, "vibe": each, "logic": each, "continuity": 1}
        )

    return answer


def always_first(study):
    """Always for slot 1."""
    each = {1: 3, 2: 1}
    return lambda text: lines(study, {"voice": 1, "vibe": each, "logic": each, "continuity": 1})

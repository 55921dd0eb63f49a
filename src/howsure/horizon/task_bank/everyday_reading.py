"""Everyday domains, second half: records, mails, forms, people and worked sums that have to be read with care. Each has one right answer."""

from __future__ import annotations

import random
from itertools import permutations

from howsure.horizon.task_bank.base import Exact, Instance, TaskFamily

__all__ = ["FAMILIES_OF"]

_ENDING = "If you write anything else, end with a line that says Answer: and then {what}."
_NAMES = (
    "Abbott",
    "Baker",
    "Castle",
    "Dorsey",
    "Elwood",
    "Fisher",
    "Garner",
    "Holmes",
    "Ingram",
    "Jarvis",
    "Keller",
    "Lawson",
)
_TOWNS = ("Alton", "Brede", "Corby", "Deal", "Ely", "Fleet", "Goole", "Hythe")
_PEOPLE = ("Ada", "Ben", "Cleo", "Dan", "Eva")
_SPOTS = ("drawer", "basket", "cupboard", "bag", "box")
_THINGS = ("keys", "letters", "tickets", "scissors", "batteries")
_SENDERS = ("the bank", "a customer", "your manager", "a supplier", "a newsletter", "the school")
_TOPICS = ("invoice", "meeting", "complaint", "offer", "holiday", "password")
_LABELS = "ABCD"


def transcription(rng: random.Random, difficulty: float) -> Instance:
    """Which typed rows differ from the originals: the harder, the more rows, and the smaller the slips."""
    n_rows = 4 + round(8 * difficulty)
    rows = [
        [
            rng.choice(_NAMES),
            f"{rng.randint(1, 28):02}.{rng.randint(1, 12):02}.{rng.randint(1950, 2009)}",
            rng.choice(_TOWNS),
            str(rng.randint(10_000, 99_999)),
        ]
        for _ in range(n_rows)
    ]
    wrong = sorted(rng.sample(range(n_rows), rng.randint(1, max(1, n_rows // 3))))
    typed = [list(row) for row in rows]
    for place in wrong:
        column = rng.choice((1, 3) if difficulty > 0.4 else (0, 1, 2, 3))
        typed[place][column] = _slip(rng, rows[place][column], column)
    found = ",".join(str(place + 1) for place in wrong)
    prompt = f"""Forms were typed into a table. These are the forms:

{_table(rows)}

And this was typed:

{_table(typed)}

Which rows differ from their form?

Answer with their numbers in ascending order, with commas, for instance 2,5. {_ENDING.format(what="the numbers")}"""
    return Instance(prompt, found, None, Exact((found, found.replace(",", " "), found.replace(",", " and "))))


def _slip(rng: random.Random, text: str, column: int) -> str:
    if column in (0, 2):
        return rng.choice([one for one in (_NAMES if column == 0 else _TOWNS) if one != text])
    digits = [place for place, letter in enumerate(text) if letter.isdigit()][-4:]
    place = rng.choice(digits)
    return text[:place] + rng.choice([d for d in "0123456789" if d != text[place]]) + text[place + 1 :]


def _table(rows: list[list[str]]) -> str:
    return "\n".join(f"{number}. {' | '.join(row)}" for number, row in enumerate(rows, 1))


def triage(rng: random.Random, difficulty: float) -> Instance:
    """Which folder each mail goes to, by the first rule that fits: the harder, the more rules and mails, and rules with two conditions."""
    n_mails, n_rules = 3 + round(5 * difficulty), 2 + round(3 * difficulty)
    tests = [
        *((f"it comes from {one}", ("sender", one)) for one in _SENDERS),
        *((f"it is about the word {one}", ("topic", one)) for one in _TOPICS),
        ("it has an attachment", ("attachment", "yes")),
        ("it is more than 3 days old", ("old", "yes")),
    ]
    while True:
        rules = []
        for chosen in rng.sample(tests, n_rules):
            second = (
                rng.choice([one for one in tests if one[1][0] != chosen[1][0]])
                if rng.random() < difficulty - 0.2
                else None
            )
            rules.append(([chosen, second] if second else [chosen], rng.choice(_LABELS)))
        mails = [_mail(rng) for _ in range(n_mails)]
        found = "".join(_label(mail, rules) for mail in mails)
        if len(set(found)) > 1:
            break
    listed = "\n".join(
        f"{k}. If {' and '.join(words for words, _ in conditions)}: folder {label}."
        for k, (conditions, label) in enumerate(rules, 1)
    )
    shown = "\n".join(
        f"{k}. From {m['sender']}, about {m['topic']}, {m['days']} {'day' if m['days'] == '1' else 'days'} old, {'with' if m['attachment'] == 'yes' else 'without'} attachment"
        for k, m in enumerate(mails, 1)
    )
    prompt = f"""Mails go to folders A to D. The first rule that fits decides; where none fits, folder D.

{listed}

The mails:

{shown}

Which folder does each mail go to?

Answer with the {n_mails} letters in the order of the mails, without spaces, for instance ABC. {_ENDING.format(what="the letters")}"""
    return Instance(prompt, found, None, Exact((found, ",".join(found))))


def _mail(rng: random.Random) -> dict[str, str]:
    days = rng.randint(0, 8)
    return {
        "sender": rng.choice(_SENDERS),
        "topic": rng.choice(_TOPICS),
        "attachment": rng.choice(("yes", "no")),
        "days": str(days),
        "old": "yes" if days > 3 else "no",
    }


def _label(mail: dict[str, str], rules: list[tuple[list[tuple[str, tuple[str, str]]], str]]) -> str:
    fitting = (label for conditions, label in rules if all(mail[key] == value for _, (key, value) in conditions))
    return next(fitting, "D")


def fee_form(rng: random.Random, difficulty: float) -> Instance:
    """What a form asks somebody to pay: the harder, the more rules apply."""
    age, members, is_resident, days = (
        rng.randint(8, 80),
        rng.randint(1, 6),
        rng.choice((True, False)),
        rng.randint(-10, 15),
    )
    base, child, senior = 10 * rng.randint(4, 12), rng.randint(10, 16), rng.randint(60, 70)
    extra, local, late = rng.randint(3, 12), rng.randint(5, 20), rng.randint(1, 4)
    rules = [f"The fee is {base} euros."]
    fee = float(base)
    halves = f"Whoever is younger than {child} or at least {senior} years old pays half of the fee."
    if age < child or age >= senior:
        fee /= 2
    rules.append(halves)
    if difficulty >= 0.25:
        rules.append(f"For each person beyond the first, add {extra} euros.")
        fee += extra * (members - 1)
    if difficulty >= 0.5:
        rules.append(f"Residents of the town then subtract {local} euros, but nobody pays less than 0.")
        fee = max(fee - local, 0) if is_resident else fee
    if difficulty >= 0.75:
        rules.append(f"At the end, add {late} euros for each day after the deadline.")
        fee += late * max(days, 0)
    when = (
        f"{abs(days)} days {'after' if days > 0 else 'before'} the deadline" if days else "on the day of the deadline"
    )
    found = f"{fee:g}"
    prompt = f"""The rules of a form, to be applied in this order:

{chr(10).join(f"{k}. {rule}" for k, rule in enumerate(rules, 1))}

The applicant is {age} years old, registers {members} {"person" if members == 1 else "persons"} (herself included), lives {"in" if is_resident else "outside"} the town, and hands the form in {when}.

How many euros does she pay?

Answer with the number, for instance 47 or 47.5. {_ENDING.format(what="the number")}"""
    return Instance(prompt, found, None, Exact((found, f"{fee:.2f}")))


def beliefs(rng: random.Random, difficulty: float) -> Instance:
    """Where people believe a thing to be: the harder, the more comings and goings; from 0.6 on, also what they believe that others believe."""
    names = rng.sample(_PEOPLE, 2 + round(difficulty))
    spots, thing = rng.sample(_SPOTS, 4 + round(difficulty)), rng.choice(_THINGS)
    pairs = list(permutations(names, 2))
    asked = [(name, name) for name in names] + (rng.sample(pairs, min(2, len(pairs))) if difficulty >= 0.6 else [])
    while True:
        here, place = set(names), spots[0]
        lines = [f"{', '.join(names[:-1])} and {names[-1]} are in the room. The {thing} are in the {place}."]
        seen = {(a, b): place for a in names for b in names}  # what a believes that b believes; a = b: what a believes
        for _ in range(5 + round(6 * difficulty)):
            away = [name for name in names if name not in here]
            kind = rng.choice(("move", "move", "leave", "come"))
            if kind == "leave" and len(here) > 1:
                name = rng.choice(sorted(here))
                here.discard(name)
                lines.append(f"{name} leaves the room.")
            elif kind == "come" and away:
                name = rng.choice(away)
                here.add(name)
                lines.append(f"{name} comes back.")
            elif kind == "move":
                name, place = rng.choice(sorted(here)), rng.choice([spot for spot in spots if spot != place])
                lines.append(f"{name} moves the {thing} to the {place}.")
                seen |= {(a, b): place for a in here for b in here}
        if len({seen[pair] for pair in asked}) > 1 and len(lines) > 4:
            break
    questions = [
        f"Where does {a} believe the {thing} to be?"
        if a == b
        else f"Where does {a} believe that {b} believes the {thing} to be?"
        for a, b in asked
    ]
    words = [seen[pair] for pair in asked]
    found = ",".join(words)
    prompt = f"""Everybody in the room sees what happens there and who is there; nobody else does. Nobody talks about it, looks for the {thing} when coming back, or does anything with them outside the room. Whoever is away believes that nothing has been moved since.

{chr(10).join(lines)}

{chr(10).join(f"{k}. {question}" for k, question in enumerate(questions, 1))}

Answer with one word per question, with commas, each of these: {", ".join(sorted(spots))}. For instance {spots[0]},{spots[1]}. {_ENDING.format(what="the words")}"""
    return Instance(prompt, found, None, Exact((found, " ".join(words))))


def first_mistake(rng: random.Random, difficulty: float) -> Instance:
    """The first wrong line of a pupil's sum: the harder, the more lines and the larger the numbers."""
    n_lines, size = 3 + round(6 * difficulty), 20 + round(180 * difficulty)
    wrong, right = rng.randint(1, n_lines), 0
    value, lines = rng.randint(5, size), []
    for k in range(1, n_lines + 1):
        kind = rng.choice("+-×" if value < 5 * size else "-")
        other = rng.randint(2, 9) if kind == "×" else rng.randint(2, size)
        true = value + other if kind == "+" else value - other if kind == "-" else value * other
        told = true + rng.choice((-10, -2, -1, 1, 2, 10)) if k == wrong else true
        lines.append(f"{k}. {value} {kind} {other} = {told}".replace("-", "−"))
        value, right = told, true if k == wrong else right
    found = f"{wrong}:{right}"
    prompt = f"""A pupil works through a sum. Each line begins with the result of the line before.

{chr(10).join(lines)}

In which line is the first mistake, and what should that line's result have been? Later lines that begin with a wrong result are not mistakes by themselves.

Answer with the number of the line, a colon and the right result, for instance 2:57. {_ENDING.format(what="the two numbers")}"""
    return Instance(prompt, found, None, Exact((found, f"line {wrong}: {right}")))


FAMILIES_OF = {
    "data_entry": (
        TaskFamily("transcription", "Which typed rows differ from their form.", "automated", transcription),
    ),
    "email_triage": (TaskFamily("triage", "Which folder each mail goes to.", "automated", triage),),
    "reading_forms": (TaskFamily("fee_form", "What a form asks somebody to pay.", "automated", fee_form),),
    "social_situations": (TaskFamily("beliefs", "Where people believe a thing to be.", "automated", beliefs),),
    "tutoring": (TaskFamily("first_mistake", "The first wrong line of a pupil's sum.", "automated", first_mistake),),
}

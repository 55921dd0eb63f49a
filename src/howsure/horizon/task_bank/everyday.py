"""Everyday domains, first half: plans and sums that people make at home, in the kitchen, at work, on the way and in shops. Each has one right answer."""

from __future__ import annotations

import random
from collections.abc import Callable

from howsure.horizon.task_bank.base import Exact, Instance, TaskFamily

__all__ = ["FAMILIES_OF", "clock"]

_ENDING = "If you write anything else, end with a line that says Answer: and then {what}."
_PEOPLE = ("Ada", "Ben", "Cleo", "Dan", "Eva", "Finn")
_STEPS = ("wash", "peel", "chop", "soak", "mix", "boil", "fry", "bake", "rest", "slice", "season", "plate")
_PLACES = ("Alton", "Brede", "Corby", "Deal", "Ely", "Fleet", "Goole", "Hythe")
_GOODS = ("apples", "eggs", "loaves", "soap bars", "light bulbs", "notebooks", "tins of soup", "towels")


def clock(minutes: int) -> str:
    """Minutes after midnight as a time of the day."""
    return f"{minutes // 60:02}:{minutes % 60:02}"


def tariff(rng: random.Random, difficulty: float) -> Instance:
    """When a machine runs at the lowest price: the harder, the longer it runs, and the more hours come into question."""
    n_hours, length = 6 + round(12 * difficulty), 1 + round(3 * difficulty)
    while True:
        prices = [rng.randint(10, 45) for _ in range(n_hours)]
        first = rng.randint(0, 23 - n_hours)
        totals = [sum(prices[start : start + length]) for start in range(n_hours - length + 1)]
        best = min(totals)
        if totals.count(best) == 1 and len(totals) > 2:
            break
    start = clock(60 * (first + totals.index(best)))
    listed = "\n".join(
        f"{clock(60 * (first + k))} to {clock(60 * (first + k + 1))}: {p} cents" for k, p in enumerate(prices)
    )
    prompt = f"""Electricity for the dishwasher costs so much in each hour:

{listed}

The dishwasher starts on the hour, runs {length} {"hour" if length == 1 else "hours in a row"} and must have ended by {clock(60 * (first + n_hours))}. At which time is it cheapest to start it?

Answer with the time, for instance 07:00. {_ENDING.format(what="the time")}"""
    return Instance(prompt, start, None, Exact((start, start.removeprefix("0"))))


def kitchen_plan(rng: random.Random, difficulty: float) -> Instance:
    """When a meal is ready if everything runs side by side that can: the harder, the more steps, and the more they wait for each other."""
    n_steps = 3 + round(7 * difficulty)
    names = rng.sample(_STEPS, n_steps)
    minutes: dict[str, int] = {}
    after: dict[str, list[str]] = {}
    for place, name in enumerate(names):
        minutes[name] = rng.randint(2, 25)
        n_before = min(place, rng.choice((0, 1, 1, 2)) if place else 0)
        after[name] = sorted(rng.sample(names[:place], n_before), key=names.index)
    done: dict[str, int] = {}
    for name in names:
        done[name] = minutes[name] + max((done[one] for one in after[name]), default=0)
    start = 60 * rng.randint(9, 18) + 5 * rng.randint(0, 11)
    order = rng.sample(names, n_steps)
    listed = "\n".join(
        f"- {name}: {minutes[name]} minutes" + (f", after {' and '.join(after[name])}" if after[name] else "")
        for name in order
    )
    ready = clock(start + max(done.values()))
    prompt = f"""Several cooks prepare a meal from {clock(start)} on. They do at the same time whatever they can; a step that stands after others begins when all of those have ended. There is room for all of them.

{listed}

When is the last step finished?

Answer with the time, for instance 12:45. {_ENDING.format(what="the time")}"""
    return Instance(prompt, ready, None, Exact((ready, ready.removeprefix("0"))))


def common_slot(rng: random.Random, difficulty: float) -> Instance:
    """The first time at which all are free: the harder, the more people with the more appointments."""
    n_people, n_each = 2 + round(3 * difficulty), 2 + round(3 * difficulty)
    length = rng.choice((30, 45, 60))
    while True:
        busy = {name: _appointments(rng, n_each) for name in _PEOPLE[:n_people]}
        taken = [False] * 480
        for spans in busy.values():
            for begin, end in spans:
                taken[begin - 540 : end - 540] = [True] * (end - begin)
        free = [k for k in range(0, 481 - length, 5) if not any(taken[k : k + length])]
        if free and free[0] > 0:
            break
    found = clock(540 + free[0])
    listed = "\n".join(
        f"- {name}: {', '.join(f'{clock(a)} to {clock(b)}' for a, b in spans)}" for name, spans in busy.items()
    )
    prompt = f"""These people want to meet for {length} minutes between 09:00 and 17:00. They are busy at these times:

{listed}

At which time can the meeting begin at the earliest, so that all of them are free for the whole of it?

Answer with the time, for instance 09:05. {_ENDING.format(what="the time")}"""
    return Instance(prompt, found, None, Exact((found, found.removeprefix("0"))))


def _appointments(rng: random.Random, n: int) -> list[tuple[int, int]]:
    """Parts of the day that do not overlap."""
    ends = sorted(rng.sample(range(540, 1021, 5), 2 * n))
    return [(a, b) for a, b in zip(ends[::2], ends[1::2], strict=True) if b - a <= 150] or [(540, 600)]


def connections(rng: random.Random, difficulty: float) -> Instance:
    """The earliest arrival with changes: the harder, the more places lie between, and the more trains run."""
    n_places, change = 3 + round(3 * difficulty), rng.choice((4, 6, 8, 10))
    places = rng.sample(_PLACES, n_places)
    while True:
        trains: list[tuple[int, int, str, str]] = []
        for _ in range(5 + round(10 * difficulty)):
            begin, end = sorted(rng.sample(range(n_places), 2))
            leaves = 420 + 3 * rng.randint(0, 80)
            trains.append((leaves, leaves + 9 * (end - begin) + rng.randint(5, 25), places[begin], places[end]))
        trains = [
            train for k, train in enumerate(trains) if all((train[0], train[2]) != (t[0], t[2]) for t in trains[:k])
        ]
        arrival = {places[0]: 0}
        for leaves, arrives, a, b in sorted(trains):
            ready = arrival.get(a)
            if ready is not None and leaves >= ready + (change if a != places[0] else 0):
                arrival[b] = min(arrival.get(b, 10**6), arrives)
        if places[-1] in arrival:
            break
    listed = "\n".join(f"{a} {clock(x)} – {b} {clock(y)}" for x, y, a, b in rng.sample(trains, len(trains)))
    found = clock(arrival[places[-1]])
    prompt = f"""You are in {places[0]} at 07:00 and want to be in {places[-1]} as early as possible. A change of trains takes at least {change} minutes. These trains run, each without stops:

{listed}

When do you arrive in {places[-1]} at the earliest?

Answer with the time, for instance 08:40. {_ENDING.format(what="the time")}"""
    return Instance(prompt, found, None, Exact((found, found.removeprefix("0"))))


def basket(rng: random.Random, difficulty: float) -> Instance:
    """What a basket costs in the cheapest of several shops with offers: the harder, the more goods and shops."""
    n_goods, n_shops = 2 + round(3 * difficulty), 2 + round(2 * difficulty)
    goods = rng.sample(_GOODS, n_goods)
    wanted = {one: rng.randint(2, 7) for one in goods}
    while True:
        shops: list[tuple[str, dict[str, int], str, str]] = []
        for letter in "ABCD"[:n_shops]:
            prices = {one: 5 * rng.randint(8, 90) for one in goods}
            offer = rng.choice(("none", "three", "second", "ten"))
            shops.append((letter, prices, offer, rng.choice(goods)))
        totals = [_total(wanted, *shop[1:]) for shop in shops]
        if sorted(totals)[0] < sorted(totals)[1]:
            break
    words = {
        "none": "no offer",
        "three": "of every 3 {one} you pay only 2",
        "second": "every second one of the {one} costs half",
        "ten": "10 % off the whole bill",
    }
    listed = "\n".join(
        f"Shop {letter}: {', '.join(f'{one} {price} cents each' for one, price in prices.items())}; {words[offer].format(one=one)}."
        for letter, prices, offer, one in shops
    )
    need = ", ".join(f"{n} {one}" for one, n in wanted.items())
    found = f"{min(totals):g}"
    prompt = f"""You need {need}, all from one shop.

{listed}

How many cents do you pay in the cheapest shop?

Answer with the number of cents, for instance 1234 or 1234.5. {_ENDING.format(what="the number")}"""
    return Instance(prompt, found, None, Exact((found,)))


def _total(wanted: dict[str, int], prices: dict[str, int], offer: str, one: str) -> float:
    total = float(sum(n * prices[name] for name, n in wanted.items()))
    if offer == "three":
        return total - wanted[one] // 3 * prices[one]
    if offer == "second":
        return total - wanted[one] // 2 * prices[one] / 2
    return total * 9 / 10 if offer == "ten" else total


def algorithm(rng: random.Random, difficulty: float) -> Instance:
    """A list of instructions to follow by hand: the harder, the longer the row and the list."""
    row = rng.sample("ABCDEFGHJKLMNPRSTUVWXYZ", 4 + round(4 * difficulty))
    shown, lines = list(row), []
    for _ in range(3 + round(7 * difficulty)):
        kind = rng.choice(("reverse", "ends", "turn", "move", "pair"))
        if kind == "reverse":
            row, line = row[::-1], "Reverse the row."
        elif kind == "ends":
            row, line = [row[-1], *row[1:-1], row[0]], "Swap the first and the last letter."
        elif kind == "turn":
            k = rng.randint(1, 3)
            row, line = row[k:] + row[:k], f"Take {k} from the front, in their order, and put them at the end."
        elif kind == "move":
            one = rng.choice(row)
            row, line = [one, *(other for other in row if other != one)], f"Move {one} to the front."
        else:
            a, b = rng.sample(row, 2)
            swap = {a: b, b: a}
            row, line = [swap.get(other, other) for other in row], f"Let {a} and {b} change places."
        lines.append(line)
    listed = "\n".join(f"{k}. {line}" for k, line in enumerate(lines, 1))
    found = "".join(row)
    prompt = f"""A row of letters:

{" ".join(shown)}

Follow these instructions one after the other:

{listed}

What is the row now?

Answer with the letters, without spaces, for instance ABCD. {_ENDING.format(what="the letters")}"""
    return Instance(prompt, found, None, Exact((found, ",".join(found))))


def grid(rng: random.Random, difficulty: float) -> Instance:
    """A change of a picture of crosses and noughts that two examples show: the harder, the larger the picture, and the more changes come into question."""
    side = 3 + round(2 * difficulty)
    kinds = list(_CHANGES)[: 3 + round((len(_CHANGES) - 3) * difficulty)]
    while True:
        kind = rng.choice(kinds)
        before = [_picture(rng, side) for _ in range(3)]
        after = [_CHANGES[kind](one) for one in before]
        fitting = {
            name for name in kinds if all(_CHANGES[name](a) == b for a, b in zip(before[:2], after[:2], strict=True))
        }
        if len({_CHANGES[name](before[2]) for name in fitting}) == 1:
            break
    shown = "\n\n".join(f"{_drawn(a)}\nbecomes\n{_drawn(b)}" for a, b in zip(before[:2], after[:2], strict=True))
    found = "/".join(after[2])
    prompt = f"""Two pictures were changed in the same way:

{shown}

The change is one of these: {"; ".join(kinds)}. What does this picture become?

{_drawn(before[2])}

Answer with the rows from top to bottom, with / between them, for instance XOO/OXO/OOX. {_ENDING.format(what="the rows")}"""
    return Instance(prompt, found, None, Exact((found, " ".join(after[2]), "\n".join(after[2]))))


_Picture = tuple[str, ...]
_CHANGES: dict[str, Callable[[_Picture], _Picture]] = {
    "mirrored left to right": lambda rows: tuple(row[::-1] for row in rows),
    "mirrored top to bottom": lambda rows: rows[::-1],
    "crosses and noughts exchanged": lambda rows: tuple(row.translate(str.maketrans("XO", "OX")) for row in rows),
    "turned by half a turn": lambda rows: tuple(row[::-1] for row in rows[::-1]),
    "turned by a quarter clockwise": lambda rows: tuple("".join(column) for column in zip(*rows[::-1], strict=True)),
    "turned by a quarter counter-clockwise": lambda rows: tuple("".join(column) for column in zip(*rows, strict=True))[
        ::-1
    ],
    "all rows moved down by one, the last to the top": lambda rows: (rows[-1], *rows[:-1]),
}


def _picture(rng: random.Random, side: int) -> _Picture:
    return tuple("".join(rng.choice("XO") for _ in range(side)) for _ in range(side))


def _drawn(rows: _Picture) -> str:
    return "\n".join(" ".join(row) for row in rows)


FAMILIES_OF = {
    "household": (TaskFamily("tariff", "When to start a machine so that it costs least.", "automated", tariff),),
    "cooking": (TaskFamily("kitchen_plan", "When a meal is ready.", "automated", kitchen_plan),),
    "scheduling": (TaskFamily("common_slot", "The first time at which all are free.", "automated", common_slot),),
    "travel": (TaskFamily("connections", "The earliest arrival with changes.", "automated", connections),),
    "shopping": (TaskFamily("basket", "What the cheapest shop charges.", "automated", basket),),
    "simple_algorithms": (TaskFamily("algorithm", "Instructions to follow by hand.", "automated", algorithm),),
    "visual_patterns": (TaskFamily("grid", "What a picture becomes.", "automated", grid),),
}

"""Everyday tasks against solvers of their own: they read the prompt as a person does, know nothing of the generator, and search by brute force."""

import itertools
import re

import pytest

from howsure.errors import InputError, OptionError
from howsure.horizon.task_bank import EVERYDAY, add_domain, all_domains, families, make_tasks, read_tasks, write_tasks

TIME = r"(\d\d):(\d\d)"


def minutes(text):
    hour, minute = re.fullmatch(TIME, text).groups()
    return 60 * int(hour) + int(minute)


def clock(value):
    return f"{value // 60:02}:{value % 60:02}"


def household(prompt):
    prices = {minutes(a): int(p) for a, p in re.findall(r"^(\d\d:\d\d) to \d\d:\d\d: (\d+) cents$", prompt, re.M)}
    length = int(re.search(r"runs (\d+) hour", prompt)[1])
    costs = {}
    for start in prices:
        hours = [start + 60 * k for k in range(length)]
        if all(hour in prices for hour in hours):
            costs[clock(start)] = sum(prices[hour] for hour in hours)
    return {time for time, cost in costs.items() if cost == min(costs.values())}


def cooking(prompt):
    start = minutes(re.search(r"from (\d\d:\d\d) on", prompt)[1])
    steps = {
        name: (int(length), after.split(" and ") if after else [])
        for name, length, after in re.findall(r"^- (\w+): (\d+) minutes(?:, after (.+))?$", prompt, re.M)
    }

    def ends(name):
        length, after = steps[name]
        return length + max([ends(one) for one in after] or [0])

    return {clock(start + max(map(ends, steps)))}


def scheduling(prompt):
    length = int(re.search(r"for (\d+) minutes", prompt)[1])
    busy = [(minutes(a), minutes(b)) for a, b in re.findall(r"(\d\d:\d\d) to (\d\d:\d\d)", prompt)]
    candidates = [540, *(end for _, end in busy)]
    free = [c for c in candidates if c + length <= 1020 and all(c + length <= a or c >= b for a, b in busy)]
    return {clock(min(free))}


def travel(prompt):
    home, goal = re.search(r"You are in (\w+) at 07:00 and want to be in (\w+) ", prompt).groups()
    change = int(re.search(r"at least (\d+) minutes", prompt)[1])
    trains = [
        (a, minutes(x), b, minutes(y))
        for a, x, b, y in re.findall(r"^(\w+) (\d\d:\d\d) – (\w+) (\d\d:\d\d)$", prompt, re.M)
    ]

    def journeys(place, ready):
        if place == goal:
            yield ready
            return
        for a, x, b, y in trains:
            if a == place and x >= ready + (0 if place == home else change):
                yield from journeys(b, y)

    return {clock(min(journeys(home, 420)))}


def shopping(prompt):
    wanted = {name: int(n) for n, name in re.findall(r"(\d+) ([a-z ]+)", re.search(r"You need (.*), all", prompt)[1])}
    bills = []
    for prices, offer in re.findall(r"^Shop [A-D]: (.*); (.*)\.$", prompt, re.M):
        price = {name: int(cents) for name, cents in re.findall(r"([a-z ]+?) (\d+) cents each", prices)}
        price = {name.strip(): cents for name, cents in price.items()}
        units = {name: [price[name]] * n for name, n in wanted.items()}
        for name, paid in units.items():
            if offer == f"of every 3 {name} you pay only 2":
                units[name] = [cents for k, cents in enumerate(paid, 1) if k % 3]
            if offer == f"every second one of the {name} costs half":
                units[name] = [cents if k % 2 else cents / 2 for k, cents in enumerate(paid, 1)]
        bill = sum(sum(paid) for paid in units.values())
        bills.append(bill - bill / 10 if offer == "10 % off the whole bill" else bill)
    assert sorted(bills)[0] < sorted(bills)[1]
    return {f"{min(bills):g}"}


def simple_algorithms(prompt):
    row = dict(enumerate(re.search(r"^([A-Z](?: [A-Z])+)$", prompt, re.M)[1].split()))
    n = len(row)
    for line in re.findall(r"^\d+\. (.+)$", prompt, re.M):
        where = {letter: place for place, letter in row.items()}
        if line == "Reverse the row.":
            row = {n - 1 - place: letter for place, letter in row.items()}
        elif line == "Swap the first and the last letter.":
            row[0], row[n - 1] = row[n - 1], row[0]
        elif found := re.fullmatch(r"Take (\d) from the front, in their order, and put them at the end\.", line):
            row = {(place - int(found[1])) % n: letter for place, letter in row.items()}
        elif found := re.fullmatch(r"Move (\w) to the front\.", line):
            old = where[found[1]]
            row = {0 if p == old else p + (p < old): letter for p, letter in row.items()}
        else:
            a, b = re.fullmatch(r"Let (\w) and (\w) change places\.", line).groups()
            row[where[a]], row[where[b]] = b, a
    return {"".join(row[place] for place in range(n))}


def visual_patterns(prompt):
    blocks = re.findall(r"((?:^[XO](?: [XO])+\n?)+)", prompt, re.M)
    pictures = [{(r, c): x for r, line in enumerate(b.split("\n")) for c, x in enumerate(line.split())} for b in blocks]
    last = max(r for r, _ in pictures[0])
    moves = {
        "mirrored left to right": lambda r, c: (r, last - c),
        "mirrored top to bottom": lambda r, c: (last - r, c),
        "turned by half a turn": lambda r, c: (last - r, last - c),
        "turned by a quarter clockwise": lambda r, c: (last - c, r),
        "turned by a quarter counter-clockwise": lambda r, c: (c, last - r),
        "all rows moved down by one, the last to the top": lambda r, c: ((r - 1) % (last + 1), c),
        "crosses and noughts exchanged": None,
    }
    asked = re.search(r"The change is one of these: (.*)\. What", prompt)[1].split("; ")

    def changed(name, picture):
        if moves[name] is None:
            return {at: "O" if x == "X" else "X" for at, x in picture.items()}
        return {at: picture[moves[name](*at)] for at in picture}

    a, b, c, d, test = pictures
    fitting = [name for name in asked if changed(name, a) == b and changed(name, c) == d]
    side = range(last + 1)
    return {"/".join("".join(changed(name, test)[r, k] for k in side) for r in side) for name in fitting}


def data_entry(prompt):
    forms, typed = (
        part.split("\n\n")[0] for part in re.split(r"These are the forms:\n\n|And this was typed:\n\n", prompt)[1:]
    )
    return {
        ",".join(str(k) for k, (a, b) in enumerate(zip(forms.split("\n"), typed.split("\n"), strict=True), 1) if a != b)
    }


def email_triage(prompt):
    rules = re.findall(r"^\d+\. If (.+): folder (\w)\.$", prompt, re.M)
    letters = ""
    for sender, topic, days, has in re.findall(
        r"^\d+\. From (.+), about (\w+), (\d+) days? old, (with|without) attachment$", prompt, re.M
    ):
        facts = {f"it comes from {sender}", f"it is about the word {topic}"}
        facts |= {"it is more than 3 days old"} if int(days) > 3 else set()
        facts |= {"it has an attachment"} if has == "with" else set()
        letters += next((folder for text, folder in rules if set(text.split(" and ")) <= facts), "D")
    return {letters}


def reading_forms(prompt):
    age, n = int(re.search(r"is (\d+) years", prompt)[1]), int(re.search(r"registers (\d+)", prompt)[1])
    fee = 0.0
    for rule in re.findall(r"^\d+\. (.+)$", prompt, re.M):
        numbers = [int(x) for x in re.findall(r"\d+", rule)]
        if rule.startswith("The fee is"):
            fee = numbers[0]
        elif rule.startswith("Whoever"):
            fee = fee / 2 if not numbers[0] <= age < numbers[1] else fee
        elif rule.startswith("For each person"):
            fee += numbers[0] * (n - 1)
        elif rule.startswith("Residents"):
            fee = max(0, fee - numbers[0]) if "lives in the town" in prompt else fee
        else:
            late = re.search(r"(\d+) days after the deadline", prompt)
            fee += numbers[0] * int(late[1]) if late else 0
    return {f"{fee:g}"}


def social_situations(prompt):
    story = re.split(r"\n\n", prompt)[1].split("\n")
    names = re.findall(r"[A-Z][a-z]+", story[0].split(" are in the room")[0])
    start = re.search(r"are in the (\w+)\.$", story[0])[1]
    present, log = set(names), [(frozenset(names), start)]
    for line in story[1:]:
        who = line.split()[0]
        if "leaves" in line:
            present = present - {who}
        elif "comes back" in line:
            present = present | {who}
        else:
            log.append((frozenset(present), line.rstrip(".").split()[-1]))
    words = []
    for asked in re.findall(r"Where does (\w+) believe (?:that (\w+) believes )?the", prompt):
        wanted = {name for name in asked if name}
        words.append([place for people, place in log if wanted <= people][-1])
    return {",".join(words)}


def tutoring(prompt):
    wrong = set()
    for row in re.findall(r"^(\d+)\. (-?\d+) ([-+×]) (\d+) = (-?\d+)$", prompt.replace("−", "-"), re.M):
        a, b, told = (int(row[k]) for k in (1, 3, 4))
        right = {"+": a + b, "-": a - b, "×": a * b}[row[2]]
        wrong |= {f"{row[0]}:{right}"} if right != told else set()
    return wrong


@pytest.mark.parametrize("domain", EVERYDAY)
def test_a_solver_that_reads_the_prompt_finds_the_key_and_no_other_answer(domain):
    solve = globals()[domain]
    for task, seed in itertools.product(make_tasks(11, domains=[domain]), range(25)):
        instance = task.instance(seed)
        assert solve(instance.prompt) == {instance.answer}, instance.prompt


@pytest.mark.parametrize("domain", EVERYDAY)
def test_answers_are_not_always_the_same(domain):
    answers = [task.instance(seed).answer for task in make_tasks(5, domains=[domain]) for seed in range(20)]
    most = max(answers.count(one) for one in answers)
    assert most < 0.45 * len(answers)


def test_twelve_domains_beside_the_five():
    assert len(EVERYDAY) == 12
    assert len(all_domains()) >= 17


OWN = """
from howsure.horizon.task_bank import Exact, Instance, TaskFamily

def sow(rng, difficulty):
    weeks = rng.randint(2, 9)
    return Instance(f"Seeds need {weeks} weeks. How many days?", str(7 * weeks), None, Exact((str(7 * weeks),)))

FAMILIES = (TaskFamily("sow", "When seeds are ready.", "automated", sow),)
"""


def test_a_file_outside_the_package_is_a_domain(tmp_path):
    path = tmp_path / "gardening.py"
    path.write_text(OWN)
    assert add_domain(path) == "gardening"
    (task,) = make_tasks(1, domains=["gardening"])
    instance = task.instance(1)
    assert instance.check(instance.answer) == 1
    assert read_tasks(write_tasks([task], tmp_path / "suite.yaml")) == (task,)
    assert families("gardening")[0].name == "sow"


def test_a_file_that_is_no_domain_is_refused(tmp_path):
    for name, text, told in (
        ("empty.py", "", "FAMILIES is not a tuple"),
        ("broken.py", "1/0", "ZeroDivisionError"),
        ("cooking.py", OWN, "already"),
    ):
        (tmp_path / name).write_text(text)
        with pytest.raises(InputError, match=told):
            add_domain(tmp_path / name)
    with pytest.raises(InputError, match="not a Python file"):
        add_domain(tmp_path / "none.py")
    with pytest.raises(OptionError, match="No domain"):
        families("astrology")

"""The restricted evaluator: what it refuses, that it always stops, and that what it accepts means what it means in Python."""

import json
import subprocess
import sys
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from howsure.horizon.task_bank.evaluator import Budget, Halted, Program
from howsure.horizon.task_bank.grammar import BINARY, BUILTINS, COMPARE


def body(*lines):
    return "def f(n):\n" + "\n".join(f"    {line}" for line in lines)


REACHING = [
    body("import os", "return os"),
    body("from os import system", "return 1"),
    "import os\n" + body("return 1"),
    body("return __import__('os')"),
    body("return open('/etc/passwd')"),
    body("return eval('1')"),
    body("exec('x = 1')", "return 1"),
    body("return compile('1', '', 'eval')"),
    body("return globals()"),
    body("return locals()"),
    body("return vars()"),
    body("return dir()"),
    body("return input()"),
    body("return print(1)"),
    body("return getattr(n, 'real')"),
    body("return setattr(n, 'x', 1)"),
    body("return type(n)"),
    body("return object()"),
    body("return super()"),
    body("return breakpoint()"),
    body("return help()"),
    body("return memoryview(b'1')"),
    body("return bytes(9)"),
    body("return bytearray(9)"),
    body("return id(n)"),
    body("return hash(n)"),
    body("return iter([1])"),
    body("return map(len, [])"),
    body("return filter(len, [])"),
    body("return n.real"),
    body("return ''.join([])"),
    body("return ().__class__.__bases__[0].__subclasses__()"),
    body("return 'x'.format(n)"),
    body("return '{0.__class__}'.format(n)"),
    body("return f'{n}'"),
    body("return f'{n.__class__}'"),
    body("return '%s' % n"),
    body("return '%999999999d' % 1"),
    body("s = '%999999999d'", "s %= 1", "return s"),
    body("return __builtins__"),
    body("return __name__"),
    body("__x = 1", "return __x"),
    body("_x = 1", "return _x"),
    "def __f(n):\n    return 1\n" + body("return __f(n)"),
    "def f(_n):\n    return 1",
    body("return lambda: 1"),
    body("return (lambda: n)()"),
    body("return [lambda: n][0]()"),
    body("return len"),
    body("g = len", "return g([1])"),
    body("len = abs", "return len(n)"),
    body("for len in [1]:", "    pass", "return 1"),
    body("return [len for len in [1]]"),
    "def len(x):\n    return 1\n" + body("return len([])"),
    "def f(len):\n    return len",
    "def g(x):\n    return x\ndef f(g):\n    return g",
    body("f = 1", "return f"),
    "def f(n, n):\n    return n",
    body("return (len)([1])[0]()"),
    body("return [abs][0](n)"),
    body("return f(n)(n)"),
    body("class A:", "    pass", "return A"),
    body("def g():", "    return 1", "return g()"),
    body("if n:", "    def g():", "        return 1", "return 1"),
    body("global n", "n = 1"),
    body("nonlocal n"),
    body("try:", "    return 1", "except Exception:", "    return 2"),
    body("try:", "    return f(n)", "finally:", "    return 2"),
    body("with n:", "    pass"),
    body("raise ValueError"),
    body("assert n"),
    body("del n"),
    body("yield 1"),
    body("x = yield"),
    body("yield from [1]"),
    "async def f(n):\n    return 1",
    body("await n"),
    body("return [x async for x in [1]]"),
    body("return (x := 1)"),
    body("return [y := 1, y]"),
    body("match n:", "    case 1:", "        return 1"),
    body("match n:", "    case int(real=x):", "        return x"),
    body("return {1: 2}"),
    body("return {1, 2}"),
    body("return {x for x in [1]}"),
    body("return {x: x for x in [1]}"),
    body("return (x for x in [1])"),
    body("g = (x for x in [1])", "return sum(g)"),
    body("return [(x for x in [1])]"),
    body("return len(x for x in [1])"),
    body("return f(x for x in [1])"),
    body("return max(1, (x for x in [1]))"),
    body("for x in (y for y in [1]):", "    pass"),
    body("return max([1], key=abs)"),
    body("return sorted([1], reverse=True)"),
    body("return int('ff', base=16)"),
    body("return int('ff', 16)"),
    body("return sum([[1]], [])"),
    body("return max(*[1, 2])"),
    body("return [*[1]]"),
    body("a, *b = [1, 2]", "return b"),
    body("x = [1]", "x[0] = 2", "return x"),
    body("x = [1]", "x[0] += 2", "return x"),
    body("x = [1]", "x += [2]", "return x"),
    body("x = [1]", "x *= 2", "return x"),
    body("x = [1]", "for x[0] in [1, 2]:", "    pass", "return x"),
    body("return [0 for x[0] in [1]]"),
    body("n.x = 1"),
    body("(a, (b, c)) = (1, (2, 3))", "return c"),
    body("return b'1'"),
    body("return 1j"),
    body("return ..."),
    body("return (-8) ** 0.5"),
    body("return n is None"),
    body("return ~n"),
    body("return n @ n"),
    body("for x in [1]:", "    pass", "else:", "    return 1"),
    body("while n:", "    n = 0", "else:", "    return 1"),
    body("break"),
    body("if n:", "    continue", "return 1"),
    body("return range"),
    body("return range()"),
    body("return str()"),
    body("return len(1)"),
    body("return n()"),
    body("return n[0]"),
    body("return list[0]"),
    body("return [1][0, 1]"),
    body("return [1][0:1, 2]"),
    body("for x in n:", "    pass"),
    body("for x in 7.5:", "    pass"),
    body("return missing"),
    body("return 1 // 0"),
    body("return [1][9]"),
    body("return int('x')"),
    body("a, b = 1, 2, 3"),
    body("a, b = 1"),
    body("return -'x'"),
    body("return 1 + 'x'"),
    body("return g(n)"),
    body("return f(1, 2)"),
    "def f(n=1):\n    return n",
    "def f(*n):\n    return n",
    "def f(**n):\n    return n",
    "def f(*, n):\n    return n",
    "def f(n, /):\n    return n",
    "def f(n: int):\n    return n",
    "def f(n) -> int:\n    return n",
    "@abs\ndef f(n):\n    return n",
    body("x: int = 1", "return x"),
    "x = 1\n" + body("return x"),
    "f = 1",
    "def f(n):\n    return 1\ndef f(n):\n    return 2",
    "",
    "def f(n):",
    "\0",
    "\ud800",
    "def f(n):\n\treturn 1\n        return 2",
    body("return 1 if"),
    body("return '\\N{DIGIT ONE"),
    "if 1:\n    " + body("return 1").replace("\n", "\n    "),
]

BOMBS = [
    body("while True:", "    pass"),
    body("while 1:", "    n = n + 1"),
    body("while n == n:", "    continue"),
    body("for i in range(10 ** 9):", "    pass"),
    body("for i in range(10 ** 30):", "    pass"),
    body("return range(10 ** 9)"),
    body("return sum(range(10 ** 12))"),
    body("return list(range(10 ** 8))"),
    body("return max(range(10 ** 9))"),
    body("return 10 ** 9 in range(10 ** 10)"),
    body("return 0.5 in range(10 ** 10)"),
    body("return [0 for i in range(2000) for j in range(2000)]"),
    body("return sum(1 for i in range(1999) for j in range(1999) for k in range(1999))"),
    body("return [[[0 for i in range(500)] for j in range(500)] for k in range(500)]"),
    body("return f(n)"),
    body("return f(n + 1) + f(n + 2)"),
    "def g(n):\n    return f(n)\n" + body("return g(n)"),
    body("return [f(n) for i in range(2)]"),
    body("return sum(f(n) for i in range(2))"),
    body("return all(f(n) for i in range(2))"),
    body("return 9 ** 9 ** 9"),
    body("return 2 ** 1000"),
    body("x = 3", "while True:", "    x = x * x"),
    body("x = 3", "for i in range(99):", "    x = x ** 2", "return x"),
    body("return 1 << 10 ** 9"),
    body("return 1 << 300"),
    body("return True << 300"),
    body("x = 1", "x <<= 999", "return x"),
    body("return 'a' * 10 ** 9"),
    body("return 10 ** 9 * 'a'"),
    body("return [0] * 10 ** 9"),
    body("return 10 ** 9 * [0]"),
    body("return (0,) * 10 ** 9"),
    body("s = 'ab'", "while True:", "    s = s + s"),
    body("s = 'ab'", "s *= 99999", "return s"),
    body("x = [1]", "while True:", "    x = x + x"),
    body("x = [0]", "for i in range(30):", "    x = [x, x]", "return x"),
    body("x = (0,)", "for i in range(30):", "    x = (x, x)", "return x == x"),
    body("x = [0] * 1000", "y = [x] * 1000", "return [y] * 1000"),
    body("x = [0] * 1000", "return str([x] * 1000)"),
    body("x = []", "for i in range(5000):", "    x = [x]", "return x"),
    body("x = ()", "for i in range(5000):", "    x = (x,)", "return x == x"),
    body("x = '\\U0010ffff' * 1999", "return str([x])", "return str([str([x])])"),
    body("return int('9' * 10 ** 6)"),
    body("return int('9' * 1999)"),
    body("return str(9 ** 999)"),
    body("x = [i for i in range(1999)]", "while True:", "    x = sorted(x)"),
    body("x = list(range(1999))", "while True:", "    n = max(x)"),
    body("x = list(range(1999))", "while x == x:", "    pass"),
    body("x = 'a' * 1999", "while 'b' not in x:", "    pass"),
    body("x = list(range(1999))", "while True:", "    y = x[:]"),
    body("x = 1e308", "while True:", "    x = x * x"),
    body("return " + "9" * 1900),
    body("return " + "9" * 5000),
    body("return " + "-" * 1500 + "1"),
    body("return " + "not " * 400 + "1"),
    body("return " + "(" * 90 + "1" + ")" * 90 + "+" + "[" * 60 + "]" * 60),
    body("return " + "1+" * 900 + "1"),
    body("return " + "n[" * 150 + "0" + "]" * 150),
    body("return " + "1 if n else " * 100 + "1"),
    body("return " + "[" * 60 + "1" + " for x in [1]]" * 60),
    body("return " + "f(" * 80 + "1" + ")" * 80),
    "\n".join("    " * depth + ("def f(n):" if not depth else "if n:") for depth in range(60))
    + "\n"
    + "    " * 60
    + "pass",
    "x" * 100_000,
    "(" * 100_000,
    "-" * 100_000 + "1",
    "def f(n):\n" + "    n = n\n" * 100_000,
]

WATCHED = """
import json, sys, tracemalloc
from howsure.horizon.task_bank.evaluator import Halted, Program

def outcome(source):
    try:
        return repr(Program(source).call("f", 7).value)[:80]
    except Halted:
        return None

attacks = json.load(sys.stdin)
outcome(attacks[0])
seen = []
def note(event, details):
    # parsing is a compile event, and Python wants to quote the line of a syntax error
    if event != "compile" and (event, details[0]) != ("open", "<answer>"):
        seen.append(event)
sys.addaudithook(note)
tracemalloc.start()
told = []
for source in attacks:
    seen.clear()
    tracemalloc.reset_peak()
    value = outcome(source)
    told.append((value, tracemalloc.get_traced_memory()[1], sorted({*seen})))
print(json.dumps(told))
"""


@pytest.fixture(scope="module")
def watched():
    """Every attack in a process of its own: what it gave, the memory it took, and what it asked of the machine."""
    attacks = [*REACHING, *BOMBS]
    line = [sys.executable, "-c", WATCHED]
    # a hang or a crash of the process fails here
    run = subprocess.run(line, input=json.dumps(attacks), capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stderr
    return dict(zip(attacks, json.loads(run.stdout), strict=True))


@pytest.mark.parametrize("source", [*REACHING, *BOMBS], ids=range(len(REACHING) + len(BOMBS)))
def test_attacks_are_halted_in_little_memory_and_reach_nothing(source, watched):
    value, peak, events = watched[source]
    assert value is None
    assert peak < 12 * 2**20
    assert events == []


@pytest.mark.parametrize(
    ("lines", "result"),
    [
        (["total = 0", "for i in range(1, n + 1):", "    if i % 2 == 0:", "        continue", "    total += i", "return total"], 16),
        (["while n > 1:", "    n = n // 2", "    if n == 3:", "        break", "return n"], 3),
        (["a, b = 0, 1", "for i in range(n):", "    a, b = b, a + b", "return a"], 13),
        (["return [x * y for x in range(3) if x for y in 'ab']"], ["a", "b", "aa", "bb"]),
        (["return sum(x for x in range(n)) / 2, -n ** 2, not n, n > 3 > 4 or 'no'"], (10.5, -49, False, "no")),
        (["return any(1 // x for x in [1, 0])"], True),
        (["return 1 if n < 2 else n * f(n - 1)"], 5040),
        (["s = 'hello'", "return s[::-1] + s[1:3] + s[-1] + str(len(s))", "return 0"], "ollehelo5"),
        (["'a note'", "pass", "return"], None),
        (["x = y = n", "return [x, y, max(1, n), min([3, n]), abs(-n), sorted('ba'), tuple([1])]"], [7, 7, 7, 3, 7, ["a", "b"], (1,)]),
        (["return 3 in [1, 3], 3 not in (1, 3), 'ell' in 'hello', [1] + [2] == [1, 2] != [3]"], (True, False, True, True)),
        (["return n & 3 | 8 ^ 1, n << 2 >> 1, 2 ** 10, 7.5 // 2, True + 1"], (11, 14, 1024, 3.0, 2)),
    ],
)  # fmt: skip
def test_it_runs_what_it_offers(lines, result):
    found = Program(body(*lines)).call("f", 7)
    assert found.value == result
    assert 0 < found.steps < 1000


def test_budgets_are_the_callers():
    program = Program(body("total = 0", "for i in range(n):", "    total = total + 1", "return total"))
    needed = program.call("f", 50).steps
    assert program.call("f", 50, budget=Budget(steps=needed)).value == 50
    with pytest.raises(Halted, match="steps"):
        program.call("f", 50, budget=Budget(steps=needed - 1))
    with pytest.raises(Halted, match="bits"):
        Program(body("return n * n")).call("f", 200, budget=Budget(bits=15))
    with pytest.raises(Halted, match="elements"):
        Program(body("return [0] * n")).call("f", 11, budget=Budget(size=10))
    with pytest.raises(Halted, match="within one another"):
        Program(body("return 1 if n < 1 else f(n - 1)")).call("f", 9, budget=Budget(depth=20))


def test_a_call_changes_neither_its_arguments_nor_the_next_call():
    program = Program("def f(xs):\n    xs = xs + [len(xs)]\n    return xs")
    given_list = [5]
    assert program.call("f", given_list) == program.call("f", given_list)
    assert given_list == [5]


values = st.one_of(st.integers(-20, 20), st.booleans(), st.floats(-9, 9), st.text("ab", max_size=3)).map(repr)
operators = st.sampled_from(["+", "-", "*", "/", "//", "%", "**", "<<", ">>", "&", "|", "^", "==", "!=", "<", "<=", ">", ">=", "in", "not in", "and", "or"])  # fmt: skip


def grown(inner):
    return st.one_of(
        st.tuples(inner, operators, inner).map(lambda t: f"({t[0]} {t[1]} {t[2]})"),
        st.tuples(inner, inner, inner).map(lambda t: f"({t[0]} if {t[1]} else {t[2]})"),
        st.lists(inner, max_size=3).map(lambda parts: f"[{', '.join(parts)}]"),
        st.tuples(inner, inner).map(lambda t: f"[{t[0]}, x][{t[1]}]"),
        st.tuples(inner, inner, inner).map(lambda t: f"{t[0]}[{t[1]}:{t[2]}]"),
        st.tuples(st.sampled_from(sorted(BUILTINS)), inner).map(lambda t: f"{t[0]}({t[1]})"),
        st.tuples(inner, inner).map(lambda t: f"[({t[0]}, y) for y in {t[1]}]"),
        st.tuples(st.sampled_from(["-", "+", "not "]), inner).map("".join),
    )


@pytest.mark.filterwarnings("ignore::SyntaxWarning")
@settings(max_examples=300, deadline=None)
@given(st.recursive(st.one_of(values, st.just("x")), grown, max_leaves=8), st.integers(-5, 5))
def test_what_it_accepts_means_what_it_means_in_python(expression, x):
    try:
        value = Program(f"def f(x):\n    return {expression}").call("f", x).value
    except Halted:
        return
    names = {name: function for name, (function, _) in BUILTINS.items()}
    expected = eval(expression, {"__builtins__": names, "x": x})  # our own expression, of the parts above
    assert (type(value), repr(value)) == (type(expected), repr(expected))


@settings(max_examples=200, deadline=None)
@given(st.one_of(st.text(max_size=80), st.text("abnx()[]{}:=.,_ \n\t#'\"\\*+-/%<>!0123456789", max_size=120)))
def test_any_text_at_all_is_a_value_or_halted(text):
    for source in (text, f"def f(n):\n    return {text}", f"def f(n):\n    {text}\n    return n"):
        with suppress(Halted):
            Program(source).call("f", 3, budget=Budget(steps=500))


def test_the_offered_words_are_few():
    assert set(BUILTINS) == {"abs", "all", "any", "bool", "int", "len", "list", "max", "min", "range", "sorted", "str", "sum", "tuple"}  # fmt: skip
    assert (len(BINARY), len(COMPARE)) == (12, 8)

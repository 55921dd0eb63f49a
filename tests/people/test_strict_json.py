import json

import pytest

from howsure.errors import InputError
from howsure.people.strict_json import canonical, digest, parse


def test_the_canonical_text_does_not_depend_on_the_order_of_keys():
    assert canonical({"b": [1, "ä\u2028</script>"], "a": None}) == '{"a":null,"b":[1,"ä\u2028</script>"]}'
    assert digest({"b": 1, "a": 2}) == digest({"a": 2, "b": 1}) == digest('{"a":2,"b":1}')


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b'{"a": NaN}', "NaN"),
        (b'{"a": -Infinity}', "Infinity"),
        (b'{"a": 1.5}', "only whole numbers"),
        (b'{"a": 1e400}', "only whole numbers"),
        (b'{"a": 9007199254740993}', "too large"),
        (b"9" * 5000, "too large"),
        (b'{"a": 1, "a": 2}', "twice"),
        (b"[" * 200_000, "nested"),
        (b'{"a":' * 200_000, "nested"),
        (b"{", "not JSON"),
        (b"", "not JSON"),
        (b"\xff", "UTF-8"),
        (b'"\\ud800"', "UTF-8"),
        ("{}".encode("utf-16"), "UTF-8"),
    ],
)
def test_what_a_page_never_writes_is_refused_with_the_reason(data, reason):
    with pytest.raises(InputError, match=reason):
        parse(data)


def test_what_a_page_writes_is_read_back():
    value = {"a": [1, -2, 2**53 - 1, None, True, "\U0001f600\x00\u202e"]}
    assert parse(b"\xef\xbb\xbf" + json.dumps(value).encode()) == value

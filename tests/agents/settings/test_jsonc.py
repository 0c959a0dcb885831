"""The reader of JSON with comments, against `json` and against what it has to refuse."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from snapd.agents.jsonc import BrokenText, Member, Object, parse, plain
from tests.agents.settings import made_up
from tests.agents.settings.oracle import meaning
from tests.support.amounts import amount

VALUES: Any = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda below: st.lists(below) | st.dictionaries(st.text(), below),
    max_leaves=20,
)


@settings(max_examples=amount(100, 1000))
@given(value=VALUES, indent=st.sampled_from([None, 1, "\t"]), ascii_only=st.booleans())
def test_json_means_the_same(value: Any, indent: Any, ascii_only: bool) -> None:
    assert plain(parse(json.dumps(value, indent=indent, ensure_ascii=ascii_only))) == value


@settings(max_examples=amount(100, 1000))
@given(text=made_up.settings())
def test_comments_mean_nothing(text: str) -> None:
    found = parse(text)
    assert plain(found) == meaning(text)
    assert isinstance(found, Object)
    for member in found.members:
        assert isinstance(member, Member)
        assert text[member.start] == '"'
        assert plain(parse(text[member.value.start : member.value.end])) == plain(member.value)


def _refuse(word: str) -> None:
    raise ValueError(word)


@settings(max_examples=amount(100, 1000))
@given(text=st.text(alphabet='{}[]",:/*\\ \n\t1-truefalsn\ufeff', max_size=20) | st.text(max_size=20))
def test_it_takes_what_json_takes_and_refuses_the_rest_with_its_own_error(text: str) -> None:
    try:
        expected = json.loads(text, parse_constant=_refuse)
    except ValueError:
        # comments and the last comma are what else it takes
        with suppress(BrokenText):
            parse(text)
        return
    assert plain(parse(text)) == expected or isinstance(expected, float)


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("{", 1, "expected a name"),
        ('{\n  "a": 1\n  "b": 2\n}', 3, "expected , or }"),
        ('{"a" 1}', 1, "expected : after the name"),
        ('{"a": }', 1, "expected a value"),
        ('{"a": nul}', 1, "this is no value"),
        ('{"a": NaN}', 1, "this is no value"),
        ("{'a': 1}", 1, "expected a name in quotes"),
        ('{"a": "x\ny"}', 1, "this string does not end"),
        ('{"a": "\\q"}', 1, "an escape that there is not"),
        ('{"a": 1} x', 1, "expected nothing more"),
        ("{\n/* never", 2, "this comment does not end"),
        ("[" * 100_000, 1, "nested"),
        ('{"a": 1,, }', 1, "expected a name"),
        ("{,}", 1, "expected a name"),
    ],
)
def test_what_is_broken_is_told_with_its_line(text: str, line: int, said: str) -> None:
    with pytest.raises(BrokenText, match=said) as caught:
        parse(text)
    assert caught.value.data["line"] == line
    assert caught.value.hint


@pytest.mark.parametrize("text", ["", " \r\n", "\ufeff", "// only this", "/* and\nthis */"])
def test_nothing_is_no_value(text: str) -> None:
    assert parse(text) is None


def test_of_two_members_of_a_name_the_last_one_counts() -> None:
    found = parse('{"a": 1, "a": 2}')
    assert isinstance(found, Object)
    assert plain(found.get("a")) == 2 == plain(found)["a"]

"""The hook's own JSON is that of `json`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from snapd.hook.json_text import decode, encode
from tests.support.amounts import amount

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.slow

CHARACTERS = st.characters(exclude_categories=())
"""Control characters and halves of surrogate pairs, too."""
TEXTS = st.text(CHARACTERS)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | TEXTS
VALUES = st.recursive(SCALARS, lambda each: st.lists(each) | st.dictionaries(TEXTS, each), max_leaves=20)
BLANKS = st.text(" \t\n\r", max_size=3)
BROKEN = st.text('{}[]",:\\u0 \t\n\r\x01\ufeff019.-+eEntrulfasINy/', max_size=12)


def outcome(work: Callable[[], Any]) -> str:
    try:
        return repr(work())
    except (ValueError, RecursionError) as error:
        return type(error).__name__


@settings(max_examples=amount(200, 2_000), deadline=None)
@given(value=VALUES, before=BLANKS, after=BLANKS, is_ascii=st.booleans(), indent=st.sampled_from([None, 1]))
def test_texts_are_decoded_as_json_decodes_them(
    value: Any, before: str, after: str, is_ascii: bool, indent: int | None
) -> None:
    text = before + json.dumps(value, ensure_ascii=is_ascii, indent=indent) + after
    assert repr(decode(text)) == repr(json.loads(text, strict=False))


@settings(max_examples=amount(500, 50_000), deadline=None)
@given(text=BROKEN)
def test_what_json_refuses_is_refused(text: str) -> None:
    assert outcome(lambda: decode(text)) == outcome(lambda: json.loads(text, strict=False))


@pytest.mark.parametrize(
    "text",
    ['"a\nb\x00"', "[" * 100_000, '"', "", " ", "\ufeff{}", "{} {}", "1" * 5000, "NaN", "-Infinity", '{"a":1,"a":2}'],
    ids=lambda text: text[:10] or "empty",
)
def test_odd_texts(text: str) -> None:
    assert outcome(lambda: decode(text)) == outcome(lambda: json.loads(text, strict=False))


@settings(max_examples=amount(200, 2_000), deadline=None)
@given(value=VALUES | st.dictionaries(st.integers() | st.none() | st.booleans(), VALUES))
def test_values_are_encoded_as_json_encodes_them(value: Any) -> None:
    assert encode(value) == json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    assert encode((value, value)) == json.dumps((value, value), ensure_ascii=False, separators=(",", ":"))

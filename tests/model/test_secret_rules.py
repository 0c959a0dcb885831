"""The list of rules about secrets: each has what it needs, and no pattern can take long."""

from __future__ import annotations

import functools
import random
import re
import tomllib
from itertools import pairwise
from pathlib import Path
from re import _constants as constants  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

import pytest

import snapd.secret_rules
from snapd.model.secrets import BEFORE_BYTES, WIDEST_BYTES, Rule, SecretRules, Text
from snapd.secret_rules.shipped import secret_rules
from tests.model.secret_examples import EXAMPLES, fill
from tests.support.counting import calls_of

LIST = Path(snapd.secret_rules.__file__).with_name("rules.toml")
DOCUMENT = tomllib.loads(LIST.read_text("utf-8"))
RULES = secret_rules().rules
BY_ID = pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
KEYS = {"id", "description", "source", "pattern"}
MORE_KEYS = {"keywords", "everywhere", "reach", "entropy", "allow", "allow_around", "files", "generated_too"}


def repeats(parsed: Any) -> list[tuple[int, int]]:
    """The bounds of each repetition in a pattern, wherever in it."""
    found = []
    for operator, argument in parsed:
        if operator in (constants.MAX_REPEAT, constants.MIN_REPEAT):
            low, high, inner = argument
            found += [(low, high), *repeats(inner)]
        elif operator is constants.SUBPATTERN:
            found += repeats(argument[3])
        elif operator is constants.BRANCH:
            found += [bounds for branch in argument[1] for bounds in repeats(branch)]
        elif operator in (constants.ASSERT, constants.ASSERT_NOT):
            found += repeats(argument[1])
        elif operator is constants.GROUPREF_EXISTS:
            raise AssertionError("no conditions: nobody can tell what they cost")
    return found


def nested(parsed: Any, within: int = 1) -> int:
    """The most ways in which repetitions within each other can share what they match."""
    most = within
    for operator, argument in parsed:
        if operator in (constants.MAX_REPEAT, constants.MIN_REPEAT):
            low, high, inner = argument
            most = max(most, nested(inner, within * (int(high) - int(low) + 1)))
        elif operator is constants.SUBPATTERN:
            most = max(most, nested(argument[3], within))
        elif operator is constants.BRANCH:
            most = max(most, *(nested(branch, within) for branch in argument[1]))
    return most


def test_each_rule_has_a_name_of_its_own_and_examples() -> None:
    names = [row["id"] for row in DOCUMENT["rule"]]
    assert len({*names, *(row["id"] for row in DOCUMENT["name"])}) == len(names) + len(DOCUMENT["name"])
    assert names == list(EXAMPLES)
    assert all(example.found and example.left for example in EXAMPLES.values())
    assert all(re.fullmatch("[a-z0-9]+(-[a-z0-9]+)*", name) for name in names)


@pytest.mark.parametrize("row", [*DOCUMENT["rule"], *DOCUMENT["name"]], ids=lambda row: row["id"])
def test_each_row_says_what_it_finds_and_where_that_is_said(row: dict[str, Any]) -> None:
    assert set(row) >= KEYS
    assert set(row) <= KEYS | MORE_KEYS, "a key that nobody reads"
    assert re.match(r"https://[a-z0-9.-]+/|public knowledge: ", row["source"])
    assert row["description"][:1].islower()
    assert not row["description"].endswith(".")


@BY_ID
def test_a_pattern_has_one_group_and_bounds(rule: Rule) -> None:
    text = rule.pattern.pattern.decode("ascii")
    parsed = parser.parse(text)
    assert rule.pattern.groups == 1
    assert [bounds for bounds in repeats(parsed) if bounds[1] is constants.MAXREPEAT] == []
    assert nested(parsed) <= 4000
    # where a text is cut, something of a look ahead fits behind the widest match, too
    assert parsed.getwidth()[1] + 1000 <= WIDEST_BYTES
    # a window may end anywhere: what looks at the end of it would be wrong
    assert "$" not in re.sub(r"\[[^]]*\]|\\\$", "", text)


def test_nothing_of_ours_looks_like_a_secret() -> None:
    here = Path(__file__)
    for path in (LIST, here, here.with_name("test_secrets.py"), here.with_name("secret_examples.py")):
        assert secret_rules().look(bytes(path), path.read_bytes()).findings == (), path


@pytest.mark.parametrize("key", ["placeholders", "generated", "harmless_names"])
def test_what_all_rules_share_compiles(key: str) -> None:
    assert DOCUMENT[key]
    for pattern in DOCUMENT[key]:
        re.compile(pattern.encode("ascii"))


@pytest.mark.parametrize("row", DOCUMENT["name"], ids=lambda row: row["id"])
def test_a_pattern_of_names_has_bounds(row: dict[str, Any]) -> None:
    assert [bounds for bounds in repeats(parser.parse(row["pattern"])) if bounds[1] is constants.MAXREPEAT] == []


@BY_ID
def test_keywords_are_in_lower_case_and_in_every_secret(rule: Rule) -> None:
    assert rule.keywords
    assert all(word == word.lower() for word in rule.keywords)
    for template in EXAMPLES[rule.id].found:
        text = fill(template, random.Random(1))[0].lower()
        assert any(word in text for word in rule.keywords)


@BY_ID
def test_what_is_looked_for_around_keywords_fits_into_the_windows(rule: Rule) -> None:
    if rule.everywhere:
        width = parser.parse(rule.pattern.pattern.decode("ascii")).getwidth()[1]
        assert width <= rule.reach + BEFORE_BYTES


def test_a_list_that_lacks_something_is_an_error() -> None:
    with pytest.raises(KeyError):
        SecretRules.parse({"rule": [{"id": "a"}], "name": []})


# -- windows


@pytest.mark.parametrize(
    "data", [b"", b"\n", b"a" * 19, b"a" * 20, b"a1" * 5000, (b"a" * 25 + b" ") * 400, b"key " * 900]
)
def test_windows_do_not_overlap_and_end_at_what_is_of_no_token(data: bytes) -> None:
    text = Text.of(data)
    for windows in (text.near_runs(), text.near((b"key", b"y k", b"a"), 50)):
        assert sum(window.end - window.start for window in windows) <= len(data) + 1
        assert all(one.end < two.start for one, two in pairwise(windows))
        assert all(text.raw[window.end - 1 : window.end] in (b" ", b"\n") for window in windows)


@pytest.mark.parametrize("word", [b"key", b"k y", b":/k"])
@pytest.mark.parametrize("count", [1, 2, 3, 30])
def test_each_keyword_has_all_its_reach_in_a_window(word: bytes, count: int) -> None:
    for distance in range(3, 120):
        data = b"".join(word.ljust(distance) for _ in range(count)) + b" " * 60
        windows = Text.of(data).near((word,), 50)
        places = [match.start() for match in re.finditer(word, data)]
        assert all(any(start <= place and place + 50 <= end for start, end in windows) for place in places), distance


def test_many_keywords_in_one_word_are_no_more_work_than_one() -> None:
    # its end was looked for once for each of them: a product of two lengths
    texts = [Text.of(b"pwd" * count) for count in (1, 100_000)]
    one, many = (calls_of(functools.partial(text.near, (b"pwd",), 50)) for text in texts)
    assert many <= one + 10


def test_names_in_words_are_no_tokens() -> None:
    assert (
        Text.of(b"a_long_name_of_a_function_in_code /usr/share/some/path/of/words A_CONSTANT_OF_MANY_WORDS").near_runs()
        == []
    )
    assert len(Text.of(b"a_long_name_of_a_function_with_1_digit").near_runs()) == 1

"""Whose the lines of a text are, found in the versions of its file."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from snapd.core.compare.text import DirectDiffer
from snapd.core.review.baseline import Version, writers_of
from snapd.core.review.changes import UNKNOWN, LineWriter, Texts
from snapd.model.call import Call
from tests.support.amounts import amount
from tests.support.git import run_git

from .model import Memory

TEXTS = Texts(Memory(), DirectDiffer(), Call())
ONE, TWO, USER = LineWriter("step", ("one",)), LineWriter("step", ("two",)), LineWriter("user")


def version(text: bytes, writers: str, since: int | None = None, until: int | None = None) -> Version:
    known = {"1": ONE, "2": TWO, "u": USER}
    return Version(text.splitlines(keepends=True), [known[letter] for letter in writers], since, until)


def found(text: bytes, *versions: Version, when: int | None = None) -> str:
    letters = {ONE: "1", TWO: "2", USER: "u", UNKNOWN: "?"}
    return "".join(letters[writer] for writer in writers_of(text, when, lambda: versions, TEXTS))


def test_the_very_text_counts_before_one_that_has_all_its_lines() -> None:
    same = version(b"a\nb\n", "1u", 0, 10)
    more = version(b"a\nb\nc\n", "222", 20, 30)
    assert found(b"a\nb\n", same, more, when=25) == "1u"
    assert found(b"a\nc\n", same, more, when=5) == "22"


def test_of_the_same_text_twice_the_time_decides() -> None:
    first, between = version(b"a\n", "1", None, 20), version(b"b\n", "u", 10, 30)
    again = version(b"a\n", "u", 20, None)
    for when, who in ((5, "1"), (15, "1"), (25, "u"), (99, "u"), (None, "u")):
        assert found(b"a\n", first, between, again, when=when) == who


def test_a_text_made_of_several_versions() -> None:
    """As a commit of one hunk of many: the others are as they were before."""
    before = version(b"1\n2\n3\n4\n", "uuuu", None, 10)
    after = version(b"one\ntwo\nthree\nfour\n", "1112", 0, None)
    assert found(b"1\n2\n3\nfour\n", before, after, when=10) == "uuu2"
    assert found(b"one\ntwo\n3\nfour\n", before, after, when=10) == "11u2"


def test_of_versions_that_have_a_line_the_best_one_counts() -> None:
    most, few = version(b"a\nb\nc\n", "111"), version(b"a\nd\n", "22")
    assert found(b"a\nb\n", most, few) == found(b"a\nb\n", few, most) == "11"
    for versions in ((most, few), (few, most)):
        assert found(b"a\nb\nc\nd\n", *versions) == "1112"
    # as many lines each, so the time decides
    first, second = version(b"a\nx\n", "11", None, 10), version(b"a\ny\n", "uu", 20, None)
    for when, who in ((5, "1"), (14, "1"), (16, "u"), (25, "u"), (None, "u")):
        assert found(b"a\n", first, second, when=when) == who


def test_what_no_version_has_is_nobodys() -> None:
    assert found(b"a\nx\nb\n", version(b"a\nb\n", "12")) == "1?2"
    assert found(b"x\ny\n", version(b"a\n", "1")) == "??"
    assert found(b"x\n") == "?"
    assert found(b"", version(b"a\n", "1")) == ""


def test_line_ends_do_not_count() -> None:
    disk = version(b"a\r\nb\r\n", "1u")
    assert found(b"a\nb\n", disk) == "1u"
    assert found(b"a\nb", disk) == "1u"
    assert found(b"a\r\n", version(b"a\nc\n", "12")) == "1"
    # but a carriage return within a line does
    assert found(b"a\rb\n", version(b"ab\n", "1")) == "?"


@pytest.mark.parametrize("seed", range(amount(20, 400)))
def test_a_part_of_what_is_there_is_found_in_it(seed: int) -> None:
    """As a commit of some hunks: each line says who wrote it."""
    chance = random.Random(seed)
    known = {b"1": ONE, b"2": TWO, b"u": USER}
    versions, lines = [], [b"u%d\n" % number for number in range(8)]
    texts = []
    for number in range(chance.randint(1, 6)):
        start = chance.randint(0, len(lines))
        new = [b"%s %d %d\n" % (chance.choice((b"1", b"2", b"u")), number, at) for at in range(chance.randint(1, 5))]
        lines = [*lines[:start], *new, *lines[start + chance.randrange(3) :]]
        texts.append(lines)
        versions.append(Version(lines, [known[line[:1]] for line in lines], number, number + 1))
    for at, whole in enumerate(texts):
        part = [line for line in whole if chance.randrange(4)]
        assert writers_of(b"".join(part), at, lambda: versions, TEXTS) == [known[line[:1]] for line in part]


@pytest.mark.parametrize("seed", range(amount(8, 100)))
def test_what_is_unknown_is_what_git_sees_added(tmp_path: Path, seed: int) -> None:
    """With one version, it lacks as many lines as `git diff` adds, which may choose others of lines that are equal."""
    chance = random.Random(seed)
    old = [b"%d\n" % chance.randrange(9) for _ in range(30)]
    new = list(old)
    for _ in range(5):
        start = chance.randint(0, len(new))
        new[start : start + chance.randrange(3)] = [b"%d\n" % chance.randrange(9) for _ in range(chance.randrange(3))]
    for name, lines in (("old", old), ("new", new)):
        (tmp_path / name).write_bytes(b"".join(lines))
    patch = run_git(tmp_path, "diff", "--no-index", "--unified=99", "--no-prefix", "old", "new").splitlines()[5:]
    expected = [line[:1] == b"+" for line in patch if line[:1] in b"+ "] if patch else [False] * len(new)
    writers = writers_of(b"".join(new), None, lambda: [Version(old, [ONE] * len(old), None, None)], TEXTS)
    known = [line for line, writer in zip(new, writers, strict=True) if writer != UNKNOWN]
    assert len(known) == expected.count(False)
    left = iter(old)
    assert all(line in left for line in known)

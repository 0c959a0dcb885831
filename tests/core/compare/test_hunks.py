"""The hunks of a change, and the text without some of them: as git shows them, and takes them back."""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Collection, Sequence
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from snapd.core.compare.edits import Hunk, hunks, without
from snapd.core.compare.text import DirectDiffer
from snapd.model.call import Call
from snapd.model.errors import Cancelled, InvalidParams
from tests.support.amounts import amount
from tests.support.git import run_git

HEADER = re.compile(rb"@@ -(\d+)(,\d+)? \+(\d+)(,\d+)? @@")


def ask(old: bytes, new: bytes) -> tuple[Hunk, ...]:
    return hunks(old, new, DirectDiffer(), Call())


def back(old: bytes, new: bytes, indexes: Collection[int]) -> bytes:
    return without(old, new, indexes, DirectDiffer(), Call())


def git_hunks(old: bytes, new: bytes) -> list[list[bytes]]:
    """The lines of each hunk, header first, by `git diff`."""
    with tempfile.TemporaryDirectory() as folder:
        for name, data in (("old", old), ("new", new)):
            Path(folder, name).write_bytes(data)
        said = run_git(folder, "diff", "--no-index", "--no-renames", "--text", "old", "new")
    found: list[list[bytes]] = []
    for line in said.split(b"\n")[:-1]:
        if line.startswith(b"@@"):
            found.append([])
        if found:
            found[-1].append(line)
    return found


def git_without(old: bytes, new: bytes, indexes: Sequence[int]) -> bytes:
    """The text that `git apply -R` leaves of some of git's hunks."""
    patch = [b"--- a/f", b"+++ b/f"]
    ahead = 0
    every = git_hunks(old, new)
    for index in indexes:
        header, *lines = every[index]
        found = HEADER.match(header)
        assert found is not None
        counts = [1 if count is None else int(count[1:]) for count in found.group(2, 4)]
        # where it lies once those before it are taken back, the others not
        start = int(found[3]) - ahead if all(counts) else int(found[1])
        patch += [b"@@ -%d,%d +%d,%d @@" % (start, counts[0], int(found[3]), counts[1]), *lines]
        ahead += counts[1] - counts[0]
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "f").write_bytes(new)
        command = ["git", "apply", "-R", "--whitespace=nowarn", "-"]
        done = subprocess.run(command, cwd=folder, input=b"\n".join(patch) + b"\n", capture_output=True, check=False)
        assert done.returncode == 0, done.stderr
        return Path(folder, "f").read_bytes()


def numbered(count: int, **changed: bytes) -> bytes:
    lines = [changed.get(f"at{at}", b"line %d\n" % at) for at in range(count)]
    return b"".join(lines)


TEXT = numbered(40)
THREE = numbered(40, at2=b"two\n", at15=b"", at16=b"", at30=b"line 30\nmore\n")

CHANGES: dict[str, tuple[bytes, bytes]] = {
    "three hunks": (TEXT, THREE),
    "one hunk of changes six lines apart": (TEXT, numbered(40, at2=b"x\n", at9=b"y\n")),
    "two hunks of changes seven lines apart": (TEXT, numbered(40, at2=b"x\n", at10=b"y\n")),
    "first line": (TEXT, numbered(40, at0=b"x\n")),
    "before the first line": (TEXT, b"x\n" + TEXT),
    "last line": (TEXT, numbered(40, at39=b"x\n")),
    "behind the last line": (TEXT, TEXT + b"x\n"),
    "both ends": (TEXT, numbered(40, at0=b"", at39=b"")),
    "made": (b"", TEXT),
    "deleted": (TEXT, b""),
    "one line made": (b"", b"x\n"),
    "one line made, without newline": (b"", b"x"),
    "nothing": (TEXT, TEXT),
    "newline at the end taken away": (TEXT, TEXT[:-1]),
    "newline at the end given": (TEXT[:-1], TEXT),
    "no newline at either end": (TEXT[:-1], THREE[:-1]),
    "no newline, last line changed": (TEXT[:-1], TEXT[:-1] + b"!"),
    "no newline, lines added": (TEXT[:-1], TEXT + b"x\ny"),
    "crlf": (TEXT.replace(b"\n", b"\r\n"), THREE.replace(b"\n", b"\r\n")),
    "line ends changed": (TEXT, TEXT.replace(b"\n", b"\r\n")),
    "line ends mixed": (TEXT.replace(b"4\n", b"4\r\n"), THREE.replace(b"4\n", b"4\r\n").replace(b"9\n", b"9\r\n")),
    "carriage returns alone": (b"a\rb\rc\n" + TEXT, b"a\rx\rc\n" + THREE),
    "other line ends of Unicode": (
        "a\x0bb\x0cc\u2028d\x85\n".encode() + TEXT,
        "a\x0bb\x0cx\u2028d\x85\n".encode() + THREE,
    ),
    "not UTF-8": (TEXT.replace(b"line", b"l\xefne"), THREE.replace(b"line", b"l\xefne")),
    "CJK": (TEXT.replace(b"line", "行".encode()), THREE.replace(b"line", "行".encode())),
    "looks like a patch": (
        TEXT.replace(b"line 1", b"@@ -1 +1 @@"),
        THREE.replace(b"line 1", b"@@ -1 +1 @@").replace(b"line 3", b"\\ No newline at end of file"),
    ),
    "signs": (TEXT.replace(b"line 3", b"-- a/f"), THREE.replace(b"line 3", b"++ b/f")),
    "a heading": (b"def f():\n" + TEXT.replace(b"line", b"    x"), b"def f():\n" + THREE.replace(b"line", b"    x")),
    "a long heading": (
        b"def " + b"f" * 200 + b"():\n" + TEXT.replace(b"line", b"    x"),
        b"def " + b"f" * 200 + b"():\n" + THREE.replace(b"line", b"    x"),
    ),
    "blank lines": (TEXT.replace(b"line 2\n", b"\n"), THREE.replace(b"line 3\n", b"\n")),
}


def check(old: bytes, new: bytes, encoding: str = "utf-8") -> None:
    wanted = git_hunks(old, new)
    found = ask(old, new)
    assert [one.index for one in found] == list(range(len(wanted)))
    assert [[one.header.encode(encoding), *(line.encode(encoding) for line in one.lines)] for one in found] == wanted


@pytest.mark.parametrize(("old", "new"), CHANGES.values(), ids=CHANGES.keys())
def test_they_are_those_of_git(old: bytes, new: bytes) -> None:
    check(old, new, "latin-1" if b"\xef" in old else "utf-8")


@pytest.mark.parametrize(("old", "new"), CHANGES.values(), ids=CHANGES.keys())
def test_each_choice_is_taken_back_as_by_git(old: bytes, new: bytes) -> None:
    count = len(git_hunks(old, new))
    for number in range(1, count + 1):
        for indexes in combinations(range(count), number):
            assert back(old, new, indexes) == git_without(old, new, indexes)
            assert back(old, new, indexes[::-1]) == back(old, new, indexes)
    assert back(old, new, range(count)) == old
    assert back(old, new, ()) == new


@pytest.mark.parametrize("before", ["", "x", "xx", "xxx"])
def test_a_heading_is_cut_between_characters(before: str) -> None:
    old = (before + "行" * 60).encode() + b"\n" + TEXT.replace(b"line", b"  line")
    check(old, old.replace(b"line 30", "行".encode()))


@pytest.mark.parametrize("indexes", [[3], [-1], [0, 3], [0, 0], [2, 1, 2]])
def test_hunks_that_there_are_not(indexes: list[int]) -> None:
    with pytest.raises(InvalidParams) as caught:
        back(TEXT, THREE, indexes)
    assert caught.value.data == {"field": "hunks"}


def test_there_are_none_where_nothing_changed() -> None:
    assert ask(TEXT, TEXT) == ()
    with pytest.raises(InvalidParams):
        back(TEXT, TEXT, [0])


def test_it_can_be_cancelled() -> None:
    call = Call()
    call.cancel()
    with pytest.raises(Cancelled):
        hunks(TEXT, THREE, DirectDiffer(), call)
    with pytest.raises(Cancelled):
        without(TEXT, THREE, [0], DirectDiffer(), call)


WORDS = ["", "}", "x", "  y", "x\r", "\u2028", "@@ -1 +1 @@", "-", "\\ No newline at end of file"]
PIECES = st.lists(st.sampled_from(WORDS), max_size=3)
ENDS = st.sampled_from(["\n", ""])


@st.composite
def change(draw: st.DrawFn) -> tuple[bytes, bytes]:
    """Two texts that differ here and there."""
    old: list[str] = []
    new: list[str] = []
    for at in range(draw(st.integers(0, 4))):
        before, after = draw(PIECES), draw(PIECES)
        same = [f"{at} {word}" for word in draw(st.lists(st.sampled_from(WORDS), max_size=12))]
        old += [*before, *same]
        new += [*after, *same]
    encoding = "latin-1" if draw(st.booleans()) else "utf-8"
    texts = ("\n".join(lines) + draw(ENDS) if lines else "" for lines in (old, new))
    one, two = (text.replace("\u2028", "\xef") if encoding == "latin-1" else text for text in texts)
    return one.encode(encoding), two.encode(encoding)


@given(change())
@settings(deadline=None, max_examples=amount(60, 1000))
def test_any_change(texts: tuple[bytes, bytes]) -> None:
    shown = b"\n".join(line for hunk in git_hunks(*texts) for line in hunk)
    check(*texts, "latin-1" if b"\xef" in shown else "utf-8")


@given(change(), st.data())
@settings(deadline=None, max_examples=amount(60, 1000))
def test_any_hunks_of_any_change(texts: tuple[bytes, bytes], data: st.DataObject) -> None:
    old, new = texts
    count = len(ask(old, new))
    indexes = sorted(data.draw(st.sets(st.integers(0, count - 1)))) if count else []
    found = back(old, new, indexes)
    assert found == (git_without(old, new, indexes) if indexes else new)
    # what is left is what the others changed; all of them are the whole change
    rest = [index for index in range(count) if index not in indexes]
    assert (found == old) is (rest == [])

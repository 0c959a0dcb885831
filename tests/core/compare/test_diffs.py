"""Counts and texts of differences, judged by `git diff` on the same two trees of the same store."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from snapd.core.compare.file_diff import as_text, similarity
from snapd.core.compare.text import compare_lines, line_changes, plain_changes
from snapd.model.call import Call
from snapd.model.snapshot import ObjectId
from tests.support.amounts import amount
from tests.support.git import run_git
from tests.support.workspace import Bench, Executable, Item, Items, Symlink, git_tree_changes, make, read, write


def numbered(*lines: int | str) -> bytes:
    return b"".join(b"line %s\n" % str(line).encode() for line in lines)


CODE = b"""\
int one(void)
{
    return 1;
}

  static int
two(int x) \t
{
    if (x)
        return 2;
    x++;
    x--;
    x += 2;
    return x;
}
"""

PAIRS: dict[str, tuple[Items, Items]] = {
    "added and deleted": ({"old": numbered(1, 2)}, {"new": numbered(3)}),
    "one line in the middle": ({"a": numbered(*range(30))}, {"a": numbered(*range(15), "x", *range(16, 30))}),
    "two hunks": ({"a": numbered(*range(30))}, {"a": numbered("x", *range(1, 29), "y")}),
    "hunks that touch": ({"a": numbered(*range(12))}, {"a": numbered(0, "x", *range(2, 8), "y", *range(9, 12))}),
    "no newline at the end, before": ({"a": b"1\n2"}, {"a": b"1\n2\n"}),
    "no newline at the end, after": ({"a": b"1\n2\n"}, {"a": b"1\n2"}),
    "no newline at the end, both": ({"a": b"1\n2"}, {"a": b"1\n3"}),
    "no newline, untouched end": ({"a": b"1\n2\n3\n4"}, {"a": b"0\n2\n3\n4"}),
    "crlf": ({"a": b"1\r\n2\r\n"}, {"a": b"1\n2\r\n"}),
    "lone cr": ({"a": b"1\r2\r"}, {"a": b"1\r3\r"}),
    "empty files": ({"gone": b""}, {"come": b""}),
    "emptied and filled": ({"a": b"1\n", "b": b""}, {"a": b"", "b": b"1\n"}),
    "only newlines": ({"a": b"\n\n\n"}, {"a": b"\n\n"}),
    "mode alone": ({"a": b"1\n"}, {"a": Executable(b"1\n")}),
    "mode and text": ({"a": Executable(b"1\n")}, {"a": b"2\n"}),
    "mode of an empty file": ({"a": b""}, {"a": Executable(b"")}),
    "new executable": ({}, {"a": Executable(b"1\n")}),
    "file to symlink": ({"a": b"text\n"}, {"a": Symlink("text")}),
    "symlink to file": ({"a": Symlink("text")}, {"a": Executable(b"text\nmore\n")}),
    "moved over a symlink": ({"a": numbered(*range(9)), "b": Symlink("x")}, {"b": numbered(*range(9))}),
    "moved and replaced by a symlink": ({"a": numbered(*range(9))}, {"a": Symlink("b"), "b": numbered(*range(9))}),
    "symlink elsewhere": ({"a": Symlink("x")}, {"a": Symlink("y")}),
    "symlink to an empty file": ({"a": Symlink("x")}, {"a": b""}),
    "binary to symlink": ({"a": b"\0"}, {"a": Symlink("y")}),
    "file to directory": (
        {"a": b"1\n", "a-b": b"x", "a.b": b"x"},
        {"a/b": b"1\n", "a/c": b"2\n", "a-b": b"y", "a.b": b"y"},
    ),
    "directory to file": ({"a/b": b"1\n"}, {"a": b"1\n"}),
    "binary": ({"a": b"\0\1"}, {"a": b"\0\2"}),
    "binary to text": ({"a": b"\0\n"}, {"a": b"1\n"}),
    "binary added and deleted": ({"a": b"\0"}, {"b b": b"\0"}),
    "binary and mode": ({"a": b"\0"}, {"a": Executable(b"\0\1")}),
    "NUL at byte 7999": ({"a": b"x" * 7999 + b"\0\n"}, {"a": b"x\n"}),
    "NUL at byte 8000": ({"a": b"x" * 8000 + b"\0\n"}, {"a": b"x\n"}),
    "NUL beyond byte 8000": ({"a": b"x\n" * 5000 + b"\0\n"}, {"a": b"y\n" + b"x\n" * 5000 + b"\0\n"}),
    "odd names": (
        dict.fromkeys(("a b", 'q"', "é", "t\tab", "n\nl", "back\\", "\x7f", "�", " "), b"1\n"),
        dict.fromkeys(("a b", 'q"', "é", "t\tab", "n\nl", "back\\", "\x7f", "�", " "), b"2\n"),
    ),
    "odd names come and go": ({"a b": b"1\n", "é": b""}, {"c d/e f": b"1\n", "\x01": b""}),
    "latin-1": ({"a": b"caf\xe9\n"}, {"a": b"th\xe9\n"}),
    "byte order mark": ({"a": b"\xef\xbb\xbfx\n"}, {"a": b"x\n"}),
    "function names": ({"a.c": CODE}, {"a.c": CODE.replace(b"x += 2", b"x += 3")}),
    "long function names": (
        {"a": b"f" * 200 + b"\n" + numbered(*range(9))},
        {"a": b"f" * 200 + b"\n" + numbered(*range(8), "x")},
    ),
    "function names not ASCII": (
        {"a": "é function\n$dollar\n".encode() + b" " + numbered(*range(9))},
        {"a": "é function\n$dollar\n".encode() + b" " + numbered(*range(8), "x")},
    ),
    "indentation decides": (
        {"a": b"def a():\n    x\n\ndef b():\n    x\n\n"},
        {"a": b"def a():\n    x\n\ndef c():\n    x\n\ndef b():\n    x\n\n"},
    ),
    "attributes have no say": (
        {".gitattributes": b"* diff=x -text\n*.b binary\n", "a.b": b"1\n"},
        {".gitattributes": b"* -diff\n", "a.b": b"2\n"},
    ),
    "whitespace alone": ({"a": b"a b\n c\n"}, {"a": b"a  b\nc \n"}),
    "repeated lines": ({"a": b"{\n}\n" * 40}, {"a": b"{\n}\n" * 17 + b"{\n" + b"{\n}\n" * 20}),
}


def both(bench: Bench, before: Items, after: Items) -> tuple[ObjectId, ObjectId]:
    bench.become(before)
    old = bench.track()
    bench.become(after)
    return old, bench.track()


def agrees_with_git(bench: Bench, old: ObjectId, new: ObjectId) -> None:
    deltas = bench.workspace.comparison.deltas(old, new, Call()).deltas
    ours = [(os.fsdecode(one.path), one.status, one.additions, one.deletions, one.binary) for one in deltas]
    assert ours == git_tree_changes(bench.store, old, new)
    raw = bench.git("diff", "--no-renames", "--abbrev=7", old.hex(), new.hex())
    text = as_text(bench.workspace.comparison.diff(old, new, (), Call()))
    # a file that is not UTF-8 is shown byte by byte
    parts = [part.encode("utf-8") for part in text.split("diff --git ")]
    theirs = raw.split(b"diff --git ")
    assert len(parts) == len(theirs)
    for part, wanted in zip(parts, theirs, strict=True):
        assert part == wanted or part.decode("utf-8").encode("latin-1") == wanted


@pytest.mark.parametrize(("before", "after"), PAIRS.values(), ids=PAIRS.keys())
def test_a_difference_is_gits(tmp_path: Path, before: Items, after: Items) -> None:
    bench = make(tmp_path)
    old, new = both(bench, before, after)
    assert bench.workspace.comparison.changed(old, new, Call())
    agrees_with_git(bench, old, new)
    agrees_with_git(bench, new, old)


def edited(dice: random.Random, lines: list[bytes]) -> list[bytes]:
    lines = list(lines)
    for _ in range(dice.randrange(1, 6)):
        at = dice.randrange(len(lines) + 1)
        match dice.randrange(4):
            case 0:
                lines[at:at] = [dice.choice(WORDS) for _ in range(dice.randrange(1, 5))]
            case 1:
                del lines[at : at + dice.randrange(1, 4)]
            case 2:
                lines[at : at + 1] = [dice.choice(WORDS)]
            case _:
                moved = lines[at : at + 3]
                del lines[at : at + 3]
                lines += moved
    return lines


WORDS = [b"}", b"{", b"    return x", b"def f():", b"\treturn", b"x = 1", b"x = 1 "]
WORDS += [b"", b"caf\xe9", b"\r", "é".encode()]


def random_text(dice: random.Random, lines: list[bytes]) -> Item:
    data = b"\n".join(lines) + dice.choice((b"\n", b""))
    return dice.choice((data, data, data, data, Executable(data), data + b"\0"))


@pytest.mark.parametrize("seed", range(6))
def test_random_edits(tmp_path: Path, seed: int) -> None:
    dice = random.Random(seed)
    before: dict[str, Item] = {}
    after: dict[str, Item] = {}
    for at in range(60):
        lines = [dice.choice(WORDS) for _ in range(dice.choice((0, 3, 30, 120)))]
        name = f"{dice.choice(('d e', 'é', 'd'))}/{at}"
        before[name] = random_text(dice, lines)
        after[name] = random_text(dice, edited(dice, lines))
        if dice.random() < 0.1:
            (before if dice.random() < 0.5 else after)[name] = Symlink("target")
        if dice.random() < 0.1:
            del dice.choice((before, after))[name]
    bench = make(tmp_path)
    agrees_with_git(bench, *both(bench, before, after))


def moved_text(seed: int, lines: int = 40) -> bytes:
    dice = random.Random(seed)
    return b"".join(b"%d\n" % dice.randrange(10**9) for _ in range(lines))


MOVES: dict[str, tuple[Items, Items]] = {
    "as it is": ({"a": moved_text(1)}, {"b/c": moved_text(1)}),
    "and a little changed": ({"a": moved_text(1)}, {"b": moved_text(1) + b"more\n"}),
    "and changed beyond half": ({"a": moved_text(1, 40)}, {"b": moved_text(1, 40)[:100] + moved_text(2, 40)}),
    "two that are alike": ({"a": moved_text(1), "b": moved_text(2)}, {"c": moved_text(2), "d": moved_text(1)}),
    "a directory": ({f"a/{n}": moved_text(n) for n in range(9)}, {f"b/{n}": moved_text(n) for n in range(9)}),
    "with a new mode": ({"a": moved_text(1)}, {"b": Executable(moved_text(1))}),
    "a symlink": ({"a": Symlink("somewhere")}, {"b": Symlink("somewhere")}),
    "two symlinks": ({"a": Symlink("x"), "b": Symlink("x")}, {"c": Symlink("x"), "d": Symlink("x"), "e": Symlink("x")}),
    "an empty file": ({"a": b""}, {"b": b""}),
    "a binary": ({"a": b"\0" + moved_text(1)}, {"b": b"\0" + moved_text(1)}),
    "and something else in its place": ({"a": moved_text(1)}, {"a": moved_text(2), "b": moved_text(1)}),
    "a copy is none": ({"a": moved_text(1)}, {"a": moved_text(1), "b": moved_text(1)}),
    "file and symlink of the same bytes": ({"a": b"x" * 50}, {"b": Symlink("x" * 50)}),
    "indented": ({"a": moved_text(1)}, {"b": b"".join(b"    " + line for line in moved_text(1).splitlines(True))}),
}


@pytest.mark.parametrize(("before", "after"), MOVES.values(), ids=MOVES.keys())
def test_renames_are_gits(tmp_path: Path, before: Items, after: Items) -> None:
    bench = make(tmp_path)
    old, new = both(bench, before, after)
    found = bench.git("diff", "-M", "--raw", "-z", "--abbrev=40", old.hex(), new.hex()).split(b"\0")[:-1]
    wanted = {}
    while found:
        letter = found.pop(0).split(b" ")[-1][:1]
        source = found.pop(0)
        wanted[found.pop(0) if letter == b"R" else source] = source if letter == b"R" else None
    deltas = bench.workspace.comparison.deltas(old, new, Call(), renames=True).deltas
    assert {delta.path: delta.renamed_from for delta in deltas} == wanted
    for delta in deltas:
        if delta.renamed_from is not None:
            assert delta.status == "modified"
            added, deleted, _ = (
                bench.git(
                    "diff",
                    "--numstat",
                    f"{old.hex()}:{delta.renamed_from.decode()}",
                    f"{new.hex()}:{delta.path.decode()}",
                ).split(b"\t", 2)
                if delta.additions or delta.deletions
                else (b"0", b"0", b"")
            )
            assert (delta.additions, delta.deletions) == (int(added), int(deleted))


@pytest.mark.parametrize("seed", range(8))
def test_numbers_that_are_plain_are_those_of_a_comparison(seed: int) -> None:
    """What is told without comparing is judged by libgit2, which compares; and that by git, above."""
    dice = random.Random(seed)
    pool = dice.choice(([b"a", b"b"], [b"", b"a", b"aa", b"b", b"ba"], [b"%d" % at for at in range(30)]))
    plain = 0
    for _ in range(3000):
        lines = dice.choices(pool, k=dice.randrange(12))
        at, end = sorted((dice.randrange(len(lines) + 1), dice.randrange(len(lines) + 1)))
        other = lines[:at] + dice.choices([*pool, b"new"], k=dice.randrange(3)) + lines[end:]
        old, new = (b"\n".join(side) + dice.choice((b"", b"\n")) for side in (lines, other))
        found = plain_changes(old, new)
        if found is not None:
            plain += 1
            assert found == compare_lines(old, new), (old, new)
        assert line_changes(old, new) == compare_lines(old, new)
    assert 1000 < plain < 3000


def test_what_is_long_is_compared_at_once() -> None:
    old, new = (b"".join(b"%s%d\n" % (word, at) for at in range(9000)) for word in (b"x", b"y"))
    assert plain_changes(old, new) is None
    assert line_changes(old, new) == (9000, 9000)
    assert line_changes(old, old + new) == plain_changes(old, old + new) == compare_lines(old, old + new) == (9000, 0)


def test_only_some_files(tmp_path: Path) -> None:
    bench = make(tmp_path)
    old, new = both(bench, {"a": moved_text(1), "d/x": b"1", "dx": b"1"}, {"b": moved_text(1), "d/x": b"2", "dx": b"2"})
    ask = bench.workspace.comparison.deltas
    assert [delta.path for delta in ask(old, new, Call(), only=[b"d"]).deltas] == [b"d/x"]
    assert [delta.path for delta in ask(old, new, Call(), only=[b"dx", b"d/x"]).deltas] == [b"d/x", b"dx"]
    assert len(bench.workspace.comparison.diff(old, new, [b"d"], Call())) == 1
    both_ends = ask(old, new, Call(), only=[b"a", b"b"], renames=True).deltas
    assert [(delta.path, delta.renamed_from) for delta in both_ends] == [(b"b", b"a")]
    # asked for one end alone, it came or went: as git with a pathspec has it
    assert [(delta.path, delta.status) for delta in ask(old, new, Call(), only=[b"a"], renames=True).deltas] == [
        (b"a", "deleted")
    ]
    assert [(delta.path, delta.status) for delta in ask(old, new, Call(), only=[b"b"], renames=True).deltas] == [
        (b"b", "added")
    ]


def test_pages_cover_everything_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    items: Items = {f"{at:02}": b"x" * at * 10 for at in range(1, 30)}
    bench = make(tmp_path)
    old, new = both(bench, {}, items)
    monkeypatch.setattr("snapd.core.actions.compare.PAGE_BYTES", 500)
    for limit in (None, 1, 4):
        after, seen = None, []
        while True:
            page = bench.workspace.comparison.deltas(old, new, Call(), after=after, limit=limit)
            seen += [delta.path.decode() for delta in page.deltas]
            assert len(page.deltas) == 1 or sum(delta.size for delta in page.deltas) <= 500
            assert limit is None or len(page.deltas) <= limit
            if page.after is None:
                break
            after = page.after
        assert seen == list(items)


MOVES: dict[str, tuple[Items, Items]] = {
    "as it was": ({"a": numbered(1, 2), "b": b"x\n"}, {"c": numbered(1, 2), "b": b"y\n"}),
    "and changed": ({"a": numbered(*range(30))}, {"d/b": numbered(*range(28), "x", 29)}),
    "by half": ({"a": numbered(*range(10, 20))}, {"b": numbered(*range(10, 16), 70, 71, 72, 73)}),
    "other line ends": ({"a": b"1\n22\n333\n" * 9}, {"b": b"1\r\n22\n333\n" * 9}),
    "long lines": ({"a": b"x" * 300 + b"\n" + numbered(*range(20))}, {"b": b"x" * 300 + b"\n" + numbered(*range(17))}),
    "and made executable": ({"a": numbered(*range(9))}, {"b": Executable(numbered(*range(8)))}),
    "a symlink": ({"a": Symlink("x/y")}, {"b": Symlink("x/y")}),
    "odd names": (
        {"a é": numbered(*range(9)), 'q"': b"long enough\n"},
        {"b\tü": numbered(*range(8)), "n\nl": b"long enough\n"},
    ),
    "a folder": (
        {f"old/{n}": numbered(n, *range(9)) for n in range(4)},
        {f"new/{n}": numbered(n, *range(9)) for n in range(4)},
    ),
    "latin-1": ({"a": b"caf\xe9\n" * 9}, {"b": b"caf\xe9\n" * 8}),
    "onto a deleted one": ({"a": numbered(*range(9)), "b": numbered("x")}, {"b/c": numbered(*range(9))}),
}


UNENDED: dict[str, tuple[Items, Items]] = {
    "last line without its end": ({"a": numbered(*range(9)) + b"end"}, {"b": numbered(*range(8)) + b"end"}),
}
"""A move whose similarity git counts differently since 2.44."""


@pytest.mark.parametrize(("before", "after"), MOVES.values(), ids=MOVES.keys())
def test_a_move_is_gits(tmp_path: Path, before: Items, after: Items) -> None:
    bench = make(tmp_path)
    old, new = both(bench, before, after)
    raw = bench.git("diff", "--find-renames", "--abbrev=7", old.hex(), new.hex())
    assert b"rename from" in raw
    assert b"".join(bench.workspace.comparison.diff(old, new, (), Call(), renames=True)) == raw


@pytest.mark.parametrize("seed", range(amount(10, 400)))
def test_moves_among_many_files_are_gits(tmp_path: Path, seed: int) -> None:
    dice = random.Random(seed)
    before: dict[str, Item] = {
        f"{dice.choice('abc')}/{n}": numbered(*(n * 100 + i for i in range(12))) for n in range(9)
    }
    after = dict(before)
    for name in dice.sample(sorted(before), 5):
        item = after.pop(name)
        assert isinstance(item, bytes)
        what = dice.random()
        if what < 0.6:
            after[f"{dice.choice('cde')}/{dice.choice('xyz')}/{name[2:]}"] = item + numbered("more") * dice.randint(
                0, 4
            )
        elif what < 0.8:
            after[name] = item + b"in place\n"
    after["e/new"] = numbered("new")
    bench = make(tmp_path)
    old, new = both(bench, before, after)
    raw = bench.git("diff", "--find-renames", "--abbrev=7", old.hex(), new.hex())
    assert b"".join(bench.workspace.comparison.diff(old, new, (), Call(), renames=True)) == raw


def test_a_last_line_without_its_end_counts() -> None:
    assert similarity(b"1\n23", b"1\n23") == 100
    assert similarity(b"1\n23", b"4\n23") == 50
    assert similarity(b"1\n23", b"") == 0


def applied(scratch: Path, before: Items, patch: bytes) -> Items:
    """What `git apply` makes of some files."""
    folder = scratch / "applied"
    write(folder, before)
    folder.mkdir(exist_ok=True)
    run_git(folder, "init", "-q")
    run_git(folder, "apply", "--whitespace=nowarn", "-", input=patch)
    return read(folder)


WHOLE = [
    pytest.param(before, after, id=name)
    for name, (before, after) in (PAIRS | MOVES | UNENDED).items()
    if not ("binary" in name or name.startswith("NUL"))
]


@pytest.mark.parametrize(("before", "after"), WHOLE)
@pytest.mark.parametrize("renames", [False, True], ids=["as-two", "as-one"])
def test_git_applies_it(tmp_path: Path, before: Items, after: Items, renames: bool) -> None:
    bench = make(tmp_path / "bench")
    old, new = both(bench, before, after)
    patch = b"".join(bench.workspace.comparison.diff(old, new, (), Call(), renames=renames))
    assert applied(tmp_path, before, patch) == after


def test_text_over_the_limit_and_the_exact_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("snapd.core.compare.file_diff.TEN_MIB", 1000)
    bench = make(tmp_path)
    fits, large, binary = b"x\n" * 500, b"x\n" * 500 + b"y", b"\0" * 1001
    old, new = both(bench, {"a": fits, "b": large, "c": b""}, {"a": b"1", "b": b"1", "c": binary})
    found = {delta.path: delta for delta in bench.workspace.comparison.deltas(old, new, Call()).deltas}
    assert (found[b"a"].too_large, found[b"a"].deletions, found[b"a"].before) == (False, 500, fits.decode())
    assert (found[b"b"].too_large, found[b"b"].deletions, found[b"b"].before, found[b"b"].after) == (True, 0, "", "")
    assert (found[b"c"].too_large, found[b"c"].binary) == (False, True)
    text = as_text(bench.workspace.comparison.diff(old, new, [b"b"], Call()))
    assert text.endswith("Binary files a/b and b/b differ\n")


def test_texts_are_shown_whole(tmp_path: Path) -> None:
    bench = make(tmp_path)
    old, new = both(
        bench, {"u": "é\r\n".encode(), "l": b"\xe9", "b": b"\0"}, {"u": b"\xef\xbb\xbf", "l": b"x", "b": b""}
    )
    found = {
        delta.path: (delta.before, delta.after, delta.encoding)
        for delta in bench.workspace.comparison.deltas(old, new, Call()).deltas
    }
    assert found == {b"u": ("é\r\n", "\ufeff", None), b"l": ("\xe9", "x", "latin-1"), b"b": ("", "", None)}
    bare = bench.workspace.comparison.deltas(old, new, Call(), contents=False).deltas
    assert {(delta.before, delta.after) for delta in bare} == {("", "")}

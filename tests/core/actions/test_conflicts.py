"""`onConflict`: what becomes of files that somebody changed since the last snapshot."""

from __future__ import annotations

import random
import subprocess
from pathlib import Path

import pytest

from snapd.model.call import Call
from snapd.model.snapshot import OnConflict
from tests.support.merging import has_both
from tests.support.workspace import Bench, Executable, Item, Items, Symlink, make, outcomes


def lines(*words: int | str) -> bytes:
    return b"".join(b"line %s\n" % str(word).encode() for word in words)


TEN = lines(*range(10))
TOP = lines("top", *range(1, 10))
END = lines(*range(9), "end")
BOTH = lines("top", *range(1, 9), "end")
OTHER_TOP = lines("other", *range(1, 10))

# what the snapshot had, what the agent left, what the user made of it: the outcome under merge, and the file then
MERGES: dict[str, tuple[Item, Item, Item, str | None, Item]] = {
    "user did nothing": (TEN, TOP, TOP, "restored", TEN),
    "apart from each other": (TEN, TOP, BOTH, "merged", END),
    "the same lines": (TEN, TOP, OTHER_TOP, "conflict:changedSince", OTHER_TOP),
    "agent did nothing": (TEN, TEN, END, "kept:changedSince", END),
    "user took it back": (TEN, TOP, TEN, None, TEN),
    "user deleted it": (TEN, TOP, None, "conflict:deletedSince", None),
    "user deleted it, agent had not changed it": (TEN, TEN, None, "conflict:deletedSince", None),
    "agent made it, user changed it": (None, TOP, BOTH, "conflict:changedSince", BOTH),
    "agent made it, user deleted it": (None, TOP, None, None, None),
    "user made it": (None, None, TEN, "conflict:changedSince", TEN),
    "agent deleted it, user made it again": (TEN, None, TOP, "conflict:changedSince", TOP),
    "agent deleted it, user made the same again": (TEN, None, TEN, None, TEN),
    "mode by the user": (TEN, TOP, Executable(TOP), "merged", Executable(TEN)),
    "mode by the agent": (TEN, Executable(TEN), Executable(END), "merged", END),
    "binary": (b"\0" + TEN, b"\0" + TOP, b"\0" + BOTH, "conflict:changedSince", b"\0" + BOTH),
    "binary, mode by the user": (b"\0" + TEN, b"\0" + TOP, Executable(b"\0" + TOP), "merged", Executable(b"\0" + TEN)),
    "crlf": (
        TEN.replace(b"\n", b"\r\n"),
        TOP.replace(b"\n", b"\r\n"),
        BOTH.replace(b"\n", b"\r\n"),
        "merged",
        END.replace(b"\n", b"\r\n"),
    ),
    "symlink by the user": (TEN, TOP, Symlink("x"), "conflict:changedSince", Symlink("x")),
    "symlink moved by the user": (Symlink("1"), Symlink("2"), Symlink("3"), "conflict:changedSince", Symlink("3")),
    "symlink of the agent": (TEN, Symlink("x"), Symlink("x"), "restored", TEN),
}


def put(bench: Bench, item: Item) -> None:
    bench.become({"witness": b"1"} if item is None else {"witness": b"1", "f": item})


def situation(bench: Bench, then: Item, left: Item, now: Item) -> bytes:
    put(bench, then)
    tree = bench.track()
    put(bench, left)
    bench.write({"witness": b"2"})
    bench.track()
    put(bench, now)
    bench.write({"witness": b"2"})
    return tree


@pytest.mark.parametrize("ask", ["restore", "revert"])
@pytest.mark.parametrize(("then", "left", "now", "said", "wanted"), MERGES.values(), ids=MERGES.keys())
def test_merge(tmp_path: Path, then: Item, left: Item, now: Item, said: str | None, wanted: Item, ask: str) -> None:
    bench = make(tmp_path)
    tree = situation(bench, then, left, now)
    for dry_run in (True, False):
        if ask == "restore":
            result = bench.restore(tree, "merge", dry_run=dry_run)
        else:
            result = bench.revert((tree, ["f", "witness"]), on_conflict="merge", dry_run=dry_run)
            said = said or "unchanged"
        assert outcomes(result) == {"witness": "restored", **({"f": said} if said else {})}
    assert bench.read() == {"witness": b"1", **({} if wanted is None else {"f": wanted})}
    # nothing is lost: what the user had is in `before`
    bench.restore(result.before)
    assert bench.read() == {"witness": b"2", **({} if now is None else {"f": now})}


@pytest.mark.parametrize(("then", "left", "now", "said", "wanted"), MERGES.values(), ids=MERGES.keys())
def test_fail(tmp_path: Path, then: Item, left: Item, now: Item, said: str | None, wanted: Item) -> None:
    bench = make(tmp_path)
    tree = situation(bench, then, left, now)
    found = bench.read()
    # what the user changed conflicts, even where it could be merged; but not where there is nothing to do
    refused = said not in (None, "restored")
    for _ in range(2):
        # refused once is refused again
        result = bench.restore(tree, "fail")
        assert result.applied is not refused
        if refused:
            assert outcomes(result)["f"].startswith("conflict:")
            assert bench.read() == found
            assert result.after == result.before
    if not refused:
        assert bench.read() == {"witness": b"1", **({} if then is None else {"f": then})}


@pytest.mark.parametrize(("then", "left", "now", "said", "wanted"), MERGES.values(), ids=MERGES.keys())
def test_overwrite(tmp_path: Path, then: Item, left: Item, now: Item, said: str | None, wanted: Item) -> None:
    bench = make(tmp_path)
    tree = situation(bench, then, left, now)
    bench.restore(tree, "overwrite")
    assert bench.read() == {"witness": b"1", **({} if then is None else {"f": then})}


def test_a_folder_of_the_user_in_place_of_a_file(tmp_path: Path) -> None:
    bench = make(tmp_path, {"f": b"1"})
    tree = bench.track()
    bench.write({"f": b"2"})
    bench.track()
    bench.become({"f/user": b"3"})
    result = bench.restore(tree, "merge")
    assert outcomes(result) == {"f": "skipped:inTheWay", "f/user": "conflict:changedSince"}
    assert bench.read() == {"f/user": b"3"}


def merge_file(folder: Path, ours: bytes, base: bytes, theirs: bytes) -> bytes | None:
    for name, data in (("ours", ours), ("base", base), ("theirs", theirs)):
        (folder / name).write_bytes(data)
    done = subprocess.run(
        ["git", "merge-file", "-p", "ours", "base", "theirs"], cwd=folder, capture_output=True, check=False
    )
    return done.stdout if done.returncode == 0 else None


def changed(dice: random.Random, text: list[bytes]) -> list[bytes]:
    text = list(text)
    for _ in range(dice.randrange(1, 4)):
        at = dice.randrange(len(text))
        match dice.randrange(3):
            case 0:
                text[at] = b"changed %d" % dice.randrange(3)
            case 1:
                text.insert(at, dice.choice((b"}", b"inserted %d" % dice.randrange(3))))
            case _:
                del text[at]
    return text


def test_merges_are_those_of_git(tmp_path: Path) -> None:
    dice = random.Random(3)
    before: dict[str, bytes] = {}
    left: dict[str, bytes] = {}
    now: dict[str, bytes] = {}
    wanted: dict[str, bytes] = {}
    said: dict[str, str] = {}
    for at in range(80):
        name = f"{at:03}"
        text = [dice.choice((b"}", b"", b"word %d" % line)) for line in range(25)]
        end = [dice.choice((b"\n", b"\n", b"")) for _ in range(3)]
        left[name] = b"\n".join(text) + end[0]
        before[name] = b"\n".join(changed(dice, text)) + end[0]
        now[name] = b"\n".join(changed(dice, text)) + end[2]
        merged = merge_file(tmp_path, now[name], left[name], before[name])
        wanted[name] = now[name] if merged is None else merged
        said[name] = "conflict:changedSince" if merged is None else "merged"
        if merged == now[name]:
            said[name] = "kept:changedSince"
        if merged == before[name] or now[name] == left[name]:
            said[name] = "restored"
        if before[name] == now[name]:
            del said[name]
    assert 20 < sum(word == "merged" for word in said.values()) < 70
    bench = make(tmp_path, before)
    tree = bench.track()
    bench.become(left)
    bench.track()
    bench.become(now)
    result = outcomes(bench.restore(tree, "merge"))
    touching = {name for name, word in said.items() if word == "conflict:changedSince" and result[name] == "merged"}
    assert result == said | dict.fromkeys(touching, "merged")
    found = bench.read()
    assert all(has_both(found[name], left[name], now[name], before[name]) for name in touching)
    assert found == wanted | {name: found[name] for name in touching}


def test_the_base_is_the_last_snapshot_that_a_client_was_told_of(tmp_path: Path) -> None:
    bench = make(tmp_path, {"a": b"1"})
    tree = bench.track()
    bench.write({"a": b"2"})
    bench.track()
    bench.write({"a": b"user"})
    # looking at the changes, or asking what would be done, makes nothing of them the agent's
    bench.workspace.comparison.changed(tree, None, Call())
    bench.restore(tree, "fail", dry_run=True)
    bench.reopen()
    assert outcomes(bench.restore(tree, "fail")) == {"a": "conflict:changedSince"}
    # but a snapshot does
    bench.track()
    assert outcomes(bench.restore(tree, "fail")) == {"a": "restored"}


def test_an_edit_that_was_left_alone_once_is_left_alone_again(tmp_path: Path) -> None:
    bench = make(tmp_path, {"a": b"1", "b": b"1"})
    tree = bench.track()
    bench.write({"a": b"2", "b": b"2"})
    bench.track()
    bench.write({"a": b"user"})
    assert outcomes(bench.restore(tree, "merge")) == {"a": "conflict:changedSince", "b": "restored"}
    bench.reopen()
    assert outcomes(bench.restore(tree, "merge")) == {"a": "conflict:changedSince"}
    assert bench.read() == {"a": b"user", "b": b"1"}


@pytest.mark.parametrize("on_conflict", ["merge", "fail", "overwrite"])
def test_without_a_snapshot_before(tmp_path: Path, on_conflict: OnConflict) -> None:
    items: Items = {"a": b"1"}
    bench = make(tmp_path, items)
    tree = bench.track()
    assert bench.restore(tree, on_conflict).applied
    assert bench.read() == items

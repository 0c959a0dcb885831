"""Taking a step back: what becomes of each file, whatever others did to it since."""

from __future__ import annotations

import attrs
import pytest

from snapd.core.attribution import Delta
from snapd.core.compare.threeway import Overlap, StepReversal, combined, net, take_back, three_way
from snapd.model.snapshot import Entry
from tests.core.compare.stories import (
    BIN,
    BIN_STEP,
    BIN_USER,
    BOTH,
    CLASH,
    OLD,
    OTHER,
    STEP,
    USER,
    Objects,
    State,
    Story,
    lines,
    take,
    told,
    undo,
)
from tests.support.workspace import Executable, Item, Symlink


@attrs.frozen
class Row:
    """A case.

    Attributes:
        before: what the step began with.
        left: what it left.
        now: what others made of that.
        wanted: what is there when the step is taken back; None: what was there now.
        said: of each file.
        unlike_git: why git's own merge of `left`, `now` and `before` is another.
    """

    before: State
    left: State
    now: State
    wanted: State | None
    said: str
    unlike_git: str = ""


def f(before: Item, left: Item, now: Item, wanted: Item, said: str, unlike_git: str = "") -> Row:
    """A case of the file f, beside one that nobody touches."""
    then, between, since, after = (
        {"witness": b"1"} if item is None else {"witness": b"1", "f": item} for item in (before, left, now, wanted)
    )
    return Row(then, between, since, after, f"f {said}", unlike_git)


X = Executable
CHANGED, DELETED = "conflict:changedSince", "conflict:deletedSince"
CRLF = [text.replace(b"\n", b"\r\n") for text in (OLD, STEP, BOTH, USER)]
LATIN = [text.replace(b"line", b"l\xefne") for text in (OLD, STEP, BOTH, USER)]

CASES: dict[str, Row] = {
    # the step changed a text
    "changed; nobody since": f(OLD, STEP, STEP, OLD, "restored"),
    "changed; others elsewhere in it": f(OLD, STEP, BOTH, USER, "merged"),
    "changed; others the same lines": f(OLD, STEP, CLASH, CLASH, CHANGED),
    "changed; others took it back": f(OLD, STEP, OLD, OLD, "unchanged"),
    "changed; others took it back and changed it elsewhere": f(OLD, STEP, USER, USER, "unchanged"),
    "changed; others deleted it": f(OLD, STEP, None, None, DELETED),
    "changed; others emptied it": f(OLD, STEP, b"", b"", CHANGED),
    "changed; others wrote it anew": f(OLD, STEP, OTHER, OTHER, CHANGED),
    "changed; others made it binary": f(OLD, STEP, BIN, BIN, CHANGED),
    "changed; others made it a symlink": f(OLD, STEP, Symlink("x"), Symlink("x"), CHANGED),
    "emptied; nobody since": f(OLD, b"", b"", OLD, "restored"),
    "emptied; others wrote into it": f(OLD, b"", OTHER, OTHER, CHANGED),
    "filled; others wrote more": f(b"", STEP, BOTH, BOTH, CHANGED),
    "newline at the end taken away; others elsewhere": f(OLD, OLD[:-1], CLASH[:-1], CLASH, "merged"),
    "line ends CRLF; others elsewhere": f(CRLF[0], CRLF[1], CRLF[2], CRLF[3], "merged"),
    "line ends made CRLF; others elsewhere": f(OLD, CRLF[0], CRLF[3], CRLF[3], CHANGED),
    "not UTF-8; others elsewhere": f(LATIN[0], LATIN[1], LATIN[2], LATIN[3], "merged"),
    # a binary file is one piece
    "binary changed; nobody since": f(BIN, BIN_STEP, BIN_STEP, BIN, "restored"),
    "binary changed; others elsewhere in it": f(BIN, BIN_STEP, BIN_USER, BIN_USER, CHANGED),
    "binary changed; others took it back": f(BIN, BIN_STEP, BIN, BIN, "unchanged"),
    "binary changed; others deleted it": f(BIN, BIN_STEP, None, None, DELETED),
    "binary changed; others made it text": f(BIN, BIN_STEP, OLD, OLD, CHANGED),
    "binary changed; others its mode": f(BIN, BIN_STEP, X(BIN_STEP), X(BIN), "merged"),
    "text made binary; nobody since": f(OLD, BIN, BIN, OLD, "restored"),
    "text made binary; others changed that": f(OLD, BIN, BIN_USER, BIN_USER, CHANGED),
    # modes
    "mode; nobody since": f(OLD, X(OLD), X(OLD), OLD, "restored"),
    "mode; others took it back": f(OLD, X(OLD), OLD, OLD, "unchanged"),
    "mode; others the text": f(OLD, X(OLD), X(USER), USER, "merged"),
    "mode; others the text, and the mode back": f(OLD, X(OLD), USER, USER, "unchanged"),
    "mode; others deleted it": f(OLD, X(OLD), None, None, DELETED),
    "mode of a binary; others the bytes": f(BIN, X(BIN), X(BIN_USER), BIN_USER, "merged"),
    "text; others the mode": f(OLD, STEP, X(STEP), X(OLD), "merged"),
    "text; others mode and text elsewhere": f(OLD, STEP, X(BOTH), X(USER), "merged"),
    "text; others mode and the same lines": f(OLD, STEP, X(CLASH), X(CLASH), CHANGED),
    "text and mode; nobody since": f(X(OLD), STEP, STEP, X(OLD), "restored"),
    "text and mode; others the text elsewhere": f(X(OLD), STEP, BOTH, X(USER), "merged"),
    "text and mode; others the mode back": f(X(OLD), STEP, X(STEP), X(OLD), "restored"),
    "text and mode; others the text back": f(X(OLD), STEP, OLD, X(OLD), "restored"),
    # created and deleted
    "created; nobody since": f(None, STEP, STEP, None, "deleted"),
    "created; others deleted it": f(None, STEP, None, None, "unchanged"),
    "created; others changed it": f(None, STEP, BOTH, BOTH, CHANGED),
    "created; others its mode": f(None, STEP, X(STEP), X(STEP), CHANGED),
    "created; others made it a symlink": f(None, STEP, Symlink("x"), Symlink("x"), CHANGED),
    "created empty; nobody since": f(None, b"", b"", None, "deleted"),
    "created empty; others wrote into it": f(None, b"", OTHER, OTHER, CHANGED),
    "deleted; nobody since": f(OLD, None, None, OLD, "restored"),
    "deleted; others made the same again": f(OLD, None, OLD, OLD, "unchanged"),
    "deleted; others made another": f(OLD, None, OTHER, OTHER, "conflict:occupied"),
    "deleted; others made it again with another mode": f(OLD, None, X(OLD), X(OLD), "conflict:occupied"),
    "deleted; others made a symlink there": f(OLD, None, Symlink("x"), Symlink("x"), "conflict:occupied"),
    "binary deleted; nobody since": f(BIN, None, None, BIN, "restored"),
    "executable deleted; nobody since": f(X(OLD), None, None, X(OLD), "restored"),
    # symlinks
    "symlink created; nobody since": f(None, Symlink("x"), Symlink("x"), None, "deleted"),
    "symlink created; others moved it elsewhere": f(None, Symlink("x"), Symlink("y"), Symlink("y"), CHANGED),
    "symlink deleted; nobody since": f(Symlink("x"), None, None, Symlink("x"), "restored"),
    "symlink deleted; others made it again": f(Symlink("x"), None, Symlink("x"), Symlink("x"), "unchanged"),
    "symlink changed; nobody since": f(Symlink("x"), Symlink("y"), Symlink("y"), Symlink("x"), "restored"),
    "symlink changed; others too": f(Symlink("x"), Symlink("y"), Symlink("z"), Symlink("z"), CHANGED),
    "symlink changed; others back": f(Symlink("x"), Symlink("y"), Symlink("x"), Symlink("x"), "unchanged"),
    "symlink changed; others deleted it": f(Symlink("x"), Symlink("y"), None, None, DELETED),
    "symlink changed; others made it a file": f(Symlink("x"), Symlink("y"), OLD, OLD, CHANGED),
    "file made a symlink; nobody since": f(OLD, Symlink("x"), Symlink("x"), OLD, "restored"),
    "file made a symlink; others changed that": f(OLD, Symlink("x"), Symlink("y"), Symlink("y"), CHANGED),
    "symlink made a file; nobody since": f(Symlink("x"), OLD, OLD, Symlink("x"), "restored"),
    "symlink made a file; others changed that": f(Symlink("x"), OLD, USER, USER, CHANGED),
    # files and directories
    "file made a directory; nobody since": Row(
        {"d": OLD}, {"d/f": OTHER}, {"d/f": OTHER}, {"d": OLD}, "d restored, d/f deleted"
    ),
    "file made a directory; others added to it": Row(
        {"d": OLD}, {"d/f": OTHER}, {"d/f": OTHER, "d/user": b"1"}, {"d/user": b"1"}, "d conflict:occupied, d/f deleted"
    ),
    "file made a directory; others changed what is in it": Row(
        {"d": OLD}, {"d/f": OTHER}, {"d/f": b"user"}, None, "d conflict:occupied, d/f conflict:changedSince"
    ),
    "directory made a file; nobody since": Row(
        {"d/f": OLD, "d/g": OTHER},
        {"d": BIN},
        {"d": BIN},
        {"d/f": OLD, "d/g": OTHER},
        "d deleted, d/f restored, d/g restored",
    ),
    "directory made a file; others changed that": Row(
        {"d/f": OLD},
        {"d": OTHER},
        {"d": b"user"},
        None,
        "d conflict:changedSince, d/f conflict:occupied",
        "the file in the way is the one that conflicts there",
    ),
    "directory deleted; others made a file there": Row(
        {"d/e/f": OLD},
        {},
        {"d": OTHER},
        None,
        "d/e/f conflict:occupied",
        "the file in the way is the one that conflicts there",
    ),
    "file deleted; others made a directory there": Row({"d": OLD}, {}, {"d/e/f": OTHER}, None, "d conflict:occupied"),
    "file deleted; others made a directory there, and it went": Row({"d": OLD}, {}, {}, {"d": OLD}, "d restored"),
    "a name that another begins with is no directory": Row(
        {"d": OLD}, {}, {"d.txt": b"1", "dd/f": b"1"}, {"d": OLD, "d.txt": b"1", "dd/f": b"1"}, "d restored"
    ),
    # the step moved a file
    "moved; nobody since": Row({"a": OLD}, {"b": OLD}, {"b": OLD}, {"a": OLD}, "a restored, b deleted"),
    "moved; others changed it": Row({"a": OLD}, {"b": OLD}, {"b": USER}, {"a": USER}, "a merged, b deleted"),
    "moved and changed; nobody since": Row({"a": OLD}, {"b": STEP}, {"b": STEP}, {"a": OLD}, "a restored, b deleted"),
    "moved and changed; others changed it elsewhere": Row(
        {"a": OLD}, {"b": STEP}, {"b": BOTH}, {"a": USER}, "a merged, b deleted"
    ),
    "moved and changed; others the same lines": Row(
        {"a": OLD},
        {"b": STEP},
        {"b": CLASH},
        None,
        "a conflict:changedSince, b conflict:changedSince",
        "the old name alone conflicts there",
    ),
    "moved; others its mode": Row({"a": OLD}, {"b": OLD}, {"b": X(OLD)}, {"a": X(OLD)}, "a merged, b deleted"),
    "moved and its mode; others changed it": Row(
        {"a": OLD}, {"b": X(OLD)}, {"b": X(USER)}, {"a": USER}, "a merged, b deleted"
    ),
    "moved; others made another at the old name": Row(
        {"a": OLD},
        {"b": OLD},
        {"a": OTHER, "b": OLD},
        None,
        "a conflict:occupied, b conflict:occupied",
        "the old name alone conflicts there",
    ),
    "moved; others made the same at the old name": Row(
        {"a": OLD}, {"b": OLD}, {"a": OLD, "b": OLD}, {"a": OLD}, "a unchanged, b deleted"
    ),
    "moved; others made the same at the old name and changed the new": Row(
        {"a": OLD},
        {"b": OLD},
        {"a": OLD, "b": USER},
        None,
        "a unchanged, b conflict:changedSince",
        "the file at the old name is written over there",
    ),
    "moved; others deleted it": Row(
        {"a": OLD},
        {"b": OLD},
        {},
        None,
        "a conflict:deletedSince, b conflict:deletedSince",
        "the old name alone conflicts there",
    ),
    "moved; others moved it back": Row({"a": OLD}, {"b": OLD}, {"a": OLD}, {"a": OLD}, "a unchanged, b unchanged"),
    "moved; others moved it back and changed it": Row(
        {"a": OLD}, {"b": OLD}, {"a": USER}, {"a": USER}, "a unchanged, b unchanged"
    ),
    "moved and changed; others moved it back and changed it": Row(
        {"a": OLD}, {"b": STEP}, {"a": BOTH}, {"a": USER}, "a merged, b unchanged"
    ),
    "moved; others moved it on": Row(
        {"a": OLD},
        {"b": OLD},
        {"c": OLD},
        None,
        "a conflict:renamedSince, b conflict:renamedSince",
        "all three names conflict there",
    ),
    "moved into a directory of its name": Row(
        {"a": OLD}, {"a/b": OLD}, {"a/b": USER}, {"a": USER}, "a merged, a/b deleted"
    ),
    "moved into a directory of its name; others added to it": Row(
        {"a": OLD},
        {"a/b": OLD},
        {"a/b": OLD, "a/c": b"1"},
        None,
        "a conflict:occupied, a/b conflict:occupied",
        "the old name alone conflicts there",
    ),
    "moved out of a directory; others made a file of its name": Row(
        {"d/a": OLD},
        {"b": OLD},
        {"b": OLD, "d": b"1"},
        None,
        "b conflict:occupied, d/a conflict:occupied",
        "the file in the way is the one that conflicts there",
    ),
    "moved out of the way of another; others took the old name": Row(
        {"q": OTHER, "z/f": OLD},
        {"b": OLD, "z": OTHER},
        {"b": OLD, "z": OTHER, "q/user": b"1"},
        None,
        "b conflict:occupied, q conflict:occupied, z conflict:occupied, z/f conflict:occupied",
        "the first of them alone conflicts there",
    ),
    "symlink moved; nobody since": Row(
        {"a": Symlink("x")}, {"b": Symlink("x")}, {"b": Symlink("x")}, {"a": Symlink("x")}, "a restored, b deleted"
    ),
    "symlink moved; others changed it": Row(
        {"a": Symlink("x")}, {"b": Symlink("x")}, {"b": Symlink("y")}, {"a": Symlink("y")}, "a merged, b deleted"
    ),
    "two moved; others changed one": Row(
        {"a": OLD, "b": OTHER},
        {"d/a": OLD, "d/b": OTHER},
        {"d/a": USER, "d/b": OTHER},
        {"a": USER, "b": OTHER},
        "a merged, b restored, d/a deleted, d/b deleted",
    ),
    "an empty file is not taken for moved": Row(
        {"a": b""}, {"b": b""}, {"b": OTHER}, {"a": b"", "b": OTHER}, "a restored, b conflict:changedSince"
    ),
    # others moved it since
    "changed; others moved it": Row(
        {"a": OLD}, {"a": STEP}, {"b": STEP}, {"b": OLD}, "a unchanged:renamedSince, b restored"
    ),
    "changed; others moved it and changed it elsewhere": Row(
        {"a": OLD}, {"a": STEP}, {"b": BOTH}, {"b": USER}, "a unchanged:renamedSince, b merged"
    ),
    "changed; others moved it and changed the same lines": Row(
        {"a": OLD}, {"a": STEP}, {"b": CLASH}, None, "a unchanged:renamedSince, b conflict:changedSince"
    ),
    "mode; others moved it and changed it": Row(
        {"a": OLD}, {"a": X(OLD)}, {"b": X(USER)}, {"b": USER}, "a unchanged:renamedSince, b merged"
    ),
    "created; others moved it": Row(
        {}, {"a": STEP}, {"b": STEP}, {}, "a unchanged:renamedSince, b deleted", "moved and deleted conflict there"
    ),
    "created; others moved it and changed it": Row(
        {}, {"a": STEP}, {"b": BOTH}, None, "a unchanged:renamedSince, b conflict:changedSince"
    ),
    "created empty; others deleted it and made another empty one": Row({}, {"a": b""}, {"b": b""}, None, "a unchanged"),
    "binary changed; others moved it": Row(
        {"a": BIN}, {"a": BIN_STEP}, {"b": BIN_STEP}, {"b": BIN}, "a unchanged:renamedSince, b restored"
    ),
    "directory; others moved it": Row(
        {"d/a": OLD, "d/b": OTHER},
        {"d/a": STEP, "d/b": OTHER},
        {"e/a": STEP, "e/b": OTHER},
        {"e/a": OLD, "e/b": OTHER},
        "d/a unchanged:renamedSince, e/a restored",
    ),
    # several files
    "each by itself": Row(
        {"a": OLD, "b": OLD, "c": OLD},
        {"a": STEP, "b": STEP, "d": BIN},
        {"a": STEP, "b": CLASH, "d": BIN, "user": b"1"},
        {"a": OLD, "b": CLASH, "c": OLD, "user": b"1"},
        "a restored, b conflict:changedSince, c restored, d deleted",
    ),
    "what the step did not touch is not touched": Row(
        {"a": OLD, "b": OLD, "c": OLD},
        {"a": STEP, "b": OLD, "c": OLD},
        {"a": STEP, "b": USER},
        {"a": OLD, "b": USER},
        "a restored",
    ),
    "nothing": Row({"a": OLD}, {"a": OLD}, {"a": USER}, {"a": USER}, ""),
}


@pytest.mark.parametrize("row", CASES.values(), ids=CASES.keys())
def test_one_step(objects: Objects, row: Row) -> None:
    story = Story(row.before, (row.left, row.now))
    for on_conflict in ("merge", "fail"):
        overlay = objects.overlay(story.now)
        taken = take(objects, story, on_conflict, overlay)
        assert told(taken) == row.said
        assert objects.after(row.now, taken.effects) == (row.now if row.wanted is None else row.wanted)
        assert overlay.effects() == taken.effects
        assert combined(overlay, [taken]) == taken.outcomes


@pytest.mark.parametrize("row", CASES.values(), ids=CASES.keys())
def test_git_merges_it_likewise(objects: Objects, row: Row) -> None:
    merged, conflicts = objects.git_merge(row.left, row.now, row.before)
    wanted = row.now if row.wanted is None else row.wanted
    ours = {one.split()[0] for one in row.said.split(", ") if "conflict" in one}
    alike = conflicts == ours and {n: i for n, i in merged.items() if n not in ours} == {
        n: i for n, i in wanted.items() if n not in ours
    }
    assert alike is not bool(row.unlike_git), (merged, conflicts)


@pytest.mark.parametrize("row", CASES.values(), ids=CASES.keys())
def test_overwrite_brings_back_what_was_there(objects: Objects, row: Row) -> None:
    story = Story(row.before, (row.left, row.now))
    taken = take(objects, story, "overwrite")
    found = objects.after(row.now, taken.effects)
    blocked = {one.path.decode() for one in taken.outcomes if one.outcome == "conflict"}
    assert {one.reason for one in taken.outcomes if one.outcome == "conflict"} <= {"occupied"}
    for path in story.deltas(objects):
        name = path.decode()
        if name not in blocked:
            assert found.get(name) == row.before.get(name)
    for name in row.now.keys() - {path.decode() for path in story.deltas(objects)}:
        assert found[name] == row.now[name]


@pytest.mark.parametrize("row", CASES.values(), ids=CASES.keys())
def test_shared_changes_are_a_conflict(objects: Objects, row: Row) -> None:
    story = Story(row.before, (row.left, row.now), shared=True)
    taken = take(objects, story)
    assert taken.effects == ()
    reasons = {one.reason for one in taken.outcomes if one.outcome == "conflict"}
    assert reasons <= {"shared", "deletedSince", "renamedSince", "occupied"}
    assert {one.outcome for one in taken.outcomes} <= {"conflict", "unchanged"}
    assert (
        take(objects, story, "overwrite").effects
        == take(objects, Story(row.before, (row.left, row.now)), "overwrite").effects
    )


# the step and others in turns, the step first; what is there when it is taken back (None: what was there), what is said
TURNS: dict[str, tuple[State, tuple[State, ...], State | None, str]] = {
    "others elsewhere between": (
        {"f": OLD},
        ({"f": STEP}, {"f": BOTH}, {"f": lines("twice", *range(1, 11), "user")}),
        {"f": USER},
        "f merged",
    ),
    "others the same lines between": (
        {"f": OLD},
        ({"f": STEP}, {"f": CLASH}, {"f": lines("twice", *range(1, 12))}),
        None,
        "f conflict:changedSince",
    ),
    "the later change could be taken back, the earlier not": (
        {"f": OLD},
        ({"f": STEP}, {"f": CLASH}, {"f": lines("user", *range(1, 11), "step")}),
        None,
        "f conflict:changedSince",
    ),
    "others made of it what it was before": (
        {"f": OLD},
        ({"f": STEP}, {"f": CLASH}, {"f": OTHER}, {"f": OLD}),
        None,
        "f unchanged",
    ),
    "made, deleted by others, made again": ({}, ({"f": STEP}, {}, {"f": BOTH}), {}, "f deleted"),
    "made, changed by others, deleted": ({}, ({"f": STEP}, {"f": BOTH}, {}), None, "f unchanged"),
    "changed, changed by others, deleted": ({"f": OLD}, ({"f": STEP}, {"f": BOTH}, {}), {"f": USER}, "f merged"),
    "deleted, another made by others, deleted": ({"f": OLD}, ({}, {"f": OTHER}, {}), None, "f conflict:changedSince"),
    "changed, deleted by others, made again": (
        {"f": OLD},
        ({"f": STEP}, {}, {"f": OTHER}),
        None,
        "f conflict:changedSince",
    ),
    "deleted, another made by others, changed": (
        {"f": OLD},
        ({}, {"f": OTHER}, {"f": OTHER + b"step\n"}),
        None,
        "f conflict:changedSince",
    ),
    "changed, moved by others, changed": (
        {"a": OLD},
        ({"a": STEP}, {"b": STEP}, {"b": lines("step", *range(1, 11), "step")}),
        {"b": STEP},
        "a conflict:deletedSince, b restored",
    ),
    "changed, changed by others, moved": (
        {"a": OLD},
        ({"a": STEP}, {"a": BOTH}, {"b": BOTH}),
        {"a": USER},
        "a merged, b deleted",
    ),
    "moved, changed by others, changed": (
        {"a": OLD},
        ({"b": OLD}, {"b": USER}, {"b": BOTH}),
        {"a": USER},
        "a merged, b deleted",
    ),
    "made, changed by others, moved": (
        {},
        ({"a": STEP}, {"a": BOTH}, {"b": BOTH}),
        None,
        "a conflict:changedSince, b conflict:changedSince",
    ),
    "made, changed by others, moved, deleted by others": (
        {},
        ({"a": STEP}, {"a": BOTH}, {"b": BOTH}, {}),
        None,
        "a unchanged, b unchanged",
    ),
    "moved, changed by others, deleted": (
        {"a": OLD},
        ({"b": OLD}, {"b": USER}, {}),
        {"a": USER},
        "a merged, b unchanged",
    ),
    "moved, changed by others, deleted, another made by others": (
        {"a": OLD},
        ({"b": OLD}, {"b": USER}, {}, {"b": OTHER}),
        None,
        "a conflict:occupied, b conflict:occupied",
    ),
    "deleted, a directory by others, deleted": (
        {"d": OLD},
        ({}, {"d/f": OTHER}, {}),
        {"d/f": OTHER},
        "d conflict:occupied, d/f restored",
    ),
    "directory deleted, a file by others, changed": (
        {"d/f": OLD},
        ({}, {"d": OTHER}, {"d": OTHER + b"step\n"}),
        {"d": OTHER},
        "d restored, d/f conflict:occupied",
    ),
    "mode, text by others, mode": ({"f": OLD}, ({"f": X(OLD)}, {"f": X(USER)}, {"f": USER}), None, "f unchanged"),
}


@pytest.mark.parametrize(("before", "turns", "wanted", "said"), TURNS.values(), ids=TURNS.keys())
def test_a_step_in_turns_with_others(
    objects: Objects, before: State, turns: tuple[State, ...], wanted: State | None, said: str
) -> None:
    story = Story(before, turns)
    taken = take(objects, story)
    assert told(taken) == said
    assert objects.after(story.now, taken.effects) == (story.now if wanted is None else wanted)


@pytest.mark.parametrize("at", range(3))
def test_nothing_is_merged_into_a_symlink(objects: Objects, at: int) -> None:
    sides: list[Item] = [OLD, STEP, OTHER]
    sides[at] = Symlink("x")

    def merge(*_: Entry | None) -> Entry | None:
        raise AssertionError("that is no text")

    base, ours, theirs = map(objects.entry, sides)
    assert three_way(base, ours, theirs, merge) == Overlap("changedSince")


def test_others_moves_are_asked_for_once_and_only_where_a_file_is_missing(objects: Objects) -> None:
    asked = []

    def moved() -> dict[bytes, bytes]:
        asked.append(1)
        return {}

    before: State = {"a": OLD, "b": OLD}
    left: State = {"a": STEP, "b": STEP, "c": b"", "d": OTHER}
    for now, times in (({**left, "a": CLASH}, 0), ({}, 1), ({"a": STEP, "b": STEP, "d": OTHER}, 0)):
        asked.clear()
        deltas = Story(before, (left, now)).deltas(objects)
        take_back(objects.overlay(now), deltas, {}, moved, objects.merge, "merge")
        assert len(asked) == times


def test_a_file_that_was_moved_and_went_is_deleted(objects: Objects) -> None:
    deltas = Story({"a": OLD}, ({"a": STEP}, {})).deltas(objects)
    taken = take_back(objects.overlay({}), deltas, {}, lambda: {b"a": b"b"}, objects.merge, "merge")
    assert told(taken) == "a conflict:deletedSince"


def test_a_move_that_the_changes_do_not_bear_out_is_none(objects: Objects) -> None:
    before, left = {"a": OLD, "c": OLD}, {"a": STEP, "b": OLD, "c": STEP}
    deltas = Story(before, (left, left)).deltas(objects)
    renames = {b"b": b"a", b"c": b"a", b"x": b"a", b"b2": b"y"}
    taken = take_back(objects.overlay(left), deltas, renames, dict, objects.merge, "merge")
    assert told(taken) == "a restored, b deleted, c restored"


def test_two_that_need_each_others_place(objects: Objects) -> None:
    # at different times, the step deleted the file d and a file of the directory d that others made
    deltas = {b"d": [Delta(objects.entry(OLD), None)], b"d/f": [Delta(objects.entry(OTHER), None)]}
    taken = take_back(objects.overlay({}), deltas, {}, dict, objects.merge, "overwrite")
    assert told(taken) == "d conflict:occupied, d/f restored"


# -- several steps


def test_a_middle_step_that_a_later_one_moved(objects: Objects) -> None:
    states: list[State] = [{"a": OLD}, {"a": STEP}, {"b": STEP}, {"b": BOTH}]
    overlay = objects.overlay(states[-1])
    assert told(undo(objects, overlay, states, [0])[0]) == "a unchanged:renamedSince, b merged"
    assert objects.after(states[-1], overlay.effects()) == {"b": USER}
    overlay = objects.overlay(states[-1])
    said = combined(overlay, undo(objects, overlay, states, [1, 0]))
    assert [(one.path, one.outcome) for one in said] == [(b"a", "merged"), (b"b", "deleted")]
    assert objects.after(states[-1], overlay.effects()) == {"a": USER}


# states, the steps in the order in which they are taken back, what is said in all
COMBINED: dict[str, tuple[list[State], list[int], str]] = {
    "both": ([{"f": b"1"}, {"f": b"2"}, {"f": b"3"}], [1, 0], "f restored"),
    "one of them": (
        [{"f": b"1", "g": b"1"}, {"f": b"2", "g": b"1"}, {"f": b"2", "g": b"2"}],
        [1, 0],
        "f restored, g restored",
    ),
    "there and back": ([{"f": b"1"}, {"f": b"2"}, {"f": b"1"}], [1, 0], "f unchanged"),
    "made and changed": ([{}, {"f": b"2"}, {"f": b"3"}], [1, 0], "f deleted"),
    "made and deleted": ([{}, {"f": b"2"}, {}], [1, 0], "f unchanged"),
    "a conflict first": ([{"f": OLD}, {"f": STEP}, {"f": OTHER}, {"f": BIN}], [1, 0], "f conflict:changedSince"),
    "a conflict last": ([{"f": OLD}, {"f": b"2\n"}, {"f": CLASH}, {"f": STEP}], [2, 0], "f conflict:changedSince"),
}


@pytest.mark.parametrize(("states", "steps", "wanted"), COMBINED.values(), ids=COMBINED.keys())
def test_what_is_said_of_several(objects: Objects, states: list[State], steps: list[int], wanted: str) -> None:
    overlay = objects.overlay(states[-1])
    said = combined(overlay, undo(objects, overlay, states, steps))
    assert told(StepReversal(said, ())) == wanted


# what a session's steps changed, each from a state to the next; None: that was the user
NETS: dict[str, tuple[list[tuple[State, State]], dict[str, tuple[Item, Item]]]] = {
    "nothing": ([], {}),
    "one": ([({"f": OLD}, {"f": STEP})], {"f": (OLD, STEP)}),
    "two on end": ([({"f": OLD}, {"f": STEP}), ({"f": STEP}, {"f": BOTH})], {"f": (OLD, BOTH)}),
    "there and back": ([({"f": OLD}, {"f": STEP}), ({"f": STEP}, {"f": OLD})], {}),
    "made and deleted": ([({}, {"f": STEP}), ({"f": STEP}, {})], {}),
    "the user elsewhere between": (
        [({"f": OLD}, {"f": STEP}), ({"f": BOTH}, {"f": lines("twice", *range(1, 11), "user")})],
        {"f": (OLD, lines("twice", *range(1, 12)))},
    ),
    "the user the same lines between": ([({"f": OLD}, {"f": STEP}), ({"f": CLASH}, {"f": OTHER})], {"f": (OLD, OTHER)}),
    "the user deleted it between": ([({"f": OLD}, {"f": STEP}), ({}, {"f": OTHER})], {"f": (OLD, OTHER)}),
    "two files": ([({"f": OLD}, {"f": STEP}), ({}, {"a": X(OTHER)})], {"a": (None, X(OTHER)), "f": (OLD, STEP)}),
}


@pytest.mark.parametrize(("steps", "wanted"), NETS.values(), ids=NETS.keys())
def test_the_net_of_several(
    objects: Objects, steps: list[tuple[State, State]], wanted: dict[str, tuple[Item, Item]]
) -> None:
    found = net(({path: [delta] for path, delta in objects.deltas(*step).items()} for step in steps), objects.merge)
    assert list(found) == sorted(found)
    assert {path: (delta.old, delta.new) for path, delta in found.items()} == {
        name.encode(): (objects.entry(old), objects.entry(new)) for name, (old, new) in wanted.items()
    }


def test_the_net_is_shared_where_one_is(objects: Objects) -> None:
    one, two = objects.entry(OLD), objects.entry(STEP)
    assert net([{b"f": [Delta(None, one, ("other",))]}, {b"f": [Delta(one, two)]}], objects.merge) == {
        b"f": Delta(None, two, ("other",))
    }

"""Any history of steps and edits, taken back and done again; and the merge of texts, against git."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from snapd.core.compare.threeway import combined, deltas_of, net, take_back
from snapd.model.timeline import Effect
from tests.core.compare.stories import (
    BIN,
    BIN_STEP,
    BOTH,
    CLASH,
    OLD,
    OTHER,
    STEP,
    USER,
    Objects,
    State,
    Story,
    take,
    told,
    undo,
)
from tests.support.amounts import amount
from tests.support.merging import has_both
from tests.support.workspace import Executable, Item, Symlink

ITEMS: st.SearchStrategy[Item] = st.sampled_from(
    [OLD, STEP, USER, BOTH, CLASH, OTHER, b"", BIN, BIN_STEP, *map(Executable, (OLD, BOTH)), Symlink("x"), Symlink("y")]
)
NAMES = ["a", "b", "c", "d", "d/e", "d/f"]


@st.composite
def state(draw: st.DrawFn, names: Sequence[str] = NAMES) -> State:
    found: dict[str, Item] = draw(st.dictionaries(st.sampled_from(names), ITEMS))
    return {name: item for name, item in found.items() if not (name == "d" and found.keys() & {"d/e", "d/f"})}


@given(st.lists(state(), min_size=3, max_size=5), st.data())
@settings(deadline=None, max_examples=amount(30, 1000))
def test_undo_and_redo(objects: Objects, states: list[State], data: st.DataObject) -> None:
    """Any steps of some are taken back, whatever the others did; redone, all is as it was."""
    steps = sorted(data.draw(st.sets(st.integers(0, len(states) - 2), min_size=1)), reverse=True)
    now = states[-1]
    overlay = objects.overlay(now)
    taken = undo(objects, overlay, states, steps)
    after = objects.after(now, overlay.effects())
    # each effect follows on the one before
    so_far = now
    for one in taken:
        so_far = objects.after(so_far, one.effects)
    assert so_far == after

    named = {path for at in steps for path in objects.deltas(states[at], states[at + 1])}
    moved = {new for at in steps for new in objects.renames(states[at + 1], now)}
    assert {effect.path for effect in overlay.effects()} <= named | moved
    said = {one.path: one.outcome for one in combined(overlay, taken)}
    changed = {effect.path for effect in overlay.effects()}
    assert changed <= said.keys()
    assert {path for path, outcome in said.items() if outcome in ("restored", "deleted", "merged")} <= changed
    assert {path for path, outcome in said.items() if outcome == "unchanged"}.isdisjoint(changed)

    again = objects.overlay(after)
    for at, one in zip(reversed(steps), reversed(taken), strict=True):
        back = objects.moved(states[at], states[at + 1])
        redone = take_back(again, deltas_of(one.effects), back, dict, objects.merge, "fail")
        assert "conflict" not in told(redone)
        assert redone.effects == tuple(Effect(it.path, it.new, it.old) for it in one.effects)
    assert objects.after(after, again.effects()) == now


@given(st.lists(state(), min_size=2, max_size=5))
@settings(deadline=None, max_examples=amount(25, 1000))
def test_all_steps_taken_back_are_as_if_they_had_not_been(objects: Objects, states: list[State]) -> None:
    overlay = objects.overlay(states[-1])
    taken = undo(objects, overlay, states, range(len(states) - 2, -1, -1))
    assert objects.after(states[-1], overlay.effects()) == states[0]
    assert "conflict" not in " ".join(map(told, taken))
    chains = ({p: [d] for p, d in objects.deltas(*pair).items()} for pair in pairwise(states))
    assert net(chains, objects.merge) == objects.deltas(states[0], states[-1])


def of_its_own(name: str, item: Item) -> Item:
    """The same, unlike any file of another name: git takes the alike for moved, and cannot be told not to."""
    match item:
        case Symlink(target):
            return Symlink(name.encode() + target)
        case Executable(data):
            return Executable(data.replace(b"\n", name.encode() * 9 + b"\n"))
        case None:
            return None
        case _:
            return item.replace(b"\n", name.encode() * 9 + b"\n")


FLAT = state(["a", "b", "c"]).map(lambda found: {name: of_its_own(name, item) for name, item in found.items()})


@given(FLAT, FLAT, FLAT)
@settings(deadline=None, max_examples=amount(30, 1000))
def test_without_moves_it_is_gits_merge(objects: Objects, before: State, left: State, now: State) -> None:
    taken = take(objects, Story(before, (left, now)))
    merged, conflicts = objects.git_merge(left, now, before)
    ours = {one.path.decode() for one in taken.outcomes if one.outcome == "conflict"}
    # an empty file where another has to return is in its way here; git writes into it
    nothing = (b"", Executable(b""))
    made = {name for name in now if not isinstance(left.get(name), (bytes, Executable))}
    empty = {name for name in made if now[name] in nothing or before.get(name) in nothing}
    assert ours - empty == conflicts - empty
    after = objects.after(now, taken.effects)
    for name in {"a", "b", "c"} - empty:
        wanted = now if name in conflicts else merged
        assert after.get(name) == wanted.get(name)


# -- the product's merge of text

LINES = st.lists(st.sampled_from([b"", b"}", b"x", b"y", b"z"]), max_size=14)
TEXTS = st.builds(
    lambda found, nl, end: nl.join(found) + end, LINES, st.sampled_from([b"\n", b"\r\n"]), st.sampled_from([b"", b"\n"])
)


def merge_file(folder: Path, base: bytes, ours: bytes, theirs: bytes) -> bytes | None:
    for name, data in (("base", base), ("ours", ours), ("theirs", theirs)):
        (folder / name).write_bytes(data)
    command = ["git", "merge-file", "-p", "ours", "base", "theirs"]
    done = subprocess.run(command, cwd=folder, capture_output=True, check=False)
    return done.stdout if done.returncode == 0 else None


# both change the text alike in one place, and touch in another
@example(base=b"x\nx\nx\n}\nx\n\n\n", ours=b"\nx\n}\n\nx\n\n", theirs=b"x\nx\n\nx\n\nx\n\n")
@given(TEXTS, TEXTS, TEXTS)
@settings(deadline=None, max_examples=amount(50, 1000))
def test_texts_merge_as_with_git_merge_file(
    objects: Objects, tmp_path_factory: pytest.TempPathFactory, base: bytes, ours: bytes, theirs: bytes
) -> None:
    wanted = merge_file(tmp_path_factory.getbasetemp(), base, ours, theirs)
    story = Story({"f": theirs}, ({"f": base}, {"f": ours}))
    taken = take(objects, story)
    if theirs == base:
        assert taken.outcomes == ()
        return
    found = objects.after(story.now, taken.effects)["f"] if "conflict" not in told(taken) else None
    if wanted is None and found is not None:
        # the changes only touch
        assert isinstance(found, bytes)
        assert has_both(found, base, ours, theirs)
    else:
        assert found == wanted

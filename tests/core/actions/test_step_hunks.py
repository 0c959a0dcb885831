"""The hunks of a step are its own changes, whatever others did in the middle: as its undo takes them back."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from snapd.model.call import Call
from snapd.model.errors import InvalidParams
from tests.support.amounts import amount
from tests.support.editor import Editor
from tests.support.sessions import TEXT, Agents, at_work, text

Story = Callable[[Agents], str]


def a_restore(agents: Agents) -> str:
    """What a restore brought back, and what it removed, is not the step's."""
    agents.bench.write({"a.txt": text(l15=b"old")})
    old = agents.bench.track()
    agents.bench.write({"a.txt": TEXT})
    step = agents.begin("one")
    agents.bench.write({"a.txt": text(l2=b"A")})
    agents.bench.restore(old)
    agents.bench.write({"a.txt": text(l2=b"B", l8=b"C", l15=b"old")})
    agents.end(step)
    return step


def a_save(agents: Agents) -> str:
    step = agents.begin("one")
    agents.bench.write({"a.txt": text(l2=b"A")})
    editor = Editor(agents.bench, "a.txt")
    editor.type(text(l2=b"A", l15=b"user"), at_once=True)
    editor.save(at_once=True)
    agents.bench.write({"a.txt": text(l2=b"B", l8=b"C", l15=b"user")})
    agents.end(step)
    return step


def an_undo(agents: Agents) -> str:
    agents.start("two")
    earlier = agents.step("two", {"a.txt": text(l15=b"old")})
    step = agents.begin("one")
    agents.bench.write({"a.txt": text(l2=b"A", l15=b"old")})
    agents.undo("two", step=earlier)
    agents.bench.write({"a.txt": text(l2=b"B", l8=b"C")})
    agents.end(step)
    return step


def a_part(agents: Agents) -> str:
    """A part of the step works between two changes of the step itself."""
    step = agents.begin("one")
    agents.bench.write({"a.txt": text(l2=b"A")})
    agents.step("one", {"a.txt": text(l2=b"A", l8=b"C")}, parent=step)
    agents.bench.write({"a.txt": text(l2=b"B", l8=b"C")})
    agents.end(step)
    return step


def a_move_since(agents: Agents) -> str:
    step = agents.step("one", {"a.txt": text(l2=b"A", l8=b"C")})
    (agents.bench.root / "a.txt").rename(agents.bench.root / "moved")
    agents.bench.track()
    return step


def an_edit_since(agents: Agents) -> str:
    step = a_restore(agents)
    agents.bench.write({"a.txt": text(l2=b"B", l8=b"C", l15=b"old", l20=b"since")})
    return step


@pytest.mark.parametrize("story", [a_restore, a_save, an_undo, a_part, a_move_since, an_edit_since])
def test_hunks_are_as_the_undo(tmp_path: Path, story: Story) -> None:
    found = []
    for number in range(3):
        agents = at_work(tmp_path / str(number), {"a.txt": TEXT})
        step = story(agents)
        hunks, is_mixed = agents.bench.workspace.undo_steps.hunks(step, b"a.txt", Call())
        changed = [line for hunk in hunks for line in hunk.lines if line[0] in "+-"]
        assert not is_mixed
        assert [line[1:] for line in changed if line[0] == "+"] in (["B", "C"], ["A", "C"])
        assert [line[1:] for line in changed if line[0] == "-"] == ["2", "8"]
        if number == 0:
            agents.undo("one", step=step)
        elif number == 1:
            agents.revert_hunks(step, "a.txt", range(len(hunks)))
        else:
            for index in range(len(hunks)):
                agents.revert_hunks(step, "a.txt", [index])
        found.append(agents.bench.read())
    assert found[0] == found[1] == found[2]


def test_the_diff_of_a_step_has_the_same_hunks(agents: Agents) -> None:
    step = a_restore(agents)
    patch = b"".join(agents.bench.workspace.readers.of_step(step).net_changes.step(step, (), Call())).decode()
    assert [line for line in patch.splitlines() if line.startswith("@@")] == agents.hunks(step, "a.txt")


def test_it_is_said_where_they_cannot_be_told_apart(agents: Agents) -> None:
    step = agents.begin("one")
    agents.bench.write({"a.txt": text(l2=b"A")})
    editor = Editor(agents.bench, "a.txt")
    editor.type(text(l2=b"user"), at_once=True)
    editor.save(at_once=True)
    agents.bench.write({"a.txt": text(l2=b"B")})
    agents.end(step)
    assert agents.bench.workspace.undo_steps.hunks(step, b"a.txt", Call()) == ((), True)
    with pytest.raises(InvalidParams, match="others changed the same lines"):
        agents.revert_hunks(step, "a.txt", [0])
    assert agents.undo("one") == {"a.txt": "conflict:changedSince"}


def test_a_moved_file_goes_back_with_all_of_its_hunks(agents: Agents) -> None:
    step = agents.step("one", lambda: (agents.bench.root / "a.txt").rename(agents.bench.root / "new"))
    assert agents.revert_hunks(step, "new", [0]) == {"a.txt": "restored", "new": "deleted"}
    assert agents.bench.read() == {"a.txt": TEXT, "b.txt": b"b\n"}


@pytest.mark.parametrize("seed", range(amount(12, 400)))
def test_all_hunks_are_the_undo_of_the_file(tmp_path: Path, seed: int) -> None:
    """Whatever a step, the user and restores did to the lines of a file, in whatever order."""
    found = []
    for number in range(2):
        chance = random.Random(seed)
        agents = at_work(tmp_path / str(number), {"a.txt": TEXT})
        kept = [agents.bench.track()]
        step = agents.begin("one")
        for _ in range(chance.randint(2, 6)):
            lines = bytes(agents.bench.read()["a.txt"]).splitlines(keepends=True)
            lines[chance.choice((1, 8, 15))] = b"%d\n" % chance.randint(100, 102)
            match chance.choice(("step", "step", "save", "restore")):
                case "step":
                    agents.bench.write({"a.txt": b"".join(lines)})
                    kept.append(agents.bench.track())
                case "save":
                    editor = Editor(agents.bench, "a.txt")
                    editor.deliver()
                    editor.type(b"".join(lines), at_once=True)
                    editor.save(at_once=True)
                case _:
                    agents.bench.restore(chance.choice(kept))
        agents.end(step)
        if agents.files(step):
            if number == 0:
                agents.undo("one", step=step)
            elif hunks := agents.hunks(step, "a.txt"):
                agents.revert_hunks(step, "a.txt", range(len(hunks)))
        found.append(agents.bench.read())
    assert found[0] == found[1]

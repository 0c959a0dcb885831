"""Steps of which a conflict kept something from being taken back: what is told of them, and how it goes on."""

from __future__ import annotations

import os
from pathlib import Path

import attrs
import pytest

from snapd.core.actions.history import HistoryQuery
from snapd.core.feed import RevertNotice
from snapd.core.operations.runner import OperationOptions
from snapd.model.call import Call
from snapd.model.errors import NothingToRedo, NothingToUndo
from snapd.model.timeline import Operated, Reversal
from tests.support.sessions import Agents, at_work

OLD = {"a": b"a\n", "b": b"b\n", "c": b"c\n"}
CHANGED = "conflict:changedSince"
MERGE = OperationOptions("merge", by_name=False, dry_run=False)


@pytest.fixture
def agents(tmp_path: Path) -> Agents:
    return at_work(tmp_path, OLD)


def events(agents: Agents) -> list[str]:
    page = agents.bench.workspace.history.page(HistoryQuery(), None, 100, Call())
    return [entry.kind for entry in page.entries]


# -- nothing was taken back


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("reopened", [False, True])
def test_a_step_of_which_all_conflicts_stays_applied(agents: Agents, named: bool, reopened: bool) -> None:
    step = agents.step("one", {"a": b"agent\n", "b": b"agent\n"})
    agents.bench.write({"a": b"user\n", "b": b"user\n"})
    agents.bench.track()
    before = events(agents)
    told: list[object] = []
    agents.bench.workspace.event_log.listen(lambda news: told.append(news.event))
    outcome, steps = agents.undone("one", step=step if named else None)
    assert steps == [step]
    assert outcome.before == outcome.after
    assert {file.outcome for file in outcome.files} == {"conflict"}
    assert agents.states("one") == ["applied"]
    assert agents.counts("one") == (1, 0)
    # nothing happened, and nobody is told that anything did
    assert events(agents) == before
    assert not any(isinstance(notice, RevertNotice) for notice in told)
    with pytest.raises(NothingToRedo):
        agents.redo("one")
    if reopened:
        agents.bench.reopen()
    assert agents.undo("one", on_conflict="overwrite") == {"a": "restored", "b": "restored"}
    assert agents.bench.read() == OLD
    assert agents.states("one") == ["undone"]
    agents.redo("one")
    assert agents.bench.read() == {**OLD, "a": b"user\n", "b": b"user\n"}


def test_of_several_steps_only_those_are_undone_of_which_anything_was_taken_back(agents: Agents) -> None:
    first = agents.step("one", {"a": b"first\n"})
    second = agents.step("one", {"b": b"second\n"})
    agents.bench.write({"b": b"user\n"})
    _, steps = agents.undone("one", 2)
    assert steps == [second, first]
    assert agents.states("one") == ["undone", "applied"]
    assert agents.redo("one") == {"a": "restored"}
    assert agents.states("one") == ["applied", "applied"]


def test_a_message_of_which_all_conflicts_stays(agents: Agents) -> None:
    agents.step("one", {"a": b"agent\n"}, message="m")
    agents.bench.write({"a": b"user\n"})
    assert agents.revert("one", "m") == {"a": CHANGED}
    assert agents.states("one") == ["applied"]
    with pytest.raises(NothingToRedo):
        agents.unrevert("one")


def test_an_empty_directory_that_cannot_come_back(agents: Agents) -> None:
    os.mkdir(agents.bench.path("d"))
    agents.step("one", lambda: os.rmdir(agents.bench.path("d")))
    agents.bench.write({"d": b"user\n"})
    assert agents.undo("one") == {"d": "conflict:occupied"}
    assert agents.states("one") == ["applied"]
    agents.bench.remove("d")
    agents.undo("one")
    assert agents.bench.read() == {**OLD, "d/": None}
    assert agents.states("one") == ["undone"]


def test_a_redo_of_which_all_conflicts_can_be_asked_for_again(agents: Agents) -> None:
    agents.step("one", {"a": b"agent\n"})
    agents.undo("one")
    agents.bench.write({"a": b"user\n"})
    assert agents.redo("one") == {"a": CHANGED}
    assert agents.states("one") == ["undone"]
    assert agents.counts("one") == (0, 1)
    assert agents.redo("one", on_conflict="overwrite") == {"a": "restored"}
    assert agents.states("one") == ["applied"]
    assert agents.counts("one") == (1, 0)
    assert agents.bench.read()["a"] == b"agent\n"


# -- some of it was taken back


def partly(agents: Agents) -> str:
    """A step of which `a` was taken back, and `b` and `c` conflict."""
    step = agents.step("one", {"a": b"agent\n", "b": b"agent\n", "c": b"agent\n"})
    agents.bench.write({"b": b"user\n", "c": b"user\n"})
    assert agents.undo("one") == {"a": "restored", "b": CHANGED, "c": CHANGED}
    assert agents.states("one") == ["partly"]
    assert agents.counts("one") == (1, 1)
    return step


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("reopened", [False, True])
def test_what_is_left_is_tried_again_and_what_was_taken_back_is_not(
    agents: Agents, named: bool, reopened: bool
) -> None:
    step = partly(agents)
    if reopened:
        agents.bench.reopen()
    asked = step if named else None
    # what was taken back is the user's since
    agents.bench.write({"a": b"the user's by now\n"})
    assert agents.undo("one", step=asked) == {"b": CHANGED, "c": CHANGED}
    assert agents.states("one") == ["partly"]
    assert agents.undo("one", step=asked, on_conflict="overwrite") == {"b": "restored", "c": "restored"}
    assert agents.states("one") == ["undone"]
    assert agents.bench.read() == {**OLD, "a": b"the user's by now\n"}
    with pytest.raises(NothingToUndo):
        agents.undo("one", step=asked, on_conflict="overwrite")


def test_one_file_after_the_other(agents: Agents) -> None:
    step = partly(agents)
    assert agents.revert_files(step, "b", on_conflict="overwrite") == {"b": "restored"}
    assert agents.states("one") == ["partly"]
    assert agents.revert_files(step, "a", "b", on_conflict="overwrite") == {"a": "unchanged", "b": "unchanged"}
    assert agents.states("one") == ["partly"]
    assert agents.revert_files(step, "c", on_conflict="overwrite") == {"c": "restored"}
    assert agents.states("one") == ["undone"]
    assert agents.bench.read() == OLD
    # all three at once again
    agents.redo("one")
    assert agents.bench.read() == {"a": b"agent\n", "b": b"user\n", "c": b"user\n"}
    assert agents.states("one") == ["applied"]


def test_a_redo_in_part_leaves_the_rest_to_be_done_again(agents: Agents) -> None:
    agents.step("one", {"a": b"agent\n", "b": b"agent\n"})
    agents.undo("one")
    agents.bench.write({"b": b"user\n"})
    assert agents.redo("one") == {"a": "restored", "b": CHANGED}
    assert agents.states("one") == ["partly"]
    assert agents.counts("one") == (1, 1)
    agents.bench.reopen()
    # undone again, it is what is in force that is taken back
    assert agents.undo("one", dry_run=True) == {"a": "restored"}
    assert agents.redo("one", on_conflict="overwrite") == {"b": "restored"}
    assert agents.states("one") == ["applied"]
    assert agents.bench.read() == {**OLD, "a": b"agent\n", "b": b"agent\n"}


@pytest.mark.parametrize("reopened", [False, True])
def test_a_piece_that_cannot_be_done_again_stays_undone_and_the_others_do_not(agents: Agents, reopened: bool) -> None:
    """The piece that was taken back last conflicts as a whole."""
    step = agents.step("one", {"a": b"agent\n", "b": b"agent\n"})
    agents.bench.write({"b": b"user\n"})
    assert agents.undo("one") == {"a": "restored", "b": CHANGED}
    assert agents.undo("one", on_conflict="overwrite") == {"b": "restored"}
    agents.bench.write({"b": b"another\n", "a": b"agent\n"})
    # the one before is there already: nothing is done again
    assert agents.redo("one") == {"a": "unchanged:already", "b": CHANGED}
    assert agents.states("one") == ["undone"]
    agents.bench.write({"a": OLD["a"]})
    assert agents.redo("one") == {"a": "restored", "b": CHANGED}
    assert agents.states("one") == ["partly"]
    assert agents.counts("one") == (1, 1)
    if reopened:
        agents.bench.reopen()
    assert agents.undo("one", step=step) == {"a": "restored"}
    assert agents.states("one") == ["undone"]
    assert agents.bench.read() == {**OLD, "b": b"another\n"}
    with pytest.raises(NothingToUndo):
        agents.undo("one", step=step)
    # and all of it can be done again
    agents.bench.write({"b": OLD["b"]})
    assert agents.redo("one") == {"a": "restored", "b": "restored"}
    assert agents.states("one") == ["applied"]
    assert agents.bench.read() == {**OLD, "a": b"agent\n", "b": b"user\n"}


def test_the_net_of_a_session_has_what_is_in_force_alone(agents: Agents) -> None:
    step = partly(agents)
    for step_id in (None, step):
        net, _ = agents.bench.workspace.net_changes.page(
            "one", None, step_id, Call(), contents=False, after=None, limit=None
        )
        assert [delta.path for delta in net] == [b"b", b"c"]


def test_a_part_that_conflicts_is_partly_undone_and_the_whole_is_done_again_with_it(agents: Agents) -> None:
    whole = agents.begin("one")
    part = agents.step("one", {"b": b"part\n"}, parent=whole)
    agents.bench.write({"a": b"whole\n"})
    agents.end(whole)
    agents.bench.write({"b": b"user\n"})
    agents.undo("one", step=whole)
    assert agents.states("one") == ["undone", "applied"]
    assert agents.undo("one", step=whole, on_conflict="overwrite") == {"b": "restored"}
    assert agents.states("one") == ["undone", "undone"]
    steps = agents.bench.workspace.undo_steps.redo("one", 1, MERGE, Call()).steps
    assert [view.step.step_id for view in steps] == [part, whole]
    assert agents.bench.read() == {**OLD, "a": b"whole\n", "b": b"user\n"}


# -- the order of redo


def test_what_was_tried_again_last_is_done_again_first(agents: Agents) -> None:
    first = agents.step("one", {"a": b"first\n"})
    second = agents.step("one", {"a": b"second\n", "b": b"second\n"})
    agents.bench.write({"b": b"user\n"})
    before = agents.bench.read()
    assert agents.undo("one", step=second) == {"a": "restored", "b": CHANGED}
    assert agents.undo("one", step=first) == {"a": "restored"}
    assert agents.undo("one", step=second, on_conflict="overwrite") == {"b": "restored"}
    assert agents.bench.read() == OLD
    assert agents.counts("one") == (0, 2)
    assert agents.redo("one") == {"b": "restored"}
    assert agents.states("one") == ["undone", "partly"]
    assert agents.redo("one") == {"a": "restored"}
    assert agents.states("one") == ["applied", "partly"]
    assert agents.redo("one") == {"a": "restored"}
    assert agents.bench.read() == before
    assert agents.states("one") == ["applied", "applied"]
    with pytest.raises(NothingToRedo):
        agents.redo("one")


@pytest.mark.parametrize("count", [2, 9])
def test_as_many_as_there_are_stand_for_all(agents: Agents, count: int) -> None:
    first = agents.step("one", {"a": b"first\n"})
    second = agents.step("one", {"a": b"second\n", "b": b"second\n"})
    agents.bench.write({"b": b"user\n"})
    before = agents.bench.read()
    agents.undo("one", step=second)
    agents.undo("one", step=first)
    agents.undo("one", step=second, on_conflict="overwrite")
    turning = agents.bench.workspace.undo_steps.redo("one", count, MERGE, Call())
    assert [view.step.step_id for view in turning.steps] == [second, first]
    assert turning.outcome.applied
    assert agents.bench.read() == before


def test_what_was_taken_back_before_a_new_step_stays_so(agents: Agents) -> None:
    step = partly(agents)
    agents.step("one", {"new": b"n\n"})
    assert agents.counts("one") == (2, 0)
    agents.undo("one", step=step, on_conflict="overwrite")
    assert agents.states("one") == ["undone", "applied"]
    agents.redo("one")
    assert agents.bench.read() == {"a": b"a\n", "b": b"user\n", "c": b"user\n", "new": b"n\n"}
    assert agents.states("one") == ["partly", "applied"]


def test_an_unrevert_takes_what_was_tried_again_since_with_it(agents: Agents) -> None:
    step = agents.step("one", {"a": b"agent\n", "b": b"agent\n"}, message="m")
    agents.bench.write({"b": b"user\n"})
    assert agents.revert("one", "m") == {"a": "restored", "b": CHANGED}
    agents.undo("one", step=step, on_conflict="overwrite")
    assert agents.unrevert("one") == {"a": "restored", "b": "restored"}
    assert agents.bench.read() == {**OLD, "a": b"agent\n", "b": b"user\n"}
    assert agents.states("one") == ["applied"]


# -- all or nothing


def test_a_refused_undo_tells_no_file_as_touched(agents: Agents) -> None:
    agents.step("one", {"a": b"agent\n", "b": b"agent\n", "new": b"agent\n"})
    agents.bench.write({"b": b"user\n"})
    said = {"a": "unchanged:conflictsElsewhere", "b": CHANGED, "new": "unchanged:conflictsElsewhere"}
    assert agents.undo("one", on_conflict="fail", dry_run=True) == said
    outcome, _ = agents.undone("one", on_conflict="fail")
    assert not outcome.applied
    assert agents.undo("one", on_conflict="fail") == said
    assert agents.states("one") == ["applied"]


def test_a_conflict_of_one_step_refuses_the_undo_of_a_later_one_of_the_same_file(agents: Agents) -> None:
    lines = [b"%d\n" % number for number in range(12)]
    agents.bench.write({"a": b"".join(lines)})
    agents.step("one", {"a": b"".join([b"first\n", *lines[1:]])})
    agents.bench.write({"a": b"".join([b"user\n", *lines[1:]])})
    agents.step("one", {"a": b"".join([b"user\n", *lines[1:-1], b"second\n"])})
    before = agents.bench.read()
    outcome, _ = agents.undone("one", 2, on_conflict="fail")
    assert not outcome.applied
    assert agents.bench.read() == before
    assert agents.states("one") == ["applied", "applied"]
    agents.undo("one", 2)
    assert agents.states("one") == ["applied", "undone"]
    assert agents.bench.read()["a"] == b"".join([b"user\n", *lines[1:]])


# -- what older versions wrote


def written_by_an_older_snapd(agents: Agents, monkeypatch: pytest.MonkeyPatch, *, all_conflict: bool) -> str:
    """A step that was undone by a snapd that called it so whatever conflicted."""
    step = agents.step("one", {"a": b"agent\n", "b": b"agent\n"})
    agents.bench.write({"b": b"user\n", **({"a": b"user\n"} if all_conflict else {})})

    def older(operation: Operated, _: object) -> Operated:
        turned = tuple(
            Reversal(turn.step_id, "undone", turn.effects, turn.made_directories, turn.removed_directories)
            for turn in operation.turned
        )
        return attrs.evolve(operation, turned=turned)

    with monkeypatch.context() as patch:
        patch.setattr("snapd.core.operations.writer.finished", older)
        agents.undo("one")
    agents.bench.reopen()
    return step


def test_a_step_that_an_older_snapd_called_undone_and_took_nothing_back_of(
    agents: Agents, monkeypatch: pytest.MonkeyPatch
) -> None:
    written_by_an_older_snapd(agents, monkeypatch, all_conflict=True)
    assert agents.states("one") == ["applied"]
    assert agents.counts("one") == (1, 0)
    assert agents.undo("one", on_conflict="overwrite") == {"a": "restored", "b": "restored"}
    assert agents.states("one") == ["undone"]


def test_a_step_that_an_older_snapd_took_back_in_part(agents: Agents, monkeypatch: pytest.MonkeyPatch) -> None:
    step = written_by_an_older_snapd(agents, monkeypatch, all_conflict=False)
    assert agents.states("one") == ["undone"]
    assert agents.counts("one") == (0, 1)
    # the files say what is left
    assert agents.undo("one", step=step) == {"b": CHANGED}
    assert agents.undo("one", step=step, on_conflict="overwrite") == {"b": "restored"}
    assert agents.bench.read() == OLD
    agents.redo("one")
    assert agents.bench.read() == {**OLD, "a": b"agent\n", "b": b"user\n"}
    assert agents.states("one") == ["applied"]

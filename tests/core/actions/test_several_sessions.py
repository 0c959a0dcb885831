"""Several agents at once: who did what, also after a client has gone."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from snapd.core.feed import SessionMoved
from snapd.model.call import Call
from snapd.model.errors import NothingToRedo, NothingToUndo
from tests.support.sessions import TEXT, Agents, listen, text

# -- several sessions at once


def test_sessions_do_not_undo_each_other(agents: Agents) -> None:
    agents.start("two")
    agents.step("one", {"a.txt": text(l2=b"1")})
    agents.step("two", {"a.txt": text(l2=b"1", l9=b"2"), "two": b"2"})
    agents.step("one", {"a.txt": text(l2=b"1", l9=b"2", l15=b"3")})
    agents.undo("one", count=9)
    assert agents.bench.read() == {"a.txt": text(l9=b"2"), "b.txt": b"b\n", "two": b"2"}
    assert (agents.counts("one"), agents.counts("two")) == ((0, 2), (1, 0))
    # a step of one leaves what the other may do again
    agents.step("two", {"two": b"22"})
    agents.redo("one", count=9)
    assert agents.bench.read() == {"a.txt": text(l2=b"1", l9=b"2", l15=b"3"), "b.txt": b"b\n", "two": b"22"}


def overlapping(agents: Agents, one: list[str] | None, two: list[str] | None) -> tuple[str, str]:
    """Two steps at once: the first session's writes `a.txt`, the second one's `b.txt`."""
    agents.start("two")
    first, second = agents.begin("one"), agents.begin("two")
    agents.bench.write({"a.txt": b"1", "b.txt": b"2"})
    agents.end(first, one)
    agents.end(second, two)
    return first, second


@pytest.mark.parametrize(
    ("one", "two", "first", "second"),
    [
        (None, None, {"a.txt": "modified:shared", "b.txt": "modified:shared"},
         {"a.txt": "modified:shared", "b.txt": "modified:shared"}),
        (["a.txt"], ["b.txt"], {"a.txt": "modified"}, {"b.txt": "modified"}),
        (["a.txt"], None, {"a.txt": "modified"}, {"b.txt": "modified"}),
        (None, ["b.txt"], {"a.txt": "modified"}, {"b.txt": "modified"}),
        (["a.txt"], ["a.txt"], {"a.txt": "modified:shared"}, {"a.txt": "modified:shared"}),
        ([], [], {}, {}),
    ],
)  # fmt: skip
def test_steps_that_overlap(
    agents: Agents, one: list[str] | None, two: list[str] | None, first: dict[str, str], second: dict[str, str]
) -> None:
    steps = overlapping(agents, one, two)
    assert (agents.files(steps[0]), agents.files(steps[1])) == (first, second)
    assert agents.counts("one") == (int(bool(first)), 0)
    assert agents.counts("two") == (int(bool(second)), 0)
    agents.bench.reopen()
    assert (agents.files(steps[0]), agents.files(steps[1])) == (first, second)
    if not first:
        with pytest.raises(NothingToUndo):
            agents.undo("one")
        return
    shared = [name for name, word in first.items() if word.endswith("shared")]
    said = agents.undo("one")
    assert said == {name: "conflict:shared" if name in shared else "restored" for name in first}
    found = agents.bench.read()
    assert found["a.txt"] == (b"1" if shared else TEXT)
    assert found["b.txt"] == b"2"


def test_what_is_shared_goes_where_that_is_asked_for(agents: Agents) -> None:
    overlapping(agents, None, None)
    assert agents.undo("one", on_conflict="fail") == {"a.txt": "conflict:shared", "b.txt": "conflict:shared"}
    assert agents.undo("one", on_conflict="overwrite") == {"a.txt": "restored", "b.txt": "restored"}
    assert agents.bench.read() == {"a.txt": TEXT, "b.txt": b"b\n"}


def test_what_conflicted_is_resolved_by_choice(agents: Agents) -> None:
    bench = agents.bench
    step = agents.step("one", {"a.txt": b"1", "b.txt": b"2", "new": b"3"})
    left = bench.read()
    bench.write({"a.txt": b"the user's", "new": b"the user's too"})
    assert agents.undo("one") == {"a.txt": "conflict:changedSince", "b.txt": "restored", "new": "conflict:changedSince"}
    assert agents.states("one") == ["partly"]
    # asked for as before, it is as before, by its name or as the last one
    again = {"a.txt": "conflict:changedSince", "new": "conflict:changedSince"}
    assert agents.undo("one", step=step) == again
    assert agents.undo("one") == again
    assert agents.states("one") == ["partly"]
    assert agents.undo("one", step=step, on_conflict="fail") == again
    chosen = agents.undo("one", step=step, on_conflict="overwrite", by_name=True)
    assert chosen == {"a.txt": "restored", "new": "deleted"}
    assert "new" not in bench.read()
    with pytest.raises(NothingToUndo):
        agents.undo("one", step=step, on_conflict="overwrite", by_name=True)
    bench.reopen()
    # what was taken back in two goes is done again in one
    agents.redo("one")
    assert bench.read() == left | {"a.txt": b"the user's", "new": b"the user's too"}
    assert agents.states("one") == ["applied"]
    with pytest.raises(NothingToRedo):
        agents.redo("one")


def test_who_wrote_what_is_told_anew_when_it_is_known(agents: Agents) -> None:
    agents.start("two")
    first, second = agents.begin("one"), agents.begin("two")
    agents.bench.write({"a.txt": b"1", "b.txt": b"2"})
    agents.end(first)
    assert agents.files(first) == {"a.txt": "modified:shared", "b.txt": "modified:shared"}
    assert {file.shared_with for file in agents.view(first).files or ()} == {(second,)}
    told = listen(agents)
    agents.end(second, ["b.txt", "a.txt"])
    assert agents.files(first) == {}
    assert agents.counts("one") == (0, 0)
    # the other session changed by that, and is told of
    moved = {news.session.session.session_id: news for news in told if isinstance(news, SessionMoved)}
    assert set(moved) == {"one", "two"}
    assert moved["one"].session.undoable == 0
    assert moved["one"].step is not None
    assert moved["one"].step.files == ()


# -- a client that goes


def test_what_changes_when_the_client_is_gone_is_not_the_steps(agents: Agents) -> None:
    step = agents.begin("one", client="c")
    agents.bench.write({"a.txt": text(l2=b"A")})
    agents.leave("c")
    agents.bench.write({"a.txt": text(l2=b"A", l9=b"U"), "mine": b"m\n"})
    assert agents.undo("one") == {"a.txt": "merged"}
    assert agents.bench.read() == {"a.txt": text(l9=b"U"), "b.txt": b"b\n", "mine": b"m\n"}
    assert agents.files(step) == {"a.txt": "modified"}
    agents.redo("one")
    assert agents.bench.read()["a.txt"] == text(l2=b"A", l9=b"U")


def test_who_ends_a_step_by_name_speaks_for_what_changed_since(agents: Agents) -> None:
    step = agents.begin("one", client="c")
    agents.bench.write({"a.txt": b"first"})
    agents.leave("c")
    agents.bench.write({"a.txt": b"second", "b.txt": b"back"})
    agents.end(step)
    assert agents.files(step) == {"a.txt": "modified", "b.txt": "modified"}
    agents.undo("one")
    assert agents.bench.read() == {"a.txt": TEXT, "b.txt": b"b\n"}


def test_a_step_that_is_left_does_not_share_what_others_do(agents: Agents) -> None:
    agents.start("two")
    left = agents.begin("one", client="c")
    agents.leave("c")
    step = agents.step("two", {"a.txt": b"x"})
    assert agents.files(step) == {"a.txt": "modified"}
    assert agents.undo("two") == {"a.txt": "restored"}
    agents.redo("two")
    # until somebody says that it was at work all the while
    agents.end(left)
    assert agents.files(step) == {"a.txt": "modified:shared"}
    assert agents.files(left) == {"a.txt": "modified:shared"}


def test_a_session_ends_without_what_changed_since_its_client_went(agents: Agents) -> None:
    step = agents.begin("one", client="c")
    agents.leave("c")
    agents.bench.write({"a.txt": b"user"})
    agents.bench.workspace.sessions.end("one", Call())
    assert agents.files(step) == {}
    view = agents.view(step)
    assert view.step.to == view.step.from_
    with pytest.raises(NothingToUndo):
        agents.undo("one")


def test_a_restart_leaves_the_steps(agents: Agents) -> None:
    step = agents.begin("one", client="c")
    detached = agents.begin("one")
    agents.bench.write({"a.txt": b"agent"})
    agents.bench.workspace.snapshots.track((), Call())
    agents.bench.reopen()
    agents.bench.write({"b.txt": b"later"})
    agents.bench.workspace.sessions.end("one", Call())
    assert "b.txt" not in agents.files(step)
    assert "b.txt" in agents.files(detached)


def test_two_agents_are_told_apart_after_the_daemon_was_killed(agents: Agents) -> None:
    agents.start("two")
    first, second = agents.begin("one", client="c"), agents.begin("two", client="d")
    agents.bench.write({"a.txt": b"first", "b.txt": b"second"})
    # nobody looked when their clients went
    agents.bench.reopen()
    agents.end(first, ["a.txt"])
    assert agents.files(first) == {"a.txt": "modified"}
    agents.undo("one")
    assert agents.bench.read() == {"a.txt": TEXT, "b.txt": b"second"}
    agents.end(second, ["b.txt"])
    assert agents.files(second) == {"b.txt": "modified"}
    agents.undo("two")
    assert agents.bench.read() == {"a.txt": TEXT, "b.txt": b"b\n"}


def test_nothing_is_told_of_a_client_that_left_nothing_behind(agents: Agents) -> None:
    agents.begin("one", client="c")
    told = listen(agents)
    agents.leave("c")
    agents.leave("c")
    agents.leave("nobody")
    assert told == []


def test_a_part_that_is_left_and_spoken_for(agents: Agents) -> None:
    whole = agents.begin("one", client="c")
    part = agents.begin("one", parent=whole, client="d")
    agents.leave("d")
    agents.bench.write({"a.txt": b"x"})
    agents.begin("one", client="e")
    agents.end(part)
    agents.end(whole)
    assert agents.files(part) == {"a.txt": "modified"}
    own = agents.bench.workspace.step_changes.own(agents.view(whole).step)
    assert not own.files


# -- operations while steps are open


def test_an_operation_is_no_change_of_an_open_step(agents: Agents) -> None:
    bench = agents.bench
    agents.start("two")
    first = bench.track()
    agents.step("one", {"a.txt": b"1"})
    step = agents.begin("two")
    bench.write({"two": b"2"})
    agents.undo("one")
    bench.restore(first)
    agents.end(step)
    assert agents.files(step) == {"two": "added"}
    # the restore took it away, and the step's undo has nothing left to do
    assert agents.undo("two") == {"two": "unchanged:already"}


def test_what_others_change_during_an_operation_is_theirs(agents: Agents, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = agents.bench
    agents.start("two")
    agents.step("one", {"a.txt": b"1", "n/x": b"x"})
    step = agents.begin("two")
    work_tree = bench.workspace.work_tree
    apply = work_tree.apply

    def apply_and_write(*arguments: object) -> object:
        results = apply(*arguments)
        bench.write({"b.txt": b"two\n", "c/d": b"d", "a.txt": b"two\n"})
        bench.remove("c")
        bench.write({"c/e": b"e", "n": b"now a file"})
        return results

    monkeypatch.setattr(work_tree, "apply", apply_and_write)
    assert agents.undo("one") == {"a.txt": "restored", "n/x": "deleted"}
    monkeypatch.undo()
    assert bench.read() == {"a.txt": b"two\n", "b.txt": b"two\n", "c/e": b"e", "n": b"now a file"}
    agents.end(step)
    assert agents.files(step) == {"a.txt": "modified", "b.txt": "modified", "c/e": "added", "n": "added"}
    agents.undo("two")
    assert bench.read() == {"a.txt": TEXT, "b.txt": b"b\n"}
    assert bench.git("fsck", "--strict", "--no-dangling") == b""


def test_rules_that_an_operation_changes_make_no_changes(agents: Agents) -> None:
    bench = agents.bench
    agents.start("two")
    bench.write({"x.log": b"1", "y.tmp": b"2", ".gitignore": b"*.tmp\n"})
    agents.step("one", {".gitignore": b"*.log\n"})
    step = agents.begin("two")
    agents.undo("one")
    agents.end(step)
    assert agents.files(step) == {}
    step = agents.begin("two")
    agents.redo("one")
    agents.end(step)
    assert agents.files(step) == {}


def test_forced_paths_are_nobodys_change(agents: Agents) -> None:
    bench = agents.bench
    bench.write({".gitignore": b"*.log\n", "x.log": b"1"})
    tree = bench.track("x.log", "a.txt")
    step = agents.begin("one")
    bench.write({"x.log": b"2", "a.txt": b"2", "b.txt": b"2"})
    outcome = bench.restore(tree)
    assert outcome.after == tree
    bench.write({"mine": b"m"})
    agents.end(step)
    assert agents.files(step) == {"a.txt": "modified", "b.txt": "modified", "mine": "added"}
    own = bench.workspace.step_changes.own(bench.workspace.sessions.known_step(step))
    assert set(own.files) == {b"a.txt", b"b.txt", b"mine"}
    assert bench.read()["x.log"] == b"1"
    bench.restore(outcome.before)
    assert bench.read()["x.log"] == b"2"


# -- steps with parts whose clients are gone: who ends one by name still says what it wrote


Gone = Callable[[Agents], None]


def killed(agents: Agents) -> None:
    """The daemon was killed: nobody noted that its clients went."""
    agents.bench.reopen()


def left(agents: Agents) -> None:
    """The connection of the client ended."""
    agents.leave("client")


def with_part(agents: Agents, whole: str | None = "client", part: str | None = "client") -> tuple[str, str]:
    """A step and a part of it that are open, by their clients; None for one that is detached."""
    agents.start("two")
    step = agents.begin("one", client=whole)
    return step, agents.begin("one", parent=step, client=part)


def own(agents: Agents, step: str) -> dict[str, int]:
    """What a step itself changed, its parts left out: how often each file."""
    found = agents.bench.workspace.step_changes.own(agents.view(step).step)
    return {path.decode(): len(chain) for path, chain in found.files.items()}


@pytest.mark.parametrize("gone", [killed, left])
def test_what_a_step_names_is_its_own_although_a_part_of_it_never_ended(agents: Agents, gone: Gone) -> None:
    whole, _ = with_part(agents)
    gone(agents)
    other = agents.begin("two", client="other")
    agents.bench.write({"f": b"the first agent's\n"})
    agents.end(whole, ["f"])
    agents.end(other)
    assert agents.files(whole) == {"f": "added"}
    assert agents.files(other) == {}
    agents.undo("two", step=other)
    assert "f" in agents.bench.read()
    assert agents.undo("one", step=whole) == {"f": "deleted"}


def test_what_a_part_names_is_its_own_and_no_more_that_of_the_step_around_it(agents: Agents) -> None:
    whole, part = with_part(agents)
    killed(agents)
    other = agents.begin("two", client="other")
    agents.bench.write({"f": b"f\n", "g": b"g\n"})
    agents.end(part, ["f"])
    agents.end(whole, ["f", "g"])
    agents.end(other)
    assert (own(agents, part), own(agents, whole), own(agents, other)) == ({"f": 1}, {}, {"g": 1})
    assert agents.files(whole) == {"f": "added"}


def test_a_step_that_names_nothing_shares_what_was_written_beside_it(agents: Agents) -> None:
    whole, _ = with_part(agents)
    killed(agents)
    other = agents.begin("two", client="other")
    agents.bench.write({"f": b"f\n"})
    agents.end(whole)
    agents.end(other)
    assert agents.files(whole) == agents.files(other) == {"f": "added:shared"}


def test_alone_too_it_owns_only_what_it_names(agents: Agents) -> None:
    whole, _ = with_part(agents)
    killed(agents)
    agents.bench.write({"f": b"f\n", "g": b"g\n"})
    agents.end(whole, ["g"])
    assert agents.files(whole) == {"g": "added"}


def test_another_step_that_was_left_may_still_be_spoken_for(agents: Agents) -> None:
    whole, _ = with_part(agents)
    third = agents.begin("two", client="client")
    killed(agents)
    agents.bench.write({"f": b"f\n", "g": b"g\n"})
    agents.end(whole, ["f"])
    assert agents.files(whole) == {"f": "added"}
    agents.end(third, ["g"])
    assert agents.files(third) == {"g": "added"}


@pytest.mark.parametrize("gone", [killed, left])
def test_a_session_that_ends_speaks_for_none_of_its_steps(agents: Agents, gone: Gone) -> None:
    whole, part = with_part(agents)
    agents.bench.write({"before": b"the part's\n"})
    agents.bench.track()
    gone(agents)
    other = agents.begin("two", client="other")
    agents.bench.write({"f": b"f\n"})
    agents.bench.workspace.sessions.end("one", Call())
    agents.end(other)
    assert agents.files(other) == {"f": "added"}
    for step in (whole, part):
        to = agents.view(step).step.to
        assert to is not None
        assert "f" not in agents.bench.names(to.tree)


@pytest.mark.parametrize("gone", [killed, left])
def test_a_step_inside_two_others_has_its_own_alone(agents: Agents, gone: Gone) -> None:
    whole, part = with_part(agents)
    inner = agents.begin("one", parent=part, client="client")
    gone(agents)
    agents.bench.write({"f": b"f\n"})
    agents.end(inner, ["f"])
    agents.bench.write({"g": b"g\n"})
    agents.end(whole, ["f", "g"])
    assert (own(agents, inner), own(agents, part), own(agents, whole)) == ({"f": 1}, {}, {"g": 1})


def test_a_part_at_work_keeps_what_is_around_it_out_although_the_step_between_was_left(agents: Agents) -> None:
    whole, part = with_part(agents, whole="stays")
    inner = agents.begin("one", parent=part, client="stays")
    agents.leave("client")
    agents.bench.write({"f": b"f\n"})
    agents.end(inner)
    agents.end(whole)
    assert (own(agents, inner), own(agents, whole)) == ({"f": 1}, {})


@pytest.mark.parametrize(("whole_client", "part_client"), [(None, "client"), ("client", None)])
def test_one_of_the_two_is_detached(agents: Agents, whole_client: str | None, part_client: str | None) -> None:
    whole, part = with_part(agents, whole_client, part_client)
    killed(agents)
    agents.bench.write({"f": b"f\n"})
    agents.end(whole, ["f"])
    assert agents.files(whole) == {"f": "added"}
    # the part that needs nobody was at work; one that was left was not
    assert (own(agents, whole), own(agents, part)) == (({"f": 1}, {}) if part_client else ({}, {"f": 1}))

"""Rules that change within a step: what is only ignored by now is not deleted, and the change of the rules is shown."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from snapd.core.review.choice import Choice
from snapd.model.call import Call
from snapd.model.snapshot import ObjectId
from tests.support.git import run_git
from tests.support.sessions import Agents
from tests.support.workspace import Bench, Items, make

FILES: Items = {"a.log": b"1\n", "d/x.log": b"2\n", "d/y": b"3\n", "keep": b"4\n"}

RULES: dict[str, tuple[Items, list[str]]] = {
    "a pattern": ({".gitignore": b"*.log\n"}, ["a.log", "d/x.log"]),
    "a folder": ({".gitignore": b"/d/\n"}, ["d/x.log", "d/y"]),
    "rules of a folder": ({"d/.gitignore": b"*\n!.gitignore\n"}, ["d/x.log", "d/y"]),
    "everything": ({".snapd.toml": b'exclude = ["*"]\n'}, list(FILES)),
    "rules that ignore themselves": ({".gitignore": b"*.log\n.gitignore\n"}, ["a.log", "d/x.log"]),
}


def changed(bench: Bench, old: ObjectId, new: ObjectId | None) -> dict[str, str]:
    return {
        change.path.decode(): "added" if change.old is None else "deleted" if change.new is None else "modified"
        for change in bench.workspace.comparison.changed(old, new, Call())
    }


@pytest.mark.parametrize("rules", RULES)
@pytest.mark.parametrize("between", [lambda _: None, Bench.reopen], ids=["", "reopened"])
def test_what_is_ignored_by_now_is_not_deleted(tmp_path: Path, rules: str, between: Callable[[Bench], None]) -> None:
    written, ignored = RULES[rules]
    bench = make(tmp_path, {**FILES, **dict.fromkeys(written, b"")})
    agents = Agents(bench)
    session = agents.start()
    before = bench.track()
    step = agents.step(session, written)
    between(bench)
    agents = Agents(bench)
    after = bench.track()
    names = set(bench.names(after))
    assert names.isdisjoint(ignored)
    assert names >= {*written}
    only_rules = dict.fromkeys(written, "modified")
    assert agents.files(step) == only_rules
    assert changed(bench, before, after) == only_rules
    assert changed(bench, before, None) == only_rules
    pending = bench.workspace.review.page(Choice(), Call())
    assert {file.path.decode() for file in pending.files} == {*written}
    # a restore has nothing to do for them either
    said = {file.path.decode(): file.outcome for file in bench.restore(before, dry_run=True).files}
    assert {name: outcome for name, outcome in said.items() if outcome != "unchanged"} == dict.fromkeys(
        written, "restored"
    )
    assert agents.undo(session) == dict.fromkeys(written, "restored")
    assert bench.read() == {**FILES, **dict.fromkeys(written, b"")}
    # what comes back into sight as it was did not come
    assert changed(bench, after, bench.track()) == only_rules


def test_what_went_before_it_was_ignored_is_deleted_and_comes_back(tmp_path: Path) -> None:
    bench = make(tmp_path, FILES)
    agents = Agents(bench)
    session = agents.start()
    step = agents.begin(session)
    bench.write({".gitignore": b"*.log\n/d/\n"})
    bench.remove("a.log", "d/y")
    agents.end(step)
    assert agents.files(step) == {".gitignore": "added", "a.log": "deleted", "d/y": "deleted"}
    agents.undo(session)
    assert bench.read() == FILES


def test_what_is_deleted_while_it_is_ignored_is_gone(tmp_path: Path) -> None:
    bench = make(tmp_path, FILES)
    before = bench.track()
    bench.write({".gitignore": b"*.log\n"})
    bench.track()
    bench.remove("a.log")
    assert changed(bench, before, None) == {".gitignore": "added", "a.log": "deleted"}


def test_what_changed_while_it_was_ignored_is_shown_once_it_is_seen(tmp_path: Path) -> None:
    bench = make(tmp_path, {**FILES, ".gitignore": b""})
    before = bench.track()
    bench.write({".gitignore": b"*.log\n"})
    ignored = bench.track()
    bench.write({"a.log": b"5\n", ".gitignore": b""})
    assert changed(bench, ignored, None) == {".gitignore": "modified", "a.log": "added"}
    assert changed(bench, before, None) == {"a.log": "modified"}


def test_a_copy_of_what_is_ignored_by_now_is_no_move(tmp_path: Path) -> None:
    text = b"".join(b"line %d\n" % at for at in range(20))
    bench = make(tmp_path, {"a.log": text})
    before = bench.track()
    bench.write({".gitignore": b"*.log\n", "b": text})
    assert bench.workspace.comparison.deltas(before, None, Call(), renames=True).deltas[-1].renamed_from is None


def test_many_files_of_a_folder_are_one_entry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("snapd.worktree.state.tree_state.MOST_IN_DIRECTORY", 2)
    bench = make(tmp_path, {f"d/{at}": b"%d" % at for at in range(3)})
    before = bench.track()
    bench.write({".gitignore": b"/d/\n"})
    for _ in range(2):
        tree = bench.track()
        assert changed(bench, before, tree) == {".gitignore": "added"}
        assert bench.workspace.store.find(tree).coverage.left_out == ((b"d", b""),)
        bench.reopen()


def test_rules_outside_of_the_tree_are_named(tmp_path: Path) -> None:
    bench = make(tmp_path, FILES)
    run_git(bench.root, "init", "-q")
    agents = Agents(bench)
    session = agents.start()
    step = agents.begin(session)
    Path(bench.path(".git/info/exclude")).write_text("keep\n")
    agents.end(step)
    assert agents.files(step) == {}
    assert [change.path for change in agents.view(step).uncaptured] == [b".git/info/exclude"]

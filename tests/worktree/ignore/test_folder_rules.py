"""A folder's own `.snapd.toml` that is wrong, or that hides itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.sessions import at_work

if TYPE_CHECKING:
    from pathlib import Path

BROKEN = [b"garbage = = [", b"exclude = 5\n", b"store = 1\n", b"\xff", b"exclude = [" + b"'*a*', " * 40000 + b"]"]


@pytest.mark.parametrize("text", BROKEN, ids=range(len(BROKEN)))
@pytest.mark.parametrize("reopened", [False, True])
def test_the_last_valid_patterns_hold(tmp_path: Path, text: bytes, reopened: bool) -> None:
    rules = b"exclude = ['*.log']\n"
    agents = at_work(tmp_path, {".snapd.toml": rules, "a": b"good\n", "x.log": b"1\n"})
    step = agents.step("one", {".snapd.toml": text, "a": b"wrecked\n", "x.log": b"2\n", "new": b"n\n"})
    if reopened:
        agents.bench.track()
        agents.bench.reopen()
    assert agents.files(step) == {".snapd.toml": "modified", "a": "modified", "new": "added"}
    status = agents.bench.workspace.snapshots.status()
    assert (status.folder_excludes, bool(status.folder_problem)) == (("*.log",), True)
    assert set(agents.undo("one").values()) == {"restored", "deleted"}
    assert agents.bench.read() == {".snapd.toml": rules, "a": b"good\n", "x.log": b"2\n"}
    assert agents.bench.workspace.snapshots.status().folder_problem is None


def test_a_new_file_that_is_wrong_excludes_nothing(tmp_path: Path) -> None:
    agents = at_work(tmp_path, {"a": b"good\n"})
    agents.step("one", {".snapd.toml": BROKEN[0], "a": b"wrecked\n"})
    agents.bench.reopen()
    assert agents.undo("one") == {".snapd.toml": "deleted", "a": "restored"}


def test_rules_that_hide_themselves_are_captured(tmp_path: Path) -> None:
    agents = at_work(tmp_path, {"a": b"good\n"})
    step = agents.step("one", {".snapd.toml": b"exclude = ['*']\n"})
    assert agents.files(step)[".snapd.toml"] == "added"
    assert agents.undo("one")[".snapd.toml"] == "deleted"
    assert agents.bench.read() == {"a": b"good\n"}

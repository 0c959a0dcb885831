"""The hashes of fetched steps: wherever a hash can be given, theirs can."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from snapd.model.call import Call
from snapd.model.errors import UnknownSession, UnknownSnapshot
from snapd.model.snapshot import ObjectId
from snapd.model.snapshot_records import SnapshotRecordQuery
from snapd.sharing.push import PushOptions
from tests.remotes.machines import bare
from tests.support.sessions import Agents, at_work
from tests.support.workspace import outcomes, read

FILES = {"a.txt": b"one\n", "sub/b.txt": b"b\n"}


@pytest.fixture
def there(tmp_path: Path) -> Agents:
    """A folder with other files, which fetched a session of two steps."""
    here, there = at_work(tmp_path / "here", FILES), at_work(tmp_path / "there", {"own.txt": b"own\n"})
    here.start("s")
    here.step("s", {"a.txt": b"two\n", "new.txt": b"new\n"}, message="m")
    here.step("s", here.bench.remove("sub/b.txt") or {"a.txt": b"three\n"})
    remote = str(bare(tmp_path / "remote"))
    here.bench.workspace.pushing.push(remote, None, PushOptions(), Call())
    there.bench.workspace.fetched.fetch(remote, None, Call())
    return there


def hashes(agents: Agents) -> tuple[ObjectId, ObjectId]:
    """What the fetched session began on, and what it ended with."""
    first, last = agents.bench.workspace.readers.of_session("s").views.steps("s", Call()).views
    assert last.step.to is not None
    return first.step.from_.tree, last.step.to.tree


def test_they_are_read_without_a_trace_in_the_store(there: Agents, tmp_path: Path) -> None:
    workspace = there.bench.workspace
    begin, end = hashes(there)
    before = there.bench.git("count-objects", "-v")
    assert workspace.snapshots.file_at(end, b"a.txt").data == b"three\n"
    assert workspace.snapshots.entry(begin, b"sub/b.txt") is not None
    assert workspace.snapshots.names(begin, Call(), lambda _: True, None, None).paths == (b"a.txt", b"sub/b.txt")
    changed = {
        delta.path: (delta.before, delta.after) for delta in workspace.comparison.deltas(begin, end, Call()).deltas
    }
    assert changed == {b"a.txt": ("one\n", "three\n"), b"new.txt": ("", "new\n"), b"sub/b.txt": ("b\n", "")}
    assert b"-one\n+three\n" in b"".join(workspace.comparison.diff(begin, end, (), Call()))
    workspace.snapshots.export(begin, os.fsencode(tmp_path / "out"), None, Call())
    assert read(tmp_path / "out") == FILES
    assert there.bench.git("count-objects", "-v") == before
    with pytest.raises(UnknownSnapshot):
        workspace.snapshots.entry(b"\1" * 20, b"a.txt")


def test_they_are_compared_with_the_folder_and_brought_back(there: Agents) -> None:
    workspace, own = there.bench.workspace, there.bench.track()
    begin, end = hashes(there)
    assert [change.path for change in workspace.comparison.changed(end, None, Call())] == [
        b"a.txt",
        b"new.txt",
        b"own.txt",
    ]
    assert [change.path for change in workspace.comparison.changed(own, begin, Call())] == [
        b"a.txt",
        b"own.txt",
        b"sub/b.txt",
    ]
    assert outcomes(there.bench.restore(begin)) == {"a.txt": "restored", "own.txt": "deleted", "sub/b.txt": "restored"}
    assert there.bench.read() == FILES
    # the folder has been like that by now
    assert workspace.snapshots.file_at(begin, b"a.txt").data == b"one\n"
    assert there.bench.track() == begin


def test_the_beginning_of_a_hash_finds_them(there: Agents) -> None:
    workspace = there.bench.workspace
    for tree, kind in zip(hashes(there), ("begin", "end"), strict=True):
        (found,) = workspace.snapshots.taken(SnapshotRecordQuery(tree.hex()[:6]), None, 5, Call(), counts=True).views
        assert (found.taken.tree, found.taken.kind, found.agent) == (tree, kind, "agent")
        assert found.taken.session_id == "s"
    there.bench.restore(hashes(there)[0])
    # now that it is one of the folder, it is listed once
    (found,) = workspace.snapshots.taken(
        SnapshotRecordQuery(hashes(there)[0].hex()[:6]), None, 5, Call(), counts=False
    ).views
    assert found.taken.session_id is None


def test_a_dry_run_says_what_would_come_and_keeps_none_of_it(tmp_path: Path) -> None:
    here, there = at_work(tmp_path / "here", FILES), at_work(tmp_path / "there")
    remote = str(bare(tmp_path / "remote"))

    def fetched(*names: str, dry_run: bool) -> list[tuple[str, int]]:
        views = there.bench.workspace.fetched.fetch(remote, names or None, Call(), dry_run=dry_run)
        return [(view.session.session_id, view.session.step_count) for view in views]

    for count in (1, 2):
        here.start("s")
        here.step("s", {"a.txt": b"%d" % count})
        here.bench.workspace.pushing.push(remote, ["s"], PushOptions(), Call())
        before = sorted(path for path in Path(there.bench.store).rglob("mirrors/**/*"))
        assert fetched(dry_run=True) == fetched("s", dry_run=True) == [("s", count)]
        assert sorted(path for path in Path(there.bench.store).rglob("mirrors/**/*")) == before
        with pytest.raises(UnknownSession):
            fetched("other", dry_run=True)
        assert fetched(dry_run=False) == [("s", count)]
        assert fetched(dry_run=True) == []


def test_a_dry_run_says_what_would_go_and_keeps_all_of_it(tmp_path: Path) -> None:
    agents = at_work(tmp_path / "here", FILES)
    for number in range(4):
        agents.bench.write({"a.txt": os.urandom(5000 + number)})
        agents.bench.track()
    workspace = agents.bench.workspace
    before = agents.bench.git("count-objects", "-v")
    removed, freed = workspace.upkeep.cleanup(0, Call(), dry_run=True)
    assert workspace.upkeep.cleanup(0, Call(), dry_run=True) == (removed, freed)
    assert agents.bench.git("count-objects", "-v") == before
    assert freed > 15_000
    assert workspace.upkeep.cleanup(0, Call())[0] == removed > 0
    assert workspace.upkeep.cleanup(0, Call(), dry_run=True) == (0, 0)

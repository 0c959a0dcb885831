"""`Snapshot` beside a daemon and beside other processes."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING
from unittest import mock

import pytest

from snapd import FileNotInSnapshot, IoError, Patch, Snapshot, StoreLocked, UnknownSession, UnknownSnapshot
from snapd.library.project import Project
from tests.library.others import WAIT, Breaking, Daemon, other_process, tell

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.cli.running import Home

UNKNOWN = "0123456789abcdef0123456789abcdef01234567"


def use(snap: Snapshot, project: Path) -> list[object]:
    """Uses every method; what they gave."""
    tree = snap.track()
    assert tree is not None
    (project / "config.yaml").write_bytes(b"caf\xe9\n")
    (project / "new").write_bytes(b"\0\1")
    found: list[object] = [
        tree,
        snap.patch(tree),
        snap.diff(tree),
        snap.diff_full(tree),
        snap.list_files(tree, "src"),
        snap.file_exists_at(tree, "new"),
        snap.get_file_at(tree, project / "src" / "main.py"),
    ]
    newer = snap.track(force=["new"])
    assert newer is not None
    found += [newer, snap.get_bytes_at(newer, "new"), snap.get_file_at(newer, "config.yaml")]
    found += [snap.revert(snap.patch(tree), dry_run=True), snap.revert(tree, ["new"]), snap.restore(tree)]
    for wrong, error in (
        (lambda: snap.get_file_at(tree, "new"), FileNotInSnapshot),
        (lambda: snap.patch(UNKNOWN), UnknownSnapshot),
    ):
        with pytest.raises(error) as caught:
            wrong()
        found.append((caught.value.message, caught.value.data))
    found.append(snap.status().last_hash)
    return found


def test_the_daemon_answers_unseen(home: Home, project: Path, daemon: Daemon) -> None:
    with Snapshot(project) as snap:
        through_the_daemon = use(snap, project)
        # the daemon knows of it: it did the work
        assert daemon.client.status()["lastHash"] == through_the_daemon[-1]
    daemon.stop()
    with Snapshot(project) as snap:
        assert use(snap, project) == through_the_daemon


@pytest.fixture
def shared(project: Path, home: Home) -> Iterator[Snapshot]:
    """As a program opens it that asks for nothing else."""
    with Snapshot(project, in_process=False) as snap:
        yield snap


def test_the_library_shares_the_project(home: Home, project: Path, shared: Snapshot) -> None:
    tree = shared.track()
    assert home.track(str(project)) == tree
    assert use(shared, project)[0] == tree
    with shared.session("one") as session, session.step() as step:
        (project / "new").write_text("n")
    assert [file.file for file in step.files] == ["new"]
    home.ok(str(project), "undo", "-y")
    assert not (project / "new").exists()
    # a daemon that ends is started again
    home.ok(str(project), "stop")
    assert shared.track() == home.track(str(project))


def test_a_store_inside_the_project_is_shared_too(home: Home, project: Path) -> None:
    with Snapshot(project, data_dir=project / ".agent" / "snapshots", in_process=False) as snap:
        tree = snap.track()
        assert tree is not None
        assert all(not name.startswith(".agent") for name in snap.list_files(tree))
        assert (project / ".agent" / "snapshots" / "snapd").is_dir()
    home.ok(str(project), "stop")


def test_without_a_daemon_the_error_says_what_to_do(home: Home, shared: Snapshot) -> None:
    os.makedirs(home.at("run"))
    os.chmod(home.at("run"), 0o777)
    with pytest.raises(IoError) as caught:
        shared.track()
    os.chmod(home.at("run"), 0o700)
    assert "in_process=True" in caught.value.hint


def test_a_process_that_has_the_store_is_named(home: Home, project: Path, shared: Snapshot) -> None:
    with other_process(home, project) as other:
        with pytest.raises(StoreLocked) as caught:
            shared.track()
        assert f"process {other.pid} ({sys.executable} -c" in caught.value.message
        assert caught.value.data["pid"] == other.pid
        assert "in_process=True" in caught.value.hint
    assert shared.track()


def test_two_objects_through_the_daemon(home: Home, project: Path, daemon: Daemon) -> None:
    with Snapshot(project) as one, Snapshot(project) as two:
        tree = one.track()
        assert two.track() == tree
        one.close()
        assert two.patch(str(tree)) == Patch(hash=str(tree), files=[])


@pytest.mark.parametrize("ended", ["stopped", "killed"])
def test_after_the_daemon_the_process_does_it_itself(home: Home, project: Path, daemon: Daemon, ended: str) -> None:
    with Snapshot(project) as snap:
        tree = snap.track()
        assert tree is not None
        if ended == "stopped":
            daemon.stop()
        else:
            daemon.kill()
        (project / "config.yaml").write_text("x\n")
        assert snap.patch(tree).files == [f"{project}/config.yaml"]
        # it owns the store now
        assert "another process owns the store" in home.run(str(project), "track", "--no-daemon").err
        snap.revert(snap.patch(tree))
        assert snap.track() == tree


def test_switched_off_through_the_daemon(
    home: Home, project: Path, daemon: Daemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SNAPD_SNAPSHOT", "0")
    with Snapshot(project) as snap:
        assert snap.track() is None


def test_the_daemon_starts_while_the_library_owns_the_store(home: Home, project: Path) -> None:
    with Snapshot(project) as snap:
        tree = snap.track()
        result = home.run(str(project), "track")
        assert (result.code, result.out) == (1, b"")
        assert "another process owns the store" in result.err
        snap.close()
        assert home.track(str(project)) == tree
        # and the other way round: the daemon has it now, and the library asks it
        assert snap.track() == tree


def test_two_processes(home: Home, project: Path) -> None:
    with other_process(home, project) as other, Snapshot(project) as snap:
        with pytest.raises(StoreLocked) as caught:
            snap.track()
        assert caught.value.data["socket"] is None
        degraded = Snapshot(project, errors="degrade")
        assert degraded.track() is None
        assert tell(other) == "closed\n"
        # close() let go of it, and the failed calls hold nothing
        tree = snap.track()
        assert tree is not None
        assert degraded.track() == tree


def test_an_owner_that_died(home: Home, project: Path) -> None:
    with other_process(home, project) as other:
        other.kill()
        other.wait(WAIT)
        with Snapshot(project) as snap:
            assert snap.track() is not None


def test_a_connection_that_breaks_with_the_request(home: Home, project: Path) -> None:
    with Snapshot(project) as snap:
        tree = snap.track()
        assert tree is not None
        (project / "new").write_text("n")
        snap.close()
        # what may have been done is not done again
        opening = mock.patch.object(Project, "open_backend", return_value=Breaking())
        with opening, pytest.raises(IoError, match="it ended"):
            snap.revert(tree, ["new"])
        assert (project / "new").exists()
        assert snap.revert(tree, ["new"]).applied


def test_an_owner_that_is_about_to_end(home: Home, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with other_process(home, project) as other:
        (note,) = Path(home.at("data")).rglob("owner.json")
        note.write_text(json.dumps({"pid": other.pid, "socket": home.at("gone.sock")}))
        monkeypatch.setattr("snapd.library.project.OPEN_SECONDS", 0.0)
        with pytest.raises(StoreLocked):
            Snapshot(project).track()
        monkeypatch.setattr("snapd.library.project.OPEN_SECONDS", WAIT)

        def refuse(*_: object) -> None:
            # it listens no more, then lets go of the store
            if other.poll() is None:
                other.kill()
                other.wait(WAIT)
            raise IoError("the daemon: connection refused", errno="ECONNREFUSED")

        monkeypatch.setattr("snapd.backend.open_remote", refuse)
        with Snapshot(project) as snap:
            assert snap.track() is not None


def test_a_variable_says_nothing_to_the_daemon(
    home: Home, project: Path, daemon: Daemon, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("SNAPD_MAX_FILE_SIZE", "1")
    with Snapshot(project) as snap:
        tree = snap.track()
        assert tree is not None
        assert snap.list_files(tree)
        assert {row.source for row in snap.status().settings or ()} == {"default"}
    assert daemon.client.track()["skipped"] == []
    (said,) = (record.message for record in caplog.records if record.name == "snapd.library")
    assert said.startswith("SNAPD_MAX_FILE_SIZE has no effect on the daemon")


@pytest.mark.parametrize("way", ["here", "daemon"])
def test_errors_keep_their_hint(home: Home, project: Path, way: str, request: pytest.FixtureRequest) -> None:
    if way == "daemon":
        request.getfixturevalue("daemon")
    with Snapshot(project) as snap, snap.session("one") as session:
        with pytest.raises(UnknownSnapshot) as caught:
            snap.diff(UNKNOWN)
        assert (caught.value.hint, caught.value.data) == (UnknownSnapshot.default_hint, {"hash": UNKNOWN})
        session.end()
        with pytest.raises(UnknownSession) as ended:
            session.step().begin()
        assert (ended.value.hint, ended.value.data) == ("resume it with `session/start`", {"sessionId": "one"})

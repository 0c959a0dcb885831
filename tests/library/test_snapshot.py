"""`Snapshot` in one process."""

from __future__ import annotations

import logging
import os
import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import snapd
from snapd import (
    FileDiff,
    FileNotInSnapshot,
    InvalidParams,
    IoError,
    Patch,
    PathOutsideWorkspace,
    SnapdError,
    Snapshot,
    StorageFull,
    StoreCorrupt,
    StoreLocked,
    UnknownSnapshot,
    WorkspaceGone,
    WorkspaceNotOpen,
    WorkspaceRefused,
)
from tests.support.git import run_git

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.cli.running import Home

UNKNOWN = "0123456789abcdef0123456789abcdef01234567"


def taken(snapshot: Snapshot) -> str:
    tree = snapshot.track()
    assert tree is not None
    return tree


def test_names() -> None:
    for name in snapd.__all__:
        assert getattr(snapd, name) is not None
    errors = (IoError, StorageFull, StoreCorrupt, StoreLocked, WorkspaceGone, WorkspaceNotOpen, WorkspaceRefused)
    wrong_requests = (FileNotInSnapshot, InvalidParams, PathOutsideWorkspace, UnknownSnapshot)
    assert all(issubclass(error, SnapdError) for error in (*errors, *wrong_requests))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = snapd.nothing


def test_making_one_touches_nothing(home: Home, tmp_path: Path) -> None:
    before = sorted(os.listdir(home.path))
    snapshot = Snapshot(tmp_path, data_dir=tmp_path / "data")
    assert sorted(os.listdir(home.path)) == before
    assert os.listdir(tmp_path) == []
    snapshot.close()
    with pytest.raises(ValueError, match="errors: expected 'raise' or 'degrade'"):
        Snapshot(tmp_path, errors="ignore")  # type: ignore[arg-type]


def test_track_and_revert_as_in_the_ancestors(home: Home, project: Path) -> None:
    run_git(project, "init", "-q")
    snap = Snapshot(str(project))
    (project / "test.txt").write_text("original")
    hash1 = snap.track()
    (project / "test.txt").write_text("modified")
    hash2 = snap.track()
    assert hash1 is not None
    assert hash1 != hash2
    snap.revert(hash1, ["test.txt"])
    assert (project / "test.txt").read_text() == "original"
    snap.close()


def test_track_is_gits_tree_also_without_git(snap: Snapshot, project: Path, tmp_path: Path) -> None:
    assert not (project / ".git").exists()
    git_dir = tmp_path / "git"
    run_git(project, "init", "-q", "--bare", git_dir)
    run_git(project, f"--git-dir={git_dir}", f"--work-tree={project}", "add", "-A")
    assert taken(snap) == run_git(project, f"--git-dir={git_dir}", "write-tree").decode().strip()
    assert not (project / ".git").exists()


def test_track_of_files_without_any_folder(home: Home, tmp_path: Path) -> None:
    (tmp_path / "flat").mkdir()
    (tmp_path / "flat" / "a").write_text("a")
    with Snapshot(tmp_path / "flat") as snap:
        assert snap.list_files(taken(snap)) == ["a"]


def test_force(snap: Snapshot, project: Path) -> None:
    (project / ".gitignore").write_text("*.log\n")
    (project / "a.log").write_text("a")
    (project / "b.log").write_text("b")
    assert not snap.file_exists_at(taken(snap), "a.log")
    for force in (["a.log"], [project / "a.log"], [b"a.log"]):
        tree = snap.track(force=force)
        assert tree is not None
        assert [name for name in snap.list_files(tree) if name.endswith(".log")] == ["a.log"]


def test_patch(snap: Snapshot, project: Path) -> None:
    before = taken(snap)
    assert snap.patch(before) == Patch(hash=before, files=[])
    (project / "src" / "main.py").write_text("x\n")
    (project / "new").write_text("n\n")
    expected = Patch(hash=before, files=[f"{project}/new", f"{project}/src/main.py"])
    assert snap.patch(before) == expected
    after = taken(snap)
    (project / "new").unlink()
    assert snap.patch(before, after) == expected
    assert snap.patch(before).files == [f"{project}/src/main.py"]


def test_diff(snap: Snapshot, project: Path) -> None:
    before = taken(snap)
    (project / "src" / "main.py").write_text("print(1)\n")
    (project / "config.yaml").write_text("a: 2\n")
    expected = "-print(2)\n"
    shown = snap.diff(before, files=["src/main.py"])
    assert shown.startswith("diff --git a/src/main.py b/src/main.py\n")
    assert shown.endswith(expected)
    assert "config.yaml" in snap.diff(before)
    after = taken(snap)
    (project / "config.yaml").write_text("a: 3\n")
    assert "+a: 2" in snap.diff(before, after)
    assert snap.diff(before, files=(project / "src" / "main.py",)) == shown


def test_diff_full(snap: Snapshot, project: Path) -> None:
    before = taken(snap)
    (project / "src" / "main.py").write_text("print(1)\nprint(3)\n")
    (project / "bin").write_bytes(b"\0\1")
    (project / "config.yaml").unlink()
    after = taken(snap)
    for diffs in (snap.diff_full(before), snap.diff_full(before, after)):
        assert [(diff.file, diff.status, diff.additions, diff.deletions) for diff in diffs] == [
            ("bin", "added", 0, 0),
            ("config.yaml", "deleted", 0, 1),
            ("src/main.py", "modified", 1, 1),
        ]
        assert all(isinstance(diff, FileDiff) for diff in diffs)
        assert (diffs[0].binary, diffs[0].before, diffs[0].after) == (True, "", "")
        assert (diffs[2].before, diffs[2].after) == ("print(1)\nprint(2)\n", "print(1)\nprint(3)\n")
    (without,) = snap.diff_full(before, after, files=["src"], contents=False)
    assert (without.before, without.after, without.additions) == ("", "", 1)


def test_diff_full_renames(snap: Snapshot, project: Path) -> None:
    before = taken(snap)
    (project / "src" / "main.py").rename(project / "moved.py")
    (moved,) = snap.diff_full(before, renames=True)
    assert (moved.file, moved.renamed_from, moved.status) == ("moved.py", "src/main.py", "modified")
    assert [diff.status for diff in snap.diff_full(before)] == ["added", "deleted"]


def test_diff_full_turns_pages(snap: Snapshot, project: Path) -> None:
    before = taken(snap)
    # more than one answer holds
    for number in range(5):
        (project / f"{number}").write_text("x" * 79 + "\n" + "y" * (9 << 20))
    diffs = snap.diff_full(before)
    assert [(diff.file, len(diff.after)) for diff in diffs] == [(str(n), 80 + (9 << 20)) for n in range(5)]


def test_latin_1(snap: Snapshot, project: Path) -> None:
    (project / "old.txt").write_bytes(b"caf\xe9\n")
    before = taken(snap)
    (project / "old.txt").write_bytes(b"th\xe9\n")
    (diff,) = snap.diff_full(before)
    assert (diff.before, diff.after, diff.additions, diff.encoding) == ("café\n", "thé\n", 1, "latin-1")
    assert snap.get_file_at(before, "old.txt") == "café\n"
    assert snap.get_bytes_at(before, "old.txt") == b"caf\xe9\n"


@pytest.mark.parametrize("form", ["hash", "patch", "patches", "keywords", "generator"])
def test_revert_forms(snap: Snapshot, project: Path, form: str) -> None:
    tree = taken(snap)
    (project / "src" / "main.py").write_text("x")
    (project / "new").write_text("n")
    (project / "config.yaml").write_text("kept")
    files = ["src/main.py", str(project / "new")]
    calls: dict[str, Callable[[], Any]] = {
        "hash": lambda: snap.revert(tree, files),
        "keywords": lambda: snap.revert(hash=tree, files=[Path(file) for file in files]),
        "patch": lambda: snap.revert(Patch(hash=tree, files=files)),
        "patches": lambda: snap.revert([Patch(hash=tree, files=files[:1]), Patch(hash=tree, files=files[1:])]),
        "generator": lambda: snap.revert(Patch(hash=tree, files=[file]) for file in files),
    }
    outcome = calls[form]()
    assert [(file.file, file.outcome) for file in outcome.files] == [("new", "deleted"), ("src/main.py", "restored")]
    assert (project / "src" / "main.py").read_text() == "print(1)\nprint(2)\n"
    assert not (project / "new").exists()
    assert (project / "config.yaml").read_text() == "kept"
    # what patch gives goes to revert as it is
    snap.revert(snap.patch(tree))
    assert snap.patch(tree).files == []


def test_revert_first_patch_wins(snap: Snapshot, project: Path) -> None:
    trees = []
    for text in ("one", "two", "three"):
        (project / "config.yaml").write_text(text)
        trees.append(taken(snap))
    snap.revert([Patch(hash=tree, files=["config.yaml"]) for tree in (trees[1], trees[0])])
    assert (project / "config.yaml").read_text() == "two"


def test_calls_that_mean_nothing(snap: Snapshot, project: Path) -> None:
    tree = taken(snap)
    (project / "a").write_text("would be deleted")
    for call in (
        lambda: snap.revert(tree),
        lambda: snap.revert(Patch(hash=tree, files=["a"]), ["a"]),
        lambda: snap.revert(tree, "a"),
        lambda: snap.diff(tree, files="a"),
        lambda: snap.track(force="a"),
        lambda: snap.diff_full(tree, files=b"a"),
    ):
        with pytest.raises(TypeError):
            call()
    assert (project / "a").exists()


def test_restore(snap: Snapshot, project: Path) -> None:
    tree = taken(snap)
    (project / "src" / "main.py").write_text("x")
    (project / "new").write_text("n")
    plan = snap.restore(tree, dry_run=True)
    assert not plan.applied
    assert (project / "new").exists()
    outcome = snap.restore(hash=tree)
    assert (outcome.applied, outcome.after) == (True, tree)
    assert not (project / "new").exists()
    assert taken(snap) == tree
    snap.restore(outcome.before)
    assert (project / "new").read_text() == "n"


def test_on_conflict(snap: Snapshot, project: Path) -> None:
    tree = taken(snap)
    (project / "config.yaml").write_text("agent\n")
    taken(snap)
    (project / "config.yaml").write_text("user\n")
    outcome = snap.revert(tree, ["config.yaml"], on_conflict="fail")
    assert (outcome.applied, [file.outcome for file in outcome.files]) == (False, ["conflict"])
    assert (project / "config.yaml").read_text() == "user\n"
    with pytest.raises(InvalidParams):
        snap.restore(tree, on_conflict="guess")  # type: ignore[arg-type]


def test_files_of_a_snapshot(snap: Snapshot, project: Path) -> None:
    (project / "data").write_bytes(bytes(range(256)))
    tree = taken(snap)
    assert snap.list_files(tree) == ["config.yaml", "data", "src/main.py"]
    assert snap.list_files(tree, "src/") == snap.list_files(tree, prefix="sr") == ["src/main.py"]
    assert snap.file_exists_at(tree, "src/main.py") is True
    assert snap.file_exists_at(tree, project / "nothing") is False
    assert snap.get_file_at(tree, "src/main.py") == "print(1)\nprint(2)\n"
    assert snap.get_bytes_at(tree, project / "data") == bytes(range(256))
    with pytest.raises(FileNotInSnapshot) as caught:
        snap.get_file_at(tree, "nothing")
    assert caught.value.data["skipped"] is False


def test_names_that_are_not_utf8(snap: Snapshot, project: Path) -> None:
    name = b"\xff.txt"
    path = os.path.join(os.fsencode(project), name)
    with open(path, "wb") as file:
        file.write(b"one")
    tree = taken(snap)
    with open(path, "wb") as file:
        file.write(b"two")
    assert snap.patch(tree).files == [f"file://{project}/%FF.txt"]
    for given in (name, os.fsdecode(name), Path(os.fsdecode(path))):
        assert snap.get_bytes_at(tree, given) == b"one"
    snap.revert(snap.patch(tree))
    with open(path, "rb") as file:
        assert file.read() == b"one"


def test_status_and_cleanup(snap: Snapshot, project: Path, home: Home) -> None:
    tree = taken(snap)
    status = snap.status()
    assert (status.enabled, status.files, status.last_hash) == (True, 2, tree)
    assert status.store.path.startswith(home.at("data"))
    (project / "config.yaml").write_text("new")
    newest = taken(snap)
    assert snap.cleanup(older_than_days=0).removed >= 1
    assert snap.list_files(newest) == ["config.yaml", "src/main.py"]
    with pytest.raises(UnknownSnapshot):
        snap.list_files(tree)
    assert snap.cleanup().removed == 0


def test_errors_are_typed(snap: Snapshot, project: Path) -> None:
    tree = taken(snap)
    for wrong, error in (
        (lambda: snap.patch("abc"), InvalidParams),
        (lambda: snap.patch(UNKNOWN), UnknownSnapshot),
        (lambda: snap.restore(UNKNOWN), UnknownSnapshot),
        (lambda: snap.revert(tree, ["../x"]), PathOutsideWorkspace),
        (lambda: snap.get_file_at(tree, "/etc/passwd"), PathOutsideWorkspace),
        (lambda: snap.get_file_at(tree, ""), InvalidParams),
    ):
        with pytest.raises(error):
            wrong()
    project.rename(project.with_name("elsewhere"))
    with pytest.raises(WorkspaceGone):
        snap.track()


def test_folders_that_are_refused(home: Home, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for folder in ("/", home.env["HOME"], tmp_path / "file", tmp_path / "nothing"):
        with pytest.raises(WorkspaceRefused):
            Snapshot(folder).track()


def test_switched_off(home: Home, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    off = Snapshot(project, enabled=False)
    assert off.track() is None
    assert not os.path.exists(home.at("data"))
    with Snapshot(project) as snap:
        tree = taken(snap)
        # what was taken before is still there
        assert off.list_files(tree) == ["config.yaml", "src/main.py"]
        off.close()
        monkeypatch.setenv("SNAPD_SNAPSHOT", "off")
        with Snapshot(project) as by_environment:
            assert by_environment.track() is None
            assert not by_environment.status().enabled
        # settings are read when the folder is opened
        assert snap.track() == tree


def test_degraded(home: Home, project: Path, caplog: pytest.LogCaptureFixture) -> None:
    with Snapshot(project, errors="degrade") as snap:
        tree = taken(snap)
        calls: list[tuple[Callable[[], Any], Any]] = [
            (lambda: snap.patch(UNKNOWN), Patch(hash=UNKNOWN, files=[])),
            (lambda: snap.diff(UNKNOWN), ""),
            (lambda: snap.diff_full(UNKNOWN, tree), []),
            (lambda: snap.list_files(UNKNOWN), []),
            (lambda: snap.get_file_at(tree, "nothing"), None),
            (lambda: snap.get_bytes_at(UNKNOWN, "a"), None),
            # "no" would be a claim
            (lambda: snap.file_exists_at(UNKNOWN, "config.yaml"), None),
            (lambda: snap.revert(tree, ["../x"]).applied, False),
            (lambda: snap.restore(UNKNOWN).files, []),
        ]
        for call, empty in calls:
            caplog.clear()
            assert call() == empty
            ((name, level, message),) = caplog.record_tuples
            assert (name, level) == ("snapd.library", logging.WARNING)
            assert str(project) in message
        assert snap.file_exists_at(tree, "config.yaml") is True
        assert snap.file_exists_at(tree, "nothing") is False
        # what cannot be empty is raised, and what the caller did wrong too
        with pytest.raises(TypeError):
            snap.revert(tree)
    gone = Snapshot(project / "nothing", errors="degrade")
    assert gone.track() is None
    with pytest.raises(SnapdError):
        gone.status()


@pytest.mark.parametrize("absolute", [False, True])
def test_store_inside_the_project(home: Home, project: Path, absolute: bool) -> None:
    data = project / ".agent" / "snapshots"
    given = data if absolute else ".agent/snapshots"
    with Snapshot(project, data_dir=given) as snap:
        tree = taken(snap)
        assert snap.list_files(tree) == ["config.yaml", "src/main.py"]
        assert snap.status().store.path.startswith(f"{data}/")
        (project / "new").write_text("n")
        (project / ".agent" / "notes").write_text("captured: only the store is not")
        newer = taken(snap)
        assert snap.list_files(newer) == [".agent/notes", "config.yaml", "new", "src/main.py"]
        snap.restore(tree)
        assert sorted(os.listdir(project)) == [".agent", "config.yaml", "src"]
        assert taken(snap) == tree
        snap.restore(newer)
        assert (project / "new").read_text() == "n"
    # the same store, however it is named
    with Snapshot(project, data_dir=".agent/snapshots" if absolute else data) as again:
        assert again.list_files(newer) == [".agent/notes", "config.yaml", "new", "src/main.py"]
        assert taken(again) == newer
    assert not os.path.exists(home.at("data"))


def test_data_dir_elsewhere(home: Home, project: Path, tmp_path: Path) -> None:
    with Snapshot(project, data_dir=tmp_path / "data") as snap:
        tree = taken(snap)
    with Snapshot(project, data_dir="../data") as again:
        assert again.list_files(tree) == ["config.yaml", "src/main.py"]
    with pytest.raises(WorkspaceRefused):
        Snapshot(project, data_dir=".").track()


def test_snapshots_outlive_the_object(home: Home, project: Path) -> None:
    with Snapshot(project) as snap:
        tree = taken(snap)
        snap.close()
        # opened again by the next call
        assert taken(snap) == tree
    (project / "config.yaml").unlink()
    with Snapshot(project) as again:
        assert again.status().last_hash == tree
        again.restore(tree)
    assert (project / "config.yaml").exists()


def test_two_objects_share_one_owner(home: Home, project: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(project)
    with Snapshot(project) as one, Snapshot(tmp_path / "link") as two:
        tree = taken(one)
        assert taken(two) == tree
        (project / "config.yaml").write_text("x")
        assert two.patch(tree).files == one.patch(tree).files == [f"{project}/config.yaml"]
        assert two.get_file_at(tree, tmp_path / "link" / "config.yaml") == "a: 1\n"
        one.close()
        # the other still has it
        assert two.revert(tree, ["config.yaml"]).applied
        assert taken(one) == tree


def test_from_many_threads(home: Home, project: Path) -> None:
    with Snapshot(project) as snap, Snapshot(project) as other:
        first = taken(snap)
        together = threading.Barrier(8)

        def work(number: int) -> list[str]:
            together.wait(20)
            mine = project / f"{number}.txt"
            found = []
            for turn in range(5):
                mine.write_text(f"{turn}")
                tree = taken(snap if number % 2 else other)
                assert snap.get_file_at(tree, mine.name) == f"{turn}"
                assert str(mine) in other.patch(first, tree).files
                found.append(tree)
                if number == 0:
                    other.close()
            return found

        with ThreadPoolExecutor(8) as pool:
            trees = [tree for found in pool.map(work, range(8)) for tree in found]
        assert all(snap.file_exists_at(tree, "config.yaml") for tree in trees)
        snap.restore(first)
        assert sorted(os.listdir(project)) == ["config.yaml", "src"]


def test_close_waits_for_calls_under_way(home: Home, project: Path) -> None:
    with Snapshot(project) as snap:
        taken(snap)
        for number in range(40):
            (project / f"{number}").write_bytes(os.urandom(1 << 16))
        with ThreadPoolExecutor(4) as pool:
            running = [pool.submit(snap.track) for _ in range(8)]
            for _ in range(20):
                snap.close()
            assert len({future.result() for future in running}) == 1


def test_export(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.rmtree(project / "src")
    (project / "config.yaml").unlink()
    (project / "a.txt").write_bytes(b"one")
    (project / os.fsdecode(b"odd\xff")).write_bytes(b"odd")
    monkeypatch.chdir(tmp_path)
    with Snapshot(project) as snapshot:
        tree = taken(snapshot)
        done = snapshot.export(tree, b"out\xff")
        assert (done.files, done.bytes) == (2, 6)
        assert {path.name: path.read_bytes() for path in (tmp_path / "out\udcff").iterdir()} == {
            "a.txt": b"one",
            "odd\udcff": b"odd",
        }
        (tmp_path / "out\udcff" / "a.txt").unlink()
        assert snapshot.export(tree, tmp_path / "out\udcff", ["a.txt"]).files == 1
        with pytest.raises(InvalidParams, match="not empty"):
            snapshot.export(tree, tmp_path / "out\udcff")
    with Snapshot(project, errors="degrade") as snapshot:
        assert snapshot.export(tree, tmp_path / "out\udcff").files == 0


def test_a_hash_may_be_short(home: Home, project: Path) -> None:
    with Snapshot(project) as snap:
        tree = taken(snap)
        assert snap.list_files(tree[:8]) == snap.list_files(tree)
        assert snap.patch(tree[:6]).hash == tree
        unused = "0" * 7 if not tree.startswith("0000000") else "1" * 7
        with pytest.raises(UnknownSnapshot, match="no snapshot of this folder begins with"):
            snap.list_files(unused)


def test_what_objects_are(home: Home, project: Path) -> None:
    with Snapshot(project) as snap, snap.session("s", agent="claude", title="Fix it") as session:
        assert repr(snap) == f"<Snapshot of {str(project)!r}>"
        assert repr(session) == "<Session s 'claude' 'Fix it'>"
        with session.step(tool="Edit") as step:
            assert repr(step) == f"<Step {step.step_id} 'Edit', open>"
        assert repr(step).endswith("over>")
        with pytest.raises(TypeError, match=r"write revert\(hash, files\)"):
            snap.revert([taken(snap)])  # type: ignore[list-item]


def test_a_missing_folder_fails_at_once(home: Home, project: Path) -> None:
    with pytest.raises(WorkspaceRefused, match="does not exist"):
        Snapshot(project / "nothing")

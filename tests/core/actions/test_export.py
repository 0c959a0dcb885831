"""What an export writes, where it may write, and that a failed one leaves nothing; checked on disk, and by git."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable
from pathlib import Path

import attrs
import pytest

from snapd.core.answers import ExportOutcome
from snapd.model.call import Call
from snapd.model.errors import Cancelled, InvalidParams, IoError, SnapdError, StorageFull, StoreCorrupt, UnknownSnapshot
from tests.support.failures import at_failpoint
from tests.support.git import run_git
from tests.support.workspace import UMASK, Bench, Executable, Items, Symlink, git_tree_hash, make, read, write

pytestmark = pytest.mark.slow

FILES: Items = {
    "a": b"1\n",
    "d/b": b"2\n",
    "d/e/f": b"",
    "d-e": b"beside a directory\n",
    "run": Executable(b"#!/bin/sh\n"),
    "to": Symlink("d/b"),
    "into": Symlink("d"),
    "nowhere": Symlink("/no/such/file"),
    "odd \n\udcff": b"3\n",
    "n" * 255: b"4\n",
    "large": bytes(range(256)) * 8192,
    "nil/": None,
    "deep/er/nil/": None,
}
CONTENTS = [item.target if isinstance(item, Symlink) else getattr(item, "data", item) for item in FILES.values()]
SIZE = sum(len(data) for data in CONTENTS if data is not None)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    bench = make(tmp_path, {**FILES, ".gitignore": b"/built/\n/*.log\n"})
    # what is ignored is known from the first look on
    bench.write({"built/x": b"x\n"})
    return bench


def export(bench: Bench, tree: bytes, directory: str | Path, *only: str, call: Call | None = None) -> ExportOutcome:
    names = [os.fsencode(name) for name in only] if only else None
    return bench.workspace.snapshots.export(tree, os.fsencode(directory), names, call or Call())


def failing(code: int) -> Callable[[], None]:
    def fail() -> None:
        raise OSError(code, os.strerror(code))

    return fail


@pytest.mark.parametrize("is_there", [False, True])
def test_an_export_has_what_the_snapshot_has(bench: Bench, tmp_path: Path, is_there: bool) -> None:
    tree = bench.track()
    bench.become({"a": b"something else now\n"})
    bench.track()
    out = tmp_path / "out"
    if is_there:
        out.mkdir()
    found = export(bench, tree, out)
    assert read(out) == {**FILES, ".gitignore": b"/built/\n/*.log\n"}
    assert git_tree_hash(tmp_path, read(out)) == tree
    assert (found.files, found.size) == (12, SIZE + len(b"/built/\n/*.log\n"))
    assert bench.read() == {"a": b"something else now\n"}


def test_modes_are_limited_by_the_umask(bench: Bench, tmp_path: Path) -> None:
    export(bench, bench.track(), tmp_path / "out")
    modes = {name: stat.S_IMODE((tmp_path / "out" / name).stat().st_mode) for name in ("a", "run")}
    assert modes == {"a": 0o644 & ~UMASK, "run": 0o755 & ~UMASK}


def test_a_build_that_writes_into_its_files_reaches_no_snapshot(bench: Bench, tmp_path: Path) -> None:
    tree = bench.track()
    out = tmp_path / "out"
    export(bench, tree, out)
    for name in ("a", "d/b", "large", "run"):
        path = out / name
        assert path.stat().st_nlink == 1
        with path.open("r+b") as file:
            file.write(b"overwritten in place")
    export(bench, tree, tmp_path / "again")
    assert git_tree_hash(tmp_path, read(tmp_path / "again")) == tree
    assert bench.workspace.upkeep.check(quick=False, call=Call()).problems == ()


def test_an_empty_snapshot(tmp_path: Path) -> None:
    bench = make(tmp_path)
    assert export(bench, bench.track(), tmp_path / "out") == ExportOutcome(0, 0)
    assert os.listdir(tmp_path / "out") == []


def test_some_files_beside_others(bench: Bench, tmp_path: Path) -> None:
    tree = bench.track()
    out = tmp_path / "out"
    write(out, {"mine": b"stays\n", "d/mine": b"stays too\n"})
    found = export(bench, tree, out, "d", "to", "not there", "a/b")
    assert found.files == 3
    some = {name: FILES[name] for name in ("d/b", "d/e/f", "to", "nil/", "deep/er/nil/")}
    assert read(out) == {**some, "mine": b"stays\n", "d/mine": b"stays too\n"}


def test_no_files_but_the_empty_folders(bench: Bench, tmp_path: Path) -> None:
    tree = bench.track()
    assert bench.workspace.snapshots.export(tree, os.fsencode(tmp_path / "out"), [], Call()) == ExportOutcome(0, 0)
    assert read(tmp_path / "out") == {"nil/": None, "deep/er/nil/": None}


# -- where it may not write


def refused(bench: Bench, directory: str | Path, tmp_path: Path) -> str:
    before = {path: read(tmp_path / path) for path in ("work", "elsewhere")}
    with pytest.raises(InvalidParams) as error:
        export(bench, bench.track(), directory)
    assert error.value.data["field"] == "directory"
    assert {path: read(tmp_path / path) for path in ("work", "elsewhere")} == before
    return error.value.message


def test_no_export_into_a_folder_with_something_in_it(bench: Bench, tmp_path: Path) -> None:
    write(tmp_path / "elsewhere", {"mine": b"mine\n"})
    assert "is not empty" in refused(bench, tmp_path / "elsewhere", tmp_path)


def test_no_export_into_stores_and_repositories(bench: Bench, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    run_git(elsewhere, "init", "-q", "--bare", "bare")
    run_git(elsewhere, "init", "-q", "repo")
    (elsewhere / "link").symlink_to(elsewhere / "repo" / ".git")
    other = make(tmp_path / "other", {"x": b"x\n"})
    other.track()
    store = Path(bench.store)
    for directory in (
        store / "new",
        store / "objects" / "new",
        store.parent / "new",
        Path(other.store) / "objects" / "new",
        elsewhere / "bare" / "new",
        elsewhere / "repo" / ".git",
        elsewhere / "repo" / ".git" / "hooks" / "new",
        elsewhere / "repo" / ".GIT" / "new",
        elsewhere / "link" / "new",
    ):
        assert "cannot export to" in refused(bench, directory, tmp_path), directory
        assert not (directory / "a").exists()


def test_no_export_into_the_project_but_where_it_is_ignored(bench: Bench, tmp_path: Path) -> None:
    tree = bench.track()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "link").symlink_to(bench.root / "d")
    (bench.root / "inner").mkdir()
    for directory in (bench.root, bench.root / "new", bench.root / "nil", tmp_path / "elsewhere" / "link" / "new"):
        assert "cannot export to" in refused(bench, directory, tmp_path), directory
    # a pattern for files ignores no folder's files one day
    assert "in the project" in refused(bench, bench.root / "inner", tmp_path)
    # what is ignored is known to the next process, too
    bench.reopen()
    export(bench, tree, bench.root / "built" / "out")
    assert git_tree_hash(tmp_path, read(bench.root / "built" / "out")) == tree


def test_a_link_to_an_empty_folder_is_followed(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "link").symlink_to("out")
    export(bench, bench.track(), tmp_path / "link")
    assert (tmp_path / "out" / "a").read_bytes() == b"1\n"
    assert (tmp_path / "link").is_symlink()


@pytest.mark.parametrize(
    ("name", "code"), [("file", "ENOTDIR"), ("file/below", "ENOTDIR"), ("none/below", "ENOENT"), ("loop", "ELOOP")]
)
def test_no_export_where_no_folder_can_be(bench: Bench, tmp_path: Path, name: str, code: str) -> None:
    (tmp_path / "file").write_bytes(b"mine\n")
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(IoError) as error:
        export(bench, bench.track(), tmp_path / name)
    assert error.value.data["errno"] in (code, "ENOTDIR")
    assert (tmp_path / "file").read_bytes() == b"mine\n"


# -- a failed one leaves nothing


@pytest.fixture(params=["absent", "empty"])
def out(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A place for an export, with which it must be as it was if it fails."""
    out = tmp_path / "out"
    if request.param == "empty":
        out.mkdir()
    return out


def fails(bench: Bench, tree: bytes, out: Path, kind: type[SnapdError], call: Call | None = None) -> SnapdError:
    before = out.exists()
    with pytest.raises(kind) as error:
        export(bench, tree, out, call=call)
    assert out.exists() == before
    assert not before or os.listdir(out) == []
    return error.value


def test_an_unknown_snapshot(bench: Bench, out: Path) -> None:
    fails(bench, b"\0" * 20, out, UnknownSnapshot)
    inner = bytes.fromhex(bench.git("rev-parse", f"{bench.track().hex()}:d").decode().strip())
    fails(bench, inner, out, UnknownSnapshot)


def test_a_damaged_object(bench: Bench, out: Path) -> None:
    tree = bench.track()
    bench.close()
    blob = bench.git("rev-parse", f"{tree.hex()}:run").decode().strip()
    loose = Path(bench.store, "objects", blob[:2], blob[2:])
    loose.chmod(0o600)
    loose.write_bytes(b"damaged")
    bench.open()
    assert fails(bench, tree, out, StoreCorrupt).data["object"] == blob


@pytest.mark.parametrize("name", [b"..", b"../out2", b".git", b""])
def test_a_forged_tree(bench: Bench, out: Path, name: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = bench.track()
    store = bench.workspace.store
    real = store.read_tree
    monkeypatch.setattr(store, "read_tree", lambda oid: (attrs.evolve(real(oid)[0], name=name),))
    before = sorted(out.parent.iterdir())
    fails(bench, tree, out, StoreCorrupt)
    assert sorted(out.parent.iterdir()) == before


@pytest.mark.parametrize("point", ["export.write", "export.make_directory"])
@pytest.mark.parametrize("nth", [1, 3])
@pytest.mark.parametrize(
    ("code", "kind"), [(errno.ENOSPC, StorageFull), (errno.EDQUOT, StorageFull), (errno.EILSEQ, IoError)]
)
def test_a_full_disk_or_a_name_that_it_cannot_hold(
    bench: Bench, out: Path, point: str, nth: int, code: int, kind: type[SnapdError]
) -> None:
    tree = bench.track()
    with at_failpoint(point, failing(code), nth):
        assert fails(bench, tree, out, kind).data["errno"] == errno.errorcode[code]
    export(bench, tree, out)


def test_a_disk_that_fills_up_within_a_file(bench: Bench, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = bench.track()
    real = os.write
    monkeypatch.setattr(os, "write", lambda at, data: real(at, data[:100]) if len(data) > 2000 else failing(28)())
    fails(bench, tree, out, StorageFull)


@pytest.mark.parametrize("after", [0, 4])
def test_a_cancelled_one(bench: Bench, out: Path, after: int) -> None:
    tree = bench.track()

    def report(_: str, done: int, total: int | None) -> None:
        assert total == 12
        if done == after:
            call.cancel()

    call = Call(report)
    fails(bench, tree, out, Cancelled, call)


# -- others at work in the same folder


def test_a_file_that_is_there_stays(bench: Bench, tmp_path: Path) -> None:
    tree = bench.track()
    out = tmp_path / "out"
    for name in ("a", "d/e/f", "to"):
        write(out, {name: b"mine\n"})
        with pytest.raises(IoError) as error:
            export(bench, tree, out, "a", "d", "to")
        assert (error.value.data["errno"], error.value.data["path"]) == ("EEXIST", str(out / name))
        assert {key: item for key, item in read(out).items() if item is not None} == {name: b"mine\n"}
        (out / name).unlink()


def test_a_file_that_somebody_puts_there_meanwhile_stays(bench: Bench, tmp_path: Path) -> None:
    tree = bench.track()
    out = tmp_path / "out"
    with at_failpoint("export.write", lambda: write(out, {"run": b"mine\n"}), 2), pytest.raises(IoError) as error:
        export(bench, tree, out)
    assert error.value.data["errno"] == "EEXIST"
    assert read(out) == {"run": b"mine\n"}


def test_a_file_that_somebody_puts_in_the_place_of_an_exported_one_stays(bench: Bench, tmp_path: Path) -> None:
    tree = bench.track()
    out = tmp_path / "out"

    def replace_and_fail() -> None:
        write(tmp_path, {"mine": b"mine\n"})
        os.replace(tmp_path / "mine", out / "a")
        failing(errno.EIO)()

    with at_failpoint("export.write", replace_and_fail, 5), pytest.raises(IoError):
        export(bench, tree, out)
    assert read(out) == {"a": b"mine\n"}


@pytest.mark.parametrize("target", ["elsewhere", "elsewhere/no such folder"])
def test_no_link_in_the_way_is_followed(bench: Bench, tmp_path: Path, target: str) -> None:
    tree = bench.track()
    out, elsewhere = tmp_path / "out", tmp_path / "elsewhere"
    elsewhere.mkdir()
    out.mkdir()
    (out / "d").symlink_to(tmp_path / target)
    with pytest.raises(IoError):
        export(bench, tree, out, "a", "d")
    assert os.listdir(elsewhere) == []
    assert os.listdir(out) == ["d"]


def test_a_folder_that_is_moved_away_meanwhile_is_still_the_one(bench: Bench, tmp_path: Path) -> None:
    """The files go where the folder is, not to whatever has its name."""
    tree = bench.track()
    out, elsewhere = tmp_path / "out", tmp_path / "elsewhere"
    elsewhere.mkdir()

    def swap() -> None:
        out.rename(tmp_path / "moved")
        out.symlink_to(elsewhere)

    with at_failpoint("export.write", swap, 3):
        export(bench, tree, out)
    assert os.listdir(elsewhere) == []
    assert git_tree_hash(tmp_path, read(tmp_path / "moved")) == tree


def test_what_could_not_be_removed_is_told(bench: Bench, tmp_path: Path) -> None:
    tree = bench.track()
    out = tmp_path / "out"

    def come_and_fail() -> None:
        write(out, {"d/mine": b"mine\n"})
        failing(errno.EIO)()

    with at_failpoint("export.write", come_and_fail, 7), pytest.raises(IoError) as error:
        export(bench, tree, out)
    assert f"; and {out}/d, which was written before, could not be removed" in error.value.message
    assert error.value.message.startswith(f"{out}/large: ")
    assert str(out) in error.value.hint
    assert read(out) == {"d/mine": b"mine\n"}

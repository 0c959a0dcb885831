"""What restore and revert do to files: tables of cases, checked on disk."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import pytest

from snapd.core.operations.runner import OperationOptions
from snapd.model.call import Call
from snapd.model.errors import Cancelled, PathOutsideWorkspace, StorageFull, UnknownSnapshot
from snapd.worktree.apply import applier as apply
from snapd.worktree.apply.files import NewFiles
from tests.support.failures import killed_at
from tests.support.git import run_git
from tests.support.workspace import Bench, Executable, Items, Symlink, make, outcomes, without_rights, write

THEN: Items = {"a": b"1", "d/b": b"2", "d/e/f": b"3", "run": Executable(b"#!"), "to": Symlink("a"), "nil/": None}

SWAPS: dict[str, tuple[Items, Items]] = {
    "everything gone": (THEN, {}),
    "everything new": ({}, THEN),
    "contents": (THEN, {**THEN, "a": b"x", "d/e/f": b""}),
    "modes": (THEN, {**THEN, "a": Executable(b"1"), "run": b"#!"}),
    "file to directory": (THEN, {**THEN, "a": None} | {"a/x": b"1", "a/y/z": b"2"}),
    "file to empty directory": (THEN, {name: item for name, item in THEN.items() if name != "a"} | {"a/": None}),
    "file to nested empty directories": ({"a": b"1", "b": b""}, {"a/b/c/": None, "a/d/": None, "b": b""}),
    "directory to file": (THEN, {"d": b"now a file"}),
    "directory to symlink": (THEN, {"d": Symlink("nil"), "nil/": None}),
    "symlink to directory": (THEN, {"to/x": b"1"}),
    "symlink to file": (THEN, {"to": b"a"}),
    "file to symlink": (THEN, {"a": Symlink("d/b"), "d/b": b"2"}),
    "symlink elsewhere": (THEN, {**THEN, "to": Symlink("/etc/passwd")}),
    "empty directory to file": (THEN, {"nil": b"x"}),
    "empty directory filled": (THEN, {"nil/x": b"x"}),
    "empty directories come": ({"a": b""}, {"a": b"1", "x/y/z/": None, "x/w/": None}),
    "empty directories go": ({"a": b"1", "x/y/z/": None, "x/w/": None}, {"a": b""}),
    "an empty directory emptied of files": ({"a": b"", "x/": None}, {"a": b"", "x/y/z": b"1"}),
    "deep directories": ({"a/b/c/d/e": b"1"}, {"a": b"1"}),
    "odd names": ({"-\n": b"1", "\udcff": b"2", "n" * 255: b"3", "*": b""}, {"-\n": b"x", "n" * 255: b""}),
    "names that lie near each other": ({"a": b"1", "a.b": b"2", "a-b": b"3"}, {"a/b": b"1", "a.b/c": b"2", "a-b": b""}),
    "a rule file goes": ({".gitignore": b"*.log\n", "a": b""}, {"a": b"1"}),
}


def plain(items: Items) -> Items:
    return {name: item for name, item in items.items() if item is not None or name.endswith("/")}


@pytest.mark.parametrize(("then", "now"), SWAPS.values(), ids=SWAPS.keys())
@pytest.mark.parametrize("ask", ["restore", "restore in a new process", "revert"])
def test_back_and_forth(tmp_path: Path, then: Items, now: Items, ask: str) -> None:
    then, now = plain(then), plain(now)
    bench = make(tmp_path, then)
    before = bench.track()
    bench.become(now)
    after = bench.track()
    for goal, items in ((before, then), (after, now), (before, then)):
        if ask == "restore in a new process":
            bench.reopen()
        captured = bench.track()
        if ask == "revert":
            files = [os.fsdecode(change.path) for change in bench.workspace.comparison.changed(goal, None, Call())]
            result = bench.revert((goal, files))
            wanted = {name: item for name, item in items.items() if item is not None}
            found = {name: item for name, item in bench.read().items() if item is not None}
        else:
            result = bench.restore(goal)
            wanted, found = dict(items), bench.read()
        assert found == wanted
        assert set(outcomes(result).values()) <= {"restored", "deleted"}
        assert (result.applied, result.before, result.after) == (True, captured, goal)
        assert bench.track() == goal
    assert not [name for name in bench.read() if "snapd" in name]


def test_a_dry_run_says_the_same_and_does_nothing(tmp_path: Path) -> None:
    bench = make(tmp_path, {"a": b"1", "b": b"2", "x/y": b""})
    tree = bench.track()
    bench.become({"a": b"1!", "c": b"3", "x": b"file"})
    last = bench.track()
    found = bench.read()
    dry = bench.restore(tree, dry_run=True)
    assert (dry.applied, dry.before, dry.after) == (False, last, last)
    assert bench.read() == found
    assert outcomes(bench.restore(tree)) == outcomes(dry)
    assert outcomes(dry) == {"a": "restored", "b": "restored", "c": "deleted", "x": "deleted", "x/y": "restored"}


def test_nothing_to_do_is_applied(tmp_path: Path) -> None:
    bench = make(tmp_path, {"a": b"1"})
    tree = bench.track()
    found = bench.restore(tree)
    assert (found.applied, found.before, found.after, found.files) == (True, tree, tree, ())
    assert outcomes(bench.revert((tree, ["a", "never"]))) == {"a": "unchanged", "never": "unchanged"}


def test_unchanged_files_are_not_touched(tmp_path: Path) -> None:
    bench = make(tmp_path, {"same": b"1", "d/same": b"2", "d/new": b"3", "link": Symlink("x")})
    tree = bench.track()
    kept = {name: os.lstat(bench.path(name)) for name in ("same", "d/same", "link")}
    bench.write({"d/new": b"changed", "extra": b""})
    bench.restore(tree)
    for name, status in kept.items():
        now = os.lstat(bench.path(name))
        assert (now.st_ino, now.st_mtime_ns, now.st_ctime_ns) == (status.st_ino, status.st_mtime_ns, status.st_ctime_ns)


def test_before_brings_back_what_was_there(tmp_path: Path) -> None:
    bench = make(tmp_path, {"a": b"1"})
    tree = bench.track()
    unsaved: Items = {"a": b"never tracked", "b/c": Executable(b"x"), "e/": None}
    bench.become(unsaved)
    result = bench.restore(tree)
    assert bench.read() == {"a": b"1"}
    bench.restore(result.before)
    assert bench.read() == unsaved


# -- what may be deleted, and what may be written over


@attrs.frozen
class Case:
    """A snapshot is taken of `then`; of `now`, `kept` has to survive a restore of it.

    Attributes:
        then: the files of the snapshot.
        now: what is put over them; `None` under a plain name takes it away.
        kept: what else there is after the restore than the snapshot has, by what the restore says of it.
        missing: what the snapshot has and the restore could not bring back, likewise.
        excluded: patterns in the user's global excludes.
        held: names added to the user's git index before the snapshot.
        limit: the size limit while the snapshot is taken.
    """

    then: Items
    now: Items
    kept: dict[str, str | None] = attrs.field(factory=dict)
    missing: dict[str, str] = attrs.field(factory=dict)
    excluded: bytes = b""
    info: bytes = b""
    held: tuple[str, ...] = ()
    own: tuple[str, ...] = ()
    limit: int = 1000


CASES = {
    "ignored now": Case({"a": b""}, {".gitignore": b"*.log\n", "x.log": b"1"}, {"x.log": None}),
    "ignored in both": Case({".gitignore": b"x\n", "x": b"1"}, {"x": b"2"}, {"x": None}),
    "ignored then": Case({".gitignore": b"*.log\n", "x.log": b"1"}, {".gitignore": b""}, {"x.log": "kept:ignored"}),
    "new and never ignored": Case({".gitignore": b"*.log\n"}, {".gitignore": b"", "x.txt": b"1"}),
    "ignored then, in a folder": Case(
        {".gitignore": b"build/\n", "build/x": b"1", "build/y/z": b"2"},
        {".gitignore": b""},
        {"build/x": "kept:ignored", "build/y/z": "kept:ignored"},
    ),
    "ignored then, by a file further down": Case(
        {"d/.gitignore": b"/only\n", "d/only": b"1", "d/e/x": b""},
        {"d/.gitignore": b"", "d/e/only": b"2"},
        {"d/only": "kept:ignored"},
    ),
    "included again further down": Case(
        {".gitignore": b"*.log\n", "d/.gitignore": b"!*.log\n", "d/a": b"", "x.log": b"1"},
        {".gitignore": b"", "d/x.log": b"2"},
        {"x.log": "kept:ignored"},
    ),
    "included again in the same file": Case(
        {".gitignore": b"*.log\n!keep.log\n", "a.log": b"1"},
        {".gitignore": b"", "keep.log": b"2"},
        {"a.log": "kept:ignored"},
    ),
    "a rule file that is itself ignored": Case(
        {".gitignore": b".gitignore\nx\n", "d/.gitignore": b"y\n", "x": b"1", "d/y": b"2", "d/a": b""},
        {".gitignore": b"", "d/.gitignore": b""},
        {"x": "kept:ignored", "d/y": "kept:ignored", ".gitignore": "kept:ignored", "d/.gitignore": "kept:ignored"},
    ),
    "rule file gone since": Case({".gitignore": b"x\n", "x": b"1"}, {".gitignore": None}, {"x": "kept:ignored"}),
    "info/exclude": Case({"x": b"1", "a": b""}, {}, {"x": None}, info=b"x\n"),
    "global excludes": Case({"x": b"1", "a": b""}, {}, {"x": None}, excluded=b"x\n"),
    "own excludes": Case({"x": b"1", "a": b""}, {}, {"x": None}, own=("x",)),
    "the workspace's own file": Case(
        {".snapd.toml": b"exclude = ['x']\n", "x": b"1", "a": b""}, {".snapd.toml": b""}, {"x": "kept:ignored"}
    ),
    "too large then, and shrunk": Case({"x": b"1" * 1001}, {"x": b"1"}, {"x": "kept:tooLarge"}),
    "too large now": Case({"x": b"1"}, {"x": b"1" * 1001}, {"x": None}, {"x": "skipped:tooLarge"}),
    "new and too large": Case({"a": b"1"}, {"x": b"1" * 1001}, {"x": None}),
    "a name that git refuses": Case({"a": b"1"}, {"d/.GIT/x": b"1"}, {"d/.GIT/x": None}),
    "held by the index though ignored": Case(
        {".gitignore": b"x\n", "x": b"1", "y": b""}, {"x": b"2", "y": b"3"}, held=("x",)
    ),
    "an ignored file where one is to be": Case({"x": b"1"}, {".gitignore": b"x\n", "x": b"2"}),
    "an ignored file where a folder is to be": Case(
        {"x/y": b"1"}, {"x/y": None, ".gitignore": b"/x\n", "x": b"2"}, {"x": None}, {"x/y": "skipped:ignored"}
    ),
    "an ignored folder where a file is to be": Case(
        {"x": b"1"}, {"x": None, ".gitignore": b"x\n", "x/y": b"2"}, {"x/y": None}, {"x": "skipped:ignored"}
    ),
    "a folder with ignored contents where a file is to be": Case(
        {".gitignore": b"*.log\n", "x": b"1"},
        {"x": None, "x/a": b"2", "x/a.log": b"3"},
        {"x/a.log": None},
        {"x": "skipped:directoryNotEmpty"},
    ),
    "an ignored symlink where a folder is to be": Case(
        {"x/y": b"1"}, {"x/y": None, ".gitignore": b"/x\n", "x": Symlink("/")}, {"x": None}, {"x/y": "skipped:ignored"}
    ),
    "a file in a folder that is ignored by now": Case(
        {"x/y": b"1"}, {"x/y": None, ".gitignore": b"x/\n", "x/z": b"2"}, {"x/z": None}
    ),
    "emptied folders go": Case({"a": b""}, {"x/y/z": b"1", "x/w": b""}),
    "but not those with ignored contents": Case(
        {".gitignore": b"*.log\n"}, {"x/y/z": b"1", "x/w.log": b""}, {"x/w.log": None}
    ),
    "nor those with too large contents": Case({"a": b""}, {"x/y/z": b"1", "x/w": b"1" * 1001}, {"x/w": None}),
    "nor those with a repository in them": Case({"a": b""}, {"x/y": b"1", "x/.git/config": b""}, {}),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_what_a_restore_spares(tmp_path: Path, case: Case) -> None:
    write(tmp_path / "home", {".config/git/ignore": case.excluded})
    bench = make(tmp_path, case.then, git=True)
    write(bench.root, {".git/info/exclude": case.info})
    if case.held:
        run_git(bench.root, "add", "-f", *case.held)
    bench.configure(*case.own, max_file_size=case.limit)
    tree = bench.track()
    captured = {name: item for name, item in bench.read().items() if name in bench.names(tree)}
    if case.excluded or case.info or case.own:
        # the patterns of then are gone
        write(tmp_path / "home", {".config/git/ignore": b""})
        write(bench.root, {".git/info/exclude": b""})
        bench.configure(max_file_size=case.limit)
    bench.remove(*(name for name, item in case.now.items() if item is None))
    for name, item in case.now.items():
        if item is None and "/" in name and not os.listdir(os.path.dirname(bench.path(name))):
            os.rmdir(os.path.dirname(bench.path(name)))
    bench.write({name: item for name, item in case.now.items() if item is not None})
    standing = bench.read()
    result = bench.restore(tree)
    said = {name: word for name, word in outcomes(result).items() if word not in ("restored", "deleted")}
    excused = {name: word for name, word in case.kept.items() if word is not None} | case.missing
    if not (case.excluded or case.info or case.own):
        assert said == excused
    kept = {name: standing[name] for name in case.kept}
    wanted = {name: item for name, item in captured.items() if name not in case.missing}
    assert bench.read() == {**wanted, **kept}
    if "x/.git/config" in case.now:
        assert os.path.exists(bench.path("x/.git/config"))


def test_forced_paths_come_and_go_with_their_snapshot(tmp_path: Path) -> None:
    bench = make(tmp_path, {".gitignore": b"env\nout/\n", "env": b"1", "out/a": b"1", "out/b/c": b"2"})
    with_all = bench.track("env", "out")
    bench.write({"env": b"2", "out/a": b"2", "out/new": b"3"})
    bench.track()
    bench.restore(with_all)
    assert bench.read() == {".gitignore": b"env\nout/\n", "env": b"1", "out/a": b"1", "out/b/c": b"2"}
    bench.remove("env")
    without = bench.track("env", "out")
    bench.write({"env": b"4"})
    bench.restore(without)
    assert "env" not in bench.read()


# -- revert

REVERTS: dict[str, tuple[Items, Items, list[str], Items, dict[str, str]]] = {
    "only what is named": (
        {"a": b"1", "b": b"1"},
        {"a": b"2", "b": b"2", "c": b"2"},
        ["a"],
        {"a": b"1", "b": b"2", "c": b"2"},
        {"a": "restored"},
    ),
    "what was not there is deleted": ({"a": b"1"}, {"a": b"1", "d/c": b"2"}, ["d/c"], {"a": b"1"}, {"d/c": "deleted"}),
    "a folder stands for its files": (
        {"d/a": b"1", "d/b": b"1"},
        {"d/a": b"2", "d/c": b"2", "x": b""},
        ["d"],
        {"d/a": b"1", "d/b": b"1", "x": b""},
        {"d/a": "restored", "d/b": "restored", "d/c": "deleted"},
    ),
    "a file where a folder was": (
        {"d/a": b"1"},
        {"d": b"2"},
        ["d", "d/a"],
        {"d/a": b"1"},
        {"d": "deleted", "d/a": "restored"},
    ),
    "a file where a folder was, by that name alone": (
        {"d/a": b"1", "d/e/b": b"2"},
        {"d": b"2"},
        ["d"],
        {"d/a": b"1", "d/e/b": b"2"},
        {"d": "deleted", "d/a": "restored", "d/e/b": "restored"},
    ),
    "a symlink where a folder was, by that name alone": (
        {"d/a": b"1", "o/a": b"2"},
        {"d": Symlink("o"), "o/a": b"2"},
        ["d"],
        {"d/a": b"1", "o/a": b"2"},
        {"d": "deleted", "d/a": "restored"},
    ),
    "not unless it is named": ({"d/a": b"1"}, {"d": b"2"}, ["d/a"], {"d": b"2"}, {"d/a": "skipped:inTheWay"}),
    "a folder where a file was": (
        {"d": b"1"},
        {"d/a": b"2", "d/e/": None},
        ["d", "d/a"],
        {"d": b"1"},
        {"d": "restored", "d/a": "deleted"},
    ),
    "named by its old name alone": (
        {"d": b"1"},
        {"d/a": b"2"},
        ["d"],
        {"d": b"1"},
        {"d": "restored", "d/a": "deleted"},
    ),
    "an empty folder where a file was": ({"d": b"1"}, {"d/": None}, ["d"], {"d": b"1"}, {"d": "restored"}),
    "a symlink where a folder was": (
        {"d/a": b"1", "o/": None},
        {"d": Symlink("o"), "o/": None},
        ["d/a"],
        {"d/a": b"1", "o/": None},
        {"d": "deleted", "d/a": "restored"},
    ),
    "a symlink above, twice": (
        {"d/e/a": b"1", "d/b": b""},
        {"d": Symlink("/")},
        ["d/e/a"],
        {"d/e/a": b"1"},
        {"d": "deleted", "d/e/a": "restored"},
    ),
    "a symlink that was": ({"a": Symlink("x")}, {"a": b"2"}, ["a"], {"a": Symlink("x")}, {"a": "restored"}),
    "the same twice": ({"a": b"1"}, {"a": b"2"}, ["a", "a"], {"a": b"1"}, {"a": "restored"}),
    "neither then nor now": ({"a": b"1"}, {"a": b"2"}, ["x/y"], {"a": b"2"}, {"x/y": "unchanged"}),
}


@pytest.mark.parametrize(("then", "now", "names", "wanted", "said"), REVERTS.values(), ids=REVERTS.keys())
def test_reverts(
    tmp_path: Path, then: Items, now: Items, names: list[str], wanted: Items, said: dict[str, str]
) -> None:
    bench = make(tmp_path, then)
    tree = bench.track()
    bench.become(now)
    bench.track()
    assert outcomes(bench.revert((tree, names), dry_run=True)) == said
    assert outcomes(bench.revert((tree, names))) == said
    assert bench.read() == wanted


def test_a_path_through_a_symlink_is_refused(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    write(outside, {"a": b"theirs"})
    bench = make(tmp_path, {"b": b"1"})
    tree = bench.track()
    bench.write({"link": Symlink(str(outside)), "b": b"2"})
    bench.track()
    for _ in range(2):
        with pytest.raises(PathOutsideWorkspace):
            bench.revert((tree, ["b", "link/a"]))
        assert bench.read()["b"] == b"2"
        # nor through one that is ignored
        bench.write({".gitignore": b"link\n"})
    assert (outside / "a").read_bytes() == b"theirs"


def test_the_first_patch_wins(tmp_path: Path) -> None:
    bench = make(tmp_path, {"a": b"1", "x": b"file"})
    one = bench.track()
    bench.become({"a": b"2", "x/y": b"folder"})
    two = bench.track()
    bench.become({"a": b"3"})
    bench.track()
    assert outcomes(bench.revert((one, ["a", "x"]), (two, ["a", "x/y"]))) == {
        "a": "restored",
        "x": "restored",
        "x/y": "skipped:clash",
    }
    assert bench.read() == {"a": b"1", "x": b"file"}
    bench.become({"a": b"3"})
    assert outcomes(bench.revert((two, ["x/y"]), (one, ["x", "a"]))) == {
        "a": "restored",
        "x": "skipped:clash",
        "x/y": "restored",
    }
    assert bench.read() == {"a": b"1", "x/y": b"folder"}


def test_a_hash_of_another_workspace(tmp_path: Path) -> None:
    bench = make(tmp_path / "one", {"a": b"1"})
    bench.track()
    other = make(tmp_path / "two", {"b": b"1"}).track()
    for ask in (lambda: bench.restore(other), lambda: bench.revert((other, ["a"])), lambda: bench.names(other)):
        with pytest.raises(UnknownSnapshot):
            ask()
    blob = run_git(tmp_path, "hash-object", str(bench.root / "a")).decode().strip()
    with pytest.raises(UnknownSnapshot):
        bench.restore(bytes.fromhex(blob))


# -- modes, links, errors


MODES = [
    # of the file that is replaced, in the snapshot executable, after
    (0o644, True, 0o755),
    (0o600, False, 0o600),
    (0o600, True, 0o700),
    (0o640, True, 0o750),
    (0o666, False, 0o644),
    (0o777, False, 0o644),
    (0o4755, True, 0o755),
    (0o444, True, 0o755),
    (0o040, False, 0o640),
]


@pytest.mark.parametrize(("replaced", "executable", "after"), MODES)
def test_modes_are_never_wider_for_others(tmp_path: Path, replaced: int, executable: bool, after: int) -> None:
    bench = make(tmp_path, {"a": Executable(b"1") if executable else b"1"})
    tree = bench.track()
    bench.write({"a": b"2"})
    os.chmod(bench.path("a"), replaced)
    bench.restore(tree)
    assert os.stat(bench.path("a")).st_mode & 0o7777 == after


def test_modes_of_new_files(tmp_path: Path) -> None:
    bench = make(tmp_path, {"a": b"1", "d/run": Executable(b"1")})
    os.chmod(bench.path("a"), 0o4666)
    os.chmod(bench.path("d/run"), 0o2777)
    tree = bench.track()
    bench.become({})
    bench.restore(tree)
    assert os.stat(bench.path("a")).st_mode & 0o7777 == 0o666
    assert os.stat(bench.path("d/run")).st_mode & 0o7777 == 0o777


def test_a_hard_link_is_replaced_not_written_through(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    bench = make(tmp_path, {"a": b"1"})
    tree = bench.track()
    outside.write_bytes(b"theirs")
    os.unlink(bench.path("a"))
    os.link(outside, bench.path("a"))
    bench.restore(tree)
    assert bench.read() == {"a": b"1"}
    assert outside.read_bytes() == b"theirs"


def no_space(monkeypatch: pytest.MonkeyPatch, after: int) -> None:
    real, left = os.write, [after]

    def full(descriptor: int, data: bytes) -> int:
        if ".snapd-tmp-" not in os.readlink(f"/proc/self/fd/{descriptor}"):
            return real(descriptor, data)
        if left[0] <= 0:
            raise OSError(28, "No space left on device")
        written = real(descriptor, data[: left[0]])
        left[0] -= written
        return written

    monkeypatch.setattr(apply.os, "write", full)


@pytest.mark.parametrize("after", [0, 5, 25])
def test_no_space_leaves_everything_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, after: int) -> None:
    bench = make(tmp_path, {"a": b"1" * 10, "d/b": b"2" * 10, "e/f/g": b"3" * 10, "z/": None})
    tree = bench.track()
    now: Items = {"a": b"x", "d": b"now a file", "new": b"1"}
    bench.become(now)
    no_space(monkeypatch, after)
    with pytest.raises(StorageFull):
        bench.restore(tree)
    assert bench.read() == now
    assert sorted(os.listdir(bench.root)) == ["a", "d", "new"]
    monkeypatch.undo()
    bench.restore(tree)
    assert bench.track() == tree


def test_no_space_among_many_that_are_written_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = make(tmp_path, {f"d{at % 7}/f{at}": b"1" * 10 for at in range(60)})
    tree = bench.track()
    now: Items = {f"d{at % 7}/f{at}": b"x" for at in range(60)}
    bench.become(now)
    no_space(monkeypatch, 300)
    with pytest.raises(StorageFull):
        bench.restore(tree)
    assert bench.read() == now
    monkeypatch.undo()
    bench.restore(tree)
    assert bench.track() == tree


def test_cancelled_while_many_are_written_at_once(tmp_path: Path) -> None:
    bench = make(tmp_path, {f"d{at % 7}/f{at}": b"1" * 10 for at in range(60)})
    tree = bench.track()
    now: Items = {f"d{at % 7}/f{at}": b"x" for at in range(60)}
    bench.become(now)

    def report(message: str, done: int, _: int | None) -> None:
        if message == "preparing" and done == 20:
            call.cancel()

    call = Call(report)
    with pytest.raises(Cancelled):
        bench.workspace.snapshots.restore(tree, OperationOptions("overwrite", True, False), call)
    assert bench.read() == now


# -- what changes between the plan and its execution

Happens = Callable[[Bench], None]
MEANWHILE: dict[str, tuple[Happens, str, Items]] = {
    "written": (lambda bench: bench.write({"a": b"user"}), "a", {"a": b"user"}),
    "deleted": (lambda bench: bench.remove("a"), "a", {}),
    "replaced by a folder": (lambda bench: (bench.remove("a"), bench.write({"a/x": b"u"}))[0], "a", {"a/x": b"u"}),
    "to be deleted, and written": (lambda bench: bench.write({"new": b"user"}), "new", {"a": b"1", "new": b"user"}),
    "to be made, and made": (lambda bench: bench.write({"d/gone": b"user"}), "d/gone", {"a": b"1", "d/gone": b"user"}),
}


@pytest.mark.parametrize(("happens", "name", "wanted"), MEANWHILE.values(), ids=MEANWHILE.keys())
@pytest.mark.parametrize("moment", ["planned", "staged"])
def test_what_changes_meanwhile_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, happens: Happens, name: str, wanted: Items, moment: str
) -> None:
    bench = make(tmp_path, {"a": b"1", "d/gone": b"1"})
    tree = bench.track()
    bench.become({"a": b"2", "new": b"2"})
    if moment == "planned":
        real = apply.Applier.apply
        monkeypatch.setattr(apply.Applier, "apply", lambda *args: (happens(bench), real(*args))[1])
    else:
        stage = apply.Applier.stage

        def staging(self: apply.Applier, write: object, leaving: object, staged: object) -> None:
            stage(self, write, leaving, staged)
            if write.path == b"d/gone":
                happens(bench)

        monkeypatch.setattr(apply.Applier, "stage", staging)
    result = bench.restore(tree)
    said = outcomes(result)
    assert said.pop(name) in ("conflict:changedMeanwhile", "failed:inTheWay")
    assert set(said.values()) <= {"restored", "deleted"}
    assert bench.read() == {"d/gone": b"1", **wanted}
    assert not [path for path in bench.root.rglob("*") if "snapd" in path.name]
    monkeypatch.undo()
    bench.restore(result.after)
    assert bench.read() == {"d/gone": b"1", **wanted}


@pytest.mark.parametrize(
    ("name", "path"),
    [("a", "a"), ("d/b", "d/b"), ("d/b", "d"), ("a", "a/x"), ("d/b", "d/b/x/y")],
    ids=["a file", "one in a folder", "the folder", "below what is a file", "further below"],
)
@pytest.mark.parametrize("kind", ["fifo", "empty folder"])
def test_what_takes_its_place_at_once_does_not_count_as_part_of_the_snapshot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, path: str, kind: str
) -> None:
    """The state that the operation alone would have left has the snapshot's hash: it must lead there ever after."""
    items: Items = {"a": b"1", "d/b": b"1", "kept": b""}
    bench = make(tmp_path, items)
    tree = bench.track()
    bench.become({name: b"2", "kept": b""})
    real = apply.Applier.apply

    def applying(*args: Any) -> Any:
        done = real(*args)
        for folder in (name, path):
            if os.path.lexists(bench.path(folder)):
                bench.remove(folder)
        os.makedirs(os.path.dirname(bench.path(path)), exist_ok=True)
        (os.mkfifo if kind == "fifo" else os.mkdir)(bench.path(path))
        return done

    with monkeypatch.context() as patch:
        patch.setattr(apply.Applier, "apply", applying)
        bench.restore(tree)
    bench.become({"kept": b"", path: b"later"})
    assert set(outcomes(bench.restore(tree)).values()) <= {"restored", "deleted"}
    assert bench.read() == items


def test_a_forced_file_that_was_not_there_is_deleted_each_time(tmp_path: Path) -> None:
    bench = make(tmp_path, {".gitignore": b"env\n"})
    tree = bench.track("env")
    for text in (b"4", b"5"):
        bench.write({"env": text})
        assert outcomes(bench.restore(tree)) == {"env": "deleted"}


def test_an_empty_folder_that_somebody_fills_at_once_comes_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = make(tmp_path, {"a": b"1", "empty/": None})
    tree = bench.track()
    bench.write({"a": b"2"})
    real = apply.Applier.apply

    def applying(*args: Any) -> Any:
        done = real(*args)
        bench.write({"empty/theirs": b"user"})
        return done

    with monkeypatch.context() as patch:
        patch.setattr(apply.Applier, "apply", applying)
        bench.restore(tree)
    bench.become({"a": b"1"})
    bench.restore(tree)
    assert os.listdir(bench.path("empty")) == []


def test_a_folder_that_became_unreadable_holds_up_no_recovery() -> None:
    with without_rights() as folder:
        bench = make(folder, {"a": b"1", "d/b": b"1"})
        tree = bench.track()
        bench.write({"a": b"2"})
        with killed_at("writer.conclude"):
            bench.restore(tree)
        bench.reopen()
        os.chmod(bench.path("d"), 0)
        assert [skip.path for skip in bench.take().skipped] == [b"d"]
        os.chmod(bench.path("d"), 0o700)
        assert bench.track() == tree


def test_a_file_below_an_unreadable_folder_holds_up_no_other() -> None:
    with without_rights() as folder:
        bench = make(folder, {"a": b"1", "d/e/f": b"1"})
        tree = bench.track()
        bench.write({"a": b"2"})
        os.chmod(bench.path("d"), 0)
        expected = {"a": "restored", "d/e/f": "skipped:unreadable"}
        assert outcomes(bench.revert((tree, ["a", "d/e/f"]))) == expected


def test_what_was_left_aside_in_a_folder_that_is_read_only_by_now_holds_up_no_recovery(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with without_rights() as folder:
        bench = make(folder, {"d/b": b"1"})
        tree = bench.track()
        bench.write({"d/b": b"2"})
        with monkeypatch.context() as patch:
            patch.setattr(NewFiles, "discard", lambda *_: None)
            with killed_at("apply.move"):
                bench.restore(tree)
        bench.reopen()
        os.chmod(bench.path("d"), 0o500)
        now = bench.track()
        assert bench.names(now) == ["d/b"]
        os.chmod(bench.path("d"), 0o700)
        bench.restore(tree)
        assert bench.track() == tree


def test_a_folder_swapped_for_a_symlink_leads_nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    outside = tmp_path / "outside"
    write(outside, {"b": b"theirs", "new": b"theirs"})
    bench = make(tmp_path, {"d/b": b"1"})
    tree = bench.track()
    bench.become({"d/b": b"2", "d/new": b"2"})
    commit = apply.Applier.delete

    def swap(self: apply.Applier, delete: object) -> None:
        if not os.path.islink(bench.path("d")):
            os.rename(bench.path("d"), bench.path("away"))
            os.symlink(outside, bench.path("d"))
        commit(self, delete)

    monkeypatch.setattr(apply.Applier, "delete", swap)
    said = outcomes(bench.restore(tree))
    assert set(said) == {"d/b", "d/new"}
    assert not {"restored", "deleted"} & set(said.values())
    assert {path.name: path.read_bytes() for path in outside.iterdir()} == {"b": b"theirs", "new": b"theirs"}


@pytest.mark.parametrize("what", ["fifo", "ignored", "too large"])
def test_an_empty_folder_that_cannot_be_made_is_foretold(tmp_path: Path, what: str) -> None:
    bench = make(tmp_path, {"kept": b"k", "d/e/": None})
    run_git(bench.root, "init", "--quiet")
    tree = bench.track()
    bench.remove("d")
    if what == "fifo":
        os.mkfifo(bench.path("d"))
    elif what == "ignored":
        bench.write({".git/info/exclude": b"/d\n", "d": b"the user's"})
    else:
        bench.configure(max_file_size=1000)
        bench.write({"d": bytes(2000)})
    expected_outcomes = outcomes(bench.restore(tree, dry_run=True))
    reason = {"fifo": "special", "ignored": "ignored", "too large": "tooLarge"}[what]
    assert expected_outcomes["d/e"] == f"skipped:{reason}"
    found = bench.read()
    assert outcomes(bench.restore(tree)) == expected_outcomes
    assert bench.read() == found

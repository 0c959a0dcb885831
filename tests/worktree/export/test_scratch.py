"""The folder that goes from one snapshot to the next: what of it stays, against what a fresh one would have."""

from __future__ import annotations

import os
import random
import shutil
import stat
from pathlib import Path

import pytest

from snapd.model.errors import IoError
from snapd.worktree import export as module
from snapd.worktree.export import Scratch
from snapd.worktree.fs import stable_read
from tests.support.workspace import Executable, Item, Items, Symlink, read, without_rights, write

FIRST: Items = {
    "a": b"1\n",
    "d/b": b"2\n",
    "d/e/f": b"3\n",
    "run": Executable(b"#!"),
    "to": Symlink("d/b"),
    "dir": Symlink("d"),
    "odd\udcff": b"4\n",
    "nil/": None,
}


class Exported:
    """A scratch folder that others export to, as the daemon does: files that are there already are an error."""

    def __init__(self, above: Path) -> None:
        self.scratch = Scratch(os.fsencode(above), b"project")
        self.path = Path(os.fsdecode(self.scratch.path))
        self.items: Items = {}

    def first(self, items: Items) -> None:
        self.path.mkdir()
        write(self.path, items)
        self.scratch.note(None)
        self.items = items

    def go_to(self, items: Items, *, keep: bool = False) -> set[str]:
        """Gives the files that were written for it."""
        names = self.items.keys() | items.keys()
        differing = [os.fsencode(name) for name in names if self.items.get(name) != items.get(name) and name[-1] != "/"]
        wrong = self.scratch.clear(differing, keep=keep)
        assert not [path for path in wrong if os.path.lexists(os.path.join(self.scratch.path, path))]
        written = {os.fsdecode(path) for path in wrong} & items.keys()
        self.path.mkdir(exist_ok=True)
        write(self.path, {name: item for name, item in items.items() if name in written or name.endswith("/")})
        self.scratch.note(wrong)
        self.items = items
        return written


@pytest.fixture
def made(tmp_path: Path) -> Exported:
    made = Exported(tmp_path)
    made.first(FIRST)
    return made


def inodes(folder: Path) -> dict[str, int]:
    return {name: os.lstat(folder / name).st_ino for name in read(folder) if not name.endswith("/")}


def test_it_is_private_and_has_the_name_of_the_project(tmp_path: Path) -> None:
    made = Exported(tmp_path)
    assert stat.S_IMODE(made.path.parent.stat().st_mode) == 0o700
    assert (made.path.name, made.path.parent.parent) == ("project", tmp_path)
    assert not made.path.exists()
    made.scratch.remove()
    assert os.listdir(tmp_path) == []


def test_only_what_differs_is_written(made: Exported) -> None:
    before = inodes(made.path)
    second: Items = {**FIRST, "a": b"new\n", "d/g": b"5\n", "run": b"#!"}
    assert made.go_to(second) == {"a", "d/g", "run"}
    assert read(made.path) == second
    same = FIRST.keys() - {"a", "run", "nil/"}
    assert {name: inodes(made.path)[name] for name in same} == {name: before[name] for name in same}
    assert made.go_to(second) == set()


def in_place(path: Path) -> None:
    """Writes as many bytes as before, and takes care that the times are as before, too."""
    found = path.stat()
    with path.open("r+b") as file:
        file.write(b"X")
    os.utime(path, ns=(found.st_atime_ns, found.st_mtime_ns))


SPOILED = {
    "written to": lambda it: (it / "d/b").write_bytes(b"other\n"),
    "written to without a trace but for the ctime": lambda it: in_place(it / "a"),
    "another one of this name": lambda it: (os.rename(it / "a", it / "x"), shutil.copy2(it / "x", it / "a")),
    "deleted": lambda it: (it / "d/e/f").unlink(),
    "a mode": lambda it: (it / "run").chmod(0o644),
    "a link elsewhere": lambda it: ((it / "to").unlink(), (it / "to").symlink_to("a")),
    "a link for a file": lambda it: ((it / "a").unlink(), (it / "a").symlink_to("d/b")),
    "a folder for a file": lambda it: ((it / "a").unlink(), write(it, {"a/x/y": b"made\n"})),
    "a file for a folder": lambda it: (shutil.rmtree(it / "d"), write(it, {"d": b"made\n"})),
    "a link for a folder": lambda it: (shutil.rmtree(it / "d"), (it / "d").symlink_to("/")),
    "an empty folder filled": lambda it: write(it, {"nil/x": b"made\n"}),
    "an empty folder gone": lambda it: (it / "nil").rmdir(),
    "new files": lambda it: write(it, {"x": b"made\n", "d/e/x/y": b"made\n", "z/": None}),
    "a fifo": lambda it: os.mkfifo(it / "d/fifo"),
    "a second name": lambda it: os.link(it / "a", it / "second"),
    "a folder's mode": lambda it: (it / "d").chmod(0o500),
    "beside it": lambda it: write(it.parent, {"beside/x": b"made\n"}),
    "all of it": shutil.rmtree,
    "a link for all of it": lambda it: (shutil.rmtree(it), it.symlink_to("/")),
    "a file for all of it": lambda it: (shutil.rmtree(it), it.write_bytes(b"")),
}


@pytest.mark.parametrize("spoil", SPOILED.values(), ids=SPOILED.keys())
@pytest.mark.parametrize("young", [False, True])
@pytest.mark.parametrize("second", [FIRST, {"a": b"1\n", "d": b"now a file\n", "nil/x": b""}, {}])
def test_what_a_command_spoils_is_put_right(
    made: Exported, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spoil: object, young: bool, second: Items
) -> None:
    if young:
        # as on a file system that counts time in hours: no signature tells anything
        monkeypatch.setattr(module, "is_racy", lambda *_: True)
        monkeypatch.setattr(stable_read, "is_racy", lambda *_: True)
        made.scratch.note([os.fsencode(name) for name in FIRST if not name.endswith("/")])
    modes = {name: (made.path / name).stat().st_mode for name in ("d", "d/e")}
    spoil(made.path)  # type: ignore[operator]
    made.go_to(second)
    assert read(made.path) == second
    assert os.listdir(made.path.parent) == ["project"]
    if second is FIRST:
        assert {name: (made.path / name).stat().st_mode for name in modes} == modes
    made.scratch.remove()
    assert os.listdir(tmp_path) == []


def test_a_write_that_leaves_the_signature_as_it_was_shows_while_the_file_is_young(
    made: Exported, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As within one tick of the clock that the file system takes its times from."""
    path = made.path / "a"
    noted = path.stat()
    monkeypatch.setattr(module, "is_racy", lambda *_: True)
    made.scratch.note([b"a"])
    path.write_bytes(b"2\n")
    frozen = module.signature(noted)
    real = module.signature
    monkeypatch.setattr(module, "signature", lambda status: frozen if status.st_ino == noted.st_ino else real(status))
    assert made.scratch.clear([], keep=False) == {b"a"}


def test_a_file_is_read_only_as_long_as_it_is_young(made: Exported, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "is_racy", lambda *_: True)
    made.scratch.note([b"a"])
    monkeypatch.setattr(stable_read, "is_racy", lambda *_: False)
    read_now: list[bytes] = []
    real = module.read_stable

    def counted(directory: int, name: bytes, *rest: object) -> object:
        read_now.append(name)
        return real(directory, name, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(module, "read_stable", counted)
    assert made.scratch.clear([], keep=False) == set()
    assert b"a" in read_now
    read_now.clear()
    assert made.scratch.clear([], keep=False) == set()
    assert read_now == []


def test_what_commands_made_is_kept_where_that_is_asked_for(made: Exported) -> None:
    built: Items = {
        "out/x": b"built\n",
        "d/y.o": b"built\n",
        "out/empty/": None,
        "early": b"built\n",
        "way": b"built\n",
    }
    write(made.path, built)
    (made.path / "a").write_bytes(b"spoiled\n")
    second: Items = {"a": b"1\n", "early": b"now of the snapshot\n", "way/z": b"6\n", "d/e/f": b"3\n"}
    assert made.go_to(second, keep=True) == {"a", "early", "way/z"}
    kept = {name: built[name] for name in ("out/x", "d/y.o", "out/empty/")}
    assert read(made.path) == {**second, **kept}
    # and from there to one without most of it
    made.go_to({"d/b": b"2\n"}, keep=True)
    assert read(made.path) == {"d/b": b"2\n", **kept}
    made.go_to({"d/b": b"2\n"})
    assert read(made.path) == {"d/b": b"2\n"}


@pytest.mark.parametrize("seed", range(12))
def test_random_commands_on_random_snapshots(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    names = ["a", "b", "d/a", "d/b", "d/d/a", "b/c", "d/d/b/x"]

    def some() -> dict[str, Item]:
        items: dict[str, Item] = {}
        for name in chance.sample(names, chance.randint(0, 5)):
            clashes = any(other.startswith(name + "/") or name.startswith(other + "/") for other in items)
            if not clashes:
                choices: list[Item] = [b"1", b"2", Executable(b"1"), Symlink("d")]
                items[name] = chance.choice(choices)
        return items

    made = Exported(tmp_path)
    made.first(some())
    for _ in range(25):
        for _ in range(chance.randint(0, 4)):
            path = made.path / chance.choice(names)
            found = sorted(made.path.rglob("*"))
            if chance.random() < 0.5 and found:
                gone = chance.choice(found)
                if gone.is_dir() and not gone.is_symlink():
                    shutil.rmtree(gone)
                else:
                    gone.unlink(missing_ok=True)
            elif made.path.is_dir() and not any(above.is_symlink() or above.is_file() for above in path.parents):
                path.parent.mkdir(parents=True, exist_ok=True)
                if not path.is_dir():
                    path.write_bytes(chance.choice([b"1", b"2", b"3"]))
        items = some()
        made.go_to(items)
        assert read(made.path) == items


def test_folders_without_rights_keep_nothing_from_being_removed() -> None:
    with without_rights() as folder:
        made = Exported(folder)
        made.first(FIRST)
        write(made.path, {"closed/in/x": b"made\n"})
        for name in ("closed/in", "closed", "d/e", "d"):
            (made.path / name).chmod(0)
        made.go_to(FIRST)
        assert read(made.path) == FIRST
        (made.path / "d").chmod(0)
        made.scratch.remove()
        assert os.listdir(folder) == []


def test_deep_folders(made: Exported, tmp_path: Path) -> None:
    descriptor = os.open(made.path, os.O_RDONLY)
    for _ in range(1500):
        os.mkdir("d" * 10, dir_fd=descriptor)
        below = os.open("d" * 10, os.O_RDONLY, dir_fd=descriptor)
        os.close(descriptor)
        descriptor = below
    os.close(descriptor)
    made.go_to(FIRST)
    assert read(made.path) == FIRST


def test_one_more_file_of_who_still_writes_into_it_goes_too(
    made: Exported, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As an export that is being cancelled may."""
    real = os.rmdir
    late = [b"late/x", b"later"]

    def write_first(path: bytes, **how: int) -> None:
        if late:
            write(made.path.parent, {os.fsdecode(late.pop()): b"late\n"})
        real(path, **how)

    monkeypatch.setattr(os, "rmdir", write_first)
    made.scratch.remove()
    assert (late, os.listdir(tmp_path)) == ([], [])


def test_what_cannot_be_removed_is_an_error(made: Exported, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "REMOVE_SECONDS", 0.0)

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(1, "no")

    monkeypatch.setattr(os, "unlink", refuse)
    with pytest.raises(IoError) as error:
        made.scratch.remove()
    assert str(made.path.parent) in error.value.message
    monkeypatch.undo()
    made.scratch.remove()
    # and twice is once
    made.scratch.remove()

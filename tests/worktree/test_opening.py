"""Opening a directory below another: the system's own call, and part by part where there is none, do the same."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from snapd.worktree.fs import directories
from snapd.worktree.fs.directories import open_directory


def refusing(code: int) -> Callable[[int, bytes], int]:
    """The system's call as a sandbox or an old kernel has it."""

    def refuse(root: int, path: bytes) -> int:
        ctypes.set_errno(code)
        return -1

    return refuse


WAYS = {
    "the system's": directories.system,
    "none": None,
    "an old kernel": refusing(errno.ENOSYS),
    "a sandbox": refusing(errno.EPERM),
    "a signal": refusing(errno.EINTR),
}


@pytest.fixture(params=WAYS.values(), ids=WAYS.keys(), autouse=True)
def _way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(directories, "system", request.param)


@pytest.fixture
def root(tmp_path: Path) -> Iterator[int]:
    (tmp_path / "root" / "a" / "b" / "c").mkdir(parents=True)
    (tmp_path / "root" / "a" / "file").write_bytes(b"")
    (tmp_path / "root" / "a" / "b" / "up").symlink_to("..")
    (tmp_path / "root" / "inside").symlink_to("a")
    (tmp_path / "root" / "outside").symlink_to(tmp_path)
    (tmp_path / "root" / "nowhere").symlink_to("missing")
    descriptor = os.open(tmp_path / "root", os.O_RDONLY)
    yield descriptor
    os.close(descriptor)


def open_below(root: int) -> set[int]:
    """The descriptors of the root and of what is in it."""
    top = os.readlink(f"/dev/fd/{root}")
    found = set()
    for descriptor in map(int, os.listdir("/dev/fd")):
        with contextlib.suppress(FileNotFoundError):
            if (os.readlink(f"/dev/fd/{descriptor}") + "/").startswith(top + "/"):
                found.add(descriptor)
    return found


@pytest.mark.parametrize("path", ["", "a", "a/b", "a/b/c"])
def test_a_directory(root: int, path: str) -> None:
    descriptor = open_directory(root, os.fsencode(path))
    try:
        assert os.fstat(descriptor).st_ino == os.stat(path or ".", dir_fd=root).st_ino
        assert not os.get_inheritable(descriptor)
        assert open_below(root) == {root, descriptor}
        assert os.listdir(descriptor) == os.listdir(f"/dev/fd/{root}/{path}")
    finally:
        os.close(descriptor)


MISSING, NO_DIRECTORY = {errno.ENOENT}, {errno.ENOTDIR, errno.ELOOP}
REFUSED = {
    "missing": MISSING,
    "a/missing": MISSING,
    "missing/b": MISSING,
    "a/file": NO_DIRECTORY,
    "a/file/b": NO_DIRECTORY,
    "inside": NO_DIRECTORY,
    "inside/b": NO_DIRECTORY,
    "outside": NO_DIRECTORY,
    "outside/root": NO_DIRECTORY,
    "nowhere": NO_DIRECTORY,
    "a/b/up": NO_DIRECTORY,
    "a/b/up/b": NO_DIRECTORY,
}


@pytest.mark.parametrize(("path", "codes"), REFUSED.items(), ids=REFUSED.keys())
def test_what_is_none_is_refused_and_leaves_nothing_open(root: int, path: str, codes: set[int]) -> None:
    with pytest.raises(OSError) as refused:  # noqa: PT011 - which error it is comes below
        open_directory(root, os.fsencode(path))
    assert refused.value.errno in codes
    assert open_below(root) == {root}


def test_a_path_that_is_longer_than_a_call_takes(root: int) -> None:
    name = b"n" * 250
    path = b"/".join([name] * 20)
    for at in range(20):
        above = open_directory(root, b"/".join([name] * at))
        os.mkdir(name, dir_fd=above)
        os.close(above)
    assert len(path) > 4096
    descriptor = open_directory(root, path)
    try:
        os.mkdir("found", dir_fd=descriptor)
        os.rmdir("found", dir_fd=descriptor)
    finally:
        os.close(descriptor)
    for at in reversed(range(20)):
        above = open_directory(root, b"/".join([name] * at))
        os.rmdir(name, dir_fd=above)
        os.close(above)

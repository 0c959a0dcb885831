"""Edits of a folder, each one call: made in this process, or by another that reads them from its input.

Of the standard library alone: run as a script, it is that other process.
"""

from __future__ import annotations

import ast
import mmap
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from typing import Any


class Editor:
    """Makes edits below one folder; keeps files open from one edit to the next."""

    def __init__(self, root: str) -> None:
        self._root = os.fsencode(root)
        self._open: dict[bytes, int] = {}
        self._mapped: dict[bytes, mmap.mmap] = {}

    def make(self, edit: tuple[Any, ...]) -> None:
        """Makes one edit; one that the disk does not allow is none."""
        name, *arguments = edit
        act: Callable[..., None] = getattr(self, f"_{name}")
        try:
            act(*arguments)
        except (OSError, shutil.Error):
            return

    def close(self) -> None:
        """Lets go of all files."""
        for descriptor in self._open.values():
            os.close(descriptor)
        for mapped in self._mapped.values():
            mapped.close()
        self._open.clear()
        self._mapped.clear()

    def _at(self, path: bytes) -> bytes:
        return os.path.join(self._root, path)

    def _write(self, path: bytes, data: bytes) -> None:
        with open(self._at(path), "wb", opener=_opener) as file:
            file.write(data)

    def _nested(self, path: bytes, data: bytes) -> None:
        os.makedirs(os.path.dirname(self._at(path)), exist_ok=True)
        self._write(path, data)

    def _save(self, path: bytes, data: bytes) -> None:
        """As most editors do."""
        self._write(path + b"~", data)
        os.rename(self._at(path + b"~"), self._at(path))

    def _disguise(self, path: bytes, byte: int) -> None:
        """Other bytes, of the same size and times."""
        before = os.lstat(self._at(path))
        descriptor = os.open(self._at(path), os.O_WRONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            os.pwrite(descriptor, bytes((byte,)) * min(before.st_size, 64), 0)
            os.utime(descriptor, ns=(before.st_atime_ns, before.st_mtime_ns))
        finally:
            os.close(descriptor)

    def _recreate(self, path: bytes, byte: int) -> None:
        """The same size, in a new file that gets the inode of the old one where the file system does that."""
        size = os.lstat(self._at(path)).st_size
        os.unlink(self._at(path))
        self._write(path, bytes((byte,)) * min(size, 4096))

    def _renew(self, path: bytes, name: bytes, data: bytes) -> None:
        """Another directory at the same place, with the same inode where the file system does that."""
        shutil.rmtree(self._at(path))
        os.mkdir(self._at(path))
        self._write(os.path.join(path, name), data)

    def _touch(self, path: bytes, mtime_ns: int) -> None:
        os.utime(self._at(path), ns=(mtime_ns, mtime_ns), follow_symlinks=False)

    def _mkdir(self, path: bytes) -> None:
        os.mkdir(self._at(path))

    def _remove(self, path: bytes) -> None:
        path = self._at(path)
        if os.path.isdir(path) and not os.path.islink(path):
            shutil.rmtree(path)
        else:
            os.unlink(path)

    def _rename(self, old: bytes, new: bytes) -> None:
        os.rename(self._at(old), self._at(new))

    def _away_and_back(self, path: bytes, data: bytes) -> None:
        """Out of the folder, changed there, and back in."""
        away = self._at(b"../outside/away")
        os.rename(self._at(path), away)
        with open(away + b"/changed" if os.path.isdir(away) else away, "wb", opener=_opener) as file:
            file.write(data)
        os.rename(away, self._at(path))

    def _swap(self, one: bytes, other: bytes) -> None:
        spare = self._at(b"../outside/spare")
        os.rename(self._at(one), spare)
        try:
            os.rename(self._at(other), self._at(one))
        finally:
            os.rename(spare, self._at(other) if os.path.lexists(self._at(one)) else self._at(one))

    def _chmod(self, path: bytes, mode: int) -> None:
        os.chmod(self._at(path), mode)

    def _symlink(self, target: bytes, path: bytes) -> None:
        if os.path.lexists(self._at(path)):
            self._remove(path)
        os.symlink(target, self._at(path))

    def _link(self, old: bytes, new: bytes) -> None:
        os.link(self._at(old), self._at(new), follow_symlinks=False)

    def _fifo(self, path: bytes) -> None:
        os.mkfifo(self._at(path))

    def _append(self, path: bytes, data: bytes) -> None:
        """Through a descriptor that stays open: the file may have another name by now, or none."""
        if path not in self._open:
            self._open[path] = os.open(self._at(path), os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK)
        os.write(self._open[path], data)

    def _map(self, path: bytes, byte: int) -> None:
        """Stores to a mapping that stays."""
        if path not in self._mapped:
            descriptor = os.open(self._at(path), os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
            try:
                if os.fstat(descriptor).st_size:
                    self._mapped[path] = mmap.mmap(descriptor, 0)
            finally:
                os.close(descriptor)
        # a store beyond the end of a file that was cut to nothing would kill the process
        if path in self._mapped and self._mapped[path].size():
            self._mapped[path][0] = byte

    def _unmap(self, path: bytes) -> None:
        if path in self._mapped:
            self._mapped.pop(path).close()

    def _unmap_all(self) -> None:
        for path in list(self._mapped):
            self._unmap(path)


class OtherProcess:
    """An `Editor` in a process of its own."""

    def __init__(self, root: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", __file__, root], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )

    def make(self, edit: tuple[Any, ...]) -> None:
        """Makes one edit; it is complete when this returns."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(repr(edit).encode() + b"\n")
        self._process.stdin.flush()
        assert self._process.stdout.readline() == b"done\n"

    def close(self) -> None:
        """Ends the process."""
        self._process.communicate()


def _opener(path: bytes, flags: int) -> int:
    # nobody reads from a FIFO here
    return os.open(path, flags | os.O_NONBLOCK, 0o644)


def _serve(root: str) -> None:
    editor = Editor(root)
    for line in sys.stdin.buffer:
        editor.make(ast.literal_eval(line.decode()))
        sys.stdout.buffer.write(b"done\n")
        sys.stdout.buffer.flush()
    editor.close()


if __name__ == "__main__":
    _serve(sys.argv[1])

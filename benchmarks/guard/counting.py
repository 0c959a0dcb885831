"""Counts the calls that snapd makes of the system, without any tool that the machine would have to have.

What counts is what snapd's own modules call: a function that Python's library implements calls others, which differ
from one version of Python to the next. Left out is what depends on the machine: calls of the clock (`snapd.watch`),
which gets events in as many pieces as the kernel makes of them, those of memory (`snapd.heap`), and those about paths
outside the folder of the scenario, such as the folders above it. `install` runs before anything of snapd is imported.
"""

from __future__ import annotations

import builtins
import ctypes
import os
import pathlib  # noqa: F401 - before Python 3.11 it keeps the functions that it finds, as methods
import re
import shutil
import sqlite3
import subprocess
import sys
import threading
from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tests.support.system_calls import observe

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_CALLS = (
    *("open", "close", "read", "pread", "write", "pwrite", "writev", "lseek", "sendfile", "copy_file_range"),
    *("stat", "lstat", "fstat", "access", "statvfs", "readlink", "walk"),
    *("rename", "replace", "link", "symlink", "unlink", "remove", "mkdir", "makedirs", "rmdir"),
    *("chmod", "fchmod", "utime", "truncate", "ftruncate", "fsync", "fdatasync", "sync", "dup", "pipe"),
    *("fork", "posix_spawn", "execv", "execve", "execvp"),
)
_PATHS = ("exists", "lexists", "isdir", "isfile", "islink", "realpath", "getsize")
_NUMBER = re.compile(rb"[0-9a-f]{16,}|[0-9]+")
OBSERVER = observe.__module__
_LEFT_OUT = ("snapd.watch.", "snapd.heap")


class Work:
    """Counts by name, in all threads.

    Args:
        directory: absolute; what has another absolute path does not count.
    """

    def __init__(self, directory: str) -> None:
        self.counts: Counter[str] = Counter()
        self._directory = directory.encode()
        self._lock = threading.Lock()

    def add(self, name: str, amount: int = 1) -> None:
        """Counts."""
        with self._lock:
            self.counts[name] += amount

    def is_inside(self, path: object) -> bool:
        """Whether a call's first argument is no path outside the directory."""
        if not isinstance(path, (str, bytes, os.PathLike)) or not os.path.isabs(path):
            return True
        return os.fsencode(path).startswith(self._directory)

    def length(self, data: bytes) -> int:
        """The length of some bytes, without the directory's path and, in JSON, without numbers and digests."""
        text = bytes(data).replace(self._directory, b"")
        # a frame of the journal begins with random bytes, one of which may be a brace
        is_json = text.startswith(b'{"') and text.rstrip().endswith(b"}")
        return len(_NUMBER.sub(b"", text) if is_json else text)


_running: list[Work] = []
"""What counts now: one at most."""


@contextmanager
def counted(directory: str) -> Iterator[Work]:
    """Counts what snapd calls meanwhile; see `Work`."""
    work = Work(directory)
    _running.append(work)
    try:
        yield work
    finally:
        _running.remove(work)


def install() -> None:
    """Has the functions that snapd calls count themselves, from now on and for good."""
    for name in _CALLS:
        observe(os, name, _begin)
    for name in _PATHS:
        observe(os.path, name, _begin, f"path.{name}")
    observe(shutil, "rmtree", _begin)
    observe(builtins, "open", _begin, "file object")
    observe(subprocess.Popen, "__init__", _begin_process)
    _wrap_listing()
    _wrap_c_library()
    _wrap_database()


def _now() -> Work | None:
    return _running[-1] if _running else None


def _note(name: str, path: object = None) -> Work | None:
    """Counts a call if snapd made it; then returns what counts. The caller's caller is who made it."""
    work = _now()
    if work is None:
        return None
    caller = str(sys._getframe(2).f_globals.get("__name__"))
    if caller == OBSERVER:
        caller = str(sys._getframe(3).f_globals.get("__name__"))
    if not caller.startswith("snapd.") or caller.startswith(_LEFT_OUT) or not work.is_inside(path):
        return None
    work.add(f"call {name}")
    return work


def _begin(name: str, *args: Any, **_: Any) -> Callable[[Any], None] | None:
    work = _note(name, args[0] if args else None)
    if work is None:
        return None
    if name in ("read", "pread"):
        return lambda data: work.add("bytes read", len(data))
    if name in ("write", "pwrite"):
        return lambda count: work.add("bytes written", work.length(args[1][:count]))
    return None


def _begin_process(*_: Any, **__: Any) -> None:
    """By `subprocess.run` as well."""
    if work := _now():
        work.add("processes")


def _replace(owner: object, name: str, counted: Callable[..., Any]) -> None:
    """Puts a function in the place of another; by its name, since it has not the same type."""
    setattr(owner, name, counted)


class _Entries:
    """What `os.scandir` gives, in the order of names: each file system has its own."""

    def __init__(self, entries: list[os.DirEntry[Any]]) -> None:
        self._entries = iter(sorted(entries, key=lambda entry: os.fsencode(entry.name)))

    def __iter__(self) -> _Entries:
        return self

    def __next__(self) -> os.DirEntry[Any]:
        return next(self._entries)

    def __enter__(self) -> _Entries:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """It was read to its end already."""


def _wrap_listing() -> None:
    scandir: Any = os.scandir
    listdir: Any = os.listdir

    def scandir_counted(path: Any = ".") -> _Entries:
        _note("scandir", path)
        with scandir(path) as entries:
            return _Entries(list(entries))

    def listdir_counted(path: Any = ".") -> list[Any]:
        _note("listdir", path)
        return sorted(listdir(path), key=os.fsencode)

    _replace(os, "scandir", scandir_counted)
    _replace(os, "listdir", listdir_counted)


def _wrap_c_library() -> None:
    find: Callable[[ctypes.CDLL, str], Any] = ctypes.CDLL.__getitem__

    def find_counted(library: ctypes.CDLL, name: str) -> Any:
        kind: Any = type(find(library, name))

        class Counted(kind):  # type: ignore[misc]
            _flags_ = kind._flags_
            _restype_ = kind._restype_

            def __call__(self, *args: Any) -> Any:
                _note(name)
                return kind.__call__(self, *args)

        return Counted((name, library))

    _replace(ctypes.CDLL, "__getitem__", find_counted)


def _wrap_database() -> None:
    """A statement counts once, however many rows it gives: how the library finds them differs among its versions."""
    connect: Any = sqlite3.connect

    def note(statement: str) -> None:
        # a comment stands for what a trigger does
        if (work := _now()) and not statement.startswith("--"):
            work.add("database statements")

    def connect_counted(*args: Any, **options: Any) -> sqlite3.Connection:
        connection: sqlite3.Connection = connect(*args, **options)
        connection.set_trace_callback(note)
        return connection

    _replace(sqlite3, "connect", connect_counted)

"""Forces what a system and a file system may have for moving files: tests run on one that has all of it."""

from __future__ import annotations

import ctypes
import errno
import os
from types import SimpleNamespace
from typing import Any

import pytest

from snapd.worktree.fs import system

MODES = ("linux", "macos", "macos without", "links", "neither")
"""A rename with flags, as each system has it; as macOS has it on a file system that does not; none, but hard links;
neither."""


class _MacRename:
    """`renameatx_np`, by way of `renameat2`: other flags."""

    argtypes: Any = None

    def __init__(self, *, supported: bool) -> None:
        self._supported = supported
        self._linux = ctypes.CDLL(None, use_errno=True).renameat2

    def __call__(self, source: int, old: bytes, target: int, new: bytes, flags: int) -> int:
        assert flags in (2, 4), "RENAME_SWAP or RENAME_EXCL"
        if not self._supported:
            ctypes.set_errno(errno.ENOTSUP)
            return -1
        return int(self._linux(source, old, target, new, {2: 2, 4: 1}[flags]))


def force(monkeypatch: pytest.MonkeyPatch, mode: str) -> None:
    """Has the work tree do with what one of `MODES` has."""
    if mode.startswith("macos"):
        library: Any = SimpleNamespace(renameatx_np=_MacRename(supported=mode == "macos"))
        monkeypatch.setattr(system, "renames", system.load_rename("darwin", library))
    elif mode != "linux":
        monkeypatch.setattr(system, "renames", None)
    if mode in ("macos without", "neither"):
        code = errno.ENOTSUP if mode.startswith("macos") else errno.EPERM

        def link(*_: object, **__: object) -> None:
            raise OSError(code, os.strerror(code))

        monkeypatch.setattr(system.os, "link", link)

"""A process that swaps what lies at a path, as fast as it can, until it is ended: run by `races.swapping`.

Usage: swapper.py KIND PATH ASIDE OTHER, where ASIDE is a directory of its own outside of the workspace.

KIND is `directory` (PATH is moved aside, and is a symlink to OTHER meanwhile), `fifo` (likewise, a FIFO) or `kinds`
(PATH is a file, a directory with a file in it, and a symlink to OTHER, in turn).
"""

from __future__ import annotations

import contextlib
import itertools
import os
import shutil
import sys


def main(kind: str, path: str, aside: str, other: str) -> None:
    """Swaps without end."""
    for at in itertools.count():
        with contextlib.suppress(OSError):
            _KINDS[kind](path, os.path.join(aside, str(at)), other, at)
        if at == 0:
            print("swapping", flush=True)


def _directory(path: str, aside: str, other: str, _: int) -> None:
    os.rename(path, aside)
    try:
        os.symlink(other, path)
        os.unlink(path)
    finally:
        # somebody may have made a directory there meanwhile: that one is as good
        try:
            os.rename(aside, path)
        except OSError:
            shutil.rmtree(aside)


def _fifo(path: str, aside: str, _: str, __: int) -> None:
    os.rename(path, aside)
    os.mkfifo(path)
    os.rename(aside, path)


def _kinds(path: str, aside: str, other: str, at: int) -> None:
    os.rename(path, aside)
    if at % 3 == 0:
        os.mkdir(path)
        with open(os.path.join(path, "a"), "x") as file:
            file.write("ours")
    elif at % 3 == 1:
        os.symlink(other, path)
    else:
        with open(path, "x") as file:
            file.write("ours")
    _clear(os.path.join(os.path.dirname(aside), str(at - _KEPT)))


def _clear(path: str) -> None:
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path)
    elif os.path.lexists(path):
        os.unlink(path)


_KEPT = 100
"""How many of the last things that were moved aside stay: millions of files would slow down all that comes after."""
_KINDS = {"directory": _directory, "fifo": _fifo, "kinds": _kinds}

if __name__ == "__main__":
    main(*sys.argv[1:])

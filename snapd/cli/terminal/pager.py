"""Shows long output in the user's pager, as git does: on a terminal, and never where a program reads it."""

from __future__ import annotations

import os
import shutil
import signal
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from .streams import Text

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from snapd_client.protocol import DiffResult

_NO_PAGER = ("", "cat")
_OF_LESS = "FRX"
"""Exit at once if everything fits on the screen, show colours, leave the text there; the user's own `LESS` wins."""
_NOT_STARTED = (126, 127)
"""A shell's exit codes when it cannot run a command."""
ENCODING = ("utf-8", "surrogateescape")
"""The encoding of the output: a file that is not UTF-8 is written as the original bytes."""


def show(options: argparse.Namespace, text: str) -> None:
    """Writes the whole output of a command, to the pager or to standard output."""
    command = None if options.json or options.no_pager or not sys.stdout.isatty() else _pager()
    if text and (command is None or not _paged(command, _bytes(text))):
        write(text)


def write(text: str) -> None:
    """Writes to standard output; bytes that are not UTF-8 are written unchanged, except to a terminal."""
    sys.stdout.flush()
    sys.stdout.buffer.write(_bytes(text))
    sys.stdout.buffer.flush()


def _bytes(text: str) -> bytes:
    return (sys.stdout.safe(text) if isinstance(sys.stdout, Text) else text).encode(*ENCODING)


def _pager() -> str | None:
    for name in ("SNAPD_PAGER", "PAGER"):
        if (wanted := os.environ.get(name)) is not None:
            return None if wanted.strip() in _NO_PAGER else wanted
    return "less" if shutil.which("less") else None


def _paged(command: str, data: bytes) -> bool:
    """Shows data in a pager until the user quits; returns whether there was one."""
    import subprocess

    sys.stdout.flush()
    environment = {"LESS": _OF_LESS, "LV": "-c", **os.environ}
    with _ctrl_c_is_the_pagers():
        # the pager gets the descriptors of this process, without our wrappers
        pager = subprocess.Popen(["/bin/sh", "-c", command], stdin=subprocess.PIPE, env=environment)
        # `communicate` ignores a pager that the user quits early
        pager.communicate(data)
    if pager.returncode not in _NOT_STARTED:
        return True
    print(f"snapd: the pager {command!r} cannot be run\nhint: set SNAPD_PAGER or PAGER", file=sys.stderr)
    return False


@contextmanager
def _ctrl_c_is_the_pagers() -> Iterator[None]:
    # a handler, because a new process would inherit SIG_IGN
    before = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def form_of(options: argparse.Namespace) -> Any:
    """Returns the form of diff to request: for a program, with exact bytes and in a form that `git apply` takes."""
    return {"exact": not options.json, "binary": not options.json and not sys.stdout.isatty()}


def diff_text(result: DiffResult) -> str:
    """Returns the text of a diff requested with `exact`; `pager.ENCODING` converts it to its exact bytes."""
    if "encoding" not in result:
        return str(result["diff"])
    from base64 import b64decode

    return b64decode(result["diff"]).decode(*ENCODING)

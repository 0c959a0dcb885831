"""Runs the command line in this process: what a process of its own would cost is not what most tests are about.

The command sees descriptors, environment and directory as a process would, so that nothing of it has to be replaced.
"""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any
from unittest import mock

from snapd import backend
from snapd.cli.main import main
from snapd.cli.terminal import naming, output
from snapd.environment import own_command
from tests.support import zygote

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_start = subprocess.Popen


def run(
    args: Sequence[str | bytes], cwd: str, env: Mapping[str, str], stdin: bytes, streams: Sequence[int | None]
) -> int:
    """Runs the command; gives its exit code.

    Args:
        args: its arguments.
        cwd: where it runs.
        env: its whole environment.
        stdin: what it reads from standard input, at most as much as a pipe holds.
        streams: descriptors of standard output and standard error; None where it has none.
    """
    # what a process knows of earlier requests goes with it
    output.printed.clear()
    backend.shared.clear()
    naming.ANSWERS.clear()
    reader, writer = os.pipe()
    with open(writer, "wb") as out:
        out.write(stdin)
    with ExitStack() as stack:
        stack.callback(os.close, reader)
        stack.enter_context(_environment(env))
        stack.enter_context(_directory(cwd))
        stack.enter_context(_descriptors([reader, *streams]))
        stack.enter_context(_text_streams())
        stack.enter_context(mock.patch("subprocess.Popen", popen))
        return main([os.fsdecode(arg) for arg in args])


def popen(command: Sequence[str], **how: Any) -> subprocess.Popen[bytes]:
    """Forks a daemon that the command starts, which goes on when the command has ended."""
    own = own_command()
    if list(command[: len(own) + 1]) == [*own, "serve"]:
        return zygote.start(command[len(own) :], how.pop("env"), how.pop("cwd"), orphaned=True, **how)
    return _start(command, **how)


@contextmanager
def _environment(env: Mapping[str, str]) -> Iterator[None]:
    before = dict(os.environ)
    os.environ.clear()
    os.environ.update(env)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


@contextmanager
def _directory(path: str) -> Iterator[None]:
    before = os.open(".", os.O_RDONLY)
    os.chdir(path)
    try:
        yield
    finally:
        os.fchdir(before)
        os.close(before)


@contextmanager
def _descriptors(given: Sequence[int | None]) -> Iterator[None]:
    """Has the descriptors 0, 1 and 2 be those given."""
    before = [os.dup(number) for number in range(3)]
    try:
        for number, descriptor in enumerate(given):
            if descriptor is None:
                os.close(number)
            else:
                os.dup2(descriptor, number)
        yield
    finally:
        for number, descriptor in enumerate(before):
            os.dup2(descriptor, number)
            os.close(descriptor)


@contextmanager
def _text_streams() -> Iterator[None]:
    """Has Python's own streams lead to the descriptors, as at the start of a process; None where one is closed."""
    before = sys.stdin, sys.stdout, sys.stderr
    sys.stdin = open(0, encoding="utf-8", errors="surrogateescape", closefd=False)  # noqa: SIM115 - closed below
    sys.stdout = sys.stderr = None  # type: ignore[assignment]
    made = [sys.stdin]
    try:
        yield
    finally:
        made += [stream for stream in (sys.stdout, sys.stderr) if stream is not None]
        sys.stdin, sys.stdout, sys.stderr = before
        for stream in made:
            # `main` has written what it could; who lost a stream said so
            stream.close()

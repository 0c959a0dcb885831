"""Counts system calls: those that this process makes through Python, and, with strace, those that the kernel sees."""

from __future__ import annotations

import builtins
import functools
import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]

Begin = Callable[..., "Callable[[Any], None] | None"]
"""Is called before a function, with the function's name and arguments. What it returns is called with the result."""


def observe(owner: Any, name: str, begin: Begin, shown: str | None = None, replace: Any = setattr) -> None:
    """Replaces a function with one that reports its calls.

    Args:
        owner: the module or class that has the function.
        name: of the function.
        begin: see `Begin`.
        shown: the name that `begin` gets; default: `name`.
        replace: puts the function in its place; `setattr` of a `MonkeyPatch` ends it again.
    """
    real = getattr(owner, name)

    def call(*args: Any, **options: Any) -> Any:
        end = begin(shown or name, *args, **options)
        result = real(*args, **options)
        if end is not None:
            end(result)
        return result

    replace(owner, name, call)


@contextmanager
def observed(begin: Begin, *names: str) -> Iterator[None]:
    """Reports the calls of functions of `os`; `file object` is the function `open`."""
    with pytest.MonkeyPatch.context() as patch:
        for name in names:
            if name == "file object":
                observe(builtins, "open", begin, name, patch.setattr)
            else:
                observe(os, name, begin, replace=patch.setattr)
        yield


@contextmanager
def counted(*names: str) -> Iterator[Counter[str]]:
    """Counts the calls of functions of `os`, by name; see `observed`."""
    calls: Counter[str] = Counter()

    def count(name: str, *_: Any, **__: Any) -> None:
        calls[name] += 1

    with observed(count, *names):
        yield calls


@functools.cache
def why_no_strace() -> str | None:
    """Why strace cannot be used here; None if it can."""
    if not sys.platform.startswith("linux"):
        return "strace is of Linux"
    if shutil.which("strace") is None:
        return "strace is not installed"
    tried = subprocess.run(["strace", "-f", "-o", "/dev/null", "true"], capture_output=True, check=False)
    return None if tried.returncode == 0 else "this process may not trace others"


class KernelCalls(list[str]):
    """Lines of strace, one for each call."""

    def counts(self) -> Counter[str]:
        """How often each call was made."""
        return Counter(line.split(None, 1)[1].partition("(")[0] for line in self if "(" in line)

    def of(self, *names: str) -> list[str]:
        """The lines of some calls."""
        return [line for line in self if line.split(None, 1)[1].partition("(")[0] in names]


def traced(code: str, *arguments: str, log: Path) -> list[KernelCalls]:
    """Runs a program in Python, and returns what the kernel saw between its calls of `os.getppid`.

    Args:
        code: the program.
        arguments: of it.
        log: the file for strace to write to.
    """
    if reason := why_no_strace():
        pytest.skip(reason)
    command = ["strace", "-f", "-y", "-o", str(log), sys.executable, "-c", code, *arguments]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    spans = [KernelCalls()]
    for line in log.read_text(errors="replace").splitlines():
        if " getppid()" in line:
            spans.append(KernelCalls())
        else:
            spans[-1].append(line)
    return spans[1:-1]

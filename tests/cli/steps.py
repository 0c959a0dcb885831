"""Steps taken on the command line, as the hooks of an agent do."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .running import Home


def put(project: str, files: Mapping[str, bytes | None]) -> None:
    """Writes files; None deletes one."""
    for name, data in files.items():
        path = os.path.join(project, name)
        if data is None:
            os.remove(path)
            continue
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(data)


def take(home: Home, project: str, session: str, files: Mapping[str, bytes | None], *args: str) -> str:
    """A step that does this to files; gives its name."""
    step = home.ok(project, "step", "begin", "--session", session, *args).strip()
    put(project, files)
    home.ok(project, "step", "end", step)
    return step


def numbered(count: int, **changed: bytes) -> bytes:
    """Lines that say their numbers, but for those given as `l3=b"..."`."""
    return b"".join(changed.get(f"l{number}", b"%d" % number) + b"\n" for number in range(count))


def read(project: str, name: str) -> bytes | None:
    """A file's bytes; None where it is not there."""
    path = Path(project, name)
    return path.read_bytes() if path.exists() else None

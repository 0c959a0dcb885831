"""Notes of the Git AI Standard, authorship/3.0.0."""

from __future__ import annotations

import json
import re
from hashlib import sha256
from typing import TYPE_CHECKING

from snapd.model.paths import is_utf8
from snapd.notes.note import NO_MODEL, NOTES, SCHEMA

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .commits import AttributedFile, Commit, LineRange

_DIGITS = 14
_NO_TOOL = "unknown"
_QUOTED = re.compile(r"\s|^\"|^---$")


def can_name(path: bytes) -> bool:
    """Returns whether a note can have a file of this name: each is one line of UTF-8."""
    return is_utf8(path) and b"\n" not in path and b"\r" not in path


def note(commit: Commit, files: Iterable[AttributedFile]) -> str:
    """Returns the note of a commit; it omits lines that no agent wrote. `can_name` must hold for all `files`."""
    attested: list[str] = []
    sessions = {}
    for file in files:
        entries = []
        for author, ranges in file.by(lambda author: (author.kind, author.session_id, author.step_id)):
            if author.kind == "agent":
                tool = author.agent or _NO_TOOL
                name = f"s_{_digest(f'{tool}:{author.session_id}')}"
                sessions[name] = {"agent_id": {"tool": tool, "id": author.session_id, "model": NO_MODEL}}
                entries.append(f"  {name}::t_{_digest(author.step_id)} {_lines(ranges)}")
        if entries:
            attested += [_path(file.path), *entries]
    metadata = {
        "schema_version": SCHEMA,
        "base_commit_sha": commit.name,
        "prompts": {},
        "sessions": dict(sorted(sessions.items())),
    }
    return "\n".join([*attested, "---", json.dumps(metadata, indent=2, ensure_ascii=False)]) + "\n"


def attests(text: str) -> bool:
    """Returns whether a note attributes any line."""
    return not text.startswith("---\n")


def replaces(text: str, there: str) -> bool:
    """Returns whether a note may replace an existing one: one by snapd with no other sessions."""
    try:
        new, old = (json.loads(note.rpartition("---\n")[2]) for note in (text, there))
        return {**old, "sessions": {}} == {**new, "sessions": {}} and old["sessions"].items() <= new["sessions"].items()
    except (ValueError, TypeError, KeyError, AttributeError):
        return False


def stream(notes: Iterable[tuple[Commit, str]], committer: bytes, parent: str | None) -> Iterable[bytes]:
    """Yields a `git fast-import` stream that adds notes in one commit; git refuses a stream that was cut short.

    `committer` is the output of `git var GIT_COMMITTER_IDENT`; `parent` is None if the reference does not exist.
    """
    yield b"feature done\n"
    yield b"commit %s\ncommitter %s\n%s" % (NOTES.encode("ascii"), committer, _data(b"Notes added by 'snapd log'\n"))
    if parent is not None:
        yield b"from %s\n" % parent.encode("ascii")
    for commit, text in notes:
        yield b"N inline %s\n%s" % (commit.name.encode("ascii"), _data(text.encode("utf-8")))
    yield b"done\n"


def _data(data: bytes) -> bytes:
    return b"data %d\n%s\n" % (len(data), data)


def _digest(text: str) -> str:
    return sha256(text.encode("utf-8")).hexdigest()[:_DIGITS]


def _path(path: bytes) -> str:
    name = path.decode("utf-8")
    return f'"{name}"' if _QUOTED.search(name) else name


def _lines(ranges: Iterable[LineRange]) -> str:
    return ",".join(
        str(lines.first) if lines.first == lines.last else f"{lines.first}-{lines.last}" for lines in ranges
    )

"""A conversation that goes on from before a prompt, and what the agents' ways to it share: transcripts and copies."""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Callable, Iterable
from typing import Any, Literal

import attrs

from snapd.model.timeline import Transcript


@attrs.frozen
class Prompt:
    """A prompt as snapd recorded it; the conversation is to go on from before it."""

    session_id: str
    message_id: str
    text: str | None  # its beginning; None if not stored
    sent: int  # milliseconds since 1970
    transcript: Transcript | None
    root: str  # the folder


@attrs.frozen
class Branch:
    """How a conversation goes on; nothing is made yet.

    `drops` are the ids of the prompts that the new session lacks, oldest first, or their texts where they have no ids.
    `begin` makes the new session and returns its id; None if the prompt is the first one, so that nothing is left.
    """

    drops: tuple[str, ...]
    prompt: str | None
    cwd: str | None
    begin: Callable[[], str] | None
    kind: Literal["copy", "fork"] = "copy"


class NoBranch(Exception):
    """The conversation cannot go on from before the prompt; the text says why, for people."""


@attrs.frozen
class Row:
    """A line of a transcript, without its end, and the object that it is."""

    start: int  # where it begins in the file
    line: bytes
    value: dict[str, Any]

    def at(self, *names: str) -> Any:
        """Returns a value in nested objects; None if it is not there."""
        value: Any = self.value
        for name in names:
            value = value.get(name) if isinstance(value, dict) else None
        return value


def transcript_of(prompt: Prompt) -> str:
    """Returns the path of the agent's own file."""
    if prompt.transcript is None:
        raise NoBranch("snapd does not know where its file is, because the prompt came without a hook that says so")
    return prompt.transcript.path


def read_rows(path: str) -> list[Row]:
    """Reads a transcript, without a last line that is not complete."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        with open(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise NoBranch(f"{path} is not a file")
            data = file.read()
    except FileNotFoundError:
        raise NoBranch(f"its file is gone: {path}") from None
    except (OSError, ValueError) as error:
        raise NoBranch(f"its file cannot be read: {error}") from error
    rows, start = [], 0
    for line in data.split(b"\n")[:-1]:
        if line.strip():
            rows.append(Row(start, line, _object(line, path)))
        start += len(line) + 1
    return rows


def _object(line: bytes, path: str) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise NoBranch(f"{path} has a line that is not a JSON object")
    return value


def text_of(content: Any) -> str | None:
    """Returns the text of a message, of one part or several; None if a part of it is no text."""
    if isinstance(content, str):
        return content
    parts = content if type(content) is list else []
    texts = [part["text"] for part in parts if isinstance(part, dict) and isinstance(part.get("text"), str)]
    return "\n".join(texts) if texts and len(texts) == len(parts) else None


def write_copy(path: str, rows: Iterable[Row], old: str, new: str, is_dropped: Callable[[Row], bool]) -> None:
    """Writes rows as a new file, with another session id; removes it again unless it is as it must be."""
    name = re.compile(rb'("sessionId"\s*:\s*")%s(?=")' % re.escape(old.encode()))
    lines = [name.sub(rb"\g<1>" + new.encode(), row.line) + b"\n" for row in rows]
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise NoBranch(f"a copy cannot be written: {error}") from error
    try:
        with open(descriptor, "wb") as file:
            file.writelines(lines)
            file.flush()
            os.fsync(descriptor)
        for row in read_rows(path):
            if is_dropped(row) or row.at("sessionId") == old:
                raise NoBranch("the copy is not what it has to be")
    except BaseException as error:
        os.unlink(path)
        if isinstance(error, OSError):
            raise NoBranch(f"a copy cannot be written: {error}") from error
        raise

"""A conversation that goes on from before a prompt, and what the agents' ways to it share: transcripts and copies."""

from __future__ import annotations

import glob
import json
import os
import re
import signal
import subprocess
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime
from http.client import HTTPException
from typing import Any, Literal

import attrs

from snapd.core.actions.sessions import TEXT_LENGTH
from snapd.model.timeline import Transcript
from snapd.worktree.fs.stable_read import read_bounded

_EARLY = 1000
"""How many milliseconds a row may be older than the event of its prompt."""
_MOST = 256 << 20
"""The bytes of the largest transcript: a copy takes several times as much memory."""
_SESSION = re.compile(rb'"sessionId"\s*:\s*"([^"]*)"')
UNFORESEEN = (AttributeError, HTTPException, LookupError, OSError, TypeError, ValueError)
"""What an unknown form of a transcript, or an agent's own program, may cause."""


@attrs.frozen
class Prompt:
    """A prompt as snapd recorded it; the conversation is to go on from before it."""

    session_id: str
    message_id: str
    text: str | None  # its beginning; None if not stored
    sent: int  # milliseconds since 1970
    transcript: Transcript | None

    def path(self, folder: str = "", pattern: str = "") -> str:
        """Returns the path of the agent's own file.

        Without a hook that reports it, it is the one file in a folder that matches a pattern with the session's id.
        """
        if self.transcript is not None:
            return self.transcript.path
        name = glob.escape(self.session_id)
        paths = []
        if pattern and "/" not in name:
            paths = glob.glob(os.path.join(glob.escape(folder), pattern.format(name)))
        if len(paths) != 1:
            raise NoBranch("snapd does not know where its file is, because no hook reported the prompt")
        return paths[0]

    def is_same(self, text: str | None) -> bool:
        """Whether a text in a transcript is the prompt, of which snapd keeps the beginning, or nothing."""
        own, wanted = (text or "").strip(), (self.text or "").strip()
        if text is None or not wanted:
            return text is not None
        if len(self.text or "") >= TEXT_LENGTH:
            return own.startswith(wanted)
        # what snapd reports to the agent may stand before it
        return own == wanted or own.endswith(f"\n{wanted}")

    def is_before(self, row: Row) -> bool:
        """Whether a row is not older than the prompt."""
        try:
            return datetime.fromisoformat(row.at("timestamp")).timestamp() * 1000 >= self.sent - _EARLY
        except (TypeError, ValueError) as error:
            raise NoBranch("its rows have no times") from error


@attrs.frozen
class Branch:
    """How a conversation goes on; nothing is made yet.

    `drops` are the ids of the prompts that the new session lacks, oldest first, or their texts where they have no ids.
    `begin` makes the new session; None if the prompt is the first one, so that nothing is left to go on with.
    """

    drops: tuple[str, ...]
    prompt: str | None
    cwd: str | None
    begin: Callable[[], Begun] | None
    kind: Literal["copy", "fork"] = "copy"


@attrs.frozen
class Begun:
    """A new session, by its id; `kind` is how it was made."""

    session_id: str
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


def read_rows(path: str) -> list[Row]:
    """Reads a transcript, without a last line that is not complete."""
    try:
        data = read_bounded(path, _MOST)
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
    """Returns the text of a message, whose content has one part or several; None if it has results of calls."""
    if isinstance(content, str):
        return content
    parts = [part for part in content if isinstance(part, dict)] if type(content) is list else []
    if not parts or any(part.get("type") == "tool_result" or "functionResponse" in part for part in parts):
        return None
    return "\n".join(part["text"] for part in parts if isinstance(part.get("text"), str))


def with_session(rows: Iterable[Row], new: str) -> Iterator[bytes]:
    """Yields the lines of rows with another id of the session, and else the same to the byte."""
    for row in rows:
        line, value = row.line, row.value
        # Gemini CLI also sets it
        changed = value["$set"] if isinstance(value.get("$set"), dict) else value
        if "sessionId" in changed:
            changed = {**changed, "sessionId": new}
            wanted = {**value, "$set": changed} if "$set" in value else changed
            ids = (line[: match.start(1)] + new.encode() + line[match.end(1) :] for match in _SESSION.finditer(line))
            line = next((each for each in ids if json.loads(each) == wanted), b"")
        if not line:
            raise NoBranch("it has a row with an id of the session that snapd does not know")
        yield line


def write_copy(path: str, lines: Iterable[bytes], is_wrong: Callable[[Row], bool]) -> None:
    """Writes lines to a new file, and reads it back; removes it again if it has a row that is wrong."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise NoBranch(f"a copy cannot be written: {error}") from error
    try:
        with open(descriptor, "wb") as file:
            file.writelines(line + b"\n" for line in lines)
            file.flush()
            os.fsync(descriptor)
        if any(map(is_wrong, read_rows(path))):
            raise NoBranch("the copy still had what was to go")
    except BaseException as error:
        os.unlink(path)
        if isinstance(error, OSError):
            raise NoBranch(f"a copy cannot be written: {error}") from error
        raise


@contextmanager
def running(command: list[str], cwd: str, seconds: float, **environment: str) -> Iterator[subprocess.Popen[bytes]]:
    """Runs an agent's server, which ends with the block, at the latest after some seconds."""
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd=cwd,
        env={**os.environ, **environment},
        start_new_session=True,
    )
    limit = threading.Timer(seconds, os.killpg, (process.pid, signal.SIGKILL))
    limit.start()
    try:
        yield process
    finally:
        limit.cancel()
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def ask(process: subprocess.Popen[bytes], *messages: dict[str, Any]) -> dict[str, Any]:
    """Sends messages to a JSON-RPC server, and returns the result of the last one."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.writelines(json.dumps(message).encode() + b"\n" for message in messages)
    process.stdin.flush()
    for line in process.stdout:
        answer = json.loads(line)
        if isinstance(answer, dict) and answer.get("id") == messages[-1]["id"] and "method" not in answer:
            if isinstance(result := answer.get("result"), dict):
                return dict(result)
            raise ValueError(f"its server refused {messages[-1]['method']}: {answer.get('error')}")
    raise ValueError(f"its server ended before it answered {messages[-1]['method']}")

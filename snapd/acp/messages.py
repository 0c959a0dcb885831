"""Reads and writes the Agent Client Protocol as far as snapd needs it.

Sources: the schemas of version 1 and of the draft of version 2 (npm `@agentclientprotocol/sdk` 2.4.0), and recorded
agents. A field of the wrong type counts as absent: to report it is up to the receiver.
"""

from __future__ import annotations

import errno
import json
import os
import re
import select
import threading
from typing import TYPE_CHECKING, Any

import attrs

from snapd.wire.words import news_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    Message = dict[str, Any]

LONGEST = 64 << 20
"""The longest line that is read as a message, in bytes; longer ones pass unread."""
_CHUNK = 1 << 16


@attrs.frozen
class Piece:
    """A part of a stream with any line end: whether it is a `whole` line, and whether the line `ends` with it."""

    data: bytes
    whole: bool = True
    ends: bool = True


def pieces(descriptor: int, longest: int = LONGEST) -> Iterator[Piece]:
    """Reads a stream line by line, byte for byte; a line of more than `longest` bytes comes in several pieces."""
    kept = bytearray()
    inside = False
    while data := _read(descriptor):
        searched = len(kept)
        kept += data
        start = 0
        while (at := kept.find(b"\n", max(start, searched))) >= 0:
            yield Piece(bytes(kept[start : at + 1]), whole=not inside and at < start + longest)
            start, inside = at + 1, False
        del kept[:start]
        if kept and (inside or len(kept) > longest):
            yield Piece(bytes(kept), whole=False, ends=False)
            inside = True
            kept.clear()
    if kept or inside:
        yield Piece(bytes(kept), whole=not inside)


class Writer:
    """Writes lines to a stream; thread-safe. `close` closes the stream; None if it is not ours to close."""

    def __init__(self, descriptor: int, close: Callable[[], None] | None = None) -> None:
        self._descriptor = descriptor
        self._close = close
        self._closed = False
        self._turn = threading.Lock()
        self._inside = False

    def write(self, piece: Piece) -> None:
        """Writes a piece; no line is inserted before its line has ended. Raises `OSError` if the reader is gone."""
        if not self._inside:
            self._turn.acquire()
        try:
            self._write(piece.data)
        except OSError:
            self._turn.release()
            self._inside = False
            raise
        self._inside = not piece.ends
        if piece.ends:
            self._turn.release()

    def insert(self, make: Callable[[], bytes | None]) -> None:
        """Writes a line between two others; `make` is called then, and may return None. Raises `OSError` as `write`."""
        with self._turn:
            line = make()
            if line is not None:
                self._write(line)

    def close(self) -> None:
        """Closes the stream after any write in progress."""
        with self._turn:
            self._closed = True
            if self._close is not None:
                self._close()

    def _write(self, data: bytes) -> None:
        if self._closed:
            # the descriptor's number may have been reused
            raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))
        _write(self._descriptor, data)


def _read(descriptor: int) -> bytes:
    while True:
        try:
            return os.read(descriptor, _CHUNK)
        except BlockingIOError:
            # another process that shares the stream has made it non-blocking
            _wait(descriptor, select.POLLIN)


def _write(descriptor: int, data: bytes) -> None:
    left = memoryview(data)
    while left:
        try:
            left = left[os.write(descriptor, left) :]
        except BlockingIOError:
            _wait(descriptor, select.POLLOUT)


def _wait(descriptor: int, event: int) -> None:
    poll = select.poll()
    poll.register(descriptor, event)
    poll.poll()


_LIST = re.compile(r'"availableCommands"\s*:\s*(?=\[)')
_DRAFT = 2
"""The first version in which the answer to a prompt does not end the turn."""


def parse(line: bytes) -> Message | None:
    """Parses a line; None if it is not a message."""
    try:
        result = json.loads(line.decode("utf-8"))
    except (ValueError, RecursionError):
        return None
    return result if isinstance(result, dict) else None


def written(message: Message) -> bytes:
    """Encodes a message as a line."""
    return json.dumps({"jsonrpc": "2.0", **message}, ensure_ascii=True, separators=(",", ":")).encode() + b"\n"


def part(message: Any, *names: str) -> Message:
    """The object at a path of names; empty if there is none."""
    for name in names:
        message = message.get(name) if isinstance(message, dict) else None
    return message if isinstance(message, dict) else {}


def text(message: Message, name: str) -> str | None:
    """A text field; None if it is absent or empty."""
    result = message.get(name)
    return result if isinstance(result, str) and result else None


def request_key(message: Message) -> str:
    """A unique key for a request id; `1` and `"1"` differ."""
    return json.dumps(message.get("id"))


def prompt_text(prompt: Any) -> str:
    """The text of a prompt, without images, files and other content."""
    blocks = prompt if isinstance(prompt, list) else []
    texts = [text(block, "text") for block in blocks if isinstance(block, dict) and block.get("type") == "text"]
    return "\n".join(result for result in texts if result)


def with_news(line: bytes, message: Message, news: Mapping[str, Any] | None) -> bytes:
    """Puts what the agent is to hear before the user's prompt, as a block of its own."""
    words = [] if news is None else news_lines(news)
    prompt = part(message, "params").get("prompt")
    if not words or not isinstance(prompt, list):
        return line
    block = {"type": "text", "text": "\n".join(words)}
    changed = {**message, "params": {**part(message, "params"), "prompt": [block, *prompt]}}
    return json.dumps(changed, ensure_ascii=True, separators=(",", ":")).encode() + b"\n"


@attrs.frozen
class ToolNews:
    """The fields of a message about a tool call; `parent` is the call of the subagent that makes it."""

    call_id: str
    kind: str | None
    status: str | None
    title: str | None
    tool: str | None
    parent: str | None
    files: tuple[str, ...]
    command: str | None = None


def tool_news(update: Message) -> ToolNews | None:
    """Reads a `tool_call`, a `tool_call_update`, or the call in a permission request; None if it has no id."""
    call_id = text(update, "toolCallId")
    if call_id is None:
        return None
    own = part(update, "_meta", "claudeCode")
    return ToolNews(
        call_id,
        text(update, "kind"),
        text(update, "status"),
        text(update, "title"),
        text(own, "toolName") or text(update, "name"),
        text(own, "parentToolUseId"),
        tuple(dict.fromkeys(path for path in (*_locations(update), *_diffs(update)) if _can_be_sent(path))),
        _command(part(update, "rawInput")),
    )


def _command(given: Message) -> str | None:
    """The command in a call's input: a text or a list of words."""
    command = given.get("command")
    words = command if isinstance(command, list) else [command]
    return " ".join(word for word in words if isinstance(word, str)) or None


def asked_for(params: Message) -> Message:
    """The tool call of a `session/request_permission`; version 2 wraps it into a `subject`."""
    return part(params, "toolCall") or part(params, "subject", "toolCall")


def _locations(update: Message) -> Iterable[str]:
    return (path for row in _rows(update, "locations") if (path := text(row, "path")))


def _diffs(update: Message) -> Iterable[str]:
    for row in _rows(update, "content"):
        if row.get("type") == "diff":
            # version 2 has a list of changes, each with one path, or two if a file was moved
            for change in (row, *_rows(row, "changes")):
                yield from (path for name in ("oldPath", "path") if (path := text(change, name)))


def _can_be_sent(path: str) -> bool:
    """Whether a path has no unpaired UTF-16 surrogate, which JSON permits but file names do not."""
    return not any("\ud800" <= character <= "\udfff" for character in path)


def _rows(message: Message, name: str) -> list[Message]:
    result = message.get(name)
    return [row for row in result if isinstance(row, dict)] if isinstance(result, list) else []


# -- slash commands


@attrs.frozen
class Offer:
    """A slash command that the editor may offer; `hint` describes its argument, None if it takes none."""

    name: str
    description: str
    hint: str | None


def offered(offers: Sequence[Offer], version: int) -> list[Message]:
    """The commands in the form of `available_commands_update`."""
    draft = version >= _DRAFT
    kind, text_input = ({"type": "command"}, {"type": "text"}) if draft else ({}, {})
    return [
        {**kind, "name": offer.name, "description": offer.description}
        | ({} if offer.hint is None else {"input": {**text_input, "hint": offer.hint}})
        for offer in offers
    ]


def commands_update(session: str, commands: list[Message]) -> bytes:
    """A line that announces the available commands to the editor."""
    update = {"sessionUpdate": "available_commands_update", "availableCommands": commands}
    return written({"method": "session/update", "params": {"sessionId": session, "update": update}})


def with_commands(line: bytes, message: Message, commands: list[Message]) -> bytes:
    """Adds commands to the list of an `available_commands_update`, replacing namesakes; all else keeps its spelling."""
    update = part(message, "params", "update")
    known = update.get("availableCommands")
    if not isinstance(known, list):
        return line
    names = {command["name"] for command in commands}
    kept = [row for row in known if not (isinstance(row, dict) and text(row, "name") in names)]
    update["availableCommands"] = [*kept, *commands]
    if len(kept) == len(known):
        data = _spliced(line, commands, at_first=not known)
        if data is not None and parse(data) == message:
            return data
    return json.dumps(message, ensure_ascii=True, separators=(",", ":")).encode() + b"\n"


def _spliced(line: bytes, commands: list[Message], *, at_first: bool) -> bytes | None:
    """Inserts the commands as text into the list of the line; None if the list cannot be located."""
    written_line = line.decode("utf-8")
    match = _LIST.search(written_line)
    if match is None:
        return None
    _, end = json.JSONDecoder().raw_decode(written_line, match.end())
    ours = json.dumps(commands, ensure_ascii=True, separators=(",", ":"))[1:-1]
    comma = "" if at_first else ","
    return f"{written_line[: end - 1]}{comma}{ours}{written_line[end - 1 :]}".encode()


ALLOW = "allow"
"""The id of the option in `permission` that agrees."""
ALLOW_WITH_GIT = "allow-with-git"
WITH_GIT = "Go on, with git"
"""The option that agrees and takes git along."""


def permission(session: str, name: str, title: str, message: str, version: int, *, offers_git: bool) -> bytes:
    """A `session/request_permission` of ours; version 1 shows it as a call of a tool, with `name` as its id too."""
    options = [
        {"optionId": ALLOW, "name": "Go on", "kind": "allow_once"},
        *([{"optionId": ALLOW_WITH_GIT, "name": WITH_GIT, "kind": "allow_once"}] if offers_git else []),
        {"optionId": "reject", "name": "Change nothing", "kind": "reject_once"},
    ]
    shown: Message = {"title": title, "description": message}
    if version < _DRAFT:
        content = [{"type": "content", "content": {"type": "text", "text": message}}]
        call = {"toolCallId": name, "title": title, "kind": "edit", "status": "pending", "content": content}
        shown = {"toolCall": call}
    params = {"sessionId": session, **shown, "options": options}
    return written({"id": name, "method": "session/request_permission", "params": params})


def call_over(session: str, name: str, *, is_done: bool) -> bytes:
    """A line that ends the tool call that `permission` shows in version 1."""
    status = "completed" if is_done else "failed"
    return _update(session, {"sessionUpdate": "tool_call_update", "toolCallId": name, "status": status})


def answers(
    request: Message, reply: str, version: int, names: tuple[str, str], reason: str = "end_turn"
) -> list[bytes]:
    """The lines that answer a `session/prompt` with a text; `names` are new reply ids for prompt and answer."""
    params = part(request, "params")
    session = str(params.get("sessionId"))
    content = {"type": "text", "text": reply}
    request_id = request.get("id")
    if version < _DRAFT:
        return [
            _update(session, {"sessionUpdate": "agent_message_chunk", "content": content}),
            written({"id": request_id, "result": {"stopReason": reason}}),
        ]
    # the answer only acknowledges the prompt; the prompt is repeated as an update, and idleness ends the turn
    prompt, answer = names
    return [
        _update(session, {"sessionUpdate": "state_update", "state": "running"}),
        _update(session, {"sessionUpdate": "user_message", "messageId": prompt, "content": params.get("prompt")}),
        written({"id": request_id, "result": {"messageId": prompt}}),
        _update(session, {"sessionUpdate": "agent_message_chunk", "messageId": answer, "content": content}),
        _update(session, {"sessionUpdate": "state_update", "state": "idle", "stopReason": reason}),
    ]


def ends_with_answer(version: int) -> bool:
    """Whether the answer to a prompt ends the turn."""
    return version < _DRAFT


def _update(session: str, update: Message) -> bytes:
    return written({"method": "session/update", "params": {"sessionId": session, "update": update}})

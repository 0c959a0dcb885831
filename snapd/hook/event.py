"""An agent's event in a form common to all agents."""

from __future__ import annotations

import os

from .dialects import BATCH, BEGIN, END, PROMPT, READ, STOP, SUB_BEGIN, SUB_END
from .tools import READS, SUBAGENTS, begins_step, described, directory_of, files_of, named, path_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from .dialects import Dialect, Path
    from .log import Memory

_NOTIFICATION = "<task-notification>"
_NOTIFIED = r"(?s)\s*<task-notification>.*?<tool-use-id>([^<]+)</tool-use-id>"
_CONTEXT = "<hook_context>"
_CONTEXTS = r"(?s)\A(?:<hook_context>.*?</hook_context>\s*)+"
"""Output of hooks at the session's start, which Gemini CLI puts before the user's prompt."""
_SIZE = "snapd_transcript_size"
_SUBAGENT_KINDS = (("agent_type",), ("subagent_type",))
_MOST_CHARACTERS = 200
"""Longer ids of agents are replaced by a digest."""


class NotAnEvent(ValueError):
    """The input is not an event of the agent, or lacks required fields."""


class ToolCall:
    """A call of a tool with its input as reported; `call_id` is the agent's id of it, if any."""

    def __init__(self, tool: str, given: Any, call_id: str | None) -> None:
        self.tool = tool
        self.given = given
        self.call_id = call_id

    @property
    def files(self) -> list[str] | None:
        """The files that it reports to write; see `files_of`."""
        return files_of(self.tool, self.given)


class Event:
    """An event in an agent. Raises `NotAnEvent` if a field is missing or of the wrong type.

    Attributes:
        name: the agent's name of the event.
        kind: None for an event that is ignored.
        dialect: how the agent reports events.
        at: when it happened, in nanoseconds since 1970.
        is_late: whether it is replayed from the spool.
        session_id: the session.
        message_id: the prompt's id; None if the agent does not provide one.
        unnamed_prompt: a digest of a `PROMPT` without an id; else None.
        subagent: the subagent that it is about, or that makes the call.
        parent_session: the session of the agent that started this one.
        prompt: the text of a `PROMPT`; empty if there is none.
        about: a short description of a subagent.
        calls: the call of a `BEGIN` or `END`, or all calls of a `BATCH`.
        folder: the agent's absolute directory; if not reported, that of a file that it names, or the hook's.
        process: the id of the agent's process; empty if unknown.
        transcript: the agent's own file of the conversation; None if not reported.
        transcript_size: its size in bytes when a `PROMPT` was sent; negative if it is not known.
        in_background: whether what the call of an `END` started is still running.
        notification: the folder and the id of the news whose comments or overlaps the answer has; None without any.
        ended_task: the call whose background task a `PROMPT` reports as ended: no user wrote it then.
    """

    def __init__(self, payload: dict[str, Any], dialect: Dialect, at: int, *, is_late: bool = False) -> None:
        self.dialect = dialect
        self.at = at
        self.is_late = is_late
        self.name = self._text(payload, dialect.event, "the name of the event") or ""
        self.kind = dialect.events.get(self.name)
        self.calls: list[ToolCall] = []
        self.in_background = False
        self.notification: tuple[str, str] | None = None
        self.ended_task: str | None = None
        self.unnamed_prompt: str | None = None
        self.prompt = ""
        self.about: str | None = None
        self.process = os.environ.get(dialect.process, "") if dialect.process else ""
        self.transcript = _value_at(payload, (("transcript_path",),))
        self.transcript_size = 0
        if self.kind is None:
            return
        session_id = self._text(payload, dialect.session, "the session")
        if not session_id:
            raise NotAnEvent(f"{self.name} names no session")
        self.session_id, self.folder = _short(session_id), self._folder(payload)
        self.message_id = _optional(self._text(payload, dialect.message, "the prompt's id"))
        self.subagent = _optional(self._text(payload, dialect.subagent, "the subagent"))
        self.parent_session = _optional(self._text(payload, dialect.parent, "the parent session"))
        if self.kind in (BEGIN, END):
            self._take_call(payload)
        elif self.kind == SUB_BEGIN:
            self.about = self._text(payload, _SUBAGENT_KINDS, "the kind of the subagent")
        elif self.kind == BATCH:
            self.calls = list(self._batch(payload))
        elif self.kind == PROMPT:
            self._take_prompt(payload)

    def _folder(self, payload: dict[str, Any]) -> str:
        directory = path_of(self._text(payload, self.dialect.folder, "the folder") or "")
        if not directory:
            files = map(path_of, named(_input(_value_at(payload, self.dialect.given))))
            directory = next((os.path.dirname(file) for file in files if os.path.isabs(file)), "") or os.getcwd()
            # a replay runs in another directory
            payload[next(path[0] for path in self.dialect.folder if len(path) == 1)] = directory
        if not os.path.isabs(directory) or "\0" in directory:
            raise NotAnEvent(f"{self.name} names no absolute folder")
        return directory

    def _take_call(self, payload: Mapping[str, Any]) -> None:
        dialect = self.dialect
        tool = self._text(payload, dialect.tool, "the tool") or dialect.tools.get(self.name)
        if not tool:
            raise NotAnEvent(f"{self.name} names no tool")
        call = ToolCall(tool, _input(_value_at(payload, dialect.given)), self._call_id(payload))
        if dialect.tasks_are_subagents and tool.lower() in SUBAGENTS and call.call_id is not None:
            self.kind = SUB_BEGIN if self.kind == BEGIN else SUB_END
            self.subagent = call.call_id
            self.about = self.words(call)
        elif not begins_step(tool):
            reads = self.kind == END and tool.lower() in READS and named(call.given)
            self.kind = READ if reads else None
        answer = _value_at(payload, dialect.answer)
        self.in_background = any(
            isinstance(directory, dict) and bool(directory.get(name))
            for directory, name in ((answer, "backgroundTaskId"), (call.given, "is_background"))
        )
        self.calls = [call]

    def _batch(self, payload: Mapping[str, Any]) -> list[ToolCall]:
        calls = payload.get("tool_calls")
        tool_calls = []
        for each in calls if isinstance(calls, list) else [payload]:
            if isinstance(each, dict):
                tool = each.get("tool_name")
                call = ToolCall(tool if isinstance(tool, str) else "", each.get("tool_input"), self._call_id(each))
                tool_calls.append(call)
        return tool_calls

    def _take_prompt(self, payload: dict[str, Any]) -> None:
        self.prompt = self._text(payload, self.dialect.prompt, "the prompt") or ""
        # the file has grown by the time of a replay
        self.transcript_size = payload.setdefault(_SIZE, _size(self.transcript))
        if self.prompt.startswith(_CONTEXT):
            # imported late, as in other places: few events need it
            import re

            self.prompt = re.sub(_CONTEXTS, "", self.prompt)
        notified = _notified(self.prompt)
        if notified is not None:
            self.ended_task = _short(notified)
        elif self.message_id is None and self.prompt.strip():
            self.unnamed_prompt = _digest([self.session_id, self.prompt, payload.get("timestamp")])

    def _call_id(self, payload: Mapping[str, Any]) -> str | None:
        return _optional(self._text(payload, self.dialect.call, "the call's id"))

    @staticmethod
    def _text(payload: Mapping[str, Any], paths: tuple[Path, ...], what: str) -> str | None:
        value = _value_at(payload, paths)
        if value is not None and not isinstance(value, str):
            raise NotAnEvent(f"{what} is no text")
        return value

    @property
    def reads_answer(self) -> bool:
        """Whether the agent reads the answer to it."""
        return self.dialect.answer_format != "" and self.name in self.dialect.reads_answer

    def directory(self, call: ToolCall) -> str:
        """The absolute directory to which the files of a call are relative."""
        return directory_of(call.given, self.folder)

    def take_turn(self, memory: Memory) -> list[str]:
        """Assigns a message to an event of an agent without message ids; returns what to add to the memory.

        A prompt that comes twice is one message if nothing happened in between: two hooks report one event.
        """
        turns = memory.turns
        if self.unnamed_prompt is not None:
            is_told = turns[-1:] == [f"={_digest([self.unnamed_prompt, *turns[:-1]])}"]
            self.message_id = _digest([self.unnamed_prompt, *(turns[:-1] if is_told else turns)])
            return [] if is_told else [f"={self.message_id}"]
        if self.kind in (BEGIN, SUB_BEGIN) and self.message_id is None and memory.message is not None:
            self.message_id = memory.message
            return [f"+{self.message_id}"] if turns[-1][0] == "=" else []
        return ["."] if self.kind == STOP and memory.message is not None else []

    def words(self, call: ToolCall) -> str | None:
        """A short description of a call; see `described`."""
        return described(call.tool, call.given, self.folder)

    def unnamed(self, call: ToolCall) -> str:
        """An id for calls of an agent without call ids; identical calls share it."""
        return f"call:{_digest([self.session_id, call.tool, call.given])}:"


def _notified(prompt: str) -> str | None:
    """The id of the call whose background command has ended, if the prompt reports that."""
    if _NOTIFICATION not in prompt:
        return None
    import re

    result = re.match(_NOTIFIED, prompt)
    return None if result is None else result[1].strip()


def _value_at(payload: Any, paths: tuple[Path, ...]) -> Any:
    for path in paths:
        value = payload
        for key in path:
            if isinstance(value, dict):
                value = value.get(key)
            elif isinstance(value, list) and key.isdigit() and int(key) < len(value):
                value = value[int(key)]
            else:
                value = None
        if value is not None:
            return value
    return None


def _size(path: Any) -> int:
    """The size of a file, 0 if there is none yet; negative for what is no absolute path."""
    try:
        return os.stat(path).st_size if isinstance(path, str) and os.path.isabs(path) else -1
    except OSError:
        return 0
    except ValueError:
        return -1


def _input(given: Any) -> Any:
    if isinstance(given, str) and given.lstrip().startswith("{"):
        import json

        try:
            return json.loads(given)
        except (ValueError, RecursionError):
            return given
    return given


def _optional(name: str | None) -> str | None:
    return _short(name) if name else None


def _short(name: str) -> str:
    """An id, or its digest if it is long."""
    return name if len(name) <= _MOST_CHARACTERS else _digest(name)


def _digest(value: Any) -> str:
    # imported late: few events need it
    import hashlib
    import json

    text = json.dumps(value, sort_keys=True)
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def places(event: Event) -> list[tuple[str, list[ToolCall]]]:
    """The absolute folders of an event, each with the calls about it.

    They need not be roots of workspaces, which the daemon finds. A call belongs to another git work tree than the
    agent's if its directory or all its files are outside of the agent's: to the one of its first file.
    """
    if not event.calls:
        return [(event.folder, [])]
    result: dict[str, list[ToolCall]] = {}
    for call in event.calls:
        result.setdefault(_place(event.folder, event.directory(call), call.files), []).append(call)
    return list(result.items())


def root_of(folder: str) -> str:
    """The root of the git work tree around a folder; the folder itself if there is none."""
    return _git_root(folder) or folder


def _place(folder: str, directory: str, files: list[str] | None) -> str:
    paths = [os.path.join(directory, path_of(file)) for file in files or () if "\0" not in file]
    above = [os.path.dirname(os.path.realpath(path)) for path in paths] or [os.path.realpath(directory)]
    own = _git_root(os.path.realpath(folder))
    roots = [_git_root(path) or own for path in above]
    return folder if own in roots else roots[0] or folder


def _git_root(folder: str) -> str | None:
    while not os.path.lexists(os.path.join(folder, ".git")):
        above = os.path.dirname(folder)
        if above == folder:
            return None
        folder = above
    return folder

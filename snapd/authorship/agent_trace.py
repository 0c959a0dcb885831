"""Records of Agent Trace 0.1.0 (https://agent-trace.dev)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from urllib.parse import quote
from uuid import NAMESPACE_URL, uuid5

from snapd._version import __version__
from snapd.model.paths import is_utf8

from .commits import moment

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .commits import AttributedFile, Author, Commit

VERSION = "0.1.0"
_CONTRIBUTORS = {"agent": "ai", "user": "human", "unknown": "unknown"}


def can_name(path: bytes) -> bool:
    """Returns whether a record can have a file of this name."""
    return is_utf8(path)


def record(commit: Commit, files: Iterable[AttributedFile]) -> dict[str, Any]:
    """Returns the record of a commit as JSON values, reproducibly; `can_name` must hold for all `files`."""
    known = list(files)
    agents = {author.session_id: author.agent for file in known for _, author in file.lines if author.kind == "agent"}
    sessions = {
        _session(name): {"sessionId": name} if agent is None else {"sessionId": name, "agent": agent}
        for name, agent in sorted(agents.items())
    }
    result: dict[str, Any] = {
        "version": VERSION,
        "timestamp": moment(commit.committed),
        "vcs": {"type": "git", "revision": commit.name},
        "tool": {"name": "snapd", "version": __version__},
        "files": [_file(file) for file in known],
    }
    if sessions:
        result["metadata"] = {"snapd": {"sessions": sessions}}
    name = str(uuid5(NAMESPACE_URL, json.dumps(result, sort_keys=True)))
    return {"version": VERSION, "id": name, **result}


def _file(file: AttributedFile) -> dict[str, Any]:
    steps: dict[str, dict[str, None]] = {}
    for _, author in file.lines:
        steps.setdefault(author.session_id, {})[author.step_id] = None
    conversations = []
    for author, ranges in file.by(lambda author: (author.kind, author.session_id)):
        conversation = _conversation(author, steps[author.session_id])
        conversation["ranges"] = [{"start_line": lines.first, "end_line": lines.last} for lines in ranges]
        conversations.append(conversation)
    return {"path": file.path.decode("utf-8"), "conversations": conversations}


def _conversation(author: Author, steps: Iterable[str]) -> dict[str, Any]:
    contributor = {"contributor": {"type": _CONTRIBUTORS[author.kind]}}
    if author.kind != "agent":
        return contributor
    related = [{"type": "step", "url": f"snapd:step/{quote(step, safe='')}"} for step in steps]
    return {"url": _session(author.session_id), **contributor, "related": related}


def _session(name: str) -> str:
    return f"snapd:session/{quote(name, safe='')}"

"""Reads notes by the rules of the Git AI Standard 3.0.0, and refuses what breaks one of them."""

from __future__ import annotations

import json
import re
from typing import Any

import attrs

_KEY = re.compile(r"s_[0-9a-f]{14}::t_[0-9a-f]{14}|h_[0-9a-f]{14}|[0-9a-f]{16}")
_LINES = re.compile(r"[1-9][0-9]*(-[1-9][0-9]*)?(,[1-9][0-9]*(-[1-9][0-9]*)?)*")
_AGENT = {"tool", "id", "model"}


@attrs.frozen
class Note:
    """A note.

    Attributes:
        files: for each file, the key of each of its attested lines.
        metadata: what follows the divider.
    """

    files: dict[str, dict[int, str]]
    metadata: dict[str, Any]

    def session(self, key: str) -> dict[str, Any]:
        """The agent of a key: sections 1.2.3.1 and 1.2.4."""
        found: dict[str, Any] = self.metadata["sessions"][key.split("::")[0]]["agent_id"]
        return found


def parse(text: str) -> Note:
    """Reads a note; raises `AssertionError` if it is none."""
    attested, divider, metadata = ("\n" + text).partition("\n---\n")
    assert divider
    note = Note(_attestations(attested.split("\n")[1:]), json.loads(metadata))
    _check_metadata(note.metadata)
    for lines in note.files.values():
        for key in lines.values():
            assert key.startswith("s_"), "snapd knows sessions only"
            assert note.session(key)
    return note


def _attestations(lines: list[str]) -> dict[str, dict[int, str]]:
    files: dict[str, dict[int, str]] = {}
    path = ""
    for line in lines:
        if not line.startswith("  "):
            assert not path or files[path], f"{path} has no attestations"
            path = line[1:-1] if line.startswith('"') and line.endswith('"') else line
            # what has white space has to be quoted
            assert path == line[1:-1] or not re.search(r"\s", path), line
            assert path not in files, line
            files[path] = {}
            continue
        assert path, "an entry without a file"
        key, space, spec = line[2:].partition(" ")
        assert _KEY.fullmatch(key), line
        assert space, line
        assert _LINES.fullmatch(spec), line
        last = 0
        for each in spec.split(","):
            start, _, end = each.partition("-")
            numbers = range(int(start), int(end or start) + 1)
            # in ascending order, and neighbours are one range
            assert numbers, line
            assert int(start) > last + 1 or last == 0, line
            assert not files[path].keys() & set(numbers), line
            files[path] |= dict.fromkeys(numbers, key)
            last = numbers[-1]
    assert not path or files[path], f"{path} has no attestations"
    return files


def _check_metadata(found: dict[str, Any]) -> None:
    assert found["schema_version"] == "authorship/3.0.0"
    assert re.fullmatch(r"[0-9a-f]{40}|[0-9a-f]{64}", found["base_commit_sha"])
    assert isinstance(found["prompts"], dict)
    assert found.keys() <= {"schema_version", "base_commit_sha", "prompts", "git_ai_version", "sessions", "humans"}
    for name, session in found.get("sessions", {}).items():
        assert re.fullmatch(r"s_[0-9a-f]{14}", name)
        assert session.keys() <= {"agent_id", "human_author", "custom_attributes"}
        assert session["agent_id"].keys() == _AGENT
        assert all(isinstance(value, str) and value for value in session["agent_id"].values())

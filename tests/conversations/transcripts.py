"""Transcripts that real agents wrote, of three prompts each; long texts are cut, and paths replaced."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import attrs

from snapd.conversations.branch import Prompt
from snapd.model.timeline import Transcript

PROMPTS = ("Please write the first file", "Now write the second file", "Last one")
_FOLDER = Path(__file__).with_name("transcripts")

Json = dict[str, Any]


def rows_of(path: Path) -> list[Json]:
    """The rows of a transcript."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


@attrs.frozen
class Conversation:
    """A transcript in a folder of its own."""

    path: Path
    session: str
    before: bytes

    def prompt(self, message_id: str, number: int, size: int = 0) -> Prompt:
        """One of the prompts, as snapd recorded it."""
        transcript = Transcript(str(self.path), size)
        return Prompt(self.session, message_id, PROMPTS[number], 0, transcript)

    def new(self) -> list[Path]:
        """The files that were made since."""
        assert self.path.read_bytes() == self.before
        return [path for path in self.path.parent.iterdir() if path != self.path]


def conversation(agent: str, session: str, name: str, folder: Path) -> Conversation:
    """Copies an agent's transcript to where the agent would have it."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes((_FOLDER / f"{agent}.jsonl").read_bytes())
    return Conversation(path, session, path.read_bytes())

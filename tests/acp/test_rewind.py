"""`/rewind` takes files and conversation back; no hook reports where the agent has its conversation."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.acp.real import Work


def reject(_: Work) -> dict[str, Any]:
    return {"result": {"outcome": {"outcome": "selected", "optionId": "reject"}}}


class ClaudeInEditor(Work):
    """A session of claude-agent-acp, whose transcript has each prompt under an id of its own."""

    def __init__(self, base: Path) -> None:
        super().__init__(base)
        self.folder_of_transcripts = base / "claude/projects/p"
        self.folder_of_transcripts.mkdir(parents=True)
        self.transcript = self.folder_of_transcripts / "S.jsonl"
        self._last: str | None = None
        self.backend.request("session/start", {"sessionId": "S", "agent": "claude"})

    def works(self, typed: str, name: str) -> None:
        self.turn(typed, {name: "1\n"})
        with self.transcript.open("a") as file:
            for kind, content in ("user", [{"type": "text", "text": typed}]), ("assistant", "done"):
                row = {"type": kind, "uuid": f"{kind} {name}", "parentUuid": self._last, "sessionId": "S"}
                row |= {"timestamp": datetime.now(UTC).isoformat(), "cwd": str(self.folder)}
                row |= {"promptId": f"of {name}"} if kind == "user" else {}
                print(json.dumps({**row, "message": {"role": kind, "content": content}}), file=file)
                self._last = row["uuid"]

    def copies(self) -> list[Path]:
        return [path for path in self.folder_of_transcripts.iterdir() if path != self.transcript]


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ClaudeInEditor]:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    made = ClaudeInEditor(tmp_path)
    for name in "one", "two", "three":
        made.works(f"write {name}", name)
    yield made
    made.close()


def test_files_and_conversation_go_back_to_before_a_prompt(work: ClaudeInEditor) -> None:
    said = work.command("/rewind 2")

    assert work.files() == {"one": "1\n"}
    (copy,) = work.copies()
    assert "write one" in copy.read_text()
    assert "write two" not in copy.read_text()
    (question,) = work.questions
    assert question["toolCall"]["title"] == "Go back to before the prompt “write two”?"
    shown = question["toolCall"]["content"][0]["content"]["text"]
    assert "without “write two” and the prompt after it" in shown
    assert f"Open the session `{copy.stem}` in your editor, or type `cd " in said
    assert f" && claude --resume {copy.stem}`." in said
    sessions = work.ask("session/list")["sessions"]
    (new,) = [each for each in sessions if each["sessionId"] == copy.stem]
    assert new["continues"]["sessionId"] == "S"


def test_without_a_number_it_is_the_last_prompt(work: ClaudeInEditor) -> None:
    work.command("/rewind")
    assert work.files() == {"one": "1\n", "two": "1\n"}
    assert "write two" in work.copies()[0].read_text()


def test_nothing_happens_without_a_yes(work: ClaudeInEditor) -> None:
    said = work.command("/rewind", reject)
    assert (said, len(work.files()), work.copies()) == ("Nothing was changed.", 3, [])


def test_what_cannot_go_back_is_said_first_and_the_files_do(work: ClaudeInEditor) -> None:
    work.transcript.unlink()
    said = work.command("/rewind")

    assert "does not know where its file is" in work.questions[0]["toolCall"]["content"][0]["content"]["text"]
    assert "does not know where its file is" in said
    assert work.files() == {"one": "1\n", "two": "1\n"}


def test_a_session_without_prompts(tmp_path: Path) -> None:
    work = Work(tmp_path)
    try:
        assert work.command("/rewind").startswith("snapd: no prompt of this session is recorded.")
    finally:
        work.close()

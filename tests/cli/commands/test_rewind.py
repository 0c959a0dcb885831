"""`snapd rewind` with an agent that writes its transcript as Claude Code does."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from snapd_client import Client

from tests.cli.running import Home
from tests.hook.agent import Agent

OLD = "0e8e9a43-0000-4000-8000-000000000001"


class Claude(Agent):
    """Each prompt writes a file of its own name."""

    session = OLD

    def __init__(self, home: Home, root: str) -> None:
        super().__init__(home, root)
        self.folder = Path(home.at("home/.claude/projects/p"))
        self.folder.mkdir(parents=True, exist_ok=True)
        self.last: str | None = None

    @property
    def transcript(self) -> Path:
        return self.folder / f"{self.session}.jsonl"

    def on(self, name: str, **fields: Any) -> Any:
        return super().on(name, session_id=self.session, transcript_path=str(self.transcript), **fields)

    def row(self, **row: Any) -> None:
        known = {"uuid": f"u{os.urandom(8).hex()}", "parentUuid": self.last, "sessionId": self.session}
        with self.transcript.open("a") as file:
            print(json.dumps({**known, "cwd": self.root, **row}), file=file)
        self.last = known["uuid"]

    def prompt(self, name: str, *, writes: bool = True) -> None:
        self.on("UserPromptSubmit", prompt=f"write {name}", prompt_id=name)
        self.row(type="user", promptId=name, message={"role": "user", "content": f"write {name}"})
        if writes:
            given = {"file_path": self.path(name)}
            self.on("PreToolUse", tool_name="Write", tool_input=given, tool_use_id=name, prompt_id=name)
            self.write(name, f"{name}\n")
            fields = {"tool_name": "Write", "tool_input": given, "tool_response": {}, "tool_use_id": name}
            self.on("PostToolUse", prompt_id=name, **fields)
        answer = [{"type": "text", "text": f"wrote {name}"}]
        self.row(type="assistant", message={"role": "assistant", "content": answer})
        self.on("Stop", prompt_id=name)

    def files(self) -> set[str]:
        return set(os.listdir(self.root)) & {"one", "two", "three"}

    def copies(self) -> list[Path]:
        return [path for path in self.folder.iterdir() if path != self.transcript]

    def rewind(self, *words: str) -> Any:
        return self.home.run(self.root, "rewind", *words)


@pytest.fixture
def claude(home: Home, project: str) -> Any:
    made = Claude(home, project)
    for name in ("one", "two", "three"):
        made.prompt(name)
    yield made
    shutil.rmtree(made.folder)


def test_files_and_conversation_go_back_together(claude: Claude) -> None:
    before = claude.transcript.read_bytes()
    done = claude.rewind("two", "--yes", "--json")

    assert done.code == 0
    assert claude.files() == {"one"}
    assert {row["file"]: row["outcome"] for row in done.json["files"]} == {"two": "deleted", "three": "deleted"}
    chat = done.json["chat"]
    (copy,) = claude.copies()
    assert chat == {
        "agent": "claude",
        "kind": "copy",
        "sessionId": copy.stem,
        "command": ["claude", "--resume", copy.stem],
        "cwd": claude.root,
        "drops": ["two", "three"],
        "prompt": "write two",
        "summary": "with Claude Code, goes on in a new session, without “write two” and the prompt after it",
        "line": f"cd {claude.root} && claude --resume {copy.stem}",
    }
    assert claude.transcript.read_bytes() == before
    assert "write one" in copy.read_text()
    assert "write two" not in copy.read_text()


def test_the_new_session_is_the_continuation(claude: Claude) -> None:
    new = claude.rewind("three", "--yes", "--json").json["chat"]["sessionId"]
    shown = f"ended, continues {OLD[:6]}"
    assert shown in claude.home.ok(claude.root, "sessions")
    claude.session, claude.last = new, None
    claude.prompt("four")

    (session,) = [each for each in claude.ask("sessions")["sessions"] if each["sessionId"] == new]
    assert session["continues"] == {"sessionId": OLD, "messageId": "three"}
    assert session["stepCount"] == 1
    assert "endedAt" not in session
    assert claude.ask("log")["entries"][0]["step"]["sessionId"] == new
    assert f"open  continues {OLD[:6]}  write four" in claude.home.ok(claude.root, "log")


def test_a_dry_run_makes_nothing(claude: Claude) -> None:
    shown = claude.rewind("two", "--dry-run")
    assert "would delete  two" in shown.text
    assert (
        "conversation: with Claude Code, goes on in a new session, without “write two” and the prompt after it"
        in shown.text
    )
    asked = claude.rewind("two", "--dry-run", "--json")

    assert (asked.code, asked.json["chat"]["drops"], asked.json["chat"]["kind"]) == (0, ["two", "three"], "copy")
    assert "sessionId" not in asked.json["chat"]
    assert claude.files() == {"one", "two", "three"}
    assert claude.copies() == []
    assert len(claude.ask("sessions")["sessions"]) == 1


def test_what_to_type_is_printed(claude: Claude) -> None:
    text = claude.rewind("last", "--yes").text

    (copy,) = claude.copies()
    assert f"    claude --resume {copy.stem}\n" in text
    assert "close the old conversation" in text
    assert claude.home.run(claude.root, "redo", "--all", "--session", OLD, "--yes").code == 0
    assert claude.files() == {"one", "two", "three"}


def test_the_folder_is_named_where_it_is_another(claude: Claude) -> None:
    os.mkdir(claude.path("below"))
    text = claude.home.run(claude.path("below"), "rewind", "last", "--chat-only").text

    (copy,) = claude.copies()
    assert f"    cd {claude.root} && claude --resume {copy.stem}\n" in text


def test_only_the_conversation(claude: Claude) -> None:
    done = claude.rewind("two", "--chat-only", "--json")

    assert (done.code, list(done.json)) == (0, ["chat"])
    assert claude.files() == {"one", "two", "three"}
    assert len(claude.copies()) == 1


def test_the_first_prompt_leaves_nothing_to_go_on_with(claude: Claude) -> None:
    done = claude.rewind("one", "--yes", "--json")

    assert done.code == 0
    assert claude.files() == set()
    assert claude.copies() == []
    assert (done.json["chat"]["kind"], done.json["chat"]["command"]) == ("new", ["claude"])
    assert "sessionId" not in done.json["chat"]


def test_a_prompt_that_changed_nothing(claude: Claude) -> None:
    claude.prompt("asked", writes=False)
    assert claude.rewind("asked", "--yes", "--json").json["files"] == []
    claude.prompt("four")
    done = claude.rewind("asked", "--yes", "--json")

    assert [row["file"] for row in done.json["files"]] == ["four"]
    assert done.json["chat"]["drops"] == ["asked", "four"]


def test_files_stand_where_the_conversation_cannot_go_back(claude: Claude) -> None:
    claude.transcript.write_text('{"uuid":"x","parentUuid":null,"sessionId":"s","type":"user"}\n')
    done = claude.rewind("three", "--yes", "--json")

    assert done.code == 3
    assert claude.files() == {"one", "two"}
    assert claude.copies() == []
    assert "does not have this prompt" in done.json["chat"]["problem"]
    assert "/rewind" in done.json["chat"]["problem"]
    assert done.err.startswith("snapd: the conversation stays as it is: ")
    assert claude.rewind("two", "--chat-only").code == 3


def test_an_agent_without_a_way_is_named_before_anything_changes(home: Home, project: str) -> None:
    agent = Agent(home, project)
    event = {"hook_event_name": "UserPromptSubmit", "session_id": "C", "prompt_id": "p", "cwd": project}
    agent.report({**event, "prompt": "go on"}, "droid")
    done = home.run(project, "rewind", "p", "--yes")

    assert done.code == 3
    assert (
        done.err
        == "snapd: the conversation stays as it is: snapd knows no way back in a conversation with Factory Droid\n"
    )


def test_undo_with_the_conversation_is_of_the_last_prompt(claude: Claude) -> None:
    refused = claude.home.run(claude.root, "undo", "--message", "two", "--chat", "--yes")
    assert (refused.code, claude.files()) == (2, {"one", "two", "three"})
    assert "'snapd rewind two'" in refused.err
    assert claude.home.run(claude.root, "undo", "--chat", "--yes").code == 2

    done = claude.home.run(claude.root, "undo", "--message", "three", "--chat", "--yes", "--json")
    assert (done.code, done.json["chat"]["drops"]) == (0, ["three"])
    assert claude.files() == {"one", "two"}
    assert len(claude.copies()) == 1


def test_undo_with_the_conversation_of_a_prompt_that_changed_nothing(claude: Claude) -> None:
    claude.prompt("asked", writes=False)
    done = claude.home.run(claude.root, "undo", "--message", "last", "--chat", "--yes", "--json")

    assert (done.code, done.json["files"], done.json["chat"]["drops"]) == (0, [], ["asked"])


def test_a_transcript_of_an_unknown_form_keeps_no_file_back(claude: Claude) -> None:
    claude.row(type="user", logicalParentUuid=["x"], message={"role": "user", "content": "?"})
    done = claude.rewind("three", "--yes", "--json")

    assert (done.code, claude.files(), claude.copies()) == (3, {"one", "two"}, [])
    assert "a form that snapd does not know" in done.json["chat"]["problem"]


def test_a_message_of_two_sessions_is_ambiguous(claude: Claude) -> None:
    claude.session, claude.last = OLD[:-1] + "2", None
    claude.prompt("one")
    refused = claude.rewind("one", "--yes")

    assert (refused.code, claude.files()) == (2, {"one", "two", "three"})
    assert "several sessions have the message 'one'" in refused.err
    assert claude.rewind("one", "--session", OLD, "--dry-run").code == 0


def test_another_agent_at_work_keeps_its_step(claude: Claude) -> None:
    other = Agent(claude.home, claude.root)
    other.on("UserPromptSubmit", prompt="work", session_id="B")
    other.on("PreToolUse", tool_name="Bash", tool_use_id="c", tool_input={"command": "make"}, session_id="B")
    other.write("made", "text\n")
    assert claude.rewind("three", "--chat-only").code == 0
    other.on("Stop", session_id="B")

    assert other.of_the_user() == set()
    (step,) = [step for step in other.steps() if step.part == "c"]
    assert step.files == ("made",)


def test_nothing_goes_back_where_the_files_do_not(claude: Claude) -> None:
    claude.write("three", "mine\n")
    done = claude.rewind("three", "--yes", "--on-conflict", "fail", "--json")

    assert (done.code, done.json["applied"], claude.copies()) == (3, False, [])
    chat = {"agent": "claude", "cwd": claude.root, "drops": ["three"], "prompt": "write three", "command": []}
    assert done.json["chat"] == {**chat, "problem": "stays as it is, because no file was changed"}
    # in conflict, as a whole
    left = claude.rewind("three", "--yes", "--json")
    assert (left.code, left.json["chat"], claude.copies()) == (3, done.json["chat"], [])


def test_what_is_needed_survives_a_restart(claude: Claude) -> None:
    assert claude.home.run(claude.root, "stop").code == 0
    assert claude.rewind("two", "--dry-run", "--json").json["chat"]["drops"] == ["two", "three"]


def test_a_session_cannot_continue_itself(claude: Claude) -> None:
    with Client.connect(claude.home.at("run/daemon.sock"), timeout=60) as client:
        client.initialize([claude.root])
        with pytest.raises(Exception, match="continue itself"):
            client.request("session/start", {"sessionId": "x", "continues": {"sessionId": "x"}})
        client.request("session/start", {"sessionId": "x", "continues": {"sessionId": "y"}})
        client.request("session/start", {"sessionId": "x"})
        sessions = client.request("session/list", {})["sessions"]
    assert [each["continues"] for each in sessions if each["sessionId"] == "x"] == [{"sessionId": "y"}]


@pytest.mark.parametrize("transcript", [{"transcript": "s.jsonl"}, {"transcript": "/s", "transcriptSize": -1}])
def test_a_transcript_that_is_none(claude: Claude, transcript: dict[str, Any]) -> None:
    with Client.connect(claude.home.at("run/daemon.sock"), timeout=60) as client:
        client.initialize([claude.root])
        event = {"sessionId": "x", "event": "prompt", "messageId": "m", "text": "go", **transcript}
        with pytest.raises(Exception, match="expected a"):
            client.request("agent/report", event)

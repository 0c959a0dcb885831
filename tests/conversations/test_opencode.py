"""OpenCode, with a database of its tables, and a server in the place of its own."""

from __future__ import annotations

import json
import sqlite3
import sys
from pathlib import Path

import pytest

from snapd.conversations.branch import NoBranch, Prompt
from snapd.conversations.opencode import opencode

from .transcripts import PROMPTS

_PROGRAM = f"""#!{sys.executable}
import base64, json, os, sys
from http.server import BaseHTTPRequestHandler, HTTPServer

assert sys.argv[1:] == ["serve", "--pure", "--hostname", "127.0.0.1", "--port", "0"]
name = base64.b64encode(b"opencode:" + os.environ["OPENCODE_SERVER_PASSWORD"].encode()).decode()
messages = json.load(open("messages.json"))
copied = []

class Handler(BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass
    def answer(self, value):
        allowed = self.headers["Authorization"] == "Basic " + name and "?directory=%2F" in self.path
        self.send_response(200 if allowed else 401)
        self.end_headers()
        self.wfile.write(json.dumps(value).encode())
    def do_GET(self):
        self.answer([{{"info": {{"id": id}}}} for id in (copied if "/session/new/" in self.path else messages)])
    def do_DELETE(self):
        open(os.environ["XDG_DATA_HOME"] + "/deleted", "w").write(self.path)
        self.answer(True)
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        copied[:] = messages[: messages.index(body["messageID"]) + int(os.environ.get("TOO_MANY", "0"))]
        self.answer({{"id": "new"}})

server = HTTPServer(("127.0.0.1", 0), Handler)
print("Warning: something else", flush=True)
print(f"opencode server listening on http://127.0.0.1:{{server.server_port}}", flush=True)
server.serve_forever()
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    (tmp_path / "data/opencode").mkdir(parents=True)
    (tmp_path / "bin").mkdir()
    connection = sqlite3.connect(tmp_path / "data/opencode/opencode.db")
    connection.execute("CREATE TABLE session (id, directory)")
    connection.execute("CREATE TABLE message (id, session_id, time_created, data)")
    connection.execute("CREATE TABLE part (id, message_id, session_id, data)")
    connection.execute("INSERT INTO session VALUES ('S', ?)", (str(tmp_path),))
    messages = []
    for number, text in enumerate(PROMPTS):
        for role in "user", "assistant":
            messages.append(f"{role}{number}")
            data = json.dumps({"role": role})
            connection.execute("INSERT INTO message VALUES (?, 'S', ?, ?)", (messages[-1], number, data))
        parts = [{"type": "text", "text": text}, {"type": "text", "text": "of a plugin", "synthetic": True}]
        for at, part in enumerate(parts):
            row = (f"{number}{at}", f"user{number}", json.dumps(part))
            connection.execute("INSERT INTO part VALUES (?, ?, 'S', ?)", row)
    connection.commit()
    connection.close()
    (tmp_path / "messages.json").write_text(json.dumps(messages))
    return tmp_path


def program(folder: Path, text: str = _PROGRAM) -> None:
    executable = folder / "bin/opencode"
    executable.write_text(text)
    executable.chmod(0o700)


def prompt(number: int) -> Prompt:
    return Prompt("S", f"user{number}", PROMPTS[number], 0, None)


def test_its_server_makes_a_fork(folder: Path) -> None:
    program(folder)
    branch = opencode(prompt(1))
    assert branch.begin is not None
    assert (branch.drops, branch.prompt, branch.cwd) == (("user1", "user2"), PROMPTS[1], str(folder))
    made = branch.begin()

    assert (made.session_id, made.kind) == ("new", "fork")


def test_nothing_is_left_before_the_first_message(folder: Path) -> None:
    branch = opencode(prompt(0))
    assert branch.begin is None
    assert branch.drops == ("user0", "user1", "user2")


def test_a_fork_with_too_much_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(folder)
    monkeypatch.setenv("TOO_MANY", "1")
    branch = opencode(prompt(1))
    assert branch.begin is not None
    with pytest.raises(NoBranch, match="3 messages instead of 2"):
        branch.begin()
    assert (folder / "data/deleted").read_text().startswith("/session/new?directory=")


def test_without_its_program_or_its_answer_nothing_is_made(folder: Path) -> None:
    with pytest.raises(NoBranch, match="no program 'opencode'"):
        opencode(prompt(1))
    program(folder, "#!/bin/sh\necho broken\n")
    branch = opencode(prompt(1))
    assert branch.begin is not None
    with pytest.raises(NoBranch, match="ended before it listened"):
        branch.begin()


def test_an_unknown_message_or_another_database_is_refused(folder: Path) -> None:
    with pytest.raises(NoBranch, match="does not have this prompt"):
        opencode(Prompt("S", "assistant0", None, 0, None))
    with pytest.raises(NoBranch, match="does not have this prompt"):
        opencode(Prompt("T", "user1", None, 0, None))
    database = folder / "data/opencode/opencode.db"
    connection = sqlite3.connect(database)
    connection.execute("ALTER TABLE message RENAME TO messages")
    connection.close()
    with pytest.raises(NoBranch, match="cannot be read"):
        opencode(prompt(1))
    database.unlink()
    with pytest.raises(NoBranch, match="cannot be read"):
        opencode(prompt(1))
    assert not database.exists()

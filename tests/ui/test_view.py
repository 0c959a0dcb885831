"""The terminal view, driven by key, against a real daemon; a second client and the folder say what is true."""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import struct
import threading
import unicodedata
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Any
from unittest import mock

import pytest
from snapd_client import Client

from snapd.cli.ui import contents, history
from snapd.cli.ui.app import Link
from snapd.model.errors import IoError
from tests.cli.steps import numbered, put, read
from tests.support.git import run_git

from .view import shown

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Mapping
    from pathlib import Path

    from snapd_client import Client

    from tests.cli.running import Home

pytestmark = pytest.mark.slow

OLD = numbered(40)
NEW = numbered(40, l3=b"three", l30=b"thirty")


def take(client: Client, project: str, files: Mapping[str, bytes | None], session: str = "S", **about: Any) -> str:
    """A step that does this to files; gives its name."""
    client.session_start(session, agent="claude")
    step = client.step_begin(session, **about)["stepId"]
    put(project, files)
    client.step_end(step)
    return step


async def test_it_shows_what_the_requests_say(client: Client, project: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history, "ON_A_PAGE", 3)
    monkeypatch.setattr("snapd.cli.ui.app.ON_A_PAGE", 3)
    for number in range(8):
        take(client, project, {f"f{number}.txt": b"x\n" * (number + 1)}, tool="Write", description=f"file {number}")
    client.session_undo("S")
    steps = client.session_steps("S")["steps"][::-1]
    async with shown(project) as view:
        # the cursor at the end has older pages loaded
        while view.rows[-1] == "  … older":
            await view.press("G")
        await view.until(lambda: not any("older" in row for row in view.rows), "all pages")
        rows = [row for row in view.rows if "Write" in row]
        for row, step in zip(rows, steps, strict=True):
            (file,) = step["files"]
            undone = "undone " if step["state"] == "undone" else ""
            assert row.split(maxsplit=3)[3] == f"{undone}Write {step['description']} +{file['additions']} -0"
        assert "8 steps" in view.rows[0]
        await view.select("file 3")
        await view.press("enter")
        assert "      A f3.txt +4 -0" in view.rows
        hunks = client.step_hunks(steps[4]["stepId"], "f3.txt")["hunks"]
        lines = [line for hunk in hunks for line in (hunk["header"], *hunk["lines"])]
        await view.until(lambda: view.diff[2:] == lines, "the diff")


async def test_it_is_live_and_stays_where_it_is(client: Client, project: str) -> None:
    for number in range(30):
        take(client, project, {"basket.py": b"%d\n" % number}, description=f"number {number}")
    async with shown(project) as view:
        await view.select("number 12")
        selected, place = view.app.rows.row, view.app.rows.cursor - view.app.rows.scroll_offset.y
        assert selected is not None
        assert view.app.rows.scroll_offset.y > 0 or place > 10
        put(project, {"mine.txt": b"mine\n"})
        client.session_start("T", agent="codex")
        step = client.step_begin("T", description="just begun")["stepId"]
        await view.until(lambda: any("running just begun" in row for row in view.rows), "the open step")
        await view.until(lambda: "1 open step" in view.status, "the number of open steps")
        await view.until(lambda: any("you  1 change" in row for row in view.rows), "what the user changed")
        put(project, {"codex.txt": b"codex\n"})
        client.step_end(step)
        await view.until(lambda: any("just begun +1 -0" in row for row in view.rows), "the step that has ended")
        await view.until(lambda: "open step" not in view.status, "the number of open steps")
        now = view.app.rows.row
        assert now is not None
        assert now.key == selected.key
        assert view.app.rows.cursor > 12
        top = view.app.rows.scroll_offset.y
        assert top <= view.app.rows.cursor < top + view.app.rows.size.height


async def test_what_happens_while_it_loads(client: Client, project: str, monkeypatch: pytest.MonkeyPatch) -> None:
    take(client, project, {"a.txt": b"a\n"}, description="first")
    gate, reached, ask = threading.Event(), threading.Event(), Link.ask

    def held(self: Link, method: str, params: dict[str, Any]) -> Any:
        answer = ask(self, method, params)
        if method == "snapshot/status":
            reached.set()
            gate.wait()
        return answer

    monkeypatch.setattr(Link, "ask", held)
    async with shown(project, loaded=False) as view, ended(gate):
        await view.until(reached.is_set, "the last answer")
        take(client, project, {"b.txt": b"b\n"}, session="T", description="second")
        step = client.step_begin("T", description="third")["stepId"]
        await view.until(lambda: step in view.app.history.open_steps, "the notification")
        gate.set()
        await view.until(lambda: view.app.history.is_loaded, "the history")
        await view.until(lambda: any("second +1 -0" in row for row in view.rows), "the second step")
        await view.until(lambda: any("running third" in row for row in view.rows), "the third step")
        await view.until(lambda: "1 open step" in view.status, "the number of open steps")
        assert any("first" in row for row in view.rows)


async def test_the_diff_of_an_open_step_is_live(client: Client, project: str) -> None:
    client.session_start("S", agent="claude")
    client.step_begin("S", description="at work")
    async with shown(project) as view:
        await view.select("at work")
        await view.until(lambda: "This step is open." in "".join(view.diff), "the open step")
        put(project, {"basket.py": numbered(40, l3=b"first")})
        await view.until(lambda: "+first" in view.diff, "the first change")
        put(project, {"basket.py": numbered(40, l3=b"second")})
        await view.until(lambda: "+second" in view.diff and "+first" not in view.diff, "the second change")


async def test_undo_and_redo_by_key(client: Client, project: str) -> None:
    take(client, project, {"basket.py": NEW, "new.txt": b"new\n"}, description="both")
    take(client, project, {"other.txt": b"other\n"}, description="later")
    async with shown(project) as view:
        await view.select("both")
        await view.press("u")
        await view.until(lambda: "Undo" in view.question, "the plan")
        assert "write    basket.py" in view.question
        assert "delete   new.txt" in view.question
        await view.press("n")
        assert read(project, "basket.py") == NEW
        await view.press("u")
        await view.answer("y", "Undo")
        await view.until(lambda: any("undone both" in row for row in view.rows), "the state")
        assert (read(project, "basket.py"), read(project, "new.txt")) == (OLD, None)
        assert read(project, "other.txt") == b"other\n"
        assert view.message == "2 files changed. r redoes it."
        await view.press("r")
        await view.answer("y", "again")
        await view.until(lambda: not any("undone both" in row for row in view.rows), "the state")
        assert (read(project, "basket.py"), read(project, "new.txt")) == (NEW, b"new\n")


async def test_what_was_confirmed_is_undone_or_there_is_a_new_question(client: Client, project: str) -> None:
    take(client, project, {"basket.py": NEW}, description="both")
    async with shown(project) as view:
        await view.select("both")
        await view.press("u")
        await view.until(lambda: "write    basket.py" in view.question, "the plan")
        mine = numbered(40, l3=b"three", l20=b"mine", l30=b"thirty")
        put(project, {"basket.py": mine})
        await view.press("y")
        await view.until(lambda: "merge    basket.py" in view.question, "the new plan")
        assert "Something has changed since" in view.question
        assert read(project, "basket.py") == mine
        await view.answer("y", "Undo")
        await view.until(lambda: any("undone both" in row for row in view.rows), "the state")
        assert read(project, "basket.py") == numbered(40, l20=b"mine")


async def test_a_session_is_undone_whole(client: Client, project: str) -> None:
    for number in range(3):
        take(client, project, {f"{number}.txt": b"x\n"})
    async with shown(project) as view:
        await view.select("Claude Code")
        await view.press("u")
        await view.answer("y", "Undo all 3 steps")
        await view.until(lambda: view.messages, "the outcome")
        assert [read(project, f"{number}.txt") for number in range(3)] == [None] * 3
        assert client.session_list()["sessions"][0]["undoable"] == 0
        # there is nothing left, and that is said with what to do
        await view.until(lambda: sum("undone" in row for row in view.rows) == 3, "the states")
        await view.select("Claude Code")
        await view.press("u")
        await view.until(lambda: "no step left to undo\nr redoes" in view.message, "the error")


async def test_git_goes_back_by_a_key_in_the_question(client: Client, project: str) -> None:
    run_git(project, "init", "-qb", "main")
    run_git(project, "add", "-A")
    run_git(project, "commit", "-qm", "first")
    run_git(project, "branch", "topic")
    client.session_start("S", agent="claude")
    before = run_git(project, "for-each-ref").decode()
    step = client.step_begin("S", description="commit it")["stepId"]
    put(project, {"new.txt": b"new\n"})
    run_git(project, "add", "-A")
    run_git(project, "commit", "-qm", "second")
    run_git(project, "branch", "-D", "topic")
    client.step_end(step)
    after = run_git(project, "for-each-ref").decode()
    moved = f"main {before[:7]} → {after[:7]}, branch topic deleted"
    async with shown(project) as view:
        await view.select("commit it")
        await view.until(lambda: f"git: {moved}" in view.diff, "what it did to git")
        await view.press("u")
        await view.answer("g", f"git stays as it is: {moved}; g takes that back, too")
        await view.answer("g", "g leaves git as it is")
        await view.answer("g", "git stays as it is")
        await view.answer("y", f"git: main {after[:7]} → {before[:7]}, branch topic created at {before[:7]}")
        await view.until(lambda: "1 file changed. git: main" in view.message, "the result")
        assert run_git(project, "for-each-ref").decode() == before
        assert read(project, "new.txt") is None
        await view.press("r")
        await view.answer("g", f"git stays undone: {moved}; g redoes that, too")
        await view.answer("y", f"git: {moved}")
        await view.until(lambda: run_git(project, "for-each-ref").decode() == after, "the redo")


async def test_a_turn_is_shown_and_undone_whole(client: Client, project: str) -> None:
    client.session_start("S", agent="claude")
    client.session_message("S", "m1", "make it\nfaster")
    for number in range(2):
        take(client, project, {f"{number}.txt": b"x\n"}, description="work")
    client.session_message("S", "m2", "now test it")
    take(client, project, {"test.txt": b"x\n"}, description="test")
    async with shown(project) as view:
        turns = [row for row in view.rows if "»" in row]
        assert [words in row for row, words in zip(turns, ("now test it", "make it faster"), strict=True)] == [True] * 2
        await view.select("make it faster")
        await view.until(lambda: any("0.txt" in line for line in view.diff), "what the turn changed")
        assert {"make it", "faster"} <= {line.strip() for line in view.diff}
        await view.press("u")
        await view.answer("y", "Undo all steps of this turn?")
        await view.until(lambda: view.messages, "the outcome")
        assert [read(project, name) for name in ("0.txt", "1.txt", "test.txt")] == [None, None, b"x\n"]


async def test_files_and_conversation_go_back_to_before_a_prompt(client: Client, project: str, tmp_path: Path) -> None:
    client.session_start("S", agent="claude")
    transcript = tmp_path / "S.jsonl"
    for number, name in enumerate(("one", "two")):
        more = {"messageId": name, "text": f"write {name}", "transcript": str(transcript)}
        client.request("agent/report", {"sessionId": "S", "event": "prompt", "agent": "claude", **more})
        take(client, project, {name: b"x\n"}, description=name)
        row = {"type": "user", "uuid": name, "parentUuid": "one" if number else None, "promptId": name}
        row |= {"sessionId": "S", "cwd": project, "message": {"role": "user", "content": f"write {name}"}}
        with transcript.open("a") as file:
            print(json.dumps(row), file=file)
    async with shown(project) as view:
        await view.select("write two")
        await view.press("b")
        await view.answer("y", "without “write two”")
        await view.until(lambda: "claude --resume " in view.message, "what to type")
    assert [read(project, name) for name in ("one", "two")] == [b"x\n", None]
    _, new = client.session_list()["sessions"]
    assert "write one" in (tmp_path / f"{new['sessionId']}.jsonl").read_text()


async def test_a_conflict_is_shown_and_settled(client: Client, project: str) -> None:
    take(client, project, {"basket.py": NEW, "new.txt": b"new\n"}, description="both")
    mine = numbered(40, l3=b"mine", l30=b"thirty")
    put(project, {"basket.py": mine})
    async with shown(project) as view:
        await view.select("both")
        await view.press("u")
        await view.until(lambda: "conflict basket.py  changed since" in view.question, "the conflict")
        await view.press("question_mark")
        assert "o - overwrite it" in view.question
        # y does not answer for a file in conflict
        await view.press("y", "s")
        # the other file was not asked about: the plan as a whole is shown
        await view.answer("y", "y goes on")
        await view.until(lambda: any("partly undone both" in row for row in view.rows), "the state")
        assert (read(project, "basket.py"), read(project, "new.txt")) == (mine, None)
        assert view.message == "1 file changed. Left as it is: basket.py (changed since)."
        await view.press("u")
        # nothing else would change, so nothing else is asked
        await view.answer("o", "(1/1) basket.py is in conflict")
        await view.until(lambda: any("○" in row for row in view.rows), "the state")
        assert read(project, "basket.py") == OLD


async def test_a_hunk_is_taken_back(client: Client, project: str) -> None:
    take(client, project, {"basket.py": NEW}, description="two hunks")
    async with shown(project) as view:
        await view.select("two hunks")
        await view.until(lambda: view.diff.count("+thirty") == 1, "the diff")
        await view.press("tab", "n", "n", "space")
        assert view.app.diff.chosen == {1}
        await view.press("space")
        assert view.app.diff.chosen == set()
        await view.press("space", "h")
        await view.answer("y", "Take back hunk 2 of basket.py")
        await view.until(lambda: view.messages, "the outcome")
        assert read(project, "basket.py") == numbered(40, l3=b"three")
        await view.until(lambda: any("Reverted parts of basket.py" in row for row in view.rows), "the operation")


async def test_no_hunk_of_another_row_is_taken_back(
    client: Client, project: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    take(client, project, {"basket.py": NEW}, description="first")
    take(client, project, {"basket.py": numbered(40, l3=b"three")}, description="second")
    gate, ask = threading.Event(), Link.ask
    async with shown(project) as view, ended(gate):
        await view.select("first")
        await view.until(lambda: "+thirty" in view.diff, "the diff")
        await view.press("tab", "n", "n", "space", "tab")
        monkeypatch.setattr(Link, "ask", lambda self, *about: (gate.wait(), ask(self, *about))[1])
        await view.press("k")
        assert "second" in view.rows[view.app.rows.cursor]
        await view.press("h")
        await view.until(lambda: "no hunk of a step is selected" in view.message, "the error")
        assert view.diff == []
        gate.set()
        await view.until(lambda: "-thirty" in view.diff, "the diff of the other row")


async def test_a_file_is_taken_back(client: Client, project: str) -> None:
    take(client, project, {"basket.py": NEW, "new.txt": b"new\n"}, description="both")
    async with shown(project) as view:
        await view.select("both")
        await view.press("f")
        await view.until(lambda: "no file of a step is selected" in view.message, "the error")
        await view.press("enter")
        await view.select("new.txt")
        await view.press("f")
        await view.answer("y", "Take back what")
        await view.until(lambda: len(view.messages) == 2, "the outcome")
        assert (read(project, "basket.py"), read(project, "new.txt")) == (NEW, None)


async def test_the_filter_by_key(client: Client, project: str) -> None:
    take(client, project, {"a.txt": b"a\n"}, description="apples")
    take(client, project, {"b.txt": b"b\n"}, description="bananas")
    async with shown(project) as view:
        await view.until(lambda: len(view.rows) == 3, "the rows")
        await view.press("slash", *"B.TXT")
        await view.until(lambda: len(view.rows) == 2, "the filter")
        assert "bananas" in view.rows[1]
        assert "only 'B.TXT'" in view.status
        # letters that were keys are words there; afterwards they are keys again
        await view.press("enter", "j")
        assert view.app.rows.cursor == 1
        await view.press("escape")
        await view.until(lambda: len(view.rows) == 3, "all rows")
        await view.press("question_mark")
        assert "fold or unfold" in "\n".join(view.screen())


async def test_a_daemon_that_is_killed(
    home: Home, client: Client, project: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    step = take(client, project, {"basket.py": NEW}, description="before")
    gate = threading.Event()
    again = Client.reconnect
    monkeypatch.setattr(Client, "reconnect", lambda self, **how: (gate.wait(), again(self, **how)))
    async with shown(project) as view, ended(gate):
        kill(home.at("run/daemon.sock"))
        await view.until(lambda: "the daemon has ended, connecting again" in view.status, "the end of the daemon")
        # of what happens meanwhile, nobody tells
        home.ok(project, "undo", step, "--yes")
        with monkeypatch.context() as patch:
            patch.setattr("snapd.launch.ensure_daemon", mock.Mock(side_effect=IoError("there is none", errno="ENOENT")))
            gate.set()
            await view.until(lambda: "no daemon, still trying" in view.status, "that there is no daemon")
            assert "there is none" in view.message
        await view.until(lambda: "connected" in view.status, "the daemon to be back")
        await view.until(lambda: any("undone before" in row for row in view.rows), "what happened meanwhile")
        client.reconnect()
        take(client, project, {"new.txt": b"new\n"}, description="afterwards")
        await view.until(lambda: any("afterwards +1 -0" in row for row in view.rows), "what happens since")


@asynccontextmanager
async def ended(gate: threading.Event) -> AsyncIterator[None]:
    """Lets through whoever waits, whatever happens: else the view could not end."""
    try:
        yield
    finally:
        gate.set()


@contextmanager
def _listener(path: str) -> Iterator[tuple[int, int]]:
    """The id of the process that listens on a socket, and a descriptor of it."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(path)
        pid, _, _ = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    process = os.pidfd_open(pid)
    try:
        yield pid, process
    finally:
        os.close(process)


def kill(path: str) -> None:
    """Kills who listens on a socket, and waits until nothing of it is left."""
    with _listener(path) as (pid, process):
        os.kill(pid, signal.SIGKILL)
        poll = select.poll()
        poll.register(process, select.POLLIN)
        assert poll.poll(30_000)


async def test_it_ends_although_nobody_answers(home: Home, client: Client, project: str) -> None:
    take(client, project, {"basket.py": NEW}, description="the step")
    with _listener(home.at("run/daemon.sock")) as (pid, _):
        async with shown(project) as view:
            await view.select("the step")
            await view.until(lambda: "+thirty" in view.diff, "the diff")
            os.kill(pid, signal.SIGSTOP)
            try:
                await view.press("u", "j", "q")
                await view.until(lambda: not view.app.is_running, "the end")
            finally:
                os.kill(pid, signal.SIGCONT)
    assert read(project, "basket.py") == NEW


async def test_a_small_terminal_and_odd_names(client: Client, project: str) -> None:
    odd = {"\x1b[31mred\n.txt": b"\x1b]0;title\x07\tx\n", "漢字漢字漢字.txt": "漢\n".encode(), "a\udcff": b"x\n"}
    take(client, project, odd, description="odd\x1b[2J\nnames")
    async with shown(project, (60, 15)) as view:
        await view.select("odd")
        await view.press("enter")
        await view.until(lambda: len(view.rows) == 5, "the files")
        await view.until(lambda: len(view.diff) >= 9, "the diff")
        lines = view.screen()
        assert len(lines) == 15
        assert all(sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in line) == 60 for line in lines)
        assert all(char.isprintable() for line in lines for char in line)
        text = "\n".join(view.rows)
        assert "\\x1b[31mred\\n.txt" in text
        assert "漢字漢字漢字.txt" in text
        assert "+\\x1b]0;title\\x07      x" in view.diff
        # an error has room, too
        await view.select("Claude Code")
        await view.press("f")
        await view.until(lambda: "Enter, and select a file" in "\n".join(view.screen()), "the hint on the screen")
        # a name that is no UTF-8 can be taken back by key, too
        await view.select("a\ufffd")
        await view.press("u")
        await view.answer("y", "Take back")
        await view.until(lambda: "1 file changed" in view.message, "the outcome")
        assert read(project, "a\udcff") is None


async def test_a_large_diff_is_cut(client: Client, project: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contents, "MOST_LINES", 50)
    files = {f"{number}.txt": b"line\n" * 20 for number in range(5)}
    take(client, project, files, description="large")
    asked: list[str] = []
    ask = Link.ask
    monkeypatch.setattr(Link, "ask", lambda self, method, params: (asked.append(method), ask(self, method, params))[1])
    async with shown(project) as view:
        await view.select("large")
        await view.until(lambda: any("only the first 50 lines" in line for line in view.diff), "the note")
        assert len(view.diff) == 51
        # what is not shown is not asked for
        assert asked.count("step/hunks") == 3


async def test_files_in_conflict_are_decided_one_by_one(client: Client, project: str) -> None:
    names = ["1.txt", "2.txt", "3.txt", "4.txt"]
    take(client, project, dict.fromkeys(names, b"theirs\n"), description="four")
    put(project, dict.fromkeys(names, b"mine\n"))
    async with shown(project) as view:
        await view.select("four")
        await view.press("u")
        await view.until(lambda: "(1/4) 1.txt is in conflict" in view.question, "the first question")
        await view.press("o", "k")
        assert "(3/4) 3.txt" in view.question
        await view.press("n", "u")
        await view.until(lambda: "(1/4)" in view.question, "the first question again")
        assert [read(project, name) for name in names] == [b"mine\n"] * 4
        await view.press("o", "k", "S")
        await view.until(lambda: view.messages, "the outcome")
        assert [read(project, name) for name in names] == [None, *[b"mine\n"] * 3]
        assert view.question == ""


async def test_a_decision_about_an_older_file_is_shown_first(client: Client, project: str) -> None:
    take(client, project, {"basket.py": NEW}, description="mine too")
    put(project, {"basket.py": numbered(40, l3=b"mine", l30=b"thirty")})
    async with shown(project) as view:
        await view.select("mine too")
        await view.press("u")
        await view.until(lambda: "(1/1) basket.py is in conflict" in view.question, "the conflict")
        newer = numbered(40, l3=b"mine", l30=b"newer")
        put(project, {"basket.py": newer})
        await view.press("o")
        await view.until(lambda: "Something has changed since" in view.question, "the new plan")
        assert read(project, "basket.py") == newer
        await view.press("o")
        await view.until(lambda: view.messages, "the outcome")
        assert read(project, "basket.py") == OLD


async def test_a_plan_that_changes_nothing_asks_nothing(client: Client, project: str) -> None:
    take(client, project, {"basket.py": NEW}, description="gone")
    put(project, {"basket.py": OLD})
    async with shown(project) as view:
        await view.select("gone")
        await view.press("u")
        await view.until(lambda: view.messages, "the outcome")
        assert view.question == ""
        assert view.message.startswith("No file was changed.")
        assert read(project, "basket.py") == OLD


async def test_prompts_wrap_names_keep_their_end_and_panes_resize(client: Client, project: str) -> None:
    client.session_start("S", agent="claude")
    words = " ".join(f"word{number}" for number in range(40))
    client.session_message("S", "M", text=words)
    name = f"{'deep/' * 12}basket_of_everything.py"
    take(client, project, {name: b"x\n"}, description="deep", message_id="M")
    async with shown(project, (110, 24)) as view:
        await view.select("» ")
        await view.until(lambda: any("word39" in line for line in view.diff), "the prompt")
        assert [line for line in view.diff if "word" in line] != [words]
        assert " ".join(" ".join(line for line in view.diff if line.startswith("word")).split()) == words
        assert all(len(line) < view.app.diff.size.width for line in view.diff if "word" in line)
        # the step is below its prompt, and the prompt folds
        await view.press("left")
        assert not any("deep" in row for row in view.rows)
        await view.press("right", "j", "enter")
        await view.until(lambda: any("basket_of_everything.py +1" in line for line in view.screen()), "the name's end")
        assert any("…" in line and "basket_of_everything.py +1" in line for line in view.screen())
        width = view.app.rows.size.width
        await view.press("greater_than_sign")
        await view.until(lambda: view.app.rows.size.width == width + 4, "the wider pane")
        await view.pilot.mouse_down("Divider")
        await view.pilot.hover("Divider", offset=(-6, 3))
        await view.pilot.mouse_up("Divider")
        await view.until(lambda: view.app.rows.size.width < width + 4, "the narrower pane")

"""The review screen, driven by key, against a real daemon; a second client and the folder say what is true."""

from __future__ import annotations

import os
import threading
import unicodedata
from typing import TYPE_CHECKING, Any

import pytest

from snapd.cli.ui import contents
from snapd.cli.ui.app import Link
from snapd.cli.ui.contents import lines_of_pending
from snapd.cli.ui.labels import agents_of, steps_behind
from tests.cli.steps import numbered, put, read

from .test_history import change, loaded, session, step
from .test_view import NEW, OLD, ended, kill, take
from .view import shown

if TYPE_CHECKING:
    from snapd_client import Client

    from tests.cli.running import Home

pytestmark = pytest.mark.slow

THREE_HUNKS = numbered(40, l3=b"three", l20=b"twenty", l36=b"thirty-six")


def pending(client: Client) -> list[str]:
    """The files with pending changes."""
    return [row["file"] for row in client.request("review/list", {})["files"]]


def hunks(client: Client, file: str) -> list[dict[str, Any]]:
    """The pending hunks of a file."""
    found: list[dict[str, Any]] = client.request("review/file", {"file": file})["hunks"]
    return found


async def test_it_shows_what_is_pending_and_who_made_it(client: Client, project: str) -> None:
    take(client, project, {"basket.py": NEW, "new.txt": b"new\n"}, tool="Edit", description="count")
    client.session_start("T", agent="codex")
    write = client.step_begin("T", tool="Write")["stepId"]
    put(project, {"basket.py": numbered(40, l3=b"three", l30=b"thirty", l32=b"thirty-two")})
    client.step_end(write)
    async with shown(project) as history:
        await history.until(lambda: history.status.startswith("2 files to review (v) · "), "the number of files")
        view = await history.review()
        await view.until(lambda: len(view.rows) == 3, "the files")
        await view.until(lambda: len(view.diff) > 1, "the hunks")
        assert view.rows[0] == "all 2 files +4 -3"
        assert view.rows[2] == "A new.txt +1 -0  Claude Code"
        assert view.at == view.rows[1]
        expected = hunks(client, "basket.py")
        assert len(expected) == 2
        lines = [line for hunk in expected for line in (hunk["header"], *hunk["lines"])]
        assert view.diff[0] == "M basket.py  +3 -3"
        assert [line for line in view.diff[1:] if not line.startswith(("hunk ", "Claude Code", "Codex"))] == lines
        assert view.diff[1:3] == ["hunk 1 of 2, by Claude Code", "Claude Code  Edit count"]
        # the second hunk is of both, and says so
        at = view.diff.index("hunk 2 of 2, by Claude Code, Codex")
        assert view.diff[at + 1 : at + 3] == ["Claude Code  Edit count", "Codex  Write"]
        await view.press("g")
        await view.until(lambda: "M basket.py  +3 -3" in view.diff and "A new.txt  +1 -0" in view.diff, "all of them")
        assert view.diff[:2] == ["by Claude Code: 2 files", "by Codex: 1 file"]
        # back to the history, where its keys work again
        await view.press("v")
        assert history.app.screen is not history.app.review
        await history.press("v", "escape", "slash")
        assert history.app.focused.id == "filter"


async def test_hunks_are_kept_and_undone_one_by_one(client: Client, project: str) -> None:
    take(client, project, {"basket.py": THREE_HUNKS}, description="three")
    async with shown(project) as history:
        view = await history.review()
        await view.until(lambda: len(view.diff) > 1, "the hunks")
        await view.press("n", "n")
        assert view.at.startswith("hunk 2 of 3")
        await view.press("y")
        await view.until(lambda: "Kept hunk 2 of basket.py." in view.messages, "the outcome")
        await view.until(lambda: "+twenty" not in view.diff, "the hunks that are left")
        assert [hunk["lines"][3] for hunk in hunks(client, "basket.py")] == ["-3", "-36"]
        assert read(project, "basket.py") == THREE_HUNKS
        # the next one is in its place
        assert view.at.startswith("hunk 2 of 2")
        await view.press("p")
        assert view.at.startswith("hunk 1 of 2")
        await view.press("u")
        await view.answer("n", "Undo what agents did to hunk 1 of basket.py?")
        await view.press("u")
        await view.answer("y", "merge    basket.py")
        await view.until(lambda: "1 file changed. 'snapd undo' brings it back." in view.messages, "the outcome")
        assert read(project, "basket.py") == numbered(40, l20=b"twenty", l36=b"thirty-six")
        await view.until(lambda: "+three" not in view.diff, "the hunk that is left")
        assert view.at.startswith("hunk 1 of 1")
        # and what is said of the way back is true
        client.session_undo()
        await view.until(lambda: "+three" in view.diff, "the hunk that is back")
        assert read(project, "basket.py") == THREE_HUNKS


async def test_chosen_hunks_are_kept_together(client: Client, project: str) -> None:
    take(client, project, {"basket.py": THREE_HUNKS})
    async with shown(project) as history:
        view = await history.review()
        await view.until(lambda: len(view.diff) > 1, "the hunks")
        await view.press("space", "n", "n", "space", "p", "y")
        await view.until(lambda: "Kept hunks 1, 3 of basket.py." in view.messages, "the outcome")
        await view.until(lambda: "+three" not in view.diff, "the hunk that is left")
        assert [hunk["lines"][3] for hunk in hunks(client, "basket.py")] == ["-20"]
        assert view.app.review.changes.chosen == set()


async def test_files_are_kept_and_undone(client: Client, project: str) -> None:
    take(client, project, {"basket.py": NEW, "b.txt": b"b\n", "c.txt": b"c\n"})
    async with shown(project) as history:
        view = await history.review()
        await view.until(lambda: len(view.rows) == 4, "the files")
        await view.select("b.txt")
        await view.press("y")
        await view.until(lambda: pending(client) == ["basket.py", "c.txt"], "that it is kept")
        await view.until(lambda: "b.txt" not in "\n".join(view.rows), "that it is gone")
        assert view.at.startswith("A c.txt" if view.rows[1].startswith("A c.txt") else "M basket.py")
        await view.select("c.txt")
        # a new file is one piece, from either pane
        await view.until(lambda: "+c" in view.diff, "the changes")
        await view.press("n", "u")
        await view.answer("y", "Undo what agents did to c.txt?")
        await view.until(lambda: read(project, "c.txt") is None, "that it is undone")
        await view.until(lambda: len(view.rows) == 2, "that it is gone")
        assert (read(project, "basket.py"), read(project, "b.txt")) == (NEW, b"b\n")
        assert pending(client) == ["basket.py"]


async def test_all_is_kept_or_undone_after_a_question(client: Client, project: str) -> None:
    take(client, project, {"basket.py": NEW, "new.txt": b"new\n"})
    async with shown(project) as history:
        view = await history.review()
        await view.until(lambda: len(view.rows) == 3, "the files")
        await view.press("g", "y")
        await view.answer("n", "Keep all 2 files that are pending?")
        await view.press("u")
        await view.answer("n", "Undo what agents did to all 2 files that are pending?")
        assert len(pending(client)) == 2
        await view.press("y")
        await view.answer("y", "Keep all 2 files")
        await view.until(lambda: "nothing to review" in view.status, "that nothing is left")
        assert (pending(client), read(project, "basket.py"), view.rows) == ([], NEW, ["all nothing is pending"])
        assert "Nothing is pending" in view.diff[0]
        await view.press("y")
        await view.until(lambda: "nothing is pending\nv goes back" in view.message, "the error")
        take(client, project, {"basket.py": OLD, "more.txt": b"more\n"})
        await view.until(lambda: len(view.rows) == 3, "what came since")
        await view.press("u")
        await view.answer("y", "Undo what agents did to all")
        await view.until(lambda: read(project, "more.txt") is None, "that it is undone")
        assert read(project, "basket.py") == NEW


async def test_next_and_previous_go_through_all_files(client: Client, project: str) -> None:
    put(project, {"gone.txt": b"gone\n", "old.txt": b"a\nb\nc\nd\n"})
    client.track()
    take(
        client,
        project,
        {"basket.py": NEW, "binary": b"\0", "gone.txt": None, "old.txt": None, "x.txt": b"a\nb\nc\nd\n"},
    )
    async with shown(project) as history:
        view = await history.review()
        await view.until(lambda: len(view.diff) > 1, "the hunks")
        seen = []
        await view.press("g")
        for _ in range(4):
            before = view.at
            await view.press("n")
            await view.until(lambda before=before: view.at != before and view.app.review.is_shown, "the next hunk")
            seen.append((view.app.review.files.text(view.app.review.files.cursor).split()[1], view.at[:11]))
        assert seen[:2] == [("basket.py", "hunk 1 of 2"), ("basket.py", "hunk 2 of 2")]
        # what is not text has no hunks; its only line says what happened
        assert seen[2][0] == "binary"
        assert seen[3] == ("gone.txt", "hunk 1 of 1")
        await view.press("n")
        await view.until(lambda: "x.txt" in view.diff[0], "the last file")
        assert "renamed from old.txt" in view.diff[0]
        assert "renamed from old.txt, by Claude Code" in view.diff[1]
        await view.press("n")
        assert "x.txt" in view.diff[0]
        for name, heading in (("gone.txt", "hunk 1 of 1"), ("binary", ""), ("basket.py", "hunk 2 of 2")):
            await view.press("p")
            await view.until(lambda name=name: name in view.diff[0] and view.app.review.is_shown, name)
            await view.until(lambda heading=heading: view.at.startswith(heading), heading)
        # a file that was moved is undone whole
        await view.press("tab")
        await view.select("x.txt")
        await view.press("u")
        await view.answer("y", "Undo what agents did to x.txt, renamed from old.txt?")
        await view.until(lambda: read(project, "old.txt") is not None, "the old name")
        assert read(project, "x.txt") is None


async def test_it_is_live_and_stays_on_its_hunk(client: Client, project: str) -> None:
    take(client, project, {"basket.py": NEW, "z.txt": b"z\n"})
    async with shown(project) as history:
        view = await history.review()
        await view.until(lambda: len(view.diff) > 1, "the hunks")
        await view.press("n", "n", "j", "j")
        line = view.at
        assert view.app.review.changes.hunk == 1
        # somebody writes above it, in the same file and in another one
        begun = client.step_begin("S")["stepId"]
        put(project, {"basket.py": numbered(40, l3=b"three", l15=b"fifteen", l30=b"thirty"), "a.txt": b"a\n"})
        await view.until(lambda: "A a.txt +1 -0  Claude Code" in view.rows, "the new file")
        await view.until(lambda: "+fifteen" in view.diff, "the new hunk")
        assert (view.app.review.changes.hunk, view.at) == (2, line)
        assert view.app.review.files.selected is not None
        assert view.app.review.files.selected["file"] == "basket.py"
        client.step_end(begun)
        # what the user writes is not pending, and what somebody else keeps is not pending any more
        put(project, {"mine.txt": b"mine\n"})
        client.request("review/keep", {"files": ["basket.py"]})
        await view.until(
            lambda: view.rows[1:] == ["A a.txt +1 -0  Claude Code", "A z.txt +1 -0  Claude Code"], "the files"
        )
        # whoever reviews goes on with the next file
        await view.until(lambda: view.at.startswith("hunk 1 of 1") and "z.txt" in view.diff[0], "the next file")
        await view.press("escape")
        client.request("review/keep", {"all": True})
        await history.until(lambda: "to review" not in history.status, "the number of files")


async def test_nothing_is_kept_or_undone_that_was_not_shown(
    client: Client, project: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    take(client, project, {"basket.py": NEW, "new.txt": b"new\n"})
    gate, ask = threading.Event(), Link.ask

    def held(self: Link, method: str, params: dict[str, Any]) -> Any:
        if method in ("review/list", "review/file"):
            gate.wait()
        return ask(self, method, params)

    monkeypatch.setattr(Link, "ask", held)
    gate.set()
    async with shown(project) as history, ended(gate):
        view = await history.review()
        await view.until(lambda: len(view.diff) > 1, "the hunks")
        gate.clear()
        later = numbered(40, l3=b"other", l30=b"thirty")
        take(client, project, {"basket.py": later, "more.txt": b"more\n"})
        for key in ("y", "u"):
            for pane in ("tab", "n"):
                await view.press(pane, key)
                await view.until(lambda: "basket.py" in view.message and not view.question, "the error")
                assert len(pending(client)) == 3
                view.app.clear_notifications()
                await view.until(lambda: not view.messages, "no message")
        # of all, only what was listed is meant
        await view.press("tab", "g", "y")
        await view.answer("y", "Keep all 2 files")
        await view.until(lambda: "basket.py" in view.message, "the error")
        assert len(pending(client)) == 3
        assert read(project, "basket.py") == later
        gate.set()
        await view.until(lambda: len(view.rows) == 4, "what is true now")


async def test_unsaved_text_is_not_written_over(client: Client, project: str) -> None:
    take(client, project, {"basket.py": NEW})
    uri = f"file://{project}/basket.py"
    about = {"uri": uri, "languageId": "python", "version": 1, "text": NEW.decode()}
    client.notify("textDocument/didOpen", {"textDocument": about})
    change = {"textDocument": {"uri": uri, "version": 2}, "contentChanges": [{"text": "typed\n"}]}
    client.notify("textDocument/didChange", change)
    client.request("snapshot/status", {})
    async with shown(project) as history:
        view = await history.review()
        await view.until(lambda: len(view.diff) > 1, "the hunks")
        await view.press("y")
        await view.until(lambda: "unsaved text" in view.message, "the error")
        await view.press("u")
        await view.answer("n", "conflict basket.py")
        assert pending(client) == ["basket.py"]


async def test_a_small_terminal_and_odd_names(client: Client, project: str) -> None:
    odd = {"\x1b[31mred\n.txt": b"\x1b]0;title\x07\tx\n", "漢字漢字漢字.txt": "漢\n".encode(), "a\udcff": b"x\n"}
    take(client, project, odd, description="odd\x1b[2J\nnames")
    async with shown(project, (50, 15)) as history:
        await history.until(lambda: "3 files to review (v)" in "\n".join(history.screen()), "the number of files")
        view = await history.review()
        await view.until(lambda: len(view.rows) == 4, "the files")
        await view.until(lambda: len(view.diff) > 1, "the changes")
        files, changes = view.app.review.files.region, view.app.review.changes.region
        # one above the other, each as wide as the screen
        assert (files.width, changes.width) == (50, 50)
        assert changes.y >= files.bottom
        lines = view.screen()
        assert all(sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in line) == 50 for line in lines)
        assert all(char.isprintable() for line in lines for char in line)
        assert "A \\x1b[31mred\\n.txt +1 -0  Claude Code" in view.rows
        # what the keys do can be read here, too
        await view.press("question_mark")
        assert "keep the hunk" in "\n".join(view.screen())
        await view.press("escape")
        # a name that is no UTF-8 can be kept and undone by key, too
        await view.select("a\ufffd")
        await view.until(lambda: "a\ufffd" in view.diff[0] and len(view.diff) > 1, "its changes")
        await view.press("u")
        await view.answer("y", "Undo what agents did to")
        await view.until(lambda: read(project, "a\udcff") is None, "the outcome")
        await view.select("漢字")
        await view.press("y")
        await view.until(lambda: len(pending(client)) == 1, "the outcome")
    async with shown(project, (100, 30)) as history:
        view = await history.review()
        files, changes = view.app.review.files.region, view.app.review.changes.region
        assert changes.x >= files.right


async def test_a_daemon_that_is_killed(home: Home, client: Client, project: str) -> None:
    take(client, project, {"basket.py": NEW, "new.txt": b"new\n"})
    async with shown(project) as history:
        view = await history.review()
        await view.until(lambda: len(view.rows) == 3, "the files")
        kill(home.at("run/daemon.sock"))
        os.remove(os.path.join(project, "new.txt"))
        await view.until(lambda: "connected" in view.status and len(view.rows) == 2, "what is true now")
        client.reconnect()
        take(client, project, {"more.txt": b"more\n"})
        await view.until(lambda: any("more.txt" in row for row in view.rows), "what happens since")


def test_steps_that_are_not_loaded_are_counted() -> None:
    entries = [step(f"{number:016x}", "S", number, "a", tool="Edit", description=f"a{number}") for number in range(6)]
    owners = [{"sessionId": "S", "stepId": f"{number:016x}"} for number in range(6)]
    assert steps_behind(loaded(entries, session("S", 0)), owners) == [
        "Claude Code  Edit a0", "Claude Code  Edit a1", "Claude Code  Edit a2", "and 3 more",
    ]  # fmt: skip
    known = loaded(entries[4:], session("S", 0))
    assert steps_behind(known, owners) == ["Claude Code  Edit a4", "Claude Code  Edit a5", "and 4 more"]
    assert steps_behind(known, owners[:1]) == ["1 step"]
    assert steps_behind(known, owners[4:5]) == ["Claude Code  Edit a4"]
    gone = {"sessionId": "no longer there", "stepId": "0"}
    assert agents_of(known, [*owners, gone]) == "Claude Code, no longer there"


def test_many_pending_lines_are_cut_between_hunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contents, "MOST_LINES", 8)
    hunk = {
        "header": "@@ -1 +1 @@",
        "newStart": 1,
        "lines": ["-a", "+b"],
        "owners": [{"sessionId": "S", "stepId": "0"}],
    }
    shown_file = {**change("a"), "hunks": [{**hunk, "index": index} for index in range(9)], "owners": hunk["owners"]}
    lines = lines_of_pending(shown_file, loaded([], session("S", 0)))
    assert [line.text for line in lines if line.kind == "hunk"] == [f"hunk {n} of 9, by Claude Code" for n in (1, 2)]
    assert lines[-1].text == "… and 7 more hunks: keep or undo some of these first"


async def test_folders_of_pending_files(client: Client, project: str) -> None:
    take(client, project, {"src/a/one.txt": b"1\n", "src/a/two.txt": b"2\n", "src/b.txt": b"b\n", "z.txt": b"z\n"})
    async with shown(project) as history:
        view = await history.review()
        await view.until(lambda: len(view.rows) == 7, "the tree")
        assert view.rows[1:] == [
            "▾ src/ 3 files +3 -0", "  ▾ a/ 2 files +2 -0", "    A one.txt +1 -0  Claude Code",
            "    A two.txt +1 -0  Claude Code", "  A b.txt +1 -0  Claude Code", "A z.txt +1 -0  Claude Code",
        ]  # fmt: skip
        assert view.at == view.rows[3]
        await view.press("left")
        assert view.at == view.rows[2]
        await view.press("left")
        await view.until(lambda: len(view.rows) == 5, "the folded folder")
        await view.press("y")
        await view.answer("y", "Keep 2 files in src/a/?")
        await view.until(lambda: len(view.rows) == 4, "what is left")
        assert pending(client) == ["src/b.txt", "z.txt"]

"""Undo and redo: the plan first, then what was agreed to; conflicts in the quickfix list; nothing unsaved is lost."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from snapd_client import SnapdError

from snapd.wire.words import git_lines, git_words
from tests.cli.steps import numbered, put, read
from tests.support.git import run_git

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.neovim.agent import Agent
    from tests.neovim.editor import Neovim

LINES = b"".join(b"%d\n" % line for line in range(1, 21))


def changed(**lines: bytes) -> bytes:
    """The twenty lines, but for those given as `l3=b"..."`."""
    return b"".join(lines.get(f"l{line}", b"%d" % line) + b"\n" for line in range(1, 21))


def quickfix(editor: Neovim) -> list[tuple[str, int, str]]:
    """The quickfix list: file, line and text."""
    found = editor.lua("""
        return vim.tbl_map(function(item)
          return { vim.fs.basename(vim.api.nvim_buf_get_name(item.bufnr)), item.lnum, item.text }
        end, vim.fn.getqflist())
    """)
    return [tuple(item) for item in found]


def test_undo_and_redo_after_their_plan(neovim: Callable[..., Neovim], agent: Agent) -> None:
    agent.step("change", {"a.txt": changed(l3=b"three"), "new.txt": b"new\n"})
    put(agent.folder, {"a.txt": changed(l3=b"three", l18=b"mine")})
    editor = neovim()
    editor.type(":SnapdUndo\r")
    plan = editor.shows("Undo the last step?", "Claude Code: change", "delete    new.txt", "y   do it")
    assert "merge     a.txt" in plan
    assert "+1 -2 in 2 files" in plan
    assert read(agent.folder, "new.txt") == b"new\n", "a plan changes nothing"
    editor.type("y")
    assert "2 files" not in editor.tells("undid the last step: 1 file merged, 1 deleted.")
    assert read(agent.folder, "a.txt") == changed(l18=b"mine")
    assert read(agent.folder, "new.txt") is None
    editor.type(":SnapdRedo\r")
    editor.shows("Redo what was undone last?", "Claude Code: change", "restore   new.txt")
    editor.type("y")
    editor.tells("redid what was undone last: ")
    assert read(agent.folder, "a.txt") == changed(l3=b"three", l18=b"mine")
    assert read(agent.folder, "new.txt") == b"new\n"


def test_a_plan_that_is_left_changes_nothing(neovim: Callable[..., Neovim], agent: Agent) -> None:
    agent.step("change", {"a.txt": changed(l3=b"three")})
    editor = neovim()
    for key in ("q", "\x1b"):
        editor.type(":SnapdUndo\r")
        editor.shows("Undo the last step?")
        editor.type(key)
        editor.until(lambda: "Undo the last step?" not in editor.text, lambda: editor.text)
    assert read(agent.folder, "a.txt") == changed(l3=b"three")
    assert editor.messages == []


def test_a_plan_is_shown_again_if_something_changed_meanwhile(neovim: Callable[..., Neovim], agent: Agent) -> None:
    agent.step("change", {"a.txt": changed(l3=b"three"), "b.txt": b"b\n"})
    editor = neovim()
    editor.type(":SnapdUndo\r")
    editor.shows("Undo the last step?", "delete    b.txt")
    put(agent.folder, {"b.txt": b"mine\n"})
    editor.type("y")
    editor.shows("Something has changed since.", "conflict  b.txt  changed since by you")
    assert read(agent.folder, "a.txt") == changed(l3=b"three"), "what was not shown was not done"
    editor.type("y")
    editor.tells("1 file in conflict, in the quickfix list.")
    assert read(agent.folder, "a.txt") == LINES
    assert read(agent.folder, "b.txt") == b"mine\n"


def test_conflicts_are_in_the_quickfix_list(neovim: Callable[..., Neovim], agent: Agent) -> None:
    step = agent.step("change", {"a.txt": changed(l9=b"nine")})
    put(agent.folder, {"a.txt": changed(l9=b"NINE!")})
    editor = neovim()
    editor.type(f":SnapdUndo {step[:6]}\r")
    screen = editor.shows("Undo “change”?", "conflict  a.txt  changed since by you, line 9", "NINE!")
    assert "y   do it" not in screen, "nothing would be done"
    editor.type("c")
    editor.until(lambda: quickfix(editor), lambda: editor.text)
    assert quickfix(editor) == [("a.txt", 9, "changed since by you, line 9")]
    assert editor.lua("return vim.fn.getqflist({ title = 1 }).title") == "snapd: undo “change”"
    assert read(agent.folder, "a.txt") == changed(l9=b"NINE!")


def test_a_conflict_is_overwritten_after_its_own_plan(neovim: Callable[..., Neovim], agent: Agent) -> None:
    agent.step("change", {"a.txt": changed(l9=b"nine")})
    put(agent.folder, {"a.txt": changed(l9=b"NINE!")})
    editor = neovim()
    editor.type(":SnapdUndo\r")
    editor.shows("conflict  a.txt")
    editor.type("o")
    editor.shows("Undo the last step?", "restore   a.txt  overwrites: changed since by you, line 9")
    assert read(agent.folder, "a.txt") == changed(l9=b"NINE!")
    editor.type("y")
    editor.tells("undid the last step: 1 file restored.")
    assert read(agent.folder, "a.txt") == LINES


def test_each_conflict_is_decided_by_itself(neovim: Callable[..., Neovim], agent: Agent) -> None:
    agent.step("change", dict.fromkeys(("a.txt", "b.txt", "c.txt"), changed(l9=b"nine")))
    mine = changed(l9=b"NINE!")
    put(agent.folder, dict.fromkeys(("a.txt", "b.txt", "c.txt"), mine))
    editor = neovim()
    editor.type(":SnapdUndo\r")
    editor.shows("conflict  a.txt", "conflict  b.txt", "conflict  c.txt")
    editor.type("?")
    editor.shows("You decide about each:", "conflict  c.txt")
    editor.lua("vim.fn.search('conflict  a.txt', 'w')")
    editor.type("o")
    editor.shows("restore   a.txt  overwrites:")
    editor.lua("vim.fn.search('conflict  b.txt', 'w')")
    editor.type("K")
    screen = editor.shows("keep      b.txt  changed since by you", "conflict  c.txt")
    assert "restore   a.txt  overwrites:" in screen
    assert [read(agent.folder, name) for name in ("a.txt", "b.txt", "c.txt")] == [mine] * 3
    editor.type("y")
    editor.tells("undid the last step: 1 file restored. 1 file in conflict, in the quickfix list.")
    assert [read(agent.folder, name) for name in ("a.txt", "b.txt", "c.txt")] == [LINES, mine, mine]
    # what was kept is settled
    editor.type(":SnapdUndo\r")
    screen = editor.shows("conflict  c.txt")
    assert "b.txt" not in screen.split("Undo the last step?")[1]


def test_a_decision_is_taken_back(neovim: Callable[..., Neovim], agent: Agent) -> None:
    agent.step("change", {"a.txt": changed(l9=b"nine")})
    put(agent.folder, {"a.txt": changed(l9=b"NINE!")})
    editor = neovim()
    editor.type(":SnapdUndo\r")
    editor.shows("conflict  a.txt")
    editor.type("o")
    editor.shows("restore   a.txt")
    editor.lua("vim.fn.search('restore   a.txt', 'w')")
    editor.type("s")
    editor.shows("conflict  a.txt")
    editor.type("q")
    assert read(agent.folder, "a.txt") == changed(l9=b"NINE!")


def test_unsaved_text_keeps_a_file_from_being_written(neovim: Callable[..., Neovim], agent: Agent) -> None:
    agent.step("change", {"a.txt": changed(l3=b"three"), "b.txt": b"b\n"})
    editor = neovim("a.txt")
    editor.type("Gotyped\x1b")
    editor.until(lambda: editor.lines()[-1] == "typed", lambda: editor.text)
    editor.type(":SnapdUndo\r")
    screen = editor.shows("conflict  a.txt  an editor has unsaved text of it", "Save or discard the unsaved text")
    assert "overwritten" not in screen
    editor.type("y")
    editor.tells("1 file deleted. 1 file in conflict")
    assert read(agent.folder, "a.txt") == changed(l3=b"three")
    assert editor.lines() == [*changed(l3=b"three").decode().splitlines(), "typed"]
    assert editor.lua("return vim.bo.modified")


def test_overwriting_is_refused_where_somebody_types_meanwhile(neovim: Callable[..., Neovim], agent: Agent) -> None:
    agent.step("change", {"a.txt": changed(l9=b"nine")})
    put(agent.folder, {"a.txt": changed(l9=b"NINE!")})
    editor = neovim("a.txt")
    editor.type(":SnapdUndo\r")
    editor.shows("conflict  a.txt")
    editor.type("o")
    editor.shows("overwrites:")
    editor.lua("vim.api.nvim_buf_set_lines(vim.fn.bufnr('a.txt'), 0, 1, true, { 'typed' })")
    editor.type("y")
    editor.tells("a.txt has unsaved text in a buffer. Save or discard it, then try again.")
    assert read(agent.folder, "a.txt") == changed(l9=b"NINE!")
    assert editor.lines()[0] == "typed"


def test_errors_come_with_their_hint(neovim: Callable[..., Neovim], agent: Agent) -> None:
    editor = neovim()
    editor.command("SnapdUndo")
    told = editor.tells("could not undo the last step")
    with pytest.raises(SnapdError) as refused:
        agent.client.session_undo()
    assert refused.value.data["hint"] in told
    editor.command("SnapdUndo zzz")
    editor.tells("No step's id begins with zzz. :Snapd shows the steps, K the id of one.")


def test_undo_from_the_window_with_the_steps(neovim: Callable[..., Neovim], agent: Agent) -> None:
    agent.prompt("m1", "Do two things")
    agent.step("first", {"a.txt": changed(l3=b"three"), "b.txt": b"b\n"})
    agent.step("second", {"c.txt": numbered(3)})
    editor = neovim()
    editor.command("Snapd")
    editor.shows("Do two things", "Edit second")
    editor.lua("vim.fn.search('Edit first', 'w')")
    editor.press("ju")
    editor.shows("Undo what “first” did to a.txt?", "restore   a.txt")
    editor.type("y")
    editor.tells("undid what “first” did to a.txt: 1 file restored.")
    assert (read(agent.folder, "a.txt"), read(agent.folder, "b.txt")) == (LINES, b"b\n")
    editor.lua("vim.fn.search('Do two things', 'w')")
    editor.press("u")
    editor.shows("Undo all for “Do two things”?", "delete    b.txt", "delete    c.txt")
    editor.type("y")
    editor.tells("undid all for “Do two things”")
    assert (read(agent.folder, "b.txt"), read(agent.folder, "c.txt")) == (None, None)
    editor.press("r")
    editor.shows("Redo what was undone last?")
    editor.type("y")
    editor.tells("redid what was undone last")


def test_files_and_conversation_go_back_to_before_a_prompt(
    neovim: Callable[..., Neovim], agent: Agent, tmp_path: Path
) -> None:
    transcript = tmp_path / "claude.jsonl"
    rows: list[dict[str, Any]] = []
    for name, file in ("Do one thing", "b.txt"), ("Do two things", "c.txt"):
        more = {"messageId": file, "text": name, "transcript": str(transcript)}
        agent.client.request("agent/report", {"sessionId": agent.name, "event": "prompt", **more})
        agent.step(name, {file: b"b\n"})
        row = {"type": "user", "uuid": file, "parentUuid": rows[-1]["uuid"] if rows else None, "promptId": file}
        rows.append({**row, "sessionId": agent.name, "message": {"role": "user", "content": name}})
    transcript.write_text("".join(json.dumps(row) + "\n" for row in rows))
    editor = neovim()
    editor.command("Snapd")
    editor.shows("Do two things")
    editor.lua("vim.fn.search('Code Do two things', 'w')")
    editor.press("B")
    editor.shows("Go back to before “Do two things”", "delete    c.txt", "without “Do two things”")
    editor.type("y")
    editor.tells("went back to before “Do two things”: 1 file deleted.")
    editor.tells("claude --resume ")
    assert (read(agent.folder, "b.txt"), read(agent.folder, "c.txt")) == (b"b\n", None)
    (copy,) = [path for path in tmp_path.glob("*.jsonl") if path != transcript]
    assert json.loads(copy.read_text()) == {**rows[0], "sessionId": copy.stem}
    assert editor.lua("return vim.fn.getreg('\"')").endswith(f"claude --resume {copy.stem}")


def test_git_goes_back_by_a_key_in_the_plan(neovim: Callable[..., Neovim], agent: Agent) -> None:
    run_git(agent.folder, "init", "-qb", "main")
    run_git(agent.folder, "add", "-A")
    run_git(agent.folder, "commit", "-qm", "first")
    run_git(agent.folder, "branch", "topic")
    agent.step("nothing", {})
    before = run_git(agent.folder, "for-each-ref").decode()
    step = agent.begin("commit")
    run_git(agent.folder, "commit", "-qm", "second", "--allow-empty")
    run_git(agent.folder, "branch", "-D", "topic")
    agent.client.step_end(step)
    after = run_git(agent.folder, "for-each-ref").decode()
    moved = f"main {before[:7]} → {after[:7]}, branch topic deleted"
    editor = neovim()
    editor.command("Snapd")
    editor.shows("commit git: main")
    editor.lua("vim.fn.search('Edit commit', 'w')")
    editor.press("K")
    editor.shows(f"git       {moved}")
    editor.press("q")
    editor.press("u")
    editor.shows("Undo “commit”?", "git stays as it is: main", "g   take git back, too")
    editor.type("g")
    back = f"git: main {after[:7]} → {before[:7]}, branch topic created at {before[:7]}"
    editor.shows(back, "g   leave git as it is")
    assert run_git(agent.folder, "for-each-ref").decode() == after
    editor.type("y")
    editor.tells(f"undid “commit”: no file had to be changed. {back}.")
    assert run_git(agent.folder, "for-each-ref").decode() == before
    editor.press("r")
    editor.shows("Redo what was undone last?", f"git stays undone: {moved}; g redoes that, too", "g   redo git, too")
    editor.type("g")
    editor.shows(f"git: {moved}", "g   leave git as it is")
    editor.type("y")
    editor.tells("redid what was undone last")
    assert run_git(agent.folder, "for-each-ref").decode() == after


def test_git_is_in_the_words_of_every_face(neovim: Callable[..., Neovim]) -> None:
    one, two = "1" * 40, "2" * 40
    every = {
        "head": {"before": "refs/heads/a/b", "after": one},
        "refs": [
            {"ref": "refs/heads/a/b", "before": one, "after": two, "behind": "refs/remotes/o/b"},
            {"ref": "refs/heads/100%s", "after": one},
            {"ref": "refs/tags/v1", "before": one},
            {"ref": "refs/stash", "before": one, "after": one},
            {"ref": "refs/heads/link", "before": "ref: refs/heads/main", "after": two},
        ],
        "staged": {"before": 0, "after": 2},
        "operation": {"before": "rebase", "after": "merge"},
    }
    editor = neovim()
    for change in (every, {"refs": [], "repository": "deleted"}):
        assert editor.lua("return require('snapd.words').git_words(...)", change) == git_words(change)
    reasons = [{"part": "head", "reason": "moved"}, {"part": "refs/stash", "reason": "unheard-of"}]
    for outcome in ({"changes": every, "left": True}, {"changes": {"refs": []}, "reasons": reasons}):
        assert editor.lua("return require('snapd.words').git_lines(...)", outcome, "g") == git_lines(outcome, "g")
        redone = editor.lua("return require('snapd.words').git_lines(...)", outcome, "g", True)
        assert redone == git_lines(outcome, "g", redone=True)

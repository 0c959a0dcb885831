"""Turns on the command line: the prompts in `log`, and `undo --message`."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

from tests.cli.steps import put, read

if TYPE_CHECKING:
    from tests.cli.running import Home


def report(home: Home, project: str, name: str, message: str, **fields: object) -> None:
    event = {"hook_event_name": name, "session_id": "S", "prompt_id": message, "cwd": project, **fields}
    home.run(project, "hook", stdin=json.dumps(event).encode())


def turn(home: Home, project: str, message: str, prompt: str, file: str, data: bytes) -> None:
    report(home, project, "UserPromptSubmit", message, prompt=prompt)
    for call, tool, given in (
        ("look", "Bash", {"command": "ls"}),
        ("edit", "Edit", {"file_path": os.path.join(project, file)}),
    ):
        about = {"tool_name": tool, "tool_input": given, "tool_use_id": f"{message}-{call}"}
        report(home, project, "PreToolUse", message, **about)
        if tool == "Edit":
            put(project, {file: data})
        report(home, project, "PostToolUse", message, **about)


def test_turns_in_the_log(home: Home, project: str) -> None:
    turn(home, project, "aaaa11-2", "make\x1b[31m it\nfaster", "fast.py", b"1\n")
    turn(home, project, "bbbb22-3", "and now shorter", "short.py", b"2\n")
    shown = home.ok(project, "log").splitlines()
    lines = [line.split("┊")[1].strip() for line in shown if "»" in line or "●" in line]
    # a call that only looked is no news
    assert [line[0] for line in lines] == ["»", "●", "»", "●"]
    # a prompt stands above its steps
    assert lines[0] == "»  bbbb22    and now shorter"
    assert lines[1].endswith("Edit  A short.py  +1 -0")
    # the prompt came before the first step of its session
    assert "╯" in shown[-1]
    assert "\x1b" not in "".join(shown)
    listed = home.ok(project, "log", "--oneline").splitlines()
    assert [line.split()[0] for line in listed if line.split()[2] == "you"] == ["bbbb22", "aaaa11"]
    assert "Bash" not in home.ok(project, "log", "-p")


def test_a_prompt_is_shown_in_full_with_its_steps(home: Home, project: str) -> None:
    prompt = "make it faster\n\nand " + "do not cut this " * 20 + "end\x1b[31m"
    turn(home, project, "aaaa11-2", prompt, "fast.py", b"1\n")
    turn(home, project, "bbbb22-3", "and now shorter", "short.py", b"2\n")
    told = home.ok(project, "show", "aaaa11").splitlines()
    assert told[0].split() == ["prompt", "aaaa11-2"]
    at = told.index("    make it faster")
    assert told[at + 2].startswith("    and do not cut this")
    assert "end" in told[at + 2]
    assert "\x1b" not in "".join(told)
    assert told[-1].endswith("Edit fast.py")
    answer = json.loads(home.ok(project, "show", "aaaa11", "--json"))
    assert answer["message"]["text"] == prompt
    assert [[row["file"] for row in step["files"]] for step in answer["steps"] if "partId" in step] == [["fast.py"]]
    prompts = home.ok(project, "log", "--prompts").splitlines()
    assert prompts[1] == "    and now shorter"
    assert prompts[3].startswith("aaaa11  ")
    assert "    make it faster" in prompts
    assert home.run(project, "show", "cccc").code == 1


def test_a_turn_is_undone_by_the_beginning_of_its_id(home: Home, project: str) -> None:
    turn(home, project, "aaaa11-2", "one", "one.py", b"1\n")
    turn(home, project, "aabb2222-3", "two", "two.py", b"2\n")
    several = home.run(project, "undo", "--message", "aa", "-y")
    assert several.code == 2
    assert "aaaa11-2" in several.err
    nothing = home.run(project, "undo", "--message", "c", "-y")
    assert (nothing.code, "no message 'c'" in nothing.err) == (1, True)
    home.ok(project, "undo", "--message", "aaa", "-y")
    assert (read(project, "one.py"), read(project, "two.py")) == (None, b"2\n")
    home.ok(project, "undo", "--message", "last", "-y")
    assert read(project, "two.py") is None


def test_a_prompt_is_purged(home: Home, project: str) -> None:
    turn(home, project, "aaaa11-2", "the key is hunter2", "one.py", b"1\n")
    told = home.ok(project, "purge", "--message", "aaaa", "-n")
    assert told == "1 prompt to be removed\n"
    assert "hunter2" in home.ok(project, "log")
    assert home.ok(project, "purge", "--message", "last", "-y").startswith("1 prompt removed; ")
    assert "hunter2" not in home.ok(project, "log")
    home.ok(project, "undo", "-y")
    assert read(project, "one.py") is None


def test_turns_whose_ids_begin_alike_are_told_apart(home: Home, project: str) -> None:
    """As those of an agent whose ids begin with the time."""
    ids = [f"01a2031e-{at}-7000-8000-00000000000a" for at in ("1111", "1122")]
    for at, name in enumerate(ids):
        turn(home, project, name, f"turn {at}", f"{at}.py", b"1\n")
    for words in (("log",), ("log", "--oneline")):
        listed = [line for line in home.ok(project, *words).splitlines() if "  turn " in line and "╭" not in line]
        shown = [next(word for word in line.split() if word.startswith("01a2031e")) for line in listed]
        assert shown == ["01a2031e-112", "01a2031e-111"]
    several = home.run(project, "undo", "--message", "01a2031e", "-y")
    assert (several.code, [name in several.err for name in ids]) == (2, [True, True])
    home.ok(project, "undo", "--message", "01a2031e-112", "-y")
    assert (read(project, "0.py"), read(project, "1.py")) == (b"1\n", None)

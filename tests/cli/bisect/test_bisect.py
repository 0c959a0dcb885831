"""`snapd bisect`, with real steps and real commands."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from snapd.sharing.sessions import SHORTEST
from tests.cli.reference.schema import problems
from tests.cli.running import WAIT, Result, Terminal
from tests.cli.steps import put, take

if TYPE_CHECKING:
    from tests.cli.running import Home

SCHEMA = json.loads((Path(__file__).parents[3] / "docs" / "cli.schema.json").read_text("utf-8"))
NOT_BROKEN = 'test "$(cat state)" != broken'


class Bisecting:
    """A project with a session of steps, and a place for temporary files of its own."""

    def __init__(self, home: Home, project: str, temporary: Path) -> None:
        self.home = home
        self.project = project
        self.temporary = temporary
        self.env = {"TMPDIR": str(temporary)}

    def steps(self, *states: str, session: str = "s1") -> list[str]:
        """Steps that each write a state; gives their names."""
        return [
            take(self.home, self.project, session, {"state": state.encode(), f"file{number}": b"x\n"}, "--agent", "bot")
            for number, state in enumerate(states)
        ]

    def run(self, *args: str, stdin: bytes = b"") -> Result:
        before = tree(self.project)
        result = self.home.run(self.project, "bisect", *args, env=self.env, stdin=stdin)
        # of the search nothing is left, and the project is as it was
        assert os.listdir(self.temporary) == []
        assert tree(self.project) == before
        return result

    def answer(self, *args: str) -> dict[str, Any]:
        result = self.run("--json", *args)
        assert problems(result.json, SCHEMA["$defs"]["bisect"], SCHEMA) == []
        assert result.code == {"found": 0, "unclear": 3}.get(result.json["outcome"], 1)
        return dict(result.json)


def tree(folder: str) -> dict[str, tuple[bytes, int, int]]:
    """Contents, inodes and times of all files."""
    return {
        str(path): (path.read_bytes(), path.stat().st_ino, path.stat().st_ctime_ns)
        for path in Path(folder).rglob("*")
        if path.is_file()
    }


@pytest.fixture
def it(home: Home, project: str, tmp_path: Path) -> Bisecting:
    return Bisecting(home, project, tmp_path)


def test_the_step_that_broke_it(it: Bisecting) -> None:
    names = it.steps("good", "good too", "broken", "still broken", "broken for good")
    result = it.run("--", "sh", "-c", "echo looking; ! grep -qs broken state")
    assert result.code == 0
    name = names[2][:SHORTEST]
    assert result.text.startswith(f"{name} bot 2 files broke it (exit code 1)\n")
    assert re.search(r"M state\s+\+1 -1", result.text)
    assert f"hint: 'snapd show {name}' shows the diff, 'snapd undo {name}' undoes it\n" in result.err
    said = [line for line in result.err.splitlines() if line.startswith(("snapd: ", "looking"))]
    assert [re.sub(r"[0-9a-f]{6,8}", "HASH", line) for line in said] == [
        "snapd: before the first step (HASH), 4 more to go",
        "looking",
        "snapd: good (exit code 0)",
        "snapd: after the last step (HASH), 3 more to go",
        "looking",
        "snapd: bad (exit code 1)",
        "snapd: after HASH (HASH), 2 more to go",
        "looking",
        "snapd: good (exit code 0)",
        "snapd: after HASH (HASH), 1 more to go",
        "looking",
        "snapd: bad (exit code 1)",
    ]


def test_the_session_with_the_latest_change_or_another_one(it: Bisecting) -> None:
    names = it.steps("good", "broken", session="first")
    it.steps("broken 2", "broken 3", session="second")
    assert it.answer("--", "sh", "-c", "! grep -qs broken state")["outcome"] == "badBefore"
    answer = it.answer("fir", "--", "sh", "-c", "! grep -qs broken state")
    assert (answer["sessionId"], answer["suspects"][0]["steps"][0]["stepId"]) == ("first", names[1])


def test_ten_steps_take_four_exports_beside_the_ends(it: Bisecting) -> None:
    put(it.project, {"state": b"0"})
    names = it.steps(*map(str, range(1, 11)))
    for broken in (1, 2, 5, 6, 10):
        answer = it.answer("--", "sh", "-c", f'test "$(cat state)" -lt {broken} || exit 7')
        (suspect,) = answer["suspects"]
        (step,) = suspect["steps"]
        assert (answer["outcome"], answer["exitCode"], step["stepId"]) == ("found", 7, names[broken - 1])
        assert (suspect["before"], suspect["after"]) == (step["from"], step["to"])
        assert [row["file"] for row in suspect["files"]] == [f"file{broken - 1}", "state"]
        assert len(answer["trials"]) <= 2 + 4
        assert len({trial["hash"] for trial in answer["trials"]}) == len(answer["trials"])
        verdicts = [(trial["verdict"], trial["exitCode"]) for trial in answer["trials"]]
        assert verdicts[:2] == [("good", 0), ("bad", 7)]


def test_the_prompt_of_the_step(it: Bisecting) -> None:
    put(it.project, {"state": b"good"})

    def event(name: str, **fields: Any) -> None:
        about = {"session_id": "c1", "prompt_id": "p1", "cwd": it.project, "hook_event_name": name, **fields}
        assert it.home.run(it.project, "hook", "claude", stdin=json.dumps(about).encode()).code == 0

    call = {"tool_name": "Write", "tool_use_id": "t1", "tool_input": {"file_path": f"{it.project}/state"}}
    event("UserPromptSubmit", prompt="make it better\nplease")
    event("PreToolUse", **call)
    put(it.project, {"state": b"broken"})
    event("PostToolUse", **call)
    answer = it.answer("--", "sh", "-c", NOT_BROKEN)
    assert answer["suspects"][0]["prompts"] == ["make it better\nplease"]
    assert "prompt: make it better please\n" in it.run("--", "sh", "-c", NOT_BROKEN).text


def test_what_somebody_else_changed_between_the_steps(it: Bisecting) -> None:
    put(it.project, {"state": b"good"})
    first = it.steps("good 1")
    put(it.project, {"state": b"broken"})
    second = it.steps("broken")
    answer = it.answer("s1", "--", "sh", "-c", NOT_BROKEN)
    (suspect,) = answer["suspects"]
    assert (answer["outcome"], suspect["steps"], suspect["prompts"]) == ("found", [], [])
    assert [row["file"] for row in suspect["files"]] == ["state"]
    text = it.run("--", "sh", "-c", NOT_BROKEN).text
    assert text.startswith("what somebody else changed between steps, from ")
    assert not any(step[:SHORTEST] in text for step in (*first, *second))


def test_a_step_of_another_session_at_the_same_time(it: Bisecting) -> None:
    """It is distinguished from that of the session in question."""
    put(it.project, {"state": b"good"})
    step = it.home.ok(it.project, "step", "begin", "--session", "mine").strip()
    put(it.project, {"mine.txt": b"1\n"})
    other = take(it.home, it.project, "other", {"state": b"broken"}, "--agent", "ada")
    put(it.project, {"mine.txt": b"2\n"})
    it.home.ok(it.project, "step", "end", step, "--file", "mine.txt")
    answer = it.answer("mine", "--", "sh", "-c", NOT_BROKEN)
    (suspect,) = answer["suspects"]
    assert ([each["stepId"] for each in suspect["steps"]], suspect["others"]) == ([other], [])
    assert it.run("mine", "--", "sh", "-c", NOT_BROKEN).text.startswith(f"{other[:SHORTEST]} ada ")


def test_what_somebody_else_changed_during_a_step(it: Bisecting) -> None:
    put(it.project, {"state": b"good"})
    step = it.home.ok(it.project, "step", "begin", "--session", "mine").strip()
    put(it.project, {"state": b"broken", "mine.txt": b"1\n"})
    it.home.ok(it.project, "step", "end", step, "--file", "mine.txt")
    answer = it.answer("--", "sh", "-c", NOT_BROKEN)
    (suspect,) = answer["suspects"]
    assert ([each["stepId"] for each in suspect["steps"]], suspect["others"]) == ([step], ["state"])
    text = it.run("--", "sh", "-c", NOT_BROKEN).text
    assert text.startswith(
        f"{step[:SHORTEST]} mine.txt +1 -0 or what somebody else changed meanwhile (state), broke it"
    )


def test_a_step_that_says_it_wrote_nothing_is_not_accused(it: Bisecting) -> None:
    put(it.project, {"state": b"good"})
    it.steps("good 1")
    step = it.home.ok(it.project, "step", "begin", "--session", "s1").strip()
    put(it.project, {"state": b"broken"})
    assert "no named file changed" in it.home.run(it.project, "step", "end", step, "--file", "elsewhere").err
    (suspect,) = it.answer("--", "sh", "-c", NOT_BROKEN)["suspects"]
    assert (suspect["steps"], suspect["others"]) == ([], ["state"])


def test_undone_steps_are_left_out(it: Bisecting) -> None:
    put(it.project, {"state": b"good"})
    undone = it.steps("broken")[0]
    it.home.run(it.project, "undo", undone, "--yes")
    names = it.steps("good 1", "broken again")
    answer = it.answer("--", "sh", "-c", "! grep -q broken state")
    assert [step["stepId"] for step in answer["suspects"][0]["steps"]] == [names[1]]
    assert it.home.run(it.project, "undo", "--session", "s1", "--all", "--yes").code == 0
    result = it.run("s1", "--", "true")
    assert (result.code, "no step with changes that are not undone" in result.err) == (2, True)


@pytest.mark.parametrize(
    ("command", "outcome", "code", "said"),
    [
        ("exit 3", "badBefore", 3, "bad before the first step already (exit code 3): no step broke it"),
        ("no-such-program-at-all", "badBefore", 127, "bad before the first step already (exit code 127)"),
        ("exit 0", "goodAfter", 0, "good after the last step: no step broke it"),
        ("exit 125", "untested", 125, "skipped a snapshot that is needed"),
        ("kill -TERM $$", "aborted", 143, "stopped the search (exit code 143, by signal 15)"),
        ("test -e file0 || exit 0; exit 200", "aborted", 200, "stopped the search (exit code 200)"),
    ],
)
def test_when_there_is_nothing_to_find(it: Bisecting, command: str, outcome: str, code: int, said: str) -> None:
    it.steps("one", "two")
    result = it.run("--", "sh", "-c", command)
    assert result.code == 1
    assert said in result.text
    assert "\nhint: " in result.err
    answer = it.answer("--", "sh", "-c", command)
    assert (answer["outcome"], answer["exitCode"], answer["suspects"]) == (outcome, code, [])


def test_snapshots_that_are_skipped(it: Bisecting) -> None:
    put(it.project, {"state": b"good"})
    names = it.steps("good 1", "skip", "skip 2", "broken")
    command = 'case "$(cat state)" in skip*) exit 125;; broken) exit 1;; esac'
    answer = it.answer("--", "sh", "-c", command)
    assert answer["outcome"] == "unclear"
    assert [suspect["steps"][0]["stepId"] for suspect in answer["suspects"]] == names[1:]
    result = it.run("--", "sh", "-c", command)
    assert (result.code, "one of these broke it" in result.text) == (3, True)
    assert all(name[:SHORTEST] in result.text for name in names[1:])


def test_where_and_how_the_command_runs(it: Bisecting) -> None:
    """In a folder like the project, of exactly one snapshot each time, without input, without a terminal."""
    it.steps("1", "2", "3")
    put(it.project, {"later": b"not in any step\n"})
    script = """
import json, os, sys
seen = {"cwd": os.getcwd(), "pwd": os.environ["PWD"], "files": sorted(os.listdir(".")), "input": sys.stdin.read()}
try:
    os.open("/dev/tty", os.O_RDWR)
except OSError:
    seen["terminal"] = False
print("seen", json.dumps(seen))
print("told on standard error", file=sys.stderr)
open("made", "w").close()
os.rename("README.md", "renamed")
sys.exit(os.path.exists("file1"))
"""
    result = it.run("--", sys.executable, "-c", script, stdin=b"not for the command")
    runs = [json.loads(line[5:]) for line in result.err.splitlines() if line.startswith("seen ")]
    assert len(runs) == result.err.count("told on standard error") == 4
    for seen in runs:
        assert seen["cwd"] == seen["pwd"] == runs[0]["cwd"]
        assert os.path.basename(seen["cwd"]) == os.path.basename(it.project)
        assert seen["cwd"].startswith(str(it.temporary))
        assert (seen["input"], seen["terminal"]) == ("", False)
    assert [seen["files"] for seen in runs] == [
        ["README.md", "src"],
        ["README.md", "file0", "file1", "file2", "src", "state"],
        ["README.md", "file0", "src", "state"],
        ["README.md", "file0", "file1", "src", "state"],
    ]
    assert b"seen" not in result.out


def test_build_results_are_kept_where_that_is_asked_for(it: Bisecting) -> None:
    it.steps("1", "2", "3")
    command = "echo built >> log; echo kept $(wc -l < log); echo spoiled > README.md; grep -q read README.md"
    command = f"grep -q read README.md || exit 200; {command} || test ! -e file1"
    kept = re.findall(r"kept +(\d+)", it.run("--reuse", "--", "sh", "-c", command).err)
    assert kept == ["1", "2", "3", "4"]
    assert re.findall(r"kept +(\d+)", it.run("--", "sh", "-c", command).err) == ["1"] * 4


def test_the_temporary_folder_may_not_lie_in_the_project(it: Bisecting) -> None:
    it.steps("1", "2")
    inside = os.path.join(it.project, "tmp")
    os.mkdir(inside)
    result = it.home.run(it.project, "bisect", "--", "true", env={"TMPDIR": inside})
    assert (result.code, os.listdir(inside)) == (2, [])
    assert "lies in the project" in result.err
    assert "hint: set TMPDIR" in result.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "expected a command after --"),
        (("--",), "expected a command after --"),
        (("make", "test"), "'test' is one argument too many"),
        (("s1", "s2", "--", "true"), "'s2' is one argument too many"),
        (("s1", "--nope", "--", "true"), "there is no option --nope"),
        (("no such session", "--", "true"), "no session 'no such session'"),
        (("--", "no-such-program-at-all"), "no-such-program-at-all: command not found"),
        (("--", "/no/such/program"), "/no/such/program: command not found"),
    ],
)
def test_wrong_words(it: Bisecting, words: tuple[str, ...], said: str) -> None:
    it.steps("1")
    result = it.run(*words)
    assert result.code in (1, 2)
    assert said in result.err
    assert "hint: " in result.err


def test_options_may_follow_the_session(it: Bisecting) -> None:
    it.steps("good", "broken")
    for words in (("--json", "--reuse", "s1"), ("s1", "--json", "--reuse"), ("--json", "s1", "--reuse")):
        result = it.run(*words, "--", "sh", "-c", NOT_BROKEN, "--json", "--")
        assert (result.code, result.json["outcome"]) == (0, "found")


def test_a_folder_without_sessions(it: Bisecting) -> None:
    result = it.run("--", "true")
    assert (result.code, "no session has changed anything" in result.err) == (1, True)


def test_a_program_of_the_snapshot(it: Bisecting) -> None:
    """A relative name is that of a file in the snapshot; one that is not there is bad."""
    put(it.project, {"check.sh": b"#!/bin/sh\nexit 0\n"})
    os.chmod(os.path.join(it.project, "check.sh"), 0o755)
    take(it.home, it.project, "s1", {"x": b"x\n"})
    name = take(it.home, it.project, "s1", {"check.sh": b"#!/bin/sh\nexit 4\n"})
    answer = it.answer("--", "./check.sh")
    assert (answer["exitCode"], answer["suspects"][0]["steps"][0]["stepId"]) == (4, name)
    assert it.answer("--", "./nope.sh")["exitCode"] == 127
    assert it.answer("--", "./README.md")["exitCode"] == 126


# -- it receives a signal

WAITS = """
import os, sys, time
open(sys.argv[1], "w").write(f"{os.getpid()} {os.getcwd()}")
print("ready", flush=True)
time.sleep(60)
"""
STUBBORN = """
import os, signal, sys, time
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, lambda number, _: print("told", number, flush=True))
open(sys.argv[1], "w").write(f"{os.getpid()} {os.getcwd()}")
print("ready", flush=True)
for _ in range(600):
    time.sleep(0.1)
"""


def is_alive(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[0] != b"Z"
    except FileNotFoundError:
        return False


def until(condition: Any) -> None:
    deadline = time.monotonic() + WAIT
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, -signal.SIGTERM), (signal.SIGHUP, -signal.SIGHUP)]
)
@pytest.mark.parametrize("apart", [False, True])
def test_it_ends_the_command_and_removes_the_folder(
    it: Bisecting, tmp_path: Path, number: int, code: int, apart: bool
) -> None:
    it.steps("1", "2")
    note = Path(it.project).parent / f"note-{number}-{apart}"
    # what the shell starts is ended as well, though the signal goes to the command
    command = ["sh", "-c", '"$@" & wait', "sh"] if apart else []
    process = it.home.popen(
        it.project, "bisect", "--", *command, sys.executable, "-c", WAITS, str(note), env=it.env, stderr=subprocess.PIPE
    )
    until(lambda: note.exists() and " " in note.read_text())
    pid, cwd = note.read_text().split(" ", 1)
    assert os.path.isdir(cwd)
    assert cwd.startswith(f"{tmp_path}/snapd-bisect-")
    process.send_signal(number)
    _, said = process.communicate(timeout=WAIT)
    assert process.returncode == code
    # the command's own, where it was Ctrl-C
    assert said.count(b"Traceback") == said.count(b'File "<string>"')
    assert os.listdir(tmp_path) == []
    until(lambda: not is_alive(int(pid)))


def test_a_second_ctrl_c_kills_a_command_that_does_not_end(it: Bisecting, tmp_path: Path) -> None:
    it.steps("1", "2")
    note = Path(it.project).parent / "note-stubborn"
    terminal = Terminal(
        it.home, it.project, "bisect", "--", sys.executable, "-c", STUBBORN, str(note), env=it.env, keys=True
    )
    terminal.wait_for(b"ready")
    terminal.type(b"\x03")
    terminal.wait_for(b"told 2")
    begun = time.monotonic()
    terminal.type(b"\x03")
    assert terminal.finish().code == 130
    # not only when patience was over
    assert time.monotonic() - begun < 4.0
    assert os.listdir(tmp_path) == []
    assert not is_alive(int(note.read_text().split()[0]))


def test_it_has_no_terminal_to_ask_on(it: Bisecting) -> None:
    it.steps("1", "2")
    command = "if (: < /dev/tty) 2>&-; then echo it has one; else echo it has none; fi"
    terminal = Terminal(it.home, it.project, "bisect", "--", "sh", "-c", command, env=it.env, keys=True)
    shown = terminal.finish().err
    assert (shown.count("it has none"), shown.count("it has one")) == (2, 0), shown


def test_what_a_run_leaves_running_is_ended_before_the_next(it: Bisecting) -> None:
    it.steps("good", "broken")
    pids = Path(it.project).parent / "pids"
    command = f"sleep 600 & echo $! >> {pids}; {NOT_BROKEN}"
    assert it.answer("--", "sh", "-c", command)["outcome"] == "found"
    left = [int(line) for line in pids.read_text().split()]
    assert len(left) >= 2
    until(lambda: not any(map(is_alive, left)))


def test_an_export_that_fails_leaves_nothing(it: Bisecting) -> None:
    it.steps("1", "2")
    # it takes away the folder around the one that it runs in
    result = it.run("--", "sh", "-c", 'rm -rf "$(dirname "$PWD")"')
    assert result.code == 1
    assert "No such file or directory" in result.err


def test_without_a_daemon(it: Bisecting) -> None:
    it.steps("good", "broken")
    it.home.run(it.project, "stop")
    assert it.answer("--no-daemon", "--", "sh", "-c", NOT_BROKEN)["outcome"] == "found"

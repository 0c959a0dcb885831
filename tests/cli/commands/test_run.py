"""`snapd run`: a command as it would be without, and all that it does as steps of a session."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from snapd.sharing.sessions import SHORTEST
from tests.cli.running import WAIT, Terminal
from tests.cli.steps import put
from tests.library.others import other_process

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.cli.running import Home

pytestmark = pytest.mark.slow

QUIET = ("--quiet", "0.2")
WRITER = 'while read name; do echo "$name" > "$name"; done'
"""Makes the files that it is told of."""
COUNTS = """
import os, signal, sys, threading
caught = []
def count():
    while signal.sigwait(counted):
        caught.append(1)
        os.write(1, b"caught\\n")
counted = {signal.{name}}
# a handler would not be called while it waits for a line, where the signal came just before
signal.pthread_sigmask(signal.SIG_BLOCK, counted)
threading.Thread(target=count, daemon=True).start()
os.write(1, b"ready\\n")
line = sys.stdin.readline()
# at once: the thread, or the echo of a terminal, may come between two writes
os.write(1, b"took %b\\n" % line.strip().encode())
sys.exit(10 + len(caught))
"""
"""Says how often a signal came, by its exit code."""

OUTSIDE = """
import os, signal, sys
both = {signal.SIGINT, signal.SIGUSR1}
signal.pthread_sigmask(signal.SIG_BLOCK, both)
os.setpgid(0, 0)
print("ready", flush=True)
caught = 0
while signal.sigwait(both) == signal.SIGINT:
    caught += 1
sys.exit(10 + caught)
"""
"""Says how often Ctrl-C was passed on to it, for the terminal does not send it there."""


class Running:
    """A command under `snapd run` that does what it is told."""

    def __init__(
        self,
        home: Home,
        project: str,
        *words: str,
        env: dict[str, str] | None = None,
        quiet: tuple[str, ...] = QUIET,
    ) -> None:
        pipe = subprocess.PIPE
        self._home = home
        self._project = project
        self.process = home.popen(
            project, "run", *quiet, "--", *words, env=env or {}, stdin=pipe, stdout=pipe, stderr=pipe
        )

    def tell(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{line}\n".encode())
        self.process.stdin.flush()

    def read(self) -> bytes:
        assert self.process.stdout is not None
        return self.process.stdout.readline()

    def wait_for(self, condition: Callable[[list[dict[str, Any]]], bool]) -> None:
        """Waits until the history is as wanted."""
        deadline = time.monotonic() + WAIT
        while not condition(entries(self._home, self._project)):
            assert time.monotonic() < deadline, entries(self._home, self._project)
            assert self.process.poll() is None, self.process.communicate()

    def finish(self) -> tuple[int, bytes, str]:
        out, err = self.process.communicate(timeout=WAIT)
        assert b"Traceback" not in err, err
        return self.process.returncode, out, err.decode()


def entries(home: Home, project: str) -> list[dict[str, Any]]:
    found = home.run(project, "log", "--json", "-n", "0")
    return list(found.json["entries"]) if found.code == 0 else []


def steps(found: list[dict[str, Any]]) -> list[list[str]]:
    """The files of each step that has ended, the oldest first."""
    of_steps = [entry["step"] for entry in found if entry["kind"] == "step"]
    return [[row["file"] for row in step["files"]] for step in of_steps[::-1] if step["state"] != "open"]


def has(*wanted: list[str]) -> Callable[[list[dict[str, Any]]], bool]:
    return lambda found: steps(found) == list(wanted)


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("true",), 0),
        (("--", "sh", "-c", "exit 7"), 7),
        (("--", "sh", "-c", "kill -TERM $$"), 128 + signal.SIGTERM),
        (("--", "sh", "-c", "kill -KILL $$"), 128 + signal.SIGKILL),
        (("--", "no-such-command"), 127),
        (("--", "./README.md"), 127),
        (("--", "./odd"), 126),
        ((), 2),
        (("--",), 2),
        (("--quiet", "0", "true"), 2),
        (("--no-such-option", "true"), 2),
    ],
)
def test_exit_codes(home: Home, project: str, words: tuple[str, ...], code: int) -> None:
    with open(os.path.join(project, "odd"), "wb") as file:
        file.write(b"\x7fELF")
    os.chmod(os.path.join(project, "odd"), 0o755)
    result = home.run(project, "run", *words)
    assert (result.code, result.out) == (code, b""), result
    if code in (127, 2):
        # nothing was begun for what was not run
        assert home.run(project, "sessions", "--json").json == {"sessions": []}


def test_streams_and_arguments_are_its_own(home: Home, project: str) -> None:
    script = 'cat; printf "%s," "$@" >&2; pwd'
    result = home.run(home.path, "run", "-C", project, "--", "sh", "-c", script, "-", "-n", "--", "a b", stdin=b"in\n")
    assert result.out.decode() == f"in\n{os.path.realpath(project)}\n"
    assert result.err.startswith("-n,--,a b,")


def test_steps_make_themselves(home: Home, project: str) -> None:
    run = Running(home, project, "sh", "-c", WRITER)
    run.tell("one")
    run.wait_for(has(["one"]))
    run.tell("two")
    run.tell("three")
    run.wait_for(has(["one"], ["three", "two"]))
    run.tell("four")
    code, out, err = run.finish()
    assert (code, out) == (0, b"")
    found = entries(home, project)
    assert steps(found) == [["one"], ["three", "two"], ["four"]]
    assert {entry["kind"] for entry in found} == {"step"}
    (session,) = home.run(project, "sessions", "--json").json["sessions"]
    assert (session["agent"], session["title"], session["undoable"]) == ("sh", f"sh -c '{WRITER}'", 3)
    assert "endedAt" in session
    lines = err.splitlines()
    assert lines[0] == f"snapd: session {session['sessionId'][:SHORTEST]}: 3 steps"
    assert [line.split()[2:] for line in lines[1:4]] == [
        ["+1", "-0", "one"],
        ["+2", "-0", "three,", "two"],
        ["+1", "-0", "four"],
    ]
    assert "except what you saved in a connected editor" in lines[4]
    # what it says does what it says
    hint = lines[5].split()[1:4]
    assert home.run(project, *hint, "--yes").code == 0
    assert sorted(os.listdir(project)) == ["README.md", "one", "src", "three", "two"]


def test_another_agent_at_work_is_named(home: Home, project: str) -> None:
    other = home.ok(project, "step", "begin", "--session", "other", "--agent", "claude").strip()
    result = home.run(project, "run", "--", "sh", "-c", "echo 1 > one; echo 2 > two")
    assert f"  one, two: shared with step {other[:SHORTEST]} of Claude Code: both were at work" in result.err
    assert result.code == 0


def test_a_command_that_changes_nothing_leaves_nothing_in_the_log(home: Home, project: str) -> None:
    result = home.run(project, "run", "--agent", "a", "--title", "t", "--", "true")
    assert result.err.endswith(": nothing changed\n")
    assert entries(home, project) == []
    (session,) = home.run(project, "sessions", "--json").json["sessions"]
    assert (session["agent"], session["title"]) == ("a", "t")


def test_a_folder_that_is_ignored_is_named(home: Home, project: str) -> None:
    put(project, {".gitignore": b"build/\n", "build/old": b"o\n"})
    home.ok(project, "track")
    build = os.path.join(project, "build")
    result = home.run(build, "run", "--quiet", "0.1", "--", "sh", "-c", "echo agent > f")
    assert f"snapd: {build} is ignored: no snapshot has what is written there\n" in result.err
    assert "ignored" not in home.run(project, "run", "--", "true").err


def test_nothing_falls_between_two_steps(home: Home, project: str) -> None:
    # pauses about as long as what is quiet enough, so that changes come while steps turn
    script = "for n in $(seq 60); do echo $n > f$n; sleep 0.0$((n % 7 + 4)); done"
    result = home.run(project, "run", "--quiet", "0.05", "--", "sh", "-c", script)
    assert result.code == 0
    found = entries(home, project)
    assert {entry["kind"] for entry in found} == {"step"}
    assert {file for step in steps(found) for file in step} == {f"f{number}" for number in range(1, 61)}
    assert home.run(project, "undo", "--yes", "--count", "99").code == 0
    assert sorted(os.listdir(project)) == ["README.md", "src"]


def test_where_nothing_is_watched(own_home: Home) -> None:
    home, project = own_home, own_home.project("unwatched", {"a": b"a\n"})
    with open(home.at("home/.config/snapd/config.toml"), "w") as file:
        file.write('watcher = "none"\n')
    run = Running(home, project, "sh", "-c", WRITER)
    run.tell("one")
    run.wait_for(has(["one"]))
    run.tell("two")
    assert run.finish()[0] == 0
    assert steps(entries(home, project)) == [["one"], ["two"]]


def test_snapshots_of_others_hide_nothing(home: Home, project: str) -> None:
    run = Running(home, project, "sh", "-c", 'while read name; do echo "$name" > "$name"; echo done; done')
    run.tell("one")
    assert run.read() == b"done\n"
    # from here on the daemon tells of `one` no more
    home.track(project)
    run.wait_for(has(["one"]))
    run.tell("two")
    assert run.finish()[0] == 0
    assert steps(entries(home, project)) == [["one"], ["two"]]


def test_the_daemon_is_killed(own_home: Home) -> None:
    project = own_home.project("p", {"a": b"a\n"})
    run = Running(own_home, project, "sh", "-c", WRITER)
    run.tell("one")
    run.wait_for(has(["one"]))
    for name in ("two", "three"):
        with open(own_home.at("run/daemon.sock.pid"), encoding="ascii") as file:
            os.kill(int(file.read()), signal.SIGKILL)
        run.tell(name)
        # each time the command asks, a daemon is started: that is not what is tested, the end of the step is
        run.wait_for(lambda found, name=name: [name] in steps(found))
    run.tell("four")
    code, _, err = run.finish()
    assert code == 0
    assert steps(entries(own_home, project)) == [["one"], ["two"], ["three"], ["four"]]
    assert "some changes may not be recorded: " in err
    (session,) = own_home.run(project, "sessions", "--json").json["sessions"]
    assert "endedAt" in session


def test_the_session_is_ended_by_somebody(home: Home, project: str) -> None:
    from snapd_client import Client

    run = Running(home, project, "sh", "-c", WRITER)
    run.tell("one")
    run.wait_for(has(["one"]))
    (session,) = home.run(project, "sessions", "--json").json["sessions"]
    with Client.connect(home.at("run/daemon.sock")) as client:
        client.initialize([project])
        client.request("session/end", {"sessionId": session["sessionId"]})
    run.wait_for(lambda found: any(entry["step"]["state"] == "open" for entry in found))
    run.tell("two")
    assert run.finish()[0] == 0
    assert steps(entries(home, project)) == [["one"], ["two"]]


def test_the_open_step_is_undone(home: Home, project: str) -> None:
    script = 'while read name; do echo "$name" > "$name"; echo done; done'
    # the first step must not end before it is undone
    run = Running(home, project, "sh", "-c", script, quiet=("--quiet", "600"))
    run.tell("one")
    assert run.read() == b"done\n"
    assert home.run(project, "undo", "--yes", "last").code == 0
    run.wait_for(lambda found: any(entry["kind"] == "step" and entry["step"]["state"] == "open" for entry in found))
    run.tell("two")
    assert run.finish()[0] == 0
    assert sorted(os.listdir(project)) == ["README.md", "src", "two"]
    assert steps(entries(home, project))[-1] == ["two"]
    assert {entry["kind"] for entry in entries(home, project)} == {"step", "undo"}


def counter(name: str) -> tuple[str, ...]:
    return sys.executable, "-c", COUNTS.replace("{name}", name)


def test_ctrl_c_is_the_commands(home: Home, project: str) -> None:
    terminal = Terminal(home, project, "run", *QUIET, "--", *counter("SIGINT"), keys=True)
    terminal.wait_for(b"ready")
    terminal.type(b"\x03")
    terminal.wait_for(b"caught")
    terminal.type(b"bye\n")
    result = terminal.finish()
    assert "took bye" in result.err
    # once: from the terminal, and not from snapd too
    assert result.code == 11


def test_ctrl_c_is_not_passed_on(home: Home, project: str) -> None:
    # out of the process group, what the terminal sends does not reach it: what does came from snapd
    terminal = Terminal(home, project, "run", *QUIET, "--", sys.executable, "-c", OUTSIDE, keys=True)
    terminal.wait_for(b"ready")
    terminal.type(b"\x03")
    terminal.wait_for(b"^C")
    terminal.process.send_signal(signal.SIGUSR1)
    assert terminal.finish().code == 10


def test_ctrl_c_ends_a_command_that_does_not_care(home: Home, project: str) -> None:
    terminal = Terminal(
        home, project, "run", *QUIET, "--", "sh", "-c", "echo x > made; echo ready; read line", keys=True
    )
    terminal.wait_for(b"ready")
    terminal.type(b"\x03")
    assert terminal.finish().code == 128 + signal.SIGINT
    assert steps(entries(home, project)) == [["made"]]


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP", "SIGUSR1", "SIGQUIT"])
def test_signals_are_passed_on(home: Home, project: str, name: str) -> None:
    run = Running(home, project, *counter(name))
    assert run.read() == b"ready\n"
    run.process.send_signal(getattr(signal, name))
    assert run.read() == b"caught\n"
    run.tell("bye")
    assert run.finish()[:2] == (11, b"took bye\n")


def test_what_is_ignored_stays_ignored(home: Home, project: str) -> None:
    ignoring = home.popen(
        project,
        *("run", "--", "sh", "-c", "kill -HUP $$; echo alive"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN),
    )
    out, _ = ignoring.communicate(timeout=WAIT)
    assert (ignoring.returncode, out) == (0, b"alive\n")


def open_to_others(home: Home, project: str) -> dict[str, str]:
    os.mkdir(home.at("run"))
    os.chmod(home.at("run"), 0o777)
    return {}


def wrong_settings(home: Home, project: str) -> dict[str, str]:
    with open(home.at("home/.config/snapd/config.toml"), "w") as file:
        file.write("colour = 1\n")
    return {}


def switched_off(home: Home, project: str) -> dict[str, str]:
    with open(home.at("home/.config/snapd/config.toml"), "w") as file:
        file.write("snapshot = false\n")
    return {}


def no_store(home: Home, project: str) -> dict[str, str]:
    with open(home.at("data"), "w"):
        return {}


@pytest.mark.parametrize(
    ("spoil", "code", "said"),
    [
        (open_to_others, 4, "can be written to by others"),
        (wrong_settings, 2, "config.toml: colour: unknown setting"),
        (lambda *_: {"SNAPD_COLOUR": "1"}, 2, "SNAPD_COLOUR: unknown setting"),
        (lambda home, _: {"SNAPD_RUNTIME_DIR": home.at("x" * 100)}, 4, "is too long"),
        (switched_off, 2, "snapshots are off"),
        (lambda *_: {"SNAPD_SNAPSHOT": "0"}, 2, "snapshots are off"),
        (no_store, 1, "data: File exists"),
    ],
)
def test_whatever_is_wrong_with_snapd_the_command_runs(
    own_home: Home, spoil: Callable[[Home, str], dict[str, str]], code: int, said: str
) -> None:
    project = own_home.project("p", {"a": b"a\n"})
    env = spoil(own_home, project)
    script = "cat; echo made > made; exit 7"
    result = own_home.run(project, "run", "--", "sh", "-c", script, env=env, stdin=b"in\n")
    assert (result.code, result.out) == (7, b"in\n")
    line, hint = result.err.splitlines()
    assert hint.startswith("hint: ")
    assert line.startswith("snapd: the steps of this command are not recorded: ")
    assert said in line
    os.unlink(os.path.join(project, "made"))
    required = own_home.run(project, "run", "--require", "--", "sh", "-c", script, env=env, stdin=b"in\n")
    assert (required.code, required.out) == (code, b"")
    assert said in required.err
    assert not os.path.exists(os.path.join(project, "made"))


def test_the_store_is_somebody_else_s(own_home: Home) -> None:
    project = own_home.project("p", {"a": b"a\n"})
    with other_process(own_home, Path(project)):
        result = own_home.run(project, "run", "--", "sh", "-c", "exit 7")
        assert (result.code, result.out) == (7, b"")
        assert "another process owns the store" in result.err
        assert own_home.run(project, "run", "--require", "--", "true").code == 1


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_signals_are_passed_on_where_nothing_is_recorded(own_home: Home, name: str) -> None:
    project = own_home.project("p", {"a": b"a\n"})
    run = Running(own_home, project, *counter(name), env={"SNAPD_SNAPSHOT": "0"})
    assert run.read() == b"ready\n"
    run.process.send_signal(getattr(signal, name))
    assert run.read() == b"caught\n"
    run.tell("bye")
    assert run.finish()[:2] == (11, b"took bye\n")


def test_the_daemon_goes_and_cannot_be_started_again(own_home: Home) -> None:
    project = own_home.project("p", {"a": b"a\n"})
    run = Running(own_home, project, "sh", "-c", f"{WRITER}; exit 7")
    run.tell("one")
    run.wait_for(has(["one"]))
    wrong_settings(own_home, project)
    with open(own_home.at("run/daemon.sock.pid"), encoding="ascii") as file:
        os.kill(int(file.read()), signal.SIGKILL)
    run.tell("two")
    code, _, err = run.finish()
    assert code == 7
    assert "the session could not be ended" in err
    assert os.path.exists(os.path.join(project, "two"))

"""The exit code says what was done, also where standard output or standard error is closed, full, or read by nobody."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import pytest
from snapd_client import Client

from snapd.cli.parsing.parser import build_parser
from snapd.cli.parsing.usage import subcommands
from tests.cli import in_process
from tests.cli.running import WAIT, Terminal
from tests.support.git import run_git

_COMMANDS = subcommands(build_parser())

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.cli.running import Home

NOTHING = "0" * 40


@attrs.frozen
class Bench:
    """A folder with a daemon behind it.

    Attributes:
        client: has it open.
        root: the folder.
        tree: a snapshot, in which `a` is "1".
        log: what hooks log.
    """

    client: Client
    root: Path
    tree: str
    log: Path

    def change(self) -> None:
        (self.root / "a").write_text("2\n")

    def step(self) -> str:
        """A step that changed `a` from 1 to 2, and has ended."""
        (self.root / "a").write_text("1\n")
        session = self.client.session_start()["sessionId"]
        step = self.client.step_begin(session)["stepId"]
        self.change()
        self.client.step_end(step)
        return step

    def session_of(self, step: str) -> str:
        sessions = self.client.session_list()["sessions"]
        return next(
            each["sessionId"]
            for each in sessions
            if any(one["stepId"] == step for one in self.client.session_steps(each["sessionId"])["steps"])
        )

    @property
    def text(self) -> str:
        return (self.root / "a").read_text()


@pytest.fixture
def bench(home: Home, project: str) -> Iterator[Bench]:
    (Path(project) / "a").write_text("1\n")
    tree = home.track(project)
    with Client.connect(home.at("run/daemon.sock"), timeout=WAIT) as client:
        client.initialize([project])
        yield Bench(client, Path(project), tree, Path(home.at("run/hook.log")))


def restoring(*words: str) -> Callable[[Bench], Any]:
    """A command that brings `a` back."""

    def prepare(bench: Bench) -> Any:
        bench.change()
        return [word.replace("HASH", bench.tree) for word in words], lambda: bench.text == "1\n"

    return prepare


def undo(bench: Bench) -> Any:
    return ["undo", bench.step(), "--yes"], lambda: bench.text == "1\n"


def undo_in_conflict(bench: Bench) -> Any:
    step = bench.step()
    (bench.root / "a").write_text("the user's\n")
    return ["undo", step, "--yes"], lambda: bench.text == "the user's\n"


def redo(bench: Bench) -> Any:
    session = bench.session_of(bench.step())
    bench.client.session_undo(session)
    return ["redo", "--session", session, "--yes"], lambda: bench.text == "2\n"


def revert_hunk(bench: Bench) -> Any:
    return ["revert-hunk", bench.step(), str(bench.root / "a"), "1"], lambda: bench.text == "1\n"


def step_begin(bench: Bench) -> Any:
    session = bench.client.session_start()["sessionId"]
    words = ["step", "begin", "--session", session]
    return words, lambda: len(bench.client.session_steps(session)["steps"]) == 1


def step_end(bench: Bench) -> Any:
    session = bench.client.session_start()["sessionId"]
    step = bench.client.step_begin(session)["stepId"]
    return ["step", "end", step], lambda: bench.client.session_steps(session)["steps"][0]["state"] == "applied"


def session_end(bench: Bench) -> Any:
    session = bench.client.session_start()["sessionId"]
    words = ["session", "end", session, "--json"]
    return words, lambda: "endedAt" in bench.client.session_list()["sessions"][-1]


def run(bench: Bench) -> Any:
    words = ["run", "--", "sh", "-c", "echo made >> made; exit 7"]
    return words, lambda: bench.client.session_list()["sessions"][-1]["undoable"] == 1


def bisect(bench: Bench) -> Any:
    bench.step()
    return ["bisect", "--", "sh", "-c", "echo looking && echo looking >&2 && grep -q 1 a"], lambda: bench.text == "2\n"


def export(bench: Bench) -> Any:
    out = bench.root.parent / f"{bench.root.name}-out"
    shutil.rmtree(out, ignore_errors=True)
    return ["export", bench.tree, str(out)], lambda: (out / "a").read_text() == "1\n"


def remote_of(bench: Bench) -> Path:
    """A new git repository beside the folder."""
    remote = bench.root.parent / f"{bench.root.name}-remote"
    shutil.rmtree(remote, ignore_errors=True)
    remote.mkdir()
    run_git(remote, "init", "-q", "--bare", ".")
    return remote


def bundle_of(bench: Bench) -> Path:
    """The path of a file that is not there yet."""
    file = bench.root.parent / f"{bench.root.name}.bundle"
    file.unlink(missing_ok=True)
    return file


def push(bench: Bench) -> Any:
    bench.step()
    remote = remote_of(bench)
    return ["push", str(remote), "--yes"], lambda: run_git(remote, "for-each-ref") != b""


def fetch(bench: Bench) -> Any:
    bench.step()
    remote = remote_of(bench)
    bench.client.session_push(str(remote), all_=True)
    return ["fetch", str(remote)], lambda: bench.client.session_fetch(str(remote))["sessions"] == []


def bundle(bench: Bench) -> Any:
    bench.step()
    file = bundle_of(bench)
    return ["bundle", str(file), "--all", "--yes"], file.exists


def unbundle(bench: Bench) -> Any:
    bench.step()
    file = bundle_of(bench)
    bench.client.session_export(str(file), all_=True)
    return ["unbundle", str(file)], lambda: bench.client.session_import(str(file))["sessions"] == []


def handover(bench: Bench) -> Any:
    bench.step()
    file = bundle_of(bench)
    return ["handover", "--file", str(file), "--yes"], file.exists


def takeover(bench: Bench) -> Any:
    file = bundle_of(bench)
    bench.client.session_handover(file=str(file))
    return ["takeover", "--file", str(file), "--yes"], lambda: bench.client.session_takeover(file=str(file))["applied"]


def apply(bench: Bench) -> Any:
    step, file = bench.step(), bundle_of(bench)
    bench.client.session_export(str(file), all_=True)
    bench.client.session_import(str(file))
    (bench.root / "a").write_text("1\n")
    return ["apply", step, "--yes"], lambda: bench.text == "2\n"


def comment(bench: Bench) -> Any:
    bench.change()
    text = os.urandom(4).hex()
    found = lambda: text in {row["text"] for row in bench.client.review_comments()["comments"]}  # noqa: E731
    return ["comment", str(bench.root / "a:1"), text], found


def comments(bench: Bench) -> Any:
    bench.client.review_comment("why?", file="a", start=1)
    return ["comments"], lambda: True


def rewind(bench: Bench) -> Any:
    session = bench.client.session_start()["sessionId"]
    bench.client.session_message(session, os.urandom(4).hex(), text="go on")
    step = bench.client.step_begin(session)["stepId"]
    bench.change()
    bench.client.step_end(step)
    # the agent is unknown, so only the files go back
    return ["rewind", "last", "--session", session, "--yes"], lambda: bench.text == "1\n"


def keep(bench: Bench) -> Any:
    bench.step()
    return ["keep", "--all"], lambda: bench.client.review_list()["pendingFiles"] == 0


def stage(bench: Bench) -> Any:
    run_git(bench.root, "init", "-q")
    (bench.root / "a").write_text("1\n")
    run_git(bench.root, "add", "a")
    return ["stage", bench.step()], lambda: run_git(bench.root, "show", ":a") == b"2\n"


def review(bench: Bench) -> Any:
    bench.step()
    return ["review"], lambda: True


def purge(bench: Bench) -> Any:
    (bench.root / "secret").write_text("x" * 100)
    tree = bench.client.track()["hash"]
    (bench.root / "secret").unlink()
    bench.client.track()
    assert tree is not None
    return ["purge", "secret", "--yes"], lambda: not list(bench.client.list_files_all(bench.tree, "secret"))


def diff(bench: Bench) -> Any:
    bench.change()
    return ["diff", bench.tree], lambda: bench.text == "2\n"


def doctor(bench: Bench) -> Any:
    # the hook of another case was given no event, which is a finding
    bench.log.unlink(missing_ok=True)
    return ["doctor"], lambda: True


def always(*words: str) -> Callable[[Bench], Any]:
    """A command that changes nothing that could be looked at."""
    return lambda bench: ([word.replace("HASH", bench.tree) for word in words], lambda: True)


CASES: list[tuple[Callable[[Bench], Any], int]] = [
    (always("track"), 0),
    (always("patch", "HASH"), 0),
    (diff, 0),
    (always("show", "a@HASH"), 0),
    (always("files", "HASH"), 0),
    (always("status"), 0),
    (always("hook"), 0),
    (always("agent", "status"), 0),
    (always("acp", "--", "true"), 0),
    (restoring("revert", "HASH", "a", "--yes"), 0),
    (restoring("restore", "HASH", "--yes"), 0),
    (restoring("restore", "HASH", "--yes", "--json"), 0),
    (always("restore", "HASH", "--dry-run"), 0),
    (always("sessions", "--json"), 0),
    (always("log", "--json"), 0),
    (undo, 0),
    (undo_in_conflict, 3),
    (redo, 0),
    (revert_hunk, 0),
    (step_begin, 0),
    (step_end, 0),
    (session_end, 0),
    (run, 7),
    (bisect, 0),
    (export, 0),
    (review, 0),
    (always("blame", "a"), 0),
    (comment, 0),
    (comments, 0),
    (rewind, 3),
    (keep, 0),
    (stage, 0),
    (push, 0),
    (fetch, 0),
    (bundle, 0),
    (unbundle, 0),
    (handover, 0),
    (takeover, 0),
    (apply, 0),
    (always("gc"), 0),
    (always("adopt", "--help"), 0),
    (always("uninstall", "--help"), 0),
    (always("du"), 0),
    (purge, 0),
    (always("connect"), 0),
    (always("mcp"), 0),
    (always("stop", "--socket", "/nowhere"), 0),
    (doctor, 0),
    (always("fsck"), 0),
    (always("snapshots"), 0),
    (always("completion", "bash"), 0),
    (always("help"), 0),
    (always("files", NOTHING), 1),
    (always("restore", NOTHING, "--yes"), 1),
    (always("track", "--no-such-option"), 2),
    (always("files", "no hash"), 2),
    (always("restore", "HASH"), 0),
    (always("--version"), 0),
    (always("restore", "--help"), 0),
]


def ids(case: Any) -> str:
    return case.__name__ if callable(case) else str(case)


def lost(way: str) -> dict[str, Any]:
    """How a process is started whose stream is lost so."""
    stream, how = way.split()
    descriptor = {"stdout": 1, "stderr": 2}[stream]
    if how == "closed":
        return {"preexec_fn": lambda: os.close(descriptor)}
    if how == "full":
        return {stream: os.open("/dev/full", os.O_WRONLY)}
    reader, writer = os.pipe()
    os.close(reader)
    return {stream: writer}


def launch(home: Home, cwd: Path, words: list[str], way: str) -> tuple[int, bytes, bytes]:
    """Runs a command, as a process, with a stream lost; gives its exit code and what it wrote to the other one."""
    given = lost(way)
    pipes: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with home.popen(str(cwd), *words, **{**pipes, **given}) as process:
        for each in ("stdout", "stderr"):
            if each in given:
                os.close(given[each])
        out, err = process.communicate(timeout=WAIT)
    assert b"Traceback" not in (err or b""), err
    assert b"Exception ignored" not in (err or b""), err
    return process.returncode, out or b"", err or b""


def launch_here(home: Home, cwd: Path, words: list[str], way: str) -> tuple[int, bytes, bytes]:
    """Does so in this process."""
    given = lost(way)
    with tempfile.TemporaryFile() as file:
        streams = [given.get(each, None if each in way else file.fileno()) for each in ("stdout", "stderr")]
        code = in_process.run(words, str(cwd), home.env, b"", streams)
        for descriptor in (found for found in given.values() if isinstance(found, int)):
            os.close(descriptor)
        file.seek(0)
        written = file.read()
    assert b"Traceback" not in written, written
    return (code, b"", written) if way.startswith("stdout") else (code, written, b"")


def is_shown(words: list[str], code: int) -> bool:
    """Whether a command is about nothing but what it writes to standard output, and has something to write."""
    quiet = code != 0 or words[0] == "stop" or words[0] == "connect"
    shows = words[0] in _COMMANDS and _shows(words[0])
    return (shows or words[-1] in ("--version", "--help")) and not quiet


def _shows(name: str) -> bool:
    definition = _COMMANDS[name].get_default("definition")
    return definition is not None and definition.shows


def check(home: Home, bench: Bench, prepare: Callable[[Bench], Any], code: int, way: str, *, here: bool) -> None:
    words, done = prepare(bench)
    # these are about a process: one has children, one is read by a thread that stays until its end, one takes stdout
    found, out, err = (launch_here if here and words[0] not in ("run", "connect", "mcp", "acp") else launch)(
        home, bench.root, words, way
    )
    if way.startswith("stdout") and is_shown(words, code):
        assert found == (141 if way == "stdout pipe" else 1), (way, err)
        assert err == b"" or way != "stdout pipe"
    else:
        assert found == code, (way, err)
    assert done(), way
    # what is for standard error must not turn up among the results
    assert b"snapd: " not in out


WAYS = [f"{stream} {how}" for stream in ("stdout", "stderr") for how in ("pipe", "full", "closed")]


@pytest.mark.parametrize(("prepare", "code"), CASES, ids=ids)
def test_a_stream_is_lost(home: Home, bench: Bench, prepare: Callable[[Bench], Any], code: int) -> None:
    for way in WAYS:
        check(home, bench, prepare, code, way, here=True)


@pytest.mark.parametrize(
    ("prepare", "code"),
    [
        (diff, 0),
        (undo_in_conflict, 3),
        (always("files", NOTHING), 1),
        (always("track", "--no-such-option"), 2),
        (always("restore", "--help"), 0),
    ],
    ids=ids,
)
def test_a_process_whose_stream_is_lost(home: Home, bench: Bench, prepare: Callable[[Bench], Any], code: int) -> None:
    """What Python itself does at the end of a process adds nothing to that."""
    for way in WAYS:
        check(home, bench, prepare, code, way, here=False)


def test_every_command_is_among_them(bench: Bench) -> None:
    until_they_are_told_to_end = {"serve", "ui", "watch", "web"}
    assert {prepare(bench)[0][0] for prepare, _ in CASES} >= set(_COMMANDS) - until_they_are_told_to_end


def test_both_are_lost(home: Home, bench: Bench) -> None:
    bench.change()
    with home.popen(str(bench.root), "restore", bench.tree, "--yes", preexec_fn=lambda: os.closerange(0, 3)) as process:
        assert process.wait(WAIT) == 0
    assert bench.text == "1\n"


def test_what_is_skipped_does_not_turn_up_as_a_hash(home: Home, bench: Bench) -> None:
    os.mkfifo(bench.root / "fifo")
    code, out, _ = launch(home, bench.root, ["track"], "stderr closed")
    assert (code, len(out)) == (0, 41)


HINT = b"hint: free some disk space and try again; 'snapd gc' drops old snapshots\n"


def test_a_full_disk_is_told(home: Home, bench: Bench) -> None:
    bench.change()
    for words, code in ((["restore", bench.tree, "--yes"], 0), (["files", bench.tree], 1)):
        found, _, err = launch(home, bench.root, words, "stdout full")
        assert (found, err) == (code, b"snapd: standard output: No space left on device\n" + HINT)


def test_a_question_that_nobody_can_see_is_not_asked(home: Home, bench: Bench) -> None:
    bench.change()
    words = ("restore", bench.tree)
    terminal = Terminal(home, str(bench.root), *words, stderr=os.open("/dev/full", os.O_WRONLY))
    assert terminal.finish().code == 2
    assert bench.text == "2\n"


def test_standard_output_that_does_not_block(home: Home, bench: Bench) -> None:
    """Somebody else's O_NONBLOCK must not cut an answer short, nor pass for a failure."""
    (bench.root / "large").write_text("x" * (1 << 20))
    tree = home.track(str(bench.root))
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    with home.popen(str(bench.root), "show", f"large@{tree}", stdout=writer, stderr=subprocess.PIPE) as process:
        os.close(writer)
        with open(reader, "rb") as out:
            assert len(out.read()) == 1 << 20
        assert process.wait(WAIT) == 0

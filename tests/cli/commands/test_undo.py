"""`undo`, `redo` and `revert-hunk`; the files of an editor that has unsaved text."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

import pytest
from snapd_client import Client, to_uri

from snapd.sharing.sessions import SHORTEST
from tests.cli.running import Terminal
from tests.cli.steps import numbered, put, read, take
from tests.support.git import run_git

if TYPE_CHECKING:
    from tests.cli.running import Home

TWENTY = numbered(20)


@pytest.fixture
def steps(home: Home, project: str) -> list[str]:
    """Two steps of claude with one of codex and a line of the user's between, all in one file."""
    put(project, {"f.txt": TWENTY})
    first = take(home, project, "claude", {"f.txt": numbered(20, l2=b"one"), "new.txt": b"n\n"}, "--agent", "claude")
    put(project, {"f.txt": numbered(20, l2=b"one", l8=b"user")})
    other = take(home, project, "codex", {"f.txt": numbered(20, l2=b"one", l8=b"user", l12=b"codex")})
    last = take(
        home,
        project,
        "claude",
        {"f.txt": numbered(20, l2=b"one", l8=b"user", l12=b"codex", l17=b"two")},
        *("--tool", "Edit", "--description", "the second"),
    )
    return [first, other, last]


def test_a_step_in_the_middle(home: Home, project: str, steps: list[str]) -> None:
    lines = home.ok(project, "undo", "--yes", steps[0][:12]).splitlines()
    before = lines.pop().removeprefix("before: ")
    assert lines == [
        f"undone    {steps[0][:SHORTEST]} Claude Code 2 files",
        "merged    f.txt",
        "deleted   new.txt",
        "'snapd redo' redoes it",
    ]
    assert read(project, "f.txt") == numbered(20, l8=b"user", l12=b"codex", l17=b"two")
    assert read(project, "new.txt") is None
    assert "one" in home.ok(project, "show", f"f.txt@{before}")


def test_the_last_whoever_did_it(home: Home, project: str, steps: list[str]) -> None:
    shown = home.ok(project, "undo", "--dry-run").splitlines()
    assert shown == [
        f"would undo    {steps[2][:SHORTEST]} Claude Code Edit the second",
        "would restore f.txt",
        "would restore 1 file: +1 -1",
    ]
    assert read(project, "f.txt") == numbered(20, l2=b"one", l8=b"user", l12=b"codex", l17=b"two")
    for line, step in ((b"17", steps[2]), (b"12", steps[1]), (b"2", steps[0])):
        assert home.ok(project, "undo", "-y").startswith(f"undone    {step[:SHORTEST]} ")
        assert line + b"\n" in (read(project, "f.txt") or b"")
    nothing = home.run(project, "undo", "-y")
    assert (nothing.code, nothing.out) == (1, b"")
    assert nothing.err.splitlines()[0] == "snapd: there is nothing to undo"
    assert read(project, "f.txt") == numbered(20, l8=b"user")
    again = home.ok(project, "redo", "--yes", "--count", "3").splitlines()
    assert [line[: 10 + SHORTEST] for line in again[:3]] == [f"redone    {step[:SHORTEST]}" for step in steps]
    assert read(project, "f.txt") == numbered(20, l2=b"one", l8=b"user", l12=b"codex", l17=b"two")
    assert home.run(project, "redo", "-y").err.splitlines()[0] == "snapd: there is nothing to redo"


def test_another_session_and_several_steps(home: Home, project: str, steps: list[str]) -> None:
    result = home.run(project, "undo", "-y", "--session", "cod", "--json").json
    assert (result["applied"], [step["stepId"] for step in result["steps"]]) == (True, [steps[1]])
    assert read(project, "f.txt") == numbered(20, l2=b"one", l8=b"user", l17=b"two")
    assert home.run(project, "undo", "-y", "--session", "claude", "--count", "9").code == 0
    assert read(project, "f.txt") == numbered(20, l8=b"user")
    # a step of another session than the one that is named
    assert home.run(project, "undo", "-y", "--session", "codex", steps[0]).code == 1


def test_answers(home: Home, project: str, steps: list[str]) -> None:
    terminal = Terminal(home, project, "undo", "--color=never", steps[0])
    terminal.wait_for(b"[y/N/d/?] ")
    assert f"would undo    {steps[0][:SHORTEST]}".encode() in terminal.seen
    assert b"would merge 1 file, delete 1: +1 -2" in terminal.seen
    terminal.type(b"d\n")
    terminal.wait_for(b"[y/N/d/?] ", 2)
    assert b"\r\n-one\r\n+2\r\n" in terminal.seen
    assert b"deleted file mode 100644" in terminal.seen
    terminal.type(b"n\n")
    assert terminal.finish().code == 1
    assert b"nothing was changed" in terminal.seen
    assert read(project, "new.txt") == b"n\n"
    terminal = Terminal(home, project, "undo", steps[0], out=False)
    assert terminal.answer(b"y\n").code == 0
    assert read(project, "new.txt") is None
    nobody = home.run(project, "redo")
    assert (nobody.code, nobody.out) == (2, b"")
    assert nobody.err.startswith("snapd: this would change 2 files, ")
    assert nobody.err.endswith("confirm with --yes\n")


@pytest.mark.parametrize(
    ("on_conflict", "code", "said", "f", "new"),
    [
        ((), 3, "conflict  f.txt", b"mine\n", None),
        (("--on-conflict", "merge"), 3, "conflict  f.txt", b"mine\n", None),
        (("--on-conflict", "fail"), 3, "conflict  f.txt", b"mine\n", b"n\n"),
        (("--on-conflict", "overwrite"), 0, "restored  f.txt", b"1\n", None),
    ],
)
def test_conflicts(
    home: Home, project: str, on_conflict: tuple[str, ...], code: int, said: str, f: bytes, new: bytes | None
) -> None:
    put(project, {"f.txt": b"1\n"})
    step = take(home, project, "claude", {"f.txt": b"2\n", "new.txt": b"n\n"})
    put(project, {"f.txt": b"mine\n"})
    result = home.run(project, "undo", "-y", *on_conflict, step)
    assert (result.code, said in result.text) == (code, True), result
    assert ("nothing was changed" in result.err) is ("fail" in on_conflict)
    assert (read(project, "f.txt"), read(project, "new.txt")) == (f, new)


def test_an_undo_that_met_only_conflicts_says_so_and_how_to_settle_it(home: Home, project: str) -> None:
    put(project, {"f.txt": b"1\n"})
    step = take(home, project, "claude", {"f.txt": b"2\n"})
    put(project, {"f.txt": b"mine\n"})
    for words in ((step,), ()):
        result = home.run(project, "undo", "-y", *words)
        assert result.code == 3
        told, file = result.text.splitlines()[:2]
        assert told == f"not undone {step[:SHORTEST]} f.txt +1 -1"
        assert re.fullmatch(r"conflict  f\.txt  \(changed since by you at \d\d:\d\d\)", file)
        assert "nothing was changed" in result.err
        assert re.match(r"f\.txt, line 1: changed since by you at \d\d:\d\d\n", result.err)
        assert re.search(rf"\n  now +\| mine\n  left by step {step[:SHORTEST]} \| 2\n", result.err)
        assert f"\n  snapd undo {step[:SHORTEST]} --on-conflict overwrite\n" in result.err
        assert f"\n  snapd undo {step[:SHORTEST]} --on-conflict keep\n" in result.err
    assert "undone" not in home.ok(project, "log")
    assert home.run(project, "redo", "-y").code == 1
    assert home.ok(project, "undo", "-y", "--on-conflict", "overwrite").startswith(f"undone    {step[:SHORTEST]}")
    assert read(project, "f.txt") == b"1\n"


def test_a_step_that_is_partly_undone_is_told_so_until_it_is_settled(home: Home, project: str) -> None:
    put(project, {"f.txt": b"1\n", "g.txt": b"1\n"})
    step = take(home, project, "claude", {"f.txt": b"2\n", "g.txt": b"2\n"})
    put(project, {"f.txt": b"mine\n"})
    result = home.run(project, "undo", "-y", step)
    assert result.code == 3
    assert result.text.startswith(f"partly undone {step[:SHORTEST]} 2 files\n")
    assert "were left as they are" in result.err
    assert "partly undone" in home.ok(project, "log")
    assert "'snapd redo'" in result.text
    assert "'snapd redo'" not in home.run(project, "undo", "-y", step).text
    assert home.ok(project, "undo", "-y", "--on-conflict", "overwrite").splitlines()[:2] == [
        f"undone    {step[:SHORTEST]} 2 files", "restored  f.txt",
    ]  # fmt: skip
    assert (read(project, "f.txt"), read(project, "g.txt")) == (b"1\n", b"1\n")
    assert home.ok(project, "redo", "-y").startswith("redone ")
    assert (read(project, "f.txt"), read(project, "g.txt")) == (b"mine\n", b"2\n")


@pytest.mark.parametrize("command", ["restore", "revert", "undo", "revert-hunk"])
def test_unsaved_text_yields_to_a_name_alone(home: Home, project: str, command: str) -> None:
    put(project, {"f.txt": b"1\n"})
    before = home.track(project)
    step = take(home, project, "claude", {"f.txt": b"2\n"})
    path = os.path.join(project, "f.txt")
    words = {
        "restore": ("restore", before),
        "revert": ("revert", before, "f.txt"),
        "undo": ("undo", step),
        "revert-hunk": ("revert-hunk", step, "f.txt", "1"),
    }[command]
    with Client.connect(home.at("run/daemon.sock")) as editor:
        editor.initialize([project])
        document = {"uri": to_uri(path), "languageId": "text", "version": 1, "text": "typed\n"}
        editor.notify("textDocument/didOpen", {"textDocument": document})
        # answered after what was told before
        editor.request("snapshot/status", {})
        kept = home.run(project, *words, "--yes")
        assert (kept.code, "conflict  f.txt  (an editor has unsaved text of it)" in kept.text) == (3, True), kept
        assert read(project, "f.txt") == b"2\n"
        assert home.run(project, *words, "--yes", "--on-conflict", "overwrite").code == 0
        assert read(project, "f.txt") == b"1\n"


# -- hunks


@pytest.fixture
def hunks(home: Home, project: str) -> str:
    """A step with three hunks in `f.txt`."""
    put(project, {"f.txt": numbered(40)})
    return take(home, project, "claude", {"f.txt": numbered(40, l3=b"a", l20=b"b", l37=b"c"), "bin": b"\0"})


def left(project: str) -> str:
    """Which of the three hunks are still there."""
    return "".join(re.findall(r"[abc]", (read(project, "f.txt") or b"").decode()))


def test_hunks_by_number(home: Home, project: str, hunks: str) -> None:
    shown = home.ok(project, "revert-hunk", "-n", hunks[:10], "f.txt", "2")
    assert shown == "would restore f.txt\nwould restore 1 file: +1 -1\n"
    assert left(project) == "abc"
    assert home.ok(project, "revert-hunk", hunks[:10], "f.txt", "2").startswith("restored  f.txt\n'snapd undo' takes")
    assert left(project) == "ac"
    assert home.run(project, "revert-hunk", "last", "f.txt", "3", "1").code == 0
    assert read(project, "f.txt") == numbered(40)


def test_all_hunks(home: Home, project: str, hunks: str) -> None:
    assert home.run(project, "revert-hunk", "--yes", hunks, "f.txt").code == 0
    assert left(project) == ""


@pytest.mark.parametrize(
    ("answers", "code", "rest"),
    [
        ("nyn", 0, "ac"),
        ("a", 0, ""),
        ("na", 0, "a"),
        ("yna", 0, "b"),
        ("yd", 0, "bc"),
        ("yq", 0, "bc"),
        ("?yny", 0, "b"),
        ("x" + "ynn", 0, "bc"),
        ("nnn", 1, "abc"),
        ("q", 1, "abc"),
        ("y\x04", 0, "bc"),
    ],
)
def test_hunks_one_by_one(home: Home, project: str, hunks: str, answers: str, code: int, rest: str) -> None:
    terminal = Terminal(home, project, "revert-hunk", "--color=always", hunks, "f.txt")
    for asked, answer in enumerate(answers, start=1):
        terminal.wait_for(b"[y,n,q,a,d,?]? ", asked)
        terminal.type(answer.encode() if answer == "\x04" else f"{answer}\n".encode())
    result = terminal.finish()
    assert (result.code, left(project)) == (code, rest), result.err
    assert "\033[36m(1/3) revert this hunk" in result.err
    assert "\033[32m+a" in result.err
    assert ("revert this hunk and all later ones" in result.err) is (answers[0] in "?x")


@pytest.mark.parametrize("answers", ["yny", "a"])
def test_hunks_of_a_file_that_changes_meanwhile(home: Home, project: str, hunks: str, answers: str) -> None:
    terminal = Terminal(home, project, "revert-hunk", "--color=never", hunks, "f.txt")
    for asked, answer in enumerate(answers, start=1):
        terminal.wait_for(b"[y,n,q,a,d,?]? ", asked)
        if asked == len(answers):
            put(project, {"f.txt": numbered(40, l3=b"mine", l20=b"b", l37=b"c")})
        terminal.type(f"{answer}\n".encode())
    terminal.wait_for(b"f.txt is in conflict: overwrite, keep or skip it")
    assert b"something has changed since" in terminal.seen
    terminal.type(b"q\n")
    assert terminal.finish().code == 1
    assert read(project, "f.txt") == numbered(40, l3=b"mine", l20=b"b", l37=b"c")


def test_hunks_that_cannot_be(home: Home, project: str, hunks: str) -> None:
    for args, said in (
        ((hunks, "f.txt", "4"), "there is no hunk 4, only 1 to 3"),
        ((hunks, "f.txt"), "name the hunks, from 1 to 3, or undo all of them with --yes"),
        ((hunks, "bin"), "bin has no hunks in this step: it changed as a whole"),
        ((hunks, "README.md"), "did not change README.md"),
    ):
        result = home.run(project, "revert-hunk", *args)
        assert (result.code, result.out) == (2, b""), result
        assert said in result.err
    assert left(project) == "abc"


def test_a_hunk_in_conflict(home: Home, project: str, hunks: str) -> None:
    put(project, {"f.txt": numbered(40, l3=b"mine", l20=b"b", l37=b"c")})
    result = home.run(project, "revert-hunk", hunks, "f.txt", "1")
    assert (result.code, "conflict  f.txt" in result.text) == (3, True)
    assert home.run(project, "revert-hunk", hunks, "f.txt", "2").code == 0
    assert read(project, "f.txt") == numbered(40, l3=b"mine", l37=b"c")


def test_some_files_of_a_step(home: Home, project: str, steps: list[str]) -> None:
    shown = home.ok(project, "undo", "--yes", steps[0], "new.txt").splitlines()
    assert shown[0] == "deleted   new.txt"
    assert read(project, "new.txt") is None
    assert read(project, "f.txt") == numbered(20, l2=b"one", l8=b"user", l12=b"codex", l17=b"two")
    assert home.run(project, "undo", "--yes", steps[0], "none.txt").code == 2
    # the rest of it is still there to be taken back
    assert "merged    f.txt" in home.ok(project, "undo", "--yes", steps[0])


def test_the_end_of_a_session(home: Home, project: str) -> None:
    step = home.ok(project, "step", "begin", "--session", "s").strip()
    put(project, {"f.txt": b"agent\n"})
    assert home.ok(project, "session", "end", "s") == ""
    assert home.run(project, "session", "end", "s", "--json").json == {}
    # begun by a command that was gone at once, it has what changed until its end
    assert "f.txt" in home.ok(project, "show", step)
    assert home.run(project, "session", "end", "none").code == 1


def test_a_file_that_was_moved_is_one_line(home: Home, project: str) -> None:
    put(project, {"src/old.txt": numbered(20)})
    step = home.ok(project, "step", "begin", "--session", "claude").strip()
    put(project, {"src/old.txt": None, "new.txt": numbered(20, l3=b"x"), "more": b"1\n"})
    home.ok(project, "step", "end", step)
    plan = home.ok(project, "undo", "-n").splitlines()
    assert plan[1:3] == ["would delete  more", "would restore new.txt → src/old.txt"]
    assert home.ok(project, "undo", "-y").splitlines()[1:3] == ["deleted   more", "restored  new.txt → src/old.txt"]
    assert read(project, "src/old.txt") == numbered(20)
    told = home.run(project, "redo", "-y", "--json").json["files"]
    assert [(row["file"], row.get("renamedFrom")) for row in told] == [
        ("more", None),
        ("new.txt", "src/old.txt"),
        ("src/old.txt", None),
    ]


# -- more than one step; and operations


def test_a_restore_is_undone_by_the_same_word(home: Home, project: str, steps: list[str]) -> None:
    before = read(project, "f.txt")
    tree = home.track(project)
    put(project, {"f.txt": b"mine\n"})
    assert "'snapd undo' takes that back\n" in home.ok(project, "restore", "-y", tree)
    result = home.ok(project, "undo", "-y")
    assert re.match(r"undone    the restore of \d\d:\d\d\nrestored  f\.txt\n'snapd redo' redoes it\n", result)
    assert read(project, "f.txt") == b"mine\n"
    log = home.ok(project, "log", "-n", "2")
    assert re.search(r"undo +the restore of \d\d:\d\d\n", log)
    assert re.search(r"restore +to \w{6,8}  undone\n", log)
    assert home.ok(project, "redo", "-y").startswith("redone    the restore of ")
    assert read(project, "f.txt") == before


def test_some_files_and_hunks_are_undone_by_the_same_word(home: Home, project: str, hunks: str) -> None:
    assert "'snapd undo' takes that back" in home.ok(project, "undo", "-y", hunks, "bin")
    assert home.ok(project, "undo", "-y").startswith("undone    the revert of ")
    assert read(project, "bin") == b"\0"
    home.run(project, "revert-hunk", hunks, "f.txt", "2")
    assert home.ok(project, "undo", "-y").startswith("undone    the revert of hunks of ")
    assert left(project) == "abc"


def test_a_redo_does_all_that_the_last_undo_took_back(home: Home, project: str, steps: list[str]) -> None:
    before = read(project, "f.txt")
    assert "'snapd redo' redoes it" in home.ok(project, "undo", "-y", "--count", "2")
    assert read(project, "f.txt") == numbered(20, l2=b"one", l8=b"user")
    redone = home.ok(project, "redo", "-y").splitlines()
    assert [line.split()[:2] for line in redone[:2]] == [["redone", step[:SHORTEST]] for step in steps[1:]]
    assert read(project, "f.txt") == before


def test_all_of_a_session_and_back_to_a_step(home: Home, project: str, steps: list[str]) -> None:
    first, other, last = (step[:SHORTEST] for step in steps)
    assert home.ok(project, "undo", "-n", "--to", first).splitlines()[0].startswith(f"would undo    {last} ")
    assert home.run(project, "undo", "-y", "--to", last).code == 1
    told = home.ok(project, "undo", "-y", "--all", "--session", "claude")
    lines = [f"undone    {last} Claude Code Edit the second", f"undone    {first} Claude Code 2 files"]
    assert told.splitlines()[:2] == lines
    assert "'snapd redo' redoes it" in told
    assert read(project, "f.txt") == numbered(20, l8=b"user", l12=b"codex")
    assert f"redone    {first}" in home.ok(project, "redo", "-y", "--all", "--session", "claude")
    # without a name, the session with the latest change
    assert f"undone    {last}" in home.ok(project, "undo", "-y", "--all")
    assert other not in told


def test_a_message(home: Home, project: str) -> None:
    one = take(home, project, "s", {"a": b"1"}, "--message", "m1")
    take(home, project, "s", {"b": b"2"}, "--message", "m2")
    assert home.ok(project, "undo", "-y", "--message", "m1").startswith(f"undone    {one[:SHORTEST]} ")
    assert (read(project, "a"), read(project, "b")) == (None, b"2")
    assert home.run(project, "undo", "-y", "--message", "m9").code == 1


def test_a_step_that_is_undone_already(home: Home, project: str, steps: list[str]) -> None:
    home.ok(project, "undo", "-y", steps[1])
    again = home.run(project, "undo", "-y", steps[1])
    assert (again.code, again.out) == (1, b"")
    assert "is already undone\nhint: 'snapd redo' " in again.err


@pytest.mark.parametrize(
    "words", [("--count", "2", "--all"), ("--message", "m", "--to", "abc"), ("abc", "--all"), ("abc", "--count", "1")]
)
def test_one_way_to_say_what_is_meant(home: Home, project: str, words: tuple[str, ...]) -> None:
    result = home.run(project, "undo", "-y", *words)
    assert (result.code, "cannot be used with" in result.err) == (2, True)


# -- conflicts


def test_a_conflict_that_is_settled_by_keeping_the_file(home: Home, project: str, steps: list[str]) -> None:
    put(project, {"f.txt": numbered(20, l2=b"mine", l8=b"user", l12=b"codex", l17=b"two")})
    result = home.run(project, "undo", "-y", steps[0])
    assert (result.code, "before that" in result.err, "| mine" in result.err) == (3, True, True)
    (keep,) = [line.split() for line in result.err.splitlines() if line.endswith(" --on-conflict keep")]
    assert home.ok(project, *keep[1:], "-y").startswith(f"undone    {steps[0][:SHORTEST]} ")
    assert b"mine" in (read(project, "f.txt") or b"")
    assert home.ok(project, "undo", "-n").startswith(f"would undo    {steps[2][:SHORTEST]} ")


@pytest.mark.parametrize(
    ("answers", "code", "files"),
    [
        ((b"o", b"k"), 0, (b"1\n", b"mine\n")),
        ((b"k", b"s"), 3, (b"mine\n", b"mine\n")),
        ((b"x", b"?", b"O"), 0, (b"1\n", b"1\n")),
        ((b"K",), 0, (b"mine\n", b"mine\n")),
        ((b"o", b"q"), 1, (b"mine\n", b"mine\n")),
    ],
)
def test_conflicts_are_decided_file_by_file(
    home: Home, project: str, answers: tuple[bytes, ...], code: int, files: tuple[bytes, bytes]
) -> None:
    put(project, {"a.txt": b"1\n", "b.txt": b"1\n"})
    step = take(home, project, "claude", {"a.txt": b"2\n", "b.txt": b"2\n"})
    put(project, {"a.txt": b"mine\n", "b.txt": b"mine\n"})
    terminal = Terminal(home, project, "undo", "--color=never", step)
    for number, answer in enumerate(answers, start=1):
        terminal.wait_for(b"overwrite, keep or skip it [o,k,s,q,?]? ", number)
        terminal.type(answer + b"\n")
    if b"1\n" in files:
        terminal.wait_for(b"[y/N/d/?] ")
        restored = files.count(b"1\n")
        assert f"would restore {restored} file{'s' if restored > 1 else ''}".encode() in terminal.seen
        terminal.type(b"?\n")
        terminal.wait_for(b"y - do what is shown above")
        terminal.type(b"y\n")
    done = terminal.finish()
    assert (done.code, read(project, "a.txt"), read(project, "b.txt")) == (code, *files), done
    assert (b"k - keep it as it is" in terminal.seen) == (b"?" in answers)
    # nothing is asked for a plan that changes no file
    assert (b"[y/N" in terminal.seen) == (b"1\n" in files)


def test_whose_work_an_overwrite_takes_away(home: Home, project: str, steps: list[str]) -> None:
    put(project, {"f.txt": numbered(20, l2=b"mine", l8=b"user", l12=b"codex", l17=b"two")})
    terminal = Terminal(home, project, "undo", "--color=never", steps[0], "--on-conflict", "overwrite")
    terminal.wait_for(b"[y/N/d/?] ")
    assert re.search(rb"takes away    your changes of \d\d:\d\d in f\.txt", terminal.seen)
    assert f"takes away    step {steps[1][:SHORTEST]} in f.txt".encode() in terminal.seen
    terminal.type(b"y\n")
    assert terminal.finish().code == 0
    assert read(project, "f.txt") == TWENTY


def test_a_plan_is_at_most_a_screen_long(home: Home, project: str) -> None:
    step = take(home, project, "s", {f"f{number:03}": b"1\n" for number in range(60)})
    terminal = Terminal(home, project, "undo", "--color=never", step, env={"LINES": "20", "COLUMNS": "80"})
    terminal.wait_for(b"[y/N/d/?] ")
    assert terminal.seen.count(b"\r\n") == 18
    assert b"more files; --all-files shows them" in terminal.seen
    assert b"would delete 60 files: +0 -60" in terminal.seen
    terminal.type(b"n\n")
    terminal.finish()
    terminal = Terminal(
        home, project, "undo", "--color=never", step, "--all-files", env={"LINES": "20", "COLUMNS": "80"}
    )
    terminal.wait_for(b"[y/N/d/?] ")
    assert terminal.seen.count(b"would delete") == 61
    terminal.type(b"n\n")
    terminal.finish()


def test_two_agents_at_once_are_named(home: Home, project: str) -> None:
    put(project, {"f.txt": b"0\n"})
    one = home.ok(project, "step", "begin", "--session", "one", "--agent", "claude").strip()
    two = home.ok(project, "step", "begin", "--session", "two", "--agent", "codex").strip()
    put(project, {"f.txt": b"1\n"})
    for step in (one, two):
        home.ok(project, "step", "end", step)
    log = home.ok(project, "log")
    assert f"shared with step {two[:SHORTEST]} of Codex: both were at work" in log
    assert f"shared with step {one[:SHORTEST]} of Claude Code: both were at work" in log
    result = home.run(project, "undo", "-y", one)
    assert f"conflict  f.txt  (shared with step {two[:SHORTEST]} of Codex: both were at work)" in result.text
    shown = home.ok(project, "undo", "-n", one, "--on-conflict", "overwrite")
    assert f"takes away    step {two[:SHORTEST]} of Codex in f.txt" in shown


def test_a_newer_step_is_not_undone_instead_of_the_one_that_was_shown(
    home: Home, project: str, steps: list[str]
) -> None:
    terminal = Terminal(home, project, "undo", "--color=never")
    terminal.wait_for(b"[y/N/d/?]")
    newer = take(home, project, "codex", {"newer.txt": b"n\n"})
    terminal.type(b"y\n")
    terminal.wait_for(b"[y/N/d/?]", 2)
    assert b"something has changed since" in terminal.seen
    assert f"would undo    {newer[:SHORTEST]}".encode() in terminal.seen
    assert read(project, "newer.txt") == b"n\n"
    newest = take(home, project, "codex", {"newest.txt": b"n\n"})
    # the diff is of what was shown, or there is a new question
    terminal.type(b"d\n")
    terminal.wait_for(b"[y/N/d/?]", 3)
    assert f"would undo    {newest[:SHORTEST]}".encode() in terminal.seen
    terminal.type(b"y\n")
    assert terminal.finish().code == 0
    assert (read(project, "newest.txt"), read(project, "newer.txt")) == (None, b"n\n")


def test_a_plan_is_insisted_on(home: Home, project: str, steps: list[str]) -> None:
    shown = home.run(project, "undo", "--dry-run", "--json").json["plan"]
    newer = take(home, project, "codex", {"newer.txt": b"n\n"})
    refused = home.run(project, "undo", "--expect", shown, "--json")
    assert refused.code == 1
    error = refused.json["error"]
    assert (error["kind"], [step["stepId"] for step in error["outcome"]["steps"]]) == ("planChanged", [newer])
    told = home.run(project, "undo", "--expect", shown)
    assert (told.code, told.out) == (1, b"")
    assert "would do something other" in told.err
    assert read(project, "newer.txt") == b"n\n"
    assert home.ok(project, "undo", "--expect", error["outcome"]["plan"]).startswith(f"undone    {newer[:SHORTEST]} ")
    assert home.ok(project, "undo", "--expect", shown).startswith(f"undone    {steps[2][:SHORTEST]} ")
    assert home.run(project, "revert", "-p", "--expect", shown).code == 2


def test_git_stays_unless_it_is_asked_for(home: Home, project: str) -> None:
    run_git(project, "init", "-qb", "main")
    run_git(project, "add", "--all")
    run_git(project, "commit", "-q", "-m", "first")
    main = run_git(project, "rev-parse", "--short=7", "HEAD").decode().strip()
    begun = home.ok(project, "step", "begin", "--session", "claude").strip()
    run_git(project, "branch", "topic")
    home.ok(project, "step", "end", begun)
    none = home.run(project, "undo", "--yes")
    assert (none.code, "those that changed only git need --git" in none.err) == (1, True)
    name = begun[:SHORTEST]
    created, deleted = f"branch topic created at {main}", "branch topic deleted"
    shown = home.ok(project, "undo", "--dry-run", begun).splitlines()
    assert shown[-1] == f"git stays as it is: {created}; --git takes that back, too"
    assert home.ok(project, "undo", "--git", "--dry-run").splitlines()[-1] == f"would change git: {deleted}"
    lines = home.ok(project, "undo", "--git", "--yes").splitlines()
    assert lines[0].startswith(f"undone    {name}")
    assert lines[1:3] == [f"git: {deleted}", "'snapd redo --git' redoes it"]
    assert run_git(project, "branch", "--list", "topic") == b""
    shown = home.ok(project, "redo", "--dry-run").splitlines()
    assert shown[-1] == f"git stays undone: {created}; --git redoes that, too"
    assert f"git: {created}" in home.ok(project, "redo", "--git", "--yes").splitlines()
    put(project, {"f.txt": b"f\n"})
    both = home.ok(project, "step", "begin", "--session", "claude").strip()
    put(project, {"f.txt": b"g\n"})
    run_git(project, "branch", "other")
    home.ok(project, "step", "end", both)
    stays = (
        f"git stays as it is: branch other created at {main}; 'snapd undo {both[:SHORTEST]} --git' takes that back, too"
    )
    assert stays in home.ok(project, "undo", "--yes").splitlines()
    home.ok(project, "undo", both[:SHORTEST], "--git", "--yes")
    assert run_git(project, "branch", "--list", "other") == b""

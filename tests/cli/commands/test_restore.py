"""`revert` and `restore`: plans, questions, outcomes."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.cli.running import Terminal
from tests.cli.steps import put, read

if TYPE_CHECKING:
    from tests.cli.running import Home

MAIN = b"print(1)\nprint(2)\n"


@pytest.fixture
def tree(home: Home, project: str) -> str:
    """A snapshot that the files have moved away from."""
    made = home.track(project)
    put(project, {"src/main.py": b"changed\n", "new.txt": b"new\n", "README.md": None})
    return made


def test_dry_run_changes_nothing(home: Home, project: str, tree: str) -> None:
    assert home.ok(project, "restore", "--dry-run", tree).splitlines() == [
        "would restore README.md",
        "would delete  new.txt",
        "would restore src/main.py",
        "would restore 2 files, delete 1: +3 -2",
    ]
    shown = home.ok(project, "revert", "-n", tree, "new.txt")
    assert shown == "would delete  new.txt\nwould delete 1 file: +0 -1\n"
    assert read(project, "src/main.py") == b"changed\n"
    assert read(project, "new.txt") == b"new\n"
    assert read(project, "README.md") is None


def test_restore(home: Home, project: str, tree: str) -> None:
    lines = home.ok(project, "restore", "--yes", tree).splitlines()
    before = lines.pop().removeprefix("before: ")
    assert lines == [
        "restored  README.md",
        "deleted   new.txt",
        "restored  src/main.py",
        "'snapd undo' takes that back",
    ]
    assert (read(project, "src/main.py"), read(project, "new.txt")) == (MAIN, None)
    assert home.track(project) == tree
    # nothing is lost
    assert home.run(project, "restore", "-y", before).code == 0
    assert (read(project, "src/main.py"), read(project, "new.txt")) == (b"changed\n", b"new\n")


def test_restore_in_this_process(home: Home, project: str) -> None:
    env = {"SNAPD_DATA_DIR": home.at("alone")}
    tree = home.ok(project, "track", "--no-daemon", env=env).strip()
    put(project, {"src/main.py": b"changed\n"})
    assert home.run(project, "restore", "--no-daemon", "--yes", tree, env=env).code == 0
    assert read(project, "src/main.py") == MAIN


def test_revert_some(home: Home, project: str, tree: str) -> None:
    inside = os.path.join(project, "src")
    assert home.run(inside, "-C", "..", "revert", "--yes", tree, "src/main.py", "new.txt").code == 0
    assert (read(project, "src/main.py"), read(project, "new.txt"), read(project, "README.md")) == (MAIN, None, None)


def test_revert_of_a_directory_and_by_absolute_path(home: Home, project: str, tree: str) -> None:
    assert home.run(project, "revert", "--yes", tree, "src", f"{project}/README.md").code == 0
    assert (read(project, "src/main.py"), read(project, "README.md")) == (MAIN, b"# read\n")
    assert read(project, "new.txt") == b"new\n"


@pytest.mark.parametrize("answer", [b"y\n", b"YES\n"])
def test_answered_yes(home: Home, project: str, tree: str, answer: bytes) -> None:
    terminal = Terminal(home, project, "restore", tree)
    terminal.wait_for(b"[y/N/d/?] ")
    assert b"new.txt" in terminal.seen
    assert read(project, "new.txt") == b"new\n"
    terminal.type(answer)
    assert terminal.finish().code == 0
    assert (read(project, "src/main.py"), read(project, "new.txt")) == (MAIN, None)


@pytest.mark.parametrize("answer", [b"n\n", b"\n", b"yesterday\n", b"\x04"])
def test_answered_no(home: Home, project: str, tree: str, answer: bytes) -> None:
    result = Terminal(home, project, "revert", tree, "src/main.py").answer(answer)
    assert result.code == 1
    assert "nothing was changed" in result.err
    assert read(project, "src/main.py") == b"changed\n"


def test_interrupted_at_the_question(home: Home, project: str, tree: str) -> None:
    terminal = Terminal(home, project, "restore", tree)
    terminal.wait_for(b"[y/N/d/?] ")
    # not from the keyboard: this terminal controls no process
    # one that comes just before the read begins is heard by Python only when the read is over, as the next one ends it
    for _ in range(100):
        terminal.process.send_signal(2)
        with contextlib.suppress(subprocess.TimeoutExpired):
            terminal.process.wait(0.2)
            break
    assert terminal.finish().code == 130
    assert read(project, "src/main.py") == b"changed\n"


def test_the_question_leaves_standard_output_alone(home: Home, project: str, tree: str) -> None:
    assert Terminal(home, project, "restore", "--json", tree, out=False).answer(b"y\n").json["after"] == tree


@pytest.mark.parametrize("command", [("restore",), ("revert", "src/main.py")])
def test_nobody_to_ask(home: Home, project: str, tree: str, command: tuple[str, ...]) -> None:
    name, *files = command
    result = home.run(project, name, tree, *files, stdin=b"y\n")
    assert (result.code, result.out) == (2, b"")
    assert result.err.startswith("snapd: this would change ")
    assert "--yes" in result.err
    assert read(project, "src/main.py") == b"changed\n"


def test_nothing_to_do_needs_no_answer(home: Home, project: str) -> None:
    tree = home.track(project)
    assert home.ok(project, "restore", tree) == f"before: {tree}\n"


@pytest.mark.parametrize(
    ("on_conflict", "code", "said", "main", "new"),
    [
        ("fail", 3, "conflict  src/main.py", b"somebody else's\n", b"new\n"),
        ("merge", 3, "conflict  src/main.py", b"somebody else's\n", None),
        ("overwrite", 0, "restored  src/main.py", MAIN, None),
    ],
)
def test_conflicts(
    home: Home, project: str, tree: str, on_conflict: str, code: int, said: str, main: bytes, new: bytes | None
) -> None:
    home.track(project)
    put(project, {"src/main.py": b"somebody else's\n"})
    result = home.run(project, "revert", "--yes", "--on-conflict", on_conflict, tree, "src/main.py", "new.txt")
    assert result.code == code
    assert said in result.text
    assert ("nothing was changed" in result.err) is (on_conflict == "fail")
    assert (read(project, "src/main.py"), read(project, "new.txt")) == (main, new)


def test_merge_of_both_sides(home: Home, project: str) -> None:
    lines = [b"%d\n" % number for number in range(20)]
    put(project, {"src/main.py": b"".join(lines)})
    tree = home.track(project)
    put(project, {"src/main.py": b"".join([b"agent\n", *lines[1:]])})
    home.track(project)
    put(project, {"src/main.py": b"".join([b"agent\n", *lines[1:-1], b"user\n"])})
    assert home.run(project, "revert", "--yes", "--on-conflict=merge", tree, "src/main.py").text.startswith("merged")
    assert read(project, "src/main.py") == b"".join([*lines[:-1], b"user\n"])


def test_refusals(home: Home, project: str, tree: str) -> None:
    for args, code in (
        (("revert", "--yes", tree, "../elsewhere"), 1),
        (("revert", "--yes", tree, ".git/config"), 1),
        (("restore", "--yes", "0" * 40), 1),
        (("restore", "--yes", "--on-conflict=guess", tree), 2),
        (("revert", "--yes", tree), 2),
    ):
        result = home.run(project, *args)
        assert (result.code, result.out) == (code, b""), result
        assert result.err
    assert read(project, "src/main.py") == b"changed\n"


@pytest.mark.parametrize("name", ["nope", "src/nope", "nope/main.py"])
def test_a_name_that_nothing_has_is_an_error(home: Home, project: str, tree: str, name: str) -> None:
    done = home.run(project, "revert", "--yes", tree, "src/main.py", name)
    assert (done.code, f"{name}: neither the snapshot nor the folder has it" in done.err) == (2, True)
    assert read(project, "src/main.py") == b"changed\n"


def test_a_folder_that_was_deleted_comes_back(home: Home, project: str, tree: str) -> None:
    shutil.rmtree(os.path.join(project, "src"))
    assert home.run(project, "revert", "--yes", tree, "src").code == 0
    assert read(project, "src/main.py") == MAIN

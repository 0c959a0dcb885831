"""Each exit code, by a real command that ends with it; `snapd --help` and `exit_codes` say what they mean."""

from __future__ import annotations

import os
import re
import subprocess
from typing import TYPE_CHECKING

from snapd.cli import exit_codes
from tests.cli.running import WAIT, Terminal
from tests.cli.steps import put, read

if TYPE_CHECKING:
    from tests.cli.running import Home


def test_0_done(home: Home, project: str) -> None:
    assert home.run(project, "track").code == 0
    assert home.run(project, "doctor").code == 0


def test_1_failed_and_nothing_changed(home: Home, project: str) -> None:
    home.track(project)
    assert home.run(project, "files", "0" * 40).code == 1


def test_1_the_person_said_no(home: Home, project: str) -> None:
    tree = home.track(project)
    put(project, {"README.md": b"new\n"})
    answered = Terminal(home, project, "restore", tree).answer(b"n\n")
    assert (answered.code, read(project, "README.md")) == (1, b"new\n")


def test_2_wrong_usage_or_settings(home: Home, project: str) -> None:
    assert home.run(project, "udno").code == 2
    assert home.run(project, "files", "nonsense").code == 2
    assert home.run(project, "track", env={"SNAPD_SNAPSHOT": "perhaps"}).code == 2
    assert home.run(project).code == 2


def test_3_done_but_not_for_every_file(home: Home, project: str) -> None:
    tree = home.track(project)
    put(project, {"README.md": b"one\n", "src/main.py": b"two\n"})
    done = home.run(project, "restore", tree, "-y", "--on-conflict", "merge")
    # nothing says whose these changes are, so they stay
    assert (done.code, read(project, "README.md")) == (3, b"one\n")


def test_4_the_daemon_cannot_be_reached(home: Home, project: str) -> None:
    assert home.run(project, "status", "--socket", "/nowhere/at/all").code == 4


def test_130_interrupted(home: Home, project: str) -> None:
    tree = home.track(project)
    put(project, {"README.md": b"new\n"})
    terminal = Terminal(home, project, "restore", tree, keys=True)
    terminal.wait_for(b"[y/N/d/?]")
    terminal.type(b"\x03")
    assert (terminal.finish().code, read(project, "README.md")) == (130, b"new\n")


def test_141_nobody_reads(home: Home, project: str) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with home.popen(project, "help", stdout=writing, stderr=subprocess.PIPE) as process:
        os.close(writing)
        _, err = process.communicate(timeout=WAIT)
    assert (process.returncode, err) == (141, b"")


def test_help_names_all_of_them(home: Home, project: str) -> None:
    known = {str(value) for name, value in vars(exit_codes).items() if name.isupper()}
    told = home.ok(project, "help", "--all").partition("exit codes:")[2]
    assert known <= set(re.findall(r"\b\d+\b", told)) == known

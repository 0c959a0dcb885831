"""Wrong usage: what is wrong, and what the user may have meant."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from snapd.cli.parsing.index import INDEX
from snapd.cli.parsing.parser import DAILY, GROUPS, build_parser, grouped
from snapd.cli.parsing.usage import subcommands

if TYPE_CHECKING:
    from tests.cli.running import Home


@pytest.mark.parametrize(
    ("words", "error", "meant"),
    [
        ("udno", "snapd: error: COMMAND: there is no 'udno'", "did you mean 'undo'? 'snapd"),
        ("xyzzy", "snapd: error: COMMAND: there is no 'xyzzy'", "'snapd"),
        (
            "undo --on-conflict mrege",
            "snapd undo: error: --on-conflict: there is no 'mrege'",
            "did you mean 'merge'? 'snapd undo",
        ),
        ("step bgin", "snapd step: error: ACTION: there is no 'bgin'", "did you mean 'begin'? 'snapd step"),
        ("undo --foo", "snapd undo: error: there is no option --foo", "'snapd undo"),
        ("undo --sesion=x", "snapd undo: error: there is no option --sesion", "did you mean '--session'? 'snapd undo"),
        ("step end a b", "snapd step end: error: 'b' is one argument too many", "'snapd step end"),
        ("help udno", "snapd: error: COMMAND: there is no 'udno'", "did you mean 'undo'? 'snapd"),
        ("help step bgin", "snapd step: error: COMMAND: there is no 'bgin'", "did you mean 'begin'? 'snapd step"),
        ("log -n", "snapd log: error: argument -n: expected one argument", "'snapd log"),
    ],
)
def test_wrong_usage(home: Home, project: str, words: str, error: str, meant: str) -> None:
    done = home.run(project, *words.split())
    assert (done.code, done.out) == (2, b"")
    assert done.err.startswith("usage: snapd ")
    assert done.err.splitlines()[-2:] == [error, f"hint: {meant} --help' says more"]


def test_wrong_usage_for_programs(home: Home, project: str) -> None:
    done = home.run(project, "undo", "--foo", "--json")
    assert (done.code, done.err) == (2, "")
    error = done.json["error"]
    assert error.pop("usage").startswith("snapd undo [-h]")
    assert error == {
        "kind": "wrongUsage",
        "message": "there is no option --foo",
        "hint": "'snapd undo --help' says more",
    }


def test_help_is_the_same_either_way(home: Home, project: str) -> None:
    for words in ((), ("undo",), ("step", "begin")):
        assert home.ok(project, "help", *words) == home.ok(project, *words, "--help")


def test_each_command_is_in_one_group() -> None:
    listed = [name for names in grouped().values() for name in names]
    assert sorted(listed) == sorted(name for name, entry in INDEX.items() if entry.group)
    assert {entry.group for entry in INDEX.values()} == {*GROUPS, ""}
    assert {name for name, entry in INDEX.items() if entry.group == DAILY} == set(grouped()[DAILY])
    assert set(subcommands(build_parser())) == set(listed)


def _titles_and_names(text: str) -> tuple[list[str], list[str]]:
    lines = text.splitlines()
    return [line for line in lines if re.fullmatch("[a-z ]+:", line)], [
        line.split()[0] for line in lines if re.match(" {2}[a-z]", line)
    ]


def test_help_begins_with_what_is_used_every_day(home: Home, project: str) -> None:
    titles, names = _titles_and_names(home.ok(project, "help"))
    assert titles == ["every day:", "to begin:"]
    assert names == ["log", "show", "undo", "redo", "review", "status", "agent", "run"]


def test_help_lists_all_commands_once(home: Home, project: str) -> None:
    titles, names = _titles_and_names(home.ok(project, "help", "--all"))
    assert titles == [*(f"{title}:" for title in GROUPS), "options:"]
    assert names == [name for names in grouped().values() for name in names]


def test_a_command_imports_no_other() -> None:
    code = "import sys, snapd.cli.main as cli; cli.main(['du', '--help']); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert [name for name in done.stdout.split() if "cli.commands." in name] == ["snapd.cli.commands.du"]


def test_the_words_of_a_command_that_is_run_are_its_own(home: Home, project: str) -> None:
    done = home.run(project, "run", "--require", "--socket", "/nowhere/s", "echo", "--json")
    assert (done.code, done.out) == (4, b"")
    assert done.err.startswith("snapd: cannot reach the daemon")

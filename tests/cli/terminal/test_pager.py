"""Long output goes through the user's pager on a terminal, and nowhere else."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from tests.cli.running import Terminal
from tests.cli.steps import numbered, put, take

if TYPE_CHECKING:
    from tests.cli.running import Home

MARK = "sed s/^/paged:/"


@pytest.fixture(scope="module")
def folder(home: Home) -> str:
    made = home.project("paged", {"a.txt": b"1\n"})
    home.track(made)
    put(made, {"mine": b"x\n"})
    take(home, made, "claude", {"a.txt": numbered(200)})
    return made


def on_terminal(home: Home, folder: str, *args: str, **env: str) -> tuple[int, str]:
    result = Terminal(home, folder, *args, env=env).finish()
    return result.code, result.err.replace("\r\n", "\n")


SHOWING = [
    ("log",),
    ("log", "-p"),
    ("log", "--oneline"),
    ("show", "last"),
    ("show", "a.txt@last"),
    ("diff", "last"),
    ("patch", "last"),
    ("files", "last"),
    ("sessions",),
]


@pytest.mark.parametrize("args", SHOWING, ids=" ".join)
def test_what_shows_is_paged_on_a_terminal_alone(home: Home, folder: str, args: tuple[str, ...]) -> None:
    put(folder, {"a.txt": numbered(3)})
    plain = home.run(folder, *args, env={"SNAPD_PAGER": MARK})
    assert plain.code == 0
    assert plain.out
    assert b"paged:" not in plain.out
    code, shown = on_terminal(home, folder, *args, "--color", "never", SNAPD_PAGER=MARK)
    assert (code, [line.startswith("paged:") for line in shown.splitlines()]) == (
        0,
        [True] * len(plain.out.splitlines()),
    )


def test_which_pager(home: Home, folder: str) -> None:
    for env, paged in [
        ({"PAGER": MARK}, True),
        ({"PAGER": MARK, "SNAPD_PAGER": "cat"}, False),
        ({"PAGER": MARK, "SNAPD_PAGER": ""}, False),
        ({"PAGER": "false", "SNAPD_PAGER": MARK}, True),
    ]:
        code, shown = on_terminal(home, folder, "log", **env)
        assert (code, "paged:" in shown) == (0, paged)
    for args in (("log", "--no-pager"), ("log", "--json"), ("status",), ("track",)):
        code, shown = on_terminal(home, folder, *args, SNAPD_PAGER=MARK)
        assert (code, "paged:" in shown) == (0, False)


def test_less_is_told_how_git_uses_it(home: Home, folder: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    programs = tmp_path_factory.mktemp("programs")
    less = programs / "less"
    less.write_text('#!/bin/sh\necho "less: $LESS $#"\ncat\n')
    less.chmod(0o755)
    home.env.pop("PAGER")
    try:
        for env, said in (({}, "less: FRX 0"), ({"LESS": "-S"}, "less: -S 0")):
            code, shown = on_terminal(home, folder, "log", PATH=f"{programs}:{os.environ['PATH']}", **env)
            assert (code, said in shown) == (0, True)
    finally:
        home.env["PAGER"] = "cat"


def test_colours_go_through(home: Home, folder: str) -> None:
    _, shown = on_terminal(home, folder, "log", SNAPD_PAGER=MARK)
    assert "\033[" in shown


def test_a_pager_that_ends_early_is_no_error(home: Home, folder: str) -> None:
    code, shown = on_terminal(home, folder, "log", "-p", SNAPD_PAGER="true")
    assert (code, shown) == (0, "")


def test_a_pager_that_cannot_be_run(home: Home, folder: str) -> None:
    code, shown = on_terminal(home, folder, "show", "last", SNAPD_PAGER="nosuchpager -x")
    assert code == 0
    assert "snapd: the pager 'nosuchpager -x' cannot be run\nhint: set SNAPD_PAGER or PAGER\n" in shown
    assert "+199" in shown


def test_ctrl_c_is_for_the_pager(home: Home, folder: str) -> None:
    script = "trap 'echo caught; exit 3' INT; echo ready; while :; do sleep 0.05; done"
    terminal = Terminal(home, folder, "log", env={"SNAPD_PAGER": script}, keys=True)
    terminal.wait_for(b"ready")
    terminal.type(b"\x03")
    result = terminal.finish()
    assert (result.code, "caught" in result.err) == (0, True)


def test_errors_are_not_paged(home: Home, folder: str) -> None:
    code, shown = on_terminal(home, folder, "show", "fedcba98", SNAPD_PAGER=MARK)
    assert (code, "paged:" in shown) == (1, False)

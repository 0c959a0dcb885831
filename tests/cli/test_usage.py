"""Wrong usage: what is wrong, and what the user may have meant."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

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
        ("undo --foo", "snapd: error: unrecognized arguments: --foo", "'snapd"),
        ("log -n", "snapd log: error: argument -n: expected one argument", "'snapd log"),
    ],
)
def test_wrong_usage(home: Home, project: str, words: str, error: str, meant: str) -> None:
    done = home.run(project, *words.split())
    assert (done.code, done.out) == (2, b"")
    assert done.err.startswith("usage: snapd ")
    assert done.err.splitlines()[-2:] == [error, f"hint: {meant} --help' says more"]

"""`snapd step` as hooks call it: nothing that is wrong with snapd, or with what is named, may stop an agent."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.cli.running import Home


@pytest.mark.parametrize("outside", ["/etc/hosts", "../elsewhere", ".git/config", ".", "/tmp/\udcff"])
def test_a_file_outside_is_named_and_the_step_ends(home: Home, project: str, outside: str) -> None:
    step = home.ok(project, "step", "begin").strip()
    with open(os.path.join(project, "made"), "w") as file:
        file.write("1\n")
    ended = home.run(project, "step", "end", step, "--file", os.fsencode(outside), "--file", "made", "--json")
    assert ended.code == 0
    assert [row["file"] for row in ended.json["files"]] == ["made"]
    (line,) = ended.err.splitlines()
    assert line.startswith(f"snapd: {outside.encode('unicode_escape', 'surrogatepass').decode()} is not counted: ")


def test_where_all_files_are_outside_none_is_claimed(home: Home, project: str) -> None:
    first, second = (home.ok(project, "step", "begin").strip() for _ in range(2))
    with open(os.path.join(project, "made"), "w") as file:
        file.write("1\n")
    ended = home.run(project, "step", "end", first, "--file", "/etc/hosts", "--file", "/etc/passwd", "--json")
    assert (ended.code, ended.json["files"]) == (0, [])
    assert len(ended.err.splitlines()) == 2
    assert [row["file"] for row in home.run(project, "step", "end", second, "--json").json["files"]] == ["made"]


@pytest.mark.parametrize(
    "words",
    [
        ("begin", "--parent", "0" * 16),
        ("end", "0" * 16),
        ("end", "no step"),
        ("begin", "-C", "/"),
        ("end", "last", "-C", "/nowhere"),
    ],
)
def test_best_effort(home: Home, project: str, words: tuple[str, ...]) -> None:
    strict = home.run(project, "step", *words)
    assert (strict.code in (1, 2), strict.out) == (True, b"")
    result = home.run(project, "step", *words, "--best-effort")
    assert (result.code, result.out) == (0, b"")
    done = {"begin": "begun", "end": "ended"}[words[0]]
    assert result.err == strict.err.replace("snapd: ", f"snapd: the step was not {done}: ", 1)


def test_best_effort_without_a_daemon(own_home: Home) -> None:
    project = own_home.project("p", {"a": b"a\n"})
    os.mkdir(own_home.at("run"), 0o777)
    os.chmod(own_home.at("run"), 0o777)
    assert own_home.run(project, "step", "begin").code == 4
    result = own_home.run(project, "step", "begin", "--best-effort")
    assert (result.code, result.out) == (0, b"")
    assert "can be written to by others" in result.err
    assert own_home.run(project, "step", "end", "last", "--best-effort").code == 0


def test_best_effort_that_goes_well(home: Home, project: str) -> None:
    step = home.ok(project, "step", "begin", "--best-effort").strip()
    assert home.ok(project, "step", "end", step, "--best-effort") == "0 files changed, +0 -0\n"

"""What the shells are told at a Tab."""

from __future__ import annotations

import os
import socket
from typing import TYPE_CHECKING

import pytest
from snapd_client import Client

from snapd.cli.completing import daemon_candidates
from snapd.cli.parsing.parser import grouped
from snapd.sharing.sessions import SHORTEST
from tests.cli.steps import put, take

if TYPE_CHECKING:
    from tests.cli.running import Home


def told(home: Home, cwd: str, *words: str) -> dict[str, str]:
    """The candidates and their descriptions."""
    lines = home.ok(cwd, "complete", "zsh", *words).splitlines()
    return dict(line.split("\t") for line in lines)


@pytest.fixture
def step(home: Home, project: str) -> str:
    home.track(project)
    made = take(home, project, "work", {"a b.txt": b"1\n", "src/new.py": b"1\n"}, "--agent", "ada", "--tool", "edit")
    os.remove(os.path.join(project, "README.md"))
    return made


def test_commands_options_and_choices(home: Home, project: str) -> None:
    assert {name.strip() for name in told(home, project, "")} == {
        name for names in grouped().values() for name in names
    }
    assert told(home, project, "st") == {
        "stage ": "put what steps changed, and nothing else, into the git index for the next commit",
        "status ": "show the state of the folder's snapshots and settings",
        "step ": "begin or end a step, from the hooks of an agent",
        "stop ": "end the daemon",
    }
    assert told(home, project, "step", "e") == {"end ": "end a step and show what changed"}
    assert list(told(home, project, "undo", "--o")) == ["--on-conflict "]
    assert list(told(home, project, "undo", "--on-conflict", "m")) == ["merge "]
    assert list(told(home, project, "undo", "--on-conflict=m")) == ["--on-conflict=merge "]
    assert list(told(home, project, "-C", ".", "compl")) == ["completion "]
    assert list(told(home, project, "completion", "")) == ["bash ", "zsh ", "fish ", "tcsh "]


def test_steps_sessions_and_snapshots(home: Home, project: str, step: str) -> None:
    tree = home.track(project)
    (described,) = told(home, project, "undo", step[:3]).items()
    assert (described[0], described[1].partition(",")[0]) == (f"{step[:SHORTEST]} ", "step ada edit")
    assert list(told(home, project, "undo", step[:9])) == [f"{step} "]
    assert list(told(home, project, "log", "--session", "")) == ["work "]
    found = told(home, project, "restore", "")
    assert list(found)[:2] == ["last ", f"{step[:SHORTEST]} "]
    assert found[f"{tree[:SHORTEST]} "].startswith("snapshot from ")
    assert list(told(home, project, "diff", "last", tree[:10])) == [f"{tree} "]
    times = [word for word in told(home, project, "files", "@") if ":" in word]
    # what is offered is understood
    assert home.run(project, "files", times[0].strip()).out == home.run(project, "files", tree).out


def test_a_session_and_a_command(home: Home, project: str, step: str) -> None:
    assert list(told(home, project, "bisect", "")) == ["-- ", "work "]
    assert list(told(home, project, "bisect", "--reuse", "w")) == ["work "]
    assert list(told(home, project, "bisect", "work", "")) == ["-- "]
    for before in ((), ("work",), ("--reuse", "work")):
        assert "sh " in told(home, project, "bisect", *before, "--", "s")
        assert list(told(home, project, "bisect", *before, "--", "sh", "a")) == ["a b.txt "]
        assert list(told(home, project, "bisect", *before, "--", "sh", "--", "a")) == ["a b.txt "]


def test_messages_and_agents(home: Home, project: str) -> None:
    home.run(project, "track")
    with Client.connect(home.at("run/daemon.sock"), timeout=30) as client:
        client.initialize([project])
        client.session_start("work", agent="ada")
        client.session_message("work", "aaaabbbb-cc", "make it\nfaster")
        looked = client.step_begin("work", tool="read", part_id="p")["stepId"]
        client.step_end(looked)
    assert told(home, project, "undo", "--message", "") == {
        "aaaabb ": "make it faster",
        "last ": "the last message",
    }
    # a call that only looked is nothing to undo
    written = take(home, project, "work", {"new": b"1\n"})
    assert list(told(home, project, "undo", "")) == [f"{written[:SHORTEST]} ", "last "]
    assert told(home, project, "agent", "install", "cl") == {"claude ": "Claude Code", "cline ": "Cline"}


def test_files_of_the_snapshot_in_question(home: Home, project: str, step: str) -> None:
    last = home.run(project, "status", "--json").json["lastHash"]
    assert list(told(home, project, "revert", step, "")) == ["README.md ", "src/"]
    assert list(told(home, project, "revert", last, "")) == ["README.md ", "a b.txt ", "src/"]
    assert list(told(home, project, "revert", last, "src/")) == ["src/data.bin ", "src/main.py ", "src/new.py "]
    src = os.path.join(project, "src")
    assert list(told(home, src, "revert", last, "n")) == ["new.py "]
    assert list(told(home, src, "show", "n")) == ["new.py@"]
    assert list(told(home, src, "files", last, "src/n")) == ["src/new.py "]
    assert list(told(home, project, "-C", "src", "revert", step, "")) == ["data.bin ", "main.py "]
    assert told(home, project, "undo", step, "") == {"a b.txt ": "added", "src/new.py ": "added"}
    # a file that is no longer there can be shown
    assert list(told(home, project, "show", "R")) == ["README.md@"]
    assert f"README.md@{step[:SHORTEST]} " in told(home, project, "show", "README.md@")
    assert "README.md@last " in told(home, project, "show", "README.md@l")
    assert "README.md@@1h " in told(home, project, "show", "README.md@@")
    # `--here` is another folder, which has no snapshots
    assert list(told(home, src, "show", "--here", "n")) == []
    # those of the disk where nothing else is meant
    assert list(told(home, project, "track", "--force", "a")) == ["a b.txt "]
    assert list(told(home, project, "-C", "")) == ["src/"]


def test_bash_is_given_what_replaces_its_part_of_the_word(home: Home, project: str, step: str) -> None:
    def replies(line: str) -> list[str]:
        return home.ok(project, "complete", "bash", " \t\n\"'@><=;|&(:", line).splitlines()

    assert replies("snapd rest") == ["restore "]
    # the name of a step may begin like that, too
    assert "a\\ b.txt@" in replies("snapd show a")
    assert replies("snapd show a\\ b.txt@la") == ["@last "]
    assert replies("snapd undo --on-conflict=me") == ["merge "]


def test_names_that_play_tricks_are_no_candidates(home: Home, project: str) -> None:
    put(project, {"x\ny": b"1", "x\tz": b"1", "x\033[2J": b"1", "xé": b"1", "x": b"1"})
    put(project, {os.fsdecode(b"f\xff"): b"1"})
    tree = home.track(project)
    for words in (("revert", tree), ("track", "--force"), ("show",)):
        assert [name.rstrip(" @") for name in told(home, project, *words, "x")] == ["x", "xé"]
        assert list(told(home, project, *words, "f")) == []


@pytest.mark.parametrize(
    "words",
    [
        ("nonsense", ""), ("nonsense",), ("undo", "--nonsense", "x"), ("restore", "nonsense", ""),
        ("revert", "f" * 40, "n"), ("restore", "--socket", "/nowhere", ""), ("-C", "/nowhere", "restore", ""),
        ("log", "-n", ""),
    ],
)  # fmt: skip
def test_what_is_wrong_has_no_candidates(home: Home, project: str, words: tuple[str, ...]) -> None:
    home.track(project)
    assert told(home, project, *words) == {}


@pytest.mark.parametrize("words", [(), ("zsh",), ("bash",), ("bash", "", "", ""), ("zsh", "\udcff")])
def test_it_never_complains(home: Home, project: str, words: tuple[str, ...]) -> None:
    result = home.run(project, "complete", *(word.encode("utf-8", "surrogateescape") for word in words))
    assert result.out == b""
    assert words == () or (result.code, result.err) == (0, "")


def test_it_starts_no_daemon_and_makes_nothing(own_home: Home) -> None:
    project = own_home.project("p", {"a": b"a\n"})
    before = sorted(os.walk(own_home.path))
    assert list(told(own_home, project, "restore", "")) == []
    assert sorted(os.walk(own_home.path)) == before
    own_home.track(project)
    assert own_home.run(project, "stop").code == 0
    assert list(told(own_home, project, "restore", "")) == []
    # a folder that the daemon does not know is not opened for it
    own_home.track(project)
    other = own_home.project("other", {"a": b"a\n"})
    stores = os.listdir(own_home.at("data/snapd/snapshot"))
    assert list(told(own_home, other, "restore", "")) == []
    assert os.listdir(own_home.at("data/snapd/snapshot")) == stores


def test_a_daemon_that_does_not_answer_is_not_waited_for(
    home: Home, project: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    home.track(project)
    monkeypatch.setattr(daemon_candidates, "SECONDS", 0.05)
    path = home.at("deaf")
    with socket.socket(socket.AF_UNIX) as deaf:
        deaf.bind(path)
        deaf.listen()
        assert told(home, project, "restore", "--socket", path, "") == {}

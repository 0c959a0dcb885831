"""`snapd comment` and `snapd comments`, with an agent that hears of them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.cli.running import Home
from tests.hook.agent import Agent

LINES = "one\ntwo\nthree\n"


@pytest.fixture
def agent(home: Home, project: str) -> Agent:
    made = Agent(home, project)
    made.on("UserPromptSubmit", prompt="write it")
    made.edit("c", "list.txt", LINES)
    made.on("Stop")
    return made


def run(agent: Agent, *words: str) -> Any:
    return agent.home.run(agent.root, *words)


def made(agent: Agent, place: str = "list.txt:2-3", text: str = "not like this") -> dict[str, Any]:
    row: dict[str, Any] = agent.ask("comment", place, text)
    return row


def listed(agent: Agent, *words: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = agent.ask("comments", *words)["comments"]
    return rows


def test_a_comment_is_for_the_agent_that_wrote_the_lines(agent: Agent) -> None:
    done = run(agent, "comment", "list.txt:2-3", "not like this")
    (row,) = listed(agent)

    assert (done.code, done.err) == (0, "")
    assert (
        done.text
        == f"{row['commentId'][:8]}  list.txt:2-3  for Claude Code\n  | two\n  | three\n  you: not like this\n"
    )
    assert (row["sessionId"], row["author"], row["state"]) == ("S", "user", "open")
    assert run(agent, "comments").text == done.text


def test_lines_of_nobody_are_for_no_agent(agent: Agent) -> None:
    agent.write("own.txt", "mine\n")
    done = run(agent, "comment", "own.txt:1", "to do")

    assert done.code == 0
    assert "no agent wrote these lines" in done.err
    assert "sessionId" not in listed(agent, "own.txt")[0]
    named = agent.ask("comment", "own.txt:1", "for you", "--session", "S")
    assert named["sessionId"] == "S"


def test_replies_and_states(agent: Agent) -> None:
    name = made(agent)["commentId"]
    replied = agent.ask("comment", "--reply", name[:6], "use\nthe helper")
    assert [(each["author"], each["text"]) for each in replied["replies"]] == [("user", "use\nthe helper")]
    assert "  you: use\n    the helper\n" in run(agent, "comments").text

    assert agent.ask("comment", "--resolve", name[:6])["state"] == "resolved"
    assert listed(agent) == []
    assert "there are no open comments" in run(agent, "comments").err
    assert "resolved" in run(agent, "comments", "--all").text
    assert agent.ask("comment", "--reopen", name[:6])["state"] == "open"
    assert [row["commentId"] for row in listed(agent)] == [name]


def test_the_lines_are_followed_until_they_are_gone(agent: Agent) -> None:
    made(agent)
    agent.write("list.txt", "zero\n" + LINES)
    assert "  list.txt:3-4  " in run(agent, "comments").text
    agent.write("list.txt", "zero\none\n")
    assert "its lines are gone" in run(agent, "comments").text


def test_only_those_of_a_file_or_of_a_session(agent: Agent) -> None:
    agent.write("own.txt", "mine\n")
    here, other = made(agent), made(agent, "own.txt:1")

    assert [row["commentId"] for row in listed(agent, "list.txt")] == [here["commentId"]]
    assert [row["commentId"] for row in listed(agent, "own.txt")] == [other["commentId"]]
    assert [row["commentId"] for row in listed(agent, "--session", "S")] == [here["commentId"]]
    assert listed(agent, "no-such-file") == []


def test_a_copy_is_a_prompt_and_tells_nobody(agent: Agent) -> None:
    row = made(agent, text="> \x1b[31mred")
    text = run(agent, "comments", "--copy").text

    assert f"Comment {row['commentId'][:8]} on list.txt, lines 2 to 3:\n| two\n| three\n> > \\x1b[31mred\n" in text
    assert "deliveredAt" not in listed(agent)[0]
    heard = agent.on("UserPromptSubmit", prompt="go on", prompt_id="Q")
    assert row["commentId"][:8] in heard["hookSpecificOutput"]["additionalContext"]
    assert "deliveredAt" in listed(agent)[0]
    assert "  told " in run(agent, "comments").text


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ((), "expected FILE:LINES and TEXT"),
        (("list.txt:1",), "expected FILE:LINES and TEXT"),
        (("list.txt", "text"), "list.txt: which line?"),
        (("list.txt:0", "text"), "from 1"),
        (("list.txt:3-2", "text"), "from 1"),
        (("list.txt:9", "text"), "list.txt"),
        (("gone.txt:1", "text"), "gone.txt"),
        (("list.txt:1", " \n"), "is blank"),
        (("list.txt:1", "x" * 10_001), "10001 characters"),
        (("--reply", "0123", "text"), "there is no comment '0123'"),
        (("--reply", "", "text"), "there is no comment ''"),
        (("--resolve", "0123", "text"), "expected FILE:LINES and TEXT"),
        (("--resolve", "0123", "--reopen", "0123"), "expected FILE:LINES and TEXT"),
        (("list.txt:1", "text", "--session", "nobody"), "nobody"),
    ],
)
def test_what_is_wrong_is_named_and_changes_nothing(agent: Agent, words: tuple[str, ...], says: str) -> None:
    done = run(agent, "comment", *words)

    assert done.code in (1, 2)
    assert says in done.err
    assert listed(agent, "--all") == []


def test_a_beginning_that_is_not_enough(agent: Agent) -> None:
    names = {made(agent, text=str(at))["commentId"][0] for at in range(17)}
    assert len(names) < 17
    shared = next(name for name in names if sum(row["commentId"][0] == name for row in listed(agent)) > 1)
    done = run(agent, "comment", "--resolve", shared)

    assert done.code == 2
    assert "several comments begin like" in done.err
    assert len(listed(agent)) == 17

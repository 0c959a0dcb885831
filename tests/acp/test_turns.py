"""What becomes of prompts and calls, in the cases that the captured conversations do not have."""

from __future__ import annotations

import json
from typing import Any

import pytest

from snapd.model.errors import IoError, WorkspaceRefused
from tests.acp.ledger import Ledger, Talk
from tests.acp.streams import Line, opening, prompt, request, result, said, update

CWD = "/home/somebody/project"


@pytest.fixture
def ledger() -> Ledger:
    return Ledger()


@pytest.fixture
def talk(ledger: Ledger) -> Talk:
    made = Talk(ledger)
    made.say_all(*opening("S", CWD))
    return made


def call(name: str, kind: str | None = "execute", status: str = "pending", **fields: Any) -> Line:
    told = {"kind": kind} if kind else {}
    return update("S", "tool_call", toolCallId=name, title=f"call {name}", status=status, **told, **fields)


def over(name: str, status: str = "completed", **fields: Any) -> Line:
    return update("S", "tool_call_update", toolCallId=name, status=status, **fields)


def told(ledger: Ledger) -> list[str]:
    """Begins and ends of steps, in their order, by the names of the calls; a prompt's step is called by its text."""
    names: dict[str, str] = {}
    texts = {message["messageId"]: message["text"] for message in ledger.of("session/message")}
    lines = []
    steps = iter(ledger.steps)
    for asked in ledger.asked:
        params = asked.params
        if asked.method == "step/begin":
            name = params.get("partId") or texts.get(params.get("messageId", ""), "?")
            names[next(steps)] = name
            within = f" in {names[params['parentStepId']]}" if "parentStepId" in params else ""
            ends = f" ending {names[params['ends']]}" if "ends" in params else ""
            lines.append(f"begin {name}{within}{ends}")
        elif asked.method == "step/end":
            files = params.get("files")
            lines.append(f"end {names[params['stepId']]}" + ("" if files is None else f" {files}"))
    return lines


NEWS = {
    "newsId": "n",
    "comments": [
        {
            "commentId": "c" * 32,
            "file": "a.py",
            "start": 3,
            "count": 1,
            "lines": "x = 1\n",
            "text": "why\x1b[2J?\n> not a quotation's end",
            "replies": [],
        }
    ],
}


def test_what_the_agent_is_to_hear_comes_before_the_prompt_and_is_acknowledged(ledger: Ledger, talk: Talk) -> None:
    ledger.news = NEWS
    line = talk.say(prompt(3, "S", "go on"))
    assert line is not None
    block, own = json.loads(line)["params"]["prompt"]
    assert own == {"type": "text", "text": "go on"}
    assert [text for text in block["text"].splitlines() if text.startswith((">", "|"))] == [
        "| x = 1",
        "> why\\x1b[2J?",
        "> > not a quotation's end",
    ]
    assert "Comment cccccccc on a.py, line 3:" in block["text"]
    assert ledger.of("session/told") == [{"sessionId": "S", "newsId": "n"}]
    # the prompt alone is the message
    assert [message["text"] for message in ledger.of("session/message")] == ["go on"]


def test_a_prompt_without_news_passes_byte_for_byte(ledger: Ledger, talk: Talk) -> None:
    ledger.news = {"newsId": "n", "undone": [], "files": [{"file": "a.py"}]}
    line = prompt(3, "S", "go on")
    assert talk.say(line) == line.data
    assert ledger.of("session/told") == []


def test_a_command_of_ours_tells_the_agent_nothing(ledger: Ledger, talk: Talk) -> None:
    ledger.news = NEWS
    talk.say(update("S", "available_commands_update", availableCommands=[]))
    assert talk.say(prompt(3, "S", "/steps")) is None
    assert ledger.of("session/told") == []


def test_what_a_call_read_is_reported_once_it_is_over(ledger: Ledger, talk: Talk) -> None:
    talk.say_all(prompt(3, "S", "one"), call("a", "read", locations=[{"path": f"{CWD}/a.py"}]))
    assert ledger.of("read") == []
    talk.say_all(over("a"))
    assert [asked["files"] for asked in ledger.of("read")] == [[f"{CWD}/a.py"]]


def test_prompts_that_wait_begin_where_the_one_before_ends(ledger: Ledger, talk: Talk) -> None:
    talk.say_all(prompt(3, "S", "one"), call("a"), prompt(4, "S", "two"), over("a"))
    talk.say_all(result(3, stopReason="end_turn"), call("b"), over("b"), result(4, stopReason="end_turn"))
    assert told(ledger) == [
        "begin one",
        "begin a in one",
        "end a",
        "begin two ending one",
        "begin b in two",
        "end b",
        "end two",
    ]


def test_a_prompt_that_is_refused_while_another_runs_leaves_nothing(ledger: Ledger, talk: Talk) -> None:
    talk.say_all(
        prompt(3, "S", "one"), prompt(4, "S", "two"), said("agent", id=4, error={"code": -1, "message": "busy"})
    )
    talk.say_all(result(3, stopReason="end_turn"))
    assert told(ledger) == ["begin one", "end one"]


def test_a_prompt_that_fails_ends_its_step_and_what_is_open_in_it(ledger: Ledger, talk: Talk) -> None:
    talk.say_all(prompt(3, "S", "one"), call("a"), call("b", "edit", locations=[{"path": "x.py"}]))
    talk.say_all(said("agent", id=3, error={"code": -32603, "message": "no"}), over("a"))
    assert told(ledger) == [
        "begin one",
        "begin a in one",
        "begin b in one",
        "end a",
        "end b ['x.py']",
        "end one",
    ]


def test_a_cancelled_prompt_ends_with_its_answer(ledger: Ledger, talk: Talk) -> None:
    talk.say_all(prompt(3, "S", "one"), call("a"), said("client", method="session/cancel", params={"sessionId": "S"}))
    # what the agent still writes until it has heard of it is the agent's
    assert len(ledger.still_open()) == 2
    talk.say_all(over("a", "failed"), result(3, stopReason="cancelled"))
    assert told(ledger) == ["begin one", "begin a in one", "end a", "end one"]


def test_the_editors_own_id_of_a_message(ledger: Ledger, talk: Talk) -> None:
    talk.say_all(prompt(3, "S", "one", messageId="m-1"), call("a"))
    assert {step["messageId"] for step in ledger.steps.values()} == {"m-1"}
    assert ledger.of("session/message") == [{"sessionId": "S", "messageId": "m-1", "text": "one"}]


@pytest.mark.parametrize("kind", ["edit", "delete", "move", "execute", "other", "a kind of tomorrow", None])
def test_calls_that_may_write(ledger: Ledger, talk: Talk, kind: str | None) -> None:
    talk.say_all(prompt(3, "S", "one"), call("a", kind, locations=[{"path": "/p/x"}]), over("a"))
    files = " ['/p/x']" if kind == "edit" else ""
    assert told(ledger) == ["begin one", "begin a in one", f"end a{files}"]


@pytest.mark.parametrize("kind", ["read", "search", "fetch", "think", "switch_mode"])
def test_calls_that_only_read(ledger: Ledger, talk: Talk, kind: str) -> None:
    talk.say_all(prompt(3, "S", "one"), call("a", kind), over("a"))
    assert told(ledger) == ["begin one"]


def test_an_edit_that_names_nothing_claims_nothing(ledger: Ledger, talk: Talk) -> None:
    talk.say_all(prompt(3, "S", "one"), call("a", "edit"), over("a", "failed", locations=[], content=[]))
    assert told(ledger)[-1] == "end a"


def test_what_is_said_of_a_call_that_is_over_or_unknown_changes_nothing(ledger: Ledger, talk: Talk) -> None:
    talk.say_all(prompt(3, "S", "one"), call("a"), over("a"), over("a", "failed"), over("a", "in_progress"), call("a"))
    talk.say_all(over("never told"), over("never told", "in_progress"))
    assert told(ledger) == ["begin one", "begin a in one", "end a"]


def test_a_call_told_when_it_is_over(ledger: Ledger, talk: Talk) -> None:
    talk.say_all(prompt(3, "S", "one"), call("a", status="completed"))
    assert told(ledger) == ["begin one", "begin a in one", "end a"]


def with_parent(line: Line, parent: str) -> Line:
    message = line.message
    message["params"]["update"]["_meta"] = {"claudeCode": {"toolName": "Bash", "parentToolUseId": parent}}
    return Line("agent", json.dumps(message).encode() + b"\n")


def test_a_subagent(ledger: Ledger, talk: Talk) -> None:
    talk.say_all(prompt(3, "S", "one"), call("agent", "think"), with_parent(call("a"), "agent"), over("a"))
    talk.say_all(with_parent(call("b"), "agent"), over("b"), over("agent"), result(3, stopReason="end_turn"))
    assert told(ledger) == [
        "begin one",
        "begin agent in one",
        "begin a in agent",
        "end a",
        "begin b in agent",
        "end b",
        "end agent",
        "end one",
    ]


def test_a_subagent_that_outlives_its_turn(ledger: Ledger, talk: Talk) -> None:
    talk.say_all(prompt(3, "S", "one"), call("agent", "think"), over("agent"), with_parent(call("a"), "agent"))
    talk.say_all(result(3, stopReason="end_turn"), over("a"), prompt(4, "S", "two"), result(4, stopReason="end_turn"))
    assert told(ledger) == [
        "begin one",
        "begin agent in one",
        "end agent []",
        "begin a in agent",
        "end one",
        "end a",
        "begin two",
        "end two",
    ]


def test_a_subagent_that_says_nothing_more_ends_with_the_next_turn(ledger: Ledger, talk: Talk) -> None:
    talk.say_all(prompt(3, "S", "one"), call("agent", "think"), with_parent(call("a"), "agent"))
    talk.say_all(result(3, stopReason="end_turn"), prompt(4, "S", "two"), result(4, stopReason="end_turn"))
    assert told(ledger)[-3:] == ["begin two", "end a", "end two"]


def test_calls_after_the_turn_belong_to_it(ledger: Ledger, talk: Talk) -> None:
    talk.say_all(prompt(3, "S", "one"), result(3, stopReason="end_turn"), call("late"), over("late"))
    assert told(ledger) == ["begin one", "end one", "begin late in one", "end late"]
    assert len({step["messageId"] for step in ledger.steps.values()}) == 1


def test_parts_that_are_each_others_parts_do_no_harm(ledger: Ledger, talk: Talk) -> None:
    talk.say_all(
        prompt(3, "S", "one"), with_parent(call("a"), "a"), with_parent(call("b"), "c"), with_parent(call("c"), "b")
    )
    talk.say_all(result(3, stopReason="end_turn"))
    talk.close()
    assert ledger.still_open() == []


@pytest.mark.parametrize("method", ["session/load", "session/resume"])
def test_a_session_from_before_keeps_its_name_and_its_past_is_not_recorded_again(method: str) -> None:
    ledger = Ledger()
    talk = Talk(ledger)
    history = [call("old"), over("old"), update("S", "available_commands_update", availableCommands=[])]
    passed = talk.say_all(
        request(1, method, sessionId="S", cwd=CWD, mcpServers=[]), *history, said("agent", id=1, result=None)
    )
    assert ledger.of("session/start") == [{"sessionId": "S", "agent": "fake-agent"}]
    assert b'"undo"' in (passed[3] or b"")
    # its commands were told already
    assert talk.inserted == []
    talk.say_all(prompt(2, "S", "one"), call("new"))
    assert told(ledger) == ["begin one", "begin new in one"]


def test_a_session_that_cannot_be_loaded() -> None:
    ledger = Ledger()
    talk = Talk(ledger)
    talk.say_all(
        request(1, "session/load", sessionId="S", cwd=CWD), said("agent", id=1, error={"code": 1, "message": "no"})
    )
    talk.say_all(prompt(2, "S", "one"), call("a"))
    assert ledger.asked == []


def test_a_fork_is_a_session_of_its_own(ledger: Ledger, talk: Talk) -> None:
    talk.say_all(request(7, "session/fork", sessionId="S", cwd=CWD), result(7, sessionId="F"), prompt(8, "F", "one"))
    assert [step["sessionId"] for step in ledger.steps.values()] == ["F"]


@pytest.mark.parametrize("method", ["session/close", "session/delete"])
def test_a_closed_session_ends(ledger: Ledger, talk: Talk, method: str) -> None:
    talk.say_all(prompt(3, "S", "one"), call("a"), request(4, method, sessionId="S"), result(4))
    assert ledger.still_open() == []
    assert ledger.of("session/end") == [{"sessionId": "S"}]
    talk.say_all(prompt(5, "S", "two"))
    assert told(ledger) == ["begin one", "begin a in one", "end a", "end one"]


# -- the second version of the protocol


def state(name: str, **fields: Any) -> Line:
    return update("S", "state_update", state=name, **fields)


@pytest.fixture
def draft(ledger: Ledger) -> Talk:
    made = Talk(ledger)
    made.say_all(*opening("S", CWD, version=2))
    return made


def test_a_turn_of_the_second_version_ends_when_the_session_is_idle(ledger: Ledger, draft: Talk) -> None:
    draft.say_all(prompt(3, "S", "one"), state("idle"), state("running"), result(3, messageId="m"))
    draft.say_all(
        over("a", "in_progress", kind="edit"), over("a", locations=[{"path": "/p/x"}]), state("requires_action")
    )
    assert told(ledger) == ["begin one", "begin a in one", "end a ['/p/x']"]
    draft.say_all(state("idle", stopReason="end_turn"))
    assert told(ledger)[-1] == "end one"


def test_a_second_prompt_goes_into_the_turn_of_the_second_version(ledger: Ledger, draft: Talk) -> None:
    draft.say_all(prompt(3, "S", "one"), result(3, messageId="m"), state("running"), prompt(4, "S", "two"))
    draft.say_all(over("a", "in_progress"), result(4, messageId="n"), over("b", "in_progress"), state("idle"))
    assert told(ledger) == [
        "begin one",
        "begin a in one",
        "end a",
        "begin two ending one",
        "begin b in two",
        "end b",
        "end two",
    ]


def test_a_permission_of_the_second_version(ledger: Ledger, draft: Talk) -> None:
    asked = {"type": "tool_call", "toolCall": {"toolCallId": "a", "kind": "execute", "title": "make"}}
    draft.say_all(prompt(3, "S", "one"), result(3, messageId="m"))
    draft.say_all(
        said(
            "agent",
            id=1,
            method="session/request_permission",
            params={"sessionId": "S", "subject": asked, "options": []},
        )
    )
    assert told(ledger) == ["begin one", "begin a in one"]


def test_a_command_of_the_second_version(ledger: Ledger, draft: Talk) -> None:
    assert [
        each["type"]
        for each in draft.inserted[0] and json.loads(draft.inserted[0])["params"]["update"]["availableCommands"]
    ] == ["command"] * 4
    draft.inserted.clear()
    ledger.trouble = refuse
    assert draft.say(prompt(3, "S", "/undo")) is None
    told_back = [json.loads(line) for line in b"".join(draft.inserted).splitlines()]
    kinds = [message.get("params", {}).get("update", {}).get("sessionUpdate", "result") for message in told_back]
    assert kinds == ["state_update", "user_message", "result", "agent_message_chunk", "state_update"]
    assert told_back[2] == {
        "jsonrpc": "2.0",
        "id": 3,
        "result": {"messageId": told_back[1]["params"]["update"]["messageId"]},
    }
    assert told_back[1]["params"]["update"]["content"] == [{"type": "text", "text": "/undo"}]
    assert told_back[4]["params"]["update"] == {
        "sessionUpdate": "state_update",
        "state": "idle",
        "stopReason": "end_turn",
    }


# -- where nothing can be recorded


def refuse(_: str) -> None:
    raise WorkspaceRefused("snapshots are off here", hint="turn them on")


def test_where_nothing_is_recorded_the_conversation_is_as_without() -> None:
    ledger = Ledger()
    ledger.trouble = refuse
    talk = Talk(ledger)
    own = update("S", "available_commands_update", availableCommands=[{"name": "a", "description": "b"}])
    lines = [*opening("S", CWD), own, prompt(3, "S", "/undo"), call("a"), over("a"), result(3, stopReason="end_turn")]
    assert talk.say_all(*lines) == [line.data for line in lines]
    assert talk.inserted == []
    talk.close()


def test_a_daemon_that_comes_back_is_used_from_the_next_prompt(ledger: Ledger, talk: Talk) -> None:
    def gone(_: str) -> None:
        ledger.is_open = False
        raise IoError("nobody listens", errno="EPIPE")

    ledger.trouble = gone
    talk.say_all(prompt(3, "S", "one"), call("a"), over("a"), result(3, stopReason="end_turn"))
    ledger.trouble = lambda _: None
    talk.say_all(prompt(4, "S", "two"), call("b"), over("b"), result(4, stopReason="end_turn"))
    assert told(ledger) == ["begin two", "begin b in two", "end b", "end two"]


def test_a_connection_that_is_lost_costs_nothing(ledger: Ledger, talk: Talk) -> None:
    lost = iter([True])

    def once(_: str) -> None:
        if next(lost, False):
            ledger.is_open = False
            raise IoError("the connection is lost", errno="EPIPE")

    ledger.trouble = once
    talk.say_all(prompt(3, "S", "one"), call("a"), over("a"), result(3, stopReason="end_turn"))
    assert told(ledger) == ["begin one", "begin a in one", "end a", "end one"]


def test_a_session_that_somebody_ended_goes_on(ledger: Ledger, talk: Talk) -> None:
    ledger.request("session/end", {"sessionId": "S"})
    talk.say_all(prompt(3, "S", "one"))
    assert told(ledger) == ["begin one"]
    assert [message["text"] for message in ledger.of("session/message")] == ["one"]


def test_our_commands_are_told_where_the_agent_tells_none(talk: Talk) -> None:
    (line,) = talk.inserted
    message = json.loads(line)
    assert (message["method"], message["params"]["sessionId"]) == ("session/update", "S")
    commands = message["params"]["update"]["availableCommands"]
    assert [each["name"] for each in commands] == ["undo", "redo", "rewind", "steps"]


def test_an_undo_has_to_wait_for_the_agent(ledger: Ledger, talk: Talk) -> None:
    talk.inserted.clear()
    talk.say_all(prompt(3, "S", "one"))
    assert talk.say(prompt(4, "S", "/undo")) is None
    chunk, answer = (json.loads(line) for line in b"".join(talk.inserted).splitlines())
    assert "still working" in chunk["params"]["update"]["content"]["text"]
    assert answer == {"jsonrpc": "2.0", "id": 4, "result": {"stopReason": "end_turn"}}
    assert told(ledger) == ["begin one"]


def test_a_command_is_never_the_agents_once_it_is_offered(ledger: Ledger, talk: Talk) -> None:
    ledger.trouble = refuse
    talk.inserted.clear()
    assert talk.say(prompt("x", "S", "/undo")) is None
    chunk, answer = (json.loads(line) for line in b"".join(talk.inserted).splitlines())
    assert chunk["params"]["update"]["content"]["text"] == "snapd: snapshots are off here.\n\nTurn them on."
    assert answer["id"] == "x"

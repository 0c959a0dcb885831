"""The tools for comments, with a real daemon; a second client is the oracle."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from tests.rpc.machine import wait_until

from .conftest import SESSION

if TYPE_CHECKING:
    from .conftest import World


def test_an_agent_reads_its_comments_and_they_are_told(world: World) -> None:
    world.step(a_txt="one\nTWO\nthree\n")
    made = world.client.review_comment(file="a.txt", start=2, text="use a\nconstant")
    world.client.review_comment(file="a.txt", start=1, text="nobody's")
    peer = world.peer()
    answer = peer.call("comments")
    (found,) = answer["structuredContent"]["comments"]
    assert (found["commentId"], found["file"], found["start"], found["lines"]) == (
        made["commentId"], "a.txt", 2, "TWO\n"
    )  # fmt: skip
    assert "> use a\n> constant" in answer["content"][0]["text"]
    # it is recorded once the answer is written
    wait_until(lambda: "comments" not in world.client.session_news(SESSION), "the telling")
    assert len(peer.done("comments", session="all")["comments"]) == 2
    world.client.review_comment(reply_to=made["commentId"], text="still")
    # another agent's look tells nobody
    world.peer(env={"CLAUDE_CODE_SESSION_ID": "other"}).done("comments", session=SESSION)
    assert len(world.client.session_news(SESSION)["comments"]) == 1


def test_an_agent_replies_and_resolves(world: World) -> None:
    world.step(a_txt="one\nTWO\nthree\n")
    made = world.client.review_comment(file="a.txt", start=2, text="why?")
    peer = world.peer()
    peer.done("comments")
    replied = peer.done("reply", comment=made["commentId"][:8], text="because")["comment"]
    # an agent's own words are not news for it
    wait_until(lambda: "comments" not in world.client.session_news(SESSION), "the telling")
    assert [(reply["text"], reply["author"], reply["sessionId"]) for reply in replied["replies"]] == [
        ("because", "agent", SESSION)
    ]
    assert peer.done("reply", comment=made["commentId"], resolve=True)["comment"]["state"] == "resolved"
    assert world.client.review_comments()["comments"] == []
    (kept,) = world.client.review_comments(state="all")["comments"]
    assert (kept["state"], len(kept["replies"])) == ("resolved", 1)


def test_an_agent_without_a_session_replies_all_the_same(world: World) -> None:
    world.step(a_txt="one\nTWO\nthree\n")
    nobodys = world.client.review_comment(file="a.txt", start=1, text="hm")
    assert "sessionId" not in nobodys
    peer = world.peer(env={"CLAUDE_CODE_SESSION_ID": ""})
    replied = peer.done("reply", comment=nobodys["commentId"], text="well")["comment"]
    assert [reply["author"] for reply in replied["replies"]] == ["agent"]


def test_what_is_wrong_is_named(world: World) -> None:
    world.step(a_txt="one\nTWO\nthree\n")
    made = world.client.review_comment(file="a.txt", start=2, text="why?")
    peer = world.peer()
    assert peer.failed("reply", comment=made["commentId"])["kind"] == "invalidParams"
    assert peer.failed("reply", comment="nothing", text="x")["kind"] == "unknownComment"
    assert peer.failed("reply", comment=made["commentId"], text=" ")["kind"] == "invalidParams"


def test_what_could_not_be_answered_is_told_again(world: World) -> None:
    world.step(a_txt="one\nTWO\nthree\n")
    world.client.review_comment(file="a.txt", start=2, text="why?")
    process, peer = world.start(env={"CLAUDE_CODE_SESSION_ID": SESSION})
    peer.connect()
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, peer.read_fd)
    peer.send({"jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": {"name": "comments", "arguments": {}}})
    os.dup2(nothing, peer.write_fd)
    os.close(nothing)
    process.wait(60)

    assert len(world.client.session_news(SESSION)["comments"]) == 1

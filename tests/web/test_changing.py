"""What the routes that change something do; and that nothing is done with `dryRun`, or by a server that only shows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from .conftest import world_on

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.rpc.machine import Machine

    from .browser import Web
    from .conftest import World

LINES = [f"{number}\n" for number in range(1, 31)]
BEFORE = "".join(LINES)
AFTER = "".join(["first\n", *LINES[1:14], "fifteen\n", *LINES[15:29], "last\n"])


@pytest.fixture
def changed(machine: Machine) -> Iterator[World]:
    """A folder in which a step has changed three places of one file, and made another."""
    with world_on(machine) as world:
        world.write({"lines.txt": BEFORE})
        world.client.track()
        world.step("s1", {"lines.txt": AFTER, "new.txt": "new\n"}, message="m1")
        yield world


def step_of(world: World) -> str:
    return str(world.client.request("session/steps", {"sessionId": "s1"})["steps"][0]["stepId"])


def test_undo_and_redo(changed: World) -> None:
    web = changed.serve()
    plan = web.post("/session/s1/undo", {"dryRun": True, "details": "diff"}).json
    assert plan["applied"] is False
    assert "-first" in plan["details"]["diff"]
    assert changed.text("lines.txt") == AFTER
    done = web.post("/session/s1/undo", {"stepId": step_of(changed)}).json
    assert done["files"] == plan["files"]
    assert done["steps"][0]["state"] == "undone"
    assert (changed.text("lines.txt"), changed.text("new.txt")) == (BEFORE, None)
    assert web.post("/session/s1/undo").kind == "nothingToUndo"
    assert web.post("/session/s1/redo").json["applied"] is True
    assert (changed.text("lines.txt"), changed.text("new.txt")) == (AFTER, "new\n")


def test_parts_of_a_step(changed: World) -> None:
    web = changed.serve()
    path = f"/session/s1/steps/{step_of(changed)}"
    hunks = web.get(f"{path}/hunks", {"file": "lines.txt"}).json["hunks"]
    assert len(hunks) == 3
    assert web.post(f"{path}/revert-hunks", {"file": "lines.txt", "hunks": [1]}).json["applied"] is True
    assert changed.text("lines.txt") == AFTER.replace("fifteen\n", "15\n")
    assert web.post(f"{path}/revert-files", {"files": ["new.txt"]}).json["applied"] is True
    assert changed.text("new.txt") is None
    # of a step that is not the session's, nothing is reverted
    changed.client.session_start("s2")
    stranger = path.replace("s1", "s2", 1)
    assert web.post(f"{stranger}/revert-files", {"files": ["lines.txt"]}).kind == "unknownStep"
    assert changed.text("lines.txt") == AFTER.replace("fifteen\n", "15\n")


def test_review(changed: World) -> None:
    web = changed.serve()
    shown = web.get("/review/file", {"file": "lines.txt"}).json
    kept = web.post("/review/keep", {"file": "lines.txt", "hunks": [0], "expect": {"lines.txt": shown["id"]}})
    assert [each["hunks"] for each in kept.json["files"]] == [2]
    late = web.post("/review/revert", {"file": "lines.txt", "hunks": [0], "expect": {"lines.txt": shown["id"]}})
    assert (late.status, late.kind, late.json["file"]) == (409, "fileChanged", "lines.txt")
    assert web.post("/review/revert", {"file": "lines.txt", "hunks": [0]}).json["applied"] is True
    assert changed.text("lines.txt") == AFTER.replace("fifteen\n", "15\n")
    assert web.post("/session/s1/review/revert", {"dryRun": True}).json["applied"] is False
    assert web.post("/session/s1/review/keep").json["pendingFiles"] == 0
    assert changed.client.request("review/list", {})["pendingFiles"] == 0
    # what the path says cannot be said otherwise
    assert web.post("/session/s1/review/keep", {"sessionId": "s2"}).json["field"] == "sessionId"
    assert web.post("/session/s1/review/keep", {"all": True}).kind == "invalidParams"


def test_comments(changed: World) -> None:
    web = changed.serve()
    made = web.post("/review/comments", {"file": "lines.txt", "start": 15, "text": "use the helper"}).json
    assert (made["lines"], made["sessionId"], made["state"]) == ("fifteen\n", "s1", "open")
    reply = {"replyTo": made["commentId"], "text": "done", "by": "s1"}
    assert [each["author"] for each in web.post("/review/comments", reply).json["replies"]] == ["agent"]
    path = f"/review/comments/{made['commentId']}/resolve"
    resolved = web.post(path).json
    assert resolved["state"] == "resolved"
    assert web.get("/review/comments").json == {"comments": []}
    assert web.get("/review/comments", {"state": "resolved", "file": "lines.txt"}).json == {"comments": [resolved]}
    assert web.post(path, {"state": "open"}).json["state"] == "open"
    assert web.post("/review/comments/0/resolve").kind == "unknownComment"
    assert web.post("/review/comments", {"file": "lines.txt", "start": 1, "text": " "}).kind == "invalidParams"
    # as all that changes something
    reader = changed.serve("--read-only")
    assert reader.post(path).status == 403
    assert reader.get("/review/comments").json["comments"][0]["commentId"] == made["commentId"]


def test_the_content_now_is_that_of_a_folder_that_is_again_as_it_was(changed: World) -> None:
    web = changed.serve()

    for text in (AFTER, f"more\n{AFTER}", AFTER, BEFORE, AFTER):
        changed.write({"lines.txt": text})
        assert web.get("/content", {"file": "lines.txt"}).body == text.encode()


def test_an_empty_body_is_an_empty_object(changed: World) -> None:
    web = changed.serve()
    headers = {"Authorization": f"Bearer {web.token}", "Content-Type": "application/json; charset=utf-8"}
    assert web.send("POST", "/session/s1/undo", headers).json["applied"] is True
    assert changed.text("lines.txt") == BEFORE


def test_read_only(changed: World) -> None:
    web = changed.serve("--read-only")
    assert web.get("/status").json["readOnly"] is True
    step = step_of(changed)
    for row in posts(web):
        path = row.replace("{id}", "s1").replace("{stepId}", step)
        answer = web.post(path, {"all": True, "dryRun": True})
        assert (answer.status, answer.kind) == (403, "readOnly"), path
    assert changed.text("lines.txt") == AFTER
    assert web.get("/session/s1/steps").status == 200
    answer = web.send("POST", "/login", {"Content-Type": "application/json"}, b'{"token": "%s"}' % web.token.encode())
    assert answer.status == 204


def posts(web: Web) -> list[str]:
    found = [path for path, verbs in web.contract.document["paths"].items() if "post" in verbs and path != "/login"]
    assert len(found) >= 10
    return found

"""The API that agents' documents describe, by real curl, as those documents write its calls; git says what is true."""

from __future__ import annotations

import json
import shutil
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from .conftest import world_on

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.rpc.machine import Machine

    from .browser import Web
    from .conftest import World

CURL = shutil.which("curl")


class Story:
    """A user's file, and a session of two messages, with parts."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.web: Web = world.serve()
        world.write({"picture": b"\0old", "gone.txt": "gone\n"})
        world.commit()
        self.session = "ses_1"
        world.step(self.session, {"a.txt": "one\nTWO\nthree\n", "picture": b"\0new"}, message="msg_123", part="part_1")
        self.tree_1 = self.tree()
        world.step(self.session, {"new/file.txt": "new\n", "gone.txt": None}, message="msg_123", part="part_456")
        self.tree_2 = self.tree()
        world.step(self.session, {"a.txt": "one\nTWO\nthree\nfour\n"}, message="msg_124", part="part_7")
        self.tree_3 = self.tree()

    def tree(self) -> str:
        """The folder as git sees it."""
        self.world.git("add", "-A")
        return self.world.git("write-tree").strip()

    def curl(self, *words: str) -> Any:
        """What curl prints for `curl WORDS URL`, whose last word is a path."""
        *options, path = words
        command = ["curl", "-sS", "-H", f"Authorization: Bearer {self.web.token}", *options, f"{self.web.url}{path}"]
        done = subprocess.run(command, capture_output=True, check=True, timeout=60)
        return json.loads(done.stdout)

    def post(self, path: str, body: str) -> Any:
        return self.curl("-X", "POST", "-H", "Content-Type: application/json", "-d", body, path)

    def numstat(self, old: str, new: str) -> dict[str, tuple[str, str, str]]:
        """What git says changed: status, added and deleted lines of each file."""
        counts = {}
        for line in self.world.git("diff", "--no-renames", "--numstat", old, new).splitlines():
            added, deleted, file = line.split("\t")
            counts[file] = (added.replace("-", "0"), deleted.replace("-", "0"))
        words = {"A": "added", "D": "deleted", "M": "modified"}
        found = {}
        for line in self.world.git("diff", "--no-renames", "--name-status", old, new).splitlines():
            letter, file = line.split("\t")
            found[file] = (words[letter], *counts[file])
        return found


@pytest.fixture
def story(machine: Machine) -> Iterator[Story]:
    assert CURL, "the tests need curl"
    with world_on(machine) as world:
        yield Story(world)


def shape(diffs: list[dict[str, Any]]) -> dict[str, tuple[str, str, str]]:
    return {each["file"]: (each["status"], str(each["additions"]), str(each["deletions"])) for each in diffs}


def test_file_changes_in_a_session(story: Story) -> None:
    answer = story.curl("/session/ses_1/diff")
    assert shape(answer["diffs"]) == story.numstat("HEAD", story.tree_3)
    group_by_file = {each["file"]: each for each in answer["diffs"]}
    for file, each in group_by_file.items():
        # of a binary file, there are no texts
        old, new = (
            ("", "") if file == "picture" else (story_text(story, "HEAD", file), story_text(story, story.tree_3, file))
        )
        assert (each["before"], each["after"]) == (old, new), file
    of_message = story.curl("/session/ses_1/diff?messageID=msg_124")
    assert shape(of_message["diffs"]) == story.numstat(story.tree_2, story.tree_3)
    # the protocol's own spelling means the same
    assert story.curl("/session/ses_1/diff?messageId=msg_124") == of_message


def story_text(story: Story, tree: str, file: str) -> str:
    names = story.world.git("ls-tree", "-r", "--name-only", tree).splitlines()
    return story.world.git("cat-file", "blob", f"{tree}:{file}") if file in names else ""


def test_revert_to_a_message_and_back(story: Story) -> None:
    answer = story.post("/session/ses_1/revert", '{"messageID": "msg_123"}')
    assert answer["sessionId"] == "ses_1"
    revert = answer["revert"]
    assert (revert["messageId"], revert["messageID"]) == ("msg_123", "msg_123")
    assert {"partId", "partID"}.isdisjoint(revert)
    assert revert["applied"] is True
    # snapd's hashes are git's
    assert revert["snapshot"] == story.tree_3
    assert story.tree() == story.world.git("rev-parse", "HEAD^{tree}").strip()
    assert revert["diff"] == story.world.git("diff", "--no-renames", story.tree_3, "HEAD")
    answer = story.post("/session/ses_1/unrevert", "{}")
    assert answer["sessionId"] == "ses_1"
    assert "revert" not in answer
    assert story.tree() == story.tree_3


def test_revert_to_a_part_of_a_message(story: Story) -> None:
    body = '{\n  "messageID": "msg_123",\n  "partID": "part_456"\n}'
    plan = story.post("/session/ses_1/revert", '{"messageID": "msg_123", "partID": "part_456", "dryRun": true}')
    assert plan["applied"] is False
    assert story.tree() == story.tree_3
    revert = story.post("/session/ses_1/revert", body)["revert"]
    assert (revert["messageId"], revert["partID"], revert["snapshot"]) == ("msg_123", "part_456", story.tree_3)
    assert revert["files"] == plan["files"]
    assert story.tree() == story.tree_1


def test_what_the_user_wrote_meanwhile_stays(story: Story) -> None:
    story.world.write({"a.txt": "mine\none\nTWO\nthree\nfour\n", "b.txt": "mine\n"})
    story.post("/session/ses_1/revert", '{"messageID": "msg_123"}')
    assert story.world.text("a.txt") == "mine\none\ntwo\nthree\n"
    assert story.world.text("b.txt") == "mine\n"


def test_a_conflict_is_told(story: Story) -> None:
    story.world.write({"gone.txt": "mine\n"})
    revert = story.post("/session/ses_1/revert", '{"messageID": "msg_123"}')["revert"]
    outcomes = {each["file"]: (each["outcome"], each.get("reason")) for each in revert["files"]}
    assert outcomes["gone.txt"] == ("conflict", "occupied")
    assert outcomes["new/file.txt"] == ("deleted", None)
    assert story.world.text("gone.txt") == "mine\n"
    assert story.world.text("a.txt") == "one\ntwo\nthree\n"


def test_errors(story: Story) -> None:
    for path, body, status, kind in [
        ("/session/none/revert", '{"messageID": "msg_123"}', 404, "unknownSession"),
        ("/session/ses_1/revert", '{"messageID": "none"}', 404, "unknownStep"),
        ("/session/ses_1/revert", "{}", 400, "invalidParams"),
        ("/session/ses_1/revert", '{"messageID": 5}', 400, "invalidParams"),
        ("/session/ses_1/revert", '{"messageID": "msg_123", "dryrun": true}', 400, "invalidParams"),
        ("/session/ses_1/revert", '{"messageID": "msg_123", "messageId": "msg_124"}', 400, "invalidParams"),
        ("/session/ses_1/revert", '{"messageID": "msg_123", "sessionId": "ses_2"}', 400, "invalidParams"),
        ("/session/ses_1/revert", '{"messageId": "msg_123", "expect": ""}', 400, "invalidParams"),
        ("/session/ses_1/revert", '{"messageId": "msg_123", "expect": "another"}', 409, "planChanged"),
        ("/session/ses_1/undo", '{"hash": "of another method"}', 400, "invalidParams"),
        ("/session/ses_1/revert", "[]", 400, "invalidParams"),
        ("/session/ses_1/revert", "{", 400, "invalidParams"),
        ("/session/ses_1/unrevert", "{}", 409, "nothingToRedo"),
    ]:
        problem = story.post(path, body)
        assert (problem["status"], problem["kind"]) == (status, kind), (path, body)
        assert problem["hint"]
        assert problem["detail"]
    assert story.tree() == story.tree_3
    missing = story.post("/session/ses_1/revert", "{}")
    assert missing["field"] == "messageId"

"""Review over the wire: the pages of the contract, what is refused, and what every client hears."""

from __future__ import annotations

import os
import stat
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.rpc.machine import Machine, Raw, notification

LINES = [f"{number}\n" for number in range(30)]


def text(**changed: str) -> str:
    return "".join(changed.get(f"l{number}", line) for number, line in enumerate(LINES))


@pytest.fixture
def reviewed(daemon: Machine, folder: Path) -> Raw:
    """A folder with a file of which two agents changed a hunk each, and the user a line."""
    client = daemon.raw().open(folder)
    (folder / "f.txt").write_text(text())
    client.result("snapshot/track")
    for session, change in (("one", {"l3": "one\n"}), ("two", {"l3": "one\n", "l15": "mine\n", "l25": "two\n"})):
        client.result("session/start", {"sessionId": session, "agent": f"agent {session}"})
        if session == "two":
            (folder / "f.txt").write_text(text(l3="one\n", l15="mine\n"))
        step = client.result("step/begin", {"sessionId": session, "messageId": f"m-{session}"})["stepId"]
        (folder / "f.txt").write_text(text(**change))
        client.result("step/end", {"stepId": step})
    return client


def failed(client: Raw, method: str, params: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    error = client.ask(1, method, params)["error"]
    assert error["data"]["hint"]
    return error["message"], error["data"]


def test_the_hunks_are_those_of_git(reviewed: Raw, folder: Path, tmp_path: Path) -> None:
    (row,) = reviewed.result("review/list")["files"]
    shown = reviewed.result("review/file", {"file": "f.txt"})
    assert (row["file"], row["status"], row["additions"], row["deletions"]) == ("f.txt", "modified", 2, 2)
    assert (row["hunks"], row["id"]) == (2, shown["id"])
    assert [[owner["sessionId"] for owner in hunk["owners"]] for hunk in shown["hunks"]] == [["one"], ["two"]]
    for name, content in (("before", shown["before"]), ("after", shown["after"])):
        (tmp_path / name).write_text(content)
    assert (tmp_path / "after").read_text() == (folder / "f.txt").read_text()
    git = subprocess.run(
        ["git", "diff", "--no-index", "before", "after"], cwd=tmp_path, capture_output=True, text=True, check=False
    ).stdout
    lines = [line for hunk in shown["hunks"] for line in [hunk["header"], *hunk["lines"]]]
    assert lines == git.splitlines()[4:]
    for hunk in shown["hunks"]:
        place = f"-{hunk['oldStart']},{hunk['oldLines']} +{hunk['newStart']},{hunk['newLines']}"
        assert hunk["header"].startswith(f"@@ {place} @@")


def test_what_one_client_keeps_all_are_told(daemon: Machine, reviewed: Raw, folder: Path) -> None:
    other = daemon.raw().open(folder)
    assert reviewed.result("review/list")["pendingFiles"] == 1
    assert _told(other) == (1, 2, 2)
    shown = reviewed.result("review/file", {"file": "f.txt"})
    left = reviewed.result("review/keep", {"file": "f.txt", "hunks": [0], "expect": {"f.txt": shown["id"]}})
    assert (left["pendingFiles"], left["additions"], left["deletions"]) == (1, 1, 1)
    assert _told(other) == (1, 1, 1)
    outcome = reviewed.result("review/revert", {"sessionId": "two"})
    assert [(row["file"], row["outcome"]) for row in outcome["files"]] == [("f.txt", "restored")]
    assert (folder / "f.txt").read_text() == text(l3="one\n", l15="mine\n")
    assert _told(other) == (0, 0, 0)


def _told(client: Raw) -> tuple[int, int, int]:
    params = _news(client)
    return params["pendingFiles"], params["additions"], params["deletions"]


def _news(client: Raw) -> dict[str, Any]:
    params: dict[str, Any] = client.until(lambda message: message.get("method") == "review/didChange")["params"]
    assert set(params) == {"workspaceUri", "seq", "pendingFiles", "additions", "deletions", "comments"}
    return params


def test_every_client_hears_of_comments_and_that_their_agent_was_told(
    daemon: Machine, reviewed: Raw, folder: Path
) -> None:
    other = daemon.raw().open(folder)
    assert reviewed.result("review/comments")["comments"] == []
    assert _news(other)["comments"] == 0
    made = reviewed.result("review/comment", {"file": "f.txt", "start": 4, "text": "no"})
    assert _news(other)["comments"] == 1
    news = reviewed.result("session/news", {"sessionId": "one"})
    reviewed.result("session/told", {"sessionId": "one", "newsId": news["newsId"]})
    assert _news(other)["comments"] == 1
    assert "deliveredAt" in other.result("review/comments")["comments"][0]
    reviewed.result("review/comment", {"replyTo": made["commentId"], "text": "done", "by": "one"})
    assert _news(other)["comments"] == 1
    reviewed.result("review/resolve", {"commentId": made["commentId"]})
    assert _news(other)["comments"] == 0


def test_what_is_refused(reviewed: Raw, folder: Path) -> None:
    shown = reviewed.result("review/file", {"file": "f.txt"})
    step = shown["owners"][0]["stepId"]
    before = (folder / "f.txt").read_text()
    for params, said, kind in (
        ({}, "nothing says which changes are meant", "invalidParams"),
        ({"all": True, "stepId": step}, "all: cannot be used with stepId", "invalidParams"),
        ({"file": "f.txt"}, "hunks: is missing beside file", "invalidParams"),
        ({"hunks": [0], "all": True}, "file: is missing beside hunks", "invalidParams"),
        ({"file": "f.txt", "hunks": []}, "hunks: is empty", "invalidParams"),
        ({"file": "f.txt", "hunks": [2]}, "there is no hunk 2", "invalidParams"),
        ({"files": []}, "files: is empty", "invalidParams"),
        ({"files": ["nope"]}, "nope has no pending changes", "invalidParams"),
        ({"files": ["../x"]}, "..", "pathOutsideWorkspace"),
        ({"stepId": "0" * 16}, "no step", "unknownStep"),
        ({"sessionId": "nobody"}, "no session", "unknownSession"),
        ({"all": True, "expect": {"f.txt": "0" * 32}}, "f.txt has changed since it was shown", "fileChanged"),
        ({"all": True, "expect": ["f.txt"]}, "expected an object", "invalidParams"),
        ({"all": True, "expect": {"f.txt": 1}}, "expect.f.txt", "invalidParams"),
    ):
        for method in ("review/keep", "review/revert"):
            message, data = failed(reviewed, method, params)
            assert said in message, (method, params)
            assert data["kind"] == kind
    assert (folder / "f.txt").read_text() == before
    assert reviewed.result("review/file", {"file": "f.txt"}) == shown
    # the user types meanwhile: what was shown is no longer so
    (folder / "f.txt").write_text(before + "typed\n")
    _, data = failed(reviewed, "review/keep", {"all": True, "expect": {"f.txt": shown["id"]}})
    assert (data["file"], data["reason"]) == ("f.txt", "changedSince")


def test_unsaved_text_is_not_kept(reviewed: Raw, folder: Path) -> None:
    uri = (folder / "f.txt").as_uri()
    document = {"uri": uri, "languageId": "plaintext", "version": 1, "text": "unsaved\n"}
    reviewed.send(notification("textDocument/didOpen", {"textDocument": document}))
    _, data = failed(reviewed, "review/keep", {"all": True})
    assert (data["kind"], data["file"], data["reason"]) == ("fileChanged", "f.txt", "unsavedInEditor")
    outcome = reviewed.result("review/revert", {"all": True})
    assert [(row["outcome"], row["reason"]) for row in outcome["files"]] == [("conflict", "unsavedInEditor")]


def test_files_that_are_no_text(reviewed: Raw, folder: Path) -> None:
    step = reviewed.result("step/begin", {"sessionId": "one"})["stepId"]
    (folder / "bin").write_bytes(b"\0\1")
    os.symlink("f.txt", folder / "link")
    (folder / "f.txt").chmod(0o755)
    reviewed.result("step/end", {"stepId": step})
    rows = {row["file"]: row for row in reviewed.result("review/list")["files"]}
    assert {name: (row["status"], row["binary"], row["hunks"]) for name, row in rows.items()} == {
        "bin": ("added", True, 0),
        "f.txt": ("modified", False, 2),
        "link": ("added", False, 1),
    }
    shown = reviewed.result("review/file", {"file": "f.txt"})
    assert (shown["oldMode"], shown["newMode"]) == ("100644", "100755")
    reviewed.result("review/revert", {"files": ["bin", "link", "f.txt"]})
    assert {"bin", "link"}.isdisjoint(os.listdir(folder))
    assert not stat.S_IMODE((folder / "f.txt").stat().st_mode) & 0o111
    assert (folder / "f.txt").read_text() == text(l15="mine\n")


def test_who_wrote_it(reviewed: Raw, folder: Path) -> None:
    lines = reviewed.result("snapshot/blame", {"file": "f.txt"})["lines"]
    assert [(run["start"], run["count"], run["author"]) for run in lines] == [
        (1, 3, "before"),
        (4, 1, "step"),
        (5, 11, "before"),
        (16, 1, "user"),
        (17, 9, "before"),
        (26, 1, "step"),
        (27, 4, "before"),
    ]
    assert (lines[1]["sessionId"], lines[1]["agent"], lines[1]["messageId"]) == ("one", "agent one", "m-one")
    assert "at" in lines[3]
    part = reviewed.result("snapshot/blame", {"file": "f.txt", "range": {"start": 4, "count": 2}})["lines"]
    assert [(run["start"], run["count"], run["author"]) for run in part] == [(4, 1, "step"), (5, 1, "before")]
    for params, kind in (
        ({"file": "nope"}, "fileNotInSnapshot"),
        ({"file": "f.txt", "range": {"start": 30, "count": 2}}, "invalidParams"),
        ({"file": "f.txt", "range": {"start": 0, "count": 2}}, "invalidParams"),
        ({"file": "f.txt", "hash": "0" * 40}, "unknownSnapshot"),
    ):
        assert failed(reviewed, "snapshot/blame", params)[1]["kind"] == kind


def test_who_wrote_a_text_that_the_file_had(reviewed: Raw) -> None:
    def asked(**params: Any) -> list[tuple[int, str, str | None]]:
        lines = reviewed.result("snapshot/blame", {"file": "f.txt", **params})["lines"]
        return [(run["count"], run["author"], run.get("agent")) for run in lines]

    first = [(3, "before", None), (1, "step", "agent one"), (26, "before", None)]
    assert asked(content=text(l3="one\n")) == first
    assert asked(content=text(l3="one\n"), at="2026-01-31T09:30:00+01:00", range={"start": 4, "count": 2}) == [
        (1, "step", "agent one"),
        (1, "before", None),
    ]
    assert asked(content="b25lCv8K", encoding="base64") == [(1, "step", "agent one"), (1, "unknown", None)]
    for params, said, field in (
        ({"content": "", "hash": "0" * 40}, "hash: cannot be used with content", "hash"),
        ({"encoding": "base64"}, "encoding: only valid with content", "encoding"),
        ({"at": "2026-01-31T09:30:00Z"}, "at: only valid with content", "at"),
        ({"content": "", "at": "yesterday"}, "at: expected a time such as", "at"),
        ({"content": "!", "encoding": "base64"}, "content: this is not base64", "content"),
        ({"content": "\0"}, "content: not a text of f.txt", "content"),
    ):
        message, data = failed(reviewed, "snapshot/blame", {"file": "f.txt", **params})
        assert said in message, params
        assert data["field"] == field

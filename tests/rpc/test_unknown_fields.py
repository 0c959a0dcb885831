"""A misspelt field never changes anything: methods that change something refuse what they do not know."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from snapd.handlers.binding import structured
from snapd.model.errors import InvalidParams
from snapd.wire.methods import METHODS

if TYPE_CHECKING:
    from pathlib import Path

    from tests.rpc.machine import Machine

TAKING = ("fetch", "push", "export", "handover", "takeover", "rewindChat")
"""What the methods are called that change no history and yet something: here, or elsewhere."""


def field_of(name: str, params: dict[str, Any]) -> str | None:
    """The field that a request is refused for."""
    try:
        structured(METHODS[name], params)
    except InvalidParams as error:
        return str(error.data["field"])
    return None


@pytest.mark.parametrize("name", METHODS)
def test_what_changes_something_refuses_what_it_does_not_know(name: str) -> None:
    changes = (METHODS[name].access == "writes" and name != "snapshot/track") or name.split("/")[1] in TAKING
    assert (field_of(name, {"unheardOf": 1}) == "unheardOf") == changes


@pytest.mark.parametrize(
    ("name", "params", "field", "meant"),
    [
        ("snapshot/restore", {"hash": "0" * 40, "dry_run": True}, "dry_run", "dryRun"),
        ("session/undo", {"stepID": "x"}, "stepID", "stepId"),
        ("session/undo", {"dryrun": True}, "dryrun", "dryRun"),
        ("session/takeover", {"remote": "o", "onConflicts": "fail"}, "onConflicts", "onConflict"),
        ("session/push", {"remote": "o", "dry-run": True}, "dry-run", "dryRun"),
        ("snapshot/check", {"repair": True, "Quick": True}, "Quick", "quick"),
        ("snapshot/revert", {"patches": [{"hash": "0" * 40, "file": ["a"]}]}, "patches[0].file", "files"),
        ("step/begin", {"sessionId": "s", "messageID": "m"}, "messageID", "messageId"),
    ],
)
def test_the_hint_names_what_was_probably_meant(name: str, params: dict[str, Any], field: str, meant: str) -> None:
    with pytest.raises(InvalidParams) as caught:
        structured(METHODS[name], params)
    assert caught.value.data["field"] == field
    assert caught.value.hint.startswith(f"did you mean '{meant}'? ")


@pytest.mark.parametrize(
    ("name", "params", "hint"),
    [
        ("snapshot/restore", {}, "send hash: a string"),
        ("session/undo", {"count": "3"}, "count takes an integer"),
        ("session/undo", {"expect": ""}, "expect takes a string that is not empty"),
    ],
)
def test_a_hint_says_what_is_expected(name: str, params: dict[str, Any], hint: str) -> None:
    with pytest.raises(InvalidParams) as caught:
        structured(METHODS[name], params)
    assert caught.value.hint == hint


def test_nothing_is_changed_over_the_wire(daemon: Machine, folder: Path) -> None:
    raw = daemon.raw().open(folder)
    tree = raw.result("snapshot/track")["hash"]
    (folder / "new.txt").write_text("new\n")
    error = raw.ask(1, "snapshot/restore", {"hash": tree, "dry_run": True})["error"]
    assert (error["data"]["kind"], error["data"]["field"]) == ("invalidParams", "dry_run")
    assert (folder / "new.txt").exists()
    known = {"hash": tree, "workDoneToken": 1, "partialResultToken": "x", "dryRun": True}
    assert raw.result("snapshot/restore", known)["applied"] is False
    assert raw.result("snapshot/status", {"ofNewerClients": 1})["enabled"] is True

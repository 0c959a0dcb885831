"""The Python client passes the scenarios that every client passes; and these leave nothing out."""

from __future__ import annotations

import os
import time
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from snapd_client import Client, SnapdError

from snapd.wire.errors import ERRORS
from snapd.wire.methods import METHODS, NOTIFICATIONS
from tests.cli.running import Home
from tests.cli.steps import put, read

from .conformance import MATCHING, SCENARIOS, filled, misfit

if TYPE_CHECKING:
    from collections.abc import Iterator

PATIENCE = 60.0
_numbers = count()

NOT_MET = {
    "workspaceRefused",
    "workspaceGone",
    "storeLocked",
    "storeCorrupt",
    "storageFull",
    "ioError",
    "unauthorized",
    "remoteChanged",
    "untrusted",
    "signingFailed",
}
"""Kinds of errors for which a folder, a disk or a machine has to be prepared."""


@pytest.fixture(scope="module")
def home() -> Iterator[Home]:
    made = Home()
    made.track(made.project("first", {"a.txt": b"a\n"}))
    yield made
    made.close()


class Editor:
    """The documents of a client, told as editors tell of them."""

    def __init__(self, client: Client, folder: str) -> None:
        self._client = client
        self._folder = folder
        self._texts: dict[str, str] = {}
        self._versions = count(1)

    def act(self, what: str, file: str, text: str | None) -> None:
        path = os.path.join(self._folder, file)
        document: dict[str, Any] = {"uri": Path(path).as_uri()}
        if what == "open":
            self._texts[file] = Path(path).read_text("utf-8")
            document |= {"languageId": "text", "version": next(self._versions), "text": self._texts[file]}
            self._client.notify("textDocument/didOpen", {"textDocument": document})
        elif what == "change":
            assert text is not None
            self._texts[file] = text
            document |= {"version": next(self._versions)}
            params = {"textDocument": document, "contentChanges": [{"text": text}]}
            self._client.notify("textDocument/didChange", params)
        elif what == "save":
            Path(path).write_text(self._texts[file], "utf-8")
            self._client.notify("textDocument/didSave", {"textDocument": document})
        else:
            assert what == "close"
            self._client.notify("textDocument/didClose", {"textDocument": document})


@pytest.mark.parametrize("case", MATCHING, ids=lambda case: f"{case['pattern']} {case['value']}")
def test_what_fits_a_pattern(case: dict[str, Any]) -> None:
    assert (misfit(case["pattern"], case["value"], {}) is None) == case["fits"]


@pytest.mark.parametrize("name", SCENARIOS)
def test_scenario(home: Home, name: str) -> None:
    scenario = SCENARIOS[name]
    number = next(_numbers)
    files = {file: text.encode() for file, text in scenario.get("files", {}).items()}
    folder = home.project(f"c{number}", files)
    os.makedirs(folder, exist_ok=True)
    outside = home.at(f"outside{number}")
    os.mkdir(outside)
    kept: dict[str, Any] = {
        "folder": folder,
        "folderUri": Path(folder).as_uri(),
        "outside": outside,
        "outsideFile": os.path.join(outside, "file"),
    }
    with Client.connect(home.at("run/daemon.sock"), timeout=PATIENCE) as client:
        client.initialize([folder])
        editor = Editor(client, folder)
        with client.subscribe() as told:
            for at, action in enumerate(scenario["actions"]):
                here = f"action {at} ({action})"
                if "request" in action:
                    asked = ask(client, action["request"], filled(action["params"], kept))
                    wanted = {key: action[key] for key in ("result", "error") if key in action}
                    problem = misfit(wanted, asked, kept)
                    assert problem is None, (problem, here)
                elif "write" in action:
                    put(
                        folder,
                        {file: text if text is None else text.encode() for file, text in action["write"].items()},
                    )
                elif "holds" in action:
                    for file, text in action["holds"].items():
                        assert read(folder, file) == encoded(text), here
                elif "notification" in action:
                    wait_for(told, action, kept, here)
                else:
                    editor.act(action["document"], action["file"], action.get("text"))


def encoded(text: str | None) -> bytes | None:
    return None if text is None else text.encode()


def ask(client: Client, method: str, params: Any) -> dict[str, Any]:
    """What the daemon answers, as a scenario describes it."""
    try:
        return {"result": client.request(method, params)}
    except SnapdError as error:
        return {"error": {"code": error.code, "kind": error.kind, "data": error.data}}


def wait_for(told: Any, action: dict[str, Any], kept: dict[str, Any], here: str) -> None:
    deadline = time.monotonic() + PATIENCE
    seen = []
    while True:
        notification = told.get(max(0.0, deadline - time.monotonic()))
        assert notification is not None, (here, seen)
        if notification.method == action["notification"]:
            problem = misfit(action["params"], notification.params, kept)
            if problem is None:
                return
            seen.append(problem)


def actions(field: str) -> list[dict[str, Any]]:
    return [action for scenario in SCENARIOS.values() for action in scenario["actions"] if field in action]


def test_every_method_has_a_scenario_in_which_it_succeeds() -> None:
    asked = {action["request"] for action in actions("request") if "result" in action}
    assert set(METHODS) - asked == set()


def test_every_notification_has_a_scenario() -> None:
    assert {action["notification"] for action in actions("notification")} == set(NOTIFICATIONS)


def test_every_kind_of_error_has_a_scenario() -> None:
    met = {action["error"].get("kind") for action in actions("error")}
    assert set(ERRORS) - met == NOT_MET


def test_every_error_comes_with_a_hint() -> None:
    for action in actions("error"):
        if action["error"].get("kind") not in (None, "fileNotInSnapshot"):
            assert action["error"]["data"].get("hint") or action["error"]["kind"] == "invalidParams", action

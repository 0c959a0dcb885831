"""Requests of one client on one workspace take effect in the order in which they were sent."""

from __future__ import annotations

import random
from collections import defaultdict
from typing import TYPE_CHECKING, Any

from .machine import error_of, initialize, notification, request, wait_until

if TYPE_CHECKING:
    from pathlib import Path

    from .machine import Machine, Raw

PIPELINES = 160
LENGTH = 8


def answers_of(raw: Raw, count: int) -> dict[int, Any]:
    """The results of so many requests, by their ids."""
    answers = [raw.answer() for _ in range(count)]
    return {answer["id"]: answer["result"] for answer in answers}


class Model:
    """What one client knows of its sessions: each name with whether it goes on, in the order in which they began."""

    def __init__(self) -> None:
        self.sessions: dict[str, bool] = {}
        self.steps: dict[str, int] = defaultdict(int)

    def do(self, action: str, name: str) -> tuple[str, dict[str, Any], Any]:
        """What to ask, and what the answer has to be."""
        if action == "start":
            self.sessions[name] = True
            return "session/start", {"sessionId": name}, {"sessionId": name}
        if action == "end":
            known = name in self.sessions
            if known:
                self.sessions[name] = False
            return "session/end", {"sessionId": name}, {} if known else "unknownSession"
        if action == "begin":
            if not self.sessions.get(name, False):
                return "step/begin", {"sessionId": name}, "unknownSession"
            self.steps[name] += 1
            return "step/begin", {"sessionId": name, "detached": True}, ...
        if action == "steps":
            if name not in self.sessions:
                return "session/steps", {"sessionId": name}, "unknownSession"
            return "session/steps", {"sessionId": name}, self.steps[name]
        return "session/list", {}, dict(self.sessions)


def check(answer: dict[str, Any], wanted: Any, prefix: str) -> None:
    if isinstance(wanted, str):
        assert error_of(answer)[1] == wanted
        return
    result = answer["result"]
    if isinstance(wanted, int):
        assert len(result["steps"]) == wanted
    elif "sessions" in result:
        mine = [each for each in result["sessions"] if each["sessionId"].startswith(prefix)]
        assert {each["sessionId"]: "endedAt" not in each for each in mine} == wanted
    elif wanted is not ...:
        assert result == wanted


def test_pipelines_of_several_clients_take_effect_as_they_were_sent(
    daemon: Machine, folder: Path, other_folder: Path
) -> None:
    """Each client's answers are those of a model that does one thing after the other."""
    chance = random.Random(17)
    places = (folder, other_folder)
    clients = [daemon.raw().open(folder, other_folder) for _ in range(3)]
    models = {(at, place): Model() for at in range(len(clients)) for place in places}
    actions = ("start", "end", "begin", "list", "list", "steps")
    number = 0
    for round_ in range(PIPELINES // len(clients) + 1):
        wanted: list[dict[int, tuple[Any, str]]] = [{} for _ in clients]
        for at, raw in enumerate(clients):
            sent = b""
            for _ in range(LENGTH):
                place = chance.choice(places)
                prefix = f"{at}-{round_ // 6}-"
                # a few names, so that what is asked depends on what was asked before
                method, params, result = models[at, place].do(chance.choice(actions), prefix + chance.choice("abc"))
                if isinstance(result, dict) and method == "session/list":
                    result = {name: goes_on for name, goes_on in result.items() if name.startswith(prefix)}
                number += 1
                wanted[at][number] = (result, prefix)
                sent += request(number, method, {**params, "workspaceUri": place.as_uri()})
            raw.send(sent)
        for at, raw in enumerate(clients):
            for _ in range(LENGTH):
                answer = raw.answer()
                check(answer, *wanted[at].pop(answer["id"]))
            assert not wanted[at]


def test_a_read_sees_the_writes_before_it_and_not_those_after_it(daemon: Machine, folder: Path) -> None:
    raw = daemon.raw().open(folder)
    other = daemon.raw().open(folder)
    with daemon.held_up("look", folder) as waits:
        raw.send(request(1, "session/start", {"sessionId": "s"}))
        raw.answer(1)
        raw.send(
            request(2, "session/list")
            + request(3, "step/begin", {"sessionId": "s"})
            + request(4, "session/list")
            + request(5, "snapshot/status")
            + request(6, "session/end", {"sessionId": "s"})
            + request(7, "session/list")
        )
        first = raw.answer(2)["result"]["sessions"]
        wait_until(waits, "the step to begin")
        # somebody else's reads wait neither for that, nor for whom it holds up
        assert other.result("session/list")["sessions"][0]["stepCount"] == 0
        assert "lastHash" not in other.result("snapshot/status")
    answers = answers_of(raw, 5)
    assert first[0]["stepCount"] == 0
    assert answers[4]["sessions"][0]["stepCount"] == 1
    assert "endedAt" not in answers[4]["sessions"][0]
    assert answers[5]["lastHash"] == answers[3]["hash"]
    assert "endedAt" in answers[7]["sessions"][0]


def test_what_is_sent_while_a_folder_opens_takes_effect_in_order(daemon: Machine, folder: Path) -> None:
    raw = daemon.raw()
    with daemon.held_up("open", folder) as waits:
        raw.send(initialize(folder))
        sent = b""
        for number in range(1, 101):
            sent += request(number, "session/start", {"sessionId": f"s{number}"})
        raw.send(sent)
        wait_until(waits, "the folder to be opened")
    raw.answer(0)
    assert {raw.answer()["id"] for _ in range(100)} == set(range(1, 101))
    listed = raw.result("session/list")["sessions"]
    assert [each["sessionId"] for each in listed] == [f"s{number}" for number in range(1, 101)]


def test_documents_and_settings_take_their_place(daemon: Machine, folder: Path) -> None:
    """A restore that was sent before something was typed writes the file; one that was sent after it leaves it."""
    raw = daemon.raw().open(folder)
    one = raw.result("snapshot/track")["hash"]
    (folder / "a.txt").write_text("changed\n")
    changed = raw.result("snapshot/track")["hash"]
    document = {"uri": (folder / "a.txt").as_uri(), "version": 1}
    typed = {"textDocument": document, "contentChanges": [{"text": "typed\n"}]}

    def ignored(*names: str) -> bytes:
        return notification("workspace/didChangeConfiguration", {"settings": {"snapd": {"exclude": list(names)}}})

    with daemon.held_up("look", folder) as waits:
        raw.send(
            request(1, "snapshot/restore", {"hash": one})
            + notification("textDocument/didChange", typed)
            + request(2, "snapshot/restore", {"hash": changed})
            + notification("textDocument/didSave", {"textDocument": document})
            + request(3, "snapshot/restore", {"hash": changed})
            + ignored("a.txt")
            + request(4, "snapshot/track")
            + ignored()
            + request(5, "snapshot/track")
        )
        wait_until(waits, "the restore")
    answers = answers_of(raw, 5)
    outcomes = [answers[number]["files"] for number in (1, 2, 3)]
    assert [(file["outcome"], file.get("reason")) for (file,) in outcomes] == [
        ("restored", None),
        ("conflict", "unsavedInEditor"),
        ("restored", None),
    ]
    names = [raw.result("snapshot/listFiles", {"hash": answers[number]["hash"]})["files"] for number in (4, 5)]
    assert names == [["sub/b.txt"], ["a.txt", "sub/b.txt"]]


def test_what_an_editor_said_first_counts_for_those_who_come_later(daemon: Machine, folder: Path) -> None:
    """Somebody else's restore is sent after it, while the editor's own request is still under way."""
    editor, other = (daemon.raw().open(folder) for _ in range(2))
    one = editor.result("snapshot/track")["hash"]
    (folder / "a.txt").write_text("changed\n")
    editor.result("snapshot/track")
    document = {"uri": (folder / "a.txt").as_uri(), "version": 1}
    with daemon.held_up("look", folder) as waits:
        editor.send(request(1, "snapshot/track"))
        wait_until(waits, "the track")
        typed = {"textDocument": document, "contentChanges": [{"text": "typed\n"}]}
        editor.send(notification("textDocument/didChange", typed) + request(2, "nonsense"))
        editor.answer(2)
        other.send(request(1, "snapshot/restore", {"hash": one}))
    (file,) = other.answer(1)["result"]["files"]
    assert (file["outcome"], file["reason"]) == ("conflict", "unsavedInEditor")
    assert (folder / "a.txt").read_text() == "changed\n"


def test_a_folder_that_is_closed_and_opened_again_keeps_the_order(daemon: Machine, folder: Path) -> None:
    raw = daemon.raw().open(folder)
    raw.result("session/start", {"sessionId": "s"})
    it = {"uri": folder.as_uri(), "name": "w"}
    change = "workspace/didChangeWorkspaceFolders"
    with daemon.held_up("look", folder) as waits:
        raw.send(
            request(1, "step/begin", {"sessionId": "s"})
            + request(2, "session/end", {"sessionId": "s"})
            + notification(change, {"event": {"added": [], "removed": [it]}})
            + request(3, "session/list")
            + notification(change, {"event": {"added": [it], "removed": []}})
            + request(4, "session/start", {"sessionId": "s"})
            + request(5, "session/list")
        )
        assert error_of(raw.answer(3))[1] == "workspaceNotOpen"
        wait_until(waits, "the step to begin")
    answers = answers_of(raw, 4)
    listed = answers[5]["sessions"][0]
    assert listed["stepCount"] == 1
    assert "endedAt" not in listed


def test_a_request_that_waits_is_taken_back_at_once(daemon: Machine, folder: Path) -> None:
    raw = daemon.raw().open(folder)
    with daemon.held_up("look", folder) as waits:
        raw.send(b"".join(request(number, "snapshot/track") for number in range(1, 101)))
        wait_until(waits, "the first one")
        raw.send(b"".join(notification("$/cancelRequest", {"id": number}) for number in range(2, 101)))
        taken_back = [raw.answer() for _ in range(2, 101)]
        assert {error_of(answer)[0] for answer in taken_back} == {-32800}
        raw.send(request(101, "snapshot/track") + notification("$/cancelRequest", {"id": 101}))
        assert error_of(raw.answer(101))[0] == -32800
    assert raw.answer(1)["result"]["hash"]
    assert raw.result("snapshot/track")["hash"]


def test_shutdown_is_answered_and_exit_takes_back_what_waits(daemon: Machine, folder: Path) -> None:
    raw = daemon.raw().open(folder)
    with daemon.held_up("look", folder) as waits:
        raw.send(request(1, "snapshot/track") + request(2, "session/start", {"sessionId": "late"}))
        wait_until(waits, "the first one")
        raw.send(request(3, "shutdown") + request(4, "snapshot/status"))
        assert raw.answer(3)["result"] is None
        assert error_of(raw.answer(4))[0] == -32600
        raw.send(notification("exit"))
        assert error_of(raw.answer(2))[0] == -32800
    raw.answer(1)
    assert raw.says_nothing_more()
    assert daemon.raw().open(folder).result("session/list")["sessions"] == []


def test_what_a_client_sent_before_it_left_is_carried_out(daemon: Machine, folder: Path) -> None:
    raw: Raw = daemon.raw().open(folder)
    with daemon.held_up("look", folder) as waits:
        raw.send(request(1, "snapshot/track"))
        wait_until(waits, "the first one")
        raw.send(b"".join(request(number, "session/start", {"sessionId": f"s{number}"}) for number in range(2, 12)))
        raw.half_close()
    other = daemon.raw().open(folder)
    assert {raw.answer()["id"] for _ in range(1, 12)} == set(range(1, 12))
    assert raw.says_nothing_more()
    assert [each["sessionId"] for each in other.result("session/list")["sessions"]] == [f"s{n}" for n in range(2, 12)]

"""Clients, the user and maintenance at work on the same folder at the same time."""

from __future__ import annotations

import contextlib
import os
import select
import threading
from typing import TYPE_CHECKING, Any

import pytest

from tests.hazards.trees import object_id, tree_id
from tests.rpc.machine import PATIENCE, Raw, error_of, request

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.rpc.machine import Machine


@contextlib.contextmanager
def beside(*works: Callable[[Callable[[], bool]], None]) -> Iterator[None]:
    """Has others work while the block runs; what they raise is raised at its end.

    Args:
        works: each is called in a thread, with what tells it whether to go on.
    """
    over = threading.Event()
    raised: list[BaseException] = []

    def run(work: Callable[[Callable[[], bool]], None]) -> None:
        try:
            work(lambda: not over.is_set())
        except BaseException as error:
            raised.append(error)

    threads = [threading.Thread(target=run, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        over.set()
        for thread in threads:
            thread.join(PATIENCE)
    assert not any(thread.is_alive() for thread in threads)
    if raised:
        raise raised[0]


def content(raw: Raw, tree: str, file: str) -> str:
    found: str = raw.result("snapshot/fileAt", {"hash": tree, "file": file})["content"]
    return found


def breathe() -> None:
    """Leaves the processor to the daemon for a moment: who works beside it is no busy loop."""
    select.select([], [], [], 0.001)


def save(path: Path, text: str) -> None:
    """Replaces a file as editors do."""
    aside = path.with_name(path.name + "~")
    aside.write_text(text)
    aside.rename(path)


@pytest.mark.hazard(47)
def test_two_clients_tracking_never_get_a_tree_that_mixes_states(daemon: Machine, folder: Path) -> None:
    """Each client finds what it wrote itself, and of the other something that stood between two of its answers."""
    clients = [daemon.raw().open(folder) for _ in range(2)]
    answered, begun = [0, 0], [0, 0]
    seen: list[tuple[int, str, int, int, int]] = []

    def work(own: int, raw: Raw) -> None:
        for number in range(1, 11):
            begun[own] = number
            (folder / f"of{own}").write_text(f"{number}")
            low = answered[1 - own]
            tree = raw.result("snapshot/track")["hash"]
            seen.append((own, tree, number, low, begun[1 - own]))
            answered[own] = number

    for own in range(2):
        (folder / f"of{own}").write_text("0")
    with beside(*(lambda _, own=own, raw=raw: work(own, raw) for own, raw in enumerate(clients))):  # type: ignore[misc]
        pass
    assert len(seen) == 20
    reader = daemon.raw().open(folder)
    for own, tree, number, low, high in seen:
        assert content(reader, tree, f"of{own}") == str(number)
        other = content(reader, tree, f"of{1 - own}")
        assert not other or low <= int(other) <= high
        assert content(reader, tree, "a.txt") == "one\n"


@pytest.mark.hazard(48)
def test_overlapping_restores_are_done_one_after_the_other(daemon: Machine, folder: Path) -> None:
    for number in range(30):
        (folder / f"f{number}").write_text("one\n")
    clients = [daemon.raw().open(folder) for _ in range(3)]
    trees = [clients[0].result("snapshot/track")["hash"]]
    for number in range(30):
        (folder / f"f{number}").write_text("two\n" if number % 2 else "one\n")
    (folder / "more").write_text("more\n")
    trees.append(clients[0].result("snapshot/track")["hash"])
    for round_ in range(4):
        for at, raw in enumerate(clients):
            raw.send(request(at, "snapshot/restore", {"hash": trees[(at + round_) % 2]}))
        answers = [raw.answer(at)["result"] for at, raw in enumerate(clients)]
        assert all(answer["applied"] for answer in answers)
        # each found what the one before it had left: no state of a restore that was half done
        assert {answer["before"] for answer in answers} | {answer["after"] for answer in answers} <= set(trees)
        assert [answer["after"] for answer in answers] == [trees[(at + round_) % 2] for at in range(3)]
        assert tree_id(folder) in trees


@pytest.mark.hazard(48)
def test_of_two_overlapping_undos_at_once_the_second_sees_what_the_first_did(daemon: Machine, folder: Path) -> None:
    raw, other = daemon.raw().open(folder), daemon.raw().open(folder)
    steps = []
    for session, text in (("first", "first\n"), ("second", "second\n")):
        raw.result("session/start", {"sessionId": session})
        step = raw.result("step/begin", {"sessionId": session})["stepId"]
        (folder / "a.txt").write_text(text)
        raw.result("step/end", {"stepId": step})
        steps.append(step)
    raw.send(request(1, "session/undo", {"sessionId": "first", "stepId": steps[0]}))
    other.send(request(1, "session/undo", {"sessionId": "second", "stepId": steps[1]}))
    first, second = raw.answer(1)["result"], other.answer(1)["result"]
    outcomes = [[each["outcome"] for each in answer["files"]] for answer in (first, second)]
    final = (folder / "a.txt").read_text()
    # the two orders that there are: the older step meets the newer one's text, or what was before that
    assert (outcomes, final) in (([["conflict"], ["restored"]], "first\n"), ([["restored"], ["restored"]], "one\n"))
    # and the same step by two at once is undone once
    if final == "first\n":
        for each in (raw, other):
            each.send(request(2, "session/undo", {"sessionId": "first", "stepId": steps[0]}))
        answers = [raw.answer(2), other.answer(2)]
        outcomes = [[each["outcome"] for each in answer.get("result", {}).get("files", [])] for answer in answers]
        assert outcomes.count(["restored"]) == 1
        assert (folder / "a.txt").read_text() == "one\n"


@pytest.mark.hazard(49)
def test_what_the_user_saves_during_a_restore_survives(daemon: Machine, folder: Path) -> None:
    for number in range(40):
        (folder / f"f{number:02}").write_text("old\n")
    raw = daemon.raw().open(folder)
    trees = [raw.result("snapshot/track")["hash"]]
    for number in range(40):
        (folder / f"f{number:02}").write_text("new\n")
    trees.append(raw.result("snapshot/track")["hash"])
    edited = [folder / name for name in ("f00", "f20", "f39")]
    said: dict[str, str] = {}

    def user(goes_on: Callable[[], bool]) -> None:
        number = 0
        while goes_on():
            number += 1
            for path in edited:
                # the file that is to replace it is not in the snapshot: a restore may take that one away
                with contextlib.suppress(FileNotFoundError):
                    save(path, f"the user's {number}\n")
                    said[path.name] = f"the user's {number}\n"
                breathe()

    for round_ in range(8):
        with beside(user):
            outcome = raw.result("snapshot/restore", {"hash": trees[round_ % 2]})
        target = ("old\n", "new\n")[round_ % 2]
        told = {each["file"]: each["outcome"] for each in outcome["files"]}
        for path in edited:
            found = path.read_text()
            if found != said[path.name]:
                # it was put in the place of what the user had saved: then that is in the snapshot from before
                assert found == target
                assert told[path.name] == "restored"
                assert content(raw, outcome["before"], path.name) == said[path.name]
        for number in range(40):
            path = folder / f"f{number:02}"
            if path not in edited:
                assert path.read_text() == target
        assert not [name for name in os.listdir(folder) if name.endswith("~")]


@pytest.mark.hazard(50)
def test_file_that_is_written_during_a_track_is_whole_or_told(daemon: Machine, folder: Path) -> None:
    size = 100_000
    paths = [folder / "rewritten", folder / "replaced"]
    for path in paths:
        path.write_bytes(b"a" * size)
    raw = daemon.raw().open(folder)

    def agent(goes_on: Callable[[], bool]) -> None:
        number = 0
        with paths[0].open("r+b", buffering=0) as file:
            while goes_on():
                number += 1
                letter = b"abcdefghij"[number % 10 : number % 10 + 1]
                os.pwrite(file.fileno(), letter * size, 0)
                aside = folder / "aside"
                aside.write_bytes(letter * size)
                aside.rename(paths[1])
                breathe()

    whole = {object_id("blob", letter.encode() * size): letter for letter in "abcdefghij"}
    with beside(agent):
        answers = [raw.result("snapshot/track") for _ in range(8)]
    for answer in answers:
        unstable = {each["file"] for each in answer["skipped"]}
        assert unstable <= {"rewritten", "replaced", "aside"}
        assert {each["reason"] for each in answer["skipped"]} <= {"unstable"}
        for path in paths:
            if raw.result("snapshot/fileExists", {"hash": answer["hash"], "file": path.name})["exists"]:
                data = content(raw, answer["hash"], path.name).encode()
                assert object_id("blob", data) in whole
            else:
                assert path.name in unstable or path.name == "replaced"
    assert raw.result("snapshot/track")["hash"] == tree_id(folder)


@pytest.mark.hazard(51)
def test_maintenance_beside_tracks_and_reads_drops_nothing_that_was_answered(daemon: Machine, folder: Path) -> None:
    writer, reader, keeper = (daemon.raw().open(folder) for _ in range(3))
    trees: list[str] = []

    def agent(_: object) -> None:
        for number in range(15):
            (folder / "a.txt").write_text(f"{number}\n" * 50)
            (folder / f"new{number}").write_text(f"new {number}\n")
            trees.append(writer.result("snapshot/track")["hash"])

    def look(goes_on: Callable[[], bool]) -> None:
        while goes_on():
            for number, tree in list(enumerate(trees)):
                assert content(reader, tree, "a.txt") == f"{number}\n" * 50
                breathe()

    def keep(_: object) -> None:
        for _ in range(3):
            keeper.result("snapshot/cleanup", {})

    with beside(look, keep):
        agent(None)
    assert trees[-1] == tree_id(folder)
    for number, tree in enumerate(trees):
        assert content(reader, tree, f"new{number}") == f"new {number}\n"
        assert content(reader, tree, "a.txt") == f"{number}\n" * 50
    assert reader.result("snapshot/restore", {"hash": trees[0]})["applied"] is True
    assert tree_id(folder) == trees[0]


@pytest.mark.hazard(51)
def test_what_maintenance_dropped_is_an_error_and_never_half_there(daemon: Machine, folder: Path) -> None:
    raw: Any = daemon.raw().open(folder)
    old = raw.result("snapshot/track")["hash"]
    (folder / "a.txt").write_text("changed\n")
    last = raw.result("snapshot/track")["hash"]
    raw.result("snapshot/cleanup", {"olderThanDays": 0})
    before = tree_id(folder)
    assert before == last
    for tree in (old, last):
        answer = raw.ask(1, "snapshot/restore", {"hash": tree})
        if "result" in answer:
            assert tree_id(folder) == tree
        else:
            assert error_of(answer) == (1001, "unknownSnapshot")
            assert tree_id(folder) == before

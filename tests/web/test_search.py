"""What a search finds: just what holds the text, newest first, and all of it over as many answers as it takes."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any

import attrs
import pytest

from snapd.web.api.search import MATCHES, Position, Search, SearchText, changed_lines
from tests.support.git import run_git

if TYPE_CHECKING:
    from pathlib import Path

    from .browser import Web
    from .conftest import World


@pytest.fixture(scope="module")
def told(world: World) -> dict[str, str]:
    """Steps of two sessions; gives their ids."""
    client = world.client
    client.session_start("one", agent="bot")
    client.session_message("one", "m1", "Please fix the Überlauf in the parser. " + "x" * 500)
    return {
        "names": world.step("one", {"src/Parser.py": "a\n", "src/other.py": "b\n"}, message="m1"),
        "added": world.step("one", {"src/other.py": "b\ndef needle(): pass\n"}, message="m1"),
        "deleted": world.step("two", {"src/other.py": "b\n"}),
        "bytes": world.step("two", {"picture": b"\0needle"}),
        "latin": world.step("two", {"latin.txt": b"na\xefve needle\n"}),
        "unrelated": world.step("two", {"a.txt": "nothing\n"}),
    }


def found(web: Web, q: str, **query: Any) -> list[dict[str, Any]]:
    """All hits, from all answers."""
    hits: list[dict[str, Any]] = []
    answer = web.get("/search", {"q": q, **query}).json
    hits += answer["hits"]
    while "nextCursor" in answer:
        answer = web.get("/search", {"q": q, **query, "cursor": answer["nextCursor"]}).json
        hits += answer["hits"]
    return hits


def test_changed_lines_are_found(web: Web, told: dict[str, str]) -> None:
    hits = found(web, "NEEDLE", **{"in": "texts"})
    assert [each["stepId"] for each in hits] == [told["latin"], told["deleted"], told["added"]]
    assert [each["lines"] for each in hits[1:]] == [
        [{"file": "src/other.py", "change": "deleted", "line": 2, "text": "def needle(): pass"}],
        [{"file": "src/other.py", "change": "added", "line": 2, "text": "def needle(): pass"}],
    ]
    assert found(web, "na\xefve", **{"in": "texts"})[0]["stepId"] == told["latin"]


def test_names_of_files_are_found(web: Web, told: dict[str, str]) -> None:
    (hit,) = found(web, "parser", **{"in": "files"})
    assert (hit["stepId"], hit["files"]) == (told["names"], [{"file": "src/Parser.py"}])
    assert "lines" not in hit
    assert {each["stepId"] for each in found(web, "src/", **{"in": "files"})} == {
        told["names"], told["added"], told["deleted"],
    }  # fmt: skip


def test_prompts_are_found(web: Web, told: dict[str, str]) -> None:
    (hit,) = found(web, "\xfcberlauf", **{"in": "prompts"})
    assert (hit["kind"], hit["sessionId"], hit["messageId"]) == ("message", "one", "m1")
    assert "Überlauf" in hit["prompt"]
    assert len(hit["prompt"]) < 250


def test_everything_at_once(web: Web, told: dict[str, str]) -> None:
    assert found(web, "needle", **{"in": "prompts,files,texts"}) == found(web, "needle")
    assert found(web, "is nowhere at all") == []
    times = [each["at"] for each in found(web, "e")]
    assert times == sorted(times, reverse=True)


def test_page_by_page(web: Web, told: dict[str, str]) -> None:
    whole = found(web, "e", limit=100)
    assert found(web, "e", limit=1) == whole
    assert found(web, "e", limit=2) == whole
    first = web.get("/search", {"q": "e", "limit": 1}).json
    assert len(first["hits"]) == 1
    for q, more in (("other", {}), ("e", {"in": "files"})):
        answer = web.get("/search", {"q": q, "cursor": first["nextCursor"], **more})
        assert (answer.status, answer.json["field"]) == (400, "cursor")


def test_what_happens_meanwhile_is_not_in_the_way(web: Web, world: World, told: dict[str, str]) -> None:
    whole = [each.get("stepId") for each in found(web, "e")]
    first = web.get("/search", {"q": "e", "limit": 1}).json
    for number in range(60):
        world.client.session_message("one", f"new {number}", "e")
    hits = list(first["hits"])
    answer = first
    while "nextCursor" in answer:
        answer = web.get("/search", {"q": "e", "cursor": answer["nextCursor"]}).json
        hits += answer["hits"]
    assert [each.get("stepId") for each in hits] == whole


def cursor(*parts: Any) -> str:
    return base64.b64encode(json.dumps(parts).encode(), altchars=b"-_").decode()


@pytest.mark.parametrize(
    "given",
    [
        "",
        "x",
        "ü",
        "====",
        cursor(),
        cursor(1, 2, 3, 4, 5),
        cursor(["x"] * 5),
        cursor("x", None, "", "", -1),
        "A" * 5000,
    ],
)
def test_a_cursor_that_is_none(web: Web, given: str) -> None:
    answer = web.get("/search", {"q": "e", "cursor": given})
    assert (answer.status, answer.json["field"]) == (400, "cursor")


@pytest.mark.parametrize("q", ["", "x" * 201])
def test_a_text_that_is_none(web: Web, q: str) -> None:
    assert web.get("/search", {"q": q}).json["field"] == "q"


# -- the bounds, on a history that is made up


class History:
    """A daemon that has one step with many files, and counts what it is asked."""

    def __init__(self, files: int, lines: int) -> None:
        self.asked: list[str] = []
        self._step = {
            "stepId": "s",
            "sessionId": "one",
            "startedAt": "2026-01-01T00:00:00.000Z",
            "files": [{"file": f"{number}.txt", "additions": lines, "deletions": 0} for number in range(files)],
        }

    def ask(self, method: str, params: dict[str, Any]) -> Any:
        self.asked.append(method)
        if method == "session/history":
            entry = {"kind": "step", "at": self._step["startedAt"], "step": self._step}
            return {"entries": [entry]}
        return {
            "diff": "".join(f"--- a/{file}\n+++ b/{file}\n@@ -0,0 +1 @@\n+{file} has it\n" for file in params["files"])
        }


def test_an_answer_is_bounded_in_work() -> None:
    """If it is late at once, each answer looks at some files, and all answers together at all of them."""
    history = History(100, 1)
    looking = Search(history.ask, SearchText("99.TXT HAS", frozenset(["texts"])), 50)
    answers, position = [], Position()
    while True:
        before = len(history.asked)
        answer = looking.run(position, lambda: True)
        answers.append(answer)
        assert len(history.asked) - before <= 3 + 20
        if "nextCursor" not in answer:
            break
        position = looking.position(answer["nextCursor"])
    assert len(answers) == 5
    (hit,) = [hit for answer in answers for hit in answer["hits"]]
    assert hit["lines"][0]["file"] == "99.txt"


def test_an_entry_that_was_removed_meanwhile() -> None:
    """The search goes on with what follows it."""
    history = History(1, 1)
    looking = Search(history.ask, SearchText("has it", frozenset(["texts"])), 50)
    gone = Position(None, "step gone", "2026-01-01T00:00:00.001Z", 7)
    (hit,) = looking.run(gone, lambda: False)["hits"]
    assert hit["lines"][0]["file"] == "0.txt"
    # what is newer has been looked through
    assert looking.run(attrs.evolve(gone, at="2025-01-01T00:00:00.000Z"), lambda: False)["hits"] == []


def test_large_changes_are_looked_at_one_by_one() -> None:
    history = History(3, 15_000)
    Search(history.ask, SearchText("nowhere", frozenset(["texts"])), 50).run(Position(), lambda: False)
    assert history.asked.count("step/diff") == 3


def test_what_is_listed_of_a_step_is_bounded() -> None:
    history = History(100, 1)
    answer = Search(history.ask, SearchText("has it", frozenset(["texts", "files"])), 50).run(Position(), lambda: False)
    (hit,) = answer["hits"]
    assert len(hit["lines"]) == MATCHES
    assert hit["more"] is True


def test_the_lines_of_a_diff(tmp_path: Path) -> None:
    """As git has them, also lines that look like the head of a diff."""
    old = ["one", "-- a/x", "@@ -1 +1 @@", "same", *map(str, range(20)), "last"]
    new = ["one", "++ b/x", "@@ -9,9 +9,9 @@", "same", *map(str, range(20)), "new last", "and one more"]
    (tmp_path / "old").write_text("\n".join(old))
    (tmp_path / "new").write_text("\n".join(new) + "\n")
    diff = run_git(tmp_path, "diff", "--no-index", "old", "new").decode()
    lines = list(changed_lines(diff))
    assert [text for change, _, text in lines if change == "deleted"] == ["-- a/x", "@@ -1 +1 @@", "last"]
    assert [text for change, _, text in lines if change == "added"] == [
        "++ b/x", "@@ -9,9 +9,9 @@", "new last", "and one more",
    ]  # fmt: skip
    for change, number, text in lines:
        assert (old if change == "deleted" else new)[number - 1] == text

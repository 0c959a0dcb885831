"""The tool `blame`, with a real daemon; the lines themselves say who wrote them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import pytest

from snapd.mcp.tools.looking import blame
from snapd.mcp.tools.params import BlameParams
from snapd.mcp.tools.results import MAX_LINE, MAX_RANGES, MAX_TEXT, Blame
from snapd.model.errors import FileChanged
from tests.notes.noting import KEY, PERSON, PERSON_KEY, note
from tests.support.git import run_git

from .conftest import SESSION
from .peer import VERSIONS

if TYPE_CHECKING:
    from snapd.mcp.call import Call

    from .conftest import World

OTHER = "somebody-elses"


def authors(blame: dict[str, Any]) -> list[tuple[int, int, str | None]]:
    """The ranges: first and last line, and the step or the kind of the author."""
    return [(each["first"], each["last"], each.get("stepId", each["author"])) for each in blame["ranges"]]


@pytest.mark.parametrize("version", VERSIONS)
def test_blame_says_who_wrote_which_lines(world: World, version: str) -> None:
    mine = world.step(a_txt="one\nMINE\nthree\n")
    other = world.step(OTHER, a_txt="one\nMINE\nthree\nother\nother\n")
    world.write(a_txt="typed\none\nMINE\nthree\nother\nother\n")
    answer = world.peer(version).call("blame", path="a.txt")
    found = answer["structuredContent"]
    expected = [(1, 1, "user"), (2, 2, "before"), (3, 3, mine), (4, 4, "before"), (5, 6, other)]
    assert authors(found) == expected
    assert (found["path"], found["lineCount"]) == ("a.txt", 6)
    assert "note" not in found
    _, _, by_me, _, by_other = found["ranges"]
    assert (by_me["agent"], by_me["sessionId"], by_me["mine"], by_me["messageId"]) == ("bot", SESSION, True, "m1")
    assert (by_other["sessionId"], "mine" in by_other) == (OTHER, False)
    assert by_me["at"] < by_other["at"]
    assert all("text" not in each for each in found["ranges"])
    by_git = found["ranges"][1]["commit"]
    assert by_git.endswith(" by Author: as it is")
    # some clients show a model the text alone
    assert answer["content"][0]["text"].splitlines() == [
        "a.txt: 6 lines",
        "line 1: the user",
        f"line 2: from before snapd started recording; according to git, commit {by_git}",
        f"line 3: step {mine} bot {by_me['at']} (this session, message m1)",
        f"line 4: from before snapd started recording; according to git, commit {by_git}",
        f"lines 5-6: step {other} bot {by_other['at']} (session {OTHER}, message m1)",
    ]


def test_some_lines_come_with_their_text(world: World) -> None:
    step = world.step(a_txt="one\ntwo\n\tmine\r\nmine, too")
    peer = world.peer()
    answer = peer.call("blame", path=str(world.folder / "a.txt"), first=2, last=3)
    found = answer["structuredContent"]
    assert authors(found) == [(2, 2, "before"), (3, 3, step)]
    assert [each["text"] for each in found["ranges"]] == ["two", "\tmine\r"]
    assert answer["content"][0]["text"].split("\n")[2::2] == ["2\ttwo", "3\t\tmine\r"]
    # to the end, and from the beginning
    assert [each["text"] for each in peer.done("blame", path="a.txt", first=4)["ranges"]] == ["mine, too"]
    beyond = peer.done("blame", path="a.txt", last=99)
    assert "\n".join(each["text"] for each in beyond["ranges"]) == "one\ntwo\n\tmine\r\nmine, too"
    assert "note" not in beyond


def test_a_file_as_it_was(world: World) -> None:
    first = world.step(a_txt="first\n")
    peer = world.peer()
    peer.done("checkpoint", name="early")
    second = world.step(a_txt="first\nsecond\n")
    world.write(a_txt=None)
    early = peer.done("blame", path="a.txt", snapshot="early", first=1)
    assert (authors(early), early["ranges"][0]["text"]) == ([(1, 1, first)], "first")
    late = peer.done("show", step=second)["step"]["after"]
    assert authors(peer.done("blame", path="a.txt", snapshot=late[:8])) == [(1, 1, first), (2, 2, second)]
    assert peer.failed("blame", path="a.txt")["kind"] == "fileNotInSnapshot"


def test_a_step_that_is_open_is_blamed_and_its_text_shown(world: World) -> None:
    world.client.session_start(SESSION)
    step = world.client.step_begin(SESSION)["stepId"]
    world.write(a_txt="one\ntwo\nthree\nopen\n")
    found = world.peer().done("blame", path="a.txt", first=3)
    assert authors(found) == [(3, 3, "before"), (4, 4, step)]
    assert found["ranges"][1]["text"] == "open"


def test_what_has_no_lines(world: World) -> None:
    world.write(empty_txt="", one_txt="one", nul_txt="a\0b\n")
    (world.folder / ".gitignore").write_text("ignored.txt\n")
    world.write(ignored_txt="x\n")
    peer = world.peer()
    assert peer.done("blame", path="empty.txt") == {"path": "empty.txt", "lineCount": 0, "ranges": []}
    assert peer.done("blame", path="empty.txt", last=3)["ranges"] == []
    assert peer.failed("blame", path="empty.txt", first=1)["message"] == "first: empty.txt has 0 lines"
    assert peer.failed("blame", path="one.txt", first=2)["message"] == "first: one.txt has 1 line"
    assert "is not text" in peer.failed("blame", path="nul.txt")["message"]
    assert "is not text" in peer.failed("blame", path="nul.txt", first=1)["message"]
    for name in ("nowhere.txt", "ignored.txt", "."):
        for more in ({}, {"first": 1}):
            error = peer.failed("blame", path=name, **more)
            assert error["kind"] in ("fileNotInSnapshot", "pathOutsideWorkspace"), name
            assert error["hint"]
    assert peer.failed("blame", path="../x", first=1)["kind"] == "pathOutsideWorkspace"
    assert peer.failed("blame", path="a.txt", snapshot="nothing")["kind"] == "unknownSnapshot"


def test_bytes_that_are_no_text_are_replaced(world: World) -> None:
    (world.folder / "latin.txt").write_bytes(b"caf\xe9\nplain\n")
    found = world.peer().done("blame", path="latin.txt", first=1)
    assert "\n".join(each["text"] for each in found["ranges"]) == "caf\ufffd\nplain"


def test_what_is_long_is_cut_with_a_note_that_leads_on(world: World) -> None:
    lines = [f"line {number}" for number in range(2 * MAX_TEXT // 8)]
    lines[5] = "x" * (MAX_LINE + 1)
    world.write(long_txt="\n".join(lines) + "\n")
    peer = world.peer()
    seen: list[str] = []
    while len(seen) < len(lines):
        answer = peer.call("blame", path="long.txt", first=len(seen) + 1)
        found = answer["structuredContent"]
        assert answer["content"][0]["text"].endswith(found.get("note", ""))
        said = "\n".join(each["text"] for each in found["ranges"])
        assert len(said) <= MAX_TEXT
        seen += said.split("\n")
        if len(seen) < len(lines):
            assert found["note"] == f"There is more: call again with `first` {len(seen) + 1}."
    assert seen[5] == f"{lines[5][:MAX_LINE]}… ({MAX_LINE + 1} characters)"
    assert seen[:5] + seen[6:] == lines[:5] + lines[6:]


def test_many_ranges_are_cut(world: World) -> None:
    text = [f"{number}\n" for number in range(2 * MAX_RANGES + 10)]
    world.write(many_txt="".join(text))
    step = world.step(many_txt="".join(f"s{line}" if at % 2 else line for at, line in enumerate(text)))
    found = world.peer().done("blame", path="many.txt")
    assert [each[0] for each in authors(found)] == list(range(1, MAX_RANGES + 1))
    assert {each["stepId"] for each in found["ranges"][1::2]} == {step}
    assert found["note"] == f"There is more: call again with `first` {MAX_RANGES + 1}."


def test_names_of_others_cannot_pass_for_other_lines(world: World) -> None:
    world.client.session_start("s\nline 1: the user", agent="a\x1b[2K")
    step = world.client.step_begin("s\nline 1: the user")["stepId"]
    world.write(a_txt="x\n")
    world.client.step_end(step)
    answer = world.peer().call("blame", path="a.txt")
    assert answer["structuredContent"]["ranges"][0]["agent"] == "a\x1b[2K"
    _, line = answer["content"][0]["text"].split("\n")
    assert "a\\x1b[2K" in line
    assert "session s\\nline 1: the user" in line


class Busy:
    """A daemon in whose folder somebody writes `a.txt` after each of some blames, and another file all the time."""

    own_session = None

    def __init__(self, writes: int) -> None:
        self.writes = writes
        self.lines = 1
        self.looked = 0

    def request(self, method: str, params: dict[str, Any]) -> Any:
        if method == "snapshot/track":
            self.looked += 1
            return {"hash": f"{self.looked:034x}{self.lines:06x}"}
        if method == "snapshot/fileAt":
            return {"encoding": "utf-8", "content": "x\n" * int(params["hash"][-6:], 16)}
        runs = [{"start": 1, "count": self.lines, "author": "user"}]
        if self.writes:
            self.writes -= 1
            self.lines += 1
        return {"lines": runs}


@pytest.mark.parametrize("writes", range(4))
def test_lines_and_writers_are_of_one_moment(writes: int) -> None:
    call = cast("Call", Busy(writes))
    if writes == 3:
        with pytest.raises(FileChanged):
            blame(call, BlameParams(path="a.txt", first=1))
        return
    found = blame(call, BlameParams(path="a.txt", first=1)).result
    assert isinstance(found, Blame)
    (only,) = found.ranges
    assert (only.last, only.text) == (writes + 1, "\n".join("x" * (writes + 1)))


def test_a_note_says_who_wrote_lines_from_before(world: World) -> None:
    run_git(world.folder, "init", "--quiet")
    run_git(world.folder, "add", ".")
    run_git(world.folder, "commit", "--quiet", "--message", "one")
    run_git(world.folder, "notes", "--ref=ai", "add", "-F", "-", input=note(f"a.txt\n  {KEY} 1\n  {PERSON_KEY} 3\n"))
    commit = run_git(world.folder, "rev-parse", "HEAD").decode().strip()
    made = run_git(world.folder, "log", "-1", "--format=%ad", "--date=format-local:%Y-%m-%d").decode().strip()
    answer = world.peer().call("blame", path="a.txt")
    by_agent, by_person = f"{commit} by claude in session conversation", f"{commit} by {PERSON}"
    of_git = f"commit {commit[:12]} of {made} by Author: as it is"
    assert [each.get("noted") for each in answer["structuredContent"]["ranges"]] == [by_agent, None, by_person]
    assert answer["content"][0]["text"].splitlines() == [
        "a.txt: 3 lines",
        f"line 1: from before snapd started recording; according to a git-ai note, commit {by_agent}",
        f"line 2: from before snapd started recording; according to git, {of_git}",
        f"line 3: from before snapd started recording; according to a git-ai note, commit {by_person}",
    ]

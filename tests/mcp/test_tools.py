"""Every tool, in a server that was started as agents do, with a real daemon; git is the oracle."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

import pytest

from snapd.mcp.tools.results import MAX_DIFF, MAX_FILES

from .conftest import SESSION
from .peer import VERSIONS

if TYPE_CHECKING:
    from .conftest import World

OTHER = "somebody-elses"


def test_history_lists_what_happened_latest_first(world: World) -> None:
    first = world.step(a_txt="one\nTWO\nthree\n")
    world.write(b_txt="typed\n")
    second = world.step(OTHER, tool="Write", c_txt="c\n")
    world.client.session_undo(OTHER)
    entries = world.peer().done("history")["entries"]
    assert [entry["kind"] for entry in entries] == ["undo", "step", "user", "step"]
    undo, by_other, typed, mine = entries
    assert (undo["steps"], undo["sessionId"]) == ([second], OTHER)
    assert (by_other["stepId"], by_other["state"], by_other["tool"]) == (second, "undone", "Write")
    assert "mine" not in by_other
    assert [row["file"] for row in typed["files"]] == ["b.txt"]
    assert (mine["stepId"], mine["mine"], mine["messageId"], mine["agent"]) == (first, True, "m1", "bot")
    assert mine["files"] == [{"file": "a.txt", "status": "modified", "additions": 1, "deletions": 1, "binary": False}]


def test_history_can_be_of_a_session_and_of_files_and_has_pages(world: World) -> None:
    own = [world.step(a_txt=f"{number}\n") for number in range(3)]
    other = world.step(OTHER, b_txt="other\n")
    peer = world.peer()
    mine = peer.done("history", session="mine")["entries"]
    assert [entry["stepId"] for entry in mine] == own[::-1]
    assert [entry["stepId"] for entry in peer.done("history", session=OTHER)["entries"]] == [other]
    assert [entry["stepId"] for entry in peer.done("history", files=["b.txt"])["entries"]] == [other]
    seen, cursor = [], {}
    while True:
        answer = peer.call("history", limit=2, **cursor)
        page = answer["structuredContent"]
        # some clients show a model the text alone
        assert page.get("nextCursor", "") in answer["content"][0]["text"]
        assert all(entry["stepId"] in answer["content"][0]["text"] for entry in page["entries"])
        assert len(page["entries"]) <= 2
        seen += [entry["stepId"] for entry in page["entries"]]
        if "nextCursor" not in page:
            break
        cursor = {"cursor": page["nextCursor"]}
    assert seen == [other, *own[::-1]]


def test_show_has_what_the_step_changed_and_no_more(world: World) -> None:
    step = world.step(a_txt="one\nTWO\nthree\n")
    expected = world.git("diff", "--no-color")
    world.write(a_txt="one\nTWO\nthree\nfour\n")
    peer = world.peer()
    shown = peer.call("show", step=step[:6])
    assert shown["structuredContent"]["diff"] == expected
    assert shown["structuredContent"]["step"]["stepId"] == step
    assert expected.rstrip("\n") in shown["content"][0]["text"]
    assert peer.done("show", step=step, files=["b.txt"])["diff"] == ""


def test_the_last_step_is_that_of_this_agent_that_changed_something(world: World) -> None:
    peer = world.peer()
    assert peer.failed("show", step="last")["kind"] == "unknownStep"
    other = world.step(OTHER, b_txt="other\n")
    assert peer.done("show", step="last")["step"]["stepId"] == other
    mine = world.step(a_txt="mine\n")
    world.step(OTHER, b_txt="other again\n")
    # a hook begins a step for the very call that asks
    world.step(tool="mcp__snapd__show")
    peer.done("checkpoint", name="now")
    assert peer.done("show", step="last")["step"]["stepId"] == mine
    nobody = world.peer(env={"CLAUDE_CODE_SESSION_ID": ""})
    assert nobody.done("show", step="last")["step"]["sessionId"] == OTHER


def test_a_step_has_to_be_named_so_that_it_is_one(world: World) -> None:
    for number in range(20):
        world.step(a_txt=f"{number}\n")
    peer = world.peer()
    by_first: dict[str, int] = {}
    for entry in peer.done("history", limit=100)["entries"]:
        by_first[entry["stepId"][0]] = by_first.get(entry["stepId"][0], 0) + 1
    # of 20 steps, two have the same of 16 first digits
    several = next(digit for digit, number in by_first.items() if number > 1)
    error = peer.failed("show", step=several)
    assert error["kind"] == "invalidParams"
    assert "is ambiguous" in error["message"]


def test_diff_since_a_step_a_session_a_snapshot_or_a_checkpoint(world: World) -> None:
    start = world.client.track()["hash"]
    world.step(OTHER, b_txt="other\n")
    world.commit()
    since_session = world.step(a_txt="one\nTWO\nthree\n")
    between = world.client.track()["hash"]
    world.write(a_txt="one\nTWO\n3\n", d_txt="new\n")
    world.git("add", "-AN")
    expected = world.git("diff", "--no-color")
    peer = world.peer()
    for arguments in ({}, {"session": "mine"}, {"session": SESSION}, {"step": since_session}, {"step": "last"}):
        found = peer.done("diff", **arguments)
        assert found["diff"] == expected, arguments
        assert [row["file"] for row in found["files"]] == ["a.txt", "d.txt"]
        counts = world.git("diff", "--numstat").split()
        assert (found["additions"], found["deletions"]) == (int(counts[0]) + int(counts[3]), int(counts[1]))
    assert peer.done("diff", snapshot=start)["fileCount"] == 3
    assert peer.done("diff", snapshot=start[:8], files=["b.txt"])["fileCount"] == 1
    assert peer.done("diff", snapshot=between)["since"] == between
    peer.done("checkpoint", name="before the feast")
    assert peer.done("diff", snapshot="before the feast")["diff"] == ""
    assert peer.done("diff", snapshot="last")["diff"] == ""


def test_diff_says_what_it_cannot_start_from(world: World) -> None:
    peer = world.peer()
    assert peer.failed("diff", snapshot="last")["kind"] == "unknownSnapshot"
    assert peer.failed("diff")["kind"] == "unknownSession"
    assert peer.failed("diff", session="nobody")["kind"] == "unknownSession"
    assert peer.failed("diff", snapshot="no such thing")["kind"] == "unknownSnapshot"
    assert peer.failed("diff", snapshot="ab" * 20)["kind"] == "unknownSnapshot"
    assert peer.failed("diff", snapshot="abcdef12")["kind"] == "unknownSnapshot"
    assert peer.failed("diff", snapshot="abc")["kind"] == "invalidParams"
    unknown = world.peer(env={"CLAUDE_CODE_SESSION_ID": ""})
    assert "did not report its session" in unknown.failed("diff")["message"]


def test_what_is_long_is_cut_with_a_note(world: World) -> None:
    files: dict[str, str | None] = {f"f{number:03}": f"{number}\n" * 100 for number in range(MAX_FILES + 5)}
    step = world.step(**files)
    world.git("add", "-AN")
    whole = world.git("diff", "--no-color")
    shown = world.peer().done("show", step=step)
    assert len(shown["step"]["files"]) == MAX_FILES
    assert shown["step"]["fileCount"] == MAX_FILES + 5
    assert MAX_DIFF - 100 < len(shown["diff"]) <= MAX_DIFF
    assert whole.startswith(shown["diff"])
    assert shown["diff"].endswith("\n")
    assert f"{len(shown['diff'])} of {len(whole)} characters" in shown["note"]


def test_a_checkpoint_names_the_files_as_they_are(world: World) -> None:
    peer = world.peer()
    world.write(a_txt="at the checkpoint\n")
    world.commit()
    made = peer.done("checkpoint", name=" before ")
    assert made == {"name": "before", "snapshot": world.git("rev-parse", "HEAD^{tree}").strip(), "skipped": []}
    world.write(a_txt="later\n")
    moved = peer.done("checkpoint", name="before")
    assert moved["moved"] is True
    assert moved["snapshot"] != made["snapshot"]
    # another server, of another agent, knows it too
    other = world.peer(env={"CLAUDE_CODE_SESSION_ID": OTHER})
    assert other.done("diff", snapshot="before")["fileCount"] == 0
    # it is nobody's step that could be undone
    assert peer.failed("undo", session="all")["kind"] == "nothingToUndo"


def test_a_checkpoint_takes_nothing_from_a_step_that_is_open(world: World) -> None:
    world.client.session_start(SESSION)
    step = world.client.step_begin(SESSION)["stepId"]
    world.write(a_txt="half\n")
    world.peer().done("checkpoint", name="in the middle")
    world.write(b_txt="rest\n")
    ended = world.client.step_end(step)
    assert [row["file"] for row in ended["files"]] == ["a.txt", "b.txt"]
    assert all("shared" not in row for row in ended["files"])


@pytest.mark.parametrize("version", VERSIONS)
def test_undo_takes_back_the_last_step_of_this_agent_and_redo_does_it_again(world: World, version: str) -> None:
    step = world.step(a_txt="one\nTWO\nthree\n", c_txt="c\n")
    world.step(OTHER, b_txt="other\n")
    world.write(a_txt="zero\none\nTWO\nthree\n")
    peer = world.peer(version)
    plan = peer.done("undo")
    assert (plan["status"], plan["fileCount"], plan["left"]) == ("planned", 2, 0)
    assert {row["file"]: row["outcome"] for row in plan["files"]} == {"a.txt": "merged", "c.txt": "deleted"}
    assert [each["stepId"] for each in plan["steps"]] == [step]
    assert plan["token"] in plan["note"]
    assert world.text("a.txt") == "zero\none\nTWO\nthree\n"
    world.commit()
    done = peer.done("undo", token=plan["token"])
    assert (done["status"], done["diff"]) == ("done", plan["diff"])
    assert "differs" not in done
    assert world.git("diff", "--no-color") == done["diff"]
    assert (world.text("a.txt"), world.text("b.txt"), world.text("c.txt")) == (
        "zero\none\ntwo\nthree\n",
        "other\n",
        None,
    )
    again = peer.done("redo")
    assert peer.done("redo", token=again["token"])["status"] == "done"
    assert world.git("diff") == ""


def test_undo_of_a_step_a_message_some_files_or_the_whole_folder(world: World) -> None:
    first = world.step(a_txt="first\n", b_txt="first\n")
    world.step(OTHER, c_txt="other\n")
    peer = world.peer()

    def do(**arguments: object) -> None:
        plan = peer.done("undo", **arguments)
        assert peer.done("undo", **arguments, token=plan["token"])["status"] == "done"

    do(session="all")
    assert world.text("c.txt") is None
    do(step=first, files=["b.txt"])
    assert (world.text("a.txt"), world.text("b.txt")) == ("first\n", "b\n")
    world.step(d_txt="d\n")
    do(message="m1", session="mine")
    assert (world.text("a.txt"), world.text("d.txt")) == ("one\ntwo\nthree\n", None)
    assert world.git("status", "--porcelain") == ""
    assert peer.failed("undo")["kind"] == "nothingToUndo"
    assert peer.failed("undo", step=first)["kind"] == "nothingToUndo"
    assert peer.failed("undo", session="nobody")["kind"] == "unknownSession"


@pytest.mark.parametrize("version", VERSIONS)
def test_git_goes_back_if_it_is_asked_for(world: World, version: str) -> None:
    world.git("branch", "topic")
    before = world.git("for-each-ref")
    world.step(c_txt="c\n")
    world.client.session_start(SESSION)
    step = world.client.step_begin(SESSION, tool="Bash")["stepId"]
    world.git("commit", "-q", "--allow-empty", "-m", "second")
    world.git("branch", "-D", "topic")
    world.client.step_end(step)
    after = world.git("for-each-ref")
    (main,) = [line.split()[2].removeprefix("refs/heads/") for line in after.splitlines()]
    moved = f"{main} {before[:7]} → {after[:7]}, branch topic deleted"
    back = f"{main} {after[:7]} → {before[:7]}, branch topic created at {before[:7]}"
    peer = world.peer(version)
    (entry,) = peer.done("history", limit=1)["entries"]
    assert entry["git"] == moved
    assert f"\n  git: {moved}" in peer.call("show", step=step)["content"][0]["text"]
    left = peer.done("undo", step=step)
    assert (left["status"], left["git"]) == ("unchanged", [f"git stays as it is: {moved}; `git` takes that back, too"])
    plan = peer.done("undo", git=True)
    assert (plan["status"], plan["git"], plan["fileCount"]) == ("planned", [f"git: {back}"], 0)
    # the token is for the plan with git
    assert peer.call("undo", token=plan["token"])["structuredContent"]["status"] == "refused"
    assert world.git("for-each-ref") == after
    assert peer.done("undo", git=True, token=plan["token"])["status"] == "done"
    assert world.git("for-each-ref") == before
    again = peer.done("redo", git=True)
    assert f"\ngit: {moved}" in peer.call("redo", git=True, token=again["token"])["content"][0]["text"]
    assert world.git("for-each-ref") == after
    # a part that has moved since stays, and says why
    world.git("branch", "topic")
    plan = peer.done("undo", step=step, git=True)
    assert plan["git"] == [
        f"git: {main} {after[:7]} → {before[:7]}",
        "left in git: refs/heads/topic: it has changed since",
    ]
    assert peer.failed("undo", step=step, files=["c.txt"], git=True)["kind"] == "invalidParams"


def test_conflicts_are_told_and_what_can_be_undone_is(world: World) -> None:
    world.step(a_txt="one\nTWO\nthree\n", b_txt="B\n")
    world.write(a_txt="one\n2\nthree\n")
    peer = world.peer()
    plan = peer.done("undo")
    assert plan["left"] == 1
    assert plan["files"][0] == {"file": "a.txt", "outcome": "conflict", "reason": "changedSince"}
    assert "1 file would stay unchanged" in plan["note"]
    done = peer.done("undo", token=plan["token"])
    assert (done["status"], done["steps"][0]["state"]) == ("done", "partly")
    assert "1 file stayed unchanged" in done["note"]
    assert (world.text("a.txt"), world.text("b.txt")) == ("one\n2\nthree\n", "b\n")
    rest = peer.call("undo")
    assert (rest["isError"], rest["structuredContent"]["status"]) == (True, "blocked")
    assert "token" not in rest["structuredContent"]


def test_a_file_is_restored_as_at_a_step_or_snapshot(world: World) -> None:
    step = world.step(a_txt="by the step\n")
    world.client.track()
    world.write(a_txt="later\n", b_txt=None)
    peer = world.peer()

    def restore(**arguments: str) -> None:
        plan = peer.done("restore_file", **arguments)
        assert plan["status"] == "planned"
        assert peer.done("restore_file", **arguments, token=plan["token"])["status"] == "done"

    restore(path="a.txt", step=step, when="after")
    assert world.text("a.txt") == "by the step\n"
    restore(path=str(world.folder / "a.txt"), step="last")
    restore(path="b.txt", step=step)
    assert world.git("status", "--porcelain") == ""
    peer.done("checkpoint", name="whole")
    world.write(a_txt="x\n", c_txt="new\n")
    restore(path="c.txt", snapshot="whole")
    assert world.text("c.txt") is None
    plan = peer.done("undo", session="all")
    peer.done("undo", session="all", token=plan["token"])
    assert world.text("c.txt") == "new\n"


def test_what_is_there_already_needs_no_plan(world: World) -> None:
    world.client.track()
    result = world.peer().done("restore_file", path="a.txt", snapshot="last")
    assert (result["status"], result["fileCount"]) == ("unchanged", 1)
    assert "token" not in result


def test_paths_lead_nowhere_else(world: World) -> None:
    world.client.track()
    peer = world.peer()
    for path in ("../x", "/etc/passwd", ".git/config"):
        assert peer.failed("restore_file", path=path, snapshot="last")["kind"] == "pathOutsideWorkspace"
    assert world.git("status", "--porcelain") == ""


def test_names_that_are_no_text_survive(world: World) -> None:
    path = os.fsencode(world.folder) + b"/\xff.txt"
    world.client.session_start(SESSION)
    step = world.client.step_begin(SESSION)["stepId"]
    with open(path, "wb") as file:
        file.write(b"x\n")
    world.client.step_end(step)
    peer = world.peer()
    (row,) = peer.done("show", step=step)["step"]["files"]
    assert row["uri"].endswith("/%FF.txt")
    plan = peer.done("undo", step=step, files=[row["uri"]])
    peer.done("undo", step=step, files=[row["uri"]], token=plan["token"])
    assert not os.path.exists(path)


def test_names_cannot_pass_for_another_plan(world: World) -> None:
    name = "x\n  delete: nothing\x1b[2K"
    step = world.step(**{name: "x\n"})
    shown = world.peer().call("undo", step=step)
    assert "delete: x\\n  delete: nothing\\x1b[2K\n" in shown["content"][0]["text"]
    assert shown["structuredContent"]["files"][0]["file"] == name


def test_a_step_that_changed_nothing_needs_no_plan(world: World) -> None:
    assert world.peer().done("undo", step=world.step())["status"] == "unchanged"


def test_a_step_whose_changes_are_gone_does_not_count_as_undone(world: World) -> None:
    step = world.step(a_txt="mine\n")
    world.write(a_txt="one\ntwo\nthree\n")
    done = world.peer().done("undo", step=step)
    assert (done["status"], done["steps"][0]["state"]) == ("unchanged", "applied")
    assert [file["reason"] for file in done["files"]] == ["already"]


def test_a_step_that_is_open_has_no_after(world: World) -> None:
    world.client.session_start(SESSION)
    step = world.client.step_begin(SESSION)["stepId"]
    error = world.peer().failed("restore_file", path="a.txt", step=step, when="after")
    assert "still open" in error["message"]


def test_a_folder_that_is_gone_is_told(world: World) -> None:
    peer = world.peer()
    peer.done("history")
    shutil.rmtree(world.folder)
    assert peer.failed("checkpoint", name="too late")["kind"] == "workspaceGone"

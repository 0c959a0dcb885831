"""`/undo`, `/redo` and `/steps` do what they say, and say what they did."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from snapd.sharing.sessions import SHORTEST
from tests.acp.real import Decision, Work, allow
from tests.acp.streams import prompt, result
from tests.support.git import run_git


@pytest.fixture
def work(tmp_path: Path) -> Iterator[Work]:
    made = Work(tmp_path)
    yield made
    made.close()


def test_undo_takes_back_the_last_prompt_and_redo_does_it_again(work: Work) -> None:
    work.turn("add a", {"a": "1\n"}, {"b": "1\n"})
    work.turn("change a", {"a": "2\n"}, {"b": None})
    before = work.files()
    said = work.command("/undo")
    assert work.files() == {"a": "1\n", "b": "1\n"}
    assert said == ("Undid the prompt “change a”.\n\n- `a`: restored\n- `b`: restored\n\n`/redo` redoes it.")
    assert work.command("/undo").startswith("Undid the prompt “add a”.\n\n- `a`: deleted\n- `b`: deleted")
    assert work.files() == {}
    said = work.command("/undo")
    assert said.startswith("snapd: nothing that the agent changed in this session is left to undo.")
    assert work.command("/redo").startswith("Redid the prompt “add a”.\n\n- `a`: changed again")
    assert work.command("/redo").startswith("Redid the prompt “change a”.")
    assert work.files() == before
    assert work.command("/redo").startswith("snapd: ")


def test_several_prompts_at_once(work: Work) -> None:
    for number in range(4):
        work.turn(f"prompt {number}", {"a": f"{number}\n"}, {f"b{number}": "x\n"})
    said = work.command("/undo 3")
    assert said.startswith("Undid the prompt “prompt 3”, the prompt “prompt 2” and the prompt “prompt 1”.\n")
    assert len(work.questions) == 1
    assert work.files() == {"a": "0\n", "b0": "x\n"}
    said = work.command("/redo 2")
    assert said.startswith("Redid the prompt “prompt 1” and the prompt “prompt 2”.\n")
    assert len(work.questions) == 1
    assert work.files() == {"a": "2\n", "b0": "x\n", "b1": "x\n", "b2": "x\n"}
    work.command("/undo 2")
    assert work.command("/redo").startswith("Redid the prompt “prompt 1” and the prompt “prompt 2”.\n")
    assert re.findall("“(.*?)”", work.command("/undo 999")) == ["prompt 2", "prompt 1", "prompt 0"]
    assert work.files() == {}
    assert len(re.findall("“", work.command("/redo 999"))) == 4


def test_what_is_agreed_to_is_what_happens(work: Work) -> None:
    work.turn("add a", {"a": "1\n"})
    work.turn("change a", {"a": "2\n"})

    def meanwhile(work: Work) -> dict[str, Any]:
        work.write("a", "3\n")
        return allow(work)

    before = work.ask("snapshot/list")
    said = work.command("/undo", meanwhile, reject)
    assert said == "Nothing was changed."
    assert work.files() == {"a": "3\n"}
    first, second = (asked["toolCall"] for asked in work.questions)
    assert first["title"] == "Undo the prompt “change a”?"
    assert first["content"][0]["content"]["text"] == "- `a`: restored"
    assert second["content"][0]["content"]["text"].startswith("Something has changed since.")
    assert "**left unchanged** (changed since" in second["content"][0]["content"]["text"]
    assert work.ask("snapshot/list") == before
    work.write("a", "2\n")
    work.command("/undo")
    assert work.files() == {"a": "1\n"}
    # a redo asks, too; and after another undo there is something else to do again
    said = work.command("/redo", undo_the_first, allow)
    titles = [asked["toolCall"]["title"] for asked in work.questions]
    assert titles == ["Redo the prompt “change a”?", "Redo the prompt “add a”?"]
    assert said.startswith("Redid the prompt “add a”.")
    assert work.files() == {"a": "1\n"}


def undo_the_first(work: Work) -> dict[str, Any]:
    work.ask("session/undo", sessionId="S")
    return allow(work)


def reject(_: Work) -> dict[str, Any]:
    return {"result": {"outcome": {"outcome": "selected", "optionId": "reject"}}}


def with_git(_: Work) -> dict[str, Any]:
    return {"result": {"outcome": {"outcome": "selected", "optionId": "allow-with-git"}}}


def dismiss(_: Work) -> dict[str, Any]:
    return {"result": {"outcome": {"outcome": "cancelled"}}}


def cannot_ask(_: Work) -> dict[str, Any]:
    return {"error": {"code": -32601, "message": "Method not found"}}


@pytest.mark.parametrize("command", ["/undo", "/undo 2", "/undo {step}", "/redo"])
@pytest.mark.parametrize("decision", [reject, dismiss, cannot_ask, lambda _: {"result": None}])
def test_nothing_happens_without_a_yes(work: Work, command: str, decision: Decision) -> None:
    work.turn("add a", {"a": "1\n"}, {"b": "1\n"})
    work.turn("change a", {"a": "2\n"})
    work.turn("change b", {"b": "2\n"})
    work.command("/undo")
    before = (work.files(), work.ask("snapshot/list"), work.steps())
    said = work.command(command.format(step=work.steps()[0]["stepId"]), decision)
    assert said.startswith("Nothing was changed")
    assert len(work.questions) == 1
    assert (work.files(), work.ask("snapshot/list"), work.steps()) == before
    assert work.ended["result"]["stopReason"] == ("cancelled" if decision is dismiss else "end_turn")


def test_the_agent_goes_on_while_the_person_thinks(work: Work) -> None:
    work.turn("add a", {"a": "1\n"})

    def another_prompt(work: Work) -> dict[str, Any]:
        work.say(prompt(8, "S", "more"))
        return allow(work)

    assert "the agent is working again" in work.command("/undo", another_prompt)
    work.say(result(8, stopReason="end_turn"))
    assert work.files() == {"a": "1\n"}
    assert len(work.steps()) == 3


def test_one_step(work: Work) -> None:
    work.turn("add both", {"a": "1\n"}, {"b": "1\n"})
    step = next(step["stepId"] for step in work.steps() if step.get("partId") == "t0")
    assert work.command(f"/undo {step[:SHORTEST]}").startswith(f"Undid step `{step[:SHORTEST]}`.\n\n- `a`: deleted")
    assert work.files() == {"b": "1\n"}
    assert work.command("/redo").startswith("Redid the prompt “add both”")
    assert work.files() == {"a": "1\n", "b": "1\n"}


def test_a_middle_prompt_goes_and_the_later_one_stays(work: Work) -> None:
    work.write("a", "1\n2\n3\n4\n5\n6\n")
    work.turn("first line", {"a": "one\n2\n3\n4\n5\n6\n"})
    work.turn("last line", {"a": "one\n2\n3\n4\n5\nsix\n"})
    step = next(step["stepId"] for step in work.steps() if "partId" not in step)
    said = work.command(f"/undo {step}")
    assert "`a`: undone; later changes stay" in said
    assert work.files() == {"a": "1\n2\n3\n4\n5\nsix\n"}


def test_a_conflict_is_told_in_words_with_what_to_do(work: Work) -> None:
    work.write("a", "1\n2\n3\n")
    work.turn("write a", {"a": "1\ntwo\n3\n"}, {"b": "1\n"})
    work.write("a", "1\nmine\n3\n")
    said = work.command("/undo")
    assert work.files() == {"a": "1\nmine\n3\n"}
    step = next(step["stepId"] for step in work.steps() if step.get("partId") == "t0")
    assert said.startswith("Undid the prompt “write a”, but not in every file.\n\n")
    assert "- `a`: **left unchanged** (changed since, in line 2, by you)" in said
    assert f"`snapd undo -C {work.folder} {step[:SHORTEST]} --on-conflict overwrite`" in said
    assert f"`snapd undo -C {work.folder} {step[:SHORTEST]} --on-conflict keep`" in said
    # once more is the same once more: nothing is lost
    assert work.command("/undo").startswith("Nothing was changed: the prompt “write a” was not undone.")
    assert work.files() == {"a": "1\nmine\n3\n"}


def test_the_users_own_changes_stay(work: Work) -> None:
    work.write("mine", "1\n")
    work.turn("write a", {"a": "1\n"})
    work.write("mine", "2\n")
    work.write("later", "1\n")
    work.command("/undo")
    assert work.files() == {"mine": "2\n", "later": "1\n"}


@pytest.mark.parametrize("word", ["zzz", "0", "-1", "9999999", "abcd", "../..", "1e3"])
def test_what_is_no_step(work: Work, word: str) -> None:
    work.turn("write a", {"a": "1\n"})
    said = work.command(f"/undo {word}")
    assert said == f"snapd: there is no step {word!r} in this session.\n\n`/steps` lists what it changed."
    assert work.files() == {"a": "1\n"}


def test_steps_of_other_sessions_are_left_alone(work: Work) -> None:
    work.ask("session/start", sessionId="other")
    step = work.ask("step/begin", sessionId="other")["stepId"]
    work.write("theirs", "1\n")
    work.ask("step/end", stepId=step)
    assert "nothing that the agent changed" in work.command("/undo")
    assert f"no step {step!r}" in work.command(f"/undo {step}")
    assert work.files() == {"theirs": "1\n"}


def test_steps_are_listed(work: Work) -> None:
    assert work.command("/steps") == "The agent has not changed anything in this session."
    work.turn("look *around*")
    work.turn("write `a`", {"a": "1\n"}, {"b": "1\n", "c": "1\n"})
    work.turn("more", {"a": "2\n"})
    work.command("/undo")
    said = work.command("/steps")
    ids = {step.get("partId", step["messageId"]): step["stepId"][:SHORTEST] for step in work.steps()}
    shown = re.sub(r"\d\d:\d\d", "12:00", said).splitlines()
    prompts = [step["stepId"][:SHORTEST] for step in work.steps() if "partId" not in step]
    assert shown == [
        f"- 12:00 **more** `{prompts[2]}` (undone)",
        f"  - `{ids['t2']}` Edit a (undone): `a` +1 -1",
        f"- 12:00 **write \\`a\\`** `{prompts[1]}`",
        f"  - `{ids['t0']}` Edit a: `a` +1 -0",
        f"  - `{ids['t1']}` Edit b\\*c: `b` +1 -0, `c` +1 -0",
    ]


def test_a_long_list_of_steps_is_cut(work: Work) -> None:
    for number in range(7):
        work.turn(f"prompt {number}", {"a": f"{number}\n"})
    said = work.command("/steps")
    assert re.findall(r"\*\*(.*)\*\*", said) == [f"prompt {number}" for number in (6, 5, 4, 3, 2)]
    assert "`/steps 10` lists earlier ones" in said
    assert re.findall(r"\*\*(.*)\*\*", work.command("/steps 7")) == [f"prompt {number}" for number in range(6, -1, -1)]


def test_more_steps_than_are_asked_for_at_first(work: Work) -> None:
    work.turn("the one that wrote", {"a": "1\n"})
    work.turn("many that did nothing", *({} for _ in range(110)), kind="execute")
    assert work.command("/undo").startswith("Undid the prompt “the one that wrote”.")


def test_strange_names_are_shown_so_that_they_are_seen(work: Work) -> None:
    work.turn("write\nthis", {"a`b\x1b[31m": "1\n"})
    assert "- `` a`b�[31m ``: deleted" in work.command("/undo")


def test_what_the_agent_wrote_outside_of_its_calls_is_the_prompts(work: Work) -> None:
    """A call may have run before the agent says so: its changes are taken back with the prompt."""
    work.say(prompt(5, "S", "run"))
    work.write("early", "1\n")
    work.say(result(5, stopReason="end_turn"))
    step = work.steps()[0]
    assert (
        re.sub(r"\d\d:\d\d", "12:00", work.command("/steps"))
        == f"- 12:00 **run** `{step['stepId'][:SHORTEST]}`: `early` +1 -0"
    )
    work.command("/undo")
    assert work.files() == {}


def test_what_the_agent_wrote_before_it_said_so_is_the_prompts_though_another_call_was_at_work(work: Work) -> None:
    from tests.acp.test_turns import call, over

    work.say(prompt(5, "S", "run"))
    work.say(call("one", "edit", locations=[{"path": "a"}]))
    work.write("a", "1\n")
    work.write("early", "1\n")
    work.say(call("two", "edit", locations=[{"path": "early"}]))
    work.say(over("two"))
    work.say(over("one"))
    work.say(result(5, stopReason="end_turn"))
    owned = {step.get("partId"): [row["file"] for row in step["files"]] for step in work.steps()}
    assert owned == {None: ["a", "early"], "one": ["a"], "two": []}
    work.command("/undo")
    assert work.files() == {}


def test_files_outside_of_the_folder_are_not_counted(work: Work, tmp_path: Path) -> None:
    work.turn("write both", {"a": "1\n", "../outside": "1\n"}, {".git/hooks/x": "1\n"})
    assert [row["file"] for row in work.steps()[1]["files"]] == ["a"]
    assert all(step["state"] == "applied" for step in work.steps())
    work.command("/undo")
    assert "a" not in work.files()
    assert (tmp_path / "outside").read_text() == "1\n"


def test_a_prompt_of_an_earlier_connection_is_named(work: Work) -> None:
    work.turn("write a", {"a": "1\n"})
    work.reconnect()
    assert "**write a**" in work.command("/steps")
    assert work.command("/undo").startswith("Undid the prompt “write a”.")
    assert work.files() == {}


def refs(work: Work) -> str:
    return run_git(work.folder, "for-each-ref").decode()


def test_git_stays_unless_it_is_asked_for(work: Work) -> None:
    run_git(work.folder, "init", "-qb", "main")
    work.write("a", "1\n")
    run_git(work.folder, "add", "-A")
    run_git(work.folder, "commit", "-qm", "first")
    run_git(work.folder, "branch", "to_pic")
    before = refs(work)
    work.turn("change a", {"a": "2\n"})
    work.runs_git("commit", "commit -qam second", "branch -D to_pic")
    after = refs(work)
    move = f"main {before[:7]} → {after[:7]}, branch to\\_pic deleted"
    back = f"main {after[:7]} → {before[:7]}, branch to\\_pic created at {before[:7]}"
    assert f"Git; git: {move}\n" in work.command("/steps")
    step = next(step["stepId"] for step in work.steps()[::-1] if "partId" not in step)[:SHORTEST]
    said = work.command(f"/undo {step}")
    stays = f"- git stays as it is: {move}"
    assert (
        said == f"Nothing was changed: step `{step}` was not undone.\n\n{stays}; /undo STEP --git takes that back, too"
    )
    assert refs(work) == after
    question = work.questions[0]["toolCall"]["content"][0]["content"]["text"]
    assert question == f"{stays}; “Go on, with git” takes that back, too\n\nGo on, with git:\n\n- git: {back}"
    assert work.command(f"/undo {step}", with_git).startswith(f"Undid step `{step}`.\n\n- git: {back}\n")
    assert refs(work) == before
    # what the step did stays undone unless git is asked for
    said = work.command("/redo", reject)
    question = work.questions[0]["toolCall"]["content"][0]["content"]["text"]
    assert question.startswith(f"- git stays undone: {move}; “Go on, with git” redoes that, too\n\n")
    assert work.command("/redo", with_git) == f"Redid the prompt “commit”.\n\n- git: {move}"
    assert refs(work) == after
    said = work.command(f"/undo {step} --git")
    assert said == f"Undid step `{step}`.\n\n- git: {back}\n\n`/redo --git` redoes it."
    assert work.questions[0]["toolCall"]["content"][0]["content"]["text"] == f"- git: {back}"
    assert refs(work) == before
    assert work.command("/redo --git", reject) == "Nothing was changed."
    assert work.command("/redo --git") == f"Redid the prompt “commit”.\n\n- git: {move}"
    assert refs(work) == after
    # a branch that the user moved since stays, with the reason
    run_git(work.folder, "branch", "to_pic")
    said = work.command("/undo 2 --git")
    assert said.startswith("Undid the prompt “commit” and the prompt “change a”.\n\n- `a`: restored\n- git: main ")
    assert "- left in git: refs/heads/to\\_pic: it has changed since\n" in said
    assert refs(work).splitlines() == [before.splitlines()[0], f"{after[:40]} commit\trefs/heads/to_pic"]
    # files go back without git; what it then says is what takes git back
    was = refs(work)
    work.runs_git("both", "mv a b", "commit -qm moved")
    said = work.command("/undo")
    assert said.startswith("Undid the prompt “both”.\n\n- `a`: restored\n- `b`: deleted\n- git stays as it is: main ")
    (command,) = re.findall(r"(/undo \w+ --git) takes that back", said)
    assert work.command(command).startswith("Undid step")
    assert refs(work) == was

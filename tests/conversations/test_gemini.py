"""Gemini CLI and Qwen Code, whose hooks give a prompt no id."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import attrs
import pytest

from snapd.conversations.branch import UNFORESEEN, NoBranch
from snapd.conversations.gemini import gemini, qwen

from .transcripts import PROMPTS, Conversation, conversation, rows_of

if TYPE_CHECKING:
    from pathlib import Path

    from snapd.conversations.branch import Prompt

GEMINI = "e7939b29-76d0-4a5c-97d0-c1cb5ac5a757"
FIRST = "session-2026-11-29T10-59-e7939b29.jsonl"


@pytest.fixture
def of_gemini(tmp_path: Path) -> Conversation:
    (tmp_path / "projects.json").write_text('{"projects": {"/other": "other", "/home/demo/project": "project"}}')
    return conversation("gemini", GEMINI, f"tmp/project/chats/{FIRST}", tmp_path)


@pytest.fixture
def of_qwen(tmp_path: Path) -> Conversation:
    made = conversation("qwen", "", "session.jsonl", tmp_path)
    return attrs.evolve(made, session=rows_of(made.path)[0]["sessionId"])


def is_prompt(row: dict[str, Any], text: str) -> bool:
    parts = row.get("content") or row.get("message", {}).get("parts")
    return row.get("type") == "user" and parts == [{"text": text}]


def prompt(here: Conversation, number: int) -> Prompt:
    """As the hook reports it, just before the row is written."""
    lines = here.path.read_bytes().splitlines(keepends=True)
    (at,) = [at for at, line in enumerate(lines) if is_prompt(json.loads(line), PROMPTS[number])]
    return here.prompt("of snapd", number, sum(map(len, lines[:at])))


def cut(here: Conversation, number: int) -> list[dict[str, Any]]:
    size = prompt(here, number).transcript
    assert size is not None
    return [json.loads(line) for line in here.path.read_bytes()[: size.size].splitlines()]


def replaced(value: Any, old: str, new: str) -> Any:
    return json.loads(json.dumps(value).replace(f'"sessionId": "{old}"', f'"sessionId": "{new}"'))


@pytest.mark.parametrize("number", [1, 2])
def test_gemini_goes_on_with_the_bytes_before_the_prompt(of_gemini: Conversation, number: int) -> None:
    branch = gemini(prompt(of_gemini, number))
    assert branch.begin is not None
    assert (branch.drops, branch.prompt) == (PROMPTS[number:], PROMPTS[number])
    assert branch.cwd == "/home/demo/project"

    new = branch.begin().session_id

    (copy,) = of_gemini.new()
    assert copy.name == f"session-snapd-{new}.jsonl"
    assert copy.stat().st_mode & 0o777 == 0o600
    assert rows_of(copy) == replaced(cut(of_gemini, number), GEMINI, new)


@pytest.mark.parametrize("number", [1, 2])
def test_qwen_goes_on_with_the_rows_before_the_prompt(of_qwen: Conversation, number: int) -> None:
    branch = qwen(prompt(of_qwen, number))
    assert branch.begin is not None
    assert (branch.drops, branch.prompt, branch.cwd) == (PROMPTS[number:], PROMPTS[number], "/home/demo/project")

    new = branch.begin().session_id

    (copy,) = of_qwen.new()
    assert copy.name == f"{new}.jsonl"
    assert rows_of(copy) == [{**row, "sessionId": new} for row in cut(of_qwen, number)]


def test_nothing_is_left_before_the_first_prompt(of_gemini: Conversation, of_qwen: Conversation) -> None:
    for branch in gemini(prompt(of_gemini, 0)), qwen(prompt(of_qwen, 0)):
        assert branch.begin is None
        assert branch.drops == PROMPTS


def test_the_file_of_the_first_process_has_the_prompts_of_later_ones(of_gemini: Conversation) -> None:
    whole = prompt(of_gemini, 2)
    stub = of_gemini.path.with_name("session-2026-11-29T11-05-e7939b29.jsonl")
    stub.write_text(json.dumps(rows_of(of_gemini.path)[0]) + "\n")
    assert whole.transcript is not None
    about = attrs.evolve(whole, sent=0, transcript=attrs.evolve(whole.transcript, path=str(stub)))

    assert gemini(about).drops == (PROMPTS[2],)
    of_gemini.path.with_name("session-2026-11-29T11-06-e7939b29.jsonl").write_bytes(of_gemini.before)
    with pytest.raises(NoBranch, match="2 of its files"):
        gemini(about)


def test_the_same_words_again_are_another_prompt(of_qwen: Conversation) -> None:
    first = rows_of(of_qwen.path)[0]
    with of_qwen.path.open("a") as file:
        print(json.dumps({**first, "uuid": "again"}), file=file)
    about = of_qwen.prompt("of snapd", 0, len(of_qwen.before))

    branch = qwen(about)
    assert branch.begin is not None
    assert branch.drops == (PROMPTS[0],)
    assert rows_of(of_qwen.path.with_name(f"{branch.begin().session_id}.jsonl"))[-1]["uuid"] != "again"


def test_what_snapd_does_not_keep_is_found_by_its_place(of_qwen: Conversation, of_gemini: Conversation) -> None:
    for branch in qwen, gemini:
        here = of_qwen if branch is qwen else of_gemini
        assert branch(attrs.evolve(prompt(here, 1), text=None)).drops == PROMPTS[1:]


def test_what_a_hook_added_for_qwen_is_another_part(of_qwen: Conversation) -> None:
    about = prompt(of_qwen, 2)
    text = of_qwen.path.read_text().replace('[{"text":"Last one"}]', '[{"text":"Last one"},{"text":"snapd: x"}]')
    of_qwen.path.write_text(text)

    assert (qwen(about).drops, qwen(about).prompt) == (("Last one",), "Last one")


def test_what_a_hook_added_is_not_the_prompt(of_gemini: Conversation) -> None:
    about = prompt(of_gemini, 2)
    text = of_gemini.path.read_text().replace(
        '[{"text":"Last one"}]', '[{"text":"Last one"},{"text":"<hook_context>snapd: x\\ny</hook_context>"}]'
    )
    of_gemini.path.write_text(text)

    assert gemini(about).prompt == "Last one"


def test_no_row_or_another_form_is_refused(of_qwen: Conversation, of_gemini: Conversation) -> None:
    with pytest.raises(NoBranch, match="does not have this prompt"):
        qwen(attrs.evolve(prompt(of_qwen, 2), text="something else"))
    with pytest.raises(NoBranch, match="none of its files"):
        gemini(attrs.evolve(prompt(of_gemini, 2), text="something else"))
    about = prompt(of_qwen, 2)
    of_qwen.path.write_text("{}\n" + of_qwen.path.read_text())
    with pytest.raises(NoBranch, match="a form that snapd does not know"):
        qwen(about)
    gone = prompt(of_gemini, 2)
    of_gemini.path.unlink()
    with pytest.raises(NoBranch, match="its file is gone"):
        gemini(gone)


AT = [{"text": "explain @a.py"}, {"text": "\n--- Content ---"}, {"text": "\nx = 1\n"}, {"text": "\n--- End ---"}]


def said(here: Conversation, parts: list[dict[str, Any]], **row: Any) -> dict[str, Any]:
    """A row of a prompt, as either program writes it."""
    content = {"message": {"parts": parts}} if here.path.name == "session.jsonl" else {"content": parts}
    known = {"sessionId": here.session, "timestamp": "2026-11-29T12:00:00.000Z", "type": "user"}
    return {**known, "uuid": "new", "id": "new", **content, **row}


def add(here: Conversation, *rows: dict[str, Any]) -> int:
    """Appends rows; gives the size before them."""
    size = here.path.stat().st_size
    with here.path.open("a") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)
    return size


def after(here: Conversation, text: str, size: int) -> Prompt:
    return attrs.evolve(here.prompt("of snapd", 0, size), text=text)


@pytest.mark.parametrize("agent", ["gemini", "qwen"])
@pytest.mark.parametrize("parts", [AT, [{"text": "look "}, {"inlineData": {}}, {"text": "here"}]])
def test_hooks_report_all_parts_in_one(
    of_gemini: Conversation, of_qwen: Conversation, agent: str, parts: list[dict[str, Any]]
) -> None:
    here, find = (of_gemini, gemini) if agent == "gemini" else (of_qwen, qwen)
    size = add(here, said(here, [*parts, {"text": "of another hook"}] if agent == "qwen" else parts))
    branch = find(after(here, "".join(part.get("text", "") for part in parts), size))

    assert branch.drops == (parts[0]["text"].strip(),)
    assert branch.begin is not None


@pytest.mark.parametrize("agent", ["gemini", "qwen"])
def test_a_first_prompt_whose_event_came_late(of_gemini: Conversation, of_qwen: Conversation, agent: str) -> None:
    here, find = (of_gemini, gemini) if agent == "gemini" else (of_qwen, qwen)
    again = said(here, [{"text": PROMPTS[0]}], timestamp="2026-11-30T12:00:00.000Z")
    add(here, again)
    late = attrs.evolve(here.prompt("of snapd", 0, 0), sent=1795953600000)

    branch = find(late)
    assert branch.begin is None
    assert branch.drops == (*PROMPTS, PROMPTS[0])


@pytest.mark.parametrize("agent", ["gemini", "qwen"])
def test_ids_of_another_kind(of_gemini: Conversation, of_qwen: Conversation, agent: str) -> None:
    here, find = (of_gemini, gemini) if agent == "gemini" else (of_qwen, qwen)
    size = add(here, said(here, [{"text": "go"}]), said(here, [{"text": "on"}], id=["x"], uuid={"x": 1}))
    with pytest.raises(UNFORESEEN):
        find(after(here, "go", size)).begin()  # type: ignore[misc]
    assert [path.name for path in here.path.parent.glob("*.jsonl")] == [here.path.name]


def test_what_the_program_took_back_itself_is_no_prompt(of_gemini: Conversation) -> None:
    first = next(row["id"] for row in rows_of(of_gemini.path) if is_prompt(row, PROMPTS[0]))
    size = add(
        of_gemini,
        said(of_gemini, [{"text": "P"}], id="p"),
        said(of_gemini, [{"text": "Q"}], id="q"),
        {"$rewindTo": "q"},
        said(of_gemini, [{"text": "R"}], id="r"),
    )
    assert gemini(after(of_gemini, "P", size)).drops == ("P", "R")
    with pytest.raises(NoBranch, match="taken back in the program"):
        gemini(after(of_gemini, "Q", size))
    size = add(of_gemini, {"$rewindTo": first}, said(of_gemini, [{"text": "anew"}], id="s"))
    branch = gemini(after(of_gemini, "anew", size))
    assert (branch.begin, branch.drops) == (None, ("anew",))

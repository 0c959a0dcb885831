from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import attrs
import pytest

from snapd.conversations.branch import NoBranch, Prompt
from snapd.conversations.claude import claude

from .transcripts import PROMPTS, Conversation, conversation, rows_of

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def here(tmp_path: Path) -> Conversation:
    made = conversation("claude", "", "session.jsonl", tmp_path)
    (session,) = {row["sessionId"] for row in rows_of(made.path) if "sessionId" in row}
    return attrs.evolve(made, session=session)


def prompt(here: Conversation, number: int) -> Prompt:
    ids = [
        row["promptId"]
        for row in rows_of(here.path)
        if row["type"] == "user" and row["message"]["content"] == PROMPTS[number]
    ]
    return here.prompt(*ids, number)


def write(here: Conversation, rows: list[dict[str, Any]]) -> None:
    here.path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def with_prompt(row: dict[str, Any], text: str, **more: Any) -> dict[str, Any]:
    return {**row, "message": {"role": "user", "content": text}, **more}


def test_the_copy_has_what_led_to_the_prompt_with_another_id(here: Conversation) -> None:
    branch = claude(prompt(here, 2))
    assert branch.begin is not None
    assert branch.drops == (prompt(here, 2).message_id,)
    assert branch.prompt == PROMPTS[2]
    assert branch.cwd == "/home/demo/project"

    new = branch.begin().session_id

    (copy,) = here.new()
    assert copy.name == f"{new}.jsonl"
    assert copy.stat().st_mode & 0o777 == 0o600
    cut = next(at for at, row in enumerate(rows_of(here.path)) if row.get("promptId") == prompt(here, 2).message_id)
    # the conversation is straight, apart from the results of calls at once
    expected = [row for row in rows_of(here.path)[:cut] if "uuid" in row]
    assert rows_of(copy) == [{**row, "sessionId": new} for row in expected]
    results = [row for row in expected if isinstance(row.get("message", {}).get("content"), list)]
    calls = [part["id"] for row in results for part in row["message"]["content"] if part["type"] == "tool_use"]
    answered = [part["tool_use_id"] for row in results for part in row["message"]["content"] if "tool_use_id" in part]
    assert len(calls) == 4
    assert sorted(calls) == sorted(answered)


def test_all_later_prompts_go(here: Conversation) -> None:
    branch = claude(prompt(here, 1))
    assert branch.begin is not None
    assert branch.drops == (prompt(here, 1).message_id, prompt(here, 2).message_id)
    branch.begin()

    (copy,) = here.new()
    assert PROMPTS[0] in copy.read_text()
    assert PROMPTS[1] not in copy.read_text()


def test_nothing_is_left_before_the_first_prompt(here: Conversation) -> None:
    branch = claude(prompt(here, 0))

    assert branch.begin is None
    assert branch.drops == tuple(prompt(here, number).message_id for number in range(3))


def test_what_a_hook_added_before_the_first_prompt_is_no_conversation(here: Conversation) -> None:
    rows = rows_of(here.path)
    first = next(row for row in rows if row.get("promptId"))
    hook = {**first, "type": "attachment", "uuid": "hook", "promptId": None}
    write(here, [hook, *({**row, "parentUuid": "hook"} if row is first else row for row in rows)])

    assert claude(prompt(here, 0)).begin is None


def test_another_branch_of_the_conversation_stays_out(here: Conversation) -> None:
    rows = rows_of(here.path)
    second = next(row for row in rows if row.get("promptId") == prompt(here, 1).message_id)
    aside = with_prompt(second, "Aside", uuid="aside", promptId="aside")
    answer = {**second, "type": "assistant", "uuid": "answer", "parentUuid": "aside", "promptId": None}
    write(here, [each for row in rows for each in ([aside, answer, row] if row is second else [row])])
    branch = claude(here.prompt("aside", 1))

    assert branch.drops == ("aside",)
    branch = claude(prompt(here, 2))
    assert branch.begin is not None
    new = branch.begin().session_id
    assert "Aside" not in here.path.with_name(f"{new}.jsonl").read_text()


def test_a_slash_command_goes_with_the_row_before_it(here: Conversation) -> None:
    rows = rows_of(here.path)
    second = next(row for row in rows if row.get("promptId") == prompt(here, 1).message_id)
    meta = with_prompt(second, "Caveat", uuid="meta", isMeta=True)
    write(here, [each for row in rows for each in ([meta, {**row, "parentUuid": "meta"}] if row is second else [row])])
    before = here.path.read_bytes()
    branch = claude(prompt(here, 1))
    assert branch.begin is not None
    assert branch.prompt == PROMPTS[1]
    new = branch.begin().session_id

    assert "Caveat" not in here.path.with_name(f"{new}.jsonl").read_text()
    assert here.path.read_bytes() == before


def test_after_a_compaction_the_copy_has_the_summary(here: Conversation) -> None:
    rows = rows_of(here.path)
    second = next(row for row in rows if row.get("promptId") == prompt(here, 1).message_id)
    border = {**second, "type": "system", "uuid": "border", "parentUuid": None, "promptId": None}
    border |= {"subtype": "compact_boundary", "logicalParentUuid": second["parentUuid"]}
    summary = with_prompt(second, "Summary", uuid="summary", parentUuid="border", isCompactSummary=True)
    write(
        here,
        [
            each
            for row in rows
            for each in ([border, summary, {**row, "parentUuid": "summary"}] if row is second else [row])
        ],
    )
    # the summary is a part of the command that made it
    summary_of = here.prompt(prompt(here, 0).message_id, 0)
    assert claude(summary_of).drops == tuple(prompt(here, number).message_id for number in range(3))
    branch = claude(prompt(here, 2))
    assert branch.begin is not None
    copy = here.path.with_name(f"{branch.begin().session_id}.jsonl").read_text()
    assert "Summary" in copy
    assert PROMPTS[0] not in copy
    assert PROMPTS[1] in copy


def test_a_torn_last_line_stays_out(here: Conversation) -> None:
    about = prompt(here, 2)
    with here.path.open("ab") as file:
        file.write(b'{"type":"user","uuid":"torn","pro')
    branch = claude(about)

    assert branch.begin is not None
    branch.begin()


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda rows: [row for row in rows if not row.get("promptId")], "does not have this prompt"),
        (lambda rows: [{**row, "uuid": 1} if "uuid" in row else row for row in rows], "a form that snapd does not"),
        (lambda rows: [row for row in rows if row["type"] != "assistant"], "lead nowhere"),
        (lambda rows: [*rows, 1], "not a JSON object"),
        (lambda rows: [{**row, "parentUuid": row.get("uuid")} for row in rows], "lead nowhere"),
    ],
)
def test_an_unknown_form_is_refused(here: Conversation, change: Any, why: str) -> None:
    about = prompt(here, 2)
    write(here, change(rows_of(here.path)))

    with pytest.raises(NoBranch, match=why):
        claude(about)


def test_a_transcript_that_is_gone_or_unknown_is_refused(here: Conversation) -> None:
    about = prompt(here, 2)
    here.path.unlink()
    with pytest.raises(NoBranch, match="is gone"):
        claude(about)
    here.path.mkdir()
    with pytest.raises(NoBranch, match=r"cannot be read|not a file"):
        claude(about)
    with pytest.raises(NoBranch, match="does not know where"):
        claude(attrs.evolve(about, transcript=None))


def test_a_prompt_that_no_hook_reported_is_found_by_its_text(
    here: Conversation, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    home = tmp_path / "claude"
    (home / "projects/p").mkdir(parents=True)
    (home / "projects/p" / f"{here.session}.jsonl").write_bytes(here.before)
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(home))
    about = attrs.evolve(here.prompt("of the editor", 1), transcript=None)

    assert claude(about).drops == (prompt(here, 1).message_id, prompt(here, 2).message_id)
    with pytest.raises(NoBranch, match="does not have this prompt"):
        claude(attrs.evolve(about, sent=2**53))
    with pytest.raises(NoBranch, match="does not know where"):
        claude(attrs.evolve(about, session_id="../p/*"))


def test_a_command_of_the_program_is_no_conversation(here: Conversation) -> None:
    rows = rows_of(here.path)
    first = next(row for row in rows if row.get("promptId"))
    message = {"role": "user", "content": "<command-name>/clear</command-name>"}
    command = {**first, "uuid": "command", "promptId": None, "message": message}
    write(here, [command, *({**row, "parentUuid": "command"} if row is first else row for row in rows)])

    assert claude(prompt(here, 0)).begin is None


def test_of_a_slash_command_the_person_wrote_something_else(here: Conversation) -> None:
    rows = rows_of(here.path)
    about = prompt(here, 1)
    for row in rows:
        if row.get("promptId") == about.message_id and row["message"]["content"] == PROMPTS[1]:
            row["message"]["content"] = "<command-message>review</command-message>"
    write(here, rows)

    assert claude(about).prompt is None


def test_only_the_id_of_the_session_is_another(here: Conversation) -> None:
    rows = rows_of(here.path)
    call = next(row for row in rows if row["type"] == "assistant")
    call["message"]["content"] = [{"type": "tool_use", "id": "t", "input": {"sessionId": here.session, "x": '"'}}]
    rows[rows.index(call) + 1]["sessionId"] = "of an older fork"
    write(here, rows)
    branch = claude(prompt(here, 1))
    assert branch.begin is not None
    made = branch.begin().session_id

    copied = rows_of(here.path.with_name(f"{made}.jsonl"))
    assert {row["sessionId"] for row in copied} == {made}
    assert [row for row in copied if row["uuid"] == call["uuid"]] == [{**call, "sessionId": made}]


def test_rows_in_another_order_are_refused(here: Conversation) -> None:
    rows = rows_of(here.path)
    at = next(at for at, row in enumerate(rows) if row["type"] == "assistant")
    write(here, [*rows[:at], *rows[at + 1 :], rows[at]])
    with pytest.raises(NoBranch, match="in an order"):
        claude(prompt(here, 1))

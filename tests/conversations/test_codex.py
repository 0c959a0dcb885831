from __future__ import annotations

import json
import sys
from pathlib import Path

import attrs
import pytest

from snapd.conversations.branch import NoBranch, Prompt
from snapd.conversations.codex import codex

from .transcripts import PROMPTS, Conversation, conversation, rows_of

NEW = "01a22710-845b-7852-b714-000000000000"
_PROGRAM = f"""#!{sys.executable}
import json, os, sys
assert sys.argv[1:] == ["app-server"]
asked = []
for line in sys.stdin:
    message = json.loads(line)
    asked.append(message)
    if message["method"] == "thread/fork":
        with open(os.environ["CODEX_HOME"] + "/asked.json", "w") as file:
            json.dump(asked, file)
        print(open(os.environ["CODEX_HOME"] + "/answer.json").read(), flush=True)
    elif "id" in message:
        if message["method"] == "thread/archive":
            open(os.environ["CODEX_HOME"] + "/archived.json", "w").write(line)
        print(json.dumps({{"method": "configWarning"}}), flush=True)
        print(json.dumps({{"id": message["id"], "result": {{}}}}), flush=True)
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Conversation:
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    made = conversation("codex", "", "home/sessions/2026/11/29/rollout-2026-11-29T11-00-00-ID.jsonl", tmp_path)
    session = rows_of(made.path)[0]["payload"]["id"]
    return attrs.evolve(made, session=session, path=made.path.rename(made.path.with_name(f"rollout-1-{session}.jsonl")))


def turns(here: Conversation) -> list[str]:
    return [row["payload"]["turn_id"] for row in rows_of(here.path) if row["payload"].get("type") == "task_started"]


def prompt(here: Conversation, number: int) -> Prompt:
    return here.prompt(turns(here)[number], number)


def program(here: Conversation, borrowed: int, *, error: bool = False) -> Path:
    """A `codex` on the PATH, whose fork has some bytes of the original; gives the home."""
    home = here.path.parents[4]
    made = here.path.with_name(f"rollout-2-{NEW}.jsonl")
    base = {"thread_id": here.session, "end_byte_offset": borrowed}
    made.write_text(json.dumps({"type": "session_meta", "payload": {"id": NEW, "history_base": base}}) + "\n")
    answer = {"error": {"code": -32600}} if error else {"result": {"thread": {"id": NEW, "path": str(made)}}}
    (home / "answer.json").write_text(json.dumps({"id": 2, **answer}))
    executable = home.parent / "bin" / "codex"
    executable.write_text(_PROGRAM)
    executable.chmod(0o700)
    return home


def offset(here: Conversation, number: int) -> int:
    lines = here.path.read_bytes().splitlines(keepends=True)
    starts = [at for at, line in enumerate(lines) if json.loads(line)["payload"].get("type") == "task_started"]
    return sum(map(len, lines[: starts[number]]))


def test_its_program_makes_a_fork(here: Conversation) -> None:
    home = program(here, offset(here, 1))
    branch = codex(prompt(here, 1))
    assert branch.begin is not None
    assert (branch.kind, branch.prompt, branch.cwd) == ("fork", PROMPTS[1], "/home/demo/project")
    assert branch.drops == tuple(turns(here)[1:])
    made = branch.begin()

    assert (made.session_id, made.kind) == (NEW, "fork")
    asked = json.loads((home / "asked.json").read_text())
    assert [each["method"] for each in asked] == ["initialize", "initialized", "thread/fork"]
    assert asked[-1]["params"] == {
        "threadId": here.session,
        "beforeTurnId": turns(here)[1],
        "excludeTurns": True,
    }


@pytest.mark.parametrize("why", ["no program", "an error", "too much"])
def test_without_the_program_it_is_a_copy(here: Conversation, why: str) -> None:
    if why != "no program":
        program(here, offset(here, 1) + 1, error=why == "an error")
    branch = codex(prompt(here, 1))
    assert branch.begin is not None
    assert branch.kind == ("copy" if why == "no program" else "fork")
    made = branch.begin()

    assert made.kind == "copy"
    copy = here.path.with_name(f"rollout-1-{made.session_id}.jsonl")
    assert copy.stat().st_mode & 0o777 == 0o600
    before = here.path.read_bytes()[: offset(here, 1)]
    assert copy.read_bytes() == before.replace(here.session.encode(), made.session_id.encode())


def test_nothing_is_left_before_the_first_turn(here: Conversation) -> None:
    branch = codex(prompt(here, 0))
    assert branch.begin is None
    assert branch.drops == tuple(turns(here))


def test_before_the_first_turn_of_a_fork_there_is_what_it_borrows(here: Conversation) -> None:
    rows = rows_of(here.path)
    rows[0]["payload"]["history_base"] = {"thread_id": "other", "end_byte_offset": 1}
    here.path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    branch = codex(prompt(here, 0))

    assert branch.begin is not None
    # the copy would lack what it borrows
    with pytest.raises(NoBranch, match="a fork itself"):
        branch.begin()
    assert [path.name for path in here.path.parent.iterdir()] == [here.path.name]


def test_an_archived_thread(here: Conversation) -> None:
    about = prompt(here, 1)
    archived = here.path.parents[4] / "archived_sessions" / here.path.name
    archived.parent.mkdir()
    here.path.rename(archived)

    assert len(codex(about).drops) == 2


def test_no_turn_or_another_form_is_refused(here: Conversation) -> None:
    with pytest.raises(NoBranch, match="this prompt 0 times"):
        codex(here.prompt("unknown", 1))
    about = prompt(here, 1)
    here.path.write_text(here.path.read_text().replace('"session_meta"', '"session"'))
    with pytest.raises(NoBranch, match="a form that snapd does not know"):
        codex(about)


def test_a_turn_that_no_hook_reported_is_found_by_its_text(here: Conversation, monkeypatch: pytest.MonkeyPatch) -> None:
    home = program(here, offset(here, 1))
    here.path.with_name(f"rollout-2-{NEW}.jsonl").rename(home / "fork.jsonl")
    monkeypatch.setenv("CODEX_HOME", str(home))
    branch = codex(attrs.evolve(here.prompt("of the editor", 1), transcript=None))

    assert branch.drops == tuple(turns(here)[1:])


def test_a_fork_with_too_much_is_put_away(here: Conversation) -> None:
    home = program(here, offset(here, 1) + 1)
    branch = codex(prompt(here, 1))
    assert branch.begin is not None
    assert branch.begin().kind == "copy"
    assert json.loads((home / "archived.json").read_text())["params"] == {"threadId": NEW}


def test_an_archived_thread_whose_day_is_gone(here: Conversation) -> None:
    archived = here.path.parents[4] / "archived_sessions"
    archived.mkdir()
    about = prompt(here, 1)
    here.path.rename(archived / here.path.name)
    here.path.parent.rmdir()
    branch = codex(about)
    assert branch.begin is not None
    made = branch.begin()
    assert here.path.with_name(f"rollout-1-{made.session_id}.jsonl").exists()


def test_an_older_rollout_has_no_ids_of_turns(here: Conversation) -> None:
    home = program(here, 0)
    rows = rows_of(here.path)
    for row in rows:
        row["payload"].pop("turn_id", None)
    here.path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = attrs.evolve(here.prompt("of another client", 1), transcript=None)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CODEX_HOME", str(home))
        branch = codex(found)
        assert branch.begin is not None
        made = branch.begin()
    assert branch.drops == PROMPTS[1:]
    assert made.kind == "copy"


def test_turns_that_codex_rolled_back_are_gone(here: Conversation) -> None:
    rows = rows_of(here.path)
    ids = turns(here)
    at = next(at for at, row in enumerate(rows) if row["payload"].get("turn_id") == ids[2])
    back = {"type": "event_msg", "payload": {"type": "thread_rolled_back", "num_turns": 2}}
    here.path.write_text("".join(json.dumps(row) + "\n" for row in [*rows[:at], back, *rows[at:]]))
    branch = codex(here.prompt(ids[2], 2))

    assert (branch.begin, branch.drops) == (None, (ids[2],))
    with pytest.raises(NoBranch, match="0 times"):
        codex(here.prompt(ids[1], 1))

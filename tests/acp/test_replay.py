"""Captured conversations go through as they are, and the timeline is what they say."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from typing import Any

import pytest

from snapd.acp.commands import OFFERS
from tests.acp.ledger import Ledger, Talk
from tests.acp.model import Part, parts, prompts
from tests.acp.streams import NAMES, Line, captured

PROJECT = "/home/somebody/project"
OURS = [offer.name for offer in OFFERS]


def commands_of(line: bytes) -> list[Any] | None:
    message = json.loads(line)
    update = message.get("params", {}).get("update", {}) if isinstance(message, dict) else {}
    found: list[Any] | None = update.get("availableCommands")
    return found


def assert_passed(lines: Sequence[Line], passed: Sequence[bytes | None]) -> None:
    """Everything is passed on as it came, but for our commands at the end of each list of commands."""
    for line, found in zip(lines, passed, strict=True):
        if line.side == "agent" and (listed := commands_of(line.data)) is not None:
            assert found is not None
            with_ours = commands_of(found)
            assert with_ours is not None
            assert with_ours[: len(listed)] == listed
            assert [each["name"] for each in with_ours[len(listed) :]] == OURS
            end = line.data.rindex(json.dumps(listed[-1]).encode()) + len(json.dumps(listed[-1]))
            assert (found[:end], found[end - len(line.data) :]) == (line.data[:end], line.data[end:])
        else:
            assert found == line.data


def recorded(ledger: Ledger) -> dict[str, Part]:
    """What the daemon was told, in the form of the model."""
    ends = {asked.params["stepId"]: asked for asked in reversed(ledger.asked) if asked.method == "step/end"}
    found = {}
    for name, step in ledger.steps.items():
        if "partId" not in step:
            continue
        above = ledger.steps[step["parentStepId"]]
        top = above
        while "parentStepId" in top:
            top = ledger.steps[top["parentStepId"]]
        files = ends[name].params.get("files")
        found[step["partId"]] = Part(
            top["at"], above.get("partId"), step["at"], ends[name].at, None if files is None else frozenset(files)
        )
    return found


@pytest.mark.parametrize("name", NAMES)
def test_a_captured_conversation(name: str) -> None:
    ledger = Ledger()
    talk = Talk(ledger)
    lines = captured(name, PROJECT)
    assert_passed(lines, talk.say_all(*lines))
    assert recorded(ledger) == parts(lines)
    turns = [step for step in ledger.steps.values() if "partId" not in step]
    assert [(turn["at"], turn["tool"], turn["sessionId"]) for turn in turns] == [
        (at, "prompt", lines[at].message["params"]["sessionId"]) for at, _ in prompts(lines)
    ]
    assert {step["messageId"] for step in ledger.steps.values()} == {turn["messageId"] for turn in turns}
    assert [message["text"] for message in ledger.of("session/message")] == ["Please add a greeting"] * len(turns)
    assert ledger.still_open() == []
    talk.close()
    assert ledger.asked[-1].method == "session/end"


@pytest.mark.parametrize("name", NAMES)
def test_the_agent_is_known_by_its_name(name: str) -> None:
    ledger = Ledger()
    Talk(ledger).say_all(*captured(name, PROJECT))
    agent = next(known for known in ("claude", "codex", "gemini", "opencode") if known in name)
    assert [start["agent"] for start in ledger.of("session/start")] == [agent]


def renamed(lines: Sequence[Line], suffix: str, first_id: int) -> list[Line]:
    """The same conversation once more, as another session with requests and calls of its own."""
    made = []
    session = next(
        line.message["result"]["sessionId"] for line in lines if "sessionId" in line.message.get("result", {})
    )
    for line in lines:
        message = line.message
        if "id" in message:
            message["id"] += first_id
        text = json.dumps(message).replace(session, session + suffix)
        text = (
            text.replace('"toolu_', f'"{suffix}_').replace('"call_', f'"{suffix}_').replace("__call_", f"__{suffix}_")
        )
        made.append(Line(line.side, text.encode() + b"\n"))
    return made


@pytest.mark.parametrize("seed", range(12))
def test_several_sessions_in_one_connection(seed: int) -> None:
    chance = random.Random(seed)
    names = [chance.choice(NAMES) for _ in range(chance.randint(2, 4))]
    talks = [renamed(captured(name, f"{PROJECT}{at}"), f"s{at}", 1000 * at) for at, name in enumerate(names)]
    waiting = [list(lines) for lines in talks]
    mixed: list[tuple[int, Line]] = []
    while any(waiting):
        at = chance.choice([at for at, left in enumerate(waiting) if left])
        mixed += [(at, waiting[at].pop(0)) for _ in range(min(chance.randint(1, 5), len(waiting[at])))]
    ledger = Ledger()
    talk = Talk(ledger)
    lines = [line for _, line in mixed]
    assert_passed(lines, talk.say_all(*lines))
    expected = {}
    for at, own in enumerate(talks):
        places = [place for place, (whose, _) in enumerate(mixed) if whose == at]
        for name, part in parts(own).items():
            expected[name] = Part(places[part.prompt], part.within, places[part.begins], places[part.ends], part.files)
    assert recorded(ledger) == expected
    assert sorted(ledger.opened) == [f"{PROJECT}{at}" for at in range(len(names))]
    talk.close()
    assert len(ledger.of("session/end")) == len(names)


def mutated(chance: random.Random, value: Any) -> Any:
    """A JSON value with something wrong in it."""
    strange = [None, 0, -1, 1.5, "", "\ud800", "x" * 3000, [], {}, [[]], {"a": [{}]}, True, 10**30]
    if chance.random() < 0.06:
        return chance.choice(strange)
    if isinstance(value, dict):
        kept = {key: mutated(chance, each) for key, each in value.items() if chance.random() > 0.03}
        return {**kept, "extra": 1} if chance.random() < 0.05 else kept
    if isinstance(value, list):
        return [mutated(chance, each) for each in value]
    return value


def broken(chance: random.Random, line: Line) -> Line:
    """A line with something wrong in it, which may be no message any more."""
    data = line.data
    if chance.random() < 0.6:
        data = json.dumps(mutated(chance, json.loads(data))).encode() + b"\n"
    if chance.random() < 0.2:
        at = chance.randrange(len(data))
        data = data[:at] + bytes([chance.randrange(256)]).replace(b"\n", b"") + data[at + 1 :]
    if chance.random() < 0.1:
        data = data[: chance.randrange(len(data))] + b"\n"
    return Line(line.side, data)


@pytest.mark.parametrize("seed", range(40))
def test_what_is_wrong_passes_and_does_no_harm(seed: int) -> None:
    chance = random.Random(seed)
    lines = captured(chance.choice(NAMES), PROJECT)
    lines = [broken(chance, line) if chance.random() < 0.3 else line for line in lines if chance.random() > 0.05]
    if chance.random() < 0.5:
        at = chance.randrange(len(lines))
        lines[at:at] = [chance.choice(lines) for _ in range(10)]
    ledger = Ledger()
    talk = Talk(ledger)
    for line, found in zip(lines, talk.say_all(*lines), strict=True):
        if found != line.data:
            assert found is not None
            listed = commands_of(line.data)
            assert listed is not None
            assert [each for each in commands_of(found) or () if each in listed] == listed
    talk.close()
    # each step is ended once, or by the next, and what is open at the end ends with its session
    ended = [asked.params["stepId"] for asked in ledger.asked if asked.method == "step/end"]
    ended += [asked.params["ends"] for asked in ledger.asked if "ends" in asked.params]
    assert len(ended) == len(set(ended))
    assert ledger.still_open() == []
    parted = [(step["sessionId"], step.get("messageId"), step.get("partId")) for step in ledger.steps.values()]
    assert len(parted) == len(set(parted))


def test_the_model_sees_what_is_wrong() -> None:
    """A conversation whose last word on a call is missing is not recorded as if it were there."""
    lines = captured("gemini-cli-0.61.0", PROJECT)
    over = next(at for at, line in enumerate(lines) if b"completed" in line.data and b"greet.py" in line.data)
    ledger = Ledger()
    Talk(ledger).say_all(*lines[:over], *lines[over + 1 :])
    assert recorded(ledger) != parts(lines)

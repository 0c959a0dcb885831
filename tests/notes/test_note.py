"""Notes of the Git AI Standard 3.0.0 as they are read: what the standard says, and what breaks it."""

from __future__ import annotations

import json
import os
from random import Random
from typing import Any

import pytest

from snapd.authorship import git_ai
from snapd.authorship.commits import AttributedFile, Author, Commit, LineRange
from snapd.core.seams import Claim
from snapd.notes.note import BadNoteError, Note
from tests.authorship import notes as strict
from tests.support.amounts import amount

CURSOR = Claim("cursor", "conversation-1", "some-model-4")
CLAUDE = Claim("claude", "conversation-2")
OLD = Claim("copilot", "conversation-3", "older-model")
PERSON = Claim(person="Some Body <somebody@example.com>")
KEYS = {
    "s_0123456789abcd::t_00000000000001": CURSOR,
    "s_0123456789abcd::t_00000000000002": CURSOR,
    "s_fedcba98765432::t_00000000000003": CLAUDE,
    "h_11112222333344": PERSON,
    "0123456789abcdef": OLD,
    # before 1.0, they were shorter
    "0123abc": OLD,
    # what another note names
    "s_99999999999999::t_00000000000001": None,
    "h_99999999999999": None,
    "9999999999999999": None,
}
NAMES = ["src/main.rs", "with space.txt", "caf\u00e9", "a\tb", "\u2028", "---", '"quoted"']


def agent(claim: Claim) -> dict[str, Any]:
    return {"agent_id": {"tool": claim.agent, "id": claim.session_id, "model": claim.model or "unknown"}}


def metadata(**other: Any) -> dict[str, Any]:
    """Metadata as the standard has them, with all three kinds of authors."""
    counts = {"total_additions": 25, "total_deletions": 5, "accepted_lines": 20, "overriden_lines": 0}
    return {
        "schema_version": "authorship/3.0.0",
        "git_ai_version": "1.4.5",
        "base_commit_sha": "7734793b756b3921c88db5375a8c156e9532447b",
        "prompts": {key: {**agent(OLD), "human_author": "D <d@example.com>", **counts} for key in list(KEYS)[4:6]},
        "humans": {"h_11112222333344": {"author": PERSON.person}},
        "sessions": {
            "s_0123456789abcd": {**agent(CURSOR), "human_author": "d@example.com"},
            "s_fedcba98765432": {**agent(CLAUDE), "custom_attributes": {"team": "backend"}},
        },
        **other,
    }


def note(attested: str, **other: Any) -> bytes:
    return f"{attested}---\n{json.dumps(metadata(**other), indent=2)}".encode()


ATTESTED = """\
src/main.rs
  s_0123456789abcd::t_00000000000001 1-10,15-20
  s_0123456789abcd::t_00000000000002 25,30-35
  h_11112222333344 42-50
"src/my lib.rs"
  s_fedcba98765432::t_00000000000003 1-3
  0123456789abcdef 5
  0123abc 7,9
"""


def test_all_kinds_of_authors() -> None:
    read = Note.parse(note(ATTESTED))
    everything = range(1, 61)
    lines = {*range(1, 11), *range(15, 21), 25, *range(30, 36)}
    expected = dict.fromkeys(lines, CURSOR) | dict.fromkeys(range(42, 51), PERSON)
    assert read.claims("src/main.rs", everything) == expected
    assert read.claims("src/main.rs", [10, 11, 42, 60]) == {10: CURSOR, 42: PERSON}
    of_lib = {1: CLAUDE, 2: CLAUDE, 3: CLAUDE, 5: OLD, 7: OLD, 9: OLD}
    assert read.claims("src/my lib.rs", everything) == of_lib
    assert read.claims("src", everything) == {}
    assert read.claims("src/main.rs", []) == {}


def test_what_the_standard_tolerates() -> None:
    older = {name: value for name, value in metadata().items() if name not in ("sessions", "humans", "git_ai_version")}
    assert Note.parse(f"a\n  0123456789abcdef 1\n---\n{json.dumps(older)}\n".encode()).claims("a", [1]) == {1: OLD}
    # without a line of anybody's; a file of which nothing is said; fields that nobody knows yet; longer ids
    assert Note.parse(note("")).claims("a", [1]) == {}
    assert Note.parse(note("a\n\nb\n  0123abc 1\n", later={"x": 1})).claims("b", [1]) == {1: OLD}
    longer = {"s_0123456789abcdef01": agent(CURSOR)}
    assert Note.parse(note("a\n  s_0123456789abcdef01::t_01 1\n", sessions=longer)).claims("a", [1]) == {1: CURSOR}
    assert Note.parse(note("a\n  h_11112222333344::t_01 1\n")).claims("a", [1]) == {1: PERSON}
    # whatever commit it says: who copies a note to another commit need not rewrite it
    assert Note.parse(note(ATTESTED, base_commit_sha="")).claims("src/main.rs", [1]) == {1: CURSOR}


def test_lines_of_several_entries() -> None:
    """The last entry counts, among those whose author the note names."""
    attested = (
        "a\n  s_0123456789abcd::t_01 1-10\n  h_11112222333344 4-20\n  9999999999999999 5\n  0123456789abcdef 8,10-12\n"
    )
    said = Note.parse(note(attested)).claims("a", range(1, 25))
    assert said == dict.fromkeys(range(1, 4), CURSOR) | dict.fromkeys(range(4, 21), PERSON) | dict.fromkeys(
        (8, 10, 11, 12), OLD
    )


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"\xff\n---\n{}", "is not UTF-8"),
        (b"", "has no line '---'"),
        (b"a\n --- \n{}", "has no line '---'"),
        (b"---\n", "has metadata that is not JSON"),
        (b"---\n[]", "has metadata that is not a JSON object"),
        (b"---\n" + b"[" * 100_000, "not JSON"),
        # two notes, one behind the other, as 'git notes append' makes them
        (note(ATTESTED) + b"\n\n" + note(ATTESTED), "not JSON"),
        (b'---\n{"schema_version": "\\ud800"}', "not JSON"),
        (b"---\n{}", "names no version; snapd reads authorship/3.0.0"),
        (note("new lines\n", schema_version="authorship/4.0.0"), "is of the version 'authorship/4.0.0'; snapd reads"),
        (note("", schema_version="authorship/2.0.0"), "is of the version 'authorship/2.0.0'"),
        (note("", schema_version="x" * 1000), "x…'; snapd reads"),
        (note("", base_commit_sha=None), "'base_commit_sha' is not a string"),
        (note("", prompts=None), "'prompts' is not an object"),
        (note("", sessions=[]), "'sessions' is not an object"),
        (note("", sessions={"s_01": []}), "'s_01' in 'sessions' is not an object"),
        (note("", sessions={"s_01": {}}), "'s_01' has no 'agent_id'"),
        (
            note("", sessions={"s_01": {"agent_id": {"tool": "a", "id": 1, "model": "m"}}}),
            "'id' of 's_01' is not a string",
        ),
        (note("", humans={"h_01": {"author": ""}}), "'author' of 'h_01' is empty or too long"),
        (note("", humans={"h_01": {"author": "x" * 1001}}), "'author' of 'h_01' is empty or too long"),
        (note("  0123abc 1\n"), "'  0123abc 1' belongs to no file, in line 1"),
        (note(" a\n"), "' a' is not a file, in line 1"),
        (note("\ta\n"), "is not a file, in line 1"),
        (note("a\n  0123abc 1\na\n  0123abc 2\n"), "'a' is there twice, in line 3"),
        (note("a\n  0123abd\n"), "'' are no lines, in line 2"),
        (note("a\n  xyz 1\n"), "'xyz' is not a key, in line 2"),
        (note("a\n  s_0123456789abcd 1\n"), "is not a key"),
        (note("a\n  s_0123::t_ 1\n"), "is not a key"),
        (note("a\n   0123abc 1\n"), "is not a key"),
        (note("a\n  0123abc  1\n"), "are no lines"),
        (note("a\n  0123abc 0\n"), "'0' are no lines"),
        (note("a\n  0123abc 1,\n"), "are no lines"),
        (note("a\n  0123abc 1-\n"), "are no lines"),
        (note("a\n  0123abc 1, 2\n"), "are no lines"),
        (note("a\n  0123abc -3\n"), "are no lines"),
        (note("a\n  0123abc 99999999999\n"), "are no lines"),
        (note("a\n  0123abc \u0661\n"), "are no lines"),
    ],
)
def test_what_breaks_the_standard(data: bytes, said: str) -> None:
    with pytest.raises(BadNoteError) as raised:
        Note.parse(data)
    assert said in str(raised.value)
    assert len(str(raised.value)) < 200


@pytest.mark.parametrize("spec", ["3-1", "5,1", "1-5,9,8"])
def test_lines_that_do_not_ascend(spec: str) -> None:
    read = Note.parse(note(f"a\n  0123abc {spec}\nb\n  0123abc 1\n"))
    with pytest.raises(BadNoteError, match="is not in ascending order, in line 2"):
        read.claims("a", range(1, 10))
    assert read.claims("b", [1]) == {1: OLD}


class Counted(list[int]):
    """Lines that count how often somebody looks at one."""

    looks = 0

    def __getitem__(self, at: Any) -> Any:
        self.looks += 1
        return super().__getitem__(at)


def test_the_work_is_that_of_the_lines_whatever_ranges_say() -> None:
    """Ranges of billions of lines, and thousands that overlap."""
    ranges = "".join(f"  0123abc {number}-4294967295\n" for number in range(1, 5000))
    wanted = Counted(range(1, 10_001))
    assert len(Note.parse(note(f"a\n{ranges}")).claims("a", wanted)) == 10_000
    # each line twice, and for each range a binary search
    assert wanted.looks < 2 * 10_000 + 5000 * 16


@pytest.mark.parametrize("seed", range(amount(30, 500)))
def test_any_note_says_what_a_plain_reading_says(seed: int) -> None:
    chance = Random(seed)
    parts: list[str] = []
    entries: dict[str, list[tuple[str, list[tuple[int, int]]]]] = {}
    for name in chance.sample(NAMES, chance.randint(1, 4)):
        parts.append(f'"{name}"' if any(char in name for char in ' \t\u2028"-') else name)
        entries[name] = []
        for _ in range(chance.randint(1, 6)):
            starts = sorted(chance.sample(range(1, 40), chance.randint(1, 5)))
            ranges = [(start, start + chance.choice((0, 0, 3, 20))) for start in starts]
            key = chance.choice(list(KEYS))
            entries[name].append((key, ranges))
            spec = ",".join(f"{first}" if first == last else f"{first}-{last}" for first, last in ranges)
            parts.append(f"  {key} {spec}")
    read = Note.parse(note("\n".join(parts) + "\n"))
    for name, told in entries.items():
        expected = {}
        for line in range(1, 61):
            for key, ranges in reversed(told):
                claim = KEYS[key]
                if claim is not None and any(first <= line <= last for first, last in ranges):
                    expected[line] = claim
                    break
        wanted = sorted(chance.sample(range(1, 60), chance.randint(0, 59)))
        assert read.claims(name, wanted) == {line: expected[line] for line in wanted if line in expected}


@pytest.mark.parametrize("seed", range(amount(20, 300)))
def test_what_snapd_writes_it_reads(seed: int) -> None:
    """As does a reader that refuses whatever breaks a rule of the standard."""
    chance = Random(seed)
    commit = Commit("ab" * 20, (), 0, 0)
    authors = [Author("agent", "s1", "1", "claude"), Author("agent", "s1", "2", "claude"), Author("agent", "s 2", "3")]
    lines = {
        name: {line: chance.choice([*authors, Author("user")]) for line in range(1, 30) if chance.randrange(3)}
        for name in NAMES
    }
    files = [
        AttributedFile(os.fsencode(name), tuple((LineRange(line, line), author) for line, author in found.items()))
        for name, found in lines.items()
    ]
    text = git_ai.note(commit, files)
    read, other = Note.parse(text.encode()), strict.parse(text)
    for name, found in lines.items():
        agents = {line: author for line, author in found.items() if author.kind == "agent"}
        told = {line: Claim(author.agent or "unknown", author.session_id) for line, author in agents.items()}
        assert read.claims(name, range(1, 40)) == told
        assert other.files.get(name, {}).keys() == told.keys()
        for line, key in other.files.get(name, {}).items():
            assert other.session(key)["id"] == told[line].session_id

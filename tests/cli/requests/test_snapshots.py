"""The words that stand for a snapshot."""

from __future__ import annotations

import re
from typing import Any

import pytest

from snapd.cli.requests.snapshots import find_sides, find_snapshot, split_file
from snapd.cli.terminal import output
from snapd.model.errors import InvalidParams, SnapdError, UnknownSnapshot, UnknownStep

FIRST, SECOND, OTHER = "abcdef00" + "1" * 32, "abcdef00" + "2" * 32, "0123456789" + "3" * 30
BEFORE, AFTER = "b" * 40, "a" * 40
STEP = {"stepId": "0123456789abcdef", "startedAt": "2026-11-23T10:00:00.000Z", "from": BEFORE, "to": AFTER}
OPEN = {"stepId": "dd00000000000000", "startedAt": "2026-11-23T11:00:00.000Z", "from": BEFORE}
LIKE_IT = {"stepId": "dd11111111111111", "startedAt": "2026-11-23T12:00:00.000Z", "from": BEFORE, "to": AFTER}


class Answers:
    """Answers from tables."""

    is_open = True

    def __init__(self) -> None:
        self.asked: list[str] = []

    def request(self, method: str, params: dict[str, Any], report: object = None) -> Any:
        self.asked.append(method)
        params = {name: value for name, value in params.items() if value is not None}
        if method == "snapshot/status":
            return {"lastHash": OTHER}
        if method == "session/prefixes":
            return {"prefixes": [name[: 9 if len(name) == 40 else 8] for name in params["ids"]]}
        if method == "step/find":
            assert params["prefix"]
            found = [step for step in (LIKE_IT, OPEN, STEP) if step["stepId"].startswith(params["prefix"])]
            return {"steps": found[: params["limit"]]}
        assert params["counts"] is False
        if "before" in params:
            taken = [(FIRST, "2026-11-20T08:00:00Z")] if params["before"] >= "2026-11-20T08:00:00+00:00" else []
        else:
            assert len(params.get("prefix", "ffffff")) >= 6
            every = [(SECOND, "2026-11-22T10:00:00Z"), (FIRST, "2026-11-20T08:00:00Z"), (OTHER, "2026-11-19T08:00:00Z")]
            taken = [(tree, at) for tree, at in every if tree.startswith(params.get("prefix", ""))]
        return {"snapshots": [{"hash": tree, "at": at} for tree, at in taken][: params.get("limit")]}

    def close(self) -> None:
        raise AssertionError("not asked for")


@pytest.fixture(autouse=True)
def nothing_printed_yet() -> None:
    output.printed.clear()


@pytest.mark.parametrize(
    ("word", "tree", "asked"),
    [
        ("f" * 40, "f" * 40, []),
        ("last", OTHER, ["snapshot/status"]),
        (FIRST[:9], FIRST, ["step/find", "snapshot/list"]),
        (FIRST[:16], FIRST, ["step/find", "snapshot/list"]),
        (FIRST[:34], FIRST, ["snapshot/list"]),
        (STEP["stepId"], BEFORE, ["step/find"]),
        ("01234", BEFORE, ["step/find"]),
        ("01234+", AFTER, ["step/find"]),
        ("0123456789abcdef+", AFTER, ["step/find"]),
        ("dd0", BEFORE, ["step/find"]),
        # digits that only the hash has
        (OTHER[:11], OTHER, ["step/find", "snapshot/list"]),
        ("@2026-11-21", FIRST, ["snapshot/list"]),
    ],
)
def test_words(word: str, tree: str, asked: list[str]) -> None:
    answers = Answers()
    assert find_snapshot(answers, word) == tree
    # whether a beginning was asked for before depends on the tests before
    assert [each for each in answers.asked if each != "session/prefixes"] == asked


def test_a_step_goes_before_a_hash_and_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert find_snapshot(Answers(), "01234567") == BEFORE
    assert f"01234567 is the step 0123456789abcdef; a longer beginning of {OTHER} is" in capsys.readouterr().err
    assert find_snapshot(Answers(), "012345+") == AFTER
    assert capsys.readouterr().err == ""


def test_a_time_says_what_it_was_taken_for(capsys: pytest.CaptureFixture[str]) -> None:
    find_snapshot(Answers(), "@2026-11-21")
    assert capsys.readouterr().err.startswith("snapd: @2026-11-21 is the snapshot abcdef001 from 20 Nov")


@pytest.mark.parametrize(
    ("word", "kind", "said"),
    [
        ("", InvalidParams, "expected a snapshot, got ''"),
        ("+", InvalidParams, "expected a snapshot, got '[+]'"),
        ("README.md", InvalidParams, "expected a snapshot"),
        ("ABCDEF", InvalidParams, "expected a snapshot"),
        ("a" * 41, InvalidParams, "expected a snapshot"),
        ("a" * 40 + "+", InvalidParams, "expected a snapshot"),
        ("last+", InvalidParams, "nothing comes after it"),
        ("@soon", InvalidParams, "expected a time"),
        ("dd0+", InvalidParams, "step dd00000000000000 is still open"),
        ("abcdef", InvalidParams, "snapshot abcdef002 from 22 Nov .*, snapshot abcdef001 from 20 Nov"),
        ("dd", InvalidParams, "step dd111111 from .*, step dd000000 from "),
        ("dd+", InvalidParams, "step dd111111 from .*, step dd000000 from "),
        ("777", InvalidParams, "no step '777' in this folder, and a hash needs 6 digits"),
        ("777777", UnknownSnapshot, "no step or snapshot of this folder begins with '777777'"),
        ("7" * 34, UnknownSnapshot, "no snapshot of this folder begins with"),
        ("777777+", UnknownStep, "no step '777777' in this folder"),
        ("@2026-11-19", UnknownSnapshot, "no snapshot from 19 Nov .*23:59 or before"),
    ],
)
def test_what_is_none(word: str, kind: type[SnapdError], said: str) -> None:
    with pytest.raises(kind, match=said) as raised:
        find_snapshot(Answers(), word, or_oldest=False)
    assert raised.value.hint != InvalidParams.default_hint


def test_a_time_before_the_first_snapshot(capsys: pytest.CaptureFixture[str]) -> None:
    assert find_snapshot(Answers(), "@2026-11-19") == OTHER
    said = capsys.readouterr().err
    assert re.match(r"snapd: there is no snapshot from 19 Nov .*23:59 or before; using the oldest, the snapshot", said)


def test_more_candidates_than_fit() -> None:
    class Many(Answers):
        def request(self, method: str, params: dict[str, Any], report: object = None) -> Any:
            if method == "step/find":
                return {"steps": []}
            if method == "session/prefixes":
                return super().request(method, params)
            return {"snapshots": [{"hash": f"abcdef{n}" + "0" * 33, "at": "2026-11-20T08:00:00Z"} for n in range(6)]}

    with pytest.raises(InvalidParams, match=r"abcdef400 from [^,]*, \.\.\. "):
        find_snapshot(Many(), "abcdef")


@pytest.mark.parametrize(
    ("words", "sides"),
    [
        (("01234", None), (BEFORE, AFTER)),
        (("dd0", None), (BEFORE, None)),
        (("01234+", None), (AFTER, None)),
        (("last", None), (OTHER, None)),
        (("01234", "last"), (BEFORE, OTHER)),
        (("01234", "01234+"), (BEFORE, AFTER)),
        (("f" * 40, "01234"), ("f" * 40, BEFORE)),
    ],
)
def test_sides(words: tuple[str, str | None], sides: tuple[str, str | None]) -> None:
    assert find_sides(Answers(), *words) == sides


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("a.txt@last", ("a.txt", "last")),
        ("a.txt@@2h", ("a.txt", "@2h")),
        ("a@b.txt@012345+", ("a@b.txt", "012345+")),
        ("a.txt@@2026-11-20T14:30", ("a.txt", "@2026-11-20T14:30")),
        # a file whose name ends in an @
        ("a@@012345", ("a@", "012345")),
        ("a@@@2h", ("a@", "@2h")),
        ("a@@last", ("a@", "last")),
        # no time, but meant as one
        ("a.txt@@25h00", ("a.txt", "@25h00")),
        ("@last", ("", "last")),
        ("a.txt@", ("a.txt", "")),
        ("012345", None),
    ],
)
def test_files_of_snapshots(text: str, parts: tuple[str, str] | None) -> None:
    assert split_file(text) == parts

"""Nothing is coerced on its way from JSON, what is wrong is named, and what goes out is what the contract says."""

from __future__ import annotations

import json
import math
from typing import Any

import attrs
import pytest

from snapd.wire.converter import InvalidParams, structure, unstructure
from snapd.wire.methods import METHODS, NOTIFICATIONS
from snapd.wire.notifications import DidRevertParams
from snapd.wire.review import ReviewKeepParams
from snapd.wire.snapshot import (
    CleanupParams,
    DiffFullParams,
    DiffFullResult,
    DiffParams,
    FileAtResult,
    ListFilesParams,
    OpenStep,
    PatchParams,
    RestoreParams,
    RevertParams,
    StatusResult,
    TrackParams,
    TrackResult,
)
from snapd.wire.values import FileChange, FileDiff, FileOutcome, Outcome, Skipped, StoreInfo

HASH = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
LONE = "\udcff"


@attrs.frozen
class Inner:
    number: int | None = None


@attrs.frozen
class Outer:
    inner: Inner
    several: list[Inner] = attrs.field(factory=list)


def wrong(obj: Any, cls: type[Any], **options: bool) -> str:
    with pytest.raises(InvalidParams) as caught:
        structure(obj, cls, **options)
    assert str(caught.value) == f"{caught.value.field}: {caught.value.problem}"
    str(caught.value).encode("utf-8")
    return str(caught.value)


@pytest.mark.parametrize(
    ("obj", "cls", "message"),
    [
        ({"from": HASH, "limit": "3"}, DiffFullParams, "limit: expected an integer, got a string"),
        ({"from": HASH, "limit": True}, DiffFullParams, "limit: expected an integer, got a boolean"),
        ({"from": HASH, "limit": 1.0}, DiffFullParams, "limit: expected an integer, got a number"),
        ({"from": HASH, "limit": 0}, DiffFullParams, "limit: expected an integer of at least 1"),
        ({"hash": HASH, "limit": -(10**5000)}, ListFilesParams, "limit: expected an integer of at least 1"),
        ({"from": HASH, "contents": 1}, DiffFullParams, "contents: expected a boolean, got an integer"),
        ({}, DiffFullParams, "from: is missing"),
        (None, PatchParams, "hash: is missing"),
        ({"hash": None}, PatchParams, "hash: expected a string, got null"),
        ({"hash": HASH.upper()}, PatchParams, "hash: expected 6 to 40 lower-case hexadecimal digits"),
        ({"hash": HASH[:5]}, PatchParams, "hash: expected 6 to 40 lower-case hexadecimal digits"),
        ({"hash": HASH + "\n"}, PatchParams, "hash: expected 6 to 40 lower-case hexadecimal digits"),
        ({"hash": "\u0661" * 40}, PatchParams, "hash: expected 6 to 40 lower-case hexadecimal digits"),
        ({"hash": HASH, "to": LONE * 40}, PatchParams, "to: expected 6 to 40 lower-case hexadecimal digits"),
        ({"hash": HASH, "files": "abc"}, DiffParams, "files: expected an array, got a string"),
        ({"hash": HASH, "files": {"a": 1}}, DiffParams, "files: expected an array, got an object"),
        ({"hash": HASH, "files": ["a", None]}, DiffParams, "files[1]: expected a string, got null"),
        (
            {"patches": [{"hash": HASH, "files": ["a", "b", 3]}]},
            RevertParams,
            "patches[0].files[2]: expected a string, got an integer",
        ),
        ({"patches": [{"hash": HASH, "files": []}, {"hash": HASH}]}, RevertParams, "patches[1].files: is missing"),
        ({"patches": [[]]}, RevertParams, "patches[0]: expected an object, got an array"),
        (
            {"hash": HASH, "onConflict": LONE},
            RestoreParams,
            'onConflict: expected "merge" or "fail" or "overwrite" or "keep"',
        ),
        (
            {"workDoneToken": True},
            TrackParams,
            "workDoneToken: expected a string or an integer, got a boolean",
        ),
        ({"olderThanDays": True}, CleanupParams, "olderThanDays: expected a number, got a boolean"),
        ({"olderThanDays": -0.5}, CleanupParams, "olderThanDays: expected a number of at least 0"),
        ({"olderThanDays": math.nan}, CleanupParams, "olderThanDays: expected a finite number"),
        ({"olderThanDays": 10**400}, CleanupParams, "olderThanDays: expected a finite number"),
        ([1], TrackParams, "params: expected an object, got an array"),
        ([], PatchParams, "params: expected an object, got an array"),
        ("{}", TrackParams, "params: expected an object, got a string"),
    ],
)
def test_what_is_wrong_is_named(obj: Any, cls: type[Any], message: str) -> None:
    assert wrong(obj, cls) == message


def test_true_alone_is_true() -> None:
    diff = {"file": "a", "status": "added", "before": "", "after": "", "additions": 0, "deletions": 0, "binary": False}

    assert structure({**diff, "tooLarge": True}, FileDiff).too_large is True
    assert wrong({**diff, "tooLarge": 1}, FileDiff) == "tooLarge: expected true, got an integer"


def test_null_is_taken_only_where_the_type_says_so() -> None:
    @attrs.frozen
    class Needed:
        token: str | int

    assert structure({"hash": None, "skipped": []}, TrackResult).hash is None
    assert wrong({"token": None}, Needed) == "token: expected a string or an integer, got null"


def test_null_params_are_an_empty_object() -> None:
    assert structure(None, TrackParams) == TrackParams()


def test_an_empty_array_is_an_empty_object_where_nothing_is_required() -> None:
    """Lua and PHP cannot tell one from the other."""

    assert structure([], TrackParams) == TrackParams()
    assert structure({"inner": [], "several": []}, Outer) == Outer(Inner())
    assert structure({"inner": {}, "several": [[], {}]}, Outer) == Outer(Inner(), [Inner(), Inner()])
    assert structure({"all": True, "expect": []}, ReviewKeepParams).expect == {}
    assert wrong({"inner": [[]]}, Outer) == "inner: expected an object, got an array"
    assert wrong({"expect": [[]]}, ReviewKeepParams) == "expect: expected an object, got an array"
    assert wrong([], Outer) == "params: expected an object, got an array"


def test_null_in_an_optional_field_is_its_default() -> None:
    given = dict.fromkeys(["to", "files", "contents", "renames", "cursor", "limit", "workspaceUri"])

    assert structure({"from": HASH, **given}, DiffFullParams) == DiffFullParams(from_=HASH)


def test_a_number_of_days_may_be_whole() -> None:
    days = structure({"olderThanDays": 7}, CleanupParams).older_than_days

    assert (days, type(days)) == (7.0, float)


def test_unknown_fields_are_ignored_unless_forbidden() -> None:
    patch = {"hash": HASH, "files": [], "more" + LONE: 1}

    assert structure({"patches": [patch]}, RevertParams).patches[0].files == []
    assert wrong({"patches": [patch]}, RevertParams, forbid_extra=True) == "patches[0].more?: is unknown"
    assert wrong({"older_than_days": 1}, CleanupParams, forbid_extra=True) == "older_than_days: is unknown"


def test_lone_surrogates_pass_through() -> None:
    assert structure({"force": [LONE]}, TrackParams).force == [LONE]
    assert unstructure(TrackParams(force=[LONE])) == {"force": [LONE]}


def test_an_unknown_type_of_field_is_refused() -> None:
    @attrs.frozen
    class Odd:
        names: tuple[str, ...]

    with pytest.raises(TypeError, match="no type of the wire"):
        structure({"names": ["a"]}, Odd)


FULL = [
    TrackParams(workspace_uri="file:///a", work_done_token=3, force=["a"]),
    TrackResult(hash=None, reason="disabled", skipped=[Skipped(file="a", uri="file:///a", reason="tooLarge")]),
    DiffFullParams(from_=HASH, to=HASH, files=["a"], contents=False, renames=True, cursor="c", limit=1),
    DiffFullResult(
        diffs=[
            FileDiff(
                file="a",
                status="modified",
                before="x",
                after="\xff",
                additions=1,
                deletions=1,
                binary=False,
                too_large=True,
                encoding="latin-1",
                renamed_from="b",
                old_mode="100644",
                new_mode="100755",
            )
        ],
        next_cursor="c",
    ),
    FileAtResult(file="a", size=1, mode="120000", binary=True, encoding="base64", content="AA=="),
    StatusResult(
        enabled=True,
        workspace_uri="file:///a",
        project_id="0",
        files=2,
        watcher="w",
        last_hash=HASH,
        store=StoreInfo(path="/s", bytes=3),
        open_steps=[OpenStep(session_id="s", step_id="t", started_at="now")],
    ),
    DidRevertParams(
        workspace_uri="file:///a",
        seq=1,
        kind="restore",
        before=HASH,
        after=HASH,
        files=[FileOutcome(file="a", outcome="kept", reason="r")],
    ),
]


@pytest.mark.parametrize("value", FULL, ids=lambda value: type(value).__name__)
def test_what_goes_out_comes_back(value: attrs.AttrsInstance) -> None:
    assert structure(json.loads(json.dumps(unstructure(value))), type(value), forbid_extra=True) == value


@pytest.mark.parametrize(
    ("value", "wire"),
    [
        (TrackResult(hash=None, skipped=[]), {"hash": None, "skipped": []}),
        (TrackParams(), {}),
        (DiffFullParams(from_=HASH, contents=False), {"from": HASH, "contents": False}),
        (
            FileChange(file="a", status="added", additions=0, deletions=0, binary=False),
            {"file": "a", "status": "added", "additions": 0, "deletions": 0, "binary": False},
        ),
        (
            Outcome(applied=False, before=HASH, after=HASH, files=[FileOutcome(file="a", outcome="failed")]),
            {"applied": False, "before": HASH, "after": HASH, "files": [{"file": "a", "outcome": "failed"}]},
        ),
    ],
    ids=lambda value: type(value).__name__,
)
def test_absent_fields_are_left_out_and_nullable_ones_are_null(value: attrs.AttrsInstance, wire: object) -> None:
    assert unstructure(value) == wire


def test_every_class_of_the_table_is_understood() -> None:
    classes = [cls for method in METHODS.values() for cls in (method.params, method.result)]
    classes += [notification.params for notification in NOTIFICATIONS.values()]

    for cls in classes:
        wrong("x", cls)

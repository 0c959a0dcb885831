"""The requests of the Python client, and the shapes of what they give, against the wire's table."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, get_type_hints

import attrs
import pytest
from snapd_client import Client, types
from snapd_client.requests import Requests
from snapd_client.reviews import ReviewRequests
from snapd_client.sessions import SessionRequests
from snapd_client.sharing import SharingRequests
from snapd_client.snapshots import SnapshotRequests

from snapd.wire import converter, values
from snapd.wire.converter import wire_name
from snapd.wire.methods import METHODS, NOTIFICATIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

HASH = "0123456789abcdef0123456789abcdef01234567"
PATCH = {"hash": HASH, "files": ["/w/a"]}
EVERY = {"workspace_uri": "/w", "timeout": 3.0}


class Recorder(SnapshotRequests, SessionRequests, SharingRequests, ReviewRequests):
    """Keeps what is asked, and answers what it was told to."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.asked: list[tuple[str, dict[str, Any], float | None]] = []

    @property
    def folders(self) -> list[str]:
        return ["file:///w"]

    def request(self, method: str, params: Any = None, *, timeout: float | None = None, on_progress: Any = None) -> Any:
        self.asked.append((method, params, timeout))
        return self.answers.pop(0) if self.answers else {"exists": True}

    def _pages(self, method: str, params: Callable[[str | None, int], Any], *_: Any) -> Iterator[Any]:
        cursor = None
        while True:
            page = self.request(method, params(cursor, 100))
            yield page
            cursor = page.get("nextCursor")
            if cursor is None:
                return


ASKED: list[tuple[Callable[[Recorder], Any], str, dict[str, Any]]] = [
    (lambda it: it.session_start(), "session/start", {}),
    (
        lambda it: it.session_start("s", agent="a", title="t"),
        "session/start",
        {"sessionId": "s", "agent": "a", "title": "t"},
    ),
    (lambda it: it.review_list("s", limit=2), "review/list", {"sessionId": "s", "limit": 2}),
    (lambda it: it.review_file("a"), "review/file", {"file": "a"}),
    (lambda it: it.review_keep(everything=True), "review/keep", {"all": True}),
    (
        lambda it: it.review_keep(file="a", hunks=[1], expect={"a": "id"}),
        "review/keep",
        {"file": "a", "hunks": [1], "expect": {"a": "id"}},
    ),
    (
        lambda it: it.review_revert(files=["a", "b"], dry_run=True, expect="e"),
        "review/revert",
        {"files": ["a", "b"], "dryRun": True, "expect": "e"},
    ),
    (lambda it: it.review_revert(step_id="p"), "review/revert", {"stepId": "p"}),
    (lambda it: it.blame("a", HASH), "snapshot/blame", {"file": "a", "hash": HASH}),
    (lambda it: it.blame("a", start=3, count=2), "snapshot/blame", {"file": "a", "range": {"start": 3, "count": 2}}),
    (
        lambda it: it.blame("a", content=b"\xff\n", at="2026-01-31T09:30:00Z"),
        "snapshot/blame",
        {"file": "a", "content": "/wo=", "encoding": "base64", "at": "2026-01-31T09:30:00Z"},
    ),
    (lambda it: it.session_end("s"), "session/end", {"sessionId": "s"}),
    (lambda it: it.session_list(), "session/list", {}),
    (lambda it: it.session_steps("s"), "session/steps", {"sessionId": "s"}),
    (
        lambda it: it.session_steps("s", cursor="c", limit=2),
        "session/steps",
        {"sessionId": "s", "cursor": "c", "limit": 2},
    ),
    (lambda it: it.session_list(cursor="c", limit=2), "session/list", {"cursor": "c", "limit": 2}),
    (
        lambda it: it.step_find("ab", session_id="s", parent_step_id="p", limit=2),
        "step/find",
        {"prefix": "ab", "sessionId": "s", "parentStepId": "p", "limit": 2},
    ),
    (
        lambda it: it.session_prefixes(["t", "s"]),
        "session/prefixes",
        {"ids": ["t", "s"]},
    ),
    (
        lambda it: it.session_diff("s", message_id="m", step_id="p", contents=False, cursor="c", limit=2),
        "session/diff",
        {"sessionId": "s", "messageId": "m", "stepId": "p", "contents": False, "cursor": "c", "limit": 2},
    ),
    (lambda it: it.session_undo("s"), "session/undo", {"sessionId": "s"}),
    (lambda it: it.session_undo(), "session/undo", {}),
    (lambda it: it.session_undo(message_id="m"), "session/undo", {"messageId": "m"}),
    (lambda it: it.session_undo("s", after_step_id="p"), "session/undo", {"sessionId": "s", "afterStepId": "p"}),
    (lambda it: it.session_redo(count=2), "session/redo", {"count": 2}),
    (
        lambda it: it.session_undo("s", 2, step_id="p", dry_run=True, expect="e", on_conflict="fail"),
        "session/undo",
        {"sessionId": "s", "count": 2, "stepId": "p", "dryRun": True, "expect": "e", "onConflict": "fail"},
    ),
    (
        lambda it: it.session_redo("s", 3, dry_run=False, expect="e", on_conflict="overwrite"),
        "session/redo",
        {"sessionId": "s", "count": 3, "dryRun": False, "expect": "e", "onConflict": "overwrite"},
    ),
    (
        lambda it: it.session_revert("s", "m", "part", expect="e", on_conflict="merge"),
        "session/revert",
        {"sessionId": "s", "messageId": "m", "partId": "part", "expect": "e", "onConflict": "merge"},
    ),
    (
        lambda it: it.session_unrevert("s", dry_run=True, expect="e"),
        "session/unrevert",
        {"sessionId": "s", "dryRun": True, "expect": "e"},
    ),
    (lambda it: it.session_history(cursor="c", limit=9), "session/history", {"cursor": "c", "limit": 9}),
    (
        lambda it: it.session_history(session_id="s", files=["a"], renames=True),
        "session/history",
        {"sessionId": "s", "files": ["a"], "renames": True},
    ),
    (
        lambda it: it.step_begin(
            "s", parent_step_id="p", message_id="m", part_id="part", tool="edit", description="about"
        ),
        "step/begin",
        {
            "sessionId": "s",
            "parentStepId": "p",
            "messageId": "m",
            "partId": "part",
            "tool": "edit",
            "description": "about",
        },
    ),
    (lambda it: it.step_end("p"), "step/end", {"stepId": "p"}),
    (lambda it: it.step_end("p", []), "step/end", {"stepId": "p", "files": []}),
    (lambda it: it.step_end("p", ["a", b"\xff"]), "step/end", {"stepId": "p", "files": ["a", "file:///w/%FF"]}),
    (
        lambda it: it.step_diff("p", ["a", b"\xff"], exact=True),
        "step/diff",
        {"stepId": "p", "files": ["a", "file:///w/%FF"], "exact": True},
    ),
    (
        lambda it: it.step_changes(session_ids=["s"], step_ids=(i for i in ("p",))),
        "step/changes",
        {"sessionIds": ["s"], "stepIds": ["p"]},
    ),
    (lambda it: it.step_hunks("p", "a"), "step/hunks", {"stepId": "p", "file": "a"}),
    (
        lambda it: it.step_revert_hunks("p", "/w/a", (i for i in (0, 2)), dry_run=True, expect="e", on_conflict="fail"),
        "step/revertHunks",
        {"stepId": "p", "file": "/w/a", "hunks": [0, 2], "dryRun": True, "expect": "e", "onConflict": "fail"},
    ),
    (
        lambda it: it.step_revert_files("p", (i for i in ("/w/a", b"\xff")), expect="e", on_conflict="fail"),
        "step/revertFiles",
        {"stepId": "p", "files": ["/w/a", "file:///w/%FF"], "expect": "e", "onConflict": "fail"},
    ),
    (lambda it: it.events(7), "snapshot/events", {"since": 7}),
    (lambda it: it.track(), "snapshot/track", {}),
    (lambda it: it.track(["a"]), "snapshot/track", {"force": ["a"]}),
    (lambda it: it.list("012345"), "snapshot/list", {"prefix": "012345"}),
    (
        lambda it: it.list(before="2026-01-31T09:30:00Z", counts=False, cursor="c", limit=2),
        "snapshot/list",
        {"before": "2026-01-31T09:30:00Z", "counts": False, "cursor": "c", "limit": 2},
    ),
    (lambda it: it.patch(HASH), "snapshot/patch", {"hash": HASH}),
    (lambda it: it.patch(hash=HASH, to=HASH), "snapshot/patch", {"hash": HASH, "to": HASH}),
    (
        lambda it: it.diff(HASH, renames=True, exact=True),
        "snapshot/diff",
        {"hash": HASH, "renames": True, "exact": True},
    ),
    (lambda it: it.diff(HASH, files=["a"]), "snapshot/diff", {"hash": HASH, "files": ["a"]}),
    (
        lambda it: it.diff_full(HASH, contents=False, renames=True, cursor="c", limit=3),
        "snapshot/diffFull",
        {"from": HASH, "contents": False, "renames": True, "cursor": "c", "limit": 3},
    ),
    (lambda it: it.file_at(HASH, "/w/a"), "snapshot/fileAt", {"hash": HASH, "file": "/w/a"}),
    (lambda it: it.file_exists(HASH, "a"), "snapshot/fileExists", {"hash": HASH, "file": "a"}),
    (lambda it: it.export(HASH, "/out"), "snapshot/export", {"hash": HASH, "directory": "file:///out"}),
    (
        lambda it: it.export(HASH, b"/o\xff", ["a"]),
        "snapshot/export",
        {"hash": HASH, "directory": "file:///o%FF", "files": ["a"]},
    ),
    (
        lambda it: it.restore(HASH, expect="e", on_conflict="fail"),
        "snapshot/restore",
        {"hash": HASH, "expect": "e", "onConflict": "fail"},
    ),
    (lambda it: it.revert([PATCH]), "snapshot/revert", {"patches": [PATCH]}),
    (
        lambda it: it.session_message("s", "m", "do it"),
        "session/message",
        {"sessionId": "s", "messageId": "m", "text": "do it"},
    ),
    (lambda it: it.session_messages("s", limit=2), "session/messages", {"sessionId": "s", "limit": 2}),
    (lambda it: it.session_news("s"), "session/news", {"sessionId": "s"}),
    (lambda it: it.session_push("origin"), "session/push", {"remote": "origin", "all": True}),
    (
        lambda it: it.session_push("origin", ["s"], exclude=["*.env"], dry_run=True),
        "session/push",
        {"remote": "origin", "sessionIds": ["s"], "exclude": ["*.env"], "dryRun": True},
    ),
    (
        lambda it: it.session_push("origin", ["s"], delete=True),
        "session/push",
        {"remote": "origin", "sessionIds": ["s"], "delete": True},
    ),
    (
        lambda it: it.session_prune("origin", 30, everybody=True, dry_run=True),
        "session/push",
        {"remote": "origin", "prune": True, "olderThanDays": 30, "all": True, "dryRun": True},
    ),
    (lambda it: it.session_fetch("origin", ["s"]), "session/fetch", {"remote": "origin", "sessionIds": ["s"]}),
    (lambda it: it.session_export("/s"), "session/export", {"file": "/s", "all": True}),
    (
        lambda it: it.session_export("/s", ["s"], exclude=["*.env"], dry_run=True),
        "session/export",
        {"file": "/s", "sessionIds": ["s"], "exclude": ["*.env"], "dryRun": True},
    ),
    (lambda it: it.session_import("/s"), "session/import", {"file": "/s"}),
    (lambda it: it.session_handover("origin"), "session/handover", {"remote": "origin"}),
    (
        lambda it: it.session_handover(file="/s", name="n", include=[".env"], exclude=["*.bin"], dry_run=True),
        "session/handover",
        {"file": "/s", "name": "n", "include": [".env"], "exclude": ["*.bin"], "dryRun": True},
    ),
    (lambda it: it.session_takeover("origin"), "session/takeover", {"remote": "origin"}),
    (
        lambda it: it.session_takeover(file="/s", name="n", on_conflict="fail", expect="e", details="counts"),
        "session/takeover",
        {"file": "/s", "name": "n", "onConflict": "fail", "expect": "e", "details": "counts"},
    ),
    (
        lambda it: it.session_apply(step_ids=["t"], on_conflict="keep"),
        "session/apply",
        {"stepIds": ["t"], "onConflict": "keep"},
    ),
    (lambda it: it.session_apply("s", from_="/other"), "session/apply", {"sessionId": "s", "from": "/other"}),
    (lambda it: it.step_find(is_open=True), "step/find", {"prefix": "", "open": True}),
    (lambda it: it.status(), "snapshot/status", {}),
    (lambda it: it.cleanup(0), "snapshot/cleanup", {"olderThanDays": 0}),
    (lambda it: it.purge(["a"], dry_run=True), "snapshot/purge", {"files": ["a"], "dryRun": True}),
    (lambda it: it.purge(everything=True), "snapshot/purge", {"everything": True}),
    (lambda it: it.check(repair=True), "snapshot/check", {"repair": True}),
]


@pytest.mark.parametrize(("call", "method", "params"), ASKED, ids=[method for _, method, _ in ASKED])
def test_requests_say_what_the_contract_says(
    call: Callable[[Recorder], Any], method: str, params: dict[str, Any]
) -> None:
    recorder = Recorder()
    call(recorder)
    assert recorder.asked == [(method, params, None)]
    # the daemon takes it, and knows every field of it
    kind = METHODS[method].params
    converter.structure(params, kind)
    assert set(params) <= {wire_name(field.name) for field in attrs.fields(kind)}


def test_answers_are_given_as_they_came() -> None:
    assert Recorder({"hash": HASH, "skipped": []}).track() == {"hash": HASH, "skipped": []}
    assert Recorder({"exists": False}).file_exists(HASH, "a") is False


def test_there_is_a_method_for_each_request() -> None:
    # pages have tests of their own
    assert {method for _, method, _ in ASKED} == METHODS.keys() - {"snapshot/listFiles"}
    for name in METHODS:
        family, _, verb = name.partition("/")
        snake = "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in verb)
        assert hasattr(Client, snake if family == "snapshot" else f"{family}_{snake}"), name


def test_each_takes_a_workspace_and_a_time() -> None:
    for name, function in inspect.getmembers(Recorder, inspect.isfunction):
        if name.startswith("_") or name in vars(Requests):
            continue
        parameters = inspect.signature(function).parameters
        assert {"workspace_uri", "timeout", "on_progress"} <= parameters.keys(), name
    recorder = Recorder()
    recorder.session_undo("s", **EVERY)
    assert recorder.asked == [("session/undo", {"sessionId": "s", "workspaceUri": "file:///w"}, 3.0)]


def test_pages_of_a_diff_and_of_the_history() -> None:
    recorder = Recorder({"diffs": ["a", "b"], "nextCursor": "c"}, {"diffs": ["d"]})
    assert list(recorder.session_diff_all("s", message_id="m")) == ["a", "b", "d"]
    first, second = (params for _, params, _ in recorder.asked)
    assert first == {"sessionId": "s", "messageId": "m", "limit": 64}
    assert second == {"sessionId": "s", "messageId": "m", "cursor": "c", "limit": 128}
    recorder = Recorder({"entries": [1], "nextCursor": "c"}, {"entries": [2]})
    assert list(recorder.session_history_all(limit=1)) == [1, 2]
    assert [params for _, params, _ in recorder.asked] == [{"limit": 1}, {"limit": 1, "cursor": "c"}]


def shapes() -> list[type[attrs.AttrsInstance]]:
    return [
        *(cls for method in METHODS.values() for cls in (method.params, method.result)),
        *(notification.params for notification in NOTIFICATIONS.values()),
        *(each for each in vars(values).values() if isinstance(each, type) and is_described(each)),
    ]


def is_described(cls: type) -> bool:
    return attrs.has(cls) and any(field.metadata["doc"] for field in values.fields_of(cls))


@pytest.mark.parametrize("wire", dict.fromkeys(shapes()), ids=lambda wire: wire.__name__)
def test_shapes_are_those_of_the_wire(wire: type[attrs.AttrsInstance]) -> None:
    shape = getattr(types, wire.__name__)
    fields = {wire_name(field.name): field for field in attrs.fields(wire)}
    assert set(get_type_hints(shape)) == set(fields)
    # what the wire leaves out where it has its default
    assert shape.__optional_keys__ == {name for name, field in fields.items() if field.default is not attrs.NOTHING}


@pytest.mark.parametrize(
    ("name", "wire"),
    [
        ("Check", "CheckResult"),
        ("Cleanup", "CleanupResult"),
        ("DidChange", "DidChangeParams"),
        ("DidRevert", "DidRevertParams"),
        ("DidTrack", "DidTrackParams"),
        ("Diff", "DiffResult"),
        ("DiffPage", "DiffFullResult"),
        ("DiffPage", "SessionDiffResult"),
        ("Entry", "Entry"),
        ("Events", "EventsResult"),
        ("Export", "ExportResult"),
        ("FileContent", "FileAtResult"),
        ("FilesPage", "ListFilesResult"),
        ("FoundSteps", "StepFindResult"),
        ("FullLook", "FullLook"),
        ("HistoryPage", "HistoryResult"),
        ("Hunks", "StepHunksResult"),
        ("Purge", "PurgeResult"),
        ("SessionDidChange", "SessionDidChangeParams"),
        ("SnapshotsPage", "ListResult"),
        ("SessionId", "SessionStartResult"),
        ("Sessions", "SessionListResult"),
        ("Status", "StatusResult"),
        ("StepBegun", "StepBeginResult"),
        ("StepEnded", "StepEndResult"),
        ("Steps", "SessionStepsResult"),
        ("Store", "StoreInfo"),
        ("Told", "ToldNotification"),
        ("Track", "TrackResult"),
    ],
)
def test_shapes_keep_their_shorter_names(name: str, wire: str) -> None:
    assert get_type_hints(getattr(types, name)) == get_type_hints(getattr(types, wire))

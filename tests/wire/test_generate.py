"""The table of methods is the contract's, and what is generated from it is fresh."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import attrs
import pytest
from snapd_client.methods import IDEMPOTENT

from snapd.cli.reference.__main__ import ROOT, SOURCES, main
from snapd.wire import message, notifications, review, session, sharing, snapshot, values
from snapd.wire.converter import wire_name
from snapd.wire.generate import outputs, protocol_markdown
from snapd.wire.methods import METHODS, NOTIFICATIONS

if TYPE_CHECKING:
    from pathlib import Path

COMMON = "workspaceUri? workDoneToken? "
CHOICE = "files? file? hunks? stepId? sessionId? all?"
OUTCOME = "applied before after files details? plan?"

STATUS = (
    "enabled workspaceUri within? ignored? projectId files watcher watcherReason? fullLook? lastHash? store openSteps "
    "settings? settingsProblems? formerHistories?"
)

REQUESTS = {
    "snapshot/track": ("force?", "hash reason? skipped"),
    "snapshot/patch": ("hash to?", "hash files"),
    "snapshot/diff": ("hash to? files? renames? exact? binary?", "diff encoding?"),
    "snapshot/diffFull": ("from to? files? contents? renames? cursor? limit?", "diffs nextCursor?"),
    "snapshot/fileAt": ("hash file", "file size mode binary encoding content"),
    "snapshot/listFiles": ("hash prefix? cursor? limit?", "files nextCursor?"),
    "snapshot/fileExists": ("hash file", "exists"),
    "snapshot/restore": ("hash dryRun? expect? onConflict? details?", OUTCOME),
    "snapshot/revert": ("patches dryRun? expect? onConflict? details?", OUTCOME),
    "snapshot/status": ("file?", STATUS),
    "snapshot/cleanup": ("olderThanDays? dryRun?", "removed freedBytes"),
    "snapshot/events": ("since", "events? reset? latest"),
    "session/start": ("sessionId? agent? title?", "sessionId"),
    "session/end": ("sessionId", ""),
    "session/list": ("cursor? limit?", "sessions nextCursor?"),
    "session/steps": ("sessionId cursor? limit?", "steps nextCursor?"),
    "session/diff": ("sessionId messageId? stepId? contents? cursor? limit?", "diffs nextCursor?"),
    "session/undo": (
        "sessionId? count? stepId? messageId? afterStepId? dryRun? expect? onConflict? details?",
        f"{OUTCOME} steps operations?",
    ),
    "session/redo": ("sessionId? count? dryRun? expect? onConflict? details?", f"{OUTCOME} steps operations?"),
    "session/revert": (
        "sessionId messageId partId? dryRun? expect? onConflict? details?",
        f"{OUTCOME} messageId partId? snapshot diff",
    ),
    "session/unrevert": ("sessionId dryRun? expect? details?", OUTCOME),
    "step/begin": (
        "sessionId parentStepId? messageId? partId? tool? description? command? ends? detached? agent? began?",
        "stepId hash",
    ),
    "step/end": (
        "stepId files? directory? description? left? lingers?",
        "stepId from to files ignored? unnamed? outside?",
    ),
    "step/find": ("prefix? sessionId? parentStepId? open? lingering? limit? renames?", "steps"),
    "session/message": ("sessionId messageId text? late?", ""),
    "session/messages": ("sessionId? prefix? cursor? limit?", "messages nextCursor?"),
    "review/list": ("sessionId? cursor? limit?", "files pendingFiles additions deletions nextCursor?"),
    "review/file": (
        "file",
        (
            "file uri? status before after additions deletions binary tooLarge? encoding? renamedFrom? oldMode? "
            "newMode? id hunks owners"
        ),
    ),
    "review/keep": (f"{CHOICE} expect?", "files pendingFiles additions deletions nextCursor?"),
    "review/revert": (f"{CHOICE} dryRun? expect? onConflict? details?", OUTCOME),
    "snapshot/blame": ("file hash? range? content? encoding? at?", "lines noteProblems?"),
    "session/push": (
        (
            "remote sessionIds? all? exclude? redact? withoutPrompts? sign? signingKey? dryRun? delete? prune? "
            "olderThanDays?"
        ),
        "applied remote sessions bytes newFiles secretTexts pruned?",
    ),
    "session/fetch": ("remote sessionIds? dryRun?", "sessions"),
    "session/export": (
        "file sessionIds? all? exclude? redact? withoutPrompts? sign? signingKey? dryRun?",
        "applied sessions bytes newFiles secretTexts",
    ),
    "session/import": ("file", "sessions"),
    "session/handover": (
        "remote? file? name? include? exclude? redact? withoutPrompts? sign? signingKey? dryRun?",
        "applied name remote sessions bytes newFiles secretTexts",
    ),
    "session/takeover": (
        "remote? file? name? dryRun? expect? onConflict? details?",
        f"{OUTCOME} name host sessions signature? told",
    ),
    "session/apply": (
        "sessionId? stepIds? from? dryRun? expect? onConflict? details?",
        f"{OUTCOME} stepId? signature?",
    ),
    "step/hunks": ("stepId file", "hunks mixed?"),
    "step/revertHunks": ("stepId file hunks dryRun? expect? onConflict? details?", OUTCOME),
}
ADDED = {
    "snapshot/check": (
        "repair? quick?",
        "store quick objects bytes snapshots events problems repaired brokenSnapshots leftovers truncated? quarantine?",
    ),
    "snapshot/export": ("hash directory files?", "files bytes"),
    "snapshot/list": ("prefix? before? counts? cursor? limit?", "snapshots nextCursor?"),
    "snapshot/purge": (
        "files? messages? everything? dryRun?",
        "applied files snapshots sessions messages freedBytes stillInGit fetched remotes",
    ),
    "session/history": ("sessionId? files? renames? cursor? limit?", "entries nextCursor?"),
    "session/news": ("sessionId", "undone redone files formerHistories?"),
    "session/prefixes": ("ids", "prefixes"),
    "step/changes": ("sessionIds? stepIds?", "files"),
    "step/diff": ("stepId files? exact? binary?", "diff encoding?"),
    "step/revertFiles": ("stepId files dryRun? expect? onConflict? details?", OUTCOME),
}
"""What the contract does not have: a method may be added to it."""

PUSHED = {
    "snapshot/didTrack": "workspaceUri seq hash previous?",
    "snapshot/didChange": "workspaceUri seq base files truncated?",
    "snapshot/didRevert": "workspaceUri seq kind before after files",
    "session/didChange": "workspaceUri seq session step?",
    "review/didChange": "workspaceUri seq pendingFiles additions deletions",
}

VALUES = {
    values.FileDiff: "file uri? status before after additions deletions binary tooLarge? encoding? renamedFrom? "
    "oldMode? newMode?",
    values.FileChange: "file uri? status additions deletions binary renamedFrom? shared? sharedWith?",
    values.Skipped: "file uri? reason",
    values.Patch: "hash files",
    values.FileOutcome: "file uri? outcome reason? renamedFrom? branch? message?",
    values.Outcome: OUTCOME,
    values.FullLook: "at reason",
    values.StoreInfo: "path bytes",
    session.Session: "sessionId agent? title? name startedAt endedAt? stepCount undoable redoable origin? takenOver? "
    "signature?",
    values.Origin: "remote host",
    values.Signature: "state signer? key? signedAt? reason?",
    sharing.NewFile: "file uri? size reason?",
    session.Step: "stepId sessionId index parentStepId? messageId? partId? agent? tool? description? command? "
    "startedAt endedAt? late? from to? state files? uncaptured?",
    message.Message: "sessionId messageId text? at steps files additions deletions state",
    session.Hunk: "index header lines",
    review.PendingFile: "file uri? status additions deletions binary renamedFrom? shared? sharedWith? id hunks owners",
    review.PendingHunk: "index header lines oldStart oldLines newStart newLines owners",
    review.Owner: "sessionId stepId",
    review.LineRange: "start count",
    review.BlamedLines: "start count author sessionId? stepId? agent? messageId? at? noted?",
    review.NotedCommit: "commit at agent? sessionId? model? person?",
    review.NoteProblem: "commit? reason",
    notifications.ToldNotification: "method params",
}


def fields(cls: type[attrs.AttrsInstance]) -> str:
    return " ".join(wire_name(each.name) + ("" if each.default is attrs.NOTHING else "?") for each in attrs.fields(cls))


def test_requests_have_exactly_the_fields_of_the_contract() -> None:
    expected = {name: ((COMMON + params).strip(), result) for name, (params, result) in (REQUESTS | ADDED).items()}

    assert {name: (fields(each.params), fields(each.result)) for name, each in METHODS.items()} == expected


def test_notifications_have_exactly_the_fields_of_the_contract() -> None:
    assert {name: fields(each.params) for name, each in NOTIFICATIONS.items()} == PUSHED


@pytest.mark.parametrize("cls", VALUES)
def test_values_have_exactly_the_fields_of_the_contract(cls: type[attrs.AttrsInstance]) -> None:
    assert fields(cls) == VALUES[cls]


@pytest.mark.parametrize("module", [values, snapshot, session, sharing, notifications])
def test_every_field_has_its_doc(module: object) -> None:
    classes = [each for each in vars(module).values() if isinstance(each, type) and attrs.has(each)]
    fields = [field for cls in {*classes} - {values.Hexadecimal, values.AtLeast} for field in values.fields_of(cls)]

    assert [field for field in fields if not field.metadata["doc"].endswith(".")] == []


def test_generated_files_are_fresh(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--check", "--quick"]) == 0, capsys.readouterr().err


def test_check_names_the_stale_file_and_changes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "docs/design").mkdir(parents=True)
    for source in SOURCES:
        (tmp_path / source).write_bytes((ROOT / source).read_bytes())
    assert main(["--quick"], tmp_path) == 0
    assert {name: (tmp_path / name).read_text("utf-8") for name in outputs()} == outputs()
    assert main(["--check", "--quick"], tmp_path) == 0
    edited = tmp_path / "docs/protocol.md"
    edited.write_text("edited", "utf-8")
    capsys.readouterr()

    assert main(["--check", "--quick"], tmp_path) == 1

    assert "docs/protocol.md" in (said := capsys.readouterr().err)
    assert "protocol.ts" not in said
    assert edited.read_text("utf-8") == "edited"


def test_the_reference_has_every_method_and_no_unfilled_slot() -> None:
    page = protocol_markdown()

    assert re.findall(r"^### `(.+)`$", page, re.MULTILINE) == [*METHODS, *PUSHED]
    assert "{{" not in page
    assert "| `limit?` | `integer` |" in page
    assert '| `onConflict?` | `"merge" \\| "fail" \\| "overwrite" \\| "keep"` |' in page
    anchors = {heading.lower().replace(" ", "-") for heading in re.findall(r"^#+ ([\w ]+)$", page, re.MULTILINE)}
    assert set(re.findall(r"\]\(#([^)]*)\)", page)) <= anchors


_ONCE = ("snapshot/check", "snapshot/export", "session/export", "session/handover", "session/takeover")
"""What does something although it changes no folder by itself, or not at once."""


def test_what_may_be_sent_again_is_the_same_everywhere() -> None:
    assert {name: method.idempotent for name, method in METHODS.items()} == IDEMPOTENT
    for name, method in METHODS.items():
        if method.access != "writes" and name not in _ONCE:
            assert method.idempotent is True


def test_a_session_is_started_twice_as_once_where_it_has_a_name() -> None:
    start = METHODS["session/start"]
    assert start.may_repeat({"sessionId": "s", "agent": "a"})
    assert not start.may_repeat({"agent": "a"})
    assert not METHODS["session/undo"].may_repeat({"sessionId": "s"})
    assert METHODS["step/end"].may_repeat({"stepId": "s"})

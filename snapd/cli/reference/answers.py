"""What each command prints with `--json`, and its JSON schema."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any, Literal

import attrs

from snapd.wire.check import CheckResult
from snapd.wire.generate.json_schema import object_schema, type_schema
from snapd.wire.message import Entry
from snapd.wire.notifications import ToldNotification
from snapd.wire.review import BlameResult, PendingFile, ReviewFileResult, ReviewListResult
from snapd.wire.session import Session, SessionEndResult, Step, StepBeginResult, StepEndResult, StepsOutcome
from snapd.wire.sharing import (
    SessionApplyResult,
    SessionExportResult,
    SessionFetchResult,
    SessionHandoverResult,
    SessionPushResult,
    SessionTakeoverResult,
)
from snapd.wire.snapshot import (
    CleanupResult,
    DiffResult,
    ExportResult,
    FileAtResult,
    PurgeResult,
    StatusResult,
    TakenSnapshot,
    TrackResult,
)
from snapd.wire.values import FileChange, FileDiff, Outcome, Patch, TreeHash

if TYPE_CHECKING:
    from snapd.wire.generate.classes import WireClass

_ABOUT = (
    "Each command prints one document. `#/$defs/NAME` describes it, where NAME is the words of the command, joined by "
    "'-' (`step-begin`). In place of it, a command that fails prints `#/$defs/Failure`; its exit code is not 0. Newer "
    "versions of snapd may add fields."
)


@attrs.frozen(kw_only=True)
class ShownStep:
    """A step, as `show` tells it."""

    step: Annotated[Step, "The step."]
    diff: Annotated[str, "What it changed, as a unified diff."]


@attrs.frozen(kw_only=True)
class FileNames:
    """The files of a snapshot."""

    files: Annotated[
        list[str], "The names, relative to the folder. A name that is not valid UTF-8 is given as its `file:` URI."
    ]


@attrs.frozen(kw_only=True)
class Snapshots:
    """The snapshots of the folder."""

    snapshots: Annotated[list[TakenSnapshot], "The latest first."]


@attrs.frozen(kw_only=True)
class Suspect:
    """A change that broke a command, or may have broken it."""

    before: Annotated[TreeHash, "The snapshot before it."]
    after: Annotated[TreeHash, "The snapshot after it."]
    steps: Annotated[
        list[Step],
        "The steps that were open then and changed any of the files: of the session, or of others at the same time. "
        "Empty if somebody else changed the files.",
    ]
    prompts: Annotated[list[str], "The prompts of these steps, as far as they are known."]
    files: Annotated[list[FileDiff], "What differs between the two snapshots; `before` and `after` are empty."]
    others: Annotated[list[str], "Those of these files that none of the steps changed: somebody else did, meanwhile."]


@attrs.frozen(kw_only=True)
class Run:
    """A run of a command on a snapshot."""

    hash: Annotated[TreeHash, "The snapshot."]
    exit_code: Annotated[int, "The exit code; for a command that a signal ended, 128 and the number of the signal."]
    verdict: Annotated[Literal["good", "bad", "skip", "abort"], "What the code says."]


@attrs.frozen(kw_only=True)
class Bisected:
    """What `bisect` found."""

    session_id: Annotated[str, "The session."]
    outcome: Annotated[
        Literal["found", "unclear", "badBefore", "goodAfter", "untested", "aborted"],
        '`"found"`, or why not. `"unclear"`: the command skipped the snapshots between several suspects. '
        '`"badBefore"`: it is bad before the first step. `"goodAfter"`: it is good after the last one. `"untested"`: '
        'it skipped one of these two. `"aborted"`: its exit code was over 127.',
    ]
    exit_code: Annotated[int, "The exit code of the command where it is first bad, or where the outcome showed."]
    suspects: Annotated[
        list[Suspect],
        "What broke it: one change if it was found, all that may have if that is unclear, the earliest first; else "
        "none.",
    ]
    trials: Annotated[list[Run], "All runs, in their order."]


@attrs.frozen(kw_only=True)
class Sessions:
    """The sessions of the folder."""

    sessions: Annotated[list[Session], "In the order in which they were first started."]


@attrs.frozen(kw_only=True)
class LoggedEntry(Entry):
    """Something that happened in the folder."""

    diff: Annotated[str | None, "With `-p`, what it changed, as a unified diff."] = None


@attrs.frozen(kw_only=True)
class Log:
    """What happened in the folder."""

    entries: Annotated[list[LoggedEntry], "The latest first."]


@attrs.frozen(kw_only=True)
class BegunStep(StepBeginResult):
    """A step that was begun."""

    session_id: Annotated[str, "Its session, which was started if there was none."]


@attrs.frozen(kw_only=True)
class EndedSteps:
    """The steps that `step end --all` ended."""

    steps: Annotated[list[StepEndResult], "In the order in which they were ended."]


@attrs.frozen(kw_only=True)
class CleanedStore:
    """A store that was cleaned up, or why it was not."""

    folder: Annotated[str | None, "The folder that it belongs to, or null if the store does not say."]
    store: Annotated[str, "Its directory."]
    missing: Annotated[bool, "Whether the folder no longer exists."]
    removed: Annotated[int | None, "The number of removed snapshots."] = None
    freed_bytes: Annotated[int | None, "By how many bytes it shrank."] = None
    gone: Annotated[bool | None, "True if the store itself was removed."] = None
    moved_to: Annotated[str | None, "The path that the missing folder has now: its history is kept."] = None
    error: Annotated[str | None, "What went wrong."] = None
    hint: Annotated[str | None, "What to do about it."] = None


@attrs.frozen(kw_only=True)
class Adopted:
    """The history that `adopt` took."""

    folder: Annotated[str, "The former path."]
    store: Annotated[str, "The directory that the history has now."]
    kept: Annotated[bool, "Whether the folder had a history by now, which is kept as a former one."]


@attrs.frozen(kw_only=True)
class CleanedStores:
    """What `gc --all` did."""

    stores: Annotated[list[CleanedStore], "All stores of the user."]


@attrs.frozen(kw_only=True)
class SessionSize:
    """The space that one session takes."""

    session_id: Annotated[str, "The session."]
    bytes: Annotated[int, "What only this session needs, in bytes."]


@attrs.frozen(kw_only=True)
class StoreSize:
    """The space that a store takes, in bytes, by what needs it; or why that is not known."""

    folder: Annotated[str | None, "The folder that it belongs to, or null if the store does not say."]
    store: Annotated[str, "Its directory."]
    missing: Annotated[bool, "Whether the folder no longer exists."]
    bytes: Annotated[int | None, "All of it."] = None
    sessions: Annotated[list[SessionSize] | None, "What single sessions need."] = None
    no_session: Annotated[int | None, "Snapshots outside of any session."] = None
    shared: Annotated[int | None, "What several of these need."] = None
    unused: Annotated[int | None, "What `snapd gc` frees."] = None
    linked: Annotated[int | None, "What the project's own git has too, which takes no extra space."] = None
    other: Annotated[int | None, "Indexes, timeline and the cached state of the folder."] = None
    error: Annotated[str | None, "What went wrong."] = None
    hint: Annotated[str | None, "What to do about it."] = None


@attrs.frozen(kw_only=True)
class StoreSizes:
    """The space that stores take."""

    stores: Annotated[list[StoreSize], "The store of the folder, or all stores of the user."]
    bytes: Annotated[int, "All of them together."]


@attrs.frozen(kw_only=True)
class Waiting:
    """An event of an agent's that the daemon has not recorded yet."""

    agent: Annotated[str, "Whose it is."]
    folder: Annotated[str, "Where the agent works, absolute."]
    at: Annotated[str, "When it happened, as RFC 3339 in UTC with milliseconds."]
    why: Annotated[str, "Why it is not recorded, in words."]


@attrs.frozen(kw_only=True)
class Status(StatusResult):
    """What is known of a folder."""

    waiting: Annotated[list[Waiting], "What agents reported in the folder and is not recorded yet, oldest first."]


@attrs.frozen(kw_only=True)
class Stopped:
    """What `stop` did."""

    stopped: Annotated[bool, "Whether a daemon was running."]


@attrs.frozen(kw_only=True)
class RemovedThing:
    """Something that `uninstall` took away, or why it could not."""

    what: Annotated[str, "What it is."]
    path: Annotated[str, "Where it is: for hooks and completion, the file that they were in."]
    error: Annotated[Error | None, "Why it is still there."] = None


@attrs.frozen(kw_only=True)
class LeftProgram:
    """What `uninstall` leaves."""

    program: Annotated[str, "The path of the program."]
    remove: Annotated[str, "The command that removes it."]


@attrs.frozen(kw_only=True)
class Uninstalled:
    """What `uninstall` took away, or would."""

    removed: Annotated[list[RemovedThing], "In the order of the removal."]
    left: Annotated[LeftProgram, "What is still to be removed."]


@attrs.frozen(kw_only=True)
class Address:
    """Where `web` serves. It is printed once requests are answered."""

    url: Annotated[str, "The address for the browser, with the token in its fragment."]
    token: Annotated[str, "What programs send as `Authorization: Bearer TOKEN`."]


@attrs.frozen(kw_only=True)
class Finding:
    """What one check of `doctor` found."""

    check: Annotated[str, "Its name."]
    ok: Annotated[bool, "Whether all is well."]
    found: Annotated[str, "What it found, in words."]
    hint: Annotated[str | None, "What to do about it; present unless all is well."] = None


@attrs.frozen(kw_only=True)
class Findings:
    """What `doctor` found."""

    checks: Annotated[list[Finding], "All of them, the first to look at first."]


@attrs.frozen(kw_only=True)
class Error:
    """What is wrong, as `error` tells it."""

    kind: Annotated[
        str,
        "A stable name: one of the error kinds of docs/protocol.md, or `wrongUsage` (the words of the command do not "
        "fit together), or `declined` (the person said no), or of `stage`: `noGitRepository`, `gitOperationUnderWay`, "
        "`indexLocked`, `indexChanged`, `gitFailed`, `stagingConflict` (with `files`, each with its `reason`).",
    ]
    message: Annotated[str, "What is wrong, for people."]
    hint: Annotated[str, "What to do next, for people."]


@attrs.frozen(kw_only=True)
class Failure:
    """What any command prints in place of its answer when it fails. The exit code says what kind of failure it is.

    A kind may add fields to `error`, as docs/protocol.md says.
    """

    error: Annotated[Error, "What is wrong."]


@attrs.frozen(kw_only=True)
class UncheckedStore:
    """A store that could not be checked."""

    store: Annotated[str, "Its directory."]
    error: Annotated[Error, "Why."]


@attrs.frozen(kw_only=True)
class CheckedStores:
    """What `fsck --all` found."""

    stores: Annotated[list[CheckResult | UncheckedStore], "All stores of the user."]


@attrs.frozen(kw_only=True)
class LeftOut:
    """A file that was not staged, though nothing is in conflict."""

    file: Annotated[str, "Relative to the folder."]
    uri: Annotated[str | None, "The exact `file:` URI. Present if the name is not valid UTF-8."] = None
    reason: Annotated[
        str, "Why: `ignored` (by git), `otherRepository`, or `changedSince` (by others, and the index has that)."
    ]


@attrs.frozen(kw_only=True)
class StagedChanges:
    """What `stage` put into the index. The counts are those of the index before and after."""

    applied: Annotated[bool, "False for a dry run."]
    repository: Annotated[str, "The root of the git work tree."]
    files: Annotated[list[FileChange], "The files that changed in the index."]
    left: Annotated[list[LeftOut], "The files that were left out."]
    already_staged: Annotated[int, "How many other files the index has with changes: the commit has these, too."]
    open_steps: Annotated[list[str], "The steps of the sessions that are open: what they change is not staged yet."]
    message: Annotated[str, "A message for the commit, from the prompts of the steps that the last commit has not."]


@attrs.frozen(kw_only=True)
class SettingsFile:
    """What `agent install` or `agent uninstall` did with one file, or would do."""

    agent: Annotated[str, "The agent whose file it is."]
    file: Annotated[str, "Its path."]
    did: Annotated[
        str,
        "`created` or `removed`: the file itself; `changed`: hooks in it; `nothing`; `failed`: it is as it was, and "
        "`error` says why.",
    ]
    diff: Annotated[str | None, "With `--dry-run`, the change as a unified diff."] = None
    error: Annotated[Error | None, "What is wrong."] = None


@attrs.frozen(kw_only=True)
class SettingsFiles:
    """What `agent install` or `agent uninstall` did."""

    files: Annotated[list[SettingsFile], "The files of all agents that were named."]


@attrs.frozen(kw_only=True)
class AgentState:
    """What is known of an agent and its hooks."""

    name: Annotated[str, "What snapd calls it."]
    title: Annotated[str, "What its makers call it."]
    found: Annotated[bool, "Whether it is on this machine."]
    installed: Annotated[bool, "Whether it has hooks of snapd's."]
    working: Annotated[bool, "Whether it has hooks, nothing is known to be wrong with them, and they run."]
    settings: Annotated[str, "The file with the hooks, or the one that an install would write."]
    scopes: Annotated[list[str], "Where it has hooks: `user`, `project`, `plugin`."]
    problem: Annotated[str | None, "What is wrong."] = None
    hint: Annotated[str | None, "What to do about it."] = None
    tested: Annotated[str | None, "The version with which its hooks were run for real; absent if never."] = None
    last_event_at: Annotated[str | None, "When it last reported an event, as RFC 3339; absent if it never did."] = None


@attrs.frozen(kw_only=True)
class AgentStates:
    """What is known of agents and their hooks."""

    agents: Annotated[list[AgentState], "All agents that snapd knows."]


@attrs.frozen(kw_only=True)
class Pending:
    """What agents changed and nobody has kept yet."""

    files: Annotated[list[PendingFile | ReviewFileResult], "The files; with `-p`, each with its hunks."]


ANSWERS: dict[str, Any] = {
    "track": TrackResult,
    "patch": Patch,
    "diff": DiffResult,
    "show": FileAtResult | ShownStep,
    "files": FileNames,
    "status": Status,
    "revert": Outcome,
    "restore": Outcome,
    "review": Pending,
    "keep": ReviewListResult,
    "blame": BlameResult,
    "snapshots": Snapshots,
    "export": ExportResult,
    "bisect": Bisected,
    "sessions": Sessions,
    "log": Log,
    "watch": ToldNotification,
    "web": Address,
    "undo": StepsOutcome | Outcome,
    "redo": StepsOutcome,
    "revert-hunk": Outcome,
    "stage": StagedChanges,
    "push": SessionPushResult,
    "fetch": SessionFetchResult,
    "bundle": SessionExportResult,
    "unbundle": SessionFetchResult,
    "handover": SessionHandoverResult,
    "takeover": SessionTakeoverResult,
    "apply": SessionApplyResult,
    "step begin": BegunStep,
    "step end": StepEndResult | EndedSteps,
    "session end": SessionEndResult,
    "agent install": SettingsFiles,
    "agent uninstall": SettingsFiles,
    "agent status": AgentStates,
    "gc": CleanupResult | CleanedStores,
    "du": StoreSizes,
    "purge": PurgeResult,
    "stop": Stopped,
    "uninstall": Uninstalled,
    "adopt": Adopted,
    "doctor": Findings,
    "fsck": CheckResult | CheckedStores,
}
"""The type of the answer of each command, by its words."""

WITHOUT_JSON = {
    "run": "standard output and standard error are those of the command that it runs; 'snapd log --json' tells of it",
    "acp": "standard input and output carry the protocol between editor and agent",
    "hook": "it answers an agent, in the form that the agent reads",
    "mcp": "it speaks the Model Context Protocol",
    "ui": "it draws on the terminal",
    "serve": "it speaks the protocol itself",
    "connect": "it carries the protocol",
    "completion": "it prints a program for a shell",
    "help": "it prints a text for people",
}
"""The commands that have no `--json`, each with the reason."""


def schema() -> dict[str, Any]:
    """The schema, as JSON values."""
    definitions: dict[str, Any] = {}
    commands = {name_of(words): _type(answer, definitions) for words, answer in ANSWERS.items()}
    _type(Failure, definitions)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "What the commands of snapd print with --json",
        "description": _ABOUT,
        "$defs": {**commands, **dict(sorted(definitions.items()))},
    }


def text() -> str:
    """The schema as a file."""
    return json.dumps(schema(), indent=2, ensure_ascii=False) + "\n"


def name_of(words: str) -> str:
    """The name of a command's answer in the schema."""
    return words.replace(" ", "-")


def _type(annotation: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    def refer(cls: WireClass) -> dict[str, Any]:
        name = cls.__name__
        if name not in definitions:
            # there before its fields are, which may be of the same class
            definitions[name] = {}
            definitions[name] = object_schema(cls, refer)
        return {"$ref": f"#/$defs/{name}"}

    return type_schema(annotation, refer)

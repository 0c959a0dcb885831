"""The values that params and results are made of.

Fields are in snake_case here and in camelCase on the wire; a name that is a Python keyword ends in an underscore here.
The annotation of a field has its type and its description (Markdown), from which the reference and the clients' types
are generated. A field with a default is optional on the wire, and left out if it has its default. A field without a
default is always present, as null if it is None.
"""

from __future__ import annotations

from functools import cache
from typing import Annotated, Any, Literal, get_args, get_origin

import attrs

from .git import GitOutcome


@attrs.frozen
class Hexadecimal:
    """Marks a string of lower-case hexadecimal digits: exactly so many, or with `least` at most so many."""

    digits: int
    least: int | None = None

    def count(self, separator: str = ",") -> str:
        """Returns how many digits, such as "40" or "6,40"."""
        return str(self.digits) if self.least is None else f"{self.least}{separator}{self.digits}"


@attrs.frozen
class AtLeast:
    """Marks a number that must not be smaller than a minimum."""

    minimum: int


@attrs.frozen
class NotEmpty:
    """Marks a string that is not empty."""


TreeHash = Annotated[str, Hexadecimal(40)]

HashPrefix = Annotated[str, Hexadecimal(40, least=6)]

Plan = Annotated[str, NotEmpty()]

Limit = Annotated[int, AtLeast(1)]

Days = Annotated[float, AtLeast(0)]

FileStatus = Literal["added", "deleted", "modified"]

OutcomeKind = Literal["restored", "deleted", "merged", "unchanged", "conflict", "kept", "skipped", "failed"]

SkipReason = Literal["tooLarge", "unreadable", "special", "unstable", "unsupportedName", "purged"]

OnConflict = Literal["merge", "fail", "overwrite", "keep"]

Decision = Literal["merge", "overwrite", "keep"]

SettingSource = Literal["default", "file", "environment", "client", "otherClient", "folder"]

Detail = Literal["counts", "diff"]

RevertKind = Literal["restore", "revert", "undo", "redo", "unrevert", "hunks"]

TakenKind = Literal["track", "look", "begin", "end", "message", "before", "after"]

ALIASES: dict[str, Any] = {
    "TreeHash": TreeHash,
    "HashPrefix": HashPrefix,
    "FileStatus": FileStatus,
    "OutcomeKind": OutcomeKind,
    "SkipReason": SkipReason,
    "OnConflict": OnConflict,
    "SettingSource": SettingSource,
    "Detail": Detail,
    "RevertKind": RevertKind,
}
"""The types above that the generated files refer to by name."""

_FILE = "Relative to the workspace root, with `/` between its parts."

URI = (
    "The exact, percent-encoded `file:` URI. Present if the name is not valid UTF-8, so that `file` shows it with "
    "U+FFFD."
)


@cache
def fields_of(cls: type[attrs.AttrsInstance]) -> tuple[Any, ...]:
    """Returns the fields of a wire class, each with its plain type, and with its description in `metadata["doc"]`."""
    return tuple(map(_split, attrs.fields(attrs.resolve_types(cls))))


def _split(field: Any) -> Any:
    base, *marks = get_args(field.type) if get_origin(field.type) is Annotated else (field.type,)
    doc = marks.pop() if marks and isinstance(marks[-1], str) else ""
    return field.evolve(type=Annotated[(base, *marks)] if marks else base, metadata={"doc": doc})


@attrs.frozen(kw_only=True)
class RequestParams:
    """The params that every request may have."""

    workspace_uri: Annotated[
        str | None, "The workspace of the request. Required unless exactly one folder is open on this connection."
    ] = None
    work_done_token: Annotated[
        str | int | None, "The token for progress reports, which begin when the request takes more than half a second."
    ] = None


@attrs.frozen(kw_only=True)
class FileDiff:
    """One file that differs between two states.

    If renames were requested, a rename is a `modified` file with `renamedFrom`. For a binary file, and for text over
    10 MB (10,485,760 bytes on either side), `before` and `after` are empty and the counts are 0.
    """

    file: Annotated[str, _FILE]
    uri: Annotated[str | None, URI] = None
    status: Annotated[FileStatus, "What happened to the file."]
    before: Annotated[str, "The text before. Empty for an added file, and without `contents`."]
    after: Annotated[str, "The text after. Empty for a deleted file, and without `contents`."]
    additions: Annotated[int, "Lines added."]
    deletions: Annotated[int, "Lines deleted."]
    binary: Annotated[bool, "Whether the file is binary on either side."]
    too_large: Annotated[
        Literal[True] | None, "The text is over 10 MB on either side. `snapshot/fileAt` still returns its bytes."
    ] = None
    encoding: Annotated[
        str | None, '`"latin-1"` if the texts are not UTF-8; they are then shown byte by byte as Latin-1.'
    ] = None
    renamed_from: Annotated[str | None, "The name of the file before the rename."] = None
    old_mode: Annotated[str | None, 'The mode before, an octal string such as `"100644"`.'] = None
    new_mode: Annotated[str | None, 'The mode after, an octal string such as `"100755"`.'] = None


@attrs.frozen(kw_only=True)
class FileChange:
    """One file that changed, without its contents."""

    file: Annotated[str, _FILE]
    uri: Annotated[str | None, URI] = None
    status: Annotated[FileStatus, "What happened to the file."]
    additions: Annotated[int, "Lines added."]
    deletions: Annotated[int, "Lines deleted."]
    binary: Annotated[bool, "Whether the file is binary on either side."]
    renamed_from: Annotated[
        str | None, "The name of the file before the rename, if the request asked for renames; it is then `modified`."
    ] = None
    shared: Annotated[
        Literal[True] | None, "Steps of other sessions were open too, so the change belongs to several sessions."
    ] = None
    shared_with: Annotated[list[str] | None, "The ids of these steps. Present if the change is `shared`."] = None
    by_git: Annotated[
        Literal[True] | None,
        "Git put it there during the step, by a checkout or a pull, say: nobody of the step wrote it. See [Git](#git).",
    ] = None


@attrs.frozen(kw_only=True)
class Skipped:
    """A file that is not ignored but could not be captured, or that was `purged` from the snapshot."""

    file: Annotated[str, _FILE]
    uri: Annotated[str | None, URI] = None
    reason: Annotated[SkipReason, "Why the file is not in the snapshot."]


@attrs.frozen(kw_only=True)
class Uncaptured:
    """A file that no snapshot has, because it is ignored or was skipped, and what happened to it."""

    file: Annotated[str, _FILE]
    uri: Annotated[str | None, URI] = None
    change: Annotated[Literal["changed", "deleted"], "What happened. An undo cannot bring it back."]


@attrs.frozen(kw_only=True)
class Patch:
    """The files that differ from a snapshot: the result of `snapshot/patch`, and input for `snapshot/revert`."""

    hash: Annotated[HashPrefix, "The snapshot. A response has the whole hash."]
    files: Annotated[
        list[str],
        "The files. A response names them by absolute path, or by `file:` URI if the name is not valid UTF-8. A "
        "request may use absolute paths, relative paths and `file:` URIs.",
    ]


@attrs.frozen(kw_only=True)
class FileOutcome:
    """What an operation did with one file."""

    file: Annotated[str, _FILE]
    uri: Annotated[str | None, URI] = None
    outcome: Annotated[OutcomeKind, "What the operation did with the file, or would do in a dry run."]
    reason: Annotated[str | None, "Why, if that is not what the request asked for."] = None
    renamed_from: Annotated[
        str | None,
        'The name that the file had before the operation renamed it. That name is in the list too, as `"deleted"`.',
    ] = None
    branch: Annotated[str | None, "The branch that has the change, if the reason is `onBranch`."] = None
    message: Annotated[str | None, "The reason in words, if it is the name of an error of the system."] = None


@attrs.frozen(kw_only=True)
class ChangedBy:
    """Who changed a file."""

    author: Annotated[
        Literal["user", "step", "operation", "unknown"],
        'Whether it was the user, a step, or an operation such as a restore. `"unknown"`: the file is in a repository '
        "with a history of its own, which knows who.",
    ]
    at: Annotated[str | None, "When, as RFC 3339 in UTC with milliseconds. Absent if that is not known."] = None
    step_id: Annotated[str | None, "The step."] = None
    session_id: Annotated[str | None, "The session of the step."] = None
    agent: Annotated[str | None, "The agent of that session."] = None
    kind: Annotated[RevertKind | None, "What the operation is."] = None
    elsewhere: Annotated[
        Literal[True] | None, "The conflict is not about this change, which is elsewhere in the file."
    ] = None


@attrs.frozen(kw_only=True)
class Dispute:
    """Lines of a file that a step or operation changed, and that somebody else changed since."""

    line: Annotated[int, "The number of the first of them in the file as it is, from 1."]
    now: Annotated[list[str], "The lines as they are: at most 100, as in the other two."]
    left: Annotated[list[str], "The lines as the step or operation left them."]
    wanted: Annotated[list[str], "The lines as they were before that."]


@attrs.frozen(kw_only=True)
class Contested:
    """A file of a step or operation that conflicts, or would without `onConflict: "overwrite"`."""

    file: Annotated[str, _FILE]
    uri: Annotated[str | None, URI] = None
    name: Annotated[str, "The id of the step or operation to undo or redo."]
    reason: Annotated[str | None, "Why it conflicts."] = None
    by: Annotated[list[ChangedBy], "Who changed it since, the last first; if it is `shared`, with whom."]
    dispute: Annotated[Dispute | None, "The first lines that both changed. Absent if it is not about lines."] = None


@attrs.frozen(kw_only=True)
class Details:
    """What an operation changes, or would change in a dry run."""

    additions: Annotated[int, "Lines added."]
    deletions: Annotated[int, "Lines deleted."]
    diff: Annotated[str | None, 'All of it as a unified diff. Present for `details: "diff"`.'] = None
    contested: Annotated[list[Contested], "The files of steps and operations that conflict, as they are undone."]


@attrs.frozen(kw_only=True)
class Outcome:
    """What an operation that changes the working tree did."""

    applied: Annotated[
        bool, 'False for a dry run, and if `onConflict: "fail"` met a conflict. True if there was nothing to do.'
    ]
    before: Annotated[
        TreeHash, "The snapshot of the working tree that the operation took first, so that nothing is lost."
    ]
    after: Annotated[TreeHash, "The working tree after the operation."]
    files: Annotated[list[FileOutcome], "The files that the operation considered."]
    details: Annotated[Details | None, "Present if the request asked for it."] = None
    plan: Annotated[str | None, "Of a dry run: an opaque name of exactly what would be done. See [Plans](#plans)."] = (
        None
    )
    git: Annotated[GitOutcome | None, "Absent if the steps did nothing to the folder's own git."] = None


@attrs.frozen(kw_only=True)
class FullLook:
    """A scan of all files of a workspace."""

    at: Annotated[str, "When it began, as RFC 3339 in UTC."]
    reason: Annotated[str, "Why it was not enough to look at the changed files."]


@attrs.frozen(kw_only=True)
class StoreInfo:
    """The store that has the snapshots of a workspace."""

    path: Annotated[str, "The directory of the store."]
    bytes: Annotated[int, "The space that it takes on disk, in bytes."]


@attrs.frozen(kw_only=True)
class Origin:
    """Where a fetched session came from."""

    remote: Annotated[str, "The address that it was fetched from, without a password."]
    host: Annotated[str, "The machine that added to it last, as that names itself."]


@attrs.frozen(kw_only=True)
class Signature:
    """The state of the signature of something fetched, checked with the user's own git configuration."""

    state: Annotated[
        Literal["good", "partial", "unknown", "bad", "unchecked"],
        '`"good"`: all of it is signed with a key of the allowed signers. `"partial"`: what came first is, and '
        'what was added later is not. `"unknown"`: it is signed, with another key. `"bad"`: the '
        'signature does not fit, or its key was revoked. `"unchecked"`: it could not be checked.',
    ]
    signer: Annotated[str | None, "Whose key it is, as the allowed signers say. Absent if they do not."] = None
    key: Annotated[str | None, "The fingerprint of the key. Absent if the signature cannot be read."] = None
    signed_at: Annotated[
        str | None, "When it was signed, as the signer says, as RFC 3339 in UTC. Absent in the same case."
    ] = None
    reason: Annotated[str | None, "Why it is not good, in words for people. Absent if it is."] = None


@attrs.frozen(kw_only=True)
class FormerHistory:
    """A history that the folder may adopt: its own from a former name, or that of another folder that had its name.

    snapd never takes one by itself. `snapd adopt` takes it.
    """

    folder: Annotated[str, "The path that its folder had."]
    store: Annotated[str, "Its directory, which names it if several have the same path."]
    reason: Annotated[
        Literal["moved", "replaced"],
        'Why: `"moved"` if this folder is that one under another name, `"replaced"` if another folder had its path.',
    ]

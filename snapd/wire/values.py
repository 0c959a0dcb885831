"""The values that params and results are made of.

Fields are in snake_case here and in camelCase on the wire; a trailing underscore keeps a Python keyword apart. A field
with a default is optional on the wire and left out where it has its default; one without a default is always there,
as null where its type says so.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import attrs
from attrs import field


@attrs.frozen
class Hexadecimal:
    """Marks a string of exactly so many lower-case hexadecimal digits."""

    digits: int


@attrs.frozen
class AtLeast:
    """Marks a number that may not be smaller."""

    minimum: int


TreeHash = Annotated[str, Hexadecimal(40)]
Limit = Annotated[int, AtLeast(1)]
Days = Annotated[float, AtLeast(0)]

FileStatus = Literal["added", "deleted", "modified"]
OutcomeKind = Literal["restored", "deleted", "merged", "unchanged", "conflict", "kept", "skipped", "failed"]
SkipReason = Literal["tooLarge", "unreadable", "special", "unstable", "unsupportedName", "purged"]
OnConflict = Literal["merge", "fail", "overwrite"]
SettingSource = Literal["default", "file", "environment", "client", "otherClient", "folder"]
RevertKind = Literal["restore", "revert", "undo", "redo", "unrevert", "hunks"]

ALIASES: dict[str, Any] = {
    "TreeHash": TreeHash,
    "FileStatus": FileStatus,
    "OutcomeKind": OutcomeKind,
    "SkipReason": SkipReason,
    "OnConflict": OnConflict,
    "SettingSource": SettingSource,
    "RevertKind": RevertKind,
}
"""The types above that the generated documents call by their names."""

_FILE = "Relative to the workspace root, with `/` between its parts."
_URI = "The exact, percent-encoded `file:` URI, where the name is not valid UTF-8 and `file` shows U+FFFD in it."


def says(doc: str) -> dict[str, str]:
    """The metadata of a field, for the generated documents: what it means, in Markdown."""
    return {"doc": doc}


@attrs.frozen(kw_only=True)
class RequestParams:
    """What the params of every request may have."""

    workspace_uri: str | None = field(
        default=None,
        metadata=says("The workspace that is meant; needed unless one folder alone is open on this connection."),
    )
    work_done_token: str | int | None = field(
        default=None, metadata=says("Progress is reported under this token where the work lasts over half a second.")
    )


@attrs.frozen(kw_only=True)
class FileDiff:
    """One file that differs between two states.

    A rename, where renames were asked for, is a `modified` file with `renamedFrom`. For a binary file, and for text
    over 10 MB (10,485,760 bytes, on either side), `before` and `after` are empty and the counts are 0.
    """

    file: str = field(metadata=says(_FILE))
    uri: str | None = field(default=None, metadata=says(_URI))
    status: FileStatus = field(metadata=says("What happened to it."))
    before: str = field(metadata=says("The text before; empty for an added file, and where contents are left out."))
    after: str = field(metadata=says("The text after; empty for a deleted file, and where contents are left out."))
    additions: int = field(metadata=says("Lines added."))
    deletions: int = field(metadata=says("Lines deleted."))
    binary: bool = field(metadata=says("Whether it is binary, on either side."))
    too_large: Literal[True] | None = field(
        default=None, metadata=says("Text over 10 MB; `snapshot/fileAt` still gives its bytes.")
    )
    encoding: str | None = field(
        default=None,
        metadata=says('`"latin-1"` where the texts are not UTF-8 and are shown byte by byte as Latin-1.'),
    )
    renamed_from: str | None = field(default=None, metadata=says("The file that it was before a rename."))
    old_mode: str | None = field(default=None, metadata=says('The mode before, an octal string such as `"100644"`.'))
    new_mode: str | None = field(default=None, metadata=says('The mode after, an octal string such as `"100755"`.'))


@attrs.frozen(kw_only=True)
class FileChange:
    """One file that changed, without its contents."""

    file: str = field(metadata=says(_FILE))
    uri: str | None = field(default=None, metadata=says(_URI))
    status: FileStatus = field(metadata=says("What happened to it."))
    additions: int = field(metadata=says("Lines added."))
    deletions: int = field(metadata=says("Lines deleted."))
    binary: bool = field(metadata=says("Whether it is binary, on either side."))
    shared: Literal[True] | None = field(
        default=None, metadata=says("A step of another session was open too, so that the change belongs to both.")
    )


@attrs.frozen(kw_only=True)
class Skipped:
    """Something that is not ignored and that a snapshot could not take; or that was `purged` from it."""

    file: str = field(metadata=says(_FILE))
    uri: str | None = field(default=None, metadata=says(_URI))
    reason: SkipReason = field(metadata=says("Why it is not in the snapshot."))


@attrs.frozen(kw_only=True)
class Patch:
    """What differs from a snapshot: the answer of `snapshot/patch`, which `snapshot/revert` takes as it is."""

    hash: TreeHash = field(metadata=says("The snapshot."))
    files: list[str] = field(
        metadata=says(
            "The files. An answer names them by absolute path, or by `file:` URI where the name is not valid UTF-8; "
            "a request may use absolute paths, relative ones and `file:` URIs."
        )
    )


@attrs.frozen(kw_only=True)
class FileOutcome:
    """What became of one file."""

    file: str = field(metadata=says(_FILE))
    uri: str | None = field(default=None, metadata=says(_URI))
    outcome: OutcomeKind = field(metadata=says("What was done with it, or under a dry run would be."))
    reason: str | None = field(default=None, metadata=says("Why, where it is not what was asked for."))


@attrs.frozen(kw_only=True)
class Outcome:
    """What an operation that changes the working tree did."""

    applied: bool = field(
        metadata=says(
            'False for a dry run and for a refusal under `onConflict: "fail"`; true where there was nothing to do.'
        )
    )
    before: TreeHash = field(metadata=says("The snapshot of the working tree that was taken first: nothing is lost."))
    after: TreeHash = field(metadata=says("The working tree after it."))
    files: list[FileOutcome] = field(metadata=says("The files that it was about."))


@attrs.frozen(kw_only=True)
class FullLook:
    """A look at all files of a workspace."""

    at: str = field(metadata=says("When it began, RFC 3339 in UTC."))
    reason: str = field(metadata=says("Why it was not enough to look at what had changed."))


@attrs.frozen(kw_only=True)
class StoreInfo:
    """Where a workspace's snapshots are kept."""

    path: str = field(metadata=says("The directory of the store."))
    bytes: int = field(metadata=says("What it takes on disk."))

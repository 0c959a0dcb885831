"""The values that params and results are made of.

Fields are in snake_case here and in camelCase on the wire; a name that is a Python keyword ends in an underscore here.
A field with a default is optional on the wire, and left out if it has its default. A field without a default is always
present, as null if it is None.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import attrs
from attrs import field


@attrs.frozen
class Hexadecimal:
    """Marks a string of exactly this many lower-case hexadecimal digits."""

    digits: int


@attrs.frozen
class AtLeast:
    """Marks a number that must not be smaller than a minimum."""

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
"""The types above that the generated files refer to by name."""

_FILE = "Relative to the workspace root, with `/` between its parts."
_URI = (
    "The exact, percent-encoded `file:` URI. Present if the name is not valid UTF-8, so that `file` shows it with "
    "U+FFFD."
)


def says(doc: str) -> dict[str, str]:
    """Makes the metadata of a field from its description (Markdown), for the generated files."""
    return {"doc": doc}


@attrs.frozen(kw_only=True)
class RequestParams:
    """The params that every request may have."""

    workspace_uri: str | None = field(
        default=None,
        metadata=says("The workspace of the request. Required unless exactly one folder is open on this connection."),
    )
    work_done_token: str | int | None = field(
        default=None,
        metadata=says("The token for progress reports, which begin when the request takes more than half a second."),
    )


@attrs.frozen(kw_only=True)
class FileDiff:
    """One file that differs between two states.

    If renames were requested, a rename is a `modified` file with `renamedFrom`. For a binary file, and for text over
    10 MB (10,485,760 bytes on either side), `before` and `after` are empty and the counts are 0.
    """

    file: str = field(metadata=says(_FILE))
    uri: str | None = field(default=None, metadata=says(_URI))
    status: FileStatus = field(metadata=says("What happened to the file."))
    before: str = field(metadata=says("The text before. Empty for an added file, and without `contents`."))
    after: str = field(metadata=says("The text after. Empty for a deleted file, and without `contents`."))
    additions: int = field(metadata=says("Lines added."))
    deletions: int = field(metadata=says("Lines deleted."))
    binary: bool = field(metadata=says("Whether the file is binary on either side."))
    too_large: Literal[True] | None = field(
        default=None, metadata=says("The text is over 10 MB on either side. `snapshot/fileAt` still returns its bytes.")
    )
    encoding: str | None = field(
        default=None,
        metadata=says('`"latin-1"` if the texts are not UTF-8; they are then shown byte by byte as Latin-1.'),
    )
    renamed_from: str | None = field(default=None, metadata=says("The name of the file before the rename."))
    old_mode: str | None = field(default=None, metadata=says('The mode before, an octal string such as `"100644"`.'))
    new_mode: str | None = field(default=None, metadata=says('The mode after, an octal string such as `"100755"`.'))


@attrs.frozen(kw_only=True)
class FileChange:
    """One file that changed, without its contents."""

    file: str = field(metadata=says(_FILE))
    uri: str | None = field(default=None, metadata=says(_URI))
    status: FileStatus = field(metadata=says("What happened to the file."))
    additions: int = field(metadata=says("Lines added."))
    deletions: int = field(metadata=says("Lines deleted."))
    binary: bool = field(metadata=says("Whether the file is binary on either side."))
    shared: Literal[True] | None = field(
        default=None, metadata=says("Steps of other sessions were open too, so the change belongs to several sessions.")
    )


@attrs.frozen(kw_only=True)
class Skipped:
    """A file that is not ignored but could not be captured, or that was `purged` from the snapshot."""

    file: str = field(metadata=says(_FILE))
    uri: str | None = field(default=None, metadata=says(_URI))
    reason: SkipReason = field(metadata=says("Why the file is not in the snapshot."))


@attrs.frozen(kw_only=True)
class Patch:
    """The files that differ from a snapshot: the result of `snapshot/patch`, and input for `snapshot/revert`."""

    hash: TreeHash = field(metadata=says("The snapshot."))
    files: list[str] = field(
        metadata=says(
            "The files. A response names them by absolute path, or by `file:` URI if the name is not valid UTF-8. A "
            "request may use absolute paths, relative paths and `file:` URIs."
        )
    )


@attrs.frozen(kw_only=True)
class FileOutcome:
    """What an operation did with one file."""

    file: str = field(metadata=says(_FILE))
    uri: str | None = field(default=None, metadata=says(_URI))
    outcome: OutcomeKind = field(metadata=says("What the operation did with the file, or would do in a dry run."))
    reason: str | None = field(default=None, metadata=says("Why, if that is not what the request asked for."))


@attrs.frozen(kw_only=True)
class Outcome:
    """What an operation that changes the working tree did."""

    applied: bool = field(
        metadata=says(
            'False for a dry run, and if `onConflict: "fail"` met a conflict. True if there was nothing to do.'
        )
    )
    before: TreeHash = field(
        metadata=says("The snapshot of the working tree that the operation took first, so that nothing is lost.")
    )
    after: TreeHash = field(metadata=says("The working tree after the operation."))
    files: list[FileOutcome] = field(metadata=says("The files that the operation considered."))


@attrs.frozen(kw_only=True)
class FullLook:
    """A scan of all files of a workspace."""

    at: str = field(metadata=says("When it began, as RFC 3339 in UTC."))
    reason: str = field(metadata=says("Why it was not enough to look at the changed files."))


@attrs.frozen(kw_only=True)
class StoreInfo:
    """The store that has the snapshots of a workspace."""

    path: str = field(metadata=says("The directory of the store."))
    bytes: int = field(metadata=says("The space that it takes on disk, in bytes."))

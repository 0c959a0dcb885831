"""Why nothing was staged."""

from __future__ import annotations

from typing import ClassVar

from snapd.core.errors import SnapdError


class NoGitRepository(SnapdError):
    """The folder is in no git repository with a work tree, or git refuses to use it."""

    kind: ClassVar[str] = "noGitRepository"
    default_hint: ClassVar[str] = "run the command in the work tree of a git repository; 'git init' makes one"


class GitOperationUnderWay(SnapdError):
    """A merge, a rebase or the like is under way; `data["operation"]` names it."""

    kind: ClassVar[str] = "gitOperationUnderWay"
    default_hint: ClassVar[str] = "finish it or abort it first; 'git status' says how"


class IndexLocked(SnapdError):
    """Another git process holds the lock of the index; `data["path"]` is the lock."""

    kind: ClassVar[str] = "indexLocked"
    default_hint: ClassVar[str] = (
        "try again when it is done; if no git process runs, one has crashed: then delete the lock"
    )


class IndexChanged(SnapdError):
    """The index changed while the changes were merged into it."""

    kind: ClassVar[str] = "indexChanged"
    default_hint: ClassVar[str] = "run the command again"


class GitFailed(SnapdError):
    """Git ended with an error, or there is no git; the message has what it said."""

    kind: ClassVar[str] = "gitFailed"
    default_hint: ClassVar[str] = "remove the cause that git names, then try again"


class StagingConflict(SnapdError):
    """Some files cannot be staged, so none was; `data["files"]` names each with the reason."""

    kind: ClassVar[str] = "stagingConflict"
    default_hint: ClassVar[str] = "stage the other files with --file, and these by hand: 'git add -p' helps"

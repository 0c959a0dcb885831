"""Pending changes as clients see them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from snapd.core.compare.text import decode

if TYPE_CHECKING:
    from snapd.core.compare.hunks import Hunk
    from snapd.core.model import RelPath
    from snapd.core.timeline.model import FileSummary, StepId


@attrs.frozen
class PendingHunk:
    """A hunk between the baseline of a file and the file.

    Attributes:
        hunk: as `git diff` shows it.
        owners: the steps that wrote or removed its lines.
    """

    hunk: Hunk
    owners: tuple[StepId, ...]


@attrs.frozen(cache_hash=True)
class PendingFile:
    """A file with pending changes, without their texts.

    Attributes:
        summary: what differs from the baseline.
        id: an opaque name of what is pending: of the baseline and the file.
        hunks: how many hunks; none for what is not text.
        owners: the steps whose changes are pending.
    """

    summary: FileSummary
    id: str
    hunks: int
    owners: tuple[StepId, ...]

    @property
    def path(self) -> RelPath:
        """Where the file is, or was."""
        return self.summary.path


@attrs.frozen
class PendingTexts:
    """The pending changes of a file, line by line.

    Attributes:
        file: the file.
        hunks: what differs; none for what is not text. The text of a symlink is its target.
        before: the bytes of the baseline; empty for what is not text.
        after: the bytes of the file; empty for what is not text.
        old_mode: of the baseline; None for no file.
        new_mode: of the file; None for no file.
        too_large: whether either side is over 10 MB.
    """

    file: PendingFile
    hunks: tuple[PendingHunk, ...]
    before: bytes
    after: bytes
    old_mode: int | None
    new_mode: int | None
    too_large: bool

    def decoded(self) -> tuple[str, str, str | None]:
        """Both sides as text, and the name of the encoding as of `decode`."""
        (before, after), encoding = decode(self.before, self.after)
        return before, after, encoding


@attrs.frozen
class Rested:
    """A file to which nothing happened for a while, without its texts: a thousand of these take little memory.

    Attributes:
        path: where it is.
        baseline_path: where the baseline has it; None if nothing is pending.
        is_gone: whether there is no file.
        pending: its pending changes; None if there are none.
    """

    path: RelPath
    baseline_path: RelPath | None
    is_gone: bool
    pending: PendingFile | None

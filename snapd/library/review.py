"""`Review`: what agents changed in a project and nobody has kept yet."""

from __future__ import annotations

from typing import TYPE_CHECKING

from snapd.wire.review import (
    BlamedLines,
    BlameParams,
    LineRange,
    PendingFile,
    ReviewFileParams,
    ReviewFileResult,
    ReviewKeepParams,
    ReviewListParams,
    ReviewListResult,
    ReviewRevertParams,
)

from .session import NOTHING_DONE

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from snapd.wire.values import OnConflict, Outcome

    from .project import FileName, Project

_NOTHING_PENDING = ReviewListResult(files=[], pending_files=0, additions=0, deletions=0)


class Review:
    """The pending changes of a project, from `Snapshot.review`.

    `keep` and `revert` take one of `files`, `file` with the indexes of its `hunks`, `step_id` and `session_id`; without
    any, they apply to all pending changes. With `expect` (the `id` of each displayed file, by its name) they do nothing
    if one of these files has changed since. `revert` also takes the `plan` of a dry run.

    Every method raises `SnapdError` if the project cannot be opened or read; then nothing was changed.
    """

    def __init__(self, project: Project) -> None:
        self._project = project

    def files(self, session_id: str | None = None) -> list[PendingFile]:
        """Returns the files with pending changes, ordered by name; with `session_id`, only those of a session."""
        result = self._project.request_or(_NOTHING_PENDING, ReviewListParams(session_id=session_id))
        return result.files

    def file(self, file: FileName) -> ReviewFileResult:
        """Returns the pending changes of a file, hunk by hunk; raises `InvalidParams` if it has none."""
        result: ReviewFileResult = self._project.request(ReviewFileParams(file=self._project.name(file)))
        return result

    def keep(
        self,
        *,
        files: Iterable[FileName] | None = None,
        file: FileName | None = None,
        hunks: Iterable[int] | None = None,
        step_id: str | None = None,
        session_id: str | None = None,
        expect: Mapping[str, str] | None = None,
    ) -> list[PendingFile]:
        """Keeps pending changes; returns those that are still pending in the files concerned.

        Raises `FileChanged` if a file differs from `expect` or has unsaved text in an editor, and `InvalidParams` if
        nothing is pending in a file, or there is no such hunk.
        """
        params = ReviewKeepParams(**self._chosen(files, file, hunks, step_id, session_id, expect))
        return self._project.request_or(_NOTHING_PENDING, params).files

    def revert(
        self,
        *,
        files: Iterable[FileName] | None = None,
        file: FileName | None = None,
        hunks: Iterable[int] | None = None,
        step_id: str | None = None,
        session_id: str | None = None,
        expect: Mapping[str, str] | str | None = None,
        dry_run: bool = False,
        on_conflict: OnConflict = "merge",
    ) -> Outcome:
        """Reverts pending changes: files, or hunks of them, return to what a person last accepted.

        `dry_run` only reports what would be done. `on_conflict` says what to do with a file that changed since. Raises
        `FileChanged` if a file differs from `expect`, and `InvalidParams` if nothing is pending in a file, or there is
        no such hunk.
        """
        params = ReviewRevertParams(
            **self._chosen(files, file, hunks, step_id, session_id, expect),
            dry_run=dry_run,
            on_conflict=on_conflict,
        )
        return self._project.request_or(NOTHING_DONE, params)

    def blame(
        self,
        file: FileName,
        hash: str | None = None,  # noqa: A002 - the contract's word
        *,
        lines: tuple[int, int] | None = None,
    ) -> list[BlamedLines]:
        """Returns who wrote each line of a file; for lines from before snapd, `commit` has what git reports.

        `hash` is the snapshot to read it from; None for the current file. `lines` limits the result: the first line,
        from 1, and how many. Raises `FileNotInSnapshot` if there is no such file.
        """
        wanted = None if lines is None else LineRange(start=lines[0], count=lines[1])
        params = BlameParams(file=self._project.name(file), hash=hash, range=wanted)
        return self._project.request_or([], params, "lines")

    def _chosen(
        self,
        files: Iterable[FileName] | None,
        file: FileName | None,
        hunks: Iterable[int] | None,
        step_id: str | None,
        session_id: str | None,
        expect: Mapping[str, str] | str | None,
    ) -> dict[str, Any]:
        return {
            "files": self._project.names_or_none(files),
            "file": None if file is None else self._project.name(file),
            "hunks": None if hunks is None else list(hunks),
            "step_id": step_id,
            "session_id": session_id,
            "all": files is None and file is None and step_id is None and session_id is None,
            "expect": expect if expect is None or isinstance(expect, str) else dict(expect),
        }

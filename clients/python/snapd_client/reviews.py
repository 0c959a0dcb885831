"""The `review/*` requests and `snapshot/blame` as typed methods."""

from __future__ import annotations

from base64 import b64encode

from snapd_client.requests import Requests

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from snapd_client import types
    from snapd_client.notifications import OnProgress
    from snapd_client.uris import FileName

__all__ = ["ReviewRequests"]


class ReviewRequests(Requests):
    """The requests about pending changes, and about who wrote a line. See `Requests` for how to name files.

    `review_keep` and `review_revert` take exactly one of `files`, `file` with `hunks`, `step_id`, `session_id` and
    `everything`; `expect` has the `id` of each file that the person was shown, by its name.
    """

    def review_list(
        self,
        session_id: str | None = None,
        *,
        cursor: str | None = None,
        limit: int | None = None,
        workspace_uri: str | None = None,
        timeout: float | None = None,
        on_progress: OnProgress | None = None,
    ) -> types.Review:
        """Lists the files with pending changes: all of them, or one page with `limit`."""
        params = {"sessionId": session_id, "cursor": cursor, "limit": limit}
        result: types.Review = self._ask("review/list", params, workspace_uri, timeout, on_progress)
        return result

    def review_file(
        self,
        file: FileName,
        *,
        workspace_uri: str | None = None,
        timeout: float | None = None,
        on_progress: OnProgress | None = None,
    ) -> types.ReviewedFile:
        """Returns the pending changes of a file, hunk by hunk."""
        params = {"file": self._name(file, workspace_uri)}
        result: types.ReviewedFile = self._ask("review/file", params, workspace_uri, timeout, on_progress)
        return result

    def review_keep(
        self,
        *,
        files: Iterable[FileName] | None = None,
        file: FileName | None = None,
        hunks: Iterable[int] | None = None,
        step_id: str | None = None,
        session_id: str | None = None,
        everything: bool = False,
        expect: Mapping[str, str] | None = None,
        workspace_uri: str | None = None,
        timeout: float | None = None,
        on_progress: OnProgress | None = None,
    ) -> types.Review:
        """Keeps pending changes; returns what is still pending of what was named."""
        params = self._chosen(files, file, hunks, step_id, session_id, everything, expect, workspace_uri)
        result: types.Review = self._ask("review/keep", params, workspace_uri, timeout, on_progress)
        return result

    def review_revert(
        self,
        *,
        files: Iterable[FileName] | None = None,
        file: FileName | None = None,
        hunks: Iterable[int] | None = None,
        step_id: str | None = None,
        session_id: str | None = None,
        everything: bool = False,
        expect: Mapping[str, str] | str | None = None,
        dry_run: bool | None = None,
        on_conflict: types.OnConflict | None = None,
        workspace_uri: str | None = None,
        timeout: float | None = None,
        on_progress: OnProgress | None = None,
    ) -> types.Outcome:
        """Reverts pending changes: files, or hunks of them, become what their baseline is."""
        params = {
            **self._chosen(files, file, hunks, step_id, session_id, everything, expect, workspace_uri),
            "dryRun": dry_run,
            "onConflict": on_conflict,
        }
        result: types.Outcome = self._ask("review/revert", params, workspace_uri, timeout, on_progress)
        return result

    def blame(
        self,
        file: FileName,
        hash: str | None = None,  # noqa: A002 - the contract's word
        *,
        start: int | None = None,
        count: int = 1,
        content: bytes | None = None,
        at: str | None = None,
        workspace_uri: str | None = None,
        timeout: float | None = None,
        on_progress: OnProgress | None = None,
    ) -> types.Blame:
        """Says who wrote each line of a file; with `start`, from 1, only of `count` lines.

        With `content`, it answers for a text that the file had, at the time `at` (RFC 3339).
        """
        lines = None if start is None else {"start": start, "count": count}
        params = {"file": self._name(file, workspace_uri), "hash": hash, "range": lines, "at": at}
        if content is not None:
            params |= {"content": b64encode(content).decode("ascii"), "encoding": "base64"}
        result: types.Blame = self._ask("snapshot/blame", params, workspace_uri, timeout, on_progress)
        return result

    def _chosen(
        self,
        files: Iterable[FileName] | None,
        file: FileName | None,
        hunks: Iterable[int] | None,
        step_id: str | None,
        session_id: str | None,
        everything: bool,
        expect: Mapping[str, str] | str | None,
        workspace_uri: str | None,
    ) -> dict[str, Any]:
        return {
            "files": self._names(files, workspace_uri),
            "file": None if file is None else self._name(file, workspace_uri),
            "hunks": None if hunks is None else list(hunks),
            "stepId": step_id,
            "sessionId": session_id,
            "all": everything or None,
            "expect": expect if expect is None or isinstance(expect, str) else dict(expect),
        }

"""The `session/*` and `step/*` requests as typed methods."""

from __future__ import annotations

from snapd_client.requests import Requests
from snapd_client.uris import several

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from snapd_client import types
    from snapd_client.notifications import OnProgress
    from snapd_client.uris import FileName

__all__ = ["SessionRequests"]


class SessionRequests(Requests):
    """The requests about sessions and their steps. See `Requests` for how to name workspaces and files."""

    def session_start(
        self,
        session_id: str | None = None,
        *,
        agent: str | None = None,
        title: str | None = None,
        workspace_uri: str | None = None,
        timeout: float | None = None,
        on_progress: OnProgress | None = None,
    ) -> types.SessionId:
        """Starts a session, or resumes the one with this id."""
        params = {"sessionId": session_id, "agent": agent, "title": title}
        result: types.SessionId = self._ask("session/start", params, workspace_uri, timeout, on_progress)
        return result

    def session_end(
        self,
        session_id: str,
        *,
        workspace_uri: str | None = None,
        timeout: float | None = None,
        on_progress: OnProgress | None = None,
    ) -> None:
        """Ends a session and its open steps. Does nothing if it has already ended."""
        self._ask("session/end", {"sessionId": session_id}, workspace_uri, timeout, on_progress)

    def session_list(
        self,
        *,
        cursor: str | None = None,
        limit: int | None = None,
        workspace_uri: str | None = None,
        timeout: float | None = None,
        on_progress: OnProgress | None = None,
    ) -> types.Sessions:
        """Lists the sessions of the workspace: all of them, or one page with `limit`."""
        params = {"cursor": cursor, "limit": limit}
        result: types.Sessions = self._ask("session/list", params, workspace_uri, timeout, on_progress)
        return result

    def session_steps(
        self,
        session_id: str,
        *,
        cursor: str | None = None,
        limit: int | None = None,
        workspace_uri: str | None = None,
        timeout: float | None = None,
        on_progress: OnProgress | None = None,
    ) -> types.Steps:
        """Lists the steps of a session, oldest first: all of them, or one page with `limit`."""
        params = {"sessionId": session_id, "cursor": cursor, "limit": limit}
        result: types.Steps = self._ask("session/steps", params, workspace_uri, timeout, on_progress)
        return result

    def session_message(
        self,
        session_id: str,
        message_id: str,
        text: str | None = None,
        *,
        workspace_uri: str | None = None,
        timeout: float | None = None,
        on_progress: OnProgress | None = None,
    ) -> None:
        """Records that somebody sent a message to the agent; steps that are begun from now on belong to it."""
        params = {"sessionId": session_id, "messageId": message_id, "text": text}
        self._ask("session/message", params, workspace_uri, timeout, on_progress)

    def session_messages(
        self,
        session_id: str | None = None,
        *,
        prefix: str | None = None,
        cursor: str | None = None,
        limit: int | None = None,
        workspace_uri: str | None = None,
        timeout: float | None = None,
        on_progress: OnProgress | None = None,
    ) -> types.Messages:
        """Lists the messages of a session, oldest first, or of all, latest first: one page with `limit`."""
        params = {"sessionId": session_id, "prefix": prefix, "cursor": cursor, "limit": limit}
        result: types.Messages = self._ask("session/messages", params, workspace_uri, timeout, on_progress)
        return result

    def session_news(
        self,
        session_id: str,
        *,
        workspace_uri: str | None = None,
        timeout: float | None = None,
        on_progress: OnProgress | None = None,
    ) -> types.News:
        """Returns what others did to the work of a session since its agent was last told: it counts as told now."""
        result: types.News = self._ask("session/news", {"sessionId": session_id}, workspace_uri, timeout, on_progress)
        return result

    def session_diff(
        self,
        session_id: str,
        *,
        message_id: str | None = None,
        step_id: str | None = None,
        contents: bool | None = None,
        cursor: str | None = None,
        limit: int | None = None,
        workspace_uri: str | None = None,
        timeout: float | None = None,
        on_progress: OnProgress | None = None,
    ) -> types.DiffPage:
        """Returns one page of the net changes of a session's applied steps, or of a message, or of one step."""
        params = {
            "sessionId": session_id,
            "messageId": message_id,
            "stepId": step_id,
            "contents": contents,
            "cursor": cursor,
            "limit": limit,
        }
        result: types.DiffPage = self._ask("session/diff", params, workspace_uri, timeout, on_progress)
        return result

    def session_diff_all(
        self,
        session_id: str,
        *,
        message_id: str | None = None,
        step_id: str | None = None,
        contents: bool | None = None,
        limit: int | None = None,
        workspace_uri: str | None = None,
        timeout: float | None = None,
        on_progress: OnProgress | None = None,
    ) -> Iterator[types.FileDiff]:
        """Iterates over all files of `session_diff`, page by page like `diff_full_all`."""
        fields = {"sessionId": session_id, "messageId": message_id, "stepId": step_id, "contents": contents}
        return self._diffs("session/diff", fields, limit, workspace_uri, timeout, on_progress)

    def session_undo(
        self,
        session_id: str | None = None,
        count: int | None = None,
        *,
        step_id: str | None = None,
        message_id: str | None = None,
        after_step_id: str | None = None,
        dry_run: bool | None = None,
        expect: str | None = None,
        on_conflict: types.OnConflict | None = None,
        workspace_uri: str | None = None,
        timeout: float | None = None,
        on_progress: OnProgress | None = None,
    ) -> types.StepsOutcome:
        """Undoes one step, the steps of a message, those after a step, or the last of a session or the workspace."""
        params = {
            "sessionId": session_id,
            "count": count,
            "stepId": step_id,
            "messageId": message_id,
            "afterStepId": after_step_id,
            "dryRun": dry_run,
            "expect": expect,
            "onConflict": on_conflict,
        }
        result: types.StepsOutcome = self._ask("session/undo", params, workspace_uri, timeout, on_progress)
        return result

    def session_redo(
        self,
        session_id: str | None = None,
        count: int | None = None,
        *,
        dry_run: bool | None = None,
        expect: str | None = None,
        on_conflict: types.OnConflict | None = None,
        workspace_uri: str | None = None,
        timeout: float | None = None,
        on_progress: OnProgress | None = None,
    ) -> types.StepsOutcome:
        """Redoes undone steps of a session, or what was undone last in the workspace; the last undone first."""
        params = {
            "sessionId": session_id,
            "count": count,
            "dryRun": dry_run,
            "expect": expect,
            "onConflict": on_conflict,
        }
        result: types.StepsOutcome = self._ask("session/redo", params, workspace_uri, timeout, on_progress)
        return result

    def session_revert(
        self,
        session_id: str,
        message_id: str,
        part_id: str | None = None,
        *,
        dry_run: bool | None = None,
        expect: str | None = None,
        on_conflict: types.OnConflict | None = None,
        workspace_uri: str | None = None,
        timeout: float | None = None,
        on_progress: OnProgress | None = None,
    ) -> types.RevertOutcome:
        """Goes back to before a message, or a part of it: undoes all steps of the session since."""
        params = {
            "sessionId": session_id,
            "messageId": message_id,
            "partId": part_id,
            "dryRun": dry_run,
            "expect": expect,
            "onConflict": on_conflict,
        }
        result: types.RevertOutcome = self._ask("session/revert", params, workspace_uri, timeout, on_progress)
        return result

    def session_unrevert(
        self,
        session_id: str,
        *,
        dry_run: bool | None = None,
        expect: str | None = None,
        workspace_uri: str | None = None,
        timeout: float | None = None,
        on_progress: OnProgress | None = None,
    ) -> types.Outcome:
        """Reverses `session_revert`."""
        params = {"sessionId": session_id, "dryRun": dry_run, "expect": expect}
        result: types.Outcome = self._ask("session/unrevert", params, workspace_uri, timeout, on_progress)
        return result

    def session_history(
        self,
        *,
        session_id: str | None = None,
        files: Iterable[FileName] | None = None,
        renames: bool | None = None,
        cursor: str | None = None,
        limit: int | None = None,
        workspace_uri: str | None = None,
        timeout: float | None = None,
        on_progress: OnProgress | None = None,
    ) -> types.HistoryPage:
        """Returns one page of what happened in the workspace, latest first."""
        asked = {"sessionId": session_id, "files": self._names(files, workspace_uri), "renames": renames}
        params = {**asked, "cursor": cursor, "limit": limit}
        result: types.HistoryPage = self._ask("session/history", params, workspace_uri, timeout, on_progress)
        return result

    def session_history_all(
        self,
        *,
        session_id: str | None = None,
        files: Iterable[FileName] | None = None,
        renames: bool | None = None,
        limit: int | None = None,
        workspace_uri: str | None = None,
        timeout: float | None = None,
        on_progress: OnProgress | None = None,
    ) -> Iterator[types.Entry]:
        """Iterates over everything that happened, latest first, and fetches at most one page ahead."""
        asked = {"sessionId": session_id, "files": self._names(files, workspace_uri), "renames": renames}

        def params(cursor: str | None, _: int) -> dict[str, Any]:
            return self._params({**asked, "cursor": cursor, "limit": limit}, workspace_uri)

        pages = self._pages("session/history", params, timeout, on_progress)
        return (entry for page in pages for entry in page["entries"])

    def step_begin(
        self,
        session_id: str,
        *,
        parent_step_id: str | None = None,
        message_id: str | None = None,
        part_id: str | None = None,
        tool: str | None = None,
        description: str | None = None,
        ends: str | None = None,
        workspace_uri: str | None = None,
        timeout: float | None = None,
        on_progress: OnProgress | None = None,
    ) -> types.StepBegun:
        """Begins a step on a snapshot of the working tree. The step owns what changes until it ends.

        `ends` names a step of the same session to end with that snapshot.
        """
        params = {
            "sessionId": session_id,
            "parentStepId": parent_step_id,
            "messageId": message_id,
            "partId": part_id,
            "tool": tool,
            "description": description,
            "ends": ends,
        }
        result: types.StepBegun = self._ask("step/begin", params, workspace_uri, timeout, on_progress)
        return result

    def step_end(
        self,
        step_id: str,
        files: Iterable[FileName] | None = None,
        *,
        description: str | None = None,
        workspace_uri: str | None = None,
        timeout: float | None = None,
        on_progress: OnProgress | None = None,
    ) -> types.StepEnded:
        """Ends a step. If the agent knows which files it wrote, `files` names them: the step owns no others."""
        params = {"stepId": step_id, "files": self._names(files, workspace_uri), "description": description}
        result: types.StepEnded = self._ask("step/end", params, workspace_uri, timeout, on_progress)
        return result

    def step_find(
        self,
        prefix: str = "",
        *,
        session_id: str | None = None,
        parent_step_id: str | None = None,
        is_open: bool | None = None,
        limit: int | None = None,
        renames: bool | None = None,
        workspace_uri: str | None = None,
        timeout: float | None = None,
        on_progress: OnProgress | None = None,
    ) -> types.FoundSteps:
        """Finds steps by the beginning of their ids, latest first."""
        params = {
            "prefix": prefix,
            "sessionId": session_id,
            "parentStepId": parent_step_id,
            "open": is_open,
            "limit": limit,
            "renames": renames,
        }
        result: types.FoundSteps = self._ask("step/find", params, workspace_uri, timeout, on_progress)
        return result

    def session_prefixes(
        self,
        ids: Iterable[str],
        *,
        workspace_uri: str | None = None,
        timeout: float | None = None,
        on_progress: OnProgress | None = None,
    ) -> types.Prefixes:
        """Tells by which beginnings to show ids and hashes: the shortest ones that no other has."""
        params = {"ids": list(ids)}
        result: types.Prefixes = self._ask("session/prefixes", params, workspace_uri, timeout, on_progress)
        return result

    def step_diff(
        self,
        step_id: str,
        files: Iterable[FileName] | None = None,
        *,
        exact: bool | None = None,
        workspace_uri: str | None = None,
        timeout: float | None = None,
        on_progress: OnProgress | None = None,
    ) -> types.Diff:
        """Returns what a step and its parts changed as a unified diff, even if it was undone."""
        params = {"stepId": step_id, "files": self._names(files, workspace_uri), "exact": exact}
        result: types.Diff = self._ask("step/diff", params, workspace_uri, timeout, on_progress)
        return result

    def step_changes(
        self,
        *,
        session_ids: Iterable[str] | None = None,
        step_ids: Iterable[str] | None = None,
        workspace_uri: str | None = None,
        timeout: float | None = None,
        on_progress: OnProgress | None = None,
    ) -> types.StepChanges:
        """Lists what ended steps changed and nobody undid, change by change."""
        params = {
            "sessionIds": None if session_ids is None else several(session_ids),
            "stepIds": None if step_ids is None else several(step_ids),
        }
        result: types.StepChanges = self._ask("step/changes", params, workspace_uri, timeout, on_progress)
        return result

    def step_hunks(
        self,
        step_id: str,
        file: FileName,
        *,
        workspace_uri: str | None = None,
        timeout: float | None = None,
        on_progress: OnProgress | None = None,
    ) -> types.Hunks:
        """Lists the hunks of a step's changes to a file."""
        params = {"stepId": step_id, "file": self._name(file, workspace_uri)}
        result: types.Hunks = self._ask("step/hunks", params, workspace_uri, timeout, on_progress)
        return result

    def step_revert_hunks(
        self,
        step_id: str,
        file: FileName,
        hunks: Iterable[int],
        *,
        dry_run: bool | None = None,
        expect: str | None = None,
        on_conflict: types.OnConflict | None = None,
        workspace_uri: str | None = None,
        timeout: float | None = None,
        on_progress: OnProgress | None = None,
    ) -> types.Outcome:
        """Reverts some of these hunks. The step stays applied."""
        params = {
            "stepId": step_id,
            "file": self._name(file, workspace_uri),
            "hunks": list(hunks),
            "dryRun": dry_run,
            "expect": expect,
            "onConflict": on_conflict,
        }
        result: types.Outcome = self._ask("step/revertHunks", params, workspace_uri, timeout, on_progress)
        return result

    def step_revert_files(
        self,
        step_id: str,
        files: Iterable[FileName],
        *,
        dry_run: bool | None = None,
        expect: str | None = None,
        on_conflict: types.OnConflict | None = None,
        workspace_uri: str | None = None,
        timeout: float | None = None,
        on_progress: OnProgress | None = None,
    ) -> types.Outcome:
        """Reverts a step's changes to some files. The step stays applied."""
        params = {
            "stepId": step_id,
            "files": self._names(files, workspace_uri),
            "dryRun": dry_run,
            "expect": expect,
            "onConflict": on_conflict,
        }
        result: types.Outcome = self._ask("step/revertFiles", params, workspace_uri, timeout, on_progress)
        return result

"""The requests about other machines as typed methods: push, fetch, files, handover, apply."""

from __future__ import annotations

from snapd_client.requests import Requests
from snapd_client.uris import several

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from snapd_client import types
    from snapd_client.notifications import OnProgress

__all__ = ["SharingRequests"]


class SharingRequests(Requests):
    """The requests by which sessions travel. See `Requests` for how to name workspaces and files."""

    def session_push(
        self,
        remote: str,
        session_ids: Iterable[str] | None = None,
        *,
        exclude: Iterable[str] | None = None,
        redact: Iterable[str] | None = None,
        without_prompts: bool = False,
        sign: bool = False,
        signing_key: str | None = None,
        dry_run: bool = False,
        delete: bool = False,
        workspace_uri: str | None = None,
        timeout: float | None = None,
        on_progress: OnProgress | None = None,
    ) -> types.Pushed:
        """Pushes sessions to a git repository, all of the folder by default; or deletes sessions there."""
        names = None if session_ids is None else several(session_ids)
        params = {
            "remote": remote,
            "sessionIds": names,
            "all": None if names is not None else True,
            "exclude": None if exclude is None else several(exclude),
            "redact": None if redact is None else several(redact),
            "withoutPrompts": without_prompts or None,
            "sign": sign or None,
            "signingKey": signing_key,
            "dryRun": dry_run or None,
            "delete": delete or None,
        }
        result: types.Pushed = self._ask("session/push", params, workspace_uri, timeout, on_progress)
        return result

    def session_prune(
        self,
        remote: str,
        older_than_days: float,
        *,
        everybody: bool = False,
        dry_run: bool = False,
        workspace_uri: str | None = None,
        timeout: float | None = None,
        on_progress: OnProgress | None = None,
    ) -> types.Pushed:
        """Deletes sessions from a git repository to which nobody added for some days; those of others only if asked."""
        params = {
            "remote": remote,
            "prune": True,
            "olderThanDays": older_than_days,
            "all": everybody or None,
            "dryRun": dry_run or None,
        }
        result: types.Pushed = self._ask("session/push", params, workspace_uri, timeout, on_progress)
        return result

    def session_fetch(
        self,
        remote: str,
        session_ids: Iterable[str] | None = None,
        *,
        dry_run: bool | None = None,
        workspace_uri: str | None = None,
        timeout: float | None = None,
        on_progress: OnProgress | None = None,
    ) -> types.FetchedSessions:
        """Fetches sessions from a git repository, all that are there by default; gives those that are new."""
        names = None if session_ids is None else several(session_ids)
        params = {"remote": remote, "sessionIds": names, "dryRun": dry_run}
        result: types.FetchedSessions = self._ask("session/fetch", params, workspace_uri, timeout, on_progress)
        return result

    def session_export(
        self,
        file: str,
        session_ids: Iterable[str] | None = None,
        *,
        exclude: Iterable[str] | None = None,
        redact: Iterable[str] | None = None,
        without_prompts: bool = False,
        sign: bool = False,
        signing_key: str | None = None,
        dry_run: bool = False,
        workspace_uri: str | None = None,
        timeout: float | None = None,
        on_progress: OnProgress | None = None,
    ) -> types.ExportedSessions:
        """Writes sessions to a new file, all of the folder by default; `file` is an absolute path."""
        names = None if session_ids is None else several(session_ids)
        params = {
            "file": file,
            "sessionIds": names,
            "all": None if names is not None else True,
            "exclude": None if exclude is None else several(exclude),
            "redact": None if redact is None else several(redact),
            "withoutPrompts": without_prompts or None,
            "sign": sign or None,
            "signingKey": signing_key,
            "dryRun": dry_run or None,
        }
        result: types.ExportedSessions = self._ask("session/export", params, workspace_uri, timeout, on_progress)
        return result

    def session_import(
        self,
        file: str,
        *,
        workspace_uri: str | None = None,
        timeout: float | None = None,
        on_progress: OnProgress | None = None,
    ) -> types.FetchedSessions:
        """Takes the sessions of a file, an absolute path, as if they had been fetched; gives those that are new."""
        result: types.FetchedSessions = self._ask("session/import", {"file": file}, workspace_uri, timeout, on_progress)
        return result

    def session_handover(
        self,
        remote: str | None = None,
        *,
        file: str | None = None,
        name: str | None = None,
        include: Iterable[str] | None = None,
        exclude: Iterable[str] | None = None,
        redact: Iterable[str] | None = None,
        without_prompts: bool = False,
        sign: bool = False,
        signing_key: str | None = None,
        dry_run: bool = False,
        workspace_uri: str | None = None,
        timeout: float | None = None,
        on_progress: OnProgress | None = None,
    ) -> types.HandedOver:
        """Hands the folder over to another machine, by a git repository or by a new file, an absolute path."""
        params = {
            "remote": remote,
            "file": file,
            "name": name,
            "include": None if include is None else several(include),
            "exclude": None if exclude is None else several(exclude),
            "redact": None if redact is None else several(redact),
            "withoutPrompts": without_prompts or None,
            "sign": sign or None,
            "signingKey": signing_key,
            "dryRun": dry_run or None,
        }
        result: types.HandedOver = self._ask("session/handover", params, workspace_uri, timeout, on_progress)
        return result

    def session_takeover(
        self,
        remote: str | None = None,
        *,
        file: str | None = None,
        name: str | None = None,
        on_conflict: types.OnConflict | None = None,
        dry_run: bool = False,
        expect: str | None = None,
        details: types.Detail | None = None,
        workspace_uri: str | None = None,
        timeout: float | None = None,
        on_progress: OnProgress | None = None,
    ) -> types.TakenOver:
        """Takes over what another machine handed over, from a git repository or from a file, an absolute path."""
        params = {
            "remote": remote,
            "file": file,
            "name": name,
            "dryRun": dry_run or None,
            "expect": expect,
            "onConflict": on_conflict,
            "details": details,
        }
        result: types.TakenOver = self._ask("session/takeover", params, workspace_uri, timeout, on_progress)
        return result

    def session_apply(
        self,
        session_id: str | None = None,
        *,
        step_ids: Iterable[str] | None = None,
        from_: str | None = None,
        on_conflict: types.OnConflict | None = None,
        dry_run: bool = False,
        expect: str | None = None,
        details: types.Detail | None = None,
        workspace_uri: str | None = None,
        timeout: float | None = None,
        on_progress: OnProgress | None = None,
    ) -> types.Applied:
        """Takes in what a fetched session changed, or what some of its steps did, as a step of the folder.

        With `from_`, the absolute path of another work tree or clone on this machine, they are those of that folder.
        """
        params = {
            "sessionId": session_id,
            "stepIds": None if step_ids is None else several(step_ids),
            "from": from_,
            "dryRun": dry_run or None,
            "expect": expect,
            "onConflict": on_conflict,
            "details": details,
        }
        result: types.Applied = self._ask("session/apply", params, workspace_uri, timeout, on_progress)
        return result

"""The `snapshot/*` requests as typed methods."""

from __future__ import annotations

from snapd_client.requests import Requests
from snapd_client.uris import folder_uri, several

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any

    from snapd_client import types
    from snapd_client.notifications import OnProgress
    from snapd_client.uris import FileName

__all__ = ["SnapshotRequests"]


class SnapshotRequests(Requests):
    """The requests about snapshots. See `Requests` for how to name workspaces and files."""

    def track(
        self,
        force: Iterable[FileName] | None = None,
        *,
        workspace_uri: str | None = None,
        timeout: float | None = None,
        on_progress: OnProgress | None = None,
    ) -> types.Track:
        """Takes a snapshot. `force` names ignored files to capture anyway."""
        params = {"force": self._names(force, workspace_uri)}
        result: types.Track = self._snapshot("track", params, workspace_uri, timeout, on_progress)
        return result

    def list(
        self,
        prefix: str | None = None,
        *,
        before: str | None = None,
        counts: bool | None = None,
        cursor: str | None = None,
        limit: int | None = None,
        workspace_uri: str | None = None,
        timeout: float | None = None,
        on_progress: OnProgress | None = None,
    ) -> types.SnapshotsPage:
        """Returns one page of the snapshots as they were taken, latest first.

        `prefix` is the beginning of a hash; `before` is a time as RFC 3339.
        """
        params = {"prefix": prefix, "before": before, "counts": counts, "cursor": cursor, "limit": limit}
        result: types.SnapshotsPage = self._snapshot("list", params, workspace_uri, timeout, on_progress)
        return result

    def patch(
        self,
        hash: str,  # noqa: A002 - the contract's word
        to: str | None = None,
        *,
        workspace_uri: str | None = None,
        timeout: float | None = None,
        on_progress: OnProgress | None = None,
    ) -> types.Patch:
        """Lists the files that differ between a snapshot and the working tree, or another snapshot."""
        params = {"hash": hash, "to": to}
        result: types.Patch = self._snapshot("patch", params, workspace_uri, timeout, on_progress)
        return result

    def diff(
        self,
        hash: str,  # noqa: A002 - the contract's word
        to: str | None = None,
        files: Iterable[FileName] | None = None,
        *,
        renames: bool | None = None,
        exact: bool | None = None,
        workspace_uri: str | None = None,
        timeout: float | None = None,
        on_progress: OnProgress | None = None,
    ) -> types.Diff:
        """Returns the unified diff from a snapshot to the working tree, or to another snapshot."""
        how = {"renames": renames, "exact": exact}
        params = {"hash": hash, "to": to, "files": self._names(files, workspace_uri), **how}
        result: types.Diff = self._snapshot("diff", params, workspace_uri, timeout, on_progress)
        return result

    def diff_full(
        self,
        from_: str,
        to: str | None = None,
        files: Iterable[FileName] | None = None,
        *,
        contents: bool | None = None,
        renames: bool | None = None,
        cursor: str | None = None,
        limit: int | None = None,
        workspace_uri: str | None = None,
        timeout: float | None = None,
        on_progress: OnProgress | None = None,
    ) -> types.DiffPage:
        """Returns one page of the files that differ, with their contents before and after."""
        params = {
            "from": from_,
            "to": to,
            "files": self._names(files, workspace_uri),
            "contents": contents,
            "renames": renames,
            "cursor": cursor,
            "limit": limit,
        }
        result: types.DiffPage = self._snapshot("diffFull", params, workspace_uri, timeout, on_progress)
        return result

    def diff_full_all(
        self,
        from_: str,
        to: str | None = None,
        files: Iterable[FileName] | None = None,
        *,
        contents: bool | None = None,
        renames: bool | None = None,
        limit: int | None = None,
        workspace_uri: str | None = None,
        timeout: float | None = None,
        on_progress: OnProgress | None = None,
    ) -> Iterator[types.FileDiff]:
        """Iterates over all files that differ, and fetches at most one page ahead.

        Pages have `limit` files; without it, as many as fit into a few megabytes.
        """
        fields = {"from": from_, "to": to, "files": self._names(files, workspace_uri), "contents": contents}
        fields["renames"] = renames
        return self._diffs("snapshot/diffFull", fields, limit, workspace_uri, timeout, on_progress)

    def file_at(
        self,
        hash: str,  # noqa: A002 - the contract's word
        file: FileName,
        *,
        workspace_uri: str | None = None,
        timeout: float | None = None,
        on_progress: OnProgress | None = None,
    ) -> types.FileContent:
        """Returns a file of a snapshot."""
        params = {"hash": hash, "file": self._name(file, workspace_uri)}
        result: types.FileContent = self._snapshot("fileAt", params, workspace_uri, timeout, on_progress)
        return result

    def list_files(
        self,
        hash: str,  # noqa: A002 - the contract's word
        prefix: str | None = None,
        *,
        limit: int | None = None,
        workspace_uri: str | None = None,
        timeout: float | None = None,
        on_progress: OnProgress | None = None,
    ) -> Iterator[str]:
        """Iterates over the names of a snapshot's files, and fetches at most one page of `limit` names ahead."""

        def params(cursor: str | None, _: int) -> dict[str, Any]:
            fields = {"hash": hash, "prefix": prefix, "cursor": cursor, "limit": limit}
            return self._params(fields, workspace_uri)

        for page in self._pages("snapshot/listFiles", params, timeout, on_progress):
            yield from page["files"]

    def file_exists(
        self,
        hash: str,  # noqa: A002 - the contract's word
        file: FileName,
        *,
        workspace_uri: str | None = None,
        timeout: float | None = None,
        on_progress: OnProgress | None = None,
    ) -> bool:
        """Says whether a snapshot has a file."""
        params = {"hash": hash, "file": self._name(file, workspace_uri)}
        result = self._snapshot("fileExists", params, workspace_uri, timeout, on_progress)
        return bool(result["exists"])

    def export(
        self,
        hash: str,  # noqa: A002 - the contract's word
        directory: FileName,
        files: Iterable[FileName] | None = None,
        *,
        workspace_uri: str | None = None,
        timeout: float | None = None,
        on_progress: OnProgress | None = None,
    ) -> types.Export:
        """Writes the files of a snapshot to a folder that is empty or absent. With `files`, it may have others."""
        params = {"hash": hash, "directory": folder_uri(directory), "files": self._names(files, workspace_uri)}
        result: types.Export = self._snapshot("export", params, workspace_uri, timeout, on_progress)
        return result

    def restore(
        self,
        hash: str,  # noqa: A002 - the contract's word
        *,
        dry_run: bool | None = None,
        expect: str | None = None,
        on_conflict: types.OnConflict | None = None,
        workspace_uri: str | None = None,
        timeout: float | None = None,
        on_progress: OnProgress | None = None,
    ) -> types.Outcome:
        """Makes the working tree exactly the snapshot. It deletes files that were created since."""
        params = {"hash": hash, "dryRun": dry_run, "expect": expect, "onConflict": on_conflict}
        result: types.Outcome = self._snapshot("restore", params, workspace_uri, timeout, on_progress)
        return result

    def revert(
        self,
        patches: Iterable[types.Patch],
        *,
        dry_run: bool | None = None,
        expect: str | None = None,
        on_conflict: types.OnConflict | None = None,
        workspace_uri: str | None = None,
        timeout: float | None = None,
        on_progress: OnProgress | None = None,
    ) -> types.Outcome:
        """Restores files from snapshots. The first patch that names a file wins."""
        taken = [{"hash": patch["hash"], "files": self._names(patch["files"], workspace_uri)} for patch in patches]
        params = {"patches": taken, "dryRun": dry_run, "expect": expect, "onConflict": on_conflict}
        result: types.Outcome = self._snapshot("revert", params, workspace_uri, timeout, on_progress)
        return result

    def status(
        self,
        *,
        workspace_uri: str | None = None,
        timeout: float | None = None,
        on_progress: OnProgress | None = None,
    ) -> types.Status:
        """Describes the state of the workspace."""
        result: types.Status = self._snapshot("status", {}, workspace_uri, timeout, on_progress)
        return result

    def cleanup(
        self,
        older_than_days: float | None = None,
        *,
        dry_run: bool | None = None,
        workspace_uri: str | None = None,
        timeout: float | None = None,
        on_progress: OnProgress | None = None,
    ) -> types.Cleanup:
        """Removes old snapshots."""
        params = {"olderThanDays": older_than_days, "dryRun": dry_run}
        result: types.Cleanup = self._snapshot("cleanup", params, workspace_uri, timeout, on_progress)
        return result

    def purge(
        self,
        files: Iterable[FileName] | None = None,
        *,
        messages: Iterable[str] | None = None,
        everything: bool | None = None,
        dry_run: bool | None = None,
        workspace_uri: str | None = None,
        timeout: float | None = None,
        on_progress: OnProgress | None = None,
    ) -> types.Purge:
        """Removes the contents of some files and the texts of some messages for good, or everything."""
        params = {
            "files": self._names(files, workspace_uri),
            "messages": None if messages is None else several(messages),
            "everything": everything,
            "dryRun": dry_run,
        }
        result: types.Purge = self._snapshot("purge", params, workspace_uri, timeout, on_progress)
        return result

    def check(
        self,
        *,
        repair: bool | None = None,
        quick: bool | None = None,
        workspace_uri: str | None = None,
        timeout: float | None = None,
        on_progress: OnProgress | None = None,
    ) -> types.Check:
        """Checks the store. With `repair`, it also repairs what can be repaired."""
        params = {"repair": repair, "quick": quick}
        result: types.Check = self._snapshot("check", params, workspace_uri, timeout, on_progress)
        return result

    def events(
        self,
        since: int,
        *,
        workspace_uri: str | None = None,
        timeout: float | None = None,
        on_progress: OnProgress | None = None,
    ) -> types.Events:
        """Lists the notifications after the one with this `seq`, to catch up after `reconnect`."""
        result: types.Events = self._snapshot("events", {"since": since}, workspace_uri, timeout, on_progress)
        return result

    def _snapshot(
        self,
        name: str,
        fields: Mapping[str, Any],
        workspace: str | None,
        timeout: float | None,
        on_progress: OnProgress | None,
    ) -> Any:
        return self._ask(f"snapshot/{name}", fields, workspace, timeout, on_progress)

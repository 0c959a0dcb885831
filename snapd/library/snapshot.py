"""`Snapshot`, the entry point of the library: takes snapshots of a project, compares them and restores them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Literal

from snapd.backend import file_bytes
from snapd.model.paths import to_uri
from snapd.refusal import canonical_root
from snapd.wire import snapshot as wire
from snapd.wire.message import Entry, HistoryParams
from snapd.wire.session import Session as SessionInfo
from snapd.wire.session import (
    SessionListParams,
    SessionRedoParams,
    SessionUndoParams,
    StepsOutcome,
)
from snapd.wire.snapshot import CleanupResult, ExportResult, StatusResult, TakenSnapshot
from snapd.wire.values import FileDiff, Outcome, Patch

from .project import Project
from .review import Review
from .session import NO_STEPS_DONE, NOTHING_DONE, Session

if TYPE_CHECKING:
    from collections.abc import Iterable

    from snapd.wire.values import OnConflict

    from .project import FileName


class Snapshot:
    """The snapshots of one project. Opened at the first call; safe to use from several threads.

    It has the interface of OpenCode's `Snapshot` and its Python and Go descendants: `track` before and after an agent's
    step, `patch` or `diff_full` to see the step, `revert` or `restore` to undo it.

    File names are absolute, or relative to the project; hashes have 40 hex digits. The methods that change files have
    these parameters in common:

    - `dry_run`: only report what would be done.
    - `expect`: the plan that a dry run returned; raises `PlanChanged` if the plan is now different.
    - `on_conflict`: what to do with files that changed since; see `onConflict` in the protocol.

    Every method raises `SnapdError` if the project cannot be opened or read; then no file was changed.

    Args:
        project_dir: the folder.
        enabled: if False, `track` returns None.
        data_dir: where the store is; snapshots leave out a directory inside the project, such as `.agent/snapshots`.
            Default: the user's data directory.
        in_process: work without the user's daemon, which is otherwise started if it does not run. Until `close`,
            nothing else can then use the project's snapshots: no command, editor, or hook of an agent. If a daemon
            already has the project open, that daemon does the work all the same.
        errors: "raise" raises errors; "degrade" logs them and returns empty results, so that an agent can go on.

    Raises:
        ValueError: `errors` has another value.
        WorkspaceRefused: the folder does not exist; with "degrade", the first call logs that.
    """

    def __init__(
        self,
        project_dir: str | os.PathLike[str],
        *,
        enabled: bool = True,
        data_dir: str | os.PathLike[str] | None = None,
        in_process: bool = False,
        errors: Literal["raise", "degrade"] = "raise",
    ) -> None:
        if errors not in ("raise", "degrade"):
            raise ValueError(f"errors: expected 'raise' or 'degrade', got {errors!r}")
        if errors == "raise":
            canonical_root(os.path.abspath(os.fsencode(project_dir)))
        self._project = Project(
            project_dir, enabled=enabled, data_dir=data_dir, in_process=in_process, degrade=errors == "degrade"
        )

    def __repr__(self) -> str:
        return f"<Snapshot of {self._project.folder!r}>"

    def __enter__(self) -> Snapshot:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Waits for running calls, then releases the project. The next call opens it again."""
        self._project.close()

    def track(self, force: Iterable[FileName] | None = None) -> str | None:
        """Takes a snapshot, with ignored paths in `force`, too; returns its hash, or None if snapshots are off.

        Raises `SnapdError` if no snapshot was taken.
        """
        if not self._project.enabled:
            return None
        return self._project.request_or(None, wire.TrackParams(force=self._project.names_or_none(force)), "hash")

    def patch(self, from_hash: str, to_hash: str | None = None) -> Patch:
        """Returns the names of the files that differ between a snapshot and another one, or for None the current files.

        The result can be passed to `revert`: the hash, and absolute paths (a `file:` URI if a name is not UTF-8).
        """
        return self._project.request_or(Patch(hash=from_hash, files=[]), wire.PatchParams(hash=from_hash, to=to_hash))

    def diff(self, from_hash: str, to_hash: str | None = None, files: Iterable[FileName] | None = None) -> str:
        """Returns the unified diff since a snapshot, as `git diff --no-renames` writes it.

        `to_hash` None compares with the current files. `files` limits it to these.
        """
        return self._project.request_or(
            "", wire.DiffParams(hash=from_hash, to=to_hash, files=self._project.names_or_none(files)), "diff"
        )

    def diff_full(
        self,
        from_hash: str,
        to_hash: str | None = None,
        *,
        files: Iterable[FileName] | None = None,
        contents: bool = True,
        renames: bool = False,
    ) -> list[FileDiff]:
        """Returns the files that differ, each with its text before and after and with line counts.

        `to_hash` None compares with the current files. `files` limits it to these. `contents=False` leaves `before` and
        `after` empty. `renames` detects moved files and returns each as one entry.
        """
        params = wire.DiffFullParams(
            from_=from_hash, to=to_hash, files=self._project.names_or_none(files), contents=contents, renames=renames
        )
        return self._project.listed(params, "diffs")

    def revert(
        self,
        hash: str | Patch | Iterable[Patch],  # noqa: A002 - the name that callers of its ancestors use
        files: Iterable[FileName] | None = None,
        *,
        dry_run: bool = False,
        expect: str | None = None,
        on_conflict: OnConflict | None = None,
    ) -> Outcome:
        """Restores some files; deletes a file that the snapshot did not have.

        `hash` is a snapshot's hash, together with `files`; or a patch; or several patches, of which the first that
        names a file counts. `on_conflict` None overwrites files that changed since the last snapshot, except those with
        unsaved text in an editor. Raises `TypeError` for a hash without files, files without a hash, or a single name.
        """
        if isinstance(hash, str):
            if files is None:
                raise TypeError("revert: a hash needs the files to bring back")
            given = [(hash, files)]
        elif files is not None:
            raise TypeError("revert: files go with a hash; a patch has its own")
        else:
            patches = [hash] if isinstance(hash, Patch) else list(hash)
            for patch in patches:
                if not isinstance(patch, Patch):
                    raise TypeError(
                        f"revert: expected patches, as `patch()` returns them, got {patch!r}; "
                        "for a hash, write revert(hash, files)"
                    )
            given = [(patch.hash, patch.files) for patch in patches]
        patches = [Patch(hash=tree, files=self._project.names(names)) for tree, names in given]
        return self._project.request_or(
            NOTHING_DONE, wire.RevertParams(patches=patches, dry_run=dry_run, expect=expect, on_conflict=on_conflict)
        )

    def restore(
        self,
        hash: str,  # noqa: A002 - the name that callers of its ancestors use
        *,
        dry_run: bool = False,
        expect: str | None = None,
        on_conflict: OnConflict | None = None,
    ) -> Outcome:
        """Makes the project match a snapshot exactly; takes a snapshot of the current files first (`before`).

        `on_conflict` None overwrites files that changed since the last snapshot, except those with unsaved text in an
        editor.
        """
        return self._project.request_or(
            NOTHING_DONE, wire.RestoreParams(hash=hash, dry_run=dry_run, expect=expect, on_conflict=on_conflict)
        )

    def get_file_at(self, hash: str, file: FileName) -> str | None:  # noqa: A002 - as above
        """Returns the text of a file in a snapshot; if it is not UTF-8, each byte becomes one character (Latin-1).

        Returns None only under `errors="degrade"`. Raises `FileNotInSnapshot` if the snapshot does not have the file,
        or skipped it.
        """
        data = self.get_bytes_at(hash, file)
        if data is None:
            return None
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError:
            return data.decode("latin-1")

    def get_bytes_at(self, hash: str, file: FileName) -> bytes | None:  # noqa: A002 - as above
        """Returns the exact bytes of a file in a snapshot; otherwise like `get_file_at`."""

        def read() -> bytes:
            answer = self._project.request(wire.FileAtParams(hash=hash, file=self._project.name(file)))
            return file_bytes(answer.content, answer.encoding)

        return self._project.degrading(None, read)

    def list_files(self, hash: str, prefix: str = "") -> list[str]:  # noqa: A002 - as above
        """Returns the files of a snapshot whose names start with `prefix`, relative to the project, sorted."""
        return self._project.listed(wire.ListFilesParams(hash=hash, prefix=prefix), "files")

    def file_exists_at(self, hash: str, file: FileName) -> bool | None:  # noqa: A002 - as above
        """Returns whether a snapshot has a file; None only under `errors="degrade"`, after an error."""
        return self._project.request_or(None, wire.FileExistsParams(hash=hash, file=self._project.name(file)), "exists")

    def export(
        self,
        hash: str,  # noqa: A002 - as above
        directory: FileName,
        files: Iterable[FileName] | None = None,
    ) -> ExportResult:
        """Writes the files of a snapshot to a folder outside the project, as plain files.

        Args:
            hash: the snapshot.
            directory: absolute, or relative to the current directory. It must be empty, or absent with an existing
                parent.
            files: only these files and folders; the directory may then contain other files already.

        Returns:
            How many files were written, and their size in bytes.

        Raises:
            SnapdError: nothing was written, or the message names what is left of it.
        """
        params = wire.ExportParams(
            hash=hash,
            directory=to_uri(os.path.abspath(os.fsencode(directory))),
            files=self._project.names_or_none(files),
        )
        return self._project.request_or(ExportResult(files=0, bytes=0), params)

    def session(self, session_id: str | None = None, *, agent: str | None = None, title: str | None = None) -> Session:
        """Begins a session: the work of an agent, in steps that can be undone. A `with` block ends it.

        Args:
            session_id: its id, which resumes an earlier session with that id. Default: a new id.
            agent: the agent that works in it.
            title: for people.

        Raises:
            SnapdError: the session was not begun; under `errors="degrade"`, its first step tries again.
        """
        session = Session(self._project, session_id, agent, title)
        self._project.degrading(False, session.start)
        return session

    def sessions(self) -> list[SessionInfo]:
        """Returns all sessions of the project, in the order of their first start."""
        return self._project.request_or([], SessionListParams(), "sessions")

    @property
    def review(self) -> Review:
        """Returns the pending changes: what agents changed and nobody has kept yet."""
        return Review(self._project)

    def undo(
        self, count: int = 1, *, dry_run: bool = False, expect: str | None = None, on_conflict: OnConflict = "merge"
    ) -> StepsOutcome:
        """Undoes the project's last `count` steps (of any session), restores and reverts; all if there are fewer.

        What others changed since stays. Raises `NothingToUndo` if nothing is left to undo.
        """
        return self._project.request_or(
            NO_STEPS_DONE, SessionUndoParams(count=count, dry_run=dry_run, expect=expect, on_conflict=on_conflict)
        )

    def redo(
        self,
        count: int | None = 1,
        *,
        dry_run: bool = False,
        expect: str | None = None,
        on_conflict: OnConflict = "merge",
    ) -> StepsOutcome:
        """Redoes up to `count` steps and operations, the last undone first. None redoes all of the last undo.

        Raises `NothingToRedo` if there is nothing to redo, or something was changed since.
        """
        return self._project.request_or(
            NO_STEPS_DONE,
            SessionRedoParams(
                count=1 if count is None else count,
                whole=count is None,
                dry_run=dry_run,
                expect=expect,
                on_conflict=on_conflict,
            ),
        )

    def history(self, limit: int | None = None) -> list[Entry]:
        """Returns what happened in the project, latest first: steps, operations, and changes of the user between them.

        `limit` is the maximum number of entries; None for all.
        """
        return self._project.listed(HistoryParams(limit=limit), "entries", limit)

    def snapshots(self, limit: int | None = None, *, prefix: str | None = None) -> list[TakenSnapshot]:
        """Returns the snapshots as they were taken, latest first, each with its reason and the step that it belongs to.

        `limit` is their maximum number; None for all. `prefix`, at least 6 hex digits, selects hashes that start with
        it, each once.
        """
        return self._project.listed(wire.ListParams(prefix=prefix, limit=limit), "snapshots", limit)

    def cleanup(self, older_than_days: float | None = None) -> CleanupResult:
        """Drops snapshots older than this many days (None: the configured retention), but never the newest."""
        return self._project.request_or(
            CleanupResult(removed=0, freed_bytes=0), wire.CleanupParams(older_than_days=older_than_days)
        )

    def status(self) -> StatusResult:
        """Returns the state of the project, without looking at its files.

        Raises `SnapdError` if the project cannot be opened or read, even under `errors="degrade"`: there is no empty
        status.
        """
        status: StatusResult = self._project.request(wire.StatusParams())
        return status

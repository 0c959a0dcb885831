"""Hands the folder over to another machine: all files as they are, and the history of its sessions."""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Iterable, Sequence

import attrs

from snapd.core.actions.step_changes import StepChanges
from snapd.core.operations.patch import Target
from snapd.core.operations.writer import Writer
from snapd.model.call import Call
from snapd.model.errors import InvalidParams
from snapd.model.handover import HANDOVER_NAME, Handover, HandoverRecord
from snapd.model.snapshot import (
    EMPTY_TREE,
    EXECUTABLE,
    REGULAR,
    SYMLINK,
    TREE,
    Coverage,
    Entry,
    ObjectId,
    RelPath,
    Snapshot,
    TreeEntry,
)
from snapd.model.timeline import SessionId, StepsLeft
from snapd.model.trees import amended, changes, file_at
from snapd.store.store import Store

from .copies import Copies
from .outgoing import events_of
from .projection import ExcludeOptions, Exclusions, Projection, TreeFilter
from .push import Push, PushOutcome, Signing
from .remote_sessions import Carrier, RemoteSessions

MOST_COMMITS = 1000
"""How many commits a handover lists, so that the other machine's newest commit is probably one of them."""

MOST_SINCE = 100
"""How many earlier handovers a handover lists as its predecessors."""

_FILES = (REGULAR, EXECUTABLE, SYMLINK)
_NAME = re.compile(HANDOVER_NAME)
_NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9_-]+")


@attrs.frozen
class HandoverOptions(ExcludeOptions):
    """How a client wants to hand over.

    `name` identifies it to others; None for a name made of those of the folder and this machine. `include` are ignored
    files to send as well. `dry_run` only reports what would leave the machine. `signing` None does not sign.
    """

    name: str | None = None
    include: Sequence[RelPath] = ()
    dry_run: bool = False
    signing: Signing | None = None


@attrs.frozen
class MadeHandover(PushOutcome):
    """What was handed over, or would be, with the sessions that go with it."""

    name: str


@attrs.define(eq=False)
class HandOver:
    """Hands one workspace over."""

    _writer: Writer
    _store: Store
    _step_changes: StepChanges
    _elsewhere: RemoteSessions
    _push: Push

    def hand_over(self, there: Carrier, options: HandoverOptions, call: Call) -> MadeHandover:
        """Hands over: all or nothing. The folder and its sessions stay here as they are.

        Raises `InvalidParams` if the name or the key cannot be used, and `RemoteChanged` if the remote has another
        machine's handover of this name, or steps that this machine lacks.
        """
        name = self._name(options.name)
        signer = None if options.signing is None else self._elsewhere.signer(options.signing.key)
        sessions = tuple(session.session_id for session in self._store.timeline.sessions())
        folder = self._captured(options, call)
        lineage = self._elsewhere.lineage.all()
        events = events_of(self._store.timeline, sessions)
        left_out = options.exclusions(events, [folder.tree], self._store, call)
        with there.outgoing() as outgoing:
            texts, messages = self._push.copy_sessions(sessions, left_out, outgoing, call)
            handover = self._record(name, sessions, folder, lineage, left_out=left_out, outgoing=outgoing, call=call)
            authors = self._step_changes.authors
            whole = Projection(sessions, self._store.timeline, self._store, authors, outgoing, left_out)
            outgoing.add_handover(handover, whole.events(call), [entry.handover_id for entry in lineage])
            if signer is not None and not options.dry_run:
                outgoing.sign(signer, call)
            outgoing.finish()
            files = self._push.new_files(outgoing, call)
            size = outgoing.weigh(call)
            if not options.dry_run:
                outgoing.push(call)
                self._elsewhere.note_sent(there.address, [*messages, *(file.oid for file in files)])
        if not options.dry_run:
            self._elsewhere.lineage.add(remembered(handover, is_own=True))
        return MadeHandover(
            applied=not options.dry_run,
            remote=there.address,
            sessions=sessions,
            size=size,
            new_files=files,
            secret_texts=texts,
            name=name,
        )

    def _name(self, wanted: str | None) -> str:
        if wanted is None:
            folder = self._writer.work_tree.root.rsplit(b"/", 1)[-1].decode("utf-8", "replace")
            made = _NOT_IN_A_NAME.sub("-", f"{folder}-{self._elsewhere.host}").strip("-_")
            return made[:64] or "folder"
        if not _NAME.fullmatch(wanted):
            raise InvalidParams(
                f"name: {wanted!r} cannot be the name of a handover",
                hint="use up to 64 letters, digits, dashes and underscores, and no dash at the beginning",
                field="name",
            )
        return wanted

    def _captured(self, options: HandoverOptions, call: Call) -> Snapshot:
        """Captures the folder, so that changes so far are attributed to the open steps."""
        with self._writer.turn(call):
            self._writer.work_tree.check_present()
            seen = self._writer.capture_now(call)
            if not options.dry_run and self._writer.span(self._store.identify(seen)) is not None:
                self._writer.track(seen, StepsLeft(()), call)
            forced = tuple(sorted(set(options.include)))
            return self._writer.record_look(self._writer.look(forced, call))

    def _record(
        self,
        name: str,
        sessions: tuple[SessionId, ...],
        folder: Snapshot,
        lineage: Sequence[HandoverRecord],
        *,
        left_out: Exclusions,
        outgoing: Copies,
        call: Call,
    ) -> Handover:
        def read(tree: ObjectId) -> tuple[TreeEntry, ...]:
            return outgoing.read_tree(tree) or self._store.read_tree(tree)

        def find(tree: ObjectId, name: bytes) -> TreeEntry | None:
            return next((entry for entry in read(tree) if entry.name == name), None)

        leaving_out = TreeFilter(left_out, read, outgoing.tree)
        tree = leaving_out.tree(folder.tree)
        target = Target(self._store, folder)
        commits = self._elsewhere.project.newest(MOST_COMMITS, call)
        committed = self._tree_of(commits[0], call) if commits else None
        before = {entry.tree for entry in lineage if self._store.knows(entry.tree)}
        kept = {path for entry in lineage for path in entry.kept if file_at(find, tree, path) is None}
        differing: dict[RelPath, Entry | None] = {}
        for other in (*before, *filter(None, (committed,))):
            for change in changes(read, other, tree):
                call.check()
                if change.new is None and (target.protection(change.path) or leaving_out.is_out(change.path)):
                    kept.add(change.path)
                elif other == committed and (change.old is None or change.old.mode in _FILES):
                    differing[change.path] = change.old
        paths = tuple(path for path in folder.coverage.empty_dirs if not leaving_out.is_out(path))
        forced = tuple(path for path in folder.coverage.forced if not leaving_out.is_out(path))
        return Handover(
            handover_id=secrets.token_hex(16),
            name=name,
            host=self._elsewhere.host,
            milliseconds=time.time_ns() // 1_000_000,
            sessions=sessions,
            folder=outgoing.snapshot(tree, Coverage(empty_dirs=paths, forced=forced)),
            commits=commits,
            committed=amended(read, tree, differing, outgoing.tree) if committed is not None else None,
            since=_since(lineage),
            kept=tuple(sorted(kept)),
        )

    def _tree_of(self, commit: ObjectId, call: Call) -> ObjectId | None:
        """Returns the tree of a commit of the project, and makes its directories readable in the store."""
        project = self._elsewhere.project
        tree = project.tree(commit, call)
        if tree is None:
            return None
        return tree if take_directories(self._store, project.directories, tree, call) else None


def remembered(handover: Handover, *, is_own: bool) -> HandoverRecord:
    """Returns the record that a folder keeps of a handover."""
    return HandoverRecord(
        handover.handover_id, handover.name, handover.folder.tree, is_own, handover.since, handover.kept
    )


def _since(lineage: Sequence[HandoverRecord]) -> tuple[str, ...]:
    names = (name for entry in reversed(lineage) for name in (entry.handover_id, *entry.since))
    return tuple(dict.fromkeys(names))[:MOST_SINCE]


def take_directories(store: Store, sources: Sequence[bytes], tree: ObjectId, call: Call) -> bool:
    """Copies a tree of the project's git, without its files, into a store; returns False if directories are missing."""
    level: set[ObjectId] = {tree} - {EMPTY_TREE}
    done: set[ObjectId] = set()
    while level:
        call.check()
        if store.adopt(sources, level) != level:
            return False
        done |= level
        level = {entry.oid for oid in level for entry in _directories(store.read_tree(oid))} - done - {EMPTY_TREE}
    return True


def _directories(entries: Iterable[TreeEntry]) -> Iterable[TreeEntry]:
    return (entry for entry in entries if entry.mode == TREE)

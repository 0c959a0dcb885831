"""Pushes sessions to other machines, or writes them to a file, and reports first what would leave this machine."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Literal

import attrs

from snapd.core.actions.step_changes import SessionViews, StepChanges
from snapd.model.call import Call
from snapd.model.errors import InvalidParams
from snapd.model.retention import DAY_SECONDS
from snapd.model.secrets import MOST_BYTES, SecretRules
from snapd.model.snapshot import TEN_MIB, ObjectId, RelPath
from snapd.model.timeline import (
    Commented,
    CommentId,
    EventPayload,
    MessageSent,
    Replied,
    SessionId,
    SessionStarted,
    StepBegun,
    StepEnded,
    StepId,
)
from snapd.store.store import Store
from snapd.store.timeline.timeline import TimelineView

from .copies import Copies
from .outgoing import events_of
from .projection import ExcludeOptions, Exclusions, Projection
from .remote import PrunedSession
from .remote_sessions import Carrier, RemoteSessions

LARGE = TEN_MIB
"""A new file of at least this size (bytes) is reported as large."""


Reason = Literal["secret", "large"]
TextKind = Literal["prompt", "title", "description", "command", "comment"]


@attrs.frozen
class SecretText:
    """A text that leaves the machine and may contain a secret.

    `message_id` is the message, also that of a step; `step_id` is set for a description or command,
    `comment_id` for a comment and its replies.
    """

    kind: TextKind
    session_id: SessionId
    message_id: str | None = None
    step_id: StepId | None = None
    comment_id: CommentId | None = None


@attrs.frozen
class NewFile:
    """A file that leaves the machine, and that no commit known to the recipient has.

    `oid` is its blob. `reason` says why a person should review it first, if so.
    """

    path: RelPath
    size: int
    reason: Reason | None = None
    oid: ObjectId = attrs.field(default=b"", eq=False)


@attrs.frozen
class Signing:
    """Signs with a public ssh key or the absolute path of a key file; None for the key that the user's git names."""

    key: str | None = None


@attrs.frozen
class PushOptions(ExcludeOptions):
    """How to push sessions; `dry_run` only reports what would leave the machine, `signing` None does not sign."""

    dry_run: bool = False
    signing: Signing | None = None


@attrs.frozen
class PushOutcome:
    """What left the machine, or would.

    Attributes:
        applied: False for a dry run, and if there is no session.
        remote: the address without a password, or the path of the file.
        size: bytes that are sent, or of the file.
        new_files: files that no commit known to the recipient has, ordered by path.
        secret_texts: texts that may contain a secret, in the order of their sessions.
    """

    applied: bool
    remote: str
    sessions: tuple[SessionId, ...]
    size: int
    new_files: tuple[NewFile, ...]
    secret_texts: tuple[SecretText, ...]


@attrs.define(eq=False)
class Push:
    """Pushes the sessions of one workspace, or writes them to a file."""

    _store: Store
    _sessions: SessionViews
    _step_changes: StepChanges
    _elsewhere: RemoteSessions
    _rules: Callable[[], SecretRules]
    # results for the files of the last push, by blob and path: a session is pushed again after each of its steps,
    # with mostly the same files
    _last_found: dict[bytes, Reason | None] = attrs.field(factory=dict, init=False)

    def push(
        self, remote: str, session_ids: Sequence[SessionId] | None, options: PushOptions, call: Call
    ) -> PushOutcome:
        """Pushes sessions (None for all) to a URL, a path, or a remote of the project's git: all or none.

        Raises `InvalidParams` if the remote or the key cannot be used, `RemoteChanged` if the remote has steps that
        this machine lacks, and `Untrusted` if the sessions there are malformed. After any error the remote is
        unchanged.
        """
        return self._send(self._elsewhere.remote(remote), session_ids, options, call)

    def export(
        self, file: str, session_ids: Sequence[SessionId] | None, options: PushOptions, call: Call
    ) -> PushOutcome:
        """Writes sessions (None for all) to a new file at an absolute path: all or nothing.

        Raises `InvalidParams` if no new file can be made there, or there is no such key.
        """
        return self._send(self._elsewhere.bundle(file), session_ids, options, call)

    def _send(
        self, there: Carrier, session_ids: Sequence[SessionId] | None, options: PushOptions, call: Call
    ) -> PushOutcome:
        signer = None if options.signing is None else self._elsewhere.signer(options.signing.key)
        chosen = self._chosen(session_ids)
        if not chosen:
            return PushOutcome(False, there.address, (), 0, (), ())
        left_out = options.exclusions(events_of(self._store.timeline, chosen), (), self._store, call)
        with there.outgoing() as outgoing:
            texts, messages = self.copy_sessions(chosen, left_out, outgoing, call)
            if signer is not None and not options.dry_run:
                outgoing.sign(signer, call)
            outgoing.finish()
            files = self.new_files(outgoing, call)
            size = outgoing.weigh(call)
            if not options.dry_run:
                outgoing.push(call)
                self._elsewhere.note_sent(there.address, [*messages, *(file.oid for file in files)])
        return PushOutcome(not options.dry_run, there.address, chosen, size, files, texts)

    def copy_sessions(
        self, chosen: Sequence[SessionId], left_out: Exclusions, outgoing: Copies, call: Call
    ) -> tuple[tuple[SecretText, ...], set[bytes]]:
        """Adds copies of sessions; returns the texts that may contain a secret, and ids of messages and comments."""
        result: dict[SecretText, None] = {}
        messages: set[bytes] = set()
        for at, session_id in enumerate(chosen):
            projection = Projection(
                [session_id], self._store.timeline, self._store, self._step_changes.authors, outgoing, left_out
            )
            events = list(projection.events(call))
            for text, words in itertools.chain.from_iterable(_texts(session_id, event.what) for event in events):
                if words and (name := text.message_id or text.comment_id) is not None:
                    messages.add(name.encode())
                if words and self._rules().look(b"", words.encode("utf-8", "surrogateescape")).findings:
                    result[text] = None
            outgoing.add_session(session_id, events)
            call.progress("copying", at + 1)
        return tuple(result), messages

    def new_files(self, outgoing: Copies, call: Call) -> tuple[NewFile, ...]:
        """Returns the files of copies that no commit known to the recipient has, by path; call it before `weigh`."""
        known, result = self._last_found, dict[bytes, Reason | None]()
        files = []
        for path, oid, size in outgoing.new_files(self._store.read_tree, call):
            key = oid + path
            result[key] = known[key] if key in known else self._reason(path, oid, size, call)
            files.append(NewFile(path, size, result[key], oid))
        self._last_found = result
        return tuple(files)

    def delete(self, remote: str, session_ids: Sequence[SessionId], call: Call) -> tuple[str, tuple[SessionId, ...]]:
        """Deletes sessions from a remote, all or none; returns its address and the sessions that it had.

        This machine keeps its own sessions, and anyone who fetched them a copy; a host may keep the objects for a
        while.
        """
        there = self._elsewhere.remote(remote)
        return there.address, there.delete(session_ids, call)

    def _chosen(self, session_ids: Sequence[SessionId] | None) -> tuple[SessionId, ...]:
        if session_ids is None:
            return tuple(session.session_id for session in self._store.timeline.sessions())
        if not session_ids:
            raise InvalidParams(
                "sessionIds: no session is named", hint="name one, or ask for `all`", field="sessionIds"
            )
        return tuple(self._sessions.known(session_id).session_id for session_id in dict.fromkeys(session_ids))

    def _reason(self, path: RelPath, oid: ObjectId, size: int, call: Call) -> Reason | None:
        """Returns why a person should review a file first: it may contain a secret, or is large."""
        call.check()
        start = b"".join(_first(self._store.blob_chunks(oid), MOST_BYTES))
        if self._rules().look(path, start, size).findings:
            return "secret"
        return "large" if size >= LARGE else None


def _texts(session_id: SessionId, what: EventPayload) -> Iterator[tuple[SecretText, str | None]]:
    """Yields the texts of an event, each with what `secret_texts` would report for it."""
    match what:
        case SessionStarted():
            yield SecretText("title", session_id), what.title
        case MessageSent():
            yield SecretText("prompt", session_id, message_id=what.message_id), what.text
        case StepBegun():
            yield SecretText("description", session_id, what.message_id, what.step_id), what.description
            yield SecretText("command", session_id, what.message_id, what.step_id), what.command
        case StepEnded():
            yield SecretText("description", session_id, step_id=what.step_id), what.description
        case Commented() | Replied():
            yield SecretText("comment", session_id, comment_id=what.comment_id), what.text


def _first(chunks: Iterator[bytes], most: int) -> Iterator[bytes]:
    """Yields chunks until `most` bytes were reached."""
    given = 0
    for chunk in chunks:
        yield chunk[: most - given]
        given += len(chunk)
        if given >= most:
            return


@attrs.frozen
class PruneOptions:
    """Which sessions a client wants deleted from a remote: those with no event for `older_than_days`.

    `everybody` includes sessions of other machines that are not of this folder. `dry_run` only lists them.
    """

    older_than_days: float
    everybody: bool = False
    dry_run: bool = False


@attrs.define(eq=False)
class Prune:
    """Deletes old sessions from remotes of one workspace."""

    _timeline: TimelineView
    _elsewhere: RemoteSessions

    def prune(self, remote: str, options: PruneOptions, call: Call) -> tuple[str, Sequence[PrunedSession]]:
        """Deletes old sessions from a remote; returns its address and the sessions that are deleted, or would be.

        All machines keep their own and fetched sessions. After an error some may be deleted; the next call continues.
        """
        there = self._elsewhere.remote(remote)
        before = int((time.time() - options.older_than_days * DAY_SECONDS) * 1000)
        ours = [session.session_id for session in self._timeline.sessions()]
        pruned = there.prune(before, ours, call, everybody=options.everybody, dry_run=options.dry_run)
        return there.address, pruned

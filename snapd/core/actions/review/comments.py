"""Comments of a person on lines of files, the replies of agents, and what an agent has yet to hear of them."""

from __future__ import annotations

import secrets
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

import attrs

from snapd.core.actions.review.blame import Blame, BlamedLines
from snapd.core.actions.review.review import ReviewViews
from snapd.core.actions.sessions import TEXT_LENGTH
from snapd.core.actions.step_changes import SessionViews, StepChanges
from snapd.core.answers import CommentView, Page
from snapd.core.compare.edits import split_lines
from snapd.core.compare.text import TextDiffer
from snapd.core.operations.writer import Writer
from snapd.core.review.changes import Attributor, FileChange, Texts, list_files
from snapd.core.review.comment_place import Places
from snapd.model.call import Call
from snapd.model.errors import FileChanged, FileNotInSnapshot, InvalidParams, UnknownComment
from snapd.model.paths import shown
from snapd.model.snapshot import TEN_MIB, RelPath
from snapd.model.timeline import Comment, Commented, CommentId, CommentState, Informed, Replied, SessionId, StepId
from snapd.model.trees import file_at
from snapd.store.object_store import ObjectStore
from snapd.store.store import Store
from snapd.store.timeline.codec import encode_informed
from snapd.store.timeline.timeline import TimelineView

_ATTEMPTS = 3
"""How often a comment is tried again because its file changed meanwhile."""
_TOLD_AT_ONCE = 6_000
"""The most characters of comments in one message to an agent; `wire/words.py` shortens a longer comment."""


@attrs.define(eq=False)
class CommentViews:
    """Lists and describes the comments of a timeline, of a workspace or of a fetched session."""

    _timeline: TimelineView
    _objects: ObjectStore
    _texts: TextDiffer
    _places: Places
    _sessions: SessionViews
    _lock: threading.Lock = attrs.field(factory=threading.Lock, init=False)

    @classmethod
    def of_timeline(
        cls, timeline: TimelineView, objects: ObjectStore, changes: StepChanges, sessions: SessionViews
    ) -> CommentViews:
        """Reads the comments of a timeline that nothing is added to."""
        places = Places(timeline, Attributor(timeline, changes.authors, lambda _: False))
        return cls(timeline, objects, changes.texts, places, sessions)

    def _look(self, call: Call) -> tuple[int, Sequence[FileChange]]:
        """Returns the number of the last event, and what changed since."""
        del call
        return self._timeline.next_seq - 1, ()

    def known(self, comment_id: CommentId) -> Comment:
        """Returns a comment; raises `UnknownComment`."""
        comment = self._timeline.comment(comment_id)
        if comment is None:
            raise UnknownComment(f"there is no comment {comment_id!r}", commentId=comment_id)
        return comment

    def view(self, comment: Comment, call: Call) -> CommentView:
        """Describes a comment."""
        return next(self._views([comment], call))

    def page(
        self,
        path: RelPath | None,
        session_id: SessionId | None,
        state: CommentState | None,
        call: Call,
        *,
        after: int = 0,
        limit: int | None = None,
    ) -> Page[CommentView]:
        """Lists comments, oldest first.

        Args:
            path: of a file, under its name now or when it was commented on; None for all files.
            session_id: whose agent they are for; None for all.
            state: None for all.
            call: the request.
            after: the `seq` of the comment before the first one.
            limit: how many at most; None for all.

        Raises `UnknownSession`.
        """
        if session_id is not None:
            self._sessions.known(session_id)
        if after == 0 and path is None and session_id is None and state == "open" and limit is None:
            comments = [*self._timeline.comments(None, "open", 0)]
            self._places.forget_all_but(comment.made.comment_id for comment in comments)
        views: list[CommentView] = []
        for view in self._views(self._timeline.comments(session_id, state, after), call):
            if path in (None, view.place.path, view.comment.made.path):
                if len(views) == limit:
                    return Page(tuple(views), views[-1].comment.seq)
                views.append(view)
        return Page(tuple(views), None)

    def _views(self, comments: Iterable[Comment], call: Call) -> Iterator[CommentView]:
        look: tuple[int, Sequence[FileChange]] | None = None
        texts = Texts(self._objects, self._texts, call)
        for comment in comments:
            look = look or self._look(call)
            with call.holding(self._lock):
                list_files(self._timeline, self._objects, call)
                place = self._places.of(comment, *look, texts)
            yield CommentView(comment, place, self._lines(comment.made))

    def _lines(self, made: Commented) -> bytes:
        data = None if made.entry is None else self._objects.read_small_blob(made.entry.oid, TEN_MIB)
        lines = split_lines(data or b"")
        return b"".join(lines[made.start - 1 : made.start - 1 + made.count])

    def news_id(self, session_id: SessionId, page: Page[CommentView]) -> str:
        """Returns what names the comments of a page, for `SessionNews.acknowledge`: none if others are due before."""
        seen = {view.comment.seq: view.comment.due or 0 for view in page.views}
        until = 0
        for comment in self._timeline.due_comments(session_id):
            if comment.seq not in seen:
                break
            until = seen[comment.seq]
        return encode_informed(Informed(session_id, until))


@attrs.define(eq=False)
class Comments(CommentViews):
    """Comments on files of one workspace; `on_change` is called after each change that may not change a snapshot."""

    _writer: Writer
    _store: Store
    _looking: ReviewViews
    _blame: Blame
    on_change: Callable[[], None]

    def _look(self, call: Call) -> tuple[int, Sequence[FileChange]]:
        with self._writer.turn(call):
            look = self._looking.look(call)
        return look.last, look.unrecorded

    # -- making

    def add(
        self,
        path: RelPath,
        lines: tuple[int, int],
        text: str,
        session_id: SessionId | None,
        by: SessionId | None,
        call: Call,
    ) -> CommentView:
        """Comments on lines of a file as it is now: a first line, from 1, and a count.

        Args:
            path: of the file.
            lines: which of its lines.
            text: of the comment.
            session_id: whose agent is to hear of it; None for the agent that wrote most of the lines, if any.
            by: the session whose agent writes it; None for the person.
            call: the request.

        Raises `InvalidParams` if the file has no such lines or is not text, or the text is blank or too long;
        `FileNotInSnapshot` if it is missing, ignored or skipped; `UnknownSession`; and `FileChanged` if it changes
        too fast.
        """
        _check(text)
        for name in (session_id, by):
            if name is not None:
                self._sessions.known(name)
        for _ in range(_ATTEMPTS):
            with self._writer.turn(call):
                tree = self._looking.look(call).snapshot.tree
            entry = file_at(self._store.entry_in, tree, path)
            if entry is None:
                raise FileNotInSnapshot(
                    f"{shown(path)} is not there, or no snapshot has it",
                    hint="comment on a file that 'snapd files' lists",
                    file=shown(path),
                    skipped=False,
                )
            owner, step_id = self._owner(self._blame.lines(path, tree, lines, call).lines, session_id)
            with self._writer.turn(call):
                snapshot = self._writer.capture_now(call)
                if file_at(self._store.entry_in, snapshot.tree, path) != entry:
                    continue
                comment_id = secrets.token_hex(16)
                made = Commented(comment_id, owner, step_id, path, entry, *lines, text, by)
                self._writer.track(snapshot, made, call)
            self.on_change()
            return self.view(self.known(comment_id), call)
        raise FileChanged(f"{shown(path)} changes too fast", file=shown(path), reason="changedSince")

    def reply(self, comment_id: CommentId, text: str, by: SessionId | None, call: Call) -> CommentView:
        """Replies to a comment; raises `UnknownComment`, `UnknownSession`, and `InvalidParams` as `add`."""
        _check(text)
        return self._remark(comment_id, text, None, by, call)

    def resolve(self, comment_id: CommentId, state: CommentState, by: SessionId | None, call: Call) -> CommentView:
        """Resolves a comment or opens it again, if it is not so already; raises as `reply`."""
        return self._remark(comment_id, None, state, by, call)

    def _remark(
        self, comment_id: CommentId, text: str | None, state: CommentState | None, by: SessionId | None, call: Call
    ) -> CommentView:
        if by is not None:
            self._sessions.known(by)
        with self._writer.turn(call):
            comment = self.known(comment_id)
            if text is not None or state != comment.state:
                call.commit()
                self._writer.append_event(Replied(comment_id, comment.made.session_id, text, state, by))
        self.on_change()
        return self.view(self.known(comment_id), call)

    def _owner(
        self, blamed: Iterable[BlamedLines], session_id: SessionId | None
    ) -> tuple[SessionId | None, StepId | None]:
        """Returns the session that wrote most of some lines, or the given one, and its step that did."""
        steps = Counter[StepId]()
        for lines in blamed:
            for step_id in lines.writer.steps[:1]:
                steps[step_id] += lines.count
        sessions = {step_id: self._sessions.known_step(step_id).session_id for step_id in steps}
        counts = Counter[SessionId]()
        for step_id, count in steps.items():
            counts[sessions[step_id]] += count
        owner = session_id if session_id is not None else next((name for name, _ in counts.most_common(1)), None)
        return owner, next((step_id for step_id, _ in steps.most_common() if sessions[step_id] == owner), None)

    # -- telling

    def due(self, session_id: SessionId, call: Call) -> tuple[CommentView, ...]:
        """Returns the open comments of which the agent of a session has yet to hear: as many as fit one message."""
        views: list[CommentView] = []
        left = _TOLD_AT_ONCE
        for view in self._views(self._timeline.due_comments(session_id), call):
            texts = (view.comment.made.text, *(reply.text or "" for reply, _ in view.comment.replies))
            left -= min(_length(view.lines.decode("utf-8", "replace")) + sum(map(_length, texts)), _TOLD_AT_ONCE)
            if views and left < 0:
                break
            views.append(view)
        return tuple(views)


def _check(text: str) -> None:
    if not text.strip():
        raise InvalidParams("text: is blank", hint="write what you want to say", field="text")
    if len(text) > TEXT_LENGTH:
        raise InvalidParams(
            f"text: has {len(text)} characters, and may have {TEXT_LENGTH}", hint="make it shorter", field="text"
        )


def _length(text: str) -> int:
    """Returns about how many characters a text takes where each line has a mark, and what is not printable is shown."""
    return 80 + len(text) + 2 * text.count("\n") + 4 * sum(not each.isprintable() for each in text)

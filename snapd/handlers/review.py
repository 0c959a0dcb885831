"""`review/*` and `snapshot/blame`."""

from __future__ import annotations

import base64
import os
from typing import TYPE_CHECKING, Literal
from weakref import WeakKeyDictionary

import attrs

from snapd.core.actions.review.blame import BlameReport, DatedText
from snapd.core.compare.text import decode
from snapd.core.review.choice import Choice
from snapd.model.errors import InvalidParams
from snapd.wire import methods
from snapd.wire import review as wire
from snapd.wire.converter import wire_name
from snapd.wire.values import Outcome

from . import convert, history
from .binding import handles

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from snapd.core.actions.review.blame import BlamedLines
    from snapd.core.actions.review.review import PendingPage
    from snapd.core.answers import CommentView
    from snapd.core.review.fold import PendingFile
    from snapd.core.seams import GitCommit, NotedCommit
    from snapd.model.snapshot import RelPath
    from snapd.model.timeline import Step, StepId

    from .binding import Context


@handles(methods.REVIEW_LIST)
def list_(context: Context, params: wire.ReviewListParams) -> wire.ReviewListResult:
    """Lists the files with pending changes."""
    request = convert.PagedRequest(params)
    choice = Choice(is_owner=_of_session(context, params.session_id))
    context.workspace.pending_feed.begin()
    page = context.workspace.review.page(choice, context.call, after=request.position(), limit=params.limit)
    return _listed(context, page, None if page.after is None else request.cursor(page.after))


@handles(methods.REVIEW_FILE)
def file(context: Context, params: wire.ReviewFileParams) -> wire.ReviewFileResult:
    """Shows the pending changes of a file."""
    context.workspace.pending_feed.begin()
    path = convert.path(context, params.file, "file", _pending_in(context))
    result = context.workspace.review.file(path, context.call)
    summary = result.file.summary
    before, after, encoding = result.decoded()
    return convert.to_wire(
        wire.ReviewFileResult,
        summary,
        context.workspace.root,
        before=before,
        after=after,
        too_large=True if result.too_large else None,
        encoding=encoding,
        old_mode=convert.mode(result.old_mode),
        new_mode=convert.mode(result.new_mode),
        id=result.file.id,
        hunks=[
            convert.to_wire(
                wire.PendingHunk,
                each.hunk,
                **_place("old", each.hunk.old),
                **_place("new", each.hunk.new),
                owners=_owners(context, each.owners),
            )
            for each in result.hunks
        ],
        owners=_owners(context, result.file.owners),
    )


@handles(methods.REVIEW_KEEP)
def keep(context: Context, params: wire.ReviewKeepParams) -> wire.ReviewListResult:
    """Keeps pending changes."""
    return _listed(context, context.workspace.review.keep(_choice(context, params), context.call), None)


@handles(methods.REVIEW_REVERT)
def revert(context: Context, params: wire.ReviewRevertParams) -> Outcome:
    """Reverts pending changes."""
    asked = convert.options(context, params)
    outcome = context.workspace.review.revert(_choice(context, params), asked, context.call)
    return convert.outcome(context.workspace.root, outcome)


@handles(methods.REVIEW_COMMENT)
def comment(context: Context, params: wire.ReviewCommentParams) -> wire.Comment:
    """Comments on lines of a file, or replies to a comment."""
    context.need_snapshots("comment on files of")
    comments = context.workspace.comments
    if params.reply_to is not None:
        for field in ("file", "start", "count", "session_id"):
            if getattr(params, field) is not None:
                raise InvalidParams(f"{wire_name(field)}: cannot be used with replyTo", field=wire_name(field))
        return to_comment(context, comments.reply(params.reply_to, params.text, params.by, context.call))
    if params.file is None or params.start is None:
        missing = "file" if params.file is None else "start"
        raise InvalidParams(f"{missing}: is missing", hint="send file, start and text, or replyTo", field=missing)
    path = convert.path(context, params.file, "file")
    lines = (params.start, params.count or 1)
    made = comments.add(path, lines, params.text, params.session_id, params.by, context.call)
    return to_comment(context, made)


@handles(methods.REVIEW_COMMENTS)
def list_comments(context: Context, params: wire.ReviewCommentsParams) -> wire.ReviewCommentsResult:
    """Lists comments."""
    context.workspace.pending_feed.begin()
    paged = convert.PagedRequest(params)
    path = None if params.file is None else convert.path(context, params.file, "file")
    state = None if params.state == "all" else params.state
    workspace, session_id = context.workspace, params.session_id
    comments = workspace.comments if session_id is None else workspace.readers.of_session(session_id).comments
    page = comments.page(path, params.session_id, state, context.call, after=paged.number() or 0, limit=params.limit)
    return wire.ReviewCommentsResult(
        comments=[to_comment(context, view) for view in page.views],
        news_id=None if session_id is None else comments.news_id(session_id, page),
        next_cursor=paged.optional_cursor(page.after),
    )


@handles(methods.REVIEW_RESOLVE)
def resolve(context: Context, params: wire.ReviewResolveParams) -> wire.Comment:
    """Resolves a comment, or opens it again."""
    comments = context.workspace.comments
    return to_comment(context, comments.resolve(params.comment_id, params.state, params.by, context.call))


def to_comment(context: Context, view: CommentView) -> wire.Comment:
    """Converts a comment."""
    comment, made = view.comment, view.comment.made
    (lines,), _ = decode(view.lines)
    return wire.Comment(
        comment_id=made.comment_id,
        **convert.name(context.workspace.root, view.place.path),
        start=view.place.start,
        count=view.place.count,
        outdated=view.place.outdated or None,
        lines=lines,
        text=made.text,
        at=convert.moment(comment.milliseconds),
        author=_author(made.by),
        session_id=made.session_id,
        step_id=made.step_id,
        state=comment.state,
        delivered_at=None if comment.delivered is None else convert.moment(comment.delivered),
        replies=[
            wire.Reply(text=each.text or "", at=convert.moment(at), author=_author(each.by), session_id=each.by)
            for each, at in comment.replies
        ],
    )


def _author(by: str | None) -> Literal["user", "agent"]:
    return "user" if by is None else "agent"


@handles(methods.BLAME)
def blame(context: Context, params: wire.BlameParams) -> wire.BlameResult:
    """Reports who wrote each line of a file."""
    root = context.workspace.root
    # for a symlink, users see its target
    known = None if params.hash else lambda name: not os.path.islink(os.path.join(root, name))
    path = convert.path(context, params.file, "file", known)
    lines = None if params.range is None else (params.range.start, params.range.count)
    text = _given(params)
    if text is None:
        blamed = context.workspace.blame.lines(path, convert.optional_tree(context, params.hash), lines, context.call)
    else:
        blamed = BlameReport(context.workspace.text_blame.lines(path, text, lines, context.call))
    result = blamed.lines
    # a step may have written a thousand lines: look it up once
    steps = {name: context.workspace.sessions.known_step(name) for each in result for name in each.writer.steps[:1]}
    agents = {
        name: context.workspace.sessions.known(name).agent for name in {step.session_id for step in steps.values()}
    }
    problems = [convert.to_wire(wire.NoteProblem, each) for each in blamed.problems]
    return wire.BlameResult(lines=[_blamed(each, steps, agents) for each in result], note_problems=problems or None)


def _given(params: wire.BlameParams) -> DatedText | None:
    if params.content is None:
        for field in ("encoding", "at"):
            if getattr(params, field) is not None:
                raise InvalidParams(f"{field}: only valid with content", field=field)
        return None
    if params.hash is not None:
        raise InvalidParams("hash: cannot be used with content", field="hash")
    data = params.content.encode("utf-8")
    if params.encoding is not None:
        try:
            data = base64.b64decode(data, validate=True)
        except ValueError as error:
            raise InvalidParams("content: this is not base64", field="content") from error
    # the last moment of that second
    return DatedText(data, None if params.at is None else convert.seconds(params.at, "at") * 1000 + 999)


def _choice(context: Context, params: wire.ReviewKeepParams | wire.ReviewRevertParams) -> Choice:
    given = {
        "files": params.files is not None,
        "file": params.file is not None,
        "stepId": params.step_id is not None,
        "sessionId": params.session_id is not None,
        "all": params.all,
    }
    named = [name for name, is_given in given.items() if is_given]
    if len(named) != 1:
        wrong = (
            f"{named[1]}: cannot be used with {named[0]}" if named else "params: nothing says which changes are meant"
        )
        hint = "send exactly one of files, file, stepId, sessionId and all"
        raise InvalidParams(wrong, hint=hint, field=named[1] if named else "params")
    if (params.file is None) != (params.hunks is None):
        missing, other = ("hunks", "file") if params.hunks is None else ("file", "hunks")
        raise InvalidParams(f"{missing}: is missing beside {other}", field=missing)
    for field in ("files", "hunks"):
        if getattr(params, field) == []:
            raise InvalidParams(f"{field}: is empty", hint="name what you mean, or send `all`", field=field)
    known = _pending_in(context)
    ids = params.expect if isinstance(params.expect, dict) else {}
    expect = {convert.path(context, name, f"expect.{name}", known): id_ for name, id_ in ids.items()}
    if params.file is not None:
        return Choice((convert.path(context, params.file, "file", known),), tuple(params.hunks or ()), None, expect)
    if params.step_id is not None:
        return Choice(is_owner=_of_step(context, params.step_id), expect=expect)
    files = tuple(convert.paths(context, params.files, "files", known))
    return Choice(files, is_owner=_of_session(context, params.session_id), expect=expect)


def _pending_in(context: Context) -> Callable[[RelPath], bool]:
    """A predicate for files or directories with pending changes."""

    def pending(path: RelPath) -> bool:
        page = context.workspace.review.page(Choice((path,)), context.call, after=None, limit=1)
        return bool(page.files)

    return pending


def _of_session(context: Context, session_id: str | None) -> Callable[[StepId], bool] | None:
    """A predicate for steps of a session, including parts of its steps."""
    if session_id is None:
        return None
    context.workspace.sessions.known(session_id)
    wholes = context.workspace.step_changes.with_wholes
    return lambda step_id: any(step.session_id == session_id for step in wholes(step_id))


def _of_step(context: Context, step_id: StepId) -> Callable[[StepId], bool]:
    context.workspace.sessions.known_step(step_id)
    wholes = context.workspace.step_changes.with_wholes
    return lambda other: any(step.step_id == step_id for step in wholes(other))


def _listed(context: Context, page: PendingPage, cursor: str | None) -> wire.ReviewListResult:
    files = [_pending(context, each) for each in page.files]
    return convert.to_wire(wire.ReviewListResult, page, files=files, pending_files=page.count, next_cursor=cursor)


_converted: WeakKeyDictionary[PendingFile, wire.PendingFile] = WeakKeyDictionary()
"""Cache of converted files: most of a list is unchanged when it is requested again."""


def _pending(context: Context, pending_file: PendingFile) -> wire.PendingFile:
    known = _converted.get(pending_file)
    if known is None:
        known = _converted[pending_file] = _convert(context, pending_file)
    return known


def _convert(context: Context, pending_file: PendingFile) -> wire.PendingFile:
    change = history.files(context.workspace.root, [pending_file.summary])[0]
    return wire.PendingFile(
        **attrs.asdict(change, recurse=False),
        id=pending_file.id,
        hunks=pending_file.hunks,
        owners=_owners(context, pending_file.owners),
    )


def _owners(context: Context, steps: Iterable[StepId]) -> list[wire.Owner]:
    session_of = context.workspace.review.session_of
    return [wire.Owner(session_id=session_of(step_id), step_id=step_id) for step_id in steps]


def _place(side: str, lines: tuple[int, int]) -> dict[str, int]:
    start, end = lines
    # as in a hunk header: without lines, the line before it
    return {f"{side}_start": start + (end > start), f"{side}_lines": end - start}


def _blamed(lines: BlamedLines, steps: Mapping[StepId, Step], agents: Mapping[str, str | None]) -> wire.BlamedLines:
    writer = lines.writer
    step = steps[writer.steps[0]] if writer.steps else None
    return convert.to_wire(
        wire.BlamedLines,
        lines,
        author=writer.kind,
        session_id=None if step is None else step.session_id,
        step_id=None if step is None else step.step_id,
        agent=None if step is None else agents[step.session_id],
        message_id=None if step is None else step.begun.message_id,
        at=None if writer.milliseconds is None else convert.moment(writer.milliseconds),
        commit=None if lines.commit is None else _commit(lines.commit),
        noted=None if lines.noted is None else _noted(lines.noted),
    )


def _commit(commit: GitCommit) -> wire.GitCommit:
    at = convert.moment(commit.seconds * 1000)
    return convert.to_wire(wire.GitCommit, commit, email=commit.email or None, at=at)


def _noted(noted_commit: NotedCommit) -> wire.NotedCommit:
    at = convert.moment(noted_commit.seconds * 1000)
    return convert.to_wire(wire.NotedCommit, noted_commit.by, commit=noted_commit.commit, at=at)

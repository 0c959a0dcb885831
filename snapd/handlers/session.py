"""The requests about sessions and their messages."""

from __future__ import annotations

import logging
import shlex
from typing import TYPE_CHECKING

import attrs

from snapd.core.actions.history import HistoryPosition, HistoryQuery
from snapd.model.errors import InvalidParams
from snapd.model.paths import shown
from snapd.model.timeline import Continuation
from snapd.wire import message as message_wire
from snapd.wire import methods
from snapd.wire import session as wire
from snapd.wire.words import agent_title

from . import convert, history
from .binding import handles
from .review import to_comment

if TYPE_CHECKING:
    from snapd.core.actions.activity import SessionActivity, StepProblem
    from snapd.core.answers import News

    from .binding import Context

_logger = logging.getLogger(__name__)
_ENTRIES = 100


@handles(methods.SESSION_START)
def start(context: Context, params: wire.SessionStartParams) -> wire.SessionStartResult:
    """Begins a session."""
    given = params.continues
    continues = None if given is None else Continuation(given.session_id, given.message_id)
    if continues is not None and continues.session_id == params.session_id:
        raise InvalidParams("continues: a session cannot continue itself", field="continues")
    session_id = context.workspace.sessions.start(
        params.session_id, params.agent, params.title, context.call, continues
    )
    return wire.SessionStartResult(session_id=session_id)


@handles(methods.SESSION_END)
def end(context: Context, params: wire.SessionEndParams) -> wire.SessionEndResult:
    """Ends a session."""
    context.workspace.sessions.end(params.session_id, context.call)
    return wire.SessionEndResult()


@handles(methods.SESSION_REWIND_CHAT)
def rewind_chat(context: Context, params: wire.RewindChatParams) -> wire.RewindChatResult:
    """Has the conversation of a session go on from before a message, in a new session."""
    # imported late: few daemons need it
    from snapd.conversations.branch import UNFORESEEN, NoBranch, Prompt
    from snapd.conversations.table import summary, way_of

    workspace = context.workspace
    session = workspace.sessions.known(params.session_id)
    message = workspace.messages.known(params.session_id, params.message_id)
    root, agent = shown(workspace.root), session.agent
    transcript = workspace.store.timeline.transcript(session.session_id, message.message_id)
    prompt = Prompt(session.session_id, message.message_id, message.text, message.started, transcript)
    chat = wire.Chat(agent=agent, command=[], cwd=root, drops=[], prompt=message.text)
    way = None
    try:
        way = way_of(agent)
        branch = way.find(prompt)
        chat = attrs.evolve(
            chat,
            kind="new" if branch.begin is None else branch.kind,
            cwd=branch.cwd or root,
            drops=list(branch.drops),
            prompt=branch.prompt or message.text,
        )
        made = None if branch.begin is None or params.dry_run else branch.begin()
    except (NoBranch, *UNFORESEEN) as error:
        why, itself = str(error), "" if way is None else f". In {agent_title(agent or '')} itself, {way.own}"
        if not isinstance(error, NoBranch):
            _logger.warning("a transcript of %s has an unknown form", agent, exc_info=error)
            why = f"its transcript has a form that snapd does not know ({error!r})"
        return wire.RewindChatResult(chat=attrs.evolve(chat, kind=None, problem=f"stays as it is: {why}{itself}"))
    if made is not None:
        continues = Continuation(session.session_id, message.message_id)
        workspace.sessions.prepare(made.session_id, agent, continues, context.call)
        chat = attrs.evolve(chat, session_id=made.session_id, kind=made.kind)
    name = [] if chat.session_id is None else [chat.session_id]
    command = [way.program] if branch.begin is None else [way.program, way.resume, *name]
    text = summary(chat.kind, agent, chat.prompt, len(chat.drops))
    line = None if params.dry_run else f"cd {shlex.quote(chat.cwd)} && {shlex.join(command)}"
    return wire.RewindChatResult(chat=attrs.evolve(chat, command=command, summary=text, line=line))


@handles(methods.SESSION_LIST)
def list_sessions(context: Context, params: wire.SessionListParams) -> wire.SessionListResult:
    """Lists the sessions."""
    paged = convert.PagedRequest(params)
    page = context.workspace.readers.sessions(context.call, paged.number(), params.limit)
    return wire.SessionListResult(
        sessions=[history.session(view) for view in page.views], next_cursor=paged.optional_cursor(page.after)
    )


@handles(methods.SESSION_STEPS)
def steps(context: Context, params: wire.SessionStepsParams) -> wire.SessionStepsResult:
    """Lists the steps of a session."""
    paged = convert.PagedRequest(params)
    views = context.workspace.readers.of_session(params.session_id).views
    page = views.steps(params.session_id, context.call, paged.number(), params.limit)
    root = context.workspace.root
    return wire.SessionStepsResult(
        steps=[history.step(root, view) for view in context.workspace.overlaps.mark(page.views, context.call)],
        next_cursor=paged.optional_cursor(page.after),
    )


@handles(methods.SESSION_MESSAGE)
def message(context: Context, params: message_wire.SessionMessageParams) -> message_wire.SessionMessageResult:
    """Records a message."""
    context.need_snapshots("record a message with")
    context.workspace.messages.send(params.session_id, params.message_id, params.text, context.call, late=params.late)
    return message_wire.SessionMessageResult()


@handles(methods.SESSION_MESSAGES)
def messages(context: Context, params: message_wire.SessionMessagesParams) -> message_wire.SessionMessagesResult:
    """Lists the messages of a session."""
    paged = convert.PagedRequest(params)
    page = context.workspace.messages.page(params.session_id, params.prefix, context.call, paged.number(), params.limit)
    return message_wire.SessionMessagesResult(
        messages=[history.message(view) for view in page.views], next_cursor=paged.optional_cursor(page.after)
    )


@handles(methods.SESSION_NEWS)
def news(context: Context, params: message_wire.SessionNewsParams) -> message_wire.SessionNewsResult:
    """Returns the news for an agent."""
    context.need_snapshots("compare the folder with")
    files, _ = convert.claims(context, params.files, None)
    return news_result(context, context.workspace.news.take_news(params.session_id, context.call, files=files or ()))


def news_result(context: Context, result: News) -> message_wire.SessionNewsResult:
    """Converts the news for an agent."""
    root = context.workspace.root
    return message_wire.SessionNewsResult(
        undone=[history.step(root, view) for view in result.undone],
        redone=[history.step(root, view) for view in result.redone],
        files=history.files(root, result.files),
        git=history.git_change(result.git),
        comments=[to_comment(context, view) for view in result.comments] or None,
        overlaps=[history.overlap(root, view) for view in result.overlaps] or None,
        news_id=result.news_id,
        former_histories=convert.former_histories(result.former),
    )


@handles(methods.SESSION_TOLD)
def acknowledge(context: Context, params: message_wire.SessionToldParams) -> message_wire.SessionToldResult:
    """Records what the agent of a session heard."""
    context.workspace.news.acknowledge(params.session_id, params.news_id, context.call)
    return message_wire.SessionToldResult()


@handles(methods.SESSION_DIFF)
def diff(context: Context, params: wire.SessionDiffParams) -> wire.SessionDiffResult:
    """Lists the net changes of a session's steps."""
    paged = convert.PagedRequest(params)
    deltas, last = context.workspace.readers.of_session(params.session_id).net_changes.page(
        params.session_id,
        params.message_id,
        params.step_id,
        context.call,
        contents=params.contents,
        after=paged.position(),
        limit=params.limit,
    )
    return wire.SessionDiffResult(
        diffs=[convert.file_diff(context.workspace.root, delta) for delta in deltas],
        next_cursor=None if last is None else paged.cursor(last),
    )


@handles(methods.SESSION_HISTORY)
def list_history(context: Context, params: message_wire.HistoryParams) -> message_wire.HistoryResult:
    """Lists what happened."""
    paged = convert.PagedRequest(params)
    only = convert.all_names(context, params.files, "files")
    if params.session_id is not None:
        context.workspace.sessions.known(params.session_id)
    if params.files is not None and not only:
        return message_wire.HistoryResult(entries=[])
    query = HistoryQuery(params.session_id, frozenset(only), params.renames)
    place = paged.number_and_names()
    after = None if place is None else HistoryPosition(place[0], frozenset(place[1]))
    page = context.workspace.history.page(query, after, params.limit or _ENTRIES, context.call)
    shown = [result.step for result in page.entries if result.step is not None]
    marked = {view.step.step_id: view for view in context.workspace.overlaps.mark(shown, context.call)}
    entries = (
        result if result.step is None else attrs.evolve(result, step=marked[result.step.step.step_id])
        for result in page.entries
    )
    return message_wire.HistoryResult(
        entries=[history.entry(context.workspace.root, result) for result in entries],
        next_cursor=None
        if page.after is None
        else paged.cursor(b"\0".join([b"%d" % page.after.seq, *sorted(page.after.names)])),
    )


@handles(methods.SESSION_ACTIVITY)
def activity(context: Context, params: message_wire.ActivityParams) -> message_wire.ActivityResult:
    """Sums up what each session did."""
    result = context.workspace.activity.since(convert.milliseconds(params.since, "since"), context.call)
    return message_wire.ActivityResult(sessions=[_activity(each) for each in result])


def _activity(session_activity: SessionActivity) -> message_wire.SessionActivity:
    return convert.to_wire(
        message_wire.SessionActivity,
        session_activity,
        session=history.session(session_activity.session),
        messages=[history.message(view) for view in session_activity.messages],
        problems=[_problem(each) for each in session_activity.problems],
    )


def _problem(step_problem: StepProblem) -> message_wire.StepProblem:
    step = step_problem.step.step
    at = convert.moment(step.started)
    return convert.to_wire(message_wire.StepProblem, step.begun, at=at, kind=step_problem.kind)

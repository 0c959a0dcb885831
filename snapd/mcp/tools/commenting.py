"""The tools for what the user says about lines: `comments` and `reply`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from snapd.backend import find_comment
from snapd.mcp.call import Answer
from snapd.model.errors import InvalidParams, UnknownSession
from snapd.wire.converter import structure
from snapd.wire.review import Comment
from snapd.wire.words import comment_lines

from .finding import whose
from .results import Comments, RepliedComment

if TYPE_CHECKING:
    from snapd_client import protocol

    from snapd.mcp.call import Call

    from .params import CommentsParams, ReplyParams

_NOBODY = "snapd-mcp"
"""The session of agents that report none."""


def comments(call: Call, params: CommentsParams) -> Answer:
    """Lists the open comments; this agent counts as told of its own."""
    session_id = whose(call, params.session)
    listed = call.request("review/comments", {"sessionId": session_id})
    rows = listed["comments"]
    text = "\n".join(comment_lines(rows)) if rows else "There are no open comments."
    if rows and session_id is not None and session_id == call.own_session:
        about: protocol.SessionToldParams = {"sessionId": session_id, "newsId": listed["newsId"]}
        call.afterwards = lambda: call.finish("session/told", about)
    return Answer(Comments(comments=[structure(row, Comment) for row in rows]), text)


def reply(call: Call, params: ReplyParams) -> Answer:
    """Replies to a comment and resolves it."""
    if params.text is None and not params.resolve:
        raise InvalidParams("text: is missing", hint="give a text, or `resolve`, or both", field="text")
    row = find_comment(call.request, params.comment)
    by = _author(call, row)
    if params.text is not None:
        row = call.request("review/comment", {"replyTo": row["commentId"], "text": params.text, "by": by})
    if params.resolve:
        row = call.finish("review/resolve", {"commentId": row["commentId"], "by": by})
    done = " and ".join(
        word for word, is_done in (("replied", params.text is not None), ("resolved", params.resolve)) if is_done
    )
    return Answer(RepliedComment(comment=structure(row, Comment)), f"Comment {row['commentId']}: {done}.")


def _author(call: Call, row: protocol.Comment) -> str:
    """The session that replies: this agent's, else that for which the comment is."""
    if call.own_session is None and "sessionId" in row:
        return row["sessionId"]
    session_id = call.own_session or _NOBODY
    try:
        call.request("session/steps", {"sessionId": session_id, "limit": 1})
    except UnknownSession:
        call.request("session/start", {"sessionId": session_id})
    return session_id

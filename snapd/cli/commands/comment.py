"""`snapd comment` and `snapd comments`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Literal

from snapd.backend import all_comments, find_comment
from snapd.cli.exit_codes import DONE
from snapd.cli.parsing.command import Command, common, looking
from snapd.cli.requests.connection import ask, in_folder, open_backend
from snapd.cli.requests.names import all_sessions, find_session, split_lines
from snapd.cli.terminal.layout import printable
from snapd.cli.terminal.naming import agent_or_id, comment_texts
from snapd.cli.terminal.output import Painter, print_json
from snapd.cli.terminal.times import ago, local_now, moment
from snapd.model.errors import InvalidParams
from snapd.wire.words import COMMENT_DIGITS, comment_lines

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from snapd_client.protocol import Comment, ReviewCommentParams

    from snapd.backend import Backend
    from snapd.cli.parsing.usage import Parser


def _comment_arguments(parser: Parser) -> None:
    common(parser)
    parser.argument("words", "FILE:LINES TEXT", "the lines, such as a.py:12 or a.py:3-9, and what to say", nargs="*")
    parser.argument("--reply", "ID", "say it in reply to this comment")
    parser.argument("--resolve", "ID", "resolve this comment")
    parser.argument("--reopen", "ID", "open this comment again")
    parser.argument(
        "--session", "S", "the session whose agent is to hear of it (default: the one that wrote the lines)"
    )


@Command(
    "comment", "choose what stays", _comment_arguments, answer="Comment", example="comment src/basket.py:2 'use sum'"
)
def comment(options: argparse.Namespace) -> int:
    """Comment on lines, for the agent that wrote them.

    Comment on lines of a file. The agent that wrote them hears of it with its next prompt or call. 'snapd comments'
    shows what it replies.
    """
    named = [name for name in ("reply", "resolve", "reopen") if getattr(options, name) is not None]
    expected = 2 if not named else 1 if named == ["reply"] else 0
    if len(named) > 1 or len(options.words) != expected:
        raise InvalidParams(
            "expected FILE:LINES and TEXT, or one of --reply ID TEXT, --resolve ID and --reopen ID",
            hint="see 'snapd comment --help'",
            field="FILE:LINES",
        )
    with open_backend(options) as backend:
        result = _made(options, backend, named)
        if options.json:
            print_json(result)
        else:
            names = _agents(backend)
            print("\n".join(_described(Painter(options), names, result)))
            if not named and "sessionId" not in result:
                print("snapd: no agent wrote these lines, so none hears of it; --session names one", file=sys.stderr)
    return DONE


def _made(options: argparse.Namespace, backend: Backend, named: list[str]) -> Comment:
    if named == ["reply"]:
        comment_id = find_comment(backend.request, options.reply)["commentId"]
        return ask(backend, "review/comment", {"replyTo": comment_id, "text": options.words[0]})
    if named:
        comment_id = find_comment(backend.request, getattr(options, named[0]))["commentId"]
        state: Literal["open", "resolved"] = "resolved" if named == ["resolve"] else "open"
        return ask(backend, "review/resolve", {"commentId": comment_id, "state": state})
    file, lines = split_lines(options, options.words[0])
    if lines is None:
        raise InvalidParams(
            f"{options.words[0]}: which line?", hint="name it, as in 'a.py:12' or 'a.py:3-9'", field="FILE:LINES"
        )
    session = None if options.session is None else find_session(backend, options.session)["sessionId"]
    place: ReviewCommentParams = {"file": in_folder(options, file), "start": lines["start"], "text": options.words[1]}
    return ask(backend, "review/comment", {**place, "count": lines["count"], "sessionId": session})


def _comments_arguments(parser: Parser) -> None:
    looking(parser)
    parser.argument("file", "FILE", "only comments on this file", nargs="?")
    parser.flag("--all", help="show resolved comments, too")
    parser.argument("--session", "S", "only comments for the agent of this session")
    parser.flag("--copy", help="print them as a prompt for any agent")


@Command(
    "comments", "choose what stays", _comments_arguments, answer="ReviewCommentsResult", example="comments", shows=True
)
def comments(options: argparse.Namespace) -> int:
    """List the open comments, with the replies of agents."""
    with open_backend(options) as backend:
        file = None if options.file is None else in_folder(options, options.file)
        session = None if options.session is None else find_session(backend, options.session)["sessionId"]
        state: Literal["all", "open"] = "all" if options.all else "open"
        rows = all_comments(backend.request, {"file": file, "sessionId": session, "state": state})
        if options.json:
            print_json({"comments": rows})
        elif not rows:
            which = "comments" if options.all else "open comments"
            print(f"snapd: there are no {which}; 'snapd comment FILE:LINE TEXT' makes one", file=sys.stderr)
        elif options.copy:
            print("\n".join(comment_lines(rows)))
        else:
            names, painter = _agents(backend), Painter(options)
            print("\n\n".join("\n".join(_described(painter, names, row)) for row in rows))
    return DONE


def _agents(backend: Backend) -> dict[str, str]:
    return {row["sessionId"]: agent_or_id(row) for row in all_sessions(backend)}


def _described(painter: Painter, names: Mapping[str, str], row: Any) -> list[str]:
    last = row["start"] + row["count"] - 1
    place = f"{printable(row['file'])}:{row['start']}" + (f"-{last}" if row["count"] > 1 else "")
    marks = [
        *(["its lines are gone"] if "outdated" in row else []),
        *(["resolved"] if row["state"] == "resolved" else []),
        *([f"for {names.get(row['sessionId'], row['sessionId'])}"] if "sessionId" in row else []),
        *([f"told {ago(moment(row['deliveredAt']), local_now())}"] if "deliveredAt" in row else []),
    ]
    head = painter.paint(f"{row['commentId'][:COMMENT_DIGITS]}  {place}", "bold")
    lines = [head + painter.paint("".join(f"  {mark}" for mark in marks), "dim")]
    lines += [painter.paint(f"  | {printable(line)}", "dim") for line in row["lines"].splitlines()]
    return lines + comment_texts(row, lambda session: names.get(session or "", "an agent"))

"""`snapd rewind`: a session goes back to before a prompt, with its files and its conversation."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from snapd.backend import ChatRewind
from snapd.cli.exit_codes import DONE, NOT_ALL
from snapd.cli.parsing.command import SESSION, Answer, Command, changing
from snapd.cli.requests.connection import ask, open_backend
from snapd.cli.requests.names import find_message, find_session
from snapd.cli.requests.operation import chat_lines, operate
from snapd.cli.terminal.output import Painter, print_json

if TYPE_CHECKING:
    import argparse
    from typing import Annotated

    from snapd.cli.parsing.usage import Parser
    from snapd.wire.session import Chat


class RewindOutcome(Answer, base="RevertOutcome"):
    """What was done to the files, and how the conversation goes on."""

    chat: Annotated[Chat, "How the conversation goes on."]


def _arguments(parser: Parser) -> None:
    changing(parser, "what to do with files that changed after the steps (default: merge)")
    parser.argument("message", "MESSAGE", "the prompt: the beginning of its id, which 'snapd log' shows, or 'last'")
    parser.argument("--session", "S", f"only prompts of {SESSION}")
    parser.flag("--chat-only", help="leave the files as they are")
    parser.flag("--git", help="also take back what the steps did to git: branches, HEAD, the stash, what is staged")


@Command(
    "rewind",
    "choose what stays",
    _arguments,
    answer="RewindOutcome | RewindChatResult",
    example="rewind last --dry-run",
    plays=False,
)
def rewind(options: argparse.Namespace) -> int:
    """Go back to before a prompt: the files, and the conversation with the agent.

    Take the files and the conversation with the agent back to before a prompt. The conversation goes on in a new
    session; the printed command opens it. The old conversation stays as it is. --chat-only asks nothing, since no file
    changes.
    """
    with open_backend(options) as backend:
        session = None if options.session is None else find_session(backend, options.session)["sessionId"]
        message = find_message(backend, options.message, session)
        about: Any = {"sessionId": message["sessionId"], "messageId": message["messageId"]}
        chat = ChatRewind(partial(ask, backend), about)
        if not options.chat_only:
            with_git: dict[str, Any] = {"git": True} if options.git else {}
            return operate(options, backend, "session/revert", {**about, **with_git}, sure=options.yes, chat=chat)
        about["dryRun"] = options.dry_run
        answer: Any = ask(backend, "session/rewindChat", about)["chat"]
    if options.json:
        print_json({"chat": answer})
    else:
        print("\n".join(chat_lines(Painter(options), answer, planned=options.dry_run)))
    return NOT_ALL if "problem" in answer else DONE

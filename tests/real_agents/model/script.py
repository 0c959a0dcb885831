"""What a scripted model says, and when.

Which turn is answered follows from the request alone, never from a counter: the last message of the user that holds the
`opening` of a conversation picks that conversation, and the number of answers after it picks the turn. So retries, side
requests, subagents in parallel and several agents at one server cannot shift the script.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

import attrs

from .request import Json, Request

_SIDE = "ok"
"""The answer to a request that offers no tools: it wants a title, or a word of what the user is about."""


@attrs.frozen
class Call:
    """A call of a tool.

    Attributes:
        tool: its name, as the agent offers it.
        input: its arguments; a string where the tool takes free text.
    """

    tool: str
    input: dict[str, Json] | str


@attrs.frozen
class Turn:
    """One answer of the model.

    Attributes:
        text: that it says.
        calls: that it makes at once.
        lets: files that it makes first.
        after: files that have to be there before it answers.
    """

    text: str
    calls: tuple[Call, ...] = ()
    lets: tuple[Path, ...] = ()
    after: tuple[Path, ...] = ()


@attrs.frozen
class Conversation:
    """What the model answers after a message that has the opening in it, one turn after the other; then "Done."."""

    opening: str
    turns: tuple[Turn, ...]


@attrs.frozen
class Reply:
    """A turn that answers a request.

    Attributes:
        turn: what to answer.
        opening: of the conversation that it is from; empty for side requests.
        number: of the turn in it.
    """

    turn: Turn
    opening: str = ""
    number: int = 0

    def name(self, kind: str, call: int = 0) -> str:
        """A name for the answer, or for one of its calls: the same in each run, and different for each turn.

        The names of a conversation's calls are in their order.
        """
        conversation = hashlib.sha256(self.opening.encode()).hexdigest()[:12]
        return f"{kind}{conversation}t{self.number:02}x{call}"


def reply(script: tuple[Conversation, ...], request: Request) -> Reply:
    """Picks the turn that answers a request."""
    for position in reversed(range(len(request.messages))):
        message = request.messages[position]
        if message.role != "user" or not request.tools:
            continue
        for conversation in script:
            if conversation.opening in message.text:
                number = sum(later.role == "assistant" for later in request.messages[position + 1 :])
                turns = conversation.turns
                turn = turns[number] if number < len(turns) else Turn("Done.")
                return Reply(turn, conversation.opening, number)
    return Reply(Turn(_SIDE))

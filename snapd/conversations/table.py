"""The ways of all agents: which can have a conversation go on from before a prompt, and what a person types then."""

from __future__ import annotations

from collections.abc import Callable

import attrs

from snapd.wire.words import agent_title

from .branch import Branch, NoBranch, Prompt
from .claude import claude
from .codex import codex
from .gemini import gemini, qwen
from .opencode import opencode


@attrs.frozen
class Way:
    """An agent's way.

    Attributes:
        find: finds out how a conversation goes on; raises `NoBranch`.
        program: begins a new conversation.
        resume: the arguments before the id of a session to go on with.
        own: how a person does it in the agent.
    """

    find: Callable[[Prompt], Branch]
    program: str
    resume: str
    own: str


WAYS = {
    "claude": Way(claude, "claude", "--resume", "press Esc twice, or type /rewind"),
    "codex": Way(codex, "codex", "resume", "press Esc twice"),
    "opencode": Way(opencode, "opencode", "-s", "fork the session from an earlier message"),
    "gemini": Way(gemini, "gemini", "--resume", "type /rewind"),
    "qwen": Way(qwen, "qwen", "--resume", "type /restore, which takes files back, too"),
}
_OWN = {
    "copilot": "press Esc twice, or type /rewind",
    "cursor": "its 'Restore checkpoint' also takes files back",
    "cline": "its 'Restore Task Only' leaves files alone",
}
"""How a person goes back in other agents."""


_PROMPT = 60
"""How many characters of a prompt a summary has."""


def way_of(agent: str | None) -> Way:
    """Returns an agent's way; raises `NoBranch` if snapd knows none."""
    way = WAYS.get(agent or "")
    if way is None:
        name = agent_title(agent) if agent else "an agent that snapd does not know"
        own = f"; in it, {_OWN[agent]}" if agent in _OWN else ""
        raise NoBranch(f"snapd knows no way back in a conversation with {name}{own}")
    return way


def summary(kind: str | None, agent: str | None, text: str | None, drops: int) -> str:
    """Says how a conversation goes on without a prompt and what followed, in one line for people."""
    title = agent_title(agent or "")
    if kind == "new":
        return f"with {title}, starts over, since that was the first prompt"
    words = " ".join((text or "").split())
    prompt = f"“{words[:_PROMPT]}…”" if len(words) > _PROMPT else f"“{words}”" if words else "this prompt"
    others = "" if drops < 2 else " and the prompt after it" if drops == 2 else f" and the {drops - 1} prompts after it"
    return f"with {title}, goes on in a new session, without {prompt}{others}"

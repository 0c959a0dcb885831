"""Has the conversation with an agent go back with the files, and says how it goes on."""

from __future__ import annotations

import os
import shlex
from typing import TYPE_CHECKING, Any

import attrs

from snapd.cli.terminal.layout import one_line, printable
from snapd.cli.terminal.output import counted
from snapd.model.errors import SnapdError
from snapd.wire.words import agent_title

from .connection import ask

if TYPE_CHECKING:
    from snapd.backend import Backend
    from snapd.cli.terminal.output import Painter

_PROMPT = 60


@attrs.frozen
class ChatRewind:
    """The conversation of a session, which goes back to before a message; `about` are the params that name both."""

    backend: Backend
    about: dict[str, Any]

    def look(self) -> dict[str, Any]:
        """Returns how the conversation would go on."""
        return self._ask(dry_run=True)

    def carry_out(self) -> dict[str, Any]:
        """Has it go on; the files are back already, so the problem is in the answer even if the request fails."""
        try:
            return self._ask(dry_run=False)
        except SnapdError as error:
            return {"command": [], "cwd": "", "drops": [], "problem": f"the conversation stays as it is: {error}"}

    def _ask(self, *, dry_run: bool) -> dict[str, Any]:
        params: Any = {**self.about, "dryRun": dry_run}
        return dict(ask(self.backend, "session/rewindChat", params)["chat"])


def chat_lines(painter: Painter, chat: dict[str, Any], *, planned: bool) -> list[str]:
    """Returns lines about how a conversation goes on: first what, then what to type."""
    if "problem" in chat:
        return [painter.paint(f"conversation: {printable(chat['problem'])}", "yellow")]
    agent = printable(agent_title(chat["agent"]))
    text = one_line(chat.get("prompt"))
    prompt = f"{text[:_PROMPT]}…" if len(text) > _PROMPT else text
    later = len(chat["drops"]) - 1
    without = f"without {repr(prompt) if prompt else 'this prompt'}" + (
        f" and {counted(later, 'later prompt')}" if later > 0 else ""
    )
    what = "begins anew: it was the first prompt" if chat["kind"] == "new" else f"goes on in a new session, {without}"
    lines = [f"conversation: with {agent}, {what}"]
    if planned:
        return lines
    command = printable(shlex.join(chat["command"]))
    here = os.path.realpath(chat["cwd"]) == os.path.realpath(os.curdir)
    folder = "" if here else f"cd {printable(shlex.quote(chat['cwd']))} && "
    lines += ["", f"    {folder}{command}", ""]
    return [*lines, painter.paint("leave the old conversation: it does not know what was taken back", "dim")]

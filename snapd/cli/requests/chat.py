"""Has the conversation with an agent go back with the files, and says how it goes on."""

from __future__ import annotations

import os
import shlex
from typing import TYPE_CHECKING, Any

import attrs

from snapd.cli.terminal.layout import printable
from snapd.model.errors import SnapdError

from .connection import ask

if TYPE_CHECKING:
    from snapd.backend import Backend
    from snapd.cli.terminal.output import Painter


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
    line = f"conversation: {printable(chat.get('problem') or chat['summary'])}"
    if "problem" in chat:
        return [painter.paint(line, "yellow")]
    if planned:
        return [line]
    is_here = chat["cwd"] == os.path.realpath(os.curdir)
    command = printable(shlex.join(chat["command"]) if is_here else chat["line"])
    left = painter.paint("leave the old conversation: it does not know what was taken back", "dim")
    return [line, "", f"    {command}", "", left]

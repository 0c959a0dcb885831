"""Has the conversation with an agent go back with the files, and says how it goes on."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import attrs

from snapd.cli.terminal.layout import printable, shell_name
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

    def ask(self, *, dry_run: bool) -> dict[str, Any]:
        """Has it go on, or returns how it would."""
        params: Any = {**self.about, "dryRun": dry_run}
        return dict(ask(self.backend, "session/rewindChat", params)["chat"])

    def follow(self, planned: dict[str, Any], result: dict[str, Any]) -> dict[str, Any]:
        """Has it go on if the files went back; where it cannot, the answer says so even if the request fails."""
        problem = "stays as it is, because no file was changed"
        is_left = any(row["outcome"] == "conflict" for row in result["files"]) and result["before"] == result["after"]
        if result["applied"] and not is_left:
            try:
                return self.ask(dry_run=False)
            except SnapdError as error:
                problem = f"stays as it is: {error}"
        left = {key: value for key, value in planned.items() if key in ("agent", "cwd", "drops", "prompt")}
        return {**left, "command": [], "problem": planned.get("problem", problem)}


def chat_lines(painter: Painter, chat: dict[str, Any], *, planned: bool) -> list[str]:
    """Returns lines about how a conversation goes on: first what, then what to type."""
    line = f"conversation: {printable(chat.get('problem') or chat['summary'])}"
    if "problem" in chat:
        return [painter.paint(line, "yellow")]
    if planned:
        return [line]
    is_here = chat["cwd"] == os.path.realpath(os.curdir)
    command = " ".join(map(shell_name, chat["command"]))
    command = command if is_here else f"cd {shell_name(chat['cwd'])} && {command}"
    left = painter.paint("close the old conversation: it still has what was taken back", "dim")
    return [line, "", f"    {command}", "", left]

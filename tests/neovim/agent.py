"""A scripted agent: sessions, prompts, and steps that write files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.cli.steps import put

if TYPE_CHECKING:
    from snapd_client import Client


class Agent:
    """An agent at work.

    Args:
        client: its connection.
        folder: where it works.
        name: of the agent and of its session.
    """

    def __init__(self, client: Client, folder: str, name: str = "claude") -> None:
        self.client = client
        self.folder = folder
        self.name = name
        client.session_start(name, agent=name)

    def prompt(self, message: str, text: str) -> None:
        """A person asks for something."""
        params = {"sessionId": self.name, "messageId": message, "text": text}
        self.client.request("session/message", params)

    def begin(self, what: str = "", **options: Any) -> str:
        """Begins a step."""
        return self.client.step_begin(self.name, tool="Edit", description=what or None, **options)["stepId"]

    def write(self, files: dict[str, bytes | None]) -> None:
        """Writes files; None deletes one."""
        put(self.folder, files)

    def step(self, what: str, files: dict[str, bytes | None], **options: Any) -> str:
        """A step that does this to files; gives its id."""
        step = self.begin(what, **options)
        self.write(files)
        self.client.step_end(step)
        return step

"""A message loop of an agent, in which each message and each part of one can be taken back.

    python docs/examples/send_message.py [DIR]

The agent is a fake that edits files in DIR (default: a temporary directory). `send_message`, `diff`, `revert` and
`unrevert` are what a real server of an agent has.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from snapd import RevertOutcome, Session, Snapshot, Step

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable


@dataclass
class ToolCall:
    """What an agent wants done: a part of its answer."""

    part_id: str
    tool: str
    description: str
    run: Callable[[], None]


@asynccontextmanager
async def step(session: Session, **about: Any) -> AsyncIterator[Step]:
    """A step of a session as `with session.step(...)` makes it, without holding up the event loop."""
    made = session.step(**about)
    try:
        yield await asyncio.to_thread(made.begin)
    finally:
        await asyncio.to_thread(made.end)


async def send_message(session: Session, agent: Agent, message_id: str, text: str) -> AsyncIterator[str]:
    """Has the agent answer a message, and tells what each part of the answer changed."""
    # the steps that follow belong to it
    await asyncio.to_thread(session.message, message_id, text)
    async for call in agent.run(text):
        about = {"tool": call.tool, "description": call.description}
        # a snapshot before and one after: made.before, made.after
        async with step(session, part_id=call.part_id, **about) as made:
            await asyncio.to_thread(call.run)
        files = ", ".join(f"{file.file} +{file.additions} -{file.deletions}" for file in made.files)
        yield f"{message_id} {call.part_id} {call.tool}: {files}"


async def diff(session: Session, message_id: str | None = None) -> list[str]:
    """GET /session/{id}/diff: what the session, or one message of it, changed."""
    diffs = await asyncio.to_thread(session.diff, message_id)
    return [f"{diff.status} {diff.file} +{diff.additions} -{diff.deletions}" for diff in diffs]


async def revert(session: Session, message_id: str, part_id: str | None = None) -> RevertOutcome:
    """POST /session/{id}/revert: back to before a message, or a part of it; what the user did since stays."""
    return await asyncio.to_thread(session.revert, message_id, part_id)


async def unrevert(session: Session) -> None:
    """POST /session/{id}/unrevert."""
    await asyncio.to_thread(session.unrevert)


class Agent:
    """A fake one, which knows what to do about two messages."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    async def run(self, text: str) -> AsyncIterator[ToolCall]:
        """What it wants done, one thing after the other."""
        if text == "Say hello":
            yield ToolCall("part_1", "write", "a greeting", lambda: self.write("hello.py", 'print("hello")\n'))
            yield ToolCall("part_2", "write", "a test of it", lambda: self.write("test_hello.py", "import hello\n"))
        elif text == "More politely, and no tests":
            yield ToolCall("part_1", "edit", "be polite", self._be_polite)
            yield ToolCall("part_2", "shell", "rm test_hello.py", lambda: os.remove(self._at("test_hello.py")))

    def write(self, name: str, text: str) -> None:
        """Writes a file."""
        with open(self._at(name), "w", encoding="utf-8") as file:
            file.write(text)

    def read(self, name: str) -> str:
        """The text of a file."""
        with open(self._at(name), encoding="utf-8") as file:
            return file.read()

    def _be_polite(self) -> None:
        self.write("hello.py", self.read("hello.py").replace('"hello"', '"good morning"'))

    def _at(self, name: str) -> str:
        return os.path.join(self._folder, name)


async def converse(folder: str) -> None:
    """Two messages, what they changed, and back and forth."""
    agent = Agent(folder)
    # whatever goes wrong with snapshots is logged, and the agent goes on
    with Snapshot(folder, errors="degrade") as snapshots, snapshots.session(agent="fake") as session:
        async for line in send_message(session, agent, "msg_1", "Say hello"):
            print(line)
        agent.write("hello.py", "# the user's own line\n\n\n" + agent.read("hello.py"))
        async for line in send_message(session, agent, "msg_2", "More politely, and no tests"):
            print(line)
        print("msg_2 changed:", "; ".join(await diff(session, "msg_2")))

        info = await revert(session, "msg_2")
        print(f"back before {info.message_id}, which changed it so:")
        print(info.diff, end="")
        print("files:", ", ".join(sorted(os.listdir(folder))))

        await unrevert(session)
        print("and forth again:", agent.read("hello.py").splitlines()[-1])

        await revert(session, "msg_1", "part_2")
        print("before part_2 of msg_1:", ", ".join(sorted(os.listdir(folder))))
        print(agent.read("hello.py"), end="")


def main() -> None:
    """Runs in the folder that is named, else in a new one."""
    if len(sys.argv) > 1:
        asyncio.run(converse(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as folder:
            asyncio.run(converse(folder))


if __name__ == "__main__":
    main()

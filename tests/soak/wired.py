"""Agents that report through `snapd hook`. They change directory, use links, are interrupted, killed, and run git.

All happens one after the other, so the model is small. Each call writes a file of its own, and whatever the user writes
is a file that no call has. So after any undo: a call's file is there if and only if its step is applied, and nothing of
the user's is ever missing or said to be somebody else's.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

import attrs

from tests.support.git import run_git
from tests.support.published import until_all_published

from .client import Client, Refused, Tape
from .daemon import Daemon
from .problems import holds

_ACTIONS = 60
_HOOK_SECONDS = "60"
_PATIENCE = 60.0
_INTERRUPTED = "[Request interrupted by user for tool use]"


@attrs.define(eq=False)
class Call:
    """A call that writes: the files that it owns, and whether they are there.

    Attributes:
        ends: whether an event of the agent ended it; else the agent was interrupted or killed in it.
    """

    part: str
    files: set[str]
    ends: bool = True
    is_applied: bool = True


@attrs.define(eq=False)
class Folder:
    """A project, an agent in it, and its user.

    Attributes:
        calls: those that ended, oldest first.
        users: what the user wrote, by file.
    """

    _root: Path
    _daemon: Daemon
    _tape: Tape
    _dice: Random
    calls: list[Call] = attrs.field(factory=list)
    users: dict[str, str] = attrs.field(factory=dict)
    _written: dict[str, str] = attrs.field(factory=dict)
    _sessions: int = 1
    _prompts: int = 0
    _number: int = 0
    _claude: subprocess.Popen[bytes] = attrs.field(init=False)
    _tool: Client = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        for above in ("pkg/deep", "lib"):
            (self._root / above).mkdir(parents=True)
        (self._root / "pkg" / "linked").symlink_to("../lib")
        for name in ("top.txt", "pkg/a.txt", "lib/b.txt"):
            (self._root / name).write_text(f"{name}\n")
        run_git(self._root, "init", "-q")
        run_git(self._root, "add", ".")
        run_git(self._root, "commit", "-q", "-m", "begun")
        self._start_agent()

    async def run(self, actions: int = _ACTIONS) -> None:
        self._tool = await Client(f"{self._root.name}-tool", self._tape).open(self._daemon.socket, [str(self._root)])
        try:
            await self._tool.ask("snapshot/track", {})
            await self._prompt()
            for _ in range(actions):
                self._tape.diary.check()
                action = self._dice.choice(
                    [self._edit] * 4
                    + [self._command] * 3
                    + [self._git, self._interrupted, self._killed, self._user]
                    + [self._prompt]
                    + [self._undo] * 3
                )
                self._tape.diary.note(f"{self._root.name}: {action.__name__} from {self._number}")
                await action()
                self._check_files()
            await self._check_authors()
        finally:
            self._claude.kill()
            self._claude.wait()
            self._tool.close()
        self._tape.figures.histories_of_hooks += 1

    # -- what happens

    async def _edit(self) -> None:
        """An edit, of a file that is named in one of the ways in which agents name files."""
        call, name = self._call(), self._new(self._dice.choice(["", "pkg/", "pkg/deep/", "lib/"]))
        cwd = self._dice.choice(["", "pkg", "pkg/deep", "lib"])
        path = self._root / name
        named = [str(path), self._relative(path, cwd), path.as_uri()]
        if name.startswith("lib/"):
            named.append(str(self._root / "pkg" / "linked" / path.name))
        given = {"file_path": self._dice.choice(named), "content": "x"}
        await self._event("PreToolUse", cwd, tool_name="Write", tool_input=given, tool_use_id=call)
        self._write(name, call)
        if self._dice.random() < 0.3:
            # the user saves something else meanwhile
            self._write_users()
        await self._event("PostToolUse", cwd, tool_name="Write", tool_input=given, tool_response={}, tool_use_id=call)
        self.calls.append(Call(call, {name}))

    async def _command(self) -> None:
        """A command that changes directory."""
        call, name = self._call(), self._new("pkg/")
        given = {"command": "cd pkg && make", "description": "Makes"}
        await self._event("PreToolUse", "", tool_name="Bash", tool_input=given, tool_use_id=call)
        self._write(name, call)
        end = self._dice.choice(["", "pkg", "pkg/deep", ".."])
        await self._event("PostToolUse", end, tool_name="Bash", tool_input=given, tool_response={}, tool_use_id=call)
        self.calls.append(Call(call, {name}))

    async def _git(self) -> None:
        """A command that runs git: it writes nothing of its own, so there is no step that owns a file."""
        call = self._call()
        await self._event("PreToolUse", "", tool_name="Bash", tool_input={"command": "git"}, tool_use_id=call)
        match self._dice.choice(["commit", "branch", "stash", "gc"]):
            case "commit":
                run_git(self._root, "add", ".")
                run_git(self._root, "commit", "-q", "--allow-empty", "-m", call)
            case "branch":
                run_git(self._root, "checkout", "-q", "-b", call)
            case "stash":
                run_git(self._root, "stash", "push", "-q", "-u")
                if run_git(self._root, "stash", "list"):
                    run_git(self._root, "stash", "pop", "-q")
            case _:
                run_git(self._root, "gc", "-q")
        await self._event(
            "PostToolUse", "", tool_name="Bash", tool_input={"command": "git"}, tool_response={}, tool_use_id=call
        )

    async def _interrupted(self) -> None:
        """Esc in the middle of a command: no event comes, and the transcript says so; then the user repairs."""
        call, name = self._call(), self._new("pkg/")
        await self._event("PreToolUse", "", tool_name="Bash", tool_input={"command": "make"}, tool_use_id=call)
        self._write(name, call)
        text = {"type": "text", "text": _INTERRUPTED}
        await self._tool.ask("snapshot/track", {})
        stored = self._stored()
        self._transcribe({"type": "user", "message": {"role": "user", "content": [text]}})
        await self._until_recorded(stored)
        self._write_users()
        await self._prompt()
        self.calls.append(Call(call, {name}, ends=False))

    async def _killed(self) -> None:
        """The agent's process dies in the middle of a command; the user repairs, and starts another."""
        call, name = self._call(), self._new("pkg/")
        await self._event("PreToolUse", "", tool_name="Bash", tool_input={"command": "make"}, tool_use_id=call)
        self._write(name, call)
        await self._tool.ask("snapshot/track", {})
        stored = self._stored()
        self._claude.kill()
        self._claude.wait()
        await self._until_recorded(stored)
        self._write_users()
        self._sessions += 1
        self._start_agent()
        await self._prompt()
        self.calls.append(Call(call, {name}, ends=False))

    async def _user(self) -> None:
        self._write_users()

    async def _prompt(self) -> None:
        self._prompts += 1
        await self._event("Stop", "")
        await self._event("UserPromptSubmit", self._dice.choice(["", "pkg"]), prompt="continue")

    async def _undo(self) -> None:
        """One step out of the middle, or back into it."""
        if not self.calls:
            return
        call = self._dice.choice(self.calls)
        steps = await self._steps()
        step = steps.get(call.part)
        holds(step is not None, f"the call {call.part} is no step")
        assert step is not None
        method = "session/undo" if call.is_applied else "session/redo"
        params = {"stepId": step["stepId"]}
        try:
            result = await self._tool.ask(method, {**params, "dryRun": True})
            done = await self._tool.ask(method, params)
        except Refused as error:
            # a redo is only of the last that was undone
            holds(not call.is_applied, f"{call.part}: {error}")
            return
        holds(
            result["files"] == done["files"], f"a dry run of {method} said {result['files']}, and did {done['files']}"
        )
        call.is_applied = not call.is_applied
        self._tape.figures.undos += 1

    # -- what must hold

    def _check_files(self) -> None:
        for name, text in self.users.items():
            path = self._root / name
            holds(path.is_file() and path.read_text() == text, f"{name} of the user is not as it was written")
        for call in self.calls:
            for name in call.files:
                holds((self._root / name).exists() == call.is_applied, f"{name} of {call.part}: {call.is_applied}")

    async def _check_authors(self) -> None:
        """Each call's step owns its files, and nobody but the user what the user wrote."""
        steps = await self._steps()
        owned = {part: {file["file"] for file in step.get("files", ())} for part, step in steps.items()}
        for call in self.calls:
            # a step that nobody ended shows no files yet, and one that was undone none any more
            if call.ends and call.is_applied:
                holds(owned.get(call.part) == call.files, f"{steps.get(call.part)} does not own {call.files}")
        for part, files in owned.items():
            holds(not files & self.users.keys(), f"{part} owns {files & self.users.keys()} of the user")
        self._tape.figures.authors_checked += len(owned)

    async def _steps(self) -> dict[str, dict[str, Any]]:
        """The steps by the agent's own ids of their calls."""
        steps: dict[str, dict[str, Any]] = {}
        params: dict[str, Any] = {"limit": 200}
        while True:
            page = await self._tool.ask("session/history", params)
            for entry in page["entries"]:
                if entry["kind"] == "step" and "partId" in entry["step"]:
                    steps[entry["step"]["partId"]] = entry["step"]
            if "nextCursor" not in page:
                return steps
            params["cursor"] = page["nextCursor"]

    # -- the agent

    def _stored(self) -> dict[str, tuple[int, int]]:
        """The files of the store, which change with every event."""
        until_all_published(self._daemon.data)
        found: dict[str, tuple[int, int]] = {}
        for above, _, names in os.walk(self._daemon.data):
            for path in (os.path.join(above, name) for name in names):
                # what is written now may get its name meanwhile
                with suppress(FileNotFoundError):
                    status = os.stat(path)
                    found[path] = (status.st_size, status.st_mtime_ns)
        return found

    async def _until_recorded(self, before: dict[str, tuple[int, int]]) -> None:
        """Waits as a person does who sees that the agent has stopped, until that is recorded."""
        deadline = time.monotonic() + _PATIENCE
        while self._stored() == before:
            holds(time.monotonic() < deadline, "nobody noticed that the agent had stopped")
            await asyncio.sleep(0.02)
        await self._tool.ask("snapshot/track", {})

    def _start_agent(self) -> None:
        self._claude = subprocess.Popen(["sleep", "100000"])

    def _call(self) -> str:
        self._number += 1
        return f"call-{self._root.name}-{self._number}"

    def _new(self, above: str) -> str:
        self._number += 1
        return f"{above}n{self._number}.txt"

    def _write(self, name: str, text: str) -> None:
        (self._root / name).parent.mkdir(parents=True, exist_ok=True)
        (self._root / name).write_text(f"{text}\n" * 3)
        self._tape.figures.steps += 1

    def _write_users(self) -> None:
        name = self._new(self._dice.choice(["", "pkg/", "lib/"]))
        self.users[name] = f"by the user {self._number}\n"
        (self._root / name).parent.mkdir(parents=True, exist_ok=True)
        (self._root / name).write_text(self.users[name])

    def _directory(self, name: str) -> str:
        return os.path.normpath(self._root / name)

    def _relative(self, path: Path, directory: str) -> str:
        return os.path.relpath(path, self._directory(directory))

    @property
    def _transcript(self) -> Path:
        return self._root.parent / f"{self._root.name}-{self._sessions}.jsonl"

    def _transcribe(self, line: dict[str, Any]) -> None:
        with self._transcript.open("a") as file:
            file.write(json.dumps(line) + "\n")

    async def _event(self, name: str, cwd: str, **fields: Any) -> None:
        payload = {
            "hook_event_name": name,
            "session_id": f"{self._root.name}-session-{self._sessions}",
            "transcript_path": str(self._transcript),
            "prompt_id": f"prompt-{self._prompts}",
            "cwd": self._directory(cwd),
            **fields,
        }
        self._transcript.touch()
        environment = {
            **self._daemon.environment,
            "CLAUDE_PID": str(self._claude.pid),
            "SNAPD_HOOK_SECONDS": _HOOK_SECONDS,
        }
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "snapd", "hook", "claude"),
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        _, said = await process.communicate(json.dumps(payload).encode())
        holds((process.returncode, said) == (0, b""), f"the hook of {name}: {process.returncode}, {said!r}")


async def wired(folder: Path, seed: int, minutes: float, least: int, tape: Tape) -> None:
    """Goes through one folder after the other, at least some."""
    daemon = Daemon(folder, tape.figures)
    begun = time.monotonic()
    try:
        await daemon.start()
        number = 0
        while number < least or time.monotonic() - begun < minutes * 60:
            await Folder(folder / f"wired{number}", daemon, tape, Random(f"{seed}/wired{number}")).run()
            number += 1
        await daemon.stop()
        daemon.check_log()
    finally:
        await daemon.abandon()

"""Codex's app-server: JSON lines on standard input and output, by which it forks a thread before a turn."""

from __future__ import annotations

import json
import os
import subprocess
import threading
from typing import Any

from .branch import Prompt, read_rows

_SECONDS = 30.0
"""How long it may take."""


def fork(program: str, home: str, prompt: Prompt, start: int) -> str:
    """Returns the id of a fork, which ends where the turn starts; raises `OSError`, `ValueError` or `NoBranch`."""
    process = subprocess.Popen(
        [program, "app-server"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd=home,
        env={**os.environ, "CODEX_HOME": home},
    )
    limit = threading.Timer(_SECONDS, process.kill)
    limit.start()
    try:
        client = {"clientInfo": {"name": "snapd", "version": "1"}, "capabilities": {"experimentalApi": True}}
        _ask(process, 1, "initialize", client)
        _send(process, {"method": "initialized"})
        params = {"threadId": prompt.session_id, "beforeTurnId": prompt.message_id, "excludeTurns": True}
        thread = _ask(process, 2, "thread/fork", params).get("thread")
        new, path = (thread.get("id"), thread.get("path")) if isinstance(thread, dict) else (None, None)
        if not isinstance(new, str) or not isinstance(path, str) or new == prompt.session_id:
            raise ValueError("'codex app-server' did not say which thread is new")
        # the rows up to a place in the other file are a part of it
        rows = read_rows(path)
        borrowed = rows[0].at("payload", "history_base", "end_byte_offset") if rows else None
        is_short = borrowed is None or (isinstance(borrowed, int) and borrowed <= start)
        if not rows or not is_short or any(prompt.message_id.encode() in row.line for row in rows):
            raise ValueError("the fork of 'codex app-server' still had what was to go")
        return new
    finally:
        limit.cancel()
        process.kill()
        process.communicate()


def _send(process: subprocess.Popen[bytes], message: dict[str, Any]) -> None:
    assert process.stdin is not None
    process.stdin.write(json.dumps(message).encode() + b"\n")
    process.stdin.flush()


def _ask(process: subprocess.Popen[bytes], number: int, method: str, params: dict[str, Any]) -> dict[str, Any]:
    _send(process, {"id": number, "method": method, "params": params})
    assert process.stdout is not None
    for line in process.stdout:
        message = json.loads(line)
        if isinstance(message, dict) and message.get("id") == number and "method" not in message:
            if isinstance(result := message.get("result"), dict):
                return dict(result)
            raise ValueError(f"'codex app-server' refused {method}: {message.get('error')}")
    raise ValueError(f"'codex app-server' ended before it answered {method}")

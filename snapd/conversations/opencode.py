"""OpenCode: a database, of which its own server makes forks."""

from __future__ import annotations

import base64
import json
import os
import secrets
import shutil
import sqlite3
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path
from typing import Any

from .branch import UNFORESEEN, Begun, Branch, NoBranch, Prompt, running

_SECONDS = 60.0
"""How long the server may take to start and to answer."""
_LISTENS = "listening on "


def opencode(prompt: Prompt) -> Branch:
    """Has a server of its own, without plugins, fork the session."""
    data = os.environ.get("XDG_DATA_HOME") or os.path.expanduser("~/.local/share")
    database = Path(data, "opencode", "opencode.db")
    try:
        connection = sqlite3.connect(f"{database.as_uri()}?mode=ro", uri=True)
        try:
            cwd = connection.execute("SELECT directory FROM session WHERE id = ?", (prompt.session_id,)).fetchone()
            rows = connection.execute(_USER_MESSAGES, (prompt.session_id,)).fetchall()
            texts = connection.execute(_TEXTS, (prompt.message_id, prompt.session_id)).fetchall()
        finally:
            connection.close()
    except sqlite3.Error as error:
        raise NoBranch(f"{database} cannot be read: {error}") from error
    ids = [message_id for (message_id,) in rows]
    if cwd is None or ids.count(prompt.message_id) != 1:
        raise NoBranch(f"{database} does not have this prompt")
    at = ids.index(prompt.message_id)
    program = shutil.which("opencode")
    if program is None and at > 0:
        raise NoBranch("there is no program 'opencode' on the PATH of the daemon")

    def fork() -> Begun:
        try:
            return Begun(_fork(program or "", cwd[0], prompt), "fork")
        except UNFORESEEN as error:
            raise NoBranch(f"its server did not fork it: {error}") from error

    text = "\n".join(text for (text,) in texts)
    return Branch(tuple(ids[at:]), text or None, cwd[0], None if at == 0 else fork, "fork")


_USER_MESSAGES = """
SELECT id FROM message WHERE session_id = ? AND json_extract(data, '$.role') = 'user' ORDER BY time_created, id
"""
_TEXTS = """
SELECT json_extract(data, '$.text') FROM part
WHERE message_id = ? AND session_id = ? AND json_extract(data, '$.type') = 'text'
    AND json_extract(data, '$.synthetic') IS NOT 1 ORDER BY id
"""


def _fork(program: str, directory: str, prompt: Prompt) -> str:
    password = secrets.token_urlsafe(24)
    command = [program, "serve", "--pure", "--hostname", "127.0.0.1", "--port", "0"]
    with running(command, directory, _SECONDS, OPENCODE_SERVER_PASSWORD=password) as process:
        assert process.stdout is not None
        lines = (line.decode("utf-8", "replace") for line in process.stdout)
        url = next((line.partition(_LISTENS)[2].split()[0] for line in lines if _LISTENS in line), None)
        if url is None:
            raise ValueError("'opencode serve' ended before it listened")
        session = f"{url}/session/{urllib.parse.quote(prompt.session_id, safe='')}"
        where = f"?{urllib.parse.urlencode({'directory': directory})}"
        before = [row["info"]["id"] for row in _ask(f"{session}/message{where}", password)]
        # it copies everything for an id that it does not know
        at = before.index(prompt.message_id)
        new = str(_ask(f"{session}/fork{where}", password, {"messageID": prompt.message_id})["id"])
        copied = _ask(f"{url}/session/{urllib.parse.quote(new, safe='')}/message{where}", password)
        if new == prompt.session_id or len(copied) != at:
            _ask(f"{url}/session/{urllib.parse.quote(new, safe='')}{where}", password, method="DELETE")
            raise ValueError(f"the new session has {len(copied)} messages instead of {at}")
        return new


def _ask(url: str, password: str, body: dict[str, Any] | None = None, method: str | None = None) -> Any:
    name = base64.b64encode(f"opencode:{password}".encode()).decode()
    headers = {"Authorization": f"Basic {name}", "Content-Type": "application/json"}
    data = None if body is None else json.dumps(body).encode()
    # a proxy in the environment is not for this machine
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    request = urllib.request.Request(url, data, headers, method=method)  # noqa: S310 - loopback
    with opener.open(request, timeout=_SECONDS) as response:
        return json.load(response)

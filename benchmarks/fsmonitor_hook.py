"""A git hook `fsmonitor` (version 2) that asks Watchman: prints a new token and what may have changed since the last.

    python -IS fsmonitor_hook.py SOCKET ROOT VERSION TOKEN

It imports almost nothing: `json`, `socket` and `typing` would take as long again as the start of Python.
"""

from __future__ import annotations

import sys
from _socket import AF_UNIX, socket

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def main(path: str, root: str, version: str, token: str) -> int:
    """Asks the server at this socket; fails for other versions, after which git looks at every file itself."""
    if version != "2":
        return 1
    server = socket(AF_UNIX)
    server.connect(path)
    # git's first token is a time
    if not token.startswith("c:"):
        token = "c:0:0"
        _ask(server, f'["watch", "{root}"]')
    options = f'{{"since": "{token}", "fields": ["name"], "empty_on_fresh_instance": true}}'
    answer = _ask(server, f'["query", "{root}", {options}]')
    names = ["/"] if answer["is_fresh_instance"] else answer["files"]
    output = "".join(f"{name}\0" for name in [answer["clock"], *names])
    sys.stdout.buffer.write(output.encode("utf-8", "surrogateescape"))
    return 0


def _ask(server: socket, question: str) -> Any:
    server.sendall(f"{question}\n".encode("utf-8", "surrogateescape"))
    parts = [b""]
    while not parts[-1].endswith(b"\n"):
        parts.append(server.recv(1 << 20))
    # apart from `true` and `false`, Watchman's JSON is also valid Python
    return eval(b"".join(parts).decode("utf-8", "surrogateescape"), {"true": True, "false": False})


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

"""Editors that hold text which is not saved, and one that never reads what it is told."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Callable
from random import Random
from typing import Any

import attrs
from snapd_client import to_uri

from .client import Client, initialize_params
from .edits import edited, overwrite
from .place import Place


@attrs.define(eq=False)
class Editor:
    """An editor with a few documents open."""

    _place: Place
    _name: str
    _new_client: Callable[[str], Client]
    _documents: list[str]
    _texts: dict[str, bytes] = attrs.field(factory=dict)
    client: Client = attrs.field(init=False)

    async def connect(self, daemon: str) -> None:
        """Opens what is open, with the text that it has."""
        self.client = self._new_client(self._name)
        await self.client.open(daemon, [self._place.root])
        for name, data in self._texts.items():
            self._tell_open(name, data)
        await self._settled()

    async def type(self, dice: Random) -> None:
        """Does something to one of its documents, and makes sure that the daemon knows."""
        name = dice.choice(self._documents)
        found = self._read(name)
        if found is None:
            return
        if name not in self._texts:
            self._texts[name] = found
            self._tell_open(name, found)
        elif name not in self._place.unsaved:
            # what is not changed in the editor is read again when the file changes
            self._texts[name] = found
            self._change(name, found)
        document = {"uri": to_uri(os.path.join(self._place.root, name))}
        what = dice.random()
        if what < 0.6:
            self._texts[name] = edited(self._texts[name], dice) + b"typed\n"
            self._change(name, self._texts[name])
            self._place.unsaved.add(name)
        elif what < 0.85:
            overwrite(self._place.root, name, self._texts[name])
            self.client.tell("textDocument/didSave", {"textDocument": document})
            self._place.unsaved.discard(name)
        else:
            self.client.tell("textDocument/didClose", {"textDocument": document})
            self._place.unsaved.discard(name)
            del self._texts[name]
        await self._settled()

    def _read(self, name: str) -> bytes | None:
        """A document as it is on disk, None where it is not there."""
        try:
            with open(os.path.join(self._place.root, name), "rb") as file:
                return file.read()
        except FileNotFoundError:
            return None

    def _tell_open(self, name: str, data: bytes) -> None:
        uri = to_uri(os.path.join(self._place.root, name))
        document = {"uri": uri, "languageId": "plaintext", "version": 1, "text": data.decode()}
        self.client.tell("textDocument/didOpen", {"textDocument": document})

    def _change(self, name: str, data: bytes) -> None:
        document = {"uri": to_uri(os.path.join(self._place.root, name)), "version": 2}
        self.client.tell(
            "textDocument/didChange", {"textDocument": document, "contentChanges": [{"text": data.decode()}]}
        )

    async def _settled(self) -> None:
        """What one client says comes in order: once this is answered, what was told before it is known."""
        await self.client.ask("snapshot/track", {})


class Deaf:
    """A client that never reads."""

    def __init__(self) -> None:
        self._socket: socket.socket | None = None

    def connect(self, daemon: str, folders: list[str]) -> None:
        self.close()
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self._socket.connect(daemon)
        params: dict[str, Any] = {"jsonrpc": "2.0", "id": 0, "method": "initialize"}
        body = json.dumps({**params, "params": initialize_params(folders)}).encode()
        self._socket.sendall(b"Content-Length: %d\r\n\r\n" % len(body) + body)

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None

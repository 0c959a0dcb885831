"""An editor that speaks the Agent Client Protocol with an agent, and allows whatever it is asked for."""

from __future__ import annotations

import json
import subprocess

from .model.request import Json
from .place import Failed


class Editor:
    """One conversation.

    Args:
        process: the agent, or a proxy before it, with pipes.
    """

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self._asked = 0

    def prompt(self, folder: str, text: str) -> None:
        """Begins a session, and has the agent work on a prompt until it is done.

        Raises:
            Failed: the agent refuses, ends, or stops for another reason.
        """
        # an agent that writes through the editor would need one that has files open
        capabilities = {"fs": {"readTextFile": False, "writeTextFile": False}}
        self._ask("initialize", {"protocolVersion": 1, "clientCapabilities": capabilities})
        session = self._ask("session/new", {"cwd": folder, "mcpServers": []})["sessionId"]
        said = self._ask("session/prompt", {"sessionId": session, "prompt": [{"type": "text", "text": text}]})
        if said["stopReason"] != "end_turn":
            raise Failed(f"it stopped: {said}")

    def _ask(self, method: str, params: Json) -> Json:
        self._asked += 1
        self._send({"id": self._asked, "method": method, "params": params})
        assert self._process.stdout is not None
        for line in self._process.stdout:
            message = json.loads(line)
            if "method" in message:
                if "id" in message:
                    self._send({"id": message["id"], **self._answer(message)})
            elif "error" in message:
                raise Failed(f"{method}: {message['error']}")
            else:
                return message["result"]
        raise Failed(f"it ended before it answered {method}")

    def _answer(self, message: Json) -> Json:
        if message["method"] != "session/request_permission":
            return {"error": {"code": -32601, "message": f"no {message['method']}"}}
        options = message["params"]["options"]
        chosen = next(option["optionId"] for option in options if option["kind"] == "allow_once")
        return {"result": {"outcome": {"outcome": "selected", "optionId": chosen}}}

    def _send(self, message: Json) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self._process.stdin.flush()

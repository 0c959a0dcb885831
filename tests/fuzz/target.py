"""The real daemon, asked anything, and what must hold whatever it was asked."""

from __future__ import annotations

import json
import os
import select
import shutil
import socket
from collections import Counter
from typing import TYPE_CHECKING, Any

from snapd.wire.errors import ERRORS
from snapd.wire.methods import METHODS
from tests.fuzz import model
from tests.rpc.machine import PATIENCE, Machine, Raw, framed, initialize, request, tree_of
from tests.support.places import make_folder

if TYPE_CHECKING:
    from collections.abc import Sequence

LIMIT = 64 << 20
_RPC_CODES = {-32700, -32600, -32601, -32602, -32002, -32800}
_CODES = {error.code for error in ERRORS.values()} | _RPC_CODES


class Target:
    """A daemon, a folder with some history, and how much it was told."""

    def __init__(self) -> None:
        self.machine = Machine()
        self.folder = make_folder("sz-")
        self.machine.serve_socket()
        self.raw = self.machine.raw().open(self.folder)
        self.frames = 0
        self.fill()
        self.hashes = self._work()

    def fill(self) -> None:
        """Makes the folder what it is before anything is asked."""
        (self.folder / "sub").mkdir(exist_ok=True)
        (self.folder / "a.txt").write_text("one\ntwo\nthree\n")
        (self.folder / "sub" / "b.txt").write_text("b\n")

    def _work(self) -> list[str]:
        hashes = []
        self.steps = []
        for session in ("s", "t"):
            self.raw.result("session/start", {"sessionId": session})
            for number in range(2):
                step = self.raw.result("step/begin", {"sessionId": session, "messageId": f"m{number}"})
                (self.folder / "a.txt").write_text(f"one\n{session}{number}\nthree\n")
                hashes += [step["hash"], self.raw.result("step/end", {"stepId": step["stepId"]})["to"]]
                self.steps.append(step["stepId"])
        return sorted(set(hashes))

    @property
    def pool(self) -> dict[str, list[Any]]:
        """Values of fields that mean something here."""
        return {
            "hash": [*self.hashes, "0" * 40, "abc"],
            "session_id": ["s", "t", "none", ""],
            "step_id": [*self.steps, "none"],
            "parent_step_id": [self.steps[0], "none", None],
            "message_id": ["m0", "m1", "none"],
            "workspaceUri": [self.folder.as_uri(), f"{self.folder.as_uri()}/", self.folder.as_uri()],
            "cursor": ["", "x", "W10=", "bnVsbA==", "AAAA", "\u2028", None],
            "hunks": [[0], [0, 0], [], [-1], [2**40], [1, 0]],
        }

    def reconnect(self) -> None:
        """Asks on another connection, whatever the one before has still to say."""
        self.raw.close()
        self.raw = self.machine.raw().open(self.folder)

    def close(self) -> None:
        """Ends the daemon, in which there must have been no defect."""
        self.machine.finish()
        shutil.rmtree(os.fsencode(self.folder))

    def ask(self, method: str, params: Any) -> dict[str, Any]:
        """Asks for anything, and judges the one answer."""
        self.frames += 1
        body = json.dumps({"jsonrpc": "2.0", "id": self.frames, "method": method, "params": params}).encode()
        valid = model.fits_method(method, {} if params is None else params)
        before = None if valid else tree_of(self.folder)
        self.raw.send(framed(body))
        answer = self.raw.answer(self.frames)
        self.raw.others.clear()
        if "error" in answer:
            judge_error(answer["error"])
            kind = answer["error"]["data"]["kind"]
            assert kind in METHODS[method].errors, (method, params, answer)
        if not valid:
            assert "error" in answer, (method, params, answer)
            assert answer["error"]["code"] == -32602, (method, params, answer)
            assert tree_of(self.folder) == before, (method, params)
        return answer

    def tell(self, method: str, params: Any) -> None:
        """Says anything that is not to be answered: the next answer is that of the next request."""
        self.frames += 1
        self.raw.send(framed(json.dumps({"jsonrpc": "2.0", "method": method, "params": params}).encode()))
        self.raw.send(request("told", "snapshot/events", {"workspaceUri": self.folder.as_uri(), "since": 0}))
        answer = self.raw.answer("told")
        assert "result" in answer or answer["error"]["data"]["kind"] == "workspaceNotOpen", answer
        self.raw.others.clear()

    def stream(self, data: bytes, pieces: Sequence[bytes]) -> None:
        """Says anything on a connection of its own, in pieces, and judges all that comes back until it is closed."""
        bodies, end = model.frames(data, LIMIT)
        expected: Counter[Any] = Counter()
        unclear = 0
        for body in bodies:
            if model.is_exit(body):
                end = model.END
                break
            try:
                under = model.answered_under(body)
            except model.Unclear:
                unclear += 1
                continue
            if under is not ...:
                expected[_key(under)] += 1
        expected[_key(None)] += end == model.ERROR
        self.frames += len(bodies)
        before = tree_of(self.folder)
        answers = self._exchange(pieces)
        found = Counter(_key(answer["id"]) for answer in answers)
        missing, extra = expected - found, found - expected
        assert missing.total() == 0, (data[:400], missing, extra)
        assert extra.total() <= unclear, (data[:400], missing, extra)
        for answer in answers:
            if "error" in answer:
                judge_error(answer["error"])
        assert tree_of(self.folder) == before

    def _exchange(self, pieces: Sequence[bytes]) -> list[dict[str, Any]]:
        """What a stream is answered with, `initialize` before it left out."""
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(str(self.machine.socket))
            raw = Raw(connection.fileno(), connection.fileno())
            raw.send(initialize(self.folder, message_id="the first"))
            raw.answer("the first")
            try:
                for piece in pieces:
                    raw.send(piece)
                connection.shutdown(socket.SHUT_WR)
            except OSError:
                # it was closed on the way, as it should be where the stream cannot be read on
                pass
            answers = []
            while (message := _read(raw)) is not None:
                if "method" not in message:
                    answers.append(message)
            return answers


def _read(raw: Raw) -> dict[str, Any] | None:
    poll = select.poll()
    poll.register(raw.read_fd, select.POLLIN)
    if not raw.buffer:
        assert poll.poll(PATIENCE * 1000), "neither an answer nor the end"
    return raw.read()


def judge_error(error: dict[str, Any]) -> None:
    """What holds for every error: a code of the table, one line, nothing of the inside."""
    assert error["code"] in _CODES, error
    assert isinstance(error["message"], str)
    assert "Traceback" not in json.dumps(error)
    assert 'File "' not in json.dumps(error)


def _key(message_id: Any) -> str:
    return json.dumps(message_id)

"""The first lines of `docs/protocol.md` are what goes over the wire, byte for byte."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .machine import Machine

PAGE = (Path(__file__).parents[2] / "docs" / "protocol.md").read_text("utf-8")
FOLDER = "/home/you/project"
_FRAME = re.compile(rb"Content-Length: (\d+)\r\n\r\n")


def test_they_are_said_and_answered(machine: Machine, tmp_path: Path) -> None:
    block = PAGE.partition("\n## In ten lines\n")[2].partition("```text\n")[2].partition("```")[0]
    lines = [line.replace(r"\r\n", "\r\n") for line in block.splitlines()]
    assert [line[0] for line in lines] == ["→", "←"] * 5
    (tmp_path / "a.txt").write_text("hello\n")
    with machine.start("serve", "--stdio", stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0) as daemon:
        assert daemon.stdin is not None
        for said, answer in zip(lines[::2], lines[1::2], strict=True):
            daemon.stdin.write(_here(said[2:].encode(), tmp_path))
            assert _pattern(answer[2:]).fullmatch(_answer(daemon)), answer
            if "snapshot/track" in said:
                (tmp_path / "a.txt").write_text("hello, agent\n")
            if "snapshot/restore" in said:
                assert (tmp_path / "a.txt").read_text() == "hello\n"
            if "session/undo" in said:
                assert (tmp_path / "a.txt").read_text() == "hello, agent\n"
        daemon.stdin.close()


def _here(frame: bytes, folder: Path) -> bytes:
    """A frame, which has to be right as it stands, with the name of this folder in it."""
    length, body = _split(frame)
    assert length == len(body)
    body = body.replace(FOLDER.encode(), str(folder).encode())
    return b"Content-Length: %d\r\n\r\n" % len(body) + body


def _split(frame: bytes) -> tuple[int, bytes]:
    header = _FRAME.match(frame)
    assert header, frame
    return int(header[1]), frame[header.end() :]


def _pattern(shown: str) -> re.Pattern[bytes]:
    return re.compile(re.escape(shown).replace("…", ".+").encode(), re.DOTALL)


def _answer(daemon: subprocess.Popen[bytes]) -> bytes:
    """The next frame that is no notification, as it came."""
    assert daemon.stdout is not None
    while True:
        frame = b""
        while not frame.endswith(b"\r\n\r\n"):
            byte = daemon.stdout.read(1)
            assert byte, frame
            frame += byte
        length, _ = _split(frame)
        body = b""
        while len(body) < length:
            body += daemon.stdout.read(length - len(body))
        if not body.startswith(b'{"jsonrpc":"2.0","method":'):
            return frame + body

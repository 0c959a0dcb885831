"""How events come in: whatever marks and encodings are around them, however long they are, and where no end comes."""

from __future__ import annotations

import json
import os
import resource
from pathlib import Path
from typing import Any

import pytest

from snapd.hook import json_text
from snapd.hook.event import NotAnEvent
from snapd.hook.log import log
from tests.cli.running import Home

EVENT = {"hook_event_name": "PreToolUse", "tool_input": {"file_path": "ä}.py", "content": 'a\\"}'}}
PLAIN = json.dumps(EVENT, ensure_ascii=False).encode()


def read(monkeypatch: pytest.MonkeyPatch, *chunks: bytes, ends: bool = True) -> dict[str, Any]:
    """What comes of chunks that are read one by one; without an end, another read would block."""
    waiting = [*chunks, b""] if ends else list(chunks)
    monkeypatch.setattr(json_text.os, "read", lambda *_: waiting.pop(0))
    found = json_text.read_event()
    monkeypatch.undo()
    return found


@pytest.mark.parametrize(
    "data",
    [
        PLAIN,
        b"\xef\xbb\xbf" + PLAIN,
        b"\xef\xbb\xbf" * 2 + PLAIN,
        PLAIN + b"\r\n",
        PLAIN + b"\0",
        b" \n" + PLAIN,
        PLAIN.decode().encode("utf-16"),
        PLAIN.decode().encode("utf-16-le"),
        PLAIN.decode().encode("utf-16-be"),
        PLAIN.decode().encode("utf-32"),
    ],
)
@pytest.mark.parametrize("size", [3, 40, 1 << 20])
def test_what_is_around_an_event(monkeypatch: pytest.MonkeyPatch, data: bytes, size: int) -> None:
    chunks = [data[at : at + size] for at in range(0, len(data), size)]
    assert read(monkeypatch, *chunks) == EVENT
    # and as soon as it is complete
    assert read(monkeypatch, *chunks, ends=False) == EVENT


@pytest.mark.parametrize("size", [1000, 65536, 1 << 20])
@pytest.mark.parametrize("ends", [True, False])
def test_a_long_text_is_cut_and_the_rest_is_there(monkeypatch: pytest.MonkeyPatch, size: int, ends: bool) -> None:
    monkeypatch.setattr(json_text, "LONGEST", 5000)
    for text in ('"\\' * 20_000, "é}{" * 10_000, "\u2028" * 9000, "a" * 5001):
        for ascii_only in (True, False):
            event = {"a": {"b": [text, "x" * 5000]}, "tool_input": {"file_path": "a.py"}, "n": [1.5, None]}
            data = json.dumps(event, ensure_ascii=ascii_only).encode()
            chunks = [data[at : at + size] for at in range(0, len(data), size)]
            with monkeypatch.context() as patched:
                found = read(patched, *chunks, ends=ends)
            monkeypatch.setattr(json_text, "LONGEST", 5000)
            cut, whole = found["a"].pop("b")
            # half of a character may be left
            assert text.startswith(cut.rstrip("\ufffd"))
            assert 800 < len(cut) <= 5000
            assert whole == "x" * 5000
            assert found == {"a": {}, "tool_input": {"file_path": "a.py"}, "n": [1.5, None]}


def test_64_mib_cost_little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    begin, end = b'{"tool_input": {"file_path": "a.py", "content": "', b'"}, "session_id": "S"}'
    chunks = [begin, *([b"a line of a large file\\n" * 10_000] * 280), end]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert read(monkeypatch, *chunks)["session_id"] == "S"
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 40_000


def test_an_event_without_bounds_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    chunks = [b'{"a": [', *([b'"x",' * 250_000] * 40)]
    with pytest.raises(NotAnEvent, match="more than"):
        read(monkeypatch, *chunks)
    with pytest.raises(NotAnEvent, match="not JSON"):
        read(monkeypatch, b"\xff\xfe{")
    for rest in (b"", b"\\", b"\\u12", b"\\uxxxxx" * 100):
        with pytest.raises(NotAnEvent, match="not JSON"):
            read(monkeypatch, b'{"a": "', b"x" * (1 << 20), rest)


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "run").mkdir(mode=0o700)
    return {"SNAPD_RUNTIME_DIR": str(tmp_path / "run")}


def test_the_log_is_not_written_where_others_could_have_put_it(home: dict[str, str], tmp_path: Path) -> None:
    run, file = tmp_path / "run", tmp_path / "run" / "hook.log"
    log(home, "first")
    assert file.read_text().endswith(" first\n")
    run.chmod(0o777)
    log(home, "in a directory of all")
    run.chmod(0o700)
    os.link(file, tmp_path / "other")
    log(home, "a hard link")
    (tmp_path / "other").unlink()
    file.chmod(0o666)
    log(home, "a file of all")
    assert file.read_text().count("\n") == 1
    file.rename(tmp_path / "moved")
    file.symlink_to(tmp_path / "moved")
    log(home, "a symlink")
    file.unlink()
    os.mkfifo(file, 0o600)
    # with a reader and without
    log(home, "a FIFO")
    reader = os.open(file, os.O_RDONLY | os.O_NONBLOCK)
    log(home, "a FIFO that somebody reads")
    assert os.read(reader, 10) == b""
    os.close(reader)
    assert (tmp_path / "moved").read_text().count("\n") == 1


def test_a_hook_in_a_directory_of_others_ends_well(tmp_path: Path) -> None:
    own = Home()
    try:
        os.makedirs(own.at("run"))
        os.chmod(own.at("run"), 0o777)
        os.mkfifo(own.at("run/hook.log"))
        event = {"hook_event_name": "UserPromptSubmit", "session_id": "S", "cwd": str(tmp_path), "prompt": "go"}
        done = own.run_process(str(tmp_path), "hook", "claude", stdin=json.dumps(event).encode())
        assert (done.code, done.err) == (0, "")
        assert "can be written to by others" in done.json["hookSpecificOutput"]["additionalContext"]
        assert len(os.listdir(own.at("data/snapd/agents/spool"))) == 1
    finally:
        os.unlink(own.at("run/hook.log"))
        own.close()

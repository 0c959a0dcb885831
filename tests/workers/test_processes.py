"""Processes of snapd's own: what they find, what they are given, and that nothing is left of them."""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path

import pytest

from snapd.workers.processes import ChildProcess, can_start


def said(child: ChildProcess) -> bytes:
    """All that it writes until it ends."""
    pieces = []
    while piece := os.read(child.output, 1 << 16):
        pieces.append(piece)
    return b"".join(pieces)


@pytest.fixture
def child_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A module that a process finds because this one does."""
    places = tmp_path / "places"
    places.mkdir()
    monkeypatch.syspath_prepend(str(places))
    return places / "what_it_does.py"


SAYS = """
import json, os, sys
def main(argument):
    import pygit2, snapd.model.errors
    sys.stderr.write("complains")
    print(json.dumps([argument, os.getcwd(), sys.path, os.getsid(0) == os.getpid(), snapd.__file__]))
"""


def test_it_finds_what_this_one_finds(
    child_module: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    child_module.write_text(SAYS, encoding="ascii")
    trap = tmp_path / "trap"
    trap.mkdir()
    for name in ("json.py", "encodings.py", "importlib.py"):
        (trap / name).write_text("raise SystemExit(9)", encoding="ascii")
    monkeypatch.chdir(trap)
    monkeypatch.setenv("PYTHONPATH", str(trap))
    monkeypatch.setenv("PYTHONSTARTUP", str(trap / "json.py"))
    monkeypatch.setattr(sys, "path", ["", *sys.path])
    for is_quiet in (False, True):
        child = ChildProcess("what_it_does", "an argument", is_quiet=is_quiet)
        argument, cwd, path, leads, package = json.loads(said(child))
        assert (argument, cwd, leads) == ("an argument", "/", True)
        assert package == sys.modules["snapd"].__file__
        assert path[1:] == [place for place in sys.path if os.path.isabs(place)]
        assert child.wait() == 0
        assert child.end() == 0
        assert capfd.readouterr().err == ("" if is_quiet else "complains")


def test_it_has_the_descriptors_that_are_shared_and_no_others(child_module: Path) -> None:
    child_module.write_text(
        "import os\n"
        "def main(numbers):\n"
        "    for number in map(int, numbers.split()):\n"
        "        try: print(os.read(number, 9).decode())\n"
        "        except OSError as error: print(error.errno)\n",
        encoding="ascii",
    )
    pipes = [os.pipe() for _ in range(2)]
    for _, write in pipes:
        os.write(write, b"data")
        os.set_inheritable(write, True)
    shared, kept = (read for read, _ in pipes)
    os.set_inheritable(kept, True)
    child = ChildProcess("what_it_does", f"{shared} {kept}", share=(shared,))
    assert said(child).split() == [b"data", b"9"]
    child.end()
    for pair in pipes:
        for descriptor in pair:
            os.close(descriptor)


def test_nothing_is_left_of_one_that_is_ended(child_module: Path) -> None:
    child_module.write_text(
        "import os\ndef main(_):\n    os.write(1, os.read(0, 9)); os.read(0, 9)\n", encoding="ascii"
    )
    before = set(os.listdir("/proc/self/fd"))
    child = ChildProcess("what_it_does")
    os.write(child.input, b"question")
    assert os.read(child.output, 9) == b"question"
    assert child.end() == -signal.SIGKILL
    with pytest.raises(ProcessLookupError):
        os.kill(child.pid, 0)
    assert set(os.listdir("/proc/self/fd")) == before
    # whoever is late harms nobody that has its number by now
    child.kill()


def test_where_none_can_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    assert can_start()
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    with pytest.raises(FileNotFoundError):
        ChildProcess("snapd.store.maintenance.repack")
    monkeypatch.setattr(sys, "executable", "")
    assert not can_start()
    monkeypatch.undo()
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    assert not can_start()
    # it would be the whole program once more
    with pytest.raises(OSError, match="not a plain interpreter"):
        ChildProcess("snapd.store.maintenance.repack")

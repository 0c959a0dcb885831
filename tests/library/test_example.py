"""The example of a message loop in the documents does what it says."""

from __future__ import annotations

import asyncio
import importlib.util
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.library.others import WAIT

if TYPE_CHECKING:
    from snapd import Snapshot
    from tests.cli.running import Home

EXAMPLE = Path(__file__).parents[2] / "docs" / "examples" / "send_message.py"


def test_it_tells_what_it_does(home: Home, tmp_path: Path) -> None:
    folder = tmp_path / "chat"
    folder.mkdir()
    done = subprocess.run(
        [sys.executable, str(EXAMPLE), str(folder)],
        env=home.env,
        capture_output=True,
        text=True,
        check=False,
        timeout=WAIT,
    )
    assert (done.returncode, done.stderr) == (0, "")
    head, _, rest = done.stdout.partition("back before msg_2")
    assert head.splitlines() == [
        "msg_1 part_1 write: hello.py +1 -0",
        "msg_1 part_2 write: test_hello.py +1 -0",
        "msg_2 part_1 edit: hello.py +1 -1",
        "msg_2 part_2 shell: test_hello.py +0 -1",
        "msg_2 changed: modified hello.py +1 -1; deleted test_hello.py +0 -1",
    ]
    assert '\n-print("good morning")\n+print("hello")\n' in rest
    assert rest.splitlines()[-7:] == [
        "files: hello.py, test_hello.py",
        'and forth again: print("good morning")',
        "before part_2 of msg_1: hello.py",
        "# the user's own line",
        "",
        "",
        'print("hello")',
    ]
    # the user's own line was there all the time
    assert (folder / "hello.py").read_text() == "# the user's own line\n\n\n" + 'print("hello")\n'


async def test_a_step_that_is_cancelled_has_ended(
    snap: Snapshot, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = importlib.util.spec_from_file_location("send_message", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    example = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "send_message", example)
    spec.loader.exec_module(example)
    session = await asyncio.to_thread(snap.session)
    inside = asyncio.Event()

    async def work() -> None:
        async with example.step(session, tool="shell"):
            (project / "half").write_text("h\n")
            inside.set()
            await asyncio.Event().wait()

    task = asyncio.create_task(work())
    await inside.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    (info,) = await asyncio.to_thread(session.steps)
    assert (info.state, [file.file for file in info.files or []]) == ("applied", ["half"])

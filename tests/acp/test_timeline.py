"""Captured conversations once more, while files really change: whose each change is."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pytest

from tests.acp.ledger import Talk
from tests.acp.model import parts
from tests.acp.real import OwnDaemon
from tests.acp.streams import NAMES, captured


@pytest.mark.parametrize("name", NAMES)
def test_each_call_owns_what_it_wrote(tmp_path: Path, name: str) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "calc.py").write_text("def add(a, b):\n    return a + b\n")
    lines = captured(name, str(project))
    calls = parts(lines)
    daemon = OwnDaemon(tmp_path)
    talk = Talk(daemon)
    wrote: dict[str, set[str]] = defaultdict(set)
    around = {part.within for part in calls.values()}
    for at, line in enumerate(lines):
        for call, part in calls.items():
            if at == part.ends and call not in around:
                # just before it is told that the call is over
                files = {Path(file).name for file in part.files} if part.files else {f"{call}.made"}
                for file in files:
                    (project / file).write_text(f"by {call}\n")
                wrote[call] |= files
                for other, beside in calls.items():
                    # of calls that are at work at once, those that name no files share what nobody names
                    if (
                        other not in (call, *around)
                        and beside.begins < at < beside.ends
                        and not (part.files or beside.files)
                    ):
                        wrote[other] |= files
        if b'"session/prompt"' in line.data:
            talk.say(line)
            (project / "between.txt").write_text("by the agent, in no call\n")
            continue
        talk.say(line)
    with_parts = {
        above: set.union(*(wrote[call] for call, part in calls.items() if part.within == above))
        for above in around
        if above
    }
    backend = daemon.open(str(project))
    session = next(
        line.message["result"]["sessionId"] for line in lines if "sessionId" in line.message.get("result", {})
    )
    steps = backend.request("session/steps", {"sessionId": session})["steps"]
    found = {step.get("partId", ""): {row["file"] for row in step["files"]} for step in steps}
    expected = {call: wrote[call] for call in calls} | with_parts
    assert found == {**expected, "": {"between.txt", *set().union(*expected.values())}}
    # all of it goes with the prompt
    (message,) = {step["messageId"] for step in steps}
    backend.request("session/undo", {"sessionId": session, "messageId": message})
    assert {path.name: path.read_text() for path in project.iterdir()} == {
        "calc.py": "def add(a, b):\n    return a + b\n"
    }
    talk.close()
    backend.close()

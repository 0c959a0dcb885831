"""What the skill and the commands of the plugin tell agents to type, typed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from .machine import ROOT, Machine

PLUGIN = ROOT / "clients/claude-code"
_BLOCK = re.compile(r"^ *```sh\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
_INLINE = re.compile(r"`(snapd [^`]*--[^`]*)`")


def commands(path: Path) -> list[str]:
    """The commands that a text tells to run, without comments: those in blocks, else those in its lines."""
    text = path.read_text("utf-8")
    lines = [line.strip() for block in _BLOCK.findall(text) for line in block.splitlines()] or _INLINE.findall(text)
    return [line.partition("  #")[0].strip() for line in lines]


@pytest.mark.parametrize("name", ["skills/snapd/SKILL.md", "commands/steps.md", "commands/undo-step.md"])
def test_its_commands_do_what_it_says(machine: Machine, name: str) -> None:
    file = machine.project / "a.txt"
    file.write_text("one\n")
    checkpoint = machine.snapd("track").strip()
    step = machine.snapd("step", "begin", "--session", "s1", "--agent", "claude", "--tool", "Edit").strip()
    file.write_text("one\ntwo\n")
    (machine.project / "b.txt").write_text("b\n")
    machine.snapd("step", "end", step)
    stated = {"STEP": step[:8], "HASH": checkpoint, "FILE": "a.txt"}
    told = commands(PLUGIN / name)
    assert told
    for line in told:
        words = re.sub("|".join(stated), lambda match: stated[match[0]], line).split()
        before = {path.name: path.read_text() for path in machine.project.iterdir()}
        said = machine.snapd(*words[1:])
        after = {path.name: path.read_text() for path in machine.project.iterdir()}
        if words[1] in ("undo", "redo") and "--dry-run" not in words:
            assert after != before, line
        else:
            assert after == before, line
            assert said, line
        if words[1:3] == ["undo", step[:8]] and words[3] == "--yes":
            assert after == {"a.txt": "one\n"}, line

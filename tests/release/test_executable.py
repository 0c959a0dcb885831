"""The one file for Linux, where there is no Python."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import urllib.request

from .machine import ROOT, Machine


def test_python_is_not_there(machine: Machine) -> None:
    machine.run("sh", "-c", f"command -v python3 || ls {ROOT}/snapd || ls {sys.base_prefix}/bin", code=2)
    assert subprocess.run(["ls", f"{sys.base_prefix}/bin"], capture_output=True, check=False).returncode == 0


def test_a_step_of_an_agent_is_undone(machine: Machine) -> None:
    """From the file to the first undone step: install, the agent at work, undo."""
    (machine.home / ".claude").mkdir()
    (machine.project / "a.txt").write_text("before\n")
    assert "next: " in machine.snapd("agent", "install", "claude")
    settings = json.loads((machine.home / ".claude" / "settings.json").read_text())
    hook = settings["hooks"]["PreToolUse"][0]["hooks"][0]["command"]
    link = machine.home / ".local/share/snapd/program/snapd"
    assert f"exec {link} hook" in hook, "the hooks name a path that a new version keeps"
    event = {"session_id": "s", "tool_name": "Bash", "tool_use_id": "t", "tool_input": {"command": "x"}}
    event |= {"cwd": str(machine.project)}
    machine.run("sh", "-c", hook, stdin=json.dumps({**event, "hook_event_name": "PreToolUse"}))
    (machine.project / "a.txt").write_text("after\n")
    machine.run("sh", "-c", hook, stdin=json.dumps({**event, "hook_event_name": "PostToolUse"}))
    machine.snapd("undo", "-y")
    assert (machine.project / "a.txt").read_text() == "before\n"


def test_snapshots_come_back_and_worker_processes_start(machine: Machine) -> None:
    for number in range(1500):
        (machine.project / f"{number}.txt").write_text(f"{number}\n")
    first = machine.snapd("track").strip()
    for number in range(1500):
        (machine.project / f"{number}.txt").write_text("other\n")
    assert machine.snapd("diff", first).count("\n+other\n") == 1500
    machine.snapd("restore", first, "-y")
    assert (machine.project / "7.txt").read_text() == "7\n"
    machine.snapd("gc")
    machine.snapd("fsck")


def test_the_page_is_served(machine: Machine) -> None:
    (machine.project / "a.txt").write_text("a\n")
    command = machine.command(str(machine.file), "web", "--port", "0", "--json", network=True)
    with subprocess.Popen(command, cwd=machine.project, env=machine.env, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            told = json.loads(server.stdout.readline())
            with urllib.request.urlopen(told["url"].partition("#")[0], timeout=60) as page:
                assert b"<html" in page.read()
        finally:
            server.terminate()


def test_nothing_is_left_but_the_file(machine: Machine) -> None:
    machine.snapd("track")
    machine.snapd("agent", "install", "claude", "opencode")
    said = machine.snapd("uninstall", "-y")
    assert f"left: the program {machine.file}; this removes it: rm {machine.file}" in said
    assert list(machine.home.rglob("*")) == [machine.file]


def test_it_is_told_apart_from_what_it_unpacked(machine: Machine) -> None:
    machine.snapd("--version")
    link = machine.home / ".local/share/snapd/program/snapd"
    assert f"this removes it: rm {machine.file}" in machine.run(str(link), "uninstall", "-y")


def test_the_two_versions_before_this_one_stay(machine: Machine) -> None:
    programs = machine.home / ".local/share/snapd/program"
    for age in range(1, 6):
        old = programs / f"0.0.{9 - age}-abcdef12345{age}"
        old.mkdir(parents=True)
        os.utime(old, (1_000_000_000 - age, 1_000_000_000 - age))
    (programs / "0.0.1-abcdef123456.77").mkdir()
    machine.snapd("--version")
    kept = {each.name for each in programs.iterdir()}
    assert {"snapd", "0.0.8-abcdef123451", "0.0.7-abcdef123452", "0.0.1-abcdef123456.77"} < kept
    assert len(kept) == 5, "the fifth is the new one; another process may be at work in the one with a number"


def test_a_full_disk_is_named_and_nothing_is_left(machine: Machine) -> None:
    place = machine.home / "full"
    place.mkdir()
    full = f"/bin/mount -t tmpfs -o size=1m none {place}; XDG_DATA_HOME={place} exec {machine.file} --version"
    command = machine.command("sh", "-c", full)
    done = subprocess.run(command, env=machine.env, capture_output=True, text=True, check=False)
    assert done.stdout == ""
    assert "snapd: cannot unpack the program" in done.stderr
    assert "hint: make room there" in done.stderr


def test_the_file_is_for_all(machine: Machine) -> None:
    mode = stat.S_IMODE(os.stat(machine.file).st_mode)
    assert mode == 0o755

"""Steps that nobody ended: they are shown with their age, and can be ended."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from snapd_client import Client, to_uri

from snapd.sharing.sessions import SHORTEST
from tests.cli.steps import put

if TYPE_CHECKING:
    from tests.cli.running import Home


def begun(home: Home, project: str, *args: str) -> str:
    return home.ok(project, "step", "begin", *args).strip()


def test_they_are_shown_with_their_age(home: Home, project: str) -> None:
    step = begun(home, project, "--session", "s1", "--agent", "claude", "--tool", "Edit")
    status = home.ok(project, "status")
    assert re.search(rf"^open +{step[:SHORTEST]} Claude Code Edit for \d+ seconds?$", status, re.MULTILINE)
    assert "snapd step end --all" in status
    assert re.search(r"Edit +open for \d+ seconds?", home.ok(project, "log"))
    (shown,) = json.loads(home.ok(project, "status", "--json"))["openSteps"]
    assert (shown["stepId"], shown["sessionId"], shown["agent"], shown["tool"]) == (step, "s1", "claude", "Edit")


def test_files_that_a_step_names_in_vain(home: Home, project: str) -> None:
    put(project, {".gitignore": b"*.log\n"})
    step = begun(home, project, "--session", "s1")
    put(project, {"x.log": b"1\n", "a": b"a\n", "b": b"b\n", "c": b"c\n", "d": b"d\n"})
    for _ in range(2):
        done = home.run(project, "step", "end", step, "--file", "x.log", "--file", "misspelt")
        assert done.err.splitlines() == [
            "snapd: x.log is ignored: no snapshot has it",
            "snapd: no named file changed, but a, b, c and others did: the step does not own that",
        ]
    step = begun(home, project, "--session", "s1")
    put(project, {"a": b"2\n", "b": b"2\n"})
    assert home.run(project, "step", "end", step, "--file", "a").err == ""


def test_they_are_ended_at_once(home: Home, project: str) -> None:
    outer = begun(home, project, "--session", "s1")
    inner = begun(home, project, "--session", "s1", "--parent", outer)
    other = begun(home, project, "--session", "s2")
    put(project, {"new.txt": b"new\n"})
    ended = json.loads(home.ok(project, "step", "end", "--all", "--json"))["steps"]
    assert [step["stepId"] for step in ended] == [other, inner, outer]
    put(project, {"mine.txt": b"mine\n"})
    assert not re.search("^open", home.ok(project, "status"), re.MULTILINE)
    assert "mine.txt" not in home.ok(project, "show", outer)
    done = home.run(project, "step", "end", "--all")
    assert (done.code, done.out, done.err) == (0, b"", "snapd: no step is open\n")


def test_which_step_to_end_must_be_clear(home: Home, project: str) -> None:
    step = begun(home, project)
    for args in ([], [step, "--all"], ["--all", "--file", "README.md"]):
        done = home.run(project, "step", "end", *args)
        assert done.code == 2
        assert "hint:" in done.err
    assert json.loads(home.ok(project, "status", "--json"))["openSteps"][0]["stepId"] == step


def test_what_an_editor_saves_under_an_open_step_is_yours(home: Home, project: str) -> None:
    step = begun(home, project, "--session", "s1", "--agent", "claude")
    put(project, {"README.md": b"# read\nagent 1\n"})
    with Client.connect(home.at("run/daemon.sock")) as editor:
        editor.initialize([project])
        uri = to_uri(f"{project}/README.md")
        document = {"uri": uri, "languageId": "markdown", "version": 1, "text": "# read\nagent 1\n"}
        editor.notify("textDocument/didOpen", {"textDocument": document})
        changed = {"textDocument": {"uri": uri, "version": 2}, "contentChanges": [{"text": "you\n# read\nagent 1\n"}]}
        editor.notify("textDocument/didChange", changed)
        put(project, {"README.md": b"you\n# read\nagent 1\n"})
        editor.notify("textDocument/didSave", {"textDocument": {"uri": uri}})
        put(project, {"README.md": b"you\n# read\nagent 1\nagent 2\n"})
        editor.request("snapshot/status", {})
        home.ok(project, "step", "end", step)
    log = home.ok(project, "log")
    assert re.search(r"you\n.*M README.md  \+1 -0", log)
    assert re.search(r"Claude Code.*\n(.*\n)*.*M README.md  \+2 -0", log)
    home.ok(project, "undo", "--yes", step)
    with open(f"{project}/README.md", "rb") as file:
        assert file.read() == b"you\n# read\n"


def test_a_run_that_changed_nothing_is_no_session_to_look_at(home: Home, project: str) -> None:
    assert home.run(project, "run", "--agent", "empty", "--", "true").code == 0
    assert home.run(project, "sessions").err == "snapd: no session has changed anything in this folder yet\n"
    assert home.run(project, "run", "--agent", "busy", "--", "sh", "-c", "echo more >> README.md").code == 0
    shown = home.ok(project, "sessions")
    assert ("busy" in shown, "empty" in shown) == (True, False)
    assert len(json.loads(home.ok(project, "sessions", "--json"))["sessions"]) == 2


def test_the_folder_is_shown_as_a_path(home: Home, project: str) -> None:
    assert f"folder    {project}\n" in home.ok(project, "status")
    assert "file:" not in home.run(project, "doctor").text

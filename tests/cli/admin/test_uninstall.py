"""`snapd uninstall` leaves a home as it was before the installation, to the byte."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from snapd.agents.table import AGENTS
from tests.cli.running import Home
from tests.support.published import until_published

SETTINGS = {
    ".claude/settings.json": '{\n\t"model": "x",  \n\t"hooks": {"Stop": [{"hooks": [{"type": "command"}]}]}\n}',
    ".factory/settings.json": '// kept\r\n{"a": [1,],}\r\n',
    ".bashrc": "alias ll='ls -l'\n",
    ".config/fish/config.fish": "set x 1\n",
    "Documents/letter.txt": "dear\n",
}
COMPLETION = {
    ".bashrc": 'eval "$(snapd completion bash)"\n',
    ".config/fish/config.fish": "snapd completion fish | source\n",
}


@pytest.fixture
def user() -> Iterator[Home]:
    home = Home()
    for name in ("SNAPD_DATA_DIR", "XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        del home.env[name]
    os.rmdir(home.at("home/.config/snapd"))
    os.rmdir(home.at("home/.config"))
    for name, text in SETTINGS.items():
        path = Path(home.at("home"), name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
    Path(home.at("home/.claude/settings.json")).chmod(0o600)
    yield home
    home.close()


def listing(*folders: str) -> dict[str, tuple[int, bytes]]:
    """The mode of everything in some folders, and the bytes of files."""
    found = {}
    for folder in folders:
        for path in [Path(folder), *Path(folder).rglob("*")]:
            mode = path.lstat().st_mode
            found[str(path)] = (mode, path.read_bytes() if stat.S_ISREG(mode) else b"")
    return found


def use(user: Home) -> str:
    """Does what leaves something behind; gives the folder of the work."""
    project = user.at("p")
    user.ok(project, "agent", "install", *AGENTS)
    user.ok(project, "agent", "install", "claude", "cursor", "--project")
    for name, line in COMPLETION.items():
        with Path(user.at("home"), name).open("a") as file:
            file.write(line)
    event = {"hook_event_name": "UserPromptSubmit", "session_id": "s", "prompt": "p", "cwd": project}
    user.run(project, "hook", "claude", stdin=json.dumps(event).encode())
    user.track(project)
    for store in Path(user.at("home/.local/share/snapd/snapshot")).iterdir():
        until_published(store)
    return project


def test_home_is_as_before(user: Home) -> None:
    user.project("p", {".git/HEAD": b"ref: refs/heads/main\n", "a": b"a\n"})
    before = listing(user.at("home"), user.at("p"))
    project = use(user)
    used = listing(user.at("home"), user.at("p"))
    assert used.keys() > before.keys()
    would = user.run(project, "uninstall", "-n", "--json").json["removed"]
    assert listing(user.at("home"), user.at("p")).keys() == used.keys(), "a dry run removed something"
    done = user.run(project, "uninstall", "-y", "--json")
    assert done.code == 0
    assert [(row["what"], row["path"]) for row in done.json["removed"]] == [(row["what"], row["path"]) for row in would]
    assert listing(user.at("home"), user.at("p")) == before
    assert not os.path.exists(user.at("run"))
    assert user.run(project, "stop", "--json").json["stopped"] is False


def test_nobody_is_asked_nothing_is_removed(user: Home) -> None:
    user.project("p", {"a": b"a\n"})
    project = use(user)
    user.ok(project, "stop")
    before = listing(user.at("home"))
    said = user.run(project, "uninstall", "--json")
    assert (said.code, said.json["error"]["kind"]) == (2, "invalidParams")
    assert listing(user.at("home")) == before


def test_data_is_kept_on_request_and_where_hooks_are_left(user: Home) -> None:
    user.project("p", {"a": b"a\n"})
    project = use(user)
    snapshot = user.track(project)
    plugin = Path(user.at("home/.config/opencode/plugins/snapd.js"))
    plugin.write_text(plugin.read_text() + "// mine\n")
    done = user.run(project, "uninstall", "-y", "--json")
    assert done.code == 3
    assert [row["path"] for row in done.json["removed"] if "error" in row] == [str(plugin)]
    assert plugin.exists()
    assert snapshot in user.ok(project, "snapshots", "--json")
    plugin.unlink()
    assert user.run(project, "uninstall", "--keep-data", "--json").json["removed"]
    assert snapshot in user.ok(project, "snapshots", "--json")
    assert user.run(project, "uninstall", "-y", "--json").code == 0
    assert not os.path.exists(user.at("home/.local"))


def test_a_store_that_is_in_use_is_left(user: Home) -> None:
    user.project("p", {"a": b"a\n"})
    project = use(user)
    at = ("--socket", user.at("other.sock"))
    user.ok(project, "stop")
    user.ok(project, "track", *at)
    done = user.run(project, "uninstall", "-y", "--json")
    assert done.code == 3
    (failed,) = (row for row in done.json["removed"] if "error" in row)
    assert (failed["what"], failed["error"]["kind"]) == (f"snapshots of {os.path.realpath(project)}", "storeLocked")
    assert user.ok(project, "snapshots", "--json", *at)
    assert user.run(project, "uninstall", "-y", "--json", *at).code == 0
    assert not os.path.exists(user.at("home/.local"))

"""Settings: from the file, the environment and the client; and several folders at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from .machine import Machine, error_of, messages, notification, request

if TYPE_CHECKING:
    from pathlib import Path

    from .machine import Raw


def listed(raw: Raw, **params: Any) -> list[str]:
    """The files of a snapshot that is taken now."""
    tree = raw.result("snapshot/track", params)["hash"]
    files: list[str] = raw.result("snapshot/listFiles", {"hash": tree, **params})["files"]
    return files


def configure(machine: Machine, text: str) -> Path:
    """Writes the user's settings."""
    file = machine.config / "snapd" / "config.toml"
    file.parent.mkdir(exist_ok=True)
    file.write_text(text)
    return file


def test_snapshots_off(daemon: Machine, folder: Path) -> None:
    raw = daemon.raw().open(folder, options={"snapshot": False})
    assert raw.result("snapshot/track") == {"hash": None, "reason": "disabled", "skipped": []}
    assert raw.result("snapshot/status")["enabled"] is False
    on = daemon.raw().open(folder)
    assert on.result("snapshot/track")["hash"]
    assert on.result("snapshot/status")["enabled"] is True


@pytest.mark.parametrize("name", ["maxFileSize", "max_file_size"])
def test_options(daemon: Machine, folder: Path, name: str) -> None:
    (folder / "large").write_bytes(b"x" * 11)
    (folder / "a.log").touch()
    raw = daemon.raw().open(folder, options={"exclude": ["*.log", "/sub"], name: 10})
    tracked = raw.result("snapshot/track")
    assert tracked["skipped"] == [{"file": "large", "reason": "tooLarge"}]
    assert raw.result("snapshot/listFiles", {"hash": tracked["hash"]})["files"] == ["a.txt"]


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"snapshot": "yes"}, "snapshot"),
        ({"exclude": "*.log"}, "exclude"),
        ({"exclude": [5]}, "exclude"),
        ({"maxFileSize": 0}, "maxFileSize"),
        ({"maxFileSize": True}, "maxFileSize"),
        ({"retention": -1}, "retention"),
        ({"dataDir": 5}, "dataDir"),
        ({"snapd": {"snapshot": 1}}, "snapshot"),
    ],
)
def test_wrong_option_names_the_key(daemon: Machine, folder: Path, options: Any, name: str) -> None:
    raw = daemon.raw()
    answer = raw.ask(1, "initialize", {"rootUri": folder.as_uri(), "initializationOptions": options})
    assert error_of(answer) == (-32602, "invalidParams")
    assert f"initializationOptions.{name}: " in answer["error"]["message"]
    assert error_of(raw.ask(2, "snapshot/status"))[0] == -32002
    assert raw.open(folder).result("snapshot/status")["enabled"] is True


def test_unknown_option_is_a_warning(daemon: Machine, folder: Path) -> None:
    raw = daemon.raw().open(folder, options={"colour": "red", "snapshot": True})
    (warning,) = messages(raw.others, "window/logMessage")
    assert warning["type"] == 2
    assert "colour" in warning["message"]


def test_configuration_changes_live(daemon: Machine, folder: Path) -> None:
    raw = daemon.raw().open(folder)
    assert listed(raw) == ["a.txt", "sub/b.txt"]
    change = "workspace/didChangeConfiguration"
    raw.send(notification(change, {"settings": {"exclude": ["sub"], "maxFileSize": 1}}))
    assert listed(raw) == []
    raw.send(notification(change, {"settings": {"snapd": {"exclude": [], "max_file_size": 1000, "snapshot": False}}}))
    assert raw.result("snapshot/track")["hash"] is None
    raw.send(notification(change, {"settings": {"snapshot": True}}))
    assert listed(raw) == ["a.txt", "sub/b.txt"]
    raw.others.clear()
    raw.send(notification(change, {"settings": {"snapshot": 5, "exclude": ["*"]}}))
    raw.send(notification(change, {"settings": {"colour": 5}}))
    assert listed(raw) == ["a.txt", "sub/b.txt"]
    error, warning = messages(raw.others, "window/logMessage")
    assert (error["type"], "settings.snapshot: " in error["message"]) == (1, True)
    assert (warning["type"], "colour" in warning["message"]) == (2, True)
    raw.send(notification(change, {"settings": None}))
    assert raw.result("snapshot/status")["enabled"] is True


def test_settings_of_file_and_environment(machine: Machine, folder: Path) -> None:
    for name in ("a.file", "a.variable", "a.option"):
        (folder / name).write_text("0123456789")
    configure(machine, 'exclude = ["*.file"]\nmax_file_size = 5\n')
    _, raw = machine.serve_stdio()
    assert listed(raw.open(folder)) == ["a.txt", "sub/b.txt"]
    raw.close()
    machine.exit_code(machine.processes[-1])
    _, raw = machine.serve_stdio(env={"SNAPD_EXCLUDE": "*.variable\nsub", "SNAPD_MAX_FILE_SIZE": "10"})
    assert listed(raw.open(folder)) == ["a.file", "a.option", "a.txt"]
    raw.close()
    machine.exit_code(machine.processes[-1])
    _, raw = machine.serve_stdio(env={"SNAPD_EXCLUDE": "*.variable", "SNAPD_SNAPSHOT": "off"})
    raw.open(folder, options={"exclude": ["*.option"], "snapshot": True, "maxFileSize": 10})
    assert listed(raw) == ["a.file", "a.txt", "a.variable", "sub/b.txt"]


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("snapshot = 1\n", "snapshot"),
        ('exclude = "x"\n', "exclude"),
        ("colour = 1\n", "colour"),
        ("[snapd]\nsnapshot = true\n", "snapd"),
        ("snapshot = \n", "line 1"),
    ],
)
@pytest.mark.parametrize("way", [["serve"], ["serve", "--stdio"]])
def test_bad_settings_file(machine: Machine, text: str, key: str, way: list[str]) -> None:
    file = configure(machine, text)
    done = machine.run(*way)
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"snapd: {file}: ")
    assert key in line


@pytest.mark.parametrize(
    ("name", "value"), [("SNAPD_SNAPSHOT", "maybe"), ("SNAPD_COLOUR", "1"), ("SNAPD_RETENTION", "x")]
)
def test_bad_variable(machine: Machine, name: str, value: str) -> None:
    done = machine.run("serve", env={name: value})
    (line,) = done.stderr.splitlines()
    assert (done.returncode, line.startswith(f"snapd: {name}: ")) == (2, True)


@pytest.mark.parametrize(
    ("arguments", "env"),
    [([], {"SNAPD_SNAPSHOT": "maybe"}), (["--stdio"], {"SNAPD_COLOUR": "1"}), (["--tcp", "x"], {})],
)
def test_what_has_to_be_put_right_is_told_before_the_daemon_is_imported(
    machine: Machine, arguments: list[str], env: dict[str, str]
) -> None:
    done = machine.run("serve", *arguments, env={"PYTHONPROFILEIMPORTTIME": "1", **env})
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert done.returncode == 2
    assert "snapd.config" in imported
    assert "snapd.daemon" not in imported


def test_settings_of_the_folder(daemon: Machine, folder: Path) -> None:
    (folder / ".snapd.toml").write_text('exclude = ["sub"]\n')
    raw = daemon.raw().open(folder, options={"exclude": ["a.txt"]})
    assert listed(raw) == [".snapd.toml"]
    for text in ("max_file_size = 5\n", "exclude = 5\n", "exclude = \n"):
        (folder / ".snapd.toml").write_text(text)
        answer = raw.ask(1, "snapshot/track")
        assert error_of(answer) == (-32602, "invalidParams")
        assert ".snapd.toml" in answer["error"]["message"]
        if "= \n" not in text:
            assert text.split()[0] in answer["error"]["message"]
        assert raw.result("snapshot/status")["enabled"] is True
    (folder / ".snapd.toml").unlink()
    assert listed(raw) == ["sub/b.txt"]


def change_folders(raw: Raw, added: list[Path], removed: list[Path]) -> None:
    """Opens and closes folders."""
    event = {
        "added": [{"uri": path.as_uri(), "name": "x"} for path in added],
        "removed": [{"uri": path.as_uri(), "name": "x"} for path in removed],
    }
    raw.send(notification("workspace/didChangeWorkspaceFolders", {"event": event}))


def test_several_folders(daemon: Machine, folder: Path, other_folder: Path) -> None:
    raw = daemon.raw().open(folder, other_folder)
    assert error_of(raw.ask(1, "snapshot/track")) == (1002, "workspaceNotOpen")
    assert listed(raw, workspaceUri=folder.as_uri()) == ["a.txt", "sub/b.txt"]
    assert listed(raw, workspaceUri=other_folder.as_uri()) == ["other.txt"]
    told = messages(raw.others, "snapshot/didTrack")
    assert [each["workspaceUri"] for each in told] == [folder.as_uri(), other_folder.as_uri()]


def test_folders_come_and_go(daemon: Machine, folder: Path, other_folder: Path) -> None:
    raw = daemon.raw().open(folder)
    change_folders(raw, [other_folder], [])
    assert listed(raw, workspaceUri=other_folder.as_uri()) == ["other.txt"]
    change_folders(raw, [], [folder])
    assert listed(raw) == ["other.txt"]
    assert error_of(raw.ask(1, "snapshot/status", {"workspaceUri": folder.as_uri()})) == (1002, "workspaceNotOpen")
    raw.others.clear()
    assert daemon.raw().open(folder).result("snapshot/track")["hash"]
    assert daemon.raw().open(other_folder).result("snapshot/track")["hash"]
    told = raw.until(lambda each: each["method"] == "snapshot/didTrack")
    assert told["params"]["workspaceUri"] == other_folder.as_uri()
    change_folders(raw, [], [other_folder, folder])
    assert error_of(raw.ask(1, "snapshot/status")) == (1002, "workspaceNotOpen")
    change_folders(raw, [folder], [])
    assert listed(raw) == ["a.txt", "sub/b.txt"]


def test_folder_that_is_closed_while_it_is_worked_in(daemon: Machine, folder: Path) -> None:
    raw = daemon.raw().open(folder)
    for number in range(8):
        (folder / f"{number}").touch()
        raw.send(b"".join(request(10 + at, "snapshot/track") for at in range(4)))
        change_folders(raw, [], [folder])
        change_folders(raw, [folder], [])
        assert sorted(raw.answer()["id"] for _ in range(4)) == [10, 11, 12, 13]
    assert raw.result("snapshot/track")["hash"]


def test_one_folder_by_two_names(daemon: Machine, folder: Path, other_folder: Path) -> None:
    link = other_folder / "link"
    link.symlink_to(folder)
    raw = daemon.raw().open(folder, link)
    tree = raw.result("snapshot/track", {"workspaceUri": link.as_uri()})["hash"]
    (folder / "a.txt").write_text("changed")
    patch = raw.result("snapshot/patch", {"hash": tree, "workspaceUri": link.as_uri()})
    assert patch["files"] == [str(folder / "a.txt")]
    assert raw.result("snapshot/fileExists", {"hash": tree, "workspaceUri": link.as_uri(), "file": str(link / "a.txt")})
    change_folders(raw, [], [link])
    raw.others.clear()
    raw.result("snapshot/track")
    assert len(messages(raw.others, "snapshot/didTrack")) == 1
    only = daemon.raw().open(link)
    assert only.result("snapshot/status", {"workspaceUri": folder.as_uri()})["workspaceUri"] == folder.as_uri()

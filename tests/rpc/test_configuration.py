"""Settings: from the file, the environment and the client; and several folders at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from .machine import Machine, error_of, messages, notification, request, wait_until

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


@pytest.mark.parametrize("way", [["serve"], ["serve", "--stdio"]])
def test_mistakes_in_file_and_environment_end_the_start(machine: Machine, way: list[str]) -> None:
    """Which mistakes there are: tests/settings."""
    done = machine.run(*way, env={"SNAPD_SNAPSHOT": "maybe"})
    line, hint = done.stderr.splitlines()
    assert (done.returncode, line.startswith("snapd: SNAPD_SNAPSHOT: "), hint[:6]) == (2, True, "hint: ")
    file = configure(machine, "snapshot = \n")
    done = machine.run(*way)
    line, hint = done.stderr.splitlines()
    assert (done.returncode, done.stdout, line.startswith(f"snapd: {file}: ")) == (2, "", True)
    assert "line 1" in line
    assert hint.startswith("hint: ")


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
    assert "snapd.settings.sources" in imported
    assert "snapd.daemon" not in imported


def test_settings_of_the_folder(daemon: Machine, folder: Path) -> None:
    (folder / ".snapd.toml").write_text('exclude = ["sub"]\n')
    raw = daemon.raw().open(folder, options={"exclude": ["a.txt"]})
    assert listed(raw) == [".snapd.toml"]
    for text in ("max_file_size = 5\n", "exclude = 5\n", "exclude = \n"):
        (folder / ".snapd.toml").write_text(text)
        # the last valid patterns hold
        assert listed(raw) == [".snapd.toml"]
        (problem,) = raw.result("snapshot/status")["settingsProblems"]
        assert problem.startswith(".snapd.toml: ")
        assert "= \n" in text or text.split()[0] in problem
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


# -- who said what, and for how long


def in_use(raw: Raw) -> dict[str, tuple[Any, str]]:
    """The settings that hold, each with its source."""
    return {row["name"]: (row["value"], row["source"]) for row in raw.result("snapshot/status")["settings"]}


def skipped(raw: Raw) -> list[str]:
    """What a snapshot that is taken now leaves out."""
    return [row["file"] for row in raw.result("snapshot/track")["skipped"]]


def test_what_a_client_sets_ends_with_its_connection(daemon: Machine, folder: Path) -> None:
    (folder / "large").write_bytes(b"x" * 11)
    stays = daemon.raw().open(folder)
    leaves = daemon.raw().open(folder, options={"maxFileSize": 10, "retention": 1, "exclude": ["sub"]})
    assert in_use(stays)["max_file_size"] == (10, "otherClient")
    assert in_use(leaves)["max_file_size"] == (10, "client")
    assert in_use(leaves)["retention"] == (1.0, "client")
    assert skipped(stays) == ["large"]
    assert listed(stays) == ["a.txt"]
    leaves.close()
    wait_until(lambda: in_use(stays)["max_file_size"][1] == "default", "the settings to end with their client")
    assert in_use(stays) == {
        "snapshot": (True, "default"),
        "exclude": ([], "default"),
        "include": ([], "default"),
        "max_file_size": (64 << 20, "default"),
        "git_state": (True, "default"),
        "prompts": (True, "default"),
        "tell_agents": (True, "default"),
        "data_dir": (None, "default"),
        "retention": (7.0, "default"),
        "max_snapshots": (0, "default"),
        "max_store_size": (0, "default"),
        "watcher": ("auto", "default"),
        "allow_foreign": ([], "default"),
    }
    assert skipped(stays) == []
    assert listed(stays) == ["a.txt", "large", "sub/b.txt"]


def test_nothing_is_left_of_a_client_whose_folder_nobody_else_has_open(daemon: Machine, folder: Path) -> None:
    alone = daemon.raw().open(folder, options={"maxFileSize": 1})
    assert skipped(alone) == ["a.txt", "sub/b.txt"]
    alone.close()
    # the workspace stays open for the next command, and must not have kept it
    wait_until(
        lambda: in_use(daemon.raw().open(folder))["max_file_size"] == (64 << 20, "default"), "the settings to end"
    )


def test_of_two_clients_the_one_that_said_it_last_is_heard(daemon: Machine, folder: Path) -> None:
    first = daemon.raw().open(folder, options={"maxFileSize": 1, "retention": 1})
    second = daemon.raw().open(folder, options={"maxFileSize": 2})
    looks = daemon.raw().open(folder)

    def holds() -> tuple[Any, Any]:
        found = in_use(looks)
        return found["max_file_size"][0], found["retention"][0]

    assert holds() == (2, 1)
    first.send(notification("workspace/didChangeConfiguration", {"settings": {"maxFileSize": 3}}))
    first.result("snapshot/status")
    assert holds() == (3, 1)
    second.send(notification("workspace/didChangeConfiguration", {"settings": {"retention": 2}}))
    second.result("snapshot/status")
    assert holds() == (3, 2)
    # what it said last goes with it; what it said and the other one said too falls back to that one
    first.close()
    wait_until(lambda: holds() == (2, 2), "the first one's settings to end")
    second.close()
    wait_until(lambda: holds() == (64 << 20, 7), "the second one's settings to end")


def test_one_client_with_two_names_of_a_folder(daemon: Machine, folder: Path, other_folder: Path) -> None:
    link = other_folder / "link"
    link.symlink_to(folder)
    raw = daemon.raw().open(folder, link, options={"maxFileSize": 1})
    looks = daemon.raw().open(folder)
    raw.result("snapshot/status", {"workspaceUri": link.as_uri()})
    change_folders(raw, [], [link])
    raw.result("snapshot/status", {"workspaceUri": folder.as_uri()})
    assert in_use(looks)["max_file_size"] == (1, "otherClient")
    change_folders(raw, [], [folder])
    wait_until(lambda: in_use(looks)["max_file_size"][1] == "default", "the settings to end with the last name")


def test_the_settings_file_is_read_again(machine: Machine, folder: Path) -> None:
    file = configure(machine, "max_file_size = 5\n")
    machine.serve_socket(env={"SNAPD_RETENTION": "3"})
    (folder / "large").write_bytes(b"x" * 11)
    raw = machine.raw().open(folder)
    assert skipped(raw) == ["large"]
    assert in_use(raw)["max_file_size"] == (5, "file")
    assert in_use(raw)["retention"] == (3.0, "environment")
    file.write_text('exclude = ["sub"]\nretention = 9\n')
    assert skipped(raw) == []
    assert listed(raw) == ["a.txt", "large"]
    assert in_use(raw)["exclude"] == (["sub"], "file")
    assert in_use(raw)["retention"] == (3.0, "environment")
    file.unlink()
    assert listed(raw) == ["a.txt", "large", "sub/b.txt"]
    file.write_text("snapshot = false\n")
    assert raw.result("snapshot/track")["hash"] is None
    assert raw.result("snapshot/status")["enabled"] is False


def test_a_settings_file_that_breaks_changes_nothing(machine: Machine, folder: Path) -> None:
    file = configure(machine, 'exclude = ["sub"]\n')
    machine.serve_socket()
    raw = machine.raw().open(folder)
    assert listed(raw) == ["a.txt"]
    for text, said in (("exclude = \n", "line 1"), ("exclude = 5\n", "exclude: expected"), ("colour = 5\n", "colour")):
        file.write_text(text)
        assert listed(raw) == ["a.txt"]
        assert in_use(raw)["exclude"] == (["sub"], "file")
        (problem,) = raw.result("snapshot/status")["settingsProblems"]
        assert problem.startswith(f"{file}: ")
        assert said in problem
        assert machine.logged().count(problem) == 1
    file.write_text('exclude = ["a.txt"]\n')
    assert listed(raw) == ["sub/b.txt"]
    assert "settingsProblems" not in raw.result("snapshot/status")


def test_the_folder_s_own_file_is_shown(daemon: Machine, folder: Path) -> None:
    (folder / ".snapd.toml").write_text('exclude = ["sub"]\n')
    raw = daemon.raw().open(folder, options={"exclude": ["a.txt"]})
    rows = [row for row in raw.result("snapshot/status")["settings"] if row["name"] == "exclude"]
    assert rows == [
        {"name": "exclude", "value": ["a.txt"], "source": "client"},
        {"name": "exclude", "value": ["sub"], "source": "folder"},
    ]
    (folder / ".snapd.toml").write_text("exclude = 5\n")
    assert raw.result("snapshot/status")["settingsProblems"] == [".snapd.toml: exclude: expected a list of strings"]

"""Settings: which place wins, and what is said of wrong values."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import pytest

from snapd.locations import Locations
from snapd.model.errors import InvalidParams
from snapd.settings.sources import as_options, read_environment, read_file, read_options
from snapd.settings.table import Settings

if TYPE_CHECKING:
    from pathlib import Path

WRONG: list[tuple[str, Any]] = [
    *(("snapshot", value) for value in (1, "true", [], 0.0)),
    *(("exclude", value) for value in ("*.log", [1], {"a": 1}, ["a\nb"], ["a\0b"], True)),
    *(("max_file_size", value) for value in (0, -1, 1.5, "1", True, [1])),
    *(("data_dir", value) for value in ("", 1, ["a"], "a\0b", False)),
    *((key, value) for key in ("max_snapshots", "max_store_size") for value in (-1, 1.5, "1", True, [], math.inf)),
    *(("watcher", value) for value in ("", "inotify", "None", False, ["none"])),
    *(("retention", value) for value in (-1, -0.1, math.nan, math.inf, "7", True, [], 10**400)),
]
RIGHT: list[tuple[str, Any, Any]] = [
    ("snapshot", False, False),
    ("exclude", [], ()),
    ("exclude", ["*.log", "/build/"], ("*.log", "/build/")),
    ("max_file_size", 1, 1),
    ("data_dir", ".agent/snapshots", ".agent/snapshots"),
    ("watcher", "none", "none"),
    ("watcher", "watchdog", "watchdog"),
    ("watcher", "auto", "auto"),
    ("max_snapshots", 0, 0),
    ("max_snapshots", 50, 50),
    ("max_store_size", 1 << 40, 1 << 40),
    ("retention", 0, 0.0),
    ("retention", 0.5, 0.5),
]


def toml(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return '"' + value.replace("\n", "\\n").replace("\0", "\\u0000") + '"'
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} = {toml(item)}" for key, item in value.items()) + "}"
    return str(value)


def camel(key: str) -> str:
    return "".join(part.title() if at else part for at, part in enumerate(key.split("_")))


def test_defaults() -> None:
    settings = Settings.of()
    assert settings == Settings(snapshot=True, exclude=(), max_file_size=64 * 1024 * 1024, data_dir=None, retention=7.0)
    assert (settings.capture.exclude, settings.capture.max_file_size) == ((), 64 * 1024 * 1024)


def test_the_later_place_is_the_stronger(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text('snapshot = false\nexclude = ["a"]\nmax_file_size = 1\ndata_dir = "d"\nretention = 1\n')
    layers = [
        read_file(str(path)),
        read_environment({"SNAPD_EXCLUDE": "b", "SNAPD_MAX_FILE_SIZE": "2", "SNAPD_RETENTION": "2"}),
        read_options({"maxFileSize": 3, "retention": 3}, "initializationOptions")[0],
        read_options({"snapd": {"retention": 4}}, "settings")[0],
    ]
    assert Settings.of(*layers) == Settings(
        snapshot=False, exclude=("b",), max_file_size=3, data_dir="d", retention=4.0
    )
    assert Settings.of(*layers[:1]) == Settings(
        snapshot=False, exclude=("a",), max_file_size=1, data_dir="d", retention=1.0
    )
    assert Settings.of(*reversed(layers)) == Settings.of(layers[0])


@pytest.mark.parametrize(("key", "value", "expected"), RIGHT)
def test_right_values(tmp_path: Path, key: str, value: Any, expected: Any) -> None:
    path = tmp_path / "config.toml"
    path.write_text(f"{key} = {toml(value)}\n")
    assert read_file(str(path)) == {key: expected}
    for given in ({key: value}, {camel(key): value, "token": "secret"}, {"snapd": {key: value}, "other": 1}):
        assert read_options(given, "options") == ({key: expected}, [])
    # and back
    assert read_options(as_options({key: expected}), "options") == ({key: expected}, [])


@pytest.mark.parametrize(("key", "value"), WRONG)
def test_wrong_values_name_file_and_key(tmp_path: Path, key: str, value: Any) -> None:
    path = tmp_path / "config.toml"
    path.write_text(f"{key} = {toml(value)}\n")
    with pytest.raises(InvalidParams) as caught:
        read_file(str(path))
    assert caught.value.message.startswith(f"{path}: {key}: expected ")
    assert caught.value.data == {"field": key, "file": str(path)}
    for name in {key, camel(key)}:
        with pytest.raises(InvalidParams) as caught:
            read_options({name: value}, "initializationOptions")
        assert caught.value.message.startswith(f"initializationOptions.{name}: ")
        assert caught.value.data["field"] == key


def test_unknown_keys(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text("maxFileSize = 1\n")
    with pytest.raises(InvalidParams, match=r"config\.toml: maxFileSize: unknown setting .* are snapshot, exclude"):
        read_file(str(path))
    with pytest.raises(InvalidParams, match="SNAPD_COLOUR: unknown setting"):
        read_environment({"SNAPD_COLOUR": "1"})
    # those of the other snapd are not meant for us
    assert read_environment({"SNAPD_DEBUG": "1", "SNAPD_UNSAFE_IO": "1"}) == {}
    # a newer client may know more
    assert read_options({"colour": 1, "snapshot": False}, "options") == ({"snapshot": False}, ["colour"])


def test_only_the_file_says_whose_folders_are_opened(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text('allow_foreign = ["/srv", "/a b"]\n')
    assert Settings.of(read_file(str(path))).allow_foreign == ("/srv", "/a b")
    for wrong in ('"/srv"', '["srv"]', '["~/x"]', "[1]", '["/a\\u0000"]', "true"):
        path.write_text(f"allow_foreign = {wrong}\n")
        with pytest.raises(InvalidParams, match="allow_foreign: "):
            read_file(str(path))
    for name in ("allow_foreign", "allowForeign"):
        with pytest.raises(InvalidParams, match=r"only config\.toml may set it"):
            read_options({"snapd": {name: ["/srv"]}}, "initializationOptions")
    with pytest.raises(InvalidParams, match=r"only config\.toml may set it"):
        read_environment({"SNAPD_ALLOW_FOREIGN": "/srv"})


def test_only_the_file_says_which_ignored_files_are_captured(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text('include = [".env", "secrets/*.key"]\n')
    assert Settings.of(read_file(str(path))).capture.include == (".env", "secrets/*.key")
    for wrong in ('".env"', '["!.env"]', '["# all"]', '[""]', '[" "]', '["a\\nb"]', "[1]"):
        path.write_text(f"include = {wrong}\n")
        with pytest.raises(InvalidParams, match="include: expected a list of patterns"):
            read_file(str(path))
    with pytest.raises(InvalidParams, match=r"only config\.toml may set it"):
        read_options({"include": [".env"]}, "initializationOptions")
    with pytest.raises(InvalidParams, match=r"only config\.toml may set it"):
        read_environment({"SNAPD_INCLUDE": ".env"})


def test_a_file_that_is_none(tmp_path: Path) -> None:
    assert read_file(str(tmp_path / "nothing")) == {}
    for data in (b"snapshot = ", b"\xff\xfe", b"snapshot = true\nsnapshot = true"):
        path = tmp_path / "config.toml"
        path.write_bytes(data)
        with pytest.raises(InvalidParams) as caught:
            read_file(str(path))
        assert caught.value.message.startswith(f"{path}: ")
        assert caught.value.data["file"] == str(path)
    with pytest.raises(InvalidParams, match="Is a directory"):
        read_file(str(tmp_path))


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        *(("SNAPSHOT", text, True) for text in ("1", "true", "ON", "Yes")),
        *(("SNAPSHOT", text, False) for text in ("0", "False", "off", "no")),
        ("EXCLUDE", "*.log\n\n/a b/\n", ("*.log", "/a b/")),
        ("EXCLUDE", "", ()),
        ("MAX_FILE_SIZE", "1024", 1024),
        ("RETENTION", "1.5", 1.5),
        ("RETENTION", "14", 14.0),
    ],
)
def test_environment(name: str, text: str, expected: Any) -> None:
    assert read_environment({f"SNAPD_{name}": text, "PATH": "/bin"}) == {name.lower(): expected}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("SNAPSHOT", ""),
        ("SNAPSHOT", "maybe"),
        ("MAX_FILE_SIZE", "1.5"),
        ("MAX_FILE_SIZE", "0"),
        ("MAX_FILE_SIZE", "much"),
        ("RETENTION", "-1"),
        ("RETENTION", "nan"),
        ("RETENTION", "week"),
    ],
)
def test_environment_wrong(name: str, text: str) -> None:
    with pytest.raises(InvalidParams) as caught:
        read_environment({f"SNAPD_{name}": text})
    assert caught.value.message.startswith(f"SNAPD_{name}: expected ")
    assert caught.value.data["field"] == name.lower()


def test_variables_that_are_no_settings() -> None:
    names = ("SNAPD_DATA_DIR", "SNAPD_RUNTIME_DIR", "SNAPD_TOKEN", "SNAPDRAGON")
    assert read_environment(dict.fromkeys(names, "x")) == {}


def test_options_that_are_none() -> None:
    assert read_options(None, "options") == ({}, [])
    assert read_options({}, "options") == ({}, [])
    # some languages cannot tell an empty object from an empty array
    assert read_options([], "options") == ({}, [])
    assert read_options({"exclude": None}, "options") == ({}, [])
    for wrong in (["x"], "x", 1, True):
        with pytest.raises(InvalidParams, match="options: expected an object"):
            read_options(wrong, "options")


def test_locations(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/u")
    plain = Locations.from_environment({})
    assert (plain.home, plain.data) == ("/home/u", "/home/u/.local/share")
    assert plain.config_file == "/home/u/.config/snapd/config.toml"
    bases = {"XDG_CONFIG_HOME": "/c", "XDG_DATA_HOME": "/d", "XDG_RUNTIME_DIR": str(tmp_path)}
    moved = Locations.from_environment(bases)
    assert (moved.config_file, moved.data, moved.runtime) == ("/c/snapd/config.toml", "/d", f"{tmp_path}/snapd")
    assert moved.socket == f"{tmp_path}/snapd/daemon.sock"
    # the specification has relative ones ignored
    assert Locations.from_environment({"XDG_CONFIG_HOME": "c", "XDG_DATA_HOME": "d"}).data == plain.data
    own = Locations.from_environment({**bases, "SNAPD_DATA_DIR": "/e", "SNAPD_RUNTIME_DIR": "/f"})
    assert (own.data, own.runtime) == ("/e", "/f")
    nowhere = Locations.from_environment({"XDG_RUNTIME_DIR": str(tmp_path / "nothing")})
    assert nowhere.runtime.startswith("/tmp/snapd-")


@pytest.mark.parametrize(
    ("name", "meant"), [("retension", "retention"), ("maxFileSize", "max_file_size"), ("WATCHERS", "watcher")]
)
def test_a_mistyped_name_is_recognised(tmp_path: Path, name: str, meant: str) -> None:
    file = tmp_path / "config.toml"
    file.write_text(f"{name} = 1\n")
    with pytest.raises(InvalidParams) as caught:
        read_file(str(file))
    assert caught.value.hint.startswith(f"did you mean {meant!r}? the settings are snapshot, ")
    with pytest.raises(InvalidParams) as caught:
        read_environment({f"SNAPD_{name}": "1"})
    assert caught.value.hint.startswith(f"did you mean 'SNAPD_{meant.upper()}'? the settings are SNAPD_SNAPSHOT, ")


def test_a_name_that_is_like_none_suggests_none() -> None:
    with pytest.raises(InvalidParams) as caught:
        read_environment({"SNAPD_XYZZY": "1"})
    assert caught.value.hint.startswith("the settings are ")

"""The table of settings: name, type, bounds, default and meaning of each. All else about settings derives from it."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any, Literal

import attrs

from snapd.model.retention import Retention
from snapd.model.snapshot import CaptureSettings

if TYPE_CHECKING:
    from collections.abc import Callable

Layer = dict[str, Any]
"""The checked settings of one source, by name."""

WatcherSetting = Literal["auto", "watchdog", "none"]
_WATCHERS = ("auto", "watchdog", "none")
_WORDS = {"true": True, "1": True, "on": True, "yes": True, "false": False, "0": False, "off": False, "no": False}


@attrs.frozen
class Kind:
    """A type of settings, with its bounds.

    Attributes:
        expected: what a value must be, for errors and the documentation.
        accepts: whether a JSON or TOML value is valid.
        convert: converts a valid value to that in `Settings`.
        parse: converts a variable's text to a JSON value, or returns the text.
    """

    expected: str
    accepts: Callable[[Any], bool]
    convert: Callable[[Any], Any] = lambda value: value
    parse: Callable[[str], Any] = str

    def check(self, value: Any) -> Any:
        """Returns the value as `Settings` holds it; raises `ValueError` for an invalid one."""
        if not self.accepts(value):
            raise ValueError(f"expected {self.expected}")
        return self.convert(value)


@attrs.frozen
class Setting:
    """A row of the table; `name` is in snake_case, `doc` in Markdown.

    `source` is who may set it: `not environment` if its variable means something else; `file` if variables and clients'
    settings must not, because they can come with a folder. `at_opening` is whether only the value at the opening of a
    workspace counts, `per_client` whether each client has its own value.
    """

    name: str
    default: Any
    kind: Kind
    doc: str
    shown_default: str
    source: Literal["anyone", "not environment", "file"]
    at_opening: bool
    per_client: bool

    @property
    def json_name(self) -> str:
        """The key in JSON, in camelCase."""
        head, *rest = self.name.split("_")
        return head + "".join(map(str.capitalize, rest))

    @property
    def variable(self) -> str:
        """The environment variable."""
        return f"SNAPD_{self.name.upper()}"


def _parse_number(text: str) -> Any:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _integer(expected: str, minimum: int) -> Kind:
    return Kind(expected, lambda value: type(value) is int and value >= minimum, parse=_parse_number)


def _boolean() -> Kind:
    return Kind("true or false", lambda value: type(value) is bool, parse=lambda text: _WORDS.get(text.lower(), text))


def _strings(expected: str, accepts: Callable[[str], bool]) -> Kind:
    return Kind(
        expected,
        lambda value: type(value) is list and all(type(item) is str and accepts(item) for item in value),
        tuple,
        lambda text: [line for line in text.split("\n") if line],
    )


def _setting(
    kind: Kind,
    default: Any,
    doc: str,
    *,
    shown: str | None = None,
    source: Literal["anyone", "not environment", "file"] = "anyone",
    at_opening: bool = False,
    per_client: bool = False,
) -> Any:
    row = {"kind": kind, "doc": doc, "shown_default": shown or f"`{default}`", "source": source}
    return attrs.field(default=default, metadata={**row, "at_opening": at_opening, "per_client": per_client})


@attrs.frozen
class Settings:
    """The settings of a client: a field for each row of the table."""

    snapshot: bool = _setting(
        _boolean(),
        True,
        "`false` turns snapshots off for the client that sets it: `track` gives `null`",
        shown="`true`",
        per_client=True,
    )
    exclude: tuple[str, ...] = _setting(
        _strings("a list of strings, each without line breaks", lambda text: not {"\n", "\0"} & set(text)),
        (),
        "patterns in `.gitignore` syntax, rooted at the folder, of files that snapshots leave out in addition to what "
        "git ignores; snapd cannot restore them",
        shown="none",
    )
    include: tuple[str, ...] = _setting(
        _strings(
            "a list of patterns, none of which begins with '!' or '#'",
            lambda text: text.strip() != "" and text[0] not in "!#" and not {"\n", "\0"} & set(text),
        ),
        (),
        "patterns in `.gitignore` syntax, rooted at each folder, of files that snapshots contain although git ignores "
        "them, such as `.env`; what `exclude` names stays out. For a file in a directory that git ignores, the pattern "
        "has to contain the path, as in `secrets/*.key`",
        shown="none",
        source="file",
    )
    max_file_size: int = _setting(
        _integer("a number of bytes, at least 1", 1),
        64 * 1024 * 1024,
        "snapshots leave out larger files, and list them as skipped",
        shown="64 MiB",
    )
    prompts: bool = _setting(
        _boolean(),
        True,
        "whether snapd keeps the first 10,000 characters of each prompt that an agent's hooks report, for `snapd log`",
        shown="`true`",
    )
    tell_agents: bool = _setting(
        _boolean(),
        True,
        "whether an agent's hooks report to it which of its steps were undone or redone, and which of its files "
        "others changed, since the last report",
        shown="`true`",
    )
    data_dir: str | None = _setting(
        Kind("a path", lambda value: type(value) is str and value != "" and "\0" not in value),
        None,
        "where snapd keeps its stores; a relative path is inside each folder, and snapshots leave it out",
        shown="the user's data directory",
        source="not environment",
        at_opening=True,
    )
    retention: float = _setting(
        Kind(
            "a number of days, at least 0",
            lambda value: type(value) in (int, float) and 0 <= value <= sys.float_info.max,
            float,
            _parse_number,
        ),
        7.0,
        "how long snapshots are kept",
        shown="7 days",
    )
    max_snapshots: int = _setting(
        _integer("a number, 0 for no limit", 0),
        0,
        "how many snapshots are kept of each session, and of those that belong to no session",
        shown="no limit",
    )
    max_store_size: int = _setting(
        _integer("a number of bytes, 0 for no limit", 0),
        0,
        "how much space the store of a folder may take; the oldest snapshots go first",
        shown="no limit",
    )
    watcher: WatcherSetting = _setting(  # noqa: RUF009 - a field, as the others
        Kind(f"one of {', '.join(_WATCHERS)}", lambda value: type(value) is str and value in _WATCHERS),
        "auto",
        "how snapd notices changes in the folder: see [Watching](#watching)",
        at_opening=True,
    )
    allow_foreign: tuple[str, ...] = _setting(
        _strings("a list of absolute paths", lambda text: os.path.isabs(text) and "\0" not in text),
        (),
        "folders of other users that snapd opens all the same, with everything below them",
        shown="none",
        source="file",
        at_opening=True,
    )

    @classmethod
    def of(cls, *layers: Layer) -> Settings:
        """Combines layers; a later layer wins."""
        merged: Layer = {}
        for layer in layers:
            merged |= layer
        return cls(**merged)

    @property
    def capture(self) -> CaptureSettings:
        """How a workspace is captured."""
        return CaptureSettings(exclude=self.exclude, max_file_size=self.max_file_size, include=self.include)

    @property
    def kept(self) -> Retention:
        """What is kept, and for how long."""
        return Retention(self.retention, self.max_snapshots, self.max_store_size)


SETTINGS = {
    field.name: Setting(name=field.name, default=field.default, **field.metadata) for field in attrs.fields(Settings)
}
"""Every row of the table, by name."""

"""Which settings are in force: keeps those of each source apart, and combines them on every request.

So nothing has to be reverted when a client disconnects or `config.toml` changes.
"""

from __future__ import annotations

import itertools
import logging
import threading
from typing import TYPE_CHECKING, Any

import attrs

from snapd.core.seams import SettingInUse
from snapd.model.errors import InvalidParams
from snapd.worktree.fs.stable_read import StatCache

from .sources import read_file
from .table import SETTINGS, Settings

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Mapping

    from snapd.core.seams import SettingSource
    from snapd.model.retention import Retention
    from snapd.model.snapshot import CaptureSettings

    from .table import Layer

    SettingValues = dict[str, tuple[Any, SettingSource]]
    """The value and the source of each setting, by name."""

logger = logging.getLogger(__name__)

_BY_OTHERS: dict[SettingSource, SettingSource] = {"client": "otherClient"}
"""How a source appears to clients that did not set the setting."""
_moments = itertools.count()


class SettingsFile:
    """The user's `config.toml`, if any, read again when it changes; a mistake at first raises `InvalidParams`."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._problem: str | None = None
        self._stats = StatCache()
        self._stats.stat(path)
        self._layer = read_file(path)

    def read(self) -> tuple[Layer, str | None]:
        """Returns the last valid settings, and the mistake of the current version of the file, or None."""
        with self._lock:
            if not self._stats.unchanged():
                # recorded before the read, so that a change during it is noticed next time
                self._stats = StatCache()
                self._stats.stat(self._path)
                self._read_again()
            return self._layer, self._problem

    def _read_again(self) -> None:
        try:
            layer, problem = read_file(self._path), None
        except InvalidParams as error:
            layer, problem = self._layer, f"{error.message} (the previous settings still hold)"
        if problem is not None and problem != self._problem:
            logger.warning("%s", problem)
        self._layer, self._problem = layer, problem


class Base:
    """The settings of all clients before their own; `environment` only if the process serves the user who set it."""

    def __init__(self, file: SettingsFile, environment: Layer | None = None) -> None:
        self._file = file
        self._environment = environment or {}

    @property
    def problem(self) -> str | None:
        """The mistake in the current version of the file; None if there is none."""
        return self._file.read()[1]

    def setting_values(self) -> SettingValues:
        """Returns every setting, from the defaults, the file and the environment."""
        setting_values: SettingValues = {name: (row.default, "default") for name, row in SETTINGS.items()}
        setting_values |= {name: (value, "file") for name, value in self._file.read()[0].items()}
        setting_values |= {name: (value, "environment") for name, value in self._environment.items()}
        return setting_values


@attrs.frozen
class _ClientSetting:
    """A setting that a client sent; among several, the latest moment wins."""

    moment: int
    value: Any
    source: SettingSource


class Options:
    """The settings of one connected client, for one folder or for those that it opens later."""

    def __init__(self, base: Base, client: Hashable) -> None:
        self.base = base
        self.client = client
        # replaced, never modified: other threads read it
        self.given: dict[str, _ClientSetting] = {}

    def give(self, layer: Layer, source: SettingSource = "client") -> None:
        """Adds checked settings, which override those that the client sent before."""
        moment = next(_moments)
        self.given = {**self.given, **{name: _ClientSetting(moment, value, source) for name, value in layer.items()}}

    def copy(self) -> Options:
        """Returns a copy, to which settings can be added separately."""
        copy = Options(self.base, self.client)
        copy.given = self.given
        return copy

    @property
    def settings(self) -> Settings:
        """The settings that would be in force if this were the only client."""
        return _settings(self.base.setting_values() | _latest([self.given]))


class FolderSettings:
    """The settings of one open workspace. Safe to use from several threads.

    Each client that has the workspace open may set what is captured and kept. If several set the same setting, the
    latest value is in force; when that client leaves, the one before it, and when all have left, that of the file.
    """

    def __init__(self, options: Options) -> None:
        self._base = options.base
        self._opener: Options | None = options
        opened = self._base.setting_values() | _latest([options.given])
        self._opened: SettingValues = {name: opened[name] for name, row in SETTINGS.items() if row.at_opening}
        self._lock = threading.Lock()
        self._clients: list[Options] = []

    def without_clients(self) -> Options:
        """Returns options, of no client, for opening another folder like this one was opened."""
        options = Options(self._base, object())
        options.give({name: value for name, (value, _) in self._opened.items()})
        return options

    def add(self, options: Options) -> None:
        """Adds a client that opened the workspace, including settings that it sends later."""
        with self._lock:
            self._clients.append(options)

    def remove(self, options: Options) -> None:
        """Removes a client that closed the workspace."""
        with self._lock:
            self._clients.remove(options)
            if options is self._opener:
                self._opener = None

    def opens_alike(self, options: Options) -> bool:
        """Returns whether these options would open the workspace with the same watcher."""
        watcher: str = self._opened["watcher"][0]
        return watcher == options.settings.watcher

    @property
    def capture(self) -> CaptureSettings:
        """See `Policy.capture`."""
        return _settings(self._values_for(None)).capture

    @property
    def kept(self) -> Retention:
        """See `Policy.kept`."""
        return _settings(self._values_for(None)).kept

    @property
    def keeps_prompts(self) -> bool:
        """See `Policy.keeps_prompts`."""
        return _settings(self._values_for(None)).prompts

    @property
    def notifies_agents(self) -> bool:
        """See `Policy.notifies_agents`."""
        return _settings(self._values_for(None)).tell_agents

    def enabled(self, client: Hashable) -> bool:
        """See `Policy.enabled`."""
        enabled: bool = self._values_for(client)["snapshot"][0]
        return enabled

    def in_use(self, client: Hashable) -> tuple[SettingInUse, ...]:
        """See `Policy.in_use`."""
        result = self._values_for(client)
        return tuple(SettingInUse(name, *result[name]) for name in result)

    @property
    def problem(self) -> str | None:
        """See `Policy.problem`."""
        return self._base.problem

    def _values_for(self, asking: Hashable) -> SettingValues:
        """Returns the settings in force as a client sees them; None for those of every client."""
        with self._lock:
            clients = tuple(self._clients)
            opener = self._opener
        opened = self._opened
        if opener is None or opener.client != asking:
            opened = {name: (value, _BY_OTHERS.get(source, source)) for name, (value, source) in opened.items()}
        options = [each.given if each.client == asking else _of_another(each.given) for each in clients]
        return self._base.setting_values() | _latest(options) | opened


def _settings(setting_values: SettingValues) -> Settings:
    return Settings.of({name: value for name, (value, _) in setting_values.items()})


def _of_another(given: Mapping[str, _ClientSetting]) -> dict[str, _ClientSetting]:
    """Returns one client's settings as other clients see them."""
    shared = {name: each for name, each in given.items() if not SETTINGS[name].per_client}
    return {name: attrs.evolve(each, source="otherClient") for name, each in shared.items()}


def _latest(clients: Iterable[Mapping[str, _ClientSetting]]) -> SettingValues:
    """Returns the latest value of each setting."""
    latest: dict[str, _ClientSetting] = {}
    for given in clients:
        for name, each in given.items():
            if name not in latest or latest[name].moment < each.moment:
                latest[name] = each
    return {name: (each.value, each.source) for name, each in latest.items()}

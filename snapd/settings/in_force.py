"""Which settings hold: what each place says is kept apart, and put together anew whenever somebody asks.

So nothing has to be undone when a client leaves, or when `config.toml` changes.
"""

from __future__ import annotations

import itertools
import logging
import threading
from typing import TYPE_CHECKING, Any

import attrs

from snapd.core.errors import InvalidParams
from snapd.core.ports.policy import SettingInUse
from snapd.worktree.fs.stat_cache import Stamps

from .sources import read_file
from .table import SETTINGS, Settings

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Mapping

    from snapd.core.model import CaptureSettings
    from snapd.core.ports.policy import SettingSource
    from snapd.core.rules.retention import Retention

    from .table import Layer

    Found = dict[str, tuple[Any, SettingSource]]
    """Each setting with its value and where that comes from."""

logger = logging.getLogger(__name__)

_BY_OTHERS: dict[SettingSource, SettingSource] = {"client": "otherClient"}
"""What a source is called by the clients that did not give the setting."""
_moments = itertools.count()


class SettingsFile:
    """The user's `config.toml`, read again when it changed. Safe to use from several threads.

    Args:
        path: absolute; it need not be there.

    Raises:
        InvalidParams: it is wrong from the start; names file and key.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._problem: str | None = None
        self._stamps = Stamps()
        self._stamps.look(path)
        self._layer = read_file(path)

    def read(self) -> tuple[Layer, str | None]:
        """What the file says, and what is wrong with it.

        Returns:
            The settings: those that it said last without a mistake. The mistake, None where there is none.
        """
        with self._lock:
            if not self._stamps.unchanged():
                # noted before it is read: what changes meanwhile is read next time
                self._stamps = Stamps()
                self._stamps.look(self._path)
                self._read_again()
            return self._layer, self._problem

    def _read_again(self) -> None:
        try:
            layer, problem = read_file(self._path), None
        except InvalidParams as error:
            layer, problem = self._layer, f"{error.message} (what the file said before still holds)"
        if problem is not None and problem != self._problem:
            logger.warning("%s", problem)
        self._layer, self._problem = layer, problem


class Base:
    """What holds for everybody whom this process serves, unless they say otherwise.

    Args:
        file: the user's.
        environment: what the variables of this process say, where it serves nobody but the one who set them.
    """

    def __init__(self, file: SettingsFile, environment: Layer | None = None) -> None:
        self._file = file
        self._environment = environment or {}

    @property
    def problem(self) -> str | None:
        """What is wrong with the file since it was last changed."""
        return self._file.read()[1]

    def found(self) -> Found:
        """Every setting, as the default, the file and the environment have it."""
        found: Found = {name: (row.default, "default") for name, row in SETTINGS.items()}
        found |= {name: (value, "file") for name, value in self._file.read()[0].items()}
        found |= {name: (value, "environment") for name, value in self._environment.items()}
        return found


@attrs.frozen
class _Given:
    """One setting that a client gave; of two, the one with the later moment holds."""

    moment: int
    value: Any
    source: SettingSource


class Options:
    """What one client asks for, while it is connected; for one folder, or for those that it opens later.

    Args:
        base: what holds where it says nothing.
        client: the one.
    """

    def __init__(self, base: Base, client: Hashable) -> None:
        self.base = base
        self.client = client
        # replaced as a whole: other threads read it
        self.given: dict[str, _Given] = {}

    def give(self, layer: Layer, source: SettingSource = "client") -> None:
        """Takes settings that the client gives now; what it gave before and does not name stays.

        Args:
            layer: checked.
            source: where the client has them from.
        """
        moment = next(_moments)
        self.given = {**self.given, **{name: _Given(moment, value, source) for name, value in layer.items()}}

    def copy(self) -> Options:
        """The same, to be given more by itself."""
        copy = Options(self.base, self.client)
        copy.given = self.given
        return copy

    @property
    def settings(self) -> Settings:
        """What holds for this client, if it were alone."""
        return _settings(self.base.found() | _latest([self.given]))


class FolderSettings:
    """What holds for one open workspace. Safe to use from several threads.

    Each client that has it open may say what is captured and kept. Of two that say the same setting, the one that said
    it last is heard; when that one leaves, it is the other, and when all have left, the file.

    Args:
        options: of the client that opens it.
    """

    def __init__(self, options: Options) -> None:
        self._base = options.base
        self._opener: Options | None = options
        opened = self._base.found() | _latest([options.given])
        self._opened: Found = {name: opened[name] for name, row in SETTINGS.items() if row.at_opening}
        self._lock = threading.Lock()
        self._clients: list[Options] = []

    def add(self, options: Options) -> None:
        """A client has the workspace open; what it gives later counts too."""
        with self._lock:
            self._clients.append(options)

    def remove(self, options: Options) -> None:
        """A client closed it that had it open with these."""
        with self._lock:
            self._clients.remove(options)
            if options is self._opener:
                self._opener = None

    def opens_alike(self, options: Options) -> bool:
        """Whether a client that opened the workspace now would have it watched in the same way."""
        watcher: str = self._opened["watcher"][0]
        return watcher == options.settings.watcher

    @property
    def capture(self) -> CaptureSettings:
        """See `Policy.capture`."""
        return _settings(self._found(None)).capture

    @property
    def kept(self) -> Retention:
        """See `Policy.kept`."""
        return _settings(self._found(None)).kept

    def enabled(self, client: Hashable) -> bool:
        """See `Policy.enabled`."""
        enabled: bool = self._found(client)["snapshot"][0]
        return enabled

    def in_use(self, client: Hashable) -> tuple[SettingInUse, ...]:
        """See `Policy.in_use`."""
        found = self._found(client)
        return tuple(SettingInUse(name, *found[name]) for name in found)

    @property
    def problem(self) -> str | None:
        """See `Policy.problem`."""
        return self._base.problem

    def _found(self, asking: Hashable) -> Found:
        """What holds as a client sees it; None for what holds whoever asks."""
        with self._lock:
            clients = tuple(self._clients)
            opener = self._opener
        opened = self._opened
        if opener is None or opener.client != asking:
            opened = {name: (value, _BY_OTHERS.get(source, source)) for name, (value, source) in opened.items()}
        heard = [each.given if each.client == asking else _of_another(each.given) for each in clients]
        return self._base.found() | _latest(heard) | opened


def _settings(found: Found) -> Settings:
    return Settings.of({name: value for name, (value, _) in found.items()})


def _of_another(given: Mapping[str, _Given]) -> dict[str, _Given]:
    """What one client gave, as others see it."""
    shared = {name: each for name, each in given.items() if not SETTINGS[name].per_client}
    return {name: attrs.evolve(each, source="otherClient") for name, each in shared.items()}


def _latest(clients: Iterable[Mapping[str, _Given]]) -> Found:
    """What some clients say together: of each setting, what was said last."""
    latest: dict[str, _Given] = {}
    for given in clients:
        for name, each in given.items():
            if name not in latest or latest[name].moment < each.moment:
                latest[name] = each
    return {name: (each.value, each.source) for name, each in latest.items()}

"""What two daemons say, in words that both could have said: without the names that each makes up, and its paths."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection
from typing import Any

_MADE = re.compile(r"(?<![0-9a-f])[0-9a-f]{32}(?![0-9a-f])")
"""An id of a session, a step or an operation that the daemon has made."""
_SORTED = re.compile(r'("sharedWith": \[|"type":"kept".*"steps":\[)([^]]*)')
"""Lists that a daemon has in the order of ids, which is nobody's choice: they come in the order of their names."""
_OPAQUE = {"plan": "expect", "nextCursor": "cursor"}
"""Strings that a client only sends back: in which field they come, and in which they go."""
_REAL_TIME = re.compile(r"20[0-8][0-9]-[0-9]{2}-[0-9]{2}T[0-9:]{8}(\.[0-9]{3})?Z")
"""A time that is not of the daemon's clock, but of a file."""
_FREE: dict[str, frozenset[str]] = {
    "snapshot/cleanup": frozenset({"freedBytes"}),
    "snapshot/purge": frozenset({"freedBytes"}),
    "snapshot/status": frozenset({"bytes", "fullLook"}),
    # packing comes when it comes, and an object may lie in two packs for a while
    "snapshot/check": frozenset({"objects", "bytes"}),
}
"""Fields of answers that say how many bytes lie on the disk, or in which pieces."""


class Names:
    """Translates between one daemon and the history, which speaks of both.

    An id or an opaque string is named by the order in which it was first told. So two that are the same stay the same,
    and two that differ stay different.

    Args:
        own: the path of this daemon's folders.
        shared: the path that stands for it, of the same length.
        ignored: fields that are not compared, as `method.field`; `*` stands for every method.
    """

    def __init__(self, own: str, shared: str, ignored: Collection[str] = ()) -> None:
        self.own, self._shared = own, shared
        self._ignored = ignored
        self._symbols: dict[str, str] = {}
        self._actual: dict[str, str] = {}

    def learn(self, actual: str, symbol: str) -> None:
        """Has a name of this daemon stand for itself under another one."""
        self._symbols[actual] = symbol
        self._actual[symbol] = actual

    def told(self, method: str, value: Any) -> str:
        """What an answer or a notification says, as JSON."""
        gone = set(_FREE.get(method, ())) | {
            rule.rpartition(".")[2] for rule in self._ignored if rule.rpartition(".")[0] in (method, "*")
        }
        plain = _walked(value, lambda key, text: self._named(key, text) if key in _OPAQUE else text, gone)
        return self.text(json.dumps(plain, ensure_ascii=False))

    def text(self, text: str, *, learns: bool = True) -> str:
        """Text in which paths and ids are those of both.

        Args:
            text: what the daemon said or wrote.
            learns: whether the order in which it has new ids is the same for both.
        """
        text = _REAL_TIME.sub("<time>", text.replace(self.own, self._shared))
        for actual, symbol in self._fixed():
            text = text.replace(actual, symbol)
        text = _MADE.sub(
            lambda found: self._named("id", found[0]) if learns else self._symbols.get(found[0], "<untold>"), text
        )
        return _SORTED.sub(lambda found: found[1] + ", ".join(sorted(re.split(", ?", found[2]))), text)

    def asked(self, params: Any) -> Any:
        """The params of a request, as this daemon has to hear them."""
        back = set(_OPAQUE.values())

        def actual(key: str, text: str) -> str:
            if key in back:
                return self._actual.get(text, text)
            return _MADE.sub(lambda found: self._actual.get(found[0], found[0]), text.replace(self._shared, self.own))

        return _walked(params, actual, ())

    def _fixed(self) -> list[tuple[str, str]]:
        return [(actual, symbol) for actual, symbol in self._symbols.items() if symbol.startswith("<")]

    def _named(self, kind: str, actual: str) -> str:
        if actual not in self._symbols:
            number = len(self._symbols)
            self.learn(actual, f"{number:032x}" if kind == "id" else f"{kind} {number}")
        return self._symbols[actual]


def _walked(value: Any, text: Callable[[str, str], str], gone: Collection[str], key: str = "") -> Any:
    """A copy of some JSON with other strings, and without some fields."""
    if isinstance(value, dict):
        return {name: _walked(each, text, gone, name) for name, each in value.items() if name not in gone}
    if isinstance(value, list):
        return [_walked(each, text, gone, key) for each in value]
    return text(key, value) if isinstance(value, str) else value

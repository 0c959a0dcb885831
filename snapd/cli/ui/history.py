"""The loaded part of the history and what is pending, kept up to date by notifications."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs

from snapd.backend import pages

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    Ask = Callable[[str, dict[str, Any]], Any]

ON_A_PAGE = 100
_NEW_ON_A_PAGE = 20
"""The page size for new entries: usually there is one, and a large page would cost more than it brings."""
_MOST_NEW = 500
"""The maximum number of entries fetched to find known ones; beyond that, the list begins anew."""
Key = tuple[str, ...]
_PENDING_ON_A_PAGE = 500


@attrs.frozen
class Page:
    """Consecutive entries of `session/history`, the latest first, and the cursor of those before them, if any."""

    entries: list[dict[str, Any]]
    cursor: str | None


@attrs.frozen
class Overview:
    """The sessions, and the ids of the open steps."""

    sessions: dict[str, dict[str, Any]]
    open_steps: frozenset[str]


def key_of(entry: dict[str, Any]) -> Key:
    """Returns a key for an entry that stays the same when its content changes."""
    if entry["kind"] == "step":
        return ("step", entry["step"]["stepId"])
    if entry["kind"] == "message":
        # a message may be sent again
        return ("message", entry["sessionId"], entry["messageId"], entry["at"])
    return (entry["kind"], entry["at"], entry["before"])


def session_of(entry: dict[str, Any]) -> str | None:
    """Returns the session that an entry belongs to."""
    step = entry.get("step")
    result = step["sessionId"] if step else entry.get("sessionId")
    return None if result is None else str(result)


def fetch(
    ask: Ask, count: int, *, cursor: str | None = None, known: Collection[Key] = (), limit: int | None = None
) -> Page:
    """Requests at least `count` entries of the history, page by page, until one of `known` is found.

    `cursor` is that of the entries before which to begin, None for the latest; `limit` is the page size.
    """
    entries: list[dict[str, Any]] = []
    while True:
        answer = ask("session/history", {"limit": limit or ON_A_PAGE, "cursor": cursor})
        entries += answer["entries"]
        cursor = answer.get("nextCursor")
        if cursor is None or len(entries) >= count or key_of(entries[-1]) in known:
            return Page(entries, cursor)


def fetch_new(ask: Ask, known: Collection[Key]) -> Page:
    """Requests the entries that are newer than the known ones."""
    return fetch(ask, _MOST_NEW, known=known, limit=_NEW_ON_A_PAGE)


def fetch_overview(ask: Ask) -> Overview:
    """Requests the sessions and the open steps."""
    listed = pages(ask, "session/list", {"limit": 2 * ON_A_PAGE}, "sessions")
    sessions = {session["sessionId"]: session for session in listed}
    return Overview(sessions, frozenset(step["stepId"] for step in ask("snapshot/status", {})["openSteps"]))


class History:
    """The loaded entries of `session/history`, the latest first, and the sessions of `session/list` by id.

    `cursor` is that of the entries before these, None if there are none; `is_loaded` is whether anything was loaded
    yet.
    """

    def __init__(self) -> None:
        self.entries: list[dict[str, Any]] = []
        self.sessions: dict[str, dict[str, Any]] = {}
        self.open_steps: frozenset[str] = frozenset()
        self.cursor: str | None = None
        self.is_loaded = False

    def known(self) -> frozenset[Key]:
        """The keys of all entries."""
        return frozenset(map(key_of, self.entries))

    def begin(self, overview: Overview, page: Page) -> None:
        """Replaces everything by what was loaded."""
        self.sessions = dict(overview.sessions)
        self.open_steps = overview.open_steps
        self.entries, self.cursor = list(page.entries), page.cursor
        self.is_loaded = True

    def take_new(self, page: Page) -> None:
        """Adds the latest entries, which replace those from the same time on."""
        last = key_of(page.entries[-1]) if page.entries else None
        at = next((at for at, entry in enumerate(self.entries) if key_of(entry) == last), None)
        if at is None:
            self.entries, self.cursor = list(page.entries), page.cursor
        else:
            self.entries = page.entries + self.entries[at + 1 :]

    def take_older(self, page: Page) -> None:
        """Adds the entries before those that are loaded."""
        known = self.known()
        self.entries += [entry for entry in page.entries if key_of(entry) not in known]
        self.cursor = page.cursor

    def apply_event(self, session: dict[str, Any], step: dict[str, Any] | None) -> None:
        """Applies a `session/didChange` notification."""
        self.sessions[session["sessionId"]] = session
        if step is None:
            return
        open_now = {step["stepId"]} if step["state"] == "open" else set()
        self.open_steps = self.open_steps - {step["stepId"]} | open_now
        fields = {
            "kind": "step",
            "at": step["startedAt"],
            "step": step,
            "before": step["from"],
            "files": step.get("files", []),
            **({"after": step["to"]} if "to" in step else {}),
        }
        at = next((at for at, entry in enumerate(self.entries) if key_of(entry) == key_of(fields)), None)
        if at is not None:
            self.entries[at] = fields
            return
        at = next((at for at, entry in enumerate(self.entries) if entry["at"] <= fields["at"]), None)
        if at is not None:
            self.entries.insert(at, fields)
        elif self.cursor is None:
            self.entries.append(fields)


@attrs.frozen
class Pending:
    """The files of `review/list`, ordered by name."""

    files: list[dict[str, Any]] = attrs.field(factory=list)


def fetch_pending(ask: Ask) -> Pending:
    """Requests all files with pending changes."""
    return Pending(list(pages(ask, "review/list", {"limit": _PENDING_ON_A_PAGE}, "files")))


def count_pending(ask: Ask) -> int:
    """Requests the number of files with pending changes; from then on, the daemon sends `review/didChange`."""
    return int(ask("review/list", {"limit": 1})["pendingFiles"])

"""What happened in the folder and what is pending, as far as it is loaded, kept up to date by what the daemon says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs

from snapd.backend import pages

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    Ask = Callable[[str, dict[str, Any]], Any]

ON_A_PAGE = 100
_NEW_ON_A_PAGE = 20
"""Where one entry is new, as usual, a page of many would cost more than it tells."""
_MOST_NEW = 500
"""Entries that are fetched to find those that are known; beyond them, the list begins anew."""
Key = tuple[str, ...]
_PENDING_ON_A_PAGE = 500


@attrs.frozen
class Page:
    """Entries of `session/history` in a row, the latest first, and the cursor of those before them, if any."""

    entries: list[dict[str, Any]]
    cursor: str | None


@attrs.frozen
class Overview:
    """What there is beside the history: the sessions, and the steps that are open, by their names."""

    sessions: dict[str, dict[str, Any]]
    open_steps: frozenset[str]


def key_of(entry: dict[str, Any]) -> Key:
    """Names an entry: the name stays when what the entry says changes."""
    if entry["kind"] == "step":
        return ("step", entry["step"]["stepId"])
    if entry["kind"] == "message":
        # it may be sent again
        return ("message", entry["sessionId"], entry["messageId"], entry["at"])
    return (entry["kind"], entry["at"], entry["before"])


def session_of(entry: dict[str, Any]) -> str | None:
    """The session that an entry belongs to."""
    step = entry.get("step")
    found = step["sessionId"] if step else entry.get("sessionId")
    return None if found is None else str(found)


def fetch(
    ask: Ask, count: int, *, cursor: str | None = None, known: Collection[Key] = (), limit: int | None = None
) -> Page:
    """Asks for entries of the history, page by page.

    Args:
        ask: sends a request.
        count: how many are enough.
        cursor: of those before which to begin; None for the latest.
        known: stop at one of these.
        limit: entries on a page; default: `ON_A_PAGE`.

    Raises:
        SnapdError: the error that answers a request.
    """
    entries: list[dict[str, Any]] = []
    while True:
        answer = ask("session/history", {"limit": limit or ON_A_PAGE, "cursor": cursor})
        entries += answer["entries"]
        cursor = answer.get("nextCursor")
        if cursor is None or len(entries) >= count or key_of(entries[-1]) in known:
            return Page(entries, cursor)


def fetch_new(ask: Ask, known: Collection[Key]) -> Page:
    """Asks for what is new: the entries down to one that is known. Raises as `fetch`."""
    return fetch(ask, _MOST_NEW, known=known, limit=_NEW_ON_A_PAGE)


def fetch_overview(ask: Ask) -> Overview:
    """Asks for the sessions and the open steps. Raises as `fetch`."""
    listed = pages(ask, "session/list", {"limit": 2 * ON_A_PAGE}, "sessions")
    sessions = {session["sessionId"]: session for session in listed}
    return Overview(sessions, frozenset(step["stepId"] for step in ask("snapshot/status", {})["openSteps"]))


class History:
    """Entries, the latest first, and the sessions that they belong to.

    Attributes:
        entries: of `session/history`, as far as they are loaded.
        sessions: of `session/list`, by their names.
        open_steps: names of the steps that are open.
        cursor: of the entries before these; None if there are none.
        is_loaded: whether anything was taken yet.
    """

    def __init__(self) -> None:
        self.entries: list[dict[str, Any]] = []
        self.sessions: dict[str, dict[str, Any]] = {}
        self.open_steps: frozenset[str] = frozenset()
        self.cursor: str | None = None
        self.is_loaded = False

    def known(self) -> frozenset[Key]:
        """The names of all entries."""
        return frozenset(map(key_of, self.entries))

    def begin(self, overview: Overview, page: Page) -> None:
        """Takes what was loaded in place of what there was."""
        self.sessions = dict(overview.sessions)
        self.open_steps = overview.open_steps
        self.entries, self.cursor = list(page.entries), page.cursor
        self.is_loaded = True

    def take_new(self, page: Page) -> None:
        """Takes the latest entries, which replace those from the same time on."""
        last = key_of(page.entries[-1]) if page.entries else None
        at = next((at for at, entry in enumerate(self.entries) if key_of(entry) == last), None)
        if at is None:
            self.entries, self.cursor = list(page.entries), page.cursor
        else:
            self.entries = page.entries + self.entries[at + 1 :]

    def take_older(self, page: Page) -> None:
        """Takes the entries before those that are loaded."""
        known = self.known()
        self.entries += [entry for entry in page.entries if key_of(entry) not in known]
        self.cursor = page.cursor

    def apply_event(self, session: dict[str, Any], step: dict[str, Any] | None) -> None:
        """Takes what `session/didChange` says."""
        self.sessions[session["sessionId"]] = session
        if step is None:
            return
        open_now = {step["stepId"]} if step["state"] == "open" else set()
        self.open_steps = self.open_steps - {step["stepId"]} | open_now
        said = {
            "kind": "step",
            "at": step["startedAt"],
            "step": step,
            "before": step["from"],
            "files": step.get("files", []),
            **({"after": step["to"]} if "to" in step else {}),
        }
        at = next((at for at, entry in enumerate(self.entries) if key_of(entry) == key_of(said)), None)
        if at is not None:
            self.entries[at] = said
            return
        at = next((at for at, entry in enumerate(self.entries) if entry["at"] <= said["at"]), None)
        if at is not None:
            self.entries.insert(at, said)
        elif self.cursor is None:
            self.entries.append(said)


@attrs.frozen
class Pending:
    """What is pending.

    Attributes:
        files: of `review/list`, ordered by name.
    """

    files: list[dict[str, Any]] = attrs.field(factory=list)


def fetch_pending(ask: Ask) -> Pending:
    """Asks for all files with pending changes. Raises `SnapdError`: the error that answers a request."""
    files: list[dict[str, Any]] = []
    cursor: str | None = None
    while True:
        page = ask("review/list", {"limit": _PENDING_ON_A_PAGE, "cursor": cursor})
        files += page["files"]
        cursor = page.get("nextCursor")
        if cursor is None:
            return Pending(files)


def count_pending(ask: Ask) -> int:
    """Asks how many files have pending changes; from then on, `review/didChange` tells. Raises as `fetch_pending`."""
    return int(ask("review/list", {"limit": 1})["pendingFiles"])

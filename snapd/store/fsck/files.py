"""Checks the files of a store that are neither objects nor references, and the permissions of all files."""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Iterator, Sequence

from snapd.model.check_report import Leftovers, Problem
from snapd.model.errors import StoreCorrupt
from snapd.model.snapshot import ObjectId
from snapd.store.files.quarantine import QUARANTINE
from snapd.store.files.walking import Damaged, WrittenByNewer, files_below, reading, status_if_there, twice, walked
from snapd.store.journal.frames import decode_frames, has_gap, newer_format
from snapd.store.journal.journal import JOURNAL, journal_numbers
from snapd.store.maintenance.repack import PACKING
from snapd.store.repository import check_version
from snapd.store.timeline.small_files import INTENT, NUMBERS, decode_file, decode_numbers

HEAD = "HEAD"
CONFIG = "config"
ROOT = "root.json"

_HEAD = re.compile(rb"ref: refs/[^\n]+\n?")
_LEFTOVER = re.compile(r"tmp_(obj|pack|adopt)_.*|.*\.[0-9a-f]{12}\.tmp|.+\.lock")
_UNREADABLE = b"\0unreadable"
"""Stands for a file that cannot be read; no file has these bytes."""
_OTHERS_WRITE = 0o022
_OTHERS = 0o077


def check_files(store: str) -> list[Problem]:
    """Checks the files that make the directory a store, and those beside the objects.

    Args:
        store: its directory.

    Raises:
        StoreCorrupt: a newer snapd made it.
        IoError: something cannot be read.
    """
    found = []
    if not _HEAD.fullmatch(_read(store, HEAD) or b""):
        found.append(Problem("damagedConfig", HEAD, "HEAD does not say that this is a git repository"))
    try:
        check_version(store)
    except StoreCorrupt as error:
        if error.data["object"] == store:
            raise
        found.append(Problem("damagedConfig", CONFIG, "config does not say that this is a store of snapd"))
    root = _read(store, ROOT)
    if root is not None and not _is_root(root):
        found.append(Problem("damagedRoot", ROOT, "root.json does not say which folder this is; it is written again"))
    intent = _read(store, INTENT)
    if intent is not None:
        try:
            decode_file(intent)
        except WrittenByNewer as error:
            found.append(Problem("newerFormat", INTENT, f"{error.message}: repair it with that one"))
        except (ValueError, RecursionError):
            message = "the plan of an interrupted operation cannot be read; its files stay as they are"
            found.append(Problem("damagedIntent", INTENT, message))
    numbers = _read(store, NUMBERS)
    if numbers is not None and decode_numbers(numbers) is None:
        message = "the number of the next notification cannot be read; the clock gives the numbers from now on"
        found.append(Problem("damagedNumbers", NUMBERS, message))
    if _is_other(os.path.join(store, JOURNAL)):
        found.append(Problem("damagedJournal", JOURNAL, "journal is not a directory; a repair replaces it"))
    for name, data in journal_files(store):
        newer = newer_format(data)
        if newer is not None:
            message = f"{name} was written by a newer snapd (format {newer}): repair it with that one"
            found.append(Problem("newerFormat", name, message))
        elif data == _UNREADABLE or has_gap(data):
            message = "a part of the journal is damaged; the objects that are lost with it are listed too"
            found.append(Problem("damagedJournal", name, message))
    return found


def journal_files(store: str) -> Iterator[tuple[str, bytes]]:
    """The journal files, oldest first, each with its path in the store and its bytes; raises `IoError`."""
    if _is_other(os.path.join(store, JOURNAL)):
        return
    for number in journal_numbers(store):
        name = os.path.join(JOURNAL, str(number))
        data = _read(store, name)
        if data is not None:
            yield name, data


def waiting(store: str) -> tuple[dict[ObjectId, bytes], dict[str, ObjectId]]:
    """The loose files in the journal, by their objects, and the targets of references after its replay."""
    objects: dict[ObjectId, bytes] = {}
    references: dict[str, ObjectId] = {}
    for _, data in journal_files(store):
        for frame in decode_frames(data):
            objects.update(frame.objects)
            references.update(frame.references)
    return objects, references


def has_newer_journal(problems: Sequence[Problem]) -> bool:
    """Whether a newer snapd wrote a part of the journal: then this one cannot know what is missing."""
    return any(problem.kind == "newerFormat" and problem.subject.startswith(JOURNAL + os.sep) for problem in problems)


def check_access(store: str) -> list[Problem]:
    """Finds files of a store that another user owns or can access; raises `IoError`.

    Files that the project's own git has too keep their permissions.
    """
    found = []
    for above, _, files in walked(store):
        for path, others in ((above, _OTHERS), *((os.path.join(above, file), _OTHERS_WRITE) for file in files)):
            status = status_if_there(path)
            if status is None or (path != above and status.st_nlink > 1):
                continue
            if wrong := _wrong(status, others):
                found.append(_refused(store, path, wrong))
    return found


def find_leftovers(store: str) -> Leftovers:
    """The temporary files that crashes left in a store; raises `IoError`."""
    packing = os.path.join(store, PACKING, "")
    sizes = [
        status.st_size
        for path, status in files_below(store, without=QUARANTINE)
        if path.startswith(packing) or _LEFTOVER.fullmatch(os.path.basename(path))
    ]
    return Leftovers(len(sizes), sum(sizes))


def _wrong(status: os.stat_result, others: int) -> str:
    if status.st_uid != os.geteuid():
        return f"belongs to somebody else (user {status.st_uid})"
    if not stat.S_ISLNK(status.st_mode) and status.st_mode & others:
        return f"is open to others (mode {stat.S_IMODE(status.st_mode):o})"
    return ""


def _refused(store: str, path: str, wrong: str) -> Problem:
    name = os.path.relpath(path, store)
    return Problem("permissions", name, f"{path if name == '.' else name} {wrong}")


def _is_root(data: bytes) -> bool:
    try:
        root = json.loads(data)
    except ValueError:
        return False
    return isinstance(root, dict) and isinstance(root.get("path"), str)


def _is_other(directory: str) -> bool:
    """Whether the path exists and is not a directory."""
    status = status_if_there(directory)
    return status is not None and not stat.S_ISDIR(status.st_mode)


def _read(store: str, name: str) -> bytes | None:
    """The bytes of a file; None if it does not exist, `_UNREADABLE` if they are lost. Raises `IoError`."""
    path = os.path.join(store, name)

    def read() -> bytes:
        with reading(path), open(path, "rb") as file:
            return file.read()

    try:
        return twice(read)
    except FileNotFoundError:
        return None
    except Damaged:
        return _UNREADABLE

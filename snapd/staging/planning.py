"""Plans the changes to the index that stage some steps and nothing else, and proposes a commit message."""

from __future__ import annotations

import textwrap
from functools import partial
from typing import TYPE_CHECKING

import attrs

from snapd.core.compare.threeway import Overlap
from snapd.model.paths import parents
from snapd.model.snapshot import EXECUTABLE, REGULAR, SYMLINK, Entry

from .changes import Change, FileMerge, Unit, units
from .clean_filter import CannotCleanError, Cleaner
from .index import GITLINK, Index, IndexEdit, StagedFile, blobs, change, store
from .merge_into_index import MergedEntry, place

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from .changes import Chain, Contents
    from .repository import Repository


_FILE_MODES = (REGULAR, EXECUTABLE)

_SUBJECT = 72
"""Maximum length of the subject line, as git's documentation advises."""
_ITEMS = 20
"""How many prompts the message lists."""
_ITEM = 300
"""Maximum length of each of them."""


@attrs.frozen
class FilePlan:
    """The planned change of a file in the index; `source` is its path there, if that is another one."""

    path: bytes
    source: bytes | None
    old: Entry | None
    new: Entry | None

    def puts(self, known: Mapping[bytes, StagedFile], new: StagedFile | None) -> list[IndexEdit]:
        """Returns the edits of the index `known`, for `new` with its blob id in the repository."""
        if self.source is None:
            return [IndexEdit(self.path, None if self.old is None else known[self.path], new)]
        moved = [] if new is None else [IndexEdit(self.path, None, new)]
        return [IndexEdit(self.source, known[self.source], None), *moved]


@attrs.frozen
class Plan:
    """The planned changes of the index.

    Attributes:
        left: files that are left out, each with the reason: `ignored`, `otherRepository`, or `changedSince` (by others,
            and the index has that).
        conflicts: files that cannot be staged, each with the reason. If there is one, nothing may be staged.
        shared: for files with the reason `shared`, the other steps that may have made the changes.
        pending: the changes that HEAD does not have.
        others: how many other files have staged changes, which the next commit will include.
    """

    files: tuple[FilePlan, ...]
    left: Mapping[bytes, str]
    conflicts: Mapping[bytes, str]
    shared: Mapping[bytes, tuple[str, ...]]
    pending: Chain
    others: int


@attrs.define
class _Versions:
    """The files of the index or of HEAD, and the requested ones with their bytes."""

    files: Mapping[bytes, StagedFile]
    entries: Mapping[bytes, Entry] = attrs.field(factory=dict)

    def name_of(self, unit: Unit) -> bytes:
        """Returns the path of a file here, which may be one from before a move."""
        return next((source for source in unit.sources if source in self.files), unit.path)

    def entry_of(self, unit: Unit) -> Entry | None:
        """Returns the file here; None for no file."""
        return self.entries.get(self.name_of(unit))


@attrs.define
class _Draft:
    """An incomplete `Plan`."""

    files: list[FilePlan] = attrs.field(factory=list)
    conflicts: dict[bytes, str] = attrs.field(factory=dict)
    shared: dict[bytes, tuple[str, ...]] = attrs.field(factory=dict)
    pending: list[Change] = attrs.field(factory=list)
    left: dict[bytes, str] = attrs.field(factory=dict)


class Planner:
    """Plans changes of the current index; raises `GitOperationUnderWay` if it has conflicts, and `GitFailed`."""

    def __init__(self, repository: Repository, contents: Contents) -> None:
        self._repository = repository
        self._contents = contents
        self._index = Index.read(repository)
        self._modes = repository.is_set("core.filemode", default=True)

    def plan(self, chains: Mapping[bytes, Chain]) -> Plan:
        """Plans the staging of changes, by path relative to the root of the work tree; raises `GitFailed`."""
        left = {path: "otherRepository" for path in chains if self._is_elsewhere(path)}
        chains = {path: chain for path, chain in chains.items() if path not in left}
        announced = self._index.intended(self._repository, chains)
        index = _Versions({path: staged for path, staged in self._index.files.items() if path not in announced})
        commit = _Versions(Index.committed(self._repository))
        joined = units(chains, index.files.__contains__)
        for versions in (index, commit):
            versions.entries = self._entries(versions, joined)
        cleaner = Cleaner(self._repository, self._index, chains)
        draft = _Draft(left=left)
        for unit in joined:
            self._add(draft, unit, index, commit, cleaner)
        made = (file.path for file in draft.files if file.path not in index.files and file.new is not None)
        ignored = self._repository.ignored(made)
        files = tuple(file for file in draft.files if file.path not in ignored)
        puts = [
            put for file in files for put in file.puts(index.files, None if file.new is None else StagedFile(0, ""))
        ]
        draft.conflicts |= dict.fromkeys(self._index.clashes(puts), "occupied")
        names = {name for unit in joined for name in (unit.path, *unit.sources)}
        others = _differing(index.files, commit.files) - names
        draft.left |= dict.fromkeys(ignored, "ignored")
        return Plan(files, draft.left, draft.conflicts, draft.shared, tuple(draft.pending), len(others))

    def _add(self, draft: _Draft, unit: Unit, index: _Versions, commit: _Versions, cleaner: Cleaner) -> None:
        name, ours = index.name_of(unit), index.entry_of(unit)
        if name in index.files and ours is None:
            # a submodule
            draft.conflicts[unit.path] = "occupied"
            return
        texts = FileMerge(self._contents, cleaner.merges_lines(unit.path))
        now = partial(self._now, unit.path, name, cleaner)
        try:
            changes = self._cleaned(unit, name, cleaner)
            placed = self._place(ours, changes, texts, now)
            same = commit.entry_of(unit) == ours
            since = placed if same else self._place(commit.entry_of(unit), changes, texts, now)
        except CannotCleanError as error:
            draft.conflicts[unit.path] = error.reason
            return
        if isinstance(placed, Overlap):
            draft.conflicts[unit.path] = placed.reason
            return
        draft.pending += (since if isinstance(since, MergedEntry) else placed).by
        source = name if name != unit.path else None
        if source is None and placed.entry == ours:
            if placed.overtaken and commit.entry_of(unit) != ours:
                draft.left[unit.path] = "changedSince"
            return
        by = placed.by or unit.changes
        if others := tuple(dict.fromkeys(other for each in by for other in each.others)):
            draft.conflicts[unit.path] = "shared"
            draft.shared[unit.path] = others
        for path in (name, unit.path):
            if path in index.files and (apart := index.files[path].apart) is not None:
                draft.conflicts[unit.path] = apart
        draft.files.append(FilePlan(unit.path, source, ours, placed.entry))

    def carry_out(self, plan: Plan) -> None:
        """Applies a plan: all or nothing. Raises `IndexLocked`, `IndexChanged`, `GitFailed`."""
        known = self._index.files
        new = [file for file in plan.files if file.new is not None]
        oids = store(self._repository, (self._contents.of(file.new) for file in new))
        stored = {file.path: oid for file, oid in zip(new, oids, strict=True)}
        puts = []
        for file in plan.files:
            staged = None if file.new is None else StagedFile(file.new.mode, stored[file.path])
            puts += file.puts(known, staged)
        change(self._repository, puts)

    def _is_elsewhere(self, path: bytes) -> bool:
        """Returns whether a file belongs to another repository, such as a submodule."""
        files = self._index.files
        is_in_module = any(above in files and files[above].mode == GITLINK for above in parents(path))
        return is_in_module or not self._repository.belongs(path)

    def _entries(self, versions: _Versions, joined: Iterable[Unit]) -> dict[bytes, Entry]:
        """Returns the files of the index or HEAD with their bytes, except submodules."""
        names = {versions.name_of(unit) for unit in joined} & versions.files.keys()
        wanted = {name: versions.files[name] for name in names if versions.files[name].mode != GITLINK}
        result = blobs(self._repository, (staged.oid for staged in wanted.values()))
        return {name: self._contents.add(staged.mode, result[staged.oid]) for name, staged in wanted.items()}

    def _place(
        self, ours: Entry | None, changes: Chain, texts: FileMerge, now: Callable[[], Entry | None]
    ) -> MergedEntry | Overlap:
        if self._modes:
            return place(ours, changes, texts, now)
        # git ignores modes in the work tree: those of the index stay
        plain = tuple(attrs.evolve(each, old=_plain(each.old), new=_plain(each.new)) for each in changes)
        placed = place(_plain(ours), plain, texts, lambda: _plain(now()))
        if isinstance(placed, Overlap) or placed.entry is None or placed.entry.mode not in _FILE_MODES:
            return placed
        mode = ours.mode if ours is not None and ours.mode in _FILE_MODES else REGULAR
        return attrs.evolve(placed, entry=Entry(mode, placed.entry.oid))

    def _cleaned(self, unit: Unit, name: bytes, cleaner: Cleaner) -> Chain:
        """Returns the changes of a file, which has the path `name` in the index, with the bytes of its blobs."""
        sides = dict.fromkeys(side for each in unit.changes for side in (each.old, each.new) if side is not None)
        cleaned = dict(zip(sides, self._clean(unit.path, name, list(sides), cleaner), strict=True))

        def side_of(side: Entry | None) -> Entry | None:
            return None if side is None else cleaned[side]

        return tuple(attrs.evolve(each, old=side_of(each.old), new=side_of(each.new)) for each in unit.changes)

    def _now(self, path: bytes, name: bytes, cleaner: Cleaner) -> Entry | None:
        """Returns the file in the work tree with the bytes of its blob; None for no file."""
        result = self._repository.read(path)
        if result is None:
            return None
        return self._clean(path, name, [self._contents.add(*result)], cleaner)[0]

    def _clean(self, path: bytes, name: bytes, entries: Sequence[Entry], cleaner: Cleaner) -> list[Entry]:
        files = [entry for entry in entries if entry.mode != SYMLINK]
        data = cleaner.clean([(path, name, self._contents.of(entry)) for entry in files])
        result = {entry: self._contents.add(entry.mode, each) for entry, each in zip(files, data, strict=True)}
        return [result.get(entry, entry) for entry in entries]


def _differing(known: Mapping[bytes, StagedFile], committed: Mapping[bytes, StagedFile]) -> set[bytes]:
    """Returns the files that differ between the index and HEAD."""
    gone = committed.keys() - known.keys()
    return {path for path, staged in known.items() if attrs.evolve(staged, apart=None) != committed.get(path)} | gone


def _plain(entry: Entry | None) -> Entry | None:
    return Entry(REGULAR, entry.oid) if entry is not None and entry.mode in _FILE_MODES else entry


def proposed(prompts: Sequence[str], otherwise: str) -> str:
    """Returns a commit message made of the user's prompts, oldest first; `otherwise` is used if there are none.

    The prompts are listed below the subject if that does not contain everything.
    """
    asked = list(dict.fromkeys(text for text in map(_one_line, prompts) if text))
    if not asked:
        return _fit(_one_line(otherwise), _SUBJECT)
    subject = _fit(asked[0], _SUBJECT)
    if asked == [subject]:
        return subject
    lines = [subject, ""]
    for text in asked[:_ITEMS]:
        # "- " keeps git from taking a line for a comment
        lines += textwrap.wrap(_fit(text, _ITEM), _SUBJECT, initial_indent="- ", subsequent_indent="  ")
    if len(asked) > _ITEMS:
        lines.append(f"- and {len(asked) - _ITEMS} more")
    return "\n".join(lines)


def _one_line(text: str) -> str:
    """Joins a text into one line, without characters that a terminal or git interprets."""
    return "".join(char for char in " ".join(text.split()) if char.isprintable()).lstrip("# ")


def _fit(text: str, room: int) -> str:
    if len(text) <= room:
        return text
    # cut at a word, unless there is only one
    cut = text[: room - 1]
    return (cut.rpartition(" ")[0] or cut).rstrip(" ,;:.") + "…"

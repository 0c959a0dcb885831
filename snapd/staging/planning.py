"""Plans what to change of the index, so that it has the changes of steps and is the same otherwise.

Proposes the message of the commit, too.
"""

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
"""Characters of the first line, as git's own documentation advises at most."""
_ITEMS = 20
"""How many prompts the message lists."""
_ITEM = 300
"""Characters of each of them."""


@attrs.frozen
class FilePlan:
    """What becomes of a file in the index.

    Attributes:
        path: where it will be, relative to the root of the work tree.
        source: where the index has it now, if that is another name.
        old: the file that the index has; None for no file.
        new: the file with the changes; None for no file.
    """

    path: bytes
    source: bytes | None
    old: Entry | None
    new: Entry | None

    def puts(self, known: Mapping[bytes, StagedFile], new: StagedFile | None) -> list[IndexEdit]:
        """What to change of the index.

        Args:
            known: what the index has.
            new: the file with the changes, by the name of its blob in the repository.
        """
        if self.source is None:
            return [IndexEdit(self.path, None if self.old is None else known[self.path], new)]
        moved = [] if new is None else [IndexEdit(self.path, None, new)]
        return [IndexEdit(self.source, known[self.source], None), *moved]


@attrs.frozen
class Plan:
    """What to change of the index.

    Attributes:
        files: what becomes of each file, ordered by path.
        left: the files that are left out, each with the reason: `ignored`, `otherRepository`,
            `changedSince` (by others, and the index has that).
        conflicts: the files that cannot be staged, each with the reason. If there is one, nothing may be staged.
        shared: of the files with the reason `shared`, the steps that may have made the changes as well.
        pending: the changes that the last commit does not have.
        others: how many other files the index has with changes already, which the next commit has, too.
    """

    files: tuple[FilePlan, ...]
    left: Mapping[bytes, str]
    conflicts: Mapping[bytes, str]
    shared: Mapping[bytes, tuple[str, ...]]
    pending: Chain
    others: int


@attrs.define
class _Versions:
    """The files of the index, or of the last commit.

    Attributes:
        files: by their paths.
        entries: those that are asked for, with their bytes.
    """

    files: Mapping[bytes, StagedFile]
    entries: Mapping[bytes, Entry] = attrs.field(factory=dict)

    def name_of(self, unit: Unit) -> bytes:
        """The name of a file here, which may be one from before it was moved."""
        return next((source for source in unit.sources if source in self.files), unit.path)

    def entry_of(self, unit: Unit) -> Entry | None:
        """The file here; None for no file."""
        return self.entries.get(self.name_of(unit))


@attrs.define
class _Draft:
    """What a plan has so far; the attributes are those of `Plan`."""

    files: list[FilePlan] = attrs.field(factory=list)
    conflicts: dict[bytes, str] = attrs.field(factory=dict)
    shared: dict[bytes, tuple[str, ...]] = attrs.field(factory=dict)
    pending: list[Change] = attrs.field(factory=list)
    left: dict[bytes, str] = attrs.field(factory=dict)


class Planner:
    """Makes plans for the index of a repository, as it was when this was made.

    Args:
        repository: the repository.
        contents: the bytes of the files.

    Raises:
        GitOperationUnderWay: the index has conflicts.
        GitFailed: git cannot tell what there is.
    """

    def __init__(self, repository: Repository, contents: Contents) -> None:
        self._repository = repository
        self._contents = contents
        self._index = Index.read(repository)
        self._modes = repository.is_set("core.filemode", default=True)

    def plan(self, chains: Mapping[bytes, Chain]) -> Plan:
        """Plans to put changes into the index.

        Args:
            chains: the changes of each path, relative to the root of the work tree, the oldest first.

        Raises:
            GitFailed: git cannot convert a file, or cannot be asked.
        """
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
        """Adds what becomes of a file."""
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
        """Changes the index as planned: all of it, or nothing.

        Raises:
            IndexLocked, IndexChanged, GitFailed: it cannot be done, and nothing was changed.
        """
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
        """Whether a file is of another repository, such as a submodule."""
        files = self._index.files
        is_in_module = any(above in files and files[above].mode == GITLINK for above in parents(path))
        return is_in_module or not self._repository.belongs(path)

    def _entries(self, versions: _Versions, joined: Iterable[Unit]) -> dict[bytes, Entry]:
        """What the index or a commit has of some files, with the bytes; submodules are not there."""
        names = {versions.name_of(unit) for unit in joined} & versions.files.keys()
        wanted = {name: versions.files[name] for name in names if versions.files[name].mode != GITLINK}
        found = blobs(self._repository, (staged.oid for staged in wanted.values()))
        return {name: self._contents.add(staged.mode, found[staged.oid]) for name, staged in wanted.items()}

    def _place(
        self, ours: Entry | None, changes: Chain, texts: FileMerge, now: Callable[[], Entry | None]
    ) -> MergedEntry | Overlap:
        if self._modes:
            return place(ours, changes, texts, now)
        # git looks at no modes in the work tree: what the index says of them stays
        placed = place(_plain(ours), tuple(map(_without_modes, changes)), texts, lambda: _plain(now()))
        if isinstance(placed, Overlap) or placed.entry is None or placed.entry.mode not in _FILE_MODES:
            return placed
        mode = ours.mode if ours is not None and ours.mode in _FILE_MODES else REGULAR
        return attrs.evolve(placed, entry=Entry(mode, placed.entry.oid))

    def _cleaned(self, unit: Unit, name: bytes, cleaner: Cleaner) -> Chain:
        """The changes of a file with the bytes of its blobs.

        Args:
            unit: the file.
            name: of the file in the index.
            cleaner: knows the file.
        """
        sides = dict.fromkeys(side for each in unit.changes for side in (each.old, each.new) if side is not None)
        cleaned = dict(zip(sides, self._clean(unit.path, name, list(sides), cleaner), strict=True))

        def side_of(side: Entry | None) -> Entry | None:
            return None if side is None else cleaned[side]

        return tuple(attrs.evolve(each, old=side_of(each.old), new=side_of(each.new)) for each in unit.changes)

    def _now(self, path: bytes, name: bytes, cleaner: Cleaner) -> Entry | None:
        """The file in the work tree, with the bytes of its blob; None for no file. Arguments as of `_cleaned`."""
        found = self._repository.read(path)
        if found is None:
            return None
        return self._clean(path, name, [self._contents.add(*found)], cleaner)[0]

    def _clean(self, path: bytes, name: bytes, entries: Sequence[Entry], cleaner: Cleaner) -> list[Entry]:
        files = [entry for entry in entries if entry.mode != SYMLINK]
        data = cleaner.clean([(path, name, self._contents.of(entry)) for entry in files])
        found = {entry: self._contents.add(entry.mode, each) for entry, each in zip(files, data, strict=True)}
        return [found.get(entry, entry) for entry in entries]


def _differing(known: Mapping[bytes, StagedFile], committed: Mapping[bytes, StagedFile]) -> set[bytes]:
    """The files that the index has in another way than the last commit."""
    gone = committed.keys() - known.keys()
    return {path for path, staged in known.items() if attrs.evolve(staged, apart=None) != committed.get(path)} | gone


def _plain(entry: Entry | None) -> Entry | None:
    return Entry(REGULAR, entry.oid) if entry is not None and entry.mode in _FILE_MODES else entry


def _without_modes(each: Change) -> Change:
    return attrs.evolve(each, old=_plain(each.old), new=_plain(each.new))


def proposed(prompts: Sequence[str], otherwise: str) -> str:
    """Makes the message of a commit from what people asked for.

    Args:
        prompts: what they asked for, the oldest first; each may have several lines.
        otherwise: what to say if there is none.

    Returns:
        A subject; and, if it does not say all, an empty line and the prompts as a list.
    """
    asked = list(dict.fromkeys(text for text in map(_one_line, prompts) if text))
    if not asked:
        return _fit(_one_line(otherwise), _SUBJECT)
    subject = _fit(asked[0], _SUBJECT)
    if asked == [subject]:
        return subject
    lines = [subject, ""]
    for text in asked[:_ITEMS]:
        # the marks keep git from taking a line for a comment
        lines += textwrap.wrap(_fit(text, _ITEM), _SUBJECT, initial_indent="- ", subsequent_indent="  ")
    if len(asked) > _ITEMS:
        lines.append(f"- and {len(asked) - _ITEMS} more")
    return "\n".join(lines)


def _one_line(text: str) -> str:
    """A text on one line, without what a terminal or git takes for something else."""
    return "".join(char for char in " ".join(text.split()) if char.isprintable()).lstrip("# ")


def _fit(text: str, room: int) -> str:
    if len(text) <= room:
        return text
    # whole words, unless there is only one
    cut = text[: room - 1]
    return (cut.rpartition(" ")[0] or cut).rstrip(" ,;:.") + "…"

"""An open workspace: what clients can do with a folder, each action handed on to the room that does it.

One request at a time writes; requests that read the store run beside it.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from snapd.core.actions.cleanup import Upkeep
from snapd.core.actions.compare import Comparison, NetChanges
from snapd.core.actions.history import History
from snapd.core.actions.known import KnownSnapshots
from snapd.core.actions.made_changes import MadeChanges
from snapd.core.actions.messages import Messages, SessionNews
from snapd.core.actions.review.blame import Attesting, Blame
from snapd.core.actions.review.looking import Looking
from snapd.core.actions.review.review import PendingFeed, Review
from snapd.core.actions.review.text_blame import TextBlame
from snapd.core.actions.sessions import Sessions
from snapd.core.actions.sharing.apply import Apply
from snapd.core.actions.sharing.fetch import FetchedSessions, Reader, Readers
from snapd.core.actions.sharing.handover import HandOver
from snapd.core.actions.sharing.push import Prune, Push
from snapd.core.actions.sharing.takeover import TakeOver
from snapd.core.actions.snapshots import Snapshots
from snapd.core.actions.steps.step_changes import StepChanges
from snapd.core.actions.undo.contested import ContestedFiles
from snapd.core.actions.undo.parts import UndoParts
from snapd.core.actions.undo.planner import UndoPlanner
from snapd.core.actions.undo.steps import UndoSteps
from snapd.core.operations.writer import Writer
from snapd.core.paths import shown
from snapd.core.ports.sharing import Fetched
from snapd.core.review.changes import Attributor
from snapd.core.review.pending import PendingFiles

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from snapd.core.answers import FormerHistory
    from snapd.core.compare.text import TextDiffer
    from snapd.core.model import RelPath
    from snapd.core.operations.editors import Editors
    from snapd.core.ports.notes import Notes
    from snapd.core.ports.policy import Policy
    from snapd.core.ports.sharing import Elsewhere
    from snapd.core.ports.store import Store
    from snapd.core.ports.work_tree import WorkTree
    from snapd.core.rules.secrets import SecretRules


class Workspace:
    """One folder under snapd's care.

    Args:
        project_id: the name of its store.
        work_tree: the folder.
        store: holds its snapshots and events.
        policy: says what to capture, and what to keep for how long.
        texts: compares texts.
        editors: knows what editors have open.
        elsewhere: the other machines.
        notes: of the project's git.
        secret_rules: gives the rules for what may be a secret.
        is_elsewhere: whether a file belongs to a repository in the folder that has a history of its own.
        former_histories: lists the histories that the folder may take as its own.

    Attributes:
        root: the folder, absolute and canonical.
        event_log: the notifications of the workspace.
        watch_changes: adds notifications of how the work tree differs from the last snapshot, see `ChangeFeed.listen`.
        listen_to_trouble: see `Writer.listen`.
        track, file_at, names, entry, status, taken_snapshots, restore, revert, export: see `Snapshots`.
        changed, diff, deltas: see `Comparison`.
        upkeep: purges, checks and repairs the store.
        cleanup, keep_house: see `Upkeep`.
        is_ignored: whether a file is ignored, as of the last capture.
        sessions: begins and ends sessions and steps.
        messages: records what people ask of agents.
        news: says what an agent has to be told, see `SessionNews.tell`.
        undo_steps: takes steps and operations back and does them again.
        undo_parts: takes back some files of a step, or some hunks.
        step_changes: says what steps changed.
        history: lists the history.
        review: shows what agents left pending, keeps it or reverts it.
        announce_pending: notifies of how much is pending, from now on.
        blame: says who wrote each line of a file, see `Blame.lines`.
        blame_text: says who wrote each line of a text that a file had, see `TextBlame.lines`.
        made_changes: lists the changes of steps one by one, see `MadeChanges.of`.
        pushing: pushes sessions to other machines.
        prune: deletes old sessions from there, see `Prune.prune`.
        fetched: fetches sessions from there, and reads them.
        net_changes: compares before and after the steps of a session of this folder, or a step.
        elsewhere: the other machines.
        hand_over: hands the folder over to another machine, see `HandOver.hand_over`.
        take_over: takes over what another machine handed over, see `TakeOver.take_over`.
        readers: finds who reads a session or a step, of this folder or a fetched one.
        apply: takes in what steps of fetched sessions changed, see `Apply.apply`.
    """

    def __init__(
        self,
        project_id: str,
        work_tree: WorkTree,
        store: Store,
        policy: Policy,
        texts: TextDiffer,
        editors: Editors,
        elsewhere: Elsewhere,
        notes: Notes,
        secret_rules: Callable[[], SecretRules],
        is_elsewhere: Callable[[RelPath], bool] = lambda _: False,
        former_histories: Callable[[], Sequence[FormerHistory]] = tuple,
    ) -> None:
        self.project_id, self.former_histories = project_id, former_histories
        self.policy = policy
        self._work_tree = work_tree
        self._store = store
        self._writer = writer = Writer(work_tree, store, policy, texts, editors)
        self.is_ignored = work_tree.is_ignored
        self.root, self.event_log = work_tree.root, writer.event_log
        self.watch_changes, self.listen_to_trouble = writer.feed.listen, writer.listen
        known = KnownSnapshots(store, elsewhere)
        snapshots = Snapshots(writer, store, known)
        self.track, self.status = snapshots.track, snapshots.status
        self.file_at, self.names, self.entry = snapshots.file_at, snapshots.names, snapshots.entry
        self.taken_snapshots, self.export = snapshots.taken, snapshots.export
        self.restore, self.revert = snapshots.restore, snapshots.revert
        self._comparison = comparison = Comparison(writer, known, texts)
        self.changed, self.diff, self.deltas = comparison.changed, comparison.diff, comparison.deltas
        self.upkeep = Upkeep(writer, store, policy, elsewhere)
        self.cleanup, self.keep_house = self.upkeep.cleanup, self.upkeep.keep_house
        self.step_changes = StepChanges(store, store, texts)
        self.sessions = Sessions(writer, store, self.step_changes)
        self.messages = Messages(writer, store.timeline, self.sessions, self.step_changes, policy)
        knowing = (self.sessions, self.step_changes, policy, former_histories)
        self.news = SessionNews(writer, store, *knowing).tell
        self.history = History(store.timeline, self.step_changes, is_elsewhere)
        planner = UndoPlanner(store, work_tree, self.step_changes)
        contested = ContestedFiles(writer, store, store.timeline, self.step_changes, planner, texts, is_elsewhere)
        undoing = (writer, self.sessions, self.step_changes, planner, store.timeline, contested)
        self.undo_steps = UndoSteps(*undoing)
        self.undo_parts = UndoParts(*undoing, store, texts)
        self.net_changes = net_changes = NetChanges(store, store.timeline, self.step_changes, self.sessions, texts)
        attributor = Attributor(store.timeline, self.step_changes.authors, is_elsewhere)
        pending_files = PendingFiles(store.timeline, store, attributor)
        looking = Looking(writer, store, attributor)
        self.review = Review(writer, store, editors, looking, pending_files, texts)
        self._pending_feed = PendingFeed(self.review, writer.event_log, writer.report_trouble)
        self.announce_pending = self._pending_feed.begin
        self.blame = Blame(writer, store, looking, attributor, texts, Attesting(notes)).lines
        self.blame_text = TextBlame(writer, store, looking, attributor, texts).lines
        self.made_changes = MadeChanges(store, self.sessions, self.step_changes).of
        self.elsewhere = elsewhere
        self.pushing = Push(store, self.sessions, self.step_changes, elsewhere, secret_rules)
        self.prune = Prune(store.timeline, elsewhere).prune
        self.fetched = FetchedSessions(elsewhere, texts)
        self.readers = Readers(store, Reader(self.sessions, net_changes), self.fetched)
        self.hand_over = HandOver(writer, store, self.step_changes, elsewhere, self.pushing).hand_over
        self.take_over = TakeOver(writer, store, self.sessions, planner, elsewhere).take_over
        self.apply = Apply(writer, store, self.sessions, planner, self.fetched).apply

    def for_other_folders(self) -> Fetched:
        """What other folders of this machine can take from this one: its sessions, as they are now."""
        folder, objects = shown(self.root), os.fsencode(os.path.join(self._store.path, "objects"))
        return Fetched(folder, folder, self._store, objects, self._store)

    def look_at_edits(self, path: bytes) -> None:
        """Looks at a file that somebody began to type into, or has saved, in an editor: what was typed is the user's.

        If that fails, `listen_to_trouble` is called, and the next look at the folder counts.

        Args:
            path: of the file, absolute and canonical.
        """
        prefix = self.root.rstrip(b"/") + b"/"
        if path.startswith(prefix):
            self._writer.look_at_edits(path[len(prefix) :])

    def check_present(self) -> None:
        """Makes sure that folder and store are still those that were opened.

        Raises:
            WorkspaceGone: the folder was moved, deleted or replaced.
            StoreCorrupt: the store was.
        """
        self._work_tree.check_present()
        self._store.check_present()

    def close(self) -> None:
        """Closes the folder and the store, once the operation that runs is done."""
        self.sessions.close()
        self._pending_feed.close()
        self.elsewhere.close()
        self._writer.close()

"""An open workspace, with an object for each group of actions on a folder.

One request at a time writes; requests that only read the store run in parallel.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import attrs

from snapd.core.actions.activity import Activity
from snapd.core.actions.cleanup import Upkeep
from snapd.core.actions.compare import Comparison, KnownSnapshots, NetChanges
from snapd.core.actions.history import ChangeRecords, History
from snapd.core.actions.messages import Messages, SessionNews
from snapd.core.actions.reports import AgentReports
from snapd.core.actions.review.blame import Blame, NoteAttribution, TextBlame
from snapd.core.actions.review.comments import Comments
from snapd.core.actions.review.overlap_views import OverlapViews
from snapd.core.actions.review.review import PendingFeed, Review, ReviewViews
from snapd.core.actions.sessions import Sessions
from snapd.core.actions.snapshots import Snapshots
from snapd.core.actions.step_changes import StepChanges
from snapd.core.actions.undo.contested import ContestedFiles
from snapd.core.actions.undo.planner import UndoPlanner
from snapd.core.actions.undo.steps import UndoSteps
from snapd.core.answers import FormerHistory
from snapd.core.compare.text import TextDiffer
from snapd.core.operations.editors import Editors
from snapd.core.operations.runner import Runner
from snapd.core.operations.writer import Writer
from snapd.core.review.changes import Attributor
from snapd.core.review.comment_place import Places
from snapd.core.review.overlaps import Overlaps
from snapd.core.review.pending import PendingFiles
from snapd.core.seams import Notes, OtherMachines, OtherSessions, Policy
from snapd.model.paths import shown
from snapd.model.snapshot import RelPath
from snapd.store.store import Store
from snapd.worktree.worktree import WorkTree


@attrs.frozen
class Seams:
    """What a workspace needs of the rest of snapd.

    `is_elsewhere` says whether a file belongs to a nested repository that has a history of its own; `former_histories`
    returns the histories that the folder may adopt.
    """

    policy: Policy
    texts: TextDiffer
    editors: Editors
    other_machines: OtherMachines
    notes: Notes
    is_elsewhere: Callable[[RelPath], bool] = lambda _: False
    former_histories: Callable[[], Sequence[FormerHistory]] = tuple


class Workspace:
    """A folder that snapd watches; `project_id` is the name of its store.

    Attributes:
        root: the folder, absolute and canonical.
        feed: notifies of how the work tree differs from the last snapshot.
        news: what an agent needs to know.
        undo_steps: undoes and redoes steps and operations, and some files or hunks of a step.
        net_changes: compares before and after the steps of a session of this folder, or a step.
        pending_feed: notifies of how much is pending.
        text_blame: blames a text that a file once had.
        made_changes: lists the changes of steps one by one.
    """

    def __init__(self, project_id: str, work_tree: WorkTree, store: Store, seams: Seams) -> None:
        self.project_id, self.former_histories = project_id, seams.former_histories
        self.policy, self._other_machines = seams.policy, seams.other_machines
        self.work_tree, self.store = work_tree, store
        texts, timeline, is_elsewhere = seams.texts, store.timeline, seams.is_elsewhere
        self.writer = writer = Writer(work_tree, store, seams.policy, texts, seams.editors)
        self.runner = runner = Runner(writer, store, seams.editors, texts)
        self.root, self.event_log, self.feed = work_tree.root, writer.event_log, writer.feed
        known = KnownSnapshots(store, seams.other_machines)
        self.snapshots = Snapshots(writer, store, known, runner)
        self.comparison = Comparison(writer, known, texts)
        self.upkeep = Upkeep(writer, store, seams.policy, seams.other_machines)
        self.step_changes = changes = StepChanges(store, timeline, texts)
        self.sessions = sessions = Sessions(writer, store, changes, seams.policy)
        self.messages = Messages(writer, timeline, sessions, changes)
        self.history = History(timeline, changes, is_elsewhere)
        self.undo_planner = planner = UndoPlanner(store, work_tree, changes)
        contested = ContestedFiles(writer, store, changes, planner, texts, is_elsewhere)
        self.undo_steps = UndoSteps(writer, store, sessions, changes, planner, runner, contested=contested, texts=texts)
        self.net_changes = NetChanges(store, timeline, changes, sessions, texts)
        attributor = Attributor(timeline, changes.authors, is_elsewhere)
        looking = ReviewViews(writer, store, attributor)
        pending_files = PendingFiles(timeline, store, attributor)
        self.review = Review(writer, store, looking, pending_files, texts, runner)
        self.activity = Activity(timeline, sessions, self.messages, self.review)
        self.pending_feed = feed = PendingFeed(self.review, timeline, writer.event_log, writer.trouble.notify)
        self.blame = blame = Blame(writer, store, looking, attributor, texts, NoteAttribution(seams.notes))
        places = Places(timeline, attributor)
        self.comments = comments = Comments(
            timeline, store, texts, places, sessions, writer, store, looking, blame, on_change=feed.look_soon
        )
        matches = Overlaps(store, attributor)
        self.overlaps = overlaps = OverlapViews(writer, store, looking, matches, blame, sessions, changes)
        self.news = SessionNews(
            writer, store, sessions, changes, seams.policy, seams.former_histories, comments, overlaps
        )
        self.reports = AgentReports(writer, store, sessions, self.messages, self.news)
        self.text_blame = TextBlame(writer, store, looking, attributor, texts)
        self.made_changes = ChangeRecords(store, sessions, changes)

    def for_other_folders(self) -> OtherSessions:
        """Returns this folder's current sessions, for other folders of this machine to use."""
        folder = shown(self.root)
        return OtherSessions(folder, folder, self.store, self.store.timeline)

    def check_edits(self, path: bytes) -> None:
        """Looks at a file (absolute, canonical path) that somebody started to type into, or saved, in an editor.

        What was typed is the user's. If it fails, `Writer.trouble` is notified, and the next look at the folder counts.
        """
        prefix = self.root.rstrip(b"/") + b"/"
        if path.startswith(prefix):
            self.writer.check_edits(path[len(prefix) :])

    def check_present(self) -> None:
        """Raises `WorkspaceGone` or `StoreCorrupt` if the folder or the store was moved, deleted or replaced."""
        self.work_tree.check_present()
        self.store.check_present()

    def close(self) -> None:
        """Closes the folder and the store, once the running operation is done."""
        self.sessions.close()
        self.pending_feed.close()
        self._other_machines.close()
        self.writer.close()

"""The shapes of the values that requests take and give, and of the params of notifications.

They are those of `snapd_client.protocol`, and some of them also have a shorter name here.
"""

from __future__ import annotations

from typing import Any, TypedDict

from snapd_client import protocol
from snapd_client.protocol import *  # noqa: F403 - all of them are public here too

Applied = protocol.SessionApplyResult
Blame = protocol.BlameResult
Check = protocol.CheckResult
Cleanup = protocol.CleanupResult
DidChange = protocol.DidChangeParams
DidRevert = protocol.DidRevertParams
DidTrack = protocol.DidTrackParams
Diff = protocol.DiffResult
DiffPage = protocol.DiffFullResult
Export = protocol.ExportResult
Events = protocol.EventsResult
ExportedSessions = protocol.SessionExportResult
FetchedSessions = protocol.SessionFetchResult
HandedOver = protocol.SessionHandoverResult
FileContent = protocol.FileAtResult
FilesPage = protocol.ListFilesResult
FoundSteps = protocol.StepFindResult
Prefixes = protocol.PrefixesResult
HistoryPage = protocol.HistoryResult
Hunks = protocol.StepHunksResult
Messages = protocol.SessionMessagesResult
News = protocol.SessionNewsResult
Purge = protocol.PurgeResult
Pushed = protocol.SessionPushResult
Review = protocol.ReviewListResult
ReviewDidChange = protocol.ReviewDidChangeParams
ReviewedFile = protocol.ReviewFileResult
SessionDidChange = protocol.SessionDidChangeParams
SessionId = protocol.SessionStartResult
Sessions = protocol.SessionListResult
SnapshotsPage = protocol.ListResult
Status = protocol.StatusResult
StepBegun = protocol.StepBeginResult
StepChanges = protocol.StepChangesResult
StepEnded = protocol.StepEndResult
Steps = protocol.SessionStepsResult
Store = protocol.StoreInfo
TakenOver = protocol.SessionTakeoverResult
Told = protocol.ToldNotification
Track = protocol.TrackResult


class InitializeResult(TypedDict):
    """The part of LSP's `InitializeResult` that snapd always gives."""

    serverInfo: dict[str, Any]
    capabilities: dict[str, Any]

"""The params and the results of `step/changes` and `session/prefixes`."""

from __future__ import annotations

from typing import Annotated

import attrs

from .values import RequestParams, TreeHash

_FILE = "Relative to the workspace root, with `/` between its parts."
_URI = "The exact `file:` URI. Present if the name is not valid UTF-8."


@attrs.frozen(kw_only=True)
class StepChangesParams(RequestParams):
    """Returns what ended steps changed and nobody undid, change by change.

    A change is there with the snapshots that have the file before and after it, for `snapshot/fileAt`. Each step is
    there with its parts. Changes of others to the same file lie between those of the steps, and are not there.
    """

    session_ids: Annotated[list[str] | None, "All steps of these sessions."] = None
    step_ids: Annotated[list[str] | None, "These steps."] = None


@attrs.frozen(kw_only=True)
class ChangeOwner:
    """A step that made a change."""

    session_id: Annotated[str, "Its session."]
    step_id: Annotated[str, "The step."]
    message_id: Annotated[str | None, "The message that it belongs to, by the agent's own id."] = None


@attrs.frozen(kw_only=True)
class StepChange:
    """One change of a file."""

    from_: Annotated[TreeHash, "A snapshot that has the file as it was before, or does not have it."]
    to: Annotated[TreeHash, "A snapshot that has the file as it was afterwards, or does not have it."]
    old_mode: Annotated[str | None, 'The mode before, such as `"100644"`. Absent if there was no file.'] = None
    new_mode: Annotated[str | None, "The mode afterwards. Absent if there was no file."] = None
    renamed_from: Annotated[
        str | None,
        "The file that was moved here, which is in the list, too. A name that is not valid UTF-8 is given as its "
        "`file:` URI.",
    ] = None
    owners: Annotated[
        list[ChangeOwner],
        "Those of the steps that made it. Empty for an operation that took back some hunks of an earlier change.",
    ]
    shared_with: Annotated[
        list[str] | None, "The ids of steps of other sessions that may have made it. Absent if there are none."
    ] = None


@attrs.frozen(kw_only=True)
class ChangedFile:
    """A file that steps changed."""

    file: Annotated[str, _FILE]
    uri: Annotated[str | None, _URI] = None
    changes: Annotated[list[StepChange], "Its changes, oldest first."]


@attrs.frozen(kw_only=True)
class StepChangesResult:
    """The result of `step/changes`."""

    files: Annotated[list[ChangedFile], "The files, ordered by file."]


@attrs.frozen(kw_only=True)
class PrefixesParams(RequestParams):
    """Returns the shortest beginnings by which to show ids and hashes: those that no other id or hash has.

    They differ from all others in the folder, fetched ones included. A beginning has at least 6 characters, unless the
    id is shorter.
    """

    ids: Annotated[list[str], "Ids of steps, sessions and messages, and hashes of snapshots."]


@attrs.frozen(kw_only=True)
class PrefixesResult:
    """The result of `session/prefixes`, in the order of the ids."""

    prefixes: Annotated[list[str], "The beginnings."]

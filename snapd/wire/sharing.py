"""The params and results of the requests about other machines: what they push, fetch, export, import and apply."""

from __future__ import annotations

from typing import Annotated, Literal

import attrs

from .session import Session
from .snapshot import DECISIONS, DETAILS, DRY_RUN, EXPECT
from .values import Days, Decision, Detail, OnConflict, Outcome, Plan, RequestParams, Signature

_REMOTE = (
    "The git repository: a URL (`https`, `http`, `ssh`, `git`, `file`), `host:path`, an absolute path, or the name of "
    "a remote of the project's git."
)
_EXCLUDE = "The files that stay on this machine, as patterns in `.gitignore` syntax."
_REDACT = "Files of which no contents that they ever had leave this machine, wherever else these are."
_SIGN = "Whether to sign what leaves the machine with an ssh key; see [Signatures](#signatures)."
_SIGNING_KEY = (
    "With `sign`: the key: a public key (`ssh-ed25519 AAAA...`), whose private key an ssh agent of the daemon has, or "
    "the absolute path of a file. Default: `user.signingKey` of the user's own git configuration."
)
_WITHOUT_PROMPTS = (
    "Whether prompts, the titles of sessions, and the descriptions and commands of steps stay on this machine."
)
_NEW_FILES = "The files that no commit there has, ordered by file; see [More than one machine](#more-than-one-machine)."
_TEXTS = "The prompts, titles, descriptions and commands among what leaves that may hold a secret."


@attrs.frozen(kw_only=True)
class NewFile:
    """A file that leaves the machine although no commit that is known there has it.

    A content with several names is there once for each of them.
    """

    file: Annotated[str, "The file, relative to the folder."]
    uri: Annotated[str | None, "Its exact name, if `file` cannot hold it."] = None
    size: Annotated[int, "Its size, in bytes."]
    reason: Annotated[
        Literal["secret", "large"] | None,
        'Why a person should look at it first: `"secret"`, it may hold one; `"large"`, it has 10 MiB or more.',
    ] = None


@attrs.frozen(kw_only=True)
class SecretText:
    """A text that leaves the machine and may hold a secret."""

    kind: Annotated[
        Literal["prompt", "title", "description", "command", "comment"],
        "What it is: a prompt, the title of a session, the description or the command of a step, or a comment.",
    ]
    session_id: Annotated[str, "Its session."]
    message_id: Annotated[str | None, "The message that it is, or that its step belongs to."] = None
    step_id: Annotated[str | None, "The step, for a description and a command."] = None
    comment_id: Annotated[str | None, "The comment, also for a reply."] = None


@attrs.frozen(kw_only=True)
class PrunedSession:
    """A session that is deleted from a remote because it is old."""

    reference: Annotated[str, "The name of its git reference there."]
    session_id: Annotated[str | None, "Its name. Absent if this machine does not know it."] = None
    host: Annotated[str, "The machine that added to it last."]
    last_at: Annotated[str, "When that was, as RFC 3339 in UTC with milliseconds."]


@attrs.frozen(kw_only=True)
class SessionPushParams(RequestParams):
    """Pushes sessions to a git repository, or deletes them there: all or none.

    What leaves the machine are the events of these sessions alone, with the snapshots that they name; see
    [More than one machine](#more-than-one-machine). Anyone who can read the repository can read them. Show the answer
    to a request with `dryRun` to the user before the first push to a remote.
    """

    remote: Annotated[str, _REMOTE]
    session_ids: Annotated[list[str] | None, "The sessions. Not with `all`."] = None
    all_: Annotated[
        bool,
        "Whether to push all sessions of the folder. With `prune`: whether to delete those of other machines, too.",
    ] = False
    exclude: Annotated[list[str] | None, _EXCLUDE] = None
    redact: Annotated[list[str] | None, _REDACT] = None
    without_prompts: Annotated[bool, _WITHOUT_PROMPTS] = False
    sign: Annotated[bool, _SIGN] = False
    signing_key: Annotated[str | None, _SIGNING_KEY] = None
    dry_run: Annotated[bool, "Whether only to report what would leave the machine."] = False
    delete: Annotated[
        bool,
        "Whether to delete the sessions from the remote instead. This machine keeps its own. Not with `all`, "
        "`exclude`, `redact`, `withoutPrompts`, `sign` or `dryRun`.",
    ] = False
    prune: Annotated[
        bool,
        "Whether to delete old sessions from the remote instead: with `olderThanDays`; also with `dryRun` and `all`. "
        "Without `all`, only those of the folder, and those that this machine added to last. Every machine keeps its "
        "own, and what it has fetched.",
    ] = False
    older_than_days: Annotated[
        Days | None, "With `prune`: delete sessions to which nobody added for this many days, 0 or more."
    ] = None


@attrs.frozen(kw_only=True)
class SessionPushResult:
    """What left the machine, or would."""

    applied: Annotated[bool, "False for a dry run, and where the folder has no session."]
    remote: Annotated[str, "The address, without a password."]
    sessions: Annotated[
        list[str],
        "The sessions that were pushed; or those that were there and are deleted, as far as their names are known.",
    ]
    bytes_: Annotated[int, "How much is sent, in bytes, as far as is known of what the remote has."]
    new_files: Annotated[list[NewFile], _NEW_FILES]
    secret_texts: Annotated[list[SecretText], _TEXTS]
    pruned: Annotated[
        list[PrunedSession] | None, "With `prune`: the sessions that are deleted, or would be, the oldest first."
    ] = None


@attrs.frozen(kw_only=True)
class SessionFetchParams(RequestParams):
    """Fetches sessions from a git repository. The folder is not touched.

    `session/list` lists them with their `origin`. The requests that read a session or a step also read these.
    """

    remote: Annotated[str, _REMOTE]
    session_ids: Annotated[list[str] | None, "The sessions. Default: all that are there."] = None
    dry_run: Annotated[bool, "Whether only to report what would come: it is fetched, checked, and thrown away."] = False


@attrs.frozen(kw_only=True)
class SessionFetchResult:
    """What came from another machine."""

    sessions: Annotated[list[Session], "The sessions that are new, or others than they were when last fetched."]


@attrs.frozen(kw_only=True)
class SessionExportParams(RequestParams):
    """Writes sessions to a file, a git bundle: all or none. Only the user of the daemon can read the file.

    It has what a push sends. Where the project has a commit that others are likely to have, the file leaves out what
    that commit has, and names it as a prerequisite.
    """

    file: Annotated[str, "Where to: an absolute path, or a `file:` URI, at which nothing is."]
    session_ids: Annotated[list[str] | None, "The sessions. Not with `all`."] = None
    all_: Annotated[bool, "Whether to write all sessions of the folder."] = False
    exclude: Annotated[list[str] | None, _EXCLUDE] = None
    redact: Annotated[list[str] | None, _REDACT] = None
    without_prompts: Annotated[bool, _WITHOUT_PROMPTS] = False
    sign: Annotated[bool, _SIGN] = False
    signing_key: Annotated[str | None, _SIGNING_KEY] = None
    dry_run: Annotated[bool, "Whether only to say what would be written."] = False


@attrs.frozen(kw_only=True)
class SessionExportResult:
    """What was written, or would be."""

    applied: Annotated[bool, "False for a dry run, and where the folder has no session: there is no file then."]
    sessions: Annotated[list[str], "The sessions in the file."]
    bytes_: Annotated[int, "The size of the file, in bytes."]
    new_files: Annotated[list[NewFile], _NEW_FILES]
    secret_texts: Annotated[list[SecretText], _TEXTS]


@attrs.frozen(kw_only=True)
class SessionImportParams(RequestParams):
    """Imports the sessions of a file that `session/export` wrote, as if they had been fetched.

    The folder is not touched. The `remote` of their `origin` is the path of the file.
    """

    file: Annotated[str, "The file: an absolute path, or a `file:` URI."]


@attrs.frozen(kw_only=True)
class SessionApplyParams(RequestParams):
    """Applies what fetched steps changed, or steps of another folder (`from`), with the same three-way merge as a redo.

    The result is a new step in a new session, which can be undone. Send either `sessionId` or `stepIds`.
    If the signature of the session is bad, the request fails with `untrusted`.
    """

    session_id: Annotated[
        str | None, "A fetched session: what its steps changed and what of that was not undone there."
    ] = None
    step_ids: Annotated[
        list[str] | None,
        "Fetched steps of one session, with their parts. What a step changed counts even if it was undone there.",
    ] = None
    from_: Annotated[
        str | None,
        "Another folder of this machine, as an absolute path or a `file:` URI: another work tree, or a clone. Then the "
        "session or the steps are its own, and need not be fetched. Nothing in it is changed.",
    ] = None
    dry_run: Annotated[bool, DRY_RUN] = False
    expect: Annotated[Plan | None, EXPECT] = None
    on_conflict: Annotated[
        OnConflict | None,
        'What to do with a file that is not as the steps found it. Default: `"merge"`. See [Conflicts](#conflicts).',
    ] = None
    decisions: Annotated[dict[str, Decision] | None, DECISIONS] = None
    details: Annotated[Detail | None, DETAILS] = None


@attrs.frozen(kw_only=True)
class SessionApplyResult(Outcome):
    """What `session/apply` did."""

    step_id: Annotated[str | None, "The new step of this folder. Absent if nothing was changed."] = None
    signature: Annotated[
        Signature | None, "The signature of the session. Absent if it is not signed, and with `from`."
    ] = None


_FILE = "Instead of `remote`: a bundle file, absolute."


@attrs.frozen(kw_only=True)
class SessionHandoverParams(RequestParams):
    """Hands the folder over to another machine: all files as they are, all sessions, and what is pending.

    Nothing changes here. Send either `remote` or `file`. Show the answer to a request with `dryRun` to the user before
    the first handover to a remote.
    """

    remote: Annotated[str | None, _REMOTE] = None
    file: Annotated[str | None, f"{_FILE} It must not exist yet."] = None
    name: Annotated[
        str | None,
        "The name by which the other machine asks for it: up to 64 letters, digits, dashes and underscores. By "
        "default it is made of the names of the folder and this machine, so a later handover replaces an earlier one.",
    ] = None
    include: Annotated[list[str] | None, "Ignored files that go with it, such as `.env`."] = None
    exclude: Annotated[list[str] | None, _EXCLUDE] = None
    redact: Annotated[list[str] | None, _REDACT] = None
    without_prompts: Annotated[bool, _WITHOUT_PROMPTS] = False
    sign: Annotated[bool, _SIGN] = False
    signing_key: Annotated[str | None, _SIGNING_KEY] = None
    dry_run: Annotated[bool, "Whether only to report what would leave the machine."] = False


@attrs.frozen(kw_only=True)
class SessionHandoverResult:
    """What was handed over, or would be."""

    applied: Annotated[bool, "False for a dry run."]
    name: Annotated[str, "By which the other machine asks for it."]
    remote: Annotated[str, "The address, without a password; or the file."]
    sessions: Annotated[list[str], "The sessions that go with it."]
    bytes_: Annotated[int, "How much is sent, in bytes, as far as is known of what the remote has."]
    new_files: Annotated[list[NewFile], _NEW_FILES]
    secret_texts: Annotated[list[SecretText], _TEXTS]


@attrs.frozen(kw_only=True)
class SessionTakeoverParams(RequestParams):
    """Takes over what another machine handed over.

    Its files are merged into the folder as it is, and its sessions become sessions of this folder, as if all of that
    had happened here. Send either `remote` or `file`.
    """

    remote: Annotated[str | None, _REMOTE] = None
    file: Annotated[str | None, _FILE] = None
    name: Annotated[str | None, "Of the handover. Default: the only one that nobody took over yet."] = None
    dry_run: Annotated[bool, DRY_RUN] = False
    expect: Annotated[Plan | None, EXPECT] = None
    on_conflict: Annotated[
        OnConflict | None,
        'What to do with a file that changed on both machines. Default: `"merge"`. With `"overwrite"`, the version of '
        "this machine is only in the snapshot `before`. See [Conflicts](#conflicts).",
    ] = None
    decisions: Annotated[dict[str, Decision] | None, DECISIONS] = None
    details: Annotated[Detail | None, DETAILS] = None


@attrs.frozen(kw_only=True)
class SessionTakeoverResult(Outcome):
    """What `session/takeover` did."""

    name: Annotated[str, "The handover."]
    host: Annotated[str, "The machine that handed over, as that names itself."]
    sessions: Annotated[list[Session], "The sessions that have something new. Empty for a dry run."]
    signature: Annotated[Signature | None, "The signature of the handover. Absent if it is not signed."] = None
    told: Annotated[
        bool,
        "Whether the machine that handed over can see that this one took over. False for a dry run, a file, or a "
        "remote that accepted no note.",
    ]

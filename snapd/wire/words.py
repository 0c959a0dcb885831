"""The vocabulary for people: what every face calls reasons, outcomes, states, operations, errors and agents.

`make generate` writes the same tables and rules for the clients in TypeScript and Lua. A word that only a newer daemon
knows stays as it is.
"""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING, Any, NamedTuple

from .agent_words import TITLES_AND_COLOURS
from .errors import ERRORS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

REASONS = {
    "already": "already in this state",
    "changedMeanwhile": "changed while this ran",
    "changedSince": "changed since",
    "clash": "another file of this request needs its place",
    "conflictsElsewhere": "other files conflict",
    "deletedSince": "deleted since",
    "directoryNotEmpty": "the folder has other files",
    "ignored": "ignored",
    "inTheWay": "something that no snapshot has is in its place",
    "onBranch": "the change is on another branch",
    "occupied": "something else has its name",
    "onlyCopy": "the only copy of a file that was never captured",
    "permissions": "its permissions cannot be set",
    "purged": "its contents were purged",
    "renamedSince": "moved since",
    "shared": "another agent may have changed it too",
    "special": "neither a regular file nor a link",
    "stashed": "the change is in a stash",
    "storeCorrupt": "its contents in the store are damaged",
    "tooLarge": "too large",
    "unreadable": "cannot be read",
    "unsavedInEditor": "an editor has unsaved text of it",
    "byGit": "git put it there",
    "unstable": "keeps changing",
    "unsupportedName": "its name is not supported",
}
"""Why a file is not what was asked for: each reads well in parentheses, after a colon, and as a sentence."""

SYSTEM_ERRORS = {
    "EACCES": "permission denied",
    "EAGAIN": "temporarily unavailable",
    "EBUSY": "in use",
    "EDQUOT": "disk quota exceeded",
    "EEXIST": "file exists",
    "EFBIG": "file too large",
    "EILSEQ": "the file system does not allow this name",
    "EINTR": "interrupted",
    "EINVAL": "invalid argument",
    "EIO": "input/output error",
    "EISDIR": "is a directory",
    "ELOOP": "too many symbolic links",
    "EMFILE": "too many open files",
    "EMLINK": "too many links",
    "ENAMETOOLONG": "file name too long",
    "ENFILE": "too many open files in the system",
    "ENODEV": "no such device",
    "ENOENT": "no such file or directory",
    "ENOMEM": "out of memory",
    "ENOSPC": "no space left on device",
    "ENOTDIR": "not a directory",
    "ENOTEMPTY": "directory not empty",
    "ENOTSUP": "operation not supported",
    "ENXIO": "no such device or address",
    "EOPNOTSUPP": "operation not supported",
    "EPERM": "operation not permitted",
    "EROFS": "read-only file system",
    "ESTALE": "stale file handle",
    "ETIMEDOUT": "timed out",
    "ETXTBSY": "program is running",
    "EXDEV": "on another file system",
}
"""The errors of the system that file operations report."""


class OutcomeWords(NamedTuple):
    """What happened to a file, and what a plan will do with it: "3 merged", "merge: a.txt"."""

    done: str
    planned: str


OUTCOMES = {
    "restored": OutcomeWords("restored", "restore"),
    "merged": OutcomeWords("merged", "merge"),
    "deleted": OutcomeWords("deleted", "delete"),
    "conflict": OutcomeWords("in conflict", "conflict"),
    "kept": OutcomeWords("kept", "keep"),
    "skipped": OutcomeWords("skipped", "skip"),
    "failed": OutcomeWords("failed", "fail"),
    "unchanged": OutcomeWords("unchanged", "leave unchanged"),
}
"""In the order in which a summary has them."""

WRITTEN_OUTCOMES = ("restored", "merged", "deleted")
LEFT_OUTCOMES = ("conflict", "kept", "skipped", "failed")
ELSEWHERE_REASONS = ("onBranch", "stashed")
"""The file is as requested here, but the step stays in force on a branch or in a stash."""
ABSENT_REASONS = ("already", *ELSEWHERE_REASONS)
"""There was nothing to do: the file has none of the change."""


class OperationWords(NamedTuple):
    """An operation as a verb and as a noun: "undid 2 steps", "by an undo"."""

    past: str
    noun: str


OPERATIONS = {
    "restore": OperationWords("restored", "a restore"),
    "revert": OperationWords("reverted", "a revert"),
    "undo": OperationWords("undid", "an undo"),
    "redo": OperationWords("redid", "a redo"),
    "unrevert": OperationWords("brought back", "an unrevert"),
    "hunks": OperationWords("reverted parts of", "a revert of parts"),
}

STATES = {"open": "running", "applied": "", "partly": "partly undone", "undone": "undone"}
"""What has become of a step; nothing for the usual case."""

AUTHORS = {"user": "you", "unknown": "someone"}

SIGNATURES = {
    "good": "signed",
    "partial": "signed in part",
    "unknown": "signed with an unknown key",
    "bad": "bad signature",
    "unchecked": "signature not checked",
}

SNAPSHOT_KINDS = {
    "track": "requested",
    "look": "looked at",
    "begin": "before step",
    "end": "after step",
    "message": "at a prompt",
    "before": "before",
    "after": "after",
}
"""Why a snapshot was recorded; a step or an operation follows."""

ERROR_TITLES = {error.kind: error.title for error in ERRORS.values()}


class AgentColour(NamedTuple):
    """A colour for an agent.

    Attributes:
        name: a short word.
        light: on a light ground, as CSS writes it.
        dark: on a dark ground.
        terminal: its number among the 256 colours of terminals; readable on both grounds.
    """

    name: str
    light: str
    dark: str
    terminal: int


PALETTE = (
    AgentColour("orange", "#a04a08", "#f0a35e", 130),
    AgentColour("blue", "#1461b0", "#6cb2f5", 32),
    AgentColour("violet", "#6b46c1", "#b8a0f7", 98),
    AgentColour("teal", "#0b6e6e", "#4fc4c4", 30),
    AgentColour("magenta", "#a8198a", "#f08ad8", 163),
    AgentColour("olive", "#626200", "#c4c45a", 100),
    AgentColour("indigo", "#4549c4", "#9aa0ff", 63),
    AgentColour("slate", "#3b6289", "#93b8dc", 67),
)
"""Neither green nor red, which stand for added and deleted lines."""


class AgentWords(NamedTuple):
    """What people call an agent, and its colour: a name in the palette."""

    title: str
    colour: str


AGENTS = {name: AgentWords(title, colour) for name, (title, colour) in TITLES_AND_COLOURS.items()}


def reason_text(reason: str, branch: str | None = None) -> str:
    """A reason in words; an unknown one stays as it is.

    Args:
        reason: as the wire has it, or the name of an error of the system, such as "EACCES".
        branch: the branch that has the change.
    """
    if branch is not None:
        return f"the change is on branch {branch}"
    return REASONS.get(reason) or system_error(reason) or reason


def system_error(reason: str) -> str | None:
    """The words for the name of an error of the system; None for any other reason."""
    number = getattr(errno, reason, None)
    return SYSTEM_ERRORS.get(reason) or (os.strerror(number).lower() if isinstance(number, int) else None)


def error_title(kind: str) -> str:
    """A heading for a kind of error; an unknown one stays as it is."""
    return ERROR_TITLES.get(kind, kind)


def agent_title(agent: str) -> str:
    """What people call an agent."""
    return AGENTS[agent].title if agent in AGENTS else agent


def agent_colour(agent: str) -> AgentColour:
    """The colour of an agent: the same everywhere and every time."""
    if agent in AGENTS:
        return next(colour for colour in PALETTE if colour.name == AGENTS[agent].colour)
    number = 0
    for byte in agent.encode("utf-8", "surrogatepass"):
        number = (number * 31 + byte) % 65521
    return PALETTE[number % len(PALETTE)]


def is_empty(step: Mapping[str, Any]) -> bool:
    """Whether lists leave a step out: it is over, changed nothing, and is a single call or has no title.

    Agents call tools to look as well, and `snapd run` begins a step in case something happens.
    """
    if step["state"] == "open" or any(step.get(name) for name in ("files", "uncaptured", "late", "git")):
        return False
    return "partId" in step or not any(name in step for name in ("tool", "description", "messageId"))


GIT_REASONS = {
    "reftable": "its refs are in the reftable format",
    "sha256": "its objects have SHA-256 ids",
    "subfolder": "the folder is below the root of the repository",
    "unreadable": "it cannot be read",
    "objects": "not all its objects are kept: some are borrowed, large and on another disk, or beside purged contents",
}
"""Why the state of a folder's git is not recorded."""

_REF_KINDS = {"refs/heads/": "branch ", "refs/tags/": "tag "}

GIT_PART_REASONS = {
    "moved": "it has changed since",
    "checkedOut": "it is checked out",
    "checkedOutElsewhere": "another work tree has it checked out",
    "locked": "git is at work: a lock file exists",
    "missing": "objects that it needs are missing",
    "unrecorded": "it was not recorded",
    "shared": "another agent may have changed it too",
    "failed": "git refused",
}
"""Why a part of the git state is left, by `GitLeft.reason`."""


def git_words(change: Mapping[str, Any]) -> str:
    """Describes a `GitChange` in a line, such as "main 5f3c21a → 9a1b22c, branch topic deleted"."""
    parts = [f"repository {change['repository']}"] if "repository" in change else []
    if "head" in change:
        parts.append(f"HEAD {_ref_name(change['head']['before'])} → {_ref_name(change['head']['after'])}")
    parts += map(_ref_words, change["refs"])
    if "staged" in change:
        parts.append(f"staged {change['staged']['before']} → {change['staged']['after']}")
    if "operation" in change:
        before, after = change["operation"]["before"], change["operation"]["after"]
        parts += [f"{before} ended"] if before != "none" else []
        parts += [f"{after} in progress"] if after != "none" else []
    return ", ".join(parts)


def git_lines(outcome: Mapping[str, Any], how: str | None, changes: str = "git", *, redone: bool = False) -> list[str]:
    """Describes a `GitOutcome` in lines.

    `how` is what asks for git as well, None if nothing does any longer; `changes` begins the line about it.
    """
    words = git_words(outcome["changes"])
    if "left" in outcome:
        stays, verb = ("undone", "redoes that") if redone else ("as it is", "takes that back")
        return [f"git stays {stays}: {words}" + (f"; {how} {verb}, too" if how else "")]
    reasons = [(each["part"], each["reason"]) for each in outcome.get("reasons", ())]
    left = [f"left in git: {part}: {GIT_PART_REASONS.get(reason, reason)}" for part, reason in reasons]
    return [*([f"{changes}: {words}"] if words else []), *left]


def moves_git(outcome: Mapping[str, Any] | None) -> bool:
    """Whether a `GitOutcome` says that git is changed, and not only what stays."""
    return outcome is not None and "left" not in outcome and git_words(outcome["changes"]) != ""


def _ref_words(ref: Mapping[str, Any]) -> str:
    kind, name = "", ref["ref"].removeprefix("refs/")
    for prefix, word in _REF_KINDS.items():
        if ref["ref"].startswith(prefix):
            kind, name = word, ref["ref"].removeprefix(prefix)
    if "before" in ref and "after" in ref:
        before, after = _ref_name(ref["before"]), _ref_name(ref["after"])
        words = f"{name} changed" if before == after else f"{name} {before} → {after}"
    else:
        words = f"{kind}{name} deleted" if "before" in ref else f"{kind}{name} created at {_ref_name(ref['after'])}"
    return f"{words} (behind {ref['behind'].removeprefix('refs/remotes/')})" if "behind" in ref else words


def _ref_name(value: str) -> str:
    """Shortens the full name of a branch, or the id of a commit."""
    name = value.removeprefix("ref: ")
    return name.removeprefix("refs/heads/") if "/" in name else name[:7]


def comment_lines(comments: Iterable[Mapping[str, Any]], most: int | None = None) -> list[str]:
    """Describes comments for an agent: a mark before each line of code and of a person's text sets them off.

    `most` is how many characters one comment may take; more is cut off.
    """
    lines = [
        (
            "snapd: a person commented on lines of this project. In each comment, '|' begins the lines as they were "
            "then, and '>' what the person says."
        )
    ]
    for comment in comments:
        last = comment["start"] + comment["count"] - 1
        where = f"line {last}" if last == comment["start"] else f"lines {comment['start']} to {last}"
        gone = ", which are gone by now" if "outdated" in comment else ""
        lines += ["", f"Comment {comment['commentId'][:COMMENT_DIGITS]} on {_visible(comment['file'])}, {where}{gone}:"]
        lines += _cut(_quoted("|", comment["lines"]), None if most is None else most // 4)
        texts = _quoted(">", comment["text"])
        for reply in comment["replies"]:
            texts.append("The person replied:" if reply["author"] == "user" else "An agent replied:")
            texts += _quoted(">", reply["text"])
        lines += _cut(texts, None if most is None else most * 3 // 4)
    lines += [
        "",
        (
            "Answer with the tool 'reply' of snapd, or with 'snapd comment --reply ID TEXT'; 'snapd comment --resolve "
            "ID' resolves a comment."
        ),
    ]
    return lines


def overlap_lines(overlaps: Iterable[Mapping[str, Any]]) -> list[str]:
    """Describes to an agent what other agents changed in its files."""
    lines = ["snapd: another agent changed files that you work on. Read them again before you edit them."]
    groups: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for overlap in overlaps:
        groups.setdefault((overlap["file"], overlap["sessionId"]), []).append(overlap)
    for (file, _), group in groups.items():
        last, where = group[-1], ""
        spans = [(each["start"], each["start"] + each["count"] - 1) for each in group if "start" in each]
        if spans:
            start, end = min(first for first, _ in spans), max(end for _, end in spans)
            where = f", line {start}" if start == end else f", lines {start} to {end}"
        who = agent_title(last["agent"]) if last.get("agent") else "an agent"
        steps = f"step {last['stepId']}" + (f" and {len(group) - 1} before it" if len(group) > 1 else "")
        lines.append(f"- {_visible(file)}{where}: {_visible(who)} at {last['at'][11:16]} UTC ({steps})")
    return lines


def overlap_line(overlaps: Iterable[Mapping[str, Any]]) -> str:
    """What other agents had changed in the files of a step, in one line for people."""
    files: dict[str, list[str]] = {}
    for overlap in overlaps:
        names = files.setdefault(agent_title(overlap["agent"]) if overlap.get("agent") else "an agent", [])
        if overlap["file"] not in names:
            names.append(overlap["file"])
    return "did not know " + ", or ".join(
        f"what {who} had changed in {', '.join(names)}" for who, names in files.items()
    )


def news_lines(news: Mapping[str, Any]) -> list[str]:
    """Describes to an agent the overlaps and comments of some news; nothing if there are none."""
    overlaps = overlap_lines(news["overlaps"]) if news.get("overlaps") else []
    comments = comment_lines(news["comments"], TOLD_AT_ONCE) if news.get("comments") else []
    return [*overlaps, *([""] if overlaps and comments else []), *comments]


COMMENT_DIGITS = 8
"""How many digits of a comment's id people and agents see."""
TOLD_AT_ONCE = 6000
"""The most characters of a comment in a message to an agent: some agents cut messages at 10,000."""


def _cut(lines: list[str], most: int | None) -> list[str]:
    for at, line in enumerate(lines):
        most = None if most is None else most - len(line) - 1
        if most is not None and most < 0:
            return [*lines[:at], line[:most], "(cut off: snapd's tool 'comments', or 'snapd comments', has the rest)"]
    return lines


def _quoted(mark: str, text: str) -> list[str]:
    # only a line feed begins a line, so that nothing else can end a quotation
    return [f"{mark} {_visible(line)}".rstrip() for line in text.removesuffix("\n").split("\n")]


def _visible(text: str) -> str:
    """Shows control characters, and what else looks like a line break, as escapes."""
    return "".join(
        each if each.isprintable() or each == "\t" else each.encode("unicode_escape", "surrogatepass").decode()
        for each in text
    )

"""What git says when it could not do what was asked, as errors of the contract."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

from snapd.core.errors import RemoteFailed

from .address import without_secret

if TYPE_CHECKING:
    from .program import Finished

Reason = Literal["unreachable", "refused", "interrupted", "auth"]

_REASONS: tuple[tuple[Reason, str], ...] = (
    (
        "auth",
        (
            r"authentication failed|permission denied|could not read (username|password)|terminal prompts disabled"
            r"|host key verification failed|the requested url returned error: 40[13]|access denied"
        ),
    ),
    (
        "interrupted",
        (
            r"early eof|hung up unexpectedly|unexpected disconnect|rpc failed|connection reset|broken pipe|timed out"
            r"|unexpected end|the remote end hung up|invalid index-pack output|index-pack failed|unpack-objects failed"
            r"|pack-objects died|send disconnect|fatal: expected |unexpected acknowledgment"
        ),
    ),
    (
        "unreachable",
        (
            r"could not resolve|couldn.t resolve|connection refused|does not appear to be a git repository|not found"
            r"|failed to connect|couldn.t connect|unable to connect|no such file or directory|no route to host"
            r"|could not read from remote repository|dubious ownership|unable to access|bad line length"
            r"|protocol error|invalid ls-refs|not valid: is this a git repository"
        ),
    ),
    ("refused", r"^remote: |^fatal: remote error: |remote rejected|shallow update|matches more than one"),
)
_HINTS: dict[Reason, str] = {
    "auth": "check that you may use this address, and that your credential helper or ssh agent lets git in unasked",
    "interrupted": "try again: nothing was done",
    "unreachable": "check the address and the connection, then try again",
    "refused": "ask whoever keeps the remote to accept this, or choose another one",
}
_NOISE = ("hint:", "warning:", "To ", "From ")
_FULL = re.compile(r"^(?!remote:).*(no space left on device|disk quota exceeded)", re.MULTILINE | re.IGNORECASE)
_UNSOUND = re.compile(
    r"^(?!remote:).*?(object [0-9a-f]{40}: .*|fsck error.*|pack has bad object.*|pack is corrupted.*|bad object type.*"
    r"|object of unexpected type.*|inflate returned.*|serious inflate.*|unknown object type.*|unresolved deltas.*"
    r"|delta base offset.*|failed to apply delta.*|did not send all necessary objects|sha1 collision.*|hash mismatch.*"
    r"|index-pack died of signal 2[45]|out of memory.*|attempting to allocate.*)",
    re.MULTILINE | re.IGNORECASE,
)
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]+")


def failed(address: str, done: Finished) -> RemoteFailed:
    """The error of a git command that failed.

    Args:
        address: with whom it spoke.
        done: what it said.
    """
    said = done.said.lower()
    # git has many words for a line that broke in the middle of something, and often none
    reason: Reason = next(
        (reason for reason, pattern in _REASONS if re.search(pattern, said, re.MULTILINE)), "interrupted"
    )
    return error(address, reason, _first_line(done))


def is_full_here(done: Finished) -> bool:
    """Whether a fetch failed because this machine has no space left."""
    return _FULL.search(done.said) is not None


def what_is_wrong(done: Finished) -> str:
    """What git found wrong with what a remote sent: forged, damaged, or more than it may use; or nothing."""
    found = _UNSOUND.search(done.said)
    return "" if found is None else _CONTROL.sub(" ", found[1])


def remote_said(done: Finished) -> str:
    """The first line that the remote itself had to say, such as why a hook of it refused something; or nothing."""
    lines = [line.removeprefix("remote:").strip() for line in done.said.splitlines() if line.startswith("remote:")]
    return next(filter(None, lines), "")


def error(address: str, reason: Reason, said: str) -> RemoteFailed:
    """The error of a remote.

    Args:
        address: the remote.
        reason: why it failed.
        said: what git, or the remote, said about it.
    """
    shown = without_secret(address)
    # a remote may say anything, such as what moves the cursor of a terminal
    said = _CONTROL.sub(" ", said.replace(address, shown)).strip()
    return RemoteFailed(f"{shown}: {said}", hint=_HINTS[reason], remote=shown, reason=reason)


def _first_line(done: Finished) -> str:
    lines = [line.strip() for line in done.said.splitlines() if line.strip() and not line.startswith(_NOISE)]
    wrong = [line for line in lines if line.startswith(("fatal:", "error:", "remote:"))]
    line = next(iter(wrong or lines), f"git ended with {done.code}")
    return re.sub(r"^(fatal|error|remote): *", "", line)

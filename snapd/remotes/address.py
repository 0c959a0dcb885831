"""Addresses of git repositories, as people write them.

An address may be untrusted, such as one in the configuration of a downloaded project. So git only gets paths and
protocols that cannot run a program of the address's choosing (git's `ext::` runs any command, and words with a dash are
options).
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from snapd.model.errors import InvalidParams

if TYPE_CHECKING:
    from collections.abc import Mapping

PROTOCOLS = ("file", "git", "http", "https", "ssh")
"""The protocols that git may use."""

_URL = re.compile(r"([a-zA-Z][a-zA-Z0-9+.-]*)://(?:([^/@]*)@)?([^/]*)(/.*)?", re.DOTALL)
_SCP = re.compile(r"(?:[^/@:]+@)?[^-/@:][^/@:]*:(?!:).+", re.DOTALL)
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_HINT = "give a URL (https, ssh, git, file), 'host:path', an absolute path, or the name of a remote of the project"


def resolve(remote: str, named: Mapping[str, str]) -> str:
    """Returns the address for a URL, an scp address, an absolute path, or the name of a remote in `named`.

    Raises `InvalidParams` (`data["field"]` is `remote`) if git cannot or must not use it.
    """
    if remote in named:
        return _checked(named[remote], f"the address of the remote {remote!r}")
    if is_address(remote):
        return _checked(remote, "remote")
    known = ", ".join(sorted(named)) or "none"
    raise InvalidParams(
        f"remote: {remote!r} is not an address, and the project has no remote of this name (it has: {known})",
        hint=_HINT,
        field="remote",
    )


def is_address(remote: str) -> bool:
    """Returns whether this is an address rather than a name."""
    return os.path.isabs(remote) or _URL.fullmatch(remote) is not None or _SCP.fullmatch(remote) is not None


def is_relative(address: str) -> bool:
    """Returns whether git takes this for a relative path: one without a host, which would end in a colon."""
    return not os.path.isabs(address) and ":" not in address.partition("/")[0]


def without_secret(address: str) -> str:
    """Removes the password from an address, for display."""
    match = _URL.fullmatch(address)
    if match is None or not match[2] or ":" not in match[2]:
        return address
    user = match[2].partition(":")[0]
    return f"{match[1]}://{user}@{match[3]}{match[4] or ''}"


def _checked(address: str, what: str) -> str:
    match = _URL.fullmatch(address)
    if _CONTROL.search(address) or address.startswith("-"):
        wrong = "is not a valid address"
    elif match is not None and match[1].lower() not in PROTOCOLS:
        wrong = f"uses the protocol {match[1]!r}"
    elif match is not None and (match[3].startswith("-") or (match[2] or "").startswith("-")):
        wrong = "is not a valid address"
    elif match is not None or is_address(address):
        return address
    else:
        wrong = "is not a valid address"
    raise InvalidParams(f"{what}: {without_secret(address)!r} {wrong}", hint=_HINT, field="remote")

"""What the git of a project, and of its user, says about other machines: read as data, and nothing of it is run."""

from __future__ import annotations

import os
import re

import attrs

from .repository import GitUser, Repository, expanded, variables

_URL = re.compile(r"remote\.(.+)\.url", re.DOTALL)
_LETS_IN = re.compile(r"credential\..*|core\.(askpass|sshcommand)|ssh\.variant", re.DOTALL)


def named_remotes(repository: Repository, user: GitUser) -> dict[str, str]:
    """The first address of each remote of a project, by its name; none if its configuration cannot be read.

    Args:
        repository: of the project.
        user: whose home directory the configuration may name.
    """
    found: dict[str, str] = {}
    for name, value in variables(_path(repository.common_dir, "config"), user.home) or ():
        remote = _URL.fullmatch(name)
        if remote is not None:
            found.setdefault(remote[1], value)
    return found


def access_settings(user: GitUser) -> list[tuple[str, str]]:
    """The variables of the user's and the system's git that let git in at other machines, in their order.

    A project's own configuration does not count: whoever made the project could have any program run.
    """
    return [
        (name, value)
        for path in user.configs
        if os.path.exists(path)
        for name, value in variables(path, user.home) or ()
        if _LETS_IN.fullmatch(name)
    ]


@attrs.frozen
class SigningSettings:
    """What the user's and the system's git say about signing with ssh keys.

    Attributes:
        format: the kind of signatures that git makes, `gpg.format`; None if it is not set, which means OpenPGP.
        key: `user.signingKey`: a public key, or the path of a file; None if it is not set.
        program: what signs and verifies, `gpg.ssh.program`; None for `ssh-keygen`.
        allowed_signers: the file that says whose keys count, absolute; None if none is named.
        revoked: the file with the keys that do not count any more, absolute; None if none is named.
    """

    format: str | None = None
    key: str | None = None
    program: str | None = None
    allowed_signers: str | None = None
    revoked: str | None = None


def signing_settings(user: GitUser) -> SigningSettings:
    """The settings for signatures; a project's own configuration does not count, as for `access_settings`.

    A relative path of a file counts as none: git looks for it in the project.
    """
    found = {
        name: value for path in user.configs if os.path.exists(path) for name, value in variables(path, user.home) or ()
    }

    def file(name: str) -> str | None:
        return expanded(found.get(name, ""), user.home, None) or None

    program = found.get("gpg.ssh.program") or None
    return SigningSettings(
        found.get("gpg.format"),
        found.get("user.signingkey") or None,
        expanded(program, user.home, None) if program and "/" in program else program,
        file("gpg.ssh.allowedsignersfile"),
        file("gpg.ssh.revocationfile"),
    )


def _path(directory: bytes, name: str) -> str:
    return os.path.join(os.fsdecode(directory), name)

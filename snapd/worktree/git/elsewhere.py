"""What the git of a project, and of its user, says about other machines: read as data, and nothing of it is run."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from .repository import variables

if TYPE_CHECKING:
    from .repository import GitUser, Repository

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


def _path(directory: bytes, name: str) -> str:
    return os.path.join(os.fsdecode(directory), name)

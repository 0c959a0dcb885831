"""The user's git program, run in the project without executing anything of the project's."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping

import attrs

from snapd.model.errors import IoError, SnapdError

_KEPT = ("PATH", "HOME", "XDG_CONFIG_HOME", "TMPDIR", "USER", "LOGNAME", "SYSTEMROOT")
_SETTINGS = (
    # hooks such as `reference-transaction` and `post-index-change`
    ("core.hooksPath", os.devnull),
    ("core.fsmonitor", "false"),
    ("core.useReplaceRefs", "false"),
    # a ref that is moved must not be empty after a power loss
    ("core.fsync", "all"),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
)
_IDENTITY = {f"GIT_COMMITTER_{part}": text for part, text in (("NAME", "snapd"), ("EMAIL", "snapd@localhost"))}
"""Who is in the reflog."""


class GitProgramFailed(SnapdError):
    """The project's git ended with an error; `data["command"]` is what was run."""

    kind = "ioError"
    default_hint = "run 'git fsck' in the project, and remove the cause that git names"


@attrs.frozen
class ProjectGit:
    """Git in one repository: `git_dir` of the work tree at `root`, with the daemon's `environment`."""

    root: bytes
    git_dir: bytes
    environment: Mapping[str, str]

    def attempt(
        self,
        *words: str | bytes,
        data: bytes = b"",
        objects: str | None = None,
        work_tree: bytes | None = None,
        variables: Mapping[str, str] | None = None,
    ) -> subprocess.CompletedProcess[bytes]:
        """Runs a command.

        Args:
            words: the command and its arguments.
            data: its standard input.
            objects: one more directory of objects that it can read.
            work_tree: a directory in place of the work tree.
            variables: more of the environment.

        Raises `IoError` if there is no git.
        """
        settings = {
            f"GIT_CONFIG_{part}_{at}": text
            for at, pair in enumerate(_SETTINGS)
            for part, text in zip(("KEY", "VALUE"), pair, strict=True)
        }
        environment = {
            **{name: self.environment[name] for name in _KEPT if name in self.environment},
            **settings,
            **_IDENTITY,
            "GIT_CONFIG_COUNT": str(len(_SETTINGS)),
            # nothing is fetched in a partial clone
            "GIT_ALLOW_PROTOCOL": "none",
            "GIT_NO_LAZY_FETCH": "1",
            "GIT_LITERAL_PATHSPECS": "1",
            "GIT_OPTIONAL_LOCKS": "0",
            "GIT_TERMINAL_PROMPT": "0",
            "LC_ALL": "C",
            **({} if objects is None else {"GIT_ALTERNATE_OBJECT_DIRECTORIES": objects}),
            **(variables or {}),
        }
        command = ["git", b"--git-dir=" + self.git_dir, b"--work-tree=" + (work_tree or self.root), *words]
        try:
            return subprocess.run(
                command, cwd=work_tree or self.root, input=data, env=environment, capture_output=True, check=False
            )
        except OSError as error:
            raise IoError(
                f"git cannot be run: {error.strerror}", hint="install git, or put it on the PATH of the daemon"
            ) from error

    def run(
        self,
        *words: str | bytes,
        data: bytes = b"",
        objects: str | None = None,
        work_tree: bytes | None = None,
        variables: Mapping[str, str] | None = None,
    ) -> bytes:
        """Returns the standard output of a command; arguments as of `attempt`. Raises `GitProgramFailed`, `IoError`."""
        done = self.attempt(*words, data=data, objects=objects, work_tree=work_tree, variables=variables)
        if done.returncode:
            lines = done.stderr.decode("utf-8", "replace").strip().splitlines() or [f"it ended with {done.returncode}"]
            text = next((line for line in lines if line.startswith(("fatal: ", "error: "))), lines[0])
            raise GitProgramFailed(f"git {os.fsdecode(words[0])}: {text}", command=os.fsdecode(words[0]))
        return done.stdout

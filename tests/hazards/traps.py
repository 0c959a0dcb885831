"""Programs that must never run: each writes its name where the tests see it."""

from __future__ import annotations

import os
import shlex
import stat
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

HOOKS = (
    "fsmonitor-watchman",
    "post-checkout",
    "post-commit",
    "post-index-change",
    "pre-auto-gc",
    "pre-commit",
    "reference-transaction",
)
ATTRIBUTES = "* filter=trap diff=trap merge=trap ident text eol=crlf working-tree-encoding=UTF-16\n"
"""Has git change what it reads and writes, where it obeys them."""


class Traps:
    """Everything that git would start, set up so that starting it shows.

    Args:
        folder: where the programs and their traces lie; outside of every workspace.
    """

    def __init__(self, folder: Path) -> None:
        self._fired = folder / "fired"
        self._fired.mkdir(parents=True)
        self._program = folder / "trap"
        self._write_program(self._program, f'printf x > {shlex.quote(str(self._fired))}/"$1"')
        self.hooks = folder / "hooks"
        self.hooks.mkdir()
        for hook in HOOKS:
            self._write_program(self.hooks / hook, f"exec {self.command('hook-' + hook)}")
        self._bin = folder / "bin"
        self._bin.mkdir()
        self._write_program(self._bin / "git", f"{self.command('git-on-the-path')}; exit 1")
        self._excludes = folder / "excludes"
        self._excludes.write_text("*.users-own-rule\n")
        self.decoy = folder / "decoy.git"
        for inside in ("objects", "refs/heads"):
            (self.decoy / inside).mkdir(parents=True)
        (self.decoy / "HEAD").write_text("ref: refs/heads/main\n")
        (self.decoy / "config").write_text(self.configuration("decoy"))
        self._decoy_before = _names(self.decoy)

    def command(self, name: str) -> str:
        """A command that tells that it was run, for a shell."""
        return f"{shlex.quote(str(self._program))} {shlex.quote(name)}"

    def configuration(self, where: str) -> str:
        """A git configuration that starts something at every occasion that there is.

        Args:
            where: the configuration that it is for: a part of what the traces are called.
        """

        def trap(name: str) -> str:
            return '"' + self.command(f"{where}-{name}").replace('"', '\\"') + '"'

        return f"""[core]
\trepositoryformatversion = 0
\tbare = false
\tfsmonitor = {trap("fsmonitor")}
\thooksPath = {self.hooks}
\tsshCommand = {trap("ssh")}
\tgitProxy = {trap("proxy")}
\teditor = {trap("editor")}
\tpager = {trap("pager")}
\taskPass = {trap("askpass")}
\texcludesFile = {self._excludes}
\tautocrlf = true
[filter "trap"]
\tprocess = {trap("filter-process")}
\tclean = {trap("filter-clean")}
\tsmudge = {trap("filter-smudge")}
\trequired = true
[diff]
\texternal = {trap("external-diff")}
[diff "trap"]
\ttextconv = {trap("textconv")}
\tcommand = {trap("diff-command")}
[merge "trap"]
\tdriver = {trap("merge-driver")}
[credential]
\thelper = {trap("credential-helper").replace('"', '"!', 1)}
[gpg]
\tprogram = {trap("gpg")}
[commit]
\tgpgSign = true
[init]
\ttemplateDir = {self.hooks.parent}
[alias]
\tstatus = {trap("alias").replace('"', '"!', 1)}
"""

    def environment(self) -> dict[str, str]:
        """Variables that git obeys, a `git` of our own earlier on the path included."""
        return {
            "PATH": f"{self._bin}{os.pathsep}{os.environ['PATH']}",
            "GIT_DIR": str(self.decoy),
            "GIT_WORK_TREE": str(self.decoy.parent),
            "GIT_INDEX_FILE": str(self.decoy / "index"),
            "GIT_OBJECT_DIRECTORY": str(self.decoy / "objects"),
            "GIT_ALTERNATE_OBJECT_DIRECTORIES": str(self.decoy / "objects"),
            "GIT_CEILING_DIRECTORIES": "/",
            "GIT_TEMPLATE_DIR": str(self.hooks.parent),
            "GIT_EXTERNAL_DIFF": self.command("variable-external-diff"),
            "GIT_SSH_COMMAND": self.command("variable-ssh"),
            "GIT_ASKPASS": self.command("variable-askpass"),
            "GIT_EDITOR": self.command("variable-editor"),
            "GIT_PAGER": self.command("variable-pager"),
            "GIT_CONFIG_COUNT": "2",
            "GIT_CONFIG_KEY_0": "core.fsmonitor",
            "GIT_CONFIG_VALUE_0": self.command("variable-fsmonitor"),
            "GIT_CONFIG_KEY_1": "core.hooksPath",
            "GIT_CONFIG_VALUE_1": str(self.hooks),
            "GIT_LITERAL_PATHSPECS": "1",
            "GIT_ICASE_PATHSPECS": "1",
        }

    def fill_home(self, home: Path, config: Path | None = None) -> None:
        """Gives a user a git configuration that starts things.

        Args:
            home: the user's home directory.
            config: `$XDG_CONFIG_HOME`, where that is another place than `home/.config`.
        """
        (home / ".gitconfig").write_text(self.configuration("home"))
        below = (config or home / ".config") / "git"
        below.mkdir(parents=True, exist_ok=True)
        (below / "config").write_text(self.configuration("xdg"))
        (below / "attributes").write_text(ATTRIBUTES)

    def make_repository(self, folder: Path, name: str = "nested") -> None:
        """Makes a folder a git repository, with one commit to come, that starts things; no git takes part in it.

        Args:
            folder: the work tree; made where it is missing.
            name: a part of what the traces are called.
        """
        metadata = folder / ".git"
        for inside in ("hooks", "info", "objects", "refs/heads"):
            (metadata / inside).mkdir(parents=True)
        (metadata / "HEAD").write_text("ref: refs/heads/main\n")
        (metadata / "config").write_text(self.configuration(name))
        (metadata / "info" / "attributes").write_text(ATTRIBUTES)
        for hook in HOOKS:
            self._write_program(metadata / "hooks" / hook, f"exec {self.command(f'{name}-own-{hook}')}")

    def fired(self) -> list[str]:
        """The names of the programs that ran."""
        return sorted(os.listdir(self._fired))

    def decoy_is_untouched(self) -> bool:
        """Whether the repository that the variables name is as it was made."""
        return _names(self.decoy) == self._decoy_before

    def rearm(self) -> None:
        """Forgets what ran."""
        for name in self.fired():
            (self._fired / name).unlink()

    @staticmethod
    def _write_program(path: Path, line: str) -> None:
        path.write_text(f"#!/bin/sh\n{line}\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)


def _names(folder: Path) -> list[tuple[str, int]]:
    """Every entry below a folder, and when it was last changed."""
    return sorted((str(path.relative_to(folder)), path.lstat().st_ctime_ns) for path in folder.rglob("*"))

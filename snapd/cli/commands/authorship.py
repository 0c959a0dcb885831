"""`snapd log --format`: who wrote the lines of commits, for other tools."""

from __future__ import annotations

import os
import sys
from functools import partial
from typing import TYPE_CHECKING

from snapd.authorship import agent_trace, git_ai
from snapd.authorship.commits import Attribution, files, resolve_commits
from snapd.cli.exit_codes import DONE, NOT_ALL
from snapd.cli.requests.connection import ask, open_backend
from snapd.cli.terminal import pager
from snapd.cli.terminal.layout import printable, shell_name
from snapd.model.errors import InvalidParams
from snapd.notes.note import NOTES
from snapd.staging.repository import Git, Repository

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterable, Iterator

    from snapd.authorship.commits import AttributedFile, Commit

    Authors = Callable[[Commit], list[AttributedFile]]

_OTHERS = {
    "--json": "json",
    "--session": "session",
    "--since": "since",
    "--patch": "patch",
    "--oneline": "oneline",
    "-n": "number",
}
_CAN_NAME = {"agent-trace": agent_trace.can_name, "git-ai": git_ai.can_name}


def print_authors(options: argparse.Namespace) -> int:
    """Prints who wrote the lines of commits, in the requested format."""
    for name, field in _OTHERS.items():
        given = getattr(options, field)
        # `-n 0` counts as given
        if given is not None and given is not False:
            hint = "leave one of them out: with --format, the log is about commits"
            raise InvalidParams(f"--format: cannot be used with {name}", hint=hint, field="--format")
    if len(options.files) > 1:
        raise InvalidParams(
            "--format: expected one commit, or one range such as main..HEAD", hint="name only one", field="COMMIT"
        )
    with open_backend(options) as backend:
        repository = Repository.around(os.path.realpath(os.fsencode(options.directory)), Git.of_user(os.environ))
        commits, is_range = resolve_commits(repository, options.files[0] if options.files else None)
        attribution = Attribution(partial(ask, backend), repository.top)
        left_out: set[bytes] = set()
        kept: list[str] = []

        def authors(commit: Commit) -> list[AttributedFile]:
            changed = list(files(repository, commit))
            nameless = {file.path for file in changed if not _CAN_NAME[options.format](file.path)}
            left_out.update(nameless)
            return [attribution.of(commit, file) for file in changed if file.path not in nameless]

        if options.format == "agent-trace":
            pieces = _records(commits, authors)
        elif is_range:
            pieces = _stream(repository, commits, authors, kept)
        else:
            pieces = (git_ai.note(commit, authors(commit)).encode("utf-8") for commit in commits)
        is_empty = True
        for piece in pieces:
            is_empty = False
            pager.write(piece.decode(*pager.ENCODING))
    for name in kept:
        print(f"snapd: commit {name[:12]} already has a note from another author, which stays", file=sys.stderr)
    if is_empty and not kept:
        of = "no agent wrote a line of the commits" if commits else "git has no commits"
        print(f"snapd: {of} in {printable(options.files[0])}", file=sys.stderr)
    for path in sorted(left_out):
        print(f"snapd: left out {shell_name(path)}: {options.format} cannot have this name", file=sys.stderr)
    return NOT_ALL if left_out else DONE


def _records(commits: Iterable[Commit], authors: Authors) -> Iterator[bytes]:
    import json

    for commit in commits:
        text = json.dumps(agent_trace.record(commit, authors(commit)), ensure_ascii=False)
        yield text.encode("utf-8") + b"\n"


def _stream(repository: Repository, commits: Iterable[Commit], authors: Authors, kept: list[str]) -> Iterator[bytes]:
    """Yields the stream; adds to `kept` the names of commits that have notes by someone else."""
    listed = repository.git.attempt(repository.top, "notes", "--ref", NOTES, "list").out.decode("ascii").splitlines()
    there = {commit: blob for blob, commit in (line.split(" ") for line in listed)}
    wanted = []
    for commit in commits:
        text = git_ai.note(commit, authors(commit))
        if not git_ai.attests(text):
            continue
        blob = there.get(commit.name)
        if blob and not git_ai.replaces(text, repository.ask("cat-file", "blob", blob).decode("utf-8", "replace")):
            kept.append(commit.name)
        else:
            wanted.append((commit, text))
    if not wanted:
        return
    committer = repository.ask("var", "GIT_COMMITTER_IDENT").rstrip(b"\n")
    tip = repository.git.attempt(repository.top, "rev-parse", "--verify", "--quiet", NOTES)
    parent = tip.out.decode("ascii").strip() if tip.code == 0 else None
    yield from git_ai.stream(wanted, committer, parent)

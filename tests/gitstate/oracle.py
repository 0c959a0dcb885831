"""What git itself says of a repository, in the form of a `GitChange`."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from random import Random

import attrs

from snapd.model.git import GitChange, Pair, RefChange
from tests.support.git import GIT

ENVIRONMENT = {
    "PATH": os.environ["PATH"],
    "HOME": "/nonexistent",
    "LC_ALL": "C",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "Author",
    "GIT_AUTHOR_EMAIL": "author@example.com",
    "GIT_COMMITTER_NAME": "Committer",
    "GIT_COMMITTER_EMAIL": "committer@example.com",
    "GIT_EDITOR": "true",
}


def git(folder: Path, *words: str) -> str:
    """Runs git, whatever comes of it: a merge may end in a conflict."""
    done = subprocess.run([GIT, *words], cwd=folder, env=ENVIRONMENT, capture_output=True, check=False)
    return done.stdout.decode()


@attrs.frozen
class State:
    """A git state as git describes it."""

    head: str
    refs: dict[str, str]
    stash: str
    staged: str
    operation: str
    exists: bool = True

    @classmethod
    def of(cls, folder: Path) -> State:
        """Asks git."""
        if not (folder / ".git").exists():
            return cls("", {}, "", "", "none", exists=False)
        head = git(folder, "symbolic-ref", "-q", "HEAD").strip() or git(folder, "rev-parse", "HEAD").strip()
        listed = git(folder, "for-each-ref", "--format=%(refname) %(objectname)", "refs/heads", "refs/tags")
        refs = dict(line.split(" ") for line in listed.splitlines())
        stash = git(folder, "reflog", "show", "--format=%H %gs", "refs/stash")
        if stash:
            refs["refs/stash"] = stash[:40]
        entries = set(git(folder, "ls-files", "-sz").split("\0"))
        tree = git(folder, "rev-parse", "-q", "--verify", "HEAD^{tree}").strip()
        committed = set()
        for line in git(folder, "ls-tree", "-rz", tree).split("\0") if tree else ():
            if line:
                mode, _, rest = line.split(" ", 2)
                committed.add(f"{mode} {rest[:40]} 0{rest[40:]}")
        added = set(git(folder, "diff", "--name-only", "-z", "--diff-filter=A", "--ita-visible-in-index").split("\0"))
        differing = {line.partition("\t")[2] for line in (entries ^ committed) if line} | {
            name for name in added if name
        }
        staged = "\0".join(sorted(line for line in entries if line.partition("\t")[2] in differing) + sorted(differing))
        return cls(head, refs, stash, f"{len(differing)} {staged}", operation(folder))


def operation(folder: Path) -> str:
    """The operation in progress, as `git status` says it."""
    told = git(folder, "status")
    for words, name in (
        ("in the middle of an am", "am"),
        ("rebase in progress", "rebase"),
        ("currently rebasing", "rebase"),
        ("currently editing", "rebase"),
        ("still merging", "merge"),
        ("have unmerged paths", ""),
        ("cherry-picking commit", "cherry-pick"),
        ("reverting commit", "revert"),
        ("bisecting", "bisect"),
    ):
        if name and words in told:
            return name
    return "merge" if (folder / ".git/MERGE_HEAD").exists() else "none"


def change(old: State, new: State) -> GitChange | None:
    """How two states differ; None if they do not."""
    refs = [
        RefChange(name, old.refs.get(name), new.refs.get(name))
        for name in sorted(old.refs.keys() | new.refs.keys())
        if old.refs.get(name) != new.refs.get(name) or (name == "refs/stash" and old.stash != new.stash)
    ]
    counts = [int(state.staged.partition(" ")[0] or 0) for state in (old, new)]
    found = GitChange(
        Pair(old.head, new.head) if old.head != new.head and old.exists and new.exists else None,
        tuple(refs),
        Pair(*counts) if old.staged.strip("0 ") != new.staged.strip("0 ") else None,
        Pair(old.operation, new.operation) if old.operation != new.operation else None,
        None if old.exists == new.exists else "created" if new.exists else "deleted",
    )
    return None if found.is_empty else found


NAMES = ("a", "b", "d/c", "d/e/f")


def work(folder: Path, random: Random) -> tuple[str, ...]:
    """Does one random thing; returns the command."""
    name = random.choice(NAMES)
    path = folder / name
    if random.random() < 0.7:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"".join(b"%d\n" % random.randrange(4) for _ in range(8)))
    branch, commit = random.choice(("main", "topic", "feature/x", "new")), random.choice(("HEAD", "HEAD~1", "HEAD~2"))
    words = random.choice(
        (
            ("add", "-A"),
            ("add", "-N", name),
            ("commit", "-qam", "more"),
            ("commit", "-q", "--amend", "--allow-empty", "-m", "other"),
            ("reset", "-q", "--hard", commit),
            ("reset", "-q", commit),
            ("checkout", "-qf", branch),
            ("checkout", "-q", "--detach"),
            ("switch", "-q", branch),
            ("switch", "-qc", f"branch{random.randrange(5)}", commit),
            ("worktree", "add", "-q", "--detach", f"../tree{random.randrange(9)}", commit),
            ("checkout", "-qb", f"branch{random.randrange(5)}"),
            ("branch", "-f", "new", commit),
            ("branch", "-D", branch),
            ("tag", "-f", f"v{random.randrange(3)}", commit),
            ("tag", "-fam", "x", f"v{random.randrange(3)}", commit),
            ("tag", "-d", "v1"),
            ("stash", "-u"),
            ("stash", "pop"),
            ("stash", "drop", "stash@{1}"),
            ("merge", "-m", "both", branch),
            ("merge", "--abort"),
            ("rebase", branch),
            ("rebase", "--abort"),
            ("rebase", "--skip"),
            ("cherry-pick", branch),
            ("cherry-pick", "--abort"),
            ("revert", "--no-edit", commit),
            ("revert", "--abort"),
            ("rm", "-rq", "--cached", "--ignore-unmatch", name),
            ("bisect", "start", "HEAD", "HEAD~2"),
            ("bisect", "good"),
            ("bisect", "reset"),
            ("gc", "-q", "--prune=now"),
            ("pack-refs", "--all"),
            ("update-index", "--refresh"),
            ("update-index", "--index-version", random.choice("234")),
            ("update-index", random.choice(("--split-index", "--no-split-index"))),
            ("status",),
        )
    )
    git(folder, *words)
    return words

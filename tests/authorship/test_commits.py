"""Which commits somebody means, and which lines each of them brought: `git blame` says which."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from random import Random

import pytest

from snapd.authorship import commits as module
from snapd.authorship.commits import files
from snapd.model.errors import InvalidParams
from snapd.staging.repository import GitFailed
from tests.support.amounts import amount
from tests.support.git import run_git
from tests.support.workspace import Symlink

from .commits import Committing, by_blame

NAMES = ("a", "d/b", "new\nline", "caf\u00e9")


def brought(committing: Committing, word: str | None = None) -> dict[str, list[int]]:
    (commit,) = committing.commits(word)
    return {os.fsdecode(file.path): list(file.brought) for file in files(committing.repository, commit)}


def test_which_commits_are_meant(tmp_path: Path) -> None:
    committing = Committing.made(tmp_path, {"a": b"1\n"})
    for text in (b"2\n", b"3\n"):
        committing.project.bench.write({"a": text})
        committing.project.commit("--all-files")
    committing.git("tag", "--annotate", "--message", "v1", "v1")
    hashes = committing.git("rev-list", "--reverse", "HEAD").decode().split()
    for word, expected in (
        (None, hashes[2:]),
        ("HEAD~1", hashes[1:2]),
        (hashes[0][:9], hashes[:1]),
        ("v1", hashes[2:]),
        ("HEAD~2..", hashes[1:]),
        (f"{hashes[0]}..v1", hashes[1:]),
        ("HEAD..HEAD", []),
        (":/work", hashes[2:]),
    ):
        assert [commit.name for commit in committing.commits(word)] == expected, word
    assert [commit.parents for commit in committing.commits("HEAD~2..HEAD")] == [(hashes[0],), (hashes[1],)]
    for word in ("nope", "nope..HEAD", "--all", "HEAD:a", "a", ""):
        with pytest.raises(InvalidParams, match="git knows no commit") as caught:
            committing.commits(word)
        assert "main..HEAD" in caught.value.hint


def test_before_the_first_commit(tmp_path: Path) -> None:
    committing = Committing.made(tmp_path, {"a": b"1\n"})
    committing.git("checkout", "--quiet", "--orphan", "other")
    with pytest.raises(InvalidParams, match="there is no commit yet"):
        committing.commits()


def test_the_times_of_a_commit(tmp_path: Path) -> None:
    committing = Committing.made(tmp_path, {"a": b"1\n"})
    tree = committing.git("rev-parse", "HEAD^{tree}").decode().strip()
    text = f"tree {tree}\nauthor A <a@b> 1000000000 +0200\ncommitter C <c@d> 1100000000 -0500\n\nold\n".encode()
    name = committing.git("hash-object", "-t", "commit", "-w", "--stdin", data=text).decode().strip()
    (commit,) = committing.commits(name)
    assert (commit.name, commit.parents, commit.authored, commit.committed) == (name, (), 1_000_000_000, 1_100_000_000)


def test_what_has_no_lines(tmp_path: Path) -> None:
    """Files without text, links, other modes, and what went."""
    large = b"x\n" * (5 << 20) + b"y\n"
    committing = Committing.made(
        tmp_path, {"gone": b"1\n", "mode": b"1\n", "link": b"1\n", "text": b"\0\n1\n", "large": large}
    )
    bench = committing.project.bench
    assert set(brought(committing)) == {"gone", "mode", "link"}
    bench.remove("gone")
    bench.remove("link")
    os.chmod(bench.path("mode"), 0o755)
    bench.write({"link": Symlink("mode"), "text": b"1\n2\n", "large": b"x\n", "empty": b"", "binary": b"\0\n"})
    committing.project.commit("--all-files")
    # what was no text before is new as a whole
    assert brought(committing) == {"text": [1, 2], "large": [1]}
    bench.remove("link")
    bench.write({"link": b"1\n"})
    committing.project.commit("--all-files")
    assert brought(committing) == {"link": [1]}


def test_many_files_are_read_bit_by_bit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "AT_ONCE", 10)
    items = {f"f{number}": b"%d\n" % number * number for number in range(1, 8)}
    committing = Committing.made(tmp_path, items)
    assert brought(committing) == {f"f{number}": list(range(1, number + 1)) for number in range(1, 8)}


def test_an_object_that_is_missing(tmp_path: Path) -> None:
    committing = Committing.made(tmp_path, {"a": b"1\n"})
    blob = committing.git("rev-parse", "HEAD:a").decode().strip()
    os.remove(os.path.join(committing.project.bench.root, ".git/objects", blob[:2], blob[2:]))
    with pytest.raises(GitFailed, match=f"git has no object {blob} .missing.") as caught:
        brought(committing)
    assert "git fsck" in caught.value.hint


@pytest.mark.parametrize("seed", range(amount(2, 60)))
def test_the_lines_are_those_that_git_blame_gives_to_the_commit(tmp_path: Path, seed: int) -> None:
    """In a history with merges, and with files that were moved."""
    chance = Random(seed)
    made = iter(range(10**6))

    def lines(count: int) -> list[bytes]:
        return [b"line %d\n" % next(made) for _ in range(count)]

    committing = Committing.made(tmp_path, {name: b"".join(lines(20)) for name in NAMES})
    bench = committing.project.bench
    committing.git("branch", "one")
    committing.git("branch", "two")
    for number in range(14):
        branch, other = chance.sample(("one", "two"), 2)
        committing.git("checkout", "--quiet", branch)
        for name in chance.sample(NAMES, 2):
            path = Path(bench.path(name))
            if not path.exists():
                bench.write({name: b"".join(lines(10))})
                continue
            text = path.read_bytes().splitlines(keepends=True)
            start = chance.randrange(len(text))
            text[start : start + chance.randrange(3)] = lines(chance.randint(1, 3))
            path.write_bytes(b"".join(text))
        if number == 6:
            os.rename(bench.path("d/b"), bench.path("moved"))
        committing.project.commit("--all-files")
        if number in (5, 9, 13):
            # conflicts stay in the files, as lines of the merge
            committing.git("merge", "--quiet", "--no-commit", "--no-ff", other)
            for path in map(Path, map(bench.path, (*NAMES, "moved"))):
                if path.exists():
                    # which of two equal lines is new, nobody can say
                    path.write_bytes(b"".join(dict.fromkeys(path.read_bytes().splitlines(keepends=True))))
            committing.project.commit("--all-files")
    commits = committing.git("rev-list", "HEAD").decode().split()
    assert committing.git("rev-list", "--merges", "HEAD")
    for name in commits:
        assert brought(committing, name) == by_blame(committing, name), name


def test_a_repository_with_longer_names(tmp_path: Path) -> None:
    committing = Committing.made(tmp_path, {"a": b"1\n"})
    root = Path(committing.project.bench.root)
    shutil.rmtree(root / ".git")
    committing.git("init", "--quiet", "--object-format=sha256")
    committing.project.commit("--all-files")
    committing.project.bench.write({"a": b"1\n2\n"})
    committing.project.commit("--all-files")
    assert len(committing.commits()[0].name) == 64
    assert brought(committing) == {"a": [2]}


def test_a_linked_work_tree_of_a_clone_without_its_past(tmp_path: Path) -> None:
    """With another repository in it, which is one entry of a commit and no file."""
    committing = Committing.made(tmp_path, {"a": b"1\n"})
    project, root = committing.project, Path(committing.project.bench.root)
    project.bench.write({"a": b"1\n2\n"})
    project.commit("--all-files")
    origin = tmp_path / "origin"
    run_git(tmp_path, "clone", "--quiet", "--bare", "--depth", "1", root.as_uri(), str(origin))
    shutil.rmtree(root)
    run_git(origin, "worktree", "add", "--quiet", "-b", "linked", str(root))
    # git knows no parent, so all of it is new
    assert brought(committing) == {"a": [1, 2]}
    head = committing.git("rev-parse", "HEAD").decode().strip()
    committing.git("update-index", "--add", "--cacheinfo", f"160000,{head},module")
    project.bench.write({"a": b"1\n2\n3\n"})
    committing.git("add", "a")
    project.commit()
    assert brought(committing) == {"a": [3]}

"""Whose the lines of commits are: each line says who wrote it, and what a commit brought is what git blame says."""

from __future__ import annotations

import os
import shutil
from difflib import SequenceMatcher
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pytest

from snapd.authorship.commits import AttributedFile, Author, LineRange, moment
from tests.support.amounts import amount
from tests.support.git import run_git
from tests.support.sessions import TEXT, text
from tests.support.workspace import Symlink

from .commits import Committing, by_blame

if TYPE_CHECKING:
    from collections.abc import Sequence

NAMES = ("a", "b", "d/c")


@pytest.fixture
def committing(tmp_path: Path) -> Committing:
    return Committing.made(tmp_path, {"a.txt": TEXT, "b.txt": b"b\n"})


def test_the_lines_that_a_commit_brought(committing: Committing) -> None:
    project = committing.project
    assert committing.authors() == {"a.txt": dict.fromkeys(range(1, 21), "unknown"), "b.txt": {1: "unknown"}}
    project.work("A", {"a.txt": text(l2=b"A", l3=b"A"), "new": b"n\n"})
    project.bench.write({"a.txt": text(l2=b"A", l3=b"A", l10=b"user")})
    project.work("B", {"a.txt": text(l2=b"A", l3=b"B", l10=b"user")})
    project.commit("--all-files")
    first = {"a.txt": {2: "A", 3: "B", 10: "user"}, "new": {1: "A"}}
    assert committing.authors() == first
    # what an earlier commit brought is not this one's
    project.work("B", {"a.txt": text(l2=b"A", l3=b"B", l10=b"user", l20=b"B")})
    project.commit("--all-files")
    assert committing.authors() == {"a.txt": {20: "B"}}
    assert committing.authors("HEAD~1") == first


def test_a_part_of_what_an_agent_did(committing: Committing) -> None:
    """As `git add -p` commits it."""
    project = committing.project
    project.work("A", {"a.txt": text(l2=b"A", l9=b"A", l15=b"A")})
    project.bench.write({"a.txt": text(l2=b"A", l9=b"mine", l15=b"A")})
    blob = committing.git("hash-object", "-w", "--stdin", data=text(l15=b"A", l9=b"mine")).decode().strip()
    committing.git("update-index", "--cacheinfo", f"100644,{blob},a.txt")
    project.commit()
    assert committing.authors() == {"a.txt": {9: "user", 15: "A"}}
    # by hand, into the index alone
    blob = committing.git("hash-object", "-w", "--stdin", data=text(l15=b"A", l9=b"never on disk")).decode().strip()
    committing.git("update-index", "--cacheinfo", f"100644,{blob},a.txt")
    project.commit()
    assert committing.authors() == {"a.txt": {9: "unknown"}}


def test_a_commit_in_the_middle_of_a_step(committing: Committing) -> None:
    project = committing.project
    step = project.begin("A")
    project.bench.write({"a.txt": text(l2=b"A", l15=b"for now")})
    project.commit("--all-files")
    project.bench.write({"a.txt": text(l2=b"A", l15=b"A")})
    project.end(step)
    assert committing.authors() == {"a.txt": {2: "A", 15: "unknown"}}


def test_a_file_that_was_moved(committing: Committing) -> None:
    project = committing.project
    project.step("A", lambda: os.rename(project.bench.path("a.txt"), project.bench.path("moved")))
    project.work("B", {"moved": text(l7=b"B")})
    project.commit("--all-files")
    assert committing.authors() == {"moved": {7: "B"}}


def test_a_commit_after_a_rebase(committing: Committing) -> None:
    """It has another name, and other lines around its own."""
    project = committing.project
    committing.git("checkout", "--quiet", "-b", "work")
    project.work("A", {"a.txt": text(l15=b"A")})
    project.commit("--all-files")
    blob = committing.git("hash-object", "-w", "--stdin", data=b"above\n" + TEXT).decode().strip()
    committing.git("update-index", "--cacheinfo", f"100644,{blob},a.txt")
    tree = committing.git("write-tree").decode().strip()
    # somebody else's, which is fetched
    other = committing.git("commit-tree", "-p", "HEAD~1", "-m", "other", tree).decode().strip()
    committing.git("reset", "--quiet", "--hard")
    committing.git("rebase", "--quiet", other)
    assert committing.authors() == {"a.txt": {16: "A"}}
    assert committing.authors("HEAD~1") == {"a.txt": {1: "user"}}
    project.work("B", {"a.txt": b"B\n" + Path(project.bench.path("a.txt")).read_bytes()})
    assert committing.authors() == {"a.txt": {16: "A"}}


def test_the_time_of_a_text_is_the_authors(committing: Committing) -> None:
    """A branch went and came back while an agent worked: its commits were made before, and may be rebased since."""
    project = committing.project
    project.work("A", {"a.txt": text(l2=b"A")})
    project.commit("--all-files")
    for data in (TEXT, text(l2=b"A")):
        project.bench.write({"a.txt": data})
        project.work("B", {})
    project.work("B", {"b.txt": b"B\n"})
    tree, parent = committing.git("rev-parse", "HEAD^{tree}", "HEAD~1").decode().split()

    def made(authored: int, committed: int) -> str:
        people = f"author A <a@b> {authored} +0000\ncommitter C <c@d> {committed} +0000\n"
        data = f"tree {tree}\nparent {parent}\n{people}\nwork\n".encode()
        return committing.git("hash-object", "-t", "commit", "-w", "--stdin", data=data).decode().strip()

    assert committing.authors(made(1 << 30, 1 << 32)) == {"a.txt": {2: "A"}}
    assert committing.authors(made(1 << 32, 1 << 30)) == {"a.txt": {2: "user"}}


@pytest.mark.parametrize("brings", ["git", "the agent"])
def test_what_is_older_than_the_step_that_brought_it_here_is_nobodys(committing: Committing, brings: str) -> None:
    """An agent pulls, or checks a branch out, or writes what a commit has."""
    project = committing.project
    blob = committing.git("hash-object", "-w", "--stdin", data=text(l2=b"colleague")).decode().strip()
    committing.git("update-index", "--cacheinfo", f"100644,{blob},a.txt")
    tree = committing.git("write-tree").decode().strip()
    committing.git("reset", "--quiet")

    def made(authored: int, committed: int) -> str:
        people = f"author A <a@b> {authored} +0000\ncommitter C <c@d> {committed} +0000\n"
        data = f"tree {tree}\nparent {parent}\n{people}\nwork\n".encode()
        return committing.git("hash-object", "-t", "commit", "-w", "--stdin", data=data).decode().strip()

    parent = committing.git("rev-parse", "HEAD").decode().strip()
    old, amended, later = made(1 << 30, 1 << 30), made(1 << 30, 1 << 32), made(1 << 32, 1 << 32)
    if brings == "git":
        project.step("A", lambda: committing.git("merge", "--quiet", "--ff-only", old))
    else:
        project.work("A", {"a.txt": text(l2=b"colleague")})
    assert committing.authors(old) == {"a.txt": {2: "unknown"}}
    # the same lines in commits that may be of the step; git itself is no author
    author = "unknown" if brings == "git" else "A"
    assert committing.authors(amended) == committing.authors(later) == {"a.txt": {2: author}}


def test_line_ends_that_git_converts(tmp_path: Path) -> None:
    committing = Committing.made(tmp_path, {"a.txt": b"1\r\n2\r\n", ".gitattributes": b"*.txt text eol=crlf\n"})
    committing.project.work("A", {"a.txt": b"1\r\nA\r\n2\r\n"})
    committing.project.commit("--all-files")
    assert committing.git("cat-file", "blob", "HEAD:a.txt") == b"1\nA\n2\n"
    assert committing.authors() == {"a.txt": {2: "A"}}


def test_bytes_that_are_no_utf_8(committing: Committing) -> None:
    committing.project.work("A", {"latin": b"caf\xe9\n"})
    path = os.path.join(os.fsencode(committing.project.bench.root), b"n\xe9")
    step = committing.project.begin("B")
    Path(os.fsdecode(path)).write_bytes(b"B\n")
    committing.project.end(step)
    committing.project.commit("--all-files")
    assert committing.authors() == {"latin": {1: "A"}, "n\udce9": {1: "B"}}


def test_a_folder_that_has_become_a_link(tmp_path: Path) -> None:
    committing = Committing.made(tmp_path / "one", {"d/f": b"1\n"})
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    committing.project.bench.remove("d/f")
    os.rmdir(committing.project.bench.path("d"))
    committing.project.bench.write({"d": Symlink(os.fspath(elsewhere))})
    assert committing.authors() == {"d/f": {1: "unknown"}}


def test_a_repository_around_the_folder(tmp_path: Path) -> None:
    """What is outside of the folder is nobody's."""
    committing = Committing.made(tmp_path, {"in": b"1\n"})
    project = committing.project
    root, home = Path(project.bench.root), project.bench.home
    shutil.rmtree(root / ".git")
    run_git(root.parent, "init", "--quiet", home=home)
    project.work("A", {"in": b"A\n"})
    (root.parent / "outside").write_bytes(b"1\n")
    run_git(root.parent, "add", "outside", f"{root.name}/in", home=home)
    run_git(root.parent, "commit", "--quiet", "--message", "1", home=home)
    assert committing.authors() == {f"{root.name}/in": {1: "A"}, "outside": {1: "unknown"}}


def test_the_ranges_of_a_file() -> None:
    one, other, user = Author("agent", "A", "1"), Author("agent", "A", "2"), Author("user")
    lines = ((LineRange(1, 2), one), (LineRange(3, 3), other), (LineRange(5, 5), user), (LineRange(6, 6), one))
    file = AttributedFile(b"f", lines)
    assert file.by(lambda author: author.session_id) == [
        (one, [LineRange(1, 3), LineRange(6, 6)]),
        (user, [LineRange(5, 5)]),
    ]
    assert [ranges for _, ranges in file.by(lambda author: author)] == [
        [LineRange(1, 2), LineRange(6, 6)],
        [LineRange(3, 3)],
        [LineRange(5, 5)],
    ]


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (0, "1970-01-01T00:00:00Z"),
        (1_709_647_200, "2024-03-05T14:00:00Z"),
        (-1, "1970-01-01T00:00:00Z"),
        (1 << 62, "9999-12-31T23:59:59Z"),
    ],
)
def test_the_time_of_a_commit(seconds: int, shown: str) -> None:
    assert moment(seconds) == shown


def _some(chance: Random, old: Sequence[bytes], new: Sequence[bytes]) -> list[bytes]:
    """Some of the hunks between two texts."""
    found: list[bytes] = []
    for kind, start, end, new_start, new_end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        found += new[new_start:new_end] if kind == "equal" or chance.randrange(2) else old[start:end]
    return found


@pytest.mark.parametrize("seed", range(amount(3, 100)))
def test_each_line_of_each_commit_is_by_whom_it_says(tmp_path: Path, seed: int) -> None:
    """Agents and the user write, and the user commits all of it or some hunks; in the end each line is asked about."""
    chance = Random(seed)
    made = iter(range(10**6))

    def lines(who: str, count: int) -> list[bytes]:
        return [b"%s %d\n" % (who.encode(), next(made)) for _ in range(count)]

    committing = Committing.made(tmp_path, {name: b"".join(lines("unknown", 8)) for name in NAMES})
    project = committing.project
    # what happens before the first event is nobody's
    project.work("A", {})
    for _ in range(18):
        who = chance.choice(("A", "B", "user"))
        step = None if who == "user" else project.begin(who)
        for name in chance.sample(NAMES, chance.randint(1, 2)):
            path = Path(project.bench.path(name))
            was = path.read_bytes().splitlines(keepends=True)
            start = chance.randint(0, len(was))
            was[start : start + chance.randrange(4)] = lines(who, chance.randint(1, 3))
            path.write_bytes(b"".join(was))
        if step is not None:
            project.end(step)
        else:
            # so that it is in a version that snapd saw
            project.work("A", {})
        if chance.randrange(3) == 0:
            project.commit("--all-files")
        elif chance.randrange(2) == 0:
            name = chance.choice(NAMES)
            there = committing.git("cat-file", "blob", f"HEAD:{name}").splitlines(keepends=True)
            now = Path(project.bench.path(name)).read_bytes().splitlines(keepends=True)
            data = b"".join(_some(chance, there, now))
            blob = committing.git("hash-object", "-w", "--stdin", data=data).decode().strip()
            committing.git("update-index", "--cacheinfo", f"100644,{blob},{name}")
            project.commit()
    for commit in committing.commits("HEAD") + committing.commits(f"{_first(committing)}..HEAD"):
        found = {}
        for file, contents in committing.attributed(commit):
            numbers = found[os.fsdecode(file.path)] = []
            for where, author in file.lines:
                numbers += range(where.first, where.last + 1)
                for line in contents[where.first - 1 : where.last]:
                    assert line.split()[0].decode() == (author.session_id or author.kind), (commit, file)
        assert found == by_blame(committing, commit.name)


def _first(committing: Committing) -> str:
    return committing.git("rev-list", "--max-parents=0", "HEAD").decode().strip()

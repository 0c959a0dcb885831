"""Who wrote the lines from before, by notes in the project's git: git itself says from which commits they are."""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
import time
from datetime import UTC, datetime
from pathlib import Path
from random import Random

import pytest

from snapd.authorship import git_ai
from snapd.model.call import Call
from snapd.model.errors import Cancelled, IoError
from snapd.notes.note import NOTES
from snapd.notes.project import ProjectNotes
from snapd.remotes.program import Bounds, GitProgram
from tests.authorship.commits import Committing
from tests.hazards.traps import ATTRIBUTES, Traps
from tests.support.amounts import amount
from tests.support.git import GIT, run_git
from tests.support.sessions import TEXT, Agents, text
from tests.support.workspace import make

from .noting import KEY, PERSON, PERSON_KEY, Noted, note, noted


@pytest.fixture
def project(tmp_path: Path) -> Noted:
    """A file of 20 lines, of which agent and person wrote some."""
    found = Noted.made(tmp_path, {"a.txt": TEXT, "b.txt": b"20\n"})
    found.attach(note(f"a.txt\n  {KEY} 2-4\n  {PERSON_KEY} 10\n"))
    return found


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The git commands that snapd runs."""
    found: list[str] = []
    popen = subprocess.Popen

    def counted(words: list[str], **rest: object) -> object:
        # the tests' own has a whole path
        if "git" in words:
            found.append(next(word for word in words[words.index("git") + 1 :] if not word.startswith("-")))
        return popen(words, **rest)  # type: ignore[call-overload]

    monkeypatch.setattr("snapd.remotes.program.subprocess.Popen", counted)
    return found


def by_note(commit: str) -> dict[int, tuple[str, str, str]]:
    """What the note of the fixture says."""
    claude = dict.fromkeys((2, 3, 4), (commit, "claude", "conversation"))
    return claude | {10: (commit, PERSON, "")}


# -- whose the lines are


def test_lines_of_an_agent_and_of_a_person(project: Noted) -> None:
    expected = by_note(project.head)
    assert project.blame("a.txt") == expected
    assert project.blame("b.txt") == {}
    first, second = project.ask("a.txt", range={"start": 4, "count": 2})["lines"]
    seconds, author, email = project.git("log", "-1", "--format=%at\t%an\t%ae").decode().strip().split("\t")
    made = datetime.fromtimestamp(int(seconds), UTC)
    commit = {
        "id": project.head,
        "author": author,
        "email": email,
        "at": made.strftime("%Y-%m-%dT%H:%M:%S.000Z"),
        "summary": "work",
    }
    assert first == {
        "start": 4,
        "count": 1,
        "author": "before",
        "commit": commit,
        "noted": {
            "commit": project.head,
            "at": made.strftime("%Y-%m-%dT%H:%M:%S.000Z"),
            "agent": "claude",
            "sessionId": "conversation",
            "model": "some-model",
        },
    }
    assert second == {"start": 5, "count": 1, "author": "before", "commit": commit}


def test_what_agents_write_under_snapd_is_theirs(project: Noted) -> None:
    brought = by_note(project.head)
    project.agents.start("A")
    before = project.agents.bench.track()
    project.agents.step("A", {"a.txt": b"new\n" + text(l3=b"A", l10=b"A")})
    assert project.blame("a.txt") == {3: brought[2], 5: brought[4]}
    # by the user
    project.agents.bench.write({"a.txt": b"new\n" + text(l2=b"mine", l3=b"A", l10=b"A")})
    assert project.blame("a.txt") == {5: brought[4]}
    # as it was
    assert project.blame("a.txt", hash=before.hex()) == brought
    # a commit of all that, with a note that claims more than is the agent's
    project.commit()
    project.attach(note(f"a.txt\n  {KEY} 1-21\n", "later"))
    assert project.blame("a.txt") == {5: brought[4]}
    # the newest commit is the way to the others: it has one of these lines
    assert project.blame("a.txt", hash=before.hex()) == {4: brought[4]}


def test_a_line_that_equals_one_of_a_later_commit(tmp_path: Path) -> None:
    """Git pairs equal lines in its own way: what a later commit brought was not there before."""
    project = Noted.made(tmp_path, {"a.py": b"a\n}\n"})
    project.agents.start("A")
    for data in (b"a\nb\n}\n", b"a\n}\nb\n}\n"):
        project.agents.step("A", {"a.py": data})
    project.git("add", "a.py")
    tree = project.git("write-tree").decode().strip()
    people = "author A <a@b> 4000000000 +0000\ncommitter C <c@d> 1 +0000\n"
    data = f"tree {tree}\nparent {project.head}\n{people}\nwork\n".encode()
    made = project.git("hash-object", "-t", "commit", "-w", "--stdin", data=data).decode().strip()
    project.git("reset", "--quiet", "--soft", made)
    project.attach(note(f"a.py\n  {KEY} 1-4\n", "later"))
    kinds = [run["author"] for run in project.ask("a.py")["lines"] for _ in range(run["count"])]
    assert kinds == ["before", "step", "step", "before"]
    assert [commit == made for commit, _, _ in project.by_git("a.py")] == [False, False, True, True]
    assert project.blame("a.py") == {}


def test_a_note_that_snapd_wrote(tmp_path: Path) -> None:
    """An agent works on one machine; another one has the commits and the notes, and nothing else of it."""
    here = Committing.made(tmp_path / "here", {"a.txt": TEXT, "b c.txt": b"b\n"})
    here.project.work("A", {"a.txt": text(l2=b"A", l3=b"A"), "b c.txt": b"b\nA\n"})
    here.project.bench.write({"a.txt": text(l2=b"A", l3=b"A", l10=b"user")})
    here.project.work("B", {"a.txt": text(l2=b"A", l3=b"B", l10=b"user")})
    here.project.commit("--all-files")
    (commit,) = here.commits()
    export(here)
    # and more above it, without a note
    here.project.bench.write({"a.txt": b"above\n" + text(l2=b"A", l3=b"B", l10=b"user")})
    here.project.commit("--all-files")

    bench = make(tmp_path / "there", {}, git=True)
    root = os.fsdecode(here.project.bench.root)
    run_git(bench.root, "pull", "--quiet", root, "HEAD")
    run_git(bench.root, "fetch", "--quiet", root, f"{NOTES}:{NOTES}")
    there = Noted(Agents(bench), Path(bench.root))
    assert there.blame("a.txt") == {3: (commit.name, "agent", "A"), 4: (commit.name, "agent", "B")}
    assert there.blame("b c.txt") == {2: (commit.name, "agent", "A")}


def test_what_snapd_has_forgotten(tmp_path: Path) -> None:
    """Once a session is gone, its lines are from before; what was exported meanwhile is still known."""
    here = Committing.made(tmp_path, {"a.txt": TEXT})
    here.project.work("A", {"a.txt": text(l2=b"A")})
    here.project.commit("--all-files")
    export(here)
    project = Noted(here.project, Path(here.project.bench.root))
    assert [run["author"] for run in project.ask("a.txt")["lines"]] == ["before", "step", "before"]
    assert project.blame("a.txt") == {}
    bench = here.project.bench
    bench.close()
    shutil.rmtree(bench.folder / "data")
    bench.open()
    assert project.blame("a.txt") == {2: (project.head, "agent", "A")}


def export(here: Committing) -> None:
    """Attaches to the newest commit what snapd knows of it, as `snapd log --format git-ai` prints it."""
    (commit,) = here.commits()
    text = git_ai.note(commit, [file for file, _ in here.attributed(commit)])
    here.git("notes", "--ref=ai", "add", "-F", "-", data=text.encode())


# -- from which commits they are


def test_a_file_that_was_renamed_in_history(project: Noted) -> None:
    expected = by_note(project.head)
    project.git("mv", "a.txt", "a name.txt")
    project.commit()
    project.attach(note("a name.txt\n"))
    odd = 'd\u00e4/"x\t\\.txt'
    (project.top / "d\u00e4").mkdir()
    project.git("mv", "a name.txt", odd)
    project.agents.bench.write({odd: b"above\n" + TEXT})
    project.commit()
    project.attach(note(f'"{odd}"\n  {KEY} 1\n', "later"))
    assert project.blame(odd) == {1: (project.head, "claude", "later")} | {
        line + 1: by for line, by in expected.items()
    }
    # names that mean something else to git
    # names that mean something else to git
    for name in (":a", ":(glob)*", "-p", "*"):
        os.rename(project.top / odd, project.top / name)
        odd = name
        project.commit()
        assert len(project.blame(name)) == 5, name


def test_a_file_that_is_moved_and_not_committed(project: Noted) -> None:
    expected = by_note(project.head)
    bench = project.agents.bench
    project.agents.start("A")
    project.agents.step("A", lambda: os.rename(bench.path("a.txt"), bench.path("moved.txt")))
    assert project.blame("moved.txt") == expected
    # to where another file was, which the newest commit still has
    project.agents.step("A", lambda: bench.remove("b.txt"))
    project.agents.step("A", lambda: os.rename(bench.path("moved.txt"), bench.path("b.txt")))
    assert project.blame("b.txt") == expected
    # by hand, and another file takes its first name
    os.rename(bench.path("b.txt"), bench.path("c.txt"))
    bench.write({"a.txt": b"1\n2\n"})
    assert project.blame("c.txt") == expected
    assert project.blame("a.txt") == {}


def test_line_ends_that_git_converts(tmp_path: Path) -> None:
    project = Noted.made(tmp_path, {"a.txt": b"1\r\n2\r\n", ".gitattributes": b"*.txt text eol=crlf\n"})
    project.attach(note(f"a.txt\n  {KEY} 2\n"))
    assert project.git("cat-file", "blob", "HEAD:a.txt") == b"1\n2\n"
    assert project.blame("a.txt") == {2: (project.head, "claude", "conversation")}


@pytest.mark.parametrize("seed", range(amount(4, 60)))
def test_any_history_with_notes_is_as_git_blame_says(tmp_path: Path, seed: int) -> None:
    """Commits, renames and merges; each note says of each line of each file whether an agent wrote it."""
    chance = Random(seed)
    project = Noted.made(tmp_path, {"a.txt": TEXT, "b.txt": TEXT[:20]})
    claimed: dict[tuple[str, str], set[int]] = {}

    def attest() -> None:
        attested = ""
        for name in project.git("ls-files").decode().split():
            count = len((project.top / name).read_bytes().splitlines())
            lines = claimed[project.head, name] = {line for line in range(1, count + 1) if chance.randrange(2)}
            if lines:
                attested += f"{name}\n  {KEY} {','.join(map(str, sorted(lines)))}\n"
        project.attach(note(attested, project.head))

    def write() -> None:
        for name in project.git("ls-files").decode().split():
            lines = (project.top / name).read_bytes().splitlines(keepends=True)
            at = chance.randint(0, len(lines))
            lines[at : at + chance.randint(0, 3)] = [b"%d\n" % chance.randrange(9) for _ in range(chance.randint(0, 4))]
            (project.top / name).write_bytes(b"".join(lines))

    attest()
    for number in range(chance.randint(3, 8)):
        what = chance.randrange(4)
        if what == 0:
            project.git("mv", project.git("ls-files", "a*").decode().strip(), f"a{number}.txt")
            write()
            project.commit()
        elif what == 1:
            project.git("checkout", "--quiet", "-b", f"side{number}", "HEAD")
            write()
            project.commit()
            attest()
            project.git("checkout", "--quiet", "-")
            project.git("merge", "--quiet", "--no-ff", "--message", "merge", f"side{number}")
        else:
            write()
            project.commit()
        attest()
    # notes in directories of two digits each, as git has them where there are many
    if chance.randrange(2):
        _divide(project)
    for name in project.git("ls-files").decode().split():
        expected = {
            at: (commit, "claude", commit)
            for at, (commit, there, number) in enumerate(project.by_git(name), 1)
            if number in claimed.get((commit, there), ())
        }
        assert project.blame(name) == expected


@pytest.mark.parametrize("seed", range(amount(6, 80)))
def test_lines_from_before_are_of_the_commits_that_git_blame_shows(tmp_path: Path, seed: int) -> None:
    chance = Random(seed)
    project = Noted.made(tmp_path, {"a.txt": TEXT, ".mailmap": b"Proper Name <proper@x> <odd0@x>\n"})
    name = "a.txt"
    authors = [f"Odd {number} <odd{number}@x>" for number in range(3)]

    def write() -> None:
        lines = (project.top / name).read_bytes().splitlines(keepends=True)
        at = chance.randint(0, len(lines))
        lines[at : at + chance.randint(0, 3)] = [b"%d\n" % chance.randrange(10**9) for _ in range(chance.randint(1, 4))]
        (project.top / name).write_bytes(b"".join(lines))

    for number in range(chance.randint(2, 6)):
        if not chance.randrange(4):
            project.git("mv", name, f"a{number}.txt")
            name = f"a{number}.txt"
        write()
        author, message = chance.choice(authors), f"change \N{LATIN SMALL LETTER U WITH DIAERESIS} {number}\n\nmore"
        project.git("commit", "--quiet", "--all", f"--author={author}", "--message", message)
    if chance.randrange(2):
        # not committed, and from before
        write()
    assert project.by_commit(name) == project.by_git_now(name)
    # what an agent writes is the agent's, and the rest stays as it is
    project.agents.start("A")
    project.agents.bench.track()
    project.agents.step("A", {name: b"new by A\n" + (project.top / name).read_bytes()})
    assert project.by_commit(name) == project.by_git_now(name)
    # the agent's is committed, and still the agent's
    project.git("commit", "--quiet", "--all", "--message", "of an agent")
    assert project.by_commit(name) == [None, *project.by_git_now(name)[1:]]


def _divide(project: Noted) -> None:
    """Rewrites the tree of notes with other names for the same notes."""
    entries = project.git("ls-tree", "-r", NOTES).decode().splitlines()
    index = project.top.parent / "index"
    paths = []
    for at, entry in enumerate(entries):
        head, _, name = entry.partition("\t")
        whole, depth = name.replace("/", ""), at % 4
        parts = [whole[2 * each : 2 * each + 2] for each in range(depth)]
        paths.append(f"{head}\t{'/'.join([*parts, whole[2 * depth :]])}")
    environment = {**os.environ, "GIT_INDEX_FILE": str(index)}
    lines = "\n".join(paths).encode()
    subprocess.run([GIT, "update-index", "--index-info"], cwd=project.top, env=environment, input=lines, check=True)
    tree = subprocess.check_output([GIT, "write-tree"], cwd=project.top, env=environment).decode().strip()
    made = project.git("commit-tree", "-m", "notes", tree).decode().strip()
    project.git("update-ref", NOTES, made)


# -- which repository they are in


def test_without_a_repository_no_process_is_started(tmp_path: Path, started: list[str]) -> None:
    outside = make(tmp_path / "other", {"a.txt": TEXT})
    assert Noted(Agents(outside), outside.root).by_commit("a.txt") == [None] * 20
    assert started == []
    project = Noted.made(tmp_path, {"a.txt": TEXT})
    project.git("notes", "add", "--message", "of another kind")
    project.git("update-ref", "refs/notes/ai-stash", "HEAD")
    assert project.blame("a.txt") == {}
    project.git("pack-refs", "--all")
    assert project.blame("a.txt") == {}
    # packed, too, the notes count
    project.attach(note(f"a.txt\n  {KEY} 1\n"))
    project.git("pack-refs", "--all")
    assert project.blame("a.txt") == {1: (project.head, "claude", "conversation")}


def test_what_is_asked_again(project: Noted, started: list[str]) -> None:
    expected = by_note(project.head)
    # nothing is from before in these lines
    project.agents.start("A")
    project.agents.step("A", {"a.txt": text(l20=b"A"), "new": b"new\n"})
    assert project.blame("new") == {}
    assert project.blame("a.txt", range={"start": 20, "count": 1}) == {}
    assert started == []
    assert project.blame("a.txt") == expected
    once = len(started)
    # an editor asks with every change
    project.agents.bench.write({"a.txt": b"above\n" + text(l20=b"A")})
    assert project.blame("a.txt") == {line + 1: by for line, by in expected.items()}
    assert started[once:] == ["rev-parse"]
    project.attach(note(f"a.txt\n  {KEY} 5\n", "other"))
    assert project.blame("a.txt") == {6: (project.head, "claude", "other")}
    project.git("update-ref", "-d", NOTES)
    assert project.blame("a.txt") == {}
    once = len(started)
    assert project.by_commit("a.txt")[1] is not None
    assert started[once:] == ["rev-parse"]


def test_a_repository_around_the_folder_and_one_in_it(tmp_path: Path) -> None:
    project = Noted.made(tmp_path, {"a.txt": TEXT}, inside="sub/folder")
    project.attach(note(f"sub/folder/a.txt\n  {KEY} 1\na.txt\n  {KEY} 2\n"))
    assert project.blame("a.txt") == {1: (project.head, "claude", "conversation")}
    nested = project.top / "sub" / "folder" / "nested"
    nested.mkdir()
    (nested / "b.txt").write_bytes(TEXT)
    run_git(nested, "init", "--quiet")
    run_git(nested, "add", "b.txt")
    run_git(nested, "commit", "--quiet", "--message", "nested")
    data = note(f"b.txt\n  {KEY} 3\n", "nested")
    run_git(nested, "notes", "--ref=ai", "add", "-F", "-", input=data)
    commit = run_git(nested, "rev-parse", "HEAD").decode().strip()
    assert project.blame("nested/b.txt") == {3: (commit, "claude", "nested")}


def test_another_work_tree_and_one_without_all_history(tmp_path: Path, project: Noted) -> None:
    expected = by_note(project.head)
    project.agents.bench.write({"a.txt": text(l20=b"later")})
    later = project.commit()
    project.attach(note(f"a.txt\n  {KEY} 20\n", "later"))
    linked = tmp_path / "linked"
    project.git("worktree", "add", "--quiet", "-b", "linked", str(linked / "work"))
    bench = make(linked)
    whole = expected | {20: (later, "claude", "later")}
    assert Noted(Agents(bench), linked / "work").blame("a.txt") == whole
    shallow = tmp_path / "shallow"
    shallow.mkdir()
    run_git(shallow, "clone", "--quiet", "--depth=1", project.top.as_uri(), "work")
    run_git(shallow / "work", "fetch", "--quiet", "origin", f"{NOTES}:{NOTES}")
    bench = make(shallow)
    # git knows only the last commit, whose note says nothing of the others
    assert Noted(Agents(bench), shallow / "work").blame("a.txt") == {20: (later, "claude", "later")}


def test_history_that_is_cut_off_although_its_objects_are_there(project: Noted) -> None:
    """As after `git fetch --depth`."""
    project.agents.bench.write({"a.txt": text(l20=b"later")})
    later = project.commit()
    project.attach(note(f"a.txt\n  {KEY} 20\n", "later"))
    (project.top / ".git" / "shallow").write_text(f"{later}\n")
    assert {commit for commit, _, _ in project.by_git("a.txt")} == {later}
    assert project.blame("a.txt") == {20: (later, "claude", "later")}


def test_hashes_of_the_other_kind(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    run_git(tmp_path / "work", "init", "--quiet", "--object-format=sha256")
    project = Noted(Agents(make(tmp_path, {"a.txt": TEXT})), tmp_path / "work")
    project.commit()
    project.attach(note(f"a.txt\n  {KEY} 1\n"))
    assert len(project.head) == 64
    assert project.blame("a.txt") == {1: (project.head, "claude", "conversation")}


def test_before_the_first_commit(tmp_path: Path) -> None:
    bench = make(tmp_path, {"a.txt": TEXT}, git=True)
    project = Noted(Agents(bench), tmp_path / "work")
    blob = project.git("hash-object", "-w", "--stdin", data=b"x").decode().strip()
    # whatever the reference leads to
    project.git("update-ref", NOTES, blob)
    assert project.blame("a.txt") == {}
    project.commit()
    assert project.blame("a.txt") == {}


# -- what nobody can be trusted with


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"nonsense", "its note has no line '---' between lines and metadata"),
        (note("", schema_version="authorship/2.0.0"), "is of the version 'authorship/2.0.0'; snapd reads authorship/3"),
        (note(f"a.txt\n  {KEY} 5-1\n"), "its note breaks the standard: '5-1' is not in ascending order, in line 2"),
        (note("") + b" " * (1 << 20), "its note is over 1 MB"),
        (note("", sessions={KEY[:16]: {"agent_id": {"tool": 1}}}), "'tool' of 's_0123456789abcd' is not a string"),
    ],
)
def test_a_note_that_cannot_be_read(project: Noted, data: bytes, reason: str) -> None:
    """It alone is left out, and the answer says why."""
    first = by_note(project.head)
    project.agents.bench.write({"a.txt": text(l2=b"other", l19=b"other")})
    later = project.commit()
    project.attach(data, later)
    answer = project.ask("a.txt")
    assert [(each["commit"], reason in each["reason"]) for each in answer["noteProblems"]] == [(later, True)]
    assert noted(answer) == {line: by for line, by in first.items() if line != 2}
    assert project.blame("b.txt") == {}


def test_a_note_that_claims_what_is_not_there(project: Noted) -> None:
    """Lines by the billion, files elsewhere, lines of other commits: what git says about lines goes first."""
    first = by_note(project.head)
    project.agents.bench.write({"a.txt": text(l20=b"later")})
    later = project.commit()
    files = "".join(f"{name}\n  {KEY} 1-4294967295\n" for name in ("../a.txt", "/a.txt", "./a.txt", "b.txt", '"a.txt'))
    project.attach(note(f"a.txt\n  {KEY} 1-4294967295\n  {PERSON_KEY} 1-4294967295,7-9999999999\n{files}"))
    found = project.blame("a.txt")
    # the last entry counts
    assert found.pop(20) == (later, PERSON, "")
    assert found == first
    assert project.blame("b.txt") == {}


def test_many_notes_that_cannot_be_read_are_told_in_part(tmp_path: Path) -> None:
    project = Noted.made(tmp_path, {"a.txt": b""})
    for number in range(25):
        with (project.top / "a.txt").open("ab") as file:
            file.write(b"%d\n" % number)
        project.commit()
        project.attach(b"nonsense")
    problems = project.problems("a.txt")
    assert len(problems) == 21
    assert all(commit is not None for commit, _ in problems[:20])
    assert problems[20] == (None, "5 more notes cannot be read")


def test_nothing_of_the_project_is_run(tmp_path: Path, project: Noted) -> None:
    """Neither by attributes nor by configuration, which a folder that came as an archive may have."""
    expected = by_note(project.head)
    traps = Traps(tmp_path / "traps")
    directory = project.top / ".git"
    with (directory / "config").open("a") as config:
        config.write(traps.configuration("project"))
    (directory / "info" / "attributes").write_text(ATTRIBUTES)
    assert project.blame("a.txt") == expected
    assert traps.fired() == []
    # git sets them off
    subprocess.run([GIT, "blame", "a.txt"], cwd=project.top, capture_output=True, check=False)
    assert traps.fired() != []


def test_nothing_is_fetched(tmp_path: Path, project: Noted) -> None:
    """In a partial clone, git would fetch what is missing, by whatever program the project names."""
    traps = Traps(tmp_path / "traps")
    project.agents.bench.write({"a.txt": text(l20=b"later")})
    project.commit()
    blob = project.git("rev-parse", "HEAD~1:a.txt").decode().strip()
    (project.top / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    with (project.top / ".git" / "config").open("a") as config:
        config.write(traps.configuration("project"))
        config.write("[extensions]\n\tpartialClone = origin\n")
        config.write(f'[remote "origin"]\n\turl = {tmp_path}\n\tpromisor = true\n')
        config.write(f"\tuploadpack = {traps.command('upload-pack')}\n")
    ((commit, reason),) = project.problems("a.txt")
    assert commit is None
    assert reason.startswith("git: ")
    assert traps.fired() == []
    assert [run["author"] for run in project.ask("a.txt")["lines"]] == ["before"]
    # git sets them off
    subprocess.run([GIT, "blame", "HEAD", "--", "a.txt"], cwd=project.top, capture_output=True, check=False)
    assert traps.fired() != []


def test_git_that_is_missing_or_needs_too_much(tmp_path: Path, project: Noted) -> None:
    """The answer has what snapd itself knows all the same (`test_nothing_is_fetched`)."""
    root = project.agents.bench.workspace.root
    nowhere = ProjectNotes(root, GitProgram({"PATH": "/nonexistent"}))
    with pytest.raises(IoError, match="git cannot be run"):
        nowhere.of([b"a.txt"], Call())
    said_too_much = ProjectNotes(root, GitProgram(dict(os.environ)), Bounds(output_bytes=200))
    # as the system ends what has used its processor time
    ended = ProjectNotes(root, GitProgram({"PATH": _git_that(tmp_path, "kill -KILL $$")}))
    for notes in (said_too_much, ended):
        file = notes.of([b"a.txt"], Call())
        assert file is not None
        told = file.noted(b"a.txt", Call())
        assert told.lines == {}
        assert [problem.reason for problem in told.problems] == ["git needs too long for the history of this file"]
        # it would be the same again
        assert file.noted(b"a.txt", Call()) is told


def test_a_question_that_is_cancelled(tmp_path: Path, project: Noted) -> None:
    note = tmp_path / "begun"
    path = _git_that(tmp_path, f"echo > {note}; exec tail -f /dev/null")
    file = ProjectNotes(project.agents.bench.workspace.root, GitProgram({"PATH": path})).of([b"a.txt"], Call())
    assert file is not None
    call = Call()

    def cancel() -> None:
        while not note.exists():
            time.sleep(0.01)
        call.cancel()

    canceller = threading.Thread(target=cancel)
    canceller.start()
    with pytest.raises(Cancelled):
        file.noted(b"a.txt", call)
    canceller.join()


def _git_that(tmp_path: Path, blames: str) -> str:
    """A path with a git that does something else when it is to blame."""
    (tmp_path / "bin").mkdir()
    script = tmp_path / "bin" / "git"
    script.write_text(f'#!/bin/sh\ncase "$*" in *" blame "*) {blames};; esac\nexec {GIT} "$@"\n')
    script.chmod(0o755)
    return f"{tmp_path / 'bin'}:{os.environ['PATH']}"

"""Sessions as a file: written by one workspace, read by another and by git itself."""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path

import pytest

from snapd.model.call import Call
from snapd.model.errors import Cancelled, InvalidParams, RemoteFailed, StorageFull, UnknownSession, Untrusted
from snapd.sharing import bundle
from snapd.sharing.push import PushOptions, PushOutcome
from snapd.store.files.durable import write_all
from tests.sharing.test_projection import told
from tests.support.git import run_git
from tests.support.sessions import TEXT, Agents, at_work, text

DRY = PushOptions(dry_run=True)


@pytest.fixture
def here(tmp_path: Path) -> Agents:
    """A project of 2,000 files, all of them committed."""
    many = {f"d{at // 100}/f{at}.txt": b"%d\n" % at * 50 for at in range(2000)}
    agents = at_work(tmp_path / "here", {"a.txt": TEXT, **many}, git=True)
    project(agents, "add", ".")
    project(agents, "commit", "--quiet", "--message=one")
    return agents


@pytest.fixture
def small(tmp_path: Path) -> Agents:
    """A folder without git, with two sessions."""
    agents = at_work(tmp_path / "small", {"a.txt": TEXT})
    agents.step("one", {"a.txt": text(l2=b"1")}, message="m")
    agents.start("two")
    agents.step("two", {"b.txt": b"b\n"})
    agents.undo("one")
    return agents


@pytest.fixture
def there(tmp_path: Path) -> Agents:
    return at_work(tmp_path / "there", {"other.txt": b"other\n"})


@pytest.fixture
def file(tmp_path: Path) -> str:
    (tmp_path / "out").mkdir()
    return str(tmp_path / "out" / "s.bundle")


def project(agents: Agents, *words: str) -> bytes:
    return run_git(agents.bench.root, *words)


def export(agents: Agents, file: str, *sessions: str, options: PushOptions | None = None) -> PushOutcome:
    return agents.bench.workspace.pushing.export(file, sessions or None, options or PushOptions(), Call())


def import_(agents: Agents, file: str) -> list[str]:
    return [view.session.session_id for view in agents.bench.workspace.fetched.import_(file, Call())]


def prerequisites(file: str) -> list[str]:
    lines = Path(file).read_bytes().split(b"\n\n", 1)[0].decode().splitlines()
    return [line[1:41] for line in lines if line.startswith("-")]


def cloned(agents: Agents, path: Path) -> Agents:
    """Who has a clone of a project."""
    run_git(path.parent, "clone", "--quiet", str(agents.bench.root), str(path.parent / "clone"))
    other = at_work(path, {})
    for name in (path.parent / "clone").iterdir():
        shutil.move(name, other.bench.root)
    return other


def mirrors(agents: Agents) -> list[Path]:
    return list(Path(agents.bench.workspace.store.path, "mirrors").glob("*"))


def three_steps(agents: Agents) -> None:
    for number in range(3):
        agents.step("one", {"a.txt": text(l2=b"%d" % number)})


def test_there_and_read(small: Agents, there: Agents, file: str, tmp_path: Path) -> None:
    planned = export(small, file, options=DRY)
    assert (planned.applied, os.path.exists(file)) == (False, False)
    written = export(small, file)
    assert (written.applied, written.remote, written.sessions) == (True, file, ("one", "two"))
    assert written.size == planned.size == os.path.getsize(file)
    assert written.new_files == planned.new_files
    assert os.stat(file).st_mode & 0o777 == 0o600
    assert os.listdir(os.path.dirname(file)) == ["s.bundle"]
    # git reads it as it is, with nothing else
    oracle = tmp_path / "oracle"
    run_git(tmp_path, "init", "--quiet", "--bare", str(oracle))
    run_git(oracle, "bundle", "verify", "--quiet", file)
    run_git(oracle, "fetch", "--quiet", file, "refs/*:refs/*")
    assert run_git(oracle, "fsck", "--strict", "--no-dangling") == b""
    listed = run_git(oracle, "for-each-ref", "--format=%(objectname) %(refname)").decode().splitlines()
    assert sorted(run_git(oracle, "bundle", "list-heads", file).decode().splitlines()) == sorted(listed)
    assert len(listed) == 2
    assert sorted(import_(there, file)) == ["one", "two"]
    for reader in there.bench.workspace.fetched.readers():
        workspace, session = small.bench.workspace, reader.view().session.session_id
        said = told(workspace.store.timeline, workspace.step_changes, session)
        assert told(reader.fetched.timeline, reader.changes, session) == said
        assert reader.origin.remote == file
    assert import_(there, file) == []
    (mirror,) = mirrors(there)
    assert run_git(mirror, "--git-dir=.", "fsck", "--strict", "--no-dangling") == b""
    # another process finds them, also once the file is gone
    os.unlink(file)
    there.bench.reopen()
    assert there.bench.workspace.fetched.of_session("two") is not None


def test_a_session_that_went_on(small: Agents, there: Agents, file: str) -> None:
    export(small, file, "one")
    assert import_(there, file) == ["one"]
    small.step("one", {"c.txt": b"c\n"})
    os.unlink(file)
    export(small, file)
    assert sorted(import_(there, file)) == ["one", "two"]
    reader = there.bench.workspace.fetched.known_session("one")
    assert len(reader.fetched.timeline.steps("one")) == 2


def test_it_costs_what_the_project_does_not_have(here: Agents, there: Agents, file: str, tmp_path: Path) -> None:
    three_steps(here)
    head = project(here, "rev-parse", "HEAD").decode().strip()
    written = export(here, file)
    assert written.size == os.path.getsize(file) < 6000
    assert prerequisites(file) == [head]
    clone = cloned(here, tmp_path / "with")
    # git itself says the same
    assert head in run_git(clone.bench.root, "bundle", "verify", file).decode()
    run_git(clone.bench.root, "fetch", "--quiet", file, "refs/snapd/*:refs/snapd/*")
    run_git(clone.bench.root, "fsck", "--strict", "--no-dangling")
    assert import_(clone, file) == ["one"]
    (mirror,) = mirrors(clone)
    assert run_git(mirror, "--git-dir=.", "fsck", "--strict", "--no-dangling") == b""
    # who has no such commit hears which one it is, and nothing is taken
    with pytest.raises(RemoteFailed) as caught:
        import_(there, file)
    assert head in caught.value.message
    assert caught.value.hint is not None
    assert head[:12] in caught.value.hint
    assert (caught.value.data["remote"], caught.value.data["commit"]) == (file, head)
    assert there.bench.workspace.fetched.of_session("one") is None
    # and takes it once it is there, whatever brought it
    run_git(there.bench.root, "init", "--quiet")
    run_git(there.bench.root, "fetch", "--quiet", str(here.bench.root), "HEAD")
    assert import_(there, file) == ["one"]


def test_it_builds_on_what_others_likely_have(here: Agents, file: str, tmp_path: Path) -> None:
    clone = cloned(here, tmp_path / "with")
    published = run_git(clone.bench.root, "rev-parse", "HEAD").decode().strip()
    # commits of one's own are nobody else's yet
    clone.bench.write({"mine.txt": b"mine\n"})
    run_git(clone.bench.root, "add", ".")
    run_git(clone.bench.root, "commit", "--quiet", "--message=mine")
    three_steps(clone)
    export(clone, file)
    assert prerequisites(file) == [published]
    # nor is what the remote has beyond HEAD
    project(here, "commit", "--quiet", "--allow-empty", "--message=two")
    run_git(clone.bench.root, "fetch", "--quiet", "origin")
    assert run_git(clone.bench.root, "rev-parse", "origin/HEAD").decode().strip() != published
    os.unlink(file)
    export(clone, file)
    assert prerequisites(file) == [published]
    with_mine = Path(file).stat().st_size
    os.unlink(file)
    # in a shallow clone, too
    shallow = tmp_path / "shallow"
    run_git(tmp_path, "clone", "--quiet", "--depth=1", f"file://{clone.bench.root}", str(shallow / "clone"))
    other = at_work(shallow, {})
    for name in (shallow / "clone").iterdir():
        shutil.move(name, other.bench.root)
    three_steps(other)
    export(other, file)
    assert prerequisites(file) == [run_git(clone.bench.root, "rev-parse", "HEAD").decode().strip()]
    assert Path(file).stat().st_size < with_mine + 1000


def test_it_builds_on_the_nearest_branch(here: Agents, file: str) -> None:
    first = project(here, "rev-parse", "HEAD").decode().strip()
    here.bench.write({"second.txt": b"second\n"})
    project(here, "add", ".")
    project(here, "commit", "--quiet", "--message=second")
    near = project(here, "rev-parse", "HEAD").decode().strip()
    # a newer one, which went another way
    tree = project(here, "rev-parse", f"{first}^{{tree}}").decode().strip()
    who = "A <a@example.com> 4000000000 +0000"
    commit = f"tree {tree}\nparent {first}\nauthor {who}\ncommitter {who}\n\nnewer\n".encode()
    newer = run_git(here.bench.root, "hash-object", "-w", "-t", "commit", "--stdin", input=commit).decode().strip()
    project(here, "update-ref", "refs/remotes/origin/near", near)
    project(here, "update-ref", "refs/remotes/origin/newer", newer)
    three_steps(here)
    export(here, file)
    assert prerequisites(file) == [near]


def test_it_builds_on_one_commit_and_none_before(here: Agents, file: str, tmp_path: Path) -> None:
    """Git knows from its summaries of packs what older commits have, too; who has a shallow clone has none of that."""
    old = b"".join(b"%d of an old file\n" % number for number in range(1000))
    here.bench.write({"old.txt": old})
    project(here, "add", ".")
    project(here, "commit", "--quiet", "--message=with")
    here.bench.remove("old.txt")
    project(here, "commit", "--quiet", "--all", "--message=without")
    project(here, "repack", "-a", "-d", "--quiet", "--write-bitmap-index")
    here.step("one", {"old.txt": old})
    assert export(here, file).new_files == ()
    shallow = at_work(tmp_path / "shallow", {}, git=True)
    run_git(shallow.bench.root, "fetch", "--quiet", "--depth=1", f"file://{here.bench.root}", "HEAD")
    assert import_(shallow, file) == ["one"]


def test_it_is_whole_where_no_commit_helps(tmp_path: Path, there: Agents, file: str) -> None:
    unborn = at_work(tmp_path / "unborn", {"a.txt": TEXT}, git=True)
    empty = at_work(tmp_path / "empty", {"a.txt": TEXT}, git=True)
    project(empty, "commit", "--quiet", "--allow-empty", "--message=nothing")
    little = at_work(tmp_path / "little", {"a.txt": TEXT}, git=True)
    project(little, "add", ".")
    project(little, "commit", "--quiet", "--message=little")
    large = {f"f{number}.bin": os.urandom(1000) for number in range(30)}
    unrelated = at_work(tmp_path / "unrelated", large, git=True)
    project(unrelated, "add", ".")
    project(unrelated, "commit", "--quiet", "--message=one")
    project(unrelated, "update-ref", "refs/remotes/origin/main", _lone_commit(unrelated))
    for agents in (unborn, empty, little, unrelated):
        agents.step("one", {"b.txt": b"b\n"})
        export(agents, file)
        assert prerequisites(file) == []
        import_(there, file)
        os.unlink(file)
        there.bench.workspace.fetched.known_session("one")


def _lone_commit(agents: Agents) -> str:
    tree = project(agents, "mktree", "--missing").decode().strip()
    return project(agents, "commit-tree", "-m", "lone", tree).decode().strip()


def test_what_stays_here(small: Agents, file: str, tmp_path: Path) -> None:
    assert export(small, file, options=PushOptions(["b.*"])).sessions == ("one", "two")
    run_git(tmp_path, "clone", "--quiet", "--bare", file, str(tmp_path / "oracle"))
    run_git(tmp_path / "oracle", "fetch", "--quiet", file, "refs/*:refs/*")
    names = run_git(tmp_path / "oracle", "log", "--all", "--name-only", "--format=")
    assert b"a.txt" in names
    assert b"b.txt" not in names


def test_where_it_cannot_be_written(small: Agents, file: str, tmp_path: Path) -> None:
    Path(file).write_bytes(b"mine\n")
    os.symlink("nowhere", tmp_path / "link")
    (tmp_path / ".git").mkdir()
    run_git(tmp_path, "init", "--quiet", "--bare", "repository")
    stores = os.path.dirname(small.bench.workspace.store.path)
    for path, why in (
        ("s.bundle", "not an absolute path"),
        (file, "exists already"),
        (str(tmp_path / "link"), "exists already"),
        (str(tmp_path / "out"), "exists already"),
        (str(tmp_path / "no" / "s.bundle"), "no folder"),
        (f"{file}/s.bundle", "no folder"),
        (str(tmp_path / ".git" / "s.bundle"), "lies in a .git"),
        (str(tmp_path / "repository" / "hooks" / "s.bundle"), "git repository"),
        (os.path.join(stores, "s.bundle"), "snapd's own stores"),
        (os.path.join(small.bench.workspace.store.path, "s.bundle"), "store"),
    ):
        for options in (DRY, None):
            with pytest.raises(InvalidParams, match=why) as caught:
                export(small, path, options=options)
            assert caught.value.data["field"] == "file"
    assert Path(file).read_bytes() == b"mine\n"
    assert os.listdir(tmp_path / "out") == ["s.bundle"]
    with pytest.raises(UnknownSession):
        export(small, f"{file}2", "nobody")


def test_who_comes_first_keeps_the_name(small: Agents, file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def meanwhile(descriptor: int, data: bytes) -> None:
        Path(file).write_bytes(b"theirs\n")
        write_all(descriptor, data)

    monkeypatch.setattr(bundle, "write_all", meanwhile)
    with pytest.raises(InvalidParams, match="exists already"):
        export(small, file)
    assert Path(file).read_bytes() == b"theirs\n"
    assert os.listdir(os.path.dirname(file)) == ["s.bundle"]


def test_a_full_disk(small: Agents, file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def half(descriptor: int, data: bytes) -> None:
        write_all(descriptor, data[: len(data) // 2])
        raise OSError(errno.ENOSPC, "full")

    monkeypatch.setattr(bundle, "write_all", half)
    with pytest.raises(StorageFull):
        export(small, file)
    assert os.listdir(os.path.dirname(file)) == []


def test_a_cancelled_request(small: Agents, file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    call = Call()

    def then_no_more(descriptor: int, data: bytes) -> None:
        write_all(descriptor, data)
        call.cancel()

    monkeypatch.setattr(bundle, "write_all", then_no_more)
    with pytest.raises(Cancelled):
        small.bench.workspace.pushing.export(file, None, PushOptions(), call)
    assert os.listdir(os.path.dirname(file)) == []


def test_what_is_no_file_of_sessions(there: Agents, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "empty").write_bytes(b"")
    (tmp_path / "text").write_bytes(b"text\n" * 10_000)
    (tmp_path / "sha256").write_bytes(b"# v3 git bundle\n@object-format=sha256\n\n")
    (tmp_path / "filter").write_bytes(b"# v3 git bundle\n@filter=blob:none\n\n")
    (tmp_path / "lines").write_bytes(b"# v2 git bundle\n" + b"x" * 100_000)
    (tmp_path / "end").write_bytes(b"# v2 git bundle\n")
    for name in ("empty", "text", "sha256", "filter", "lines", "end"):
        with pytest.raises(Untrusted) as caught:
            import_(there, str(tmp_path / name))
        assert caught.value.data == {"file": str(tmp_path / name)}
    for name in ("nothing", "text/x", ".", "pipe"):
        with pytest.raises(InvalidParams) as wrong:
            import_(there, str(tmp_path / name))
        assert wrong.value.data["field"] == "file"
    with pytest.raises(InvalidParams, match="not an absolute path"):
        import_(there, "text")
    assert mirrors(there) == []


def test_every_cut_and_every_flipped_byte(small: Agents, there: Agents, file: str, tmp_path: Path) -> None:
    export(small, file, "one")
    data = Path(file).read_bytes()
    pack = data.index(b"PACK")
    damaged = str(tmp_path / "damaged")
    for cut in (*range(0, pack, 7), *range(pack, len(data), 41)):
        Path(damaged).write_bytes(data[:cut])
        with pytest.raises(Untrusted):
            import_(there, damaged)
    for at in range(pack, len(data), 41):
        Path(damaged).write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
        with pytest.raises(Untrusted):
            import_(there, damaged)
    assert there.bench.workspace.fetched.of_session("one") is None
    Path(damaged).write_bytes(data)
    assert import_(there, damaged) == ["one"]


def test_what_git_would_not_make(tmp_path: Path, there: Agents) -> None:
    """`git fetch` from a bundle takes trees that no git makes; here they are refused as from any remote."""
    oracle = tmp_path / "oracle"
    run_git(tmp_path, "init", "--quiet", "--bare", str(oracle))
    blob = run_git(oracle, "hash-object", "-w", "--stdin", input=b"x").decode().strip()
    entries = b"".join(b"100644 %s\0" % name + bytes.fromhex(blob) for name in (b"b", b"a"))
    tree = run_git(oracle, "hash-object", "-w", "-t", "tree", "--literally", "--stdin", input=entries).decode().strip()
    commit = run_git(oracle, "commit-tree", "-m", "x", tree).decode().strip()
    run_git(oracle, "update-ref", "refs/snapd/sessions/0123456789abcdef", commit)
    path = str(tmp_path / "s.bundle")
    run_git(oracle, "bundle", "create", "--quiet", path, "--all")
    with pytest.raises(Untrusted, match="damaged"):
        import_(there, path)


def test_names_of_references_lead_nowhere(small: Agents, there: Agents, file: str, tmp_path: Path) -> None:
    export(small, file, "one")
    data = Path(file).read_bytes()
    name = data.split(b"\n")[1].partition(b" ")[2]
    for other in (b"refs/snapd/sessions/../../../../x", b"refs/snapd/sessions/x.lock", b"refs/heads/main", b"x"):
        Path(tmp_path / "other").write_bytes(data.replace(name, other, 1))
        assert import_(there, str(tmp_path / "other")) == []
    Path(tmp_path / "other").write_bytes(data.replace(name, b"refs/snapd/sessions/0123456789abcdef", 1))
    with pytest.raises(Untrusted):
        import_(there, str(tmp_path / "other"))

"""Sessions that are pushed from one machine and fetched on another: a real bare repository between two workspaces."""

from __future__ import annotations

import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from snapd.core.actions.sessions import NewStep
from snapd.model.call import Call
from snapd.model.errors import FileNotInSnapshot, InvalidParams, RemoteChanged, RemoteFailed, UnknownSession
from snapd.model.secrets import Report, SecretRules
from snapd.model.timeline import StepQuery
from snapd.sharing.handover import HandoverOptions, MadeHandover
from snapd.sharing.push import NewFile, PushOptions, PushOutcome, SecretText
from tests.remotes.machines import bare
from tests.sharing.test_projection import told
from tests.support.git import run_git
from tests.support.sessions import TEXT, Agents, at_work, text
from tests.support.workspace import make

DRY = PushOptions(dry_run=True)
TOKEN = "ghp_" + "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0eF3hJ6"


@pytest.fixture
def remote(tmp_path: Path) -> str:
    return str(bare(tmp_path / "remote"))


@pytest.fixture
def here(tmp_path: Path) -> Agents:
    """A project of which a part is committed, and pushed as well."""
    agents = at_work(tmp_path / "here", {"a.txt": TEXT, "old.txt": b"first\n"}, git=True)
    project(agents, "add", ".")
    project(agents, "commit", "--quiet", "--message=one")
    agents.bench.write({"old.txt": b"second\n"})
    project(agents, "commit", "--quiet", "--all", "--message=two")
    return agents


@pytest.fixture
def there(tmp_path: Path) -> Agents:
    return at_work(tmp_path / "there", {"other.txt": b"other\n"})


def project(agents: Agents, *words: str) -> bytes:
    return run_git(agents.bench.root, *words)


def push(agents: Agents, remote: str, *sessions: str, options: PushOptions | None = None) -> PushOutcome:
    return agents.bench.workspace.pushing.push(remote, sessions or None, options or PushOptions(), Call())


def publish(agents: Agents, remote: str) -> None:
    """Pushes what the project has committed."""
    project(agents, "push", "--quiet", remote, "HEAD:refs/heads/main")


def fetch(agents: Agents, remote: str, *sessions: str) -> list[str]:
    views = agents.bench.workspace.fetched.fetch(remote, sessions or None, Call())
    return [view.session.session_id for view in views]


def objects(remote: str) -> int:
    counts = dict(line.split(b": ") for line in run_git(Path(remote), "count-objects", "-v").splitlines())
    return int(counts[b"count"]) + int(counts[b"in-pack"])


def references(remote: str) -> list[str]:
    return run_git(Path(remote), "for-each-ref", "--format=%(refname)").decode().split()


def test_there_and_read(here: Agents, there: Agents, remote: str) -> None:
    here.start("two")
    first = here.step("one", {"a.txt": text(l2=b"1"), "new.txt": b"new\n"}, message="m")
    here.step("two", {"a.txt": text(l2=b"1", l9=b"2")})
    here.undo("one", step=first)
    here.step("one", {"b.txt": b"b\n"})
    pushed = push(here, remote)
    assert (pushed.applied, pushed.remote, pushed.sessions) == (True, remote, ("one", "two"))
    assert run_git(Path(remote), "fsck", "--strict", "--no-dangling") == b""
    before = there.bench.status() if hasattr(there.bench, "status") else None
    assert sorted(fetch(there, remote)) == ["one", "two"]
    assert before == (there.bench.status() if hasattr(there.bench, "status") else None)
    readers = {reader.view().session.session_id: reader for reader in there.bench.workspace.fetched.readers()}
    for session, reader in readers.items():
        workspace = here.bench.workspace
        said = told(workspace.store.timeline, workspace.step_changes, session)
        assert told(reader.fetched.timeline, reader.changes, session) == said
        assert reader.view().origin is not None
        assert reader.view().origin.remote == remote
    reader = readers["one"]
    assert reader.net_changes.step(first, (), Call()) == here.bench.workspace.net_changes.step(first, (), Call())
    finding = there.bench.workspace.readers.find
    for wanted in (StepQuery(first[:6]), StepQuery("", "two"), StepQuery("", parent=first)):
        here_finds = here.bench.workspace.readers.find(wanted, None, Call())
        assert [view.step.step_id for view in finding(wanted, None, Call())] == [v.step.step_id for v in here_finds]
    assert fetch(there, remote) == []
    # another process finds them, too
    there.bench.reopen()
    assert there.bench.workspace.fetched.of_step(first) is not None
    assert there.bench.workspace.fetched.of_session("three") is None


def test_what_no_commit_has_is_named(here: Agents, remote: str) -> None:
    large = b"x" * (11 << 20)
    publish(here, remote)
    here.bench.write({"users.txt": b"of the user\n"})
    here.step("one", {"a.txt": text(l2=b"1"), "old.txt": b"first\n", "large.bin": large})
    plan = push(here, remote, options=DRY)
    assert not plan.applied
    assert plan.new_files == (
        NewFile(b"a.txt", len(text(l2=b"1"))),
        NewFile(b"large.bin", len(large), "large"),
        NewFile(b"users.txt", 12),
    )
    assert references(remote) == ["refs/heads/main"]
    project(here, "add", "a.txt", "users.txt")
    # what is only staged is in no commit, and what was only committed here is not there
    assert len(push(here, remote, options=DRY).new_files) == 3
    project(here, "commit", "--quiet", "--message=three")
    assert len(push(here, remote, options=DRY).new_files) == 3
    # a tag is enough
    project(here, "tag", "--annotate", "--message=tag", "v1")
    project(here, "push", "--quiet", remote, "v1")
    assert [file.path for file in push(here, remote, options=DRY).new_files] == [b"large.bin"]
    left = push(here, remote, options=PushOptions(["*.bin"]))
    assert left.new_files == ()
    names = run_git(Path(remote), "ls-tree", "-r", "--name-only", references(remote)[1]).decode()
    assert "large" not in names
    assert "head/a.txt" in names.split()


def test_a_file_that_is_pushed_again_is_not_looked_at_again(
    here: Agents, remote: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked_at: list[bytes] = []
    look = SecretRules.look

    def noted(rules: SecretRules, path: bytes, data: bytes, size: int | None = None) -> Report:
        looked_at.append(path)
        return look(rules, path, data, size)

    monkeypatch.setattr(SecretRules, "look", noted)
    publish(here, remote)
    secret = b"password = 'hunter2-but-longer-9f8e7d'\n"
    here.bench.write({"users.txt": b"of the user\n", ".env": secret})
    here.step("one", {"b.txt": b"b\n"})
    first = push(here, remote, options=DRY)
    assert sorted(looked_at) == [b".env", b"b.txt", b"users.txt"]
    looked_at.clear()
    assert push(here, remote).new_files == first.new_files
    assert looked_at == []
    # bytes that were harmless under another name
    here.step("one", {"b.txt": b"more\n", "c/.env": b"of the user\n"})
    again = {file.path: file.reason for file in push(here, remote).new_files}
    assert sorted(looked_at) == [b"b.txt", b"c/.env"]
    assert again[b".env"] == again[b"c/.env"] == "secret"


def test_likely_secrets_are_named(here: Agents, remote: str) -> None:
    publish(here, remote)
    token = TOKEN.encode()
    here.step("one", {"a.txt": b"GITHUB_TOKEN=" + token + b"\n", ".env": b"x\n", "b.txt": b"GITHUB_TOKEN=...\n"})
    named = {file.path: file.reason for file in push(here, remote, options=DRY).new_files}
    assert named == {b".env": "secret", b"a.txt": "secret", b"b.txt": None}


def test_it_costs_what_the_remote_does_not_have(here: Agents, there: Agents, remote: str) -> None:
    many = {f"d{at // 100}/f{at}.txt": b"%d\n" % at * 50 for at in range(2000)}
    here.bench.write(many)
    project(here, "add", ".")
    project(here, "commit", "--quiet", "--message=many")
    for number in range(3):
        here.step("one", {"a.txt": text(l2=b"%d" % number)})
    plan = push(here, remote, options=DRY)
    assert len(plan.new_files) == 2000 + 4
    whole = plan.size
    publish(here, remote)
    # what did not change is not even looked at
    assert [file.path for file in push(here, remote, options=DRY).new_files] == [b"a.txt"] * 2
    project(here, "tag", "--annotate", "--message=tag", "v1")
    run_git(here.bench.root, "push", "--quiet", remote, "HEAD:refs/heads/main", "v1")
    had = objects(remote)
    pushed = push(here, remote)
    part = pushed.size
    assert part < 6000 < whole
    assert {file.path for file in pushed.new_files} == {b"a.txt"}
    # nothing of what did not change was sent: the events, with a directory and a file for each change
    assert objects(remote) - had < 40
    here.step("one", {"a.txt": text(l2=b"last")})
    assert push(here, remote).size < 2000
    # who has a clone of the project gets no more
    clone = at_work(there.bench.folder / "clone", {"a.txt": TEXT}, git=True)
    run_git(clone.bench.root, "fetch", "--quiet", remote, "refs/heads/main:refs/remotes/origin/main")
    fetch(clone, remote)
    (mirror,) = Path(clone.bench.workspace.store.path, "mirrors").iterdir()
    packs = [pack.stat() for pack in (mirror / "objects" / "pack").glob("*.pack")]
    # and has the rest by links to the project's own
    assert sum(pack.st_size for pack in packs if pack.st_nlink == 1) < 20_000
    assert any(pack.st_nlink > 1 for pack in packs)


def test_pushing_again(here: Agents, remote: str) -> None:
    here.step("one", {"a.txt": text(l2=b"1")})
    push(here, remote)
    (name,) = references(remote)
    first = run_git(Path(remote), "rev-parse", name)
    push(here, remote)
    assert run_git(Path(remote), "rev-parse", name) == first
    here.step("one", {"a.txt": text(l2=b"2")})
    push(here, remote)
    assert first.decode().strip() in run_git(Path(remote), "rev-list", name).decode().split()
    # even if this machine does not remember what it pushed
    index = Path(here.bench.workspace.store.path, "mirrors.db")
    here.bench.workspace.remote_sessions.close()
    index.unlink()
    here.step("one", {"a.txt": text(l2=b"3")})
    push(here, remote)
    # and without a file that it leaves out now
    here.step("one", {"secret.txt": b"secret\n"})
    push(here, remote)
    push(here, remote, options=PushOptions(["secret.txt"]))
    assert b"secret" not in run_git(Path(remote), "ls-tree", "-r", "--name-only", name)


def test_steps_of_others_are_not_overwritten(here: Agents, tmp_path: Path, remote: str) -> None:
    other = at_work(tmp_path / "other", {"a.txt": TEXT})
    for agents in (here, other):
        # a session of the same name on two machines
        agents.step("one", {"a.txt": text(l2=b"1")})
    push(other, remote)
    before = run_git(Path(remote), "rev-parse", *references(remote))
    with pytest.raises(RemoteChanged):
        push(here, remote)
    here.start("two")
    with pytest.raises(RemoteChanged):
        push(here, remote)
    assert run_git(Path(remote), "rev-parse", *references(remote)) == before
    push(here, remote, "two")


def test_what_another_mirror_has_already(here: Agents, there: Agents, remote: str) -> None:
    """By another name of the same remote, nothing is sent; the new mirror is whole all the same."""
    here.step("one", {"a.txt": text(l2=b"1")})
    here.undo("one")
    push(here, remote)
    fetch(there, remote)
    assert fetch(there, f"file://{remote}") == ["one"]
    mirrors = list(Path(there.bench.workspace.store.path, "mirrors").iterdir())
    assert len(mirrors) == 2
    for mirror in mirrors:
        assert run_git(mirror, "--git-dir=.", "fsck", "--strict", "--no-dangling") == b""


def test_several_fetches_at_once(here: Agents, there: Agents, remote: str) -> None:
    """Each session comes once, and the mirror is whole."""
    for number in range(6):
        here.step("one", {"a.txt": text(l2=b"%d" % number)})
        push(here, remote)
        with ThreadPoolExecutor(6) as threads:
            found = [each for each in threads.map(lambda _: fetch(there, remote), range(6)) if each]
        assert found == [["one"]]
        (mirror,) = Path(there.bench.workspace.store.path, "mirrors").iterdir()
        assert run_git(mirror, "--git-dir=.", "fsck", "--strict", "--no-dangling") == b""


def test_deleting(here: Agents, there: Agents, remote: str) -> None:
    here.start("two")
    push(here, remote)
    fetch(there, remote)
    assert here.bench.workspace.pushing.delete(remote, ["one", "unknown"], Call()) == (remote, ("one",))
    assert len(references(remote)) == 1
    assert here.bench.workspace.pushing.delete(remote, ["one"], Call()) == (remote, ())
    # who has it keeps it; and it can be pushed again
    assert there.bench.workspace.fetched.of_session("one") is not None
    push(here, remote)
    assert len(references(remote)) == 2


def test_only_what_was_named_is_deleted(here: Agents, remote: str) -> None:
    push(here, remote)
    (name,) = references(remote)
    # git takes a name for the end of others
    other = f"refs/snapd/sessions/{name}"
    run_git(Path(remote), "update-ref", other, name)
    assert here.bench.workspace.pushing.delete(remote, ["one"], Call()) == (remote, ("one",))
    assert references(remote) == [other]
    assert here.bench.workspace.pushing.delete(remote, ["one"], Call()) == (remote, ())


@pytest.mark.parametrize("asked", ["push", "delete"])
def test_what_somebody_pushed_in_the_meantime_stays(here: Agents, remote: str, asked: str) -> None:
    """Between the look of git and its update, so that only the remote's own git can see it."""
    here.step("one", {"a.txt": text(l2=b"1")})
    push(here, remote)
    (name,) = references(remote)
    here.step("one", {"a.txt": text(l2=b"2")})
    hook = Path(remote) / "hooks" / "pre-receive"
    git = f"git --git-dir={remote}"
    # without git's quarantine, which allows no update
    unset = "unset GIT_QUARANTINE_PATH GIT_OBJECT_DIRECTORY GIT_ALTERNATE_OBJECT_DIRECTORIES"
    hook.write_text(f"#!/bin/sh\n{unset}\n{git} update-ref {name} {name}~1\n")
    hook.chmod(0o755)
    pushing = here.bench.workspace.pushing
    with pytest.raises(RemoteChanged):
        pushing.delete(remote, ["one"], Call()) if asked == "delete" else push(here, remote)
    assert references(remote) == [name]
    hook.unlink()
    push(here, remote)


def test_somebody_else_deleted_it(here: Agents, there: Agents, remote: str) -> None:
    here.start("two")
    push(here, remote)
    there.bench.workspace.pushing.delete(remote, ["one"], Call())
    assert len(references(remote)) == 1
    push(here, remote)
    assert len(references(remote)) == 2
    # nor is it another one that is there now
    there.bench.workspace.pushing.delete(remote, ["one"], Call())
    there.step("one", {"other.txt": b"theirs\n"})
    push(there, remote, "one")
    before = run_git(Path(remote), "rev-parse", *references(remote))
    here.step("one", {"a.txt": text(l2=b"1")})
    with pytest.raises(RemoteChanged):
        push(here, remote)
    assert run_git(Path(remote), "rev-parse", *references(remote)) == before


def test_the_remotes_of_the_project(here: Agents, there: Agents, remote: str) -> None:
    project(here, "remote", "add", "origin", remote)
    assert push(here, "origin").remote == remote
    with pytest.raises(InvalidParams) as caught:
        push(there, "origin")
    assert caught.value.data["field"] == "remote"
    project(here, "config", "remote.evil.url", "ext::touch evil")
    with pytest.raises(InvalidParams):
        push(here, "evil")
    with pytest.raises(InvalidParams):
        push(here, "--upload-pack=touch evil")


def test_what_is_not_there(here: Agents, there: Agents, remote: str, tmp_path: Path) -> None:
    with pytest.raises(UnknownSession):
        push(here, remote, "nothing")
    with pytest.raises(RemoteFailed) as caught:
        push(here, str(tmp_path / "no"))
    assert caught.value.data == {"remote": str(tmp_path / "no"), "reason": "unreachable"}
    assert fetch(there, remote) == []
    with pytest.raises(UnknownSession, match="has no session 'nothing'"):
        fetch(there, remote, "nothing")


def test_contents_and_prompts_stay_here(here: Agents, there: Agents, remote: str) -> None:
    secret, older = b"token = abc\n", b"token = xyz\n"
    publish(here, remote)
    here.bench.workspace.sessions.start("one", "agent", "token in a title", Call())
    here.bench.workspace.messages.send("one", "m", "use token abc", Call())
    here.step("one", {"a.txt": text(l2=b"1"), "key": older, "copy/of": older}, message="m")
    here.step("one", {"key": secret})
    other = here.step("one", lambda: os.rename(here.bench.path("key"), here.bench.path("moved")))
    here.undo("one", step=other)
    new = NewStep(client=None, description="echo token", command="echo token >&2")
    begun = here.bench.workspace.sessions.begin("one", new, Call()).step_id
    here.bench.workspace.sessions.finish(begun, None, Call(), description="echo the token")
    options = PushOptions(redact=[b"key"], without_prompts=True)
    pushed = push(here, remote, options=options)
    assert {file.path for file in pushed.new_files} == {b"a.txt"}
    everything = run_git(Path(remote), "cat-file", "--batch", "--batch-all-objects")
    assert b"token" not in everything
    fetch(there, remote)
    reader = there.bench.workspace.fetched.known_session("one")
    assert len(reader.fetched.timeline.steps("one")) == 4
    assert reader.fetched.timeline.message("one", "m").text is None
    with pytest.raises(FileNotInSnapshot):
        push(here, remote, options=PushOptions(redact=[b"never"]))


def test_every_name_of_a_content_is_in_the_plan(here: Agents, remote: str) -> None:
    publish(here, remote)
    names = ["aaa.txt", "id_rsa", "z/.env", "z/copy/prod.key", "line\nbreak"]
    here.step("one", dict.fromkeys(names, b"hunter2\n"))
    # a directory that is there twice is one tree
    first = here.step("one", lambda: shutil.copytree(here.bench.path("z"), here.bench.path("y")))
    here.step("one", lambda: os.rename(here.bench.path("y"), here.bench.path("x")))
    here.undo("one", step=first)
    expected = {name.encode() for name in [*names, *(f"{d}/{f}" for d in "xy" for f in (".env", "copy/prod.key"))]}
    for plan in (push(here, remote, options=DRY), hand_over(here, remote)):
        assert {file.path for file in plan.new_files} == expected
        assert len(plan.new_files) == len(expected)
        reasons = {file.path: file.reason for file in plan.new_files}
        assert reasons[b"z/.env"] == reasons[b"id_rsa"] == reasons[b"x/copy/prod.key"] == "secret"


def test_what_others_do_not_have_is_in_the_plan_of_a_file(here: Agents, tmp_path: Path) -> None:
    def named() -> set[bytes]:
        planned = here.bench.workspace.pushing.export(str(tmp_path / "s.bundle"), None, DRY, Call())
        return {file.path for file in planned.new_files}

    here.step("one", {"b.txt": b"b\n"})
    # nobody is known to have anything of the project
    assert named() == {b"a.txt", b"old.txt", b"b.txt"}
    project(here, "update-ref", "refs/remotes/origin/main", "HEAD")
    assert named() == {b"b.txt"}
    project(here, "add", "b.txt")
    project(here, "commit", "--quiet", "--message=not pushed")
    assert named() == {b"b.txt"}


def test_texts_with_likely_secrets_are_in_the_plan(here: Agents, remote: str) -> None:
    workspace = here.bench.workspace
    workspace.sessions.start("titled", "agent", f"use {TOKEN}", Call())
    workspace.messages.send("one", "m1", f"use {TOKEN}", Call())
    workspace.messages.send("one", "m2", "use nothing", Call())
    new = NewStep(client=None, description=f"curl -H 'X: {TOKEN}'", command=f"curl -H 'X: {TOKEN}' example.org")
    begun = workspace.sessions.begin("one", new, Call()).step_id
    here.end(begun)
    ended = here.begin("one")
    workspace.sessions.finish(ended, None, Call(), description=f"echo {TOKEN}")
    here.step("one", {"b.txt": b"b\n"})
    expected = {
        SecretText("title", "titled"),
        SecretText("prompt", "one", message_id="m1"),
        SecretText("description", "one", "m2", begun),
        SecretText("command", "one", "m2", begun),
        SecretText("description", "one", step_id=ended),
    }
    assert set(push(here, remote, options=DRY).secret_texts) == set(hand_over(here, remote).secret_texts) == expected
    pushed = push(here, remote, options=PushOptions(without_prompts=True))
    assert pushed.secret_texts == ()
    assert TOKEN.encode() not in run_git(Path(remote), "cat-file", "--batch", "--batch-all-objects")


def hand_over(agents: Agents, remote: str) -> MadeHandover:
    workspace = agents.bench.workspace
    return workspace.handover.hand_over(workspace.remote_sessions.remote(remote), HandoverOptions(dry_run=True), Call())


def test_nothing_is_pushed_where_there_is_no_session(remote: str, tmp_path: Path) -> None:
    idle = Agents(make(tmp_path / "idle", {"a.txt": TEXT}, git=True))
    pushed = push(idle, remote)
    assert (pushed.applied, pushed.sessions, references(remote)) == (False, (), [])
    exported = idle.bench.workspace.pushing.export(str(tmp_path / "s.bundle"), None, PushOptions(), Call())
    assert (exported.applied, (tmp_path / "s.bundle").exists()) == (False, False)

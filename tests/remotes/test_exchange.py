"""Sessions pushed to a real bare repository and fetched from it, by git itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from snapd.model.errors import RemoteChanged, RemoteFailed, Untrusted
from snapd.sharing.inspection import Limits
from tests.sharing.test_projection import told
from tests.support.git import run_git
from tests.support.sessions import TEXT, at_work, text

from .machines import Machine, bare


@pytest.fixture
def here(tmp_path: Path) -> Machine:
    return Machine(at_work(tmp_path / "here", {"a.txt": TEXT, "empty/": None}), "here")


@pytest.fixture
def there(tmp_path: Path) -> Machine:
    return Machine(at_work(tmp_path / "there", {"other.txt": b"other\n"}), "there")


def test_a_session_arrives_as_it_is(tmp_path: Path, here: Machine, there: Machine) -> None:
    remote = bare(tmp_path / "remote")
    agents = here.agents
    agents.start("two")
    first = agents.step("one", {"a.txt": text(l2=b"1"), "new/b.txt": b"b\n"}, message="m")
    agents.step("two", {"a.txt": text(l2=b"1", l9=b"2")})
    agents.undo("one", step=first)
    pushed = here.push(str(remote), "one", "two")
    assert run_git(remote, "fsck", "--strict", "--full", "--no-dangling") == b""
    listed = run_git(remote, "for-each-ref", "--format=%(objectname) %(refname)").decode().splitlines()
    assert listed == [f"{pushed[name].hex()} {name}" for name in sorted(pushed)]
    assert there.fetch(str(remote)) == pushed
    here_says = agents.bench.workspace
    for name, head in pushed.items():
        timeline, changes = there.fetched(name, head)
        (session,) = timeline.sessions()
        said = told(here_says.store.timeline, here_says.step_changes, session.session_id)
        assert told(timeline, changes, session.session_id) == said
    run_git(Path(there.mirror.repository.path), "--git-dir=.", "fsck", "--strict", "--full")
    # nothing is left to fetch
    assert there.fetch(str(remote)) == {}


def test_only_what_is_new_travels_later(tmp_path: Path, here: Machine, there: Machine) -> None:
    remote = bare(tmp_path / "remote")
    here.agents.step("one", {"a.txt": text(l2=b"1")})
    first = here.push(str(remote), "one")
    there.fetch(str(remote))
    here.agents.step("one", {"a.txt": text(l2=b"2")})
    second = here.push(str(remote), "one", seen=first)
    assert there.fetch(str(remote)) == second
    assert there.mirror.heads() == second
    (name,) = second
    assert len(there.fetched(name, second[name])[0].steps("one")) == 2


def test_who_came_first_wins(tmp_path: Path, here: Machine) -> None:
    remote = bare(tmp_path / "remote")
    here.agents.step("one", {"a.txt": text(l2=b"1")})
    first = here.push(str(remote), "one")
    here.agents.step("one", {"a.txt": text(l2=b"2")})
    with pytest.raises(RemoteChanged):
        here.push(str(remote), "one")
    here.agents.start("two")
    with pytest.raises(RemoteChanged):
        # all or none
        here.push(str(remote), "one", "two")
    (name,) = first
    assert run_git(remote, "for-each-ref", "--format=%(objectname)").decode().split() == [first[name].hex()]


def test_what_a_remote_refuses(tmp_path: Path, here: Machine) -> None:
    remote = bare(tmp_path / "remote")
    hook = remote / "hooks" / "pre-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\necho 'no sessions here' >&2\nexit 1\n")
    hook.chmod(0o755)
    with pytest.raises(RemoteFailed) as caught:
        here.push(str(remote), "one")
    assert caught.value.data["reason"] == "refused"
    with pytest.raises(RemoteFailed) as caught:
        here.push(str(tmp_path / "nothing"), "one")
    assert caught.value.data["reason"] == "unreachable"
    assert caught.value.data["remote"] == str(tmp_path / "nothing")


def test_what_is_over_a_limit_is_not_taken(tmp_path: Path, here: Machine, there: Machine) -> None:
    remote = bare(tmp_path / "remote")
    here.agents.step("one", {"large.bin": b"x" * 5000})
    here.push(str(remote), "one")
    for limits in (
        Limits(blob_bytes=4000),
        Limits(bytes=4000),
        Limits(objects=2),
        Limits(events=1),
        Limits(path_bytes=5),
    ):
        with pytest.raises(Untrusted):
            there.fetch(str(remote), limits=limits)
        assert there.mirror.heads() == {}
        assert not list(Path(there.mirror.repository.pack_directory).iterdir())
    there.fetch(str(remote))

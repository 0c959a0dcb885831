"""The same over every way to a remote: by path, `file://`, `git://`, ssh, and smart HTTP with a password."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from pathlib import Path

import attrs
import pytest

from snapd.model.errors import RemoteChanged, RemoteFailed
from snapd.store.timeline.chain import chain_of_session
from tests.sharing.test_projection import told
from tests.support.sessions import Agents, text

from .servers import KINDS, Kind, Served, credentials
from .sharing import delete, fetch, push, steps


@attrs.frozen
class Between:
    """Two machines and the remote between them."""

    remote: Served
    here: Agents
    there: Agents

    @property
    def address(self) -> str:
        return self.remote.address


@pytest.fixture(params=KINDS)
def between(
    request: pytest.FixtureRequest, serve: Callable[[Kind], Served], machine: Callable[[str, str], Agents]
) -> Between:
    remote = serve(request.param)
    return Between(remote, machine("here", remote.config), machine("there", remote.config))


def test_there_and_further(between: Between) -> None:
    """Pushed, pushed again, fetched by name and as a whole, deleted."""
    remote, here, there = between.remote, between.here, between.there
    # nothing is there yet, not even a branch
    assert fetch(there, between.address) == []
    here.start("two")
    # more than git sends over HTTP in one piece
    large = random.Random(0).randbytes(3 << 20)
    first = here.step("one", {"a.txt": text(l2=b"1"), "large.bin": large}, message="m")
    pushed = push(here, between.address)
    assert (pushed.sessions, pushed.size > len(large)) == (("one", "two"), True)
    (begun, _) = before = [remote.references()[chain_of_session(name)] for name in ("one", "two")]
    push(here, between.address)
    assert sorted(remote.references().values()) == sorted(before)
    assert fetch(there, between.address, "one") == ["one"]
    assert steps(there, "one") == [first]
    second = here.step("one", {"a.txt": text(l2=b"2")})
    push(here, between.address, "one")
    assert begun in remote.git("rev-list", chain_of_session("one")).split()
    assert fetch(there, between.address) == ["one", "two"]
    assert steps(there, "one") == [first, second]
    workspace = here.bench.workspace
    for reader in there.bench.workspace.fetched.readers():
        session = reader.view().session.session_id
        said = told(workspace.store.timeline, workspace.step_changes, session)
        assert told(reader.fetched.timeline, reader.changes, session) == said
    remote.check()
    assert delete(here, between.address, "one", "nothing") == ("one",)
    assert list(remote.references()) == [chain_of_session("two")]
    push(here, between.address, "one")
    assert len(remote.references()) == 2


def test_two_machines(between: Between) -> None:
    """Who comes first wins; a copy that goes on from what is there takes its place, any other does not."""
    remote, here, there = between.remote, between.here, between.there
    there.step("one", {"b.txt": text(l2=b"there")})
    push(there, between.address)
    had = remote.references()
    here.step("one", {"a.txt": text(l2=b"here")})
    here.start("two")
    for sessions in ([], ["one"]):
        with pytest.raises(RemoteChanged):
            push(here, between.address, *sessions)
        assert remote.references() == had
    # this machine forgot what it pushed, as one does whose store was copied
    there.step("one", {"b.txt": text(l2=b"later")})
    store = Path(there.bench.workspace.store.path)
    there.bench.workspace.close()
    shutil.rmtree(store / "mirrors")
    (store / "mirrors.db").unlink()
    there.bench.reopen()
    push(there, between.address)
    assert remote.references() != had
    remote.check()


def test_all_or_none(between: Between) -> None:
    """A hook of the remote refuses one reference: no other one is there either, and trying again works."""
    remote, here = between.remote, between.here
    here.start("two")
    refused = chain_of_session("two")
    remote.hook("update", f'test "$1" != {refused} || {{ echo "not this one" >&2; exit 1; }}')
    with pytest.raises(RemoteFailed) as caught:
        push(here, between.address)
    assert caught.value.data["reason"] == "refused"
    assert remote.references() == {}
    push(here, between.address, "one")
    (remote.path / "hooks" / "update").unlink()
    push(here, between.address)
    assert len(remote.references()) == 2
    remote.check()


def test_a_password(serve: Callable[[Kind], Served], machine: Callable[[str, str], Agents]) -> None:
    remote = serve("http")
    wrong = credentials(remote.path.parent.parent / "wrong", remote.port, "wrong")
    for name, config in (("without", ""), ("wrong", wrong)):
        agents = machine(name, config)
        for asked in (push, fetch):
            with pytest.raises(RemoteFailed) as caught:
                asked(agents, remote.address)
            assert caught.value.data == {"remote": remote.address, "reason": "auth"}
    assert remote.references() == {}
    agents = machine("right", remote.config)
    push(agents, remote.address)
    # it may be in the address, which is not shown
    inside = remote.address.replace("http://", "http://somebody:right%20horse@")
    without = machine("inside", "")
    assert fetch(without, inside) == ["one"]
    (reader,) = without.bench.workspace.fetched.readers()
    assert reader.origin.remote == remote.address.replace("http://", "http://somebody@")
    guessed = inside.replace("right", "gue55ed")
    with pytest.raises(RemoteFailed) as caught:
        fetch(without, guessed)
    assert caught.value.data["reason"] == "auth"
    assert "gue55ed" not in f"{caught.value} {caught.value.data}"


def test_a_key(serve: Callable[[Kind], Served], machine: Callable[[str, str], Agents]) -> None:
    """A key that the server does not know, and a server that this machine does not know."""
    remote = serve("ssh")
    folder = remote.path.parent.parent
    strange = folder / "strange"
    strange.write_text((folder / "ssh_config").read_text().replace("known_hosts", "nobody"))
    keyless = folder / "keyless"
    keyless.write_text((folder / "ssh_config").read_text().replace(f"IdentityFile {folder}/user\n", ""))
    for at, config in enumerate((strange, keyless)):
        agents = machine(f"m{at}", remote.config.replace(str(folder / "ssh_config"), str(config)))
        with pytest.raises(RemoteFailed) as caught:
            push(agents, remote.address)
        assert caught.value.data["reason"] == "auth", caught.value
    assert remote.references() == {}

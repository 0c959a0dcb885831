"""Sessions that are signed with ssh keys when they leave a machine: real keys, and git itself as the oracle."""

from __future__ import annotations

import errno
import os
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path

import attrs
import pytest

from snapd.core.operations.runner import OperationOptions
from snapd.model.call import Call
from snapd.model.errors import Cancelled, InvalidParams, SigningFailed, Untrusted
from snapd.model.handover import SignatureStatus
from snapd.remotes.ssh_keygen import SshKeygen
from snapd.sharing import signing
from snapd.sharing.apply import Applied
from snapd.sharing.formats import payload_of
from snapd.sharing.handover import HandoverOptions
from snapd.sharing.push import PruneOptions, PushOptions, PushOutcome, Signing
from snapd.sharing.takeover import TakeoverOutcome
from snapd.store.timeline.chain import chain_of_session
from tests.remotes.machines import bare
from tests.sharing.keys import agent, fingerprint, git_says, make_key, public, signatures_at
from tests.support.git import run_git
from tests.support.sessions import TEXT, Agents, at_work, text
from tests.support.workspace import make


@pytest.fixture
def remote(tmp_path: Path) -> str:
    return str(bare(tmp_path / "remote"))


@pytest.fixture
def key(tmp_path: Path) -> str:
    return make_key(tmp_path / "keys", "alice")


@pytest.fixture
def here(tmp_path: Path, key: str) -> Agents:
    agents = at_work(tmp_path / "here", {"a.txt": TEXT})
    configure(agents, f"[gpg]\nformat = ssh\n[user]\nsigningKey = {key}.pub\n")
    return agents


@pytest.fixture
def allowed(tmp_path: Path, key: str) -> str:
    path = tmp_path / "allowed"
    path.write_text(f"alice@example.com {public(key)}\n")
    return str(path)


@pytest.fixture
def there(tmp_path: Path, allowed: str) -> Agents:
    agents = at_work(tmp_path / "there", {"a.txt": TEXT})
    configure(agents, f'[gpg "ssh"]\nallowedSignersFile = {allowed}\n')
    return agents


def work(agents: Agents, session: str, files: dict[str, bytes]) -> None:
    """A step of a session, which begins with it if there is none."""
    if agents.bench.workspace.store.timeline.session(session) is None:
        agents.start(session)
    agents.step(session, files)


def configure(agents: Agents, config: str) -> None:
    (agents.bench.home / ".gitconfig").write_text(config)


def environment(agents: Agents, **names: str) -> None:
    """Has the daemon of a machine find other things in its environment."""
    elsewhere = agents.bench.workspace.remote_sessions
    machine = elsewhere.machine
    elsewhere.machine = attrs.evolve(machine, environment={**machine.environment, **names})


def push(agents: Agents, remote: str, *sessions: str, options: PushOptions | None = None) -> PushOutcome:
    signed = PushOptions(signing=Signing())
    return agents.bench.workspace.pushing.push(remote, sessions or None, options or signed, Call())


def fetch(agents: Agents, remote: str, *sessions: str) -> dict[str, SignatureStatus | None]:
    views = agents.bench.workspace.fetched.fetch(remote, sessions or None, Call())
    return {view.session.session_id: view.signature for view in views}


def listed(agents: Agents) -> dict[str, SignatureStatus | None]:
    views = agents.bench.workspace.fetched.page(0, None, Call()).views
    return {view.session.session_id: view.signature for view in views}


def states(found: dict[str, SignatureStatus | None]) -> dict[str, str | None]:
    return {name: None if each is None else each.state for name, each in found.items()}


def apply(agents: Agents, session: str) -> Applied:
    return agents.bench.workspace.applier.apply(session, (), OperationOptions("merge", True, False), Call())


def unsigned() -> PushOptions:
    return PushOptions()


def put(remote: str, session: str, data: bytes, kind: str = "tag") -> None:
    """Has a remote have any object as the signature of a session."""
    words = ["git", "hash-object", "-t", kind, "-w", "--stdin", "--literally"]
    oid = subprocess.run(words, cwd=remote, input=data, capture_output=True, check=True).stdout.decode().strip()
    run_git(Path(remote), "update-ref", signature_name(session), oid)


def signature_name(session: str) -> str:
    return chain_of_session(session).replace("refs/snapd/", "refs/snapd/signatures/")


def tag_of(remote: str, session: str) -> bytes:
    return run_git(Path(remote), "cat-file", "tag", signature_name(session))


def test_it_is_signed_as_git_signs(here: Agents, there: Agents, remote: str, key: str, allowed: str) -> None:
    work(here, "one", {"a.txt": text(l2=b"1")})
    work(here, "two", {"b.txt": b"b\n"})
    push(here, remote)
    chains = {name: chain_of_session(name) for name in ("one", "two")}
    assert set(signatures_at(remote)) == set(map(signature_name, chains))
    for name, chain in chains.items():
        is_good, said = git_says(remote, signature_name(name), allowed)
        assert is_good, said
        assert "alice@example.com" in said
        assert fingerprint(key) in said
        target = run_git(Path(remote), "rev-parse", f"{signature_name(name)}^{{commit}}", chain).split()
        assert target[0] == target[1]
    assert run_git(Path(remote), "fsck", "--strict", "--no-dangling") == b""
    found = fetch(there, remote)
    assert states(found) == {"one": "good", "two": "good"}
    one = found["one"]
    assert one is not None
    assert (one.signer, one.key, one.reason) == ("alice@example.com", fingerprint(key), None)
    stated = run_git(Path(remote), "for-each-ref", "--format=%(taggerdate:unix)", signature_name("one"))
    assert one.signed == int(stated) * 1000
    assert listed(there) == found
    assert fetch(there, remote) == {}
    # another process knows that, too, as long as git finds nothing wrong with what it has
    there.bench.reopen()
    assert listed(there) == found
    mirror = next((Path(there.bench.workspace.store.path) / "mirrors").iterdir())  # type: ignore[attr-defined]
    assert run_git(mirror, "fsck", "--strict", "--no-dangling") == b""
    applied = apply(there, "one")
    assert applied.signature == one


def test_the_events_are_the_same_with_and_without(here: Agents, remote: str, tmp_path: Path) -> None:
    work(here, "one", {"a.txt": text(l2=b"1")})
    other = str(bare(tmp_path / "other"))
    push(here, remote)
    push(here, other, options=unsigned())
    same = [run_git(Path(each), "rev-parse", chain_of_session("one")) for each in (remote, other)]
    assert same[0] == same[1]
    assert signatures_at(other) == {}


def test_what_was_added_later_is_not_signed(here: Agents, there: Agents, remote: str) -> None:
    work(here, "one", {"a.txt": text(l2=b"1")})
    push(here, remote)
    assert states(fetch(there, remote)) == {"one": "good"}
    before = signatures_at(remote)
    work(here, "one", {"a.txt": text(l2=b"2")})
    push(here, remote, options=unsigned())
    assert signatures_at(remote) == before
    assert states(fetch(there, remote)) == {"one": "partial"}
    assert states(listed(there)) == {"one": "partial"}
    push(here, remote)
    assert states(fetch(there, remote)) == {"one": "good"}


def test_nothing_is_signed_twice(here: Agents, remote: str, monkeypatch: pytest.MonkeyPatch) -> None:
    work(here, "one", {"a.txt": text(l2=b"1")})
    work(here, "two", {"b.txt": b"b\n"})
    push(here, remote)
    before = signatures_at(remote)
    made: list[bytes] = []
    sign = signing.Signer.sign

    def counting(self: signing.Signer, payload: bytes, call: Call) -> bytes:
        made.append(payload)
        return sign(self, payload, call)

    monkeypatch.setattr(signing.Signer, "sign", counting)
    push(here, remote)
    assert (made, signatures_at(remote)) == ([], before)
    work(here, "two", {"b.txt": b"c\n"})
    push(here, remote)
    assert len(made) == 1
    assert signatures_at(remote)[signature_name("one")] == before[signature_name("one")]
    # somebody took it away there meanwhile
    run_git(Path(remote), "update-ref", "-d", signature_name("one"))
    push(here, remote)
    assert len(made) == 2
    assert set(signatures_at(remote)) == set(before)


def test_a_dry_run_signs_nothing(here: Agents, remote: str) -> None:
    work(here, "one", {"a.txt": text(l2=b"1")})
    push(here, remote, options=PushOptions(dry_run=True, signing=Signing()))
    assert signatures_at(remote) == {}


def test_whose_keys_count(here: Agents, there: Agents, remote: str, tmp_path: Path, key: str, allowed: str) -> None:
    """Each file of allowed signers, and whether git accepts the signature with it: both are asked anew for each."""
    work(here, "one", {"a.txt": text(l2=b"1")})
    push(here, remote)
    other = make_key(tmp_path / "keys", "mallory")
    files = {
        f"bob@example.com,alice@example.com {public(key)}\n": "good",
        f'alice@example.com namespaces="git" {public(key)}\n': "good",
        f'alice@example.com namespaces="file" {public(key)}\n': "unknown",
        f'alice@example.com valid-before="20200101" {public(key)}\n': "unknown",
        f'alice@example.com valid-after="20200101" {public(key)}\n': "good",
        f"mallory@example.com {public(other)}\n": "unknown",
        "nonsense\n": "unknown",
        "": "unknown",
    }
    fetch(there, remote)
    for content, state in files.items():
        Path(allowed).write_text(content)
        found = listed(there)["one"]
        assert found is not None
        assert found.state == state, (content, found)
        assert found.key == fingerprint(key)
        assert (found.reason is None) == (state == "good")
        assert git_says(remote, signature_name("one"), allowed)[0] == (state == "good"), content
    os.unlink(allowed)
    assert states(listed(there)) == {"one": "unknown"}
    configure(there, "")
    assert states(listed(there)) == {"one": "unknown"}
    Path(allowed).write_text(f"alice@example.com {public(key)}\n")
    revoked = tmp_path / "revoked"
    revoked.write_text(f"{public(key)}\n")
    configure(there, f'[gpg "ssh"]\nallowedSignersFile = {allowed}\nrevocationFile = {revoked}\n')
    found = listed(there)["one"]
    assert found is not None
    assert (found.state, "revoked" in str(found.reason)) == ("bad", True)
    with pytest.raises(Untrusted, match="revoked"):
        apply(there, "one")


def test_a_project_names_no_keys_and_no_programs(here: Agents, there: Agents, remote: str, tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch {ran}\n")
    program.chmod(0o755)
    other = make_key(tmp_path / "keys", "mallory")
    signers = tmp_path / "theirs"
    signers.write_text(f"mallory@example.com {public(other)}\n")
    for agents in (here, there):
        run_git(agents.bench.root, "init", "--quiet")
        for name, value in {
            "gpg.ssh.program": program,
            "user.signingKey": other,
            "gpg.ssh.allowedSignersFile": signers,
        }.items():
            run_git(agents.bench.root, "config", name, str(value))
    work(here, "one", {"a.txt": text(l2=b"1")})
    push(here, remote)
    found = fetch(there, remote)["one"]
    assert found is not None
    assert (found.state, found.signer) == ("good", "alice@example.com")
    assert not ran.exists()


def test_the_users_git_names_the_program(here: Agents, there: Agents, remote: str, tmp_path: Path, key: str) -> None:
    program = tmp_path / "program"
    ran = tmp_path / "ran"
    program.write_text(f'#!/bin/sh\necho "$2" >> {ran}\nexec ssh-keygen "$@"\n')
    program.chmod(0o755)
    configure(here, f'[gpg]\nformat = ssh\n[gpg "ssh"]\nprogram = {program}\n[user]\nsigningKey = {key}\n')
    work(here, "one", {"a.txt": text(l2=b"1")})
    push(here, remote)
    assert ran.read_text() == "sign\n"
    assert states(fetch(there, remote)) == {"one": "good"}


def test_an_agent_has_the_key(here: Agents, there: Agents, remote: str, tmp_path: Path, key: str) -> None:
    work(here, "one", {"a.txt": text(l2=b"1")})
    literal = public(key)
    for config in (literal, f"key::{literal} comment of alice"):
        configure(here, f"[gpg]\nformat = ssh\n[user]\nsigningKey = {config}\n")
        with pytest.raises(SigningFailed) as failed:
            push(here, remote)
        assert failed.value.data["reason"] == "noKey"
        assert signatures_at(remote) == {}
    with agent(tmp_path, key) as socket:
        os.rename(key, f"{key}.away")
        environment(here, SSH_AUTH_SOCK=socket)
        push(here, remote)
        assert states(fetch(there, remote)) == {"one": "good"}
        work(here, "one", {"a.txt": text(l2=b"2")})
        push(here, remote, options=PushOptions(signing=Signing(f"{key}.pub")))
        assert states(fetch(there, remote)) == {"one": "good"}


def test_a_key_that_waits_for_its_owner(here: Agents, remote: str, tmp_path: Path, key: str) -> None:
    """As a hardware key that nobody touches: who cancels the push ends the program and what it started."""
    fifo, program = tmp_path / "fifo", tmp_path / "program"
    os.mkfifo(fifo)
    program.write_text(f"#!/bin/sh\necho $$ > {fifo}\nsleep 10000 & wait\n")
    program.chmod(0o755)
    configure(here, f'[gpg]\nformat = ssh\n[gpg "ssh"]\nprogram = {program}\n[user]\nsigningKey = {key}\n')
    work(here, "one", {"a.txt": text(l2=b"1")})
    call, groups = Call(), list[int]()

    def cancel() -> None:
        groups.append(int(fifo.read_text()))
        call.cancel()

    canceller = threading.Thread(target=cancel)
    canceller.start()
    with pytest.raises(Cancelled):
        here.bench.workspace.pushing.push(remote, None, PushOptions(signing=Signing()), call)
    canceller.join()
    with pytest.raises(ProcessLookupError):
        os.kill(groups[0], 0)
    assert run_git(Path(remote), "for-each-ref") == b""


def test_keys_that_cannot_be_used(here: Agents, remote: str, tmp_path: Path) -> None:
    work(here, "one", {"a.txt": text(l2=b"1")})
    locked = make_key(tmp_path / "keys", "locked", "a passphrase")

    def refused(chosen: str | None) -> InvalidParams | SigningFailed:
        with pytest.raises((InvalidParams, SigningFailed)) as failed:
            push(here, remote, options=PushOptions(signing=Signing(chosen)))
        assert run_git(Path(remote), "for-each-ref") == b""
        error = failed.value
        assert isinstance(error, InvalidParams | SigningFailed)
        return error

    for chosen in (locked, f"{locked}.pub"):
        error = refused(chosen)
        assert error.data["reason"] == "passphrase"
        assert "ssh-add" in error.hint
    garbage = tmp_path / "garbage"
    garbage.write_text("no key\n")
    assert refused(str(garbage)).data["reason"] == "noKey"
    assert "no file" in refused(str(tmp_path / "missing")).message
    assert "absolute" in refused("relative/key").message
    configure(here, "")
    assert "user.signingKey" in refused(None).message
    configure(here, "[user]\nsigningKey = 0123456789ABCDEF\n")
    assert "openpgp" in refused(None).message
    environment(here, PATH=str(tmp_path / "nothing"))
    error = refused(locked)
    assert (error.data["reason"], "ssh-keygen" in error.message) == ("noProgram", True)


def test_without_ssh_keygen_nobody_checks(here: Agents, there: Agents, remote: str, tmp_path: Path) -> None:
    work(here, "one", {"a.txt": text(l2=b"1")})
    push(here, remote)
    folder = tmp_path / "bin"
    folder.mkdir()
    path = os.environ["PATH"]
    for name in ("git", "sh"):
        found = next(Path(each, name) for each in path.split(":") if Path(each, name).exists())
        (folder / name).symlink_to(found)
    environment(there, PATH=str(folder))
    found = fetch(there, remote)["one"]
    assert found is not None
    assert (found.state, found.reason) == ("unchecked", "ssh-keygen is not installed")
    environment(there, PATH=path)
    assert states(listed(there)) == {"one": "good"}


def test_a_list_does_not_fail_where_nothing_can_be_checked(
    here: Agents, there: Agents, remote: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    work(here, "one", {"a.txt": text(l2=b"1")})
    push(here, remote)
    fetch(there, remote)
    configure(there, "")
    with monkeypatch.context() as patched:
        patched.setattr("snapd.remotes.ssh_keygen.write_file", _full)
        found = listed(there)["one"]
    assert found is not None
    assert (found.state, "no space left" in str(found.reason)) == ("unchecked", True)
    assert states(listed(there)) == {"one": "unknown"}


def _full(path: str, data: bytes) -> None:
    del data
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)


def _other_session(data: bytes) -> bytes:
    return data.replace(chain_of_session("one").rpartition("/")[2].encode(), b"0123456789abcdef")


FORGERIES: dict[str, Callable[[bytes], bytes]] = {
    "another time": lambda data: data.replace(b" +0000", b"0 +0000").replace(b"> 1", b"> ", 1),
    "another signature": lambda data: data.replace(b"\nU1NIU0lH", b"\nU1NIU0lI"),
    "a bit of the signature": lambda data: data[:-60] + bytes([data[-60] ^ 1 or 65]) + data[-59:],
    "another session": _other_session,
    "no armor": lambda data: data.partition(b"-----BEGIN")[0],
    "more text": lambda data: data.replace(b"Signed for", b"Not signed for"),
    "too large": lambda data: data.replace(b"Signed for", b"x" * 70_000),
    "another end": lambda data: data + b"\n",
    "a header more": lambda data: data.replace(b"\ntagger", b"\nextra x\ntagger"),
}


@pytest.mark.parametrize("how", FORGERIES)
def test_a_forged_signature_is_bad(here: Agents, there: Agents, remote: str, how: str, allowed: str) -> None:
    work(here, "one", {"a.txt": text(l2=b"1")})
    push(here, remote)
    forged = FORGERIES[how](tag_of(remote, "one"))
    assert forged != tag_of(remote, "one")
    put(remote, "one", forged)
    try:
        found = fetch(there, remote)
    except Untrusted:
        # git itself finds that this is no tag
        assert how == "a header more"
        return
    assert states(found) == {"one": "bad"}
    # git takes any text after the signature, which nobody signed
    assert git_says(remote, signature_name("one"), allowed)[0] == (how == "another end")
    assert states(listed(there)) == {"one": "bad"}
    assert fetch(there, remote) == {}
    with pytest.raises(Untrusted, match="signature"):
        apply(there, "one")
    # pushed again, it is good again
    work(here, "one", {"a.txt": text(l2=b"2")})
    push(here, remote)
    assert states(fetch(there, remote)) == {"one": "good"}
    assert apply(there, "one").outcome.applied


@pytest.mark.parametrize("what", ["commit", "blob", "tag of a tag", "tree"])
def test_what_is_no_signature_at_all(here: Agents, there: Agents, remote: str, what: str) -> None:
    work(here, "one", {"a.txt": text(l2=b"1")})
    push(here, remote)
    chain, own = chain_of_session("one"), signature_name("one")
    if what == "commit":
        run_git(Path(remote), "update-ref", own, chain)
    elif what == "tree":
        run_git(
            Path(remote), "update-ref", own, run_git(Path(remote), "rev-parse", f"{chain}^{{tree}}").decode().strip()
        )
    elif what == "blob":
        put(remote, "one", tag_of(remote, "one"), "blob")
    else:
        tag = signatures_at(remote)[own]
        data = tag_of(remote, "one")
        at = data.index(b"\ntag ")
        put(remote, "one", b"object %s\ntype tag" % tag.encode() + data[at:])
    assert states(fetch(there, remote)) == {"one": "bad"}
    assert fetch(there, remote) == {}


def test_what_the_same_key_signed_for_something_else(
    here: Agents, there: Agents, remote: str, key: str, allowed: str
) -> None:
    """A tag by git itself, and one with the name of another session: both are good to git, and none of the session."""
    work(here, "one", {"a.txt": text(l2=b"1")})
    push(here, remote)
    own = signature_name("one")
    signed = ["-c", "gpg.format=ssh", "-c", f"user.signingKey={key}", "tag", "--sign", "--message=release", "v1"]
    run_git(Path(remote), "-c", "user.name=a", "-c", "user.email=a@example.com", *signed, chain_of_session("one"))
    run_git(Path(remote), "update-ref", own, "refs/tags/v1")
    assert git_says(remote, own, allowed)[0]
    assert states(fetch(there, remote)) == {"one": "bad"}
    head = run_git(Path(remote), "rev-parse", chain_of_session("one")).decode().strip()
    payload = payload_of(chain_of_session("other"), bytes.fromhex(head), 1_700_000_000, "here")
    put(remote, "one", payload + SshKeygen(os.environ).sign(payload, "git", key, Call()))
    assert git_says(remote, own, allowed)[0]
    assert states(fetch(there, remote)) == {"one": "bad"}
    # for what else than git the key signs does not count, either
    payload = payload_of(chain_of_session("one"), bytes.fromhex(head), 1_700_000_000, "here")
    put(remote, "one", payload + SshKeygen(os.environ).sign(payload, "file", key, Call()))
    assert not git_says(remote, own, allowed)[0]
    assert states(fetch(there, remote)) == {"one": "bad"}
    put(remote, "one", payload + SshKeygen(os.environ).sign(payload, "git", key, Call()))
    assert states(fetch(there, remote)) == {"one": "good"}


def test_a_signature_counts_for_what_it_signs(here: Agents, there: Agents, remote: str) -> None:
    """The signature of one session for another, that of another version, and an old version for the newest."""
    work(here, "one", {"a.txt": text(l2=b"1")})
    work(here, "two", {"b.txt": b"b\n"})
    push(here, remote)
    old = {name: run_git(Path(remote), "rev-parse", name).decode().strip() for name in references(remote)}
    run_git(Path(remote), "update-ref", signature_name("two"), signature_name("one"))
    assert states(fetch(there, remote)) == {"one": "good", "two": "bad"}
    run_git(Path(remote), "update-ref", signature_name("two"), old[signature_name("two")])
    assert states(fetch(there, remote)) == {"two": "good"}
    work(here, "one", {"a.txt": text(l2=b"2")})
    push(here, remote)
    new = signatures_at(remote)[signature_name("one")]
    # the newer signature with the older version
    run_git(Path(remote), "update-ref", chain_of_session("one"), old[chain_of_session("one")])
    assert states(fetch(there, remote)) == {"one": "bad"}
    run_git(Path(remote), "update-ref", chain_of_session("one"), f"{new}^{{commit}}")
    assert states(fetch(there, remote)) == {"one": "good"}
    # all of it as it was: this machine has seen more
    for name in (chain_of_session("one"), signature_name("one")):
        run_git(Path(remote), "update-ref", name, old[name])
    found = fetch(there, remote)["one"]
    assert found is not None
    assert found.state == "bad"
    assert "older" in str(found.reason)


def references(remote: str) -> list[str]:
    return run_git(Path(remote), "for-each-ref", "--format=%(refname)").decode().split()


def test_a_copy_without_a_file_takes_the_signature_along(here: Agents, there: Agents, remote: str) -> None:
    work(here, "one", {"a.txt": text(l2=b"1"), "secret.env": b"x\n"})
    push(here, remote)
    assert states(fetch(there, remote)) == {"one": "good"}
    push(here, remote, options=PushOptions(exclude=["*.env"]))
    # nothing of what is there now was signed
    assert signatures_at(remote) == {}
    assert states(fetch(there, remote)) == {"one": None}
    push(here, remote, options=PushOptions(exclude=["*.env"], signing=Signing()))
    assert states(fetch(there, remote)) == {"one": "good"}


def test_a_machine_that_lost_its_memory_pushes_again(here: Agents, there: Agents, remote: str) -> None:
    work(here, "one", {"a.txt": text(l2=b"1")})
    push(here, remote)
    index = Path(here.bench.workspace.store.path) / "mirrors.db"  # type: ignore[attr-defined]
    here.bench.workspace.remote_sessions.close()
    index.unlink()
    push(here, remote)
    assert states(fetch(there, remote)) == {"one": "good"}
    here.bench.workspace.remote_sessions.close()
    index.unlink()
    push(here, remote, options=PushOptions(exclude=["a.txt"]))
    assert signatures_at(remote) == {}


def test_the_index_is_made_again(here: Agents, there: Agents, remote: str) -> None:
    work(here, "one", {"a.txt": text(l2=b"1")})
    work(here, "two", {"b.txt": b"b\n"})
    push(here, remote)
    work(here, "two", {"b.txt": b"c\n"})
    push(here, remote, options=unsigned())
    found = fetch(there, remote)
    assert states(found) == {"one": "good", "two": "partial"}
    there.bench.workspace.remote_sessions.close()
    (Path(there.bench.workspace.store.path) / "mirrors.db").unlink()  # type: ignore[attr-defined]
    assert listed(there) == found
    assert fetch(there, remote) == {}


def test_what_goes_takes_its_signature_along(here: Agents, there: Agents, remote: str) -> None:
    for name in ("one", "two", "three"):
        work(here, name, {f"{name}.txt": b"x\n"})
    push(here, remote)
    fetch(there, remote)
    assert here.bench.workspace.pushing.delete(remote, ["one"], Call())[1] == ("one",)
    assert set(signatures_at(remote)) == {signature_name("two"), signature_name("three")}
    # who fetched it keeps it, and its signature
    fetch(there, remote)
    assert states(listed(there)) == {"one": "good", "two": "good", "three": "good"}
    pruned = here.bench.workspace.pruning.prune(remote, PruneOptions(0, everybody=False, dry_run=False), Call())[1]
    assert {session.session_id for session in pruned} == {"two", "three"}
    assert references(remote) == []
    push(here, remote, "two")
    assert references(remote) == sorted([chain_of_session("two"), signature_name("two")])


def test_a_signature_that_is_left_is_in_nobodys_way(here: Agents, there: Agents, remote: str) -> None:
    """A snapd that does not know of signatures deletes a session without its signature."""
    work(here, "one", {"a.txt": text(l2=b"1")})
    push(here, remote)
    run_git(Path(remote), "update-ref", "-d", chain_of_session("one"))
    assert fetch(there, remote) == {}
    here.bench.workspace.remote_sessions.close()
    (Path(here.bench.workspace.store.path) / "mirrors.db").unlink()  # type: ignore[attr-defined]
    work(here, "one", {"a.txt": text(l2=b"2")})
    push(here, remote)
    assert states(fetch(there, remote)) == {"one": "good"}


def swept(agents: Agents, session: str) -> None:
    """Drops a session, and removes what nothing needs any more; the rest is whole, as the index that is made again."""
    workspace = agents.bench.workspace
    (mirror,) = workspace.remote_sessions.known_mirrors().values()
    assert mirror.drop([chain_of_session(session)]) == 1
    assert workspace.remote_sessions.clean(0, Call()) == 0
    assert b"missing" not in run_git(Path(mirror.repository.path), "fsck", "--strict", "--no-dangling")
    workspace.remote_sessions.close()
    (Path(workspace.store.path) / "mirrors.db").unlink()  # type: ignore[attr-defined]


def test_what_is_dropped_here_takes_its_signature_along(here: Agents, there: Agents, remote: str) -> None:
    work(here, "one", {"a.txt": text(l2=b"1")})
    work(here, "two", {"b.txt": b"b\n"})
    push(here, remote)
    fetch(there, remote)
    swept(there, "two")
    assert states(listed(there)) == {"one": "good"}
    assert fetch(there, remote, "one") == {}
    assert there.bench.workspace.remote_sessions.clean(1 << 52, Call()) == 1
    mirror = next((Path(there.bench.workspace.store.path) / "mirrors").iterdir())  # type: ignore[attr-defined]
    assert run_git(mirror, "for-each-ref") == b""
    assert run_git(mirror, "count-objects", "-v").decode().splitlines()[2] == "in-pack: 0"
    assert states(fetch(there, remote)) == {"one": "good", "two": "good"}


def test_a_file_carries_signatures(here: Agents, there: Agents, tmp_path: Path, allowed: str) -> None:
    work(here, "one", {"a.txt": text(l2=b"1")})
    file = str(tmp_path / "signed.bundle")
    pushing = here.bench.workspace.pushing
    pushing.export(file, None, PushOptions(signing=Signing()), Call())
    clone = tmp_path / "clone"
    run_git(tmp_path, "init", "--quiet", "--bare", str(clone))
    run_git(clone, "fetch", "--quiet", file, "refs/snapd/*:refs/snapd/*")
    assert git_says(str(clone), signature_name("one"), allowed)[0]

    def taken() -> dict[str, str | None]:
        views = there.bench.workspace.fetched.import_(file, Call())
        return {view.session.session_id: None if view.signature is None else view.signature.state for view in views}

    assert taken() == {"one": "good"}
    assert taken() == {}
    os.unlink(file)
    pushing.export(file, None, unsigned(), Call())
    assert taken() == {"one": None}
    assert states(listed(there)) == {"one": None}


def test_two_who_sign_one_session(here: Agents, remote: str, tmp_path: Path) -> None:
    """A key takes the place of another, also if this machine did not know that there was one."""
    work(here, "one", {"a.txt": text(l2=b"1")})
    push(here, remote)
    other = make_key(tmp_path / "keys", "bob")
    signers = tmp_path / "bob"
    signers.write_text(f"bob@example.com {public(other)}\n")
    run_git(Path(remote), "update-ref", "-d", signature_name("one"))
    push(here, remote, options=PushOptions(signing=Signing(other)))
    assert git_says(remote, signature_name("one"), str(signers))[0]


def test_a_clone_has_the_tags_already(here: Agents, there: Agents, remote: str) -> None:
    """Git fetches nothing that the project itself has, as a local clone of the remote does."""
    work(here, "one", {"a.txt": text(l2=b"1")})
    push(here, remote)
    run_git(there.bench.root, "init", "--quiet")
    run_git(there.bench.root, "fetch", "--quiet", remote, "refs/snapd/*:refs/elsewhere/*")
    assert states(fetch(there, remote)) == {"one": "good"}
    there.bench.reopen()
    assert states(listed(there)) == {"one": "good"}


@pytest.fixture
def taker(tmp_path: Path, allowed: str) -> Agents:
    """A machine on which no agent worked yet."""
    return taking(tmp_path / "taker", allowed)


def taking(folder: Path, allowed: str) -> Agents:
    agents = Agents(make(folder, {"a.txt": TEXT}))
    configure(agents, f'[gpg "ssh"]\nallowedSignersFile = {allowed}\n')
    return agents


def take_over(agents: Agents, remote: str, *, file: bool = False) -> TakeoverOutcome:
    elsewhere = agents.bench.workspace.remote_sessions
    carrier = elsewhere.bundle(remote) if file else elsewhere.remote(remote)
    return agents.bench.workspace.takeover.take_over(carrier, None, OperationOptions("merge", True, False), Call())


def hand_over(agents: Agents, remote: str, options: HandoverOptions | None = None, *, file: bool = False) -> str:
    elsewhere = agents.bench.workspace.remote_sessions
    carrier = elsewhere.bundle(remote) if file else elsewhere.remote(remote)
    return agents.bench.workspace.handover.hand_over(
        carrier, options or HandoverOptions(signing=Signing()), Call()
    ).name


def test_a_handover_is_signed(here: Agents, taker: Agents, remote: str, allowed: str, tmp_path: Path) -> None:
    work(here, "one", {"a.txt": text(l2=b"1")})
    name = hand_over(here, remote)
    own = f"refs/snapd/signatures/handovers/{name}"
    assert set(signatures_at(remote)) == {own, signature_name("one")}
    assert git_says(remote, own, allowed)[0]
    taken = take_over(taker, remote)
    assert (states({"": taken.signature}), taken.is_marked) == ({"": "good"}, True)
    # the note that it was taken over is not for the signer to sign
    third = taking(tmp_path / "third", allowed)
    carrier = third.bench.workspace.remote_sessions.remote(remote)
    again = third.bench.workspace.takeover.take_over(carrier, name, OperationOptions("merge", True, False), Call())
    assert states({"": again.signature}) == {"": "good"}
    fetch(third, remote)
    swept(third, "one")
    again = third.bench.workspace.takeover.take_over(carrier, name, OperationOptions("merge", True, False), Call())
    assert states({"": again.signature}) == {"": "good"}
    # without a signature, the next one is not signed by that of the one before
    work(here, "one", {"a.txt": text(l2=b"2")})
    hand_over(here, remote, HandoverOptions())
    assert own not in signatures_at(remote)
    assert take_over(taker, remote).signature is None


def test_a_handover_with_another_signature_is_refused(here: Agents, taker: Agents, remote: str) -> None:
    work(here, "one", {"a.txt": text(l2=b"1")})
    name = hand_over(here, remote)
    run_git(Path(remote), "update-ref", f"refs/snapd/signatures/handovers/{name}", signature_name("one"))
    with pytest.raises(Untrusted, match="signature of the handover"):
        take_over(taker, remote)
    hand_over(here, remote)
    assert states({"": take_over(taker, remote).signature}) == {"": "good"}


def test_a_file_carries_a_signed_handover(here: Agents, taker: Agents, tmp_path: Path) -> None:
    work(here, "one", {"a.txt": text(l2=b"1")})
    file = str(tmp_path / "handover.bundle")
    hand_over(here, file, file=True)
    assert states({"": take_over(taker, file, file=True).signature}) == {"": "good"}

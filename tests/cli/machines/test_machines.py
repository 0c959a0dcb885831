"""`push`, `fetch` and `apply`: words, plans, questions and answers, with a bare repository between two machines."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from snapd.store.timeline.chain import chain_of_session
from tests.cli.running import Home, Terminal
from tests.cli.steps import numbered, put, read, take
from tests.sharing.keys import fingerprint, make_key, public
from tests.support.git import run_git


@pytest.fixture
def remote(tmp_path: Path) -> str:
    path = str(tmp_path / "remote.git")
    os.mkdir(path)
    run_git(path, "init", "-q", "--bare", ".")
    return path


@pytest.fixture
def there() -> Iterator[Home]:
    """Another machine."""
    other = Home()
    yield other
    other.close()


@pytest.fixture
def steps(home: Home, project: str, remote: str) -> list[str]:
    """Two steps of claude in a project that is committed, pushed and knows the remote."""
    put(project, {"f.txt": numbered(20)})
    run_git(project, "init", "-q")
    run_git(project, "add", "--all")
    run_git(project, "commit", "-q", "-m", "1")
    run_git(project, "remote", "add", "origin", remote)
    run_git(project, "push", "-q", "origin", "HEAD:refs/heads/main")
    first = take(home, project, "claude", {"f.txt": numbered(20, l2=b"one"), ".env": b"x\n"}, "--agent", "claude")
    return [first, take(home, project, "claude", {"f.txt": numbered(20, l2=b"one", l9=b"two")})]


def test_the_plan_comes_first(home: Home, project: str, remote: str, steps: list[str]) -> None:
    del steps
    told = home.ok(project, "push", "origin", "--dry-run").splitlines()
    assert told[0].startswith(f"1 session to {remote}: ")
    assert [" ".join(line.split()) for line in told[2:]] == [
        "Anyone who can read this folder can read all of it.",
        "3 files are in no commit that is there:",
        "2 bytes .env may hold a secret",
        f"{len(numbered(20, l2=b'one'))} bytes f.txt",
        f"{len(numbered(20, l2=b'one', l9=b'two'))} bytes f.txt",
        "--exclude leaves files out; --redact also leaves out their contents elsewhere.",
    ]
    assert run_git(remote, "for-each-ref", "refs/snapd") == b""
    refused = home.run(project, "push", "origin")
    assert refused.code == 2
    assert "this would push 1 session, and standard input is not a terminal" in refused.err
    no = Terminal(home, project, "push", "origin").answer(b"n\n")
    assert (no.code, "nothing was changed" in no.err) == (1, True)
    assert run_git(remote, "for-each-ref", "refs/snapd") == b""
    yes = Terminal(home, project, "push", "origin", "--exclude", ".env").answer(b"y\n")
    assert (yes.code, "may hold a secret" in yes.err) == (0, False)
    assert b".env" not in run_git(remote, "log", "--all", "--name-only", "--glob=refs/snapd")


def test_from_one_machine_to_the_other(home: Home, there: Home, project: str, remote: str, steps: list[str]) -> None:
    assert home.ok(project, "push", "origin", "claude", "--yes").startswith(f"pushed 1 session to {remote}: ")
    clone = there.at("clone")
    run_git(there.path, "clone", "-q", "-b", "main", remote, clone)
    host = os.uname().nodename
    # a folder may be given as a path from here
    fetched = there.ok(clone, "fetch", os.path.relpath(remote, clone)).splitlines()
    assert fetched == [f"claude Claude Code: 2 steps, from {host}"]
    # the same one by its name
    assert there.ok(clone, "fetch", "origin") == "nothing new there\n"
    assert read(clone, "f.txt") == numbered(20)
    listed = there.ok(clone, "sessions").splitlines()
    assert listed[1].split()[0] == "claude"
    assert listed[1].endswith(f"from {host}")
    shown = there.ok(clone, "show", steps[1][:8])
    assert "-9\n+two" in shown
    put(clone, {"f.txt": numbered(20, l18=b"mine")})
    expected_outcomes = there.ok(clone, "apply", steps[1][:8], "--dry-run").splitlines()
    assert (expected_outcomes[0], expected_outcomes[1].split()) == ("not signed", ["would", "merge", "f.txt"])
    applied = there.ok(clone, "apply", steps[1], "--yes").splitlines()
    assert (applied[0].split(), applied[1]) == (["merged", "f.txt"], "'snapd undo' takes that back")
    assert read(clone, "f.txt") == numbered(20, l9=b"two", l18=b"mine")
    assert f"Apply claude from {host}" in there.ok(clone, "log")
    there.ok(clone, "undo", "--yes")
    assert read(clone, "f.txt") == numbered(20, l18=b"mine")
    there.ok(clone, "apply", "claude", "--yes")
    assert read(clone, "f.txt") == numbered(20, l2=b"one", l9=b"two", l18=b"mine")
    assert read(clone, ".env") == b"x\n"


def test_deleting(home: Home, project: str, remote: str, steps: list[str]) -> None:
    del steps
    home.ok(project, "push", "origin", "--yes")
    for words, said in (
        (["push", "origin", "--delete"], "expected the sessions to delete"),
        (["push", "origin", "claude", "--delete", "-n"], "cannot be used with --delete"),
        (["push", "origin", "claude", "--delete"], "standard input is not a terminal"),
    ):
        done = home.run(project, *words)
        assert (done.code, said in done.err) == (2, True), done.err
    asked = Terminal(home, project, "push", "origin", "claude", "--delete").answer(b"y\n")
    assert (asked.code, f"deleted 1 session from {remote}" in asked.err) == (0, True)
    assert run_git(remote, "for-each-ref", "refs/snapd") == b""


def test_pruning(home: Home, project: str, remote: str, steps: list[str]) -> None:
    del steps
    home.ok(project, "push", "origin", "--yes")
    for words, said in (
        (["--prune"], "expected --older-than DAYS"),
        (["--prune", "--older-than", "-1"], "at least 0"),
        (["--older-than", "1"], "only valid with --prune"),
        (["--all"], "only valid with --prune"),
        (["claude", "--prune", "--older-than", "1"], "SESSION: cannot be used with --prune"),
        (["--delete", "--prune", "--older-than", "1"], "--delete: cannot be used with --prune"),
        (["--prune", "--older-than", "0"], "this would delete 1 session for everybody"),
    ):
        done = home.run(project, "push", "origin", *words)
        assert (done.code, said in done.err) == (2, True), done.err
    prune = ["push", "origin", "--prune", "--older-than"]
    assert home.ok(project, *prune, "1", "--yes") == f"no session at {remote} is so old\n"
    told = home.ok(project, *prune, "0", "--dry-run").splitlines()
    assert told[0] == f"{remote} has 1 session so old, which would be deleted:"
    assert told[1].split()[1:] == ["claude", "from", os.uname().nodename]
    no = Terminal(home, project, *prune, "0").answer(b"n\n")
    assert (no.code, "Every machine keeps those" in no.err) == (1, True)
    assert run_git(remote, "for-each-ref", "refs/snapd") != b""
    yes = Terminal(home, project, *prune, "0").answer(b"y\n")
    assert (yes.code, f"deleted 1 session from {remote}" in yes.err) == (0, True)
    assert run_git(remote, "for-each-ref", "refs/snapd") == b""
    assert "claude" in home.ok(project, "sessions")


def test_what_goes_wrong(home: Home, project: str, steps: list[str]) -> None:
    for words, code, kind in (
        (["push", "nothing", "--yes"], 2, "invalidParams"),
        (["push", "origin", "nobody", "--yes"], 1, "unknownSession"),
        (["fetch", home.at("nothing")], 1, "remoteFailed"),
        (["apply", "nobody"], 1, "unknownSession"),
        (["apply", steps[0], "--yes"], 1, "unknownStep"),
        (["apply", "claude", steps[0], "--yes"], 2, "invalidParams"),
    ):
        done = home.run(project, *words, "--json")
        assert (done.code, done.json["error"]["kind"]) == (code, kind), words
        assert done.json["error"]["hint"]
    assert not Path(home.at("nothing")).exists()


def test_what_is_signed_is_said(
    home: Home, there: Home, project: str, remote: str, steps: list[str], tmp_path: Path
) -> None:
    key = make_key(tmp_path / "keys", "alice")
    refused = home.run(project, "push", "origin", "--sign", "--yes")
    assert refused.code == 2
    assert "user.signingKey" in refused.err
    told = home.ok(project, "push", "origin", "--signing-key", os.path.relpath(key, project), "--dry-run")
    assert "signed with your ssh key" in told
    home.ok(project, "push", "origin", "--signing-key", os.path.relpath(key, project), "--yes")
    clone = there.at("clone")
    run_git(there.path, "clone", "-q", "-b", "main", remote, clone)
    fetched = there.ok(clone, "fetch", "origin")
    assert f"signed with {fingerprint(key)} at " in fetched
    assert "allowedSignersFile" in fetched
    assert "signed with an unknown key" in there.ok(clone, "sessions")
    allowed = tmp_path / "allowed"
    allowed.write_text(f"alice@example.com {public(key)}\n")
    run_git(clone, "config", "--file", there.at("home/.gitconfig"), "gpg.ssh.allowedSignersFile", str(allowed))
    assert "signed by alice@example.com" in there.ok(clone, "sessions")
    assert "signed by alice@example.com at " in there.ok(clone, "show", steps[0])
    assert "signed by alice@example.com at " in there.ok(clone, "apply", "claude", "--dry-run")
    assert "signed by alice@example.com at " in there.ok(clone, "apply", "claude", "--yes")
    # the signature of another session
    other = take(home, project, "other", {"g.txt": b"g\n"})
    assert other
    home.ok(project, "push", "origin", "other", "--yes")
    assert "signed" not in there.ok(clone, "fetch", "origin")
    assert "not signed" in there.ok(clone, "apply", "other", "--dry-run")
    names = [chain_of_session(name).replace("refs/snapd/", "refs/snapd/signatures/") for name in ("claude", "other")]
    run_git(remote, "update-ref", names[1], names[0])
    assert "bad signature: it signs another version" in there.ok(clone, "fetch", "origin")
    bad = there.run(clone, "apply", "other", "--yes")
    assert bad.code != 0
    assert "bad" in bad.err


@pytest.mark.parametrize("words", [["--delete"], ["--prune", "--older-than", "3"]])
def test_what_goes_is_not_signed(home: Home, project: str, steps: list[str], words: list[str]) -> None:
    del steps
    sessions = ["claude"] if words == ["--delete"] else []
    for option in (["--sign"], ["--signing-key", "key"]):
        refused = home.run(project, "push", "origin", *sessions, *words, *option, "--yes")
        assert (refused.code, f"{option[0]}: cannot be used with {words[0]}" in refused.err) == (2, True)

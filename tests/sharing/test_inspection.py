"""What comes from a hostile remote: refused as a whole with a word why, and nothing of it is taken."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from snapd.model.call import Call
from snapd.model.errors import RemoteFailed, Untrusted
from snapd.model.snapshot import Coverage
from snapd.sharing.inspection import Limits
from snapd.sharing.push import PushOptions
from snapd.store.coverage import encode
from snapd.store.timeline.chain import chain_of_session
from tests.remotes.machines import bare
from tests.support.git import run_git
from tests.support.sessions import TEXT, Agents, at_work, text
from tests.support.workspace import read

from .forging import Commit, Forge

ONE = chain_of_session("one")
FILE, RUN, LINK, FOLDER = b"100644", b"100755", b"120000", b"40000"


@pytest.fixture(scope="module")
def pushed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A remote with one session that has every kind of event."""
    folder = tmp_path_factory.mktemp("pushed")
    agents = at_work(folder / "home", {"a.txt": TEXT, "empty/": None})
    step = agents.begin("one", message="m1")
    agents.bench.workspace.messages.send("one", "m1", "do it", Call())
    agents.bench.write({"a.txt": text(l2=b"1"), "b.txt": b"b\n"})
    agents.end(step, ["a.txt", "b.txt"])
    agents.undo("one", step=step)
    agents.step("one", {"c.txt": b"c\n"})
    remote = bare(folder / "remote")
    agents.bench.workspace.pushing.push(str(remote), None, PushOptions(), Call())
    agents.bench.close()
    return remote


@pytest.fixture
def forge(tmp_path: Path, pushed: Path) -> Forge:
    remote = tmp_path / "remote"
    run_git(tmp_path, "clone", "--quiet", "--mirror", str(pushed), str(remote))
    return Forge(remote)


@pytest.fixture
def there(tmp_path: Path) -> Agents:
    return at_work(tmp_path / "there", {"mine.txt": b"mine\n"})


def fetch(agents: Agents, forge: Forge, limits: Limits | None = None) -> list[str]:
    workspace = agents.bench.workspace
    if limits is not None:
        workspace.remote_sessions.limits = limits
    return [view.session.session_id for view in workspace.fetched.fetch(f"file://{forge.path}", None, Call())]


def refused(agents: Agents, forge: Forge, limits: Limits | None = None) -> Untrusted:
    """Snapd refuses it, and takes nothing."""
    error = not_taken(agents, forge, limits)
    assert isinstance(error, Untrusted)
    return error


def not_taken(agents: Agents, forge: Forge, limits: Limits | None = None) -> Untrusted | RemoteFailed:
    """Nothing is taken: snapd refuses it, or the remote's own git cannot even send it."""
    before = read(agents.bench.folder / "work")
    with pytest.raises((Untrusted, RemoteFailed)) as caught:
        fetch(agents, forge, limits)
    assert caught.value.hint
    assert list(agents.bench.workspace.fetched.readers()) == []
    for mirror in Path(agents.bench.workspace.store.path, "mirrors").iterdir():
        assert list((mirror / "objects" / "pack").iterdir()) == []
        assert not list((mirror / "refs").rglob("sessions/*"))
    assert read(agents.bench.folder / "work") == before
    return caught.value


def test_what_is_not_forged_is_taken(there: Agents, forge: Forge) -> None:
    kinds = {commit.name for commit in forge.commits(ONE)}
    assert kinds == {b"sessionStarted", b"messageSent", b"stepBegun", b"stepEnded", b"operated"}
    forge.put(ONE, forge.commits(ONE))
    assert fetch(there, forge) == ["one"]


# -- trees


@pytest.mark.parametrize(
    "name",
    [b"..", b".", b".git", b".GIT", b".Git ", b"git~1", b"GIT~1", b".git.", b".git:x", b"a/b", b"../../x"],
)
@pytest.mark.parametrize("is_below", [False, True])
def test_names_that_mean_something_else(there: Agents, forge: Forge, name: bytes, is_below: bool) -> None:
    tree = forge.tree((FILE, name, forge.blob(b"evil")))
    forge.with_tree(ONE, forge.tree((FOLDER, b"below", tree)) if is_below else tree)
    refused(there, forge)


@pytest.mark.parametrize("mode", [b"160000", b"100664", b"0100644", b"777", b"4000000000000", b"60000", b"20666"])
def test_modes_that_are_none(there: Agents, forge: Forge, mode: bytes) -> None:
    forge.with_tree(ONE, forge.tree((mode, b"a", forge.blob(b"evil"))))
    refused(there, forge)


def test_entries_that_cannot_be_together(there: Agents, forge: Forge) -> None:
    blob = forge.blob(b"evil")
    for entries in (
        [(FILE, b"a", blob), (FILE, b"a", forge.blob(b"other"))],
        [(FILE, b"a", blob), (FOLDER, b"a", forge.tree((FILE, b"b", blob)))],
        [(FILE, b"b", blob), (FILE, b"a", blob)],
    ):
        forge.with_tree(ONE, forge.tree(*entries))
        refused(there, forge)


def test_entries_of_another_kind(there: Agents, forge: Forge) -> None:
    blob = forge.blob(b"evil")
    for entry in ((FOLDER, b"a", blob), (FILE, b"a", forge.tree((FILE, b"b", blob))), (LINK, b"a", forge.tree())):
        forge.with_tree(ONE, forge.tree(entry))
        not_taken(there, forge)


def test_objects_that_are_missing(there: Agents, forge: Forge) -> None:
    gone = b"\x12" * 20
    unnamed = forge.tree((FILE, b"", forge.blob(b"evil")))
    for tree in (forge.tree((FILE, b"a", gone)), forge.tree((FOLDER, b"a", gone)), gone, bytes(20), unnamed):
        forge.with_tree(ONE, tree)
        not_taken(there, forge)


def test_a_symlink_that_is_none(there: Agents, forge: Forge) -> None:
    forge.with_tree(ONE, forge.tree((LINK, b"a", forge.blob(b"x" * 5000))))
    assert "symlink" in refused(there, forge).message


def test_a_few_directories_for_very_many_files(there: Agents, forge: Forge) -> None:
    tree = forge.tree((FILE, b"a", forge.blob(b"x")))
    for _ in range(40):
        tree = forge.tree(*((FOLDER, b"%d" % at, tree) for at in range(10)))
    forge.with_tree(ONE, tree)
    assert "over the limit" in refused(there, forge).message


@pytest.mark.parametrize("depth", [1900, 3000])
def test_a_deep_tree(there: Agents, forge: Forge, depth: int) -> None:
    tree = forge.tree((FILE, b"a", forge.blob(b"x")))
    for _ in range(depth):
        tree = forge.tree((FOLDER, b"d", tree))
    forge.with_tree(ONE, tree)
    if depth > 2048:
        refused(there, forge)
    else:
        assert fetch(there, forge) == ["one"]
        read_all(there)


# -- events


def changed(forge: Forge, kind: str, name: str, value: object) -> None:
    forge.changed(ONE, kind, lambda commit: commit.change(name, value))


def deep(commit: Commit) -> None:
    commit.payload = b"[" * 100_000 + b"]" * 100_000


def huge(commit: Commit) -> None:
    commit.payload = commit.payload.replace(b'"milliseconds":', b'"milliseconds":' + b"9" * 5000)


@pytest.mark.parametrize(
    ("kind", "name", "value"),
    [
        ("stepEnded", "seq", 99),
        ("stepEnded", "seq", 1),
        ("stepEnded", "seq", -1),
        ("stepEnded", "seq", 1.5),
        ("stepEnded", "milliseconds", 1 << 63),
        ("stepEnded", "milliseconds", 1 << 70),
        ("stepBegun", "what.index", 1 << 70),
        ("stepBegun", "what.sessionId", "two"),
        ("stepBegun", "what.stepId", "\ud800"),
        ("stepEnded", "what.stepId", "nobody's"),
        ("stepEnded", "type", "stepBegun"),
        ("stepEnded", "more", 1),
        ("stepEnded", "version", 0),
        ("stepEnded", "head", None),
        ("stepEnded", "head", ["4" * 39, "4" * 40]),
        ("sessionStarted", "what.sessionId", "two"),
        ("sessionStarted", "what.sessionId", "\udcff"),
        ("operated", "what.kind", "restart"),
        ("messageSent", "what.transcript", {"path": "/etc/passwd", "size": 0}),
        *(
            ("stepEnded", "what.claims", [path])
            for path in ("../x", "/etc/passwd", "", "a//b", ".git/hooks/x", "a\0b", "x" * 5000, "a/../b")
        ),
        ("stepEnded", "what.uncaptured", [["../x", False]]),
        ("operated", "what.effects", [["../x", None, None]]),
    ],
)
def test_events_that_are_none(there: Agents, forge: Forge, kind: str, name: str, value: object) -> None:
    changed(forge, kind, name, value)
    refused(there, forge)


def test_what_a_newer_snapd_wrote(there: Agents, forge: Forge) -> None:
    changed(forge, "stepEnded", "version", 99)
    assert "update" in refused(there, forge).hint


@pytest.mark.parametrize("change", [deep, huge])
def test_json_that_is_too_much(there: Agents, forge: Forge, change: Callable[[Commit], None]) -> None:
    forge.changed(ONE, "stepEnded", change)
    refused(there, forge)


@pytest.mark.parametrize("where", ["made", "removed", "left", "rest", "moved", "effects"])
def test_paths_of_operations(there: Agents, forge: Forge, where: str) -> None:
    def change(commit: Commit) -> None:
        document = commit.document
        (turned,) = document["what"]["turned"]
        outside = "../outside"
        turned[where] = {"moved": [["a", outside]], "effects": [[outside, None, None]]}.get(where, [outside])
        commit.say(document)

    forge.changed(ONE, "operated", change)
    refused(there, forge)


@pytest.mark.parametrize(
    "change",
    [
        lambda commit: setattr(commit, "payload", b"\xff\xfe" + commit.payload),
        lambda commit: setattr(commit, "payload", b"null"),
        lambda commit: setattr(commit, "payload", b""),
        lambda commit: setattr(commit, "payload", commit.payload[:-1]),
        lambda commit: setattr(commit, "name", b"stepBegun"),
        lambda commit: setattr(commit, "who", commit.who + b"gpgsig x\n"),
        lambda commit: setattr(commit, "who", commit.who + b"encoding latin-1\n"),
        lambda commit: setattr(commit, "who", commit.who.replace(b"snapd@", b"x@\x1b[31m")),
        lambda commit: setattr(commit, "who", commit.who.replace(b"+0000", b"+9999")),
        lambda commit: setattr(commit, "who", commit.who.replace(b"<snapd@", b"<snapd@-")),
    ],
)
def test_commits_that_are_no_event(there: Agents, forge: Forge, change: Callable[[Commit], object]) -> None:
    commits = forge.commits(ONE)
    change(commits[-1])
    forge.put(ONE, commits)
    refused(there, forge)


def test_chains_that_are_none(there: Agents, forge: Forge) -> None:
    commits = forge.commits(ONE)
    for chain in (commits[1:], [*commits, commits[-1]], [commits[0], *commits[2:]], list(reversed(commits))):
        forge.put(ONE, chain)
        refused(there, forge)
    head = forge.put(ONE, commits)
    commits[-1].parents = [head, head]
    forge.put(ONE, commits)
    refused(there, forge)


def test_a_commit_with_other_files(there: Agents, forge: Forge) -> None:
    commits = forge.commits(ONE)
    commits[-1].tree = forge.tree((FILE, b"more", forge.blob(b"hidden")))
    forge.put(ONE, commits)
    refused(there, forge)


# -- what is not in a tree


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"null",
        b"[]",
        b"[" * 100_000,
        b'{"version":1}',
        encode(Coverage()).replace(b"[]", b"[5]", 1),
        encode(Coverage()).replace(b'"emptyDirs":[]', b'"emptyDirs":5'),
        encode(Coverage(empty_dirs=(b"../x",))),
        encode(Coverage(empty_dirs=(b".git/x",))),
        encode(Coverage(empty_dirs=(b"a\0b",))),
        encode(Coverage(empty_dirs=(b"x/" * 4000 + b"x",))),
        encode(Coverage(prefix=b"../..")),
        encode(Coverage(forced=(b"/etc/passwd",))),
        encode(Coverage()) + b" ",
        json.dumps({**json.loads(encode(Coverage())), "skipped": [["a", "nothing"]]}).encode(),
        json.dumps({**json.loads(encode(Coverage())), "rules": [["a", "b", "c"]]}).encode(),
    ],
)
def test_lists_that_are_none(there: Agents, forge: Forge, data: bytes) -> None:
    forge.with_coverage(ONE, data)
    refused(there, forge)


# -- references


def test_references_to_something_else(there: Agents, forge: Forge) -> None:
    head = bytes.fromhex(run_git(forge.path, "rev-parse", ONE).decode())
    run_git(forge.path, "tag", "--annotate", "--message=x", "tagged", ONE)
    tag = bytes.fromhex(run_git(forge.path, "rev-parse", "refs/tags/tagged").decode())
    for target in (forge.blob(b"x"), forge.tree((FILE, b"a", forge.blob(b"x"))), tag):
        forge.name(ONE, target)
        refused(there, forge)
    forge.name(ONE, head)
    assert fetch(there, forge) == ["one"]


_STRANGE = [b"a b", b"a:b", b"a..b", b"~", b"x.lock", b"@{-1}", b"$(touch evil)", b"'; touch evil; '"]


@pytest.mark.parametrize("name", [b"x", b"a/b/c", b"\xff\xfe", b"0" * 200, b"0" * 17, *_STRANGE])
def test_references_with_other_names_are_no_sessions(there: Agents, forge: Forge, name: bytes) -> None:
    other = b"refs/snapd/sessions/" + name
    forge.name(other, bytes.fromhex(run_git(forge.path, "rev-parse", ONE).decode()))
    try:
        assert fetch(there, forge) == ["one"]
    except RemoteFailed:
        # the remote's own git does not want to name it
        assert name in _STRANGE
        assert list(there.bench.workspace.fetched.readers()) == []
    os.unlink(os.path.join(os.fsencode(forge.path), other))
    fetch(there, forge)
    assert [reader.view().session.session_id for reader in there.bench.workspace.fetched.readers()] == ["one"]


def test_a_symbolic_reference(there: Agents, forge: Forge) -> None:
    """It is what it leads to: here, a session by another name."""
    run_git(forge.path, "symbolic-ref", chain_of_session("two"), ONE)
    refused(there, forge)
    run_git(forge.path, "symbolic-ref", chain_of_session("two"), "refs/heads/none")
    assert fetch(there, forge) == ["one"]


def test_more_sessions_than_anybody_has(there: Agents, forge: Forge) -> None:
    head = bytes.fromhex(run_git(forge.path, "rev-parse", ONE).decode())
    for number in range(30):
        forge.name(chain_of_session(f"s{number}"), head)
    assert "over the limit of 20" in refused(there, forge, Limits(sessions=20)).message


def read_all(agents: Agents) -> None:
    """Reads what was fetched in every way that there is."""
    workspace = agents.bench.workspace
    for reader in workspace.fetched.readers():
        session = reader.view().session.session_id
        for view in reader.views.steps(session, Call()).views:
            reader.net_changes.step(view.step.step_id, (), Call())

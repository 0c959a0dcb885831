"""The objects of the project's git in the store, read by git itself."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from random import Random

import pytest

from snapd.gitstate.objects import ProjectObjects
from snapd.model.call import Call
from snapd.model.check_report import CheckReport
from snapd.store.fsck.checkers import check_closed
from tests.support.amounts import amount
from tests.support.git import GIT
from tests.support.secrets import check_gone
from tests.support.sessions import Agents, at_work

from .oracle import ENVIRONMENT, State, git, work


def reachable(agents: Agents, *tips: str) -> set[str]:
    """The objects that tips reach, by git with nothing but what the store keeps; fails if one is missing."""
    objects = Path(agents.bench.store) / "project/objects"
    bare = objects.parent.parent.parent / "oracle.git"
    if not bare.exists():
        subprocess.run([GIT, "init", "-q", "--bare", bare], env=ENVIRONMENT, check=True)
    environment = {**ENVIRONMENT, "GIT_OBJECT_DIRECTORY": os.fspath(objects)}
    words = [GIT, f"--git-dir={bare}", "rev-list", "--objects", *tips]
    listed = subprocess.run(words, env=environment, capture_output=True, check=True).stdout.decode()
    names = {line.partition(" ")[0] for line in listed.splitlines()}
    # reads each of them
    words = [GIT, f"--git-dir={bare}", "cat-file", "--batch"]
    asked = "".join(f"{name}\n" for name in names).encode()
    assert (
        b" missing" not in subprocess.run(words, env=environment, input=asked, capture_output=True, check=True).stdout
    )
    return names


def stored(agents: Agents) -> set[str]:
    """All objects that the store keeps of git's."""
    objects = Path(agents.bench.store) / "project/objects"
    bare = objects.parent.parent.parent / "all.git"
    if not bare.exists():
        subprocess.run([GIT, "init", "-q", "--bare", bare], env=ENVIRONMENT, check=True)
    environment = {**ENVIRONMENT, "GIT_OBJECT_DIRECTORY": os.fspath(objects)}
    words = [GIT, f"--git-dir={bare}", "cat-file", "--batch-all-objects", "--batch-check=%(objectname)"]
    return set(subprocess.run(words, env=environment, capture_output=True, check=True).stdout.decode().split())


def with_git(tmp_path: Path) -> tuple[Agents, Path]:
    """A repository with packed and loose objects, a tag, a branch, a stash, something staged; and a session."""
    agents = at_work(tmp_path, {f"f{number}": b"%d\n" % number for number in range(50)})
    folder = Path(agents.bench.root)
    for words in (("init", "-qb", "main"), ("add", "-A"), ("commit", "-qm", "first"), ("gc", "-q")):
        git(folder, *words)
    agents.bench.write({"f1": b"other\n"})
    for words in (
        ("commit", "-qam", "second"),
        ("tag", "-am", "tag", "v1"),
        ("branch", "topic"),
    ):
        git(folder, *words)
    agents.bench.write({"f2": b"stashed\n"})
    git(folder, "stash")
    agents.bench.write({"f3": b"staged\n"})
    git(folder, "add", "f3")
    agents.start("s")
    agents.step("s", {"g": b"x"})
    return agents, folder


def tips(folder: Path) -> list[str]:
    listed = git(folder, "for-each-ref", "--format=%(objectname)").split()
    return [*listed, git(folder, "rev-parse", ":f3").strip()]


@pytest.mark.parametrize("links", [True, False])
def test_neither_gc_nor_deleting_loses_anything(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, links: bool
) -> None:
    if not links:

        def refuse(*_: object, **__: object) -> None:
            raise OSError(18, "Invalid cross-device link")

        monkeypatch.setattr(os, "link", refuse)
    agents, folder = with_git(tmp_path)
    all_tips = tips(folder)
    expected = set(git(folder, "rev-list", "--objects", "--no-object-names", *all_tips).split())
    assert reachable(agents, *all_tips) == expected

    def lose() -> None:
        agents.bench.write({"f4": b"new\n"})
        git(folder, "commit", "-qam", "third")
        all_tips.append(git(folder, "rev-parse", "HEAD").strip())

    agents.step("s", lose)
    expected = set(git(folder, "rev-list", "--objects", "--no-object-names", *all_tips).split())

    def drop() -> None:
        for words in (
            ("stash", "drop"),
            ("tag", "-d", "v1"),
            ("branch", "-D", "topic"),
            ("reset", "-q", "--hard", "HEAD~2"),
            ("reflog", "expire", "--expire=now", "--all"),
            ("gc", "-q", "--prune=now"),
        ):
            git(folder, *words)

    step = agents.step("s", drop)
    assert reachable(agents, *all_tips) == expected
    agents.bench.workspace.upkeep.cleanup(None, Call())
    assert reachable(agents, *all_tips) == expected
    assert len(agents.view(step).git.refs) == 4  # type: ignore[union-attr]
    step = agents.step("s", lambda: shutil.rmtree(folder / ".git"))
    assert agents.view(step).git.repository == "deleted"  # type: ignore[union-attr]
    for _ in range(2):
        agents.bench.workspace.upkeep.cleanup(None, Call())
        agents.bench.reopen()
        assert reachable(agents, *all_tips) == expected
    assert not agents.bench.workspace.upkeep.check(Call(), quick=False).problems


def test_what_no_event_can_name_goes(tmp_path: Path) -> None:
    agents, folder = with_git(tmp_path)
    gone = git(folder, "rev-parse", "stash").strip()
    for words in (("stash", "drop"), ("reflog", "expire", "--expire=now", "--all"), ("gc", "-q", "--prune=now")):
        git(folder, *words)
    agents.step("s", {"g": b"y"})
    cleanup = agents.bench.workspace.upkeep.cleanup
    cleanup(None, Call())
    assert gone in stored(agents)
    agents.bench.workspace.sessions.end("s", Call())
    agents.bench.workspace.sessions.end("one", Call())
    cleanup(0, Call())
    agents.start("t")
    agents.step("t", {"g": b"z"})
    cleanup(0, Call())
    assert gone not in stored(agents)
    assert reachable(agents, *tips(folder))


def test_a_purged_secret_goes_and_is_not_stored_again(tmp_path: Path) -> None:
    agents, folder = with_git(tmp_path)
    secret = b"a secret that somebody committed\n"
    agents.step("s", {"secret": secret})
    agents.step("s", lambda: (git(folder, "add", "secret"), git(folder, "commit", "-qm", "secret")))
    blob = git(folder, "rev-parse", "HEAD:secret").strip()
    agents.step("s", lambda: git(folder, "gc", "-q"))
    assert blob in stored(agents)
    others = stored(agents) - {blob}
    agents.step("s", lambda: git(folder, "rm", "-q", "secret"))
    purged = agents.bench.workspace.upkeep.purge([b"secret"], False, Call())
    assert purged.linked
    assert blob not in stored(agents)
    agents.step("s", lambda: git(folder, "commit", "-qm", "no secret"))
    agents.step("s", lambda: git(folder, "gc", "-q", "--aggressive"))
    agents.bench.workspace.upkeep.cleanup(None, Call())
    assert blob not in stored(agents)
    assert others <= stored(agents)
    assert agents.bench.workspace.snapshots.status().git_reason == "objects"


def test_a_secret_that_was_only_staged(tmp_path: Path) -> None:
    agents, folder = with_git(tmp_path)
    secret = Random(1).randbytes(99)
    agents.step("s", {"secret": secret})
    agents.step("s", lambda: git(folder, "add", "secret"))
    agents.step("s", lambda: git(folder, "rm", "-qf", "secret"))
    git(folder, "gc", "-q", "--prune=now")
    agents.bench.workspace.upkeep.purge([b"secret"], False, Call())
    shutil.rmtree(Path(agents.bench.store) / "project")
    check_gone(agents.bench.store, secret)
    agents.step("s", {"g": b"x"})
    assert reachable(agents, *tips(folder))


def damaged(agents: Agents) -> set[str]:
    """Damages a pack that only the store has; returns the objects of the store before."""
    before = stored(agents)
    packs = Path(agents.bench.store) / "project/objects/pack"
    pack = max(packs.glob("*.pack"), key=lambda path: path.stat().st_size)
    # not the other names of the file
    data = bytearray(pack.read_bytes())
    pack.unlink()
    data[len(data) // 2] ^= 1
    pack.write_bytes(data)
    return before


@pytest.mark.parametrize("is_open", [True, False])
def test_a_damaged_pack_that_only_the_store_has_is_moved_aside_and_its_sound_objects_stay(
    tmp_path: Path, *, is_open: bool
) -> None:
    agents, folder = with_git(tmp_path)
    agents.step("s", lambda: shutil.rmtree(folder / ".git"))
    before = damaged(agents)
    if not is_open:
        agents.bench.close()

    def check(*, repair: bool) -> CheckReport:
        if is_open:
            upkeep = agents.bench.workspace.upkeep
            return upkeep.repair(Call()) if repair else upkeep.check(Call(), quick=False)
        others = ProjectObjects(agents.bench.store).check
        return check_closed(agents.bench.store, Call(), quick=False, mend=repair, others=others)

    assert [problem.kind for problem in check(repair=False).problems] == ["damagedPack"]
    report = check(repair=True)
    assert [problem.kind for problem in report.repaired] == ["damagedPack"]
    assert report.quarantine is not None
    assert not check(repair=False).problems
    assert 0 < len(before - stored(agents)) < 4


def test_a_damaged_pack_does_not_keep_the_rest_from_being_cleaned_up(tmp_path: Path) -> None:
    agents, folder = with_git(tmp_path)
    packs = Path(agents.bench.store) / "project/objects/pack"
    old = {path.name for path in packs.glob("*.pack")}
    agents.step("s", lambda: git(folder, "gc", "-q", "--prune=now"))
    pack = next(path for path in packs.glob("*.pack") if path.name not in old)
    all_tips = [tip for tip in tips(folder) if tip != git(folder, "rev-parse", "stash").strip()]

    def drop() -> None:
        for words in (("stash", "drop"), ("reflog", "expire", "--expire=now", "--all"), ("gc", "-q", "--prune=now")):
            git(folder, *words)

    agents.step("s", drop)
    # without the loose files, only this pack has the stash
    for directory in packs.parent.glob("[0-9a-f][0-9a-f]"):
        shutil.rmtree(directory)
    data = pack.read_bytes()
    pack.unlink()
    pack.write_bytes(data[:12] + bytes(len(data) - 32) + data[-20:])
    for _ in range(2):
        agents.bench.workspace.upkeep.cleanup(None, Call())
    assert reachable(agents, *all_tips)
    problems = agents.bench.workspace.upkeep.check(Call(), quick=False).problems
    assert [problem.subject for problem in problems] == [f"project/objects/pack/{pack.name}"]


@pytest.mark.parametrize("seed", range(amount(4, 100)))
def test_random_histories(tmp_path: Path, seed: int) -> None:
    random = Random(seed)
    agents, folder = with_git(tmp_path)
    all_tips: set[str] = set()
    for number in range(30):
        if number % 10 == 9:
            agents.bench.workspace.upkeep.cleanup(None, Call())
        agents.step("s", lambda: work(folder, random))
        state = State.of(folder)
        all_tips |= {*state.refs.values(), *(line[:40] for line in state.stash.splitlines())}
        all_tips |= {line.split(" ")[1] for line in git(folder, "ls-files", "-s").splitlines()}
        if not state.head.startswith("refs/"):
            all_tips.add(state.head)
    # intents to add have an empty file
    all_tips.discard("e69de29bb2d1d6434b8b29ae775ad8c2e48c5391")
    if random.random() < 0.5:
        shutil.rmtree(folder / ".git")
        agents.step("s", {"g": b"x"})
    for _ in range(2):
        agents.bench.workspace.upkeep.cleanup(None, Call())
    assert reachable(agents, *all_tips)
    assert not agents.bench.workspace.upkeep.check(Call(), quick=False).problems

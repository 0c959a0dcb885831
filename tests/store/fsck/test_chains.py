"""References, records, events and the small files of a store, damaged: what is lost, and what comes back."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from snapd.model.call import Call
from snapd.model.check_report import CheckReport
from snapd.model.errors import StoreCorrupt, StoreLocked
from snapd.model.snapshot import Coverage, ObjectId, Snapshot
from snapd.model.timeline import Event, SessionEnded, SessionStarted, StepBegun, StepEnded
from snapd.store.fsck.checkers import check_closed
from snapd.store.repository import FORMAT_VERSION
from snapd.store.timeline.chain import chain_of_session
from snapd.store.usage.usage import usage
from tests.store.fsck import damage
from tests.store.fsck.damage import blob_id, git_is_content, loose
from tests.store.fsck.test_objects import BASE, step
from tests.store.steps import Steps
from tests.support.workspace import recorded


@pytest.fixture
def steps(steps: Steps) -> Steps:
    for number in range(4):
        steps.take(step(number))
    return steps


def closed(steps: Steps, *, mend: bool = False, quick: bool = False) -> CheckReport:
    return check_closed(str(steps.path), Call(), quick=quick, mend=mend)


def kinds(found: CheckReport) -> list[str]:
    return [problem.kind for problem in found.problems]


def reference(steps: Steps, above: str) -> Path:
    (found,) = (steps.path / "refs" / "snapd" / above).iterdir()
    return found


def add_session(steps: Steps, session_id: str, count: int) -> list[ObjectId]:
    """A session with steps, each on a snapshot of its own; gives the commits of its events, oldest first."""
    timeline = steps.store.timeline

    def tell(what: SessionStarted | StepBegun | StepEnded, number: int | None) -> None:
        snapshot = None
        if number is not None:
            tree = steps.take(step(number))
            snapshot = steps.store.identify(Snapshot(tree, Coverage()))
        steps.store.append(Event(timeline.next_seq, 1_700_000_000_000, snapshot, None, what))

    tell(SessionStarted(session_id, None, None), None)
    for index in range(count):
        step_id = f"{session_id}-{index}"
        tell(StepBegun(step_id, session_id, index, None, None, None, None, None), 100 + 2 * index)
        tell(StepEnded(step_id, None, True, True), 101 + 2 * index)
    name = steps.git("for-each-ref", "--format=%(refname)", "refs/snapd/sessions").decode().split()[0]
    return [bytes.fromhex(line) for line in steps.git("rev-list", "--reverse", name).decode().split()]


# -- references


@pytest.mark.parametrize("how", [damage.cut, damage.empty, damage.drop], ids=lambda how: how.__name__)
def test_a_lost_reference_is_found_by_what_hung_on_it(steps: Steps, how: damage.Damage) -> None:
    steps.store.close()
    path = reference(steps, "snapshots")
    before = path.read_bytes()
    how(path)
    assert kinds(closed(steps)) == ["lostReference" if how is damage.drop else "damagedReference"]
    assert closed(steps, mend=True).problems == ()
    assert path.read_bytes() == before
    steps.open()
    steps.check()


def test_a_reference_to_nothing_is_found_by_what_hung_on_it(steps: Steps) -> None:
    steps.store.close()
    path = reference(steps, "snapshots")
    before = path.read_bytes()
    damage.replace(path, b"0123456789" * 4 + b"\n")
    for quick in (True, False):
        assert kinds(closed(steps, quick=quick)) == ["damagedReference"]
    assert closed(steps, mend=True).problems == ()
    assert path.read_bytes() == before
    steps.open()
    steps.check()


LITTER = [
    ".DS_Store", "._x", "snapshots/.DS_Store", "sessions/x.orig",
    "snapshots/2026-01-01~", "operations/2026-01-01.bak", "other/thing",
]  # fmt: skip


@pytest.mark.parametrize("name", LITTER)
@pytest.mark.parametrize("data", [b"", b"\0\0\0\1Bud1", b"a copy"], ids=["empty", "another's", "a copy"])
def test_what_others_leave_among_the_references_is_none(steps: Steps, name: str, data: bytes) -> None:
    path = steps.path / "refs/snapd" / name
    path.parent.mkdir(exist_ok=True, mode=0o700)
    copied = reference(steps, "snapshots").read_bytes()
    steps.store.close()
    path.write_bytes(copied if data == b"a copy" else data)
    path.chmod(0o600)
    assert kinds(closed(steps)) == []
    steps.open()
    steps.take(step(20))
    steps.reopen()
    assert list(steps.answered) == [record.tree for record in recorded(steps.store)]
    assert path.exists()


KINDS = {
    "snapshots": "2026-01-01", "operations": "2026-01-01", "sessions": "0123456789abcdef",
}  # fmt: skip


@pytest.mark.parametrize("above", KINDS)
@pytest.mark.parametrize("data", [b"", b"ab" * 20 + b"\n", b"ref: refs/heads/x\n"], ids=["empty", "nothing", "text"])
def test_a_reference_on_which_nothing_hung_is_put_aside(steps: Steps, above: str, data: bytes) -> None:
    steps.store.close()
    path = steps.path / "refs/snapd" / above / KINDS[above]
    path.parent.mkdir(exist_ok=True, mode=0o700)
    path.write_bytes(data)
    path.chmod(0o600)
    assert kinds(closed(steps)) != []
    mended = closed(steps, mend=True)
    assert mended.problems == ()
    assert not path.exists()
    assert mended.quarantine is not None
    steps.open()
    steps.check()


def test_a_packed_reference_of_which_nothing_is_left_goes(tmp_path: Path) -> None:
    steps = Steps(tmp_path / "one")
    steps.take(step(0))
    steps.git("pack-refs", "--all", "--prune")
    (commit,) = steps.git("rev-list", "--all").decode().split()
    steps.store.close()
    damage.drop(loose(steps.path, bytes.fromhex(commit)))
    assert closed(steps, mend=True).problems == ()
    steps.open()
    steps.take(step(0))
    steps.check()
    steps.store.close()


@pytest.mark.parametrize("above", ["snapshots", "sessions"])
def test_a_chain_is_put_together_with_what_only_the_journal_has(tmp_path: Path, steps: Steps, above: str) -> None:
    """The process died, and the power failed before any of it was on the disk: the journal alone has the last ones."""
    add_session(steps, "A", 1)
    steps.reopen()
    chain = f"refs/snapd/{above}"
    old = steps.git("for-each-ref", "--format=%(objectname)", chain).decode().strip()
    steps.take(step(10))
    steps.store.append(Event(steps.store.timeline.next_seq, 1_700_000_000_000, None, None, SessionEnded("A")))
    new = steps.git("for-each-ref", "--format=%(objectname)", chain).decode().strip()
    assert new != old
    where = tmp_path / "cut"
    shutil.copytree(steps.path, where)
    steps.store.close()
    steps.path = where
    damage.drop(loose(where, bytes.fromhex(new)))
    damage.flip(loose(where, bytes.fromhex(old)))
    assert closed(steps, mend=True).problems == ()
    steps.open()
    assert list(steps.answered)[-1] == steps.store.last
    assert [session.session_id for session in steps.store.timeline.sessions()] == ["A"]


PACKED_DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "cut": lambda data: data[: len(data) // 2],
    "cut in a name": lambda data: data[:-3],
    "empty": lambda _: b"",
    "zeroes": lambda data: b"\0" * len(data),
    "a byte of each line": lambda data: data.replace(b" refs/snapd/", b"\0refs/snapd/"),
    "a byte of one line": lambda data: data.replace(b" refs/snapd/snapshots/", b" refs/snapd\x0fsnapshots/"),
    "a name": lambda data: data.replace(b" refs/snapd/snapshots/", b" refs/snapd/snapshot\xf3/"),
    "the first line": lambda data: b"%" + data[1:],
}


@pytest.mark.parametrize("how", PACKED_DAMAGE)
def test_damaged_packed_references_are_told_and_written_anew(steps: Steps, how: str) -> None:
    """What an intact line names stays, and what hung on the others is found by itself."""
    add_session(steps, "A", 1)
    add_session(steps, "B", 1)
    tag = "refs/tags/users"
    steps.git("tag", "-a", "-m", "has a line of its own below it", "users", next(iter(steps.answered)).hex())
    steps.git("pack-refs", "--all", "--prune")
    before = dict(line.split()[::-1] for line in steps.git("show-ref").decode().splitlines())
    sessions = steps.store.timeline.sessions()
    steps.store.close()
    path = steps.path / "packed-refs"
    intact = path.read_bytes()
    damage.replace(path, PACKED_DAMAGE[how](intact))
    damaged = path.read_bytes()
    with pytest.raises(StoreCorrupt) as caught:
        steps.open()
    assert caught.value.data["object"] == "packed-refs"
    for quick in (True, False):
        found = closed(steps, quick=quick)
        assert ("damagedReference", "packed-refs") in {(problem.kind, problem.subject) for problem in found.problems}
    mended = closed(steps, mend=True)
    assert mended.problems == ()
    assert mended.quarantine is not None
    assert damaged in {kept.read_bytes() for kept in Path(mended.quarantine).iterdir()}
    steps.open()
    steps.check()
    assert steps.store.timeline.sessions() == sessions
    after = dict(line.split()[::-1] for line in steps.git("show-ref").decode().splitlines())
    if f" {tag}\n".encode() not in damaged:
        # somebody else's: nothing tells what it pointed to
        del before[tag]
    assert after == before


@pytest.mark.parametrize("name", ["packed-refs", "refs/snapd/sessions/0123456789abcdef"])
def test_references_that_are_damaged_while_it_is_open_drop_no_session(steps: Steps, name: str) -> None:
    add_session(steps, "A", 1)
    steps.git("pack-refs", "--all", "--prune")
    (steps.path / name).parent.mkdir(exist_ok=True)
    damage.replace(steps.path / name, b"")
    steps.store.timeline.reload()
    with pytest.raises(StoreCorrupt):
        steps.store.timeline.sessions()
    with pytest.raises(StoreCorrupt):
        usage(str(steps.path))
    assert name in [problem.subject for problem in steps.store.check(Call(), quick=True, alone=True).problems]
    steps.store.repair((), lambda _: None, Call())
    assert [session.session_id for session in steps.store.timeline.sessions()] == ["A"]


# -- records


@pytest.mark.parametrize("how", damage.ALL, ids=lambda how: how.__name__)
@pytest.mark.parametrize("place", [0, 1, 3])
def test_a_lost_record_takes_no_other_with_it(steps: Steps, how: damage.Damage, place: int) -> None:
    trees = list(steps.answered)
    commits = steps.git("rev-list", "--reverse", "--all").decode().split()
    steps.store.close()
    how(loose(steps.path, bytes.fromhex(commits[place])))
    assert "lostRecord" in kinds(closed(steps)) or place == 3
    mended = closed(steps, mend=True)
    assert mended.problems == ()
    assert mended.snapshots == 3
    steps.open()
    for tree in trees:
        assert steps.store.knows(tree) == (tree != trees[place])
    steps.answered.pop(trees[place])
    steps.check()
    # and goes on
    steps.take(step(50))
    steps.reopen()
    steps.check()


@pytest.mark.parametrize("how", damage.ALL, ids=lambda how: how.__name__)
def test_a_lost_coverage_is_stored_again_with_the_next_snapshot(steps: Steps, how: damage.Damage) -> None:
    coverage = steps.store.identify(steps.store.find(next(iter(steps.answered)))).coverage
    steps.reopen()
    how(loose(steps.path, coverage))
    found = steps.store.check(Call(), quick=False, alone=True)
    assert set(found.broken) == set(steps.answered)
    assert {tree for problem in found.problems for tree in problem.snapshots} == set(steps.answered)
    steps.store.repair((), lambda _: None, Call())
    with pytest.raises(StoreCorrupt):
        steps.store.find(next(iter(steps.answered)))
    steps.take(step(77))
    assert steps.store.check(Call(), quick=False, alone=True).problems == ()
    steps.check()


@pytest.mark.parametrize("how", damage.ALL, ids=lambda how: how.__name__)
def test_a_tree_that_keeps_what_an_event_names_is_made_anew(steps: Steps, how: damage.Damage) -> None:
    """It follows from the event."""
    tree = steps.git("log", "-1", "--all", "--format=%T").decode().strip()
    steps.store.close()
    how(loose(steps.path, bytes.fromhex(tree)))
    assert kinds(closed(steps)) == ["missingObject" if how is damage.drop else "damagedObject"]
    assert closed(steps, mend=True).problems == ()
    steps.open()
    steps.check()


# -- events


def test_a_missing_file_names_the_steps_that_had_it(steps: Steps) -> None:
    add_session(steps, "work", 2)
    lost = damage.blob_id(step(101)["d/e/c"])
    damage.drop(loose(steps.path, lost))
    (problem,) = steps.store.check(Call(), quick=False, alone=True).problems
    assert {(step.session_id, step.step_id) for step in problem.steps} == {("work", "work-0")}
    damage.drop(loose(steps.path, damage.blob_id(BASE["a"])))
    found = steps.store.check(Call(), quick=False, alone=True)
    (other,) = [problem for problem in found.problems if problem.subject != lost.hex()]
    assert {step.step_id for step in other.steps} == {"work-0", "work-1"}


@pytest.mark.parametrize("how", [damage.cut, damage.drop], ids=lambda how: how.__name__)
def test_a_lost_reference_of_a_session(steps: Steps, how: damage.Damage) -> None:
    add_session(steps, "work", 2)
    steps.store.close()
    path = reference(steps, "sessions")
    before = path.read_bytes()
    how(path)
    assert closed(steps).problems != ()
    assert closed(steps, mend=True).problems == ()
    assert path.read_bytes() == before
    steps.open()
    assert [step.step_id for step in steps.store.timeline.steps("work")] == ["work-0", "work-1"]


@pytest.mark.parametrize("place", range(5))
def test_a_lost_event_leaves_the_history_that_can_stand_without_it(steps: Steps, place: int) -> None:
    events = add_session(steps, "work", 2)
    assert len(events) == 5
    steps.store.close()
    damage.flip(loose(steps.path, events[place]))
    mended = closed(steps, mend=True)
    assert mended.problems == ()
    assert "lostEvent" in {problem.kind for problem in mended.repaired}
    steps.open()
    found = {step.step_id: step.state for step in steps.store.timeline.steps("work")}
    all_steps = {"work-0": "applied", "work-1": "applied"}
    expected = [all_steps, {"work-1": "applied"}, {**all_steps, "work-0": "open"}, {"work-0": "applied"},
                {**all_steps, "work-1": "open"}][place]  # fmt: skip
    assert found == expected
    assert git_is_content(steps.path)
    steps.check()


def test_a_database_that_lies_is_made_anew(steps: Steps) -> None:
    from snapd.store.timeline.database import seal

    add_session(steps, "work", 1)
    steps.store.close()
    import sqlite3

    path = steps.path / "timeline.db"
    connection = sqlite3.connect(path)
    connection.execute("UPDATE steps SET state = 'undone'")
    connection.commit()
    connection.close()
    seal(str(path))
    assert kinds(closed(steps)) == ["damagedTimeline"]
    assert closed(steps, mend=True).problems == ()
    steps.open()
    assert [step.state for step in steps.store.timeline.steps("work")] == ["applied"]
    assert steps.store.check(Call(), quick=False, alone=True).problems == ()


@pytest.mark.parametrize("how", damage.ALL, ids=lambda how: how.__name__)
def test_a_damaged_database_costs_nothing(steps: Steps, how: damage.Damage) -> None:
    add_session(steps, "work", 1)
    steps.store.close()
    how(steps.path / "timeline.db")
    # it is not believed, and made anew when it is next asked
    assert closed(steps).problems == ()
    steps.open()
    assert len(steps.store.timeline.steps("work")) == 1


# -- small files


@pytest.mark.parametrize("name", ["config", "HEAD"])
@pytest.mark.parametrize("how", [damage.cut, damage.empty], ids=lambda how: how.__name__)
def test_what_says_that_it_is_a_store(steps: Steps, name: str, how: damage.Damage) -> None:
    steps.store.close()
    before = (steps.path / name).read_bytes()
    how(steps.path / name)
    assert kinds(closed(steps)) == ["damagedConfig"]
    assert closed(steps, mend=True).problems == ()
    assert (steps.path / name).read_bytes() == before
    assert len(list(steps.path.glob(f"quarantine/*/*-{name}"))) == 1
    steps.open()
    steps.check()


def test_a_store_of_a_newer_version_is_left_alone(steps: Steps) -> None:
    steps.store.close()
    config = steps.path / "config"
    text = config.read_text()
    config.write_text(text.replace(f"version = {FORMAT_VERSION}", "version = 99"))
    before = damage.everything(steps.path)
    with pytest.raises(StoreCorrupt, match="newer"):
        closed(steps, mend=True)
    assert damage.everything(steps.path) == before
    config.write_text(text)
    steps.open()


def test_a_root_that_says_nothing(steps: Steps) -> None:
    steps.store.close()
    (steps.path / "root.json").write_bytes(b"nothing of the kind")
    assert kinds(closed(steps)) == ["damagedRoot"]
    assert closed(steps, mend=True).problems == ()
    (kept,) = steps.path.glob("quarantine/*/*-root.json")
    assert kept.read_bytes() == b"nothing of the kind"


def test_a_journal_that_is_damaged_in_its_middle(steps: Steps, tmp_path: Path) -> None:
    (journal,) = (steps.path / "journal").glob("[0-9]*")
    copy = tmp_path / "killed"
    shutil.copytree(steps.path, copy)
    damage.flip(copy / "journal" / journal.name)
    found = check_closed(str(copy), Call(), quick=False, mend=False)
    assert [problem.kind for problem in found.problems] == ["damagedJournal"]
    mended = check_closed(str(copy), Call(), quick=False, mend=True)
    assert (mended.problems, mended.snapshots) == ((), 4)
    assert not list((copy / "journal").glob("[0-9]*"))


def test_what_only_a_journal_has_is_no_loss(steps: Steps, tmp_path: Path) -> None:
    """As a power cut leaves it: the journal was synced, and nothing else."""
    copy = tmp_path / "killed"
    shutil.copytree(steps.path, copy)
    for path in (*copy.glob("objects/??/*"), *copy.glob("refs/snapd/*/*")):
        path.unlink()
    before = damage.everything(copy)
    found = check_closed(str(copy), Call(), quick=False, mend=False)
    assert (found.problems, found.snapshots) == ((), 4)
    assert damage.everything(copy) == before


# -- who may touch it


def test_what_others_may_touch(steps: Steps) -> None:
    steps.store.close()
    os.chmod(steps.path, 0o755)
    os.chmod(steps.path / "config", 0o666)
    if os.geteuid() == 0:
        os.chown(steps.path / "HEAD", 65534, 65534)
    found = {problem.subject: problem.message for problem in closed(steps).problems}
    theirs = {"HEAD"} if os.geteuid() == 0 else set()
    assert found.keys() == {".", "config"} | theirs
    mended = closed(steps, mend=True)
    # what is somebody else's is told, and not taken
    assert {problem.subject for problem in mended.problems} == theirs
    assert steps.path.stat().st_mode & 0o777 == 0o700
    assert (steps.path / "config").stat().st_mode & 0o777 == 0o600
    if theirs:
        os.chown(steps.path / "HEAD", 0, 0)
    steps.open()


def test_a_file_of_the_users_git_keeps_its_permissions(steps: Steps, tmp_path: Path) -> None:
    path = loose(steps.path, damage.blob_id(BASE["a"]))
    os.link(path, tmp_path / "theirs")
    path.chmod(0o666)
    assert steps.store.check(Call(), quick=True, alone=True).problems == ()
    steps.store.repair((), lambda _: None, Call())
    assert path.stat().st_mode & 0o777 == 0o666


def test_the_store_of_another_process(steps: Steps) -> None:
    for mend in (False, True):
        with pytest.raises(StoreLocked) as error:
            closed(steps, mend=mend)
        assert str(steps.path) in error.value.message


def test_no_store(tmp_path: Path) -> None:
    with pytest.raises(StoreCorrupt, match="no store"):
        check_closed(str(tmp_path / "none"), Call(), quick=True, mend=True)
    assert not (tmp_path / "none").exists()


def test_a_timeline_from_which_a_session_was_dropped_is_sound(steps: Steps) -> None:
    add_session(steps, "A", 1)
    timeline = steps.store.timeline
    steps.store.append(Event(timeline.next_seq, 1_700_000_000_000, None, None, SessionEnded("A")))
    steps.store.append(Event(timeline.next_seq, 1_700_000_000_001, None, None, SessionStarted("B", None, None)))
    timeline.drop([chain_of_session("A")], ())
    assert kinds(steps.store.check(Call(), quick=True, alone=True)) == []
    steps.store.close()
    assert kinds(closed(steps)) == []
    steps.open()


# -- something else by the name of a file


@pytest.mark.parametrize("name", ["HEAD", "root.json", "journal/7", "an object"])
def test_a_directory_instead_of_a_file(steps: Steps, name: str) -> None:
    steps.store.close()
    path = loose(steps.path, blob_id(BASE["a"])) if name == "an object" else steps.path / name
    data = path.read_bytes() if name == "an object" else b""
    path.unlink(missing_ok=True)
    path.mkdir(mode=0o700, parents=True)
    (path / "kept").write_bytes(b"kept")
    (path / "kept").chmod(0o600)
    assert len(closed(steps).problems) == 1
    found = closed(steps, mend=True)
    assert [kept.read_bytes() for kept in steps.path.glob("quarantine/*/*/kept")] == [b"kept"]
    if name == "an object":
        assert kinds(found) == ["missingObject"]
        path.write_bytes(data)
        path.chmod(0o600)
    assert closed(steps).problems == ()
    steps.open()
    steps.check()


def test_a_file_instead_of_the_journal(steps: Steps) -> None:
    steps.store.close()
    shutil.rmtree(steps.path / "journal")
    (steps.path / "journal").write_bytes(b"kept")
    (steps.path / "journal").chmod(0o600)
    for quick in (True, False):
        assert kinds(closed(steps, quick=quick)) == ["damagedJournal"]
    assert closed(steps, mend=True).problems == ()
    assert [kept.read_bytes() for kept in steps.path.glob("quarantine/*/*-journal")] == [b"kept"]
    steps.open()
    steps.take(step(9))
    steps.check()

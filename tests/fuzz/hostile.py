"""A remote whose sessions are forged in random ways, and what must hold whatever is fetched from it.

What comes is refused as a whole, with an error of the contract, or it can be read in every way. Nothing else is
touched.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import resource
import shutil
from typing import TYPE_CHECKING, Any

from hypothesis import given
from hypothesis import strategies as st

from snapd.model.errors import SnapdError
from snapd.model.snapshot import Coverage
from snapd.sharing.formats import signature_of
from snapd.store.coverage import encode
from tests.fuzz.properties import how
from tests.fuzz.target import judge_error
from tests.rpc.machine import Machine, tree_of
from tests.sharing.forging import Commit, Forge
from tests.sharing.keys import make_key
from tests.support.git import run_git
from tests.support.places import make_folder

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

MEMORY = 2 << 30
"""For the daemon, in bytes."""
PATHS = ["../x", "/etc/passwd", "", ".git/config", ".GIT/x", "git~1", "a\0b", "a//b", "x" * 5000, "\udcff", "ok.txt"]
VALUES = [*PATHS, None, True, 0, 1, -1, 1 << 53, 1 << 70, 10**400, 1.5, [], {}, [[]], ["../x"], "\ud800", "0" * 40]
NAMES = [b"..", b".git", b".GIT", b"git~1", b".git ", b"a/b", b"", b".", b"a", b"b", b"\xff", b"a\nb", b"x" * 300]
MODES = [b"100644", b"100755", b"120000", b"40000", b"160000", b"0100644", b"100600", b"777", b"7777777777777"]
MISSING = b"\x12" * 20


class Hostile:
    """A daemon, a folder of its own, and a remote that is forged anew each time.

    Attributes:
        fetched: how often something was fetched.
        refused: how often that was refused.
    """

    def __init__(self) -> None:
        self.machine = Machine()
        self.temporary = self.machine.root / "tmp"
        self.temporary.mkdir()
        process = self.machine.serve_socket(env={"TMPDIR": str(self.temporary)})
        resource.prlimit(process.pid, resource.RLIMIT_DATA, (MEMORY, MEMORY))
        self._home = make_folder("sz-")
        self.folder = make_folder("sz-")
        (self.folder / "mine.txt").write_text("mine\n")
        self.template = make_folder("sz-") / "template"
        self._make_template()
        self.raw = self.machine.raw().open(self.folder)
        self.fetched = 0
        self.refused = 0
        self._asked = 0

    def close(self) -> None:
        """Ends the daemon, in which there must have been no defect."""
        self.machine.finish()
        for folder in (self._home, self.folder, self.template.parent):
            shutil.rmtree(folder)

    def check(self, seed: int) -> None:
        """Forges something, fetches it, and reads it if it was taken."""
        chance = random.Random(seed)
        remote = self.template.parent / f"r{self.fetched}"
        shutil.copytree(self.template, remote)
        done = forge(Forge(remote), chance)
        before = self._around()
        self.fetched += 1
        answer = self._ask("session/fetch", {"remote": f"file://{remote}"})
        if "error" in answer:
            self.refused += 1
            assert answer["error"]["data"]["kind"] in ("untrusted", "remoteFailed"), (done, answer)
            listed = self._ask("session/list", {})["result"]["sessions"]
            remotes = [session["origin"]["remote"] for session in listed if "origin" in session]
            assert not any(str(remote) in each for each in remotes), done
        else:
            for session in answer["result"]["sessions"]:
                self._read(session["sessionId"])
        assert self._around() == before, done
        assert os.listdir(self.temporary) == [], done
        shutil.rmtree(remote)

    # -- what is there

    def _make_template(self) -> None:
        """Two sessions with events of every kind."""
        raw = self.machine.raw().open(self._home)
        (self._home / "a.txt").write_text("one\ntwo\nthree\n")
        (self._home / "empty").mkdir()
        for session in ("x", "y"):
            raw.result("session/start", {"sessionId": session, "agent": "a", "title": "t"})
            raw.result("session/message", {"sessionId": session, "messageId": "m", "text": "do it"})
            for number in range(2):
                step = raw.result("step/begin", {"sessionId": session, "messageId": "m"})["stepId"]
                (self._home / "a.txt").write_text(f"one\n{session}{number}\nthree\n")
                (self._home / f"{session}{number}.txt").write_text("new\n")
                raw.result("step/end", {"stepId": step, "files": ["a.txt", f"{session}{number}.txt"]})
            raw.result("session/undo", {"sessionId": session})
        run_git(self._home, "init", "--quiet", "--bare", str(self.template))
        key = make_key(self.template.parent / "keys", "key")
        raw.result("session/push", {"remote": str(self.template), "all": True, "sign": True, "signingKey": key})

    def _around(self) -> tuple[object, ...]:
        """All that nothing fetched may touch: the folder, the home, and what lies beside them."""
        beside = sorted(path.name for path in self.folder.parent.iterdir() if path.name.startswith(("x", "evil")))
        return tree_of(self.folder), tree_of(self.machine.home), beside

    # -- what is asked

    def _ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        self._asked += 1
        answer = self.raw.ask(self._asked, method, params)
        self.raw.others.clear()
        if "error" in answer:
            judge_error(answer["error"])
        return answer

    def _read(self, session: str) -> None:
        """Reads a fetched session in every way that there is."""
        self._ask("session/messages", {"sessionId": session})
        self._ask("session/diff", {"sessionId": session})
        self._ask("step/changes", {"sessionIds": [session]})
        self._ask("session/apply", {"sessionId": session, "dryRun": True, "details": "full"})
        steps = self._ask("session/steps", {"sessionId": session}).get("result", {}).get("steps", [])
        for step in steps:
            step_id = step["stepId"]
            self._ask("step/diff", {"stepId": step_id})
            self._ask("step/find", {"stepId": step_id[:6]})
            for on_conflict in ("merge", "overwrite", "fail"):
                params = {"stepIds": [step_id], "dryRun": True, "onConflict": on_conflict}
                self._ask("session/apply", params)


def check_hostile(target: Hostile, examples: int, *, random: bool) -> None:
    """Whatever a remote has, it is refused or can be read."""

    @how(examples, random=random)
    @given(st.integers(0, 2**48))
    def holds(seed: int) -> None:
        target.check(seed)

    holds()


# -- forging


def forge(forge: Forge, chance: random.Random) -> list[str]:
    """Forges one to three things; gives their names."""
    done = []
    for _ in range(chance.choice([1, 1, 1, 2, 3])):
        kind = chance.choice(_KINDS)
        done.append(kind.__name__)
        # after one thing, there may be nothing left for another
        with contextlib.suppress(
            AssertionError, SnapdError, TypeError, ValueError, KeyError, IndexError, StopIteration
        ):
            kind(forge, chance)
    return done


def _session(forge: Forge, chance: random.Random) -> str:
    return chance.choice(forge.references)


def _field(forge: Forge, chance: random.Random) -> None:
    """Another value in the JSON of an event, anywhere in it."""
    name = _session(forge, chance)
    commits = forge.commits(name)
    commit = chance.choice(commits)
    document = commit.document
    places = list(_places(document))
    above, key = chance.choice(places)
    what = chance.random()
    if what < 0.15 and isinstance(above, dict):
        del above[key]
    elif what < 0.3:
        other, other_key = chance.choice(places)
        above[key] = other[other_key]
    else:
        above[key] = chance.choice(VALUES)
    _say(forge, commit, document, chance)
    forge.put(name, commits)


def _plausible(forge: Forge, chance: random.Random) -> None:
    """A value of one place in another one where it fits: an id, an object, a path or a number."""
    name = _session(forge, chance)
    commits = forge.commits(name)
    commit = chance.choice(commits)
    document = commit.document
    others = [above[key] for each in commits for above, key in _places(each.document)]
    above, key = chance.choice(_places(document))
    fits = [each for each in others if _sort(each) == _sort(above[key]) and each != above[key]]
    if fits:
        above[key] = chance.choice(fits)
    elif isinstance(above[key], list):
        above[key] = above[key] * 2
    commit.payload = json.dumps(document, separators=(",", ":")).encode()
    forge.keep(commit)
    forge.put(name, commits)


def _sort(value: Any) -> object:
    """What kind of value it is, and of what length: an object's id is none of a step."""
    return type(value), len(value) if isinstance(value, str | list) else 0


def _say(forge: Forge, commit: Commit, document: Any, chance: random.Random) -> None:
    # what cannot be written is said in bytes
    commit.payload = json.dumps(document, separators=(",", ":")).encode()
    if chance.random() < 0.8:
        with contextlib.suppress(SnapdError, ValueError):
            forge.keep(commit)


def _places(value: Any) -> list[tuple[Any, Any]]:
    found = []
    items = (
        list(value.items()) if isinstance(value, dict) else list(enumerate(value)) if isinstance(value, list) else []
    )
    for key, each in items:
        found += [(value, key), *_places(each)]
    return found


def _bytes(forge: Forge, chance: random.Random) -> None:
    """Other bytes anywhere in the JSON, or in the lines above it."""
    name = _session(forge, chance)
    commits = forge.commits(name)
    commit = chance.choice(commits)
    data = bytearray(commit.payload if chance.random() < 0.7 else commit.who)
    is_payload = bytes(data) == commit.payload
    for _ in range(chance.randint(1, 4)):
        at = chance.randrange(len(data))
        data[at : at + chance.choice([0, 1, 1, 8])] = chance.choice(
            [b"", b"\xff", b'"', b"\\", b"0", b"9" * 50, b"[" * 2000]
        )
    if is_payload:
        commit.payload = bytes(data)
    else:
        commit.who = bytes(data)
    forge.put(name, commits)


def _tree(forge: Forge, chance: random.Random) -> None:
    """Another folder at some event."""
    tree = _random_tree(forge, chance, chance.randint(0, 3))
    if chance.random() < 0.2:
        for _ in range(chance.choice([30, 1000, 3000])):
            width = chance.choice([1, 1, 8])
            tree = forge.tree(*((b"40000", b"%d" % at, tree) for at in range(width)))
    name = _session(forge, chance)
    commits = forge.commits(name)
    chosen = chance.choice([commit for commit in commits if commit.document["seen"] or commit.document["head"]])
    document = chosen.document
    if document["seen"] and chance.random() < 0.5:
        document["seen"][chance.choice(["before", "after"])][0] = tree.hex()
    else:
        document["head"][0] = tree.hex()
    _say(forge, chosen, document, chance)
    forge.put(name, commits)


def _random_tree(forge: Forge, chance: random.Random, depth: int) -> bytes:
    entries = []
    for _ in range(chance.randint(0, 4)):
        target = chance.choice([forge.blob(b"x"), forge.blob(b"../../evil"), MISSING, forge.blob(b"y" * 5000)])
        if depth and chance.random() < 0.5:
            entries.append((b"40000", chance.choice(NAMES), _random_tree(forge, chance, depth - 1)))
        else:
            entries.append((chance.choice(MODES), chance.choice(NAMES), target))
    return forge.tree(*(sorted(entries, key=lambda entry: entry[1]) if chance.random() < 0.7 else entries))


def _coverage(forge: Forge, chance: random.Random) -> None:
    """Another list of what is not in the tree."""
    document = json.loads(encode(Coverage(empty_dirs=(b"empty",))))
    above, key = chance.choice(_places(document))
    above[key] = chance.choice(VALUES)
    forge.with_coverage(_session(forge, chance), json.dumps(document, separators=(",", ":")).encode())


def _chain(forge: Forge, chance: random.Random) -> None:
    """Events that are missing, twice there, in another order, or of another session."""
    name = _session(forge, chance)
    commits = forge.commits(name)
    at = chance.randrange(len(commits))
    what = chance.choice(["drop", "twice", "swap", "other", "parents", "cut"])
    if what == "drop":
        del commits[at]
    elif what == "twice":
        commits.insert(at, commits[at])
    elif what == "swap":
        other = chance.randrange(len(commits))
        commits[at], commits[other] = commits[other], commits[at]
    elif what == "other":
        commits[at] = chance.choice(forge.commits(_session(forge, chance)))
    elif what == "parents":
        commits[at].parents = [bytes.fromhex(run_git(forge.path, "rev-parse", name).decode())] * chance.randint(1, 3)
    else:
        commits = commits[: at + 1]
    forge.put(name, commits)


def _references(forge: Forge, chance: random.Random) -> None:
    """References that name something else, or have other names."""
    name = _session(forge, chance)
    head = bytes.fromhex(run_git(forge.path, "rev-parse", name).decode())
    what = chance.choice(["kind", "name", "many", "symbolic", "swap", "missing"])
    if what == "kind":
        forge.name(name, chance.choice([forge.blob(b"x"), forge.tree(), forge.write(4, b"object x\n")]))
    elif what == "name":
        forge.name(b"refs/snapd/sessions/" + chance.choice([b"x", b"a/b", b"\xff", b"0" * 16, b"a b", b"$(x)"]), head)
    elif what == "many":
        for number in range(300):
            forge.name(f"refs/snapd/sessions/{number:016x}", head)
    elif what == "symbolic":
        run_git(forge.path, "symbolic-ref", f"refs/snapd/sessions/{chance.randrange(10):016x}", name)
    elif what == "swap":
        forge.name(_session(forge, chance), head)
    else:
        forge.name(name, MISSING)


def _signature(forge: Forge, chance: random.Random) -> None:
    """Other bytes in a signature, or a reference of one that names something else."""
    name = signature_of(_session(forge, chance))
    data = bytearray(run_git(forge.path, "cat-file", "tag", name))
    what = chance.choice(["bytes", "bytes", "long", "kind", "swap", "chain"])
    if what == "kind":
        forge.name(name, chance.choice([forge.blob(bytes(data)), forge.tree(), MISSING]))
        return
    if what == "swap":
        other = chance.choice([_session(forge, chance), signature_of(_session(forge, chance))])
        forge.name(name, bytes.fromhex(run_git(forge.path, "rev-parse", other).decode()))
        return
    if what == "chain":
        tag = run_git(forge.path, "rev-parse", name).strip()
        data[: data.index(b"\ntag ")] = b"object %s\ntype tag" % tag
    elif what == "long":
        at = data.index(b"-----END")
        data[at:at] = b"QUFB" * 16 * chance.choice([1, 100, 2000])
    else:
        at = chance.randrange(len(data))
        data[at : at + chance.choice([0, 1, 1, 8])] = chance.choice([b"", b"\xff", b"\n", b"9" * 50, b"A", b"\0"])
    forge.name(name, forge.write(4, bytes(data)))


def _objects(forge: Forge, chance: random.Random) -> None:
    """Objects that are missing or damaged."""
    files = [path for path in sorted((forge.path / "objects").rglob("*")) if path.is_file()]
    path: Path = chance.choice(files)
    path.chmod(0o644)
    data = bytearray(path.read_bytes())
    if chance.random() < 0.3 or not data:
        path.unlink()
        return
    at = chance.randrange(len(data))
    data[at : at + chance.choice([1, 1, 20])] = chance.choice([b"", b"\0", b"\xff\xff"])
    path.write_bytes(data)


_KINDS: list[Callable[[Forge, random.Random], None]] = [
    *(_plausible, _plausible, _plausible, _plausible, _field, _field, _bytes, _tree, _coverage, _chain, _references),
    *(_signature, _objects),
]

"""Operations that clients ask for at random."""

from __future__ import annotations

import os
from random import Random
from typing import Any

import attrs
from snapd_client import from_uri, to_uri

from .agents import Session
from .client import Client, Refused
from .disk import State
from .figures import Figures
from .place import Place
from .problems import holds

DONE = frozenset({"restored", "deleted", "merged"})


@attrs.define
class Operation:
    """One that is to be asked for.

    Attributes:
        target: what the folder is to become, of a restore to a snapshot that is known.
    """

    method: str
    params: dict[str, Any]
    session: Session | None = None
    target: State | None = None

    @property
    def is_dry(self) -> bool:
        return bool(self.params.get("dryRun"))

    @property
    def overwrites(self) -> bool:
        """Whether it was asked for by name, so that unsaved text does not hold it up."""
        return self.params.get("onConflict") == "overwrite"


async def chosen(dice: Random, place: Place, sessions: dict[str, Session], client: Client) -> Operation | None:
    """One of those that can be asked for just now; None where what was thought of cannot."""
    kinds = ["undo"] * 5 + ["middle"] * 3 + ["redo"] * 4 + ["revert"] * 2 + ["unrevert"] * 2 + ["files"] * 2
    kinds += ["hunks"] * 2
    if place.restores:
        kinds += ["restore"] * 5 + ["patch"] * 3
    kind = dice.choice(kinds)
    if kind == "restore" or kind == "patch":
        operation = _of_a_snapshot(kind, dice, place)
    else:
        operation = await _of_a_session(kind, dice, place, sessions, client)
    if operation is None:
        return None
    if operation.method != "session/unrevert":
        if dice.random() < 0.1:
            operation.params["dryRun"] = True
        conflict = dice.choice([None, None, "merge", "fail", "overwrite"])
        if conflict is not None:
            operation.params["onConflict"] = conflict
    return operation


def _of_a_snapshot(kind: str, dice: Random, place: Place) -> Operation | None:
    known = [tree for tree in place.snapshots if tree not in place.doubtful][-40:]
    if not known:
        return None
    tree = dice.choice(known)
    files = place.snapshots[tree]
    if kind == "restore":
        return Operation("snapshot/restore", {"hash": tree}, target=files)
    names = [to_uri(os.path.join(place.root, name)) for name in dice.sample(sorted(files), min(5, len(files)))]
    return Operation("snapshot/revert", {"patches": [{"hash": tree, "files": names}]})


async def _of_a_session(
    kind: str, dice: Random, place: Place, sessions: dict[str, Session], client: Client
) -> Operation | None:
    known = [session for session in sessions.values() if session.entries]
    if not known:
        return None
    session = dice.choice(known[-4:])
    about = {"sessionId": session.name}
    entry = dice.choice(list(session.entries.values()))
    if kind == "undo":
        return Operation("session/undo", {**about, "count": dice.choice([1, 1, 1, 2, 3])}, session)
    if kind == "middle":
        return Operation("session/undo", {**about, "stepId": entry.step}, session)
    if kind == "redo":
        return Operation("session/redo", {**about, "count": dice.choice([1, 1, 2, 3])}, session)
    if kind == "revert":
        return Operation("session/revert", {**about, "messageId": entry.message}, session)
    if kind == "unrevert":
        return Operation("session/unrevert", about, session)
    # the ledger says whether the whole step is there: parts of it are taken back of other files alone
    names = [name for name in entry.claims if name != entry.file and not name.startswith("ledger/")]
    if not names or not entry.has_ended:
        return None
    name = place.shown(dice.choice(names))
    if kind == "files":
        return Operation("step/revertFiles", {"stepId": entry.step, "files": [name]}, session)
    try:
        hunks = (await client.ask("step/hunks", {"stepId": entry.step, "file": name}))["hunks"]
    except Refused as error:
        holds(may_refuse(error, Operation("step/hunks", {}, session), place), str(error))
        return None
    if not hunks:
        return None
    indexes = sorted(dice.sample(range(len(hunks)), dice.randint(1, len(hunks))))
    return Operation("step/revertHunks", {"stepId": entry.step, "file": name, "hunks": indexes}, session)


def may_refuse(error: Refused, operation: Operation, place: Place) -> bool:
    """Whether an answer that is an error is in order."""
    if error.kind == "nothingToUndo":
        return operation.method == "session/undo"
    if error.kind == "nothingToRedo":
        return operation.method in ("session/redo", "session/unrevert")
    if error.kind in ("unknownSession", "unknownStep"):
        # retention takes sessions that have ended
        return bool(place.doubtful) and operation.session is not None and operation.session.has_ended
    if error.kind == "invalidParams":
        # a file that the step turns out not to have changed: an earlier undo ended it without its claims
        return operation.method in ("step/revertFiles", "step/revertHunks", "step/hunks")
    return False


def disturb(operation: Operation, sessions: dict[str, Session], place: Place, by: int) -> None:
    """Keeps in mind that an operation is under way: whose a file is may be decided before its author says so.

    To overwrite is to take what is shared too, and what nobody has named yet is shared by all who are at work.
    """
    if operation.overwrites:
        place.overwriting += by
    if operation.session is not None:
        operation.session.disturbed += by
    for session in sessions.values():
        if operation.overwrites or session is operation.session:
            session.doubt()


async def carried_out(
    client: Client, operation: Operation, sessions: dict[str, Session], place: Place, figures: Figures
) -> dict[str, Any] | None:
    """Asks for it; gives its outcome, None where it was refused and may be."""
    disturb(operation, sessions, place, 1)
    try:
        outcome: dict[str, Any] = await client.ask(operation.method, operation.params)
    except Refused as error:
        holds(may_refuse(error, operation, place), str(error))
        return None
    finally:
        # what began meanwhile may have been ended by it
        disturb(operation, sessions, place, -1)
    if not operation.is_dry:
        figures.undos += operation.method in ("session/undo", "session/revert", "step/revertFiles", "step/revertHunks")
        figures.redos += operation.method in ("session/redo", "session/unrevert")
        figures.restores += operation.method in ("snapshot/restore", "snapshot/revert")
        place.only_copies |= {name_of(place, one) for one in outcome["files"] if one.get("reason") == "onlyCopy"}
    return outcome


def name_of(place: Place, outcome: dict[str, Any]) -> str:
    """The file that an outcome is about."""
    if "uri" not in outcome:
        return str(outcome["file"])
    return os.path.relpath(from_uri(outcome["uri"]), place.root)


def check_outcome(place: Place, operation: Operation, outcome: dict[str, Any], before: State, after: State) -> None:
    """Compares what an operation says it did with what is on disk, where nothing else was under way."""
    where = f"{place.name}: {operation.method} {operation.params}"
    told = {name_of(place, one): one for one in outcome["files"]}
    changed = {name for name in {*before, *after} if before.get(name) != after.get(name)}
    if operation.is_dry or not outcome["applied"]:
        holds(not changed, f"{where} wrote {changed}, and should not")
        return
    done = {name for name, one in told.items() if one["outcome"] in DONE}
    holds(changed <= done, f"{where} changed {changed - done} without a word: {outcome['files']}")
    failed = [one for one in told.values() if one["outcome"] == "failed"]
    holds(not failed, f"{where} failed at {failed}")
    if operation.target is not None:
        left = {name for name, one in told.items() if one["outcome"] not in DONE}
        wrong = [name for name in {*operation.target, *after} if after.get(name) != operation.target.get(name)]
        holds(set(wrong) <= left, f"{where} left {set(wrong) - left} other than they were")
        holds(all(told[name].get("reason") for name in wrong), f"{where} does not say why {wrong}")

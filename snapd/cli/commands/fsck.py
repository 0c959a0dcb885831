"""`snapd fsck`: checks the store of a folder, or all stores, and repairs them, even those that cannot be opened."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from snapd.cli.exit_codes import DONE, FAILED, NOT_ALL
from snapd.cli.parsing.command import Answer, Command, common
from snapd.cli.requests.connection import ask, folder_of, open_backend
from snapd.cli.terminal.layout import at_most, shell_name
from snapd.cli.terminal.output import Painter, print_json, printable, size
from snapd.folders.root import folder_of_store
from snapd.locations import Locations, project_id, store_path
from snapd.model.errors import SnapdError, StoreCorrupt, StoreLocked
from snapd.refusal import canonical_root

if TYPE_CHECKING:
    import argparse
    from typing import Annotated

    from snapd.cli.parsing.command import Error
    from snapd.cli.parsing.usage import Parser
    from snapd.settings.table import Settings
    from snapd.wire.check import CheckResult

_MANY = 12
_LOST = ("lostRecord", "lostEvent")


class UncheckedStore(Answer):
    """A store that could not be checked."""

    store: Annotated[str, "Its directory."]
    error: Annotated[Error, "Why."]


class CheckedStores(Answer):
    """What `fsck --all` found."""

    stores: Annotated[list[CheckResult | UncheckedStore], "All stores of the user."]


def _arguments(parser: Parser) -> None:
    common(parser)
    parser.flag("--repair", help="recover what can be recovered, and keep what is replaced")
    parser.flag("--all", help="check the stores of all folders")


@Command("fsck", "snapd itself", _arguments, answer="CheckResult | CheckedStores", example="fsck")
def fsck(options: argparse.Namespace) -> int:
    """Check every object of this folder's store."""
    if not options.all:
        answer = _check_folder(options, folder_of(options), repair=options.repair)
        _print(options, [answer])
        return _code(options, answer)
    answers = []
    code = DONE
    for store, folder in _stores(Locations.from_environment(os.environ)):
        try:
            if folder is not None:
                answer = _check_folder(options, folder, repair=options.repair)
            else:
                answer = _check_store(store, repair=options.repair)
        except SnapdError as error:
            # one that cannot be checked must not stop the others
            answer = {"store": store, "error": {"kind": error.kind, "message": error.message, "hint": error.hint}}
        answers.append(answer)
        code = max(code, _code(options, answer))
    _print(options, answers)
    return code


def _check_folder(options: argparse.Namespace, folder: str, *, repair: bool) -> Any:
    """Requests a check from the owner of a folder's store; checks it here if it is too damaged to be opened."""
    params = {"repair": repair}
    try:
        return _ask(options, folder, params)
    except StoreCorrupt as error:
        first = _check_closed(folder, repair=repair, reason=error)
    if not repair:
        return first
    try:
        # the first repair may have made it possible to open it: then there is more to repair from
        last = _ask(options, folder, params)
    except StoreCorrupt:
        return first
    return {
        **last,
        "repaired": [*first["repaired"], *last["repaired"]],
        "quarantine": last.get("quarantine") or first.get("quarantine"),
    }


def _ask(options: argparse.Namespace, folder: str, params: Any) -> Any:
    with open_backend(options, folder) as backend:
        return ask(backend, "snapshot/check", params)


def _check_closed(folder: str, *, repair: bool, reason: StoreCorrupt) -> Any:
    from snapd.settings.sources import read_file
    from snapd.settings.table import Settings

    locations = Locations.from_environment(os.environ)
    settings = Settings.of(read_file(locations.config_file))
    try:
        return _check_store(_store_of(locations, settings, folder), repair=repair)
    except StoreLocked:
        # a daemon has it open, and its error is the relevant one
        raise reason from None


def _code(options: argparse.Namespace, answer: dict[str, Any]) -> int:
    if "error" in answer:
        return FAILED
    if answer["problems"]:
        return NOT_ALL if options.repair else FAILED
    return NOT_ALL if any(problem["kind"] in _LOST for problem in answer["repaired"]) else DONE


def _print(options: argparse.Namespace, answers: list[dict[str, Any]]) -> None:
    if options.json:
        print_json({"stores": answers} if options.all else answers[0])
        return
    painter = Painter(options)
    for answer in answers:
        if "error" in answer:
            print(f"{painter.paint('bad', 'red')} {answer['store']}: {printable(answer['error']['message'])}")
            print(f"hint: {printable(answer['error']['hint'])}")
        else:
            _print_result(painter, answer)
    if not answers:
        print("there are no stores", file=sys.stderr)


def _print_result(painter: Painter, answer: dict[str, Any]) -> None:
    wrong, repaired = answer["problems"], answer["repaired"]
    mark = painter.paint("bad", "red") if wrong else painter.paint("ok ", "green")
    objects = f"{answer['objects']} objects ({size(answer['bytes'])})"
    print(f"{mark} {answer['store']}: {objects}, {answer['snapshots']} snapshots, {answer['events']} events")
    for problem in repaired:
        _print_problem(painter, "lost    " if problem["kind"] in _LOST else "repaired", "cyan", problem)
    for problem in wrong:
        _print_problem(painter, "wrong   ", "red", problem)
    if answer.get("truncated"):
        print("    ... and more problems, which do not fit into the answer")
    _print_advice(painter, answer)


def _print_problem(painter: Painter, word: str, style: str, problem: dict[str, Any]) -> None:
    print(f"{painter.paint(word, style)} {printable(problem['message'])}")
    for touched in problem["files"][: at_most(_MANY)]:
        name = shell_name(touched["file"]) if touched["file"] else "(the whole folder)"
        print(f"           {name}  in {_hashes(touched['snapshots'])}")
    _print_rest(len(problem["files"]), "files")
    if problem["snapshots"]:
        print(f"           {_hashes(problem['snapshots'])}")
    for step in problem["steps"][: at_most(_MANY)]:
        words = [f"{name} {printable(step[key])}" for key, name in _STEP_WORDS.items() if step.get(key)]
        print(f"           {', '.join(words)}")
    _print_rest(len(problem["steps"]), "steps")


_STEP_WORDS = {"stepId": "step", "operationId": "operation", "sessionId": "session"}


def _print_rest(count: int, what: str) -> None:
    if count > at_most(_MANY):
        print(f"           and {count - _MANY} more {what}; --json names all")


def _hashes(trees: list[str]) -> str:
    named = ", ".join(tree[:12] for tree in trees[:3])
    more = f" and {len(trees) - 3} more" if len(trees) > 3 else ""
    return f"snapshot {named}" if len(trees) == 1 else f"snapshots {named}{more}"


def _print_advice(painter: Painter, answer: dict[str, Any]) -> None:
    broken = answer["brokenSnapshots"]
    if broken:
        print(f"{_hashes(broken)} cannot be restored completely; all other snapshots can.")
    left = answer["leftovers"]
    if left["files"]:
        text = f"crashes left {left['files']} files ({size(left['bytes'])}); the next cleanup removes them"
        print(painter.paint(text, "dim"))
    if answer.get("quarantine"):
        print(f"the damaged files are kept in {answer['quarantine']}")
    if answer["problems"] and not answer["repaired"] and not answer.get("quarantine"):
        print("Only snapshots are damaged; your files are not affected.")
        print("hint: run 'snapd fsck --repair' to recover what the folder, the project's git and the store still have")
    elif answer["problems"]:
        print(
            "hint: what is still wrong cannot be repaired from here; restore it from a backup of the store or the files"
        )


def _store_of(locations: Locations, settings: Settings, folder: str) -> str:
    """Returns the directory of a folder's store, which may not exist."""
    root = canonical_root(os.fsencode(folder))
    data = os.path.join(os.fsdecode(root), settings.data_dir) if settings.data_dir else locations.data
    return store_path(os.path.realpath(data), project_id(root))


def _stores(locations: Locations) -> list[tuple[str, str | None]]:
    """Returns all stores of a user, each with its folder, None if that is unreadable or no longer exists."""
    above = os.path.dirname(store_path(locations.data, "any"))
    try:
        names = sorted(os.listdir(above))
    except FileNotFoundError:
        return []
    matches = []
    for name in names:
        store = os.path.join(above, name)
        if os.path.isdir(store):
            matches.append((store, _folder_named(store, name)))
    return matches


def _check_store(store: str, *, repair: bool) -> Any:
    """Checks a store that nobody has open; returns an answer like that of `snapshot/check`."""
    from snapd.gitstate.objects import ProjectObjects
    from snapd.handlers.keep import result
    from snapd.model.call import Call
    from snapd.store.fsck.checkers import check_closed
    from snapd.wire.converter import unstructure

    outcome = check_closed(store, Call(), quick=False, mend=repair, others=ProjectObjects(store).check)
    return unstructure(result(os.fsencode(folder_of_store(store) or "/"), outcome))


def _folder_named(store: str, name: str) -> str | None:
    folder = folder_of_store(store)
    if folder is None or not os.path.isdir(folder) or project_id(os.path.realpath(os.fsencode(folder))) != name:
        return None
    return folder

"""Runs an operation on the folder: shows the plan, asks, then shows what was done and what to type next."""

from __future__ import annotations

import os
import shlex
import sys
from argparse import Namespace
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from snapd.backend import only_whole_step
from snapd.cli.exit_codes import DONE, FAILED, NOT_ALL
from snapd.cli.terminal.asking import confirmed, decide, declined
from snapd.cli.terminal.layout import printable, shell_name
from snapd.cli.terminal.naming import file_title, short
from snapd.cli.terminal.output import Painter, counted, print_json
from snapd.cli.terminal.plans import changing_rows, file_lines, total, unit_lines, visible_file_count
from snapd.cli.terminal.reasons import STYLES, excerpt, excerpts, format_overwritten, format_uncaptured, signature_words
from snapd.model.errors import NothingToUndo, PlanChanged, SnapdError, UnknownStep
from snapd.wire.words import ELSEWHERE_REASONS, git_lines, moves_git

from .connection import ask, folder_of, folders_with_same_files, open_backend, pages
from .names import file_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from snapd.backend import Backend, ChatRewind

_AS_ASKED = frozenset({"restored", "deleted", "merged", "unchanged"})
_PLANNED = {"session/undo": "would undo", "session/redo": "would redo"}
_COMES_IN = ("session/takeover", "session/apply")
_DONE = {
    "session/undo": {"undone": "undone", "partly": "partly undone", "applied": "not undone"},
    "session/redo": {"applied": "redone", "partly": "partly redone", "undone": "not redone"},
}
"""The word for an undone or redone step, by its new state; the first state is the intended one."""
_BY_UNDO = frozenset({"session/apply", "step/revertFiles", "step/revertHunks", "snapshot/restore", "snapshot/revert"})


def operate(
    options: Namespace,
    backend: Backend,
    method: Any,
    params: Any,
    *,
    sure: bool,
    agreed: str | None = None,
    chat: ChatRewind | None = None,
) -> int:
    """Shows what would be done, asks unless `sure`, and does it; for a turn, in all folders that have a part of it.

    `params` are those of the request without `dryRun`, `onConflict` and `details`. With `agreed`, a plan that the user
    agreed to by a choice, asks only if the plan is different by now. With `chat`, the conversation goes back once the
    files have; the results have it, too. If the options mean one folder, names the commands for the others.
    """
    rest = [part for part in _parts(options, backend, method, params) if part[1]] if "messageId" in params else []
    codes = set()
    try:
        codes.add(_operate_here(options, backend, method, params, sure, agreed, chat))
    except (NothingToUndo, UnknownStep):
        if not rest:
            raise
    for folder, names in rest if FAILED not in codes else ():
        if options.here or options.json or options.expect is not None:
            for name in reversed(names):
                command = f"snapd -C {shell_name(folder)} undo --message {shell_name(name)}"
                print(f"snapd: more of it is in {printable(folder)}: '{command}' undoes that", file=sys.stderr)
            continue
        print(f"in {printable(folder)}:", file=sys.stdout if sure or options.dry_run else sys.stderr)
        with open_backend(options, folder) as other:
            there = Namespace(**{**vars(options), "directory": folder})
            codes.add(_operate_here(there, other, method, {**params, "messageId": names[0]}, sure, None, None))
    return codes.pop() if len(codes) == 1 else NOT_ALL


def _operate_here(
    options: Namespace, backend: Backend, method: Any, params: Any, sure: bool, agreed: str | None, chat: Any
) -> int:
    also = {} if chat is None else {"chat": chat.look()}
    if sure and not options.dry_run and "problem" in also.get("chat", {}):
        # it is known before anything changes
        print(f"snapd: the conversation {printable(also['chat']['problem'])}", file=sys.stderr)

    def carry_out(params: Any) -> dict[str, Any]:
        result: dict[str, Any] = ask(backend, method, params)
        return result if chat is None else {**result, "chat": chat.follow(also["chat"], result)}

    # an explicit "overwrite" also overwrites files with unsaved text, which the default does not
    params = {**params, "onConflict": options.on_conflict, "details": "counts"}
    if options.expect is not None:
        params["expect"] = options.expect
    painter = Painter(options)
    dry_run: Any = {**params, "dryRun": True}
    if options.dry_run:
        return _show(options, painter, method, params, {**ask(backend, method, dry_run), **also})
    if sure or options.expect is not None:
        return _show(options, painter, method, params, carry_out(params))
    plan: Any = {"plan": agreed, "files": []} if agreed else {**ask(backend, method, dry_run), **also}
    decisions: dict[str, str] = {}
    while True:
        can_decide = options.on_conflict is None and sys.stdin.isatty()
        if can_decide and (rows := undecided(plan, decisions)):
            answers = decide(Painter(options, sys.stderr), _questions(options, plan, rows))
            if answers is None:
                return declined(options)
            decisions |= zip(map(file_of, rows), answers, strict=True)
            params["decisions"] = decisions_param(decisions)
            dry_run["decisions"] = params["decisions"]
            plan = {**ask(backend, method, dry_run), **also}
            continue
        expecting: Any = {**params, "expect": plan["plan"]}
        try:
            if not _confirmed(options, backend, method, expecting, plan):
                return declined(options)
            return _show(options, painter, method, params, carry_out(expecting))
        except PlanChanged as error:
            plan = {**error.data["outcome"], **also}
            print("snapd: something has changed since. This is what would be done now:", file=sys.stderr)


def _parts(options: Namespace, backend: Backend, method: str, params: Any) -> Iterator[tuple[str, list[str]]]:
    """Yields the other folders that have something to undo of a turn, with its messages there.

    A repository in or around the folder has a history of its own. `session/revert` is about later turns, too.
    """
    about, message_id = {"sessionId": params["sessionId"]}, params["messageId"]
    own = pages(backend, "session/messages", {**about, "prefix": message_id}, "messages")
    sent = next((each["at"] for each in own if each["messageId"] == message_id), "")
    for folder in folders_with_same_files(os.path.realpath(folder_of(options))):
        # the agent may not have worked there
        with suppress(SnapdError), open_backend(options, folder) as other:
            yield (
                folder,
                [
                    each["messageId"]
                    for each in pages(other, "session/messages", about, "messages")
                    if each["messageId"] == message_id or (method == "session/revert" and each["at"] > sent)
                    if each["files"] and each["state"] != "undone"
                ],
            )


def decisions_param(decisions: dict[str, str]) -> dict[str, str] | None:
    """Returns the `decisions` of a request: a file that is skipped stays in conflict."""
    return {file: answer for file, answer in decisions.items() if answer != "skip"} or None


def undecided(plan: dict[str, Any], decisions: dict[str, str]) -> list[dict[str, Any]]:
    """Returns the files in conflict that the user has not decided about."""
    return [row for row in plan["files"] if row["outcome"] == "conflict" and file_of(row) not in decisions]


def _questions(options: Namespace, plan: dict[str, Any], rows: Iterable[dict[str, Any]]) -> list[tuple[str, list[str]]]:
    painter = Painter(options, sys.stderr)

    def why(row: dict[str, Any]) -> list[str]:
        return excerpt(painter, plan, row["file"]) or file_lines(painter, {"files": [row]}, None, planned=True)

    return [(file_title(row), why(row)) for row in rows]


def _confirmed(options: Namespace, backend: Backend, method: Any, params: Any, plan: dict[str, Any]) -> bool:
    """Shows a plan and asks; raises `PlanChanged` if the plan is different by the time that the diff is shown."""
    touched = [row for row in plan["files"] if row["outcome"] != "unchanged"]
    changed = changing_rows(plan)
    is_git_changed = moves_git(plan.get("git"))
    if not changed and not is_git_changed:
        return True
    # standard output is for the result alone
    painter = Painter(options, sys.stderr)
    lines = _planned(options, painter, method, params, {**plan, "files": touched}, terminal=sys.stderr.isatty())

    def show() -> None:
        asked: Any = {**params, "dryRun": True, "details": "diff"}
        diff = ask(backend, method, asked)["details"].get("diff", "")
        print(painter.diff(diff).rstrip("\n") or "no file would change", file=sys.stderr)

    would = f"this would change {counted(len(changed), 'file')}" + (" and git" if is_git_changed else "")
    hint = "see them with --dry-run, then confirm with --yes"
    return confirmed("Go on? A snapshot keeps the files as they are now.", would, hint, lines, show)


def _planned(
    options: Namespace,
    painter: Painter,
    method: str,
    params: dict[str, Any],
    plan: dict[str, Any],
    *,
    terminal: bool,
) -> list[str]:
    head = unit_lines(painter, plan, _PLANNED[method]) if method in _PLANNED else []
    head += _signed(painter, method, params, plan)
    tail = [*excerpts(painter, plan), total(painter, plan), *_lost_lines(painter, method, plan)]
    tail += _git_lines(painter, method, plan, "would change git", "--git")
    tail += chat_lines(painter, plan["chat"], planned=True) if "chat" in plan else []
    overwritten = {file for file, decision in (params.get("decisions") or {}).items() if decision == "overwrite"}
    if options.on_conflict == "overwrite" or overwritten:
        tail = [*format_overwritten(painter, plan, overwritten), *tail]
    # two lines for the question and what was typed before
    room = visible_file_count(len(head) + len(tail) + 2, everything=options.all_files, terminal=terminal)
    return [*head, *file_lines(painter, plan, room, planned=True), *tail]


def _show(options: Namespace, painter: Painter, method: str, params: dict[str, Any], result: dict[str, Any]) -> int:
    if options.json:
        print_json(result)
    elif not options.dry_run:
        _print_done(options, painter, method, params, result)
    else:
        for line in _planned(options, painter, method, params, result, terminal=sys.stdout.isatty()):
            print(line)
    if not options.json and not options.dry_run:
        text = not result["applied"] or _conflicts(result) or _is_elsewhere(result) or not _is_turned(method, result)
        for line in [*excerpts(Painter(options, sys.stderr), result), *advice(options, method, result)] if text else ():
            print(line, file=sys.stderr)
    if not options.dry_run and not result["applied"]:
        return NOT_ALL
    is_kept_as_asked = options.on_conflict == "keep" or params.get("decisions")
    as_asked = {*_AS_ASKED, "kept"} if is_kept_as_asked else _AS_ASKED
    is_done = all(row["outcome"] in as_asked for row in result["files"]) and not _is_elsewhere(result)
    is_done = is_done and "reasons" not in result.get("git", {}) and "problem" not in result.get("chat", {})
    return DONE if is_done and _is_turned(method, result) else NOT_ALL


def _print_done(
    options: Namespace, painter: Painter, method: str, params: dict[str, Any], result: dict[str, Any]
) -> None:
    head = unit_lines(painter, result, _DONE[method]) if method in _DONE else _takeover_lines(method, result)
    head += _signed(painter, method, params, result)
    tail = [f"before: {result['before']}"] if result["applied"] else []
    if (how := undo_command_of(options, method, result)) is not None:
        tail = [how, *tail]
    room = visible_file_count(len(head) + len(tail) + 1, everything=options.all_files, terminal=sys.stdout.isatty())
    lost = _lost_lines(painter, method, result)
    how = "'snapd redo --git'" if method == "session/redo" else None
    if method == "session/undo":
        # once it is undone, only its name leads to a step
        name = only_whole_step(result["steps"])
        how = f"'snapd undo {'STEP' if name is None else short(name)} --git'"
    git = _git_lines(painter, method, result, "git", how)
    for line in [*head, *file_lines(painter, result, room, planned=False), *lost, *git]:
        print(line)
    for line in tail:
        print(painter.paint(line, "dim"))
    for line in chat_lines(painter, result["chat"], planned=False) if "chat" in result else ():
        print(line)


def _git_lines(painter: Painter, method: str, result: dict[str, Any], changes: str, how: str | None) -> list[str]:
    """Returns lines about the folder's own git; see `git_lines`."""
    if "git" not in result:
        return []
    git = result["git"]
    lines = [printable(line) for line in git_lines(git, how, changes, redone=method == "session/redo")]
    changed = int(moves_git(git))
    colour = "yellow" if "left" in git else "red"
    return [*lines[:changed], *(painter.paint(line, colour) for line in lines[changed:])]


def _takeover_lines(method: str, result: dict[str, Any]) -> list[str]:
    if method != "session/takeover" or not result["applied"]:
        return []
    count, host = len(result["sessions"]), printable(result["host"])
    which = "no session has anything new" if count == 0 else f"{count} session{'s' if count > 1 else ''} go on here"
    lines = [f"took over {printable(result['name'])} from {host}: {which.replace('1 session go', '1 session goes')}"]
    return lines if result["told"] else [*lines, f"{host} cannot see that: no note could be left for it"]


def _signed(painter: Painter, method: str, params: dict[str, Any], result: dict[str, Any]) -> list[str]:
    signature = result.get("signature")
    if signature is not None:
        return [painter.paint(signature_words(signature), STYLES[signature["state"]])]
    is_elsewhere = method in _COMES_IN and "from" not in params
    return [painter.paint(signature_words(None), "dim")] if is_elsewhere and not result["applied"] else []


def _lost_lines(painter: Painter, method: str, result: dict[str, Any]) -> list[str]:
    """Returns lines about files that the undone steps changed and that cannot be restored."""
    text = format_uncaptured(result["steps"]) if method == "session/undo" else None
    return [] if text is None else [painter.paint(text, "yellow")]


def _is_turned(method: str, result: dict[str, Any]) -> bool:
    """Whether each step reached its state: a file in conflict in one step may show the outcome of another."""
    if not result["applied"] or method not in _DONE:
        return True
    wanted = next(iter(_DONE[method]))
    return all(unit["state"] == wanted for unit in [*result["steps"], *result.get("operations", [])])


def _is_elsewhere(result: dict[str, Any]) -> bool:
    return any(row.get("reason") in ELSEWHERE_REASONS for row in result["files"])


def _conflicts(result: dict[str, Any]) -> bool:
    return any(row["outcome"] == "conflict" for row in result["files"])


def undo_command_of(options: Namespace, method: str, result: dict[str, Any]) -> str | None:
    """Returns the command that reverses an operation; None where it did nothing, or no single command does."""
    is_changed = result["before"] != result["after"]
    if method == "session/takeover" and is_changed:
        return f"'snapd restore {short(result['before'])}' brings back the files as they were"
    if method == "session/undo":
        # what was partly undone before may still be
        units = [*result["steps"], *result.get("operations", [])]
        is_changed = any(unit["state"] in (("undone", "partly") if is_changed else ("undone",)) for unit in units)
    elif method != "session/revert":
        return "'snapd undo' takes that back" if is_changed and method in _BY_UNDO else None
    words = ["snapd", *_folder(options), "redo", *(["--git"] if moves_git(result.get("git")) else [])]
    return f"'{' '.join(map(shell_name, words))}' redoes it" if is_changed else None


def advice(options: Namespace, method: str, result: dict[str, Any]) -> list[str]:
    """Returns lines about what the conflicts did, and what to do about them."""
    unchanged = result["before"] == result["after"]
    if not any(row["outcome"] == "conflict" for row in result["files"]):
        return _elsewhere(result) if result["applied"] else []
    text = "nothing was changed: there are conflicts" if unchanged else "the files in conflict were left as they are"
    commands = _commands(options, method, result)
    if not commands:
        return [
            f"snapd: {text}",
            "hint: add --on-conflict overwrite to write them too; a snapshot keeps them as they are now",
        ]
    lines = [f"snapd: {text}", "hint: settle it with one of these; a snapshot keeps the files as they are now"]
    for command in commands:
        lines.append(f"  {command} --on-conflict overwrite")
        lines.append(f"  {command} --on-conflict keep")
    return lines


def _elsewhere(result: dict[str, Any]) -> list[str]:
    """Returns lines about what to do where a step stays as it was, because the files do not have its change."""
    reasons = {row.get("reason") for row in result["files"]}
    places = {"onBranch": "check out that branch", "stashed": "apply the stash"}
    first = next((f"{what}, then try again; or " for reason, what in places.items() if reason in reasons), "")
    if not first and "already" not in reasons:
        return []
    return [
        "snapd: what has no change of it in the files stays as it was",
        f"hint: {first}add --on-conflict keep to have it count as done",
    ]


def _folder(options: Namespace) -> list[str]:
    return ["-C", options.directory] if options.directory != "." else []


def _commands(options: Namespace, method: str, result: dict[str, Any]) -> list[str]:
    """Returns the beginnings of the commands that retry what conflicts; none if the same command is to be repeated."""
    folder = _folder(options)
    if method == "session/redo":
        session = ["--session", options.session] if options.session else []
        return [shlex.join(["snapd", "redo", *folder, *session])]
    if method != "session/undo":
        return []
    names = dict.fromkeys(row["name"] for row in result.get("details", {}).get("contested", ()))
    steps = {step["stepId"] for step in result["steps"]}
    if not names or not steps.issuperset(names):
        # an operation has no id to type, but it is the latest
        return [shlex.join(["snapd", "undo", *folder])] if names else []
    return [shlex.join(["snapd", "undo", *folder, short(name)]) for name in names]


def chat_lines(painter: Painter, chat: dict[str, Any], *, planned: bool) -> list[str]:
    """Returns lines about how a conversation goes on: first what, then what to type."""
    line = f"conversation: {printable(chat.get('problem') or chat['summary'])}"
    if "problem" in chat:
        return [painter.paint(line, "yellow")]
    if planned:
        return [line]
    is_here = chat["cwd"] == os.path.realpath(os.curdir)
    command = " ".join(map(shell_name, chat["command"]))
    command = command if is_here else f"cd {shell_name(chat['cwd'])} && {command}"
    left = painter.paint("close the old conversation: it still has what was taken back", "dim")
    return [line, "", f"    {command}", "", left]

"""The parsers of the commands about sessions and steps, and of those for agents."""

from __future__ import annotations

import argparse

from .usage import FOLDER, changing, common, looking

_STEP = "a step: its id, the beginning of its id, or 'last'; 'snapd log' shows them"
_SESSION = "a session: its id or the beginning of its id; 'snapd sessions' lists them"
_TIME = "90m, 2h or 3d ago, 14:30, 2026-11-20, '2026-11-20 14:30'"
_RUN = (
    "Run a command and record what it does as steps of a session. An agent that can be given hooks for one run gets "
    "them: its tool calls are the steps, and what else changes is yours. Of any other command, and with --agent, "
    "--title, --here or --socket, each burst of changes is a step. Then all that changes meanwhile counts as the "
    "command's, except what you save in an editor that is connected to snapd."
)
_LOG = (
    "Show what happened in the folder, the latest first. With --format, print instead who wrote the lines that "
    "commits of the project's git brought: agent-trace as JSON Lines, a record for each commit; git-ai as the note of "
    "a commit, for 'git notes --ref=ai add -F -', and for a range as a stream for 'git fast-import'."
)
_STAGE = (
    "Put what steps changed into the index of the git repository, as 'git add' would if nobody else had changed the "
    "files: what you and other agents changed in the same files is not staged, and neither is what was undone. If the "
    "index has something else on the same lines, nothing is staged. The files of the folder are not touched. 'git "
    "restore --staged' takes it back."
)
_CONFLICTS = "what to do with files that changed after the step (default: merge)"
_ACP = (
    "Stand between an editor and an agent that speak the Agent Client Protocol: each prompt becomes a step, each tool "
    "call that can write a part of it, and /undo, /redo and /steps work in the conversation. What changes files shows "
    "its plan and asks. In the editor's settings, "
    "put 'snapd acp --' before the agent's command. SNAPD_LOG=info tells on standard error what snapd does."
)


def add_sessions(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds these commands."""
    shared = looking()
    commands.add_parser("sessions", parents=[shared], help="list the sessions of agents")
    log = commands.add_parser(
        "log",
        parents=[shared],
        help="show what happened: steps, undos, and what you changed",
        description=_LOG,
    )
    log.add_argument("--session", metavar="S", help=f"only {_SESSION}")
    log.add_argument(
        "files",
        metavar="FILE",
        nargs="*",
        help="only what changed these files or folders; with --format: a commit, or a range such as main..HEAD "
        "(default: HEAD)",
    )
    log.add_argument("--since", metavar="TIME", help=f"only what began since then: {_TIME}")
    log.add_argument("-p", "--patch", action="store_true", help="show the diff of each entry")
    log.add_argument("--oneline", action="store_true", help="show each entry on one line, without the graph")
    log.add_argument(
        "-n",
        dest="number",
        metavar="N",
        type=int,
        help="how many entries to show (default: 25, with --since all; 0: all)",
    )
    log.add_argument(
        "--format",
        choices=("agent-trace", "git-ai"),
        help="print who wrote the lines that a commit of the project's git brought, in this format",
    )
    watch = commands.add_parser(
        "watch", parents=[common(alone=False)], help="show what agents and you do in this folder while it happens"
    )
    watch.add_argument("--json", action="store_true", help="print each notification of the daemon as a line of JSON")
    _add_undoing(commands)
    _add_stage(commands)
    _add_step(commands)
    _add_session(commands)
    _add_run(commands)


def _add_undoing(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    shared = changing(_CONFLICTS)
    undo = commands.add_parser("undo", parents=[shared], help="undo what was done last, or a step, wherever it is")
    undo.add_argument("step", metavar="STEP", nargs="?", help=f"{_STEP} (default: whatever was done last)")
    undo.add_argument("files", metavar="FILE", nargs="*", help="undo only what the step changed in these files")
    undo.add_argument(
        "--message", metavar="ID", help="undo all steps of a turn: the beginning of its message's id, or 'last'"
    )
    undo.add_argument("--to", metavar="STEP", help="go back to right after this step of its session")
    redo = commands.add_parser("redo", parents=[shared], help="redo what was undone last")
    for command in (undo, redo):
        command.add_argument("--session", metavar="S", help=f"only steps of {_SESSION}")
        command.add_argument("--count", metavar="N", type=_positive, help="how many, one after the other (default: 1)")
        command.add_argument(
            "--all", action="store_true", help="all steps of the session (default: of the one with the latest change)"
        )
    hunk = commands.add_parser(
        "revert-hunk", parents=[shared], help="revert some of the hunks that a step changed in a file"
    )
    hunk.add_argument("step", metavar="STEP", help=_STEP)
    hunk.add_argument("file", metavar="FILE", help="a file that the step changed")
    hunk.add_argument(
        "hunks",
        metavar="HUNK",
        type=_positive,
        nargs="*",
        help="the numbers of the hunks, from 1 (default: ask about each)",
    )


def _add_stage(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    stage = commands.add_parser(
        "stage",
        parents=[common()],
        help="put what steps changed, and nothing else, into the git index for the next commit",
        description=_STAGE,
    )
    stage.add_argument("names", metavar="SESSION|STEP", nargs="+", help=f"{_SESSION}; or {_STEP}")
    stage.add_argument(
        "--file",
        action="append",
        metavar="FILE",
        dest="files",
        help="only what they changed in this file or folder (repeatable)",
    )
    stage.add_argument("-n", "--dry-run", action="store_true", help="only show what would be staged")
    stage.add_argument(
        "--message",
        action="store_true",
        help="print the message that is proposed for the commit, and nothing else, on standard output",
    )


def _add_step(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    step = commands.add_parser("step", help="begin or end a step, from the hooks of an agent")
    actions = step.add_subparsers(dest="action", metavar="ACTION", required=True)
    shared = common()
    shared.add_argument(
        "--best-effort", action="store_true", help="exit with 0 even after an error, and print the error"
    )
    begin = actions.add_parser("begin", parents=[shared], help="begin a step and print its id")
    begin.add_argument(
        "--session",
        metavar="S",
        help="the session of the step; started if there is none with that id (default: a new one)",
    )
    begin.add_argument("--agent", metavar="NAME", help="the agent of a new session")
    begin.add_argument("--tool", metavar="NAME", help="the tool that the step uses")
    begin.add_argument("--description", metavar="TEXT", help="what the step does")
    begin.add_argument("--message", metavar="ID", help="the message that the step belongs to")
    begin.add_argument("--part", metavar="ID", help="the part of that message")
    begin.add_argument("--parent", metavar="STEP", help="the step that this one is a part of")
    end = actions.add_parser("end", parents=[shared], help="end a step and show what changed")
    end.add_argument("step", metavar="STEP", nargs="?", help=_STEP)
    end.add_argument("--all", action="store_true", help="end all open steps, such as those of agents that crashed")
    end.add_argument(
        "--file",
        action="append",
        metavar="FILE",
        dest="files",
        help="a file that the agent wrote; the step then owns no others (repeatable)",
    )


def _add_session(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    session = commands.add_parser("session", help="end a session, from the hooks of an agent")
    actions = session.add_subparsers(dest="action", metavar="ACTION", required=True)
    end = actions.add_parser("end", parents=[common()], help="end a session and its open steps")
    end.add_argument("session", metavar="SESSION", help=_SESSION)


def _add_run(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    run = commands.add_parser(
        "run",
        parents=[common(alone=False)],
        help="run a command and record its changes as steps of a session",
        description=_RUN,
        usage="snapd run [options] -- COMMAND ...",
    )
    run.add_argument("--agent", metavar="NAME", help="the agent of the session (default: the name of the command)")
    run.add_argument("--title", metavar="TEXT", help="the title of the session (default: the command)")
    run.add_argument(
        "--quiet",
        metavar="SECONDS",
        type=_seconds,
        default=2.0,
        help="end a step when nothing has changed for this long (default: 2)",
    )
    run.add_argument("--require", action="store_true", help="do not run the command if its steps cannot be recorded")
    run.add_argument("words", metavar="COMMAND", nargs=argparse.REMAINDER, help="the command and its arguments")


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("expected a number, at least 1")
    return number


def _seconds(text: str) -> float:
    number = float(text)
    if not 0 < number < float("inf"):
        raise argparse.ArgumentTypeError("expected seconds, more than 0")
    return number


def add_agents(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds them."""
    for add in (_add_agent, _add_acp, _add_mcp, _add_hook):
        add(commands)


def _add_hook(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    hook = commands.add_parser(
        "hook",
        help="record an event of an agent, from its hooks",
        description="Reads one event of an agent as JSON on standard input, and records it: a prompt is a message, a "
        "call of a tool is a step. It exits with 0, whatever happens, and prints JSON for the agent, or nothing. It "
        "takes two seconds at most ($SNAPD_HOOK_SECONDS). What it passes over is in hook.log, in the directory of the "
        "daemon's socket, and with $SNAPD_LOG on standard error.",
    )
    hook.add_argument("name", metavar="AGENT", nargs="?", help="the agent (default: recognized by the event)")


def _add_mcp(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    mcp = commands.add_parser(
        "mcp",
        help="let an agent see and undo steps, by the Model Context Protocol",
        description="A Model Context Protocol server on standard input and output, for agents to start. It works on "
        "the folder in CLAUDE_PROJECT_DIR, if that is set, or else on this one, unless -C names another.",
    )
    mcp.add_argument("-C", dest="directory", metavar="DIR", default=argparse.SUPPRESS, help=FOLDER)
    mcp.add_argument(
        "--here", action="store_true", help="use this very folder, not the one around it that has snapshots of it"
    )
    mcp.add_argument("--socket", metavar="PATH", help="the daemon's socket (default: the user's own)")


def _add_acp(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    acp = commands.add_parser(
        "acp",
        help="run an agent of the Agent Client Protocol for an editor, and record what it does",
        description=_ACP,
        usage="snapd acp [options] -- AGENT ...",
    )
    acp.add_argument("--socket", metavar="PATH", help="the daemon's socket (default: the user's own)")
    acp.add_argument("words", metavar="AGENT", nargs=argparse.REMAINDER, help="the agent's command and its arguments")


def _add_agent(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    agent = commands.add_parser("agent", help="connect agents to snapd by their own hooks, and see whether that works")
    actions = agent.add_subparsers(dest="action", metavar="ACTION", required=True)
    install = actions.add_parser(
        "install",
        parents=[common(asks=False)],
        help="write snapd's hooks into the settings of agents",
        description="Write hooks into the settings of agents, so that each of their steps is recorded. Everything "
        "else in these files stays as it is.",
    )
    uninstall = actions.add_parser(
        "uninstall", parents=[common(asks=False)], help="take snapd's hooks out of the settings of agents"
    )
    install.add_argument("--all", action="store_true", help="all agents that are on this machine")
    uninstall.add_argument("--all", action="store_true", help="all agents that snapd knows")
    for action in (install, uninstall):
        action.add_argument(
            "names", metavar="NAME", nargs="*", help="such as claude or codex; 'snapd agent status' lists them"
        )
        action.add_argument(
            "--project", action="store_true", help="the settings of this project, not those of the user"
        )
        action.add_argument("-n", "--dry-run", action="store_true", help="only show the diff of what would be done")
    actions.add_parser(
        "status",
        parents=[common(asks=False)],
        help="show which agents are connected, and what keeps their hooks from working",
    )

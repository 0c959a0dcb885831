"""Writes `docs/cli.md` from the parser, with examples, the table of settings, and `docs/design/evidence.md`."""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tomllib
from typing import TYPE_CHECKING

from snapd.cli.parsing.command import COMMANDS, common
from snapd.cli.parsing.parser import build_parser, grouped
from snapd.cli.parsing.usage import Parser, subcommands
from snapd.settings.table import SETTINGS, Setting
from snapd.wire.generate.classes import BANNER

from .answers import load_all

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from snapd.cli.parsing.command import Command

    Played = dict[str, tuple[str, str]]

_HEAD = f"""\
<!-- {BANNER} -->

# The command line

`snapd help` lists the commands, `snapd help COMMAND` or `snapd COMMAND --help` shows one. The examples below are real
commands with their real output, in a small project in which an agent called `bot` has worked.
"""
_CODES = """\
## Exit codes

| code | meaning |
|---|---|
| 0 | done |
| 1 | it failed, was refused, or you answered no: nothing was changed |
| 2 | the command line or a setting is wrong |
| 3 | done, but not for every file: some were kept, skipped, in conflict, or failed |
| 4 | the daemon cannot be started or reached |
| 130 | interrupted by Ctrl-C |
| 141 | the reader of the output ended; only from commands that only show something |

The code says what was done even if the output could not be written. `snapd run` ends with the code of the command that
it runs.

## JSON

With `--json`, a command prints one JSON document to standard output, whatever happens: its answer, or
`{"error": {"kind", "message", "hint", ...}}`. The exit code is the same as without. Notes for people still go to
standard error. [cli.schema.json](cli.schema.json) describes the answer of each command; the answers are mostly those
of the requests in [protocol.md](protocol.md), which also lists the kinds of errors. Two more come from the command
line itself: `wrongUsage` and `declined` (the answer to a question was no).
"""
_SETTINGS = (f"<!-- {BANNER} -->", "<!-- end of what is generated -->")
"""The markers around the table of settings."""
_VARIABLES = {"anyone": "`{}`", "not environment": "(`{}` moves all data)", "file": "-"}


_EVIDENCE = f"""\
<!-- {BANNER} -->

# Evidence

What the pages for users say, and the test behind each claim. The source is [evidence.toml](evidence.toml); a test
checks that the pages say so and that the tests exist. `hazard N` is a test of `tests/hazards`, and `name.mjs::scenario`
runs in a real editor or browser.
"""


def text() -> str:
    """Returns the text of the document, with examples run in a separate process."""
    check_examples(load_all())
    return subprocess.run(
        [sys.executable, "-m", "scripts.generate.examples"], stdout=subprocess.PIPE, check=True, encoding="utf-8"
    ).stdout


def document(played: Played) -> str:
    """Returns the text of the document."""
    every = dict(commands(build_parser()))
    parts = [_HEAD, _contents(every)]
    for group, names in grouped().items():
        parts.append(f"## {group.capitalize()}\n")
        for words, parser in every.items():
            if words.split()[0] in names:
                parts.append(_command(words, parser, *played[words]))
    return "\n".join([*parts, _shared(), _CODES])


def commands(parser: argparse.ArgumentParser, words: str = "") -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """Yields the parsers of all runnable commands, by their words, in the order of the groups."""
    below = subcommands(parser)
    if not below:
        yield words, parser
    # subcommands stay in the order in which they were added
    order = [] if words else [name for names in grouped().values() for name in names]
    for name in sorted(below, key=lambda name: order.index(name) if name in order else len(order)):
        yield from commands(below[name], f"{words} {name}".strip())


def check_examples(every: Mapping[str, Command]) -> None:
    """Raises `LookupError` if a command has no example."""
    for words, command in every.items():
        if command.group and not command.example:
            raise LookupError(f"no example of {words}: give its @Command one in {command.run.__module__}")


def options_of(words: Sequence[str]) -> Collection[str]:
    """Returns the options of the command that some words call."""
    parser: Parser = build_parser()
    for word in words:
        below = subcommands(parser)
        if word not in below:
            break
        parser = below[word]
    return parser.options


def _contents(every: dict[str, argparse.ArgumentParser]) -> str:
    rows = ["| to | commands |", "|---|---|"]
    for group, names in grouped().items():
        links = [f"[{words}](#snapd-{words.replace(' ', '-')})" for words in every if words.split()[0] in names]
        rows.append(f"| {group} | {', '.join(links)} |")
    return "\n".join(rows) + "\n"


def _command(words: str, parser: argparse.ArgumentParser, typed: str, summary: str) -> str:
    lines = [f"### snapd {words}\n", f"`{_synopsis(words, parser)}`: {_about(words)}.\n"]
    if parser.description:
        lines.append(f"{parser.description}\n")
    rows = [_row(action) for action in _own(parser)]
    if rows:
        lines += ["| argument | meaning |", "|---|---|", *rows, ""]
    if COMMANDS[words].without_json:
        lines.append(f"It has no `--json`: {COMMANDS[words].without_json}.\n")
    printed = summary.rstrip("\n").split("\n") if summary.strip() else []
    return "\n".join([*lines, "```console", f"$ {typed}", *printed, "```", ""])


def _about(words: str) -> str:
    return COMMANDS[words].help


def _synopsis(words: str, parser: argparse.ArgumentParser) -> str:
    if parser.usage:
        return parser.usage
    positional = [_placed(action) for action in _own(parser) if not action.option_strings]
    options = ["[options]"] if any(action.option_strings for action in _all(parser)) else []
    return " ".join(["snapd", words, *options, *positional])


def _placed(action: argparse.Action) -> str:
    name = _value(action)
    forms = {"?": f"[{name}]", "*": f"[{name} ...]", "+": f"{name} ...", argparse.REMAINDER: f"{name} ..."}
    return forms.get(str(action.nargs), name)


def _value(action: argparse.Action) -> str:
    if isinstance(action.metavar, str):
        return action.metavar
    return "{" + ",".join(map(str, action.choices)) + "}" if action.choices else action.dest.upper()


def _all(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    return [action for action in parser._actions if not isinstance(action, argparse._HelpAction)]


def _own(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    """Returns the arguments of a command besides those that most commands have."""
    shared = {(*action.option_strings, action.help) for action in _common()}
    return [action for action in _all(parser) if (*action.option_strings, action.help) not in shared]


def _common() -> list[argparse.Action]:
    parser = Parser(add_help=False)
    common(parser)
    return parser._actions


def _row(action: argparse.Action) -> str:
    value = "" if action.nargs == 0 else f" {_value(action)}"
    names = ", ".join(f"`{name}{value}`" for name in action.option_strings) or f"`{_value(action)}`"
    # a `|` that is not a border of the table
    cells = [cell.replace("|", "\\|") for cell in (names, str(action.help))]
    return f"| {' | '.join(cells)} |"


def _shared() -> str:
    about = "Each command that works on a folder has these; `snapd COMMAND --help` lists exactly those that it has."
    rows = [_row(action) for action in _common()]
    head = ["## Options that most commands have\n", f"{about}\n", "| argument | meaning |", "|---|---|"]
    return "\n".join([*head, *rows, ""])


def with_settings(page: str) -> str:
    """Returns a page with the current table of settings."""
    begin, end = _SETTINGS
    table = ["| key | in JSON | variable | value | default | what it does |", "|---|---|---|---|---|---|"]
    table += map(_setting, SETTINGS.values())
    place = re.compile(f"{re.escape(begin)}.*{re.escape(end)}", re.DOTALL)
    wanted, result = place.subn(lambda _: "\n\n".join([begin, "\n".join(table), end]), page)
    if not result:
        raise LookupError(f"docs/configuration.md has no place for the table of settings: {begin} and {end}")
    return wanted


def _setting(setting: Setting) -> str:
    json_name = "-" if setting.source == "file" else f"`{setting.json_name}`"
    variable = _VARIABLES[setting.source].format(setting.variable)
    cells = [f"`{setting.name}`", json_name, variable, setting.kind.expected, setting.shown_default, setting.doc]
    return f"| {' | '.join(cells)} |"


def evidence(source: str) -> str:
    """Returns the page `docs/design/evidence.md`: claims of pages, and the tests behind them."""
    parts = [_EVIDENCE]
    for page, claims in tomllib.loads(source).items():
        parts.append(f"\n## {page}\n\n| claim | shown by |\n|---|---|\n")
        parts += [
            f"| {claim.replace(' | ', ': ')} | {', '.join(map(_shown, shown))} |\n" for claim, shown in claims.items()
        ]
    return "".join(parts)


def _shown(shown: str) -> str:
    name, note, rest = shown.partition(" (")
    return f"{name if name.startswith('hazard') else f'`{name}`'}{note}{rest}"

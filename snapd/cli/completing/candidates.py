"""The candidates at the cursor: commands, options, files, and ids and names from the daemon."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, NamedTuple

from snapd.cli.requests.snapshots import split_file

from .daemon_candidates import DaemonCandidates, directories, files, programs

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from .daemon_candidates import Candidate

_QUOTED = frozenset(" \t\n!\"#$&'()*;<>?[\\]^`{|}~")
"""The characters that bash treats specially in some position."""
_ESCAPED = {'"': {char: f"\\{char}" for char in '"\\$`'}, "'": {"'": "'\\''"}, "$'": {"'": "\\'", "\\": "\\\\"}}
"""How characters are escaped within quotes, where needed."""
_ESCAPED['"']["!"] = "\"'!'\""
"""Within double quotes, bash expands history at this character and keeps a backslash before it."""
_KEPT = frozenset("@$")
"""The word breaks that readline includes in the part that begins there, `rl_special_prefixes` of bash."""


def candidates(parser: argparse.ArgumentParser, words: list[str]) -> list[Candidate]:
    """Returns the candidates for the last of the words after the program's name; it may be unfinished or empty."""
    wanted = expected(parser, words)
    if wanted is None:
        return []
    result: dict[str, str] = {}
    for word, description in _all(wanted):
        # the shell shows each candidate as a line, unescaped
        if word.startswith(wanted.word) and word.isprintable():
            result.setdefault(wanted.before + word, description)
    return list(result.items())


def _all(wanted: CursorContext) -> Iterator[Candidate]:
    action = wanted.action
    if action is None:
        yield from ((f"{option} ", _short(text)) for option, text in wanted.options)
    elif isinstance(action, argparse._SubParsersAction):
        yield from ((f"{one.dest} ", _short(one.help or "")) for one in action._choices_actions)
    elif action.choices is not None:
        yield from ((f"{choice} ", "") for choice in action.choices)
    else:
        yield from _named(wanted, str(action.metavar))


def _named(wanted: CursorContext, metavar: str) -> Iterable[Candidate]:
    folder = (wanted.values.get("directory") or ["."])[-1]
    if metavar in ("FILE", "PATH", "PREFIX"):
        return _files(wanted, folder)
    if metavar == "DIR":
        return directories(wanted.word, ".")
    if metavar == "COMMAND":
        return files(wanted.word, ".") if len(wanted.values.get("words", ())) else programs(wanted.word)
    known = DaemonCandidates(folder, wanted.values.get("socket"), is_here="here" in wanted.values)
    if metavar == "[SESSION] -- COMMAND":
        return _bisected(wanted, known)
    if metavar in ("S", "SESSION"):
        return known.sessions()
    if metavar == "ID":
        return known.messages()
    if metavar in ("NAME", "AGENT") and wanted.command.partition(" ")[0] in ("agent", "hook"):
        return _agents()
    if metavar == "SESSION|STEP":
        return [*known.sessions(), *known.steps(wanted.word), ("last ", "the last step")]
    if metavar == "STEP":
        return [*known.steps(wanted.word), ("last ", "the last step")]
    if metavar in ("SNAPSHOT", "TO"):
        return known.snapshots(wanted.word)
    if metavar == "FILE@SNAPSHOT | STEP | PROMPT":
        return _shown(wanted.word, known)
    return []


def _bisected(wanted: CursorContext, known: DaemonCandidates) -> Iterable[Candidate]:
    """Returns sessions, or the `--` after one, or words of the command."""
    words = wanted.values.get("words", [])
    if wanted.behind_dashes is None:
        return [("-- ", "the command"), *(() if words else known.sessions())]
    return files(wanted.word, ".") if words[wanted.behind_dashes :] else programs(wanted.word)


def _agents() -> Iterator[Candidate]:
    from snapd.agents.table import AGENTS

    yield from ((f"{agent.name} ", agent.title) for agent in AGENTS.values())


def _files(wanted: CursorContext, folder: str) -> Iterable[Candidate]:
    """Returns files of the step or the snapshot that an earlier word names; else those on disk."""
    known = DaemonCandidates(folder, wanted.values.get("socket"), is_here="here" in wanted.values)
    matches: list[Candidate] = []
    if step := wanted.values.get("step"):
        matches = known.files_of_step(step[-1])
    elif snapshot := wanted.values.get("hash"):
        is_from_root = wanted.action is not None and wanted.action.metavar == "PREFIX"
        matches = known.files_of_snapshot(snapshot[-1], wanted.word, is_from_root=is_from_root)
    return matches or files(wanted.word, folder)


def _shown(word: str, known: DaemonCandidates) -> Iterator[Candidate]:
    named = split_file(word)
    if named is None:
        yield from known.steps_and_files(word)
        yield from known.messages()
        return
    file, snapshot = named
    if file.endswith("@") and not snapshot:
        # an unfinished time
        file, snapshot = file[:-1], "@"
    elif file.endswith("@"):
        file, snapshot = file[:-1], f"@{snapshot}"
    yield from ((f"{file}@{name}", description) for name, description in known.snapshots(snapshot))


def _short(text: str) -> str:
    """Returns the beginning of a help text, up to its first explanation."""
    return text.partition(";")[0].partition(" (")[0]


class CursorContext(NamedTuple):
    """What is expected at the cursor."""

    word: str  # the part of it that the user typed
    before: str  # what precedes that in the same word, such as `--session=`
    action: argparse.Action | None  # the argument that the word is for; None where only options fit, or nothing
    options: list[tuple[str, str]]  # the options that fit, with their help
    command: str  # the command and its action, such as `step end`; empty where a command is expected
    values: dict[str, list[str]]  # the values of earlier words, by the parser's names
    # index of the first word after the first `--` among the words of the last argument, or None
    behind_dashes: int | None


def expected(parser: argparse.ArgumentParser, words: list[str]) -> CursorContext | None:
    """Returns what is expected of the last of the words after the program's name; it may be empty."""
    reader = _Reader(parser)
    for word in words[:-1]:
        if not reader.take(word):
            return None
    return reader.at(words[-1])


class _Reader:
    """Reads the words as `argparse` would, and stops where they end."""

    def __init__(self, parser: argparse.ArgumentParser) -> None:
        self._command: list[str] = []
        self._values: dict[str, list[str]] = {}
        self._waiting: argparse.Action | None = None
        self._only_arguments = False
        self._behind_dashes: int | None = None
        self._enter(parser)

    def _enter(self, parser: argparse.ArgumentParser) -> None:
        self._parser = parser
        self._arguments = [action for action in parser._actions if not action.option_strings]

    def take(self, word: str) -> bool:
        """Consumes a finished word; returns False if it should be a command and is none."""
        if self._waiting is not None:
            self._note(self._waiting, word)
            self._waiting = None
        elif word == "--" and not self._only_arguments:
            self._only_arguments = True
            self._behind_dashes = 0
        elif word.startswith("-") and len(word) > 1 and not self._only_arguments:
            self._take_option(word)
        elif self._arguments:
            return self._take_argument(self._arguments[0], word)
        return True

    def _take_option(self, word: str) -> None:
        name, has_value, value = word.partition("=")
        action = self._parser._option_string_actions.get(name)
        if action is None:
            return
        if has_value or action.nargs == 0:
            self._note(action, value)
        else:
            self._waiting = action

    def _take_argument(self, action: argparse.Action, word: str) -> bool:
        if isinstance(action, argparse._SubParsersAction):
            if word not in action.choices:
                return False
            self._command.append(word)
            self._enter(action.choices[word])
            return True
        self._note(action, word)
        if action.nargs == argparse.REMAINDER:
            self._only_arguments = True
            if word == "--" and self._behind_dashes is None:
                self._behind_dashes = len(self._values[action.dest])
        elif action.nargs not in ("*", "+"):
            self._arguments = self._arguments[1:]
        return True

    def _note(self, action: argparse.Action, word: str) -> None:
        self._values.setdefault(action.dest, []).append(word)

    def at(self, word: str) -> CursorContext:
        """Returns what is expected of the word at the cursor."""
        if self._waiting is not None:
            return self._of(word, self._waiting)
        if word.startswith("-") and not self._only_arguments:
            name, has_value, value = word.partition("=")
            if has_value:
                return self._of(value, self._parser._option_string_actions.get(name), f"{name}=")
            return self._of(word, None, options=self._options())
        return self._of(word, self._arguments[0] if self._arguments else None)

    def _options(self) -> list[tuple[str, str]]:
        # the long name is descriptive
        return [
            (max(action.option_strings, key=len), action.help or "")
            for action in self._parser._actions
            if action.option_strings and action.help != argparse.SUPPRESS
        ]

    def _of(
        self,
        word: str,
        action: argparse.Action | None,
        before: str = "",
        options: list[tuple[str, str]] | None = None,
    ) -> CursorContext:
        command = " ".join(self._command)
        return CursorContext(word, before, action, options or [], command, self._values, self._behind_dashes)


class Line:
    """A command line up to the cursor.

    `breaks` are the characters at which readline begins a word, `COMP_WORDBREAKS`. `words` are without their quotes;
    the last one is not finished, and may be empty.
    """

    def __init__(self, text: str, breaks: str) -> None:
        self._breaks = breaks
        self._quote = ""
        self.words = [""]
        self._kept = 0
        self._read(text)

    def _read(self, text: str) -> None:
        is_word = is_escaped = is_dollar = False
        before = 0
        for char in text:
            # $"..." is translated text, $'...' has backslash escapes; $$ is the shell's process id
            follows_dollar, is_dollar = is_dollar, False
            if is_escaped:
                # between quotes, a backslash before most characters stands for itself
                known = {'"': '"\\$`', "$'": "'\"\\"}.get(self._quote, char)
                self.words[-1] += char if char in known else f"\\{char}"
                is_escaped = False
            elif char == "\\" and self._quote != "'":
                is_word = is_escaped = True
            elif self._quote:
                if char == self._quote[-1]:
                    self._quote, self._kept = "", before
                else:
                    self.words[-1] += char
            elif char in "'\"":
                self._quote, is_word = char, True
                if follows_dollar:
                    self.words[-1] = self.words[-1][:-1]
                    self._quote = "$'" if char == "'" else char
                before, self._kept = self._kept, len(self.words[-1])
            elif char in " \t\n":
                if is_word:
                    self.words.append("")
                is_word, self._kept = False, 0
            else:
                is_word, is_dollar = True, char == "$" and not follows_dollar
                self.words[-1] += char
                if char in self._breaks:
                    self._kept = len(self.words[-1]) - (char in _KEPT)

    def reply(self, candidate: str) -> str:
        """Returns what readline should substitute for its part of the last word; a blank ends a complete one."""
        rest = candidate[self._kept :]
        if self._quote:
            # readline closes the quote and adds the blank itself; it takes everything else literally
            escaped = _ESCAPED[self._quote]
            return "".join(escaped.get(char, char) for char in rest.removesuffix(" "))
        end = " " if rest.endswith(" ") else ""
        return "".join(f"\\{char}" if char in _QUOTED else char for char in rest.removesuffix(" ")) + end

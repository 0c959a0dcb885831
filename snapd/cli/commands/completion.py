"""`snapd completion`, `snapd complete`, which its scripts call at every Tab, and `snapd help`."""

from __future__ import annotations

import argparse
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

from snapd.cli.exit_codes import DONE
from snapd.cli.parsing.command import Command
from snapd.cli.parsing.parser import build_parser
from snapd.cli.parsing.usage import subcommands

if TYPE_CHECKING:
    from collections.abc import Iterator

    from snapd.cli.parsing.usage import Parser

_BASH = r"""
# completes the words of snapd in bash, by eval "$(snapd completion bash)"
_snapd() {
  local reply
  COMPREPLY=()
  while IFS= read -r reply; do
    COMPREPLY+=("$reply")
  done < <(command "$1" complete bash "$COMP_WORDBREAKS" "${COMP_LINE:0:COMP_POINT}" 2>/dev/null)
}
# a reply that is a whole word ends with a blank of its own
complete -o nospace -o nosort -F _snapd snapd 2>/dev/null || complete -o nospace -F _snapd snapd
"""
_ZSH = r"""
#compdef snapd
# completes the words of snapd in zsh, by eval "$(snapd completion zsh)", or this text as the file _snapd in $fpath
_snapd() {
  local reply value text
  local -a whole whole_shown open open_shown
  while IFS= read -r reply; do
    value=${reply%%$'\t'*}
    text=${reply#*$'\t'}
    if [[ $value == *' ' ]]; then
      value=${value% }
      whole+=("$value")
      whole_shown+=("$value${text:+  -- $text}")
    else
      open+=("$value")
      open_shown+=("$value${text:+  -- $text}")
    fi
  done < <(command $words[1] complete zsh "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null)
  local found=1
  (( $#whole )) && compadd -l -V snapd -d whole_shown -a whole && found=0
  (( $#open )) && compadd -l -V snapd -S '' -d open_shown -a open && found=0
  return found
}
if [[ $funcstack[1] == _snapd ]]; then
  _snapd "$@"
else
  (( $+functions[compdef] )) || { autoload -Uz compinit && compinit }
  compdef _snapd snapd
fi
"""
_FISH = r"""
# completes the words of snapd in fish, by snapd completion fish | source
function __snapd_complete
    set -l words (commandline -opc)
    set -l last (commandline -ct | string unescape; or commandline -ct)
    # fish adds a blank by itself, except after what ends like a directory or an open FILE@
    command $words[1] complete fish $words[2..-1] "$last" 2>/dev/null | string replace -r ' (\t|$)' '$1'
end
complete -c snapd -f -k -a '(__snapd_complete)'
"""
SCRIPTS = {"bash": _BASH.lstrip(), "zsh": _ZSH.lstrip(), "fish": _FISH.lstrip()}


def _completion_arguments(parser: Parser) -> None:
    parser.add_argument("shell", choices=("bash", "zsh", "fish", "tcsh"), help="the shell")


@Command(
    "completion",
    "snapd itself",
    _completion_arguments,
    without_json="it prints a program for a shell",
    example="completion bash > ~/.local/share/bash-completion/completions/snapd",
    plays=False,
    shows=True,
)
def completion(options: argparse.Namespace) -> int:
    """Print the completion script of a shell."""
    if options.shell in SCRIPTS:
        print(SCRIPTS[options.shell], end="")
    else:
        import shtab

        parser = build_parser()
        for action in parser._actions:
            if isinstance(action, argparse._SubParsersAction):
                # it goes into nothing but a dict
                action.choices = dict(action.choices)
        print(shtab.complete(parser, shell=options.shell))
    return DONE


def _complete_arguments(parser: Parser) -> None:
    parser.add_argument("shell")
    parser.add_argument("words", nargs=argparse.REMAINDER)


@Command("complete", "", _complete_arguments)
def complete(options: argparse.Namespace) -> int:
    """Print what a command line may go on with."""
    with suppress(Exception):
        sys.stdout.write("".join(_lines(options.shell, options.words)))
    return DONE


def _lines(shell: str, words: list[str]) -> Iterator[str]:
    from snapd.cli.completing.candidates import candidates

    parser = build_parser()
    if shell == "bash":
        from snapd.cli.completing.candidates import Line

        breaks, text = words
        line = Line(text, breaks)
        return (f"{line.reply(candidate)}\n" for candidate, _ in candidates(parser, line.words[1:]))
    return (f"{candidate}\t{description}\n" for candidate, description in candidates(parser, words))


def _help_arguments(parser: Parser) -> None:
    parser.flag("--all", help="list all commands, not only those of every day")
    parser.argument("words", "COMMAND", "such as undo, or step begin", nargs="*")


@Command(
    "help",
    "snapd itself",
    _help_arguments,
    without_json="it prints a text for people",
    example="help undo",
    plays=False,
    shows=True,
)
def help(options: argparse.Namespace) -> int:  # noqa: A001 - the command's name
    """List the commands, or show the options of one."""
    parser = build_parser()
    for word in options.words:
        below = subcommands(parser)
        if word not in below:
            parser.refuse("COMMAND", word, list(below))
        parser = below[word]
    print(parser.full_help() if options.all and not options.words else parser.format_help(), end="")
    return DONE

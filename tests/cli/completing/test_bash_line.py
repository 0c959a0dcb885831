"""Command lines as bash has them, with bash itself as the judge of quotes."""

from __future__ import annotations

import random
import subprocess

import pytest

from snapd.cli.completing.candidates import Line
from tests.support.amounts import amount

BREAKS = " \t\n\"'@><=;|&(:"
LETTERS = "ab@:=+ '\"\\$*?~#é!/;&()[]{}|<>`,%-"
WORDS = amount(300, 3000)


def in_bash(script: str, *arguments: str) -> list[str]:
    done = subprocess.run(["bash", "-c", script, "bash", *arguments], capture_output=True, check=True)
    return done.stdout.decode().split("\0")[:-1]


def test_quoted_words_are_read_as_bash_does() -> None:
    source = random.Random(1)
    words = ["".join(source.choices(LETTERS, k=source.randrange(1, 9))) for _ in range(WORDS)]
    quoted = in_bash("printf '%q\\0' \"$@\"", *words)
    quoted += ["'" + word.replace("'", "'\\''") + "'" for word in words]
    # bash writes some words as $'...' only where they have control characters
    assert Line(" ".join(quoted) + " ", BREAKS).words == [*words, *words, ""]


def test_what_is_replied_becomes_the_word() -> None:
    source = random.Random(2)
    lines, words = [], []
    for _ in range(WORDS):
        word = "x" + "".join(source.choices(LETTERS, k=source.randrange(1, 9)))
        typed = word[: source.randrange(len(word))]
        (raw,) = in_bash("printf '%q\\0' \"$1\"", typed) if typed else [""]
        line = Line(f"snapd {raw}", BREAKS)
        assert line.words[-1] == typed
        reply = line.reply(f"{word} ")
        # readline puts it in place of what stands behind the last break that is not quoted
        kept = 0
        for at, char in enumerate(raw):
            backslashes = at - len(raw[:at].rstrip("\\"))
            if char in BREAKS and backslashes % 2 == 0:
                kept = at if char == "@" else at + 1
        lines.append(raw[:kept] + reply)
        words.append(word)
    assert all(line.endswith(" ") for line in lines)
    assert in_bash('eval "set -- $1"; printf \'%s\\0\' "$@"', " ".join(lines)) == words


@pytest.mark.parametrize("quote", ["'", '"', "$'", '$"'])
def test_what_is_replied_between_quotes_becomes_the_word(quote: str) -> None:
    source = random.Random(3)
    lines, words = [], []
    for _ in range(WORDS):
        word = "x" + "".join(source.choices(LETTERS, k=source.randrange(1, 9)))
        # what readline leaves in place: the quote, and what stands in front of it
        lines.append(f"a{quote}{Line(f'snapd {quote}x', BREAKS).reply(f'{word} ')}{quote[-1]}")
        words.append(f"a{word}")
        assert Line(f"snapd {lines[-1]}", BREAKS).words == ["snapd", words[-1]]
    assert in_bash('eval "set -- $1"; printf \'%s\\0\' "$@"', " ".join(lines)) == words


@pytest.mark.parametrize(
    ("text", "word", "candidate", "reply"),
    [
        ("snapd ", "", "log ", "log "),
        ("snapd show a@", "a@", "a@last ", "@last "),
        ("snapd show a@@14:", "a@@14:", "a@@14:30 ", "30 "),
        ("snapd log --session=", "--session=", "--session=s 1 ", "s\\ 1 "),
        ("snapd show my\\ f", "my f", "my file@", "my\\ file@"),
        # readline closes the quote
        ('snapd show "my f', "my f", "my file@", "my file@"),
        ("snapd revert last 'my f", "my f", "my file ", "my file"),
        ('snapd show "a\\$\\x', "a$\\x", "a$\\xy ", "a\\$\\\\xy"),
        ('snapd purge -n "aa', "aa", "aa$(id)`id`", "aa\\$(id)\\`id\\`"),
        ("snapd purge -n 'bb", "bb", "bb'; id; '", "bb'\\''; id; '\\''"),
        ("snapd purge -n $'bb", "bb", "bb\\'; id; '", "bb\\\\\\'; id; \\'"),
        ("snapd purge -n $$'bb", "$$bb", "$$bb'; id; '", "bb'\\''; id; '\\''"),
        ("snapd purge -n \\$'bb", "$bb", "$bb'", "bb'\\''"),
    ],
)
def test_replies(text: str, word: str, candidate: str, reply: str) -> None:
    line = Line(text, BREAKS)
    assert line.words[-1] == word
    assert line.reply(candidate) == reply

"""The trees to measure on: generated ones, the Linux source, or a copy of a folder of the user's."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import tempfile
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

VERSION = 1
"""Of the generator: another number gives other trees, in other folders of the cache."""
FILES_A_DIRECTORY = 16
FAN_OUT = 8
LINUX_PACKAGE = "linux-source-6.1"

_CORPUS_BYTES = 1 << 20
_LONGEST_FILE = 256 << 10
# a median of 3 KB, a mean of 4.9 KB
_SIZE_MEAN, _SIZE_DEVIATION = 8.0, 1.0
_SUFFIXES = (".py", ".c", ".h", ".ts", ".rs", ".md")
_CONSONANTS, _VOWELS = "bcdfghklmnprstvw", "aeiou"
_VOCABULARY = 200


class TreeUnavailable(Exception):
    """The tree that was asked for cannot be had; the message says what to do."""


def cache_directory(environment: dict[str, str]) -> str:
    """Where trees are kept from run to run: `snapd-bench` below `$XDG_CACHE_HOME`."""
    base = environment.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return os.path.join(base, "snapd-bench")


def generated_tree(cache: str, count: int) -> str:
    """A tree of so many files, taken from the cache or generated into it.

    Returns:
        Its path. It is only ever copied.
    """
    return _cached(cache, f"generated-{VERSION}-{count}", lambda made: generate(made, count))


def sparse_tree(cache: str, count: int) -> str:
    """As `generated_tree`, with files of a line each: a million of them fit on any disk.

    Returns:
        Its path. It is only ever copied.
    """
    return _cached(cache, f"sparse-{VERSION}-{count}", lambda made: generate(made, count, sparse=True))


def _cached(cache: str, name: str, make: Callable[[str], None]) -> str:
    path = os.path.join(cache, name)
    if not os.path.isdir(path):
        os.makedirs(cache, exist_ok=True)
        made = tempfile.mkdtemp(prefix=os.path.basename(path) + ".", dir=cache)
        try:
            make(made)
            os.rename(made, path)
        finally:
            # where it was renamed there is nothing left
            shutil.rmtree(made, ignore_errors=True)
    return path


def generate(root: str, count: int, seed: int = 0, *, sparse: bool = False) -> None:
    """Writes a tree of source-like text files, the same for the same arguments.

    Sizes are log-normal. Directories hold 16 files each and have up to 8 below them, one of the files is a `.gitignore`
    at the top.

    Args:
        root: an empty directory.
        count: of files, at least 1.
        seed: of the random numbers.
        sparse: whether each file has one line alone.
    """
    chance = random.Random(seed)
    words = [_word(chance) for _ in range(_VOCABULARY)]
    corpus = _corpus(chance, words)
    directories = [root]
    for number in range(count):
        at, within = divmod(number, FILES_A_DIRECTORY)
        if at == len(directories):
            name = f"{chance.choice(words)}_{at}"
            directories.append(os.path.join(directories[(at - 1) // FAN_OUT], name))
            os.mkdir(directories[at])
        if number == 0:
            name, data = ".gitignore", b"*.o\nbuild/\n"
        else:
            name = f"{chance.choice(words)}_{within}{chance.choice(_SUFFIXES)}"
            size = 0 if sparse else min(int(chance.lognormvariate(_SIZE_MEAN, _SIZE_DEVIATION)), _LONGEST_FILE)
            start = chance.randrange(len(corpus) - size)
            # no two files are the same
            data = b"// %d\n%b\n" % (number, corpus[start : start + size])
        # plain descriptors: twice as fast as file objects, and there may be 400,000
        descriptor = os.open(os.path.join(directories[at], name), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
        os.write(descriptor, data)
        os.close(descriptor)


def linux_tree(cache: str) -> str:
    """The source of Linux 6.1, from the cache, else from Debian's package.

    Returns:
        Its path. It is only ever copied.

    Raises:
        TreeUnavailable: it is not in the cache and the package cannot be had.
    """
    path = os.path.join(cache, "linux-6.1")
    if os.path.isdir(path):
        return path
    os.makedirs(cache, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="linux-6.1.", dir=cache) as scratch:
        try:
            for command in (
                ["apt-get", "download", LINUX_PACKAGE],
                ["sh", "-c", "dpkg -x *.deb package"],
                ["tar", "-xf", f"package/usr/src/{LINUX_PACKAGE}.tar.xz"],
            ):
                subprocess.run(command, cwd=scratch, check=True, stdout=subprocess.DEVNULL)
        except (OSError, subprocess.CalledProcessError) as error:
            raise TreeUnavailable(
                f"the Linux source is not in {path} and Debian's package {LINUX_PACKAGE} cannot be had ({error}). Run "
                "apt-get update and try again, or unpack any large source tree and name it: make bench TREE=/path/to/it"
            ) from error
        tree = os.path.join(scratch, LINUX_PACKAGE)
        admit_everything(os.path.join(tree, ".gitignore"))
        os.rename(tree, path)
    return path


def admit_everything(gitignore: str) -> None:
    """Takes the pattern `/*` out of an ignore file.

    Debian's packaging repository ignores all of the upstream source by it; with it there would be nothing to measure.
    """
    with open(gitignore, encoding="utf-8") as file:
        lines = file.readlines()
    with open(gitignore, "w", encoding="utf-8") as file:
        file.writelines(line for line in lines if line.strip() != "/*")


def copy_tree(source: str, target: str) -> None:
    """Copies a tree, without any repository in it, to measure on: the source is never written to.

    Raises:
        subprocess.CalledProcessError: it cannot be copied.
    """
    subprocess.run(["cp", "-a", "--reflink=auto", "--", source, target], check=True)
    for directory, names, files in os.walk(target):
        if ".git" in names:
            names.remove(".git")
            shutil.rmtree(os.path.join(directory, ".git"))
        elif ".git" in files:
            os.unlink(os.path.join(directory, ".git"))


def warm(tree: str) -> None:
    """Reads every file once, so that both sides find them in the page cache."""
    for directory, _, names in os.walk(tree):
        for name in names:
            path = os.path.join(directory, name)
            if not os.path.islink(path):
                with open(path, "rb") as file:
                    while file.read(1 << 20):
                        pass


def _word(chance: random.Random) -> str:
    """A word that can be spoken, of two to four syllables."""
    return "".join(chance.choice(_CONSONANTS) + chance.choice(_VOWELS) for _ in range(chance.randint(2, 4)))


def _corpus(chance: random.Random, words: list[str]) -> bytes:
    """Text to cut files from: lines of words, indented like source."""
    lines = []
    size = 0
    while size < _CORPUS_BYTES:
        first, second, *rest = chance.choices(words, k=chance.randint(3, 9))
        line = f"{'    ' * chance.randint(0, 4)}{first}_{second} = {'.'.join(rest)}({chance.random():.6f})\n"
        lines.append(line)
        size += len(line)
    return "".join(lines).encode("ascii")

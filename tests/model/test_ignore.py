from __future__ import annotations

import os
import random
import time
from pathlib import Path

import pytest

from snapd.model.ignore import IgnoreFile, IgnoreStack
from tests.support.amounts import amount
from tests.support.git import run_git

NUL = b"\0"


class Tree:
    """A git work tree on disk, judged by git and by the code under test."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.root = folder / "tree"
        self.home.mkdir()
        self.root.mkdir()
        run_git(self.root, "init", "-q", home=self.home)

    def path(self, relative: bytes) -> bytes:
        return os.path.join(os.fsencode(self.root), relative)

    def add(self, *paths: bytes) -> None:
        for path in paths:
            if path.endswith(b"/"):
                os.makedirs(self.path(path), exist_ok=True)
            else:
                self.write(path, b"")

    def write(self, path: bytes, text: bytes) -> None:
        os.makedirs(os.path.dirname(self.path(path)), exist_ok=True)
        with open(self.path(path), "wb") as file:
            file.write(text)

    def excludes(self, *, info: bytes | None = None, user: bytes | None = None) -> None:
        if info is not None:
            self.write(b".git/info/exclude", info)
        if user is not None:
            config = self.home / ".config" / "git"
            config.mkdir(parents=True, exist_ok=True)
            (config / "ignore").write_bytes(user)

    def paths(self) -> list[bytes]:
        found = []
        root = os.fsencode(self.root)
        for folder, dirs, files in os.walk(root):
            if folder == root:
                dirs.remove(b".git")
            found += [os.path.relpath(os.path.join(folder, name), root) for name in dirs + files]
        return sorted(found)

    def git_ignores(self, paths: list[bytes]) -> dict[bytes, bool]:
        answer = run_git(
            self.root,
            *("check-ignore", "--no-index", "--stdin", "-z", "-v", "-n"),
            home=self.home,
            input=NUL.join(paths) + NUL,
        )
        fields = answer.split(NUL)[:-1]
        patterns = dict(zip(fields[3::4], fields[2::4], strict=True))
        return {path: patterns[path] != b"" and not patterns[path].startswith(b"!") for path in paths}

    def _read(self, path: bytes) -> bytes:
        try:
            with open(path, "rb") as file:
                return file.read()
        except OSError:
            return b""

    def stack(self) -> IgnoreStack:
        user = self._read(os.fsencode(self.home / ".config/git/ignore"))
        info = self._read(self.path(b".git/info/exclude"))
        return IgnoreStack(outer=(IgnoreFile.parse(user), IgnoreFile.parse(info)))

    def gitignore(self, directory: bytes) -> IgnoreFile | None:
        path = self.path(os.path.join(directory, b".gitignore"))
        if os.path.islink(path) or not os.path.exists(path):
            return None
        return IgnoreFile.parse(self._read(path), directory)

    def is_dir(self, path: bytes) -> bool:
        full = self.path(path)
        return os.path.isdir(full) and not os.path.islink(full)

    def snapd_ignores(self, paths: list[bytes]) -> dict[bytes, bool]:
        stack = self.stack()
        files: dict[bytes, IgnoreFile | None] = {}

        def load(directory: bytes) -> IgnoreFile | None:
            if directory not in files:
                files[directory] = self.gitignore(directory)
            return files[directory]

        return {path: stack.ignored_deep(path, self.is_dir(path), load) for path in paths}

    def agree(self) -> dict[bytes, bool]:
        paths = self.paths()
        expected = self.git_ignores(paths)
        assert self.snapd_ignores(paths) == expected
        return expected


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path)


NAMES = rb"""
    a b ab foo foobar keep a.txt b.o x #x !x [x] x] - \x x\ * ? ^ ..a
""".split()
NAMES += [
    b"x ", b"a\nb", b"\xff", "é".encode(), b"a\r", b"\xef\xbb\xbfa", b"x\t", b" ",
]  # fmt: skip

LINES = rb"""
    a /a a/ /a/ a/b /a/b a/b/ //a a// a//b / // ! !/ * /* */ ** **/ /** **/** *** *.txt *.txt/ a* *b *a* ? ??
    foo**/bar foo**bar **foo **/foo **/a/b a/** a/**/b a/**/**/b a/*/b a/***/b foo/**/ **/* */** */**/* **/a/**
    **/a/**/b a**/b a/**b a/b** a\/b **\/b a/**\/b **\/** \**/b \a/**/b [a]/**/b */\b *\/b foo**// a/**// /**/b x\
    \x \ \\x x\\ #x \#x !x \!x !\!x !#x !!x \ \/ a\ a/\ a\/ [x] \[x] [[]x] []] x[]] [!a] [^a] [^] [!] [] [ [a [a-
    [a-] [-a] [a-z] [z-a] [!a-z] [a-b-z] [\a] [\]] x[\]] [a\-z] [a-\z] [[:alpha:]] [a/b] [[:alpha:]-z] [[:space:]]
    x[[:space:]] [[:bogus:]] [[:alpha:] [[:alpha]] [[:] [[::]] [[:]] [a[:digit:]b] [[:upper:][:lower:]] [!/] a[/]b
    a[!x]b /a[!x]b a/[!x]
""".split()
LINES += [
    b" ", b"", b"x ", b"x  ", b"x\\ ", b"x\\  ", b"x \\", b"x\\\\ ", b"x\t", b"x\t ", b"\\ ", b" #x",
    b"[\x80-\xff]", b"[!\x01-\xff]", b"a\r", b"a\r\r", b"\xef\xbb\xbfa", b"a\0b", b"\0", b"!a\0", b"\xff", b"?\xa9",
    b"[\xc3]\xa9", b"\xc3*", b"\\\xff", b"a\nb",
]  # fmt: skip


@pytest.fixture(scope="module")
def crowded(tmp_path_factory: pytest.TempPathFactory) -> Tree:
    """Give a tree of awkward names, three levels deep; tests write its ignore files."""
    tree = Tree(tmp_path_factory.mktemp("crowded"))
    tree.add(*NAMES[4:])
    for top in (b"a", b"b", b"ab", b"foo"):
        tree.add(*(b"%s/%s" % (top, name) for name in NAMES if name not in (b"a", b"b", b"foo")))
        for middle in (b"a", b"b", b"foo"):
            tree.add(b"%s/%s/b/x" % (top, middle), b"%s/%s/bar" % (top, middle), b"%s/%s/a" % (top, middle))
    return tree


def clear(tree: Tree) -> None:
    tree.excludes(info=b"", user=b"")
    for directory in (b"", b"a/", b"a/b/"):
        tree.write(directory + b".gitignore", b"")


@pytest.mark.parametrize("ending", [b"", b"\n", b"\r\n"])
def test_each_single_line_matches_what_git_matches(crowded: Tree, ending: bytes) -> None:
    clear(crowded)
    paths = crowded.paths()
    for line in LINES[:: 1 if ending == b"\n" else amount(4, 1)]:
        crowded.write(b".gitignore", line + ending)
        assert crowded.snapd_ignores(paths) == crowded.git_ignores(paths), line


@pytest.mark.parametrize(
    "name",
    ["alnum", "alpha", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space", "upper", "xdigit"],
)
def test_each_class_holds_the_bytes_that_git_has_in_it(tree: Tree, name: str) -> None:
    bytes_of_a_name = [bytes([byte]) for byte in range(1, 256) if byte not in b"./"]
    tree.add(*(b"_" + byte for byte in bytes_of_a_name))
    tree.write(b".gitignore", b"_[[:%s:]]" % name.encode())
    assert any(tree.agree().values())
    tree.write(b".gitignore", b"_[^[:%s:]]" % name.encode())
    assert any(tree.agree().values())


def test_negation_across_levels(tree: Tree) -> None:
    tree.add(b"a/keep", b"a/drop", b"a/b/keep", b"a/b/drop", b"c/d/keep", b"c/d/drop", b"e/keep", b"keep", b"drop")
    tree.write(b".gitignore", b"a/*\n!a/keep\n!a/b/\nc/\n!c/d/keep\ne/*\n!keep\ndrop\n")
    tree.write(b"a/b/.gitignore", b"*\n!keep\n")
    tree.write(b"c/d/.gitignore", b"!*\n")
    answer = tree.agree()
    assert not answer[b"a/keep"]
    assert not answer[b"a/b/keep"]
    assert answer[b"a/drop"]
    assert answer[b"a/b/drop"]
    assert answer[b"c/d/keep"], "nothing below an ignored directory is taken back"
    assert not answer[b"e/keep"]


def test_a_deeper_file_wins_over_a_shallower_one(tree: Tree) -> None:
    tree.add(b"a/b/x", b"a/x", b"x", b"a/y", b"a/b/y")
    tree.write(b".gitignore", b"x\n/a/y\n")
    tree.write(b"a/.gitignore", b"!x\n!/y\n/b/y")
    tree.write(b"a/b/.gitignore", b"x\n")
    answer = tree.agree()
    assert [answer[path] for path in (b"x", b"a/x", b"a/b/x", b"a/y", b"a/b/y")] == [True, False, True, False, True]


def test_gitignore_wins_over_info_exclude_and_that_over_the_users(tree: Tree) -> None:
    tree.add(b"a", b"b", b"c", b"d", b"e")
    tree.excludes(user=b"a\nb\nc\n!d\n", info=b"!b\n!c\nd\ne")
    tree.write(b".gitignore", b"c\n!e")
    assert tree.agree() == {b".gitignore": False, b"a": True, b"b": False, b"c": True, b"d": True, b"e": False}


def test_a_directory_pattern_takes_neither_files_nor_symlinks(tree: Tree) -> None:
    tree.add(b"build/x", b"a/build", b"b/build/y", b"real/z")
    os.symlink(b"real", tree.path(b"b/out"))
    os.symlink(b"../real", tree.path(b"a/out"))
    tree.write(b".gitignore", b"build/\nout/\n")
    answer = tree.agree()
    assert not answer[b"a/build"]
    assert answer[b"b/build/y"]
    assert not answer[b"a/out"]


def test_a_symlinked_gitignore_has_no_effect(tree: Tree) -> None:
    tree.add(b"a/x", b"x")
    tree.write(b"rules", b"x\n")
    os.symlink(b"../rules", tree.path(b"a/.gitignore"))
    assert not tree.agree()[b"a/x"]


def test_line_endings_byte_order_mark_and_cut_lines(tree: Tree) -> None:
    tree.add(b"a", b"b", b"c", b"d", b"e\r", b"f", b"g", b"#h", b"i ", b"i")
    tree.write(b".gitignore", b"\xef\xbb\xbfa\r\nb  \r\n\r\n#c\r\n\\#h\ne\r\r\nf\0g\r\ni\\ \r\nd\r")
    ignored = {path for path, answer in tree.agree().items() if answer}
    assert ignored == {b"a", b"b", b"d", b"e\r", b"f", b"#h", b"i "}


PIECES = rb"""
    * * ** **/ /** / / ? a b ab foo bar x . txt \ [ ] [a-z] [!a] [^b] [[:alpha:]] [[: :]] [] - ! # \* \/ *** [!]
""".split()
PIECES += [
    b" ", b"\t", b"\xff", "é".encode(), b"\r", b"\0", b"\\ ", b"\xef\xbb\xbf",
]  # fmt: skip


def random_text(dice: random.Random, lines: int) -> bytes:
    made = []
    for _ in range(dice.randint(0, lines)):
        if dice.random() < 0.2:
            made.append(dice.choice([b"", b"!"]) + dice.choice(LINES))
            continue
        pattern = b"".join(dice.choice(PIECES) for _ in range(dice.randint(1, 6)))
        made.append(dice.choice([b"", b"", b"!", b"/"]) + pattern + dice.choice([b"", b"", b"/"]))
    return dice.choice([b"\n", b"\n", b"\r\n"]).join(made) + dice.choice([b"", b"\n"])


def compare_at_random(tree: Tree, seed: int, rounds: int) -> int:
    """Judge every path of the tree under random ignore files, by git and by snapd; give the number of paths."""
    dice = random.Random(seed)
    clear(tree)
    paths = tree.paths()
    for number in range(rounds):
        # Few lines in the root, or all below it is ignored and nothing is learnt of the deeper files.
        texts = {directory: random_text(dice, 3) for directory in (b"", b"a/", b"a/b/")}
        for directory, text in texts.items():
            tree.write(directory + b".gitignore", text)
        info, user = random_text(dice, 2), random_text(dice, 2)
        tree.excludes(info=info, user=user)
        expected, actual = tree.git_ignores(paths), tree.snapd_ignores(paths)
        differing = [path for path in paths if expected[path] != actual[path]]
        assert not differing, (seed, number, texts, info, user, differing)
    return rounds * len(paths)


def test_random_ignore_files_match_what_git_matches(crowded: Tree) -> None:
    assert compare_at_random(crowded, seed=20240229, rounds=amount(60, 600)) > 8_000


def test_a_stack_extended_while_walking_judges_as_git_does(crowded: Tree) -> None:
    clear(crowded)
    crowded.write(b".gitignore", b"*.txt\n/b\n!a.txt\nfoo/*\n!foo/a\n")
    crowded.write(b"a/.gitignore", b"!*.txt\nb/?\n")
    crowded.write(b"a/b/.gitignore", b"!b/\nbar\n")
    kept: set[bytes] = set()

    def walk(directory: bytes, stack: IgnoreStack) -> None:
        file = crowded.gitignore(directory)
        here = stack if file is None else stack.entering(file)
        for entry in os.scandir(crowded.path(directory)):
            path = os.path.join(directory, entry.name)
            is_dir = entry.is_dir(follow_symlinks=False)
            if path == b".git" or here.ignored(path, is_dir):
                continue
            kept.add(path)
            if is_dir:
                walk(path, here)

    walk(b"", crowded.stack())
    assert kept == {path for path, ignored in crowded.git_ignores(crowded.paths()).items() if not ignored}


def test_own_files_are_final_and_each_stands_for_itself() -> None:
    first = IgnoreFile.parse(b"*.log\n!keep.log\n")
    second = IgnoreFile.parse(b"tmp/\n!a.log\n")
    rules = IgnoreFile.parse(b"!*.log\n!tmp/\nkeep.log\n")
    stack = IgnoreStack(own=(first, second)).entering(rules)
    assert stack.ignored(b"a.log", False), "neither another own file nor a .gitignore takes it back"
    assert stack.ignored(b"tmp", True)
    assert stack.ignored(b"keep.log", False), "own files do not re-include what a .gitignore ignores"
    assert not IgnoreStack(own=(first, second)).ignored(b"keep.log", False)


def test_answers_of_one_file() -> None:
    file = IgnoreFile.parse(b"*.o\n!keep.o\n/top\n", b"sub/dir")
    assert file.match(b"sub/dir/x.o", False) is True
    assert file.match(b"sub/dir/deep/keep.o", False) is False
    assert file.match(b"sub/dir/top", True) is True
    assert file.match(b"sub/dir/deep/top", True) is None
    assert file.match(b"sub/x.o", False) is None
    assert file.match(b"sub/director/x.o", False) is None


def test_files_and_stacks_are_compared_by_text_and_base() -> None:
    file = IgnoreFile.parse(b"a\n", b"d")
    same = IgnoreFile.parse(b"a\n", b"d")
    file.match(b"d/a", False)
    assert file == same
    assert hash(file) == hash(same)
    assert file != IgnoreFile.parse(b"a\n")
    assert file != IgnoreFile.parse(b"b\n", b"d")
    assert IgnoreStack().entering(file) == IgnoreStack().entering(same)


def test_the_root_is_never_ignored() -> None:
    assert not IgnoreStack(outer=(IgnoreFile.parse(b"*\n"),)).ignored_deep(b"", True, lambda _: None)


def test_a_directory_below_an_ignored_one_is_not_read() -> None:
    asked: list[bytes] = []

    def load(directory: bytes) -> IgnoreFile | None:
        asked.append(directory)
        return IgnoreFile.parse(b"b/\n", directory) if directory == b"a" else None

    assert IgnoreStack().ignored_deep(b"a/b/c/d", False, load)
    assert asked == [b"", b"a"]


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        (b"*a" * 40 + b"b", b"a" * 250),
        (b"x/" + b"**/a/" * 30 + b"b", b"x/" + b"a/" * 500 + b"c"),
        (b"x/" + b"*a*a*/" * 20 + b"b", b"x/" + b"aaaaaaaaaa/" * 100 + b"c"),
    ],
)
def test_many_asterisks_do_not_take_long(pattern: bytes, path: bytes) -> None:
    file = IgnoreFile.parse(pattern)
    began = time.process_time()
    assert file.match(path, False) is None
    assert time.process_time() - began < 1


def test_eighty_thousand_paths_over_120_patterns_take_less_than_half_a_second() -> None:
    lines = (
        [b"name%d" % n for n in range(40)] + [b"*.ext%d" % n for n in range(25)] + [b"dir%d/" % n for n in range(15)]
    )
    lines += [b"/root/p%d" % n for n in range(10)] + [b"*.p[c%d]o" % n for n in range(8)]
    lines += [b"docs/**/x%d*.md" % n for n in range(8)] + [b"**/gen%d/*.c" % n for n in range(7)]
    lines += [b"tmp?%d*~" % n for n in range(7)]
    assert len(lines) == 120
    file = IgnoreFile.parse(b"\n".join(lines))
    paths = [b"src/pkg%d/module%d/file_%d.py" % (n % 50, n % 300, n) for n in range(80_000)]
    began = time.process_time()
    assert not any(file.match(path, False) for path in paths)
    assert time.process_time() - began < 0.5

"""`track`, `patch`, `diff`, `show`, `files`, `status`."""

from __future__ import annotations

import os
import re
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.cli.running import Terminal
from tests.support.git import run_git

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.running import Home

UNKNOWN = "0123456789abcdef0123456789abcdef01234567"


def put(project: str, name: str | bytes, data: bytes) -> None:
    path = os.path.join(os.fsencode(project), os.fsencode(name))
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(data)


def git_tree(project: str, git_dir: Path) -> str:
    """What git makes of the same files, in a repository of its own."""
    if not git_dir.exists():
        run_git(project, "init", "-q", "--bare", git_dir)
    common = (f"--git-dir={git_dir}", f"--work-tree={project}", "-c", "core.autocrlf=false")
    run_git(project, *common, "add", "-A", "-f", ".")
    return run_git(project, *common, "write-tree").decode().strip()


def test_track_prints_the_hash_alone(home: Home, project: str, tmp_path: Path) -> None:
    out = home.ok(project, "track")
    assert re.fullmatch(r"[0-9a-f]{40}\n", out)
    assert out.strip() == git_tree(project, tmp_path / "git")


def test_track_in_this_process_gives_the_same(home: Home, project: str) -> None:
    other = home.at("elsewhere")
    alone = home.ok(project, "track", "--no-daemon", env={"SNAPD_DATA_DIR": other})
    assert alone == home.ok(project, "track")


def test_track_of_files_without_any_folder(home: Home) -> None:
    root = home.project("flat", {"a.txt": b"a\n"})
    tree = home.track(root)
    assert home.ok(root, "files", tree) == "a.txt\n"


def test_track_force(home: Home, project: str) -> None:
    put(project, ".gitignore", b"*.log\n")
    put(project, "src/x.log", b"x")
    put(project, "src/y.log", b"y")
    without = home.track(project)
    assert "src/x.log" not in home.ok(project, "files", without).splitlines()
    # relative to where the command runs
    forced = home.track(os.path.join(project, "src"), "-C", "..", "--force", "src/x.log")
    names = home.ok(project, "files", forced).splitlines()
    assert "src/x.log" in names
    assert "src/y.log" not in names


def test_track_says_what_it_skipped(home: Home, project: str) -> None:
    os.mkfifo(os.path.join(project, "pipe"))
    result = home.run(project, "track")
    assert result.code == 0
    assert re.fullmatch(r"[0-9a-f]{40}\n", result.text)
    assert result.err == "snapd: skipped pipe (neither a regular file nor a link)\n"
    assert home.run(project, "track", "--json").json["skipped"] == [{"file": "pipe", "reason": "special"}]


def test_directory_before_and_after_the_command(home: Home, project: str) -> None:
    expected = home.track(project)
    assert home.ok(home.path, "-C", project, "track").strip() == expected
    assert home.ok(home.path, "track", "-C", project).strip() == expected
    assert home.ok(home.path, "-C", "/nowhere", "track", "-C", os.path.basename(project)).strip() == expected
    put(project, "src/main.py", b"changed\n")
    shown = home.ok(home.path, "-C", project, "diff", expected, "--file", "src/main.py")
    assert "+changed" in shown


def test_patch_summary(home: Home, project: str) -> None:
    before = home.track(project)
    put(project, "src/main.py", b"print(1)\nprint(3)\nprint(4)\n")
    put(project, "src/data.bin", bytes(range(255)))
    put(project, "new.txt", b"a\nb\n")
    os.remove(os.path.join(project, "README.md"))
    assert home.ok(project, "patch", before).splitlines() == [
        "D README.md     +0 -1 -",
        "A new.txt       +2 -0 ++",
        "M src/data.bin  binary",
        "M src/main.py   +2 -1 ++-",
        "4 files changed, +4 -2",
    ]
    after = home.track(project)
    assert home.ok(project, "patch", before, after) == home.ok(project, "patch", before)
    assert home.ok(project, "diff", before, "last") == home.ok(project, "diff", before, after)
    assert home.ok(project, "patch", after) == "0 files changed, +0 -0\n"


def test_patch_shows_renames_and_modes(home: Home, project: str) -> None:
    put(project, "src/long.txt", b"".join(b"line %d\n" % number for number in range(50)))
    before = home.track(project)
    os.rename(os.path.join(project, "src/long.txt"), os.path.join(project, "src/moved.txt"))
    os.chmod(os.path.join(project, "README.md"), 0o755)
    shown = home.ok(project, "patch", before).splitlines()
    assert shown[0].split() == ["M", "README.md", "+0", "-0", "mode", "100644", "→", "100755"]
    assert shown[1].split() == ["R", "src/long.txt", "→", "src/moved.txt", "+0", "-0"]
    assert home.ok(project, "patch", "--no-renames", before).splitlines()[-1] == "3 files changed, +50 -50"


def test_json_everywhere(home: Home, project: str) -> None:
    tracked = home.run(project, "track", "--json").json
    assert tracked == {"hash": tracked["hash"], "skipped": []}
    tree = tracked["hash"]
    put(project, "src/main.py", b"x\n")
    root = os.path.realpath(project)
    assert home.run(project, "patch", "--json", tree).json == {"hash": tree, "files": [f"{root}/src/main.py"]}
    assert home.run(project, "diff", "--json", tree).json["diff"].startswith("diff --git a/src/main.py b/src/main.py\n")
    shown = home.run(project, "show", "--json", f"src/data.bin@{tree}").json
    assert (shown["size"], shown["binary"], shown["encoding"]) == (256, True, "base64")
    assert home.run(project, "files", "--json", tree, "src/").json == {"files": ["src/data.bin", "src/main.py"]}
    assert home.run(project, "status", "--json").json["lastHash"] == tree
    plan = home.run(project, "revert", "--json", "--dry-run", tree, "src/main.py").json
    assert (plan["applied"], plan["files"]) == (False, [{"file": "src/main.py", "outcome": "restored"}])
    done = home.run(project, "restore", "--json", "--yes", tree).json
    assert (done["applied"], done["after"]) == (True, tree)


def test_diff_is_that_of_git(home: Home, project: str, tmp_path: Path) -> None:
    git_dir = tmp_path / "git"
    put(project, "crlf.txt", b"a\r\nb\r\n")
    put(project, "empty", b"")
    first = home.track(project)
    assert git_tree(project, git_dir) == first
    put(project, "src/main.py", b"print(2)\nprint(3)")
    put(project, "crlf.txt", b"a\r\nc\r\n")
    put(project, "with space é.txt", "ü\n".encode())
    put(project, "src/data.bin", b"\0")
    os.remove(os.path.join(project, "README.md"))
    os.chmod(os.path.join(project, "empty"), 0o755)
    os.symlink("main.py", os.path.join(project, "src/link"))
    second = home.track(project)
    assert git_tree(project, git_dir) == second
    expected = run_git(project, f"--git-dir={git_dir}", "diff", "--binary", "--no-renames", first, second)

    def unpacked(diff: bytes) -> bytes:
        """Without the bytes of binary files, which every zlib packs in its own way."""
        return re.sub(rb"(?m)^(literal \d+\n)(?:.+\n)+", rb"\1", diff)

    assert unpacked(home.run(project, "diff", first).out) == unpacked(expected)
    assert unpacked(home.run(project, "diff", first, second).out) == unpacked(expected)
    only = run_git(project, f"--git-dir={git_dir}", "diff", "--binary", "--no-renames", first, second, "--", "src")
    assert unpacked(home.run(project, "diff", first, "--file", "src").out) == unpacked(only)


def test_diff_colours(home: Home, project: str) -> None:
    # what Python takes for a line end, and what looks like a header and is none
    put(project, "src/main.py", b"-- old\x0c+x\n")
    tree = home.track(project)
    put(project, "src/main.py", b"++ new\n")
    plain = home.ok(project, "diff", tree)
    assert "\033" not in plain
    assert home.ok(project, "diff", "--color=never", tree) == plain
    coloured = home.ok(project, "diff", "--color=always", tree)
    assert re.sub("\033\\[[0-9]+m", "", coloured) == plain
    assert "\033[31m--- old\x0c+x\033[0m\n" in coloured
    assert "\033[32m+++ new\033[0m\n" in coloured
    assert "\033[1m--- a/src/main.py\033[0m\n" in coloured
    assert "\033[36m@@ " in coloured


def test_colour_on_a_terminal(home: Home, project: str) -> None:
    tree = home.track(project)
    put(project, "src/main.py", b"new\n")
    assert "\033[32m+new" in Terminal(home, project, "diff", tree).finish().err
    assert "\033" not in Terminal(home, project, "diff", "--color=never", tree).finish().err
    assert b"\033" not in Terminal(home, project, "diff", tree, out=False).finish().out


def test_show_is_byte_exact(home: Home, project: str) -> None:
    contents = {
        "src/data.bin": bytes(range(256)),
        "a@b.txt": b"at\r\nno line end",
        "latin.txt": b"caf\xe9\n",
        "empty": b"",
    }
    for name, data in contents.items():
        put(project, name, data)
    tree = home.track(project)
    for name, data in contents.items():
        put(project, name, b"changed")
        assert home.run(project, "show", f"{name}@{tree}").out == data
    assert home.run(os.path.join(project, "src"), "show", f"src/data.bin@{tree}", "-C", "..").out == bytes(range(256))
    assert home.run(project, "show", f"{project}/empty@last").out == b""


def test_files_with_prefix(home: Home, project: str) -> None:
    tree = home.track(project)
    assert home.ok(project, "files", tree) == "README.md\nsrc/data.bin\nsrc/main.py\n"
    assert home.ok(project, "files", tree, "src/m") == "src/main.py\n"
    assert home.ok(project, "files", "last", "nothing") == ""


def test_status(home: Home, project: str) -> None:
    assert "none yet" in home.ok(project, "status")
    tree = home.track(project)
    lines = dict(line.split(maxsplit=1) for line in home.ok(project, "status").splitlines())
    assert lines["last"] == tree
    assert lines["snapshots"] == "on"
    assert lines["files"] == "3"


def test_last_stands_for_the_newest(home: Home, project: str) -> None:
    result = home.run(project, "patch", "last")
    assert (result.code, result.err) == (
        2,
        "snapd: there is no snapshot of this folder yet\nhint: 'snapd track' takes one\n",
    )
    home.track(project)
    put(project, "src/main.py", b"one\n")
    assert home.ok(project, "patch", "last").splitlines()[-1] == "1 file changed, +1 -2"
    assert home.run(project, "show", "src/main.py@last").out == b"print(1)\nprint(2)\n"


def test_names_that_play_tricks(home: Home, project: str) -> None:
    put(project, "a\033[31m\nb", b"x")
    put(project, b"\xff\xfe", b"y")
    put(project, "é→", b"z")
    tree = home.track(project)
    for name in ("a\033[31m\nb", b"\xff\xfe", "é→"):
        put(project, name, b"w")
    shown = home.ok(project, "patch", tree)
    assert "\033" not in shown
    assert "M a\\x1b[31m\\nb" in shown
    assert "M é→" in shown
    assert len(shown.splitlines()) == 4
    on_terminal = Terminal(home, project, "files", tree).finish().err
    assert "\033" not in on_terminal
    # as a shell takes them again
    assert r"$'a\x1b[31m\nb'" in on_terminal
    assert r"$'\xff\xfe'" in on_terminal
    # and a script gets the very bytes
    assert b"\xff\xfe\n" in home.run(project, "files", tree).out
    # and they can be named
    assert home.run(project, "show", b"\xff\xfe@" + tree.encode()).out == b"y"
    assert home.run(project, "show", f"a\033[31m\nb@{tree}").out == b"x"
    assert home.run(project, "revert", "--yes", tree, b"\xff\xfe").code == 0
    with open(os.path.join(os.fsencode(project), b"\xff\xfe"), "rb") as file:
        assert file.read() == b"y"
    missing = home.run(project, "show", f"no\nsuch\033@{tree}")
    assert (missing.code, missing.err.count("\n")) == (1, 2)
    assert "\033" not in missing.err


def test_other_encodings_of_the_terminal(home: Home, project: str) -> None:
    put(project, "é", b"1\n")
    tree = home.track(project)
    ascii_only = {"PYTHONIOENCODING": "ascii", "LC_ALL": "C"}
    assert home.ok(project, "files", tree, env=ascii_only).splitlines()[-1] == "é"


def test_off_by_the_environment(home: Home, project: str) -> None:
    result = home.run(project, "track", env={"SNAPD_SNAPSHOT": "0"})
    assert (result.code, result.out, result.err) == (0, b"", "snapd: snapshots are off\n")
    assert home.run(project, "track", "--json", env={"SNAPD_SNAPSHOT": "off"}).json == {
        "hash": None,
        "reason": "disabled",
        "skipped": [],
    }
    alone = home.run(project, "track", "--no-daemon", env={"SNAPD_SNAPSHOT": "no", "SNAPD_DATA_DIR": home.at("off")})
    assert alone.err == "snapd: snapshots are off\n"
    # the daemon still takes those of others
    assert len(home.track(project)) == 40


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("patch", "abc"), "no step 'abc' in this folder, and a hash needs 6 digits"),
        (("diff", UNKNOWN.upper()), "a snapshot is a hash or its beginning"),
        (("diff", UNKNOWN, "last"), "there is no snapshot of this folder yet"),
        (("restore", "--yes", "README.md"), "got 'README.md'"),
        (("show", "README.md"), "expected a step"),
        (("show", "@" + UNKNOWN), "expected FILE@SNAPSHOT"),
    ],
)
def test_wrong_words_are_2(home: Home, project: str, args: tuple[str, ...], said: str) -> None:
    result = home.run(project, *args)
    assert (result.code, result.out) == (2, b"")
    assert result.err.startswith("snapd: ")
    assert said in result.err
    assert [line.partition(" ")[0] for line in result.err.splitlines()] == ["snapd:", "hint:"]


@pytest.mark.parametrize("args", [("bogus",), ("track", "--bogus"), ("patch",), ("diff", "--color=sometimes", UNKNOWN)])
def test_wrong_usage_is_2(home: Home, args: tuple[str, ...]) -> None:
    result = home.run(home.path, *args)
    assert (result.code, result.out) == (2, b"")
    assert result.err.startswith("usage: snapd")


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("patch", UNKNOWN), UNKNOWN),
        (("show", "no/such@last"), "no/such is not in snapshot"),
        (("show", "/etc/passwd@last"), "/etc/passwd is not in the workspace"),
        (("show", ".git/config@last"), ".git"),
        (("track", "-C", "/"), "root of the file system"),
        (("track", "-C", "/no/such/folder"), "/no/such/folder cannot be a workspace"),
    ],
)
@pytest.mark.parametrize("way", [(), ("--no-daemon",)])
def test_refusals_are_1(home: Home, project: str, args: tuple[str, ...], said: str, way: tuple[str, ...]) -> None:
    env = {"SNAPD_DATA_DIR": home.at("refusals")} if way else {}
    assert home.run(project, "track", *way, env=env).code == 0
    result = home.run(project, *args, *way, env=env)
    assert (result.code, result.out) == (1, b""), result
    assert result.err.startswith("snapd: ")
    assert said in result.err
    assert [line.partition(" ")[0] for line in result.err.splitlines()] == ["snapd:", "hint:"]


def test_a_reader_that_has_seen_enough(home: Home, project: str) -> None:
    tree = home.track(project)
    for code, *args in (
        (0, "track"),
        (141, "files", tree),
        (141, "status", "--json"),
        (141, "show", f"src/data.bin@{tree}"),
    ):
        reading, writing = os.pipe()
        os.close(reading)
        process = home.popen(project, *map(str, args), stdout=writing, stderr=subprocess.PIPE)
        os.close(writing)
        _, err = process.communicate(timeout=60)
        assert (process.returncode, err) == (code, b"")

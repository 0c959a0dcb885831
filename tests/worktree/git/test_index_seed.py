"""What the user's index vouches for must be the blob of the bytes on disk."""

from __future__ import annotations

import hashlib
import os
import random
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from snapd.model.paths import parents
from snapd.store.adopt import ProjectBlobs
from snapd.worktree.fs.listing import list_directory
from snapd.worktree.git.config import GitUser
from snapd.worktree.git.index_seed import IndexSeed
from snapd.worktree.git.repository import find_repository, object_directories
from tests.support.amounts import amount
from tests.support.git import run_git

NAMES = ("a.txt", "b.txt", "dir/one.txt", "dir/two.dat", "dir/sub/three.txt", "other/four.psd", "tool.sh")


def at(path: Path) -> bytes:
    return os.fsencode(path)


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return filled(tmp_path / "repo")


def filled(root: Path, *options: str) -> Path:
    root.mkdir()
    run_git(root, "init", "-q", *options)
    for name in NAMES:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"content of %s\nand $Id$ more\n" % name.encode())
    (root / "empty").write_bytes(b"")
    (root / "link").symlink_to("a.txt")
    (root / "tool.sh").chmod(0o755)
    run_git(root, "add", ".")
    run_git(root, "commit", "-q", "-m", "x")
    return root


ALL = {*map(str.encode, NAMES), b"empty", b"link"}


def settle(root: Path) -> None:
    """Pack the objects, and make the index as `settle_index` does."""
    pack(root)
    settle_index(root)


def pack(root: Path) -> None:
    run_git(root, "repack", "-q", "-a", "-d", "-l", "-k")


def settle_index(root: Path) -> None:
    """Make the index as it would be had git written it a while after the files."""
    repository = find_repository(at(root))
    assert repository is not None
    later = time.time_ns() + 10_000_000_000
    os.utime(repository.index_path, ns=(later, later))


def files_below(folder: Path) -> list[bytes]:
    found = []
    for path in folder.rglob("*"):
        relative = path.relative_to(folder)
        if ".git" not in relative.parts and (path.is_symlink() or path.is_file()):
            found.append(at(relative))
    return found


def hashes(folder: Path, paths: list[bytes]) -> dict[bytes, bytes]:
    """The blobs of what is on disk, without any conversion."""
    found = {}
    for path in paths:
        full = os.path.join(at(folder), path)
        data = os.readlink(full) if os.path.islink(full) else Path(os.fsdecode(full)).read_bytes()
        found[path] = hashlib.sha1(b"blob %d\0%s" % (len(data), data)).digest()
    return found


def load(root: Path, folder: Path | None = None, home: Path | None = None) -> IndexSeed | None:
    repository = find_repository(at(folder or root))
    assert repository is not None
    user = GitUser(str(home or "/nonexistent"), None, "/nonexistent", "/nonexistent")
    strip = b"" if folder is None or folder == root else at(folder.relative_to(root))
    return IndexSeed.load(repository, user, ProjectBlobs, strip)


def vouched(root: Path, folder: Path | None = None, home: Path | None = None) -> set[bytes]:
    """The paths that are vouched for, after each answer was compared with the disk."""
    seed = load(root, folder, home)
    if seed is None:
        return set()
    folder = folder or root
    paths = files_below(folder)
    found = {}
    for directory in sorted({b"", *(part for path in paths for part in parents(path))}):
        descriptor = os.open(os.path.join(at(folder), directory), os.O_RDONLY)
        listing = list_directory(descriptor)
        names = listing.names.split(b"\0")[:-1]
        if b".gitattributes" in names:
            seed.read_attributes(directory, descriptor)
        os.close(descriptor)
        for name, oid in zip(names, seed.oids(directory, listing), strict=True):
            if oid is not None:
                found[directory + b"/" + name if directory else name] = oid
    actual = hashes(folder, paths)
    assert found == {path: actual[path] for path in found}
    assert set(found.values()) <= seed.wanted
    assert ProjectBlobs(seed.object_directories).sizes(set(found.values())).keys() == set(found.values())
    return set(found)


def checked_out_again(root: Path, *options: str) -> None:
    """Have git write every file anew under the attributes and the configuration that are in force."""
    for path in files_below(root):
        if os.path.basename(path) != b".gitattributes":
            os.unlink(os.path.join(at(root), path))
    run_git(root, *options, "checkout", "-q", "-f", ".")
    settle(root)


def test_a_clean_work_tree_is_vouched_for(repo: Path) -> None:
    settle(repo)
    assert vouched(repo) == ALL


def test_files_whose_objects_lie_loose_are_not(repo: Path) -> None:
    """To find out whether a loose object is sound takes as long as to read the file."""
    settle(repo)
    (repo / "late").write_bytes(b"late\n")
    run_git(repo, "add", "late")
    settle_index(repo)
    assert vouched(repo) == ALL
    pack(repo)
    assert vouched(repo) == {*ALL, b"late"}


def test_packed_objects(repo: Path) -> None:
    for number in range(40):
        (repo / f"delta{number}").write_bytes(b"".join(b"%d line\n" % n for n in range(300)) + b"%d" % number * 200)
    run_git(repo, "add", ".")
    run_git(repo, "repack", "-q", "-a", "-d")
    run_git(repo, "commit", "-q", "-m", "x")
    run_git(repo, "repack", "-q", "-a", "-d", "-f")
    settle(repo)
    assert len(vouched(repo)) == len(ALL) + 40


def test_a_workspace_below_the_root(repo: Path) -> None:
    settle(repo)
    assert vouched(repo, repo / "dir") == {b"one.txt", b"two.dat", b"sub/three.txt"}


def test_what_changed_is_not(repo: Path) -> None:
    settle(repo)
    (repo / "a.txt").write_bytes(b"longer than it was before, by far and far\n")
    before = os.stat(repo / "b.txt")
    (repo / "b.txt").write_bytes((repo / "b.txt").read_bytes().replace(b"content", b"CONTENT"))
    os.utime(repo / "b.txt", ns=(before.st_atime_ns, before.st_mtime_ns))
    os.utime(repo / "dir" / "one.txt")
    (repo / "tool.sh").chmod(0o644)
    (repo / "empty").write_bytes(b"now it has bytes")
    (repo / "link").unlink()
    (repo / "link").symlink_to("b.txt")
    (repo / "untracked").write_bytes(b"x")
    assert vouched(repo) == {b"dir/two.dat", b"dir/sub/three.txt", b"other/four.psd"}


def test_a_link_for_a_file_and_a_file_for_a_link(repo: Path) -> None:
    settle(repo)
    (repo / "a.txt").unlink()
    (repo / "a.txt").symlink_to("b.txt")
    (repo / "link").unlink()
    (repo / "link").write_bytes(b"a.txt")
    assert vouched(repo) == ALL - {b"a.txt", b"link"}


def test_a_copy_has_other_inodes(repo: Path, tmp_path: Path) -> None:
    settle(repo)
    run_git(tmp_path, "init", "-q", "scratch")
    os.system(f"cp -a {repo} {tmp_path / 'copy'}")
    assert vouched(tmp_path / "copy") == set()


@pytest.mark.parametrize("set_back", [False, True])
def test_a_rewrite_in_the_tick_of_the_add(repo: Path, set_back: bool) -> None:
    """Nothing waits here: many rounds fall into one tick of the clock that stamps files."""
    path = repo / "a.txt"
    for number in range(amount(40, 300)):
        path.write_bytes(b"%05d first" % number)
        old = 1_600_000_000_123_456_789
        if set_back:
            os.utime(path, ns=(old, old))
        run_git(repo, "add", "a.txt")
        path.write_bytes(b"%05d other" % number)
        if set_back:
            os.utime(path, ns=(old, old))
        vouched(repo)


def test_equal_times_are_racy(repo: Path) -> None:
    pack(repo)
    status = os.stat(repo / "a.txt")
    index = repo / ".git" / "index"
    os.utime(index, ns=(status.st_ctime_ns, status.st_ctime_ns))
    assert b"a.txt" not in vouched(repo)
    os.utime(index, ns=(status.st_ctime_ns + 1, status.st_ctime_ns + 1))
    assert b"a.txt" in vouched(repo)


def test_a_time_set_back_does_not_hide_the_tick(repo: Path) -> None:
    os.utime(repo / "a.txt", ns=(0, 1_600_000_000_123_456_789))
    run_git(repo, "add", "a.txt")
    pack(repo)
    changed = os.stat(repo / "a.txt").st_ctime_ns
    os.utime(repo / ".git" / "index", ns=(changed, changed))
    assert b"a.txt" not in vouched(repo)
    os.utime(repo / ".git" / "index", ns=(changed, changed + 1))
    assert b"a.txt" in vouched(repo)


def test_times_of_whole_seconds_are_racy_for_two(repo: Path) -> None:
    second = int(time.time()) + 100
    os.utime(repo / "a.txt", ns=(0, second * 10**9))
    run_git(repo, "add", "a.txt")
    pack(repo)
    for ahead, sure in ((0, False), (1, False), (2, True)):
        os.utime(repo / ".git" / "index", ns=(0, (second + ahead) * 10**9 + 5))
        assert (b"a.txt" in vouched(repo)) == sure


def test_autocrlf_at_check_out(repo: Path) -> None:
    checked_out_again(repo, "-c", "core.autocrlf=true")
    assert b"\r\n" in (repo / "a.txt").read_bytes()
    # git takes all of it for unchanged, with the setting and without
    assert run_git(repo, "diff-files", "--name-only") == b""
    assert vouched(repo) == {b"empty", b"link"}


def test_autocrlf_at_add(repo: Path) -> None:
    (repo / "a.txt").write_bytes(b"one\r\ntwo\r\n")
    run_git(repo, "-c", "core.autocrlf=true", "add", ".")
    settle(repo)
    assert vouched(repo) == ALL - {b"a.txt"}


@pytest.mark.parametrize("line", ["* text=auto", "*.txt text eol=crlf", "*.txt crlf", "* -text", "*.txt binary"])
@pytest.mark.parametrize("gone", [False, True])
def test_line_ends(repo: Path, line: str, gone: bool) -> None:
    (repo / ".gitattributes").write_text(line + "\n")
    (repo / "a.txt").write_bytes(b"one\r\ntwo\r\n")
    run_git(repo, "add", ".")
    checked_out_again(repo)
    if gone:
        (repo / ".gitattributes").unlink()
    found = vouched(repo)
    # the size alone tells, so nothing else is doubted
    assert found >= {b"dir/two.dat", b"other/four.psd", b"empty", b"link"}


MACRO = "[attr]inner -diff ident\n[attr]mine inner text\n"


def turn(repo: Path) -> None:
    """Configure a filter that keeps the size."""
    run_git(repo, "config", "filter.turn.clean", "tr a-z b-za")
    run_git(repo, "config", "filter.turn.smudge", "tr b-za a-z")


@pytest.mark.parametrize("attribute", ["ident", "mine", "working-tree-encoding=UTF-16LE", "filter=lfs"])
@pytest.mark.parametrize("where", ["root", "nested", "info", "user", "above", "untracked", "deleted", "quoted"])
def test_conversions_that_the_size_may_not_show(repo: Path, tmp_path: Path, attribute: str, where: str) -> None:
    home = tmp_path / "home"
    (home / ".config" / "git").mkdir(parents=True)
    run_git(repo, "config", "filter.lfs.clean", "tr a-z b-za")
    run_git(repo, "config", "filter.lfs.smudge", "tr b-za a-z")
    (repo / ".gitattributes").write_text(MACRO)
    line = f"*.txt {attribute}\n"
    if where in ("root", "above", "deleted", "quoted"):
        (repo / ".gitattributes").write_text(MACRO + (line.replace("*.txt", '"*.txt"') if where == "quoted" else line))
    elif where in ("nested", "untracked"):
        (repo / "dir" / ".gitattributes").write_text(line)
    elif where == "info":
        (repo / ".git" / "info" / "attributes").write_text(MACRO + line)
    else:
        (home / ".config" / "git" / "attributes").write_text(MACRO + line)
    for name in NAMES:
        text = (repo / name).read_bytes().replace(b"$Id$", b"$Id: " + b"0" * 40 + b" $")
        # of an even number of bytes, so that it is UTF-16 as well
        (repo / name).write_bytes(text + b"\n" * (len(text) % 2))
    run_git(repo, "add", *NAMES)
    if where != "untracked":
        run_git(repo, "add", ".", home=home)
    for path in (repo / name for name in NAMES):
        path.unlink()
    run_git(repo, "-c", "core.safecrlf=false", "checkout", "-q", "-f", ".", home=home)
    settle(repo)
    if where == "deleted":
        (repo / ".gitattributes").unlink()
    folder = repo / "dir" if where == "above" else repo
    found = vouched(repo, folder, home)
    if where == "quoted":
        assert found == set()
        return
    expected = {b"two.dat"} if where == "above" else {b"dir/two.dat", b"other/four.psd", b"tool.sh", b"empty", b"link"}
    assert expected <= found
    assert not {b"dir/one.txt", b"dir/sub/three.txt", b"one.txt", b"sub/three.txt"} & found


def test_keywords_of_the_same_size_after_a_check_out(repo: Path) -> None:
    """Git puts its own name in place of another: the size stays, and so does what the index says."""
    (repo / "a.txt").write_bytes(b"$Id: " + b"0" * 40 + b" $\n")
    run_git(repo, "add", ".")
    (repo / ".git" / "info" / "attributes").write_text("*.txt ident\n")
    checked_out_again(repo)
    assert b"0" * 40 not in (repo / "a.txt").read_bytes()
    assert (repo / "a.txt").stat().st_size == 48
    assert b"a.txt" not in vouched(repo)


@pytest.mark.parametrize("kept", [True, False])
def test_a_filter_that_keeps_the_size(repo: Path, kept: bool) -> None:
    turn(repo)
    (repo / ".gitattributes").write_text("*.txt filter=turn\n")
    (repo / "a.txt").write_bytes(b"some words\n")
    run_git(repo, "add", ".")
    settle(repo)
    if not kept:
        (repo / ".gitattributes").write_text("")
        run_git(repo, "add", ".gitattributes")
        settle(repo)
    assert run_git(repo, "cat-file", "-p", ":a.txt") == b"tpnf xpset\n"
    assert vouched(repo) == set()


def test_git_lfs(repo: Path) -> None:
    pointer = "printf 'version https://git-lfs.github.com/spec/v1\\noid sha256:0\\nsize 1\\n'; cat >/dev/null"
    run_git(repo, "config", "filter.lfs.clean", pointer)
    (repo / ".gitattributes").write_text("*.psd filter=lfs diff=lfs merge=lfs -text\n")
    (repo / "other" / "four.psd").write_bytes(b"pixels" * 1000)
    run_git(repo, "add", ".")
    settle(repo)
    assert vouched(repo) == {*ALL, b".gitattributes"} - {b"other/four.psd"}
    (repo / ".gitattributes").write_text("")
    assert vouched(repo) == ALL - {b"other/four.psd"}


def test_an_attribute_file_of_the_configuration(repo: Path, tmp_path: Path) -> None:
    (repo / "a.txt").write_bytes(b"$Id: 1234 $\n")
    (tmp_path / "mine").write_text("*.txt ident\n")
    run_git(repo, "config", "core.attributesFile", str(tmp_path / "mine"))
    run_git(repo, "add", ".")
    settle(repo)
    assert vouched(repo) == {b"dir/two.dat", b"other/four.psd", b"tool.sh", b"empty", b"link"}
    run_git(repo, "config", "--unset", "core.attributesFile")
    home = tmp_path / "home"
    home.mkdir()
    (home / ".gitconfig").write_text('[includeIf "gitdir:/"]\npath = more\n')
    (home / "more").write_text(f"[core]\nattributesFile = {tmp_path / 'mine'}\n")
    assert b"a.txt" not in vouched(repo, home=home)
    assert vouched(repo, home=home)


def test_patterns_without_regard_to_case(repo: Path) -> None:
    run_git(repo, "config", "core.ignoreCase", "true")
    (repo / "dir" / ".gitattributes").write_text("*.TXT ident\n")
    (repo / "dir" / "one.txt").write_bytes(b"$Id: 1234 $\n")
    run_git(repo, "add", ".")
    settle(repo)
    assert vouched(repo) == {b"a.txt", b"b.txt", b"other/four.psd", b"tool.sh", b"empty", b"link"}


def test_an_attribute_file_that_is_a_link_is_not_read(repo: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("")
    (repo / "dir" / ".gitattributes").symlink_to(tmp_path / "mine")
    settle(repo)
    assert vouched(repo) == {b"a.txt", b"b.txt", b"other/four.psd", b"tool.sh", b"empty", b"link"}


def test_an_untracked_attribute_file_above_the_workspace(repo: Path) -> None:
    (repo / ".gitattributes").write_text("*.txt ident\n")
    (repo / "dir" / "one.txt").write_bytes(b"$Id: 1234 $\n")
    run_git(repo, "add", "dir")
    settle(repo)
    assert vouched(repo, repo / "dir") == {b"two.dat"}


def test_a_damaged_configuration_or_index(repo: Path) -> None:
    settle(repo)
    config = (repo / ".git" / "config").read_bytes()
    (repo / ".git" / "config").write_bytes(config + b"[core\n")
    assert load(repo) is None
    (repo / ".git" / "config").write_bytes(config)
    assert vouched(repo) == ALL
    (repo / ".git" / "index").write_bytes(b"DIRC")
    assert load(repo) is None
    (repo / ".git" / "index").unlink()
    assert load(repo) is None


def intent_to_add(repo: Path) -> set[bytes]:
    (repo / "new").write_bytes(b"")
    run_git(repo, "add", "-N", "new")
    return ALL


def assume_unchanged(repo: Path) -> set[bytes]:
    run_git(repo, "update-index", "--assume-unchanged", "a.txt", "b.txt")
    (repo / "a.txt").write_bytes(b"something else altogether")
    return ALL - {b"a.txt", b"b.txt"}


def skip_worktree(repo: Path) -> set[bytes]:
    run_git(repo, "update-index", "--skip-worktree", "a.txt")
    return ALL - {b"a.txt"}


def conflict(repo: Path) -> set[bytes]:
    oid = run_git(repo, "rev-parse", ":a.txt").strip()
    stages = b"0 %s 0\ta.txt\n" % (b"0" * 40)
    stages += b"".join(b"100644 %s %d\ta.txt\n" % (oid, stage) for stage in (1, 2, 3))
    run_git(repo, "update-index", "--index-info", input=stages)
    return ALL - {b"a.txt"}


def no_stat_data(repo: Path) -> set[bytes]:
    run_git(repo, "read-tree", "HEAD")
    return set()


def version_4(repo: Path) -> set[bytes]:
    run_git(repo, "update-index", "--index-version", "4")
    return ALL


def split_index(repo: Path) -> set[bytes]:
    run_git(repo, "config", "splitIndex.maxPercentChange", "100")
    run_git(repo, "update-index", "--split-index")
    (repo / "a.txt").write_bytes(b"replaced\n")
    (repo / "new").write_bytes(b"new\n")
    run_git(repo, "add", "a.txt", "new")
    run_git(repo, "rm", "-q", "--cached", "b.txt")
    return {*ALL, b"new"} - {b"b.txt"}


def sparse_index(repo: Path) -> set[bytes]:
    run_git(repo, "sparse-checkout", "set", "--cone", "--sparse-index", "dir")
    (repo / "other").mkdir(exist_ok=True)
    (repo / "other" / "four.psd").write_bytes(b"x")
    return ALL - {b"other/four.psd"}


def minimal_stat(repo: Path) -> set[bytes]:
    run_git(repo, "config", "core.checkStat", "minimal")
    run_git(repo, "config", "core.trustctime", "false")
    (repo / "a.txt").chmod(0o600)
    run_git(repo, "update-index", "--refresh")
    return ALL - {b"a.txt"}


@pytest.mark.parametrize(
    "prepare",
    [
        intent_to_add,
        assume_unchanged,
        skip_worktree,
        conflict,
        no_stat_data,
        version_4,
        split_index,
        sparse_index,
        minimal_stat,
    ],
    ids=lambda prepare: prepare.__name__,
)
def test_states_of_the_index(repo: Path, prepare: Callable[[Path], set[bytes]]) -> None:
    expected = prepare(repo)
    settle(repo)
    assert vouched(repo) == expected


def test_a_linked_work_tree(repo: Path, tmp_path: Path) -> None:
    run_git(repo, "worktree", "add", "-q", str(tmp_path / "other"))
    settle(tmp_path / "other")
    assert vouched(tmp_path / "other") == ALL


def test_a_sha256_repository_is_left_alone(tmp_path: Path) -> None:
    root = filled(tmp_path / "repo", "--object-format=sha256")
    settle(root)
    assert load(root) is None


@pytest.mark.parametrize("option", ["--shared", "--reference"])
def test_borrowed_objects(repo: Path, tmp_path: Path, option: str) -> None:
    pack(repo)
    options = ["--shared"] if option == "--shared" else ["--reference", str(repo)]
    run_git(tmp_path, "clone", "-q", *options, f"file://{repo}" if option != "--shared" else str(repo), "clone")
    settle(tmp_path / "clone")
    assert vouched(tmp_path / "clone") == ALL


def test_a_partial_clone(repo: Path, tmp_path: Path) -> None:
    run_git(repo, "config", "uploadpack.allowFilter", "true")
    run_git(tmp_path, "clone", "-q", "--filter=blob:none", f"file://{repo}", "clone")
    settle(tmp_path / "clone")
    assert vouched(tmp_path / "clone") == ALL
    run_git(tmp_path, "clone", "-q", "--filter=blob:none", "--no-checkout", f"file://{repo}", "bare")
    run_git(tmp_path / "bare", "read-tree", "HEAD")
    settle(tmp_path / "bare")
    assert vouched(tmp_path / "bare") == set()


def test_a_submodule(repo: Path, tmp_path: Path) -> None:
    outer = tmp_path / "outer"
    outer.mkdir()
    run_git(outer, "init", "-q")
    run_git(outer, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(repo), "inner")
    settle(outer)
    settle(outer / "inner")
    assert vouched(outer) == {b".gitmodules"}
    assert vouched(outer / "inner") == ALL


def test_an_object_that_is_gone(repo: Path) -> None:
    settle(repo)
    (repo / "late").write_bytes(b"late\n")
    run_git(repo, "add", "late")
    name = run_git(repo, "rev-parse", ":late").decode().strip()
    (repo / ".git" / "objects" / name[:2] / name[2:]).unlink()
    settle_index(repo)
    assert vouched(repo) == ALL


def test_alternates_as_git_reads_them(tmp_path: Path) -> None:
    run_git(tmp_path, "init", "-q", "repo")
    names = ("two", "three", "odd name\n", "four", "five", "six", "seven", "eight", "nine")
    one = tmp_path / "repo" / ".git" / "objects"
    stores = [tmp_path / name / "objects" for name in names]
    for objects in stores:
        (objects / "info").mkdir(parents=True)
    two, three, odd, *deep = stores
    quoted = b'"' + at(odd).replace(b"\n", b"\\n").replace(b" ", b"\\040") + b'"'
    text = b"# comment\n\n../../../two/objects\n" + quoted + b"\n/nonexistent/objects\n"
    (one / "info" / "alternates").write_bytes(text)
    (two / "info" / "alternates").write_bytes(at(one) + b"\n" + at(three))
    for lower, upper in zip([three, *deep], deep, strict=False):
        (lower / "info" / "alternates").write_bytes(at(upper) + b"\n")
    says = run_git(tmp_path / "repo", "count-objects", "-v")
    expected = {
        store for store in stores if b"/%s/objects" % at(Path(store.parent.name)).replace(b"\n", b"\\n") in says
    }
    assert odd in expected
    assert stores[-1] not in expected
    found = object_directories(at(one))
    assert found[0] == at(one)
    assert set(found[1:]) == set(map(at, expected))


@pytest.mark.slow
def test_random_histories(tmp_path: Path) -> None:
    """Edits, tricks with times, settings and attributes in any order; the answers are always right."""
    dice = random.Random(11)
    lines = [
        "* text=auto",
        "*.txt eol=crlf",
        "*.txt ident",
        "dir/** ident",
        "*.dat -text",
        "[attr]m ident\n*.txt m",
        "",
    ]
    trusted = 0
    for number in range(12):
        root = filled(tmp_path / f"repo{number}")
        for _ in range(12):
            name = dice.choice(NAMES)
            action = dice.randrange(8)
            path = root / name
            if action == 0:
                path.write_bytes(dice.choice([b"x\r\ny\r\n", b"x\ny\nz\n", b"$Id: 123 $\n", b"same size\n"]))
            elif action == 1:
                before = path.stat()
                path.write_bytes(path.read_bytes().swapcase())
                os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
            elif action == 2:
                run_git(root, "add", "-A")
            elif action == 3:
                run_git(root, "config", "core.autocrlf", dice.choice(["true", "false", "input"]))
            elif action == 4:
                (root / dice.choice(["", "dir"]) / ".gitattributes").write_text(dice.choice(lines) + "\n")
            elif action == 5:
                path.unlink()
                run_git(root, "checkout", "-q", "-f", ".")
            elif action == 6:
                run_git(root, "commit", "-q", "--allow-empty", "-m", "x")
            else:
                run_git(root, "update-index", "-q", "--refresh")
            vouched(root)
        settle(root)
        trusted += len(vouched(root))
    assert trusted > 12

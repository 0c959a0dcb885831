"""Projects in projects: nested repositories of every kind, attributes, ignored files; and what is no workspace."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from snapd_client import SnapdError

from tests.hazards.whole import contents, look, touched
from tests.support.git import run_git
from tests.support.workspace import git_tree_hash, outcomes, write

if TYPE_CHECKING:
    from pathlib import Path

    from tests.hazards.conftest import Build
    from tests.hazards.traps import Traps
    from tests.rpc.machine import Machine

INNER = {"nested/inner": b"inner\n"}


@pytest.mark.hazard(20)
@pytest.mark.parametrize("ask", ["restore", "revert"])
@pytest.mark.parametrize("how", ["too large", "ignored directory"])
def test_what_was_never_captured_stands_where_a_file_is_to_be_written(build: Build, how: str, ask: str) -> None:
    bench = build({"a": b"1", "b": b"1"})
    bench.configure(max_file_size=1000)
    then = bench.track()
    bench.remove("a")
    if how == "too large":
        bench.write({"a": b"x" * 1001, "b": b"2"})
    else:
        bench.write({".gitignore": b"/a\n", "a/c": b"never captured", "b": b"2"})
    before = look(bench.root)
    said = outcomes(bench.restore(then) if ask == "restore" else bench.revert((then, ["a", "b"])))
    assert (said["a"], said["b"]) == ("skipped:tooLarge" if how == "too large" else "skipped:ignored", "restored")
    assert touched(before, bench.root) - {".gitignore"} == {"b"}


@pytest.mark.hazard(20)
@pytest.mark.parametrize("ask", ["restore", "revert"])
def test_what_is_ignored_where_a_file_is_to_be_written_is_captured_before(build: Build, ask: str) -> None:
    bench = build({"a": b"1", "b": b"1"})
    then = bench.track()
    bench.write({".gitignore": b"/a\n", "a": b"not captured so far", "b": b"2", "c": b""})
    outcome = bench.restore(then) if ask == "restore" else bench.revert((then, ["a", "b"]))
    assert (outcomes(outcome)["a"], outcomes(outcome)["b"]) == ("restored", "restored")
    assert bench.workspace.snapshots.file_at(outcome.before, b"a").data == b"not captured so far"


@pytest.mark.hazard(21)
def test_nested_repositories_submodules_and_linked_worktrees(build: Build, traps: Traps, tmp_path: Path) -> None:
    """Each as git makes it, and then with a configuration that has it start things."""
    bench = build({"a": b"1"})
    bench.close()
    source = tmp_path / "source"
    write(source, {"one": b"1\n", "two": b"2\n"})
    for arguments in (("init", "-q"), ("add", "."), ("commit", "-q", "-m", "first")):
        run_git(source, *arguments)
    run_git(tmp_path, "clone", "-q", str(source), str(bench.root / "clone"))
    run_git(bench.root / "clone", "worktree", "add", "-q", "--detach", str(bench.root / "linked"))
    allowed = ("-c", "protocol.file.allow=always")
    run_git(bench.root / "clone", *allowed, "submodule", "add", "-q", str(source), "module")
    for hostile in ("clone/.git/config", "clone/.git/modules/module/config"):
        with open(bench.path(hostile), "a") as file:
            file.write(traps.configuration("clone"))
    assert os.path.isfile(bench.path("linked/.git"))
    assert os.path.isfile(bench.path("clone/module/.git"))
    bench.open()
    then = bench.read()
    tree = bench.track()
    assert {"clone/one", "clone/.gitmodules", "clone/module/one", "linked/two"} <= set(bench.names(tree))
    assert tree == git_tree_hash(tmp_path, then)
    changed = {"a", "clone/one", "clone/module/one", "linked/two"}
    bench.write(dict.fromkeys((*changed, "clone/module/new", "linked/new"), b"changed\n"))
    before = look(bench.root)
    bench.restore(tree)
    assert bench.read() == then
    assert touched(before, bench.root) == {*changed, "clone/module/new", "linked/new"}
    assert not [name for name in touched(before, bench.root) if ".git" in name.split("/")]


@pytest.mark.hazard(22)
def test_a_bare_repository_inside_is_plain_files(build: Build, traps: Traps, tmp_path: Path) -> None:
    """Git takes whoever stands in one for its user, and obeys its configuration."""
    bench = build({"a": b"1"})
    run_git(bench.root, "init", "-q", "--bare", "server.git", home=tmp_path)
    with open(bench.path("server.git/config"), "a") as file:
        file.write(traps.configuration("bare"))
    for hook in os.listdir(traps.hooks):
        with open(traps.hooks / hook, "rb") as source, open(bench.path(f"server.git/hooks/{hook}"), "wb") as copy:
            copy.write(source.read())
        os.chmod(bench.path(f"server.git/hooks/{hook}"), 0o755)
    then = bench.read()
    assert {"server.git/HEAD", "server.git/config", "server.git/refs/heads/"} <= set(then)
    tree = bench.track()
    assert tree == git_tree_hash(tmp_path, then)
    bench.remove("server.git")
    assert "server.git/HEAD" in outcomes(bench.restore(tree))
    assert bench.read() == then


@pytest.mark.hazard(26)
def test_a_store_inside_the_workspace_and_workspaces_that_are_root_or_home(machine: Machine, folder: Path) -> None:
    machine.serve_socket(env={"SNAPD_DATA_DIR": str(folder / "data")})
    (folder / "data").mkdir()
    before = look(folder)
    for refused in ("/", machine.home, folder, folder / "data", folder / ".git"):
        client = machine.client(refused)
        with pytest.raises(SnapdError) as caught:
            client.track()
        assert caught.value.kind == "workspaceRefused"
        client.close()
    assert touched(before, folder) == set()


@pytest.mark.hazard(26)
def test_a_store_that_was_put_inside_the_workspace_is_never_captured(daemon: Machine, folder: Path) -> None:
    client = daemon.client(folder, options={"dataDir": ".snapshots"})
    then = client.track()["hash"]
    assert list((folder / ".snapshots").rglob("HEAD"))
    assert not [name for name in client.list_files_all(then) if ".snapshots" in name]
    (folder / "a.txt").write_text("two\n")
    client.restore(then)
    assert (folder / "a.txt").read_text() == "one\n"
    assert client.track()["hash"] == then


@pytest.mark.hazard(27)
def test_attributes_with_filter_eol_ident_and_encoding_convert_nothing(build: Build, tmp_path: Path) -> None:
    items = {
        ".gitattributes": b"* text eol=crlf ident filter=trap diff=trap merge=trap working-tree-encoding=UTF-16\n",
        "d/.gitattributes": b"*.txt -text\n* export-subst binary\n",
        "unix": b"a\nb\n",
        "dos": b"a\r\nb\r\n",
        "mixed": b"a\r\nb\nc\r",
        "ident": b"$Id$ $Id: 1234$\n",
        "d/utf16": "h\u00e9\n".encode("utf-16"),
        "d/invalid": b"\xff\xfe\x00",
    }
    bench = build(items)
    tree = bench.track()
    assert tree == git_tree_hash(tmp_path, {**items, **INNER})
    bench.write(dict.fromkeys(items, b"changed\n"))
    bench.restore(tree)
    assert bench.read() == {**items, **INNER}
    # and a merge is of bytes, too
    bench.write({"unix": b"agent\nb\n"})
    bench.track()
    bench.write({"unix": b"agent\nb\nuser\n"})
    assert outcomes(bench.revert((tree, ["unix"]), on_conflict="merge")) == {"unix": "merged"}
    assert bench.read()["unix"] == b"a\nb\nuser\n"


@pytest.mark.hazard(28)
def test_a_subfolder_as_workspace_leaves_its_siblings_alone(build: Build, tmp_path: Path) -> None:
    siblings = {"../a": b"sibling\n", "../subject/b": b"its name begins alike\n", "../.gitignore": b"*.log\n"}
    bench = build({"a": b"1", "d/b": b"2", **siblings}, inside="sub")
    everything = contents(tmp_path / "work")
    then = bench.track()
    assert bench.names(then) == ["a", "d/b", "nested/inner"]
    bench.become({"a": b"changed", "c": b"new", "x.log": b"ignored above"})
    before = look(tmp_path / "work")
    bench.restore(then)
    changed = {"a", "c", "d", "d/b", "nested", "nested/inner"}
    assert touched(before, tmp_path / "work") == {f"sub/{name}" for name in changed}
    now = contents(tmp_path / "work")
    assert now.pop("sub/x.log") == b"ignored above"
    lost = {name for name in everything if name.startswith("sub/nested/.git")}
    assert now == {name: data for name, data in everything.items() if name not in lost}

"""The generator of trees, copies of trees, and edits."""

from __future__ import annotations

import hashlib
import os
import statistics
from pathlib import Path

import pytest

from benchmarks.__main__ import main
from benchmarks.edits import Editor
from benchmarks.rows.storage import disk_use
from benchmarks.trees import (
    FAN_OUT,
    FILES_A_DIRECTORY,
    admit_everything,
    copy_tree,
    generate,
    generated_tree,
    sparse_tree,
)
from tests.support.git import run_git


def contents(root: Path) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def made(path: Path, count: int, seed: int = 0) -> dict[str, bytes]:
    path.mkdir()
    generate(str(path), count, seed)
    return contents(path)


def test_a_tree_depends_on_its_arguments_alone(tmp_path: Path) -> None:
    first = made(tmp_path / "a", 300)
    assert first == made(tmp_path / "b", 300)
    assert first != made(tmp_path / "c", 300, seed=1)
    digest = hashlib.sha256(repr(sorted(first.items())).encode()).hexdigest()
    # whoever changes the generator has to give its trees a new VERSION, and this a new value
    assert digest[:16] == "266f6b7f4b3d73f5"


@pytest.mark.parametrize("count", [1, 16, 17, 1000])
def test_a_tree_has_the_files_that_were_asked_for_and_the_shape_of_a_project(tmp_path: Path, count: int) -> None:
    files = made(tmp_path / "tree", count)
    assert len(files) == count
    assert len(set(files.values())) == count
    for directory, names, members in os.walk(tmp_path / "tree"):
        assert len(members) <= FILES_A_DIRECTORY, directory
        assert len(names) <= FAN_OUT
    if count == 1000:
        assert 3500 < statistics.mean(map(len, files.values())) < 6500


def test_a_sparse_tree_has_the_same_shape_and_one_line_a_file(tmp_path: Path) -> None:
    files = contents(Path(sparse_tree(str(tmp_path), 300)))
    assert len(files) == len(set(files.values())) == 300
    assert max(map(len, files.values())) < 30
    directories = [Path(name).parent for name in files]
    assert len(set(directories)) == -(-300 // FILES_A_DIRECTORY)
    assert max(map(directories.count, directories)) == FILES_A_DIRECTORY


def test_git_takes_every_file_of_it_for_text_that_is_not_ignored(tmp_path: Path) -> None:
    files = made(tmp_path / "tree", 100)
    run_git(tmp_path / "tree", "init", "-q")
    run_git(tmp_path / "tree", "add", ".")
    empty = run_git(tmp_path / "tree", "hash-object", "-t", "tree", "/dev/null").decode().strip()
    counts = run_git(tmp_path / "tree", "diff", "--cached", "--numstat", empty).decode().splitlines()
    assert {line.split("\t")[2] for line in counts} == set(files)
    assert not [line for line in counts if line.startswith("-")]


def test_the_cache_is_used_and_never_holds_half_a_tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = tmp_path / "cache"
    path = Path(generated_tree(str(cache), 20))
    (path / "mark").touch()
    assert (Path(generated_tree(str(cache), 20)) / "mark").exists()

    def full(root: str, count: int) -> None:
        generate(root, count // 2)
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("benchmarks.trees.generate", full)
    with pytest.raises(OSError, match="space"):
        generated_tree(str(cache), 40)
    assert os.listdir(cache) == [path.name]


def test_a_copy_leaves_repositories_behind_and_the_source_alone(tmp_path: Path) -> None:
    source = tmp_path / "source"
    before = made(source, 20)
    run_git(source, "init", "-q")
    nested = source / "nested"
    nested.mkdir()
    (nested / ".git").write_text("gitdir: elsewhere\n")
    (nested / "file").write_text("x")
    copy_tree(str(source), str(tmp_path / "copy"))
    assert contents(tmp_path / "copy") == {**before, "nested/file": b"x"}
    assert (source / ".git" / "HEAD").exists()
    assert (nested / ".git").exists()


def test_the_pattern_that_ignores_everything_is_taken_out(tmp_path: Path) -> None:
    path = tmp_path / ".gitignore"
    path.write_text("# x\n/*\n!/debian/\n*.o\n/build/*\n")
    admit_everything(str(path))
    assert path.read_text() == "# x\n!/debian/\n*.o\n/build/*\n"


def test_edits_are_the_same_in_every_run_and_leave_special_files_alone(tmp_path: Path) -> None:
    for name in ("a", "b"):
        made(tmp_path / name, 60)
        (tmp_path / name / "binary").write_bytes(b"a\0b")
        editor = Editor(str(tmp_path / name), sorted(contents(tmp_path / name)))
        assert len(set(editor.edit(40))) == 40
        for _ in range(30):
            assert len(editor.edit()) == 1
        assert len(editor.edit(1000)) == 59
    after = contents(tmp_path / "a")
    assert after == contents(tmp_path / "b")
    before = made(tmp_path / "c", 60)
    assert after.pop("binary") == b"a\0b"
    assert after[".gitignore"] == before[".gitignore"]
    for name in set(before) - {".gitignore"}:
        assert after[name].startswith(before[name] + b"\n// edit ")


def test_disk_use_counts_a_file_with_two_names_once(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"x" * 5000)
    (tmp_path / "below").mkdir()
    os.link(tmp_path / "a", tmp_path / "below" / "b")
    (tmp_path / "below" / "c").write_bytes(b"y" * 7)
    use = disk_use(str(tmp_path))
    assert use["apparent"] == 5007
    paths = (tmp_path, tmp_path / "a", tmp_path / "below", tmp_path / "below" / "c")
    assert use["allocated"] == sum(path.lstat().st_blocks * 512 for path in paths)


def test_a_tree_that_cannot_be_had_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--tree", str(tmp_path / "gone"), "--output", str(tmp_path / "out")]) == 1
    assert "there is no folder" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_the_linux_source_without_apt_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", str(tmp_path))
    assert main(["--tree", "linux", "--output", str(tmp_path / "out")]) == 1
    assert "TREE=/path" in capsys.readouterr().err
    assert os.listdir(tmp_path / "cache" / "snapd-bench") == []

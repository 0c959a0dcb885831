from __future__ import annotations

import logging
import os
import pwd
from pathlib import Path

import pytest

from snapd.worktree.git.config import GitUser
from snapd.worktree.git.index import read_index
from snapd.worktree.git.repository import (
    Repository,
    attribute_settings,
    find_repository,
    nested_repository,
    user_excludes,
)
from tests.support.git import run_git


def at(path: Path) -> bytes:
    return os.fsencode(path)


def found(folder: Path) -> Repository:
    repository = find_repository(at(folder))
    assert repository is not None
    return repository


def agrees_with_git(folder: Path) -> Repository:
    """Find a repository and compare each of its paths with what git itself says in that folder."""
    repository = found(folder)
    paths = ["--show-toplevel", "--absolute-git-dir", "--git-common-dir"]
    paths += ["--git-path", "index", "--git-path", "info/exclude"]
    answer = run_git(folder, "rev-parse", "--path-format=absolute", *paths)
    top, git_dir, common, index, exclude = answer.splitlines()
    assert repository.root == top
    assert os.path.realpath(repository.git_dir) == os.path.realpath(git_dir)
    assert os.path.realpath(repository.common_dir) == os.path.realpath(common)
    assert os.path.realpath(repository.index_path) == os.path.realpath(index)
    assert os.path.realpath(repository.exclude_path) == os.path.realpath(exclude)
    return repository


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    root = tmp_path / "repo"
    root.mkdir()
    run_git(root, "init", "-q")
    (root / "sub" / "dir").mkdir(parents=True)
    (root / "sub" / "file").write_text("x")
    run_git(root, "add", ".")
    run_git(root, "commit", "-q", "-m", "x")
    return root


def no_repository(folder: Path) -> None:
    assert find_repository(at(folder)) is None


def test_from_the_root_and_from_below(repo: Path) -> None:
    assert agrees_with_git(repo) == agrees_with_git(repo / "sub" / "dir")
    assert found(repo).root == at(repo)
    assert found(repo).hash_size == 20


def test_through_a_symlink(repo: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(repo / "sub")
    assert agrees_with_git(tmp_path / "link").root == at(repo)


def test_an_additional_work_tree(repo: Path, tmp_path: Path) -> None:
    run_git(repo, "worktree", "add", "-q", str(tmp_path / "other"))
    repository = agrees_with_git(tmp_path / "other" / "sub")
    assert repository.root == at(tmp_path / "other")
    assert repository.common_dir == at(repo / ".git")
    assert read_index(repository.index_path).paths == [b"sub/file"]


@pytest.mark.parametrize("relative", [True, False])
def test_a_separate_git_directory(repo: Path, tmp_path: Path, relative: bool) -> None:
    (repo / ".git").rename(tmp_path / "elsewhere")
    target = "../elsewhere" if relative else str(tmp_path / "elsewhere")
    (repo / ".git").write_text(f"gitdir: {target}\r\n\n")
    assert agrees_with_git(repo / "sub").git_dir == at(tmp_path / "elsewhere")


def test_a_submodule(repo: Path, tmp_path: Path) -> None:
    outer = tmp_path / "outer"
    outer.mkdir()
    run_git(outer, "init", "-q")
    run_git(outer, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(repo), "inner")
    repository = agrees_with_git(outer / "inner" / "sub")
    assert repository.root == at(outer / "inner")
    assert nested(outer / "inner") == repository


def nested(folder: Path) -> Repository | None:
    """Look for a nested repository, by its path and by a descriptor."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        repository = nested_repository(at(folder))
        assert nested_repository(descriptor) == repository
    finally:
        os.close(descriptor)
    return repository


def test_a_nested_directory_without_git(repo: Path) -> None:
    assert nested(repo / "sub") is None
    (repo / "sub" / ".git").write_text("gitdir: nowhere\n")
    assert nested(repo / "sub") is None


def test_a_sha256_repository(tmp_path: Path) -> None:
    run_git(tmp_path, "init", "-q", "--object-format=sha256")
    assert found(tmp_path).hash_size == 32


def test_a_directory_that_is_no_repository_is_passed_over(repo: Path) -> None:
    (repo / "sub" / ".git").mkdir()
    assert agrees_with_git(repo / "sub" / "dir").root == at(repo)
    for name in ("objects", "refs"):
        (repo / "sub" / ".git" / name).mkdir()
    assert agrees_with_git(repo / "sub").root == at(repo)
    (repo / "sub" / ".git" / "HEAD").write_text("nothing")
    assert agrees_with_git(repo / "sub").root == at(repo)
    (repo / "sub" / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    assert agrees_with_git(repo / "sub").root == at(repo / "sub")


@pytest.mark.parametrize("text", ["", "gitdir: ", "gitdir:x", "nothing", "gitdir: missing", "gitdir: ../sub\n"])
def test_a_file_that_leads_to_no_repository_ends_the_search(repo: Path, text: str) -> None:
    (repo / "sub" / ".git").write_text(text)
    no_repository(repo / "sub" / "dir")
    with pytest.raises(AssertionError, match="fatal"):
        run_git(repo / "sub", "rev-parse", "--show-toplevel")


def test_heads_of_every_form(repo: Path) -> None:
    run_git(repo, "checkout", "-q", "--detach")
    agrees_with_git(repo)
    head = repo / ".git" / "HEAD"
    head.unlink()
    head.symlink_to("refs/heads/master")
    agrees_with_git(repo)
    head.unlink()
    no_repository(repo)


def test_inside_a_git_directory_there_is_no_work_tree(repo: Path, tmp_path: Path) -> None:
    no_repository(repo / ".git" / "objects")
    bare = repo / "sub" / "bare.git"
    run_git(tmp_path, "init", "-q", "--bare", str(bare))
    no_repository(bare)
    no_repository(bare / "objects")


def test_outside_of_any_repository(tmp_path: Path) -> None:
    no_repository(tmp_path)
    with pytest.raises(FileNotFoundError):
        find_repository(at(tmp_path / "missing"))


def test_the_edge_of_the_file_system_ends_the_search(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.stat

    def stat(path: object, *args: object, **kwargs: object) -> os.stat_result:
        result = real(path, *args, **kwargs)  # type: ignore[arg-type]
        if path == at(repo / "sub"):
            fields = list(result)
            fields[2] += 1
            return os.stat_result(fields)
        return result

    monkeypatch.setattr(os, "stat", stat)
    no_repository(repo / "sub")
    assert found(repo).root == at(repo)


def test_environment_variables_of_git_have_no_effect(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = found(repo)
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_INDEX_FILE", "GIT_CEILING_DIRECTORIES"):
        monkeypatch.setenv(name, str(repo))
    assert found(repo / "sub") == expected


def person(home: Path, xdg_config_home: str | None = None) -> GitUser:
    return GitUser(str(home), xdg_config_home, system_config="/nonexistent")


class User:
    """A home directory with ignore files `one`, `two`..., each of which ignores the path of its own name."""

    NAMES = ("one", "two", "three", "four", "five")

    def __init__(self, folder: Path, repo: Path) -> None:
        self.home = folder / "home"
        self.xdg = self.home / ".config"
        self.repo = repo
        (self.xdg / "git").mkdir(parents=True)
        for name in self.NAMES:
            (self.home / name).write_text(name)

    def git_says(self) -> bytes | None:
        """Ask git which of the ignore files is in force."""
        paths = b"".join(name.encode() + b"\0" for name in (*self.NAMES, "default", "local"))
        answer = run_git(self.repo, "check-ignore", "--no-index", "-z", "--stdin", home=self.home, input=paths)
        return answer.removesuffix(b"\0") or None

    def agrees(self) -> bytes | None:
        text = user_excludes(person(self.home), find_repository(at(self.repo)))
        assert text == self.git_says()
        return text


@pytest.fixture
def user(tmp_path: Path, repo: Path) -> User:
    return User(tmp_path, repo)


def test_the_default_file(user: User) -> None:
    assert user.agrees() is None
    (user.xdg / "git" / "ignore").write_text("default")
    assert user.agrees() == b"default"
    assert user_excludes(person(user.home, ""), None) == b"default"
    assert user_excludes(person(user.home, str(user.home / "other")), None) is None
    (user.home / "other" / "git").mkdir(parents=True)
    (user.home / "other" / "git" / "ignore").write_text("x")
    assert user_excludes(person(user.home, str(user.home / "other")), None) == b"x"


def test_precedence_of_the_configuration_files(user: User, tmp_path: Path) -> None:
    (user.xdg / "git" / "ignore").write_text("default")
    (user.xdg / "git" / "config").write_text("[core]\n\texcludesFile = ~/one\n")
    assert user.agrees() == b"one"
    (user.home / ".gitconfig").write_text('[core]\n\texcludesFile = ~/two\n[CORE]\nEXCLUDESFILE = "~/three" ; last\n')
    assert user.agrees() == b"three"
    run_git(user.repo, "config", "core.excludesFile", str(user.home / "four"))
    assert user.agrees() == b"four"
    run_git(user.repo, "config", "extensions.worktreeConfig", "true")
    run_git(user.repo, "config", "--worktree", "core.excludesFile", "~/five")
    assert user.agrees() == b"five"


def test_the_system_configuration_is_the_weakest(user: User, tmp_path: Path) -> None:
    system = tmp_path / "gitconfig"
    system.write_text("[core]\nexcludesFile = ~/one\n")
    assert user_excludes(GitUser(str(user.home), system_config=str(system)), None) == b"one"
    (user.home / ".gitconfig").write_text("[core]\nexcludesFile = ~/two\n")
    assert user_excludes(GitUser(str(user.home), system_config=str(system)), None) == b"two"


def test_includes_are_followed_with_the_home_that_was_given(user: User) -> None:
    (user.home / ".gitconfig").write_text("[core]\nexcludesFile = ~/one\n[include]\npath = ~/more\n")
    (user.home / "more").write_text("[include]\npath = sub/even-more\n")
    (user.home / "sub").mkdir()
    (user.home / "sub" / "even-more").write_text("[core]\nexcludesFile = ~/two\n")
    assert user.agrees() == b"two"
    with (user.home / ".gitconfig").open("a") as file:
        file.write("[core]\nexcludesFile = ~/three\n")
    assert user.agrees() == b"three"


def test_a_value_relative_to_the_repository(user: User) -> None:
    (user.repo / "rules").write_text("local")
    (user.home / ".gitconfig").write_text("[core]\nexcludesFile = rules\n")
    assert user.agrees() == b"local"
    assert user_excludes(person(user.home), None) is None


@pytest.mark.parametrize("value", ["", "~/missing", "/nonexistent/x", "one/below-a-file"])
def test_a_value_that_leads_nowhere_does_not_fall_back_to_the_default(user: User, value: str) -> None:
    (user.xdg / "git" / "ignore").write_text("default")
    (user.home / ".gitconfig").write_text(f"[core]\nexcludesFile = {value}\n")
    assert user.agrees() is None


def test_the_home_of_a_named_user(
    user: User, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    entry = pwd.getpwuid(os.getuid())
    somebody = pwd.struct_passwd((*entry[:5], str(user.home), entry[6]))
    monkeypatch.setattr(pwd, "getpwnam", {"somebody": somebody}.__getitem__)
    (user.home / ".gitconfig").write_text("[core]\nexcludesFile = ~somebody/one\n")
    assert user_excludes(person(user.home), None) == b"one"
    (user.home / ".gitconfig").write_text("[core]\nexcludesFile = ~nobody-here/one\n")
    assert user_excludes(person(user.home), None) is None
    assert "nobody-here" in caplog.text


def test_a_malformed_file_is_passed_over_and_named(user: User, caplog: pytest.LogCaptureFixture) -> None:
    (user.xdg / "git" / "config").write_text("[core]\nexcludesFile = ~/one\n")
    (user.home / ".gitconfig").write_text("[core]\nexcludesFile = ~/two\n[core\n")
    with caplog.at_level(logging.WARNING):
        assert user_excludes(person(user.home), found(user.repo)) == b"one"
    assert str(user.home / ".gitconfig") in caplog.text


def test_an_ignore_file_that_cannot_be_read_is_named(user: User, caplog: pytest.LogCaptureFixture) -> None:
    (user.home / ".gitconfig").write_text("[core]\nexcludesFile = ~/\n")
    assert user_excludes(person(user.home), None) is None
    assert str(user.home) in caplog.text


def test_the_environment_does_not_say_what_is_excluded(user: User, monkeypatch: pytest.MonkeyPatch) -> None:
    (user.home / ".gitconfig").write_text("[core]\nexcludesFile = ~/one\n")
    elsewhere = user.home / "elsewhere"
    elsewhere.write_text("[core]\nexcludesFile = ~/two\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(elsewhere))
    monkeypatch.setenv("GIT_CONFIG_SYSTEM", str(elsewhere))
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "core.excludesFile")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", str(user.home / "two"))
    monkeypatch.setenv("XDG_CONFIG_HOME", "/nonexistent")
    monkeypatch.setenv("HOME", "/nonexistent")
    assert user_excludes(person(user.home), found(user.repo)) == b"one"


@pytest.mark.timeout(20)
@pytest.mark.parametrize("name", ["HEAD", "commondir", "config", "index"])
def test_a_fifo_in_a_git_directory_holds_nobody_up(tmp_path: Path, name: str) -> None:
    run_git(tmp_path, "init", "-q", "nested")
    folder = tmp_path / "nested"
    (folder / ".git" / name).unlink(missing_ok=True)
    os.mkfifo(folder / ".git" / name)
    repository = nested_repository(at(folder))
    assert (repository is None) == (name == "HEAD")
    if repository is not None:
        user_excludes(person(tmp_path), repository)
        with pytest.raises(OSError, match=r"Invalid argument|not a regular file|No such file"):
            read_index(repository.index_path)


@pytest.mark.parametrize(
    "text",
    [
        "[include]\n\tpath = {}\n",
        "[include] path = {}\n",
        '[INCLUDE]\n\tPath="{}" ; why\n',
        '[include]\n\tpath = "{}"# why\n',
        "[include]\n\tpath = \\\n{}\n",
        '[include]\n\tpath = {}""\n',
        "[include]\r\n\tpath = {}\r\n",
        '[includeIf "gitdir:/"]\n\tpath = {}\n',
    ],
)
@pytest.mark.parametrize("through", ["", "another"])
@pytest.mark.timeout(30)
def test_a_configuration_that_includes_a_pipe_holds_up_nobody(tmp_path: Path, text: str, through: str) -> None:
    work, home = tmp_path / "work", tmp_path / "home"
    home.mkdir()
    run_git(tmp_path, "init", "-q", str(work))
    pipe = home / "a pipe"
    os.mkfifo(pipe)
    config = work / ".git" / "config"
    if through:
        (home / through).write_text(text.format(pipe))
        config.write_text(config.read_text() + f"[include]\n\tpath = {home / through}\n")
    else:
        config.write_text(config.read_text() + text.format(pipe))
    (home / ".gitconfig").write_text("[include]\n\tpath = ~/a pipe\n")
    (home / ".config" / "git").mkdir(parents=True)
    (home / ".config" / "git" / "ignore").write_text("*.o\n")
    repository = find_repository(os.fsencode(work))
    assert repository is not None
    user = GitUser(str(home), None, "/nonexistent", "/nonexistent")
    assert user_excludes(user, repository) == b"*.o\n"
    assert attribute_settings(repository, user) is None

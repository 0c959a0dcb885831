"""The git program with snapd's own configuration: what of the user's counts, and how it ends."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from snapd.model.call import Call
from snapd.model.errors import Cancelled, IoError
from snapd.remotes import program
from snapd.remotes.program import Bounds, GitProgram
from tests.support.git import run_git

from .machines import bare


@pytest.fixture
def repository(tmp_path: Path) -> str:
    return str(bare(tmp_path / "repository"))


def test_no_configuration_of_others_counts(tmp_path: Path, repository: str) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / ".gitconfig").write_text("[alias]\n\tlisted = !touch evil\n[user]\n\tname = somebody\n")
    environment = {**os.environ, "HOME": str(home), "GIT_CONFIG_PARAMETERS": "'user.email=other'", "GIT_DIR": "/other"}
    git = GitProgram(environment, [("credential.helper", "store"), ("ssh.variant", "simple")])
    done = git.run(repository, ["config", "--list"], Call())
    names = {line.partition("=")[0] for line in done.out.decode().splitlines()}
    assert {"credential.helper", "ssh.variant"} <= names
    assert not {name for name in names if name.startswith(("alias.", "user."))}
    assert done.code == 0


def test_it_is_never_asked_for_anything(repository: str) -> None:
    git = GitProgram({"PATH": os.environ["PATH"]})
    variables = git.run(repository, ["-c", "alias.env=!env", "env"], Call()).out.decode()
    assert "GIT_TERMINAL_PROMPT=0" in variables
    assert "GIT_SSH_COMMAND=ssh -oBatchMode=yes" in variables
    own = GitProgram({"PATH": os.environ["PATH"]}, [("core.sshCommand", "own-ssh")])
    assert "GIT_SSH_COMMAND" not in own.run(repository, ["-c", "alias.env=!env", "env"], Call()).out.decode()


def test_input_and_output(tmp_path: Path, repository: str) -> None:
    git = GitProgram(dict(os.environ))
    oid = git.run(repository, ["hash-object", "--stdin", "-w"], Call(), data=b"x" * 1_000_000).out.strip()
    done = git.run(repository, ["cat-file", "blob", oid.decode()], Call(), into=str(tmp_path / "out"))
    assert (done.out, (tmp_path / "out").read_bytes()) == (b"", b"x" * 1_000_000)
    wrong = git.run(repository, ["cat-file", "blob", "0" * 40], Call())
    assert (wrong.code, "bad file" in wrong.stderr) == (128, True)


def test_without_git(repository: str) -> None:
    with pytest.raises(IoError, match="git cannot be run"):
        GitProgram({"PATH": "/nonexistent"}).run(repository, ["version"], Call())


def test_all_of_it_ends_when_the_request_is_cancelled(tmp_path: Path, repository: str) -> None:
    """Git, and what it started, such as ssh."""
    note = tmp_path / "pid"
    script = tmp_path / "endless.py"
    script.write_text(f"import os, time\nopen({str(note)!r}, 'w').write(str(os.getpid()))\ntime.sleep(600)\n")
    call = Call()

    def cancel() -> None:
        while not (note.exists() and note.read_text()):
            time.sleep(0.01)
        call.cancel()

    canceller = threading.Thread(target=cancel)
    canceller.start()
    with pytest.raises(Cancelled):
        GitProgram(dict(os.environ)).run(repository, ["-c", f"alias.wait=!{sys.executable} {script}", "wait"], call)
    canceller.join()
    deadline = time.monotonic() + 30
    while Path(f"/proc/{note.read_text()}").exists():
        assert time.monotonic() < deadline, subprocess.run(["ps", "-ef"], capture_output=True, check=False).stdout
        time.sleep(0.01)
    assert run_git(Path(repository), "rev-parse", "--is-bare-repository").strip() == b"true"


def test_limits(repository: str) -> None:
    git = GitProgram(dict(os.environ))
    bounds = Bounds(file_bytes=1 << 20, memory_bytes=1 << 30, seconds=60, object_bytes=1 << 16)
    script = "!ulimit -f; ulimit -d; ulimit -t; echo $GIT_ALLOC_LIMIT"
    done = git.run(repository, ["-c", f"alias.limits={script}", "limits"], Call(), bounds=bounds)
    assert done.out.split() == [b"2048", b"1048576", b"60", b"65536"]


def test_output_is_kept_in_part(tmp_path: Path, repository: str) -> None:
    """What is over the bounds ends the command; what is said beside it is only cut."""
    git = GitProgram(dict(os.environ))
    endless = ["-c", "alias.endless=!yes", "endless"]
    done = git.run(repository, endless, Call(), bounds=Bounds(output_bytes=1000))
    assert (done.is_cut, len(done.out)) == (True, 1000)
    loud = ["-c", "alias.loud=!head -c 1000000 /dev/zero >&2; echo done", "loud"]
    done = git.run(repository, loud, Call())
    assert (done.is_cut, done.out, len(done.stderr)) == (False, b"done\n", 1 << 16)


@pytest.mark.timeout(60)
def test_much_in_and_much_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All of its input gets to git, however often it is looked whether the request was cancelled meanwhile."""
    monkeypatch.setattr(program, "PATIENCE", 0.001)
    run_git(tmp_path, "init", "--quiet", "--bare", ".")
    asked = b"".join(b"%040d\n" % number for number in range(100_000))
    done = GitProgram(dict(os.environ)).run(str(tmp_path), ["cat-file", "--batch-check"], Call(), data=asked)
    assert done.code == 0
    assert done.out == asked.replace(b"\n", b" missing\n")

"""Names of files as a shell takes them again: a shell itself is the oracle."""

from __future__ import annotations

import os
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from snapd.cli.terminal.layout import file_name, shell_name
from snapd.model.paths import to_uri


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("src/main.py", "src/main.py"),
        ("é→.txt", "'é→.txt'"),
        ("über/ñ.txt", "über/ñ.txt"),
        ("my file", "'my file'"),
        ("it's", "'it'\"'\"'s'"),
        ("a\nb\033", r"$'a\nb\x1b'"),
        (b"\xff\xfe", r"$'\xff\xfe'"),
        ("", "''"),
    ],
)
def test_names(name: str | bytes, shown: str) -> None:
    assert shell_name(name) == shown


def test_a_shell_reads_what_is_shown() -> None:
    names: list[bytes] = []

    @given(st.binary(min_size=1, max_size=12).filter(lambda name: b"\0" not in name))
    def collect(name: bytes) -> None:
        names.append(name)

    collect()
    words = " ".join(map(shell_name, names))
    done = subprocess.run(["bash", "-c", rf"printf '%s\0' {words}"], capture_output=True, check=True)
    assert done.stdout == b"".join(name + b"\0" for name in names)


def test_the_name_behind_a_uri() -> None:
    assert os.fsencode(file_name(to_uri(b"/w/\xff/b c"), "/w")) == b"\xff/b c"
    assert file_name("plain", "/w") == "plain"

"""What git says when it could not do what was asked: reasons, and words for a person."""

from __future__ import annotations

import pytest

from snapd.remotes.exchange import failed, is_local_disk_full
from snapd.remotes.program import Finished


@pytest.mark.parametrize(
    ("said", "reason", "message"),
    [
        ("fatal: Authentication failed for 'x'", "auth", "Authentication failed for 'x'"),
        ("remote: go away\nfatal: Authentication failed for 'x'", "auth", "go away"),
        ("fatal: unable to connect to x:\nx: Connection refused", "unreachable", "unable to connect to x:"),
        ("fatal: protocol error: bad line length character: HTTP", "unreachable", "protocol error"),
        ("fatal: expected flush after ref listing", "interrupted", "expected flush"),
        ("fetch-pack: unexpected disconnect\nfatal: protocol error: bad pack header", "interrupted", "bad pack header"),
        ("remote: fatal: index-pack died\nerror: it failed", "refused", "fatal: index-pack died"),
        ("fatal: remote error: upload-pack: not our ref", "refused", "remote error"),
        # such as a process that a signal ended
        ("", "interrupted", "git ended with 128"),
        ("fatal: something that no git of today says", "interrupted", "something that"),
    ],
)
def test_reasons(said: str, reason: str, message: str) -> None:
    error = failed("/srv/it.git", Finished(128, b"", said))
    assert (error.data["reason"], error.data["remote"]) == (reason, "/srv/it.git")
    assert message in error.message


def test_a_remote_does_not_write_to_the_terminal() -> None:
    error = failed("/srv/it.git", Finished(128, b"", "remote: \x1b[2J\x1b]0;title\x07red\x9b1m\nfatal: x"))
    assert error.message == "/srv/it.git: [2J ]0;title red 1m"


def test_whose_disk_is_full() -> None:
    full = "write error: No space left on device"
    assert is_local_disk_full(Finished(128, b"", f"fatal: {full}\nfatal: fetch-pack: invalid index-pack output"))
    assert not is_local_disk_full(Finished(128, b"", f"remote: fatal: {full}"))

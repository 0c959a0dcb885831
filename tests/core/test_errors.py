"""Errors of the operating system as those of snapd."""

from __future__ import annotations

import errno

import pytest

from snapd.model.errors import IoError, StorageFull, error_from_os_error


@pytest.mark.parametrize("name", ["EACCES", "EROFS", "EMFILE", "EIO"])
def test_an_error_says_what_to_do_about_its_cause(name: str) -> None:
    error = error_from_os_error(OSError(getattr(errno, name), "said"), b"/a")
    assert isinstance(error, IoError)
    assert error.hint != IoError.default_hint
    assert error.data == {"path": "/a", "errno": name}


def test_a_full_disk_says_how_to_free_space() -> None:
    error = error_from_os_error(OSError(errno.ENOSPC, "said"), b"/a")
    assert isinstance(error, StorageFull)
    assert "snapd gc" in error.hint

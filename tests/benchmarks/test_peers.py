"""The peers where there is no Watchman."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.peers import available, peers


def test_without_watchman_there_are_none_and_the_run_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    keys = available()
    assert keys == []
    assert "watchman" in capsys.readouterr().err
    with peers(str(tmp_path), str(tmp_path), keys) as others:
        assert others == []

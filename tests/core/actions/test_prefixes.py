"""The shortest beginnings of ids that no other id of the same kind has, as a look at all of them says."""

from __future__ import annotations

import secrets
from pathlib import Path
from random import Random

import pytest

from snapd.core.actions.sharing.push import PushOptions
from snapd.core.call import Call
from tests.remotes.machines import bare
from tests.support.sessions import at_work


def shortest(names: list[str], name: str) -> str:
    """By brute force."""
    others = set(names) - {name}
    lengths = range(min(8, len(name)), len(name) + 1)
    return next((name[:at] for at in lengths if not any(other.startswith(name[:at]) for other in others)), name)


def test_ids_that_begin_alike(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chance = Random(7)
    here, there = at_work(tmp_path / "here"), at_work(tmp_path / "there")

    used: set[str] = set()

    def made(letters: str = "0a\u00fc") -> str:
        while True:
            length = chance.choice([6, 9, 12])
            name = "0000000"[: length - 2] + "".join(chance.choice(letters) for _ in range(length - 5))
            if name not in used:
                used.add(name)
                return name

    token_hex = secrets.token_hex
    monkeypatch.setattr(secrets, "token_hex", lambda size: made("0123a") if size == 16 else token_hex(size))
    known: dict[str, list[str]] = {"steps": [], "sessions": ["one"], "messages": []}
    for agents in (here, there, here):
        for _ in range(15):
            session, message = made(), made()
            agents.start(session)
            agents.bench.workspace.messages.send(session, message, None, Call())
            known["sessions"].append(session)
            # of messages that were fetched, those that have steps
            known["messages"].append(message)
            known["steps"].append(agents.step(session, message=message, work={"a.txt": session.encode()}))
    remote = str(bare(tmp_path / "remote"))
    there.bench.workspace.pushing.push(remote, None, PushOptions(), Call())
    here.bench.workspace.fetched.fetch(remote, None, Call())
    for kind, names in known.items():
        for name in [*names, made()]:
            found = here.bench.workspace.readers.shortest(kind, name)  # type: ignore[arg-type]
            assert found == shortest(names, name), kind

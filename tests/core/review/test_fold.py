"""Who wrote each line of a file, and what of it is accepted: random changes of lines that name their writer."""

from __future__ import annotations

import random

import pytest

from tests.support.amounts import amount

from .model import TypedFile

AGENTS = ("one", "two")


def _writer(line: bytes) -> str:
    return line.split()[0].decode()


def _check(file: TypedFile) -> None:
    fold = file.fold
    assert fold.lines == file.lines
    assert [writer.steps[0] if writer.steps else writer.kind for writer in fold.writers] == list(
        map(_writer, file.lines)
    )
    pending = fold.pending
    if pending is None:
        return
    assert [line for line, equal in zip(fold.lines, pending.equal, strict=True) if equal is not None] == [
        pending.lines[equal] for equal in pending.equal if equal is not None
    ]
    assert pending.lines != fold.lines
    blocks = list(pending.blocks(fold.writers))
    # every difference has an agent who made it
    assert all(block.steps for block in blocks)
    # with all differences taken over, the baseline is the file
    taken = list(pending.lines)
    for block in reversed(blocks):
        taken[block.base_start : block.base_end] = fold.lines[block.start : block.end]
    assert taken == fold.lines


@pytest.mark.parametrize("seed", range(amount(60, 1500)))
def test_lines_say_who_wrote_them(seed: int) -> None:
    chance = random.Random(seed)
    file = TypedFile.begun(chance, chance.randrange(12))
    kept: set[bytes] = set(file.lines)
    undone: list[list[bytes]] = []
    for _ in range(40):
        who = chance.choice((*AGENTS, "user", "undo", "keep"))
        if who == "undo":
            if undone:
                # the last change, whoever made it, is taken back as a whole
                file.change(undone.pop(), "person", "undo", is_operation=True)
        elif who == "keep":
            file.change(file.lines, "keep", "user")
            kept = set(file.lines)
            undone.clear()
        else:
            start = chance.randint(0, len(file.lines))
            removed = min(chance.randrange(4), len(file.lines) - start)
            undone.append(file.lines)
            file.change(
                file.typed(who, start, removed, chance.randrange(4)), "person" if who == "user" else "agent", who
            )
        _check(file)
        # what an agent wrote and nobody kept is not accepted
        assert all(line in kept or _writer(line) not in AGENTS for line in file.baseline), file.baseline
        # what was accepted, and what the user wrote, is gone from the file only if it shows as pending
        pending = file.fold.pending
        if pending is not None:
            gone = {line for line, by in zip(pending.lines, pending.gone, strict=True) if by is not None}
            assert gone == set(pending.lines) - set(file.lines)

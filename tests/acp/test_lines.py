"""What is read is what comes out, in whatever chunks it comes."""

from __future__ import annotations

import os
import random
import threading

import pytest

from snapd.acp.messages import Piece, Writer, pieces

LONGEST = 100


def read(chunks: list[bytes]) -> list[Piece]:
    """What is read of a stream that comes in these chunks."""
    reading, writing = os.pipe()

    def write() -> None:
        for chunk in chunks:
            os.write(writing, chunk)
        os.close(writing)

    thread = threading.Thread(target=write)
    thread.start()
    try:
        return list(pieces(reading, LONGEST))
    finally:
        thread.join()
        os.close(reading)


def test_lines() -> None:
    assert read([b'{"a":1}\n\n', b"half", b" a line\r\n", b"the rest"]) == [
        Piece(b'{"a":1}\n'),
        Piece(b"\n"),
        Piece(b"half a line\r\n"),
        Piece(b"the rest"),
    ]


def test_a_stream_without_a_byte() -> None:
    assert read([]) == []


def test_a_line_that_is_too_long_comes_as_it_comes() -> None:
    found = read([b"x" * 150, b"y" * 150 + b"\nnext\n"])
    assert [piece.whole for piece in found] == [False] * (len(found) - 1) + [True]
    assert [piece.ends for piece in found[:-1]] == [False] * (len(found) - 2) + [True]
    assert b"".join(piece.data for piece in found[:-1]) == b"x" * 150 + b"y" * 150 + b"\n"
    assert found[-1] == Piece(b"next\n")


def test_the_longest_line_is_whole() -> None:
    line = b"x" * (LONGEST - 1) + b"\n"
    assert read([line, line[1:]]) == [Piece(line), Piece(line[1:])]


def test_a_long_line_that_never_ends() -> None:
    found = read([b"x" * 300])
    assert b"".join(piece.data for piece in found) == b"x" * 300
    assert found[-1].ends
    assert not any(piece.whole for piece in found)


@pytest.mark.parametrize("seed", range(30))
def test_random_streams(seed: int) -> None:
    chance = random.Random(seed)
    data = b"".join(
        chance.randbytes(chance.choice([0, 1, 5, 99, 100, 101, 250])) + b"\n" * chance.randint(0, 3)
        for _ in range(chance.randint(1, 30))
    )
    chunks = []
    left = data
    while left:
        size = chance.choice([1, 3, 50, 100, 1000])
        chunks.append(left[:size])
        left = left[size:]
    found = read(chunks)
    assert b"".join(piece.data for piece in found) == data
    for piece in found:
        assert not piece.whole or piece.data.count(b"\n") <= 1
        assert piece.ends == piece.data.endswith(b"\n") or piece is found[-1]
        assert not piece.whole or len(piece.data) <= LONGEST


def test_nobody_writes_into_a_line() -> None:
    reading, writing = os.pipe()
    writer = Writer(writing)
    writer.write(Piece(b"one half ", whole=False, ends=False))
    inserting = threading.Thread(target=writer.insert, args=(lambda: b"ours\n",))
    inserting.start()
    writer.write(Piece(b"and the other\n", whole=False))
    inserting.join()
    writer.insert(lambda: None)
    os.close(writing)
    with os.fdopen(reading, "rb") as out:
        assert out.read() == b"one half and the other\nours\n"


def test_a_pipe_that_does_not_block() -> None:
    """Another program that shares the pipe may have made it so."""
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    os.set_blocking(writing, False)
    data = b"x" * 300_000 + b"\n"
    thread = threading.Thread(target=Writer(writing).write, args=(Piece(data),))
    thread.start()
    assert next(iter(pieces(reading))) == Piece(data)
    thread.join()
    os.close(reading)
    os.close(writing)


def test_what_is_closed_takes_no_more() -> None:
    reading, writing = os.pipe()
    writer = Writer(writing, lambda: os.close(writing))
    writer.close()
    # its number may be that of another stream by now
    other, _ = os.pipe()
    for _ in range(2):
        with pytest.raises(BrokenPipeError):
            writer.write(Piece(b"x\n"))
        with pytest.raises(BrokenPipeError):
            writer.insert(lambda: b"x\n")
    os.close(reading)
    os.close(other)

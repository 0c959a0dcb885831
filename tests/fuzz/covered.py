"""Framing, parsing and params under atheris, which keeps what reaches code that nothing before it had reached.

It is run by `python -m tests.fuzz`, as `python -m tests.fuzz.covered COUNTER [arguments of libFuzzer]`.
"""

from __future__ import annotations

import asyncio
import mmap
import sys

import atheris

with atheris.instrument_imports(include=["snapd.rpc", "snapd.wire"]):
    from tests.fuzz import framing
from tests.fuzz.counting import COUNT
from tests.rpc.machine import framed


def pieces_of(data: bytes) -> tuple[bytes, list[bytes]]:
    """A stream, and how it comes: the first byte says where it is cut and whether the rest is whole messages."""
    how, said = data[0], data[1:]
    stream = b"".join(framed(body) for body in said.split(b"\0\0")) if how & 1 else said
    if how & 2:
        return stream, [stream[at : at + 1] for at in range(len(stream))]
    size = 1 + (how >> 2)
    return stream, [stream[at : at + size] for at in range(0, len(stream), size)]


def main(arguments: list[str]) -> None:
    """Runs until libFuzzer has enough."""
    loop = asyncio.new_event_loop()
    with open(arguments[1], "r+b") as file:
        counter = mmap.mmap(file.fileno(), COUNT.size)

    def one(data: bytes) -> None:
        if not data:
            return
        stream, pieces = pieces_of(data)
        inputs, frames = COUNT.unpack(counter[:])
        counter[:] = COUNT.pack(inputs + 1, frames + framing.check(loop, stream, pieces))

    atheris.Setup([arguments[0], *arguments[2:]], one)
    atheris.Fuzz()


if __name__ == "__main__":
    main(sys.argv)

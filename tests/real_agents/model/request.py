"""What a request to a model says, in whatever dialect it came."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import attrs

if TYPE_CHECKING:
    from .script import Reply

Json: TypeAlias = Any
"""A value as `json.loads` gives it."""


@attrs.frozen
class Message:
    """One of a request; the results of tools are messages of their own."""

    role: Literal["user", "assistant", "tool"]
    text: str


@attrs.frozen
class Request:
    """What is asked.

    Attributes:
        model: its name.
        messages: the conversation so far, oldest first.
        tools: the names of those that the agent offers.
    """

    model: str
    messages: tuple[Message, ...]
    tools: frozenset[str]


@attrs.frozen
class Event:
    """A piece of an answer: its name, empty where the dialect has none, and its data."""

    name: str
    data: Json


@attrs.frozen
class Dialect:
    """A way to speak with models over HTTP. Only answers in events are there: no agent asks for others.

    Attributes:
        path: of its requests; a group `model` has the model's name, where the body does not.
        read: gives the request of a body and a match of the path.
        answer: says a reply.
    """

    path: re.Pattern[str]
    read: Callable[[Json, re.Match[str]], Request]
    answer: Callable[[Request, Reply], Iterable[Event]]


def text_of(content: Json) -> str:
    """All the text in the content of a message: a string, a part, or a list of them."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(filter(None, map(text_of, content)))
    if isinstance(content, dict) and isinstance(content.get("text"), str):
        return str(content["text"])
    return ""


def pieces(text: str) -> Iterator[str]:
    """A text in the pieces in which it is streamed."""
    for at in range(0, len(text), 24):
        yield text[at : at + 24]


def strings(value: Json) -> Iterator[str]:
    """All strings in a JSON value, without the names of fields."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from strings(each)

"""One name where a list of names is expected: refused by every method, before anything is sent."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from snapd_client import Client
from snapd_client.methods import Methods

if TYPE_CHECKING:
    from collections.abc import Iterator

ONE = ("src", b"src", Path("src"))


class Asking(Methods):
    """Sends nothing."""

    folders = ["file:///w"]  # noqa: RUF012 - a property in the original

    def _send(self, method: str, params: Any = None, **_: Any) -> Any:
        raise AssertionError(f"{method} was sent with {params}")

    def _pages(self, method: str, params: Any, *_: Any) -> Iterator[Any]:
        raise AssertionError(f"{method} was sent with {params(None, 0)}")


def takers() -> list[tuple[str, str]]:
    """Each method that takes names of files, and the parameter."""
    return [
        (name, parameter.name)
        for name, method in inspect.getmembers(Asking, inspect.isfunction)
        for parameter in inspect.signature(method).parameters.values()
        if "Iterable[FileName]" in str(parameter.annotation) and not name.startswith("_")
    ]


@pytest.mark.parametrize("one", ONE, ids=["str", "bytes", "path"])
@pytest.mark.parametrize(("method", "parameter"), takers())
def test_one_name_is_no_list(method: str, parameter: str, one: Any) -> None:
    call = getattr(Asking(), method)
    required = {
        each.name: "0" * 40
        for each in inspect.signature(call).parameters.values()
        if each.default is inspect.Parameter.empty
    }
    with pytest.raises(TypeError, match="put it into a list"):
        call(**{**required, parameter: one})
    with pytest.raises(AssertionError, match="was sent"):
        list(call(**{**required, parameter: [one]}))


@pytest.mark.parametrize("one", ONE[:2])
def test_a_patch_with_one_name(one: Any) -> None:
    with pytest.raises(TypeError, match="put it into a list"):
        Asking().revert([{"hash": "0" * 40, "files": one}])


def test_one_folder_is_no_list_of_folders(monkeypatch: pytest.MonkeyPatch) -> None:
    client: Any = object.__new__(Client)
    with pytest.raises(TypeError, match="put it into a list"):
        client.initialize("/w")
    with pytest.raises(TypeError, match="put it into a list"):
        client.subscribe("snapshot/didChange")
    with pytest.raises(TypeError, match="put it into a list"):
        Client.spawn("snapd connect")  # type: ignore[arg-type]

"""The base of all groups of requests: sends them, and names workspaces and files in them."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod

from snapd_client.uris import folder_uri, is_uri, quote, several, to_uri

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from typing import Any, TypeVar

    from snapd_client.notifications import OnProgress
    from snapd_client.protocol import Patch
    from snapd_client.uris import FileName

    T = TypeVar("T")

__all__ = ["FIRST_FILES", "PAGE_BYTES", "Requests", "file_name", "several_or_none"]

FIRST_FILES = 64
"""How many files the first page of a diff has by default."""
PAGE_BYTES = 2 << 20
"""The size of a page when many follow each other: a few milliseconds of work for either side."""


class Requests(ABC):
    """Sends requests.

    Every request takes `workspace_uri` (a URI or a path), which is required if several folders are open. Files are
    paths relative to the workspace, absolute paths or URIs. A name that is not valid UTF-8 may be bytes, or a str as
    returned by `os.fsdecode`.
    """

    @property
    @abstractmethod
    def folders(self) -> list[str]:
        """The URIs of the folders that are open."""

    @abstractmethod
    def _send(
        self, method: str, params: dict[str, Any], *, timeout: float | None, on_progress: OnProgress | None
    ) -> Any:
        """Sends a request and waits for its result."""

    @abstractmethod
    def _pages(
        self,
        method: str,
        params: Callable[[str | None, int], dict[str, Any]],
        timeout: float | None,
        on_progress: OnProgress | None,
    ) -> Iterator[Any]:
        """Returns the pages of an answer; `params` returns the params of each request, see `snapd_client.pages`."""

    def _ask(
        self,
        method: str,
        fields: Mapping[str, Any],
        workspace: str | None,
        timeout: float | None,
        on_progress: OnProgress | None,
    ) -> Any:
        return self._send(method, self._params(fields, workspace), timeout=timeout, on_progress=on_progress)

    def _all(
        self,
        method: str,
        fields: Mapping[str, Any],
        key: str,
        workspace: str | None,
        timeout: float | None,
        on_progress: OnProgress | None,
    ) -> Iterator[Any]:
        """Iterates over the items in `key` of every page.

        Pages have `limit` items. Without it, those of a diff have as many files as fit into a few megabytes.
        """
        grows = key == "diffs" and fields["limit"] is None
        limit = FIRST_FILES if grows else fields["limit"]

        def params(cursor: str | None, size: int) -> dict[str, Any]:
            nonlocal limit
            if cursor is not None and grows:
                limit = min(2 * limit, max(1, limit * PAGE_BYTES // max(size, 1)))
            return self._params({**fields, "cursor": cursor, "limit": limit}, workspace)

        return (item for page in self._pages(method, params, timeout, on_progress) for item in page[key])

    @staticmethod
    def _params(fields: Mapping[str, Any], workspace: str | None) -> dict[str, Any]:
        params = {key: value for key, value in fields.items() if value is not None}
        if workspace is not None:
            params["workspaceUri"] = folder_uri(workspace)
        return params

    def _patches(self, patches: Iterable[Patch], workspace: str | None) -> list[dict[str, Any]]:
        return [{**patch, "files": self._names(patch["files"], workspace)} for patch in patches]

    @staticmethod
    def _folder(folder: FileName | None) -> str | None:
        return None if folder is None else folder_uri(folder)

    def _names(self, files: Iterable[FileName] | None, workspace: str | None) -> list[str | None] | None:
        """Returns file names for a request. Raises `TypeError` for a single name instead of a list."""
        return None if files is None else [self._name(file, workspace) for file in several(files)]

    def _name(self, file: FileName | None, workspace: str | None) -> str | None:
        if file is None:
            return None
        return file_name(file, self.folders if workspace is None else [folder_uri(workspace)])


def file_name(file: FileName, folders: Sequence[str]) -> str:
    """Returns a file name for a request: as a URI if JSON cannot represent the name, or it looks like a URI."""
    name = os.fsdecode(file)
    if isinstance(file, str) and is_uri(file):
        return file
    if not is_uri(name) and not any("\ud800" <= character <= "\udfff" for character in name):
        return name
    if os.path.isabs(name):
        return to_uri(name)
    if len(folders) != 1:
        raise ValueError(
            f"{name!r} needs a workspace to make its URI, but {len(folders)} are open; name one by workspace_uri"
        )
    return f"{folders[0].rstrip('/')}/{quote(os.fsencode(name))}"


def several_or_none(names: Iterable[T] | None) -> list[T] | None:
    """Returns names as a list, or None. Raises `TypeError` for a single name."""
    return None if names is None else several(names)

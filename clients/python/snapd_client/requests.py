"""The base of all families of requests: how to send one, and how to name workspaces and files in it."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod

from snapd_client.uris import folder_uri, is_uri, quote, several, to_uri

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from typing import Any

    from snapd_client.notifications import OnProgress
    from snapd_client.uris import FileName

__all__ = ["FIRST_FILES", "PAGE_BYTES", "Requests"]

FIRST_FILES = 64
"""How many files the first page of a diff has by default."""
PAGE_BYTES = 2 << 20
"""The size of a page when many follow each other: a few milliseconds of work for either side."""


class Requests(ABC):
    """Sends requests.

    Every request takes `workspace_uri` (a URI or a path), which is required if several folders are open. Files are
    paths relative to the workspace, absolute paths or URIs. A name that is not valid UTF-8 may be bytes, or a str as
    `os.fsdecode` makes it.
    """

    @property
    @abstractmethod
    def folders(self) -> list[str]:
        """The URIs of the folders that are open."""

    @abstractmethod
    def request(
        self,
        method: str,
        params: dict[str, Any] | None = None,
        *,
        timeout: float | None = None,
        on_progress: OnProgress | None = None,
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
        """Returns the pages of an answer; `params` makes the params of each request, see `snapd_client.pages`."""

    def _ask(
        self,
        method: str,
        fields: Mapping[str, Any],
        workspace: str | None,
        timeout: float | None,
        on_progress: OnProgress | None,
    ) -> Any:
        params = self._params(fields, workspace)
        return self.request(method, params, timeout=timeout, on_progress=on_progress)

    def _diffs(
        self,
        method: str,
        fields: Mapping[str, Any],
        limit: int | None,
        workspace: str | None,
        timeout: float | None,
        on_progress: OnProgress | None,
    ) -> Iterator[Any]:
        """Iterates over the files of a diff, and fetches at most one page ahead.

        Pages have `limit` files; without it, as many as fit into a few megabytes.
        """
        files_a_page = FIRST_FILES if limit is None else limit

        def params(cursor: str | None, size: int) -> dict[str, Any]:
            nonlocal files_a_page
            if cursor is not None and limit is None:
                files_a_page = min(2 * files_a_page, max(1, files_a_page * PAGE_BYTES // max(size, 1)))
            return self._params({**fields, "cursor": cursor, "limit": files_a_page}, workspace)

        for page in self._pages(method, params, timeout, on_progress):
            yield from page["diffs"]

    @staticmethod
    def _params(fields: Mapping[str, Any], workspace: str | None) -> dict[str, Any]:
        params = {key: value for key, value in fields.items() if value is not None}
        if workspace is not None:
            params["workspaceUri"] = folder_uri(workspace)
        return params

    def _names(self, files: Iterable[FileName] | None, workspace: str | None) -> list[str] | None:
        """Returns files as a request names them. Raises `TypeError` for a single name instead of a list."""
        return None if files is None else [self._name(file, workspace) for file in several(files)]

    def _name(self, file: FileName, workspace: str | None) -> str:
        """Returns a file as a request names it: as a URI if JSON cannot represent the name, or it looks like a URI."""
        name = os.fsdecode(file)
        if isinstance(file, str) and is_uri(file):
            return file
        if not is_uri(name) and not any("\ud800" <= character <= "\udfff" for character in name):
            return name
        if os.path.isabs(name):
            return to_uri(name)
        folders = self.folders if workspace is None else [folder_uri(workspace)]
        if len(folders) != 1:
            raise ValueError(
                f"{name!r} needs a workspace to make its URI, but {len(folders)} are open; name one by workspace_uri"
            )
        return f"{folders[0].rstrip('/')}/{quote(os.fsencode(name))}"

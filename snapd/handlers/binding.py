"""Binds handlers to wire methods, and defines the context in which they run."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import attrs

from snapd.model.errors import InvalidParams, PlanChanged, did_you_mean
from snapd.wire import converter as wire
from snapd.wire.converter import structure, unstructure
from snapd.wire.methods import Method
from snapd.wire.values import RequestParams

if TYPE_CHECKING:
    from collections.abc import Hashable

    from snapd.model.call import Call
    from snapd.sharing.workspace import SharedWorkspace


@attrs.frozen
class Context:
    """The context of a request; `roots` are the paths under which its files may be named, the canonical one first."""

    workspace: SharedWorkspace
    roots: tuple[bytes, ...]
    client: Hashable
    call: Call

    @property
    def enabled(self) -> bool:
        """Whether this client has snapshots turned on."""
        return self.workspace.policy.enabled(self.client)

    def need_snapshots(self, purpose: str) -> None:
        """Raises `InvalidParams` if this client has snapshots off; `purpose` is for the message: "begin a step on"."""
        if not self.enabled:
            raise InvalidParams(
                f"snapshots are off for this client, so there is nothing to {purpose}",
                hint="turn the setting `snapshot` on",
                field="params",
            )


P = TypeVar("P", bound=RequestParams)
R = TypeVar("R", bound=attrs.AttrsInstance)

Handler = Callable[[Context, P], R]

_OF_LSP = "partialResultToken"
"""Params that LSP clients may send with any request, besides `workDoneToken`."""

bound: dict[str, Handler[Any, Any]] = {}


def structured(method: Method[P, Any], given: object) -> P:
    """Converts JSON params to an object. Raises `InvalidParams` for the first wrong field.

    A method that changes something refuses unknown fields, as a misspelt `dryRun` would change files; others ignore
    them.
    """
    if isinstance(given, dict) and _OF_LSP in given:
        given = {name: value for name, value in given.items() if name != _OF_LSP}
    try:
        params = structure(given, method.params, forbid_extra=bool(method.changes))
        if method.changes is None and method.access_of(params) == "writes":
            structure(given, method.params, forbid_extra=True)
        return params
    except wire.InvalidParams as error:
        hint = None
        if error.problem == "is missing":
            hint = f"send {error.field}: {error.known[0]}"
        elif error.known:
            meant = did_you_mean(re.split(r"[.\]]", error.field)[-1], error.known)
            hint = f"{meant}the fields are {', '.join(error.known)}"
        raise InvalidParams(str(error), hint=hint, field=error.field) from None


def handles(method: Method[P, R]) -> Callable[[Handler[P, R]], Handler[P, R]]:
    """Makes the decorated function the handler of a method. Raises `ValueError` if it already has one."""

    def bind(handler: Handler[P, R]) -> Handler[P, R]:
        if method.name in bound:
            raise ValueError(f"{method.name} has two handlers")
        bound[method.name] = _expecting(handler) if "planChanged" in method.own_errors else handler
        return handler

    return bind


def _expecting(handler: Handler[Any, Any]) -> Handler[Any, Any]:
    """Raises `PlanChanged` if the core only planned, because the client expects another plan."""

    def handle(context: Context, params: Any) -> Any:
        result = handler(context, params)
        if isinstance(params.expect, str) and result.plan not in (None, params.expect):
            raise PlanChanged(
                "the request would do something other than the plan that it expects", outcome=unstructure(result)
            )
        return result

    return handle

"""Answers the messages of one connection, and keeps reading while tool calls run."""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING, Any

from snapd.mcp.tools.results import Failure
from snapd.mcp.tools.table import TOOLS
from snapd.mcp.tools.texts import failure_text
from snapd.model.errors import Cancelled, SnapdError
from snapd.rpc.transport.streams import take_stdout
from snapd.wire.converter import unstructure
from snapd.wire.errors import INTERNAL_ERROR, INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND

from .call import Answer, Call, Link, PersonQuestion, Questions
from .messages import (
    CAPABILITIES,
    INFO,
    INSTRUCTIONS,
    SUPPORTED,
    TOO_LONG,
    Malformed,
    Notification,
    Output,
    Request,
    Response,
    RevisionTerms,
    RpcError,
    parse,
    read_lines,
    shake_hands,
    stated,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .call import Connect
    from .messages import Id, Message

_log = logging.getLogger(__name__)
MAX_CALLS = 64


class Server:
    """Serves one client. `own_session` is the session of the agent that uses it, if known."""

    def __init__(self, output: Output, link: Link, own_session: str | None) -> None:
        self._output = output
        self._link = link
        self._own_session = own_session
        self._terms: RevisionTerms | None = None
        self._lock = threading.Lock()
        self._calls: dict[Id, Call] = {}
        self._threads: set[threading.Thread] = set()
        self._questions = Questions()
        self._is_over = False

    def serve(self, lines: Iterable[bytes | None]) -> None:
        """Answers messages until `lines` ends (None is a line that is too long), then waits for running calls."""
        for line in lines:
            self._take(TOO_LONG if line is None else parse(line))
            if self._output.is_lost:
                break
        self._is_over = True
        self._questions.end()
        with self._lock:
            calls, threads = list(self._calls.values()), list(self._threads)
        if self._output.is_lost:
            for call in calls:
                call.cancel()
        for thread in threads:
            thread.join()

    def _take(self, message: Message) -> None:
        if isinstance(message, Request):
            self._take_request(message)
        elif isinstance(message, Response):
            self._questions.settle(message.id, message.result)
        elif isinstance(message, Malformed):
            self._output.send({"id": message.id, "error": message.error.as_json()})
        else:
            self._take_notification(message)

    def _take_notification(self, message: Notification) -> None:
        identity: Any = message.params.get("requestId")
        if message.method != "notifications/cancelled" or type(identity) not in (str, int):
            # other notifications are not needed here
            return
        with self._lock:
            result = self._calls.get(identity)
        if result is not None:
            result.cancel()

    def _take_request(self, request: Request) -> None:
        try:
            terms = stated(request.params)
            if request.method == "tools/call":
                self._begin(request, self._terms_of(terms))
            else:
                self._output.send({"id": request.id, "result": self._result(request, terms)})
        except RpcError as error:
            self._output.send({"id": request.id, "error": error.as_json()})

    def _result(self, request: Request, terms: RevisionTerms | None) -> dict[str, Any]:
        """The result of a request other than a tool call. Raises `RpcError`."""
        answers = {
            "ping": self._ping,
            "initialize": self._initialize,
            "server/discover": self._discover,
            "tools/list": self._list,
        }
        if request.method not in answers:
            raise RpcError(METHOD_NOT_FOUND, f"there is no method {request.method!r}")
        return answers[request.method](request.params, terms)

    def _ping(self, _: dict[str, Any], terms: RevisionTerms | None) -> dict[str, Any]:
        return {} if terms is None else terms.complete({})

    def _initialize(self, params: dict[str, Any], _: RevisionTerms | None) -> dict[str, Any]:
        self._terms = shake_hands(params)
        version = {"protocolVersion": self._terms.version}
        return {**version, "capabilities": CAPABILITIES, "serverInfo": INFO, "instructions": INSTRUCTIONS}

    def _discover(self, _: dict[str, Any], terms: RevisionTerms | None) -> dict[str, Any]:
        if terms is None:
            raise RpcError(METHOD_NOT_FOUND, "'server/discover' is a method of 2026-07-28: state it in `_meta`")
        result = {"supportedVersions": list(SUPPORTED), "capabilities": CAPABILITIES, "instructions": INSTRUCTIONS}
        return terms.complete(result, cacheable=True)

    def _list(self, params: dict[str, Any], terms: RevisionTerms | None) -> dict[str, Any]:
        agreed = self._terms_of(terms)
        if params.get("cursor") is not None:
            raise RpcError(INVALID_PARAMS, "cursor: all tools are on the first page")
        return agreed.complete({"tools": [tool.as_json() for tool in TOOLS.values()]}, cacheable=True)

    def _terms_of(self, terms: RevisionTerms | None) -> RevisionTerms:
        """These terms, else those of the handshake. Raises `RpcError` if there was none."""
        revision_terms = terms or self._terms
        if revision_terms is None:
            raise RpcError(INVALID_REQUEST, "send `initialize` first, or state the protocol version in `_meta`")
        return revision_terms

    # -- calls of tools

    def _begin(self, request: Request, terms: RevisionTerms) -> None:
        """Runs a tool in a thread. Raises `RpcError` if it cannot."""
        name = request.params.get("name")
        if not isinstance(name, str) or name not in TOOLS:
            raise RpcError(INVALID_PARAMS, f"name: there is no tool {name!r}")
        call = Call(
            request.id, request.params, terms, self._link, self._output.send, self._questions, self._own_session
        )
        arguments = request.params.get("arguments")
        thread = threading.Thread(target=self._run, args=(call, name, arguments), name=f"snapd-mcp-{name}", daemon=True)
        with self._lock:
            if request.id in self._calls:
                raise RpcError(INVALID_REQUEST, f"id: {request.id!r} is the id of a call that is still running")
            if len(self._calls) >= MAX_CALLS:
                raise RpcError(INTERNAL_ERROR, f"{MAX_CALLS} calls are running: wait until one of them ends")
            self._calls[request.id] = call
            self._threads.add(thread)
        thread.start()

    def _run(self, call: Call, name: str, arguments: Any) -> None:
        try:
            answer = self._answer(call, name, arguments)
            with self._lock:
                del self._calls[call.request_id]
            # a cancelled call gets no answer
            if answer is not None and not call.cancellation.cancelled:
                self._output.send({"id": call.request_id, **answer})
                if not self._output.is_lost:
                    call.afterwards()
        except (SnapdError, OSError):
            _log.exception("what the agent heard could not be recorded, so it hears it again")
        finally:
            with self._lock:
                self._threads.discard(threading.current_thread())

    def _answer(self, call: Call, name: str, arguments: Any) -> dict[str, Any] | None:
        """The result or error of a call; None if it was cancelled."""
        try:
            outcome = TOOLS[name].call(call, arguments)
        except Cancelled as error:
            return None if self._is_over else {"result": call.terms.complete(_failure(error))}
        except (SnapdError, OSError) as error:
            return {"result": call.terms.complete(_failure(error))}
        except Exception:
            _log.exception("a defect in the tool %s", name)
            return {"error": RpcError(INTERNAL_ERROR, f"{name!r} failed because of a defect in snapd").as_json()}
        if isinstance(outcome, PersonQuestion):
            return {"result": outcome.as_json()}
        return {"result": call.terms.complete(_success(outcome))}


def _success(answer: Answer) -> dict[str, Any]:
    content = [{"type": "text", "text": answer.text}]
    return {"content": content, "structuredContent": unstructure(answer.result), "isError": answer.is_error}


def _failure(error: SnapdError | OSError) -> dict[str, Any]:
    """The `CallToolResult` of an error: models see those, but not protocol errors."""
    if isinstance(error, SnapdError):
        failure = Failure(kind=error.kind, message=_sendable(error.message), hint=_sendable(error.hint))
    else:
        failure = Failure(kind="ioError", message=_sendable(str(error)), hint="run 'snapd doctor'")
    text = failure_text(failure.kind, failure.message, failure.hint)
    return {
        "content": [{"type": "text", "text": text}],
        "structuredContent": {"error": unstructure(failure)},
        "isError": True,
    }


def _sendable(text: str) -> str:
    """A text that JSON can hold: file names may have bytes that are not UTF-8."""
    return text.encode("utf-8", "replace").decode("utf-8")


def serve(connect: Connect, own_session: str | None, directory: str) -> None:
    """Serves until standard input ends, with files relative to `directory`; only messages go to standard output."""
    output = Output(take_stdout())
    link = Link(connect, directory)
    try:
        Server(output, link, own_session).serve(read_lines(0))
    finally:
        link.close()

"""A running tool call: its requests to the daemon, its question to the user, and its cancellation."""

from __future__ import annotations

import os
import threading
from itertools import count
from typing import TYPE_CHECKING, Any, Literal

import attrs
from snapd_client import Cancellation
from snapd_client.methods import typed

from snapd.model.errors import Cancelled

if TYPE_CHECKING:
    from collections.abc import Callable

    from snapd.backend import RemoteBackend, Report

    from .messages import Id, RevisionTerms

    Connect = Callable[[], RemoteBackend]
    Send = Callable[[dict[str, Any]], None]


class Link:
    """Sends requests about one folder to the daemon; thread-safe. File names are relative to `directory`."""

    def __init__(self, connect: Connect, directory: str = "") -> None:
        self._connect = connect
        self._directory = directory
        self._backend: RemoteBackend | None = None
        self._is_closed = False
        self._lock = threading.Lock()

    def request(
        self,
        method: Any,
        params: Any,
        report: Report | None = None,
        cancellation: Cancellation | None = None,
    ) -> Any:
        """Sends a request and returns JSON values; None in `params` means absent.

        Raises its error, `IoError` if the daemon cannot be reached, or `Cancelled` after `close`.
        """
        given: Any = {name: self._named(name, value) for name, value in params.items() if value is not None}
        return self._opened().request(method, given, report, cancellation)

    def _named(self, key: str, value: Any) -> Any:
        if key == "patches":
            return [{**patch, "files": self._named("files", patch["files"])} for patch in value]
        if key == "files":
            return [self._named("name", name) for name in value]
        if key not in ("file", "name") or not self._directory:
            return value
        full = os.path.join(self._directory, value)
        # answers name files relative to the root of the workspace
        result = full if os.path.isdir(os.path.dirname(full)) else value
        return os.path.realpath(full) if key == "file" and os.path.islink(full) else result

    def close(self) -> None:
        """Closes the connection, which ends running requests."""
        with self._lock:
            self._is_closed = True
            if self._backend is not None:
                self._backend.close()

    def _opened(self) -> RemoteBackend:
        with self._lock:
            if self._is_closed:
                raise Cancelled("the server has ended")
            if self._backend is None:
                self._backend = self._connect()
            return self._backend


Verdict = Literal["yes", "no", "none"]
"""The user's answer to a plan; none if they dismissed the question, or nobody is there."""


class Call:
    """A call of a tool; `own_session` is the agent's session from the request or else from the environment."""

    def __init__(
        self,
        request_id: Id,
        params: dict[str, Any],
        terms: RevisionTerms,
        link: Link,
        send: Send,
        questions: Questions,
        own_session: str | None,
    ) -> None:
        meta = _object(params.get("_meta"))
        self.terms = terms
        self.own_session = own_session or _session_in(meta)
        self.request_id = request_id
        self.cancellation = Cancellation()
        self._token = meta.get("progressToken")
        self._answers = params.get("inputResponses")
        self._state = params.get("requestState")
        self._link = link
        self._send = send
        self._questions = questions
        self._reports = 0
        self.afterwards: Callable[[], object] = lambda: None  # called once the answer is written
        self._lock = threading.Lock()
        self._question: Question | None = None

    @typed
    def request(self, method: str, params: Any = None) -> Any:
        """Sends a request to the daemon and passes its progress on. Raises its error, or `Cancelled`."""
        report = self._report if type(self._token) in (str, int) else None
        return self._link.request(method, params, report, self.cancellation)

    @typed
    def finish(self, method: str, params: Any = None) -> Any:
        """As `request`, for work that must not stay half done: cancelling the call does not cancel it."""
        return self._link.request(method, params)

    def ask_person(self, message: str, form: dict[str, Any]) -> Verdict:
        """Has the client ask the user, and waits for the answer. Raises `Cancelled`, also if the client is gone."""
        question = self._questions.new()
        request = {"method": "elicitation/create", "params": {"message": message, "requestedSchema": form}}
        try:
            with self._lock:
                # under the lock: a cancel comes either before, or finds a question that was sent
                if self.cancellation.cancelled:
                    raise Cancelled("the call was cancelled")
                self._question = question
                self._send({"id": question.id, **request})
            return _verdict(question.wait())
        finally:
            with self._lock:
                self._question = None
            self._questions.forget(question)

    def replied(self, name: str, state: str) -> Verdict | None:
        """The user's answer in the call (since 2026-07-28); None if there is none, or it is to another question."""
        answers = self._answers
        if self._state != state or not isinstance(answers, dict) or name not in answers:
            return None
        return _verdict(answers[name])

    @property
    def is_retry(self) -> bool:
        """Whether it follows a result that had the client ask the user."""
        return self._state is not None

    def cancel(self) -> None:
        """Cancels the requests to the daemon and the question to the user."""
        self.cancellation.cancel()
        with self._lock:
            question = self._question
        if question is not None:
            params = {"requestId": question.id, "reason": "the tool call was cancelled"}
            self._send({"method": "notifications/cancelled", "params": params})
            question.cancel()

    def _report(self, message: str, percentage: int | None) -> None:
        # a call makes several requests, so their percentages are not the call's
        self._reports += 1
        text = message if percentage is None else f"{message} ({percentage} %)"
        params = {"progressToken": self._token, "progress": self._reports, "message": text}
        self._send({"method": "notifications/progress", "params": params})


def _session_in(meta: dict[str, Any]) -> str | None:
    """The session id in a request's metadata, as Codex sends it: the same as in its hooks."""
    named = _object(meta.get("x-codex-turn-metadata")).get("session_id")
    return named if isinstance(named, str) and named else None


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _verdict(result: Any) -> Verdict:
    """Reads an `ElicitResult`: only an accepted form with its box ticked is consent."""
    fields = _object(result)
    if fields.get("action") == "accept":
        return "yes" if _object(fields.get("content")).get("confirm") is True else "no"
    return "no" if fields.get("action") == "decline" else "none"


@attrs.frozen
class Answer:
    """The answer to a call, structured and as text; `is_error` means that the tool did not do what was asked."""

    result: attrs.AttrsInstance
    text: str
    is_error: bool = False


@attrs.frozen
class PersonQuestion:
    """A question that the client must ask before it calls again; `form` is a schema, `state` comes back unchanged."""

    name: str
    message: str
    form: dict[str, Any]
    state: str

    def as_json(self) -> dict[str, Any]:
        """The `InputRequiredResult` of 2026-07-28."""
        params = {"mode": "form", "message": self.message, "requestedSchema": self.form}
        question = {"method": "elicitation/create", "params": params}
        return {"resultType": "input_required", "inputRequests": {self.name: question}, "requestState": self.state}


Outcome = Answer | PersonQuestion


class Question:
    """A pending question; `id` is that of its request."""

    def __init__(self, identity: Id) -> None:
        self.id = identity
        self._settled = threading.Event()
        self._result: Any = None
        self._is_over = False

    def settle(self, result: Any) -> None:
        """Sets the client's answer; None if that is an error."""
        self._result = result
        self._settled.set()

    def cancel(self) -> None:
        """Ends the wait without an answer."""
        self._is_over = True
        self._settled.set()

    def wait(self) -> Any:
        """Waits for the result. Raises `Cancelled` after `cancel`."""
        self._settled.wait()
        if self._is_over:
            raise Cancelled("the question was given up")
        return self._result


class Questions:
    """The pending questions of one connection."""

    def __init__(self) -> None:
        self._numbers = count(1)
        self._waiting: dict[Id, Question] = {}
        self._lock = threading.Lock()
        self._is_over = False

    def new(self) -> Question:
        """Creates a question that is about to be sent. Raises `Cancelled` if the client is gone."""
        with self._lock:
            if self._is_over:
                raise Cancelled("the client is gone")
            question = Question(f"snapd-{next(self._numbers)}")
            self._waiting[question.id] = question
            return question

    def settle(self, identity: Id, result: Any) -> None:
        """Passes an answer to its question; ignores one without a question."""
        with self._lock:
            question = self._waiting.get(identity)
        if question is not None:
            question.settle(result)

    def forget(self, question: Question) -> None:
        """Removes a question."""
        with self._lock:
            self._waiting.pop(question.id, None)

    def end(self) -> None:
        """Cancels all questions, and any new one: the client is gone."""
        with self._lock:
            self._is_over = True
            waiting = list(self._waiting.values())
        for question in waiting:
            question.cancel()

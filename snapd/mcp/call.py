"""One call of a tool while it runs: its way to the daemon, to the person, and to the client that may cancel it."""

from __future__ import annotations

import threading
from itertools import count
from typing import TYPE_CHECKING, Any, Literal

import attrs
from snapd_client import Cancellation
from snapd_client.methods import typed

from snapd.model.errors import Cancelled

if TYPE_CHECKING:
    from collections.abc import Callable

    from .link import Link
    from .messages import Id
    from .revisions import RevisionTerms

    Send = Callable[[dict[str, Any]], None]

Verdict = Literal["yes", "no", "none"]
"""What the person said to a plan; none if they dismissed the question, or nobody is there."""


class Call:
    """A call of a tool.

    Args:
        request_id: of its request.
        params: of its request.
        terms: what holds for it.
        link: to the daemon.
        send: writes a message to the client.
        questions: to the client.
        own_session: the agent's session, where its environment tells.

    Attributes:
        own_session: the same, or the session that the request names.
        cancellation: cancels what the daemon does for it.
    """

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
        self._lock = threading.Lock()
        self._question: Question | None = None

    @typed
    def request(self, method: str, params: Any = None) -> Any:
        """The daemon's answer to a request; its progress goes to the client, if that wants it.

        Raises:
            SnapdError: the error that answers it; `Cancelled` if the client has cancelled the call.
        """
        report = self._report if type(self._token) in (str, int) else None
        return self._link.request(method, params, report, self.cancellation)

    @typed
    def finish(self, method: str, params: Any = None) -> Any:
        """As `request`, for what must not stay half done: whoever cancels the call does not cancel this."""
        return self._link.request(method, params)

    def ask_person(self, message: str, form: dict[str, Any]) -> Verdict:
        """Has the client ask the person, and waits for the answer; for the revisions with requests to the client.

        Raises:
            Cancelled: the client has cancelled the call, or is gone.
        """
        question = self._questions.new()
        request = {"method": "elicitation/create", "params": {"message": message, "requestedSchema": form}}
        try:
            with self._lock:
                # whoever cancels either comes first, or finds a question that was sent
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
        """What the person said, where the call brings it along, as since 2026-07-28.

        Args:
            name: of the question in the earlier result.
            state: the state of that result, which the call has to bring, too.

        Returns:
            None if there is no answer, or it was to another question.
        """
        answers = self._answers
        if self._state != state or not isinstance(answers, dict) or name not in answers:
            return None
        return _verdict(answers[name])

    @property
    def is_retry(self) -> bool:
        """Whether it comes after a result that had the client ask the person."""
        return self._state is not None

    def cancel(self) -> None:
        """Cancels what the daemon does, and the question to the person."""
        self.cancellation.cancel()
        with self._lock:
            question = self._question
        if question is not None:
            params = {"requestId": question.id, "reason": "the call that asked was cancelled"}
            self._send({"method": "notifications/cancelled", "params": params})
            question.cancel()

    def _report(self, message: str, percentage: int | None) -> None:
        # several requests of the daemon make up one call, so their percentages cannot be the call's
        self._reports += 1
        said = message if percentage is None else f"{message} ({percentage} %)"
        params = {"progressToken": self._token, "progress": self._reports, "message": said}
        self._send({"method": "notifications/progress", "params": params})


def _session_in(meta: dict[str, Any]) -> str | None:
    """The session of an agent that names it in each request, as Codex does: the one that its hooks name."""
    named = _object(meta.get("x-codex-turn-metadata")).get("session_id")
    return named if isinstance(named, str) and named else None


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _verdict(result: Any) -> Verdict:
    """What an `ElicitResult` says: only who accepts the form, with its one box ticked, has agreed."""
    fields = _object(result)
    if fields.get("action") == "accept":
        return "yes" if _object(fields.get("content")).get("confirm") is True else "no"
    return "no" if fields.get("action") == "decline" else "none"


@attrs.frozen
class Answer:
    """What a call is answered with.

    Attributes:
        result: an object of the tool's class of results.
        text: the same for whoever reads it.
        is_error: whether the tool did not do what it was asked to.
    """

    result: attrs.AttrsInstance
    text: str
    is_error: bool = False


@attrs.frozen
class PersonQuestion:
    """In place of an answer: what the client has to ask the person before it calls again.

    Attributes:
        name: of the question.
        message: for the person.
        form: the schema of what they fill in.
        state: what the client gives back unread.
    """

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
    """A question on its way.

    Attributes:
        id: of the request.
    """

    def __init__(self, identity: Id) -> None:
        self.id = identity
        self._settled = threading.Event()
        self._result: Any = None
        self._is_over = False

    def settle(self, result: Any) -> None:
        """Takes the client's answer; None where that is an error."""
        self._result = result
        self._settled.set()

    def cancel(self) -> None:
        """Ends the wait: nobody will answer, or nobody wants to know."""
        self._is_over = True
        self._settled.set()

    def wait(self) -> Any:
        """Waits for the result; raises `Cancelled` if somebody gave up."""
        self._settled.wait()
        if self._is_over:
            raise Cancelled("the question was given up")
        return self._result


class Questions:
    """The questions of one connection."""

    def __init__(self) -> None:
        self._numbers = count(1)
        self._waiting: dict[Id, Question] = {}
        self._lock = threading.Lock()
        self._is_over = False

    def new(self) -> Question:
        """A question that is about to be sent; raises `Cancelled` if nobody is there any more."""
        with self._lock:
            if self._is_over:
                raise Cancelled("the client is gone")
            question = Question(f"snapd-{next(self._numbers)}")
            self._waiting[question.id] = question
            return question

    def settle(self, identity: Id, result: Any) -> None:
        """Takes an answer of the client; one that nobody waits for is passed over."""
        with self._lock:
            question = self._waiting.get(identity)
        if question is not None:
            question.settle(result)

    def forget(self, question: Question) -> None:
        """Waits for its answer no longer."""
        with self._lock:
            self._waiting.pop(question.id, None)

    def end(self) -> None:
        """Gives all of them up, and those to come: the client is gone."""
        with self._lock:
            self._is_over = True
            waiting = list(self._waiting.values())
        for question in waiting:
            question.cancel()

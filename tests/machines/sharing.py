"""What a machine is asked for about others."""

from __future__ import annotations

from snapd.model.call import Call
from snapd.sharing.push import PushOptions, PushOutcome
from tests.support.sessions import Agents


def push(agents: Agents, remote: str, *sessions: str, call: Call | None = None) -> PushOutcome:
    """Pushes sessions, or all of them."""
    return agents.bench.workspace.pushing.push(remote, sessions or None, PushOptions(), call or Call())


def fetch(agents: Agents, remote: str, *sessions: str, call: Call | None = None) -> list[str]:
    """Fetches sessions, or all of them; gives the names of those that are new or others."""
    views = agents.bench.workspace.fetched.fetch(remote, sessions or None, call or Call())
    return sorted(view.session.session_id for view in views)


def delete(agents: Agents, remote: str, *sessions: str) -> tuple[str, ...]:
    """Deletes sessions at a remote."""
    return agents.bench.workspace.pushing.delete(remote, sessions, Call())[1]


def steps(agents: Agents, session: str) -> list[str]:
    """The names of the steps of a fetched session."""
    reader = agents.bench.workspace.fetched.known_session(session)
    return [step.step_id for step in reader.fetched.timeline.steps(session)]

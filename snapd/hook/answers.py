"""The answer to an agent's event: what others did to its work since the last one."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .event import Event

_SHOWN = 10
"""The most steps and files that are named; the rest is counted."""


def answer(event: Event, news: dict[str, Any]) -> dict[str, Any] | None:
    """The JSON that the hook prints, or None; `news` is the result of `session/news` with ids as they are shown."""
    text = format_news(news)
    return None if text is None else _format_files(event, text)


def unrecorded(event: Event, why: str, *, kept: bool) -> dict[str, Any] | None:
    """JSON that tells the agent that snapd is not recording, or None; `kept` means that the event is recorded later."""
    if not event.reads_answer:
        return None
    then = "snapd records them later, as far as possible" if kept else "snapd cannot undo them"
    why = " ".join(why.split())
    return _format_files(event, f"snapd: your changes are not recorded: {why}. {then}; tell the user.")


def _format_files(event: Event, text: str) -> dict[str, Any]:
    if event.dialect.answer_format == "claude":
        return {"hookSpecificOutput": {"hookEventName": event.name, "additionalContext": text}}
    if event.dialect.answer_format == "cursor":
        return {"additional_context": text}
    if event.dialect.answer_format == "cline":
        return {"cancel": False, "contextModification": text}
    return {"additionalContext": text}


def format_news(news: dict[str, Any]) -> str | None:
    """A few sentences for the agent about what happened; None if nothing did."""
    parts = []
    for key, verb in (("undone", "undone"), ("redone", "redone")):
        steps = news.get(key) or []
        if steps:
            is_one = len(steps) == 1
            subject = "This step of yours was" if is_one else "These steps of yours were"
            parts.append(f"{subject} {verb}: {_listed([_step(step) for step in steps])}.")
    files = [file["file"] for file in news.get("files") or []]
    if files:
        are, them = ("is", "it") if len(files) == 1 else ("are", "them")
        parts.append(f"{_listed(files)} {are} no longer as you left {them}: read {them} again before you edit {them}.")
    if "git" in news:
        # imported late: few answers need it
        from snapd.wire.words import git_words

        parts.append(f"Git was moved: {' '.join(git_words(news['git']).split())}.")
    if parts:
        parts.insert(0, "snapd: someone else changed your work since your last action.")
    for each in news.get("formerHistories") or []:
        old = " ".join(each["folder"].split())
        which = f"this folder was at {old}" if each["reason"] == "moved" else f"another folder was at {old}"
        parts.append(
            f"snapd: {which} before. Its history is kept but not used: tell the user that 'snapd adopt' takes it over."
        )
    text = " ".join(parts)
    if news.get("comments") or news.get("overlaps"):
        from snapd.wire.words import news_lines

        text = "\n\n".join(filter(None, [text, "\n".join(news_lines(news))]))
    return text or None


def _step(step: dict[str, Any]) -> str:
    words = " ".join(part for part in (step.get("tool"), step.get("description")) if part)
    partly = " in part" if step.get("state") == "partly" else ""
    return f"{words or 'a step'} (step {step['stepId']}{partly})"


def _listed(names: list[str]) -> str:
    # a line break in a name must not fake another sentence
    shown = [" ".join(name.split()) for name in names[:_SHOWN]]
    rest = len(names) - len(shown)
    if rest:
        return f"{', '.join(shown)} and {rest} more"
    return " and ".join([", ".join(shown[:-1]), shown[-1]]) if len(shown) > 1 else shown[0]

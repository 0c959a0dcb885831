"""The table of results, for people and for programs."""

from __future__ import annotations

import dataclasses
import datetime
import json
import statistics
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from .play import Result
from .products.product import Product
from .scenario import Scenario

VERDICTS = ("right", "wrong", "lost", "refused", "not offered", "not run")
_SHORT = {"lost": "**lost**", "not offered": "-"}


def write(
    folder: Path,
    results: Iterable[Result],
    scenarios: Mapping[str, Scenario],
    products: Mapping[str, type[Product]],
    versions: Mapping[str, str],
) -> None:
    """Writes `results.json` and `table.md` into a folder."""
    results = list(results)
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    folder.mkdir(parents=True, exist_ok=True)
    found = {
        "date": today,
        "versions": dict(versions),
        "results": [dataclasses.asdict(each) for each in results],
    }
    (folder / "results.json").write_text(json.dumps(found, indent=1) + "\n")
    (folder / "table.md").write_text("\n".join(_markdown(today, results, scenarios, products, versions)) + "\n")


def outcome(found: Mapping[str, Any]) -> list[tuple[str, str, str, str]]:
    """What must be the same in each run, of what `results.json` has: all but times and sizes."""
    return [(each["product"], each["scenario"], each["verdict"], each["why"]) for each in found["results"]]


def _markdown(
    today: str,
    results: list[Result],
    scenarios: Mapping[str, Scenario],
    products: Mapping[str, type[Product]],
    versions: Mapping[str, str],
) -> Iterable[str]:
    by_both = {(each.scenario, each.product): each for each in results}
    names = [name for name in products if any(each.product == name for each in results)]
    yield f"Measured on {today}.\n"
    yield "| product | version | undone with | " + " | ".join(VERDICTS) + " |"
    yield "|---" * (3 + len(VERDICTS)) + "|"
    for name in names:
        counts = [sum(each.verdict == verdict for each in results if each.product == name) for verdict in VERDICTS]
        numbers = " | ".join(map(str, counts))
        yield f"| {name} | {versions[name]} | {products[name].undo_with} | {numbers} |"
    yield "\n“wrong\\*”: the product's own documents exclude it; the notes have the page.\n"
    yield "| scenario | " + " | ".join(names) + " |"
    yield "|---" * (1 + len(names)) + "|"
    for scenario in scenarios.values():
        cells = [_cell(by_both.get((scenario.name, name))) for name in names]
        yield f"| [{scenario.title}]({scenario.report}) (`{scenario.name}`) | {' | '.join(cells)} |"
    yield "\nTime and disk, in the middle of all scenarios; the time of a turn has the agent's in it.\n"
    yield "| product | undo, s | turn, s | kept for the undo, KiB | with 10,000 files: undo, s | turn, s | KiB |"
    yield "|---|---|---|---|---|---|---|"
    for name in names:
        kept = [each for each in results if each.product == name and each.verdict not in ("not offered", "not run")]
        many = by_both.get(("many-files", name))
        yield f"| {name} | {_amounts(kept)} | {_amounts([many] if many in kept and many is not None else [])} |"
    yield "\n## Notes\n"
    for result in sorted(results, key=lambda each: (names.index(each.product), each.scenario)):
        if result.verdict not in ("right", "not offered"):
            page = f" ([excluded]({result.excluded}))" if result.excluded else ""
            why = result.why.replace("|", "\\|").replace("<", "&lt;")
            yield f"- {result.product}, `{result.scenario}`: {result.verdict}{page}: {why}"


def _cell(result: Result | None) -> str:
    if result is None:
        return ""
    return _SHORT.get(result.verdict, result.verdict) + ("\\*" if result.excluded else "")


def _amounts(results: list[Result]) -> str:
    if not results:
        return " | | "
    undo = statistics.median(each.seconds for each in results)
    turn = statistics.median(each.turn_seconds for each in results)
    disk = statistics.median(each.disk for each in results)
    return f"{undo:.1f} | {turn:.1f} | {disk / 1024:.0f}"

"""The table of results, for people and for programs.

`python -m tests.yardstick.report RESULTS` publishes the `results.json` of a run: it writes
`tests/yardstick/results.json`, `docs/yardstick.md` and the tables of `docs/compare.md`.
"""

from __future__ import annotations

import collections
import dataclasses
import datetime
import json
import statistics
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from .play import Result
from .products.product import Product
from .scenario import Scenario, load

VERDICTS = ("right", "wrong", "lost", "refused", "not offered", "not run")
ROOT = Path(__file__).parents[2]
PUBLISHED = Path("tests/yardstick/results.json")
_SHORT = {"lost": "**lost**", "not offered": "-"}
_EXCLUDED = "`*`: the product's own documents exclude it; [the notes](yardstick.md#notes) have the page."
_BEGIN, _END = "<!-- measured -->", "<!-- end of what was measured -->"

Run: TypeAlias = Mapping[str, Any]
"""What `results.json` has: `date`; `products`, by name; `results`, as `Result` has them."""


def write(
    folder: Path,
    results: Iterable[Result],
    scenarios: Mapping[str, Scenario],
    products: Mapping[str, type[Product]],
    versions: Mapping[str, str],
) -> None:
    """Writes `results.json` and `table.md` into a folder."""
    run = {
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "products": {
            name: {"title": kind.title or name, "version": versions[name], "undo_with": kind.undo_with}
            for name, kind in products.items()
            if name in versions
        },
        "results": [dataclasses.asdict(each) for each in results],
    }
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "results.json").write_text(_json(run))
    (folder / "table.md").write_text(_lines(_page(run, scenarios)))


def outcome(run: Run) -> list[tuple[str, str, str, str]]:
    """What must be the same in each run, of what `results.json` has: all but times and sizes."""
    return [(each["product"], each["scenario"], each["verdict"], each["why"]) for each in run["results"]]


def published(run: Run, scenarios: Mapping[str, Scenario], root: Path = ROOT) -> dict[Path, str]:
    """The files of the repository that show a run, below its root, and their text."""
    comparison = (root / "docs" / "compare.md").read_text()
    before, _, rest = comparison.partition(_BEGIN)
    _, _, after = rest.partition(_END)
    tables = _lines([*_counts(run), "", *_compact(run, scenarios), "", _EXCLUDED])
    header = ["<!-- written by python -m tests.yardstick.report; do not edit -->\n", "# What came of each scenario\n"]
    # seen from the folder of the page
    page = _lines([*header, *_page(run, scenarios)]).replace("](docs/", "](")
    return {
        PUBLISHED: _json(run),
        Path("docs/yardstick.md"): page,
        Path("docs/compare.md"): f"{before}{_BEGIN}\n\n{tables}\n{_END}{after}",
    }


def only_others(run: Run) -> list[str]:
    """Scenarios in which another product was right, and snapd was not with each agent."""
    by_scenario: dict[str, list[dict[str, Any]]] = collections.defaultdict(list)
    for each in run["results"]:
        by_scenario[each["scenario"]].append(each)
    return [
        name
        for name, each in by_scenario.items()
        if any(one["verdict"] == "right" and not _is_ours(one["product"]) for one in each)
        and any(one["verdict"] != "right" and _is_ours(one["product"]) for one in each)
    ]


def _is_ours(product: str) -> bool:
    return product.startswith("snapd-")


def _json(run: Run) -> str:
    """A result is a line."""
    head = json.dumps({**run, "results": []}, indent=1).removesuffix("[]\n}")
    return head + "[\n" + ",\n".join(json.dumps(each) for each in run["results"]) + "\n]}\n"


def _lines(lines: Iterable[str]) -> str:
    return "\n".join(lines) + "\n"


def _page(run: Run, scenarios: Mapping[str, Scenario]) -> Iterator[str]:
    names = [name for name in run["products"] if any(each["product"] == name for each in run["results"])]
    by_both = {(each["scenario"], each["product"]): each for each in run["results"]}
    yield f"Measured on {run['date']}.\n"
    yield from _counts(run)
    yield "\n`wrong*`: the product's own documents exclude it; the notes have the page.\n"
    yield _row(["scenario", *names])
    yield "|---" * (1 + len(names)) + "|"
    for scenario in scenarios.values():
        cells = [_cell(by_both.get((scenario.name, name))) for name in names]
        yield _row([f"{_title(scenario)} (`{scenario.name}`)", *cells])
    yield "\nTime and disk, in the middle of all scenarios; the time of a turn has the agent's in it.\n"
    yield "| product | undo, s | turn, s | kept for the undo, KiB | with 10,000 files: undo, s | turn, s | KiB |"
    yield "|---|---|---|---|---|---|---|"
    for name in names:
        kept = [
            each
            for each in run["results"]
            if each["product"] == name and each["verdict"] not in ("not offered", "not run")
        ]
        many = by_both.get(("many-files", name))
        yield f"| {name} | {_amounts(kept)} | {_amounts([many] if many in kept and many is not None else [])} |"
    yield "\n## Notes\n"
    for each in sorted(run["results"], key=lambda each: (names.index(each["product"]), each["scenario"])):
        if each["verdict"] not in ("right", "not offered"):
            page = f" ([excluded]({each['excluded']}))" if each["excluded"] else ""
            why = each["why"].replace("|", "\\|").replace("<", "&lt;")
            yield f"- {each['product']}, `{each['scenario']}`: {each['verdict']}{page}: {why}"


def _counts(run: Run) -> Iterator[str]:
    """How often each product was right."""
    yield _row(["product", "version", "undone with", *VERDICTS])
    yield "|---" * (3 + len(VERDICTS)) + "|"
    for name, product in run["products"].items():
        found = collections.Counter(each["verdict"] for each in run["results"] if each["product"] == name)
        numbers = [str(found[verdict]) for verdict in VERDICTS]
        if any(found.values()):
            yield _row([product["title"], product["version"], product["undo_with"], *numbers])


def _compact(run: Run, scenarios: Mapping[str, Scenario]) -> Iterator[str]:
    """A column for each product that offers anything, and one for snapd under all agents."""
    by_both = {(each["scenario"], each["product"]): each for each in run["results"]}
    offering = {each["product"] for each in run["results"] if each["verdict"] != "not offered"}
    theirs = [name for name in run["products"] if name in offering and not _is_ours(name)]
    ours = {name: each["title"].partition(", ")[2] for name, each in run["products"].items() if _is_ours(name)}
    yield _row(["scenario", *(run["products"][name]["title"] for name in theirs), "snapd"])
    yield "|---" * (2 + len(theirs)) + "|"
    for scenario in scenarios.values():
        cells = [_cell(by_both.get((scenario.name, name))) for name in theirs]
        mine = {agent: _cell(by_both.get((scenario.name, name))) for name, agent in ours.items()}
        yield _row([_title(scenario), *cells, _together(mine)])


def _together(cells: Mapping[str, str]) -> str:
    """What came of it with most agents, and with which agents something else did."""
    there = {agent: cell for agent, cell in cells.items() if cell}
    if not there:
        return ""
    usual = collections.Counter(there.values()).most_common(1)[0][0]
    others = [f"{cell} with {agent}" for agent, cell in there.items() if cell != usual]
    return "; ".join([usual, *others])


def _title(scenario: Scenario) -> str:
    return f"[{scenario.title}]({scenario.report})"


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _cell(result: Mapping[str, Any] | None) -> str:
    if result is None:
        return ""
    verdict = str(result["verdict"])
    return _SHORT.get(verdict, verdict) + ("\\*" if result["excluded"] else "")


def _amounts(results: list[dict[str, Any]]) -> str:
    if not results:
        return " | | "
    undo, turn, disk = (statistics.median(each[key] for each in results) for key in ("seconds", "turn_seconds", "disk"))
    return f"{undo:.1f} | {turn:.1f} | {disk / 1024:.0f}"


if __name__ == "__main__":
    (source,) = sys.argv[1:]
    for name, text in published(json.loads(Path(source).read_text()), load()).items():
        (ROOT / name).write_text(text)
        print(f"written: {name}")

"""`python -m tests.yardstick`: see `make yardstick`. Plays scenarios with products, and writes the table."""

from __future__ import annotations

import argparse
import concurrent.futures
import json
import os
import sys
import time
import traceback
from pathlib import Path

from tests.real_agents.install import NotInstalled, cache_folder
from tests.real_agents.network import NoNamespace, leave_network

from .play import Result, play
from .products.product import Product
from .products.table import PRODUCTS
from .report import outcome, write
from .scenario import Scenario, load


def main() -> int:
    scenarios = load()
    parser = argparse.ArgumentParser(prog="python -m tests.yardstick", description=__doc__)
    parser.add_argument("--only", nargs="*", default=[], metavar="SCENARIO", help="some scenarios (default: all)")
    parser.add_argument("--product", nargs="*", default=[], metavar="PRODUCT", help=f"of {', '.join(PRODUCTS)}")
    parser.add_argument("--cache", type=Path, default=cache_folder(), help="where agents are installed (%(default)s)")
    parser.add_argument("--output", type=Path, default=Path("build/yardstick"), help="where the table goes")
    parser.add_argument("--keep", type=Path, help="a folder that gets a copy of each place whose result is not right")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="runs at a time (%(default)s)")
    parser.add_argument("--same-as", type=Path, help="a results.json whose verdicts these must be")
    options = parser.parse_args()
    unknown = [name for name in options.only if name not in scenarios]
    unknown += [name for name in options.product if name not in PRODUCTS]
    if unknown:
        parser.error(f"there is no {', '.join(unknown)}")
    versions: dict[str, str] = {}
    failed = False
    for name in options.product or PRODUCTS:
        try:
            versions[name] = PRODUCTS[name].install(options.cache.resolve())
        except NotInstalled as error:
            failed = True
            print(f"FAIL {name} is not installed: {error}")
    try:
        leave_network()
    except NoNamespace as error:
        print(f"the products have the network of this machine: no namespace of their own ({error})")
    if options.keep:
        options.keep.mkdir(parents=True, exist_ok=True)
    runs = [(scenarios[name], PRODUCTS[product]) for name in options.only or scenarios for product in versions]
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        results = list(pool.map(lambda run: _run(run[0], run[1], options.keep), runs))
    done = [result for result in results if result is not None]
    write(options.output, done, scenarios, PRODUCTS, versions)
    print(f"{len(done)} results in {options.output}")
    if options.same_as is not None:
        before = {each[:2]: each[2:] for each in outcome(json.loads(options.same_as.read_text()))}
        now = {each[:2]: each[2:] for each in outcome(json.loads((options.output / "results.json").read_text()))}
        for key in now:
            if before.get(key) != now[key]:
                failed = True
                print(f"NOT THE SAME {' '.join(key)}: {before.get(key)}, now {now[key]}")
    return 1 if failed or len(done) < len(runs) else 0


def _run(scenario: Scenario, kind: type[Product], keep: Path | None) -> Result | None:
    begun = time.monotonic()
    try:
        result = play(scenario, kind, keep)
    except Exception:
        # a defect of the suite, or of a scenario, must not end the other runs
        print(f"FAIL {kind.name} {scenario.name}\n{traceback.format_exc()}", flush=True)
        return None
    took = time.monotonic() - begun
    print(f"{result.verdict:11} {took:5.1f} s  {kind.name} {scenario.name}  {result.why}", flush=True)
    return result


if __name__ == "__main__":
    sys.exit(main())

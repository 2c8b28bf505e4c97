"""`make campaign`: runs all campaigns, or the named ones, and writes docs/benchmarks/reliability.md.

    python -m campaigns                 all of them
    python -m campaigns pages damage    only these; earlier results of the others stay in the report

The exit code is 1 if anything was lost.
"""

from __future__ import annotations

import argparse
import asyncio
import inspect
import json
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests")]  # before the imports below: campaigns use the tests' helpers

from campaigns import damage, endurance, kills, models, mutants, pages, requests, surroundings  # noqa: E402
from campaigns.tally import Tally  # noqa: E402

REPORT = ROOT / "docs" / "benchmarks" / "reliability"
Run = Callable[[], Awaitable[Tally | list[Tally]]]
CAMPAIGNS: dict[str, Run] = {
    "requests": requests.run,
    "pages": pages.run,
    "damage": damage.run,
    "models": models.run,
    "clock": surroundings.clock,
    "disk": surroundings.disk,
    "kills": kills.ingests,
    "server-kills": kills.servers,
    "endurance": endurance.run,
    "mutants": mutants.campaign,
}
HEAD = """# Reliability

Written by `make campaign`; every number is counted. The docstring of each file in campaigns/ says what is done and
what counts as held. Everything runs on one machine, over loopback.

| campaign | tried | held | lost | |
|---|---:|---:|---:|---|
"""


def page(found: dict[str, list[dict[str, Any]]]) -> str:
    lines, losses, notes = [], [], []
    for tallies in found.values():
        for one in tallies:
            more = ", ".join(f"{name}: {value}" for name, value in one["figures"].items())
            lines.append(f"| {one['name']} | {one['tried']:,} | {one['held']:,} | {len(one['lost']):,} | {more} |\n")
            losses += [f"- {one['name']}: `{loss}`\n" for loss in one["lost"]]
            notes += [f"- {note}\n" for note in one.get("noted", [])]
    told = "\n## Lost\n\n" + "".join(losses) if losses else "\nNothing was lost.\n"
    read = "\n## Small faults that no test notices, and why\n\n" + "".join(notes) if notes else ""
    return HEAD + "".join(lines) + told + read


def keep(name: str, result: Sequence[Tally]) -> None:
    """Keeps the results of other campaigns, including those that run at the same time."""
    kept = REPORT.with_suffix(".json")
    found: dict[str, list[dict[str, Any]]] = json.loads(kept.read_text()) if kept.exists() else {}
    found[name] = [asdict(tally) for tally in result]
    ordered = {one: found[one] for one in CAMPAIGNS if one in found}
    kept.write_text(json.dumps(ordered, indent=1, ensure_ascii=False) + "\n")
    REPORT.with_suffix(".md").write_text(page(ordered))


def main() -> None:
    parser = argparse.ArgumentParser(description=inspect.cleandoc(__doc__ or ""))
    parser.add_argument("names", nargs="*", help=f"of {', '.join(CAMPAIGNS)}")
    names = parser.parse_args().names or list(CAMPAIGNS)
    if unknown := set(names) - set(CAMPAIGNS):
        parser.error(f"there is no campaign {', '.join(sorted(unknown))}; there are {', '.join(CAMPAIGNS)}")
    lost = 0
    for name in names:
        began = time.monotonic()
        result = asyncio.run(_run(CAMPAIGNS[name]))
        lost += sum(len(tally.lost) for tally in result)
        for tally in result:
            print(f"{tally.name}: {tally.held} of {tally.tried} held ({time.monotonic() - began:.0f} s)", flush=True)
        keep(name, result)
    raise SystemExit(1 if lost else 0)


async def _run(campaign: Run) -> list[Tally]:
    result = await campaign()
    return result if isinstance(result, list) else [result]


if __name__ == "__main__":
    main()

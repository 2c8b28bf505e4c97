"""Fits the scale on which the table of similarities is read (`QUOTH_CONFIDENCE=spec`, docs/decisions/0037).

    python benchmarks/spec_levels.py ../shared/data                    # write src/quoth/ask/spec_scale.json
    python benchmarks/spec_levels.py ../shared/data --without-reader   # the same for an installation without the reader

The table asks for an average similarity of 0.60, 0.75 and 0.85. This measures the averages of calibrated
similarities for questions that a book answers, and for the same questions when the article with the answer is
removed, or half of all passages. `low` begins where one answerable question in twenty is below; `medium` and `high`
where four of five and nine of ten of the questions above are answerable.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import tempfile
from pathlib import Path

import numpy as np

from corpora import EvaluationSet, load_sets
from known_readings import KnownReadings
from quoth.models.minilm import NAME as EMBEDDER
from refusal_cases import relevant_to, whole
from searching import Mask, Searcher

SETS = ("squad2_dev_half", "rust_book_quiz")
TARGET = Path(__file__).parent.parent / "src" / "quoth" / "ask" / "spec_scale.json"


async def averages(of: EvaluationSet, searcher: Searcher, most: int) -> tuple[list[float], list[float]]:
    """Averages for questions whose answer is there, and for questions whose answer is not."""
    chosen = np.random.default_rng(7).permutation(len(of.questions))[:most]
    keys = [chunk.id for chunk in of.corpus.chunks]
    groups = np.array([whole(key.rsplit("#" if "#" in key else "-", 1)[0]) for key in keys])
    half = np.random.default_rng(1).random(len(keys)) >= 0.5
    there: list[float] = []
    gone: list[float] = []
    for at in map(int, chosen):
        asked, relevant = of.questions[at], relevant_to(of, at)
        without: Mask = (groups != whole(asked.group)) & ~relevant
        for keep in (None, without, half):
            found = await searcher.find(of.corpus, asked.text, of.question_vectors[at], 5, keep)
            held = keep is None or bool((keep & relevant).any())
            (there if held else gone).append(float(np.mean([one.similarity for one in found.passages] or [0.0])))
    return there, gone


def from_where(there: list[float], gone: list[float], share: float) -> float:
    """The lowest average above which this share of the questions can be answered."""
    for cut in sorted(there):
        above = sum(one >= cut for one in there)
        if above >= share * (above + sum(one >= cut for one in gone)):
            return cut
    raise SystemExit(f"No average has {share:.0%} answerable questions above it.")


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()) / "quoth-bench")
    parser.add_argument("--most", type=int, default=300, help="questions of each set")
    parser.add_argument("--without-reader", action="store_true")
    arguments = parser.parse_args()
    sets = await load_sets(SETS, arguments.data, arguments.cache)
    reader = None if arguments.without_reader else KnownReadings(arguments.cache)
    there: list[float] = []
    gone: list[float] = []
    for of in sets:
        held, lost = await averages(of, Searcher(reader), arguments.most)
        there, gone = there + held, gone + lost
    if reader is not None:
        await reader.close()
    known = json.loads(TARGET.read_text("utf-8")) if TARGET.exists() else {}
    if reader is not None:  # drop the numbers of earlier weights
        known = {name: one for name, one in known.items() if " + " not in name}
    known[f"{EMBEDDER} + {reader.name}" if reader else EMBEDDER] = {
        "provenance": {
            "script": Path(__file__).name,
            "sets": SETS,
            "with the answer": len(there),
            "without": len(gone),
        },
        "low": round(float(np.quantile(there, 0.05)), 4),
        "medium": round(from_where(there, gone, 0.8), 4),
        "high": round(from_where(there, gone, 0.9), 4),
    }
    TARGET.write_text(json.dumps(known, indent=2) + "\n", encoding="utf-8")
    print(TARGET.read_text("utf-8"))


if __name__ == "__main__":
    asyncio.run(main())

"""Prepares a run on our own questions about technical books, mixed with examples that no run has seen yet.

    python benchmarks/asked_drafts.py ../shared/data       # in Quoth's environment: .training/asked.jsonl
    python -m training.asked_examples --replay 40000                # .training/asked/data/examples.npz
    python -m training.train --folder .training/asked --run asked --start …

There are few questions of our own, so each is cut several times, with other windows and other wrong passages. The
examples of `prepare` beside them keep what the reader has learned. Drafts of the held-out books are never here.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from .batches import Examples
from .drafts import NO, UNKNOWN, YES, Draft, Group
from .embedder import model_dir
from .overlap import Evaluated, evaluation_texts
from .prepare import ROOT, Pieces, as_arrays, clean_groups, pieces_of

SEED = 21
WRONG = 2  # other chunks beside the right or the tempting one, drawn anew in every pass


def drafted(row: dict[str, Any]) -> Draft:
    span = row.get("span")
    return Draft(
        row["kind"],
        row["question"],
        row["passage"],
        row["heading"],
        (span[0], span[1]) if span else None,
        # A chunk that was only found for an answerable question counts as not answering it, though a few may. Without
        # them, what is answerable could be told from the question alone: some kinds of questions are rarely answered.
        {1: YES, 0: NO}.get(row.get("answerable", 0), UNKNOWN),
        {1: YES, 0: NO}.get(row.get("relevance"), UNKNOWN),
    )


def asked_groups(path: Path, passes: int, chance: Random) -> list[Group]:
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    groups = []
    for _ in range(passes):
        for first, *others in rows:
            drawn = chance.sample(others, min(WRONG, len(others)))
            groups.append([drafted(one) for one in (first, *drawn)])
    return groups


def replayed(path: Path, seed: int, skip: int, most: int) -> dict[str, Any]:
    """The arrays of the next `most` examples of the common order, groups whole."""
    examples = Examples(path)
    order = examples.order(seed, 5_000, most, skip=skip)
    return examples.taken([group for batch in order for group in batch])


def joined(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    kinds = [*map(str, one["kinds"]), *map(str, other["kinds"])]
    both = {
        name: np.concatenate([one[name], other[name]]) for name in one if name not in ("ends", "kind", "group", "kinds")
    }
    return {
        **both,
        "ends": np.concatenate([one["ends"], other["ends"] + one["ends"][-1]]),
        "kind": np.concatenate([one["kind"], other["kind"] + len(one["kinds"])]),
        "group": np.concatenate([one["group"], other["group"] + one["group"][-1] + 1]),
        "kinds": np.array(kinds),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data")
    parser.add_argument("--folder", type=Path, default=ROOT / ".training")
    parser.add_argument("--passes", type=int, default=5)
    parser.add_argument("--replay", type=int, default=40_000, help="examples of `prepare` beside them")
    parser.add_argument("--skip", type=int, default=248_000, help="examples of `prepare` that were learned already")
    parser.add_argument("--seed", type=int, default=14, help="of the common order")
    arguments = parser.parse_args()
    chance = Random(SEED)
    evaluated = Evaluated(evaluation_texts(arguments.data, ROOT / "examples"))
    groups = list(
        clean_groups(iter(asked_groups(arguments.folder / "asked.jsonl", arguments.passes, chance)), evaluated)
    )
    cut = list(pieces_of(groups, Pieces(model_dir()), chance))
    own = as_arrays(cut)
    both = joined(
        own, replayed(arguments.folder / "data" / "examples.npz", arguments.seed, arguments.skip, arguments.replay)
    )
    out = arguments.folder / "asked" / "data"
    out.mkdir(parents=True, exist_ok=True)
    np.savez(out / "examples.npz", **both)
    told = {"own": len(own["ends"]), "all": len(both["ends"]), "passes": arguments.passes, "skip": arguments.skip}
    (out / "manifest.json").write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")
    print(told)


if __name__ == "__main__":
    main()

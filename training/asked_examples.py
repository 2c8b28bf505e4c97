"""Prepares a run on our own questions and claims, mixed with examples of `prepare`.

    python benchmarks/asked_drafts.py ../shared/data       # in Quoth's environment: .training/asked.jsonl
    python benchmarks/passage_books.py ../shared/data      # and .training/passages.jsonl
    python -m training.asked_examples --replay 30000                # .training/asked/data/examples.npz
    python -m training.train --folder .training/asked --run asked --start …

What is our own is cut several times, with other windows and other wrong passages. The examples of `prepare` beside it
keep what the reader has learned. Drafts of the held-out books are never here.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from .batches import Examples
from .drafts import NO, UNKNOWN, YES, Draft, Group
from .embedder import model_dir
from .overlap import Evaluated, evaluation_texts
from .prepare import ROOT, Pieces, as_arrays, clean_groups, pieces_of
from .written import Places, answer_groups, claim_groups, claim_searches, public_passages, with_biases

SEED = 21
WRONG = 2  # other chunks beside the right or the tempting one, drawn anew in every pass
# How often a group of `prepare` comes, by the kind of its first example; the others come once.
TIMES = {
    "book heading": 0.3,
    "book sentence": 0.4,
    "medquad": 0.3,
    "cloze": 0.3,
    "mnli_ni": 0.5,
    "scitail_ni": 0.5,
    "human look-alike": 3.0,
}


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


def passage_groups(path: Path, beside: float, chance: Random) -> list[Group]:
    """Questions about a passage stay together; a share comes once more, each question beside other chunks that were
    found for it."""
    groups = []
    for line in path.read_text(encoding="utf-8").splitlines():
        rows = json.loads(line)
        others = [row for row in rows if row["kind"] == "passage, other chunk"]
        if others and chance.random() > beside:
            continue
        drawn = chance.sample(others, min(WRONG, len(others)))
        groups.append([drafted(row) for row in rows if row not in others or row in drawn])
    return groups


@dataclass(frozen=True, slots=True)
class Mixture:
    """How much of our own is used."""

    passes: int = 1  # over our own questions and claims
    share: float = 1.0  # of these passes
    answers: int = 1  # passes over our own answers
    beside: float = 0.2  # share of the questions about passages that come once more, beside other chunks, in every pass


def own_groups(folder: Path, data: Path, wanted: Mixture, chance: Random) -> list[Group]:
    places = Places(data)
    groups = asked_groups(folder / "asked.jsonl", wanted.passes, chance)
    for _ in range(wanted.passes):
        groups += passage_groups(folder / "passages.jsonl", wanted.beside, chance)
        groups += public_passages(places)
        groups += claim_groups(places, chance)
        groups += claim_searches(places, chance)
    groups = chance.sample(groups, round(wanted.share * len(groups)))
    for _ in range(wanted.answers):
        groups += answer_groups()
    chance.shuffle(groups)
    return groups


def replayed(path: Path, seed: int, skip: int, most: int) -> dict[str, Any]:
    """The arrays of the next `most` examples of the common order, groups whole. Kinds that teach ranking more than
    reading come less often, the few look-alikes that people wrote several times."""
    examples = Examples(path)
    chance = Random(seed + skip)
    chosen: list[int] = []
    count = 0
    for batch in examples.order(seed, 5_000, 3 * most, skip=skip):
        for group in batch:
            wanted = TIMES.get(examples.kind(group), 1.0)
            times = int(wanted) + (chance.random() < wanted % 1)
            chosen += [group] * times
            count += times * examples.size(group)
        if count >= most:
            break
    return examples.taken(chosen)


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
    for field in fields(Mixture):
        parser.add_argument(f"--{field.name}", type=type(field.default), default=field.default)
    parser.add_argument("--replay", type=int, default=30_000, help="examples of `prepare` beside them")
    parser.add_argument("--skip", type=int, default=248_000, help="examples of `prepare` that were learned already")
    parser.add_argument("--seed", type=int, default=14, help="of the common order")
    parser.add_argument("--chance", type=int, default=SEED, help="decides how our own examples are cut")
    arguments = parser.parse_args()
    chance = Random(arguments.chance)
    evaluated = Evaluated(evaluation_texts(arguments.data, ROOT / "examples"))
    wanted = Mixture(arguments.passes, arguments.share, arguments.answers, arguments.beside)
    written = own_groups(arguments.folder, arguments.data, wanted, chance)
    groups = with_biases(list(clean_groups(iter(written), evaluated)))
    cut = list(pieces_of(groups, Pieces(model_dir()), chance))
    own = as_arrays(cut)
    both = joined(
        own, replayed(arguments.folder / "data" / "examples.npz", arguments.seed, arguments.skip, arguments.replay)
    )
    out = arguments.folder / "asked" / "data"
    out.mkdir(parents=True, exist_ok=True)
    np.savez(out / "examples.npz", **both)
    prepared = json.loads((arguments.folder / "data" / "manifest.json").read_text(encoding="utf-8"))
    told = {"own": len(own["ends"]), "all": len(both["ends"]), "skip": arguments.skip} | asdict(wanted)
    (out / "manifest.json").write_text(json.dumps(prepared | told, indent=1) + "\n", encoding="utf-8")
    print(told)


if __name__ == "__main__":
    main()

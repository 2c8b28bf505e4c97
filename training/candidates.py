"""What Quoth finds and says today on the evaluation sets, stored for `evaluate`, which has torch but not Quoth.

    .venv/bin/python -m training.candidates ../shared/data

Runs in the development environment. Stores for every question the ten best passages with their scores, the right ones,
and the sentence that today's extractive answer chooses if it gets only the right passages; for every claim of RAGTruth
and WiCE its passages and today's support score. Halves are those of benchmarks/refusal.py.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "benchmarks"))

from corpora import Asked, EvaluationSet, load_sets  # noqa: E402
from grounding import Fit, out_of_fold, scores_of  # noqa: E402
from grounding_sets import Set, lines_of, ragtruth, wice  # noqa: E402
from quoth.ask.extract import ExtractiveOptions, draft  # noqa: E402
from quoth.ask.support import fitted  # noqa: E402
from reading_comprehension import decisive  # noqa: E402
from refusal_cases import held_out, whole  # noqa: E402
from searching import Searcher  # noqa: E402

SETS = ("squad2_dev_half", "scifact", "rust_book_quiz", "chunking_evaluation")
DEPTH = 10


async def found(of: EvaluationSet, at: int, searcher: Searcher) -> dict[str, Any]:
    asked: Asked = of.questions[at]
    evidence = await searcher.find(of.corpus, asked.text, of.question_vectors[at], 20)
    right = tuple(passage for passage in evidence.passages if passage.chunk.id in asked.relevant)
    quotes: list[list[Any]] = []
    if right:
        told = draft(asked.text, replace(evidence, passages=right), ExtractiveOptions(most_pieces=1))
        quotes = [[c.chunk.id, *(place - c.chunk.start for place in decisive(c))] for c in told.citations]
    return {
        "text": asked.text,
        "relevant": sorted(asked.relevant),
        "group": asked.group,
        "held_out": held_out(whole(asked.group)),
        "spans": [list(span) for span in asked.spans],
        "found": [[p.chunk.id, round(p.score, 5), round(p.dense_score or 0.0, 5)] for p in evidence.passages[:DEPTH]],
        "today": quotes,
    }


async def write_set(of: EvaluationSet, searcher: Searcher, folder: Path) -> None:
    questions = [await found(of, at, searcher) for at in range(len(of.questions))]
    passages = {
        c.id: {"text": c.text, "heading": " > ".join(c.breadcrumb), "file": c.source_file, "start": c.start}
        for c in of.corpus.chunks
    }
    content = {"name": of.name, "questions": questions, "passages": passages}
    (folder / f"{of.name}.json").write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")


def claims_of(of: Set, sources: list[list[str]], scores: list[float]) -> dict[str, Any]:
    return {
        "labels": [bool(label) for label in of.labels],
        "groups": of.groups,
        "sources": sources,
        "claims": [
            {"answer": one.answer, "text": one.text, "score": score, "verbatim": one.verbatim,
             "unsupported": one.unsupported}
            for one, score in zip(of.sentences, scores, strict=True)
        ],
    }  # fmt: skip


def write_claims(data: Path, folder: Path) -> None:
    import re

    rag = ragtruth(data / "ragtruth_qa_even")
    rows = list(lines_of(next((data / "ragtruth_qa_even").glob("*.jsonl.gz"))))
    sources = [[part.strip() for part in re.split(r"(?:\A|\n)passage \d+:", str(row["context"])) if part.strip()]
               for row in rows]  # fmt: skip
    unseen, _ = out_of_fold(rag, 0, read=False)
    told = claims_of(rag, sources, [float(score) for score in unseen])
    (folder / "ragtruth_qa_even.json").write_text(json.dumps(told, ensure_ascii=False), encoding="utf-8")
    path = data / "wice_dev" / "claim_dev.jsonl.gz"
    claimed = wice(path)
    shipped = scores_of(Fit(fitted().unsupported), claimed.sentences)
    evidence: list[list[str]] = [[" ".join(row["evidence"])] for row in lines_of(path)]  # type: ignore[arg-type]
    told = claims_of(claimed, evidence, [float(score) for score in shipped])
    (folder / "wice_dev.json").write_text(json.dumps(told, ensure_ascii=False), encoding="utf-8")


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--out", type=Path, default=ROOT / ".training" / "eval")
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()) / "quoth-bench")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    write_claims(arguments.data, arguments.out)
    searcher = Searcher()
    for of in await load_sets(SETS, arguments.data, arguments.cache):
        await write_set(of, searcher, arguments.out)
        print(of.name, len(of.questions), flush=True)


if __name__ == "__main__":
    asyncio.run(main())

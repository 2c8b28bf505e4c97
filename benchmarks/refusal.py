"""Fits and measures the judge: how likely do the passages found hold the answer?

    python benchmarks/refusal.py ../shared/data            # measure what ships
    python benchmarks/refusal.py ../shared/data --fit      # fit, write calibration.json, measure

Nobody has to label anything: take a question whose answer is known, and take the answer out of the index.
  article     the whole article (or chapter) of the question is gone: the book is about something else
  half        half of all passages are gone; some questions lost theirs
  tenth       a tenth of them is gone and all their neighbours stay
  stranger    a question of one corpus is put to another
Articles, chapters and claims are split in two before anything is fitted; figures come from the half not fitted on.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from zlib import crc32

import numpy as np
import numpy.typing as npt

from corpora import LOADERS, EvaluationSet, Floats, load_sets
from quoth import terms
from quoth.adapters.minilm import NAME as EMBEDDER
from quoth.calibration import Logistic, calibration_for, sigmoid
from quoth.confidence import FITTED, ConfidenceOptions, features, judge
from quoth.domain import Chunk, Evidence, Passage, QueryTerm
from quoth.evals.calibrate import ANSWERABLE_REFUSED
from quoth.evals.fitting import fit_logistic
from quoth.evals.metrics import auroc, calibration_error
from quoth.retrieval import RetrievalOptions, ceiling, completed, fuse, query_term

OPTIONS = RetrievalOptions()
TARGET = Path(__file__).parent.parent / "src" / "quoth" / "calibration.json"
# In the other two sets a passage that is not labelled may answer all the same, so that taking the labelled ones out
# does not always take the answer out.
TRUST = {"squad2_dev_half": 3.0}
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Case:
    set_name: str
    setting: str
    answerable: bool
    held_out: bool
    evidence: Evidence


def chunk_of(key: str, text: str) -> Chunk:
    """A passage of a set as the one chunk of a page."""
    return Chunk(
        id=key,
        book_id="benchmark",
        text=text,
        start=0,
        end=len(text),
        line=1,
        source_file=key,
        source_file_hash="",
        title="",
        url="",
        heading_path=(),
        breadcrumb=(),
        content_hash=key,
        parent_doc_id=key,
        chunk_index=0,
        total_chunks=1,
        prev_chunk_id=None,
        next_chunk_id=None,
        word_count=0,
        token_count=0,
        char_count=len(text),
    )


def find(
    of: EvaluationSet, query: str, vector: Floats, keep: Mask | None, similarity: Logistic, limit: int
) -> Evidence:
    """What Retriever.find does, over numpy."""
    corpus = of.corpus
    dense, sparse = corpus.vectors @ vector, corpus.sparse(query, keep)
    if keep is not None:
        dense, sparse = np.where(keep, dense, -1.0), np.where(keep, sparse, 0.0)
    size = len(corpus.keys) if keep is None else int(keep.sum())
    weights, words = terms.query_weights(query), terms.query_terms(query)
    rarity = corpus.idf([*weights.ids, *(part for word in words for part in word.parts)], keep)
    full = completed(words, rarity, size)
    depth = OPTIONS.depth
    scored = fuse(
        [(str(at), float(dense[at])) for at in np.argsort(-dense, kind="stable")[:depth]],
        [(str(at), float(sparse[at])) for at in np.argsort(-sparse, kind="stable")[:depth] if sparse[at] > 0],
        ceiling=ceiling(weights, full),
        depth=depth,
        dense_share=OPTIONS.dense_share,
    )
    passages = tuple(
        Passage(
            chunk=chunk_of(corpus.keys[int(found.key)], corpus.texts[int(found.key)]),
            score=found.score,
            similarity=similarity.probability({"score": found.score}),
            dense_score=found.dense,
            dense_rank=found.dense_rank,
            sparse_score=found.sparse,
            sparse_rank=found.sparse_rank,
        )
        for found in scored[:limit]
    )
    asked: tuple[QueryTerm, ...] = tuple(query_term(word, rarity, full) for word in words)
    return Evidence(query=query, passages=passages, total_found=size, terms=asked)


def held_out(group: str) -> bool:
    return crc32(group.encode()) % 2 == 1


def whole(group: str) -> str:
    """ch17-01-… and ch17-02-… are one chapter."""
    return group.split("-")[0] if group.endswith(".md") else group


# --- cases -----------------------------------------------------------------------------------------------------------


def relevant_to(of: EvaluationSet, at: int) -> Mask:
    return np.isin(of.corpus.keys, list(of.questions[at].relevant))


def make_case(
    of: EvaluationSet,
    at: int,
    similarity: Logistic,
    setting: str,
    keep: Mask | None = None,
    put_to: EvaluationSet | None = None,
) -> Case:
    """The question at `at` put to its own corpus, thinned to `keep`, or to another one."""
    asked, vector = of.questions[at], of.question_vectors[at]
    answerable = put_to is None and (keep is None or bool((keep & relevant_to(of, at)).any()))
    evidence = find(put_to or of, asked.text, vector, keep, similarity, 5)
    return Case(of.name, setting, answerable, held_out(whole(asked.group)), evidence)


def cases(of: EvaluationSet, others: list[EvaluationSet], similarity: Logistic, most: int) -> Iterator[Case]:
    chosen = np.random.default_rng(7).permutation(len(of.questions))[:most]
    groups = np.array([whole(key.rsplit("#" if "#" in key else "-", 1)[0]) for key in of.corpus.keys])
    thinned = {
        setting: np.random.default_rng(seed).random(len(of.corpus.keys)) >= share
        for setting, share, seed in (("half", 0.5, 1), ("tenth", 0.1, 2))
    }
    for at in chosen:
        asked = of.questions[at]
        relevant = relevant_to(of, int(at))
        case = partial(make_case, of, int(at), similarity)
        yield case("article")
        yield case("article", (groups != whole(asked.group)) & ~relevant)
        for setting, keep in thinned.items():
            yield case(setting, keep)
        if at % 4 == 0:  # few lose theirs by chance
            yield case("tenth", thinned["tenth"] & ~relevant)
        if at % 8 == 0:
            yield case("stranger")
            for other in others:
                yield case("stranger", put_to=other)


# --- fitting ---------------------------------------------------------------------------------------------------------


def balanced(keys: Sequence[tuple[object, ...]]) -> Floats:
    """Every group of cases counts the same, however many it has."""
    counts: dict[tuple[object, ...], int] = {}
    for key in keys:
        counts[key] = counts.get(key, 0) + 1
    return np.array([1 / counts[key] for key in keys])


def fit_similarity(sets: list[EvaluationSet], most: int) -> Logistic:
    rows, labels, keys = [], [], []
    for of in sets:
        for at in np.random.default_rng(3).permutation(len(of.questions))[:most]:
            asked = of.questions[at]
            if held_out(whole(asked.group)):
                continue
            evidence = find(of, asked.text, of.question_vectors[at], None, Logistic(0.0), 10)
            for passage in evidence.passages:
                rows.append([passage.score])
                labels.append(passage.chunk.id in asked.relevant)
                keys.append((of.name,))
    return fit_logistic(["score"], np.array(rows), np.array(labels), balanced(keys))


def fit_judge(known: list[Case]) -> Logistic:
    train = [case for case in known if not case.held_out]
    rows = np.array([[features(case.evidence)[name] for name in FITTED] for case in train])
    labels = np.array([case.answerable for case in train])
    weights = balanced([(case.set_name, case.setting, case.answerable) for case in train])
    weights *= np.array([TRUST.get(case.set_name, 1.0) for case in train])
    return fit_logistic(list(FITTED), rows, labels, weights)


# --- measuring -------------------------------------------------------------------------------------------------------


def measure(known: list[Case], threshold: float) -> dict[str, dict[str, float]]:
    options = ConfidenceOptions(embedder=EMBEDDER)
    report = {}
    test = [case for case in known if case.held_out]
    for name, setting in sorted({(case.set_name, case.setting) for case in test}):
        part = [case for case in test if (case.set_name, case.setting) == (name, setting)]
        labels = np.array([case.answerable for case in part])
        scores = np.array([judge(case.evidence, options).confidence for case in part])
        cosine = np.array([max(p.dense_score or 0.0 for p in case.evidence.passages) for case in part])
        report[f"{name} · {setting}"] = {
            "auroc": round(auroc(scores.tolist(), labels.tolist()) or 0.0, 4),
            "auroc of the best cosine": round(auroc(cosine.tolist(), labels.tolist()) or 0.0, 4),
            "calibration error": round(calibration_error(scores.tolist(), labels.tolist()) or 0.0, 4),
            "answerable refused": round(float((scores[labels] < threshold).mean()), 4),
            "unanswerable refused": round(float((scores[~labels] < threshold).mean()), 4),
            "cases": len(part),
        }
    return report


def write(similarity: Logistic, judged: Logistic, levels: dict[str, float], of: list[EvaluationSet]) -> None:
    entry = {
        "provenance": {
            "script": "benchmarks/refusal.py --fit",
            "terms": terms.TERMS_VERSION,
            "sets": [f"{one.name}, half of its articles, chapters or claims" for one in of],
            "threshold": f"at most {ANSWERABLE_REFUSED:.0%} of the answerable questions fitted on are refused",
        },
        "similarity": {"bias": similarity.bias, "weights": similarity.weights},
        "judge": {"bias": judged.bias, "weights": judged.weights},
        "levels": levels,
    }
    shipped = json.loads(TARGET.read_text(encoding="utf-8"))
    shipped["embedders"][EMBEDDER] = entry
    TARGET.write_text(json.dumps(shipped, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()) / "quoth-bench")
    parser.add_argument("--fit", action="store_true")
    parser.add_argument("--most", type=int, default=1200, help="questions of each set")
    arguments = parser.parse_args()
    sets = load_sets(list(LOADERS), arguments.data, arguments.cache)
    shipped = calibration_for(EMBEDDER)
    if shipped is None and not arguments.fit:
        parser.error("nothing is shipped for this embedder yet: run with --fit")
    similarity = fit_similarity(sets, arguments.most) if arguments.fit or shipped is None else shipped.similarity
    known = [
        case
        for of in sets
        for case in cases(of, [other for other in sets if other is not of], similarity, arguments.most)
    ]
    if arguments.fit:
        judged = fit_judge(known)
        sure = [sigmoid(judged.logit(features(c.evidence))) for c in known if c.answerable and not c.held_out]
        levels = {"low": round(float(np.quantile(sure, ANSWERABLE_REFUSED)), 3), "medium": 0.5, "high": 0.8}
        write(similarity, judged, levels, sets)
        print("written; run again without --fit to measure it as it ships")
        return
    assert shipped is not None
    print(json.dumps(measure(known, shipped.threshold), indent=2, ensure_ascii=False))


if __name__ == "__main__":
    main()

"""Cuts the whole training mixture into token ids, once, before any training.

    python -m training.prepare --data ../shared/data --out .training/data

Public sets, books and the embedder's tokenizer come in; one compressed file with all examples and a manifest with the
count of every kind go out. No text that shares runs of ten words with an evaluation set gets in: such groups are left
out, and the result is checked again at the end. The same seed gives the same file.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from random import Random

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file
from tokenizers import Tokenizer

from .book_groups import book_groups, read_shelves
from .drafts import LARGEST, SMALLEST, Group, Piece, cut
from .embedder import TOKENIZER, WEIGHTS, model_dir
from .mixture import Pool, public_groups
from .overlap import Evaluated, evaluation_texts
from .windows import Tokens

ROOT = Path(__file__).parent.parent
SEED = 14


class Pieces:
    """The embedder's tokenizer, with a cache of what it has already cut."""

    def __init__(self, folder: Path) -> None:
        self._tokenizer = Tokenizer.from_file(str(folder / TOKENIZER))
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self._known: dict[str, Tokens] = {}

    def __call__(self, text: str) -> Tokens:
        if text not in self._known:
            encoding = self._tokenizer.encode(text, add_special_tokens=False)
            self._known[text] = Tokens(encoding.ids, encoding.offsets)
            if len(self._known) > 20_000:
                del self._known[next(iter(self._known))]
        return self._known[text]

    def words(self) -> dict[str, int]:
        """Whole words of the vocabulary, with their rows in the embedding table."""
        return {
            word: at
            for word, at in self._tokenizer.get_vocab().items()
            if word.isascii() and word.isalpha() and len(word) > 3
        }


def neighbours(vectors: NDArray[np.float32], words: Mapping[str, int], most: int = 12) -> dict[str, Sequence[str]]:
    """For each word, others that are used alike: near in the embedding table, but not a form of the same word, and not
    so near that they mean the same."""
    listed = sorted(words)
    rows = vectors[[words[word] for word in listed]]
    rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    found: dict[str, Sequence[str]] = {}
    for begin in range(0, len(listed), 1000):
        likeness = rows[begin : begin + 1000] @ rows.T
        order = np.argpartition(-likeness, 2 * most, axis=1)[:, : 2 * most]
        order = np.take_along_axis(order, np.argsort(-np.take_along_axis(likeness, order, axis=1), axis=1), axis=1)
        for at, places in enumerate(order):
            word = listed[begin + at]
            near = [listed[p] for p in places if 0.3 < likeness[at, p] < 0.6 and listed[p][:4] != word[:4]]
            found[word] = near[1 : most + 1]  # the nearest is most often a synonym
    return found


def clean_groups(groups: Iterator[Group], evaluated: Evaluated) -> Iterator[Group]:
    """Without groups that contain a text of an evaluation set."""
    known: dict[str, bool] = {}

    def held(text: str) -> bool:
        if text not in known:
            known[text] = evaluated.holds(text)
        return known[text]

    for group in groups:
        if not any(held(text) for draft in group for text in (draft.question, draft.passage)):
            yield group


def pieces_of(groups: list[Group], tokenize: Pieces, chance: Random) -> Iterator[list[Piece]]:
    for group in groups:
        size = chance.randint(SMALLEST, LARGEST)
        found = [cut(draft, tokenize, chance, size) for draft in group]
        kept = [piece for piece in found if piece is not None]
        if kept:
            yield kept


def as_arrays(groups: list[list[Piece]]) -> dict[str, NDArray[np.generic]]:
    flat = [piece for group in groups for piece in group]
    kinds = sorted({piece.kind for piece in flat})
    number = {kind: at for at, kind in enumerate(kinds)}
    return {
        "ids": np.concatenate([np.array(piece.ids, dtype=np.uint16) for piece in flat]),
        "ends": np.cumsum([len(piece.ids) for piece in flat]).astype(np.int64),
        "passage_at": np.array([piece.passage_at for piece in flat], dtype=np.int16),
        "start": np.array([piece.start for piece in flat], dtype=np.int16),
        "end": np.array([piece.end for piece in flat], dtype=np.int16),
        "answerable": np.array([piece.answerable for piece in flat], dtype=np.int8),
        "relevance": np.array([piece.relevance for piece in flat], dtype=np.int8),
        "support": np.array([piece.support for piece in flat], dtype=np.int8),
        "bias": np.array([piece.bias for piece in flat], dtype=np.float16),
        "kind": np.array([number[piece.kind] for piece in flat], dtype=np.int16),
        "group": np.repeat(np.arange(len(groups)), [len(group) for group in groups]).astype(np.int32),
        "kinds": np.array(kinds),
    }


def manifest(groups: list[list[Piece]], dropped: int) -> dict[str, object]:
    flat = [piece for group in groups for piece in group]
    return {
        "seed": SEED,
        "groups": len(groups),
        "examples": len(flat),
        "tokens": sum(len(piece.ids) for piece in flat),
        "groups left out for an evaluation text": dropped,
        "answerable": dict(sorted(Counter(piece.answerable for piece in flat).items())),
        "kinds": dict(Counter(piece.kind for piece in flat).most_common()),
    }


def gathered(data: Path, evaluated: Evaluated, tokenize: Pieces, share: float) -> tuple[list[Group], int]:
    """The groups in their common order, and how many were left out for an evaluation text."""
    vectors = load_file(model_dir() / WEIGHTS)["embeddings.word_embeddings.weight"]
    pool = Pool(data / "reader_train", neighbours(vectors, tokenize.words()), SEED)
    groups = list(public_groups(pool))
    shelves = read_shelves(data / "books", evaluated, left_out=False)
    groups += book_groups(shelves, pool.elsewhere, Random(SEED + 1))
    if share < 1:
        groups = Random(SEED + 4).sample(groups, round(share * len(groups)))
    clean = list(clean_groups(iter(groups), evaluated))
    Random(SEED + 2).shuffle(clean)
    return clean, len(groups) - len(clean)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data")
    parser.add_argument("--out", type=Path, default=ROOT / ".training" / "data")
    parser.add_argument("--share", type=float, default=1.0, help="of the groups: a tenth is enough to replay them")
    arguments = parser.parse_args()
    began = time.perf_counter()
    evaluated = Evaluated(evaluation_texts(arguments.data, ROOT / "examples"))
    tokenize = Pieces(model_dir())
    groups, dropped = gathered(arguments.data, evaluated, tokenize, arguments.share)
    assert not any(evaluated.holds(d.passage) or evaluated.holds(d.question) for g in groups[::20] for d in g)
    cut_groups = list(pieces_of(groups, tokenize, Random(SEED + 3)))
    arguments.out.mkdir(parents=True, exist_ok=True)
    np.savez(arguments.out / "examples.npz", **as_arrays(cut_groups))  # type: ignore[arg-type]
    told = manifest(cut_groups, dropped)
    (arguments.out / "manifest.json").write_text(json.dumps(told, indent=1, ensure_ascii=False) + "\n", "utf-8")
    print(json.dumps(told, indent=1, ensure_ascii=False), f"{time.perf_counter() - began:.0f} s")


if __name__ == "__main__":
    main()

"""Turns the prepared file into batches: groups stay whole, lengths are alike, order depends on the seed alone.

Groups are shuffled, taken a few hundred at a time and sorted by length, so that little is padded; batches of one such
pool come in random order. A batch has a budget of padded tokens rather than a number of examples. To resume,
skip as many batches as were done.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

POOL = 384  # groups that are sorted together


@dataclass(frozen=True, slots=True)
class Batch:
    ids: Tensor
    types: Tensor
    mask: Tensor
    start: Tensor
    end: Tensor
    answerable: Tensor
    relevance: Tensor
    support: Tensor
    group: Tensor
    kind: Tensor
    bias: Tensor  # what the wording alone says, in log odds: the reader must learn the rest

    def __len__(self) -> int:
        return int(self.ids.shape[0])


class Examples:
    """The prepared arrays, by group."""

    def __init__(self, path: Path, only: NDArray[np.bool_] | None = None) -> None:
        with np.load(path) as arrays:
            self._arrays = {name: arrays[name] for name in arrays.files}
        self._arrays.setdefault("bias", np.zeros(len(self._arrays["ends"]), dtype=np.float16))
        self.kinds: list[str] = [str(kind) for kind in self._arrays["kinds"]]
        self._begins = np.concatenate([[0], self._arrays["ends"][:-1]])
        self._lengths = self._arrays["ends"] - self._begins
        groups = self._arrays["group"]
        firsts = np.flatnonzero(np.diff(groups, prepend=-1))
        self._groups = list(zip(firsts, [*firsts[1:], len(groups)], strict=True))
        self._longest = np.maximum.reduceat(self._lengths, firsts)

    def __len__(self) -> int:
        return len(self._lengths)

    def count(self) -> int:
        return len(self._groups)

    def size(self, group: int) -> int:
        first, end = self._groups[group]
        return int(end - first)

    def kind(self, group: int) -> str:
        """That of the group's first example."""
        return self.kinds[int(self._arrays["kind"][self._groups[group][0]])]

    def batch(self, groups: list[int]) -> Batch:
        rows = np.concatenate([np.arange(*self._groups[group]) for group in groups])
        width = int(self._lengths[rows].max())
        ids = np.zeros((len(rows), width), dtype=np.int64)
        types = np.zeros_like(ids)
        mask = np.zeros_like(ids)
        for at, row in enumerate(rows):
            length = int(self._lengths[row])
            begin = int(self._begins[row])
            ids[at, :length] = self._arrays["ids"][begin : begin + length]
            types[at, int(self._arrays["passage_at"][row]) : length] = 1
            mask[at, :length] = 1
        columns = ("start", "end", "answerable", "relevance", "support", "group", "kind")
        rest = [torch.from_numpy(self._arrays[name][rows].astype(np.int64)) for name in columns]
        bias = torch.from_numpy(self._arrays["bias"][rows].astype(np.float32))
        return Batch(torch.from_numpy(ids), torch.from_numpy(types), torch.from_numpy(mask), *rest, bias)

    def taken(self, groups: list[int]) -> dict[str, NDArray[np.generic]]:
        """The arrays of these groups alone, numbered anew."""
        rows = np.concatenate([np.arange(*self._groups[group]) for group in groups])
        sizes = [self._groups[group][1] - self._groups[group][0] for group in groups]
        tokens = [self._arrays["ids"][self._begins[row] : self._arrays["ends"][row]] for row in rows]
        rest = {
            name: held[rows] for name, held in self._arrays.items() if name not in ("ids", "ends", "group", "kinds")
        }
        return {
            **rest,
            "ids": np.concatenate(tokens),
            "ends": np.cumsum(self._lengths[rows]),
            "group": np.repeat(np.arange(len(groups)), sizes).astype(np.int32),
            "kinds": self._arrays["kinds"],
        }

    def order(self, seed: int, budget: int, examples: int, *, skip: int = 0) -> list[list[int]]:
        """Batches of group numbers with this many examples in all; starts over when all groups were used. Batches that
        begin among the first `skip` examples are left out."""
        batches: list[list[int]] = []
        taken = -skip
        epoch = 0
        while taken < examples:
            chance = np.random.default_rng([seed, epoch])
            shuffled = chance.permutation(len(self._groups))
            for begin in range(0, len(shuffled), POOL):
                pool = sorted((int(g) for g in shuffled[begin : begin + POOL]), key=lambda g: int(self._longest[g]))
                made = list(self._filled(pool, budget))
                for at in chance.permutation(len(made)):
                    if taken < examples:
                        if taken >= 0:
                            batches.append(made[int(at)])
                        taken += sum(self._groups[g][1] - self._groups[g][0] for g in made[int(at)])
            epoch += 1
        return batches

    def _filled(self, groups: list[int], budget: int) -> Iterator[list[int]]:
        batch: list[int] = []
        rows = 0
        for group in groups:
            size = int(self._groups[group][1] - self._groups[group][0])
            if batch and (rows + size) * int(self._longest[group]) > budget:
                yield batch
                batch, rows = [], 0
            batch.append(group)
            rows += size
        if batch:
            yield batch

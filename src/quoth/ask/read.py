"""The best passages, read with the question in mind: a reading of each, and their new order.

In: the query, the best candidates and their chunks, a `Reader`. Out: a `Reading` for each of the first few, and the
candidates with scores to which the reading was added. A passage that was not read stays behind those that were. What
the readings mean for the answer is decided in `judge` and `extract`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence

from quoth.ask.calibration import Order
from quoth.ask.fuse import Scored
from quoth.domain import Chunk, Reading, ReadingTask
from quoth.ports import Reader

# Tokens to read of each of the best passages, which an answer without a model is made of. Two of three answers are in
# the first one, so it gets most of the time.
ROOM = (230, 160, 100, 80, 80)
READ = len(ROOM)
_REMEMBERED = 100  # readings, of one run of golden questions
_FAR = 6.0  # log odds beyond this say nothing more
_LEAST = -1.25  # for the order: how little the reader sees of an answer says nothing about where else it might be
_ASKS = re.compile(
    r"\?\s*\Z|\b(?:who|whom|whose|what|which|when|where|why|how)\b"
    r"|\A\s*(?:is|are|was|were|do|does|did|can|could|should|would|will|has|have|had|may|must)\b",
    re.IGNORECASE,
)


class Remembering:
    """A `Reader` that does not read a passage twice for the same question: an evaluation searches once more after each
    answer. It gives what was read, so nothing but time is different."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._known: dict[ReadingTask, Reading] = {}  # the newest last

    @property
    def name(self) -> str:
        return self._reader.name

    async def load(self) -> None:
        await self._reader.load()

    async def read(self, tasks: Sequence[ReadingTask]) -> list[Reading]:
        found = {task: self._known[task] for task in tasks if task in self._known}
        new = [task for task in dict.fromkeys(tasks) if task not in found]
        if new:
            found |= zip(new, await self._reader.read(new), strict=True)
        self._known = dict(list((self._known | found).items())[-_REMEMBERED:])
        return [found[task] for task in tasks]

    async def close(self) -> None:
        await self._reader.close()


async def read_best(
    reader: Reader, query: str, scored: Sequence[Scored], chunks: Mapping[str, Chunk]
) -> dict[str, Reading]:
    keys = [one.key for one in scored[:READ]]
    readings = await reader.read([task(query, chunks[key], room) for key, room in zip(keys, ROOM, strict=False)])
    return dict(zip(keys, readings, strict=True))


def task(query: str, chunk: Chunk, room: int | None = None) -> ReadingTask:
    return ReadingTask(query, chunk.text, chunk.breadcrumb[-1] if chunk.breadcrumb else chunk.title, room)


def asks(query: str) -> bool:
    """Statements and bare keywords are searched for as well, but the reader was trained on questions."""
    return _ASKS.search(query) is not None


def in_order(scored: Sequence[Scored], readings: Mapping[str, Reading], order: Order) -> list[Scored]:
    """Best first: passages that were read, with the reading added to their scores, then the others."""
    signs = [sign(readings[one.key]) if one.key in readings else None for one in scored]
    scores = with_signs([one.score for one in scored], signs, order)
    added = [one._replace(score=score) for one, score in zip(scored, scores, strict=True)]
    places = sorted(range(len(added)), key=lambda at: (signs[at] is None, -added[at].score, at))
    return [added[at] for at in places]


def with_signs(scores: Sequence[float], signs: Sequence[float | None], order: Order) -> list[float]:
    """A passage that was not read never gets above one that was: all that is known about it is that it seemed worse."""
    read = [
        score + order.weight * max(said, _LEAST) if said is not None else None
        for score, said in zip(scores, signs, strict=True)
    ]
    lowest = min((score for score in read if score is not None), default=math.inf)
    return [
        min(score + order.weight * max(order.unread, _LEAST), lowest) if new is None else new
        for score, new in zip(scores, read, strict=True)
    ]


def sign(reading: Reading) -> float:
    """One number for "this passage answers": the output of its head and the lead of the best place over "not here", at
    equal weight."""
    return (bounded(reading.answerable) + bounded(reading.margin / 2)) / 2


def bounded(logit: float) -> float:
    return max(-_FAR, min(_FAR, logit))

"""An embedder without a model, for tests that must rank sensibly, offline and at once.

A text becomes the sum of its words, each hashed to a place and a sign: texts that share words point the same way, so
"nearest" means something. It passes the contract suite of `ports.Embedder` like the real one. Longer words weigh more,
because short ones are in every sentence.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from quoth.domain import Vector
from quoth.errors import InternalError, TextTooLong

_TOKEN = re.compile(r"\w+|[^\w\s]")
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class FakeTokens:
    """`ports.TokenCounter`: each word or sign is a token."""

    limit: int = 254

    def spans(self, text: str) -> list[tuple[int, int]]:
        return [match.span() for match in _TOKEN.finditer(text)]

    def counts(self, texts: Sequence[str]) -> list[int]:
        return [len(_TOKEN.findall(text)) for text in texts]


class FakeEmbedder:
    """`ports.Embedder`. `calls` holds every embedded text, so that a test can see what cost something."""

    batch = 64
    remote = False

    def __init__(self, *, dimensions: int = 256, limit: int = 254, name: str = "") -> None:
        self.name = name or f"hashed-words/{dimensions}/1"
        self.dimensions = dimensions
        self.tokens = FakeTokens(limit)
        self.calls: list[str] = []
        self._closed = False

    async def load(self) -> None:
        pass

    async def embed_passages(self, texts: Sequence[str]) -> list[Vector]:
        if self._closed:
            raise InternalError("The embedder was used after it was closed.")
        for position, count in enumerate(self.tokens.counts(texts)):
            if count > self.tokens.limit:
                raise TextTooLong(
                    f"Text {position + 1} of {len(texts)} has {count} tokens; the embedder reads {self.tokens.limit}.",
                    hint="Split it before embedding; the embedder never cuts a text.",
                    details={"position": position, "tokens": count, "limit": self.tokens.limit},
                )
        self.calls.extend(texts)
        return [hashed(text, self.dimensions) for text in texts]

    async def embed_query(self, text: str) -> Vector:
        (vector,) = await self.embed_passages([text])
        return vector

    async def ping(self) -> None:
        await self.embed_query("Are you there?")

    async def check(self) -> str:
        vector = await self.embed_query("Are you there?")
        return f"{self.name} works: its vectors have {len(vector)} dimensions."

    async def close(self) -> None:
        self._closed = True


def hashed(text: str, dimensions: int) -> Vector:
    """The vector of a text."""
    vector = [0.0] * dimensions
    for word in _WORD.findall(text.lower()):
        digest = int.from_bytes(hashlib.blake2b(word.encode(), digest_size=8).digest(), "big")
        sign = 1.0 if digest & 1 else -1.0
        vector[(digest >> 1) % dimensions] += sign * min(len(word), 8)
    length = math.hypot(*vector)
    if length == 0.0:
        # No word, or words that cancel each other: a unit vector needs some direction.
        return (1.0, *vector[1:])
    return tuple(number / length for number in vector)

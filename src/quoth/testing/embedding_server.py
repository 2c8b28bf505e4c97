"""A scripted embedding provider: real HTTP on loopback, in OpenAI's and Cohere's wire formats. For tests.

In: replies for the first requests (mostly faults); after those it embeds with the fake embedder, in the format of the
request. Out: the requests as parsed bodies, and every text that was paid for.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from quoth.testing.embedder import hashed
from quoth.testing.model_server import ModelServer, Reply


class EmbeddingServer(ModelServer):
    """`async with EmbeddingServer() as server:` then embed at `server.url` or `server.cohere_url`."""

    def __init__(self, *replies: Reply, dimensions: int = 64, most_texts: int = 2048) -> None:
        super().__init__(*replies)
        self._dimensions = dimensions
        self._most_texts = most_texts

    @property
    def cohere_url(self) -> str:
        return self.url.removesuffix("/v1")

    @property
    def texts(self) -> list[str]:
        return [text for body in self.bodies for text in _texts(body)]

    def reply_to(self, body: Mapping[str, Any]) -> Reply:
        if self._replies:
            return self._replies.pop(0)
        texts = _texts(body)
        if len(texts) > self._most_texts:
            return answers({"message": "batch too large"}, status=422)
        wanted = body.get("dimensions", body.get("output_dimension", self._dimensions))
        rows = [hashed(text, wanted) for text in texts]
        return cohere_answer(rows) if "texts" in body else openai_answer(rows)


def answers(body: object, *, status: int = 200) -> Reply:
    return Reply((json.dumps(body).encode(),), status=status, content_type="application/json")


def openai_answer(rows: Sequence[Sequence[float]]) -> Reply:
    # Not in order, as the index allows.
    data = [{"object": "embedding", "index": at, "embedding": list(row)} for at, row in enumerate(rows)]
    return answers({"object": "list", "data": data[::-1], "model": "scripted", "usage": {"total_tokens": 1}})


def cohere_answer(rows: Sequence[Sequence[float]]) -> Reply:
    return answers({"id": "1", "embeddings": {"float": [list(row) for row in rows]}, "texts": []})


def _texts(body: Mapping[str, Any]) -> list[str]:
    return list(body["texts"] if "texts" in body else body["input"])

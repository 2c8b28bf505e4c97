"""The request and response formats of two embedding providers.

In: texts, and whether they are passages or a query. Out: the body of a request; from the body of a response, one row of
numbers for each text. A `Provider` also knows how much fits into one request. Nothing here touches the network.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

Kind = Literal["passage", "query"]


class Malformed(Exception):
    """A response that does not hold what was requested."""


class Provider(Protocol):
    @property
    def label(self) -> str:
        """The first part of its embeddings' name."""

    @property
    def path(self) -> str: ...

    @property
    def most_texts(self) -> int:
        """In one request."""

    def body(self, model: str, texts: Sequence[str], kind: Kind, dimensions: int | None) -> dict[str, Any]:
        """`dimensions`: how many numbers to ask for; None for as many as the model gives."""

    def rows(self, answer: object) -> list[Any]:
        """The rows as they came, unchecked, in the order of the texts; `Malformed` if there are none."""

    def native_dimensions(self, model: str) -> int | None:
        """None for an unknown model."""

    def can_shorten(self, model: str) -> bool:
        """Whether the model gives as many numbers as requested."""


@dataclass(frozen=True, slots=True)
class OpenAIEmbeddings:
    """`POST /embeddings`, as OpenAI, Ollama, vLLM, llama.cpp, TEI and many others speak it. A query differs from a
    passage only by the prefix the model was trained with, if any."""

    query_prefix: str = ""
    passage_prefix: str = ""
    label: str = field(default="openai", init=False)
    path: str = field(default="/embeddings", init=False)
    most_texts: int = field(default=256, init=False)  # OpenAI itself accepts 2,048

    def body(self, model: str, texts: Sequence[str], kind: Kind, dimensions: int | None) -> dict[str, Any]:
        prefix = self.query_prefix if kind == "query" else self.passage_prefix
        body: dict[str, Any] = {
            "model": model,
            "input": [prefix + text for text in texts],
            "encoding_format": "float",
        }
        return body if dimensions is None else {**body, "dimensions": dimensions}

    def rows(self, answer: object) -> list[Any]:
        data = answer.get("data") if isinstance(answer, Mapping) else None
        if not isinstance(data, list) or not all(isinstance(row, Mapping) for row in data):
            raise Malformed("it has no list `data`")
        # They come in order, but an `index` of their own counts more.
        numbered = [row.get("index") for row in data]
        if sorted(one for one in numbered if isinstance(one, int)) == list(range(len(data))):
            data = sorted(data, key=lambda row: int(row["index"]))
        return [row.get("embedding") for row in data]

    def native_dimensions(self, model: str) -> int | None:
        return _OPENAI_MODELS.get(model.removesuffix(":latest").rpartition("/")[2])

    def can_shorten(self, model: str) -> bool:
        return model.startswith("text-embedding-3-")


@dataclass(frozen=True, slots=True)
class CohereEmbeddings:
    """`POST /v2/embed`."""

    label: str = field(default="cohere", init=False)
    path: str = field(default="/v2/embed", init=False)
    most_texts: int = field(default=96, init=False)

    def body(self, model: str, texts: Sequence[str], kind: Kind, dimensions: int | None) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": model,
            "texts": list(texts),
            "input_type": "search_query" if kind == "query" else "search_document",
            "embedding_types": ["float"],
            "truncate": "NONE",  # too long a text is an error and never cut
        }
        return body if dimensions is None else {**body, "output_dimension": dimensions}

    def rows(self, answer: object) -> list[Any]:
        found = answer.get("embeddings") if isinstance(answer, Mapping) else None
        rows = found.get("float") if isinstance(found, Mapping) else None
        if not isinstance(rows, list):
            raise Malformed("it has no list `embeddings.float`")
        return rows

    def native_dimensions(self, model: str) -> int | None:
        return _COHERE_MODELS.get(model)

    def can_shorten(self, model: str) -> bool:
        return model.startswith("embed-v4")


_OPENAI_MODELS = {
    "text-embedding-3-small": 1536,
    "text-embedding-3-large": 3072,
    "text-embedding-ada-002": 1536,
    # On other servers, by their names there.
    "nomic-embed-text": 768,
    "mxbai-embed-large": 1024,
    "bge-m3": 1024,
    "all-minilm": 384,
}
_COHERE_MODELS = {
    "embed-v4.0": 1536,
    "embed-english-v3.0": 1024,
    "embed-multilingual-v3.0": 1024,
    "embed-english-light-v3.0": 384,
    "embed-multilingual-light-v3.0": 384,
}

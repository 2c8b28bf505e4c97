"""`POST /v1/embeddings`: the vectors of texts, from the embedding model that this server searches with.

In: texts. Out: their vectors in OpenAI's shape, as numbers or, as OpenAI's own clients request them, as bytes. The
model's name is that of the embedder or of a book. Texts are embedded as passages unless the key `quoth` says otherwise.
"""

from __future__ import annotations

import base64
import struct
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, field_validator
from pydantic_core import PydanticCustomError

from quoth.ask.request import Name
from quoth.bootstrap import Quoth
from quoth.domain import Vector
from quoth.errors import EmptyQuery, Unsupported, WrongUsage
from quoth.ports import Embedder
from quoth.serve.bodies import body_schema, read_body
from quoth.serve.deps import quoth_of
from quoth.serve.openai_answers import PREFIX
from quoth.serve.problems import OpenAIProblem
from quoth.serve.shapes import Shape, problems

router = APIRouter(prefix="/v1", tags=["openai"])

_MOST_TEXTS = 256  # in one request: this machine embeds them

_Text = Annotated[str, StringConstraints(min_length=1), Field(json_schema_extra={"pattern": r"\S"})]


class EmbeddingOptions(BaseModel):
    model_config = ConfigDict(extra="forbid", defer_build=True)

    input_type: Literal["passage", "query"] = "passage"


class EmbeddingRequest(BaseModel):
    """Texts to embed."""

    model_config = ConfigDict(extra="forbid", defer_build=True)

    model: Name = Field(
        description="The embedding model by its name, or `quoth`, or `quoth/<book_id>`", examples=["quoth"]
    )
    input: _Text | Annotated[list[_Text], Field(min_length=1, max_length=_MOST_TEXTS)] = Field(
        description="One text, or up to 256; not token ids", examples=[["Late subscribers get the last message."]]
    )
    encoding_format: Literal["float", "base64"] | None = None
    dimensions: Annotated[int, Field(ge=1)] | None = Field(None, description="Must be the model's own number")
    user: str | None = Field(None, description="Accepted; has no effect")
    quoth: EmbeddingOptions | None = Field(None, description="Whether the texts are passages or questions")

    @field_validator("input", mode="before")
    @classmethod
    def _not_tokens(cls, value: object) -> object:
        """Say in plain words what is wrong with a list: LangChain sends OpenAI's tokens unless told not to."""
        if isinstance(value, list) and not 1 <= len(value) <= _MOST_TEXTS:
            raise PydanticCustomError("texts", f"send one text or a list of 1 to {_MOST_TEXTS}; this has {len(value)}")
        if isinstance(value, list) and any(isinstance(part, int | list) for part in value):
            raise PydanticCustomError(
                "tokens", "tokens cannot be read. Send text (in LangChain: check_embedding_ctx_length=False)"
            )
        return value


class Embedding(Shape):
    object: Literal["embedding"]
    index: int
    embedding: Annotated[list[float] | str, Field(description="Numbers, or with `base64` their 32-bit bytes")]


class EmbeddingUsage(Shape):
    prompt_tokens: int
    total_tokens: int


class EmbeddingsResponse(Shape):
    object: Literal["list"]
    data: list[Embedding]
    model: Annotated[str, Field(description="The model that embedded the texts", examples=["all-MiniLM-L6-v2"])]
    usage: EmbeddingUsage


_RESPONSES = {
    200: {"model": EmbeddingsResponse},
    **problems(400, 404, 413, 415, 503, shape=OpenAIProblem.__name__),
}


@router.post("/embeddings", openapi_extra=body_schema(EmbeddingRequest), responses=_RESPONSES)
async def embeddings(request: Request) -> JSONResponse:
    """The vectors of texts, from the model that this server searches with."""
    quoth = quoth_of(request)
    asked = await read_body(request, EmbeddingRequest)
    await _check_model(quoth, asked.model)
    embedder = quoth.embedder
    if asked.dimensions not in (None, embedder.dimensions):
        raise Unsupported(
            f"`dimensions` asks for {asked.dimensions}; {embedder.name} has {embedder.dimensions}.",
            hint="Leave it out.",
            details={"field": "dimensions"},
        )
    texts = [asked.input] if isinstance(asked.input, str) else asked.input
    tokens = _count(embedder, texts)
    body: EmbeddingsResponse = {
        "object": "list",
        "data": [
            {"object": "embedding", "index": index, "embedding": _written(vector, asked.encoding_format)}
            for index, vector in enumerate(await _embed(embedder, texts, asked.quoth))
        ],
        "model": embedder.name,
        "usage": {"prompt_tokens": tokens, "total_tokens": tokens},
    }
    return JSONResponse(body)


async def _check_model(quoth: Quoth, model: str) -> None:
    """`UnknownBook` for a name that is neither the embedder's nor a book's."""
    if model not in (PREFIX, quoth.embedder.name):
        await quoth.book(model.removeprefix(f"{PREFIX}/"))


def _count(embedder: Embedder, texts: list[str]) -> int:
    """The number of tokens in all texts. `WrongUsage` for a text that the model would have to cut."""
    if not all(text.strip() for text in texts):
        raise EmptyQuery("A text is empty.", details={"field": "input"})
    counts = embedder.tokens.counts(texts)
    for number, count in enumerate(counts):
        if count > embedder.tokens.limit:
            raise WrongUsage(
                f"Text {number} has {count} tokens; {embedder.name} reads at most {embedder.tokens.limit}.",
                hint="Split it.",
                details={"field": "input"},
            )
    return sum(counts)


async def _embed(embedder: Embedder, texts: list[str], options: EmbeddingOptions | None) -> list[Vector]:
    if options is not None and options.input_type == "query":
        return [await embedder.embed_query(text) for text in texts]
    return await embedder.embed_passages(texts)


def _written(vector: Vector, form: str | None) -> Any:
    numbers = [float(number) for number in vector]
    return base64.b64encode(struct.pack(f"<{len(numbers)}f", *numbers)).decode() if form == "base64" else numbers

"""An embedding model behind a provider's API. The port `Embedder`.

In: texts. Out: unit vectors. Requests follow the provider's protocol (`embedding_wire`) over `endpoint`. Texts go in
batches within the provider's limits, several batches at a time; a server that finds a batch too large gets smaller ones
from then on. After a temporary fault a request is tried again, when `Retry-After` says so. The last queries are
remembered; passages are not, because an index already keeps the vector of every text it holds. Vectors are checked: one
for each text, as long as the settings say, of finite numbers. Knows nothing about chunks or books.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import math
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import aiohttp

from quoth.domain import Vector
from quoth.errors import BadConfiguration, EmbedderRejected, EmbedderUnavailable, InternalError, TextTooLong
from quoth.models.embedding_wire import Kind, Malformed, OpenAIEmbeddings, Provider
from quoth.models.endpoint import LATER, Endpoint, fault_of
from quoth.models.rough_tokens import RoughTokens
from quoth.retrying import PASSING_STATUSES, Passing, Retries, Sleep, retry_after
from quoth.together import together

# A reader is waiting for a query. An ingest has time, and a provider that asks for a minute means it.
QUERY_RETRIES, QUERY_SECONDS = Retries(attempts=3, backoff=0.3, longest_wait=5.0), 10.0
PASSAGE_RETRIES, PASSAGE_SECONDS = Retries(attempts=6, backoff=1.0, longest_wait=90.0), 120.0
AT_ONCE = 4  # requests for passages
MOST_TEXTS = 96  # in one request: more would only delay parallel requests
MOST_TOKENS = 60_000  # in one request, by our count; OpenAI accepts 300,000
REMEMBERED = 1_000  # queries
FAULT_HOLDS = 30.0  # seconds for which the last call's fault stands for the server's state
LONGEST_ANSWER = 64 * 2**20  # bytes
_TOO_MANY = (413, 422)  # how servers answer a batch that is too large

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class EmbeddingOptions:
    base_url: str
    model: str
    provider: Provider = field(default_factory=OpenAIEmbeddings)
    api_key: str = field(default="", repr=False)
    dimensions: int | None = None  # None: as many as the model is known to have
    tokens: int = 400  # in one text, at most
    key_setting: str = "OPENAI_API_KEY"  # for messages
    url_setting: str = "OPENAI_BASE_URL"
    model_setting: str = "QUOTH_EMBEDDING_MODEL"


class RemoteEmbedder:
    batch = 256
    remote = True

    def __init__(self, options: EmbeddingOptions, *, sleep: Sleep = asyncio.sleep) -> None:
        self._options = options
        self._provider = options.provider
        self._sleep = sleep
        self._endpoint = Endpoint(
            options.base_url,
            self._provider.path,
            api_key=options.api_key,
            setting=options.url_setting,
            accept="application/json",
        )
        self.tokens = RoughTokens(options.tokens)
        native = self._provider.native_dimensions(options.model)
        self._dimensions = options.dimensions or native
        shorter = native is not None and options.dimensions not in (None, native)
        if shorter and not self._provider.can_shorten(options.model):
            raise BadConfiguration(
                f"The vectors of {options.model} have {native} dimensions, not {options.dimensions}.",
                hint="Unset QUOTH_EMBEDDING_DIMENSIONS.",
            )
        self._asked_dimensions = options.dimensions if shorter else None
        self._most_texts = min(self._provider.most_texts, MOST_TEXTS)
        self._slots = asyncio.Semaphore(AT_ONCE)
        self._queries: OrderedDict[str, Vector] = OrderedDict()
        self._last_fault: tuple[float, EmbedderUnavailable] | None = None
        self._closed = False

    @property
    def name(self) -> str:
        """It does not name the server: the same model is the same wherever it runs. It names the prefixes: they change
        the vectors."""
        name = f"{self._provider.label}:{self._options.model}/{self._dimensions or '?'}"
        match self._provider:
            case OpenAIEmbeddings(query_prefix=query, passage_prefix=passage) if query or passage:
                digest = hashlib.sha256(f"{query}\0{passage}".encode()).hexdigest()
                return f"{name}/{digest[:8]}"
        return name

    @property
    def dimensions(self) -> int:
        if self._dimensions is None:
            raise BadConfiguration(
                f"The number of dimensions of {self._options.model!r} is not known.",
                hint="Set QUOTH_EMBEDDING_DIMENSIONS; `quoth config --check` finds out how many there are.",
            )
        return self._dimensions

    async def load(self) -> None:
        """Checks only the settings: there is nothing to load, and a call costs money."""
        self._demand_open()
        _ = self.dimensions

    async def embed_passages(self, texts: Sequence[str]) -> list[Vector]:
        if not texts:
            return []
        self._demand_open()
        counts = self._demand_short(texts)
        # Embed a repeated text only once.
        unique = dict(zip(texts, counts, strict=True))
        made = await together(*(self._in_turn(batch) for batch in self._batches(unique)))
        vectors = {text: vector for part in made for text, vector in part.items()}
        return [vectors[text] for text in texts]

    async def embed_query(self, text: str) -> Vector:
        self._demand_open()
        self._demand_short([text])
        if (known := self._queries.get(text)) is not None:
            self._queries.move_to_end(text)
            return known
        [vector] = await self._asked([text], "query", QUERY_RETRIES, QUERY_SECONDS)
        self._queries[text] = vector
        if len(self._queries) > REMEMBERED:
            self._queries.popitem(last=False)
        return vector

    async def check(self) -> str:
        """Embeds one text, whatever is known about the model. Returns a sentence for `quoth config --check`."""
        self._demand_open()
        [row] = await self._rows(["Are you there?"], "query", QUERY_RETRIES, QUERY_SECONDS)
        vector = self._unit(row, None)
        said = f"{self._options.model} at {self._endpoint.place} works: its vectors have {len(vector)} dimensions."
        if self._dimensions is None:
            return f"{said} Set QUOTH_EMBEDDING_DIMENSIONS={len(vector)}."
        self._demand_length(vector)
        return said

    async def ping(self) -> None:
        """Checks how the last call went and whether anything listens. A real call would cost money."""
        if self._last_fault is not None:
            since, fault = self._last_fault
            if asyncio.get_running_loop().time() - since < FAULT_HOLDS:
                raise fault
        if not await self._endpoint.listens():
            raise EmbedderUnavailable(f"Nothing answers at {self._endpoint.place}.", hint=LATER)

    async def close(self) -> None:
        self._closed = True
        await self._endpoint.close()

    # --- batches ---

    def _batches(self, counts: dict[str, int]) -> Iterator[list[str]]:
        batch: list[str] = []
        size = 0
        for text, count in counts.items():
            if batch and (len(batch) >= self._most_texts or size + count > MOST_TOKENS):
                yield batch
                batch, size = [], 0
            batch.append(text)
            size += count
        yield batch

    async def _in_turn(self, batch: list[str]) -> dict[str, Vector]:
        async with self._slots:
            vectors: list[Vector] = []
            while len(vectors) < len(batch):
                part = batch[len(vectors) : len(vectors) + self._most_texts]
                try:
                    vectors += await self._asked(part, "passage", PASSAGE_RETRIES, PASSAGE_SECONDS)
                except _BatchTooLarge:
                    self._most_texts = max(1, len(part) // 2)
                    logger.info("the embedder will get smaller batches", extra={"texts": self._most_texts})
            return dict(zip(batch, vectors, strict=True))

    # --- one request ---

    async def _asked(self, texts: Sequence[str], kind: Kind, retries: Retries, seconds: float) -> list[Vector]:
        dimensions = self.dimensions
        rows = await self._rows(texts, kind, retries, seconds)
        return [self._unit(row, dimensions) for row in rows]

    async def _rows(self, texts: Sequence[str], kind: Kind, retries: Retries, seconds: float) -> list[Any]:
        # No provider embeds an empty text; send a full stop instead.
        sent = [text if text.strip() else "." for text in texts]
        body = self._provider.body(self._options.model, sent, kind, self._asked_dimensions)
        clock = asyncio.get_running_loop().time
        until = clock() + seconds

        async def attempt(_: int) -> list[Any]:
            return await self._attempt(body, sent, until - clock())

        try:
            rows = await retries.run(attempt, until=until, sleep=self._sleep)
        except EmbedderUnavailable as fault:
            self._last_fault = (clock(), fault)
            raise
        self._last_fault = None
        return rows

    async def _attempt(self, body: dict[str, Any], texts: Sequence[str], seconds: float) -> list[Any]:
        try:
            async with await self._post(body, seconds) as response:
                if response.status != 200:
                    raise self._failure(response, await fault_of(response), texts)
                raw = await _read(response)
            rows = self._provider.rows(await asyncio.to_thread(_parsed, raw))
            if len(rows) != len(texts):
                raise Malformed(f"it has {len(rows)} vectors for {len(texts)} texts")
        except aiohttp.ClientError as error:
            raise Passing(_failed(*self._endpoint.broken(error))) from error
        except TimeoutError as error:
            raise Passing(_failed(f"{self._endpoint.place} gave no answer in time")) from error
        except Malformed as error:
            reason = f"the answer from {self._endpoint.place} cannot be used: {error}"
            raise Passing(_failed(reason, f"Check {self._options.url_setting}.")) from error
        return rows

    async def _post(self, body: dict[str, Any], seconds: float) -> aiohttp.ClientResponse:
        try:
            return await self._endpoint.post(body, seconds=max(seconds, 0.01))
        except aiohttp.ClientError:  # some of which are ValueErrors too
            raise
        except ValueError as error:  # its text may hold secrets
            raise EmbedderRejected(
                f"A request to {self._endpoint.place} cannot be sent.",
                hint="Check the key and the proxy for characters that HTTP does not allow.",
            ) from error

    def _failure(self, response: aiohttp.ClientResponse, fault: str, texts: Sequence[str]) -> Exception:
        status, options = response.status, self._options
        shown = self._endpoint.unechoed(fault, "\n".join(texts))
        said = f"{self._endpoint.place} answered {status}" + (f": {shown}" if shown else "")
        if status in _TOO_MANY and len(texts) > 1:
            return _BatchTooLarge()
        if status in PASSING_STATUSES and "insufficient_quota" not in fault:
            return Passing(_failed(said), retry_after(response.headers.get("retry-after", "")))
        hints = {
            401: f"Check the key: {options.key_setting}.",
            403: f"Check the key and its permissions: {options.key_setting}.",
            404: f"Check {options.url_setting} and whether the server has the model {options.model!r} "
            f"({options.model_setting}).",
        }
        return EmbedderRejected(
            f"The embedding model failed: {said.rstrip('. ')}.",
            hint=hints.get(status, "If a text is too long for it, lower QUOTH_EMBEDDING_TOKENS."),
        )

    # --- vectors ---

    def _unit(self, row: object, dimensions: int | None) -> Vector:
        if not isinstance(row, list) or not all(type(number) in (float, int) for number in row):
            raise _failed(f"{self._endpoint.place} returned something other than a vector")
        length = math.hypot(*row)
        if not math.isfinite(length) or length == 0.0:
            raise _failed(f"{self._endpoint.place} returned a vector without a direction")
        vector = tuple(number / length for number in row)
        if dimensions is not None:
            self._demand_length(vector)
        return vector

    def _demand_length(self, vector: Vector) -> None:
        if len(vector) != self._dimensions:
            raise BadConfiguration(
                f"The vectors of {self._options.model} have {len(vector)} dimensions, not {self._dimensions}.",
                hint=f"Set QUOTH_EMBEDDING_DIMENSIONS={len(vector)} and ingest the book again.",
            )

    def _demand_short(self, texts: Sequence[str]) -> list[int]:
        counts, limit = self.tokens.counts(texts), self.tokens.limit
        for position, count in enumerate(counts):
            if count > limit:
                raise TextTooLong(
                    f"Text {position + 1} of {len(texts)} has about {count} tokens; the embedder reads {limit}.",
                    hint="Split it before embedding; the embedder never cuts a text.",
                    details={"position": position, "tokens": count, "limit": limit},
                )
        return counts

    def _demand_open(self) -> None:
        if self._closed:
            raise InternalError("The embedder was used after it was closed.")


class _BatchTooLarge(Exception):
    """The server may accept fewer texts."""


def _failed(reason: str, hint: str = LATER) -> EmbedderUnavailable:
    return EmbedderUnavailable(f"The embedding model failed: {reason.rstrip('. ')}.", hint=hint)


async def _read(response: aiohttp.ClientResponse) -> bytes:
    parts, size = [], 0
    async for block in response.content.iter_any():
        size += len(block)
        if size > LONGEST_ANSWER:
            raise Malformed("it is too long")
        parts.append(block)
    return b"".join(parts)


def _parsed(raw: bytes) -> object:
    try:
        return json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise Malformed("it is not JSON") from error

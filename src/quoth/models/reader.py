"""The reader: an encoder of our own that reads question and passage together. The port `Reader`, on onnxruntime.

In: questions (or claims) and passages. Out: for each passage how likely it is to answer, where, how relevant it is, and
whether it supports the claim. The weights are in the data wheel quoth-reader and are used only if their SHA-256 is the
expected one; word embeddings are the embedder's. It reads the words of a passage without marks, and of a long one the
part with most of the question's words. What is read of one passage runs alone on one core, so nothing else can change
its result; several at a time fill the cores.

    [CLS] question [SEP] heading [SEP] passage [SEP]

Knows nothing about chunks, scores or verdicts.
"""

from __future__ import annotations

import asyncio
import hashlib
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from quoth.batching import usable_cores
from quoth.domain import Reading, ReadingTask
from quoth.errors import InternalError, ModelFilesUnavailable
from quoth.models.minilm import WEIGHTS as EMBEDDER_WEIGHTS
from quoth.models.minilm import WordPieces, find_model_dir, map_weights
from quoth.models.minilm_graph import POSITIONS
from quoth.models.reader_graph import Heads, ReaderModel, ReaderWeights, Window
from quoth.models.reader_window import WINDOW, kept, window_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

T = TypeVar("T")

PACKAGE = "quoth_reader"
WEIGHTS = "reader.safetensors"
WEIGHTS_SHA256 = "e34fd2774eaf98c58e91464377759b891581967d2e0376aecb58aec588bd8bed"
RANGES = "ranges."  # prefix of the tensors that say how large activations become

CLS, SEP = 101, 102
MOST_QUESTION, MOST_HEADING = 64, 20  # tokens; the end of a heading counts, since it is nearest to the text
LONGEST_ANSWER = 60  # tokens


def find_reader_dir() -> Path | None:
    """The folder of the data wheel, which is located but never imported; None if it is not installed."""
    spec = find_spec(PACKAGE)
    places = (spec and spec.submodule_search_locations) or ()
    return next((Path(place) for place in places if (Path(place) / WEIGHTS).is_file()), None)


@dataclass(frozen=True, slots=True)
class _Part:
    """The part of one passage that is read."""

    window: Window
    places: Sequence[tuple[int, int]]


class PassageReader:
    """Creating one costs nothing; the files are read on first use, or by `load`."""

    def __init__(self, folder: Path, model_dir: Path | None = None, *, threads: int | None = None) -> None:
        self._folder = folder
        self._model_dir = model_dir
        self._lock = threading.Lock()
        self._tokens: WordPieces | None = None
        self._model: ReaderModel | None = None
        self._closed = False
        self._pool = ThreadPoolExecutor(threads or usable_cores(), thread_name_prefix="quoth-reader")

    @property
    def name(self) -> str:
        return f"quoth-reader/{WEIGHTS_SHA256[:8]}"

    async def load(self) -> None:
        await self._beside(self._loaded)

    async def read(self, tasks: Sequence[ReadingTask]) -> list[Reading]:
        if not tasks:
            return []
        parts = await self._beside(self._parts, list(tasks))
        heads = await asyncio.gather(*(self._beside(self._read, part.window) for part in parts))
        return [_reading(part, head) for part, head in zip(parts, heads, strict=True)]

    async def close(self) -> None:
        self._closed = True
        await asyncio.to_thread(self._pool.shutdown, cancel_futures=True)
        self._model = None

    async def _beside(self, work: Callable[..., T], *arguments: object) -> T:
        if self._closed:
            raise InternalError("The reader was used after it was closed.")
        return await asyncio.get_running_loop().run_in_executor(self._pool, work, *arguments)

    def _read(self, window: Window) -> Heads:
        return self._loaded().read(window)

    def _loaded(self) -> ReaderModel:
        with self._lock:
            if self._model is None:
                self._model = ReaderModel(_weights(self._folder, find_model_dir(self._model_dir)))
            return self._model

    def _parts(self, tasks: Sequence[ReadingTask]) -> list[_Part]:
        with self._lock:
            if self._tokens is None:
                self._tokens = WordPieces.load(find_model_dir(self._model_dir))
        encode, words = self._tokens.encode, self._loaded().words
        questions = {task.question: encode(task.question)[0][:MOST_QUESTION] for task in tasks}
        parts: list[_Part] = []
        for task in tasks:
            heading = _said(encode(task.heading))[0][-MOST_HEADING:] if task.heading else []
            question = questions[task.question]
            before = [CLS, *question, SEP, *heading, SEP]
            ids, places = _said(encode(task.passage))
            room = min(task.room or WINDOW, POSITIONS - len(before) - 1)
            start, end = window_of(question, ids, words, room)
            window = Window([*before, *ids[start:end], SEP], 1 + len(question), len(before))
            parts.append(_Part(window, places[start:end]))
        return parts


def _said(encoded: tuple[list[int], list[tuple[int, int]]]) -> tuple[list[int], list[tuple[int, int]]]:
    ids, places = encoded
    words = kept(ids)
    return [ids[at] for at in words], [places[at] for at in words]


def _weights(folder: Path, model_dir: Path) -> ReaderWeights:
    from quoth.models.minilm_graph import read_tensors

    path = folder / WEIGHTS
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ModelFilesUnavailable(f"The reader's file {path} cannot be read ({error.strerror or error}).") from error
    digest = hashlib.sha256(content).hexdigest()
    if digest != WEIGHTS_SHA256:
        raise ModelFilesUnavailable(
            f"The reader's file {path} is damaged or from another version: "
            f"its SHA-256 begins with {digest[:12]}, expected {WEIGHTS_SHA256[:12]}.",
            hint="Install quoth-reader again, in the version that this Quoth requires.",
        )
    tensors = read_tensors(content)
    ranges = {name.removeprefix(RANGES): tensor for name, tensor in tensors.items() if name.startswith(RANGES)}
    layers = {name: tensor for name, tensor in tensors.items() if not name.startswith(RANGES)}
    return ReaderWeights(layers, read_tensors(map_weights(model_dir / EMBEDDER_WEIGHTS)), ranges)


# --- from the heads' output to a reading -----------------------------------------------------------------------------


def _reading(part: _Part, heads: Heads) -> Reading:
    inside = slice(part.window.passage, part.window.passage + len(part.places))
    margin, start, end = _best_span(heads.span, inside, part.places)
    return Reading(
        answerable=heads.answerable,
        relevance=heads.relevance,
        supported=_odds(heads.support),
        margin=margin,
        start=start,
        end=end,
        places=tuple(part.places),
        weights=tuple(_shares(heads.span, inside).tolist()),
    )


def _best_span(span: Floats, inside: slice, places: Sequence[tuple[int, int]]) -> tuple[float, int, int]:
    """The best span that is not too long, by its margin over "not here"."""
    import numpy as np

    starts, ends = span[inside, 0], span[inside, 1]
    if not len(starts):
        return (-np.inf, 0, 0)
    pairs = starts[:, np.newaxis] + ends
    after = np.arange(len(starts)) - np.arange(len(starts))[:, np.newaxis]
    pairs = np.where((after >= 0) & (after < LONGEST_ANSWER), pairs, -np.inf)
    first, last = np.unravel_index(int(pairs.argmax()), pairs.shape)
    return float(pairs[first, last] - span[0, 0] - span[0, 1]), places[int(first)][0], places[int(last)][1]


def _shares(span: Floats, inside: slice) -> Floats:
    """How likely the answer is to begin or end at each token of the passage, with "not here" as one more outcome."""
    import numpy as np

    allowed = np.concatenate((span[:1], span[inside]))
    raised = np.exp(allowed - allowed.max(axis=0))
    shares: Floats = (raised / raised.sum(axis=0)).mean(axis=1)[1:]
    return shares


def _odds(support: Sequence[float]) -> float:
    import numpy as np

    supported, neutral, contradicted = support
    return float(supported - np.logaddexp(neutral, contradicted))

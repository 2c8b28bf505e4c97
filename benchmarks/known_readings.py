"""The reader with a cache: a passage that was read once is not read again, in this run or the next.

Readings are kept in `--cache`, named by the reader's weights and by how much it reads of a passage. Only what the
judge and the order need is kept of each.
"""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from quoth.domain import Reading, ReadingTask
from quoth.models.reader import PassageReader, find_reader_dir
from quoth.models.reader_window import WINDOW

SAVE_EVERY = 500  # readings


class KnownReadings:
    def __init__(self, cache: Path) -> None:
        folder = find_reader_dir()
        if folder is None:
            raise SystemExit("The reader is not installed: run `make setup`.")
        self._reader = PassageReader(folder)
        cache.mkdir(parents=True, exist_ok=True)
        self._path = cache / f"{self.name.replace('/', '-')}-{WINDOW}.readings"
        # Only this class writes the file.
        self._known: dict[bytes, Reading] = pickle.loads(self._path.read_bytes()) if self._path.exists() else {}
        self._saved = len(self._known)

    @property
    def name(self) -> str:
        return self._reader.name

    async def load(self) -> None:
        await self._reader.load()

    async def read(self, tasks: Sequence[ReadingTask]) -> list[Reading]:
        keys = [_key(task) for task in tasks]
        new = {key: task for key, task in zip(keys, tasks, strict=True) if key not in self._known}
        for key, reading in zip(new, await self._reader.read(list(new.values())), strict=True):
            self._known[key] = replace(reading, places=(), weights=())
        if len(self._known) - self._saved > SAVE_EVERY:
            self._save()
        return [self._known[key] for key in keys]

    async def close(self) -> None:
        self._save()
        await self._reader.close()

    def _save(self) -> None:
        part = self._path.with_suffix(".part")
        part.write_bytes(pickle.dumps(self._known))
        part.replace(self._path)
        self._saved = len(self._known)


def _key(task: ReadingTask) -> bytes:
    said = "\0".join((task.question, task.heading, task.passage, str(task.room)))
    return hashlib.sha256(said.encode()).digest()[:16]

"""The books that are open for reading, the last used ones: between `edge`, which is asked, and `edge_book`.

Every call follows the pointer file, so a publication by any process is seen by the next one; a book that is replaced
lives on until the last call that holds it is done. Where only changes were published the base stays open.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path

from quoth.chunks.payload import check_fingerprint
from quoth.domain import Fingerprint
from quoth.errors import IndexUnavailable
from quoth.index.book_reader import EdgeBook
from quoth.index.changes import NOTHING, Changes
from quoth.index.generations import Generations, Pointer, Stamp
from quoth.index.inventory import REBUILD_HINT

_ATTEMPTS = 10


@dataclass(frozen=True, slots=True)
class Opened:
    stamp: Stamp  # of the pointer
    base: Stamp
    book: EdgeBook


class OpenBooks:
    def __init__(self, index_dir: Path, fingerprint: Fingerprint, most: int) -> None:
        self._index_dir = index_dir
        self._fingerprint = fingerprint
        self._most = most
        self._lock = threading.Lock()
        self._opening: dict[str, threading.Lock] = {}
        self._open: OrderedDict[str, Opened] = OrderedDict()

    def book(self, book_id: str) -> EdgeBook:
        """As it is live now."""
        generations = Generations(self._index_dir, book_id)
        if (known := self._known(book_id, generations.stamp())) is not None:
            return known
        with self._lock:
            opening = self._opening.setdefault(book_id, threading.Lock())
        with opening:
            # Somebody may have opened it while we waited.
            if (known := self._known(book_id, stamp := generations.stamp())) is not None:
                return known
            opened = self._load(generations, stamp)
            self._put(book_id, opened)
            return opened.book

    def has(self, book_id: str) -> bool:
        with self._lock:
            return book_id in self._open

    def keep(self, generations: Generations, pointer: Pointer, book: EdgeBook) -> None:
        """What a writer of this process has just published: nobody has to open it again."""
        self._put(generations.book_id, Opened(generations.stamp(), generations.base_stamp(pointer), book))

    def forget(self, book_id: str) -> None:
        with self._lock:
            self._open.pop(book_id, None)

    def clear(self) -> None:
        with self._lock:
            self._open.clear()

    def _put(self, book_id: str, opened: Opened) -> None:
        with self._lock:
            self._open[book_id] = opened
            self._open.move_to_end(book_id)
            while len(self._open) > self._most:
                self._open.popitem(last=False)

    def _known(self, book_id: str, stamp: Stamp) -> EdgeBook | None:
        with self._lock:
            known = self._open.get(book_id)
            if known is None or known.stamp != stamp:
                return None
            self._open.move_to_end(book_id)
            return known.book

    def _load(self, generations: Generations, stamp: Stamp) -> Opened:
        for _ in range(_ATTEMPTS):
            try:
                pointer = generations.pointer()
                check_fingerprint(generations.book_id, pointer.fingerprint, self._fingerprint)
                return self._read(generations, pointer, stamp)
            except IndexUnavailable:
                # A folder that vanishes while it is opened was replaced by newer ones; otherwise it is damaged.
                before, stamp = stamp, generations.stamp()
                if stamp == before:
                    raise
        raise IndexUnavailable(f"The index of {generations.book_id!r} changes faster than it can be opened.")

    def _read(self, generations: Generations, pointer: Pointer, stamp: Stamp) -> Opened:
        # The engine is imported with the first book, not with the command line.
        from quoth.index.engine import Shard

        base = generations.base_stamp(pointer)
        with self._lock:
            known = self._open.get(generations.book_id)
        if known is not None and known.base == base:
            shard = known.book.base
        else:
            generations.check(pointer)
            shard = Shard.load(generations.folder(pointer.base))
        changes = Changes.decode(generations.changes(pointer)) if pointer.changed else NOTHING
        book = EdgeBook(shard, changes)
        if (found := book.count()) != pointer.chunks:
            raise IndexUnavailable(
                f"The index of {generations.book_id!r} is damaged: "
                f"it holds {found} chunks instead of {pointer.chunks}.",
                hint=REBUILD_HINT,
            )
        return Opened(stamp, base, book)

"""Folders that are built beside the live one and published at once: what makes the embedded index safe to share.

A book has a folder; in it `gen-000007` is one generation, `gen-000008.building` the next one under construction, and
the file CURRENT says which is live, for how many chunks and how it was built. Readers, in any process, follow CURRENT;
the one writer of the data directory holds `writer.lock`, replaces CURRENT with one rename, and a killed build is simply
never published. This module must not know what is inside a generation: it copies, syncs, names and removes folders.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import shlex
import shutil
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TextIO

from quoth.domain import Fingerprint
from quoth.errors import Conflict, DiskFull, IndexUnavailable, UnknownBook
from quoth.payload import is_book_id

FORMAT = 1
REBUILD_HINT = "Build it again: `quoth ingest PATH --mode recreate`."
_POINTER = "CURRENT"
_BUILDING = ".building"
_REMOVED = ".removed"
_MANIFEST = "files.json"
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
# Free space below which nothing is begun: the engine writes through memory maps, where a full disk is no error
# message but a signal that kills the process.
_MARGIN = 16 * 2**20
_BLOCK = 2**18
_ZEROS = bytes(_BLOCK)

Stamp = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Pointer:
    generation: int
    fingerprint: Fingerprint
    chunks: int


class Generations:
    """Those of one book. Reading needs no lock; whatever changes something is called under the WriterLock."""

    def __init__(self, index_dir: Path, book_id: str) -> None:
        self.book_id = book_id
        self.root = index_dir / book_id

    def folder(self, generation: int) -> Path:
        return self.root / f"gen-{generation:06}"

    def stamp(self) -> Stamp:
        """Changes with every publication. `UnknownBook` when nothing has been published."""
        if not is_book_id(self.book_id):
            raise self._unknown()
        try:
            stat = (self.root / _POINTER).stat()
        except FileNotFoundError:
            raise self._unknown() from None
        except OSError as error:
            raise unavailable(error, self.root) from error
        return stat.st_mtime_ns, stat.st_ino, stat.st_size

    def published_at(self) -> datetime:
        return datetime.fromtimestamp(self.stamp()[0] / 1e9, UTC)

    def pointer(self) -> Pointer:
        self.stamp()
        try:
            found = json.loads((self.root / _POINTER).read_text("utf-8"))
            if found["format"] != FORMAT:
                raise IndexUnavailable(
                    f"The index of {self.book_id!r} has format {found['format']}; this Quoth reads {FORMAT}.",
                    hint=REBUILD_HINT,
                )
            fingerprint = Fingerprint(**found["fingerprint"])
            return Pointer(generation=found["generation"], fingerprint=fingerprint, chunks=found["chunks"])
        except FileNotFoundError:
            raise self._unknown() from None
        except (ValueError, KeyError, TypeError) as error:
            raise IndexUnavailable(f"{self.root / _POINTER} is damaged: {error}.", hint=REBUILD_HINT) from error
        except OSError as error:
            raise unavailable(error, self.root) from error

    def check(self, generation: int) -> None:
        """`IndexUnavailable` when a file is gone or shorter than it was: reading it through a memory map would kill
        the process."""
        folder = self.folder(generation)
        try:
            manifest: dict[str, int] = json.loads((folder / _MANIFEST).read_text("utf-8"))
            for name, size in manifest.items():
                if (found := (folder / name).stat().st_size) < size:
                    raise IndexUnavailable(f"{folder / name} has {found} bytes instead of {size}.", hint=REBUILD_HINT)
        except FileNotFoundError as error:
            raise IndexUnavailable(f"{error.filename} is missing.", hint=REBUILD_HINT) from error
        except (ValueError, AttributeError, TypeError) as error:
            raise IndexUnavailable(f"{folder / _MANIFEST} is damaged: {error}.", hint=REBUILD_HINT) from error
        except OSError as error:
            raise unavailable(error, folder) from error

    def bytes_on_disk(self, generation: int) -> int:
        return sum(file.stat().st_blocks * 512 for file in _files(self.folder(generation)))

    def sweep(self) -> int:
        """Remove what killed writers left, and return the number of the live generation, 0 when there is none."""
        try:
            live = self.pointer().generation
        except UnknownBook:
            live = 0
        except IndexUnavailable:
            # A damaged pointer names nothing; what it may have meant is kept until a new one is published.
            live = max(self._numbers(), default=0)
        for path in self._leftovers(keep=(live, live - 1)):
            _remove(path)
        return live

    def begin(self, generation: int, *, copy_of: int | None) -> Path:
        """The folder in which the generation is built: a copy of another, or empty."""
        building = self.folder(generation).with_suffix(_BUILDING)
        with writing(self.root):
            self.root.mkdir(parents=True, exist_ok=True)
            _remove(building)
            building.mkdir()
            self.reserve(0 if copy_of is None else self.bytes_on_disk(copy_of))
            if copy_of is not None:
                _copy_tree(self.folder(copy_of), building)
        return building

    def publish(self, building: Path, pointer: Pointer) -> None:
        """Make the folder durable, then live, at once; keep the one before it for readers that are opening it."""
        live = self.folder(pointer.generation)
        with writing(self.root):
            manifest = {str(file.relative_to(building)): file.stat().st_size for file in _files(building)}
            manifest.pop(_MANIFEST, None)
            (building / _MANIFEST).write_text(json.dumps(manifest), "utf-8")
            _sync_tree(building)
            building.rename(live)
            _sync(self.root)
            self._replace_pointer(pointer)
        for path in self._leftovers(keep=(pointer.generation, pointer.generation - 1)):
            _remove(path)

    def discard(self, generation: int) -> None:
        _remove(self.folder(generation).with_suffix(_BUILDING))
        if self.root.is_dir() and not any(self.root.iterdir()):
            self.root.rmdir()

    def delete(self) -> None:
        """Pointer first, so that no reader finds half a book."""
        self.stamp()
        try:
            (self.root / _POINTER).unlink()
            _sync(self.root)
            for path in self._leftovers(keep=()):
                _remove(path)
            shutil.rmtree(self.root)
        except OSError as error:
            raise unavailable(error, self.root) from error

    def reserve(self, needed: int) -> None:
        """`DiskFull` unless so many bytes, and a margin, are free."""
        free = shutil.disk_usage(self.root).free
        if free < needed + _MARGIN:
            raise DiskFull(
                f"The disk of {self.root} is full: {free / 2**20:.0f} MB are free, "
                f"{(needed + _MARGIN) / 2**20:.0f} MB are needed."
            )

    def _replace_pointer(self, pointer: Pointer) -> None:
        content = {
            "format": FORMAT,
            "generation": pointer.generation,
            "chunks": pointer.chunks,
            "fingerprint": pointer.fingerprint.as_dict(),
        }
        new = self.root / f"{_POINTER}.new"
        new.write_text(json.dumps(content, indent=1) + "\n", "utf-8")
        _sync(new)
        new.replace(self.root / _POINTER)
        _sync(self.root)

    def _numbers(self) -> list[int]:
        names = (path.name.removeprefix("gen-") for path in self.root.glob("gen-*"))
        return [int(name) for name in names if name.isdigit()]

    def _leftovers(self, *, keep: tuple[int, ...]) -> list[Path]:
        kept = {self.folder(generation) for generation in keep}
        return [path for path in self.root.glob("gen-*") if path not in kept]

    def _unknown(self) -> UnknownBook:
        return UnknownBook(f"There is no book {self.book_id!r} in {self.root.parent.parent}.")


def published_books(index_dir: Path) -> list[str]:
    return sorted(path.parent.name for path in index_dir.glob(f"*/{_POINTER}"))


class WriterLock:
    """One writer for each data directory. The kernel's lock is the truth and dies with its process; the content of
    the file only tells a human who holds it."""

    def __init__(self, data_dir: Path, book_id: str) -> None:
        self._data_dir = data_dir
        self._book_id = book_id
        self._file: TextIO | None = None

    def acquire(self) -> None:
        with writing(self._data_dir):
            self._data_dir.mkdir(parents=True, exist_ok=True)
            file = (self._data_dir / "writer.lock").open("a+", encoding="utf-8")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            with file:
                raise Conflict(self._held_by(file)) from None
        self._file = file
        with writing(self._data_dir):
            file.truncate(0)
            file.write(json.dumps(self._holder()))
            file.flush()

    def release(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def __enter__(self) -> WriterLock:
        self.acquire()
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    def _holder(self) -> dict[str, str | int]:
        return {
            "pid": os.getpid(),
            "host": socket.gethostname(),
            "command": shlex.join([Path(sys.argv[0]).name, *sys.argv[1:]])[:200],
            "since": datetime.now(UTC).isoformat(timespec="seconds"),
            "book": self._book_id,
        }

    def _held_by(self, file: TextIO) -> str:
        file.seek(0)
        try:
            holder = json.loads(file.read())
            since = datetime.fromisoformat(holder["since"]).astimezone()
            who = f" (pid {holder['pid']} on {holder['host']}, `{holder['command']}`, since {since:%H:%M:%S})"
            what = f"the book {holder['book']!r} in {self._data_dir}"
        except (ValueError, KeyError, TypeError):
            # It has the lock but has not yet signed.
            who, what = "", str(self._data_dir)
        return f"Another process{who} is writing to {what}."


@contextmanager
def writing(place: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise unavailable(error, place) from error


def unavailable(error: OSError, place: Path) -> DiskFull | IndexUnavailable:
    if error.errno in _FULL:
        return DiskFull(f"The disk of {place} is full: {error.strerror}.")
    return IndexUnavailable(
        f"The index in {place} cannot be used: {error.strerror or error}.",
        hint="Look at the folder and its permissions, then try again.",
    )


def copy_sparse(source: Path, target: Path) -> None:
    """Copy without the holes: an engine's files are mostly holes, and a plain copy would fill them with zeros."""
    with source.open("rb", buffering=0) as reader, target.open("wb", buffering=0) as sink:
        size = os.fstat(reader.fileno()).st_size
        position = 0
        while position < size and (data := _next_data(reader.fileno(), position)) is not None:
            start, end = data
            for offset in range(start, end, _BLOCK):
                block = os.pread(reader.fileno(), min(_BLOCK, end - offset), offset)
                if block != _ZEROS[: len(block)]:
                    _write_all(sink.fileno(), block, offset)
            position = end
        os.ftruncate(sink.fileno(), size)


def _copy_tree(source: Path, target: Path) -> None:
    # shutil.copytree gathers failures into one error without errno, and a full disk could not be told from others.
    for path in source.iterdir():
        copy = target / path.name
        if path.is_dir():
            copy.mkdir()
            _copy_tree(path, copy)
        else:
            copy_sparse(path, copy)


def _next_data(descriptor: int, position: int) -> tuple[int, int] | None:
    try:
        start = os.lseek(descriptor, position, os.SEEK_DATA)
    except OSError as error:
        if error.errno == errno.ENXIO:
            return None
        raise
    return start, os.lseek(descriptor, start, os.SEEK_HOLE)


def _write_all(descriptor: int, block: bytes, offset: int) -> None:
    view = memoryview(block)
    while view:
        written = os.pwrite(descriptor, view, offset)
        view, offset = view[written:], offset + written


def _remove(folder: Path) -> None:
    """Under another name first: a reader that closes it writes its small files by name, into what is being emptied.
    What cannot be removed now is removed by the next writer."""
    removed = folder.with_suffix(_REMOVED)
    with writing(folder):
        if folder != removed and folder.exists():
            shutil.rmtree(removed, ignore_errors=True)
            folder.rename(removed)
    shutil.rmtree(removed, ignore_errors=True)


def _files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def _sync_tree(folder: Path) -> None:
    for path in folder.rglob("*"):
        _sync(path)
    _sync(folder)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)

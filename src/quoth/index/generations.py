"""What is published of a book, at once and safe to share: folders that are built beside the live one, and small files.

A book has a folder; in it `gen-000007` is a base and `gen-000012.json` what has changed since, as of the twelfth
publication. The file CURRENT says which are live, for how many chunks and how they were built. Readers, in any process,
follow CURRENT; the one writer of the data directory replaces it with one rename, and a killed build is simply never
published. This module must not know what is inside a base or the changes: it copies, syncs, names and removes.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from quoth.chunks.payload import is_book_id
from quoth.domain import Fingerprint
from quoth.errors import DiskFull, IndexUnavailable, UnknownBook
from quoth.index.inventory import REBUILD_HINT

FORMAT = 2
_POINTER = "CURRENT"
_REMOVED = ".removed"
_MANIFEST = "files.json"
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
# Free space below which nothing is begun: the engine writes through memory maps, where a full disk is no error
# message but a signal that kills the process.
_MARGIN = 16 * 2**20
_BLOCK = 2**18
_SYNCING = 16
_ZEROS = bytes(_BLOCK)

Stamp = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Pointer:
    generation: int
    base: int  # the generation whose folder it stands on: its own, unless there are changes over it
    fingerprint: Fingerprint
    chunks: int

    @property
    def changed(self) -> bool:
        return self.base != self.generation


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
            return _stamp_of(self.root / _POINTER)
        except FileNotFoundError:
            raise self._unknown() from None
        except OSError as error:
            raise unavailable(error, self.root) from error

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
            return Pointer(found["generation"], found["base"], fingerprint, found["chunks"])
        except FileNotFoundError:
            raise self._unknown() from None
        except (ValueError, KeyError, TypeError) as error:
            raise IndexUnavailable(f"{self.root / _POINTER} is damaged: {error}.", hint=REBUILD_HINT) from error
        except OSError as error:
            raise unavailable(error, self.root) from error

    def base_stamp(self, pointer: Pointer) -> Stamp:
        """Tells one base from any other, also from one of the same number before the book was deleted."""
        manifest = self.folder(pointer.base) / _MANIFEST
        try:
            return _stamp_of(manifest)
        except OSError as error:
            raise IndexUnavailable(f"{manifest} is missing.", hint=REBUILD_HINT) from error

    def changes(self, pointer: Pointer) -> bytes:
        try:
            return self._changes_file(pointer.generation).read_bytes()
        except FileNotFoundError as error:
            raise IndexUnavailable(f"{error.filename} is missing.", hint=REBUILD_HINT) from error
        except OSError as error:
            raise unavailable(error, self.root) from error

    def check(self, pointer: Pointer) -> None:
        """`IndexUnavailable` when a file is gone or shorter than it was: reading it through a memory map would kill
        the process."""
        folder = self.folder(pointer.base)
        try:
            for name, size in self._manifest(pointer.base).items():
                if (found := (folder / name).stat().st_size) < size:
                    raise IndexUnavailable(f"{folder / name} has {found} bytes instead of {size}.", hint=REBUILD_HINT)
        except FileNotFoundError as error:
            raise IndexUnavailable(f"{error.filename} is missing.", hint=REBUILD_HINT) from error
        except TypeError as error:
            raise IndexUnavailable(f"{folder / _MANIFEST} is damaged: {error}.", hint=REBUILD_HINT) from error
        except OSError as error:
            raise unavailable(error, folder) from error

    def bytes_on_disk(self, pointer: Pointer) -> int:
        with writing(self.root):
            return self._room(pointer.base) + (len(self.changes(pointer)) if pointer.changed else 0)

    def sweep(self) -> int:
        """Remove what killed writers left, and return the number of the live generation, 0 when there is none."""
        try:
            pointer = self.pointer()
        except UnknownBook:
            self._clean(keep=set())
            return 0
        except IndexUnavailable:
            # A damaged pointer names nothing; what it may have meant is kept until a new one is published.
            return max(self._numbers(), default=0)
        before = pointer.generation - 1
        self._clean(keep={*self._paths(pointer), self.folder(before), self._changes_file(before)})
        return pointer.generation

    def begin(self, generation: int, *, copy_of: int | None) -> Path:
        """The folder in which the generation is built, under its name so that it can stay open when it is published:
        a copy of another, or empty."""
        folder = self.folder(generation)
        with writing(self.root):
            self.root.mkdir(parents=True, exist_ok=True)
            _remove(folder)
            folder.mkdir()
            self.reserve(0 if copy_of is None else self._room(copy_of))
            if copy_of is not None:
                self._copy(copy_of, folder)
        return folder

    def publish(self, pointer: Pointer, changes: bytes = b"") -> None:
        """Make it durable, then live, at once; keep what was live before for readers that are opening it."""
        try:
            kept = self._paths(self.pointer())
        except (UnknownBook, IndexUnavailable):
            kept = set()
        with writing(self.root):
            if pointer.changed:
                self._changes_file(pointer.generation).write_bytes(changes)
                _sync_all([self._changes_file(pointer.generation), self.root])
            else:
                folder = self.folder(pointer.base)
                manifest = {str(file.relative_to(folder)): file.stat().st_size for file in _files(folder)}
                manifest.pop(_MANIFEST, None)
                (folder / _MANIFEST).write_text(json.dumps(manifest), "utf-8")
                _sync_all([*folder.rglob("*"), folder, self.root])
            self._replace_pointer(pointer)
        self._clean(keep=kept | self._paths(pointer))

    def discard(self, generation: int) -> None:
        _remove(self.folder(generation))
        self._changes_file(generation).unlink(missing_ok=True)
        if self.root.is_dir() and not any(self.root.iterdir()):
            self.root.rmdir()

    def delete(self) -> None:
        """Pointer first, so that no reader finds half a book."""
        self.stamp()
        try:
            (self.root / _POINTER).unlink()
            _sync(self.root)
            self._clean(keep=set())
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
            "base": pointer.base,
            "chunks": pointer.chunks,
            "fingerprint": pointer.fingerprint.as_dict(),
        }
        new = self.root / f"{_POINTER}.new"
        new.write_text(json.dumps(content, indent=1) + "\n", "utf-8")
        _sync(new)
        new.replace(self.root / _POINTER)
        _sync(self.root)

    def _manifest(self, base: int) -> dict[str, int]:
        """The files that were published, and their sizes. Readers put others beside them for moments of their own."""
        file = self.folder(base) / _MANIFEST
        try:
            manifest: dict[str, int] = dict(json.loads(file.read_text("utf-8")))
        except FileNotFoundError as error:
            raise IndexUnavailable(f"{file} is missing.", hint=REBUILD_HINT) from error
        except (ValueError, TypeError) as error:
            raise IndexUnavailable(f"{file} is damaged: {error}.", hint=REBUILD_HINT) from error
        return manifest

    def _room(self, base: int) -> int:
        folder = self.folder(base)
        return sum((folder / name).stat().st_blocks * 512 for name in self._manifest(base))

    def _copy(self, base: int, target: Path) -> None:
        source = self.folder(base)
        for folder in [path for path in source.rglob("*") if path.is_dir()]:
            (target / folder.relative_to(source)).mkdir(parents=True, exist_ok=True)
        for name in self._manifest(base):
            copy_sparse(source / name, target / name)

    def _changes_file(self, generation: int) -> Path:
        return self.folder(generation).with_suffix(".json")

    def _paths(self, pointer: Pointer) -> set[Path]:
        return {self.folder(pointer.base), self._changes_file(pointer.generation)}

    def _numbers(self) -> list[int]:
        names = (path.stem.removeprefix("gen-") for path in self.root.glob("gen-*"))
        return [int(name) for name in names if name.isdigit()]

    def _clean(self, *, keep: set[Path]) -> None:
        for path in self.root.glob("gen-*"):
            if path in keep:
                continue
            if path.suffix == ".json":
                path.unlink(missing_ok=True)
            else:
                _remove(path)

    def _unknown(self) -> UnknownBook:
        return UnknownBook(f"There is no book {self.book_id!r} in {self.root.parent.parent}.")


def published_books(index_dir: Path) -> list[str]:
    return sorted(path.parent.name for path in index_dir.glob(f"*/{_POINTER}"))


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


def _stamp_of(file: Path) -> Stamp:
    stat = file.stat()
    return stat.st_mtime_ns, stat.st_ino, stat.st_size


def _files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def _sync_all(paths: Sequence[Path]) -> None:
    """At once, so that the file system writes its journal a few times and not once for each."""
    with ThreadPoolExecutor(_SYNCING, thread_name_prefix="quoth-sync") as threads:
        list(threads.map(_sync, paths))


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)

"""What is published of a book: which files are live, and what they must contain. Safe to share between processes.

A book has a folder; in it `gen-000007` is a base and `gen-000012.json` holds what has changed since, as of the twelfth
publication. The file CURRENT names the files that are live, with their sizes and checksums, and says how many chunks
they hold and how they were built. Readers, in any process, follow CURRENT; the one writer of the data directory
replaces it with one rename, so a build that is killed is simply never published. This module must not know what is
inside a base or the changes: it names, syncs, compares and removes.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from quoth.chunks.payload import is_book_id, of_book_record, to_book_record
from quoth.domain import Book, Fingerprint
from quoth.errors import DiskFull, IndexDamaged, IndexMismatch, IndexUnavailable, UnknownBook

FORMAT = 3
_POINTER = "CURRENT"
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_THREADS = 16  # that sync at once: the file system then writes its journal a few times, not once for each file
_ATTEMPTS = 10

Stamp = tuple[int, int, int]
T = TypeVar("T")
A = TypeVar("A")


@dataclass(frozen=True, slots=True)
class FileSum:
    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Pointer:
    """The content of CURRENT. File names are relative to the folder of the book."""

    generation: int
    base: int  # the generation that wrote the base: this one, unless there are changes since
    fingerprint: Fingerprint
    chunks: int
    files: Mapping[str, FileSum]
    format: int = FORMAT
    book: Book | None = None  # its record, without the place it came from

    @property
    def changed(self) -> bool:
        return self.base != self.generation

    @property
    def base_files(self) -> dict[str, FileSum]:
        """They tell one base from any other, even from one of the same name before the book was deleted."""
        return {name: sum for name, sum in self.files.items() if name.startswith(f"{_name(self.base)}/")}


class Generations:
    """The generations of one book. Reading needs no lock; every change is made under the WriterLock."""

    def __init__(self, index_dir: Path, book_id: str) -> None:
        self.book_id = book_id
        self.root = index_dir / book_id

    def folder(self, generation: int) -> Path:
        return self.root / _name(generation)

    # --- reading --------------------------------------------------------------------------------------------------

    def stamp(self) -> Stamp:
        """Changes with every publication. Raises `UnknownBook` if nothing has been published."""
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
        """It may have an earlier format, which `check_format` refuses."""
        self.stamp()
        file = self.root / _POINTER
        try:
            found = json.loads(file.read_text("utf-8"))
            return _pointer_of(found)
        except FileNotFoundError:
            raise self._unknown() from None
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            reason = "it is not UTF-8" if isinstance(error, UnicodeDecodeError) else repr(error)
            raise damaged((file, f"cannot be read: {reason}")) from error
        except OSError as error:
            raise unavailable(error, self.root) from error

    def check_format(self, pointer: Pointer) -> None:
        if pointer.format != FORMAT:
            when = "an earlier" if pointer.format < FORMAT else "a later"
            raise IndexMismatch(
                f"The index of {self.book_id!r} was built by {when} Quoth (format {pointer.format}, not {FORMAT})."
            )

    def read(self, pointer: Pointer, file: Path) -> bytes:
        """One small file, compared as a whole."""
        name = str(file.relative_to(self.root))
        try:
            content = file.read_bytes()
        except FileNotFoundError as error:
            raise damaged((file, "is missing")) from error
        except OSError as error:
            raise unavailable(error, self.root) from error
        if hashlib.sha256(content).hexdigest() != pointer.files[name].sha256:
            raise damaged((file, "is not what was published"))
        return content

    def check(self, pointer: Pointer, *, whole: Callable[[str], bool] = lambda name: True) -> None:
        """Raises `IndexDamaged` unless every file is there, has its length and, if it is to be compared `whole`, holds
        what was published."""
        faults = _all(
            lambda one: _fault(self.root / one[0], one[1], whole=whole(Path(one[0]).name)), list(pointer.files.items())
        )
        if found := [fault for fault in faults if fault is not None]:
            raise damaged(*found)

    def steadily(self, read: Callable[[Pointer, Stamp], T]) -> T:
        """Read what is live. If that fails because a newer publication has replaced it meanwhile, read the new one."""
        for _ in range(_ATTEMPTS):
            stamp = self.stamp()
            try:
                return read(self.pointer(), stamp)
            except IndexUnavailable:
                if stamp == self.stamp():
                    raise
        raise IndexUnavailable(f"The index of {self.book_id!r} changes faster than it can be read.", hint="Try again.")

    # --- writing --------------------------------------------------------------------------------------------------

    def sweep(self) -> int:
        """Remove what killed writers left. Returns the number of the live generation, 0 when there is none."""
        try:
            pointer = self.pointer()
        except UnknownBook:
            self._clean(keep=set())
            return 0
        except IndexUnavailable:
            # A damaged pointer names nothing; what it may have meant is kept until a new one is published.
            return max(self._numbers(), default=0)
        before = pointer.generation - 1
        self._clean(keep={*self._paths(pointer), self.folder(before), self.changes_file(before)})
        return pointer.generation

    def begin(self, generation: int) -> Path:
        """The empty folder in which a base is built."""
        folder = self.folder(generation)
        with disk_errors(self.root):
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
        return folder

    def publish_base(self, generation: int, fingerprint: Fingerprint, chunks: int, book: Book | None) -> Pointer:
        folder = self.folder(generation)
        with disk_errors(self.root):
            files = sorted(folder.iterdir())
            sums = dict(zip((f"{folder.name}/{file.name}" for file in files), _all(_sealed, files), strict=True))
            _sync(folder)
        return self._publish(Pointer(generation, generation, fingerprint, chunks, sums, book=book))

    def publish_changes(
        self, generation: int, live: Pointer, chunks: int, changes: bytes, book: Book | None
    ) -> Pointer:
        file = self.changes_file(generation)
        with disk_errors(self.root):
            file.write_bytes(changes)
            sums = {**live.base_files, file.name: _sealed(file)}
        return self._publish(Pointer(generation, live.base, live.fingerprint, chunks, sums, book=book))

    def _publish(self, pointer: Pointer) -> Pointer:
        """Everything is on disk; make it live in one step. What was live is kept for readers that are opening it."""
        try:
            kept = self._paths(self.pointer())
        except (UnknownBook, IndexUnavailable):
            kept = set()
        content: dict[str, Any] = {
            "format": pointer.format,
            "generation": pointer.generation,
            "base": pointer.base,
            "chunks": pointer.chunks,
            "fingerprint": pointer.fingerprint.as_dict(),
            "book": to_book_record(pointer.book),
            "files": {name: {"bytes": sum.bytes, "sha256": sum.sha256} for name, sum in pointer.files.items()},
        }
        new = self.root / f"{_POINTER}.new"
        with disk_errors(self.root):
            _sync(self.root)
            new.write_text(json.dumps({**content, "sha256": checksum(content)}, indent=1) + "\n", "utf-8")
            _sync(new)
            new.replace(self.root / _POINTER)
            _sync(self.root)
        self._clean(keep=kept | self._paths(pointer))
        return pointer

    def discard(self, generation: int) -> None:
        shutil.rmtree(self.folder(generation), ignore_errors=True)
        self.changes_file(generation).unlink(missing_ok=True)
        if self.root.is_dir() and not any(self.root.iterdir()):
            self.root.rmdir()

    def delete(self) -> None:
        """Pointer first, so that no reader finds half a book."""
        self.stamp()
        with disk_errors(self.root):
            (self.root / _POINTER).unlink()
            _sync(self.root)
            shutil.rmtree(self.root)

    def changes_file(self, generation: int) -> Path:
        return self.folder(generation).with_suffix(".json")

    def _paths(self, pointer: Pointer) -> set[Path]:
        return {self.folder(pointer.base), self.changes_file(pointer.generation)}

    def _numbers(self) -> list[int]:
        names = (path.stem.removeprefix("gen-") for path in self.root.glob("gen-*"))
        return [int(name) for name in names if name.isdigit()]

    def _clean(self, *, keep: set[Path]) -> None:
        """What cannot be removed now is removed by the next writer."""
        for path in self.root.glob("gen-*"):
            if path in keep:
                continue
            if path.suffix == ".json":
                path.unlink(missing_ok=True)
            else:
                shutil.rmtree(path, ignore_errors=True)

    def _unknown(self) -> UnknownBook:
        return UnknownBook(f"There is no book {self.book_id!r} in the index.")


def published_books(index_dir: Path) -> list[str]:
    return sorted(path.parent.name for path in index_dir.glob(f"*/{_POINTER}"))


@contextmanager
def disk_errors(place: Path) -> Iterator[None]:
    """Turn the system's errors into ours."""
    try:
        yield
    except OSError as error:
        raise unavailable(error, place) from error


def unavailable(error: OSError, place: Path) -> DiskFull | IndexUnavailable:
    if error.errno in _FULL:
        return DiskFull(f"The disk of {place} is full: {error.strerror}.")
    return IndexUnavailable(
        f"The index in {place} cannot be used: {error.strerror or error}.",
        hint="Check the folder and its permissions, then try again.",
    )


def damaged(*faults: tuple[Path, str]) -> IndexDamaged:
    """Files are named relative to the data directory: a reader of the message need not know where that is."""
    named = [{"file": str(_within_data_dir(file)), "problem": problem} for file, problem in faults]
    more = f" (and {len(named) - 1} more files)" if len(named) > 1 else ""
    book_id = Path(named[0]["file"]).parts[1]
    return IndexDamaged(
        f"The index of {book_id!r} is damaged: {named[0]['file']} {named[0]['problem']}{more}.",
        details={"damage": named},
    )


def _within_data_dir(file: Path) -> Path:
    book = file.parent.parent if file.parent.name.startswith("gen-") else file.parent
    return file.relative_to(book.parent.parent)


def _name(generation: int) -> str:
    return f"gen-{generation:06}"


def _pointer_of(found: dict[str, Any]) -> Pointer:
    if found["format"] == FORMAT and found.pop("sha256") != checksum(found):
        raise ValueError("its checksum does not match")
    files = {name: FileSum(**sum) for name, sum in found.get("files", {}).items()}
    fingerprint = Fingerprint(**found["fingerprint"])
    book = of_book_record(found.get("book"))
    return Pointer(found["generation"], found["base"], fingerprint, found["chunks"], files, found["format"], book)


def checksum(content: Mapping[str, Any]) -> str:
    """The checksum of a small JSON file, to be written into it."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _fault(file: Path, sum: FileSum, *, whole: bool) -> tuple[Path, str] | None:
    try:
        if (found := file.stat().st_size) != sum.bytes:
            return file, f"has {found} bytes instead of {sum.bytes}"
        if whole and _sha256(file) != sum.sha256:
            return file, "is not what was published"
    except FileNotFoundError:
        return file, "is missing"
    except OSError as error:
        return file, f"cannot be read: {error.strerror or error}"
    return None


def _sealed(file: Path) -> FileSum:
    """Sync a file to disk; returns its size and checksum."""
    _sync(file)
    return FileSum(file.stat().st_size, _sha256(file))


def _sha256(file: Path) -> str:
    with file.open("rb", buffering=0) as reader:
        return hashlib.file_digest(reader, "sha256").hexdigest()


def _all(work: Callable[[T], A], items: Sequence[T]) -> list[A]:
    with ThreadPoolExecutor(_THREADS, thread_name_prefix="quoth-files") as threads:
        return list(threads.map(work, items))


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)

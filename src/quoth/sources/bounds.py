"""Which files on disk may be read for a book: the one place that decides it.

A project's files come from strangers, and say where its pages are, what it inherits and what it includes. All of that
is opened through `Bounds`: it reads only what is really below `top`, with all links followed. `top` is the folder that
was given. If that is only a part of a project, `top` is the folder of the project, but pages are still read from the
part alone. No folder above `limit` is looked at, for example above the roots that may be ingested over HTTP.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from quoth.errors import Unreadable
from quoth.sources.loading import Damaged
from quoth.text.limits import MAX_CONFIG_BYTES, MAX_FILE_BYTES


@dataclass(frozen=True, slots=True)
class Bounds:
    top: Path  # a real path
    limit: Path = Path("/")  # a real path, the same as `top` or above it
    project: Path | None = None  # a real path: pages may also include files below it that are not hidden

    def holds(self, path: Path) -> bool:
        real = _real(path)
        return real is not None and real.is_relative_to(self.top)

    def may_include(self, real: Path) -> bool:
        """Whether a page may include this file, given by its real path. In the project around the book, hidden files
        (`.env`) and files in hidden folders (`.git`) are never read."""
        if real.is_relative_to(self.top):
            return True
        if self.project is None or not real.is_relative_to(self.project):
            return False
        return not any(part.startswith(".") for part in real.relative_to(self.project).parts)

    def upwards(self, folder: Path) -> Iterator[Path]:
        """The folder and those above it, where the configuration of its project may be."""
        return (place for place in (folder, *folder.parents) if _is_within(place, self.limit))

    def around(self, project: Path) -> Bounds:
        """The bounds of a project: these, unless the project is above the folder that was given."""
        return replace(self, top=project) if _is_within(self.top, project) else self

    def is_file(self, path: Path) -> bool:
        return is_file(path) and self.holds(path)

    def first_file(self, folder: Path, names: Iterable[str]) -> Path | None:
        """The first of these names that a file in the folder has. Most have none, and a `Path` for each of them takes
        longer than to look for it: a folder is looked through for some four hundred names."""
        found = (name for name in names if os.path.isfile(f"{folder}/{name}"))  # noqa: PTH113
        return next((folder / name for name in found if self.holds(folder / name)), None)

    def published(self, project: Path, said: str, part: Path) -> Path | None:
        """The folder that a configuration in `project` names for its pages; None if it does not exist, or does not hold
        `part`, a folder below the project. Raises `Unreadable` if it leads outside."""
        docs = _real(project / said)
        if docs is None or not docs.is_relative_to(self.top):
            if part != project:
                return None
            raise Unreadable(
                f"{project.name} has its pages in {said!r}, which is outside the folder that was given.",
                hint="Give a folder that holds both the project and its pages.",
            )
        return docs if docs.is_dir() and (part == project or part.is_relative_to(docs)) else None

    def config_text(self, path: Path, errors: str = "strict") -> str:
        """The text of a project's file. Raises `OSError` if it cannot be opened, `Damaged` if it may not be read."""
        if not self.holds(path):
            raise Damaged("it leads out of the folder that was given")
        if path.stat().st_size > MAX_CONFIG_BYTES:
            raise Damaged(f"it is larger than {MAX_CONFIG_BYTES / 1e6:g} MB")
        try:
            return path.read_bytes().decode("utf-8-sig", errors)
        except UnicodeDecodeError as error:
            raise Damaged(f"it is not valid UTF-8 at offset {error.start}") from None

    def page_bytes(self, path: Path, source_file: str) -> bytes:
        """The bytes of a page. Raises `Unreadable` with the reason."""
        details = {"source_file": source_file}
        if not self.holds(path):
            raise Unreadable(
                f"{source_file} leads out of the folder that was given.",
                hint="Copy the file into that folder.",
                details=details,
            )
        try:
            size = path.stat().st_size
            data = path.read_bytes() if size <= MAX_FILE_BYTES else b""
        except OSError as error:
            raise Unreadable(
                f"{source_file} cannot be read: {error.strerror or error}.",
                hint="Check that it exists and that you have permission to read it.",
                details=details,
            ) from error
        if size > MAX_FILE_BYTES:
            raise Unreadable(
                f"{source_file} is {size / 1e6:.0f} MB; files of more than {MAX_FILE_BYTES / 1e6:g} MB are not read.",
                hint="Split it, or move it out of the book.",
                details=details,
            )
        return data


def bounds_of(given: Path, roots: Sequence[Path] = (), project: Path | None = None) -> Bounds:
    """The bounds of a folder as it was given. If it is in one of the roots, nothing outside that root is read; a folder
    that is in a root only by name, because it has become a link, is `Unreadable`. The project is the folder that was
    given as such, or the checkout around the book."""
    top = Path(os.path.realpath(given))
    for root in map(os.path.realpath, roots):
        if top.is_relative_to(root):
            return _with_project(Bounds(top, Path(root)), project)
    named = Path(os.path.abspath(given))  # noqa: PTH100 - without following links
    if any(named.is_relative_to(name) for root in roots for name in (root.absolute(), os.path.realpath(root))):
        raise Unreadable(f"{given} leads out of QUOTH_INGEST_ROOTS.", hint="Give a folder that is inside them.")
    return _with_project(Bounds(top), project)


_FOLDERS_ABOVE = 5  # how far up the root of a checkout is looked for


def _with_project(bounds: Bounds, given: Path | None) -> Bounds:
    if given is not None:
        root = Path(os.path.realpath(given))
        if not bounds.top.is_relative_to(root) or not root.is_relative_to(bounds.limit):
            raise Unreadable(
                f"{given} does not hold the book, or may not be read.", hint="Give a folder around the book."
            )
        return replace(bounds, project=root)
    home = Path(os.path.realpath(Path.home()))
    for place in list(bounds.upwards(bounds.top))[: _FOLDERS_ABOVE + 1]:
        if place in (home, Path(place.anchor)):
            break
        if (place / ".git").exists():
            return replace(bounds, project=place)
    return bounds


def bounds_of_file(given: Path, roots: Sequence[Path] = ()) -> Bounds:
    """The bounds of a single file: the folder that it is really in, so that it can include files from there."""
    bounds = bounds_of(given.parent, roots)
    real = Path(os.path.realpath(given))
    if not real.is_relative_to(bounds.limit):
        raise Unreadable(f"{given} leads out of QUOTH_INGEST_ROOTS.", hint="Give a file that is inside them.")
    return replace(bounds, top=real.parent)


def is_file(path: Path) -> bool:
    """False also for a path that cannot exist, such as one that is too long: a book may name any path."""
    return os.path.isfile(path)  # noqa: PTH113 - half the time of the method, and it raises nothing


def _is_within(path: Path, folder: Path) -> bool:
    """`is_relative_to`, which is slow, only where the names alone do not show it."""
    return str(path).startswith(os.path.join(folder, "")) or path.is_relative_to(folder)  # noqa: PTH118


def _real(path: Path) -> Path | None:
    """With all links followed; None for a path that no file can have."""
    try:
        return Path(os.path.realpath(path))
    except ValueError:  # a zero byte
        return None

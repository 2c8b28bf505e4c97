"""A figure of a book that was read from a local folder: which file an address in a page means, and its bytes.

In: the book, the file of the page and the address as the page writes it. Out: the bytes and their type, or nothing if
it is not clearly a picture inside the book's own folder. Knows no transport.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

from quoth.domain import Book

if TYPE_CHECKING:
    from quoth.sources.bounds import Bounds

_LARGEST = 10_000_000  # bytes

# By file extension, and only if the file begins with the right bytes.
_TYPES: dict[str, tuple[str, re.Pattern[bytes]]] = {
    ".png": ("image/png", re.compile(rb"\x89PNG\r\n\x1a\n")),
    ".jpg": ("image/jpeg", re.compile(rb"\xff\xd8\xff")),
    ".jpeg": ("image/jpeg", re.compile(rb"\xff\xd8\xff")),
    ".gif": ("image/gif", re.compile(rb"GIF8[79]a")),
    ".webp": ("image/webp", re.compile(rb"RIFF....WEBP", re.DOTALL)),
    ".avif": ("image/avif", re.compile(rb"....ftypavi[fs]", re.DOTALL)),
    ".svg": ("image/svg+xml", re.compile(rb"(?:\xef\xbb\xbf)?\s*(?:<\?xml|<!--|<!DOCTYPE svg|<svg)")),
}
MEDIA_TYPES = tuple(dict.fromkeys(media_type for media_type, _ in _TYPES.values()))
# Where toolchains keep files that pages address from the root of the site.
_ROOTS = ("static", "docs", "src", "source", "public", "")


@dataclass(frozen=True, slots=True)
class Figure:
    media_type: str
    content: bytes


def find_figure(book: Book, source_file: str, address: str) -> Figure | None:
    """Blocks while it reads the disk."""
    folder = Path(book.source)
    if "://" in book.source or not folder.is_absolute():
        return None
    from quoth.sources.bounds import bounds_of  # imports the parsers, which answering does not need

    bounds = bounds_of(folder)
    for path in _candidates(folder, source_file, address):
        figure = _read(path, bounds)
        if figure is not None:
            return figure
    return None


def _candidates(folder: Path, source_file: str, address: str) -> Iterator[Path]:
    name = unquote(re.split(r"[?#]", address, maxsplit=1)[0])
    if not name or name.startswith("//") or re.match(r"[a-z][a-z0-9+.-]*:", name, re.IGNORECASE):
        return  # on another server
    if name.startswith("@site/"):  # Docusaurus
        yield folder / name.removeprefix("@site/")
    elif name.startswith("/"):
        yield from (folder / root / name.lstrip("/") for root in _ROOTS)
    else:
        yield (folder / source_file).parent / name


def _read(path: Path, bounds: Bounds) -> Figure | None:
    known = _TYPES.get(path.suffix.lower())
    if known is None or not bounds.is_file(path):
        return None
    real = path.resolve()
    if any(part.startswith(".") for part in real.relative_to(bounds.top).parts) or real.suffix.lower() not in _TYPES:
        return None
    try:
        content = real.read_bytes() if real.stat().st_size <= _LARGEST else b""
    except OSError:
        return None  # gone or unreadable: its alternative text is shown instead
    media_type, beginning = known
    return Figure(media_type, content) if beginning.match(content) else None

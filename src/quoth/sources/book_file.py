"""`quoth-book.toml` beside a book: what its author says about it that no toolchain knows.

In: the folder that was given. Out: a `BookFile`, and a notice with the line of every key that is unknown or has a value
that makes no sense; such a key is ignored. The file is looked for in the folder and in those above it, up to the root
of the repository. Options of a command override it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from quoth.domain import URL_STYLES, Notice
from quoth.sources.bounds import Bounds
from quoth.sources.loading import Damaged, load_toml

NAME = "quoth-book.toml"
_WORDS = re.compile(r"[\W_]+")


@dataclass(frozen=True, slots=True)
class BookFile:
    title: str = ""
    base_url: str = ""
    url_style: str = ""
    language: str = ""
    modules: tuple[str, ...] = ()  # all there are; empty: any name will do
    default_tier: int = 0  # for pages that name none; 0: not set
    notices: tuple[Notice, ...] = ()  # with absolute paths

    def module(self, said: str) -> str:
        """The module of the list that a page means, or an empty string. `ROS 2` means `ros-2`."""
        key = _WORDS.sub("", said).casefold()
        return next((name for name in self.modules if _WORDS.sub("", name).casefold() == key), "")


def read_book_file(folder: Path, bounds: Bounds) -> BookFile:
    path = _find(folder, bounds)
    if path is None:
        return BookFile()
    try:
        text = bounds.around(path.parent).config_text(path)
        values = load_toml(text)
    except (OSError, Damaged) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        message = f"{NAME} cannot be read: {reason}. It is ignored until it is fixed"
        return BookFile(notices=(Notice("BOOK_FILE", message, str(path), _line_in(str(error))),))
    return _checked(values, text, str(path))


def _find(folder: Path, bounds: Bounds) -> Path | None:
    for place in bounds.upwards(folder):
        if bounds.around(place).is_file(place / NAME):
            return place / NAME
        if (place / ".git").exists():
            break
    return None


def _checked(values: Mapping[str, object], text: str, path: str) -> BookFile:
    book = BookFile()
    notices: list[Notice] = []
    for key, value in values.items():
        line = _line_of(key, text)
        read = _READ.get(key)
        if read is None:
            known = ", ".join(_READ)
            notices.append(Notice("BOOK_FILE", f"{key} is not a known key and is ignored; use {known}", path, line))
            continue
        found = read(value)
        if found is None:
            message = f"{key} is {value!r}"[:100] + f", not {_WANTED[key]}; it is ignored"
            notices.append(Notice("BOOK_FILE", message, path, line))
        else:
            book = replace(book, **{key: found})  # type: ignore[arg-type]
    return replace(book, notices=tuple(notices))


def _text(value: object) -> str | None:
    return value.strip() if isinstance(value, str) and value.strip() else None


def _address(value: object) -> str | None:
    text = _text(value)
    return text if text and re.match(r"https?://[^\s/]", text, re.I) else None


def _names(value: object) -> tuple[str, ...] | None:
    listed = value if isinstance(value, list) else []
    names = tuple(text for item in listed if (text := _text(item)))
    return names if names and len(names) == len(listed) else None


_READ: dict[str, Callable[[object], object]] = {
    "title": _text,
    "base_url": _address,
    "url_style": lambda value: value if isinstance(value, str) and value in URL_STYLES else None,
    "modules": _names,
    "default_tier": lambda value: value if value in (1, 2, 3, 4) and value is not True else None,
    "language": _text,
}
_WANTED = {
    "title": "text",
    "base_url": "an http:// or https:// address",
    "url_style": " or ".join(URL_STYLES),
    "modules": "a list of names",
    "default_tier": "1, 2, 3 or 4",
    "language": 'a language such as "en"',
}


def _line_of(key: str, text: str) -> int | None:
    found = re.search(rf"^[ \t]*[\[\"']*{re.escape(key)}\b", text, re.M)
    return text.count("\n", 0, found.start()) + 1 if found else None


def _line_in(reason: str) -> int | None:
    found = re.search(r"at line (\d+)", reason)
    return int(found[1]) if found else None

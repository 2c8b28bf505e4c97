"""A folder → the files in it that may be pages, in a fixed order; bytes → text and the front matter at its head.

Hidden folders and folders of dependencies or builds are left alone. A link is followed only if it stays in the folder
and does not lead back to a folder above it. Text comes out exactly as its author wrote it, byte order mark and line
endings included, so that offsets hold. Bytes that are not text are `Unreadable`, with the place where the text stops.
Damaged front matter does not cost the page: it counts as empty and is reported with its line.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from quoth.domain import Notice
from quoth.errors import Unreadable
from quoth.sources.bounds import Bounds
from quoth.sources.loading import BeyondLimits, Damaged, defaults_used, load_toml, load_yaml

# --- walking a folder ------------------------------------------------------------------------------------------------


IGNORED = frozenset(("node_modules", "bower_components", "__pycache__", "venv", "site-packages"))


def existing_folder(path: Path) -> Path:
    """The folder, resolved. Raises `Unreadable` with the reason if it cannot be read."""
    try:
        resolved = path.expanduser().resolve(strict=True)
    except FileNotFoundError:
        raise Unreadable(f"{path} does not exist.", hint="Give the folder that holds the book.") from None
    except (OSError, RuntimeError) as error:
        raise Unreadable(f"{path} cannot be opened: {error}.", hint="Give the folder that holds the book.") from error
    if not resolved.is_dir():
        raise Unreadable(f"{path} is a file, not a folder.", hint="Give the folder that holds the book.")
    if not os.access(resolved, os.R_OK | os.X_OK):
        raise Unreadable(f"{path} cannot be read: permission denied.", hint="Check its permissions.")
    return resolved


def folders(root: Path) -> list[Path]:
    """The folders in `root` that may hold pages."""
    found = [path for path in root.iterdir() if path.is_dir() and not path.is_symlink()] if root.is_dir() else []
    return sorted(path for path in found if path.name not in IGNORED and not path.name.startswith("."))


def walk(root: Path, suffixes: frozenset[str]) -> Iterator[Path]:
    """Every file below `root` with one of the suffixes, folder by folder in the order of names."""
    # The folders from the root to here, each with its entries, its real path, and the real paths of it and all above.
    top = os.path.realpath(root)
    way = [(iter(_entries(root, Path(top))), top, frozenset((top,)))]
    while way:
        entries, here, above = way[-1]
        entry = next(entries, None)
        if entry is None:
            way.pop()
        elif entry.is_dir():
            real = os.path.realpath(entry.path) if entry.is_symlink() else f"{here}/{entry.name}"
            if entry.name not in IGNORED and real not in above:
                way.append((iter(_entries(Path(entry.path), Path(top))), real, above | {real}))
        elif os.path.splitext(entry.name)[1].lower() in suffixes and entry.is_file():  # noqa: PTH122 - for speed
            yield Path(entry.path)


def _entries(folder: Path, top: Path) -> list[os.DirEntry[str]]:
    """Sorted by name, without hidden entries and links that leave `top`."""
    try:
        found = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError as error:
        raise Unreadable(f"{folder} cannot be read: {error.strerror}.", hint="Check its permissions.") from error
    return [
        entry
        for entry in found
        if not entry.name.startswith(".")
        and not (entry.is_symlink() and not Path(os.path.realpath(entry.path)).is_relative_to(top))
    ]


# --- reading a file --------------------------------------------------------------------------------------------------


_OPENING = re.compile(r"\ufeff?---[ \t]*(?:\r\n?|\n)")
_CLOSING = re.compile(r"(?<=[\r\n])(?:---|\.\.\.)[ \t]*(?:\r\n?|\n|\Z)")
_TOML_OPENING = re.compile(r"\ufeff?\+\+\+[ \t]*(?:\r\n?|\n)")  # Hugo and Zola
_TOML_CLOSING = re.compile(r"(?<=[\r\n])\+\+\+[ \t]*(?:\r\n?|\n|\Z)")
_KEY = re.compile(r"^([A-Za-z_][\w-]*)[ \t]*[:=]", re.M)


@dataclass(frozen=True, slots=True)
class FrontMatter:
    values: Mapping[str, object] = field(default_factory=dict)
    lines: Mapping[str, int] = field(default_factory=dict)  # the line of each key in the file, from 1
    body_start: int = 0
    damage: str = ""
    damage_line: int | None = None

    def text(self, *keys: str) -> str:
        """The value of the first key that has one, as text."""
        for key in keys:
            value = self.values.get(key)
            if isinstance(value, (str, int, float)) and not isinstance(value, bool) and str(value).strip():
                return str(value).strip()
        return ""

    def is_true(self, key: str) -> bool:
        value = self.values.get(key)
        return value is True or (isinstance(value, str) and value.strip().lower() in ("true", "yes"))

    def notices(self, source_file: str) -> tuple[Notice, ...]:
        if not self.damage:
            return ()
        return (Notice("FRONT_MATTER_UNREADABLE", self.damage, source_file, self.damage_line),)


def decode(data: bytes, source_file: str) -> str:
    """The text of a file, unchanged."""
    nul = data.find(b"\0")
    if nul >= 0:
        wide = data.startswith((b"\xff\xfe", b"\xfe\xff"))
        raise Unreadable(
            f"{source_file} is {'UTF-16' if wide else 'a binary file'} (byte 0 at offset {nul}).",
            hint="Save it as UTF-8." if wide else "Move it out of the book or give it another extension.",
            details={"source_file": source_file, "line": data.count(b"\n", 0, nul) + 1, "offset": nul},
        )
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise Unreadable(
            f"{source_file} is not valid UTF-8: byte 0x{data[error.start]:02x} at offset {error.start}, line {line}.",
            hint="Save it as UTF-8.",
            details={"source_file": source_file, "line": line, "offset": error.start},
        ) from error


def front_matter_of(path: Path, bounds: Bounds) -> FrontMatter:
    """The front matter of another page; empty if it cannot be read, which is reported for that page."""
    try:
        return front_matter(decode(bounds.page_bytes(path, path.name), path.name))
    except Unreadable:
        return FrontMatter()


def front_matter(text: str) -> FrontMatter:
    """The values between the two `---` lines at the head of a file, or two `+++` lines for TOML; empty if there are no
    such lines. Raises `Unreadable` if they go beyond the limits."""
    toml = _TOML_OPENING.match(text)
    opening = toml or _OPENING.match(text)
    closing = (_TOML_CLOSING if toml else _CLOSING).search(text, opening.end()) if opening else None
    if opening is None or closing is None:
        return FrontMatter()
    source = text[opening.end() : closing.start()].replace("\r\n", "\n").replace("\r", "\n")
    lines = _lines_of_keys(source)
    try:
        loaded: object = load_toml(source) if toml else load_yaml(source)
    except BeyondLimits as error:
        raise Unreadable(
            f"The front matter cannot be read: {error}.",
            hint="Write it with fewer values and aliases.",
            details={"line": error.line + 1 if error.line else 1},
        ) from None
    except Damaged as error:
        damage = defaults_used("the front matter", error)
        line = error.line + 1 if error.line else 1
        return FrontMatter(lines=lines, body_start=closing.end(), damage=damage, damage_line=line)
    if loaded is None:
        return FrontMatter(body_start=closing.end())
    if not isinstance(loaded, dict):
        return FrontMatter()  # two horizontal rules with a sentence in between are not front matter
    return FrontMatter({str(key): value for key, value in loaded.items()}, lines, closing.end())


def _lines_of_keys(source: str) -> dict[str, int]:
    """The line of each key in the file; the opening `---` is line 1."""
    lines: dict[str, int] = {}
    line = at = 0
    for key in _KEY.finditer(source):
        line, at = line + source.count("\n", at, key.start()), key.start()
        lines[key[1]] = line + 2
    return lines

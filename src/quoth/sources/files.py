"""A folder → the files in it that may be pages, in a fixed order; bytes → text and the front matter at its head.

Hidden folders and those that hold dependencies or builds are left alone. A link is followed only where it stays in the
folder and does not lead back to a folder above it. Text comes out exactly as its author wrote it, byte order mark and
line endings included, so that offsets hold. Bytes that are not text are `Unreadable`, with the place where the text
stops. Damaged front matter costs no page: it is read as if it were empty, and reported with its line.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from quoth.domain import Notice
from quoth.errors import Unreadable

# --- walking a folder ------------------------------------------------------------------------------------------------


IGNORED = frozenset(("node_modules", "bower_components", "__pycache__", "venv", "site-packages"))


def existing_folder(path: Path) -> Path:
    """The folder itself, resolved, or an error that says why it cannot be read."""
    try:
        resolved = path.expanduser().resolve(strict=True)
    except FileNotFoundError:
        raise Unreadable(f"{path} does not exist.", hint="Give the folder that holds the book.") from None
    except (OSError, RuntimeError) as error:
        raise Unreadable(f"{path} cannot be opened: {error}.", hint="Give the folder that holds the book.") from error
    if not resolved.is_dir():
        raise Unreadable(f"{path} is a file, not a folder.", hint="Give the folder that holds the book.")
    if not os.access(resolved, os.R_OK | os.X_OK):
        raise Unreadable(f"{path} may not be read.", hint="Check its permissions.")
    return resolved


def folders(root: Path) -> list[Path]:
    """The folders in `root` that may hold pages."""
    found = [path for path in root.iterdir() if path.is_dir() and not path.is_symlink()]
    return sorted(path for path in found if path.name not in IGNORED and not path.name.startswith("."))


def walk(root: Path, suffixes: frozenset[str]) -> Iterator[Path]:
    """Every file below `root` with one of the suffixes, folder by folder in the order of names."""
    yield from _walk(root, root, suffixes, frozenset((os.path.realpath(root),)))


def _walk(folder: Path, root: Path, suffixes: frozenset[str], above: frozenset[str]) -> Iterator[Path]:
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError as error:
        raise Unreadable(f"{folder} may not be read: {error.strerror}.", hint="Check its permissions.") from error
    for entry in entries:
        if entry.name.startswith("."):
            continue
        path = folder / entry.name
        real = os.path.realpath(path)
        if entry.is_symlink() and not Path(real).is_relative_to(root):
            continue
        if entry.is_dir():
            if entry.name not in IGNORED and real not in above:
                yield from _walk(path, root, suffixes, above | {real})
        elif path.suffix.lower() in suffixes and entry.is_file():
            yield path


# --- reading a file --------------------------------------------------------------------------------------------------


_OPENING = re.compile(r"\ufeff?---[ \t]*(?:\r\n?|\n)")
_CLOSING = re.compile(r"(?<=[\r\n])(?:---|\.\.\.)[ \t]*(?:\r\n?|\n|\Z)")
_KEY = re.compile(r"^([A-Za-z_][\w-]*)[ \t]*:", re.M)
# The C loader is many times faster, and absent from some builds of PyYAML.
_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True, slots=True)
class FrontMatter:
    values: Mapping[str, object] = field(default_factory=dict)
    lines: Mapping[str, int] = field(default_factory=dict)  # the line of each key in the file, from 1
    body_start: int = 0
    damage: str = ""
    damage_line: int | None = None

    def text(self, *keys: str) -> str:
        """The first of the keys that holds something, as text."""
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


def read_bytes(path: Path, source_file: str) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise Unreadable(
            f"{source_file} cannot be read: {error.strerror or error}.",
            hint="Check that it exists and may be read.",
            details={"source_file": source_file},
        ) from error


def decode(data: bytes, source_file: str) -> str:
    """The text of a file, with everything in it."""
    nul = data.find(b"\0")
    if nul >= 0:
        wide = data.startswith((b"\xff\xfe", b"\xfe\xff"))
        raise Unreadable(
            f"{source_file} is {'UTF-16' if wide else 'a binary file'} (byte 0 at offset {nul}).",
            hint="Save it as UTF-8." if wide else "Move it out of the book or give it another ending.",
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


def front_matter(text: str) -> FrontMatter:
    """What stands between the two `---` lines at the head of a file; empty when there is none."""
    opening = _OPENING.match(text)
    if opening is None:
        return FrontMatter()
    closing = _CLOSING.search(text, opening.end())
    if closing is None:
        return FrontMatter()
    source = text[opening.end() : closing.start()].replace("\r\n", "\n").replace("\r", "\n")
    lines = {match[1]: source.count("\n", 0, match.start()) + 2 for match in _KEY.finditer(source)}
    try:
        loaded = yaml.load(source, Loader=_Loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        line = mark.line + 2 if mark is not None else 1
        damage = f"the front matter is not valid YAML ({error.problem or 'unknown problem'}); defaults are taken"
        return FrontMatter(lines=lines, body_start=closing.end(), damage=damage, damage_line=line)
    except (yaml.YAMLError, ValueError) as error:
        damage = f"the front matter is not valid YAML ({str(error).splitlines()[0]}); defaults are taken"
        return FrontMatter(lines=lines, body_start=closing.end(), damage=damage, damage_line=1)
    if loaded is None:
        return FrontMatter(body_start=closing.end())
    if not isinstance(loaded, dict):
        # Two rules with a sentence between them are no front matter.
        return FrontMatter()
    return FrontMatter({str(key): value for key, value in loaded.items()}, lines, closing.end())

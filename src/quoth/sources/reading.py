"""Bytes → text, and the front matter at its head.

Text comes out exactly as the author wrote it, byte order mark and line endings included, so that offsets hold. What
is not text is `Unreadable` with the place where it stopped being text. Damaged front matter is no reason to lose a
page: it is read as if it were empty, and the damage is told with its line.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from quoth.domain import Notice
from quoth.errors import Unreadable

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

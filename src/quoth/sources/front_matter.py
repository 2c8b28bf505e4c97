"""Front matter and path → module, chapter, lesson, hardware tier, proficiency level and layer, with their defaults.

A value that makes no sense is always reported with its line. A missing value is reported only if other pages of the
book have that field: the author of a book without hardware tiers does not want a notice on every page.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal, cast

from quoth.domain import Layer, Notice, ProficiencyLevel
from quoth.sources.files import FrontMatter

Field = Literal["hardware_tier", "proficiency_level", "layer"]
_FIELDS: dict[Field, tuple[str, ...]] = {
    "hardware_tier": ("hardware_tier", "hardware-tier", "tier"),
    "proficiency_level": ("proficiency_level", "proficiency", "proficiency-level", "cefr"),
    "layer": ("layer", "teaching_layer"),
}
_DEFAULTS: dict[Field, str] = {"hardware_tier": "1", "proficiency_level": "A2", "layer": "L1"}

_LEVEL = re.compile(r"\b([ABC][12])\b", re.I)
_LAYER = re.compile(r"^\s*(?:layer\s*)?L?\s*([1-4])(?!\d)", re.I)
_TIER = re.compile(r"^\s*(?:tier\s*)?([1-4])(?:\.0)?(?!\w)", re.I)
_NUMBERED = re.compile(
    r"^(?:(?:module|part|chapter|ch|week|unit|lesson)[-_ ]?)?(\d+)(?:\s*[-_.]+\s*(?=[^-_.\s\d])(.*))?$", re.I
)
_MODULE = re.compile(r"(?:module|part|unit|week)[-_ ]?\d", re.I)


@dataclass(frozen=True, slots=True)
class Place:
    """What is known of a page's place in the book."""

    module: str | None = None
    chapter: int | None = None
    lesson: int | None = None

    @property
    def complete(self) -> bool:
        return self.module is not None and self.chapter is not None and self.lesson is not None


@dataclass(frozen=True, slots=True)
class _Grading:
    hardware_tier: int
    proficiency_level: ProficiencyLevel
    layer: Layer
    notices: tuple[Notice, ...] = ()


def used_fields(front: FrontMatter) -> frozenset[Field]:
    return frozenset(field for field, keys in _FIELDS.items() if any(key in front.values for key in keys))


def place(
    front: FrontMatter, source_file: str, name: str, listed: Place | None = None
) -> tuple[Place, tuple[Notice, ...]]:
    """The place that the front matter gives; what it lacks comes from the table of contents, or else from the path."""
    by_path = place_by_path(name) if listed is None else listed
    notices: list[Notice] = []
    module = front.text("module") or by_path.module
    numbers: dict[str, int | None] = {"chapter": by_path.chapter, "lesson": by_path.lesson}
    for key in numbers:
        value = front.values.get(key)
        if value is None:
            continue
        match = re.fullmatch(r"\s*(?:chapter\s*|lesson\s*)?(\d{1,9})(?:\.0)?\s*", str(value), re.I)
        if match:
            numbers[key] = int(match[1])
        else:
            used = "it is ignored" if numbers[key] is None else f"{numbers[key]} from the path is used"
            message = f"{key} is {_shown(value)}, not a whole number from 0 up; {used}"
            notices.append(Notice("FRONT_MATTER_INVALID", message, source_file, front.lines.get(key, 1)))
    return Place(module, numbers["chapter"], numbers["lesson"]), tuple(notices)


def place_by_path(name: str) -> Place:
    """`01-ros2/02-topics/03-qos.md` is module ros2, chapter 2, lesson 3; an index page is lesson 0 of its chapter. A
    module without a name is called by its folder: `module-1`. A path of another shape gives nothing. If the folder
    above `docs` was given, `docs` is not a level."""
    *folders, file = name.removeprefix("docs/").split("/")
    stem = file.rsplit(".", 1)[0]
    if not 1 <= len(folders) <= 2:
        return Place()
    called = _module_name(folders[0])
    if not called:
        return Place()
    index = stem.lower() in ("index", "readme", folders[-1].lower())
    if len(folders) == 1:
        return Place(called, 0, 0) if index else Place()
    chapter = _NUMBERED.match(folders[1])
    if chapter is None:
        return Place()
    lesson = _NUMBERED.match(stem)
    if lesson is None and not index:
        return Place()
    return Place(called, int(chapter[1]), 0 if lesson is None or index else int(lesson[1]))


def _module_name(folder: str) -> str:
    numbered = _NUMBERED.match(folder)
    if numbered is None:
        return ""
    return numbered[2] or (folder if _MODULE.match(folder) else "")


def grading(front: FrontMatter, source_file: str, book_uses: Collection[Field], *, default_tier: int = 0) -> _Grading:
    """Tier, level and layer of a page. `book_uses` names the fields that at least one page of the book has;
    `default_tier` is the book's tier for pages that name none, or 0."""
    notices: list[Notice] = []
    defaults = _DEFAULTS | {"hardware_tier": str(default_tier)} if default_tier else _DEFAULTS
    values: dict[Field, str] = dict(defaults)
    missing: list[Field] = []
    for name, keys in _FIELDS.items():
        key = next((key for key in keys if front.values.get(key) is not None), None)
        if key is None:
            said = name == "hardware_tier" and default_tier
            missing += [name] if name in book_uses and not said else []
            continue
        value = _grade(name, front.values[key])
        if value is None:
            message = f"{key} is {_shown(front.values[key])}, not {_WANTED[name]}; {defaults[name]} is used"
            notices.append(Notice("FRONT_MATTER_INVALID", message, source_file, front.lines.get(key, 1)))
        else:
            values[name] = value
    if missing and not front.damage:
        used = ", ".join(f"{name} {defaults[name]}" for name in missing)
        message = f"the front matter lacks fields that other pages have; used instead: {used}"
        notices.append(Notice("FRONT_MATTER_DEFAULT", message, source_file, 1))
    return _Grading(
        int(values["hardware_tier"]),
        cast(ProficiencyLevel, values["proficiency_level"]),
        cast(Layer, values["layer"]),
        tuple(notices),
    )


_WANTED: dict[Field, str] = {
    "hardware_tier": "1, 2, 3 or 4",
    "proficiency_level": "A1, A2, B1, B2, C1 or C2",
    "layer": "L1, L2, L3 or L4",
}


def _shown(value: object) -> str:
    """As it would be written, cut short."""
    written = repr(value)
    return written if len(written) <= 80 else f"{written[:80]}…"


def _grade(name: Field, value: object) -> str | None:
    if isinstance(value, bool):
        return None
    text = str(value)
    if name == "hardware_tier":
        tier = _TIER.match(text)
        return tier[1] if tier else None
    if name == "layer":
        layer = _LAYER.match(text)
        return f"L{layer[1]}" if layer else None
    levels = [level.upper() for level in _LEVEL.findall(text)]
    return min(levels) if levels else None

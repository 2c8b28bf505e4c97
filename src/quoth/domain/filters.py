"""Which part of a book a question is about, and what that means for a chunk.

Filters are enforced inside the index query. Their meaning is a list of plain conditions on a chunk's fields; each index
says them in its own words, and `passes` applies them to a chunk at hand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from quoth.domain.books import Chunk, Labels, Layer, ProficiencyLevel


@dataclass(frozen=True, slots=True)
class Filters:
    """All of them hold together. Nothing that a model says can widen them."""

    source_url_prefix: str | None = None
    section: str | None = None
    module: str | None = None
    chapter_min: int | None = None
    chapter_max: int | None = None
    lesson: int | None = None
    hardware_tier: int | None = None  # this tier or lower
    proficiency_levels: tuple[ProficiencyLevel, ...] = ()  # any of; empty means all
    layer: Layer | None = None
    parent_doc_id: str | None = None

    def narrowed_by(self, other: Filters) -> Filters | None:
        """The filters that pass both, never more; None when nothing can. Two different headings count as nothing: one
        may be above the other, but a filter names only one."""
        narrowed: dict[str, Any] = {}
        for name in Filters.__slots__:
            one, two = getattr(self, name), getattr(other, name)
            if one in (None, ()) or two in (None, ()):
                narrowed[name] = two if one in (None, ()) else one
            elif (both := _NARROWER.get(name, _same)(one, two)) is None:
                return None
            else:
                narrowed[name] = both
        return Filters(**narrowed)


def _same(one: Any, two: Any) -> Any:
    return one if one == two else None


def _longer_prefix(one: str, two: str) -> str | None:
    short, long = sorted((one, two), key=len)
    return long if long.startswith(short) else None


def _shared(one: tuple[ProficiencyLevel, ...], two: tuple[ProficiencyLevel, ...]) -> Any:
    return tuple(level for level in one if level in two) or None


_NARROWER: Mapping[str, Callable[[Any, Any], Any]] = {
    "source_url_prefix": _longer_prefix,
    "chapter_min": max,
    "chapter_max": min,
    "hardware_tier": min,
    "proficiency_levels": _shared,
}


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition on one field of a chunk: equal, one of, beginning with, or between (both ends included)."""

    field: str
    equals: str | int | None = None
    any_of: tuple[str, ...] = ()
    prefix: str | None = None
    least: int | None = None
    most: int | None = None

    def holds(self, value: Any) -> bool:
        """A list meets it if one of its values does."""
        return any(map(self._holds, value)) if isinstance(value, list | tuple) else self._holds(value)

    def _holds(self, value: Any) -> bool:
        if value is None:
            return False
        if self.prefix is not None:
            return str(value).startswith(self.prefix)
        if self.any_of or self.equals is not None:
            return value in (self.any_of or (self.equals,))
        return (self.least is None or value >= self.least) and (self.most is None or value <= self.most)


def conditions(filters: Filters) -> Iterator[Condition]:
    """No conditions for filters that let everything pass."""
    if filters.source_url_prefix:
        yield Condition("url", prefix=filters.source_url_prefix)
    if filters.section is not None:
        yield Condition("heading_path", equals=filters.section)
    if filters.module is not None:
        yield Condition("module", equals=filters.module)
    if filters.chapter_min is not None or filters.chapter_max is not None:
        yield Condition("chapter", least=filters.chapter_min, most=filters.chapter_max)
    if filters.lesson is not None:
        yield Condition("lesson", equals=filters.lesson)
    if filters.hardware_tier is not None:
        yield Condition("hardware_tier", most=filters.hardware_tier)
    if filters.proficiency_levels:
        yield Condition("proficiency_level", any_of=filters.proficiency_levels)
    if filters.layer is not None:
        yield Condition("layer", equals=filters.layer)
    if filters.parent_doc_id is not None:
        yield Condition("parent_doc_id", equals=filters.parent_doc_id)


def passes(chunk: Chunk, filters: Filters) -> bool:
    """What the index does with filters, for a chunk at hand."""
    return all(
        condition.holds(getattr(chunk.labels if condition.field in Labels.__slots__ else chunk, condition.field))
        for condition in conditions(filters)
    )

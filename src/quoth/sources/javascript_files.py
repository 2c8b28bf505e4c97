"""A configuration in JavaScript with the files that it imports, read from disk for `quoth.sources.javascript`.

Only files inside the project are opened, and only a few.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from quoth.sources.bounds import Bounds
from quoth.sources.javascript import Module
from quoth.sources.javascript_values import first_object
from quoth.sources.loading import Damaged, defaults_used

ENDINGS = ("ts", "mts", "js", "mjs", "cts", "cjs")
_MOST_MODULES = 50


class Modules:
    """The configuration and what it imports from files beside it."""

    def __init__(self, bounds: Bounds) -> None:
        self._bounds = bounds
        self._known: dict[Path, Module | None] = {}

    def open(self, path: Path) -> Module:
        module = Module(self._bounds.config_text(path), lambda name: self._beside(path, name))
        self._known[path] = module
        return module

    def _beside(self, path: Path, name: str) -> Module | None:
        if not name.startswith("."):
            return None
        bare = path.parent / name
        places = [bare, *(Path(f"{bare}.{ending}") for ending in ENDINGS)]
        places += [bare / f"index.{ending}" for ending in ENDINGS] + [bare.with_suffix(".ts")]
        place = next((place for place in places if self._bounds.is_file(place)), None)
        if place is None or len(self._known) > _MOST_MODULES:
            return None
        if place not in self._known:
            self._known[place] = None
            try:
                self.open(place)
            except (OSError, Damaged):
                return None
        return self._known[place]


def exported(config: Path, bounds: Bounds) -> tuple[Mapping[str, object], str]:
    """The object that a configuration exports, empty if it cannot be read, and what is wrong with it."""
    try:
        values = first_object(Modules(bounds).open(config).value("default"))
    except (OSError, Damaged) as error:
        return {}, defaults_used(config.name, error)
    return values, "" if values else f"{config.name} exports nothing that can be read; defaults are used"

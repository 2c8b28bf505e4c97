"""The glossary and the translated words of a Hugo site, read when a shortcode asks for one of them.

A term is a file in a `glossary` folder of the pages; its front matter gives id and title. Translations are in `i18n`.
Files that cannot be read are ignored.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from quoth.errors import Unreadable
from quoth.sources.bounds import Bounds
from quoth.sources.files import decode, front_matter, walk
from quoth.sources.loading import Damaged, load_toml, load_yaml

# The headings that most pages of the Kubernetes books have.
_USUAL = {
    "objectives_heading": "Objectives",
    "prerequisites_heading": "Before you begin",
    "whatsnext_heading": "What's next",
    "cleanup_heading": "Cleaning up",
    "synopsis_heading": "Synopsis",
    "options_heading": "Options",
    "seealso_heading": "See Also",
    "examples_heading": "Examples",
    "environment_heading": "Environment variables",
}
_PLACES = ("i18n/{0}.toml", "i18n/{0}.yaml", "i18n/{0}.yml", "data/i18n/{0}/{0}.toml", "data/i18n/{0}/{0}.yaml")


@dataclass(slots=True)
class Glossary:
    contents: Sequence[Path]
    bounds: Bounds
    _terms: dict[str, tuple[Path, str]] | None = None  # id → file and title

    def file(self, term: str) -> Path | None:
        found = self._known().get(term)
        return found[0] if found else None

    def title(self, term: str) -> str:
        found = self._known().get(term)
        return found[1] if found else ""

    def _known(self) -> dict[str, tuple[Path, str]]:
        if self._terms is None:
            self._terms = {}
            for content in filter(self.bounds.holds, self.contents):
                for path in walk(content, frozenset((".md",))) if content.is_dir() else ():
                    if path.parent.name == "glossary" and not path.name.startswith(("index.", "_index.")):
                        self._add(path, self._terms)
        return self._terms

    def _add(self, path: Path, terms: dict[str, tuple[Path, str]]) -> None:
        try:
            front = front_matter(decode(self.bounds.page_bytes(path, path.name), path.name))
        except Unreadable:
            return
        terms.setdefault(front.text("id") or path.stem, (path, front.text("title")))


@dataclass(slots=True)
class Translations:
    root: Path
    bounds: Bounds
    _words: dict[str, dict[str, str]] = field(default_factory=dict)  # by language

    def of(self, key: str, language: str) -> str:
        """The words in the language of the page, or the usual ones if there is no translation."""
        if language not in self._words:
            found = self._words[language] = {}
            for place in _PLACES:
                found.update(self._read(self.root / place.format(language)))
        return self._words[language].get(key) or _USUAL.get(key, "")

    def _read(self, path: Path) -> dict[str, str]:
        if not self.bounds.is_file(path):
            return {}
        try:
            text = self.bounds.config_text(path)
            loaded = load_toml(text) if path.suffix == ".toml" else load_yaml(text)
        except (OSError, Damaged):
            return {}
        items = loaded.items() if isinstance(loaded, dict) else ()
        said = ((str(key), value.get("other") if isinstance(value, dict) else value) for key, value in items)
        return {key: value for key, value in said if isinstance(value, str)}

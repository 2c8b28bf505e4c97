"""An Astro Starlight site: `astro.config`, the pages in `src/content/docs`, and the addresses that Astro gives.

The path of a page is made of slugs, as Astro makes them, unless its front matter has a `slug`. A folder named after a
locale holds its translation. The sidebar gives the sections above a page. The configuration is JavaScript: it is read,
never run.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from urllib.parse import quote

from quoth.domain import AnchorRule, Markup, Notice
from quoth.sources.bounds import Bounds
from quoth.sources.files import FrontMatter, walk
from quoth.sources.folder import Route
from quoth.sources.javascript_files import ENDINGS, exported
from quoth.sources.javascript_values import Call, first_object, is_known
from quoth.sources.plain import label_of
from quoth.text.limits import MAX_DEPTH
from quoth.text.written_ids import github_slug

_SUFFIXES = frozenset((".md", ".mdx", ".markdown", ".mdown", ".mkdn", ".mkd", ".mdwn"))
_CONFIGS = tuple(f"astro.config.{ending}" for ending in ENDINGS)


@dataclass(frozen=True, slots=True)
class _Starlight:
    root: Path
    bounds: Bounds
    config: Path
    said: str = "src/content/docs"
    docs: Path = Path()
    title: str = ""
    site: str = ""
    base: str = ""
    slash: bool = True
    file: bool = False  # addresses of pages have an extension
    languages: Mapping[str, str] = field(default_factory=dict)  # by the folder of a locale; "" is the rest
    sections: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # of the sidebar, by the slug of a page
    folders: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # those that fill a section automatically
    unread: tuple[str, ...] = ()
    damage: str = ""


def find_starlight(path: Path, bounds: Bounds) -> _Starlight | None:
    """The site in this folder, or in one above it whose pages include it. An Astro site without Starlight's folder of
    pages is another kind of site."""
    for folder in bounds.upwards(path):
        own = bounds.around(folder)
        config = own.first_file(folder, _CONFIGS)
        if config is not None:
            site = _read(folder, config, own)
            if not (folder / site.said).is_dir():
                return None
            docs = own.published(folder, site.said, path)
            return replace(site, docs=docs) if docs is not None else None
    return None


def _read(root: Path, config: Path, bounds: Bounds) -> _Starlight:
    values, damage = exported(config, bounds)
    integrations = values.get("integrations")
    calls = [item for item in integrations if isinstance(item, Call)] if isinstance(integrations, list) else []
    theme = next((first_object(call) for call in calls if "starlight" in call.name.lower()), {})
    build = values.get("build")
    sections: dict[str, tuple[str, ...]] = {}
    folders: dict[str, tuple[str, ...]] = {}
    _read_sidebar(theme.get("sidebar"), (), sections, folders)
    source = _text(values, "srcDir").removeprefix("./").rstrip("/") or "src"
    return _Starlight(
        root=root,
        bounds=bounds,
        config=config,
        said=f"{source}/content/docs",
        title=_title(theme),
        site=_text(values, "site"),
        base=_text(values, "base").strip("/"),
        slash=values.get("trailingSlash") != "never",
        file=isinstance(build, dict) and build.get("format") == "file",
        languages=_languages(theme),
        sections=sections,
        folders=folders,
        unread=tuple(name for name in ("site", "base", "srcDir") if not is_known(values.get(name))),
        damage=damage,
    )


def _title(theme: Mapping[str, object]) -> str:
    """The title may differ between languages."""
    said = theme.get("title")
    if isinstance(said, dict):
        return next((title for title in said.values() if isinstance(title, str)), "")
    return said if isinstance(said, str) else ""


def _languages(theme: Mapping[str, object]) -> dict[str, str]:
    found = {"": "en"}
    locales = theme.get("locales")
    for name, locale in locales.items() if isinstance(locales, dict) else ():
        folder = "" if name == "root" else str(name)
        found[folder] = (_text(locale, "lang") if isinstance(locale, dict) else "") or folder or "en"
    return found


def _read_sidebar(
    items: object, trail: tuple[str, ...], sections: dict[str, tuple[str, ...]], folders: dict[str, tuple[str, ...]]
) -> None:
    for item in items if isinstance(items, list) and len(trail) < MAX_DEPTH else ():
        if isinstance(item, str):
            sections.setdefault(item.strip("/"), trail)
        elif isinstance(item, dict):
            slug = _text(item, "slug") or _text(item, "link")
            if slug and "://" not in slug:
                sections.setdefault(slug.strip("/"), trail)
            label = _text(item, "label")
            below = (*trail, label) if label else trail
            made = item.get("autogenerate")
            if isinstance(made, dict) and _text(made, "directory"):
                folders.setdefault(_text(made, "directory").strip("/"), below)
            _read_sidebar(item.get("items"), below, sections, folders)


class StarlightRules:
    toolchain = "starlight"
    anchors: AnchorRule = "astro"

    def __init__(self, site: _Starlight, read: Path, base_url: str) -> None:
        self._site = site
        self._read = read
        self._base = base_url.rstrip("/") or self.published.rstrip("/")

    @property
    def published(self) -> str:
        host = self._site.site.rstrip("/")
        return f"{host}/{self._site.base}" if self._site.base else host

    def paths(self) -> Iterable[Path]:
        return walk(self._read, _SUFFIXES)

    def skips(self, name: str, front: FrontMatter) -> str:
        if name.rsplit("/", 1)[-1].startswith("_"):
            return "a partial, not a page"
        if name in ("404.md", "404.mdx"):
            return "the page for addresses that do not exist"
        return "draft: true" if front.is_true("draft") else ""

    def route(self, name: str, front: FrontMatter) -> Route:
        path = PurePosixPath(name)
        slug = front.text("slug").strip("/")
        if not slug:
            slug = "/".join(github_slug(part) for part in path.with_suffix("").parts)
            slug = "" if slug == "index" else slug.removesuffix("/index")
        locale = slug.split("/", 1)[0]
        locale = locale if locale and locale in self._site.languages else ""
        own = slug[len(locale) :].lstrip("/") if locale else slug
        return Route(
            self._url(slug), self._trail(own), label_of(path.stem), language=self._site.languages.get(locale) or None
        )

    def _url(self, slug: str) -> str:
        if self._site.file:
            return f"{self._base}/{quote(slug or 'index')}.html"
        if not slug:
            return f"{self._base}/"
        return f"{self._base}/{quote(slug)}{'/' if self._site.slash else ''}"

    def _trail(self, slug: str) -> tuple[str, ...]:
        if slug in self._site.sections:
            return self._site.sections[slug]
        folders = slug.split("/")[:-1]
        for depth in range(len(folders), 0, -1):
            section = self._site.folders.get("/".join(folders[:depth]))
            if section is not None:
                return (*section, *(label_of(folder) for folder in folders[depth:]))
        return tuple(label_of(folder) for folder in folders)

    def markup(self, name: str) -> Markup:
        return "mdx" if name.lower().endswith(".mdx") else "markdown"

    def contents(self) -> Iterator[Notice]:
        if self._site.damage:
            yield Notice("CONFIG_UNREADABLE", self._site.damage, str(self._site.config), 1)
        for name in self._site.unread:
            message = (
                f"{name} is computed by a program, which is not run; its default is used."
                " Give the address of the book with --base-url"
            )
            yield Notice("CONFIG_UNREADABLE", message, str(self._site.config), 1)


def _text(values: Mapping[str, object], key: str) -> str:
    found = values.get(key)
    return found.strip() if isinstance(found, str) else ""

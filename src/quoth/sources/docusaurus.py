"""A Docusaurus site: which of its files are published, where, and under which labels.

The rules are those of @docusaurus/plugin-content-docs: number prefixes are dropped, `id:` and `slug:` win, an index
page gets the address of its folder, `_partials` are not pages unless the site has its own `exclude`. `--base-url`
replaces the site's URL: the route of the docs is appended unless the URL already ends with it. Versions
(`versioned_docs`), translations (`i18n`) and other docs are read if their folder is given; if there are versions,
`docs` itself is the next one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath
from posixpath import normpath
from urllib.parse import quote

from quoth.domain import AnchorRule, Markup, Notice
from quoth.sources.bounds import Bounds
from quoth.sources.docusaurus_config import Site, asked_for, read_config
from quoth.sources.files import FrontMatter, walk
from quoth.sources.folder import Route
from quoth.sources.globs import Glob, alternatives, pieces_of
from quoth.sources.loading import Damaged, load_json, load_yaml

_SUFFIXES = frozenset((".md", ".mdx"))
_CONFIGS = tuple(f"docusaurus.config.{ending}" for ending in ("ts", "js", "mjs", "cjs", "mts", "cts"))
_SIDEBARS = tuple(f"sidebars.{ending}" for ending in ("js", "ts", "json", "mjs", "cjs"))
_CATEGORIES = ("_category_.json", "_category_.yml", "_category_.yaml")
_EXCLUDED = re.compile(r"(?:^|/)_|\.test\.|(?:^|/)__tests__(?:/|$)")
_PREFIX = re.compile(r"^(\d+)\s*[-_.]+\s*([^-_.\s].*)$")
_DATE_OR_VERSION = re.compile(r"^\d+[-_.]\d+")


def find_site(path: Path, bounds: Bounds) -> Site | None:
    """The site that publishes this folder: in the folder itself, or in one above it whose docs include it."""
    for folder in bounds.upwards(path):
        own = bounds.around(folder)
        config = own.first_file(folder, _CONFIGS)
        named = folder in (path, path.parent) and own.first_file(folder, _SIDEBARS) is not None
        if config is None and not named:
            continue
        site = asked_for(read_config(folder, config, own), path)
        pages = own.published(folder, site.folder, path)
        if pages is not None:
            return replace(site, pages=pages)
        if config is not None:
            return None
    return None


def has_categories(path: Path, bounds: Bounds) -> bool:
    if not bounds.holds(path):
        return False
    return any(bounds.is_file(path / name) or any(path.glob(f"*/{name}")) for name in _CATEGORIES)


def without_prefix(name: str) -> str:
    """`01-intro` is `intro`; dates and versions such as `2021-11-foo` and `7.0-foo` stay whole."""
    match = None if _DATE_OR_VERSION.match(name) else _PREFIX.match(name)
    return match[2] if match else name


class DocusaurusRules:
    toolchain = "docusaurus"
    anchors: AnchorRule = "docusaurus"

    def __init__(self, docs: Path, read: Path, site: Site | None, bounds: Bounds, base_url: str) -> None:
        self._docs = docs
        self._bounds = bounds
        self._read = read
        self._site = site
        self._base = _docs_url(site, base_url)
        self._included = _globs(site.docs.include) if site else []
        self._excluded = _globs(site.docs.exclude) if site and site.docs.exclude is not None else None
        self._categories: dict[str, dict[str, object]] = {}

    def paths(self) -> Iterable[Path]:
        self._categories.clear()
        return walk(self._read, _SUFFIXES)

    def skips(self, name: str, front: FrontMatter) -> str:
        if self._excluded is None and _EXCLUDED.search(name):
            return "a partial, not a page"
        if any(glob.matches(name) for glob in self._excluded or ()):
            return "excluded by the configuration of the site"
        if self._included and not any(glob.matches(name) for glob in self._included):
            return "not included by the configuration of the site"
        if front.is_true("draft"):
            return "draft: true"
        return "unlisted: true" if front.is_true("unlisted") else ""

    def route(self, name: str, front: FrontMatter) -> Route:
        path, site = PurePosixPath(name), self._site
        folders = path.parts[:-1]
        strip = front.values.get("parse_number_prefixes") is not False and (not site or site.docs.number_prefixes)
        own = front.text("id") or (without_prefix(path.stem) if strip else path.stem)
        slug = self._slug(path, folders, own, front.text("slug"), strip)
        trail = tuple(self._label(folders[: depth + 1]) for depth in range(len(folders)))
        language = site.language if site else None
        version = site.version if site and site.version != "current" else None
        name = front.text("sidebar_label") or own
        return Route(self._published(slug), trail, name, language=language, version=version)

    def markup(self, name: str) -> Markup:
        wanted = self._site.markdown_format if self._site else "mdx"
        if wanted == "detect":
            return "mdx" if name.lower().endswith(".mdx") else "markdown"
        return "markdown" if wanted == "md" else "mdx"

    def contents(self) -> Iterator[Notice]:
        site = self._site
        if site is None:
            return
        yield from site.notices
        if site.version == "current" and site.docs.last != "current":
            folder = f"{site.docs.prefix}versioned_docs/version-{site.docs.last}"
            message = (
                f"{site.folder} is the next version; readers see {site.docs.last} first."
                f" To ingest that version, give the folder {folder}"
            )
            yield Notice("NOT_THE_LAST_VERSION", message, str(site.root / f"{site.docs.prefix}versions.json"), 1)
        for docs in site.others:
            message = f"the site has more docs, {docs.id!r} in {docs.path}; to ingest them as a book, give that folder"
            yield Notice("FURTHER_DOCS", message, str(site.root / docs.path))

    def _slug(self, path: PurePosixPath, folders: Sequence[str], name: str, slug: str, strip: bool) -> str:
        if slug.startswith("/"):
            return slug
        folder = "/" + "".join(f"{without_prefix(part) if strip else part}/" for part in folders)
        if not slug:
            stem = path.stem.lower()
            if stem in ("index", "readme") or (folders and stem == folders[-1].lower()):
                return folder
        end = "/" if slug.endswith("/") else ""
        return normpath(f"{folder}{slug or name}") + end

    def _published(self, slug: str) -> str:
        url = self._base + quote(slug, safe="/@:!$&'()*+,;=~%-._")
        slash = self._site.trailing_slash if self._site else None
        home = slug == "/" and self._site is not None and self._site.parts() in ((), (self._site.locale,))
        if slash is not None and not home:  # the site's home page ends with a slash in any case
            url = url.rstrip("/") + ("/" if slash else "")
        return url or "/"

    def _label(self, folders: Sequence[str]) -> str:
        label = self._category("/".join(folders)).get("label")
        return label.strip() if isinstance(label, str) and label.strip() else without_prefix(folders[-1])

    def _category(self, folder: str) -> dict[str, object]:
        if folder not in self._categories:
            self._categories[folder] = _read_category(self._docs / folder, self._bounds)
        return self._categories[folder]


def _globs(patterns: Iterable[str]) -> list[Glob]:
    return [Glob(pieces_of(one, folders=True)) for pattern in patterns for one in alternatives(pattern)]


def _docs_url(site: Site | None, base_url: str) -> str:
    """The URL of the root of the docs, without a trailing slash."""
    if site is None:
        return base_url.rstrip("/")
    base = base_url.rstrip("/") or f"{site.url.rstrip('/')}/{site.base_path.strip('/')}".rstrip("/")
    parts = site.parts(given=bool(base_url))
    had = next((n for n in range(len(parts), 0, -1) if base_url and base.endswith(f"/{'/'.join(parts[:n])}")), 0)
    return "/".join((base, *parts[had:]))


def _read_category(folder: Path, bounds: Bounds) -> dict[str, object]:
    """Empty if it cannot be read: then the folder's name serves as its label."""
    for name in _CATEGORIES:
        try:
            text = bounds.config_text(folder / name)
            found = load_json(text) if name.endswith("json") else load_yaml(text)
        except OSError:
            continue
        except Damaged:
            return {}
        return found if isinstance(found, dict) else {}
    return {}

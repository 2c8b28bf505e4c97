"""A Docusaurus site: which of its files are published, where, and under which labels.

The rules are those of @docusaurus/plugin-content-docs: number prefixes go, `id:` and `slug:` win, index pages stand
for their folder, `_partials` are no pages. The configuration is JavaScript; we look in its text for the few values we
need and never run it. `--base-url` replaces the site's URL: the docs' route is appended unless it ends with it already.
Versions (`versioned_docs`) and translations (`i18n`) are read where their folder is given; `docs` itself is the version
that comes next, where there are others.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from posixpath import normpath
from urllib.parse import quote

import yaml

from quoth.domain import AnchorRule, Markup, Notice
from quoth.sources.files import FrontMatter, walk
from quoth.sources.folder import Route

SUFFIXES = frozenset((".md", ".mdx"))
CONFIGS = tuple(f"docusaurus.config.{ending}" for ending in ("ts", "js", "mjs", "cjs", "mts", "cts"))
SIDEBARS = tuple(f"sidebars.{ending}" for ending in ("js", "ts", "json", "mjs", "cjs"))
_CATEGORIES = ("_category_.json", "_category_.yml", "_category_.yaml")
_EXCLUDED = re.compile(r"(?:^|/)_|\.test\.|(?:^|/)__tests__(?:/|$)")
_PREFIX = re.compile(r"^(\d+)\s*[-_.]+\s*([^-_.\s].*)$")
_DATE_OR_VERSION = re.compile(r"^\d+[-_.]\d+")
_COMMENTS = re.compile(r"/\*.*?\*/|(?<![:\w'\"/])//[^\n]*", re.S)


@dataclass(frozen=True, slots=True)
class Site:
    """What the configuration says, as far as it can be read without running it."""

    root: Path
    title: str = ""
    url: str = ""
    base_path: str = "/"
    route: str = "docs"
    docs: str = "docs"
    markdown_format: str = "mdx"
    trailing_slash: bool | None = None
    language: str | None = None
    versions: Mapping[str, str] = field(default_factory=lambda: {"current": ""})  # the path of each below the route
    last: str = "current"
    version: str = "current"  # which of them is read
    locale: str = ""  # of a translation: the first part of its path

    @property
    def parts(self) -> tuple[str, ...]:
        """What stands between the site's URL and the address of a page."""
        path = self.versions.get(self.version, self.version)
        return tuple(part.strip("/") for part in (self.locale, self.route, path) if part.strip("/"))


def find_site(path: Path) -> Site | None:
    """The site that publishes this folder: the folder itself, or one above of whose docs it is part."""
    for folder in (path, *path.parents):
        config = next((folder / name for name in CONFIGS if (folder / name).is_file()), None)
        named = any((folder / name).is_file() for name in SIDEBARS) and folder in (path, path.parent)
        if config is None and not named:
            continue
        site = _asked_for(read_config(folder, config.read_text("utf-8", "replace") if config else ""), path)
        docs = (folder / site.docs).resolve()
        if docs.is_dir() and (path == folder or path.is_relative_to(docs)):
            return site
        if config is not None:
            return None
    return None


def _asked_for(site: Site, path: Path) -> Site:
    """The version or translation that a folder holds; `docs` where it holds neither."""
    match path.relative_to(site.root).parts:
        case ("versioned_docs", name, *_):
            return replace(site, docs=f"versioned_docs/{name}", version=name.removeprefix("version-"))
        case ("i18n", locale, "docusaurus-plugin-content-docs" as plugin, name, *_):
            docs, version = f"i18n/{locale}/{plugin}/{name}", name.removeprefix("version-")
            prefix = "" if locale == site.language else locale
            return replace(site, docs=docs, version=version, locale=prefix, language=locale)
    if site.version not in site.versions:  # `docs` is not published
        return replace(site, docs=f"versioned_docs/version-{site.last}", version=site.last)
    return site


def has_categories(path: Path) -> bool:
    return any((path / name).is_file() or any(path.glob(f"*/{name}")) for name in _CATEGORIES)


def read_config(root: Path, text: str) -> Site:
    """Tolerant: a value that is computed rather than written is taken as not given."""
    text = _COMMENTS.sub("", text)
    docs = _object_after(text, r"\bdocs\s*:\s*\{") or _object_after(text, r"plugin-content-docs['\"]\s*,\s*\{") or ""
    slash = re.search(r"\btrailingSlash\s*:\s*(true|false)\b", text)
    said = _object_after(docs, r"(?<!\w)versions['\"]?\s*:\s*\{") or ""
    docs = docs.replace(said, "") if said else docs  # a path in it is not that of the docs
    last, versions = _versions(root, docs, said)
    return Site(
        root=root,
        title=_string(text, "title"),
        url=_string(text, "url"),
        base_path=_string(text, "baseUrl") or "/",
        route=_string(docs, "routeBasePath") or "docs",
        docs=_string(docs, "path") or "docs",
        markdown_format=_string(_object_after(text, r"\bmarkdown\s*:\s*\{") or "", "format") or "mdx",
        trailing_slash=None if slash is None else slash[1] == "true",
        language=_string(text, "defaultLocale") or None,
        versions=versions,
        last=last,
    )


def _versions(root: Path, docs: str, said: str) -> tuple[str, dict[str, str]]:
    """The last version, and the path of every one: none for the last, `next` for what comes after it."""
    try:
        listed = json.loads((root / "versions.json").read_text("utf-8", "replace"))
    except (OSError, ValueError):
        listed = []
    names = [name for name in listed if isinstance(name, str)] if isinstance(listed, list) else []
    if not names or re.search(r"\bdisableVersioning\s*:\s*true\b", docs):
        return "current", {"current": ""}
    if not re.search(r"\bincludeCurrentVersion\s*:\s*false\b", docs):
        names.append("current")
    last = _string(docs, "lastVersion") or names[0]
    paths = {name: "" if name == last else "next" if name == "current" else name for name in names}
    for name in names:
        own = _object_after(said, rf"(?<![\w.])['\"]?{re.escape(name)}['\"]?\s*:\s*\{{")
        if own and re.search(r"\bpath['\"]?\s*:\s*['\"]", own):
            paths[name] = _string(own, "path")
    return last, paths


def _string(text: str, key: str) -> str:
    match = re.search(rf"(?<![\w.'\"]){key}['\"]?\s*:\s*(?:'([^'\n]*)'|\"([^\"\n]*)\"|`([^`$\n]*)`)", text)
    return next((group for group in match.groups() if group is not None), "") if match else ""


def _object_after(text: str, pattern: str) -> str | None:
    """The inside of the object literal that a pattern ends with."""
    match = re.search(pattern, text)
    if match is None:
        return None
    depth = 1
    for index in range(match.end(), len(text)):
        depth += (text[index] in "{[") - (text[index] in "}]")
        if depth == 0:
            return text[match.end() : index]
    return text[match.end() :]


def without_prefix(name: str) -> str:
    """`01-intro` is `intro`; dates and versions such as `2021-11-foo` and `7.0-foo` stay whole."""
    match = None if _DATE_OR_VERSION.match(name) else _PREFIX.match(name)
    return match[2] if match else name


class DocusaurusRules:
    toolchain = "docusaurus"
    anchors: AnchorRule = "docusaurus"

    def __init__(self, docs: Path, read: Path, site: Site | None, base_url: str) -> None:
        self._docs = docs
        self._read = read
        self._site = site
        self._base = docs_url(site, base_url)
        self._categories: dict[str, dict[str, object]] = {}

    def paths(self) -> Iterable[Path]:
        self._categories.clear()
        return walk(self._read, SUFFIXES)

    def skips(self, name: str, front: FrontMatter) -> str:
        if _EXCLUDED.search(name):
            return "a partial, not a page"
        if front.is_true("draft"):
            return "draft: true"
        return "unlisted: true" if front.is_true("unlisted") else ""

    def route(self, name: str, front: FrontMatter) -> Route:
        path = PurePosixPath(name)
        folders = path.parts[:-1]
        strip = front.values.get("parse_number_prefixes") is not False
        own = front.text("id") or (without_prefix(path.stem) if strip else path.stem)
        slug = self._slug(path, folders, own, front.text("slug"), strip)
        trail = tuple(self._label(folders[: depth + 1]) for depth in range(len(folders)))
        language = self._site.language if self._site else None
        version = self._site.version if self._site and self._site.version != "current" else None
        name = front.text("sidebar_label") or own
        return Route(self._published(slug), trail, name, language=language, version=version)

    def markup(self, name: str) -> Markup:
        wanted = self._site.markdown_format if self._site else "mdx"
        if wanted == "detect":
            return "mdx" if name.lower().endswith(".mdx") else "markdown"
        return "markdown" if wanted == "md" else "mdx"

    def depends_on(self, path: Path, text: str) -> Sequence[Path]:
        return ()

    def contents(self) -> Iterator[Notice]:
        site = self._site
        if site and site.version == "current" and site.last != "current":
            message = (
                f"{site.docs} is the version that comes next; readers see {site.last} first,"
                f" which is in versioned_docs/version-{site.last}"
            )
            yield Notice("NOT_THE_LAST_VERSION", message, str(site.root / "versions.json"), 1)

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
        home = slug == "/" and self._site is not None and self._site.parts in ((), (self._site.locale,))
        if slash is not None and not home:  # the home of the site ends with a slash whatever is configured
            url = url.rstrip("/") + ("/" if slash else "")
        return url or "/"

    def _label(self, folders: Sequence[str]) -> str:
        label = self._category("/".join(folders)).get("label")
        return label.strip() if isinstance(label, str) and label.strip() else without_prefix(folders[-1])

    def _category(self, folder: str) -> dict[str, object]:
        if folder not in self._categories:
            self._categories[folder] = _read_category(self._docs / folder)
        return self._categories[folder]


def docs_url(site: Site | None, base_url: str) -> str:
    """The URL of the docs' root, without a slash at its end."""
    if site is None:
        return base_url.rstrip("/")
    base = base_url.rstrip("/") or f"{site.url.rstrip('/')}/{site.base_path.strip('/')}".rstrip("/")
    parts = site.parts
    had = next((n for n in range(len(parts), 0, -1) if base_url and base.endswith(f"/{'/'.join(parts[:n])}")), 0)
    return "/".join((base, *parts[had:]))


def _read_category(folder: Path) -> dict[str, object]:
    for name in _CATEGORIES:
        try:
            text = (folder / name).read_text("utf-8", "replace")
        except OSError:
            continue
        try:
            found = json.loads(text) if name.endswith("json") else yaml.safe_load(text)
        except (ValueError, yaml.YAMLError):
            return {}  # a label is not worth a page: the folder's name is taken
        return found if isinstance(found, dict) else {}
    return {}

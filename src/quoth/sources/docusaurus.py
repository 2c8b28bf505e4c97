"""A Docusaurus site: which of its files are published, where, and under which labels.

The rules are those of @docusaurus/plugin-content-docs: number prefixes go, `id:` and `slug:` win, an index page is its
folder, `_partials` are not pages. The configuration is JavaScript; we look in its text for the few values we need and
never run it. `--base-url` replaces the site's URL: the route of the docs is appended unless it ends with it already.
Versions (`versioned_docs`) and translations (`i18n`) are read if their folder is given; if there are versions, `docs`
itself is the next one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from posixpath import normpath
from urllib.parse import quote

from quoth.domain import AnchorRule, Markup, Notice
from quoth.sources.bounds import Bounds
from quoth.sources.files import FrontMatter, walk
from quoth.sources.folder import Route
from quoth.sources.loading import Damaged, load_json, load_yaml

_SUFFIXES = frozenset((".md", ".mdx"))
_CONFIGS = tuple(f"docusaurus.config.{ending}" for ending in ("ts", "js", "mjs", "cjs", "mts", "cts"))
_SIDEBARS = tuple(f"sidebars.{ending}" for ending in ("js", "ts", "json", "mjs", "cjs"))
_CATEGORIES = ("_category_.json", "_category_.yml", "_category_.yaml")
_EXCLUDED = re.compile(r"(?:^|/)_|\.test\.|(?:^|/)__tests__(?:/|$)")
_PREFIX = re.compile(r"^(\d+)\s*[-_.]+\s*([^-_.\s].*)$")
_DATE_OR_VERSION = re.compile(r"^\d+[-_.]\d+")
_LINE_COMMENT = re.compile(r"(?<![:\w'\"/])//[^\n]*")
_BRACKET = re.compile(r"[{}\[\]]")
_MOST_VERSIONS = 500


@dataclass(frozen=True, slots=True)
class Site:
    """The values of the configuration, as far as they can be read without running it."""

    root: Path
    bounds: Bounds
    title: str = ""
    url: str = ""
    base_path: str = "/"
    route: str = "docs"
    docs: str = "docs"  # as the configuration names it
    pages: Path = Path()  # the real folder of the docs
    markdown_format: str = "mdx"
    trailing_slash: bool | None = None
    language: str | None = None
    versions: Mapping[str, str] = field(default_factory=lambda: {"current": ""})  # the path of each below the route
    last: str = "current"
    version: str = "current"  # which of them is read
    locale: str = ""  # of a translation: the first part of its path

    @property
    def parts(self) -> tuple[str, ...]:
        """The parts of a URL between that of the site and that of a page."""
        path = self.versions.get(self.version, self.version)
        return tuple(part.strip("/") for part in (self.locale, self.route, path) if part.strip("/"))


def find_site(path: Path, bounds: Bounds) -> Site | None:
    """The site that publishes this folder: in the folder itself, or in one above whose docs it is part of."""
    for folder in bounds.upwards(path):
        own = bounds.around(folder)
        config = next((folder / name for name in _CONFIGS if own.is_file(folder / name)), None)
        named = any(own.is_file(folder / name) for name in _SIDEBARS) and folder in (path, path.parent)
        if config is None and not named:
            continue
        site = _asked_for(read_config(folder, _config_text(config, own) if config else "", own), path)
        pages = own.published(folder, site.docs, path)
        if pages is not None:
            return replace(site, pages=pages)
        if config is not None:
            return None
    return None


def _asked_for(site: Site, path: Path) -> Site:
    """The site with the version or translation that the folder holds; `docs` if it holds neither."""
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


def has_categories(path: Path, bounds: Bounds) -> bool:
    if not bounds.holds(path):
        return False
    return any(bounds.is_file(path / name) or any(path.glob(f"*/{name}")) for name in _CATEGORIES)


def _config_text(path: Path, bounds: Bounds) -> str:
    try:
        return bounds.config_text(path, "replace")
    except (OSError, Damaged):
        return ""


def read_config(root: Path, text: str, bounds: Bounds) -> Site:
    """A value that is computed counts as not given."""
    text = _LINE_COMMENT.sub("", _without_block_comments(text))
    docs = _object_after(text, r"\bdocs\s*:\s*\{") or _object_after(text, r"plugin-content-docs['\"]\s*,\s*\{") or ""
    slash = re.search(r"\btrailingSlash\s*:\s*(true|false)\b", text)
    said = _object_after(docs, r"(?<!\w)versions['\"]?\s*:\s*\{") or ""
    docs = docs.replace(said, "") if said else docs  # a path in it is not that of the docs
    last, versions = _versions(root, docs, said, bounds)
    return Site(
        root=root,
        bounds=bounds,
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


def _without_block_comments(text: str) -> str:
    parts: list[str] = []
    at = 0
    while (start := text.find("/*", at)) >= 0 and (end := text.find("*/", start + 2)) >= 0:
        parts.append(text[at:start])
        at = end + 2
    return "".join([*parts, text[at:]])


def _versions(root: Path, docs: str, said: str, bounds: Bounds) -> tuple[str, dict[str, str]]:
    """The last version, and the path of each: empty for the last, `next` for the one that comes after it."""
    try:
        listed = load_json(bounds.config_text(root / "versions.json"))
    except (OSError, Damaged):
        listed = []
    names = [name for name in listed if isinstance(name, str)][:_MOST_VERSIONS] if isinstance(listed, list) else []
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
    """The inside of the object literal that opens at the end of a match of the pattern."""
    match = re.search(pattern, text)
    if match is None:
        return None
    depth = 1
    for bracket in _BRACKET.finditer(text, match.end()):
        depth += 1 if bracket[0] in "{[" else -1
        if depth == 0:
            return text[match.end() : bracket.start()]
    return text[match.end() :]


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
        self._categories: dict[str, dict[str, object]] = {}

    def paths(self) -> Iterable[Path]:
        self._categories.clear()
        return walk(self._read, _SUFFIXES)

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

    def contents(self) -> Iterator[Notice]:
        site = self._site
        if site and site.version == "current" and site.last != "current":
            message = (
                f"{site.docs} is the next version; readers see {site.last} first."
                f" To ingest that, give the folder versioned_docs/version-{site.last}"
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
            self._categories[folder] = _read_category(self._docs / folder, self._bounds)
        return self._categories[folder]


def _docs_url(site: Site | None, base_url: str) -> str:
    """The URL of the root of the docs, without a slash at its end."""
    if site is None:
        return base_url.rstrip("/")
    base = base_url.rstrip("/") or f"{site.url.rstrip('/')}/{site.base_path.strip('/')}".rstrip("/")
    parts = site.parts
    had = next((n for n in range(len(parts), 0, -1) if base_url and base.endswith(f"/{'/'.join(parts[:n])}")), 0)
    return "/".join((base, *parts[had:]))


def _read_category(folder: Path, bounds: Bounds) -> dict[str, object]:
    """Empty if it cannot be read: then the folder's name is its label."""
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

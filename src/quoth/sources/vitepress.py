"""A VitePress site: `.vitepress/config`, which files are pages, and the addresses that VitePress gives.

Every Markdown file below `srcDir` is a page, unless `srcExclude` names it; `rewrites` move pages elsewhere. The sidebar
gives the sections above a page. The configuration is JavaScript: it is read, never run. What only a run would reveal (a
`rewrites` function, pages of a dynamic route) is reported.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from posixpath import normpath
from urllib.parse import quote

from quoth.domain import AnchorRule, Markup, Notice
from quoth.sources.bounds import Bounds
from quoth.sources.files import FrontMatter, walk
from quoth.sources.folder import Route
from quoth.sources.globs import Glob, pieces_of
from quoth.sources.javascript_files import ENDINGS, exported
from quoth.sources.javascript_values import is_known
from quoth.sources.plain import label_of
from quoth.text.limits import MAX_DEPTH

_SUFFIXES = frozenset((".md",))
_CONFIGS = (*(f"config.{ending}" for ending in ENDINGS), *(f"config/index.{ending}" for ending in ENDINGS))
_ALWAYS_EXCLUDED = ("**/node_modules/**", "**/dist/**")
_DYNAMIC = re.compile(r"\[(\w+?)\]")
_MOST_ALTERNATIVES = 50  # of one pattern with braces


@dataclass(frozen=True, slots=True)
class _VitePress:
    root: Path
    bounds: Bounds
    config: Path
    said: str = "."
    docs: Path = Path()
    title: str = ""
    host: str = ""
    base: str = "/"
    clean: bool = False
    languages: Mapping[str, str] = field(default_factory=dict)  # by the folder of a locale; "" is the rest
    excluded: Sequence[str] = ()
    rewrites: Mapping[str, str] = field(default_factory=dict)
    sections: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # of the sidebar, by the link of a page
    unread: tuple[str, ...] = ()
    own_ids: bool = False  # whether the site makes the ids of headings with its own program
    damage: str = ""


def find_vitepress(path: Path, bounds: Bounds) -> _VitePress | None:
    """The site in this folder, or in one above it whose pages include it."""
    for folder in bounds.upwards(path):
        own = bounds.around(folder)
        config = own.first_file(folder, (f".vitepress/{name}" for name in _CONFIGS))
        if config is not None:
            site = _read(folder, config, own)
            docs = own.published(folder, site.said, path)
            return replace(site, docs=docs) if docs is not None else None
    return None


def _read(root: Path, config: Path, bounds: Bounds) -> _VitePress:
    values, damage = exported(config, bounds)
    sitemap = values.get("sitemap")
    rewrites = values.get("rewrites")
    excluded = values.get("srcExclude")
    unread = tuple(
        name for name in ("base", "srcDir", "srcExclude", "rewrites", "cleanUrls") if not is_known(values.get(name))
    )
    return _VitePress(
        root=root,
        bounds=bounds,
        config=config,
        said=_text(values, "srcDir") or ".",
        title=_text(values, "title"),
        host=_text(sitemap, "hostname") if isinstance(sitemap, dict) else "",
        base=_text(values, "base") or "/",
        clean=values.get("cleanUrls") is True,
        languages=_languages(values),
        excluded=[item for item in excluded if isinstance(item, str)] if isinstance(excluded, list) else (),
        rewrites={k: v for k, v in rewrites.items() if isinstance(v, str)} if isinstance(rewrites, dict) else {},
        sections=_sections(values),
        unread=unread,
        own_ids=_has_own_ids(values),
        damage=damage,
    )


def _has_own_ids(values: Mapping[str, object]) -> bool:
    markdown = values.get("markdown")
    anchor = markdown.get("anchor") if isinstance(markdown, dict) else None
    return anchor is not None and (not isinstance(anchor, dict) or "slugify" in anchor or "getTokensText" in anchor)


def _languages(values: Mapping[str, object]) -> dict[str, str]:
    locales = values.get("locales")
    found = {"": _text(values, "lang")}
    for name, locale in locales.items() if isinstance(locales, dict) else ():
        if isinstance(locale, dict):
            folder = "" if name == "root" else str(name).strip("/")
            found[folder] = _text(locale, "lang") or folder or found[""]
    return found


def _sections(values: Mapping[str, object]) -> dict[str, tuple[str, ...]]:
    """The titles above each page in the sidebars of all locales."""
    found: dict[str, tuple[str, ...]] = {}
    locales = values.get("locales")
    for owner in (values, *(locales.values() if isinstance(locales, dict) else ())):
        theme = owner.get("themeConfig") if isinstance(owner, dict) else None
        sidebar = theme.get("sidebar") if isinstance(theme, dict) else None
        for items in sidebar.values() if isinstance(sidebar, dict) else (sidebar,):
            _read_sidebar(items, "", (), found)
    return found


def _read_sidebar(items: object, base: str, trail: tuple[str, ...], found: dict[str, tuple[str, ...]]) -> None:
    if isinstance(items, dict):
        base, items = _text(items, "base") or base, items.get("items")
    for item in items if isinstance(items, list) and len(trail) < MAX_DEPTH else ():
        if not isinstance(item, dict):
            continue
        below = _text(item, "base") or base
        link = _text(item, "link")
        if link and "://" not in link:
            found.setdefault(_page_of(f"{base}{link}"), trail)
        title = _text(item, "text")
        _read_sidebar(item.get("items"), below, (*trail, title) if title else trail, found)


def _page_of(link: str) -> str:
    """A link in the sidebar as the path of a page: `guide/` or `guide/start`."""
    bare = link.split("#", 1)[0].split("?", 1)[0].lstrip("/")
    bare = bare.removesuffix(".html").removesuffix(".md")
    return bare.removesuffix("index") if bare in ("index",) or bare.endswith("/index") else bare


class VitePressRules:
    toolchain = "vitepress"
    anchors: AnchorRule = "vitepress"

    def __init__(self, site: _VitePress, read: Path, base_url: str) -> None:
        self._site = site
        self._read = read
        published = f"{site.host.rstrip('/')}/{site.base.strip('/')}".rstrip("/")
        self._base = base_url.rstrip("/") or published
        self._excluded = [glob for said in (*_ALWAYS_EXCLUDED, *site.excluded) for glob in _globs(said)]
        self._rewrites = [rule for said, to in site.rewrites.items() if (rule := _rewrite(said, to))]

    @property
    def published(self) -> str:
        return f"{self._site.host.rstrip('/')}{self._site.base}" if self._site.host else ""

    def paths(self) -> Iterable[Path]:
        return walk(self._read, _SUFFIXES)

    def skips(self, name: str, front: FrontMatter) -> str:
        if any(glob.matches(name) for glob in self._excluded):
            return "excluded by srcExclude"
        return "a dynamic route: its pages are made by a program" if _DYNAMIC.search(name) else ""

    def route(self, name: str, front: FrontMatter) -> Route:
        made = next((to for rule in self._rewrites if (to := rule.applied(name))), name)
        path = made.removesuffix(".md")
        home = path == "index" or path.endswith("/index")
        link = path.removesuffix("index") if home else path
        ending = "" if home or self._site.clean else ".html"
        folders = link.strip("/").split("/")[:-1]
        trail = self._site.sections.get(link)
        if trail is None:
            trail = tuple(label_of(folder) for folder in folders)
        locale = made.split("/", 1)[0]
        languages = self._site.languages
        language = languages.get(locale if "/" in made and locale in languages else "")
        own = label_of(path.rsplit("/", 1)[-1])
        return Route(f"{self._base}/{quote(link)}{ending}", trail, own, language=language or None)

    def markup(self, name: str) -> Markup:
        return "markdown"

    def contents(self) -> Iterator[Notice]:
        site = self._site
        if site.damage:
            yield Notice("CONFIG_UNREADABLE", site.damage, str(site.config), 1)
        for name in site.unread:
            message = f"{name} is computed by a program, which is not run; its default is used"
            if name == "base":
                message += ". Give the address of the book with --base-url"
            yield Notice("CONFIG_UNREADABLE", message, str(site.config), 1)
        if site.own_ids:
            message = "markdown.anchor makes ids of its own; links to headings may open the page at its top"
            yield Notice("CONFIG_UNREADABLE", message, str(site.config), 1)
        for said, to in site.rewrites.items():
            if _rewrite(said, to) is None:
                message = f"the rewrite {said!r} is not understood; its pages keep their own addresses"
                yield Notice("CONFIG_UNREADABLE", message, str(site.config), 1)


def _globs(said: str) -> Iterator[Glob]:
    """One for each alternative in braces."""
    for pattern in _alternatives(said.removeprefix("./")):
        yield Glob(pieces_of(pattern, folders=True))


def _alternatives(pattern: str) -> list[str]:
    found = [pattern]
    for _ in range(5):
        braces = next((match for item in found if (match := re.search(r"\{([^{}]*)\}", item))), None)
        if braces is None or len(found) > _MOST_ALTERNATIVES:
            break
        found = [item.replace(braces[0], part) for item in found for part in braces[1].split(",")]
    return found


# --- rewrites --------------------------------------------------------------------------------------------------------

# As path-to-regexp reads them: `:name`, `:name*`, `:name(.*)` and `(.*)`. Other patterns in parentheses are not run: a
# book may come from anybody, and such a pattern may take forever.
_PART = re.compile(r"(/?):(\w+)(?:\(((?:[^()\\]|\\.)*)\))?([*+?]?)|\(((?:[^()\\]|\\.)*)\)")
_PATTERNS = {"": "[^/#?]+?", ".*": ".*", ".+": ".+", "[^/]+": "[^/]+", "[^/]*": "[^/]*", r"\d+": r"\d+", r"\w+": r"\w+"}
_REPEATED = {
    "": "{0}({1})",
    "?": "(?:{0}({1}))?",
    "*": "(?:{0}((?:{1})(?:/(?:{1}))*))?",
    "+": "{0}((?:{1})(?:/(?:{1}))*)",
}
_MOST_PARTS = 6


@dataclass(frozen=True, slots=True)
class _Rewrite:
    pattern: re.Pattern[str]
    names: tuple[str, ...]
    to: str

    def applied(self, name: str) -> str:
        """Where the page goes; empty if the rule is not for it."""
        match = self.pattern.fullmatch(name)
        if match is None:
            return ""
        values = dict(zip(self.names, match.groups(), strict=True))
        unnamed = iter(range(len(values)))

        def filled(part: re.Match[str]) -> str:
            value = values.get(part[2] or str(next(unnamed, "")))
            return f"{part[1] or ''}{value}" if value else ""

        return normpath(_PART.sub(filled, f"/{self.to}")).lstrip("/")


def _rewrite(said: str, to: str) -> _Rewrite | None:
    """None for a pattern that is not understood."""
    pieces: list[str] = []
    names: list[str] = []
    at = unnamed = 0
    for part in _PART.finditer(said):
        pieces.append(re.escape(said[at : part.start()]))
        inner = part[5] if part[5] is not None else part[3] or ""
        if inner not in _PATTERNS or len(names) >= _MOST_PARTS:
            return None
        slash, repeat = part[1] or "", part[4] or ""
        pieces.append(_REPEATED[repeat].format(slash, _PATTERNS[inner]))
        names.append(part[2] or str(unnamed))
        unnamed += part[2] is None
        at = part.end()
    rest = said[at:]
    if re.search(r"[{}^*]", rest + "".join(said[: said.find(":")])):
        return None
    return _Rewrite(re.compile("".join([*pieces, re.escape(rest)]) + "/?"), tuple(names), to)


def _text(values: Mapping[str, object], key: str) -> str:
    found = values.get(key)
    return found.strip() if isinstance(found, str) else ""

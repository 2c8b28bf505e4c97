"""A Hugo site: which files are pages, their addresses, and the sections above them.

`_index.md` is the page of its folder; a folder with `index.md` is one page, and the other files in it are its parts.
`url` and `slug` in the front matter win, then the permalinks in the configuration. Each language has its own folder, or
its code before the extension of a file. The site's themes, modules and programs are not looked at.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import date, datetime
from pathlib import Path, PurePosixPath
from urllib.parse import quote

from quoth.domain import AnchorRule, Markup, Notice
from quoth.sources.bounds import Bounds, is_file
from quoth.sources.files import FrontMatter, front_matter_of, walk
from quoth.sources.folder import Route
from quoth.sources.hugo_config import HugoConfig, Language, config_file, read_config
from quoth.sources.plain import label_of
from quoth.sources.shortcodes import Shortcodes

_MARKDOWN = frozenset((".md", ".markdown", ".mdown"))
_OTHER = frozenset((".html", ".htm", ".adoc", ".asciidoc", ".org", ".pandoc", ".rst"))
_TOKEN = re.compile(r":(\w+)(?:\[(\d*):?(\d*)\])?")
_DATE = re.compile(r"^(\d{4})-(\d{2})-(\d{2})")
_DATED = re.compile(r"(\d{4}-\d{2}-\d{2})[-_ ]*(.+)")


def find_hugo(path: Path, bounds: Bounds) -> HugoConfig | None:
    """The site in this folder, or in one above it whose pages include it."""
    for folder in bounds.upwards(path):
        own = bounds.around(folder)
        file = config_file(folder, own)
        if file is not None:
            site = read_config(folder, file, own)
            places = [own.published(folder, language.content, path) for language in site.languages]
            return site if any(places) else None
    return None


class HugoRules:
    toolchain = "hugo"

    def __init__(self, site: HugoConfig, read: Path, base_url: str) -> None:
        contents = {site.root / language.content: language.code for language in reversed(site.languages)}
        self.shortcodes = Shortcodes(site.root, contents, site.params, site.bounds)
        self._site = site
        self._read = read
        self._given = base_url.rstrip("/")
        self._fronts: dict[Path, FrontMatter] = {}

    @property
    def anchors(self) -> AnchorRule:
        return self._site.anchors

    def paths(self) -> Iterable[Path]:
        self._fronts.clear()
        self.shortcodes.left_out.begin()
        seen: set[Path] = set()
        for language in self._site.languages:
            content = self._site.root / language.content
            if content in seen or not self._site.bounds.holds(content) or not content.is_dir():
                continue
            seen.add(content)
            if self._read.is_relative_to(content):
                yield from walk(self._read, _MARKDOWN | _OTHER)
            elif content.is_relative_to(self._read):
                yield from walk(content, _MARKDOWN | _OTHER)

    def skips(self, name: str, front: FrontMatter) -> str:
        path = PurePosixPath(name)
        if path.suffix.lower() not in _MARKDOWN:
            return f"written in {path.suffix[1:]}, which is not read in a Hugo book"
        if any(pattern.search(name) for pattern in self._site.ignored):
            return "excluded by ignoreFiles"
        if front.is_true("draft"):
            return "draft: true"
        build = front.values.get("build") or front.values.get("_build")
        if isinstance(build, dict) and build.get("render") in ("never", False):
            return "not published by its build options"
        if front.is_true("headless"):
            return "headless: parts of other pages"
        return self._part_of(path)

    def _part_of(self, path: PurePosixPath) -> str:
        """Files beside or below an `index.md` are parts of its page."""
        _, content, inside = self._language(path.as_posix())
        stem = _stem(inside.name)
        folder = self._site.root / content
        for depth in range(len(inside.parts)):
            above = folder.joinpath(*inside.parts[:depth])
            own = depth == len(inside.parts) - 1 and stem == "index"
            if not own and (is_file(above / "index.md") or is_file(above / "index.html")):
                bundle = "/".join([content, *inside.parts[:depth]])
                return f"a part of the page {bundle}/index.md"
        return ""

    def _language(self, name: str) -> tuple[Language, str, PurePosixPath]:
        """The language of a file, its content folder, and its path in that folder without the language."""
        matching = [lang for lang in self._site.languages if name.startswith(f"{lang.content.strip('./')}/")]
        language = max(matching, key=lambda lang: len(lang.content), default=self._site.languages[0])
        content = language.content.strip("./")
        inside = PurePosixPath(name[len(content) + 1 :])
        code = inside.stem.rsplit(".", 1)[-1] if "." in inside.stem else ""
        named = next((lang for lang in self._site.languages if lang.code == code), None)
        if named is not None:
            return named, content, inside.with_name(f"{inside.stem.rsplit('.', 1)[0]}{inside.suffix}")
        return language, content, inside

    def route(self, name: str, front: FrontMatter) -> Route:
        language, content, inside = self._language(name)
        *folders, file = inside.parts
        stem = _stem(file)
        trail = tuple(self._label(content, folders[: depth + 1]) for depth in range(len(folders)))
        bundle = stem in ("index", "_index")
        trail = trail[:-1] if bundle else trail
        path = self._path(folders, stem, front)
        prefix = f"/{language.prefix}" if language.prefix else ""
        base = self._given or language.base.rstrip("/") or self._site.base_url.rstrip("/")
        own = label_of(folders[-1] if bundle and folders else stem) if folders or not bundle else "Home"
        return Route(f"{base}{prefix}{quote(path, safe='/+@~.:')}", trail, own, language=language.code)

    def _path(self, folders: list[str], stem: str, front: FrontMatter) -> str:
        if url := front.text("url"):
            path = f"/{url.lstrip('/')}"
            return path if path.endswith("/") or PurePosixPath(path).suffix in (".html", ".htm") else f"{path}/"
        parts = [self._clean(folder) for folder in folders]
        if stem == "_index":
            return self._section_path(parts, front) if parts else "/"
        return self._page_path(parts, stem, front)

    def _section_path(self, parts: list[str], front: FrontMatter) -> str:
        pattern = self._site.sections.get(parts[0], "")
        made = self._filled(pattern, parts, parts[-1], front) if pattern else ""
        return made or f"/{'/'.join(parts)}/" + ("index.html" if self._ugly(parts[0]) else "")

    def _page_path(self, parts: list[str], stem: str, front: FrontMatter) -> str:
        section = parts[0] if parts else ""
        name = parts.pop() if stem == "index" and parts else self._clean(stem)
        if self._site.dated and (dated := _DATED.fullmatch(name)):  # as if the front matter gave date and slug
            front = replace(front, values={"date": dated[1], "slug": dated[2], **front.values})
        pattern = self._site.pages.get(section) or ("" if parts else self._site.pages.get("/", ""))
        made = self._filled(pattern, parts, name, front) if pattern else ""
        if not made:
            made = "/".join(["", *parts, self._clean(front.text("slug")) or name]) + "/"
        return f"{made.rstrip('/')}.html" if self._ugly(section) and made != "/" else made

    def _ugly(self, section: str) -> bool:
        ugly = self._site.ugly
        return ugly.get(section) is True if isinstance(ugly, dict) else ugly is True

    def _clean(self, name: str) -> str:
        """As Hugo writes a name into an address: white space becomes a hyphen, most punctuation is dropped."""
        spaced = re.sub(r"\s", "-", name)
        kept = "".join(c for c in spaced if c in "._#+~-@" or unicodedata.category(c)[0] in "LNM")
        return kept.lower() if self._site.lower else kept

    def _filled(self, pattern: str, parts: list[str], name: str, front: FrontMatter) -> str:
        """A permalink; empty if it needs a date and the page has none."""
        when = _date(front)
        title = self._clean(re.sub(r"[\s_]+", "-", front.text("title")).strip("-")) or name
        slug = front.text("slug")
        known = {
            "section": parts[0] if parts else "",
            "sections": "/".join(parts),
            "title": title,
            "slug": self._clean(slug) or title,
            "filename": name,
            "contentbasename": name,
            "slugorfilename": self._clean(slug) or name,
            "slugorcontentbasename": self._clean(slug) or name,
            "sectionslug": parts[0] if parts else "",
            "sectionslugs": "/".join(parts),
        }
        if when:
            known |= {"year": f"{when.year}", "month": f"{when.month:02}", "day": f"{when.day:02}"}
            known |= {"monthname": f"{when:%B}".lower(), "yearday": f"{when:%j}".lstrip("0")}
            known |= {"weekday": f"{when:%w}", "weekdayname": f"{when:%A}".lower()}
        if any(token[1] not in known for token in _TOKEN.finditer(pattern)):
            return ""

        def value(token: re.Match[str]) -> str:
            if token[2] is None:
                return known[token[1]]
            first, last = int(token[2] or 0), int(token[3]) if token[3] else None
            return "/".join(known[token[1]].split("/")[first:last])

        return re.sub(r"/{2,}", "/", f"/{_TOKEN.sub(value, pattern).strip('/')}/")

    def _label(self, content: str, folders: list[str]) -> str:
        """The title of a section, from its own page."""
        path = self._site.root / content
        index = path.joinpath(*folders, "_index.md")
        if index not in self._fronts:
            self._fronts[index] = self._front(index)
        front = self._fronts[index]
        return front.text("linkTitle", "linktitle", "title") or label_of(folders[-1])

    def _front(self, path: Path) -> FrontMatter:
        if not is_file(path):
            return FrontMatter()
        return front_matter_of(path, self._site.bounds)

    def markup(self, name: str) -> Markup:
        return "markdown"

    def contents(self) -> Iterator[Notice]:
        for damage in self._site.damage:
            yield Notice("CONFIG_UNREADABLE", damage, str(self._site.file), 1)
        if left_out := self.shortcodes.left_out.sentence():
            yield Notice("SHORTCODES_LEFT_OUT", left_out, str(self._site.file), 1)


def _stem(file: str) -> str:
    return file.rsplit(".", 1)[0]


def _date(front: FrontMatter) -> date | None:
    for key in ("date", "publishDate", "publishdate", "lastmod"):
        found = front.values.get(key)
        if isinstance(found, datetime):
            return found.date()
        if isinstance(found, date):
            return found
        if isinstance(found, str) and (match := _DATE.match(found)):
            try:
                return date(int(match[1]), int(match[2]), int(match[3]))
            except ValueError:
                continue
    return None

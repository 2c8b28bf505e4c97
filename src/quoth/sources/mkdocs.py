"""An MkDocs site: `mkdocs.yml`, the navigation in it, and the addresses that MkDocs gives.

Every Markdown file below `docs_dir` is published, in the navigation or not, unless `exclude_docs` or `draft_docs`
names it. The navigation gives titles and the sections above a page. The configuration may hold tags that only a running
MkDocs can resolve (`!!python/name:…`, `!ENV`, `!relative`); their text is read, and nothing is run.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from posixpath import normpath
from urllib.parse import quote

import yaml

from quoth.domain import AnchorRule, Markup, Notice
from quoth.sources.bounds import Bounds, is_file
from quoth.sources.files import FrontMatter, walk
from quoth.sources.folder import Route
from quoth.sources.globs import BELOW, FOLDERS, OR_BELOW, Glob, pieces_of
from quoth.sources.includes import Dialect
from quoth.sources.loading import Damaged, SafeLoader, defaults_used, load_yaml
from quoth.sources.mkdocs_blog import Blog, blog_of
from quoth.sources.mkdocs_includes import mkdocs_includes
from quoth.text.markdown import first_heading

_SUFFIXES = frozenset((".md", ".markdown", ".mdown", ".mkdn", ".mkd"))
_CONFIGS = ("mkdocs.yml", "mkdocs.yaml")
_MOST_INHERITED = 5  # configurations in a row


@dataclass(frozen=True, slots=True)
class _NavItem:
    title: str
    trail: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _MkDocs:
    root: Path
    bounds: Bounds
    config: str
    said: str = "docs"  # the folder of the pages, as written
    docs: Path = Path()  # its real path
    title: str = ""
    site_url: str = ""
    directory_urls: bool = True
    language: str | None = None
    nav: Mapping[str, _NavItem] = field(default_factory=dict)
    excluded: str = ""
    drafts: str = ""
    anchors: AnchorRule = "mkdocs"
    snippet_bases: tuple[Path, ...] = ()
    extensions: frozenset[str] = frozenset()
    blog: Blog | None = None
    mkdocstrings: bool = False
    damage: str = ""
    damage_line: int = 1


class _Loader(SafeLoader):
    """Accepts any tag and reads the value after it."""


def _tagged(loader: yaml.SafeLoader, suffix: str, node: yaml.Node) -> object:
    if isinstance(node, yaml.MappingNode):
        return {"!": suffix, **loader.construct_mapping(node, deep=True)}
    if isinstance(node, yaml.SequenceNode):
        items = loader.construct_sequence(node, deep=True)
        return items[-1] if suffix == "ENV" and len(items) > 1 else "" if suffix == "ENV" else items
    return "" if suffix == "ENV" else loader.construct_scalar(node) or suffix  # type: ignore[arg-type]


_Loader.add_multi_constructor("!", _tagged)
_Loader.add_multi_constructor("tag:yaml.org,2002:python/", _tagged)


def find_mkdocs(path: Path, bounds: Bounds) -> _MkDocs | None:
    """The site in this folder, or in one above it whose docs include it."""
    for folder in bounds.upwards(path):
        own = bounds.around(folder)
        config = next((name for name in _CONFIGS if own.is_file(folder / name)), None)
        if config is not None:
            site = _read_mkdocs(folder, config, own)
            docs = own.published(folder, site.said, path)
            return replace(site, docs=docs) if docs is not None else None
    return None


def _read_mkdocs(root: Path, config: str, bounds: Bounds) -> _MkDocs:
    """A configuration that cannot be read counts as empty, with a notice."""
    damage, line = "", 1
    values: dict[str, object] = {}
    try:
        values, damage = _load(root / config, bounds)
    except (OSError, Damaged) as error:
        line = (isinstance(error, Damaged) and error.line) or 1
        damage = defaults_used(config, error)
    extensions = _extensions(values.get("markdown_extensions"))
    plugins = {name.removeprefix("material/"): said for name, said in _extensions(values.get("plugins")).items()}
    said = _text(values, "docs_dir") or "docs"
    theme = values.get("theme")
    nav: dict[str, _NavItem] = {}
    _read_nav(values.get("nav") or values.get("pages"), (), nav)
    return _MkDocs(
        root=root,
        bounds=bounds,
        config=config,
        said=said,
        title=_text(values, "site_name"),
        site_url=_text(values, "site_url"),
        directory_urls=values.get("use_directory_urls") is not False,
        language=(_text(theme, "language") or _text(theme, "locale") or None) if isinstance(theme, dict) else None,
        nav=nav,
        excluded=_text(values, "exclude_docs"),
        drafts=_text(values, "draft_docs"),
        anchors=_anchor_rule(extensions.get("toc", {})),
        snippet_bases=_bases(extensions, root, root / said),
        extensions=frozenset(extensions),
        blog=blog_of(plugins["blog"]) if "blog" in plugins else None,
        mkdocstrings="mkdocstrings" in plugins,
        damage=damage,
        damage_line=line,
    )


def _load(path: Path, bounds: Bounds, depth: int = 0) -> tuple[dict[str, object], str]:
    """The values of a configuration and of those it inherits from, and a message if one of them may not be read."""
    loaded = load_yaml(bounds.config_text(path), _Loader)
    values = {str(key): value for key, value in loaded.items()} if isinstance(loaded, dict) else {}
    parent = values.get("INHERIT")
    if not isinstance(parent, str) or depth >= _MOST_INHERITED or not is_file(path.parent / parent):
        return values, ""
    if not bounds.holds(path.parent / parent):
        return values, f"INHERIT names {parent}, which is outside the folder that was given; it is not read"
    inherited, damage = _load(path.parent / parent, bounds, depth + 1)
    return {**inherited, **values}, damage


def _extensions(found: object) -> dict[str, Mapping[str, object]]:
    """The extensions by name, each with its options."""
    listed = found if isinstance(found, list) else [found] if isinstance(found, dict) else []
    extensions: dict[str, Mapping[str, object]] = {}
    for item in listed:
        for name, options in (item if isinstance(item, dict) else {item: None}).items():
            extensions[str(name).removeprefix("markdown.extensions.")] = options if isinstance(options, dict) else {}
    return extensions


def _anchor_rule(toc: Mapping[str, object]) -> AnchorRule:
    said = str(toc.get("slugify", ""))
    if "pymdownx.slugs" in said:
        return "pymdownx" if "lower" in said or "fold" in said or "uslugify" in said else "pymdownx-cased"
    return "mkdocs-unicode" if "slugify_unicode" in said else "mkdocs"


def _bases(extensions: Mapping[str, Mapping[str, object]], root: Path, docs: Path) -> tuple[Path, ...]:
    """The folders to search for snippets: first the configured ones, then the usual ones."""
    found: list[object] = []
    for name in ("pymdownx.snippets", "mdx_include", "markdown_include.include"):
        said = extensions.get(name, {}).get("base_path")
        found += said if isinstance(said, list) else [said]
    named = [base for base in found if isinstance(base, str)]
    places = {"$config_dir": ".", "$docs_dir": str(docs)}
    bases = [root / places.get(base, base) for base in named]
    return (*bases, root, docs)


def _read_nav(items: object, trail: tuple[str, ...], nav: dict[str, _NavItem]) -> None:
    for item in items if isinstance(items, list) else []:
        for title, target in (item if isinstance(item, dict) else {"": item}).items():
            if isinstance(target, str) and "://" not in target:
                nav.setdefault(normpath(target), _NavItem(str(title or ""), trail))
            elif isinstance(target, list):
                _read_nav(target, (*trail, str(title)), nav)


class MkDocsRules:
    toolchain = "mkdocs"

    def __init__(self, site: _MkDocs, read: Path, base_url: str) -> None:
        self._site = site
        self._read = read
        self._base = (base_url or site.site_url).rstrip("/")
        self._excluded = IgnorePatterns(f"/templates/\n{site.excluded}")
        self._drafts = IgnorePatterns(site.drafts)
        self._generated: set[Path] = set()

    def includes(self) -> Dialect:
        site = self._site
        return mkdocs_includes(
            site.snippet_bases, site.extensions, generated=self._generated.add if site.mkdocstrings else None
        )

    @property
    def anchors(self) -> AnchorRule:
        return self._site.anchors

    def paths(self) -> Iterable[Path]:
        return walk(self._read, _SUFFIXES)

    def skips(self, name: str, front: FrontMatter) -> str:
        if self._excluded.match(name):
            return "excluded by exclude_docs"
        if self._drafts.match(name):
            return "marked as a draft by draft_docs"
        folder, _, file = name.rpartition("/")
        if file.rsplit(".", 1)[0] == "README" and is_file(self._site.docs / folder / "index.md"):
            return "index.md is the page of its folder"
        if self._blog(name) and not self._post(name, front):
            return "a blog post without a date"
        return "draft: true" if front.is_true("draft") else ""

    def _blog(self, name: str) -> Blog | None:
        return self._site.blog if self._site.blog and self._site.blog.holds(name) else None

    def _post(self, name: str, front: FrontMatter) -> str:
        """The path at which the blog publishes a post, without an extension; empty if it does not publish it."""
        blog = self._blog(name)
        if blog is None:
            return ""
        title = front.text("title")
        if not title and not front.text("slug"):
            text = self._site.bounds.page_bytes(self._site.docs / name, name).decode("utf-8", "replace")
            title = first_heading(text, start=front.body_start)
        return blog.path_of(front, title)

    def route(self, name: str, front: FrontMatter) -> Route:
        *folders, file = name.split("/")
        stem = file.rsplit(".", 1)[0]
        home = stem in ("index", "README")
        stem = "index" if home else stem
        post = self._post(name, front)
        if post:
            path = f"{post}/" if self._site.directory_urls else f"{post}.html"
        elif self._site.directory_urls:
            path = "".join(f"{part}/" for part in (folders if home else [*folders, stem]))
        else:
            path = "/".join([*folders, f"{stem}.html"])
        item = self._site.nav.get(name)
        trail = item.trail if item else tuple(_label(folder) for folder in folders)
        title = item.title if item else ""
        own = "Home" if home and not folders else _label(folders[-1] if home else stem)
        return Route(f"{self._base}/{quote(path)}", trail, own, title=title, language=self._site.language)

    def markup(self, name: str) -> Markup:
        return "markdown"

    def contents(self) -> Iterator[Notice]:
        config = self._site.root / self._site.config
        if self._site.damage:
            yield Notice("CONFIG_UNREADABLE", self._site.damage, str(config), self._site.damage_line)
        if self._generated:
            pages = "1 page has" if len(self._generated) == 1 else f"{len(self._generated)} pages have"
            message = f"{pages} text that mkdocstrings writes from code; the code is not run, so that text is not read"
            yield Notice("AUTODOC_NOT_RUN", message, str(config))
        if self._read != self._site.docs:
            return
        written = self._site.bounds.config_text(config, "replace") if self._site.nav else ""
        for name in self._site.nav:
            if Path(name).suffix.lower() in _SUFFIXES and not is_file(self._site.docs / name):
                message = f"the navigation names {name}, which does not exist"
                yield Notice("PAGE_MISSING", message, str(config), _line_of(name, written))


def _line_of(name: str, written: str) -> int | None:
    """The line of the configuration with this name; None if the name is in a file that it inherits from."""
    at = written.find(name)
    return written.count("\n", 0, at) + 1 if at >= 0 else None


class IgnorePatterns:
    """Lines as in a .gitignore: the last one that matches decides."""

    def __init__(self, text: str) -> None:
        lines = [line.strip() for line in text.splitlines()]
        self._rules = [
            (not line.startswith("!"), _glob(line.removeprefix("!"))) for line in lines if line and line[0] != "#"
        ]

    def match(self, name: str) -> bool:
        return next((excludes for excludes, rule in reversed(self._rules) if rule.matches(name)), False)


def _glob(pattern: str) -> Glob:
    """A pattern with a slash in it starts at the root. It matches everything below, too."""
    anchored = "/" in pattern.rstrip("/")
    body = pieces_of(pattern.strip("/"), folders=True)
    return Glob([*([] if anchored else [FOLDERS]), *body, BELOW if pattern.endswith("/") else OR_BELOW])


def _label(name: str) -> str:
    """The title that MkDocs makes from a file or folder name."""
    words = name.replace("-", " ").replace("_", " ")
    return words.capitalize() if words.lower() == words else words


def _text(values: Mapping[str, object], key: str) -> str:
    found = values.get(key)
    return found.strip() if isinstance(found, str) else ""

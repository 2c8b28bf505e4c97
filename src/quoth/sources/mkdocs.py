"""An MkDocs site: `mkdocs.yml`, the navigation in it, and the addresses that MkDocs gives.

Every Markdown file below `docs_dir` is published, in the navigation or not, unless `exclude_docs` or `draft_docs`
name it. The navigation gives titles and the sections above a page. The configuration may hold tags that only a running
MkDocs can follow (`!!python/name:…`, `!ENV`, `!relative`); they are read as what they say, and nothing is run.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from posixpath import normpath
from urllib.parse import quote

import yaml

from quoth.domain import AnchorRule, Markup, Notice
from quoth.sources.files import FrontMatter, walk
from quoth.sources.folder import Route

SUFFIXES = frozenset((".md", ".markdown", ".mdown", ".mkdn", ".mkd"))
CONFIGS = ("mkdocs.yml", "mkdocs.yaml")


@dataclass(frozen=True, slots=True)
class Entry:
    title: str
    trail: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class MkDocs:
    root: Path
    config: str
    docs: Path
    title: str = ""
    site_url: str = ""
    directory_urls: bool = True
    language: str | None = None
    nav: Mapping[str, Entry] = field(default_factory=dict)
    excluded: str = ""
    drafts: str = ""
    anchors: AnchorRule = "mkdocs"
    snippet_bases: tuple[Path, ...] = ()
    damage: str = ""
    damage_line: int = 1


class _Loader(yaml.SafeLoader):
    """Reads any tag as what stands behind it."""


def _tagged(loader: yaml.SafeLoader, suffix: str, node: yaml.Node) -> object:
    if isinstance(node, yaml.MappingNode):
        return {"!": suffix, **loader.construct_mapping(node, deep=True)}
    if isinstance(node, yaml.SequenceNode):
        items = loader.construct_sequence(node, deep=True)
        return items[-1] if suffix == "ENV" and len(items) > 1 else "" if suffix == "ENV" else items
    return "" if suffix == "ENV" else loader.construct_scalar(node) or suffix  # type: ignore[arg-type]


_Loader.add_multi_constructor("!", _tagged)
_Loader.add_multi_constructor("tag:yaml.org,2002:python/", _tagged)


def find_mkdocs(path: Path) -> MkDocs | None:
    """The site in this folder, or the one above of whose docs it is part."""
    for folder in (path, *path.parents):
        config = next((name for name in CONFIGS if (folder / name).is_file()), None)
        if config is not None:
            site = read_mkdocs(folder, config)
            return site if site.docs.is_dir() and (folder == path or path.is_relative_to(site.docs)) else None
    return None


def read_mkdocs(root: Path, config: str) -> MkDocs:
    """Tolerant: what cannot be read is taken as not given, and told."""
    damage, line = "", 1
    values: dict[str, object] = {}
    try:
        values = _load(root / config, 0)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        damage = f"{config} is not valid YAML ({error.problem}); defaults are taken"
    except (OSError, ValueError, yaml.YAMLError) as error:
        damage = f"{config} cannot be read ({str(error).splitlines()[0]}); defaults are taken"
    extensions = _extensions(values.get("markdown_extensions"))
    docs = (root / (_text(values, "docs_dir") or "docs")).resolve()
    theme = values.get("theme")
    nav: dict[str, Entry] = {}
    _read_nav(values.get("nav") or values.get("pages"), (), nav)
    return MkDocs(
        root=root,
        config=config,
        docs=docs,
        title=_text(values, "site_name"),
        site_url=_text(values, "site_url"),
        directory_urls=values.get("use_directory_urls") is not False,
        language=(_text(theme, "language") or _text(theme, "locale") or None) if isinstance(theme, dict) else None,
        nav=nav,
        excluded=_text(values, "exclude_docs"),
        drafts=_text(values, "draft_docs"),
        anchors=_anchor_rule(extensions.get("toc", {})),
        snippet_bases=_bases(extensions.get("pymdownx.snippets", {}), root, docs),
        damage=damage,
        damage_line=line,
    )


def _load(path: Path, depth: int) -> dict[str, object]:
    loaded = yaml.load(path.read_bytes(), Loader=_Loader)
    values = {str(key): value for key, value in loaded.items()} if isinstance(loaded, dict) else {}
    parent = values.get("INHERIT")
    if isinstance(parent, str) and depth < 5 and (path.parent / parent).is_file():
        return {**_load(path.parent / parent, depth + 1), **values}
    return values


def _extensions(found: object) -> dict[str, Mapping[str, object]]:
    """By name, each with its options."""
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


def _bases(options: Mapping[str, object], root: Path, docs: Path) -> tuple[Path, ...]:
    """Where snippets are looked for: as configured, then where people put them."""
    found = options.get("base_path")
    named = [base for base in (found if isinstance(found, list) else [found]) if isinstance(base, str)]
    places = {"$config_dir": ".", "$docs_dir": str(docs)}
    bases = [root / places.get(base, base) for base in named]
    return (*bases, root, docs)


def _read_nav(items: object, trail: tuple[str, ...], nav: dict[str, Entry]) -> None:
    for item in items if isinstance(items, list) else []:
        for title, target in (item if isinstance(item, dict) else {"": item}).items():
            if isinstance(target, str) and "://" not in target:
                nav.setdefault(normpath(target), Entry(str(title or ""), trail))
            elif isinstance(target, list):
                _read_nav(target, (*trail, str(title)), nav)


class MkDocsRules:
    toolchain = "mkdocs"

    def __init__(self, site: MkDocs, read: Path, base_url: str) -> None:
        self._site = site
        self._read = read
        self._base = (base_url or site.site_url).rstrip("/")
        self._excluded = Patterns(f"/templates/\n{site.excluded}")
        self._drafts = Patterns(site.drafts)

    @property
    def anchors(self) -> AnchorRule:
        return self._site.anchors

    def paths(self) -> Iterable[Path]:
        return walk(self._read, SUFFIXES)

    def skips(self, name: str, front: FrontMatter) -> str:
        if self._excluded.match(name):
            return "named by exclude_docs"
        if self._drafts.match(name):
            return "named by draft_docs"
        folder, _, file = name.rpartition("/")
        if file.rsplit(".", 1)[0] == "README" and (self._site.docs / folder / "index.md").is_file():
            return "index.md stands for its folder"
        return "draft: true" if front.is_true("draft") else ""

    def route(self, name: str, front: FrontMatter) -> Route:
        *folders, file = name.split("/")
        stem = file.rsplit(".", 1)[0]
        home = stem in ("index", "README")
        stem = "index" if home else stem
        if self._site.directory_urls:
            path = "".join(f"{part}/" for part in (folders if home else [*folders, stem]))
        else:
            path = "/".join([*folders, f"{stem}.html"])
        entry = self._site.nav.get(name)
        trail = entry.trail if entry else tuple(_label(folder) for folder in folders)
        title = entry.title if entry else ""
        own = "Home" if home and not folders else _label(folders[-1] if home else stem)
        return Route(f"{self._base}/{quote(path)}", trail, own, title=title, language=self._site.language)

    def markup(self, name: str) -> Markup:
        return "markdown"

    def depends_on(self, path: Path, text: str) -> Sequence[Path]:
        return ()

    def contents(self) -> Iterator[Notice]:
        config = self._site.root / self._site.config
        if self._site.damage:
            yield Notice("CONFIG_UNREADABLE", self._site.damage, str(config), self._site.damage_line)
        if self._read != self._site.docs:
            return
        for name in self._site.nav:
            if Path(name).suffix.lower() in SUFFIXES and not (self._site.docs / name).is_file():
                message = f"the navigation names {name}, which is not there"
                yield Notice("PAGE_MISSING", message, str(config), _line_of(name, config))


def _line_of(name: str, config: Path) -> int | None:
    """Where the configuration says it. Another file that it inherits from may do so instead."""
    lines = config.read_text("utf-8", "replace").splitlines()
    return next((number for number, line in enumerate(lines, 1) if name in line), None)


class Patterns:
    """Lines as in a .gitignore: the last that matches decides."""

    def __init__(self, text: str) -> None:
        lines = [line.strip() for line in text.splitlines()]
        self._rules = [
            (not line.startswith("!"), _glob(line.removeprefix("!"))) for line in lines if line and line[0] != "#"
        ]

    def match(self, name: str) -> bool:
        return next((excludes for excludes, rule in reversed(self._rules) if rule.search(name)), False)


def _glob(pattern: str) -> re.Pattern[str]:
    anchored = "/" in pattern.rstrip("/")
    body = pattern.strip("/")
    parts = re.split(r"(\*\*/|/\*\*|\*\*|\*|\?|\[[^\]]+\])", body)
    said = {"**/": "(?:.*/)?", "/**": "/.*", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    regex = "".join(said.get(part, part if part.startswith("[") else re.escape(part)) for part in parts)
    end = "/" if pattern.endswith("/") else "(?:/|$)"
    return re.compile(f"{'^' if anchored else '(?:^|/)'}{regex}{end}")


def _label(name: str) -> str:
    """As MkDocs makes a title from a file or folder name."""
    words = name.replace("-", " ").replace("_", " ")
    return words.capitalize() if words.lower() == words else words


def _text(values: Mapping[str, object], key: str) -> str:
    found = values.get(key)
    return found.strip() if isinstance(found, str) else ""

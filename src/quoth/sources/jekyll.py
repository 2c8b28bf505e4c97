"""A Jekyll site: `_config.yml`, which files are pages, their addresses, and the pages above them.

Markdown files with front matter are pages, unless `exclude` names them or they are in a folder that begins with an
underscore and is not a collection. `permalink` in the front matter wins, then that of the collection or the site. The
parents that just-the-docs names in front matter are the sections above a page. Themes and plugins are not looked at.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import translate
from pathlib import Path, PurePosixPath
from urllib.parse import quote

from quoth.domain import AnchorRule, Markup, Notice
from quoth.sources.bounds import Bounds, is_file
from quoth.sources.files import FrontMatter, front_matter_of, walk
from quoth.sources.folder import Route
from quoth.sources.liquid import Liquid
from quoth.sources.loading import Damaged, defaults_used, load_toml, load_yaml
from quoth.sources.plain import label_of

_SUFFIXES = frozenset((".md", ".markdown", ".mkdown", ".mkdn", ".mkd"))
_CONFIGS = ("_config.yml", "_config.yaml", "_config.toml")
_SIGNS = ("theme", "remote_theme", "plugins", "permalink", "markdown", "kramdown", "baseurl", "collections", "defaults")
_FOLDERS = ("_layouts", "_includes", "_posts", "Gemfile")
_EXCLUDED = ("Gemfile", "gemfiles/", "node_modules/", "vendor/bundle/", "vendor/cache/", "vendor/gems/", "vendor/ruby/")
_OPTIONAL = ("jekyll-optional-front-matter", "github-pages")
_POST = re.compile(r"(\d{4})-(\d{1,2})-(\d{1,2})-(.+)")
_TOKEN = re.compile(r":([a-z_]+)")
_MOST_PARENTS = 10


@dataclass(frozen=True, slots=True)
class _Jekyll:
    root: Path
    bounds: Bounds
    config: Path
    values: Mapping[str, object] = field(default_factory=dict)
    damage: str = ""

    def text(self, key: str) -> str:
        found = self.values.get(key)
        return found.strip() if isinstance(found, str) else ""

    @property
    def title(self) -> str:
        return self.text("title")

    @property
    def published(self) -> str:
        base = self.text("baseurl").strip("/")
        url = self.text("url").rstrip("/")
        return f"{url}/{base}" if base else url

    @property
    def callouts(self) -> dict[str, str]:
        """The titles of callouts, as just-the-docs shows them."""
        found = self.values.get("callouts")
        items = found.items() if isinstance(found, dict) else ()
        titled = ((str(name), value.get("title")) for name, value in items if isinstance(value, dict))
        return {name: title for name, title in titled if isinstance(title, str)}

    @property
    def collections(self) -> dict[str, Mapping[str, object]]:
        """The published collections, by name."""
        found = self.values.get("collections")
        items = found.items() if isinstance(found, dict) else ()
        kept: dict[str, Mapping[str, object]] = {
            str(name): value for name, value in items if isinstance(value, dict) and value.get("output") is True
        }
        return {"posts": {}, **kept}

    @property
    def plugins(self) -> tuple[str, ...]:
        found = self.values.get("plugins") or self.values.get("gems")
        return tuple(item for item in found if isinstance(item, str)) if isinstance(found, list) else ()


def find_jekyll(path: Path, bounds: Bounds) -> _Jekyll | None:
    """The site in this folder, or in one above it."""
    for folder in bounds.upwards(path):
        own = bounds.around(folder)
        config = own.first_file(folder, _CONFIGS)
        if config is not None:
            site = _read(folder, config, own)
            known = any(sign in site.values for sign in _SIGNS) or any((folder / name).exists() for name in _FOLDERS)
            return site if known else None
    return None


def _read(root: Path, config: Path, bounds: Bounds) -> _Jekyll:
    try:
        text = bounds.config_text(config)
        loaded: object = load_toml(text) if config.suffix == ".toml" else load_yaml(text)
    except (OSError, Damaged) as error:
        damage = defaults_used(config.name, error)
        return _Jekyll(root, bounds, config, damage=damage)
    values = {str(key): value for key, value in loaded.items()} if isinstance(loaded, dict) else {}
    return _Jekyll(root, bounds, config, values)


class JekyllRules:
    toolchain = "jekyll"

    def __init__(self, site: _Jekyll, read: Path, base_url: str) -> None:
        self.liquid = Liquid(site.root, site.values, site.callouts)
        self._site = site
        self._read = read
        self._base = (base_url or site.published).rstrip("/")
        self._folder = site.text("collections_dir").strip("/")
        self._collections = site.collections
        said = site.values.get("exclude")
        listed = [str(item) for item in said] if isinstance(said, list) else []
        self._excluded = [_pattern(item) for item in (*_EXCLUDED, *listed)]
        self._needs_front = self._front_needed()
        self._parents: dict[str, str] | None = None

    def _front_needed(self) -> bool:
        """Whether pages need front matter. On GitHub they do not; a site with its own Gemfile needs a plugin."""
        gemfile = self._site.root / "Gemfile"
        if any(plugin in _OPTIONAL for plugin in self._site.plugins) or not is_file(gemfile):
            return False
        try:
            return not any(name in self._site.bounds.config_text(gemfile, "replace") for name in _OPTIONAL)
        except (OSError, Damaged):
            return False

    @property
    def anchors(self) -> AnchorRule:
        options = self._site.values.get("kramdown")
        options = options if isinstance(options, dict) else {}
        if options.get("auto_ids") is False:
            return "html"
        if "kramdown" not in (self._site.text("markdown") or "kramdown").lower():
            return "github"
        return "jekyll" if str(options.get("input") or "GFM").upper() == "GFM" else "kramdown"

    def paths(self) -> Iterable[Path]:
        self.liquid.left_out.begin()
        self._parents = None
        return (path for path in walk(self._read, _SUFFIXES) if "_site" not in path.relative_to(self._read).parts)

    def skips(self, name: str, front: FrontMatter) -> str:
        collection, inside = self._collection(name)
        if any(part.startswith(("_", "#", "~")) for part in PurePosixPath(inside).parts):
            return "in a folder that Jekyll does not publish" if "/" in name else "a name that Jekyll does not publish"
        if any(pattern.match(name) for pattern in self._excluded):
            return "excluded by _config.yml"
        if front.values.get("published") is False:
            return "published: false"
        if front.text("redirect_to"):
            return "a redirect to another page"
        if PurePosixPath(name).stem == "404":
            return "the page for addresses that do not exist"
        if not front.body_start and (self._needs_front or collection):
            return "without front matter, so Jekyll does not make a page of it"
        if collection == "posts" and not _POST.fullmatch(PurePosixPath(inside).stem):
            return "a post without a date in its name"
        return ""

    def _collection(self, name: str) -> tuple[str, str]:
        """The collection of a file, and its path in the collection."""
        bare = name.removeprefix(f"{self._folder}/") if self._folder else name
        folder, slash, inside = bare.partition("/")
        if slash and folder.startswith("_") and folder[1:] in self._collections:
            return folder[1:], inside
        return "", name

    def route(self, name: str, front: FrontMatter) -> Route:
        collection, inside = self._collection(name)
        path = PurePosixPath(inside)
        permalink = front.text("permalink") or self._default(name, collection)
        if permalink and not permalink.startswith("/") and permalink not in ("pretty", "date", "none", "ordinal"):
            permalink = f"/{permalink}"
        made = self._document(collection, path, front, permalink) if collection else self._page(path, permalink)
        own = label_of(path.parent.name if path.stem.lower() in ("index", "readme") and path.parent.name else path.stem)
        language = front.text("lang") or self._site.text("lang") or None
        return Route(f"{self._base}{quote(made, safe='/+@~.:,=&')}", self._trail(path, front), own, language=language)

    def _page(self, path: PurePosixPath, permalink: str) -> str:
        folder = "/".join(["", *path.parts[:-1]])
        if permalink.startswith("/"):
            return _filled(permalink, {"path": folder.strip("/"), "basename": path.stem, "output_ext": ".html"})
        home = path.stem == "index" or (path.stem == "README" and not self._needs_front and not self._has_index(path))
        return f"{folder}/" if home else f"{folder}/{path.stem}{self._ending(permalink)}"

    def _has_index(self, path: PurePosixPath) -> bool:
        folder = self._site.root.joinpath(*path.parts[:-1])
        return any(is_file(folder / f"index{ending}") for ending in (".md", ".html", ".markdown"))

    def _ending(self, permalink: str = "") -> str:
        style = permalink or self._site.text("permalink") or "date"
        if style == "pretty" or style.endswith("/"):
            return "/"
        return ".html" if style in ("date", "ordinal", "none") or style.endswith(":output_ext") else ""

    def _document(self, collection: str, path: PurePosixPath, front: FrontMatter, permalink: str) -> str:
        """A page of a collection, or a post."""
        post = _POST.fullmatch(path.stem) if collection == "posts" else None
        title = front.text("slug") or (post[4] if post else path.stem)
        whole = "/".join([*path.parts[:-1], path.stem])
        known = {"collection": collection, "path": whole, "name": path.stem, "title": title, "slug": title.lower()}
        known |= {"output_ext": ".html", "basename": path.stem}
        if post:
            year, month, day = int(post[1]), int(post[2]), int(post[3])
            known |= {"year": f"{year:04}", "month": f"{month:02}", "day": f"{day:02}"}
            known |= {"i_month": f"{month}", "i_day": f"{day}", "short_year": f"{year % 100:02}"}
            known["categories"] = "/".join(_categories(front))
        said = permalink or str(self._collections[collection].get("permalink") or "")
        site = self._site.text("permalink")
        if not said or said in ("pretty", "date", "none", "ordinal"):
            ending = self._ending(said)
            style = said or site or "date"
            dates = {"none": "/:categories/:title", "pretty": "/:categories/:year/:month/:day/:title"}
            pattern = dates.get(style, dates["pretty"]) if post else "/:collection/:path"
            said = site if post and style.startswith("/") else f"{pattern}{ending}"
        return _filled(said, known)

    def _default(self, name: str, collection: str) -> str:
        """The permalink that the configuration sets for all pages of a folder."""
        defaults = self._site.values.get("defaults")
        found, longest = "", -1
        for item in defaults if isinstance(defaults, list) else ():
            scope, values = (item.get("scope"), item.get("values")) if isinstance(item, dict) else (None, None)
            if not isinstance(scope, dict) or not isinstance(values, dict):
                continue
            folder = str(scope.get("path") or "").strip("/")
            kind = str(scope.get("type") or "")
            if (not folder or name == folder or name.startswith(f"{folder}/")) and kind in ("", collection or "pages"):
                permalink = values.get("permalink")
                if isinstance(permalink, str) and len(folder) > longest:
                    found, longest = permalink, len(folder)
        return found

    def _trail(self, path: PurePosixPath, front: FrontMatter) -> tuple[str, ...]:
        """The parents that the front matter names; without one, the folders."""
        parent = front.text("parent")
        if not parent:
            folders = path.parts[:-1]
            folders = folders[:-1] if path.stem.lower() == "index" else folders
            return () if self._is_themed(front) else tuple(label_of(folder) for folder in folders)
        trail = [parent]
        above = front.text("grand_parent") or self._parent_of(parent)
        while above and above not in trail and len(trail) < _MOST_PARENTS:
            trail.insert(0, above)
            above = self._parent_of(above)
        return tuple(trail)

    @staticmethod
    def _is_themed(front: FrontMatter) -> bool:
        """A page of just-the-docs without a parent is at the top, wherever its file is."""
        return "nav_order" in front.values or "has_children" in front.values

    def _parent_of(self, title: str) -> str:
        if self._parents is None:
            self._parents = {}
            for path in walk(self._site.root, _SUFFIXES):
                front = front_matter_of(path, self._site.bounds)
                if front.text("parent"):
                    self._parents.setdefault(front.text("title"), front.text("parent"))
        return self._parents.get(title, "")

    def markup(self, name: str) -> Markup:
        return "markdown"

    def contents(self) -> Iterator[Notice]:
        if self._site.damage:
            yield Notice("CONFIG_UNREADABLE", self._site.damage, str(self._site.config), 1)
        if left_out := self.liquid.left_out.sentence():
            yield Notice("LIQUID_LEFT_OUT", left_out, str(self._site.config), 1)


def _filled(pattern: str, known: Mapping[str, str]) -> str:
    """A permalink. Parts that are not known, such as an hour, are left out."""
    ends_with_folder = pattern.endswith("/")
    path = "/" + re.sub(r"/{2,}", "/", _TOKEN.sub(lambda token: known.get(token[1], ""), pattern)).strip("/")
    return f"{path}/" if ends_with_folder and path != "/" else path


def _categories(front: FrontMatter) -> Sequence[str]:
    said = front.values.get("categories") or front.values.get("category")
    listed = said if isinstance(said, list) else str(said).split() if said else []
    return [re.sub(r"\s+", "-", str(item).strip().lower()) for item in listed]


def _pattern(item: str) -> re.Pattern[str]:
    """Matches the path of a file, a folder with all below it, or a pattern for the whole path."""
    bare = item.strip("/")
    stars = re.sub(r"\*{2,}", "*", bare)
    if stars.count("*") > 3:  # such a pattern may take forever
        return re.compile(re.escape(bare))
    return (
        re.compile(f"{translate(stars)[:-2]}(?:/.*)?\\Z")
        if "*" in bare or "?" in bare
        else re.compile(f"{re.escape(bare)}(?:/|\\Z)")
    )

"""What the configuration of a Docusaurus site says: where it is published, and which docs it has.

The configuration is a program. `quoth.sources.javascript` reads what is written out in it; nothing is run. A value that
has to be computed gets a notice that says which value is used and what to pass instead. A site may have several docs
(instances of the docs plugin); one of them is read, and the others are named in notices. `quoth.sources.docusaurus`
decides which files are pages and where each is published.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from posixpath import join, normpath

from quoth.domain import Notice
from quoth.sources.bounds import Bounds
from quoth.sources.javascript import Module
from quoth.sources.javascript_values import SPREADS, Call, Unknown, first_object, is_known
from quoth.sources.loading import Damaged, load_json

_PLUGINS = ("@docusaurus/plugin-content-docs", "content-docs", "docusaurus-plugin-content-docs")
_MOST_VERSIONS = 500


@dataclass(frozen=True, slots=True)
class Docs:
    """One instance of the docs plugin."""

    id: str = "default"
    path: str = "docs"  # as the configuration names it
    route: str = "docs"
    route_known: bool = True
    include: tuple[str, ...] = ()  # empty: the default
    exclude: tuple[str, ...] | None = None  # None: the default
    number_prefixes: bool = True
    versions: Mapping[str, str] = field(default_factory=lambda: {"current": ""})  # name → path below the route
    last: str = "current"

    @property
    def prefix(self) -> str:
        """The prefix of the names of its version files."""
        return "" if self.id == "default" else f"{self.id}_"


@dataclass(frozen=True, slots=True)
class Site:
    """The values of the configuration, and which of the docs are read."""

    root: Path
    bounds: Bounds
    title: str = ""
    url: str = ""
    base_path: str = "/"
    docs: Docs = Docs()
    others: tuple[Docs, ...] = ()
    folder: str = "docs"  # of the version and language that are read
    pages: Path = Path()  # its real path
    markdown_format: str = "mdx"
    trailing_slash: bool | None = None
    language: str | None = None
    version: str = "current"  # the version that is read
    locale: str = ""  # the first part of a translation's path
    notices: tuple[Notice, ...] = ()

    def parts(self, *, given: bool = False) -> tuple[str, ...]:
        """The parts of a URL between the site's and the page's own. If the user gave the address and our route is only
        a guess, the address is assumed to contain the route."""
        path = self.docs.versions.get(self.version, self.version)
        route = self.docs.route if self.docs.route_known or not given else ""
        return tuple(part.strip("/") for part in (self.locale, route, path) if part.strip("/"))


def read_config(root: Path, config: Path | None, bounds: Bounds) -> Site:
    """The site as configured; the defaults if there is no configuration."""
    values = _Values(config)
    found = _exported(config, bounds, values) if config else {}
    values.name_spreads(found, "the site")
    instances = list(_instances(found, root, bounds, values)) or [Docs()]
    main = next((docs for docs in instances if docs.id == "default"), instances[0])
    slash = found.get("trailingSlash")
    i18n, markdown = found.get("i18n"), found.get("markdown")
    return Site(
        root=root,
        bounds=bounds,
        title=values.text(found, "title"),
        url=values.text(found, "url", instead="Pass --base-url"),
        base_path=values.text(found, "baseUrl", "/", "Pass --base-url"),
        docs=main,
        others=tuple(docs for docs in instances if docs is not main),
        folder=main.path,
        markdown_format=(values.text(markdown, "format") if isinstance(markdown, dict) else "") or "mdx",
        trailing_slash=slash if isinstance(slash, bool) else None,
        language=(values.text(i18n, "defaultLocale") if isinstance(i18n, dict) else "") or None,
        notices=tuple(values.notices),
    )


def asked_for(site: Site, path: Path) -> Site:
    """The site with the docs, version or translation that the folder holds; its main docs if it holds none."""
    inside = path.relative_to(site.root).parts
    for docs in (site.docs, *site.others):
        plugin = "docusaurus-plugin-content-docs" + ("" if docs.id == "default" else f"-{docs.id}")
        own = replace(site, docs=docs, others=tuple(o for o in (site.docs, *site.others) if o is not docs))
        if len(inside) > 1 and inside[0] == f"{docs.prefix}versioned_docs":
            return replace(own, folder="/".join(inside[:2]), version=inside[1].removeprefix("version-"))
        if len(inside) > 3 and (inside[0], inside[2]) == ("i18n", plugin):
            locale, version = inside[1], inside[3].removeprefix("version-")
            prefix = "" if locale == site.language else locale
            return replace(own, folder="/".join(inside[:4]), version=version, locale=prefix, language=locale)
        if inside and docs is not site.docs and site.bounds.published(site.root, docs.path, path) is not None:
            return replace(own, folder=docs.path)
    if site.version not in site.docs.versions:  # `docs` is not published
        folder = f"{site.docs.prefix}versioned_docs/version-{site.docs.last}"
        return replace(site, folder=folder, version=site.docs.last)
    return site


def _exported(config: Path, bounds: Bounds, values: _Values) -> Mapping[str, object]:
    try:
        values.text_of_config = bounds.config_text(config, "replace")
    except (OSError, Damaged) as error:
        message = f"{config.name} cannot be read: {error}. {_INSTEAD}"
        values.notices.append(Notice("CONFIG_UNREADABLE", message, str(config), 1))
        return {}
    found = Module(values.text_of_config, lambda name: _beside(config, name, bounds)).value("default")
    if not first_object(found):
        message = f"what {config.name} exports has to be computed. {_INSTEAD}"
        values.notices.append(Notice("CONFIG_NOT_UNDERSTOOD", message, str(config), 1))
    return first_object(found)


_INSTEAD = "Defaults are used: pass --base-url with the address of the docs, and give their folder"
_ENDINGS = ("", ".ts", ".js", ".mjs", ".cjs", ".json")


def _beside(config: Path, name: str, bounds: Bounds) -> Module | None:
    """A module of the project itself. Its own imports are not followed."""
    if not name.startswith("."):
        return None
    for ending in _ENDINGS:
        path = config.parent / f"{name}{ending}"
        if bounds.is_file(path):
            try:
                text = bounds.config_text(path, "replace")
            except (OSError, Damaged):
                return None
            return Module(f"export default {text}" if path.suffix == ".json" else text)
    return None


class _Values:
    """Takes values from the configuration, and notes the ones it cannot understand."""

    def __init__(self, config: Path | None) -> None:
        self._file = str(config or "")
        self.text_of_config = ""
        self.notices: list[Notice] = []

    def computed(self, key: str, value: object, used: str, instead: str = "") -> None:
        what = f" (`{_said(value)}`)" if _said(value) else ""
        message = f"{key} is computed{what} and cannot be known without running it; {used}. {instead}".rstrip(" .")
        self.notices.append(Notice("CONFIG_NOT_UNDERSTOOD", message, self._file, self._line(rf"\b{key.split()[-1]}\b")))

    def text(self, record: Mapping[str, object], key: str, default: str = "", instead: str = "") -> str:
        value = _path(record.get(key))
        if isinstance(value, str):
            return value.strip()
        if not is_known(value) and instead:
            used = f"{default!r} is used" if default else "it is ignored"
            self.computed(key, value, used, f"{instead} if that is wrong")
        return default

    def texts(self, record: Mapping[str, object], key: str, instead: str) -> tuple[str, ...] | None:
        value = record.get(key)
        if value is None:
            return None
        listed = value if isinstance(value, list) else [value]
        for item in listed:
            if not isinstance(item, str):
                self.computed(f"a part of {key}", item, "it is ignored", instead)
        return tuple(item for item in listed if isinstance(item, str))

    def name_spreads(self, record: Mapping[str, object], what: str) -> None:
        spreads = record.get(SPREADS, ())
        for spread in spreads if isinstance(spreads, tuple) else ():
            message = f"`...{_said(spread)}` may say more about {what}, which cannot be known without running it"
            line = self._line(rf"\.\.\.\s*{re.escape(_said(spread).removesuffix('()'))}")
            self.notices.append(Notice("CONFIG_NOT_UNDERSTOOD", message, self._file, line))

    def _line(self, pattern: str) -> int:
        found = re.search(pattern, self.text_of_config)
        return self.text_of_config.count("\n", 0, found.start()) + 1 if found else 1


def _said(value: object) -> str:
    return value.said if isinstance(value, Unknown) else f"{value.name}()" if isinstance(value, Call) else ""


def _path(value: object) -> object:
    """`path.join(__dirname, 'docs')` is `docs`."""
    if not isinstance(value, Call) or value.name.rpartition(".")[2] not in ("join", "resolve"):
        return value
    parts = ["." if part == Unknown("__dirname") else part for part in value.arguments]
    return normpath(join(*map(str, parts))) if parts and all(isinstance(part, str) for part in parts) else value


# --- the docs of a site ----------------------------------------------------------------------------------------------


def _instances(found: Mapping[str, object], root: Path, bounds: Bounds, values: _Values) -> Iterator[Docs]:
    """Every instance of the docs plugin, starting with the presets."""
    for name, options in _named(found.get("presets")):
        if options is not None and isinstance(options.get("docs"), dict):
            values.name_spreads(options, f"the preset {name}")
        docs = options.get("docs") if options is not None else None
        if isinstance(docs, dict):
            yield _docs(docs, root, bounds, values)
        elif "classic" in name and docs is None:
            yield Docs()
    for name, options in _named(found.get("plugins")):
        if name.removesuffix("/") in _PLUGINS:
            yield _docs(options or {}, root, bounds, values)


def _named(listed: object) -> Iterator[tuple[str, Mapping[str, object] | None]]:
    """The plugins or presets of a list, each with its options."""
    for item in listed if isinstance(listed, list) else []:
        name, options = (item[0], item[1]) if isinstance(item, list) and len(item) > 1 else (item, None)
        name = name[0] if isinstance(name, list) and name else name
        if isinstance(name, str):
            yield name, options if isinstance(options, dict) else None


def _docs(options: Mapping[str, object], root: Path, bounds: Bounds, values: _Values) -> Docs:
    id = values.text(options, "id") or "default"
    values.name_spreads(options, "the docs")
    last, versions = _versions(root, id, options, bounds, values)
    prefixes = options.get("numberPrefixParser", True)
    if not is_known(prefixes):
        values.computed("numberPrefixParser", prefixes, "the default one is used")
    return Docs(
        id=id,
        path=values.text(options, "path", "docs", "Give the folder of the docs"),
        route=values.text(options, "routeBasePath", "docs", "Pass --base-url with the address of the docs"),
        route_known=is_known(options.get("routeBasePath")),
        include=values.texts(options, "include", "Give only the folder that is published") or (),
        exclude=values.texts(options, "exclude", "Files that it excludes may be read"),
        number_prefixes=prefixes is not False,
        versions=versions,
        last=last,
    )


def _versions(
    root: Path, id: str, docs: Mapping[str, object], bounds: Bounds, values: _Values
) -> tuple[str, dict[str, str]]:
    """The last version, and the path of each version: empty for the last, `next` for the one after it."""
    names = _listed_versions(root, id, bounds)
    if not names or docs.get("disableVersioning") is True:
        return "current", {"current": ""}
    if docs.get("includeCurrentVersion") is not False:
        names.append("current")
    only = docs.get("onlyIncludeVersions")
    if isinstance(only, list) and any(name in names for name in only):
        names = [name for name in names if name in only]
    last = values.text(docs, "lastVersion", names[0], f"Give the folder of {id}'s last version")
    usual = {name: "" if name == last else "next" if name == "current" else name for name in names}
    return last, {name: _own_path(docs.get("versions"), name, path) for name, path in usual.items()}


def _own_path(versions: object, name: str, usual: str) -> str:
    own = versions.get(name) if isinstance(versions, dict) else None
    path = own.get("path") if isinstance(own, dict) else None
    return path if isinstance(path, str) else usual


def _listed_versions(root: Path, id: str, bounds: Bounds) -> list[str]:
    file = "versions.json" if id == "default" else f"{id}_versions.json"
    try:
        listed = load_json(bounds.config_text(root / file))
    except (OSError, Damaged):
        return []
    return [name for name in listed if isinstance(name, str)][:_MOST_VERSIONS] if isinstance(listed, list) else []

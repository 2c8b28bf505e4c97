"""An Antora component or site: which of its files are pages, where they are published, and their place in the book.

A page is `modules/<module>/pages/**/*.adoc` of a component, which is a folder with antora.yml. Its URL is
component/version/module/page.html: `ROOT` and an empty version are left out, and the playbook may change the rest
(html_extension_style, latest_version_segment). Includes name resources (`partial$x.adoc`, `other:example$x.rb`). The
trail of a page is its path through the navigation. `antora_project` finds the files that say all this.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from posixpath import dirname, join, normpath
from urllib.parse import quote

from quoth.domain import AnchorRule, Markup, Notice
from quoth.errors import Unreadable
from quoth.sources.antora_project import AntoraProject, Component
from quoth.sources.asciidoc_includes import AsciidocIncludes, Site, beside
from quoth.sources.files import FrontMatter, decode, walk
from quoth.sources.folder import Route
from quoth.sources.plain import label_of
from quoth.text.asciidoc import first_asciidoc_title
from quoth.text.asciidoc_inline import inline
from quoth.text.asciidoc_lines import BULLET, TITLE

_RESOURCE = re.compile(r"(?:([^@:$]+)@)?(?:(?:([^@:$]+):)?([^@:$]+)?:)?(?:([^@:$]+)\$)?([^:$][^@:$]*)$")
_XREF = re.compile(r"xref:([^\[\s]+)\[([^\]]*)\]")


class AntoraRules:
    toolchain = "antora"
    anchors: AnchorRule = "html"

    def __init__(self, project: AntoraProject, read: Path, base_url: str) -> None:
        self._project = project
        self._read = read
        base = base_url or project.site_url
        self._base = f"{base.rstrip('/')}/" if base else "/"
        self._trails: dict[Path, tuple[str, ...]] = {}
        self._missing: list[Notice] = []

    def paths(self) -> Iterable[Path]:
        found = [path for component in self._project.components for path in _pages(component)]
        self._trails, self._missing = {}, []
        for component in self._project.components:
            for file in component.nav:
                self._follow(component, component.folder / file)
        return [path for path in found if path.is_relative_to(self._read)]

    def skips(self, name: str, front: FrontMatter) -> str:
        return ""

    def route(self, name: str, front: FrontMatter) -> Route:
        path = self._project.root / name
        component, module, relative = self._place(path)
        url = self._base + quote(self._url(component, module, relative))
        trail = self._trails.get(path)
        if trail is None:
            folders = relative.split("/")[:-1]
            trail = tuple(label_of(part) for part in ([] if module == "ROOT" else [module]) + folders)
        if len(self._project.components) > 1:
            trail = (component.title or component.name, *trail)
        stem = relative.rsplit("/", 1)[-1].removesuffix(".adoc")
        return Route(url, trail, label_of(stem), version=component.version or None)

    def markup(self, name: str) -> Markup:
        return "asciidoc"

    def contents(self) -> Iterator[Notice]:
        yield from self._missing
        first = self._project.components[0]
        config = str(first.folder / "antora.yml")
        for component in self._project.components:
            if component.damage:
                yield Notice("CONFIG_UNREADABLE", component.damage, str(component.folder / "antora.yml"))
        if not self._project.playbook:
            message = (
                "the site's playbook is not here, so Antora's own defaults are used for addresses and section ids; if"
                " links do not open, put a copy of antora-playbook.yml beside this file"
            )
            yield Notice("PLAYBOOK_MISSING", message, config)

    # --- addresses ---------------------------------------------------------------------------------------------------

    def _place(self, path: Path) -> tuple[Component, str, str]:
        """The component and module of a page, and its path below the folder of pages."""
        component = self._project.component_of(path)
        _, module, _, *rest = path.relative_to(component.folder).parts
        return component, module, "/".join(rest)

    def _url(self, component: Component, module: str, relative: str) -> str:
        project = self._project
        *folders, file = relative.split("/")
        stem = file.removesuffix(".adoc")
        name = "" if component.name == "ROOT" else component.name
        parts = [name, project.version_segment(component), "" if module == "ROOT" else module, *folders]
        above = "".join(f"{part}/" for part in parts if part)
        if project.extension_style == "drop":
            return above if stem == "index" else above + stem
        if project.extension_style == "indexify":
            return above if stem == "index" else f"{above}{stem}/"
        return f"{above}{stem}.html"

    # --- navigation --------------------------------------------------------------------------------------------------

    def _follow(self, component: Component, file: Path) -> None:
        """Read a list of links. A page that is listed twice belongs to the first place."""
        bounds = self._project.bounds
        if not bounds.is_file(file):
            self._missing.append(
                Notice(
                    "PAGE_MISSING",
                    f"the navigation file {file.name} does not exist",
                    str(component.folder / "antora.yml"),
                )
            )
            return
        text = decode(bounds.page_bytes(file, file.name), file.name)
        expanded = AsciidocIncludes(bounds, site_of(self._project)).expand(text, file, file.name).text
        above: list[tuple[int, str]] = []
        for line in expanded.splitlines():
            if title := TITLE.match(line):
                above = [(0, inline(title[1]))]
            elif item := BULLET.match(line):
                depth = len(item[1])
                above = [entry for entry in above if entry[0] < depth]
                said = line[item.end() :]
                self._note(file, component, said, tuple(words for _, words in above))
                above.append((depth, inline(said)))

    def _note(self, file: Path, component: Component, said: str, trail: tuple[str, ...]) -> None:
        xref = _XREF.search(said)
        target = resource(self._project, xref[1].partition("#")[0], file, "pages") if xref else None
        if target is not None and xref is not None:
            self._trails.setdefault(target, trail)
            if not self._project.bounds.is_file(target):
                self._missing.append(
                    Notice("PAGE_MISSING", f"the navigation names {xref[1]}, which does not exist", str(file))
                )


def _pages(component: Component) -> Iterator[Path]:
    for path in walk(component.folder / "modules", frozenset((".adoc",))):
        parts = path.relative_to(component.folder).parts
        if len(parts) > 3 and parts[2] == "pages" and parts[3] != "_partials":
            yield path


def resource(project: AntoraProject, said: str, path: Path, family: str) -> Path | None:
    """The file that a resource id in the file `path` names; None if its component is not here."""
    found = _RESOURCE.match(said)
    here = project.component_of(path)
    if found is None:
        return None
    version, name, module, kind, relative = found.groups()
    component = _component(project, here, name, version)
    if component is None:
        return None
    parts = path.relative_to(here.folder).parts if path.is_relative_to(here.folder) else ()
    module = module or ("ROOT" if name or len(parts) < 2 else parts[1])
    folder = f"{kind}s" if kind else family
    if relative.startswith("./") and len(parts) > 3:
        relative = join(dirname("/".join(parts[3:])), relative)
    return component.folder / "modules" / module / folder / normpath(relative)


def _component(project: AntoraProject, here: Component, name: str | None, version: str | None) -> Component | None:
    if not name:
        return None if version and version != here.version else here
    return here if name == here.name and version is None else project.named(name, version)


def site_of(project: AntoraProject) -> Site:
    """What Antora adds to each document."""

    def resolve(said: str, path: Path) -> Path:
        if not re.search(r"[$:@]", said):
            return beside(said, path)
        return resource(project, said, path, "pages") or path.parent / said

    def of_page(path: Path) -> Mapping[str, str]:
        component = project.component_of(path)
        parts = path.relative_to(component.folder).parts
        module = parts[1] if len(parts) > 2 else "ROOT"
        own = component.folder / "modules" / module
        return {
            **component.soft,
            "page-component-name": component.name,
            "page-component-title": component.title,
            "page-component-version": component.version,
            "page-version": component.version,
            "page-module": module,
            "page-relative-src-path": "/".join(parts[3:]),
            "partialsdir": str(own / "partials"),
            "examplesdir": str(own / "examples"),
        }

    def title_of(target: str, path: Path) -> str:
        page = resource(project, target, path, "pages") if "#" not in target and target.endswith(".adoc") else None
        return first_asciidoc_title(_head(project, page)) if page is not None and project.bounds.is_file(page) else ""

    return Site(project.attributes, project.locked, resolve, of_page, title_of)


def _head(project: AntoraProject, page: Path) -> str:
    """The beginning of a page, where its title is."""
    try:
        return decode(project.bounds.page_bytes(page, page.name)[:4000].rpartition(b"\n")[0], page.name)
    except Unreadable:
        return ""  # reported when that page is read

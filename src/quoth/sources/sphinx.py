"""A Sphinx project: which of its files are pages, where they are published, and their place in the book.

A page is a file with a source suffix that no exclude pattern matches; `:orphan:` pages count too. Its URL is its path
with `.html` (or as a folder, if `.readthedocs.yaml` names the builder `dirhtml`) below `--base-url` or `html_baseurl`.
Its trail is the chain of toctrees that leads to it, captions included. Text that autodoc writes from the project's code
is not read, because the code would have to run. `quoth.sources.sphinx_conf` reads conf.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from posixpath import join, normpath
from urllib.parse import quote

from quoth.domain import AnchorRule, Markup, Notice
from quoth.errors import Unreadable
from quoth.sources.files import FrontMatter, walk
from quoth.sources.folder import Route
from quoth.sources.globs import Glob, pieces_of
from quoth.sources.sphinx_conf import SphinxProject, Toctree
from quoth.text.markdown import first_heading, leaves, parse

_TOCTREE = re.compile(r"\s*(?:\.\.[ \t]+toctree::|[`~:]{3,}\{toctree\})[^\n]*\n")
_TITLED = re.compile(r"<([^<>]+)>$")
_OPTION = re.compile(r":(\w+):[ \t]*(.*)$")
_AUTODOC = re.compile(
    r"^[ \t]*(?:\.\.[ \t]+|`{3,}\{)auto(?:module|class|function|exception|method|data|summary|enum)\b", re.M
)


@dataclass(frozen=True, slots=True)
class _Doc:
    path: Path
    title: str
    toctrees: tuple[Toctree, ...]
    autodoc: bool


class SphinxRules:
    toolchain = "sphinx"
    anchors: AnchorRule = "sphinx"

    def __init__(self, project: SphinxProject, read: Path, base_url: str) -> None:
        self._project = project
        self._read = read
        base = base_url or project.base_url
        self._base = f"{base.rstrip('/')}/" if base else ""
        self._excluded = [_glob(pattern) for pattern in project.excluded]
        self._docs: dict[str, _Doc] = {}
        self._trails: dict[str, tuple[str, ...]] = {}
        self._missing: list[Notice] = []

    def paths(self) -> Iterable[Path]:
        """All pages. The whole project is scanned first, because any file may have a toctree that names them."""
        paths = [path for path in self._all() if not self._is_pruned(path)]
        self._docs = {self._docname(path): self._scanned(path) for path in paths}
        self._follow()
        return [path for path in paths if path.is_relative_to(self._read)]

    def skips(self, name: str, front: FrontMatter) -> str:
        if self._matches(name):
            return f"excluded by exclude_patterns in {self._project.conf}"
        listed = not self._project.listed_only or self._without_suffix(name) in self._trails
        return "" if listed else "not in the table of contents"

    def route(self, name: str, front: FrontMatter) -> Route:
        docname = self._without_suffix(name)
        project = self._project
        if not project.folders:
            path = f"{docname}{project.ending}"
        elif docname == "index" or docname.endswith("/index"):
            path = docname.removesuffix("index")
        else:
            path = f"{docname}/"
        trail = self._trails.get(docname, ())
        url = self._base + quote(path)
        return Route(url or ".", trail, docname.rsplit("/", 1)[-1], language=project.language, version=project.version)

    def markup(self, name: str) -> Markup:
        kind = self._project.suffixes.get(self._suffix(name), "restructuredtext")
        if kind == "jupyter":
            return "markdown" if self._project.nbsphinx else "myst"
        return "myst" if kind in ("markdown", "myst", "myst-nb") else "rst"

    def contents(self) -> Iterator[Notice]:
        """Toctrees that name missing pages, and pages with text that only running code would write."""
        yield from self._missing
        pages = sum(doc.autodoc for doc in self._docs.values())
        if pages:
            message = (
                f"{pages} {'page has' if pages == 1 else 'pages have'} text that autodoc writes from the project's"
                " code; the code is not run, so that text is not in the book"
            )
            yield Notice("AUTODOC_NOT_RUN", message, str(self._project.source / self._project.conf))

    # --- files -------------------------------------------------------------------------------------------------------

    def _all(self) -> Iterator[Path]:
        endings = frozenset(f".{suffix.rsplit('.', 1)[-1]}" for suffix in self._project.suffixes)
        for path in walk(self._project.source, endings):
            if self._suffix(path.name):
                yield path

    def _suffix(self, name: str) -> str:
        return next((suffix for suffix in self._project.suffixes if name.endswith(suffix)), "")

    def _without_suffix(self, name: str) -> str:
        return name.removesuffix(self._suffix(name))

    def _docname(self, path: Path) -> str:
        return self._without_suffix(path.relative_to(self._project.source).as_posix())

    def _is_pruned(self, path: Path) -> bool:
        folders = path.relative_to(self._project.source).parts[:-1]
        return any(self._matches("/".join(folders[: depth + 1])) for depth in range(len(folders)))

    def _matches(self, name: str) -> bool:
        return any(pattern.matches(name) for pattern in self._excluded)

    # --- toctrees ----------------------------------------------------------------------------------------------------

    def _scanned(self, path: Path) -> _Doc:
        named = tuple(self._project.toctrees.get(self._docname(path), ()))
        if path.suffix == ".ipynb":
            return _Doc(path, "", named, False)
        try:
            text = self._project.bounds.page_bytes(path, path.name).decode("utf-8", "replace")
        except Unreadable:
            return _Doc(path, "", named, False)  # reported when the page is read
        text = text.replace("\r\n", "\n").replace("\r", "\n")
        markup = self.markup(path.name)
        title = first_heading(text, markup=markup)
        try:
            found = tuple(_toctrees(text, markup))
        except Unreadable:
            found = ()  # reported when the page is read
        return _Doc(path, title, (*named, *found), bool(_AUTODOC.search(text)))

    def _follow(self) -> None:
        """Walk the toctrees from the root document. A page that several of them name belongs to the first."""
        self._trails, self._missing = {self._project.root_doc: ()}, []
        waiting = [self._project.root_doc]
        for docname in waiting:
            doc = self._docs.get(docname)
            trail = self._trails[docname]
            if doc is None:
                continue
            above = trail if docname == self._project.root_doc else (*trail, doc.title or docname)
            for toctree in doc.toctrees:
                below = (*above, toctree.caption) if toctree.caption else above
                for target in self._targets(docname, toctree):
                    if target not in self._trails:
                        self._trails[target] = below
                        waiting.append(target)

    def _targets(self, docname: str, toctree: Toctree) -> Iterator[str]:
        folder = docname.rpartition("/")[0]
        for line, said in toctree.entries:
            if said == "self" or "://" in said or said.startswith("mailto:"):
                continue
            name = said.lstrip("/") if said.startswith("/") else normpath(join(folder, said))
            if toctree.glob and re.search(r"[*?\[]", name):
                pattern = _glob(name)
                yield from sorted(other for other in self._docs if pattern.matches(other) and other != docname)
                continue
            name = name if name in self._docs else self._without_suffix(name)
            if name in self._docs:
                yield name
            elif name not in ("genindex", "modindex", "search", "py-modindex"):
                message = f"the toctree names {said}, which is not a page"
                file = toctree.file or self._docs[docname].path
                self._missing.append(Notice("TOCTREE_MISSING", message, str(file), line))


def _toctrees(text: str, markup: Markup) -> Iterator[Toctree]:
    """The toctrees of a page, without the ones it only shows as examples."""
    if "toctree" not in text:
        return
    line = at = 0
    for leaf in leaves(parse(text, markup=markup)):
        opening = _TOCTREE.match(text, leaf.start, leaf.end + 1) if leaf.kind == "markup" else None
        if opening is not None:
            line, at = line + text.count("\n", at, opening.end()), opening.end()
            yield _toctree(text[at : leaf.end].split("\n"), line + 1)


def _toctree(lines: Sequence[str], first: int) -> Toctree:
    """`first` is the number of the first line in the file."""
    options: dict[str, str] = {}
    entries: list[tuple[int, str]] = []
    for number, line in enumerate(map(str.strip, lines), first):
        option = _OPTION.match(line)
        if option and not entries:
            options[option[1]] = option[2].strip()
        elif line and line != "---" and not line.startswith((".. ", "```", "~~~", ":::")):
            titled = _TITLED.search(line)
            entries.append((number, titled[1].strip() if titled else line))
    return Toctree(tuple(entries), options.get("caption", ""), "glob" in options)


def _glob(pattern: str) -> Glob:
    """Sphinx's own globs: `*` and `?` stay in a folder, `**` does not."""
    return Glob(pieces_of(pattern, folders=False))

"""The description of a Sphinx project: conf.py, read as text and never run, or the YAML files of a Jupyter Book.

Values that are written out in conf.py count (also if they are joined from earlier ones, appended or extended); computed
values do not. The extensions that read pages are known: MyST, nbsphinx, MyST-NB. A Jupyter Book gives the same
`SphinxProject`; its table of contents becomes the toctrees of the pages it names. A file that cannot be read counts as
empty.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from quoth.sources.bounds import Bounds
from quoth.sources.loading import Damaged, load_yaml

# --- conf.py ---------------------------------------------------------------------------------------------------------


_FOLDERS = ("", "docs", "doc", "source", "docs/source", "doc/source", "docs/src", "doc/src", "documentation")
_ROOTS = ("index", "contents")
_SUFFIXES = (".rst", ".md", ".txt", ".ipynb")
_READ = frozenset(
    (
        *("project", "version", "release", "language", "html_baseurl", "exclude_patterns", "include_patterns"),
        *("source_suffix", "root_doc", "master_doc", "extensions", "html_title", "html_file_suffix", "html_extra_path"),
        *("html_link_suffix", "templates_path", "html_static_path"),
    )
)
_MARKDOWN = ("myst_parser", "myst_nb", "recommonmark", "m2r", "m2r2", "sphinx_mdinclude", "sphinx_markdown_parser")
_NOTEBOOKS = ("nbsphinx", "myst_nb", "jupyter_sphinx")
_FOLDERS_ABOVE = 4  # how far up the project of a folder is looked for
_DEEPEST_VALUE = 60  # nested expressions
_BUILDER = re.compile(r"^[ \t]+builder:[ \t]*[\"']?(dirhtml|html|singlehtml)\b", re.M)


@dataclass(frozen=True, slots=True)
class Toctree:
    entries: tuple[tuple[int, str], ...]  # the line in its file, and the target as written
    caption: str = ""
    glob: bool = False
    file: Path | None = None  # where it is, if not in the page itself


@dataclass(frozen=True, slots=True)
class SphinxProject:
    """`source` is the folder of conf.py. Each suffix has its kind of page: rst, myst, or a notebook of either."""

    source: Path
    bounds: Bounds
    title: str = ""
    version: str | None = None
    language: str | None = None
    base_url: str = ""
    root_doc: str = "index"
    suffixes: Mapping[str, str] = field(default_factory=lambda: {".rst": "restructuredtext"})
    excluded: tuple[str, ...] = ()
    ending: str = ".html"
    folders: bool = False  # the dirhtml builder: every page is a folder
    nbsphinx: bool = False
    conf: str = "conf.py"
    toctrees: Mapping[str, Sequence[Toctree]] = field(default_factory=dict)  # by page, in addition to those in its text
    listed_only: bool = False  # pages that no toctree leads to are not published


def find_sphinx(path: Path, bounds: Bounds) -> SphinxProject | None:
    """The project in this folder or in its docs, or one above that includes the folder."""
    inside = [path / name for name in _FOLDERS]
    inside += sorted(found.parent for found in path.glob("doc*/*/conf.py"))
    for folder in (*inside, *_above(path, bounds)):
        project = _project(folder, path, bounds.around(folder))
        if project is not None:
            return project
    return None


def _above(path: Path, bounds: Bounds) -> list[Path]:
    return list(bounds.upwards(path))[1 : _FOLDERS_ABOVE + 1]


def _project(folder: Path, path: Path, bounds: Bounds) -> SphinxProject | None:
    conf = folder / "conf.py"
    if not bounds.is_file(conf) or not bounds.holds(folder):
        return None
    try:
        text = bounds.config_text(conf, "replace")
    except (OSError, Damaged):
        return None
    values = read_conf(text)
    root_doc = _string(values, "root_doc") or _string(values, "master_doc")
    roots = [root_doc] if root_doc else list(_ROOTS)
    found = next((name for name in roots for suffix in _SUFFIXES if bounds.is_file(folder / f"{name}{suffix}")), None)
    if found is None or not (values or "sphinx" in text.lower()):
        return None
    return _described(folder.resolve(), bounds, text, values, found, _builder(path, folder, bounds))


def _described(
    source: Path, bounds: Bounds, text: str, values: Mapping[str, object], root_doc: str, builder: str
) -> SphinxProject:
    patterns = [*_strings(values.get("exclude_patterns")), "**/_sources", "_build", ".#*", "**/.#*"]
    for key in ("templates_path", "html_static_path", "html_extra_path"):
        patterns += _strings(values.get(key))
    version = _string(values, "release") or _string(values, "version")
    return SphinxProject(
        source=source,
        bounds=bounds,
        title=_string(values, "project") or _string(values, "html_title"),
        version=version or None,
        language=_string(values, "language") or None,
        base_url=_string(values, "html_baseurl"),
        root_doc=root_doc,
        suffixes=_suffixes(values, text),
        excluded=tuple(pattern.strip("/") for pattern in patterns if pattern.strip("/")),
        ending=_string(values, "html_link_suffix") or _string(values, "html_file_suffix") or ".html",
        folders=builder == "dirhtml",
        nbsphinx="nbsphinx" in _extensions(values, text),
    )


def _builder(path: Path, folder: Path, bounds: Bounds) -> str:
    """The builder that the configuration for Read the Docs names; nothing else in a project names it for certain."""
    for place in (path, *list(bounds.upwards(folder))[:3]):
        for name in (".readthedocs.yaml", ".readthedocs.yml", "readthedocs.yml"):
            own = bounds.around(place)
            if not own.is_file(place / name):
                continue
            try:
                match = _BUILDER.search(own.config_text(place / name, "replace"))
            except (OSError, Damaged):
                match = None
            return match[1] if match else "html"
    return "html"


def _extensions(values: Mapping[str, object], text: str) -> Sequence[str]:
    given = _strings(values.get("extensions"))
    return given or re.findall(r"[\"'](\w+)(?:\.\w+)*[\"']", text)


def _suffixes(values: Mapping[str, object], text: str) -> dict[str, str]:
    given = values.get("source_suffix")
    suffixes: dict[str, str] = {}
    if isinstance(given, dict):
        suffixes = {str(key): str(value or "restructuredtext") for key, value in given.items()}
    else:
        for suffix in _strings(given) or [".rst"]:
            suffixes[suffix] = {".md": "markdown", ".ipynb": "jupyter"}.get(suffix, "restructuredtext")
    extensions = {name.split(".")[0] for name in _extensions(values, text)}
    if extensions.intersection(_MARKDOWN):
        suffixes.setdefault(".md", "markdown")
    if extensions.intersection(_NOTEBOOKS):
        suffixes.setdefault(".ipynb", "jupyter")
    return suffixes


# --- values ---------------------------------------------------------------------------------------------------------


def read_conf(text: str) -> dict[str, object]:
    """The values that conf.py writes out, by name; empty if the file is not valid Python."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return {}
    known: dict[str, object] = {}
    for statement in _statements(tree.body):
        _take(statement, known)
    return {name: value for name, value in known.items() if name in _READ}


def _statements(body: Iterable[ast.stmt]) -> Iterable[ast.stmt]:
    """All statements, also those under a condition or in a `try`: the first branch is as good as any."""
    waiting = list(reversed(list(body)))
    while waiting:
        statement = waiting.pop()
        if isinstance(statement, (ast.If, ast.Try, ast.With)):
            waiting += reversed(statement.body)
        else:
            yield statement


def _take(statement: ast.stmt, known: dict[str, object]) -> None:
    if isinstance(statement, ast.AnnAssign) and statement.value is not None:
        _assign(statement.target, _value(statement.value, known), known)
    elif isinstance(statement, ast.Assign):
        for target in statement.targets:
            _assign(target, _value(statement.value, known), known)
    elif isinstance(statement, ast.AugAssign) and isinstance(statement.target, ast.Name):
        _extend(statement.target.id, _value(statement.value, known), known)
    elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        call = statement.value
        if isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Name) and call.args:
            value = _value(call.args[0], known)
            if call.func.attr in ("append", "extend"):
                _extend(call.func.value.id, [value] if call.func.attr == "append" else value, known)


def _assign(target: ast.expr, value: object, known: dict[str, object]) -> None:
    if isinstance(target, ast.Name):
        known.pop(target.id, None)
        if value is not None:
            known[target.id] = value
    elif isinstance(target, (ast.Tuple, ast.List)) and isinstance(value, (tuple, list)):
        for part, one in zip(target.elts, value, strict=False):
            _assign(part, one, known)


def _extend(name: str, value: object, known: dict[str, object]) -> None:
    before = known.get(name)
    if isinstance(before, (list, tuple)) and isinstance(value, (list, tuple)):
        known[name] = [*before, *value]
    elif isinstance(before, str) and isinstance(value, str):
        known[name] = before + value


def _value(node: ast.expr, known: Mapping[str, object], depth: int = 0) -> object:
    """The value of an expression that is written out; None if it has to be computed, or is nested too deeply."""
    read = _READERS.get(type(node))
    return read(node, known, depth + 1) if read and depth < _DEEPEST_VALUE else None


def _list_value(node: Any, known: Mapping[str, object], depth: int) -> object:
    return [value for part in node.elts if (value := _value(part, known, depth)) is not None]


def _dict_value(node: Any, known: Mapping[str, object], depth: int) -> object:
    pairs = (
        (_value(key, known, depth), _value(value, known, depth))
        for key, value in zip(node.keys, node.values, strict=True)
        if key
    )
    return {str(key): value for key, value in pairs if key is not None}


def _sum_value(node: Any, known: Mapping[str, object], depth: int) -> object:
    if not isinstance(node.op, ast.Add):
        return None
    left, right = _value(node.left, known, depth), _value(node.right, known, depth)
    if isinstance(left, str) and isinstance(right, str):
        return left + right
    return [*left, *right] if isinstance(left, list) and isinstance(right, list) else None


def _format_value(node: Any, known: Mapping[str, object], depth: int) -> object:
    inner = (part.value if isinstance(part, ast.FormattedValue) else part for part in node.values)
    parts = [_value(part, known, depth) for part in inner]
    return "".join(map(str, parts)) if all(isinstance(part, (str, int)) for part in parts) else None


_READERS: dict[type[ast.expr], Callable[[Any, Mapping[str, object], int], object]] = {
    ast.Constant: lambda node, known, depth: node.value,
    ast.Name: lambda node, known, depth: known.get(node.id),
    ast.List: _list_value,
    ast.Tuple: _list_value,
    ast.Set: _list_value,
    ast.Dict: _dict_value,
    ast.BinOp: _sum_value,
    ast.JoinedStr: _format_value,
}


def _string(values: Mapping[str, object], name: str) -> str:
    value = values.get(name)
    return str(value).strip() if isinstance(value, (str, int, float)) and not isinstance(value, bool) else ""


def _strings(value: object) -> list[str]:
    if isinstance(value, str):
        return [value]
    return [str(part) for part in value if isinstance(part, str)] if isinstance(value, (list, tuple)) else []


# --- Jupyter Book ----------------------------------------------------------------------------------------------------


_TOC = "_toc.yml"
_PARSERS = {".md": "markdown", ".ipynb": "jupyter", ".rst": "restructuredtext"}
_BELOW = ("chapters", "sections", "entries", "items")
_PARTS = ("parts", "subtrees")


def find_jupyter_book(path: Path, bounds: Bounds) -> SphinxProject | None:
    """The book in this folder or in its docs, or one above that includes the folder."""
    for folder in (path, path / "docs", path / "book", *_above(path, bounds)):
        own = bounds.around(folder)
        if own.holds(folder) and own.is_file(folder / _TOC):
            return _jupyter_book(folder.resolve(), own)
    return None


def _jupyter_book(source: Path, bounds: Bounds) -> SphinxProject | None:
    toc = _mapping(_loaded(source / _TOC, bounds))
    config = _mapping(_loaded(source / "_config.yml", bounds))
    root = _text(toc, "root")
    if not root:
        return None  # it belongs to another tool, or to a version that is no longer built
    html = _mapping(config.get("html"))
    sphinx = _mapping(_mapping(config.get("sphinx")).get("config"))
    given = config.get("exclude_patterns")
    excluded = [str(pattern).strip("/") for pattern in given] if isinstance(given, list) else []
    return SphinxProject(
        source=source,
        bounds=bounds,
        title=_text(config, "title"),
        language=_text(sphinx, "language") or None,
        base_url=_text(html, "baseurl") or _text(sphinx, "html_baseurl"),
        root_doc=_docname(root),
        suffixes=_PARSERS,
        excluded=(*filter(None, excluded), "_build", "**/.ipynb_checkpoints"),
        conf="_config.yml",
        toctrees=dict(_toctrees(toc, _docname(root), source / _TOC, bounds)),
        listed_only=config.get("only_build_toc_files") is True,
    )


def _toctrees(
    toc: Mapping[str, object], root: str, file: Path, bounds: Bounds
) -> Iterator[tuple[str, tuple[Toctree, ...]]]:
    """Each page that has others below it, with its toctrees."""
    lines = _lines_of_values(bounds.config_text(file, "replace"))
    waiting = [(root, toc)]
    for docname, node in waiting:
        parts = [node, *(part for key in _PARTS for part in _nodes(node.get(key)))]
        trees = tuple(tree for part in parts if (tree := _part_toctree(part, lines, file)).entries)
        waiting += [(_docname(name), child) for part in parts for child, name in _named(part) if "file" in child]
        if trees:
            yield docname, trees


def _part_toctree(part: Mapping[str, object], lines: Mapping[str, int], file: Path) -> Toctree:
    named = _named(part)
    entries = tuple((lines.get(name, 1), f"/{_docname(name)}") for _, name in named)  # from the root
    glob = any("glob" in child for child in _children(part))
    return Toctree(entries, _text(part, "caption"), glob, file)


def _children(part: Mapping[str, object]) -> list[Mapping[str, object]]:
    return [child for key in _BELOW for child in _nodes(part.get(key))]


def _named(part: Mapping[str, object]) -> list[tuple[Mapping[str, object], str]]:
    return [(child, name) for child in _children(part) if (name := _text(child, "file") or _text(child, "glob"))]


def _lines_of_values(text: str) -> dict[str, int]:
    """The first line of each value, as in `- file: intro`."""
    lines: dict[str, int] = {}
    for number, line in enumerate(text.splitlines(), 1):
        lines.setdefault(line.rpartition(": ")[2].strip(), number)
    return lines


def _docname(said: str) -> str:
    """The name of a document, without the suffix of a page."""
    suffix = next((suffix for suffix in _PARSERS if said.endswith(suffix)), "")
    return said.removesuffix(suffix).strip("/")


def _loaded(path: Path, bounds: Bounds) -> object:
    try:
        return load_yaml(bounds.config_text(path))
    except (OSError, Damaged):
        return None


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, dict) else {}


def _nodes(value: object) -> list[Mapping[str, object]]:
    return [_mapping(item) for item in value] if isinstance(value, list) else []


def _text(values: Mapping[str, object], key: str) -> str:
    found = values.get(key)
    return found.strip() if isinstance(found, str) else ""

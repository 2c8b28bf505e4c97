"""A Jupyter Book: `_toc.yml` and `_config.yml`, from which Sphinx builds pages of MyST, notebooks and reStructuredText.

It is a Sphinx project that is described otherwise: what comes out is the same `SphinxProject`, with the table of
contents as the toctrees of the pages that it names. Tolerant: what cannot be read is taken as not given.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import yaml

from quoth.sources.sphinxconf import SphinxProject, Toctree

TOC = "_toc.yml"
_SUFFIXES = {".md": "markdown", ".ipynb": "jupyter", ".rst": "restructuredtext"}
_BELOW = ("chapters", "sections", "entries", "items")
_PARTS = ("parts", "subtrees")


def find_jupyter_book(path: Path) -> SphinxProject | None:
    """The book in this folder or in its docs, or one above of which the folder is part."""
    for folder in (path, path / "docs", path / "book", *path.parents[:4]):
        if (folder / TOC).is_file():
            return _described(folder.resolve())
    return None


def _described(source: Path) -> SphinxProject | None:
    toc, config = _mapping(_loaded(source / TOC)), _mapping(_loaded(source / "_config.yml"))
    root = _text(toc, "root")
    if not root:
        return None  # of another tool, or of a version that nobody builds any more
    html = _mapping(config.get("html"))
    sphinx = _mapping(_mapping(config.get("sphinx")).get("config"))
    given = config.get("exclude_patterns")
    excluded = [str(pattern).strip("/") for pattern in given] if isinstance(given, list) else []
    return SphinxProject(
        source=source,
        title=_text(config, "title"),
        language=_text(sphinx, "language") or None,
        base_url=_text(html, "baseurl") or _text(sphinx, "html_baseurl"),
        root_doc=_docname(root),
        suffixes=_SUFFIXES,
        excluded=(*filter(None, excluded), "_build", "**/.ipynb_checkpoints"),
        conf="_config.yml",
        toctrees=dict(_toctrees(toc, _docname(root), source / TOC)),
        listed_only=config.get("only_build_toc_files") is True,
    )


def _toctrees(toc: Mapping[str, object], root: str, file: Path) -> Iterator[tuple[str, tuple[Toctree, ...]]]:
    """Each page that has others below it, and those."""
    lines = file.read_text("utf-8", "replace").splitlines()
    waiting = [(root, toc)]
    for docname, node in waiting:
        trees: list[Toctree] = []
        for part in [node, *(part for key in _PARTS for part in _nodes(node.get(key)))]:
            children = [child for key in _BELOW for child in _nodes(part.get(key))]
            named = [(child, name) for child in children if (name := _text(child, "file") or _text(child, "glob"))]
            entries = [(_line(lines, name), f"/{_docname(name)}") for _, name in named]  # from the root
            if entries:
                glob = any("glob" in child for child in children)
                trees.append(Toctree(tuple(entries), _text(part, "caption"), glob, file))
            waiting += [(_docname(name), child) for child, name in named if "file" in child]
        if trees:
            yield docname, tuple(trees)


def _line(lines: Sequence[str], name: str) -> int:
    return next((number for number, line in enumerate(lines, 1) if line.rstrip().endswith(name)), 1)


def _docname(said: str) -> str:
    """Without a suffix that a page may have."""
    suffix = next((suffix for suffix in _SUFFIXES if said.endswith(suffix)), "")
    return said.removesuffix(suffix).strip("/")


def _loaded(path: Path) -> object:
    try:
        return yaml.safe_load(path.read_bytes())
    except (OSError, ValueError, yaml.YAMLError):
        return None


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, dict) else {}


def _nodes(value: object) -> list[Mapping[str, object]]:
    return [_mapping(item) for item in value] if isinstance(value, list) else []


def _text(values: Mapping[str, object], key: str) -> str:
    found = values.get(key)
    return found.strip() if isinstance(found, str) else ""

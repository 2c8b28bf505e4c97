"""A folder that no toolchain publishes, or a single file → a source.

If most of its text is AsciiDoc, the folder is a book of AsciiDoc; otherwise it is plain files. A single file is read by
itself, with what it includes from its own folder. A notice says if the folder looks like a project of a toolchain that
Quoth does not know.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

from quoth.domain import Book, Notice
from quoth.errors import Unreadable
from quoth.sources.asciidoc import documents, is_asciidoc_book
from quoth.sources.asciidoc_includes import AsciidocIncludes
from quoth.sources.bounds import Bounds
from quoth.sources.folder import FolderSource
from quoth.sources.formats import ASCIIDOC, QUARTO, Documents
from quoth.sources.includes import BySuffix, Expands, Includes
from quoth.sources.plain import SUFFIXES, PlainRules
from quoth.sources.quarto_cells import QuartoMarks
from quoth.sources.rst_includes import sphinx_includes
from quoth.sources.unknown import unknown_project

Named = Callable[[str], Book]
"""The name of a toolchain → the record of the book."""


def loose_folder(root: Path, bounds: Bounds, named: Named, base_url: str, converter: Documents | None) -> FolderSource:
    published = partial(_published, bounds)
    if is_asciidoc_book(root):
        rules = PlainRules(root, base_url, toolchain="asciidoc", suffixes=ASCIIDOC, published=published)
    else:
        rules = PlainRules(root, base_url, published=published)
    unknown = unknown_project(root, bounds)
    told = [replace(unknown, source_file=str(root))] if unknown and rules.toolchain == "plain" else list[Notice]()
    book = named(rules.toolchain)
    includes = _includes(root, bounds)
    return FolderSource(root, bounds, book, rules, includes=includes, contents=lambda: told, documents=converter)


def loose_file(path: Path, bounds: Bounds, named: Named, base_url: str, converter: Documents | None) -> FolderSource:
    if path.suffix.lower() not in SUFFIXES:
        known = " ".join(sorted(SUFFIXES))
        raise Unreadable(f"{path} is not in a format that Quoth reads.", hint=f"It reads {known}, and folders of them.")
    root = path.parent
    rules = PlainRules(root, base_url, toolchain=_toolchain(path), only=path)
    includes = _includes(root, bounds)
    return FolderSource(root, bounds, named(rules.toolchain), rules, includes=includes, documents=converter, only=True)


def _toolchain(path: Path) -> str:
    return "asciidoc" if path.suffix.lower() in ASCIIDOC else "plain"


def _includes(root: Path, bounds: Bounds) -> BySuffix:
    quarto = Includes(bounds, QuartoMarks(True, {}))
    special: dict[frozenset[str], Expands] = {ASCIIDOC: AsciidocIncludes(bounds), QUARTO: quarto}
    return BySuffix(special, Includes(bounds, sphinx_includes(root)))


def _published(bounds: Bounds, paths: list[Path]) -> list[Path]:
    """The files without the parts of AsciiDoc documents."""
    parts = [path for path in paths if path.suffix.lower() in ASCIIDOC]
    whole = set(documents(parts, bounds))
    return [path for path in paths if path.suffix.lower() not in ASCIIDOC or path in whole]

"""A folder of AsciiDoc that Asciidoctor publishes: which of its documents are pages.

A document that another one includes is a part of it, not a page. So a book with a master document is one page, with
every included file in its place. Files whose name begins with an underscore are parts too. `quoth.sources.plain` says
where a document is published.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from quoth.errors import Unreadable
from quoth.sources.asciidoc_includes import AsciidocIncludes
from quoth.sources.bounds import Bounds
from quoth.sources.files import decode, walk
from quoth.sources.formats import ASCIIDOC

_OTHERS = frozenset((".md", ".mdx", ".markdown", ".rst", ".html", ".htm", ".ipynb", ".qmd", ".tex", ".org"))


def documents(paths: Sequence[Path], bounds: Bounds) -> list[Path]:
    """The documents that are published on their own. An unreadable file counts as one, so that it gets reported."""
    includes = AsciidocIncludes(bounds)
    for path in paths:
        try:
            includes.expand(decode(bounds.page_bytes(path, path.name), path.name), path, path.name)
        except Unreadable:
            continue  # reported when the page is read
    return [
        path for path in paths if Path(os.path.realpath(path)) not in includes.opened and not path.name.startswith("_")
    ]


def is_asciidoc_book(root: Path) -> bool:
    """Whether most of the text in the folder is AsciiDoc."""
    sizes = {True: 0, False: 0}
    for path in walk(root, ASCIIDOC | _OTHERS):
        sizes[path.suffix.lower() in ASCIIDOC] += path.stat().st_size
    return sizes[True] > sizes[False]

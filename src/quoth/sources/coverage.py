"""How much of a folder became pages: by kind of file, with the words that were taken and those that were left out.

In: the folder, and what its survey took and skipped. Out: a `Coverage` for the terminal and the job, and notices about
text that Quoth cannot read. A file is left out for one of two reasons: the book's own toolchain does not publish it, or
Quoth cannot read its format. Only the second is a loss; if more is lost than read, the ingest's exit code says so.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from quoth.domain import Coverage, Notice, Share
from quoth.sources.bounds import Bounds
from quoth.sources.files import walk
from quoth.sources.formats import HTML

_MOST_FILES = 20_000  # to look at; the figures of a larger folder cover only these
_SAMPLE = 1_000_000  # bytes of a file to count; a longer file is assumed to go on like that
_TAG = re.compile(rb"<(?:script|style)\b.*?</(?:script|style)>|<[^>]*+>", re.S | re.I)

KINDS = {
    **dict.fromkeys((".md", ".mdx", ".markdown"), "Markdown"),
    **dict.fromkeys((".rst", ".rest"), "reStructuredText"),
    **dict.fromkeys((".adoc", ".asciidoc", ".asc"), "AsciiDoc"),
    **dict.fromkeys((".qmd", ".rmd"), "Quarto"),
    **dict.fromkeys((".html", ".htm", ".xhtml"), "HTML"),
    ".ipynb": "notebook",
    ".txt": "text",
    ".pdf": "PDF",
    ".epub": "EPUB",
    ".docx": "DOCX",
    ".org": "Org",
    ".tex": "LaTeX",
    **dict.fromkeys((".typ",), "Typst"),
    **dict.fromkeys((".textile",), "Textile"),
    **dict.fromkeys((".mediawiki", ".wiki"), "MediaWiki"),
    **dict.fromkeys((".dbk", ".docbook"), "DocBook"),
    **dict.fromkeys((".dita", ".ditamap"), "DITA"),
    **dict.fromkeys((".texi", ".texinfo"), "Texinfo"),
    **dict.fromkeys((".pod",), "POD"),
    **dict.fromkeys((".scrbl",), "Scribble"),
    **dict.fromkeys((".odt", ".rtf", ".doc", ".mobi", ".azw3", ".fb2"), "other documents"),
}
# What to do with a format that Quoth does not read.
_ADVICE = {
    "Org": "export it as HTML (in Emacs: org-publish) and run quoth ingest on that folder",
    "LaTeX": "build the PDF (latexmk -pdf) and run quoth ingest on it, or make4ht for HTML",
    "Typst": "build the PDF (typst compile) and run quoth ingest on it",
    "DocBook": "build the HTML (xsltproc or pandoc -t html) and run quoth ingest on that folder",
    "DITA": "build the HTML (dita --format=html5) and run quoth ingest on that folder",
    "Texinfo": "build the HTML (makeinfo --html) and run quoth ingest on that folder",
    "Scribble": "build the HTML (scribble --htmls) and run quoth ingest on that folder",
}
_OTHER_ADVICE = "convert it (pandoc -t gfm, or to PDF or HTML) and run quoth ingest on the result"
_UNWORDED = frozenset(("PDF", "EPUB", "DOCX", "other documents"))  # words are known only after conversion
# Nobody misses these when they are left out: built pages, templates, lists of packages.
_SILENT = frozenset(("HTML", "text", "PDF", "EPUB", "DOCX", "notebook"))
_CONTENTS = re.compile(r"(?:summary|_sidebar)\.md$|nav[\w-]*\.adoc$", re.I)  # tables of contents, read as such
_KNOWN = frozenset(
    ("Markdown", "reStructuredText", "AsciiDoc", "Quarto", "HTML", "notebook", "text", "PDF", "EPUB", "DOCX")
)

# The file by which a toolchain is recognised, for the user to see; the first one that exists.
CONFIGS: Mapping[str, tuple[str, ...]] = {
    "antora": ("antora.yml", "docs/antora.yml", "antora-playbook.yml"),
    "docusaurus": (
        *(f"docusaurus.config.{end}" for end in ("js", "ts", "mjs", "cjs", "mts", "cts")),
        *(f"sidebars.{end}" for end in ("js", "ts", "json")),
        "_category_.json",
    ),
    "gitbook": (".gitbook.yaml", "book.json", "book.js", "SUMMARY.md"),
    "hugo": (
        *(f"{stem}.{end}" for stem in ("hugo", "config/_default/hugo") for end in ("toml", "yaml", "yml", "json")),
        *(f"{stem}.{end}" for stem in ("config", "config/_default/config") for end in ("toml", "yaml", "yml", "json")),
    ),
    "jekyll": ("_config.yml", "_config.yaml", "_config.toml"),
    "mdbook": ("book.toml", "src/SUMMARY.md", "SUMMARY.md"),
    "mintlify": ("docs.json", "mint.json"),
    "mkdocs": ("mkdocs.yml", "mkdocs.yaml"),
    "quarto": ("_quarto.yml", "_quarto.yaml"),
    "sphinx": ("conf.py", "_toc.yml", "_config.yml", "source/conf.py", "docs/conf.py"),
    "starlight": tuple(f"astro.config.{end}" for end in ("mjs", "js", "ts", "mts", "cjs")),
    "vitepress": tuple(
        f".vitepress/{stem}.{end}"
        for stem in ("config", "config/index")
        for end in ("mts", "ts", "js", "mjs", "cts", "cjs")
    ),
}

_Key = TypeVar("_Key")


@dataclass(frozen=True, slots=True)
class Known:
    """What a survey has found out: the words of each page, and why other files are not pages."""

    words: Mapping[str, int]  # by source file
    skipped: Mapping[str, str]  # source file → reason
    included: frozenset[Path]  # files whose text is in the pages that include them
    alone: bool = False  # one file was given; its neighbours are not looked at


def kind_of(name: str) -> str:
    return KINDS.get(os.path.splitext(name)[1].lower(), "other")  # noqa: PTH122 - a name, not a file


def words_in(data: bytes, suffix: str) -> int:
    """About as many words as a reader would see; 0 for documents, which have to be converted first."""
    if KINDS.get(suffix) in _UNWORDED:
        return 0
    return len((_TAG.sub(b" ", data) if suffix in HTML else data).split())


def recognised_by(toolchain: str, docs: Path, root: Path, bounds: Bounds) -> str:
    """The configuration file of the toolchain, by its path from the folder that was given."""
    project = [folder for folder in bounds.upwards(docs) if folder.is_relative_to(bounds.top)]
    for name in CONFIGS.get(toolchain, ()):
        for folder in project:
            if bounds.is_file(folder / name):
                return Path(os.path.relpath(folder / name, root)).as_posix()
    return ""


def coverage_of(toolchain: str, root: Path, docs: Path, bounds: Bounds, known: Known) -> Coverage:
    taken: dict[str, list[int]] = {}
    for name, words in known.words.items():
        _add(taken, kind_of(name), words)
    left: dict[tuple[str, str, bool], list[int]] = {}
    for count, path in enumerate(walk(root, frozenset(KINDS)) if not known.alone else ()):
        if count >= _MOST_FILES:
            break
        name = path.relative_to(root).as_posix()
        if name in known.words or _CONTENTS.match(path.name):
            continue
        kind = kind_of(name)
        reason, lost = _why(toolchain, kind, path, docs, known.skipped.get(name, ""))
        if reason and Path(os.path.realpath(path)) not in known.included:
            _add(left, (kind, reason, lost), _estimated(path))
    return Coverage(
        toolchain,
        recognised_by(toolchain, docs, root, bounds) or _longest(toolchain, known.words),
        tuple(Share(kind, files, words) for kind, (files, words) in sorted(taken.items())),
        tuple(
            Share(kind, files, words, reason, lost)
            for (kind, reason, lost), (files, words) in sorted(left.items(), key=lambda item: (-item[1][1], item[0]))
        ),
    )


def _longest(toolchain: str, words: Mapping[str, int]) -> str:
    """AsciiDoc has no configuration: the document with the most text is shown as the reason instead."""
    documents = [name for name in words if kind_of(name) == "AsciiDoc"] if toolchain == "asciidoc" else []
    return max(documents, key=lambda name: (words[name], name), default="")


def _why(toolchain: str, kind: str, path: Path, docs: Path, skipped: str) -> tuple[str, bool]:
    """Why a file is not a page, and whether that is a loss; empty where nobody would miss it."""
    if skipped:
        return "not published", False
    if kind in _SILENT:
        return "", False
    if kind not in _KNOWN:
        lost = toolchain in ("plain", "asciidoc") or path.is_relative_to(docs)
        return "Quoth does not read this format", lost
    if not path.is_relative_to(docs):
        return f"outside {docs.name}/", False
    return f"not a page of {toolchain}", False


def _add(counts: dict[_Key, list[int]], key: _Key, words: int) -> None:
    files = counts.setdefault(key, [0, 0])
    files[0] += 1
    files[1] += words


def _estimated(path: Path) -> int:
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            data = file.read(_SAMPLE)
    except OSError:
        return 0
    words = words_in(data, path.suffix.lower())
    return words * size // len(data) if len(data) < size and data else words


def loss_notices(coverage: Coverage) -> Iterable[Notice]:
    """One notice for each format that Quoth does not read, with advice."""
    for share in coverage.left:
        if share.lost:
            files = f"1 {share.kind} file is" if share.files == 1 else f"{share.files} {share.kind} files are"
            words = f" ({share.words:,} words)" if share.words else ""
            advice = _ADVICE.get(share.kind, _OTHER_ADVICE)
            message = f"{files} left out{words}: Quoth does not read {share.kind}; {advice}"
            yield Notice("TEXT_LEFT_OUT", message, ".")

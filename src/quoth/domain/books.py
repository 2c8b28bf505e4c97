"""A book, its pages and their chunks: what is read and what is indexed."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

ProficiencyLevel = Literal["A1", "A2", "B1", "B2", "C1", "C2"]
Layer = Literal["L1", "L2", "L3", "L4"]

# How a page is written decides which parser reads it.
Markup = Literal["asciidoc", "markdown", "mdx", "myst", "rst", "text"]
# Which toolchain publishes a page decides how its headings become anchors.
AnchorRule = Literal[
    "astro",
    "docusaurus",
    "github",
    "honkit",
    "html",  # only ids that are written in the text
    "hugo",
    "hugo-ascii",
    "hugo-blackfriday",
    "hugo-plain",  # without its typographer
    "jekyll",
    "jupyter",
    "kramdown",
    "mdbook",
    "mintlify",
    "mkdocs",
    "mkdocs-unicode",
    "none",
    "pdf",  # `page-7` is `page=7`, as viewers understand it
    "pandoc",
    "pymdownx",
    "pymdownx-cased",
    "sphinx",
    "vitepress",
]

URL_STYLES = ("html", "slash", "bare")  # a/b.html, a/b/, a/b


@dataclass(frozen=True, slots=True)
class Book:
    """One tenant: everything that is stored or searched belongs to exactly one book."""

    book_id: str
    title: str
    base_url: str = ""
    source: str = ""  # where it was last ingested from, for `quoth status`
    toolchain: str = ""  # what publishes it: docusaurus, mdbook, …
    url_style: str = ""  # how its site writes addresses, if the user said so: html, slash, bare


@dataclass(frozen=True, slots=True)
class Labels:
    """What a page is for, as its author labelled it. Its chunks carry the same labels, and filters look at them."""

    module: str | None = None
    chapter: int | None = None
    lesson: int | None = None
    hardware_tier: int = 1
    proficiency_level: ProficiencyLevel = "A2"
    layer: Layer = "L1"
    language: str | None = None
    version: str | None = None


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file that will become a page. `digest` covers everything its chunks depend on: bytes, includes, routing."""

    source_file: str  # relative to the folder that was ingested, with forward slashes
    digest: str


@dataclass(frozen=True, slots=True)
class Fetched:
    """A server's reply to one request. `body` is empty unless the status is 200 and the type was asked for."""

    url: str
    status: int
    content_type: str = ""  # media type, lower case, without parameters
    charset: str = ""
    location: str = ""  # where a redirect leads, as the server wrote it
    robots: str = ""  # X-Robots-Tag
    body: bytes = b""


@dataclass(frozen=True, slots=True)
class Notice:
    """Something an author should know about one file: a default that was used, a page that could not be read."""

    code: str  # stable and greppable, for example FRONT_MATTER_DEFAULT
    message: str
    source_file: str
    line: int | None = None
    fatal: bool = False  # the page is not in the index because of this

    def __str__(self) -> str:
        place = self.source_file if self.line is None else f"{self.source_file}:{self.line}"
        return f"{place}: {self.message} [{self.code}]"


@dataclass(frozen=True, slots=True)
class Rendition:
    """A document as Markdown. Its headings carry the places that a citation can open: `{#page-7}`."""

    text: str
    title: str = ""  # the one that the document gives itself


@dataclass(frozen=True, slots=True)
class Insert:
    """A stretch of `Page.text` that comes from another file, and the directive in the page's file that includes it."""

    start: int
    end: int
    at: int  # where the directive begins in the file
    until: int  # and where it ends
    line: int  # the line of the file on which it begins
    shift: int  # characters that includes have added before `end`
    lines: int  # lines that they have added


@dataclass(frozen=True, slots=True)
class Page:
    """One file as its author wrote it, and where its toolchain publishes it.

    `text` is the whole decoded file, byte order mark and line endings included, so offsets into it are offsets into the
    file. If the file includes others, their text is in it too; `inserts` says where, in order. `body_start` is where
    the front matter ends.
    """

    book_id: str
    source_file: str
    text: str
    file_hash: str  # SHA-256 of the bytes
    url: str  # of the published page, without anchor
    title: str
    markup: Markup = "markdown"
    anchors: AnchorRule = "github"
    body_start: int = 0
    trail: tuple[str, ...] = ()  # labels of the folders above the page, outermost first
    labels: Labels = Labels()
    notices: tuple[Notice, ...] = ()
    inserts: tuple[Insert, ...] = ()


@dataclass(frozen=True, slots=True)
class Stamps:
    """When an index first got a chunk, last wrote it and got its vector, and how often it was written."""

    created_at: datetime
    updated_at: datetime
    embedded_at: datetime
    version: int = 1


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of a page that is indexed and found as one: `page.text[start:end] == text`, always.

    If a fence or a table had to be cut, `lead` repeats its opening line or header row. It belongs before `text` when
    the chunk is read, shown or embedded, but is not part of the slice.
    """

    id: str
    book_id: str
    text: str
    start: int = 0
    end: int = 0
    line: int = 1  # 1-based line of `start` in the file
    source_file: str = ""
    source_file_hash: str = ""
    title: str = ""  # of the page
    url: str = ""  # of the published page with the anchor of the nearest heading
    heading_path: tuple[str, ...] = ()  # headings above and at the chunk, outermost first, without the page title
    breadcrumb: tuple[str, ...] = ()  # folders, page title, headings
    content_hash: str = ""  # SHA-256 of `text`
    parent_doc_id: str = ""
    chunk_index: int = 0
    total_chunks: int = 1
    prev_chunk_id: str | None = None
    next_chunk_id: str | None = None
    word_count: int = 0
    token_count: int = 0
    char_count: int = 0
    markup: Markup = "markdown"  # of its page
    lead: str = ""
    # Includes add text to a page that its file does not hold; `quoth.text.offsets` leads back to the file.
    shift: int = 0  # `start - shift` is the offset in the file, unless the chunk begins inside an include
    line_shift: int = 0  # `line + line_shift` is the line in the text
    inserts: tuple[Insert, ...] = ()  # those that the chunk holds or is part of
    labels: Labels = Labels()
    stamps: Stamps | None = field(default=None, compare=False, repr=False)  # of one that was read from an index

    @property
    def chapter_title(self) -> str:
        """The name of its chapter: if the page is a numbered lesson, that of the folder around it."""
        above = self.breadcrumb[: len(self.breadcrumb) - len(self.heading_path) - 1]
        return above[-1] if above and self.labels.lesson is not None else self.title

    @property
    def included(self) -> bool:
        """Whether an include makes its text differ from that of its own file."""
        return bool(self.inserts)

    @property
    def section_title(self) -> str | None:
        return self.heading_path[-1] if self.heading_path else None

    @property
    def shown(self) -> str:
        return f"{self.lead}\n{self.text}" if self.lead else self.text

"""What all sources in a folder have in common: survey once, then read page by page.

The survey looks at the head of every file: its digest, its front matter, its place in the book. It holds a few words
for each file and no text, so memory does not grow with the book. What differs between toolchains (URL, anchors,
which pages are published) comes in as `Rules`.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Protocol

from quoth.domain import AnchorRule, Book, Labels, Markup, Notice, Page, SourceFile
from quoth.errors import Unreadable
from quoth.sources.files import FrontMatter, decode, front_matter, read_bytes
from quoth.sources.formats import INSTALL, Converted, Documents, convert, is_converted, is_document
from quoth.sources.front_matter import Field, Place, grading, place, used_fields
from quoth.sources.includes import Expanded, Includes
from quoth.text.markdown import first_heading

# Bump when a page would be read otherwise than before, so that unchanged files are read again.
READER_VERSION = "4"


@dataclass(frozen=True, slots=True)
class Route:
    """Where a page is published and under which labels it stands."""

    url: str
    trail: tuple[str, ...] = ()
    name: str = ""  # the title of a page that has none
    title: str = ""  # what a table of contents calls the page, whatever the page says
    place: Place | None = None  # what a table of contents numbers; the path where there is none
    language: str | None = None  # of the book, where the page names none
    version: str | None = None


class Rules(Protocol):
    """How one toolchain publishes a folder. A `name` is the path of a file below the folder that is published."""

    @property
    def toolchain(self) -> str: ...

    @property
    def anchors(self) -> AnchorRule: ...

    def paths(self) -> Iterable[Path]:
        """Every file that looks like a page, in a fixed order."""

    def skips(self, name: str, front: FrontMatter) -> str:
        """Why the file is not published; empty when it is."""

    def route(self, name: str, front: FrontMatter) -> Route: ...

    def markup(self, name: str) -> Markup: ...

    def depends_on(self, path: Path, text: str) -> Sequence[Path]:
        """Other files that change how the page is read, apart from what `Includes` puts into its text."""


@dataclass(frozen=True, slots=True)
class _Entry:
    path: Path
    name: str
    digest: str
    place: Place
    route: Route
    error: Unreadable | None = None


@dataclass(slots=True)
class _Survey:
    entries: dict[str, _Entry] = field(default_factory=dict)
    skipped: list[Notice] = field(default_factory=list)
    notices: list[Notice] = field(default_factory=list)
    used: set[Field] = field(default_factory=set)
    shared: frozenset[Place] = frozenset()  # places that several files claim


class FolderSource:
    """A `BookSource` over a folder. Source files are named from `root`, the folder that the user gave, so that they
    are found there; pages are published from `docs`, which is the same folder or one inside of it."""

    def __init__(
        self,
        root: Path,
        book: Book,
        rules: Rules,
        docs: Path | None = None,
        includes: Includes | None = None,
        contents: Callable[[], Iterable[Notice]] = tuple,  # what a table of contents names in vain; whole paths
        documents: Documents | None = None,
    ) -> None:
        self._docs = docs or root
        self._root = root if self._docs.is_relative_to(root) or root.is_relative_to(self._docs) else self._docs
        self._book = book
        self._rules = rules
        self._includes = includes
        self._contents = contents
        self._documents = documents
        self._known: _Survey | None = None

    @property
    def toolchain(self) -> str:
        return self._rules.toolchain

    @property
    def book(self) -> Book:
        return self._book

    @property
    def skipped(self) -> list[Notice]:
        return list(self._survey.skipped)

    @property
    def notices(self) -> list[Notice]:
        """What concerns the book as a whole rather than one page."""
        return list(self._survey.notices)

    def files(self) -> list[SourceFile]:
        """Surveys the folder anew: what was edited since the last call is seen."""
        self._known = self._look()
        found = [SourceFile(name, self._digest(entry)) for name, entry in sorted(self._known.entries.items())]
        if not found:
            why = " All its pages are drafts, unlisted or partials." if self._known.skipped else ""
            raise Unreadable(
                f"{self._root} holds no page.{why}",
                hint="Give a folder with .md, .mdx, .rst, .html, .ipynb or .txt files.",
            )
        return found

    def read(self, file: SourceFile) -> Page:
        """One page, or `Unreadable` with its file and the reason."""
        entry = self._survey.entries.get(file.source_file)
        if entry is None:
            raise Unreadable(f"{file.source_file} is no page of this book.", hint="Run the ingest again.")
        data = read_bytes(entry.path, file.source_file)
        markup = self._rules.markup(entry.name)
        made: Converted | None = None
        if is_converted(entry.path):
            url = entry.route.url
            made = convert(entry.path, data, file.source_file, url, markup, self._documents)
        text = made.text if made else decode(data, file.source_file)
        front = FrontMatter() if made else front_matter(text)
        route = self._rules.route(entry.name, front)
        where, place_notices = self._place(front, file.source_file, entry.name, route)
        shown = self._expanded(text, entry.path, file.source_file, front.body_start)
        grades = grading(front, file.source_file, self._survey.used)
        language = front.text("lang", "language") or (made.language if made else None) or route.language
        title = route.title or front.text("title") or (made.title if made else "")
        return Page(
            book_id=self._book.book_id,
            source_file=file.source_file,
            text=shown.text,
            file_hash=sha256(data).hexdigest(),
            url=route.url,
            title=title or first_heading(shown.text, start=front.body_start, markup=markup) or route.name,
            markup=markup,
            anchors=made.anchors if made else "sphinx" if markup == "rst" else self._rules.anchors,
            body_start=front.body_start,
            trail=route.trail,
            labels=Labels(
                module=where.module,
                chapter=where.chapter,
                lesson=where.lesson,
                hardware_tier=grades.hardware_tier,
                proficiency_level=grades.proficiency_level,
                layer=grades.layer,
                language=language,
                version=front.text("version") or route.version,
            ),
            notices=(*front.notices(file.source_file), *place_notices, *grades.notices, *shown.notices),
            inserts=shown.inserts,
        )

    def close(self) -> None:
        """Nothing is held open."""

    @property
    def _survey(self) -> _Survey:
        if self._known is None:
            self._known = self._look()
        return self._known

    def _expanded(self, text: str, path: Path, source_file: str, body_start: int) -> Expanded:
        return self._includes.expand(text, path, source_file, body_start) if self._includes else Expanded(text)

    def _place(self, front: FrontMatter, source_file: str, name: str, route: Route) -> tuple[Place, tuple[Notice, ...]]:
        """Files that claim one place keep module and chapter but have no lesson number, each of them, so that ids
        made from the path tell them apart whichever is read first."""
        where, notices = place(front, source_file, name, route.place)
        if where not in self._survey.shared:
            return where, notices
        message = (
            f"module {where.module}, chapter {where.chapter}, lesson {where.lesson} is claimed by several files;"
            " the lesson number is left out"
        )
        notice = Notice("LESSON_NOT_UNIQUE", message, source_file, front.lines.get("lesson", 1))
        return replace(where, lesson=None), (*notices, notice)

    def _look(self) -> _Survey:
        survey = _Survey()
        claims: Counter[Place] = Counter()
        for path in self._rules.paths():
            source_file = path.relative_to(self._root).as_posix()
            name = path.relative_to(self._docs).as_posix()
            digest = "unreadable"
            try:
                data = read_bytes(path, source_file)
                digest = sha256(data).hexdigest()
                text = "" if is_converted(path) else decode(data, source_file)
            except Unreadable as error:
                survey.entries[source_file] = _Entry(path, name, digest, Place(), Route(""), error)
                continue
            front = front_matter(text)
            reason = self._rules.skips(name, front)
            if is_document(path) and self._documents is None:
                reason = "a document, which needs the extra `documents`"
            if reason:
                survey.skipped.append(Notice("PAGE_SKIPPED", reason, source_file))
                continue
            route = self._rules.route(name, front)
            where, _ = place(front, source_file, name, route.place)
            claims[where] += where.complete
            survey.used |= used_fields(front)
            shown = self._expanded(text, path, source_file, front.body_start)
            digest = self._content_digest(path, data, text, shown)
            survey.entries[source_file] = _Entry(path, name, digest, where, route)
        survey.shared = frozenset(where for where, count in claims.items() if count > 1)
        survey.notices = _book_notices(survey)
        for notice in self._contents():
            file = Path(os.path.relpath(notice.source_file, self._root)).as_posix()
            notice = replace(notice, source_file=file)
            (survey.skipped if notice.code == "PAGE_SKIPPED" else survey.notices).append(notice)
        return survey

    def _content_digest(self, path: Path, data: bytes, text: str, shown: Expanded) -> str:
        digest = sha256(data)
        if shown.inserts:
            digest.update(sha256(shown.text.encode()).digest())
        for other in self._rules.depends_on(path, text):
            try:
                digest.update(sha256(other.read_bytes()).digest())
            except OSError:
                digest.update(b"missing")
        return digest.hexdigest()

    def _digest(self, entry: _Entry) -> str:
        """Everything the chunks of a page depend on, apart from the chunker itself."""
        route = entry.route
        shared = self._known is not None and entry.place in self._known.shared
        place = entry.place
        parts = (
            *(READER_VERSION, self.toolchain, self._rules.anchors, entry.digest, self._book.book_id, shared),
            *(route.url, route.trail, route.name, route.title, route.language, route.version),
            *(place.module, place.chapter, place.lesson),
        )
        return sha256(json.dumps(parts).encode()).hexdigest()


def _book_notices(survey: _Survey) -> list[Notice]:
    notices: list[Notice] = []
    left_out = sum(is_document(Path(notice.source_file)) for notice in survey.skipped)
    if left_out:
        files = "1 document is" if left_out == 1 else f"{left_out} documents are"
        notices.append(Notice("DOCUMENTS_NEED_EXTRA", f"{files} left out: no converter is there; {INSTALL}", "."))
    if not survey.used and survey.entries:
        message = "no page names a hardware tier, proficiency or layer; tier 1, A2 and L1 are taken for all"
        notices.append(Notice("FRONT_MATTER_DEFAULT", message, "."))
    return notices

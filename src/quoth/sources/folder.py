"""The common part of all sources in a folder: survey once, then read page by page.

The survey notes the digest, the front matter and the place in the book of every file. It keeps a few words for each
file and no text, so memory does not grow with the book. Each file is therefore read, and its includes are expanded,
twice: once for the survey, which tells an ingest what has changed, and once when its page is read. Rules that differ
between toolchains (URL, anchors, which pages are published) come in as `Rules`.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Protocol

from quoth.domain import AnchorRule, Book, Coverage, Labels, Markup, Notice, Page, SourceFile
from quoth.errors import Unreadable
from quoth.sources.book_file import NAME as BOOK_FILE
from quoth.sources.book_file import BookFile
from quoth.sources.bounds import Bounds
from quoth.sources.coverage import Known, coverage_of, loss_notices, words_in
from quoth.sources.files import FrontMatter, decode, front_matter
from quoth.sources.formats import INSTALL, Converted, Documents, convert, is_converted, is_document, no_page
from quoth.sources.front_matter import Field, Place, grading, place, place_by_path, used_fields
from quoth.sources.includes import Expanded, Expands
from quoth.sources.url_style import styled
from quoth.text.limits import MAX_PAGE_CHARACTERS
from quoth.text.markdown import first_heading

# Raise it when pages are read in a new way, so that unchanged files are read again.
_READER_VERSION = "6"


@dataclass(frozen=True, slots=True)
class Route:
    """Where a page is published, and under which labels."""

    url: str
    trail: tuple[str, ...] = ()
    name: str = ""  # used as the title of a page that has none
    title: str = ""  # from a table of contents; it wins over the page's own title
    place: Place | None = None  # from the numbers in a table of contents; None: taken from the path
    language: str | None = None  # the book's, if the page names none
    version: str | None = None


class Rules(Protocol):
    """How one toolchain publishes a folder. A `name` is the path of a file below the published folder."""

    @property
    def toolchain(self) -> str: ...

    @property
    def anchors(self) -> AnchorRule: ...

    def paths(self) -> Iterable[Path]:
        """Every file that looks like a page, in a fixed order."""

    def skips(self, name: str, front: FrontMatter) -> str:
        """Why the file is not published; empty if it is."""

    def route(self, name: str, front: FrontMatter) -> Route: ...

    def markup(self, name: str) -> Markup: ...


@dataclass(frozen=True, slots=True)
class _SurveyedFile:
    path: Path
    name: str
    digest: str = "unreadable"
    place: Place = Place()
    route: Route = Route("")
    words: int = 0
    error: Unreadable | None = None


@dataclass(frozen=True, slots=True)
class _Manuscript:
    """The text of a file before its includes are expanded."""

    text: str
    front: FrontMatter
    converted: Converted | None = None


@dataclass(slots=True)
class _Survey:
    files: dict[str, _SurveyedFile] = field(default_factory=dict)
    skipped: list[Notice] = field(default_factory=list)
    notices: list[Notice] = field(default_factory=list)
    used: set[Field] = field(default_factory=set)
    shared: frozenset[Place] = frozenset()  # places that several files claim
    coverage: Coverage = Coverage("")


class FolderSource:
    """A `BookSource` over a folder. Source files are named by their path from `root`, the folder that the user gave.
    Pages are published from `docs`, which is the same folder, one inside it or one around it."""

    def __init__(
        self,
        root: Path,
        bounds: Bounds,
        book: Book,
        rules: Rules,
        docs: Path | None = None,
        includes: Expands | None = None,
        contents: Callable[[], Iterable[Notice]] = tuple,  # notices about the table of contents; with absolute paths
        documents: Documents | None = None,
        only: bool = False,  # one file was given, and the folder around it is not the book
    ) -> None:
        self._root = root
        self._docs = docs or root
        self._bounds = bounds
        self._book = book
        self._rules = rules
        self._includes = includes
        self._contents = contents
        self._documents = documents
        self._only = only
        self._known: _Survey | None = None
        self._told: list[Notice] = []
        self._file = BookFile()
        self._style = ""

    def follow(self, file: BookFile, style: str) -> None:
        """Apply the book's own file and a style of addresses."""
        self._file, self._style = file, style

    def tell(self, notice: Notice) -> None:
        """Add a notice about the book as a whole."""
        self._told.append(notice)

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
        """Notices about the book as a whole."""
        return [*self._told, *self._survey.notices]

    @property
    def coverage(self) -> Coverage:
        return self._survey.coverage

    def files(self) -> list[SourceFile]:
        """Survey the folder again, so that edits since the last call count."""
        self._known = self._look()
        found = [SourceFile(name, self._digest(file)) for name, file in sorted(self._known.files.items())]
        if not found:
            raise self._nothing_to_read(self._known)
        return found

    def _nothing_to_read(self, survey: _Survey) -> Unreadable:
        why = " All its pages are drafts, unlisted or partials." if survey.skipped else ""
        hint = "Give a folder with .md, .mdx, .rst, .adoc, .html, .ipynb or .txt files."
        told = [n.message for n in survey.notices if n.code in ("TEXT_LEFT_OUT", "TOOLCHAIN_UNKNOWN")]
        if told:
            hint = " ".join(f"{message[0].upper()}{message[1:]}." for message in told)
        return Unreadable(f"{self._root} has no pages.{why}", hint=hint)

    def read(self, file: SourceFile) -> Page:
        """One page. Raises `Unreadable`, with the file and the reason, if it cannot be read."""
        known = self._survey.files.get(file.source_file)
        if known is None:
            raise Unreadable(f"{file.source_file} is not a page of this book.", hint="Run the ingest again.")
        if known.error is not None:
            raise known.error
        data = self._bounds.page_bytes(known.path, file.source_file)
        markup = self._rules.markup(known.name)
        written = self._written(known, data, file.source_file, markup)
        front, converted = written.front, written.converted
        route = self._route(known.name, front)
        where, place_notices = self._place(front, file.source_file, known.name, route)
        shown = self._expanded(written.text, known.path, file.source_file, front.body_start)
        _check_length(shown.text, file.source_file)
        grades = grading(front, file.source_file, self._survey.used, default_tier=self._file.default_tier)
        return Page(
            book_id=self._book.book_id,
            source_file=file.source_file,
            text=shown.text,
            file_hash=sha256(data).hexdigest(),
            url=route.url,
            title=_title(written, route, shown, markup),
            markup=markup,
            anchors=self._anchors(converted, markup),
            body_start=front.body_start,
            trail=route.trail,
            labels=Labels(
                module=where.module,
                chapter=where.chapter,
                lesson=where.lesson,
                hardware_tier=grades.hardware_tier,
                proficiency_level=grades.proficiency_level,
                layer=grades.layer,
                language=front.text("lang", "language")
                or (converted and converted.language)
                or self._file.language
                or route.language,
                version=front.text("version") or route.version,
            ),
            notices=(*front.notices(file.source_file), *place_notices, *grades.notices, *shown.notices),
            inserts=shown.inserts,
        )

    def _written(self, known: _SurveyedFile, data: bytes, source_file: str, markup: Markup) -> _Manuscript:
        if is_converted(known.path):
            made = convert(known.path, data, source_file, known.route.url, markup, self._documents)
            return _Manuscript(made.text, FrontMatter(), made)
        text = decode(data, source_file)
        return _Manuscript(text, front_matter(text))

    def _anchors(self, converted: Converted | None, markup: Markup) -> AnchorRule:
        if converted is not None:
            return converted.anchors
        if markup == "asciidoc":
            return "html"  # its parser gives the ids
        return "sphinx" if markup == "rst" else self._rules.anchors

    def close(self) -> None:
        if self._documents is not None:
            self._documents.close()

    @property
    def _survey(self) -> _Survey:
        if self._known is None:
            self._known = self._look()
        return self._known

    def _expanded(self, text: str, path: Path, source_file: str, body_start: int) -> Expanded:
        return self._includes.expand(text, path, source_file, body_start) if self._includes else Expanded(text)

    def _place(self, front: FrontMatter, source_file: str, name: str, route: Route) -> tuple[Place, tuple[Notice, ...]]:
        """If several files claim one place, all of them keep module and chapter but lose the lesson number. Their ids
        are then made from their paths, and do not depend on the order of reading."""
        where, notices = self._named_place(front, source_file, name, route)
        if where not in self._survey.shared:
            return where, notices
        message = (
            f"several files claim module {where.module}, chapter {where.chapter}, lesson {where.lesson};"
            " the lesson number is left out until each has its own"
        )
        notice = Notice("LESSON_NOT_UNIQUE", message, source_file, front.lines.get("lesson", 1))
        return replace(where, lesson=None), (*notices, notice)

    def _route(self, name: str, front: FrontMatter) -> Route:
        route = self._rules.route(name, front)
        return replace(route, url=styled(route.url, name, self._style)) if self._style else route

    def _named_place(
        self, front: FrontMatter, source_file: str, name: str, route: Route
    ) -> tuple[Place, tuple[Notice, ...]]:
        """The place of a page. If the book lists its modules, a module that is not listed is reported and replaced by
        the one from the path, if that is listed."""
        where, notices = place(front, source_file, name, route.place)
        if not self._file.modules or where.module is None:
            return where, notices
        module = self._file.module(where.module)
        if module:
            return replace(where, module=module), notices
        by_path = self._file.module(place_by_path(name).module or "") or None
        used = f"{by_path!r} from the path is used" if by_path else "it is ignored"
        message = f"module is {where.module!r}, which is not among the modules in {BOOK_FILE}; {used}"
        line = front.lines.get("module", 1)
        return replace(where, module=by_path), (*notices, Notice("MODULE_UNKNOWN", message, source_file, line))

    def _look(self) -> _Survey:
        survey = _Survey()
        claims: Counter[Place] = Counter()
        for path in self._rules.paths():
            source_file = path.relative_to(self._root).as_posix()
            name = path.relative_to(self._docs).as_posix()
            try:
                _check_name(source_file)
                found = self._surveyed(path, name, source_file, survey)
            except Unreadable as error:
                survey.files[_printable(source_file)] = _SurveyedFile(path, name, error=error)
                continue
            if found is not None:
                survey.files[source_file] = found
                claims[found.place] += found.place.complete
        survey.shared = frozenset(where for where, count in claims.items() if count > 1)
        survey.notices = _book_notices(survey)
        survey.coverage = self._covered(survey)
        survey.notices += loss_notices(survey.coverage)
        for notice in (*self._file.notices, *self._contents()):
            file = Path(os.path.relpath(notice.source_file, self._root)).as_posix()
            notice = replace(notice, source_file=file)
            (survey.skipped if notice.code == "PAGE_SKIPPED" else survey.notices).append(notice)
        return survey

    def _covered(self, survey: _Survey) -> Coverage:
        words = {name: file.words for name, file in survey.files.items()}
        skipped = {notice.source_file: notice.message for notice in survey.skipped}
        included = frozenset(self._includes.opened) if self._includes else frozenset[Path]()
        known = Known(words, skipped, included, alone=self._only)
        return coverage_of(self.toolchain, self._root, self._docs, self._bounds, known)

    def _surveyed(self, path: Path, name: str, source_file: str, survey: _Survey) -> _SurveyedFile | None:
        """One file; if it is not published, None, and a notice in the survey."""
        data = self._bounds.page_bytes(path, source_file)
        text = "" if is_converted(path) else decode(data, source_file)
        front = front_matter(text)
        reason = self._rules.skips(name, front) or no_page(path, data)
        if is_document(path) and self._documents is None:
            reason = "a document; to read it, install the extra `documents`"
        if reason:
            survey.skipped.append(Notice("PAGE_SKIPPED", reason, source_file))
            return None
        route = self._route(name, front)
        where, _ = self._named_place(front, source_file, name, route)
        survey.used |= used_fields(front)
        shown = self._expanded(text, path, source_file, front.body_start)
        words = words_in(data, path.suffix.lower()) if is_converted(path) else len(shown.text.split())
        return _SurveyedFile(path, name, _content_digest(data, shown), where, route, words)

    def _digest(self, file: _SurveyedFile) -> str:
        """Covers everything the chunks of a page depend on, apart from the chunker itself."""
        route = file.route
        shared = self._known is not None and file.place in self._known.shared
        place = file.place
        parts = (
            *(_READER_VERSION, self.toolchain, self._rules.anchors, file.digest, self._book.book_id, shared),
            *(route.url, route.trail, route.name, route.title, route.language, route.version),
            *(place.module, place.chapter, place.lesson),
            *((self._file.language, self._file.default_tier) if self._file.language or self._file.default_tier else ()),
        )
        return sha256(json.dumps(parts).encode()).hexdigest()


def _content_digest(data: bytes, shown: Expanded) -> str:
    digest = sha256(data)
    if shown.inserts:
        digest.update(sha256(shown.text.encode()).digest())
    return digest.hexdigest()


def _printable(source_file: str) -> str:
    """A name that is not UTF-8 has bytes that cannot be stored or printed; they are shown as `\\udcff`."""
    return source_file.encode("utf-8", "backslashreplace").decode("utf-8")


def _check_name(source_file: str) -> None:
    shown = _printable(source_file)
    if shown != source_file:
        raise Unreadable(
            f"The name of {shown} is not valid UTF-8.", hint="Rename the file.", details={"source_file": shown}
        )


def _check_length(text: str, source_file: str) -> None:
    if len(text) > MAX_PAGE_CHARACTERS:
        raise Unreadable(
            f"{source_file} has {len(text):,} characters; a page may have at most {MAX_PAGE_CHARACTERS:,}.",
            hint="Split it into several pages.",
            details={"source_file": source_file},
        )


def _title(written: _Manuscript, route: Route, shown: Expanded, markup: Markup) -> str:
    front = written.front
    title = route.title or front.text("title") or (written.converted.title if written.converted else "")
    return title or first_heading(shown.text, start=front.body_start, markup=markup) or route.name


def _book_notices(survey: _Survey) -> list[Notice]:
    notices: list[Notice] = []
    left_out = sum(is_document(Path(notice.source_file)) for notice in survey.skipped)
    if left_out:
        files = "1 document is" if left_out == 1 else f"{left_out} documents are"
        notices.append(
            Notice("DOCUMENTS_NEED_EXTRA", f"{files} left out, because the converter is missing; {INSTALL}", ".")
        )
    if not survey.used and survey.files:
        message = "no page names a hardware tier, proficiency or layer; tier 1, A2 and L1 are used for all pages"
        notices.append(Notice("FRONT_MATTER_DEFAULT", message, "."))
    return notices

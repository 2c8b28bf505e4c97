"""AsciiDoc before it is parsed: includes, conditions and attributes, as Asciidoctor's preprocessor reads them.

`AsciidocIncludes` expands one page after another, like `quoth.sources.includes`, which opens the files. A document is
read line by line, with included files in their place, because the value of an attribute depends on what was set above,
in whichever file. Text in listings and comments stays as it is, even if it looks like an attribute. Text under a
condition that does not hold is left out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from pathlib import Path

from quoth.errors import Unreadable
from quoth.sources.asciidoc_attributes import BUILT_IN, Attributes
from quoth.sources.asciidoc_parts import part_of
from quoth.sources.bounds import Bounds, is_file
from quoth.sources.includes import Directive, Expanded, Includes
from quoth.text.asciidoc import parse_asciidoc
from quoth.text.asciidoc_lines import (
    ATTRIBUTES,
    COMMENT,
    ENTRY,
    SECTION,
    TITLE,
    VERBATIM,
    VERBATIM_STYLES,
    BlockAttributes,
    delimiter,
    underlined,
)
from quoth.text.asciidoc_lists import marker_of
from quoth.text.blocks import leaves

_LINE = re.compile(r"([^\r\n]*)(\r\n?|\n|\Z)")
_CONDITION = re.compile(r"(\\)?(ifdef|ifndef|ifeval|endif)::(\S*?)\[(.*)\]$")
_INCLUDE = re.compile(r"(\\)?include::([^\s\[](?:[^\[]*[^\s\[])?)\[(.*)\]$")
# A reference without a text, up to where the text would be.
_UNNAMED = re.compile(r"<<(?P<id>#?[\w:.-]{1,200}+)(?=>>)|\bxref:(?P<target>[^\s\[\]]{1,500}+)\[(?=\])")
_OPTION = re.compile(r"""(\w+)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^,]*))""")

Resolve = Callable[[str, Path], Path]
"""The target of an include, and the file that has the include → the file to include."""


def beside(said: str, path: Path) -> Path:
    """Asciidoctor's rule: relative to the including file."""
    return path.parent / said


@dataclass(frozen=True, slots=True)
class Site:
    """What the publisher of a document adds to it."""

    attributes: Mapping[str, str | None] = field(default_factory=dict)  # None: unset
    locked: frozenset[str] = frozenset()
    resolve: Resolve = beside
    of_page: Callable[[Path], Mapping[str, str]] = lambda path: {}
    title_of: Callable[[str, Path], str] = lambda target, path: ""  # of another page, by the target of an xref


class AsciidocIncludes:
    """Expands the documents of one project."""

    def __init__(self, bounds: Bounds, site: Site = Site()) -> None:
        self._bounds = bounds
        self._site = site
        self.opened: set[Path] = set()  # the files that some document includes

    def expand(self, text: str, path: Path, source_file: str, start: int = 0) -> Expanded:
        site = self._site
        attributes = Attributes({**BUILT_IN, "docname": path.stem, "docfilesuffix": path.suffix})
        for name, value in {**site.attributes, **site.of_page(path)}.items():
            attributes.set(name, value)
        attributes.locked = site.locked
        expanded = self._expanded(text, path, source_file, start, copy(attributes), {})
        titles = _titles(expanded.text, start) if _UNNAMED.search(expanded.text) else {}
        if not titles:
            return expanded
        return self._expanded(text, path, source_file, start, attributes, titles)

    def _expanded(
        self, text: str, path: Path, source_file: str, start: int, attributes: Attributes, titles: Mapping[str, str]
    ) -> Expanded:
        site = self._site
        attributes.values = dict(attributes.values)
        document = _Document(attributes, site.resolve, lambda to: titles.get(to.lstrip("#")) or site.title_of(to, path))
        includes = Includes(self._bounds, document.directives)
        expanded = includes.expand(text, path, source_file, start)
        self.opened |= includes.opened
        return expanded


def _titles(text: str, start: int) -> dict[str, str]:
    """The title of each section of a document, by its id."""
    try:
        blocks = parse_asciidoc(text, start)
    except Unreadable:
        return {}  # reported when the page is split
    return {block.anchor: re.sub(r"[\[\]<>{}]", "", block.text) for block in leaves(blocks) if block.anchor}


@dataclass(slots=True)
class _Document:
    """One document that is being read: the files it includes are part of it."""

    attributes: Attributes
    resolve: Resolve
    title_of: Callable[[str], str]
    conditions: list[bool] = field(default_factory=list)  # whether each of the open ones holds
    closing: str = ""  # the line that ends the listing or comment we are in
    filling: bool = False  # attributes are replaced in it all the same
    verbatim: bool = False  # we are in a paragraph that is shown as it is
    block: BlockAttributes = BlockAttributes()  # what the lines above say about the next block
    before: str = ""  # the last line, empty where a block may begin
    header: int = -1  # lines below the title of the document; -2: after the header
    underline: bool = False  # the next line only underlines a title
    first: bool = True

    def directives(self, text: str, path: Path, start: int) -> Iterator[Directive]:
        """The replacements in the text of one file. Lazy: an include is read before the lines below it."""
        if self.first:
            self.first = False
            yield from self._settings(start)
        lines = [match for match in _LINE.finditer(text, start) if match[0]]
        at = 0
        while at < len(lines):
            match = lines[at]
            at += 1
            line = match[1].rstrip()
            found = self._not_prose(line, match, path)
            if found is not None:
                yield from found
                continue
            entry = ENTRY.match(line) if line.startswith(":") else None
            if entry and self._may_set():
                at = self._entry(entry, lines, at)
                if entry[1].strip("!").lower() in self.attributes.locked:
                    yield Directive(match.start(), lines[at - 1].end())
                continue
            following = lines[at][1].rstrip() if at < len(lines) else ""
            yield from self._line(line, following, match.start(1))

    def _settings(self, start: int) -> Iterator[Directive]:
        """What the parser has to know about the site's attributes, written where an author would write it."""
        values = self.attributes.values
        said = [f":{name}: {values[name]}".rstrip() for name in ("idprefix", "idseparator") if name in values]
        said += [] if "sectids" in values else [":sectids!:"]
        if said:
            yield Directive(start, start, text="".join(f"{line}\n" for line in said))

    def _not_prose(self, line: str, match: re.Match[str], path: Path) -> Sequence[Directive] | None:
        """The replacements for a line of a comment or listing, a line for the preprocessor, or a line under a condition
        that does not hold. None for a line of the text itself."""
        if self.closing.startswith("////"):
            self._inside(line)
            return []
        if line.endswith("]") and "::" in line and (found := self._preprocessed(line, match, path)):
            return found
        if not all(self.conditions):
            return [Directive(match.start(), match.end())]
        return self._inside(line, match.start(1)) if self.closing or self.verbatim else None

    # --- conditions and includes -------------------------------------------------------------------------------------

    def _preprocessed(self, line: str, match: re.Match[str], path: Path) -> list[Directive]:
        """The replacements for the line, if it is for the preprocessor."""
        condition = _CONDITION.match(line)
        include = None if condition else _INCLUDE.match(line)
        found = condition or include
        if found is None:
            return []
        if found[1]:  # escaped: shown without its backslash
            return [Directive(match.start(), match.start() + 1)] if all(self.conditions) else []
        gone = Directive(match.start(), match.end())
        if condition:
            return self._condition(condition, match) or [gone]
        if not all(self.conditions) or include is None:
            return [gone]
        return self._include(include, match, path)

    def _condition(self, condition: re.Match[str], match: re.Match[str]) -> list[Directive]:
        keyword, target, text = condition[2], condition[3], condition[4]
        if keyword == "endif":
            if self.conditions:
                self.conditions.pop()
            return []
        holds = self.attributes.holds(keyword, target, text)
        if keyword == "ifeval" or not text:
            self.conditions.append(holds)
            return []
        if not holds or not all(self.conditions):
            return []
        entry = ENTRY.match(text)
        if entry:
            self._set(entry[1], entry[2] or "")
        self.before = text
        return [Directive(match.start(1), match.end(1), text=self.attributes.filled(text))]

    def _include(self, include: re.Match[str], match: re.Match[str], path: Path) -> list[Directive]:
        said = self.attributes.filled(include[2])
        options = {key: a or b or c.strip() for key, a, b, c in _OPTION.findall(self.attributes.filled(include[3]))}
        if "://" in said:
            return [Directive(match.start(1), match.end(1), text=f"{said}[]")]
        target = self.resolve(said, path)
        if "optional" in include[3] and not is_file(target):
            return [Directive(match.start(), match.end())]
        shift = self._shift(options.get("leveloffset", ""))

        def take(text: str) -> str | None:
            part = part_of(text, options)
            if part is None:
                return None
            self.attributes.offset += shift
            return part.rstrip("\n")

        def finish(text: str) -> str:
            self.attributes.offset -= shift
            return f":leveloffset: {shift:+d}\n\n{text}\n\n:leveloffset: {-shift:+d}" if shift else text

        return [
            Directive(match.start(1), match.end(1), target=target, take=take, finish=finish, said=include[2]),
        ]

    def _shift(self, offset: str) -> int:
        if not re.fullmatch(r"[+-]?\d{1,3}", offset):
            return 0
        return int(offset) - (0 if offset[0] in "+-" else self.attributes.offset)

    # --- attributes --------------------------------------------------------------------------------------------------

    def _may_set(self) -> bool:
        return not self.before or self.header >= 0

    def _entry(self, entry: re.Match[str], lines: list[re.Match[str]], at: int) -> int:
        value = entry[2] or ""
        while value.endswith((" \\", " +")) and at < len(lines) and lines[at][1].strip():
            value = f"{value[:-2]} {lines[at][1].strip()}"
            at += 1
        self._set(entry[1], value)
        return at

    def _set(self, name: str, value: str) -> None:
        unset = name.startswith("!") or name.endswith("!")
        self.attributes.set(name.strip("!"), None if unset else value.strip())

    # --- lines of text -----------------------------------------------------------------------------------------------

    def _inside(self, line: str, start: int = 0) -> Sequence[Directive]:
        """A line of a listing, a comment or a literal paragraph."""
        if line == self.closing or (self.verbatim and not line):
            self.closing, self.verbatim, self.before, self.block = "", False, "", BlockAttributes()
            return []
        return self._filled(line, start) if self.filling else []

    def _line(self, line: str, following: str, start: int) -> Iterator[Directive]:
        if self._is_header(line, following):
            yield from self._filled(line, start)
            return
        if not line or self.underline:
            self.before, self.underline = "", False
            return
        if COMMENT.match(line):
            return
        if line[0] == "[" and ATTRIBUTES.match(line):
            self.block = self.block.with_line(self.attributes.filled(line))
            self.before = ""
            yield from self._filled(line, start)
            return
        if closing := delimiter(line):
            self._opens(line, closing)
            return
        yield from self._prose(line, following, start)

    def _prose(self, line: str, following: str, start: int) -> Iterator[Directive]:
        """A line of a paragraph or a title."""
        if not self.before and not TITLE.match(line):
            self._begins(line)
        if self.verbatim:
            yield from self._filled(line, start) if self.filling else ()
            return
        yield from self._filled(line, start)
        self.underline = bool(following) and not self.before and underlined(line, following) is not None
        self.before = "" if self.underline or SECTION.match(line) or TITLE.match(line) else line

    def _is_header(self, line: str, following: str) -> bool:
        """The title of the document and the lines below it."""
        if self.header == -1 and line and not COMMENT.match(line) and self._is_title(line, following):
            return True
        if self.header == 0 and self.underline:
            self.underline = False
            return True
        if self.header < 0:
            return False
        if not line or delimiter(line) or self.header >= 2:
            self.header = -2
            return False
        if not COMMENT.match(line):
            self.attributes.read_byline(line, self.header)
            self.header += 1
        return True

    def _is_title(self, line: str, following: str) -> bool:
        title = SECTION.match(line)
        self.underline = title is None and bool(following) and underlined(line, following) == 0
        if not self.underline and not (title and len(title[1]) == 1):
            self.header = -2
            return False
        self.header = 0
        self.attributes.read_title(title[2] if title else line)
        return True

    def _opens(self, line: str, closing: str) -> None:
        if (closing[0] in VERBATIM and closing != "--") or self.block.style in VERBATIM_STYLES:
            self.closing = closing
            self.filling = _fills(self.block)
        else:
            self.block = BlockAttributes()
        self.before = ""

    def _begins(self, line: str) -> None:
        """The first line of a paragraph: an indented one, and one under `[source]`, are shown as they are."""
        self.verbatim = self.block.style in VERBATIM_STYLES or (line[0] in " \t" and not marker_of(line))
        self.filling = _fills(self.block)
        if not self.verbatim:
            self.block = BlockAttributes()

    def _filled(self, line: str, start: int) -> Sequence[Directive]:
        found = [Directive(start + a, start + b, text=value) for a, b, value in self.attributes.references(line)]
        return sorted([*found, *self._named(line, start, found)], key=lambda directive: directive.start)

    def _named(self, line: str, start: int, found: Sequence[Directive]) -> Iterator[Directive]:
        """References without a text of their own get the title of their target."""
        for match in _UNNAMED.finditer(line) if not self.closing and not self.verbatim else ():
            title = self.title_of(match["id"] or match["target"])
            at = start + match.end()
            if title and not any(other.start < at < other.end for other in found):
                yield Directive(at, at, text=f",{title}" if match["id"] else title)


def _fills(block: BlockAttributes) -> bool:
    subs = block.get("subs")
    return "attributes" in subs.split("-")[0] or subs in ("normal", "a") or "+attributes" in subs

"""AsciiDoc → blocks with exact offsets, as `quoth.text.markdown` gives them for Markdown.

A parser of lines that tries its patterns in the order of Asciidoctor. Includes, conditions and attributes have already
been resolved (`quoth.sources.asciidoc_includes`), so the text is the one that is published. Sections get the ids that
Asciidoctor gives them, which depend on `idprefix`, `idseparator`, `leveloffset` and everything above them that has an
id. Listings are fences, sidebars, examples and admonitions are containers. Lists are read by `asciidoc_lists`.
"""

from __future__ import annotations

import re

from quoth.text.asciidoc_ids import SectionIds
from quoth.text.asciidoc_inline import inline, title_for_id
from quoth.text.asciidoc_lines import (
    ADMONITIONS,
    ATTRIBUTES,
    BREAK,
    COMMENT,
    ENTRY,
    MACRO,
    SECTION,
    TITLE,
    VERBATIM,
    VERBATIM_STYLES,
    BlockAttributes,
    delimiter,
    underlined,
)
from quoth.text.asciidoc_lists import ListReader, holding
from quoth.text.asciidoc_tables import separator_of, table_words
from quoth.text.blocks import Block, BlockKind, Lines, leaves

_ANCHOR = re.compile(r"(?<![\\\[])\[\[([^\W\d][\w:.-]*|[_:][\w:.-]*)(?:,[^\]\n]*)?\]\]")
_OWN_ANCHOR = re.compile(r"[ \t]+\[\[([^\W\d][\w:.-]*|[_:][\w:.-]*)(?:,[^\]\n]*)?\]\]$")
_CALLOUTS = re.compile(r"(?:[ \t]*(?://|#|--|;;)?[ \t]?<!?(?:--)?(?:\d+|\.)(?:--)?>)+[ \t]*$", re.M)
_TAGS = re.compile(r"<[^<>]{1,1000}+>")
_ATTRIBUTION = re.compile(r"--[ \t]+(?=\S)")


def parse_asciidoc(text: str, start: int = 0, *, whole: bool = True) -> tuple[Block, ...]:
    """The blocks of a page; raises `Unreadable` if they are nested too deep. With `whole` off, those of a piece of a
    page: headings get no ids, and blocks that are too deep are read as paragraphs."""
    return _Reader(Lines(text, start), whole=whole).page()


def plain_asciidoc(text: str) -> str:
    """The words of any piece of a page, one line for each thing said."""
    return "\n".join(leaf.plain for leaf in leaves(parse_asciidoc(text, whole=False)) if leaf.plain)


def first_asciidoc_title(text: str) -> str:
    """The words of the first heading. It is nearly always at the top, so the rest is parsed only if it is not."""
    for part in (text[:2000], text):
        title = next((block.text for block in parse_asciidoc(part, whole=False) if block.level), "")
        if title:
            return title
    return ""


class _Reader(ListReader):
    """Reads regions of lines, block by block."""

    def __init__(self, lines: Lines, *, whole: bool) -> None:
        super().__init__(lines, whole=whole)
        self.ids = SectionIds()
        self.offset = 0  # leveloffset

    def page(self) -> tuple[Block, ...]:
        blocks: list[Block] = []
        line = self._header(blocks)
        blocks += self.body(line, self.count, top=True)
        return tuple(blocks)

    def body(self, first: int, last: int, *, top: bool = False) -> list[Block]:
        """The blocks of a region. Only at the top of a page may a line be a section title."""
        if self.is_too_deep(first):
            return self.flat(first, last)
        self.depth += 1
        blocks: list[Block] = []
        line = first
        while line < last:
            line = self.one(blocks, line, last, top=top) if self.raw[line] else line + 1
        self.depth -= 1
        return blocks

    # --- the head of a page ------------------------------------------------------------------------------------------

    def _header(self, blocks: list[Block]) -> int:
        """The title of the document, its author and its attributes. Returns the line after them."""
        line = 0
        while line < self.count and (not self.raw[line] or self._is_silent(line)):
            line = self._silent(blocks, line, self.count) if self.raw[line] else line + 1
        title = self._title_at(line, self.count) if line < self.count else None
        if title is None or title[0] != 0:
            return line
        blocks.append(self._heading(line, line + title[2], 0, title[1], given=None))
        line += title[2]
        lines = 0  # those that name the author and the revision
        while line < self.count and self.raw[line]:
            if self._is_silent(line):
                line = self._silent(blocks, line, self.count)
            elif lines < 2:
                blocks.append(self.silent(line, line + 1))
                line, lines = line + 1, lines + 1
            else:
                break
        return line

    def _is_silent(self, line: int) -> bool:
        said = self.raw[line]
        if said.startswith("//"):
            return COMMENT.match(said) is not None or bool(delimiter(said))
        return said.startswith(":") and ENTRY.match(said) is not None

    def _silent(self, blocks: list[Block], line: int, last: int) -> int:
        """A comment or an attribute. Returns the line after it."""
        said = self.raw[line]
        end = line + 1
        if closing := delimiter(said):
            end = min(self.closing(line, last, closing) + 1, last)
        elif entry := ENTRY.match(said):
            value = entry[2] or ""
            while value.endswith((" \\", " +")) and end < last and self.raw[end]:
                value = f"{value[:-2]} {self.raw[end].strip()}"
                end += 1
            self._set(entry[1], value.strip())
        blocks.append(self.silent(line, end))
        return end

    def _set(self, name: str, value: str) -> None:
        unset = name.startswith("!") or name.endswith("!")
        match name.strip("!").lower():
            case "idprefix":
                self.ids.prefix = "_" if unset else value
            case "idseparator":
                self.ids.separator = "_" if unset else value[:1]
            case "sectids":
                self.ids.wanted = not unset
            case "leveloffset":
                self.offset = _offset(self.offset, "" if unset else value)

    # --- one block ---------------------------------------------------------------------------------------------------

    def one(self, blocks: list[Block], line: int, last: int, *, top: bool = False, listed: bool = False) -> int:
        """Reads the block that begins here, with the lines that describe it, and returns the line after it."""
        head, line, attributes = self._metadata(blocks, line, last)
        if line >= last:
            self._told(blocks, head, last, "")
            return last
        if attributes.id and not (top and self._title_at(line, last)):
            self.ids.take(attributes.id)
        said = self.raw[line]
        style = attributes.style
        if closing := delimiter(said):
            return self._delimited(blocks, head, line, last, closing, attributes)
        if style in VERBATIM_STYLES:
            end = self.until(line + 1, last)
            blocks.append(self._fence(head, line, end, (line, end), attributes))
            return end
        if (top or style in ("discrete", "float")) and (title := self._title_at(line, last)):
            return self._section(blocks, head, line, last, title, attributes)
        if BREAK.match(said):
            blocks.append(self.silent(head, line + 1))
            return line + 1
        if said[-1] == "]" and (macro := MACRO.match(said)):
            self._told(blocks, head, line, "")
            blocks.append(self._macro(line, macro[1], macro[3]))
            return line + 1
        if self.marker(line):
            self._told(blocks, head, line, "")
            found, end = self.list_at(line, last, ())
            blocks.append(found)
            return end
        return self._paragraph(blocks, head, line, last, attributes, listed=listed)

    def _metadata(self, blocks: list[Block], line: int, last: int) -> tuple[int, int, BlockAttributes]:
        """The lines that describe the block below. `head` is the first of the `[…]` lines right above it."""
        attributes = BlockAttributes()
        head = line
        while line < last:
            said = self.raw[line]
            if not said or self._is_silent(line):
                self._told(blocks, head, line, "")
                line = head = self._silent(blocks, line, last) if said else line + 1
            elif said[0] == "[" and ATTRIBUTES.match(said):
                attributes = attributes.with_line(said)
                line += 1
            elif said[0] == "." and (title := TITLE.match(said)):
                self._told(blocks, head, line, "")
                blocks.append(self.leaf("label", line, line + 1, inline(title[1])))
                line = head = line + 1
            else:
                break
        return head, line, attributes

    def _told(self, blocks: list[Block], head: int, line: int, words: str) -> None:
        """The `[…]` lines above a block, as a block of their own."""
        if line > head:
            blocks.append(self.leaf("label", head, line, words))

    # --- sections ----------------------------------------------------------------------------------------------------

    def _title_at(self, line: int, last: int) -> tuple[int, str, int] | None:
        """Level, title and number of lines of the section title that begins here."""
        said = self.raw[line]
        if said[0] in "=#" and (title := SECTION.match(said)):
            return len(title[1]) - 1, title[2], 1
        if line + 1 < last and self.raw[line + 1]:
            level = underlined(said, self.raw[line + 1])
            if level is not None:
                return level, said.strip(), 2
        return None

    def _section(
        self, blocks: list[Block], head: int, line: int, last: int, title: tuple[int, str, int], said: BlockAttributes
    ) -> int:
        level, words, lines = title
        self._told(blocks, head, line, "")
        blocks.append(self._heading(line, line + lines, level + self.offset, words, given=said.id))
        return line + lines

    def _heading(self, first: int, last: int, level: int, title: str, *, given: str | None) -> Block:
        """`given` is the id that the author wrote above the title; None for the title of the document."""
        own = _OWN_ANCHOR.search(title)
        if own:
            title, given = title[: own.start()], given or own[1]
        words = " ".join(inline(title).split())
        anchor = ""
        if self.whole and given:
            anchor = given
            self.ids.take(given)
        elif self.whole and given is not None:
            anchor = self.ids.of(title_for_id(title))
        level = min(6, max(1, level + 1))
        return Block("heading", *self.lines.span(first, last), level=level, text=words, anchor=anchor, plain=words)

    # --- delimited blocks --------------------------------------------------------------------------------------------

    def _delimited(
        self, blocks: list[Block], head: int, line: int, last: int, closing: str, said: BlockAttributes
    ) -> int:
        end = self.closing(line, last, closing)
        behind = min(end + 1, last)
        mark = closing[0]
        if mark == "/" or said.style == "comment":
            blocks.append(self.silent(head, behind))
        elif (mark in VERBATIM and closing != "--") or said.style in VERBATIM_STYLES:
            blocks.append(self._fence(head, line, behind, (line + 1, end), said))
        elif mark in "|,:!" and closing.endswith("==="):
            blocks.append(self._table(head, line, end, behind, said))
        else:
            blocks.append(self._container(head, line, end, behind, said))
        return behind

    def _fence(self, head: int, line: int, behind: int, inside: tuple[int, int], said: BlockAttributes) -> Block:
        """Text that is shown as it is. Raw HTML is shown without its tags."""
        opening = self.raw[line]
        code = self.verbatim(*inside)
        if opening.startswith("++++") and said.style in ("", "pass"):
            return self.leaf("html", head, behind, " ".join(_TAGS.sub(" ", code).split()))
        language = said.language or (opening.lstrip("`").partition(",")[0] if opening.startswith("```") else "")
        block = self.leaf("fence", head, behind, _CALLOUTS.sub("", code) if ">" in code else code)
        head_end = self.lines.span(head, inside[0])[1] if inside[0] > head else 0
        return block._replace(info=language, head_end=head_end if block.plain else 0)

    def _table(self, head: int, line: int, end: int, behind: int, said: BlockAttributes) -> Block:
        separator = separator_of(self.raw[line], said) or "|"
        words = table_words(self.raw[line + 1 : end], separator)
        first = line + 1
        while first < end and not self.raw[first]:
            first += 1
        header = "header" in said.options or (first == line + 1 and first + 1 < end and not self.raw[first + 1])
        head_end = self.lines.span(head, first + 1 if header and first < end else line + 1)[1]
        return self.leaf("table", head, behind, words, head_end=head_end)

    def _container(self, head: int, line: int, end: int, behind: int, said: BlockAttributes) -> Block:
        kind: BlockKind = "quote" if self.raw[line][0] == "_" else "admonition"
        words = ADMONITIONS.get(said.style, said.words if kind == "quote" else "")
        children = [self.leaf("label", head, line + 1, words)]
        if said.style == "verse" and end > line + 1:
            children.append(self.leaf("paragraph", line + 1, end, inline("\n".join(self.raw[line + 1 : end]))))
        else:
            children += self.body(line + 1, end)
        if behind > end:
            children.append(self.silent(end, behind))
        return holding(kind, children)._replace(info=said.style)

    # --- paragraphs --------------------------------------------------------------------------------------------------

    def _paragraph(
        self, blocks: list[Block], head: int, line: int, last: int, said: BlockAttributes, *, listed: bool
    ) -> int:
        end = self.until(line + 1, last, listed=listed)
        if self.raw[line][0] in " \t" and said.style != "normal":
            self._told(blocks, head, line, "")
            blocks.append(self.leaf("code", line, end, self.verbatim(line, end)))
            return end
        self._told(blocks, head, line, ADMONITIONS.get(said.style, said.words if said.style in _SAID_BY else ""))
        text = self.prose(line, end)
        if self.whole and "[[" in text:
            for anchor in _ANCHOR.finditer(text):
                self.ids.take(anchor[1])
        blocks.append(self.leaf("paragraph", line, end, inline(text)))
        return end

    def _macro(self, line: int, name: str, inside: str) -> Block:
        """A picture is read as its description; other macros are left to a converter."""
        said = inline(f"image:x[{inside}]") if name == "image" else ""
        return self.leaf("paragraph", line, line + 1, said)


_SAID_BY = frozenset(("quote", "verse"))


def _offset(now: int, said: str) -> int:
    """`leveloffset`, absolute, or relative to the current one."""
    if not re.fullmatch(r"[+-]?\d{1,3}", said):
        return 0
    return now + int(said) if said[0] in "+-" else int(said)

"""The elements of a page → Markdown, for `quoth.sources.html`.

It decides how each element is written: headings with their ids, fences with their language, lists, entries, tables,
admonitions as directives. Text that Markdown would misread is escaped, and nothing else: readers will see these words
as a quote. `html_left_out` says what is not for the reader at all.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from urllib.parse import urljoin, urlsplit

from quoth.sources.html_left_out import is_admonition, is_dropped
from quoth.sources.html_tree import BLOCKS, Element

_KINDS = (
    r"note|tip|hint|important|info|warning|caution|danger|error|attention|seealso|success|question|example|todo|bug"
)
_KIND = re.compile(rf"(?:^|[-_])({_KINDS})$")
_TITLE_CLASS = re.compile(r"admonition-?(?:title|heading)|(?:alert|callout|aside|hint)[-_]*title", re.I)
_LANGUAGE = re.compile(r"^(?:language|lang|highlight|source)-([\w+#.-]+)$")
_NO_LANGUAGE = frozenset(("default", "none", "text", "plaintext", "notranslate", "txt"))
_SIGNATURE = frozenset(("sig", "sig-object"))
_ID = re.compile(r"[\w.:-]+")
_SPACE = re.compile(r"[\s\u200b\ufeff]+")
_PERMALINK = re.compile(r"[\s\u200b#¶§🔗⚓︎\ufe0f]*")
_MARKS = re.compile(
    r"[\\`]|\*(?=\S)|(?<=\S)\*|(?<!\w)_(?=\S)|(?<=\S)_(?!\w)|<(?=[A-Za-z/!?])|\[(?=[^\[\]]*\][(\[:])"
    r"|&(?=#?\w{1,31};)|~~"
)
_BLOCK_START = re.compile(r"(#{1,6}(?=\s|$)|[-+*](?=\s|$)|>|\||:::|~~~|={2,}\s*$|-{2,}\s*$)|(\d{1,9})([.)])(?=\s|$)")
_HEADINGS = frozenset(("h1", "h2", "h3", "h4", "h5", "h6"))
_LONGEST_TERM = 80  # characters, as `quoth.text.entries` knows it


def _bold(words: str) -> list[str]:
    return [f"**{words}**"] if words else []


def _grid(rows: list[list[str]], *, header: bool) -> str:
    """Rows as a table. Markdown has no table without a header, so an empty one is added."""
    width = max(len(row) for row in rows)
    shown = rows if header else [[""] * width, *rows]
    lines = [f"| {' | '.join(row + [''] * (width - len(row)))} |" for row in shown]
    lines.insert(1, "|" + "---|" * width)
    return "\n".join(lines)


class HtmlWriter:
    """Writes one page. Block methods return blocks: texts of whole lines, to be separated by blank lines."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._host = urlsplit(url)[:2]
        self._level = 1  # of the last heading
        self.title = ""
        self.anchors: list[str] = []

    def page(self, main: Element) -> str:
        blocks = self._blocks(main)
        return "\n\n".join(blocks) + "\n" if blocks else ""

    def _blocks(self, parent: Element, section: str = "", language: str = "") -> list[str]:
        """The blocks of an element. `section` is the id of a section whose heading is still to come."""
        blocks: list[str] = []
        inline: list[Element | str] = []
        labels: list[str] = []

        def flush() -> None:
            if text := _guarded(self._inline(inline).strip()):
                blocks.append(text)
            inline.clear()

        for child in parent.children:
            if isinstance(child, str) or (child.tag not in BLOCKS and not _holds_blocks(child)):
                if isinstance(child, str) or not is_dropped(child):
                    inline.append(child)
                continue
            flush()
            if is_dropped(child):
                continue
            if child.attributes.get("role") == "tablist":
                labels = [one_line(tab.text()) for tab in child.elements]
                continue
            if child.attributes.get("role") == "tabpanel" and labels:
                blocks.append(f"**{_escaped(labels.pop(0))}**")
            blocks += self._block(child, section, language)
            if child.tag in _HEADINGS:
                section = ""
        flush()
        return blocks

    def _block(self, element: Element, section: str, language: str) -> list[str]:
        tag = element.tag
        language = _language(element) or language
        if tag in _HEADINGS:
            return self._heading(element, section)
        if tag == "pre":
            return _fence(element, language)
        if is_admonition(element):
            return self._admonition(element)
        if tag in ("ul", "ol", "menu", "dir"):
            return self._list(element)
        if tag == "dl":
            return self._definitions(element)
        if tag == "table" and not _is_layout(element):
            return self._table(element)
        if tag == "blockquote":
            return [_indented("\n\n".join(self._blocks(element)), "> ", "> ")] if element.text().strip() else []
        if tag == "summary":
            return _bold(self._words(element))
        if tag == "hr":
            return []
        owner = element.attributes.get("id", "") if tag in ("section", "div", "article") else ""
        return self._blocks(element, owner or section, language)

    def _heading(self, element: Element, section: str) -> list[str]:
        level = self._level = int(element.tag[1])
        words = self._words(element)
        if not words:
            return []
        if level == 1 and not self.title:
            self.title = one_line(_plain(element))
        # Sphinx puts the id on the section, mdBook and others on a link inside the heading.
        inner = (child.attributes.get("id") or child.attributes.get("name", "") for child in element.walk())
        return [self._titled(level, words, next((id for id in inner if id), "") or section)]

    def _titled(self, level: int, words: str, id: str) -> str:
        anchor = id if _ID.fullmatch(id) else ""
        if anchor:
            self.anchors.append(anchor)
        return f"{'#' * level} {words}{f' {{#{anchor}}}' if anchor else ''}"

    def _admonition(self, element: Element) -> list[str]:
        kinds = [match[1] for name in element.classes if (match := _KIND.search(name))]
        title = element.first(lambda e: e is not element and any(_TITLE_CLASS.search(name) for name in e.classes))
        if title is None:
            title = element.first(lambda e: e.tag == "summary")
        words = self._words(title) if title else ""
        if title is not None:
            title.children.clear()
        inside = self._blocks(element)
        if not inside:
            return _bold(words)
        # The outer of two needs more colons than the inner.
        colons = max((len(match) for match in re.findall(r"^:{3,}", "\n".join(inside), re.M)), default=2) + 1
        opening = f"{':' * colons}{kinds[0] if kinds else 'note'}" + (f"[{words}]" if words else "")
        return ["\n\n".join([opening, *inside, ":" * colons])]

    def _list(self, element: Element) -> list[str]:
        number = int(start) if (start := element.attributes.get("start", "")).isdigit() else 1
        items: list[str] = []
        for child in element.elements:
            if is_dropped(child):
                continue
            if child.tag != "li":
                items += [_indented(block, "  ", "  ") for block in self._block(child, "", "")]
                continue
            blocks = self._blocks(child)
            if blocks:
                mark = f"{number}. " if element.tag == "ol" else "- "
                tight = "\n" if len(blocks) < 2 or _is_tight(child) else "\n\n"
                items.append(_indented(tight.join(blocks), mark, " " * len(mark)))
                number += 1
        loose = any("\n\n" in item for item in items)
        return [("\n\n" if loose else "\n").join(items)] if items else []

    def _definitions(self, element: Element) -> list[str]:
        """Entries as Markdown writes them, with the terms in bold. A term of an API reference becomes a heading: it has
        an id, and readers want to be taken there."""
        blocks: list[str] = []
        terms: list[str] = []
        before = self._level
        for child in element.elements:
            if is_dropped(child):
                continue
            if child.tag == "div":
                blocks += self._definitions(child)
            elif child.tag == "dt":
                words = self._words(child)
                id = child.attributes.get("id", "")
                if id and _SIGNATURE.intersection(child.classes):
                    self._level = min(before + 1, 6)
                    blocks += [*terms, self._titled(self._level, words, id)]
                    terms = []
                elif words:
                    terms.append(f"**{words}**" if "**" not in words else words)
            else:
                blocks += _entry(terms, self._blocks(child))
                terms = []
        self._level = before
        return [*blocks, *terms]

    def _table(self, element: Element) -> list[str]:
        blocks = [words for caption in element.walk() if caption.tag == "caption" and (words := self._words(caption))]
        rows: list[list[str]] = []
        header = False
        for row in (row for row in element.walk() if row.tag == "tr" and not is_dropped(row)):
            cells = self._cells(row)
            header = header or (not rows and all(cell.tag == "th" for cell in row.elements))
            if any(cells):
                rows.append(cells)
        return [*blocks, _grid(rows, header=header)] if rows else blocks

    def _cells(self, row: Element) -> list[str]:
        cells: list[str] = []
        for cell in row.elements:
            if cell.tag in ("td", "th") and not is_dropped(cell):
                span = cell.attributes.get("colspan", "1")
                cells += [self._words(cell).replace("|", "\\|")]
                cells += [""] * (min(int(span), 100) - 1 if span.isdigit() else 0)
        return cells

    def _words(self, element: Element) -> str:
        return self._inline(element.children).strip()

    def _inline(self, children: Sequence[Element | str]) -> str:
        parts = [_escaped(child) if isinstance(child, str) else self._within(child) for child in children]
        return _SPACE.sub(" ", "".join(parts))

    def _within(self, element: Element) -> str:
        tag = element.tag
        if is_dropped(element):
            return ""
        if tag in ("code", "tt", "kbd", "samp"):
            return _code(element)
        if tag == "math" or "katex-mathml" in element.classes:
            tex = element.first(lambda e: e.tag == "annotation")
            return f" ${tex.text().strip()}$ " if tex else _escaped(element.text())
        if tag == "img":
            return self._image(element)
        inside = self._inline(element.children)
        if not inside.strip():
            return " " if inside or tag == "br" else ""
        if tag in ("strong", "b", "em", "i") and "*" not in inside:
            mark = "**" if tag in ("strong", "b") else "*"
            return f"{_left(inside)}{mark}{inside.strip()}{mark}{_right(inside)}"
        if tag == "a":
            return self._link(element, inside)
        return f" {inside} " if tag in BLOCKS else inside

    def _link(self, element: Element, inside: str) -> str:
        """Links within the site are many, and lead nowhere when quoted: their words are enough."""
        if _PERMALINK.fullmatch(inside):
            return ""
        target = urljoin(self._url, element.attributes.get("href", ""))
        away = urlsplit(target)[:2] != self._host and target.startswith(("http://", "https://"))
        if not away or re.search(r"[\s()<>]", target) or "![" in inside:
            return inside
        return f"{_left(inside)}[{inside.strip()}]({target}){_right(inside)}"

    def _image(self, element: Element) -> str:
        alt = _escaped(one_line(element.attributes.get("alt", "")))
        source = element.attributes.get("src", "")
        if not alt or source.startswith("data:"):
            return alt
        return f"![{alt}]({urljoin(self._url, source).replace(' ', '%20')})"


def _entry(terms: Sequence[str], below: Sequence[str]) -> list[str]:
    """The terms, and on the next line `: ` and their meaning, with a margin for the rest of it. A meaning that begins
    with a list or code stays below the terms."""
    term, first = ", ".join(terms), below[0] if below else ""
    if not term or not first or len(term) > _LONGEST_TERM or "\n" in first or _BLOCK_START.match(first):
        return [*terms, *below]
    return [f"{term}\n: {first}", *map(_with_margin, below[1:])]


def _with_margin(block: str) -> str:
    """More than this would be code; headings and directives begin at the margin of the page."""
    return block if block.startswith((" ", "#", ":::")) else _indented(block, "  ", "  ")


def one_line(text: str) -> str:
    return _SPACE.sub(" ", text).strip()


def _left(text: str) -> str:
    return " " if text[:1].isspace() else ""


def _right(text: str) -> str:
    return " " if text[-1:].isspace() else ""


def _holds_blocks(element: Element) -> bool:
    """Whether an inline or unknown element has blocks inside."""
    return element.tag not in ("math", "svg", "code") and any(
        child.tag in BLOCKS or _holds_blocks(child) for child in element.elements
    )


def _is_layout(table: Element) -> bool:
    """A table that arranges blocks rather than values: line numbers beside code, columns of a page."""
    return any(e is not table and e.tag in ("pre", "table", *_HEADINGS) for e in table.walk())


def _is_tight(item: Element) -> bool:
    return not any(child.tag in ("p", "pre", "div", "table", "blockquote", "section") for child in item.elements)


def _language(element: Element) -> str:
    for name in element.classes:
        match = _LANGUAGE.match(name)
        if match and match[1].lower() not in _NO_LANGUAGE:
            return match[1]
    return element.attributes.get("data-lang", "")


def _fence(pre: Element, language: str) -> list[str]:
    inner = (_language(child) for child in pre.walk() if child.tag == "code")
    language = _language(pre) or next((found for found in inner if found), "") or language
    code = _source(pre).replace("\r\n", "\n").strip("\n").rstrip()
    if not code:
        return []
    longest = max((len(run) for run in re.findall(r"`{3,}", code)), default=2)
    fence = "`" * (longest + 1)
    return [f"{fence}{language}\n{code}\n{fence}"]


def _source(element: Element) -> str:
    """Code as it is shown: line breaks kept, line numbers and buttons left out."""
    parts: list[str] = []
    for child in element.children:
        if isinstance(child, str):
            parts.append(child)
        elif child.tag == "br":
            parts.append("\n")
        elif not is_dropped(child):
            parts.append(_source(child))
            if child.tag in ("div", "p", "tr", "li") and not parts[-1].endswith("\n"):
                parts.append("\n")
    return "".join(parts)


def _code(element: Element) -> str:
    code = _SPACE.sub(" ", _plain(element))
    bare = code.strip()
    if not bare:
        return code
    longest = max((len(run) for run in re.findall(r"`+", bare)), default=0)
    mark = "`" * (longest + 1)
    pad = " " if bare.startswith("`") or bare.endswith("`") else ""
    return f"{_left(code)}{mark}{pad}{bare}{pad}{mark}{_right(code)}"


def _plain(element: Element) -> str:
    parts = [
        child if isinstance(child, str) else "" if is_dropped(child) else _plain(child) for child in element.children
    ]
    text = "".join(parts)
    return "" if element.tag == "a" and _PERMALINK.fullmatch(text) else text


def _escaped(text: str) -> str:
    """Text that Markdown would take for a mark gets a backslash; text that reads the same either way is left alone."""
    return _MARKS.sub(lambda match: "&amp;" if match[0] == "&" else f"\\{match[0]}", text)


def _guarded(text: str) -> str:
    """A paragraph must not begin like a heading, a list or a quote."""
    return (
        _BLOCK_START.sub(lambda m: f"\\{m[1]}" if m[1] else f"{m[2]}\\{m[3]}", text, count=1)
        if (_BLOCK_START.match(text))
        else text
    )


def _indented(text: str, first: str, rest: str) -> str:
    lines = text.split("\n")
    return "\n".join(
        (first if index == 0 else rest) + line if line or rest.strip() or index == 0 else ""
        for index, line in enumerate(lines)
    )

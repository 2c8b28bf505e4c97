"""HTML → a small tree of its elements, for `quoth.sources.html`.

It uses the standard library's tokenizer and the few rules of HTML that real pages need: void elements, end tags that
may be left out, end tags that match nothing. Documentation is written by generators, so it is enough that the tree is
right for well-formed pages and harmless for the rest; that saves a dependency. Knows nothing of what elements mean.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from html import unescape
from html.parser import HTMLParser

from quoth.text.limits import MAX_HTML_DEPTH

VOID = frozenset(
    ("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr")
)
BLOCKS = frozenset(
    (
        *("address", "article", "aside", "blockquote", "body", "center", "dd", "details", "dialog", "dir", "div", "dl"),
        *("dt", "fieldset", "figcaption", "figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "header"),
        *("hgroup", "hr", "html", "li", "main", "menu", "nav", "ol", "p", "pre", "search", "section", "summary"),
        *("table", "tbody", "td", "tfoot", "th", "thead", "tr", "ul", "caption", "iframe", "video", "audio"),
    )
)
# An opening element closes these if one is open, up to the element that may hold several of them.
_CLOSES: dict[str, tuple[frozenset[str], frozenset[str]]] = {
    "li": (frozenset(("li",)), frozenset(("ul", "ol", "menu", "dir"))),
    "dt": (frozenset(("dt", "dd")), frozenset(("dl",))),
    "dd": (frozenset(("dt", "dd")), frozenset(("dl",))),
    "td": (frozenset(("td", "th")), frozenset(("tr", "table"))),
    "th": (frozenset(("td", "th")), frozenset(("tr", "table"))),
    "tr": (frozenset(("tr", "td", "th")), frozenset(("table", "thead", "tbody", "tfoot"))),
    "tbody": (frozenset(("tr", "td", "th", "thead", "tbody", "tfoot")), frozenset(("table",))),
    "thead": (frozenset(("tr", "td", "th", "thead", "tbody", "tfoot")), frozenset(("table",))),
    "tfoot": (frozenset(("tr", "td", "th", "thead", "tbody", "tfoot")), frozenset(("table",))),
    "option": (frozenset(("option",)), frozenset(("select",))),
}
# Python codecs that no page is written in; they are slow, or refuse to replace damaged bytes.
_NOT_OF_PAGES = frozenset(("idna", "punycode", "undefined", "unicode_escape", "raw_unicode_escape"))
_CHARSET = re.compile(rb"<meta[^>]+?charset\s*=\s*[\"']?\s*([\w.:-]+)", re.I)


@dataclass(slots=True)
class Element:
    tag: str
    attributes: dict[str, str] = field(default_factory=dict)
    children: list[Element | str] = field(default_factory=list)

    @property
    def classes(self) -> list[str]:
        return self.attributes.get("class", "").split()

    @property
    def elements(self) -> Iterator[Element]:
        return (child for child in self.children if isinstance(child, Element))

    def walk(self) -> Iterator[Element]:
        """This element and all below it, in the order of the page."""
        yield self
        for child in self.elements:
            yield from child.walk()

    def first(self, wanted: Callable[[Element], bool]) -> Element | None:
        return next((element for element in self.walk() if wanted(element)), None)

    def text(self) -> str:
        """All the text in it, unchanged."""
        return "".join(child if isinstance(child, str) else child.text() for child in self.children)


class _Builder(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.root = Element("html")
        self._open = [self.root]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in reversed(attrs)}
        if tag == "html":
            self.root.attributes.update(attributes)
            return
        self._close_before(tag)
        element = Element(tag, attributes)
        self._open[-1].children.append(element)
        if tag not in VOID and len(self._open) < MAX_HTML_DEPTH:
            self._open.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        # Only SVG and MathML have self-closing tags; on HTML's own elements the slash means nothing.
        if tag not in VOID and tag not in BLOCKS and self._open[-1].tag == tag:
            self._open.pop()

    def handle_endtag(self, tag: str) -> None:
        for depth in range(len(self._open) - 1, 0, -1):
            if self._open[depth].tag == tag:
                del self._open[depth:]
                return

    def handle_data(self, data: str) -> None:
        self._open[-1].children.append(data)

    def _close_before(self, tag: str) -> None:
        if tag in BLOCKS and self._open[-1].tag == "p":
            self._open.pop()
        if tag not in _CLOSES:
            return
        closed, scope = _CLOSES[tag]
        first = len(self._open)
        for depth in range(len(self._open) - 1, 0, -1):
            if self._open[depth].tag in scope:
                break
            if self._open[depth].tag in closed:
                first = depth
        del self._open[first:]


def parse_html(html: str) -> Element:
    # No tag can end after the last `>`. The tokenizer would look for the end of each one that begins there.
    end = html.rfind(">") + 1
    builder = _Builder()
    builder.feed(html[:end])
    builder.close()
    if html[end:]:
        builder.handle_data(unescape(html[end:]))
    return builder.root


def decode_html(data: bytes, charset: str = "") -> str:
    """The text of a page: by its byte order mark, the given charset, its own `<meta charset>`, or as UTF-8. An invalid
    byte becomes a replacement character: browsers show such pages too."""
    marks = ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))
    named = _CHARSET.search(data[:2048])
    declared = named[1].decode("ascii") if named else ""
    by_mark = next((name for mark, name in marks if data.startswith(mark)), "")
    for name in (by_mark, charset, declared):
        try:
            if name and codecs.lookup(name).name not in _NOT_OF_PAGES:
                return data.decode(name, "replace")
        except (LookupError, UnicodeError):  # an encoding that Python does not know, or that is not for text
            continue
    return data.decode("utf-8", "replace")

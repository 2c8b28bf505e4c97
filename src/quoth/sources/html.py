"""A published HTML page → Markdown, with the page's own ids as anchors.

In: the HTML of a page and its URL. Out: a `WebPage` whose text is what a reader came for: the main content, without
navigation, scripts and footers. Headings keep their ids (`## Set up {#set-up}`), so a citation opens at the right
place; code keeps its language, and tables and admonitions stay what they are. Offsets into such a page are offsets into
the converted text. Pure: it serves .html files and pages from the network alike, and knows of neither.
"""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urljoin

from quoth.sources.html_tree import Element, decode_html, parse_html
from quoth.sources.html_writer import HtmlWriter, one_line

__all__ = ["WebPage", "decode_html", "page_from_html"]


@dataclass(frozen=True, slots=True)
class WebPage:
    title: str  # the first heading of level one, or else the browser's title without the name of the site
    text: str  # Markdown; headings carry their anchors as `{#id}`
    anchors: tuple[str, ...] = ()  # the ids of the headings in `text`, in order
    site: str = ""  # the name of the site, if the browser's title ends with it
    language: str | None = None
    canonical: str = ""  # the URL that the page calls its own
    noindex: bool = False  # the page asks not to be indexed


def page_from_html(html: str, url: str = "") -> WebPage:
    root = parse_html(html)
    said = root.first(lambda element: element.tag == "title")
    shown, site = _split_title(one_line(said.text()) if said else "")
    writer = HtmlWriter(url)
    text = writer.page(_main(root))
    canonical = root.first(lambda e: e.tag == "link" and "canonical" in e.attributes.get("rel", "").lower().split())
    robots = (
        element.attributes.get("content", "").lower()
        for element in root.walk()
        if element.tag == "meta" and element.attributes.get("name", "").lower() == "robots"
    )
    return WebPage(
        title=writer.title or shown,
        text=text,
        anchors=tuple(writer.anchors),
        site=site,
        language=root.attributes.get("lang", "").strip() or None,
        canonical=urljoin(url, canonical.attributes.get("href", "")) if canonical else "",
        noindex=any("noindex" in content or content.strip() == "none" for content in robots),
    )


def _split_title(title: str) -> tuple[str, str]:
    for mark in (" | ", " — ", " – ", " · ", " - "):
        head, _, tail = title.rpartition(mark)
        if head and tail:
            return head.strip(), tail.strip()
    return title, ""


def _main(root: Element) -> Element:
    """The element that holds the main content."""
    body = root.first(lambda element: element.tag == "body") or root
    found = body.first(lambda e: e.tag == "main" or e.attributes.get("role") == "main")
    within = found or body
    articles = [element for element in within.walk() if element.tag == "article"]
    if len(articles) == 1 and (not found or 2 * len(articles[0].text()) >= len(found.text())):
        return articles[0]
    return within

"""What on a page is not for its reader: menus, ways to other pages, what only a browser needs.

In: an element of the page's tree. Out: whether it is left out. `html_writer` writes the rest. Goes by tags, roles and
classes that generators of documentation use, and by what links say of themselves.
"""

from __future__ import annotations

import re

from quoth.sources.html_tree import Element

_DROPPED = frozenset(
    (
        *("script", "style", "noscript", "template", "svg", "nav", "footer", "button", "form", "input", "select"),
        *("textarea", "iframe", "dialog", "head", "title", "canvas", "object", "video", "audio", "map", "link", "meta"),
    )
)
_DROPPED_ROLES = frozenset(("navigation", "search", "banner", "contentinfo", "menu", "menubar", "dialog"))
_DROPPED_CLASSES = frozenset(
    (
        *("headerlink", "hash-link", "linenos", "lineno", "sr-only", "visually-hidden", "toctree-wrapper"),
        *("breadcrumb", "breadcrumbs", "sphinxsidebar", "table-of-contents", "md-source-file", "edit-page-link"),
        *("viewcode-link", "rst-footer-buttons", "prev-next-area", "related", "katex-html", "bd-toc", "toc-tree"),
    )
)
_ADMONITION = re.compile(r"(?:^|[-_])admonition$|^starlight-aside$|^(?:alert|callout|hint|markdown-alert)$")
_WAYS = frozenset(("next", "prev", "previous", "up", "home", "contents", "index", "start", "top", "toc"))
_BESIDE_THE_WAYS = 40  # characters beside the links: "Next: , Previous: , Up: "


def is_dropped(element: Element) -> bool:
    attributes = element.attributes
    if element.tag in _DROPPED or attributes.get("role", "") in _DROPPED_ROLES:
        return True
    panel = attributes.get("role") == "tabpanel"  # hidden until its tab is clicked, but part of the text
    if not panel and ("hidden" in attributes or attributes.get("aria-hidden") == "true"):
        return True
    if _DROPPED_CLASSES.intersection(element.classes) or _leads_around(element):
        return True
    if element.tag == "aside" or (element.tag == "header" and attributes.get("role") == "banner"):
        linked = sum(len(link.text().strip()) for link in element.walk() if link.tag == "a")
        return not is_admonition(element) and 5 * linked > 3 * len(element.text().strip())
    return False


def _leads_around(element: Element) -> bool:
    """Links to the next page, the previous one and the one above, which their `rel` or their access key tells."""
    if element.tag not in ("p", "ul", "table"):
        return False
    links = [one for one in element.walk() if one.tag == "a"]
    if not all(
        _WAYS.intersection(one.attributes.get("rel", "").split()) or "accesskey" in one.attributes for one in links
    ):
        return False
    beside = len("".join(element.text().split())) - sum(len("".join(one.text().split())) for one in links)
    return bool(links) and beside <= _BESIDE_THE_WAYS


def is_admonition(element: Element) -> bool:
    return element.tag in ("div", "aside", "section", "blockquote", "details") and any(
        _ADMONITION.search(name) for name in element.classes
    )

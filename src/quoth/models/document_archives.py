"""EPUB and DOCX → Markdown and a title: part of the process that converts documents.

The chapters of an EPUB are read in the order of its spine. A heading carries the file inside the EPUB and its own id,
as in `{#ch01.xhtml:setup}`; a chapter without a heading gets its name from the table of contents. The title of a DOCX
is the paragraph in the style Title. The archive's own XML is read with defusedxml.
"""

from __future__ import annotations

import posixpath
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
_PLACE = "QuothAnchor{}Place"
_PLACES = re.compile(r"QuothAnchor(\d+)Place")
_UNFIT = re.compile(r"[^\w.:-]+")
_WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_META = ("title", "creator", "language", "publisher", "date", "description", "identifier")


def epub_markdown(path: Path) -> tuple[str, str]:
    from defusedxml import ElementTree

    with zipfile.ZipFile(path) as archive:
        container = ElementTree.fromstring(archive.read("META-INF/container.xml"))
        package = next(element.get("full-path") for element in container.iter() if _name(element) == "rootfile")
        book = ElementTree.fromstring(archive.read(package))
        said = {
            name: " ".join("".join(element.itertext()).split())
            for name in reversed(_META)
            for element in reversed([one for one in book.iter() if _name(one) == name])
        }
        folder = posixpath.dirname(package)
        items = {one.get("id"): one for one in book.iter() if _name(one) == "item"}
        names = set(archive.namelist())
        listed = _contents(archive, items, folder, names)
        chapters: list[str] = []
        for reference in book.iter():
            item = items.get(reference.get("idref")) if _name(reference) == "itemref" else None
            file = _file(item, folder, names) if item is not None else ""
            if file:
                chapters.append(_chapter(archive.read(file), posixpath.basename(file), listed.get(file, "")))
    labels = {"creator": "Authors"}
    head = "\n".join(f"**{labels.get(key, key.capitalize())}:** {said[key]}" for key in _META if said.get(key))
    return "\n\n".join(filter(None, [head, *chapters])), said.get("title", "")


def _name(element: Any) -> str:
    return str(element.tag).rpartition("}")[2]


def _file(item: Any, folder: str, names: set[str]) -> str:
    href = (item.get("href") or "").partition("#")[0]
    for said in (unquote(href), href):
        if (file := posixpath.normpath(posixpath.join(folder, said))) in names:
            return file
    return ""


def _contents(archive: zipfile.ZipFile, items: dict[Any, Any], folder: str, names: set[str]) -> dict[str, str]:
    """The name of each file in the table of contents: EPUB 3's or, if there is none, EPUB 2's."""
    from bs4 import BeautifulSoup

    found: dict[str, str] = {}
    for item in items.values():
        modern = "nav" in (item.get("properties") or "").split()
        if not modern and item.get("media-type") != "application/x-dtbncx+xml":
            continue
        file = _file(item, folder, names)
        if not file:
            continue
        page = BeautifulSoup(archive.read(file), "html.parser")
        for href, words in _entries(page, modern=modern):
            target = posixpath.normpath(posixpath.join(posixpath.dirname(file), unquote(href.partition("#")[0])))
            found.setdefault(target, words)
    return found


def _entries(page: Any, *, modern: bool) -> Iterator[tuple[str, str]]:
    if modern:
        for link in page.select("nav a[href]"):
            yield link["href"], " ".join(link.get_text().split())
        return
    for point in page.find_all("navpoint"):
        label, content = point.find("navlabel"), point.find("content")
        if label is not None and content is not None:
            yield content.get("src", ""), " ".join(label.get_text().split())


def _chapter(data: bytes, name: str, listed: str) -> str:
    from bs4 import BeautifulSoup
    from markitdown.converters import HtmlConverter

    page = BeautifulSoup(data, "html.parser")
    anchors: list[str] = []
    headings = page.find_all(_HEADINGS)
    for heading in headings:
        own = heading.get("id") or _near(heading)
        anchors.append(f"{name}:{own}" if own else name)
        heading.append(" " + _PLACE.format(len(anchors) - 1))
    text = str(HtmlConverter().convert_string(str(page)).markdown).strip()
    if not text:
        return ""
    text = _PLACES.sub(lambda match: _id(anchors[int(match[1])]), text)
    called = f"# {listed} {_id(name)}\n\n" if listed and not headings else ""
    return f"###### {_id(name)}\n\n{called}{text}"


def _near(heading: Any) -> str:
    """The id of the section that a heading opens, or of an anchor in it."""
    inside = heading.find(id=True)
    if inside is not None:
        return str(inside["id"])
    section = heading.find_parent(["section", "div"])
    first = section.find(_HEADINGS) if section is not None else None
    return str(section.get("id") or "") if section is not None and first is heading else ""


def _id(anchor: str) -> str:
    return f"{{#{_UNFIT.sub('-', anchor)}}}"


def docx_title(path: Path) -> str:
    """The text in the style Title, whatever that style is called in the author's language."""
    from defusedxml import ElementTree

    with zipfile.ZipFile(path) as archive:
        names = set(archive.namelist())
        if "word/document.xml" not in names:
            return ""
        styles = {"Title"}
        if "word/styles.xml" in names:
            for style in ElementTree.fromstring(archive.read("word/styles.xml")).iter(f"{_WORD}style"):
                named = style.find(f"{_WORD}name")
                if named is not None and (named.get(f"{_WORD}val") or "").lower() == "title":
                    styles.add(style.get(f"{_WORD}styleId") or "")
        for paragraph in ElementTree.fromstring(archive.read("word/document.xml")).iter(f"{_WORD}p"):
            style = paragraph.find(f"{_WORD}pPr/{_WORD}pStyle")
            if style is not None and style.get(f"{_WORD}val") in styles:
                words = " ".join("".join(text.text or "" for text in paragraph.iter(f"{_WORD}t")).split())
                if words:
                    return words
    return ""

"""A sitemap file → the addresses in it: a set of pages, an index of further sitemaps, or a plain list. Pure.

What comes in was written by strangers: a document type (and with it every entity, external or exploding) is refused,
a compressed file may not grow beyond the limit, and the limit of the caller bounds how many addresses are kept.
"""

from __future__ import annotations

import re
import zlib
from dataclasses import dataclass
from typing import Literal
from xml.parsers import expat

from quoth.errors import Unreadable

_GZIP = b"\x1f\x8b"
_DEEPEST = 64  # a sitemap is three levels deep


@dataclass(frozen=True, slots=True)
class SitemapFile:
    kind: Literal["pages", "sitemaps"]
    addresses: tuple[str, ...]  # as they are written, in their order


class _Stop(Exception):
    """Why the reading of a document ends before its end."""


def looks_like_a_web_page(data: bytes) -> bool:
    head = data[:1024].lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    return head.startswith(b"<") and (b"<!doctype html" in head or b"<html" in head)


def parse_sitemap(data: bytes, url: str, *, limit: int) -> SitemapFile:
    """`Unreadable` when it is no sitemap. `limit` is the most bytes that a compressed one may unfold to."""
    if data.startswith(_GZIP):
        data = _unfolded(data, url, limit)
    if data.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<") or data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return _of_xml(data, url)
    return _of_text(data, url)


def _unfolded(data: bytes, url: str, limit: int) -> bytes:
    unfolding = zlib.decompressobj(zlib.MAX_WBITS | 16)
    try:
        whole = unfolding.decompress(data, limit + 1)
    except zlib.error as error:
        raise Unreadable(f"The sitemap {url} is compressed wrongly: {error}.") from error
    if len(whole) > limit:
        raise Unreadable(f"The sitemap {url} unfolds to more than {limit / 1e6:g} MB.")
    if not unfolding.eof:
        raise Unreadable(f"The sitemap {url} ends too early.", hint="Try again later.")
    return whole


def _of_text(data: bytes, url: str) -> SitemapFile:
    lines = [line.strip() for line in data.decode("utf-8-sig", "replace").splitlines()]
    addresses = tuple(line for line in lines if line)
    if not addresses or not all(re.match(r"https?://\S+$", line, re.I) for line in addresses):
        raise _no_sitemap(url, "it is neither XML nor a list of addresses")
    return SitemapFile("pages", addresses)


def _of_xml(data: bytes, url: str) -> SitemapFile:
    reader = _Reader()
    try:
        reader.parser.Parse(data, True)
    except _Stop as reason:
        raise _no_sitemap(url, str(reason)) from None
    except expat.ExpatError as error:
        raise _no_sitemap(url, f"its XML is broken: {error}") from error
    except LookupError as error:
        raise _no_sitemap(url, f"nobody knows its encoding: {error}") from error
    return SitemapFile("sitemaps" if reader.root == "sitemapindex" else "pages", tuple(reader.addresses))


def _no_sitemap(url: str, reason: str) -> Unreadable:
    return Unreadable(f"{url} is no sitemap: {reason}.", hint="Give the site's sitemap.xml, or its start page.")


class _Reader:
    """Collects `urlset/url/loc` or `sitemapindex/sitemap/loc`, and nothing that extensions put beside them."""

    def __init__(self) -> None:
        self.root = ""
        self.addresses: list[str] = []
        self._path: list[str] = []
        self._words: list[str] = []
        self.parser = expat.ParserCreate(namespace_separator=" ")
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._text
        # No document type, no entities: neither files of this machine nor a billion laughs.
        self.parser.StartDoctypeDeclHandler = self._refuse
        self.parser.EntityDeclHandler = self._refuse

    def _refuse(self, *_: object) -> None:
        raise _Stop("it has a document type (DTD), which no sitemap needs")

    def _start(self, name: str, _: dict[str, str]) -> None:
        local = name.rpartition(" ")[2]
        if not self._path:
            if local not in ("urlset", "sitemapindex"):
                raise _Stop(f"its first element is <{local[:40]}>, not <urlset> or <sitemapindex>")
            self.root = local
        if len(self._path) >= _DEEPEST:
            raise _Stop("its elements are nested too deeply")
        self._path.append(local)
        self._words.clear()

    def _text(self, words: str) -> None:
        if self._here:
            self._words.append(words)

    def _end(self, _: str) -> None:
        if self._here:
            address = "".join(self._words).strip()
            if address:
                self.addresses.append(address)
        self._path.pop()

    @property
    def _here(self) -> bool:
        return len(self._path) == 3 and self._path[1] in ("url", "sitemap") and self._path[2] == "loc"

"""Addresses of one site: how they are spelled, and which belong to it. Pure.

Every address that a site hands us (in a sitemap, a redirect, a canonical link) goes through `Site.address` and comes
out in one spelling, or not at all. The address that is checked here is the one that is fetched: no second URL parser is
involved.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import quote, unquote, urljoin, urlsplit

from quoth.errors import Unreadable

_PORTS = {"http": 80, "https": 443}
_HOST = re.compile(r"[a-z0-9_](?:[a-z0-9._-]*[a-z0-9_])?\.?|\[[0-9a-f:.]+\]")
_FORBIDDEN = re.compile(r"[\x00-\x20\x7f\\<>\"^`{|}]")
_IN_PATH = "/:@!$&'()*+,;=~"


@dataclass(frozen=True, slots=True)
class Address:
    """A normal spelling: scheme and host in lower case, no default port, no fragment, everything else quoted."""

    origin: str
    path: str  # with its leading slash
    query: str = ""

    @property
    def target(self) -> str:
        return f"{self.path}?{self.query}" if self.query else self.path

    def __str__(self) -> str:
        return self.origin + self.target


def is_url(path: str) -> bool:
    return re.match(r"https?://", path, re.I) is not None


def parse_address(text: str) -> Address:
    """Raises `Unreadable`, with the reason, when it is not a web address that may be read."""
    trimmed = text.strip()
    if _FORBIDDEN.search(trimmed) or len(trimmed) > 2_048:
        raise Unreadable(f"{trimmed[:200]!r} is not a URL.", hint="Give an http:// or https:// address.")
    try:
        parts = urlsplit(trimmed)
        port, host = parts.port, _host(parts.hostname or "")
    except ValueError as error:
        raise Unreadable(f"{trimmed!r} is not a URL: {error}.", hint="Give an http:// or https:// address.") from error
    if parts.scheme not in _PORTS or not host:
        raise Unreadable(f"{trimmed!r} is not a web address.", hint="Give an http:// or https:// address.")
    if "@" in parts.netloc:
        raise Unreadable("URLs with a user name or password are not read.", hint="Give the address without them.")
    shown_port = "" if port is None or port == _PORTS[parts.scheme] else f":{port}"
    return Address(
        origin=f"{parts.scheme}://{host}{shown_port}",
        path=_quoted(parts.path, _IN_PATH) or "/",
        query=_quoted(parts.query, _IN_PATH + "?[]"),
    )


def _host(name: str) -> str:
    host = f"[{name}]" if ":" in name else name
    if not host.isascii():
        host = host.encode("idna").decode("ascii")  # UnicodeError is a ValueError
    host = host.lower()
    if not _HOST.fullmatch(host):
        raise ValueError(f"{name!r} is not a host name")
    return host


def _quoted(text: str, safe: str) -> str:
    """Escapes stay, in capitals; a stray `%` is quoted."""
    pieces = re.split(r"(%[0-9A-Fa-f]{2})", text)
    return "".join(piece.upper() if number % 2 else quote(piece, safe=safe) for number, piece in enumerate(pieces))


@dataclass(frozen=True, slots=True)
class Site:
    """One origin, and the folder on it that is the book."""

    origin: str
    folder: str = "/"

    def address(self, text: str, base: Address | None = None) -> Address | None:
        """The address in its normal spelling, or None if it is invalid or on another site."""
        try:
            found = parse_address(urljoin(str(base), text.strip()) if base else text)
        except (Unreadable, ValueError):
            return None
        return found if found.origin == self.origin else None

    def holds(self, address: Address) -> bool:
        return address.path.startswith(self.folder) or address.path == self.folder.rstrip("/")


def origin_of(text: str) -> str:
    """The origin of an address on another site, for a report."""
    try:
        return parse_address(text).origin
    except Unreadable:
        return text.strip()[:60] or "nothing"


def source_name(address: Address) -> str:
    """The name of a page in the book: its path with its query. Escapes are decoded only if that can be undone, so that
    no two pages share a name."""
    readable = unquote(address.path, errors="replace")
    path = readable if _quoted(readable, _IN_PATH) == address.path else address.path
    return f"{path}?{address.query}" if address.query else path

"""Where a request comes from and which name it was sent to: addresses behind proxies, host names, origins.

In: a request and the operator's settings. Out: an address, or `Forbidden` for a name that is not ours. Knows no keys.
"""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from urllib.parse import urlsplit

from starlette.requests import Request

from quoth.errors import Forbidden
from quoth.settings import Settings

# --- the caller's address, even behind proxies -----------------------------------------------------------------------


Networks = tuple[IPv4Network | IPv6Network, ...]
_NO_ADDRESS = "unknown"  # for a local socket


def address_of(request: Request, proxies: Networks) -> str:
    address = request.client.host if request.client else _NO_ADDRESS
    written = ",".join(request.headers.getlist("x-forwarded-for")).split(",")
    while written and _is_one_of(address, proxies):
        claimed = written.pop().strip()
        if _parse_address(claimed) is None:
            break
        address = claimed
    return address


def block_of(address: str) -> str:
    """The addresses that count as one caller: with IPv6, everyone has 2^64 of them."""
    ip = _parse_address(address)
    if isinstance(ip, IPv6Address):
        return str(IPv6Network((ip, 64), strict=False))
    return address if ip is None else str(ip)


def _parse_address(address: str) -> IPv4Address | IPv6Address | None:
    try:
        ip = ip_address(address.partition("%")[0])
    except ValueError:
        return None
    return ip.ipv4_mapped or ip if isinstance(ip, IPv6Address) else ip


def _is_one_of(address: str, networks: Networks) -> bool:
    ip = _parse_address(address)
    return ip is not None and any(ip in network for network in networks)


# --- the name that the request was sent to ---------------------------------------------------------------------------


def _host_name(url: str) -> str:
    """The host name without the port, in lower case; empty if there is none."""
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def _is_loopback(name: str) -> bool:
    ip = _parse_address(name)
    return name == "localhost" or (ip is not None and ip.is_loopback)


def check_host(host: str | None, settings: Settings) -> None:
    """A web page can make its own name point at this machine (DNS rebinding); a browser would then treat it as ours. So
    a server on loopback answers only to loopback names and to those its operator listed. Any other server answers to
    all names, or only to the listed ones if there are any. Only names can be rebound: addresses are safe. A request
    without the header does not come from a browser."""
    if host is None or not (settings.is_local or settings.allowed_hosts):
        return
    name = _host_name(f"//{host}")
    listed = name in (known.lower() for known in settings.allowed_hosts)
    if not (listed or _is_loopback(name) or (not settings.is_local and _parse_address(name))):
        raise Forbidden(
            f"This server does not answer to the name {name!r}.",
            hint="If that name is right, its operator can add it to QUOTH_ALLOWED_HOSTS.",
        )


def is_own_page(request: Request, settings: Settings) -> bool:
    """False if the request comes from a page of another site. Only browsers send an origin. They set `Sec-Fetch-Site`
    themselves, no page can change it, and it holds even behind proxies that rewrite the host."""
    origin = request.headers.get("origin")
    if origin is None or request.headers.get("sec-fetch-site") == "same-origin":
        return True
    name = _host_name(origin)
    ours = {_host_name(f"//{request.headers.get('host', '')}"), *(known.lower() for known in settings.allowed_hosts)}
    return _is_loopback(name) or name in ours - {""}

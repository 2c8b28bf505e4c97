"""Which address a request came from, also behind proxies. Pure.

`X-Forwarded-For` is written by whoever wants to: it is believed only as far as trusted proxies wrote it, from the right
to the left, and the first address that is not one of theirs is the caller's.
"""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

from starlette.requests import Request

Networks = tuple[IPv4Network | IPv6Network, ...]
NOWHERE = "unknown"  # a local socket has no address


def address_of(request: Request, proxies: Networks) -> str:
    address = request.client.host if request.client else NOWHERE
    written = ",".join(request.headers.getlist("x-forwarded-for")).split(",")
    while written and _is_one_of(address, proxies):
        claimed = written.pop().strip()
        if parsed(claimed) is None:
            break
        address = claimed
    return address


def block_of(address: str) -> str:
    """What counts as one caller. With IPv6 everybody has 2^64 addresses."""
    ip = parsed(address)
    if isinstance(ip, IPv6Address):
        return str(IPv6Network((ip, 64), strict=False))
    return address if ip is None else str(ip)


def parsed(address: str) -> IPv4Address | IPv6Address | None:
    try:
        ip = ip_address(address.partition("%")[0])
    except ValueError:
        return None
    return ip.ipv4_mapped or ip if isinstance(ip, IPv6Address) else ip


def _is_one_of(address: str, networks: Networks) -> bool:
    ip = parsed(address)
    return ip is not None and any(ip in network for network in networks)

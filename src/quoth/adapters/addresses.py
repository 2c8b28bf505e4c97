"""Which addresses of the network a crawl may reach: those of the public internet, and no others.

In: an address as the resolver gave it. Out: why it is refused, or nothing. Whoever names a site to be read must not be
able to make this machine read its own neighbours (its loopback, the local network, a cloud's metadata service), under
whatever spelling. Names are judged by what they resolve to, so spellings (`2130706433`, `0x7f.1`) do not matter. Pure.
"""

from __future__ import annotations

import ipaddress

_GLOBAL_UNICAST = ipaddress.IPv6Network("2000::/3")  # the only part of IPv6 that is given out to public hosts
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")  # an IPv4 address, reached from a network without IPv4
# What IANA keeps for special use, beside what `ipaddress` knows: its tables differ between Python's versions.
_SPECIAL_V4 = tuple(map(ipaddress.IPv4Network, ("0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.88.99.0/24")))
_SPECIAL_V6 = tuple(map(ipaddress.IPv6Network, ("2001::/23", "2001:db8::/32", "3fff::/20")))


def refusal_of(address: str) -> str:
    """What kind of address it is, when it must not be reached; empty when it may be."""
    try:
        ip = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return "no IP address"
    if isinstance(ip, ipaddress.IPv6Address):
        inner = _embedded(ip)
        if inner is not None:
            return _of_v4(inner)
        return _of_v6(ip)
    return _of_v4(ip)


def _embedded(ip: ipaddress.IPv6Address) -> ipaddress.IPv4Address | None:
    """The IPv4 address that a router or the kernel would make of this one."""
    if ip.ipv4_mapped is not None:
        return ip.ipv4_mapped
    if ip.sixtofour is not None:
        return ip.sixtofour
    if ip in _NAT64:
        return ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)
    return None


def _of_v4(ip: ipaddress.IPv4Address) -> str:
    special = any(ip in network for network in _SPECIAL_V4)
    return _kind(ip) or ("" if ip.is_global and not special else "not a public address")


def _of_v6(ip: ipaddress.IPv6Address) -> str:
    special = any(ip in network for network in _SPECIAL_V6)
    return _kind(ip) or ("" if ip.is_global and ip in _GLOBAL_UNICAST and not special else "not a public address")


def _kind(ip: ipaddress.IPv4Address | ipaddress.IPv6Address) -> str:
    if ip.is_unspecified:
        return "this machine (unspecified)"
    if ip.is_loopback:
        return "this machine (loopback)"
    if ip.is_link_local:
        return "a link-local address"
    if ip.is_multicast:
        return "a multicast address"
    if ip.is_reserved:
        return "a reserved address"
    if ip.is_private:
        return "a private address"
    return ""

"""Documents from the web, for crawling a published site. The only module that knows the crawler's HTTP client.

In: a URL. Out: the server's answer as `Fetched`. It keeps the promises that no caller should have to think about: only
public addresses unless allowed, no credentials, no cookies, no proxy, bounded time, size and retries. Names are judged
by what they resolve to, so spellings (`2130706433`, `0x7f.1`) do not matter, and the connection goes to the very
address that was checked, so a name that resolves differently a moment later gains nothing. Redirects are returned, not
followed: the caller decides where they may lead.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from http.cookiejar import CookieJar, DefaultCookiePolicy

import httpcore2
import httpx2

from quoth.domain import Fetched
from quoth.domain.versions import __version__
from quoth.errors import Unreadable
from quoth.retrying import PASSING_STATUSES, Passing, Retries, Sleep, retry_after

# --- which addresses a crawl may reach -------------------------------------------------------------------------------


_GLOBAL_UNICAST = ipaddress.IPv6Network("2000::/3")  # the only part of IPv6 assigned to public hosts
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")  # an IPv4 address, reached from a network without IPv4
# IANA's special-use blocks beyond those `ipaddress` knows: its tables differ between Python versions.
_SPECIAL_V4 = tuple(map(ipaddress.IPv4Network, ("0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.88.99.0/24")))
_SPECIAL_V6 = tuple(map(ipaddress.IPv6Network, ("2001::/23", "2001:db8::/32", "3fff::/20")))


def refusal_of(address: str) -> str:
    """The kind of address if it must not be reached; empty if it may."""
    try:
        ip = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return "not an IP address"
    if isinstance(ip, ipaddress.IPv6Address):
        inner = _embedded(ip)
        if inner is not None:
            return _of_v4(inner)
        return _of_v6(ip)
    return _of_v4(ip)


def _embedded(ip: ipaddress.IPv6Address) -> ipaddress.IPv4Address | None:
    """The IPv4 address that a router or the kernel would turn this one into."""
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


# --- fetching --------------------------------------------------------------------------------------------------------


USER_AGENT = f"quoth/{__version__}"
PORTS = (80, 443)

Resolve = Callable[[str, int], Awaitable[Sequence[str]]]


@dataclass(frozen=True, slots=True)
class FetchOptions:
    timeout: float = 10.0  # seconds for one request, from the name lookup to the last byte
    retries: Retries = Retries(attempts=4, backoff=0.5, longest_wait=60.0)
    allow_private: bool = False  # addresses of this machine and its networks, and ports other than 80 and 443


async def system_resolver(host: str, port: int) -> Sequence[str]:
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


class CheckedBackend(httpcore2.AsyncNetworkBackend):
    """Opens connections to checked addresses only. Resolving, checking and connecting are one step, so the connection
    goes to the address that was checked; TLS still verifies the certificate against the name."""

    def __init__(self, resolve: Resolve, *, allow_private: bool) -> None:
        self._resolve = resolve
        self._allow_private = allow_private
        self._network = httpcore2.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - httpcore2's signature
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        addresses = await self._checked(host.strip("[]"), port)
        share = None if timeout is None else timeout / len(addresses)
        for address in addresses[:-1]:
            try:
                return await self._network.connect_tcp(address, port, share, local_address, socket_options)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout):
                continue  # the next address of the same host
        return await self._network.connect_tcp(addresses[-1], port, share, local_address, socket_options)

    async def _checked(self, host: str, port: int) -> Sequence[str]:
        try:
            addresses = await self._resolve(host, port)
        except socket.gaierror as error:
            if error.errno == socket.EAI_AGAIN:
                raise httpcore2.ConnectError(f"the name server does not answer for {host}") from error
            raise Unreadable(f"There is no host {host}.", hint="Check the address.") from error
        except (OSError, UnicodeError) as error:
            raise Unreadable(f"The name {host!r} cannot be looked up: {error}.", hint="Check the address.") from error
        for address in addresses:
            kind = "" if self._allow_private else refusal_of(address)
            if kind:
                shown = address if address == host else f"{host} ({address})"
                raise Unreadable(
                    f"{shown} is {kind}, and only public sites are read.",
                    hint="If this is your own site, add --allow-private.",
                )
        # Hosts often have addresses of both families, and IPv6 is often the broken one.
        return sorted(addresses, key=lambda address: ":" in address)


class _Transport(httpx2.AsyncBaseTransport):
    """httpx2's own transport accepts no network backend; its connection pool does."""

    def __init__(self, backend: httpcore2.AsyncNetworkBackend) -> None:
        self._pool = httpcore2.AsyncConnectionPool(ssl_context=httpx2.create_ssl_context(), network_backend=backend)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        url = request.url
        answer = await self._pool.handle_async_request(
            httpcore2.Request(
                request.method,
                httpcore2.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path),
                headers=request.headers.raw,
                extensions=request.extensions,
            )
        )
        return httpx2.Response(answer.status, headers=answer.headers, stream=_Body(answer))

    async def aclose(self) -> None:
        await self._pool.aclose()


class _Body(httpx2.AsyncByteStream):
    def __init__(self, answer: httpcore2.Response) -> None:
        self._answer = answer

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for piece in self._answer.aiter_stream():
            yield piece

    async def aclose(self) -> None:
        await self._answer.aclose()


class WebFetcher:
    """The port `Fetcher`. Belongs to the event loop that opened it: see `open_fetcher`."""

    def __init__(self, client: httpx2.AsyncClient, options: FetchOptions, sleep: Sleep) -> None:
        self._client = client
        self._options = options
        self._sleep = sleep

    async def get(self, url: str, *, limit: int, types: Collection[str] = ()) -> Fetched:
        target = self._target(url)
        return await self._options.retries.run(lambda attempt: self._once(target, url, limit, types), sleep=self._sleep)

    def _target(self, url: str) -> httpx2.URL:
        try:
            target = httpx2.URL(url)
        except (httpx2.InvalidURL, ValueError) as error:
            raise Unreadable(f"{url!r} is not a URL: {error}.", hint="Give an http:// or https:// address.") from error
        if target.scheme not in ("http", "https") or not target.host:
            raise Unreadable(f"{url!r} is not a web address.", hint="Give an http:// or https:// address.")
        if target.userinfo:
            raise Unreadable("URLs with a user name or password are not read.", hint="Give the URL without them.")
        port = target.port or (443 if target.scheme == "https" else 80)
        if port not in PORTS and not self._options.allow_private:
            raise Unreadable(
                f"The URL names port {port} of {target.host}, and only ports 80 and 443 are read.",
                hint="If this is your own site, add --allow-private.",
            )
        return target

    async def _once(self, target: httpx2.URL, url: str, limit: int, types: Collection[str]) -> Fetched:
        try:
            async with asyncio.timeout(self._options.timeout), self._client.stream("GET", target) as response:
                status = response.status_code
                if status in PASSING_STATUSES:
                    wait = retry_after(response.headers.get("retry-after", ""))
                    asked = f" and asks to wait {wait:.0f} s" if wait else ""
                    raise _passing(url, f"HTTP {status}{asked}", wait)
                media, _, parameters = response.headers.get("content-type", "").partition(";")
                kind = media.strip().lower()
                wanted = status == 200 and (not types or kind in types)
                return Fetched(
                    url=url,
                    status=status,
                    content_type=kind,
                    charset=_charset(parameters),
                    location=response.headers.get("location", ""),
                    robots=", ".join(response.headers.get_list("x-robots-tag")),
                    body=await _bounded(response, url, limit) if wanted else b"",
                )
        except (TimeoutError, httpcore2.TimeoutException, httpx2.TimeoutException) as error:
            raise Unreadable(
                f"{url} did not answer within {self._options.timeout:g} s.",
                hint="Try again later.",
                details={"url": url},
            ) from error
        except (httpcore2.NetworkError, httpcore2.ProtocolError, httpx2.TransportError) as error:
            if _is_about_tls(error):
                raise Unreadable(
                    f"{url} cannot be fetched: {error}.",
                    hint="Check its certificate and its TLS settings.",
                    details={"url": url},
                ) from error
            raise _passing(url, str(error) or type(error).__name__) from error
        except httpx2.DecodingError as error:
            raise Unreadable(f"{url} cannot be decompressed: {error}.", details={"url": url}) from error


@asynccontextmanager
async def open_fetcher(
    options: FetchOptions = FetchOptions(), *, resolve: Resolve = system_resolver, sleep: Sleep = asyncio.sleep
) -> AsyncIterator[WebFetcher]:
    async with httpx2.AsyncClient(
        transport=_Transport(CheckedBackend(resolve, allow_private=options.allow_private)),
        headers={"User-Agent": USER_AGENT, "Accept-Encoding": "gzip"},
        timeout=options.timeout,
        cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
        follow_redirects=False,
        trust_env=False,  # a proxy would resolve names itself, unchecked
    ) as client:
        yield WebFetcher(client, options, sleep)


async def _bounded(response: httpx2.Response, url: str, limit: int) -> bytes:
    """The body, decompressed; the connection is dropped as soon as it exceeds the limit."""
    body = bytearray()
    async for piece in response.aiter_bytes():
        body += piece
        if len(body) > limit:
            raise Unreadable(f"{url} is larger than {limit / 1e6:g} MB.", details={"url": url})
    return bytes(body)


def _is_about_tls(error: BaseException | None) -> bool:
    """The client wraps the cause several times."""
    while error is not None and not isinstance(error, ssl.SSLError):
        error = error.__cause__ or error.__context__
    return error is not None


def _charset(parameters: str) -> str:
    for parameter in parameters.split(";"):
        name, _, value = parameter.partition("=")
        if name.strip().lower() == "charset":
            return value.strip().strip("\"'").lower()
    return ""


def _passing(url: str, reason: str, wait: float | None = None) -> Passing:
    error = Unreadable(f"{url} cannot be fetched: {reason}.", hint="Try again later.", details={"url": url})
    return Passing(error, wait)

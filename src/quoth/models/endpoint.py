"""A model server on the network: its address, its connections, and its faults in our own words.

In: its URL, its key, a request. Out: its response, unread. The language model and remote embedders are reached through
it; it does not know their protocols. Redirects are not followed: a key goes to the server that the settings name and to
no other. Only this module and `openai` know aiohttp (docs/decisions/0025).
"""

from __future__ import annotations

import asyncio
import json
import math
import ssl
from collections.abc import Mapping
from typing import Any
from urllib.parse import SplitResult, urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp

from quoth.domain.versions import __version__
from quoth.errors import BadConfiguration
from quoth.models.openai_wire import fault_message

CONNECT_SECONDS = 5.0
LISTEN_SECONDS = 1.0  # to find out whether anything listens
# Many servers close connections that are idle for longer.
KEEP_ALIVE_SECONDS = 5.0
LONGEST_FAULT = 64 * 2**10  # bytes of an error's text to read
SHOWN_FAULT = 300  # characters of it to show
ECHO = 16  # equal characters in a row that are no coincidence

LATER = "Try again in a moment."


class Endpoint:
    """`setting` names the setting that holds `base_url`, for messages."""

    def __init__(self, base_url: str, path: str, *, api_key: str = "", setting: str, accept: str) -> None:
        self._setting = setting
        self._api_key = api_key
        self._accept = accept
        self._address = address = _checked(base_url, setting)
        self.proxy = _proxy_for(address)
        host = address.netloc.rpartition("@")[2]
        self.place = address._replace(netloc=host).geturl()  # for messages: without a password
        user = host if api_key else address.netloc  # a key replaces a password
        self._url = address._replace(netloc=user, path=address.path.rstrip("/") + path).geturl()
        self._session: aiohttp.ClientSession | None = None

    async def post(self, body: Mapping[str, Any], *, seconds: float) -> aiohttp.ClientResponse:
        """`ValueError` if the request cannot be encoded; its text may hold secrets."""
        return await self._opened().post(
            self._url,
            data=json.dumps(body, ensure_ascii=False).encode("utf-8", "replace"),
            proxy=self.proxy,
            allow_redirects=False,
            timeout=aiohttp.ClientTimeout(total=seconds, connect=CONNECT_SECONDS, ceil_threshold=math.inf),
        )

    async def listens(self) -> bool:
        """Whether anything answers at its address. (Behind a proxy, only calls can show that.)"""
        if self.proxy:
            return True
        port = self._address.port or (443 if self._address.scheme == "https" else 80)
        try:
            async with asyncio.timeout(LISTEN_SECONDS):
                _, writer = await asyncio.open_connection(self._address.hostname, port)
            writer.close()
        except (OSError, TimeoutError):
            return False
        return True

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()

    def _opened(self) -> aiohttp.ClientSession:
        if self._session is None:
            headers = {
                "content-type": "application/json",
                "accept": self._accept,
                "accept-encoding": "identity",
                "user-agent": f"quoth/{__version__}",
            }
            if self._api_key:
                headers["authorization"] = f"Bearer {self._api_key}"
            self._session = aiohttp.ClientSession(
                headers=headers,
                # As many connections as readers; a server that wants fewer answers 429.
                connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=KEEP_ALIVE_SECONDS, ssl=self._tls()),
                cookie_jar=aiohttp.DummyCookieJar(),
            )
        return self._session

    def _tls(self) -> ssl.SSLContext | bool:
        """Trusts the certificates of the system or of SSL_CERT_FILE, like the crawler."""
        if not self._url.startswith("https:"):
            return True
        import httpcore2

        context = httpcore2.default_ssl_context()
        context.set_alpn_protocols(["http/1.1"])
        return context

    # --- what went wrong ---

    def broken(self, error: aiohttp.ClientError) -> tuple[str, str]:
        """The reason and the next step, in our own words: the client's may hold a URL with a password."""
        no_server = f"Is the server running? Check {self._setting}."
        match error:
            case aiohttp.ServerTimeoutError():
                return f"no connection to {self.place} within {CONNECT_SECONDS:g} seconds", no_server
            case aiohttp.ClientConnectorCertificateError():
                reason = f"the certificate of {self.place} is not trusted: {error.certificate_error}"
                return reason, "Set SSL_CERT_FILE to a file with the certificates to trust."
            case aiohttp.ClientConnectorError():
                return f"no connection to {self.place}: {error.os_error}", no_server
            case aiohttp.ClientHttpProxyError():
                return f"the proxy answered {error.status}", "Check HTTP_PROXY, HTTPS_PROXY and NO_PROXY."
            case aiohttp.ClientResponseError():
                return f"{self.place} does not speak HTTP", f"Check {self._setting}."
        return f"the connection to {self.place} broke ({type(error).__name__})", LATER

    def unechoed(self, fault: str, sent: str) -> str:
        """The server's message, for errors and logs. They must hold neither the key nor a reader's words, so a message
        that repeats the request is not shown."""
        fault = fault.replace(self._api_key or "\0", "…")[:SHOWN_FAULT]
        starts = range(max(1, len(fault) - ECHO + 1))
        if fault and any(fault[start : start + ECHO] in sent for start in starts):
            return "the message repeats the request and is not shown"
        return fault


async def fault_of(response: aiohttp.ClientResponse) -> str:
    """The server's own error message; if its shape is unknown, all that was read of it."""
    body = b""
    async for block in response.content.iter_any():
        body += block
        if len(body) > LONGEST_FAULT:
            break
    try:
        found = fault_message(json.loads(body))
    except (ValueError, RecursionError):
        found = ""
    return found or body.decode("utf-8", errors="replace").strip()


def _checked(base_url: str, setting: str) -> SplitResult:
    try:
        address = urlsplit(base_url)
        sound = address.scheme in ("http", "https") and bool(address.hostname) and address.port != 0
    except ValueError:
        sound = False
    if not sound:
        raise BadConfiguration(f"{setting} is not a server's URL.", hint="Write it like http://localhost:11434/v1.")
    return address


def _proxy_for(address: SplitResult) -> str | None:
    """The environment's proxy for this address: HTTP_PROXY, HTTPS_PROXY or ALL_PROXY, unless NO_PROXY excludes it."""
    proxies = getproxies()
    proxy = proxies.get(address.scheme) or proxies.get("all")
    if not proxy or proxy_bypass(address.hostname or ""):
        return None
    if "://" not in proxy:
        return f"http://{proxy}"
    if not proxy.startswith(("http://", "https://")):
        raise BadConfiguration(
            f"The environment names a proxy that is not an HTTP proxy ({proxy.partition('://')[0]}).",
            hint=f"Name an HTTP proxy, or reach the model without one: NO_PROXY={address.hostname}.",
        )
    return proxy

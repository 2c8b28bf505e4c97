"""Who may enter, through which door, how often. Every request passes here, right behind the doorway.

In: a request and what it shows: its address, its origin, a key, or a token of a site's own login. Out: the same request
with `state.key` and `state.owner`, or the problem that says why not. Plain ASGI over a table of paths whose last line
is "a key is needed", so no door can be forgotten: one that is not listed is closed.
"""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Collection
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from quoth import domain, keys
from quoth.bootstrap import Quoth
from quoth.domain import Key
from quoth.errors import BadConfiguration, Forbidden, QuothError, Unauthorized
from quoth.ports import Clock, RateLimiter, Tokens
from quoth.serve import limits
from quoth.serve.problems import log_fault, path_of, problem_response
from quoth.settings import Settings

# --- the address of the caller, also behind proxies ------------------------------------------------------------------


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


# --- pages of other sites (CORS) -------------------------------------------------------------------------------------


METHODS = "GET, POST, DELETE"
HEADERS = "authorization, content-type, x-request-id, last-event-id, mcp-protocol-version, mcp-session-id"
EXPOSED = "x-request-id, x-ratelimit-limit, x-ratelimit-remaining, x-ratelimit-reset, retry-after, mcp-session-id"
REMEMBER = 600  # seconds for which a browser need not ask again


def is_preflight(request: Request) -> bool:
    return request.method == "OPTIONS" and "access-control-request-method" in request.headers


def origin_allowed(origins: Collection[str], origin: str) -> bool:
    return origin in origins or "*" in origins


def shared_with(origin: str) -> dict[str, str]:
    """The headers of an answer that the page may read."""
    return {"access-control-allow-origin": origin, "access-control-expose-headers": EXPOSED}


def preflight_headers() -> dict[str, str]:
    return {
        "access-control-allow-methods": METHODS,
        "access-control-allow-headers": HEADERS,
        "access-control-max-age": str(REMEMBER),
    }


# --- the guard -------------------------------------------------------------------------------------------------------


# No key opens these, and none is needed. The webhook has its own proof of who asks.
OPEN = frozenset({"/", "/health", "/healthz", "/readyz", "/openapi.json", "/widget.js", "/ingestion/webhook/github"})
OPEN_BELOW = ("/assets/", "/errors/")
# Asked by supervisors and by every page that opens, and cost nothing.
UNCOUNTED = frozenset({"/", "/health", "/healthz", "/readyz", "/widget.js"})
UNCOUNTED_BELOW = ("/assets/",)
# Where a question is answered, which takes a while.
ANSWERING = frozenset({"/chat", "/chat/stream", "/chat/run", "/v1/chat/completions", "/mcp"})

LOOK = 1.0  # seconds between two looks at which keys there are
LONGEST_SUBJECT = 100
SEND_ONE = "Send the header `Authorization: Bearer KEY`; `quoth keys create` makes a key."


def scope_needed(path: str) -> domain.Scope | None:
    """Which key opens this path; None where none is needed."""
    if path in OPEN or path.startswith(OPEN_BELOW):
        return None
    if f"{path}/".startswith("/ingestion/"):
        return "ingest"
    if f"{path}/".startswith("/metrics/"):
        return "admin"
    return "ask"


class Guard:
    """What is known of keys, limits and origins in this process."""

    def __init__(self, quoth: Quoth, limiter: RateLimiter | None, tokens: Tokens | None) -> None:
        self._quoth = quoth
        self.limiter = limiter
        self._tokens = tokens
        self._proxies: Networks = tuple(map(ip_network, quoth.settings.trusted_proxies))
        self._looked: float | None = None
        self._keys: dict[str, Key] = {}
        self._origins: frozenset[str] = frozenset(quoth.settings.cors_origins)
        self.answers = limits.Answers(quoth.settings.max_answers)

    async def closed(self) -> bool:
        """Once there is a key everybody needs one, also when it is revoked: a door never opens by itself."""
        if self._quoth.settings.auth != "auto":
            return self._quoth.settings.auth == "keys"
        await self._look()
        return bool(self._keys) or self._tokens is not None

    async def lets_in(self, origin: str) -> bool:
        await self._look()
        return origin_allowed(self._origins, origin)

    async def _look(self) -> None:
        """Once a second, not with every request: that would cost each one a trip to the database."""
        now = self._quoth.clock.monotonic()
        if self._looked is not None and now - self._looked < LOOK:
            return
        known, today = await self._quoth.library.keys.all(), self._quoth.clock.now()
        self._looked, self._keys = now, {key.key_id: key for key in known}
        theirs = (origin for key in known if key.in_force(today) for origin in key.origins)
        self._origins = frozenset((*self._quoth.settings.cors_origins, *theirs))

    async def caller(self, request: Request) -> Key:
        """Whose key this is. `Unauthorized` when it is nobody's."""
        kind, _, words = request.headers.get("authorization", "").partition(" ")
        words = words.strip()
        if kind.lower() != "bearer" or not words:
            raise Unauthorized("No key was shown.", hint=SEND_ONE)
        now = self._quoth.clock.now()
        if self._tokens is not None and not words.startswith(keys.PREFIXES):
            return Key(owner_of_token(await self._tokens.subject(words)), "", "ask", "", now)
        parsed = keys.parse(words)
        key = None if parsed is None else await self._find(parsed[0])
        if parsed is None or key is None or not keys.proves(key, parsed[1]):
            raise Unauthorized("This is no key of this server.", hint=SEND_ONE, details={"error": "invalid_token"})
        if not key.in_force(now):
            ended = "was revoked" if key.revoked_at else "has expired"
            raise Unauthorized(f"The key {ended}.", hint=SEND_ONE, details={"error": "invalid_token"})
        return key

    async def _find(self, key_id: str) -> Key | None:
        await self._look()
        return self._keys.get(key_id) or await self._quoth.library.keys.find(key_id)  # it may have just been made

    async def count(self, request: Request, key: Key | None) -> domain.Allowance | None:
        """One more request; None where nothing is limited. Of a public key each address has its own share: whoever
        reads it on the page could otherwise use it up for all."""
        path = path_of(request)
        if self.limiter is None or path in UNCOUNTED or path.startswith(UNCOUNTED_BELOW):
            return None
        local = self._quoth.settings.is_local and self._quoth.settings.rate_limit is None
        if local and key is None and not await self.closed():
            return None
        address = block_of(address_of(request, self._proxies))
        if key is None:
            return await self.limiter.hit(f"address {address}")
        return await self.limiter.hit(f"key {key.key_id} {address}" if key.public else f"key {key.key_id}")

    def reset_headers(self, allowance: domain.Allowance) -> dict[str, str]:
        return limits.headers(allowance, self._quoth.clock.now().timestamp())


def owner_of_token(subject: str) -> str:
    """Never the id of a key, whoever chose the subject, and never longer than a database takes."""
    if len(subject) > LONGEST_SUBJECT:
        subject = hashlib.sha256(subject.encode("utf-8", "replace")).hexdigest()
    return f"jwt:{subject}"


def login_tokens(settings: Settings, clock: Clock) -> Tokens | None:
    """The checker of tokens where a site has its own login; None where it has none."""
    url, issuer, audience = settings.jwt_jwks_url, settings.jwt_issuer, settings.jwt_audience
    if not (url or issuer or audience):
        return None
    if not (url and issuer and audience):
        raise BadConfiguration(
            "The login of a site is half configured.",
            hint="Set QUOTH_JWT_JWKS_URL, QUOTH_JWT_ISSUER and QUOTH_JWT_AUDIENCE together.",
        )
    from quoth.serve.tokens import JwtTokens, TokenOptions

    return JwtTokens(TokenOptions(url, issuer, audience, settings.jwt_algorithms, settings.jwt_leeway), clock)


@asynccontextmanager
async def open_guard(quoth: Quoth) -> AsyncIterator[Guard]:
    limit = limits.DEFAULT_LIMIT if quoth.settings.rate_limit is None else quoth.settings.rate_limit
    async with AsyncExitStack() as closing:
        limiter = None
        if limit:
            limiter = await closing.enter_async_context(limits.open_limiter(quoth.settings, limit, quoth.clock))
        tokens = login_tokens(quoth.settings, quoth.clock)
        if tokens is not None:
            closing.push_async_callback(tokens.close)
        yield Guard(quoth, limiter, tokens)


class Entry:
    """One request on its way in: what it is told, whether it enters or not."""

    def __init__(self, guard: Guard, request: Request) -> None:
        self._guard = guard
        self._request = request
        self._headers: dict[str, str] = {}

    async def check(self) -> Response | None:
        """None when it may enter. Sets `state.key` and `state.owner`."""
        request, needed = self._request, scope_needed(path_of(self._request))
        request.state.key, request.state.owner = None, ""
        if needed is None:
            self._counted(await self._guard.count(request, None))
            return None
        if (preflight := await self._of_other_site()) is not None:
            return preflight
        if not await self._guard.closed():
            self._counted(await self._guard.count(request, None))
            return None
        try:
            key = await self._guard.caller(request)
        except Unauthorized:
            self._counted(await self._guard.count(request, None))  # who guesses is slowed down
            raise
        self._counted(await self._guard.count(request, key))
        self._may(key, needed)
        request.state.key, request.state.owner = key, key.key_id
        return None

    async def _of_other_site(self) -> Response | None:
        """What a browser wants to know that shows a page of another site; an answer if it has only asked."""
        origin = self._request.headers.get("origin")
        if origin is None:
            return None
        let_in = await self._guard.lets_in(origin)
        if let_in:
            self._headers |= shared_with(origin)
        if not is_preflight(self._request):
            return None
        if not let_in:
            raise Forbidden(f"Pages of {origin} may not ask here.", hint="Its operator allows it: QUOTH_CORS_ORIGINS.")
        return Response(status_code=204, headers=preflight_headers())

    def _counted(self, allowance: domain.Allowance | None) -> None:
        if allowance is not None:
            self._headers |= self._guard.reset_headers(allowance)
            limits.check(allowance)

    def _may(self, key: Key, needed: domain.Scope) -> None:
        if not key.opens(needed):
            raise Forbidden(
                f"This key may {key.scope}, but here one that may {needed} is needed.",
                hint=f"Make one: `quoth keys create --scope {needed}`.",
                details={"scope": key.scope, "needed": needed},
            )
        if key.public and self._request.headers.get("origin") not in key.origins:
            raise Forbidden(
                "This key is public, and may be used from pages of its own site only.",
                hint=f"It is used from {', '.join(key.origins)}; elsewhere a secret key is needed.",
            )

    def add_headers(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            headers.update(self._headers)
            headers.add_vary_header("Origin")


class Access:
    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        guard: Guard = scope["app"].state.guard
        request = Request(scope, receive)
        entry = Entry(guard, request)

        async def sending(message: Message) -> None:
            entry.add_headers(message)
            await send(message)

        with ExitStack() as held:
            try:
                inside: ASGIApp = await entry.check() or self._app
                if inside is self._app and request.method == "POST" and path_of(request) in ANSWERING:
                    held.enter_context(guard.answers.one())
            except QuothError as error:
                log_fault(error)
                inside = problem_response(error, request)
            await inside(scope, receive, sending)

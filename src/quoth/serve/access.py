"""Who may enter, through which door and how often. Every request passes here, right after the doorway.

In: a request with its host name, address and origin, and a key or a token of the site's own login. Out: the same
request with `state.key`, `state.owner` and `state.caller`, or the problem that says why not. Plain ASGI over a table of
paths whose last line is "a key is needed": a door that is not listed is closed.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import AsyncIterator, Collection
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from ipaddress import ip_network

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
from quoth.serve.callers import Networks, address_of, block_of, check_host, is_own_page
from quoth.serve.problems import log_fault, path_of, problem_response
from quoth.settings import Settings

# --- pages of other sites (CORS) -------------------------------------------------------------------------------------


_METHODS = "GET, POST, PATCH, DELETE"
_HEADERS = "authorization, x-api-key, content-type, x-request-id, last-event-id, mcp-protocol-version, mcp-session-id"
_EXPOSED = "x-request-id, x-ratelimit-limit, x-ratelimit-remaining, x-ratelimit-reset, retry-after, mcp-session-id"
_TOKEN = re.compile(r"[a-z0-9!#$%&'*+.^_`|~-]{1,100}")
_MOST_HEADERS = 64  # in one preflight request
_PREFLIGHT_AGE = 600  # seconds before a browser must ask again


def _is_preflight(request: Request) -> bool:
    return request.method == "OPTIONS" and "access-control-request-method" in request.headers


def _is_listed(origin: str, origins: Collection[str]) -> bool:
    return origin in origins or "*" in origins


def _cors_headers(origin: str) -> dict[str, str]:
    """The headers that let the page read the answer."""
    return {"access-control-allow-origin": origin, "access-control-expose-headers": _EXPOSED}


def _preflight_headers(request: Request) -> dict[str, str]:
    """Clients add headers of their own (`x-stainless-*`). A page that may ask may send them: they mean nothing here."""
    asked = request.headers.get("access-control-request-headers", "").lower().split(",")
    more = [name for name in map(str.strip, asked[:_MOST_HEADERS]) if _TOKEN.fullmatch(name)]
    return {
        "access-control-allow-methods": _METHODS,
        "access-control-allow-headers": ", ".join(dict.fromkeys([*_HEADERS.split(", "), *more])),
        "access-control-max-age": str(_PREFLIGHT_AGE),
    }


# --- the guard -------------------------------------------------------------------------------------------------------


# The page and its files: any site may load them.
_PAGE = frozenset({"/", "/widget.js"})
_PAGE_BELOW = ("/assets/",)
_HEALTH = frozenset({"/health", "/healthz", "/readyz"})
# These need no key. The webhook checks its own signature.
_OPEN = _PAGE | _HEALTH | {"/openapi.json", "/ingestion/webhook/github"}
# A shared answer has an address that cannot be guessed.
_OPEN_BELOW = (*_PAGE_BELOW, "/errors/", "/shared/", "/a/")
# Supervisors and every opened page request these. They cost nothing.
_UNCOUNTED = _PAGE | _HEALTH

_KEYS_POLL = 1.0  # seconds between two looks at the keys
_LONGEST_SUBJECT = 100
_SEND_KEY = "Send the header `Authorization: Bearer KEY`; `quoth keys create` makes a key."


def scope_needed(path: str) -> domain.Scope | None:
    """The scope a key needs to open this path; None if no key is needed."""
    if path in _OPEN or path.startswith(_OPEN_BELOW):
        return None
    if f"{path}/".startswith("/ingestion/"):
        return "ingest"
    if f"{path}/".startswith("/metrics/"):
        return "admin"
    return "ask"


def _is_page(path: str) -> bool:
    return path in _PAGE or path.startswith(_PAGE_BELOW)


class Guard:
    """What this process knows about keys, limits and origins."""

    def __init__(self, quoth: Quoth, limiter: RateLimiter | None, tokens: Tokens | None) -> None:
        self._quoth = quoth
        self.limiter = limiter
        self._tokens = tokens
        self._proxies: Networks = tuple(map(ip_network, quoth.settings.trusted_proxies))
        self._looked: float | None = None
        self._keys: dict[str, Key] = {}
        self._origins: frozenset[str] = frozenset(quoth.settings.cors_origins)
        self.places = limits.AnswerPlaces(quoth.settings.max_answers)

    async def needs_key(self) -> bool:
        """Once a key exists everyone needs one, even after it is revoked: a door never opens by itself."""
        if self._quoth.settings.auth != "auto":
            return self._quoth.settings.auth == "keys"
        await self._look()
        return bool(self._keys) or self._tokens is not None

    async def admits_origin(self, origin: str) -> bool:
        await self._look()
        return _is_listed(origin, self._origins)

    async def check_sender(self, request: Request) -> None:
        """Check the host name it was sent to and, if no key keeps other sites out, the site it was sent from."""
        check_host(request.headers.get("host"), self._quoth.settings)
        if _is_page(path_of(request)) or is_own_page(request, self._quoth.settings) or await self.needs_key():
            return
        origin = request.headers.get("origin", "")
        if not await self.admits_origin(origin):
            raise _foreign_page(origin)

    async def _look(self) -> None:
        """Read the keys once a second: with every request it would cost each one a trip to the database."""
        now = self._quoth.clock.monotonic()
        if self._looked is not None and now - self._looked < _KEYS_POLL:
            return
        known, today = await self._quoth.library.keys.all(), self._quoth.clock.now()
        self._looked, self._keys = now, {key.key_id: key for key in known}
        theirs = (origin for key in known if key.in_force(today) for origin in key.origins)
        self._origins = frozenset((*self._quoth.settings.cors_origins, *theirs))

    async def key_of(self, request: Request) -> Key:
        """The key of the request; `Unauthorized` if it is not one of ours."""
        shown = _shown_key(request)
        now = self._quoth.clock.now()
        if self._tokens is not None and not shown.startswith(keys.PREFIXES):
            return Key(_owner_of_token(await self._tokens.subject(shown)), "", "ask", "", now)
        parsed = keys.parse(shown)
        key = None if parsed is None else await self._find(parsed[0])
        if parsed is None or key is None or not keys.proves(key, parsed[1]):
            raise Unauthorized(
                "This key is unknown to this server.", hint=_SEND_KEY, details={"error": "invalid_token"}
            )
        if not key.in_force(now):
            ended = "was revoked" if key.revoked_at else "has expired"
            raise Unauthorized(f"The key {ended}.", hint=_SEND_KEY, details={"error": "invalid_token"})
        return key

    async def _find(self, key_id: str) -> Key | None:
        await self._look()
        return self._keys.get(key_id) or await self._quoth.library.keys.find(key_id)  # it may be brand new

    def caller_of(self, request: Request, key: Key | None) -> str:
        """Whom to count. Each address of a public key counts separately, or one reader could use the key up for all."""
        address = block_of(address_of(request, self._proxies))
        if key is None:
            return f"address {address}"
        return f"key {key.key_id} {address}" if key.public else f"key {key.key_id}"

    async def count(self, request: Request, key: Key | None) -> domain.Allowance | None:
        """Count one more request; None if there is no limit."""
        path = path_of(request)
        if self.limiter is None or path in _UNCOUNTED or _is_page(path):
            return None
        local = self._quoth.settings.is_local and self._quoth.settings.rate_limit is None
        if local and key is None and not await self.needs_key():
            return None
        return await self.limiter.hit(self.caller_of(request, key))

    def reset_headers(self, allowance: domain.Allowance) -> dict[str, str]:
        return limits.headers(allowance, self._quoth.clock.now().timestamp())


def _shown_key(request: Request) -> str:
    kind, _, words = request.headers.get("authorization", "").partition(" ")
    shown = words.strip() if kind.lower() == "bearer" else ""
    shown = shown or request.headers.get("x-api-key", "").strip()
    if not shown:
        raise Unauthorized("The request has no key.", hint=_SEND_KEY)
    return shown


def _foreign_page(origin: str) -> Forbidden:
    return Forbidden(
        f"Pages from {origin} may not use this server.",
        hint="Its operator can allow a site with QUOTH_CORS_ORIGINS, or add another name of the server itself to "
        "QUOTH_ALLOWED_HOSTS.",
    )


def _owner_of_token(subject: str) -> str:
    """Never equal to a key's id, whatever the subject is, and never longer than the database allows."""
    if len(subject) > _LONGEST_SUBJECT:
        subject = hashlib.sha256(subject.encode("utf-8", "replace")).hexdigest()
    return f"jwt:{subject}"


def _login_tokens(settings: Settings, clock: Clock) -> Tokens | None:
    """The token checker if the site has its own login; otherwise None."""
    url, issuer, audience = settings.jwt_jwks_url, settings.jwt_issuer, settings.jwt_audience
    if not (url or issuer or audience):
        return None
    if not (url and issuer and audience):
        raise BadConfiguration(
            "The site's login is only half configured.",
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
        tokens = _login_tokens(quoth.settings, quoth.clock)
        if tokens is not None:
            closing.push_async_callback(tokens.close)
        yield Guard(quoth, limiter, tokens)


class _Admission:
    """One incoming request and the headers of its answer, admitted or not."""

    def __init__(self, guard: Guard, request: Request) -> None:
        self._guard = guard
        self._request = request
        self._headers: dict[str, str] = {}

    async def check(self) -> Response | None:
        """None if it may enter. Sets `state.key`, `state.owner` and `state.caller`."""
        request, needed = self._request, scope_needed(path_of(self._request))
        self._note(None)
        await self._guard.check_sender(request)
        if needed is None:
            await self._count(None)
            await self._recognise()
            return None
        if (preflight := await self._check_origin()) is not None:
            return preflight
        if not await self._guard.needs_key():
            await self._count(None)
            return None
        try:
            key = await self._guard.key_of(request)
        except Unauthorized:
            await self._count(None)  # slows down guessing
            raise
        await self._count(key)
        self._check_scope(key, needed)
        self._note(key)
        return None

    async def _recognise(self) -> None:
        """Anyone may ask for the server's health; operators are told more."""
        if path_of(self._request) in _HEALTH and "authorization" in self._request.headers:
            with suppress(Unauthorized):
                self._note(await self._guard.key_of(self._request))

    def _note(self, key: Key | None) -> None:
        state = self._request.state
        state.key, state.owner = key, key.key_id if key else ""
        state.caller = self._guard.caller_of(self._request, key)

    async def _check_origin(self) -> Response | None:
        """Tell a browser what a page of another site may read. Returns a response to a preflight request."""
        origin = self._request.headers.get("origin")
        if origin is None:
            return None
        admitted = await self._guard.admits_origin(origin)
        if admitted:
            self._headers |= _cors_headers(origin)
        if not _is_preflight(self._request):
            return None
        await self._count(None)
        if not admitted:
            raise _foreign_page(origin)
        return Response(status_code=204, headers=_preflight_headers(self._request))

    async def _count(self, key: Key | None) -> None:
        allowance = await self._guard.count(self._request, key)
        if allowance is not None:
            self._headers |= self._guard.reset_headers(allowance)
            limits.check(allowance)

    def _check_scope(self, key: Key, needed: domain.Scope) -> None:
        if not key.opens(needed):
            raise Forbidden(
                f"This key has scope `{key.scope}`; this endpoint needs `{needed}`.",
                hint=f"Create one: `quoth keys create --name NAME --scope {needed}`.",
                details={"scope": key.scope, "needed": needed},
            )
        if key.public and self._request.headers.get("origin") not in key.origins:
            raise Forbidden(
                "This key is public and works only on the pages of its own site.",
                hint=f"Use it from {', '.join(key.origins)}; elsewhere use a secret key.",
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
        request = Request(scope, receive)
        admission = _Admission(scope["app"].state.guard, request)

        async def send_with_headers(message: Message) -> None:
            admission.add_headers(message)
            await send(message)

        try:
            inside: ASGIApp = await admission.check() or self._app
        except QuothError as error:
            log_fault(error)
            inside = problem_response(error, request)
        await inside(scope, receive, send_with_headers)

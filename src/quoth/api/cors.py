"""Which pages of other sites may ask, and how their browsers are told (CORS).

In: the origin a browser names, and the origins that are allowed. Out: headers, and the answer to a browser that asks
before it sends (preflight). Closed unless somebody was let in by a setting or a public key. No cookies, ever: whoever
asks shows a key.
"""

from __future__ import annotations

from collections.abc import Collection

from starlette.requests import Request

METHODS = "GET, POST, DELETE"
HEADERS = "authorization, content-type, x-request-id, last-event-id, mcp-protocol-version, mcp-session-id"
EXPOSED = "x-request-id, x-ratelimit-limit, x-ratelimit-remaining, x-ratelimit-reset, retry-after, mcp-session-id"
REMEMBER = 600  # seconds for which a browser need not ask again


def is_preflight(request: Request) -> bool:
    return request.method == "OPTIONS" and "access-control-request-method" in request.headers


def allows(origins: Collection[str], origin: str) -> bool:
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

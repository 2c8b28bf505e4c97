"""Tokens of a site with its own login (JWT), checked against the keys that it publishes (JWKS). The port `Tokens`.

In: a token as the browser sent it. Out: its subject, or `Unauthorized` with the reason. The keys are fetched with the
first token and kept for some minutes. They are fetched again when a token names an unknown one, which is how a login
rotates its keys; but at most every half minute, since anyone can name a key. While the login cannot be reached, the
known keys stay in use.
"""

from __future__ import annotations

import asyncio
import json
import logging
from dataclasses import dataclass

import httpx2
import jwt

from quoth.errors import Outage, Unauthorized
from quoth.ports import Clock

logger = logging.getLogger(__name__)

_LARGEST = 1_048_576  # bytes of a key set
_KEEP = 300.0  # seconds until the keys are fetched again
_PAUSE = 30.0  # seconds between two fetches, at least
_TIMEOUT = 5.0  # seconds for one fetch


@dataclass(frozen=True, slots=True)
class TokenOptions:
    jwks_url: str
    issuer: str
    audience: str
    algorithms: tuple[str, ...]
    leeway: float = 30.0  # seconds


class JwtTokens:
    def __init__(
        self, options: TokenOptions, clock: Clock, *, transport: httpx2.AsyncBaseTransport | None = None
    ) -> None:
        self._options = options
        self._clock = clock
        self._client = httpx2.AsyncClient(timeout=_TIMEOUT, transport=transport, follow_redirects=False)
        self._keys: dict[str | None, jwt.PyJWK] = {}
        self._tried: float | None = None
        self._fetching = asyncio.Lock()

    async def subject(self, token: str) -> str:
        try:
            key_id = jwt.get_unverified_header(token).get("kid")
        except jwt.InvalidTokenError as error:
            raise _refused(error) from None
        key = await self._key(key_id)
        try:
            claims = jwt.decode(
                token,
                key,
                algorithms=list(self._options.algorithms),
                audience=self._options.audience,
                issuer=self._options.issuer,
                leeway=self._options.leeway,
                options={"require": ["exp", "sub", "iss", "aud"]},
            )
        except jwt.InvalidTokenError as error:
            raise _refused(error) from None
        subject: str = claims["sub"]  # the library has checked that it is text
        if not subject:
            raise Unauthorized("The `sub` of the token is empty.", hint="Sign in again.")
        return subject

    async def _key(self, key_id: str | None) -> jwt.PyJWK:
        if self._due(key_id):
            async with self._fetching:
                if self._due(key_id):  # another request may have fetched it meanwhile
                    await self._fetch()
        if key_id is None and len(self._keys) == 1:
            return next(iter(self._keys.values()))
        if key_id in self._keys:
            return self._keys[key_id]
        if not self._keys:
            raise Outage("The login's keys cannot be fetched.", hint="Try again in a moment.")
        raise Unauthorized("The token is signed with a key that the login does not publish.", hint="Sign in again.")

    def _due(self, key_id: str | None) -> bool:
        if self._tried is None:
            return True
        age = self._clock.monotonic() - self._tried
        return age >= (_KEEP if key_id in self._keys else _PAUSE)

    async def _fetch(self) -> None:
        try:
            found = jwt.PyJWKSet.from_dict(json.loads(await self._read()))
            self._keys = {key.key_id: key for key in found if key.public_key_use in (None, "sig")}
        except (httpx2.HTTPError, ValueError, AttributeError, jwt.PyJWTError) as error:
            logger.warning(
                "the login's keys cannot be fetched; %d known ones stay in use: %s: %s",
                len(self._keys),
                self._options.jwks_url,
                str(error) or type(error).__name__,
            )
        self._tried = self._clock.monotonic()

    async def _read(self) -> bytes:
        body = bytearray()
        async with self._client.stream(
            "GET", self._options.jwks_url, headers={"accept": "application/json"}
        ) as response:
            if response.status_code != 200:
                raise ValueError(f"status {response.status_code}")
            async for block in response.aiter_bytes():
                body += block
                if len(body) > _LARGEST:
                    raise ValueError("more than a megabyte")
        return bytes(body)

    async def close(self) -> None:
        await self._client.aclose()


def _refused(error: jwt.InvalidTokenError) -> Unauthorized:
    return Unauthorized(f"The token is not valid: {error}.", hint="Sign in again.")

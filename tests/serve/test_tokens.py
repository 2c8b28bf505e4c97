"""Tokens of a site's own login: keys made here, published by a server on loopback, rotated, removed."""

from __future__ import annotations

import asyncio
import base64
import hmac
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm

from doors import ASKED, a_key, check_problem, opened
from quoth.errors import BadConfiguration, Outage, Unauthorized
from quoth.serve.tokens import JwtTokens, TokenOptions
from samples import StillClock

ISSUER, AUDIENCE = "https://login.example.org/", "quoth"


@dataclass
class Login:
    """A login that publishes its keys on this machine."""

    url: str = ""
    published: dict[str, Any] = field(default_factory=lambda: {"keys": []})
    status: int = 200
    fetched: int = 0
    raw: bytes | None = None

    def publish(self, *keys: SigningKey) -> None:
        self.published = {"keys": [key.public for key in keys]}

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        self.fetched += 1
        body = json.dumps(self.published).encode() if self.raw is None else self.raw
        head = f"HTTP/1.1 {self.status} X\r\ncontent-length: {len(body)}\r\nconnection: close\r\n\r\n"
        writer.write(head.encode() + body)
        await writer.drain()
        writer.close()


class SigningKey:
    def __init__(self, kid: str, algorithm: str = "ES256") -> None:
        self.kid, self.algorithm = kid, algorithm
        self.private: Any
        made: Any
        if algorithm == "ES256":
            self.private, made = ec.generate_private_key(ec.SECP256R1()), ECAlgorithm
        elif algorithm == "RS256":
            self.private, made = rsa.generate_private_key(public_exponent=65537, key_size=2048), RSAAlgorithm
        else:
            self.private, made = ed25519.Ed25519PrivateKey.generate(), OKPAlgorithm
        self.public = {**json.loads(made.to_jwk(self.private.public_key())), "kid": kid, "use": "sig"}

    def token(self, headers: dict[str, Any] | None = None, **claims: object) -> str:
        usual = {"sub": "ada", "iss": ISSUER, "aud": AUDIENCE, "exp": int(time.time()) + 300}
        merged = {name: value for name, value in {**usual, **claims}.items() if value is not None}
        return jwt.encode(merged, self.private, self.algorithm, headers={"kid": self.kid, **(headers or {})})


@pytest.fixture(scope="module")
def key() -> SigningKey:
    return SigningKey("one")


@asynccontextmanager
async def login_of(*keys: SigningKey) -> AsyncIterator[Login]:
    login = Login()
    login.publish(*keys)
    server = await asyncio.start_server(login.answer, "127.0.0.1", 0)
    async with server:
        login.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/jwks.json"
        yield login


@asynccontextmanager
async def checking(
    login: Login, clock: StillClock | None = None, algorithms: tuple[str, ...] = ("RS256", "ES256", "EdDSA")
) -> AsyncIterator[JwtTokens]:
    options = TokenOptions(login.url, ISSUER, AUDIENCE, algorithms)
    tokens = JwtTokens(options, clock or StillClock())
    yield tokens
    await tokens.close()


@pytest.mark.parametrize("algorithm", ["ES256", "RS256", "EdDSA"])
async def test_a_token_is_known_by_its_signature(algorithm: str) -> None:
    signing = SigningKey("k", algorithm)
    async with login_of(signing) as login, checking(login) as tokens:
        assert await tokens.subject(signing.token(sub="Ada Ümläut")) == "Ada Ümläut"


WRONG: dict[str, dict[str, object]] = {
    "expired": {"exp": int(time.time()) - 31},
    "not yet valid": {"nbf": int(time.time()) + 86_400},
    "another issuer": {"iss": "https://evil.example/"},
    "another audience": {"aud": "somebody-else"},
    "no audience": {"aud": None},
    "no issuer": {"iss": None},
    "no end": {"exp": None},
    "nobody": {"sub": None},
    "an empty name": {"sub": ""},
    "no name but a number": {"sub": 7},
    "an end that is not a number": {"exp": "soon"},
}


@pytest.mark.parametrize("wrong", WRONG)
async def test_a_token_that_says_something_wrong_is_refused(key: SigningKey, wrong: str) -> None:
    claims = WRONG[wrong]
    payload = {"sub": "ada", "iss": ISSUER, "aud": AUDIENCE, "exp": int(time.time()) + 300, **claims}
    body = {name: value for name, value in payload.items() if value is not None}
    signed = jwt.PyJWS().encode(json.dumps(body).encode(), key.private, "ES256", headers={"kid": "one"})
    async with login_of(key) as login, checking(login) as tokens:
        with pytest.raises(Unauthorized):
            await tokens.subject(signed)


async def test_clocks_may_differ_a_little(key: SigningKey) -> None:
    async with login_of(key) as login, checking(login) as tokens:
        assert await tokens.subject(key.token(exp=int(time.time()) - 5, nbf=int(time.time()) + 5)) == "ada"


async def test_a_key_of_the_same_name_that_the_login_does_not_have_signs_nothing(key: SigningKey) -> None:
    async with login_of(key) as login, checking(login) as tokens:
        with pytest.raises(Unauthorized, match="Signature verification failed"):
            await tokens.subject(SigningKey("one").token())


async def test_an_algorithm_that_is_not_on_the_list_is_refused(key: SigningKey) -> None:
    async with login_of(key) as login, checking(login, algorithms=("RS256",)) as tokens:
        with pytest.raises(Unauthorized, match="alg"):
            await tokens.subject(key.token())


def encoded(part: dict[str, Any]) -> str:
    return base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode()


async def test_the_public_key_is_not_a_password(key: SigningKey) -> None:
    """The old trick: sign with HMAC and the text of the public key. And the older one: do not sign."""
    claims = {"sub": "ada", "iss": ISSUER, "aud": AUDIENCE, "exp": int(time.time()) + 300}
    text = f"{encoded({'alg': 'HS256', 'kid': 'one'})}.{encoded(claims)}"
    signature = hmac.digest(json.dumps(key.public).encode(), text.encode(), "sha256")
    forged = f"{text}.{base64.urlsafe_b64encode(signature).rstrip(b'=').decode()}"
    unsigned = f"{encoded({'alg': 'none', 'kid': 'one'})}.{encoded(claims)}."
    async with login_of(key) as login, checking(login) as tokens:
        for token in (forged, unsigned):
            with pytest.raises(Unauthorized):
                await tokens.subject(token)


@pytest.mark.parametrize("token", ["", "x", "a.b.c", "é.é.é", "." * 3, "eyJhbGciOiJFUzI1NiJ9..", "a" * 100_000])
async def test_what_is_not_a_token_is_refused_without_a_fetch(key: SigningKey, token: str) -> None:
    async with login_of(key) as login, checking(login) as tokens:
        with pytest.raises(Unauthorized):
            await tokens.subject(token)
        assert login.fetched <= 1


async def test_the_keys_are_fetched_once_for_many_readers(key: SigningKey) -> None:
    async with login_of(key) as login, checking(login) as tokens:
        assert await asyncio.gather(*(tokens.subject(key.token()) for _ in range(10))) == ["ada"] * 10
        assert login.fetched == 1


async def test_a_login_may_change_its_keys(key: SigningKey) -> None:
    clock, new = StillClock(), SigningKey("two")
    async with login_of(key) as login, checking(login, clock) as tokens:
        await tokens.subject(key.token())
        login.publish(new)
        with pytest.raises(Unauthorized):  # anyone can name a key, so not every name is worth a fetch
            await tokens.subject(new.token())
        clock.pass_by(30)
        assert await tokens.subject(new.token()) == "ada"
        with pytest.raises(Unauthorized, match="publish"):
            await tokens.subject(key.token())
        assert login.fetched == 2


async def test_a_key_that_the_login_takes_back_ends_when_the_keys_are_old(key: SigningKey) -> None:
    clock = StillClock()
    async with login_of(key) as login, checking(login, clock) as tokens:
        await tokens.subject(key.token())
        login.publish(SigningKey("two"))
        assert await tokens.subject(key.token()) == "ada"
        clock.pass_by(300)
        with pytest.raises(Unauthorized, match="publish"):
            await tokens.subject(key.token())


@pytest.mark.parametrize(
    ("status", "raw"), [(500, b""), (302, b""), (200, b"<html>"), (200, b"[]"), (200, b"{}"), (200, b" " * 2_000_000)]
)
async def test_a_login_that_is_out_of_order_is_an_outage_and_known_keys_go_on(
    key: SigningKey, status: int, raw: bytes
) -> None:
    clock = StillClock()
    async with login_of(key) as login, checking(login, clock) as tokens:
        login.status, login.raw = status, raw
        with pytest.raises(Outage, match="cannot be fetched") as told:
            await tokens.subject(key.token())
        with pytest.raises(Outage):
            await tokens.subject(key.token())
        assert "127.0.0.1" not in str(told.value)  # the log has the address
        assert login.fetched == 1
        clock.pass_by(30)
        login.status, login.raw = 200, None
        assert await tokens.subject(key.token()) == "ada"
        login.status, login.raw = status, raw
        clock.pass_by(301)
        assert await tokens.subject(key.token()) == "ada"
        assert login.fetched == 3


async def test_a_token_without_the_name_of_its_key_is_checked_with_the_only_one(key: SigningKey) -> None:
    unnamed = jwt.encode(
        {"sub": "ada", "iss": ISSUER, "aud": AUDIENCE, "exp": int(time.time()) + 300}, key.private, "ES256"
    )
    async with login_of(key) as login, checking(login) as tokens:
        assert await tokens.subject(unnamed) == "ada"
    async with login_of(key, SigningKey("two")) as login, checking(login) as tokens:
        with pytest.raises(Unauthorized):
            await tokens.subject(unnamed)


# --- at the doors ----------------------------------------------------------------------------------------------------


async def test_readers_of_a_site_with_a_login_ask_with_their_tokens_and_may_do_no_more(
    tmp_path: Path, key: SigningKey
) -> None:
    async with login_of(key) as login:
        settings = {"jwt_jwks_url": login.url, "jwt_issuer": ISSUER, "jwt_audience": AUDIENCE}
        async with opened(tmp_path, settings=settings) as doors:
            check_problem(await doors.client.get("/books"), 401, "UNAUTHORIZED")  # a login closes the doors
            token = {"authorization": f"Bearer {key.token()}"}
            answer = await doors.client.post("/chat", json={"query": ASKED}, headers=token)
            assert answer.json()["metadata"]["mode"] == "extractive"
            check_problem(await doors.client.get("/ingestion/jobs", headers=token), 403, "FORBIDDEN")
            late = {"authorization": f"Bearer {key.token(exp=1)}"}
            check_problem(await doors.client.get("/books", headers=late), 401, "UNAUTHORIZED")
            assert (await doors.client.get("/books", headers=await a_key(doors))).status_code == 200
            login.status = 500
            unknown = {"authorization": f"Bearer {SigningKey('three').token()}"}
            check_problem(await doors.client.get("/books", headers=unknown), 401, "UNAUTHORIZED")


async def test_sessions_belong_to_the_reader_who_signed_in_and_not_to_a_key_of_that_name(
    tmp_path: Path, key: SigningKey
) -> None:
    async with login_of(key) as login:
        settings = {"jwt_jwks_url": login.url, "jwt_issuer": ISSUER, "jwt_audience": AUDIENCE}
        async with opened(tmp_path, settings=settings) as doors:
            keyed = await a_key(doors)
            [stored] = await doors.quoth.library.keys.all()
            ada, eve, namesake = (
                {"authorization": f"Bearer {key.token(sub=sub)}"} for sub in ("ada", "e" * 300, stored.key_id)
            )
            for owner, others in ((ada, (eve, keyed)), (eve, (ada,)), (keyed, (namesake,))):
                session = (await doors.client.post("/chat", json={"query": ASKED}, headers=owner)).json()["session_id"]
                assert (await doors.client.get(f"/history/{session}", headers=owner)).status_code == 200
                for other in others:
                    hidden = await doors.client.get(f"/history/{session}", headers=other)
                    check_problem(hidden, 404, "SESSION_NOT_FOUND")


async def test_a_login_that_is_half_configured_is_refused_at_the_start(tmp_path: Path) -> None:
    with pytest.raises(BadConfiguration, match="half"):
        async with opened(tmp_path, settings={"jwt_jwks_url": "https://login.example.org/jwks"}):
            pass

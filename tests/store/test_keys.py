"""Keys: what they look like, what is stored of them, and the two places where they are stored."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.keys_contract import NOW, TODAY, KeysContract, a_key
from quoth import keys
from quoth.domain import Scope
from quoth.errors import WrongUsage
from quoth.ports import Keys
from quoth.store.library import open_library
from quoth.testing.library import MemoryKeys


class TestMemoryKeys(KeysContract):
    @pytest.fixture
    def keys(self) -> Keys:
        return MemoryKeys()


class TestSqlKeys(KeysContract):
    @pytest.fixture
    async def keys(self, tmp_path: Path) -> AsyncIterator[Keys]:
        library = await open_library(f"sqlite:///{tmp_path / 'quoth.db'}")
        yield library.keys
        await library.close()


async def test_two_processes_share_one_budget(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'quoth.db'}"
    one, other = await open_library(url), await open_library(url)
    await one.keys.add(a_key())
    spent = [await store.keys.spend(a_key().key_id, day=TODAY, most=3) for store in (one, other, one, other)]
    assert spent == [True, True, True, False]
    await one.close()
    await other.close()


async def test_the_words_of_a_key_are_nowhere_in_the_database(tmp_path: Path) -> None:
    library = await open_library(f"sqlite:///{tmp_path / 'quoth.db'}")
    key, words = keys.make("docs", "ask", now=NOW)
    await library.keys.add(key)
    await library.close()
    parsed = keys.parse(words)
    assert parsed is not None
    stored = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert key.digest.encode() in stored
    assert parsed[1].encode() not in stored


def test_a_key_is_known_by_its_words_and_by_no_others() -> None:
    key, words = keys.make("docs", "ask", now=NOW)
    other, other_words = keys.make("docs", "ask", now=NOW)
    parsed, other_parsed = keys.parse(words), keys.parse(other_words)
    assert parsed is not None
    assert other_parsed is not None
    assert parsed[0] == key.key_id != other.key_id
    assert keys.proves(key, parsed[1])
    assert not keys.proves(key, other_parsed[1])
    assert not keys.proves(key, parsed[1][:-1])


def test_a_secret_has_256_bits_and_says_whether_it_is_public() -> None:
    _, secret = keys.make("docs", "ask", now=NOW)
    _, public = keys.make("site", "ask", now=NOW, origins=["https://docs.example.org"])
    assert re.fullmatch(r"qk_[0-9a-f]{12}_[\w-]{43}", secret)  # 43 characters of 6 bits
    assert public.startswith("qp_")


@pytest.mark.parametrize("scope", ["ingest", "admin"])
def test_what_everybody_sees_may_only_ask(scope: Scope) -> None:
    with pytest.raises(WrongUsage, match=scope):
        keys.make("site", scope, now=NOW, origins=["https://docs.example.org"])


@given(st.text())
def test_no_text_at_all_breaks_the_reader_of_keys(text: str) -> None:
    assert keys.parse(text) is None
    assert keys.parse(f"qk_0123456789ab_{text}") is None or len(text) == 43


@pytest.mark.parametrize("words", ["qk_0123456789ab_" + "é" * 43, "qk_0123456789AB_" + "a" * 43, "qk_" + "a" * 56])
def test_what_only_looks_like_a_key_is_none(words: str) -> None:
    assert keys.parse(words) is None


ORIGINS = {
    "https://docs.example.org": "https://docs.example.org",
    "https://Docs.Example.ORG/": "https://docs.example.org",
    "https://docs.example.org:443": "https://docs.example.org",
    "http://localhost:3000": "http://localhost:3000",
    "http://[::1]:3000": "http://[::1]:3000",
    "http://a.example:80": "http://a.example",
}


@pytest.mark.parametrize(("written", "sent"), ORIGINS.items())
def test_an_origin_is_kept_as_browsers_send_it(written: str, sent: str) -> None:
    assert keys.origin_of(written) == sent


@pytest.mark.parametrize(
    "written",
    [
        "",
        "*",
        "null",
        "docs.example.org",
        "ftp://a.example",
        "https://a.example/docs",
        "https://u:p@a.example",
        "https://a.example:99999",
        "https://*.a.example",
        "https://a b.example",
        "https://a.example?x",
        "http://[",
    ],
)
def test_what_is_not_an_origin_is_refused(written: str) -> None:
    with pytest.raises(WrongUsage, match="not an origin"):
        keys.origin_of(written)


def test_a_key_ends_when_it_expires_and_when_it_is_revoked() -> None:
    ends = a_key(expires_at=NOW + timedelta(days=1))
    assert ends.in_force(NOW)
    assert not ends.in_force(NOW + timedelta(days=1))
    assert not a_key(revoked_at=NOW).in_force(NOW)


@pytest.mark.parametrize(
    ("has", "needs", "opens"),
    [
        ("ask", "ask", True),
        ("ask", "ingest", False),
        ("ingest", "ask", False),
        ("ask", "admin", False),
        ("admin", "ask", True),
        ("admin", "ingest", True),
        ("admin", "admin", True),
        ("ingest", "admin", False),
    ],
)
def test_a_scope_opens_itself_and_admin_opens_all(has: Scope, needs: Scope, opens: bool) -> None:
    assert a_key(scope=has).opens(needs) is opens

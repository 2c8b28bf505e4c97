"""One spelling for each address, and none for addresses on other sites."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quoth.errors import Unreadable
from quoth.sources.urls import Address, Site, is_url, parse_address, source_name

SITE = Site("https://a.example", "/docs/")
HERE = Address("https://a.example", "/docs/guide/intro")


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("https://A.Example", "https://a.example/"),
        ("HTTPS://a.example:443/x", "https://a.example/x"),
        ("http://a.example:80", "http://a.example/"),
        ("http://a.example:8080/x#part", "http://a.example:8080/x"),
        ("https://a.example/ü b".replace(" ", "%20"), "https://a.example/%C3%BC%20b"),
        ("https://a.example/%c3%bc", "https://a.example/%C3%BC"),
        ("https://a.example/100%", "https://a.example/100%25"),
        ("https://a.example/x?a=1&b=%2f", "https://a.example/x?a=1&b=%2F"),
        ("https://[2001:DB8::1]/", "https://[2001:db8::1]/"),
        ("https://bücher.example/", "https://xn--bcher-kva.example/"),
    ],
)
def test_every_address_has_one_spelling(text: str, normal: str) -> None:
    assert str(parse_address(text)) == normal
    assert str(parse_address(normal)) == normal


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a.example",
        "//a.example/",
        "ftp://a.example/",
        "javascript:alert(1)",
        "https://",
        "https:///path",
        "https://user@a.example/",
        "https://user:secret@a.example/",
        "https://@a.example/",
        "https://a.example\\@b.example/",
        "https://a.example/a b",
        "https://a.example/\nx",
        "https://a.example\x00.b.example/",
        "https://a.example:99999/",
        "https://a.example:x/",
        "https://[::1/",
        "https://-a.example/",
        "https://a..example:/" + "x" * 3_000,
        "https://a.example%2f@b.example/",
    ],
)
def test_text_that_is_not_a_web_address_is_refused(text: str) -> None:
    with pytest.raises(Unreadable) as refused:
        parse_address(text)
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize(
    ("link", "leads"),
    [
        ("/docs/other", "https://a.example/docs/other"),
        ("../other?x=1#y", "https://a.example/docs/other?x=1"),
        ("https://a.example:443/x", "https://a.example/x"),
        ("//a.example/x", "https://a.example/x"),
        ("http://a.example/x", None),
        ("https://a.example:8443/x", None),
        ("https://www.a.example/", None),
        ("https://a.example.b.example/", None),
        ("https://a.example@b.example/", None),
        ("//b.example/x", None),
        ("https://[", None),
        ("javascript:alert(1)", None),
    ],
)
def test_links_stay_on_the_site_or_lead_nowhere(link: str, leads: str | None) -> None:
    found = SITE.address(link, base=HERE)
    assert (None if found is None else str(found)) == leads


def test_a_site_holds_what_is_in_its_folder() -> None:
    holds = {path: SITE.holds(Address(SITE.origin, path)) for path in ("/docs", "/docs/", "/docs/a", "/docsets", "/")}
    assert holds == {"/docs": True, "/docs/": True, "/docs/a": True, "/docsets": False, "/": False}


def test_only_web_addresses_count_as_urls() -> None:
    assert is_url("https://a.example")
    assert is_url("HTTP://a.example")
    assert not any(is_url(path) for path in ("docs", "./http://x", "file:///x", "httpdocs"))


def test_a_page_is_named_by_its_path_in_readable_letters() -> None:
    assert source_name(parse_address("https://a.example/b%C3%BCcher/?x=%20")) == "/bücher/?x=%20"
    assert source_name(parse_address("https://a.example")) == "/"


@given(st.lists(st.text("/a%25Fü?& ", max_size=12), min_size=2, max_size=2, unique=True))
def test_no_two_addresses_share_a_name(paths: list[str]) -> None:
    from urllib.parse import quote

    first, second = (parse_address("https://a.example/" + quote(path, safe="/%?&")) for path in paths)
    assert (first == second) == (source_name(first) == source_name(second))


@given(st.text(max_size=60))
def test_any_text_is_an_address_on_the_site_or_none(text: str) -> None:
    found = SITE.address(text, base=HERE)
    assert found is None or str(found).startswith("https://a.example/")

"""robots.txt as RFC 9309 reads it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quoth.sources.robots import MAX_BYTES, Robots, parse_robots


def rules(*lines: str) -> Robots:
    return parse_robots("\n".join(("User-agent: *", *lines)).encode())


def test_without_rules_everything_may_be_read() -> None:
    assert Robots().allows("/anything")
    assert parse_robots(b"").allows("/anything")
    assert rules("Disallow:").allows("/anything")


def test_the_most_specific_rule_wins_wherever_it_stands() -> None:
    for lines in (("Disallow: /", "Allow: /docs/"), ("Allow: /docs/", "Disallow: /")):
        robots = rules(*lines)
        assert robots.allows("/docs/intro")
        assert not robots.allows("/blog/")
    assert not rules("Allow: /", "Disallow: /private/").allows("/private/page")


def test_of_two_rules_of_one_length_the_friendlier_wins() -> None:
    assert rules("Disallow: /page", "Allow: /page").allows("/page")


@pytest.mark.parametrize(
    ("pattern", "path", "fits"),
    [
        ("/fish", "/fish.html", True),
        ("/fish", "/Fish", False),
        ("/fish/", "/fish", False),
        ("/*.php", "/index.php?x=1", True),
        ("/*.php$", "/index.php", True),
        ("/*.php$", "/index.php?x=1", False),
        ("/*?", "/page?print=1", True),
        ("/*?", "/page", False),
        ("/a*b*c", "/a-b-c-d", True),
        ("/a*b*c", "/a-c-b", False),
        ("/a*a$", "/a", False),
        ("/end$", "/end", True),
        ("/end$", "/ending", False),
        ("/%7Ejoe", "/~joe/index.html", True),
        ("/ü", "/%C3%BC/page", True),
        ("*", "/all", True),
    ],
)
def test_patterns(pattern: str, path: str, fits: bool) -> None:
    assert rules(f"Disallow: {pattern}").allows(path) is not fits


def test_our_own_group_replaces_that_for_everybody() -> None:
    robots = parse_robots(
        b"User-agent: *\nDisallow: /\n\nUser-Agent: Quoth/1.0\nDisallow: /private\nCrawl-delay: 2.5\n"
    )
    assert robots.allows("/docs")
    assert not robots.allows("/private")
    assert robots.delay == 2.5


def test_groups_may_have_several_names_and_several_places() -> None:
    robots = parse_robots(
        b"User-agent: other\nUser-agent: quoth\nDisallow: /a\n"
        b"User-agent: third\nDisallow: /b\nUser-agent: quoth\nDisallow: /c"
    )
    assert [robots.allows(path) for path in ("/a", "/b", "/c")] == [False, True, False]


def test_the_group_of_another_crawler_is_not_ours() -> None:
    assert parse_robots(b"User-agent: quothbot\nDisallow: /").allows("/x")


def test_comments_line_endings_and_a_byte_order_mark_do_no_harm() -> None:
    robots = parse_robots("\ufeffUser-agent: * # all\r\nDisallow: /x # because\r\rnonsense\r\nDisallow:/y".encode())
    assert [robots.allows(path) for path in ("/x", "/y", "/z")] == [False, False, True]


def test_sitemaps_are_named_outside_of_groups_and_once() -> None:
    robots = parse_robots(b"Sitemap: https://a.example/s.xml\nUser-agent: x\nSITEMAP: /t.xml\nSitemap: /t.xml")
    assert robots.sitemaps == ("https://a.example/s.xml", "/t.xml")


@pytest.mark.parametrize("delay", ["soon", "-1", "nan", "inf", "1e9", ""])
def test_a_delay_without_sense_is_none(delay: str) -> None:
    assert rules(f"Crawl-delay: {delay}").delay == 0.0


def test_what_lies_beyond_the_limit_is_not_read() -> None:
    assert parse_robots(b"User-agent: *\n" + b"#" * MAX_BYTES + b"\nDisallow: /").allows("/x")


def test_a_pattern_of_many_wildcards_takes_no_time() -> None:
    assert rules("Disallow: /" + "a*" * 2_000 + "b").allows("/" + "a" * 5_000)


@given(st.binary(max_size=300), st.text(max_size=40))
def test_no_file_and_no_path_is_a_fault(data: bytes, path: str) -> None:
    parse_robots(b"User-agent: *\n" + data).allows("/" + path)

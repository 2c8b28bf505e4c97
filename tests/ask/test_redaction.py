from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from quoth.ask.redaction import redacted

JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.SflKxwRJSMeKKF2QT4"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Write to ann.lee+robots@mail.example.co.uk please", "Write to [email] please"),
        ("jürgen@müller.de?", "[email]?"),
        ("ssh root@10.0.0.7 fails", "ssh root@[ip] fails"),
        ("Call +44 20 7946 0958 now", "Call [number] now"),
        ("Call (030) 901820 now", "Call [number] now"),
        ("Call 555-0123 now", "Call [number] now"),
        ("my number is 0171 234 56 78", "my number is [number]"),
        ("card 4111 1111 1111 1111", "card [number]"),
        ("order 20031599 is late", "order [number] is late"),
        ("key sk-proj-abc123DEF456ghi789", "key [key]"),
        ("sk-ant-api03-abcdef_1234567890", "[key]"),
        ("ghp_16C7e42F292c6912E7710c838347Ae178B4a", "[key]"),
        ("AKIAIOSFODNN7EXAMPLE", "[key]"),
        ("AIzaSyA1234567890abcdefghijklmnopqrstuv", "[key]"),
        ("hash 9f86d081884c7d659a2feaa0c55ad015", "hash [key]"),
        (f"it says {JWT} is wrong", "it says [token] is wrong"),
        ("Authorization: Bearer abcdef1234567890", "Authorization: Bearer [token]"),
        ("password=hunter2 does not work", "password=[secret] does not work"),
        ('"api_key": "hello-world"', '"api_key": [secret]'),
        ("why is 192.168.1.17:11311 closed", "why is [ip]:11311 closed"),
        ("ping 2001:db8::8a2e:370:7334", "ping [ip]"),
        ("bind ::1", "bind [ip]"),
        ("my camera 00:1A:2B:3C:4D:5E", "my camera [address]"),
        ("session 6a1f7a9e-2f7e-4c3e-9d57-0d5a3d7b6f10", "session [id]"),
        ("see https://x.example/a/b?user=ann&t=9 there", "see https://x.example/a/b?[query] there"),
        ("see https://x.example/a#access_token=q", "see https://x.example/a?[query]"),
        ("postgres://ann:pw@db.example/quoth", "postgres://[login]@db.example/quoth"),
        ("-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY----- fails", "[key] fails"),
    ],
)
def test_what_identifies_the_reader_or_grants_access_is_replaced_by_what_it_was(text: str, shown: str) -> None:
    assert redacted(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "How do I set the deadline policy of a topic?",
        "What changed in version 2.10.3 of 2024-01-15 at 12:30:45?",
        "Why does std::vector<int>::at throw, and ::max not?",
        "How do I bind port 11311 at 115200 baud?",
        "What does rmw_qos_profile_sensor_data mean in src/rclcpp/include/rclcpp/qos.hpp?",
        "Is react@18.2.0 enough for @docusaurus/preset-classic?",
        "Who won in 1966?",
        "What is the token bucket of the secret garden?",
        "Is https://docs.example.org/guide/install up to date?",
        "RuntimeErrorWithAVeryLongNameIndeed",
        "Wie heißt die Donaudampfschifffahrtsgesellschaft?",
        "sk-learn or scikit-learn, hf-transformers and npm-run-all?",
    ],
)
def test_a_technical_question_stays_as_it_is(text: str) -> None:
    assert redacted(text) == text


SECRETS = st.sampled_from(
    [
        "ann.lee@mail.example.org",
        "+49 171 2345678",
        "2345678901234",
        "sk-abc123DEF456ghi789",
        JWT,
        "203.0.113.77",
        "2001:db8::8a2e:370:7334",
        "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b",
        "6a1f7a9e-2f7e-4c3e-9d57-0d5a3d7b6f10",
    ]
)


@given(before=st.text(max_size=60), secret=SECRETS, after=st.text(max_size=60))
@example(before="'", secret=JWT, after="'")
@example(before="[", secret="203.0.113.77", after="]")
def test_a_secret_never_survives_whatever_is_around_it(before: str, secret: str, after: str) -> None:
    shown = redacted(f"{before} {secret} {after}")
    assert secret not in shown
    assert secret[:14] not in shown


@given(st.lists(SECRETS | st.text(alphabet="aZ09@.:/?#=-_+ [](){}é", max_size=12), max_size=8).map("".join))
def test_a_redacted_text_has_nothing_more_to_hide(text: str) -> None:
    once = redacted(text)
    assert redacted(once) == once


@given(st.text(alphabet=st.characters(categories=("Lu", "Ll", "Zs", "Po"), exclude_characters="@/:#\\"), max_size=200))
def test_words_alone_are_never_touched(text: str) -> None:
    assert redacted(text) == text

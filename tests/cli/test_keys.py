"""`quoth keys`, and `quoth serve` on an address that others can reach."""

from __future__ import annotations

import json
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from commands import quoth
from quoth import keys
from quoth.cli.keys import end_of
from quoth.cli.serve import is_closed
from quoth.errors import WrongUsage
from quoth.settings import Settings, load_settings

pytestmark = pytest.mark.slow
NOW = datetime(2030, 5, 17, 12, tzinfo=UTC)


def document(run: subprocess.CompletedProcess[str]) -> Any:
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


def test_a_key_is_created_shown_once_listed_and_revoked(tmp_path: Path) -> None:
    place = ("--data-dir", tmp_path)
    made = quoth("keys", "create", "--name", "the docs", *place)
    parsed = keys.parse(made.stdout.strip())  # nothing else on standard output: KEY=$(quoth keys create …)
    assert parsed is not None
    assert "not shown again" in made.stderr
    listed = quoth("keys", "list", *place)
    assert listed.stdout == f"{parsed[0]}  active  ask  the docs\n"
    assert quoth("keys", "revoke", parsed[0], *place).stdout == f"Revoked {parsed[0]} (the docs).\n"
    [row] = document(quoth("keys", "list", "--json", *place))["keys"]
    assert row["status"] == "revoked"
    assert row["revoked_at"]
    assert "digest" not in row


def test_a_public_key_has_its_sites_its_budget_and_its_expiry(tmp_path: Path) -> None:
    sites = ("--origin", "https://Docs.example.org/", "--origin", "http://localhost:3000")
    limits = ("--daily", "50", "--expires", "90d", "--json", "--data-dir", tmp_path)
    made = document(quoth("keys", "create", "--name", "site", "--public", *sites, *limits))
    assert made["key"].startswith("qp_")
    assert (made["public"], made["origins"]) == (True, ["https://docs.example.org", "http://localhost:3000"])
    assert (made["scope"], made["daily"], made["status"]) == ("ask", 50, "active")
    shown = quoth("keys", "list", "--data-dir", tmp_path).stdout
    assert "from https://docs.example.org, http://localhost:3000  50 answers a day  until " in shown


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["create"], "--name"),
        (["create", "--name", "x", "--scope", "root"], "ingest"),
        (["create", "--name", "x", "--public"], "--origin"),
        (["create", "--name", "x", "--origin", "https://a.example"], "--public"),
        (["create", "--name", "x", "--public", "--origin", "https://a.example/b"], "without a path"),
        (["create", "--name", "x", "--public", "--origin", "https://a.example", "--scope", "admin"], "--scope ask"),
        (["create", "--name", "x", "--book", "none"], "quoth books"),
        (["create", "--name", "x", "--expires", "soon"], "2030-12-31"),
        (["create", "--name", "x", "--daily", "-1"], "--daily"),
        (["revoke", "none"], "quoth keys list"),
    ],
)
def test_a_mistake_is_one_line_that_says_what_to_do(arguments: list[str], says: str, tmp_path: Path) -> None:
    run = quoth("keys", *arguments, "--data-dir", tmp_path)
    assert (run.returncode, run.stdout) == (2, "")
    assert says in run.stderr
    assert run.stderr.count("\n") == 1


def test_a_key_expires_after_a_span_or_at_the_end_of_a_day() -> None:
    assert end_of("90d", NOW) == NOW + timedelta(days=90)
    assert end_of("12h", NOW) == NOW + timedelta(hours=12)
    assert end_of("2030-05-17", NOW) == datetime(2030, 5, 18, tzinfo=UTC)
    for wrong in ("2030-05-16", "2030-13-01", "90", "d", "-1d", ""):
        with pytest.raises(WrongUsage):
            end_of(wrong, NOW)


def settings(folder: Path, **given: Any) -> Settings:
    return load_settings(environ={}, directory=folder, data_dir=folder, **given)


def test_a_server_for_others_needs_a_key_or_a_login_or_an_explicit_option(tmp_path: Path) -> None:
    login = {"jwt_jwks_url": "https://l.example/jwks", "jwt_issuer": "l", "jwt_audience": "q"}
    assert not is_closed(settings(tmp_path))
    assert is_closed(settings(tmp_path, **login))
    assert is_closed(settings(tmp_path, auth="keys"))
    assert quoth("keys", "create", "--name", "x", "--data-dir", tmp_path).returncode == 0
    assert is_closed(settings(tmp_path))
    assert not is_closed(settings(tmp_path, auth="off"))
    refused = quoth("serve", "--host", "0.0.0.0", "--data-dir", tmp_path, QUOTH_AUTH="off")
    assert refused.returncode == 2
    assert "quoth keys create" in refused.stderr


@pytest.mark.parametrize(
    ("host", "local"),
    [("127.0.0.1", True), ("127.8.8.8", True), ("::1", True), ("localhost", True), ("0.0.0.0", False), ("::", False)],
)
def test_only_this_machine_can_reach_loopback(host: str, local: bool, tmp_path: Path) -> None:
    assert settings(tmp_path, host=host).is_local is local

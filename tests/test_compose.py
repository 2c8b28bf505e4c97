"""compose.yaml says only what this Quoth understands. (Starting it takes a Docker daemon, which tests do not have.)"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from quoth.settings import load_settings

ROOT = Path(__file__).resolve().parents[1]
WORKERS = ("api-1", "api-2")


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    document: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text())
    return document


def filled(environment: dict[str, str]) -> dict[str, str]:
    return {name: re.sub(r"\$\{\w+:\?[^}]*\}", "from-dot-env", value) for name, value in environment.items()}


def test_it_starts_the_four_parts_and_two_workers_and_looks_after_each(compose: dict[str, Any]) -> None:
    assert set(compose["services"]) == {*WORKERS, "qdrant", "postgres", "redis"}
    for name, service in compose["services"].items():
        assert service["healthcheck"]["test"][0] == "CMD", name
        assert service["restart"] == "unless-stopped", name


def test_the_workers_differ_in_nothing_but_their_port(compose: dict[str, Any]) -> None:
    one, other = (dict(compose["services"][name]) for name in WORKERS)
    assert one.pop("ports") != other.pop("ports")
    assert one == other


@pytest.mark.parametrize("worker", WORKERS)
def test_every_variable_of_a_worker_is_a_setting(compose: dict[str, Any], worker: str, tmp_path: Path) -> None:
    environment = filled(compose["services"][worker]["environment"])
    settings = load_settings(environ=environment, directory=tmp_path)
    came_from = {row.source for row in settings.describe()} - {"default"}
    assert came_from == {f"environment ({name})" for name in environment}
    assert (settings.qdrant_url, str(settings.data_dir)) == ("http://qdrant:6333", "/data")


def test_the_workers_share_their_store_and_their_counters(compose: dict[str, Any]) -> None:
    environment = filled(compose["services"]["api-1"]["environment"])
    assert environment["DATABASE_URL"] == "postgresql+asyncpg://quoth:from-dot-env@postgres:5432/quoth"
    assert environment["REDIS_URL"] == "redis://redis:6379/0"
    assert set(compose["services"]["api-1"]["depends_on"]) == {"qdrant", "postgres", "redis"}


def test_nothing_is_open_beyond_this_machine_and_no_secret_is_written_down(compose: dict[str, Any]) -> None:
    for name, service in compose["services"].items():
        assert all(port.startswith("127.0.0.1:") for port in service.get("ports", ())), name
        for variable, value in service.get("environment", {}).items():
            assert not re.search("KEY|PASSWORD", variable) or re.fullmatch(r"\$\{\w+:\?.+\}", value), variable


def test_a_worker_can_write_nowhere_but_into_its_volume(compose: dict[str, Any]) -> None:
    worker = compose["services"]["api-1"]
    assert worker["read_only"] is True
    assert worker["cap_drop"] == ["ALL"]
    assert [volume for volume in worker["volumes"] if not volume.endswith(":ro")] == ["library:/data"]


def test_every_volume_is_declared_and_used(compose: dict[str, Any]) -> None:
    used = {volume.split(":")[0] for service in compose["services"].values() for volume in service.get("volumes", ())}
    assert {name for name in used if not name.startswith(".")} == set(compose["volumes"])


def test_the_image_installs_the_lock_with_the_client_and_leaves_root() -> None:
    text = (ROOT / "Dockerfile").read_text()
    assert "--require-hashes -r requirements/cluster.lock" in text
    assert "\nUSER quoth\n" in text
    lock = (ROOT / "requirements" / "cluster.lock").read_text()
    assert re.search(r"^qdrant-client==", lock, re.MULTILINE)
    for name in ("asyncpg", "greenlet", "redis"):
        assert re.search(rf"^{name}==", lock, re.MULTILINE), name
    assert not re.search(r"^(torch|sentence-transformers|nvidia-\S+)==", lock, re.MULTILINE)

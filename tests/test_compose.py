"""compose.yaml says only what this Quoth understands. (Starting it needs a Docker daemon, which tests do not have.)"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from quoth.settings import load_settings

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    document: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text())
    return document


def filled(environment: dict[str, str]) -> dict[str, str]:
    return {name: re.sub(r"\$\{\w+:\?[^}]*\}", "from-dot-env", value) for name, value in environment.items()}


def test_it_starts_the_five_parts_and_looks_after_each(compose: dict[str, Any]) -> None:
    assert set(compose["services"]) == {"entrance", "api", "qdrant", "postgres", "redis"}
    for name, service in compose["services"].items():
        assert service["healthcheck"]["test"][0] == "CMD", name
        assert service["restart"] == "unless-stopped", name


def test_one_port_leads_to_any_number_of_workers(compose: dict[str, Any]) -> None:
    services = compose["services"]
    assert {name for name, service in services.items() if "ports" in service} == {"entrance"}
    assert services["api"]["deploy"]["replicas"] > 1
    assert "container_name" not in services["api"]
    [mounted] = services["entrance"]["volumes"]
    configuration = (ROOT / mounted.split(":")[0]).read_text()
    assert "http://api:8000;" in configuration
    assert f"listen {services['entrance']['ports'][0].split(':')[-1]};" in configuration


def test_the_workers_believe_the_entrance_about_addresses_and_nobody_outside(compose: dict[str, Any]) -> None:
    [network] = compose["networks"]["default"]["ipam"]["config"]
    assert compose["services"]["api"]["environment"]["QUOTH_TRUSTED_PROXIES"] == network["subnet"]


def test_every_variable_of_a_worker_is_a_setting(compose: dict[str, Any], tmp_path: Path) -> None:
    environment = filled(compose["services"]["api"]["environment"])
    settings = load_settings(environ=environment, directory=tmp_path)
    came_from = {row.source for row in settings.describe()} - {"default"}
    assert came_from == {f"environment ({name})" for name in environment}
    assert (settings.qdrant_url, str(settings.data_dir)) == (("http://qdrant:6333",), "/data")


def test_the_workers_share_their_store_and_their_counters(compose: dict[str, Any]) -> None:
    environment = filled(compose["services"]["api"]["environment"])
    assert environment["DATABASE_URL"] == "postgresql+asyncpg://quoth:from-dot-env@postgres:5432/quoth"
    assert environment["REDIS_URL"] == "redis://redis:6379/0"
    assert set(compose["services"]["api"]["depends_on"]) == {"qdrant", "postgres", "redis"}


def test_nothing_is_open_beyond_this_machine_and_no_secret_is_written_down(compose: dict[str, Any]) -> None:
    for name, service in compose["services"].items():
        assert all(port.startswith("127.0.0.1:") for port in service.get("ports", ())), name
        for variable, value in service.get("environment", {}).items():
            assert not re.search("KEY|PASSWORD", variable) or re.fullmatch(r"\$\{\w+:\?.+\}", value), variable


def test_a_worker_can_write_nowhere_but_into_its_volume(compose: dict[str, Any]) -> None:
    worker = compose["services"]["api"]
    assert worker["read_only"] is True
    assert worker["cap_drop"] == ["ALL"]
    assert [volume for volume in worker["volumes"] if not volume.endswith(":ro")] == ["library:/data"]


def test_every_volume_is_declared_and_used(compose: dict[str, Any]) -> None:
    used = {volume.split(":")[0] for service in compose["services"].values() for volume in service.get("volumes", ())}
    assert {name for name in used if not name.startswith(".")} == set(compose["volumes"])


# --- the image --------------------------------------------------------------------------------------------------------
# `make lint-image` runs hadolint over it; these are the promises that hadolint does not know.


def instructions() -> list[tuple[str, str]]:
    """The Dockerfile's instructions, each on one line."""
    text = re.sub(r"^#.*\n", "", (ROOT / "Dockerfile").read_text(), flags=re.MULTILINE).replace("\\\n", " ")
    return [(line.split()[0], " ".join(line.split()[1:])) for line in text.splitlines() if line.strip()]


def last_stage() -> list[tuple[str, str]]:
    told = instructions()
    start = max(at for at, (name, _) in enumerate(told) if name == "FROM")
    return told[start:]


def test_the_image_installs_the_lock_and_nothing_else() -> None:
    installs = [rest for name, rest in instructions() if name == "RUN" and "install" in rest and "pip" in rest]
    assert len(installs) == 2
    assert all("--no-cache-dir" in rest and "--no-deps" in rest for rest in installs)
    assert installs[0].endswith("--require-hashes -r requirements/cluster.lock")
    lock = (ROOT / "requirements" / "cluster.lock").read_text()
    for name in ("asyncpg", "greenlet", "redis"):
        assert re.search(rf"^{name}==", lock, re.MULTILINE), name
    assert not re.search(r"^(torch|sentence-transformers|nvidia-\S+)==", lock, re.MULTILINE)


def test_the_image_leaves_root_for_good_and_by_number() -> None:
    users = [rest for name, rest in last_stage() if name == "USER"]
    assert users == ["10001"]
    names = [name for name, _ in last_stage()]
    assert names.index("USER") < names.index("ENTRYPOINT")
    assert not [rest for name, rest in instructions() if name == "RUN" and re.search(r"\b(sudo|chmod)\b", rest)]


def test_the_image_is_built_on_a_named_slim_release() -> None:
    [base] = [rest for name, rest in instructions() if name == "ARG"]
    assert re.fullmatch(r"PYTHON=python:3\.11-slim-[a-z]+", base)
    assert {rest.split()[0] for name, rest in instructions() if name == "FROM"} == {"${PYTHON}"}


def test_the_image_looks_after_itself_without_a_shell(compose: dict[str, Any]) -> None:
    told = dict(last_stage())
    for name in ("ENTRYPOINT", "CMD"):
        assert json.loads(told[name])
    _, _, check = told["HEALTHCHECK"].partition("CMD ")
    assert json.loads(check) == compose["services"]["api"]["healthcheck"]["test"][1:]


def test_the_image_holds_no_secret_and_takes_only_what_it_needs() -> None:
    for name, rest in instructions():
        assert name != "ADD"
        assert name not in ("ENV", "ARG") or not re.search("KEY|SECRET|PASSWORD|TOKEN", rest), rest
    ignored = (ROOT / ".dockerignore").read_text().split()
    assert ignored[0] == "*"
    copied = {
        part.split("/")[0]
        for name, rest in instructions()
        if name == "COPY" and "--from" not in rest
        for part in rest.split()[:-1]
    }
    assert copied == {name[1:] for name in ignored if name.startswith("!")}


def test_no_image_is_the_latest_of_anything(compose: dict[str, Any]) -> None:
    images = [service["image"] for service in compose["services"].values() if "build" not in service]
    assert len(images) >= 3
    assert all(re.search(r":v?\d[\w.-]*$", image) for image in images)

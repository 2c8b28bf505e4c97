"""`quoth config --check`: do the models answer, and if not, what can be done?"""

from __future__ import annotations

import asyncio
import json
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from commands import quoth
from quoth.testing.model_server import ModelServer, fails, says, stalls

pytestmark = pytest.mark.slow


@pytest.fixture
async def server() -> AsyncIterator[ModelServer]:
    async with ModelServer(says("ready")) as made:
        yield made


async def check(place: Path, *more: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return await asyncio.to_thread(quoth, "config", "--check", *more, "--data-dir", place, **environment)


async def test_a_model_that_answers_is_named_with_its_place(server: ModelServer, tmp_path: Path) -> None:
    run = await check(tmp_path, OPENAI_BASE_URL=server.url, OPENAI_MODEL="scripted")
    embeds, answers = run.stdout.splitlines()
    assert (run.returncode, answers) == (0, f"scripted at {server.url} answers.")
    assert embeds.startswith("all-MiniLM-L6-v2/")
    assert embeds.endswith(" on this machine works: its vectors have 384 dimensions.")
    run = await check(tmp_path, "--json", OPENAI_BASE_URL=server.url, OPENAI_MODEL="scripted")
    assert json.loads(run.stdout) == {"embedder": embeds, "model": f"scripted at {server.url} answers."}


async def test_without_a_model_the_book_answers(tmp_path: Path) -> None:
    run = await check(tmp_path)
    assert run.returncode == 0
    assert "in its own sentences" in run.stdout


@pytest.mark.parametrize(
    ("status", "hint"), [(401, "OPENAI_API_KEY"), (404, "the model 'scripted'"), (429, "Try again"), (500, "Try again")]
)
async def test_what_is_wrong_is_one_line_with_what_to_do(
    server: ModelServer, tmp_path: Path, status: int, hint: str
) -> None:
    server.then([fails(status, "because of this", retry_after="0")])
    run = await check(tmp_path, OPENAI_BASE_URL=server.url, OPENAI_MODEL="scripted", OPENAI_API_KEY="sk-secret")
    [line] = run.stderr.splitlines()
    assert run.returncode in (1, 2)
    assert f"answered {status}: because of this" in line
    assert hint in line
    assert "sk-secret" not in line


async def test_a_stalled_or_missing_server_is_given_up_in_time(server: ModelServer, tmp_path: Path) -> None:
    server.then([stalls()])
    short = {"QUOTH_MODEL_FIRST_TOKEN_TIMEOUT": "0.3", "QUOTH_MODEL_TIMEOUT": "0.4", "OPENAI_MODEL": "scripted"}
    run = await check(tmp_path, OPENAI_BASE_URL=server.url, **short)
    assert run.returncode == 1
    assert "no answer within 0.3 seconds" in run.stderr
    run = await check(tmp_path, OPENAI_BASE_URL="http://127.0.0.1:9/v1", OPENAI_MODEL="scripted")
    assert run.returncode == 1
    assert "no connection to http://127.0.0.1:9/v1" in run.stderr
    assert "Is the server running?" in run.stderr


async def test_a_server_without_a_named_model_is_a_configuration_error(tmp_path: Path) -> None:
    run = await check(tmp_path, OPENAI_BASE_URL="http://127.0.0.1:9/v1")
    assert run.returncode == 2
    assert "OPENAI_MODEL" in run.stderr

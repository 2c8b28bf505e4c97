"""Every door keeps the promises of the OpenAPI document, whatever it gets: schemathesis queries a real server."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import schemathesis
import uvicorn
from hypothesis import HealthCheck, given, settings
from schemathesis import BaseSchema, Case, GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    positive_data_acceptance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
    unsupported_method,
)

from doors import Idler, opened
from quoth.serve.openapi import examples
from quoth.serve.server import address_of, listen

pytestmark = pytest.mark.slow

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    negative_data_rejection,
    positive_data_acceptance,
    unsupported_method,
]


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A real server, in a thread: schemathesis asks without asyncio."""
    ready, leave = threading.Event(), threading.Event()
    with listen("127.0.0.1", 0) as listener:

        async def serve(folder: Path) -> None:
            async with opened(folder, launch=Idler) as doors:
                server = uvicorn.Server(uvicorn.Config(doors.app, log_config=None, lifespan="off", ws="none"))
                running = asyncio.create_task(server.serve(sockets=[listener]))
                ready.set()
                await asyncio.to_thread(leave.wait)
                server.should_exit = True
                await running

        thread = threading.Thread(target=lambda: asyncio.run(serve(tmp_path_factory.mktemp("promises"))))
        thread.start()
        assert ready.wait(60)
        yield address_of(listener).rstrip("/")
        leave.set()
        thread.join()


@pytest.fixture(scope="module")
def schema(address: str) -> BaseSchema:
    return schemathesis.openapi.from_url(f"{address}/openapi.json")


@pytest.mark.parametrize("door", examples())
def test_no_door_breaks_its_promise(schema: BaseSchema, door: str) -> None:
    method, path = door.split(" ")
    operation = schema[path][method]
    right, wrong = (operation.as_strategy(generation_mode=mode) for mode in GenerationMode)

    statuses: set[int] = set()

    @settings(max_examples=20, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck))
    @given(case=right | wrong)
    def ask(case: Case[Any]) -> None:
        statuses.add(case.call_and_validate(checks=CHECKS).status_code)

    ask()
    assert statuses
    assert max(statuses) < 500

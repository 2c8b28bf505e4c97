"""docs/clients.md: recipes whose client is installed for the tests run as they are; the others at least compile."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from doors import opened, served
from recipes import BY_HAND, COMMANDS, NODE, PYTHON, at, output, recipes

PROGRAMS = {heading: code for (heading, language), code in recipes().items() if language == "python"}


def test_no_recipe_is_forgotten() -> None:
    run = {*((heading, "python") for heading in PYTHON), *((heading, "js") for heading in NODE), *COMMANDS}
    assert run & BY_HAND == set()
    assert recipes().keys() == run | BY_HAND


@pytest.mark.parametrize("heading", PROGRAMS)
def test_every_program_is_python(heading: str) -> None:
    compile(PROGRAMS[heading], "docs/clients.md", "exec")


@pytest.mark.slow
@pytest.mark.parametrize("heading", ["openai, Python", "MCP, Python"])
async def test_the_programs_run_as_they_are(heading: str, tmp_path: Path) -> None:
    async with opened(tmp_path) as doors, served(doors.quoth) as address:
        told = await output(sys.executable, "-c", at(address, PROGRAMS[heading]), cwd=tmp_path)
    assert "A topic carries messages" in told
    assert "https://book.example.com/topics#durability" in told

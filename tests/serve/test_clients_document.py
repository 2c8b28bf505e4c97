"""docs/clients.md: the recipes with clients that the tests have are run as they are; the others at least compile."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from doors import opened, served

ROOT = Path(__file__).resolve().parents[2]
DOCUMENT = (ROOT / "docs" / "clients.md").read_text(encoding="utf-8")
PROGRAMS = re.findall(r"```python\n(.*?)```", DOCUMENT, re.DOTALL)
RUN = [program for program in PROGRAMS if "from openai " in program or "from mcp " in program]


@pytest.mark.parametrize("program", PROGRAMS, ids=range(len(PROGRAMS)))
def test_every_program_is_python(program: str) -> None:
    compile(program, "docs/clients.md", "exec")


@pytest.mark.slow
@pytest.mark.parametrize("program", RUN, ids=["openai", "mcp"])
async def test_the_programs_run_as_they_are(program: str, tmp_path: Path) -> None:
    async with opened(tmp_path) as doors, served(doors.quoth) as address:
        code = program.replace("http://127.0.0.1:8000", address).replace("quoth/my-book", "quoth/book")
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("QUOTH", "OPENAI"))}
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", code, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        out, err = await process.communicate()
    assert process.returncode == 0, err.decode()
    assert "A topic carries messages" in out.decode()
    assert "https://book.example.com/topics#durability" in out.decode()

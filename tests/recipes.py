"""The recipes of docs/clients.md: its code blocks, found by the heading above them, and run as they are.

`test_clients_document.py` runs those whose client is installed for the tests, `client_recipes.py` all of them in the
environments of `make test-clients`. All others are in `BY_HAND`, so that no recipe is forgotten.
"""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DOCUMENT = ROOT / "docs" / "clients.md"
CLIENTS = ROOT / ".venv-clients"

# The heading and the environment below .venv-clients.
PYTHON = {
    "openai, Python": "python",
    "LangChain": "python",
    "LlamaIndex": "python-openai2",
    "pydantic-ai": "python",
    "LiteLLM": "python-openai2",
    "MCP, Python": "python",
}
NODE = ("openai, Node and browsers", "Vercel AI SDK", "MCP, TypeScript")
COMMANDS = {("llm", "yaml"), ("llm", "text"), ("fastmcp", "text"), ("Generated clients", "text")}
BY_HAND = {("LiteLLM", "yaml"), ("aider", "text"), ("Inspector and mcp-proxy", "text")}


def recipes() -> dict[tuple[str, str], str]:
    """The code of each block, by its heading and its language."""
    found = {}
    for section in re.split(r"^## ", DOCUMENT.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
        heading = section.partition("\n")[0]
        for language, code in re.findall(r"```(\w+)\n(.*?)```", section, re.DOTALL):
            assert (heading, language) not in found, f"two blocks of {language} below {heading}"
            found[heading, language] = code
    return found


def at(address: str, code: str) -> str:
    """The recipe for the book of `doors` at this address."""
    assert "http://127.0.0.1:8000" in code
    return code.replace("http://127.0.0.1:8000", address).replace("my-book", "book")


async def output(*command: str | Path, cwd: Path, **variables: str) -> str:
    """What it prints. No settings of Quoth or OpenAI from outside reach it."""
    inherited = {
        name: value for name, value in os.environ.items() if not name.startswith(("QUOTH", "OPENAI", "PYTHON"))
    }
    process = await asyncio.create_subprocess_exec(
        *map(str, command),
        cwd=cwd,
        env=inherited | variables,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        out, err = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert process.returncode == 0, err.decode()
    return out.decode()

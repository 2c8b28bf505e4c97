"""Every recipe of docs/clients.md with its real client, in the environments of `make test-clients` (decision 0040).

Not called `test_…`: without those environments nothing here can run. The book is the one from `doors`, on a real port.
"""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, expect

from browsing import MARKS, new_page
from doors import a_key, closed, opened, served
from recipes import CLIENTS, NODE, PYTHON, at, output, recipes
from websites import Reply, website

pytestmark = MARKS  # one loop for all: the browser's
RECIPES = recipes()
BROWSER = "openai, Node and browsers"
PACKAGES = CLIENTS / "node" / "node_modules"
ANSWER = "A topic carries messages from publishers to subscribers."


@pytest_asyncio.fixture(loop_scope="session")
async def address(tmp_path: Path) -> AsyncIterator[str]:
    async with opened(tmp_path) as doors, served(doors.quoth) as found:
        yield found


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder where npm packages are found."""
    assert PACKAGES.is_dir(), "make clients-env"
    (tmp_path / "node_modules").symlink_to(PACKAGES)
    return tmp_path


async def shell(environment: str, lines: str, folder: Path, **variables: str) -> str:
    path = f"{CLIENTS / environment / 'bin'}{os.pathsep}{os.environ['PATH']}"
    return await output("sh", "-ec", lines, cwd=folder, PATH=path, **variables)


@pytest.mark.parametrize("heading", PYTHON)
async def test_python(heading: str, address: str, tmp_path: Path) -> None:
    python = CLIENTS / PYTHON[heading] / "bin" / "python"
    told = await output(python, "-c", at(address, RECIPES[heading, "python"]), cwd=tmp_path)
    assert ANSWER in told
    assert "https://book.example.com/topics" in told


@pytest.mark.parametrize("heading", NODE)
async def test_node(heading: str, address: str, folder: Path) -> None:
    (folder / "recipe.mjs").write_text(at(address, RECIPES[heading, "js"]))
    told = await output("node", "recipe.mjs", cwd=folder)
    assert ANSWER in told
    assert "https://book.example.com/topics" in told


async def test_openai_in_a_browser(tmp_path: Path, chromium: Browser) -> None:
    """From another origin, with its public key, after a preflight with all headers that the client adds."""
    async with closed(tmp_path) as doors, served(doors.quoth) as quoth:
        with website() as site:
            key = (await a_key(doors, origins=(site.url,)))["authorization"].removeprefix("Bearer ")
            for file in (PACKAGES / "openai").rglob("*.mjs"):
                path = file.relative_to(PACKAGES).as_posix()
                site.replies[f"/{path}"] = Reply(file.read_bytes(), type="text/javascript")
            code = at(quoth, RECIPES[BROWSER, "js"])
            for old, new in {
                'apiKey: "none"': f'apiKey: "{key}", dangerouslyAllowBrowser: true',
                "process.stdout.write(": "document.querySelector('pre').append(",
            }.items():
                assert old in code
                code = code.replace(old, new)
            names = json.dumps({"imports": {"openai": "/openai/index.mjs"}})
            head = f'<script type="importmap">{names}</script><script type="module">{code}</script>'
            site.replies["/"] = Reply(
                f"<!doctype html><html><head>{head}</head><body><pre></pre></body></html>".encode()
            )
            async with new_page(chromium) as page:
                await page.goto(site.url)
                await expect(page.locator("pre")).to_contain_text(ANSWER)
                await expect(page.locator("pre")).to_contain_text("https://book.example.com/topics")


async def test_llm(address: str, tmp_path: Path) -> None:
    (tmp_path / "extra-openai-models.yaml").write_text(at(address, RECIPES["llm", "yaml"]))
    command = RECIPES["llm", "text"].replace("my-book", "book")
    told = await shell("python", command, tmp_path, LLM_USER_PATH=str(tmp_path))
    assert ANSWER in told


async def test_fastmcp(address: str, tmp_path: Path) -> None:
    told = await shell("python", at(address, RECIPES["fastmcp", "text"]), tmp_path)
    assert {"search", "fetch", "ask"} <= set(told.replace("(", " ").split())
    assert ANSWER in told


LEAVES_OUT = """
import type { components } from "./quoth.ts";
export const asked: components["schemas"]["ChatRequest"] = { query: "What is a topic?" };
"""


async def test_generated_clients(address: str, folder: Path) -> None:
    """Generated clients can ask: TypeScript accepts a request without its optional fields, and Python's client gets an
    answer."""
    await shell("python", at(address, RECIPES["Generated clients", "text"]), folder)
    (folder / "asked.ts").write_text(LEAVES_OUT)
    options = ("--strict", "--noEmit", "--allowImportingTsExtensions", "--module", "esnext", "--target", "es2022")
    await output(folder / "node_modules" / ".bin" / "tsc", *options, "asked.ts", cwd=folder)
    code = (
        "from quoth_client import Client\n"
        "from quoth_client.api.chat import chat_chat_post as door\n"
        "from quoth_client.models import ChatRequest\n"
        f"client = Client(base_url='{address}')\n"
        "print(door.sync(client=client, body=ChatRequest(query='What is a topic?')).answer)\n"
    )
    python = CLIENTS / "python" / "bin" / "python"
    assert ANSWER in await output(python, "-c", code, cwd=next(folder.glob("*-client")))

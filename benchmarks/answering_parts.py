"""Parts of the turn benchmark: the scripted model and the bare client, each in a separate process.

`python benchmarks/answering_parts.py model PACE TOKENS` serves a scripted model and prints its address;
`… client ADDRESS TURNS AT_ONCE` makes the same calls with the official `openai` client and prints its CPU time.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from quoth.testing.model_server import ModelServer, Reply, calls, says

ROOT = Path(__file__).resolve().parents[1]

# Answered from the sample book. The scripted answer does not depend on the question, but the prompt's length does.
QUESTIONS = (
    "How do late subscribers get the last message that was published?",
    "Which values of ROS_DOMAIN_ID are safe to use?",
    "What does the RELIABLE reliability policy do?",
    "How many solutions can an inverse kinematics problem have?",
    "What does proprioception mean for a robot?",
    "Why can't I describe a closed kinematic loop in URDF?",
    "How long will ROS 2 Humble and Jazzy be supported?",
    "What is a static transform?",
)
SENTENCES = (
    "A `TRANSIENT_LOCAL` publisher keeps its last messages for subscribers that join late [1]. ",
    "Maps and robot descriptions use it, because they are published once [1]. ",
    "The default durability of publishers and subscriptions is `VOLATILE`, which keeps nothing [2]. ",
    "With `RELIABLE` a lost message is sent again until it was received or is too old [1]. ",
    "A subscription that asks for more than a publisher offers gets nothing at all [3]. ",
)
TOKENS = 120
# A call of the search, in tokens of current models: the name, the braces and the words of a short query.
CALL_TOKENS = 18


def tokens_of_the_answer(count: int) -> list[str]:
    """Pieces of a few letters, as a model sends them."""
    return re.findall(r"\s?\w{1,5}|\s?[^\w\s]|\s", "".join(SENTENCES) * 3)[:count]


class Listening(ModelServer):
    """Searches if it was shown no passages, and answers if it was: so it serves both flows."""

    def __init__(self, pace: float, tokens: int) -> None:
        super().__init__()
        self._answer = says(*tokens_of_the_answer(tokens), pace=pace, tokens=(1_200, tokens))
        query = {"query": "durability of late subscribers", "top_k": 5}
        self._search = calls("search_book_content", query, pieces=CALL_TOKENS, pace=pace)

    def reply_to(self, body: Mapping[str, Any]) -> Reply:
        self.bodies.clear()  # not needed here
        self.headers.clear()
        shown = any(message["role"] == "tool" for message in body["messages"])
        return self._answer if shown or "tools" not in body else self._search


async def serve_model(pace: float, tokens: int) -> None:
    async with Listening(pace, tokens) as server:
        print(server.url, flush=True)
        await asyncio.to_thread(sys.stdin.read)


# --- raw requests ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Heard:
    first: float  # seconds to the first word
    whole: float


async def heard(url: str, body: bytes, first: re.Pattern[bytes]) -> Heard:
    """One POST over its own connection, with as little client as possible."""
    parts = urlsplit(url)
    head = f"POST {parts.path} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n"
    began = time.perf_counter()
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
    try:
        writer.write(head.encode() + b"connection: close\r\n\r\n" + body)
        got, first_word, searched = b"", 0.0, 0
        while not got.endswith(b"0\r\n\r\n"):
            block = await reader.read(65536)
            if not block:
                break
            got += block
            if not first_word and first.search(got, max(0, searched - 64)):
                first_word = time.perf_counter() - began
            searched = len(got)
    finally:
        writer.close()
    if not first_word:
        raise RuntimeError(f"no word came: {got[-600:]!r}")
    return Heard(first_word, time.perf_counter() - began)


FIRST_OF_MODEL = re.compile(rb'"content": "[^"]')
FIRST_OF_QUOTH = re.compile(rb"event: delta")


def cpu_of(pid: int) -> float:
    """CPU seconds that a process has used, in all its threads."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


# --- the bare client -------------------------------------------------------------------------------------------------


async def ask_with_openai(url: str, body: dict[str, Any], turns: int, at_once: int) -> float:
    """CPU seconds per turn of the official client when it only reads the same completion."""
    from openai import AsyncOpenAI

    asked = {name: value for name, value in body.items() if name != "stream"}
    async with AsyncOpenAI(base_url=url, api_key="none") as client:

        async def turn() -> None:
            text = ""
            async for chunk in await client.chat.completions.create(**asked, stream=True):
                for choice in chunk.choices:
                    text += choice.delta.content or ""
            assert len(text) > TOKENS

        async def several(count: int) -> None:
            for _ in range(count):
                await turn()

        await several(5)
        began = time.process_time()
        await asyncio.gather(*(several(turns // at_once) for _ in range(at_once)))
        return (time.process_time() - began) / (turns // at_once * at_once)


@contextmanager
def other_loop() -> Iterator[asyncio.Runner]:
    """The fast event loop, for the bare client too."""
    import uvloop

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        yield runner


def main() -> None:
    role, *arguments = sys.argv[1:]
    with other_loop() as runner:
        if role == "model":
            runner.run(serve_model(float(arguments[0]), int(arguments[1])))
        else:
            url, turns, at_once = arguments[0], int(arguments[1]), int(arguments[2])
            print(runner.run(ask_with_openai(url, json.loads(sys.stdin.read()), turns, at_once)))


if __name__ == "__main__":
    main()

"""What a turn costs on top of the model that answers it: time to the first word, CPU, many readers at once.

Writes docs/benchmarks/answering.json and answering.md. The model is scripted and runs in a separate process, once
without any delay and once at 20 ms per token; Quoth is `quoth serve` with the real embedding model and index on the
sample book; everything is measured from a third process, over HTTP. `--quick` makes fewer rounds.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from answering_parts import (
    CALL_TOKENS,
    FIRST_OF_MODEL,
    FIRST_OF_QUOTH,
    QUESTIONS,
    ROOT,
    TOKENS,
    Heard,
    cpu_of,
    heard,
    other_loop,
)
from quoth.ask.find import Retriever
from quoth.ask.model_turn import TOOLS
from quoth.ask.prompts import opening
from quoth.ask.request import ChatRequest
from quoth.ask.tools import SearchBook, format_tool_response
from quoth.bootstrap import bootstrap
from quoth.domain import Message, ModelText, ModelTurn
from quoth.models.openai import ModelOptions, OpenAIChat
from quoth.settings import load_settings
from quoth.testing.model_server import ModelServer, says

PACES = {"0 ms": 0.0, "20 ms": 0.02}
READERS = 64
FEW = 12  # tokens, when only the first one is timed


@contextmanager
def process(*arguments: str, **environment: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A process that prints its address on its first line; it is stopped by its own pid."""
    child = subprocess.Popen(
        [sys.executable, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, **environment},
    )
    assert child.stdout is not None
    try:
        line = child.stdout.readline()
        address = next((word for word in line.split() if word.startswith("http://")), "")
        if not address:
            raise RuntimeError(line + child.stdout.read())
        yield child, address.rstrip("/")
    finally:
        child.terminate()
        child.wait(20)


@contextmanager
def model(pace: float, tokens: int = TOKENS) -> Iterator[str]:
    script = str(Path(__file__).with_name("answering_parts.py"))
    with process(script, "model", str(pace), str(tokens)) as (_, address):
        yield address


@contextmanager
def quoth_server(data: Path, model_url: str) -> Iterator[tuple[int, str]]:
    named = {"OPENAI_BASE_URL": model_url, "OPENAI_MODEL": "scripted"}
    with process("-m", "quoth", "serve", "--data-dir", str(data), "--port", "0", **named) as (child, address):
        for _ in range(200):
            try:
                urllib.request.urlopen(f"{address}/readyz", timeout=5).read()
                break
            except OSError:
                time.sleep(0.05)
        yield child.pid, f"{address}/chat/stream"


def question(at: int) -> bytes:
    return json.dumps({"query": QUESTIONS[at % len(QUESTIONS)]}).encode()


async def prompt_of_a_turn(data: Path) -> dict[str, Any]:
    """Exactly the request that a turn sends to the model."""
    async with ModelServer(says("Yes [1].")) as server:
        settings = load_settings(data_dir=data, openai_base_url=server.url, openai_model="scripted")
        async with bootstrap(settings) as quoth:
            request = ChatRequest(query=QUESTIONS[0])  # type: ignore[call-arg]
            book = await quoth.choose_book(None)
            await quoth.conversations.answer(request.to_question(book=book, request_id="", top_k=5))
        return server.bodies[-1]


async def tool_first(data: Path, model_url: str, times: int) -> list[float]:
    """The flow in the specifications: the model is asked, calls the tool, the book is searched, the model is
    asked again. It runs in this process, without a server in between, which favours it."""
    settings = load_settings(data_dir=data)
    chat = OpenAIChat(ModelOptions(model_url, "scripted"))
    spent: list[float] = []
    async with bootstrap(settings, warm=True) as quoth:
        book = await quoth.choose_book(None)
        search = SearchBook(Retriever(quoth.index, quoth.embedder), book)
        for at in range(-3, times):
            request = ChatRequest(query=QUESTIONS[at % len(QUESTIONS)])  # type: ignore[call-arg]
            asked = request.to_question(book=book, request_id="", top_k=5)
            system = opening(asked, (), (), searched="", refusal="no")[0]
            messages = [system, Message("user", asked.query)]
            began = time.perf_counter()
            turn = ModelTurn()
            async for event in chat.reply(messages, TOOLS):
                turn = event if isinstance(event, ModelTurn) else turn
            [call] = turn.tool_calls
            found = await search(json.loads(call.arguments))
            messages.append(Message("assistant", "", tool_calls=turn.tool_calls))
            messages.append(Message("tool", format_tool_response(found.passages, found.query), tool_call_id=call.id))
            words = chat.reply(messages, TOOLS)
            assert isinstance(await anext(words), ModelText)
            if at >= 0:
                spent.append(time.perf_counter() - began)
            await words.aclose()
    await chat.close()
    return spent


def ms(seconds: Sequence[float], share: float = 0.5) -> float:
    ordered = sorted(seconds)
    at = ordered[min(len(ordered) - 1, int(share * len(ordered)))]
    return round((statistics.median(ordered) if share == 0.5 else at) * 1000, 2)


async def first_words(quoth_url: str, model_url: str, prompt: bytes, times: int) -> dict[str, float]:
    """Taken in turns, so that other work on the machine affects both alike."""
    ours: list[Heard] = []
    direct: list[Heard] = []
    for at in range(-5, times):
        pair = (
            await heard(quoth_url, question(at), FIRST_OF_QUOTH),
            await heard(f"{model_url}/chat/completions", prompt, FIRST_OF_MODEL),
        )
        if at >= 0:
            ours.append(pair[0])
            direct.append(pair[1])
    added = [one.first - other.first for one, other in zip(ours, direct, strict=True)]
    return {
        "first_word_ms": ms([one.first for one in ours]),
        "direct_first_word_ms": ms([one.first for one in direct]),
        "added_ms": ms(added),
        "added_p95_ms": ms(added, 0.95),
    }


async def readers_at_once(quoth_url: str, rounds: int) -> dict[str, float]:
    first: list[float] = []
    whole: list[float] = []
    for at in range(rounds):
        together = [heard(quoth_url, question(at + reader), FIRST_OF_QUOTH) for reader in range(READERS)]
        for one in await asyncio.gather(*together):
            first.append(one.first)
            whole.append(one.whole)
    return {"first_word_p50_ms": ms(first), "first_word_p99_ms": ms(first, 0.99), "whole_p50_ms": ms(whole)}


async def cpu_of_turns(pid: int, quoth_url: str, turns: int, at_once: int) -> float:
    async def several(count: int) -> None:
        for at in range(count):
            await heard(quoth_url, question(at), FIRST_OF_QUOTH)

    await several(5)
    began = cpu_of(pid)
    await asyncio.gather(*(several(turns // at_once) for _ in range(at_once)))
    return (cpu_of(pid) - began) / (turns // at_once * at_once)


def cpu_of_openai(model_url: str, prompt: bytes, turns: int, at_once: int) -> float:
    script = str(Path(__file__).with_name("answering_parts.py"))
    run = subprocess.run(
        [sys.executable, script, "client", model_url, str(turns), str(at_once)],
        input=prompt.decode(),
        capture_output=True,
        text=True,
        check=True,
    )
    return float(run.stdout)


def measured(data: Path, *, quick: bool) -> dict[str, Any]:
    times, turns = (20, 32) if quick else (80, 64)
    with other_loop() as runner:
        prompt = json.dumps(runner.run(prompt_of_a_turn(data))).encode()
        figures: dict[str, Any] = {
            "cores": os.cpu_count(),
            "load": round(os.getloadavg()[0], 2),
            "rounds": times,
            "tokens": TOKENS,
            "call_tokens": CALL_TOKENS,
            "prompt_bytes": len(prompt),
        }
        for name, pace in PACES.items():
            with model(pace, FEW) as model_url, quoth_server(data, model_url) as (pid, url):
                row: dict[str, float] = runner.run(first_words(url, model_url, prompt, times))
                row["tool_first_ms"] = ms(runner.run(tool_first(data, model_url, max(10, times // 3))))
                row["less_than_tool_first"] = round(1 - row["first_word_ms"] / row["tool_first_ms"], 3)
            with model(pace) as model_url, quoth_server(data, model_url) as (pid, url):
                at_once = 16 if pace else 1
                ours, bare = [], []
                for _ in range(3):  # in turns, because the machine may do other work
                    ours.append(runner.run(cpu_of_turns(pid, url, turns, at_once)))
                    bare.append(cpu_of_openai(model_url, prompt, turns, at_once))
                row["cpu_ms"], row["openai_cpu_ms"] = ms(ours), ms(bare)
                row["cpu_against_openai"] = round(row["cpu_ms"] / row["openai_cpu_ms"], 3)
                if pace:
                    row |= runner.run(readers_at_once(url, 2 if quick else 6))
            figures[name] = row
    return figures


WANTED = (
    ("added to the model's own first word, 0 ms per token", "0 ms", "added_ms", "{:.1f} ms", "≤ 25 ms"),
    ("the same at 20 ms per token", "20 ms", "added_ms", "{:.1f} ms", "≤ 25 ms"),
    ("the same, p95", "20 ms", "added_p95_ms", "{:.1f} ms", ""),
    ("time to first word, 20 ms per token", "20 ms", "first_word_ms", "{:.0f} ms", ""),
    ("the call-the-tool-first flow, 20 ms per token", "20 ms", "tool_first_ms", "{:.0f} ms", ""),
    (
        "saved compared with the call-the-tool-first flow, 20 ms per token",
        "20 ms",
        "less_than_tool_first",
        "{:.0%}",
        "≥ 40 %",
    ),
    ("the same if the model has no delay", "0 ms", "less_than_tool_first", "{:.0%}", ""),
    ("first word of 64 readers at once, 20 ms per token, p50", "20 ms", "first_word_p50_ms", "{:.0f} ms", ""),
    ("the same, p99", "20 ms", "first_word_p99_ms", "{:.0f} ms", "< 1000 ms"),
    ("CPU of a turn, 0 ms per token", "0 ms", "cpu_ms", "{:.1f} ms", ""),
    ("CPU of the bare openai client, the same call", "0 ms", "openai_cpu_ms", "{:.1f} ms", ""),
    ("CPU compared with it, 0 ms per token", "0 ms", "cpu_against_openai", "{:.2f} ×", "≤ 1 ×"),
    ("CPU compared with it, 20 ms per token, 16 readers", "20 ms", "cpu_against_openai", "{:.2f} ×", "≤ 1 ×"),
)


def page(figures: dict[str, Any]) -> str:
    rows = [
        f"| {what} | {shape.format(figures[pace][name])} | {wanted} |" for what, pace, name, shape, wanted in WANTED
    ]
    about = f"""# A turn

Written by `make bench-answering`. {figures["cores"]} cores, load {figures["load"]} at the start; {figures["rounds"]}
questions. The model is scripted: it writes {TOKENS} tokens, at once or at 20 ms each, in a separate process. A turn
is `POST /chat/stream` to `quoth serve`: the question is embedded, the book searched, the evidence judged, the model
asked, each sentence checked, the turn stored. "Added" is its time to the first word minus the time when the model is
asked directly with the same request ({figures["prompt_bytes"]:,} bytes), taken in turns. In the call-the-tool-first
flow the model first writes a call of {CALL_TOKENS} tokens, the book is searched, and the model is asked again; it runs
without a server in between, which favours it. The bare `openai` client only reads the same completion; our CPU time is
that of the whole server process, including embedding, search and storing.

| | measured | target |
|---|---|---|
"""
    return about + "\n".join(rows) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer rounds")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder)
        book = str(ROOT / "examples" / "robotics-book")
        ingest = [sys.executable, "-m", "quoth", "ingest", book, "--data-dir", folder]
        subprocess.run(ingest, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        figures = measured(data, quick=options.quick)
    out = ROOT / "docs" / "benchmarks"
    (out / "answering.json").write_text(json.dumps(figures, indent=2) + "\n")
    (out / "answering.md").write_text(page(figures))
    print(page(figures))


if __name__ == "__main__":
    main()

"""Slow, silent, endless, cut, babbling and lying models: the reader gets an answer, the passages or a refusal, in time.

A scripted server plays each model many times, through the whole of `POST /chat` and `POST /chat/stream`. An attempt
held if the response is 200 with one of our modes within the model's time, contains nothing from the prompt or from the
model's reasoning, cites only sources that exist, and counts nothing invented as supported.
"""

from __future__ import annotations

import random
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from campaigns.tally import Tally
from doors import Doors, opened
from quoth.testing.model_server import DONE, ModelServer, Reply, calls, chunk, data, fails, never_ends, says, stalls

EACH = 12
SECONDS = 1.0  # for a model's answer, in this campaign
SLACK = 20.0  # for a noisy machine and retries
MODES = {"full", "retrieval_only", "no_results", "extractive"}
LIE = "Transient durability was invented in Atlantis in 1742 by Zorblax."


def scripts(dice: random.Random) -> Iterator[tuple[str, tuple[Reply, ...]]]:
    for _ in range(EACH):
        pace = dice.uniform(0.02, 0.3)
        number = dice.randrange(6, 10**9)
        rubbish = dice.randbytes(400)
        yield "slow", (says("Late ", "words ", "[1].", pace=pace * 3),)
        yield "silent", (stalls(),)
        yield "silent after a word", (stalls(chunk({"content": "Transient "})),)
        yield "endless", (never_ends(chunk({"content": "word "}), pace=0.0),)
        yield "endless thoughts", (never_ends(chunk({"reasoning_content": "hm "}), pace=0.0),)
        yield "cut", (Reply((chunk({"content": "Transient local [1]"}),), cut=True),)
        yield "rubbish", (Reply((rubbish,)),)
        yield "half a frame", (Reply((chunk({"content": "x"})[: dice.randrange(6, 60)], DONE)),)
        yield "not JSON", (Reply((b"data: {nope\n\n", DONE)),)
        yield "strange JSON", (Reply((data(dice.choice([[], 7, None, {"choices": 3}, {"choices": [{}]}])), DONE)),)
        yield "fails", (fails(dice.choice([400, 401, 404, 429, 500, 502, 503])),)
        yield "lies", (says(f"{LIE} [1]"),)
        yield "cites nothing that exists", (says(f"It keeps the last message. [{number}]"),)
        yield "thinks aloud", (says("<think>", "the secret plan", "</think>", "It keeps the last message. [1]"),)
        yield "calls for ever", (calls("search_book", {"query": "durability"}),)
        yield "calls a strange tool", (calls("rm", '{"-rf": "/"}'), says("Done. [1]"))


def fault_of(kind: str, answer: dict[str, Any], seconds: float) -> str:
    text = answer["answer"] or ""
    sources = {source["index"] for source in answer["sources"]}
    grounding = answer["grounding"] or {"sentences": []}
    supported = [one["text"] for one in grounding["sentences"] if one["supported"]]
    checks = {
        f"it took {seconds:.0f} s": seconds > SLACK,
        f"mode {answer['metadata']['mode']}": answer["metadata"]["mode"] not in MODES,
        "a thought was shown": "secret plan" in text or "<think" in text,
        "a lie counts as supported": kind == "lies" and any("Zorblax" in one for one in supported),
        "a source that does not exist": bool(sources - set(range(1, 21))),
        "an outage was called a refusal": kind in {"fails", "silent", "not JSON"} and not answer["should_answer"],
    }
    return "; ".join(name for name, wrong in checks.items() if wrong)


async def run() -> Tally:
    tally = Tally("slow, silent, endless and lying models")
    every = list(scripts(random.Random(3)))
    async with ModelServer(says("x")) as server:
        for number, (kind, replies) in enumerate(every):
            server.then(replies)
            with tempfile.TemporaryDirectory(prefix="quoth-campaign-") as place:
                settings = {
                    "openai_base_url": server.url,
                    "openai_model": "scripted",
                    "model_timeout": SECONDS,
                    "model_first_token_timeout": SECONDS / 2,
                }
                async with opened(Path(place), settings=settings) as doors:
                    fault = await _asked(doors, kind, streamed=bool(number % 2))
            tally.judge(not fault, f"{kind}: {fault}")
    tally.figures = {"kinds of models": len({kind for kind, _ in every})}
    return tally


async def _asked(doors: Doors, kind: str, *, streamed: bool) -> str:
    began = time.monotonic()
    if not streamed:
        return fault_of(kind, await doors.ask(), time.monotonic() - began)
    *_, (name, last) = await doors.stream()
    return fault_of(kind, last, time.monotonic() - began) if name == "done" else f"the stream ended with {name}"

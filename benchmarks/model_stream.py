"""CPU time that reading a model's stream costs, for 1, 16 and 64 readers at once.

The model is scripted, in a separate process; each measurement is a new process that reads 300 tokens many times. With
`--against ../other/src` the same is measured with another checkout, in turns, so that two versions are compared in one
run. Prints a table; decision 0025 quotes one.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TOKENS = 300
# Milliseconds between two tokens, and readers at once.
SETTINGS = ((0, 1), (0, 16), (0, 64), (5, 1), (5, 16), (5, 64))
STREAMS = 128  # read in one measurement, at least a few per reader


async def serve(pace: float) -> None:
    from quoth.testing.model_server import ModelServer, says

    async with ModelServer(says(*(f" word{number}" for number in range(TOKENS)), pace=pace)) as server:
        print(server.url, flush=True)
        await asyncio.to_thread(sys.stdin.read)


async def read(url: str, readers: int, streams: int) -> float:
    """CPU seconds of this process for one stream."""
    from quoth.domain import Message, ModelText
    from quoth.models.openai import ModelOptions, OpenAIChat

    model = OpenAIChat(ModelOptions(url, "scripted"))
    asked = [Message("user", "How many?")]

    async def several(count: int) -> None:
        for _ in range(count):
            words = 0
            async for event in model.reply(asked):
                words += len(event.text.split()) if isinstance(event, ModelText) else 0
            assert words == TOKENS

    await asyncio.gather(*(several(1) for _ in range(readers)))
    began = time.process_time()
    await asyncio.gather(*(several(streams // readers) for _ in range(readers)))
    spent = (time.process_time() - began) / (streams // readers * readers)
    await model.close()
    return spent


def measured(source: Path, url: str, readers: int, streams: int) -> float:
    run = subprocess.run(
        [sys.executable, __file__, "--read", url, str(readers), str(streams)],
        env={**os.environ, "PYTHONPATH": str(source)},
        capture_output=True,
        text=True,
        check=True,
    )
    return float(run.stdout) * 1000


def compare(sources: list[Path], rounds: int) -> None:
    print("| ms per token, readers | " + " | ".join(str(source) for source in sources) + " |")
    print("|---|" + "---|" * len(sources))
    for pace, readers in SETTINGS:
        streams = max(STREAMS if pace == 0 else 16, 2 * readers)
        with subprocess.Popen(
            [sys.executable, __file__, "--serve", str(pace / 1000)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as server:
            assert server.stdout is not None
            url = server.stdout.readline().strip()
            spent: list[list[float]] = [[] for _ in sources]
            for _ in range(rounds):  # in turns, so that other work on the machine affects all alike
                for source, figures in zip(sources, spent, strict=True):
                    figures.append(measured(source, url, readers, streams))
            server.terminate()
        shown = (f"{statistics.median(figures):.2f} ({min(figures):.2f})" for figures in spent)
        print(f"| {pace}, {readers} | {' | '.join(shown)} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--against", type=Path, action="append", default=[], help="src folder of another checkout")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--serve", type=float, help=argparse.SUPPRESS)
    parser.add_argument("--read", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve is None and options.read is None:
        compare([*options.against, ROOT / "src"], options.rounds)
        return
    import uvloop

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        if options.read is None:
            runner.run(serve(options.serve))
        else:
            url, readers, streams = options.read
            print(runner.run(read(url, int(readers), int(streams))))


if __name__ == "__main__":
    main()

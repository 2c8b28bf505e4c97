"""The language model: any OpenAI-compatible endpoint, over HTTP. The port `ChatModel`.

In: messages and tools. Out: words as they are written, then the tool calls the model wants. A call has a time limit for
its first token and one for everything; within it, it is tried up to three times, but never again after the first word.
An answer that does not end within the limits is cut off and marked. After several failures in a row the model is left
alone for a while. Every failure is an error that says what to do. `endpoint` makes the connections.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

import aiohttp

from quoth.domain import Message, ModelEvent, ModelText, ModelTurn, Tool
from quoth.errors import ModelRejected, ModelUnavailable
from quoth.models.answer_filter import AnswerFilter
from quoth.models.breaker import Breaker
from quoth.models.endpoint import LATER, Endpoint, fault_of
from quoth.models.openai_wire import (
    Completion,
    Endless,
    EventLines,
    Malformed,
    ReportedFault,
    refused_parameters,
    request_body,
    without_tools,
)
from quoth.retrying import PASSING_STATUSES, Passing, Retries, Sleep, retry_after

RETRIES = Retries(attempts=3, backoff=0.5, longest_wait=10.0)
# OpenAI's status for a lock that was not free in time.
_PASSING = PASSING_STATUSES | {409}

END_SECONDS = 2.0  # for the rest of a stream once the model has finished

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ModelOptions:
    base_url: str
    model: str
    api_key: str = field(default="", repr=False)
    temperature: float = 0.0
    max_tokens: int | None = None  # in one answer; None: the server's own limit
    first_token: float = 30.0  # seconds, in one attempt
    total: float = 60.0  # seconds from the request to the last word, including all attempts and pauses


class OpenAIChat:
    def __init__(self, options: ModelOptions, *, breaker: Breaker | None = None, sleep: Sleep = asyncio.sleep) -> None:
        self._options = options
        self._breaker = breaker or Breaker()
        self._sleep = sleep
        self._endpoint = Endpoint(
            options.base_url,
            "/chat/completions",
            api_key=options.api_key,
            setting="OPENAI_BASE_URL",
            accept="text/event-stream",
        )
        self._place = self._endpoint.place
        self._refused: frozenset[str] = frozenset()  # parameters that the server does not accept
        self._thinks_first = False  # its answers begin inside a thought without an opening tag

    @property
    def name(self) -> str:
        return self._options.model

    async def reply(self, messages: Sequence[Message], tools: Sequence[Tool] = ()) -> AsyncGenerator[ModelEvent]:
        self._breaker.admit()
        report = self._breaker.abandoned
        try:
            async with aclosing(self._answer(messages, tools)) as events:
                async for event in events:
                    yield event
            report = self._breaker.succeeded
        except ModelRejected:
            report = self._breaker.succeeded  # the server is up and refuses only this request
            raise
        except ModelUnavailable:
            report = self._breaker.failed
            raise
        finally:
            report()

    async def check(self, tools: Sequence[Tool] = ()) -> str:
        answered, model = False, ""
        async with aclosing(self.reply([Message("user", "Answer with the one word: ready")], tools)) as events:
            async for event in events:
                if isinstance(event, ModelTurn):
                    model = event.model
                    answered = answered or bool(event.tool_calls)
                else:
                    answered = True
        if not answered:
            raise ModelUnavailable(f"{self._place} gave an empty answer.", hint="See the server's own log.")
        said = f"{model or self._options.model} at {self._place} answers."
        if self._refused:
            said += f" It refuses {', '.join(sorted(self._refused))}; requests leave these out."
        return said

    async def fault(self) -> ModelUnavailable | None:
        """Whether the last calls failed, or nothing listens at its address. (Behind a proxy, only calls show that.)"""
        if known := self._breaker.fault():
            return known
        if not await self._endpoint.listens():
            return ModelUnavailable(f"Nothing answers at {self._place}.", hint="Start the model's server.")
        return None

    async def close(self) -> None:
        await self._endpoint.close()

    # --- one call ---

    async def _answer(self, messages: Sequence[Message], tools: Sequence[Tool]) -> AsyncGenerator[ModelEvent]:
        deadline = asyncio.get_running_loop().time() + self._options.total

        async def begin(attempt: int) -> tuple[ModelEvent, AsyncGenerator[ModelEvent]]:
            events = self._attempt(messages, tools, deadline, last=attempt == RETRIES.attempts)
            return await anext(events), events

        first, events = await RETRIES.run(begin, until=deadline, sleep=self._sleep)
        async with aclosing(events):
            yield first
            try:
                async for event in events:
                    yield event
            except Passing as fault:  # the reader already has words, so there is no retry
                raise fault.error from fault

    async def _attempt(
        self, messages: Sequence[Message], tools: Sequence[Tool], deadline: float, *, last: bool
    ) -> AsyncGenerator[ModelEvent]:
        """One request. `Passing` if another attempt may succeed."""
        clock = asyncio.get_running_loop().time
        first = min(clock() + self._options.first_token, deadline)
        completion, lines = Completion(AnswerFilter(messages, thinks_first=self._thinks_first)), EventLines()
        fault: Exception | None = None
        try:
            async with aclosing(self._blocks(messages, tools, deadline, last=last)) as blocks:
                block: bytes | None = b""
                while block is not None and fault is None:
                    if clock() > deadline:  # no timer fires in a stream that never pauses
                        raise TimeoutError
                    until = None if completion.begun else first
                    async with asyncio.timeout_at(clock() + END_SECONDS if completion.finished else until):
                        block = await anext(blocks, None)
                    words, fault = completion.take_all(lines.end() if block is None else lines.feed(block))
                    if words:
                        yield ModelText(words)
        except aiohttp.ClientError as error:
            raise Passing(_failed(*self._endpoint.broken(error))) from error
        except TimeoutError as error:
            fault = error
        if completion.finished and (words := completion.finish()):
            yield ModelText(words)
        yield self._turn(completion, fault, messages)

    def _turn(self, completion: Completion, fault: Exception | None, messages: Sequence[Message]) -> ModelTurn:
        """The result of the call, or why it failed. An answer that is too long or too slow is cut off and kept."""
        spoke, finished = completion.filter.shown, completion.finished
        if isinstance(fault, Malformed | ReportedFault):
            raise Passing(_failed(self._unechoed(str(fault), messages))) from fault
        if fault is None and not finished:
            raise Passing(_failed("its answer was cut off"))
        if fault is not None and not spoke and not finished:
            raise self._gave_nothing(completion, fault) from fault
        turn = completion.turn()
        if completion.filter.thought and not spoke and not turn.tool_calls:
            raise _failed("it only thought and gave no answer", "Turn its thinking off, or raise QUOTH_MAX_TOKENS.")
        if finished and spoke:
            self._thinks_first = completion.filter.unopened
        return turn

    def _gave_nothing(self, completion: Completion, fault: Exception) -> Exception:
        """The error of a call that was too long or too slow before it had a word to keep."""
        if isinstance(fault, Endless):
            return _failed(f"{fault} does not end", "Set QUOTH_MAX_TOKENS to limit it.")
        late, limit = ("end", "total") if completion.begun else ("answer", "first_token")
        return Passing(_failed(f"no {late} within {getattr(self._options, limit):g} seconds"))

    async def _blocks(
        self, messages: Sequence[Message], tools: Sequence[Tool], deadline: float, *, last: bool
    ) -> AsyncGenerator[bytes]:
        """The bytes of the answer as they arrive. A request refused for its parameters is sent again without them; if
        that helps, they are left out from then on."""
        without = self._refused
        while True:
            body = self._body(messages, tools, without)
            async with await self._post(body, deadline) as response:
                if response.status == 200 and response.content_type == "text/html":
                    hint = "Check OPENAI_BASE_URL; most end in /v1."
                    raise Passing(_failed(f"{self._place} answered with a web page", hint))
                if response.status == 200:
                    self._remember(without)
                    async for block in _events_of(response):
                        yield block
                    return
                fault = await fault_of(response)
            refused = refused_parameters(response.status, fault, body, guess=last)
            if not refused:
                raise self._failure(response, fault, messages)
            without |= refused

    def _body(self, messages: Sequence[Message], tools: Sequence[Tool], without: frozenset[str]) -> dict[str, Any]:
        optional: dict[str, object] = {
            "temperature": self._options.temperature,
            "stream_options": {"include_usage": True},
        }
        if self._options.max_tokens is not None:  # OpenAI has a new name for it that other servers do not know
            name = "max_completion_tokens" if "max_tokens" in without else "max_tokens"
            optional[name] = self._options.max_tokens
        wanted = {name: value for name, value in optional.items() if name not in without}
        if "tools" in without:
            messages, tools = without_tools(messages), ()
        return request_body(self._options.model, messages, tools, **wanted)

    def _remember(self, without: frozenset[str]) -> None:
        if without != self._refused:
            self._refused = without
            logger.warning("the language model refuses %s; requests leave these out", ", ".join(sorted(without)))

    async def _post(self, body: dict[str, Any], deadline: float) -> aiohttp.ClientResponse:
        left = deadline - asyncio.get_running_loop().time()
        if left <= 0:
            raise TimeoutError
        try:
            return await self._endpoint.post(body, seconds=left)
        except aiohttp.ClientSSLError:  # some of which are ValueErrors too
            raise
        except ValueError as error:  # its text may hold secrets
            raise ModelRejected(
                f"A request to {self._place} cannot be sent.",
                hint="Check the key and the proxy for characters that HTTP does not allow.",
            ) from error

    # --- what went wrong ---

    def _failure(self, response: aiohttp.ClientResponse, fault: str, messages: Sequence[Message]) -> Exception:
        status = response.status
        shown = self._unechoed(fault, messages)
        said = f"{self._place} answered {status}" + (f": {shown}" if shown else "")
        if status in _PASSING and "insufficient_quota" not in fault:
            return Passing(_failed(said), retry_after(response.headers.get("retry-after", "")))
        hints = {
            401: "Check the key: OPENAI_API_KEY (or GEMINI_API_KEY).",
            403: "Check the key and its permissions: OPENAI_API_KEY (or GEMINI_API_KEY).",
            404: f"Check OPENAI_BASE_URL and whether the server has the model {self._options.model!r} (OPENAI_MODEL).",
        }
        return ModelRejected(
            f"{said.rstrip('. ')}.", hint=hints.get(status, "`quoth config --check` tests the endpoint.")
        )

    def _unechoed(self, fault: str, messages: Sequence[Message]) -> str:
        return self._endpoint.unechoed(fault, "\n".join(message.content for message in messages))


def _failed(reason: str, hint: str = LATER) -> ModelUnavailable:
    return ModelUnavailable(f"The language model failed: {reason.rstrip('. ')}.", hint=hint)


async def _events_of(response: aiohttp.ClientResponse) -> AsyncGenerator[bytes]:
    """A server that does not stream sends one object: it becomes the only event."""
    whole = response.content_type == "application/json"
    if whole:
        yield b"data: "
    async for block in response.content.iter_any():
        yield block.replace(b"\n", b" ") if whole else block
    if whole:
        yield b"\n\n"

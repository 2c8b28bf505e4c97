"""OpenAI's chat completions, as far as a book can serve them: what is asked, and the answer in its words.

In: the fields of a request, or an `Answer`. Out: a `Question` as from any other door, or a completion. Such a client
keeps the conversation itself and sends it whole each time, so the history of a question comes from its messages. What
we cannot do is refused by name; what only steers a sampler has no effect. Knows no transport.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from quoth.ask.refusals import refusal_in
from quoth.ask.request import MAX_SELECTION, MAX_TOP_K, ChatRequest, FilterFields, Name, SessionId, Whole, parse
from quoth.domain import Answer, Book, PastTurn, Question
from quoth.errors import EmptyQuery, Unsupported, WrongUsage
from quoth.serve.shapes import Shape
from quoth.serve.views import AnswerDetails, details_view

PREFIX = "quoth"
_MAX_MESSAGES = 1_000

_IDLE = "Accepted; has no effect"


class ContentPart(BaseModel):
    model_config = ConfigDict(extra="forbid", defer_build=True)

    type: Literal["text", "refusal", "image_url", "input_audio", "file"] = Field(description="Only text can be read")
    text: str | None = None
    refusal: str | None = None
    image_url: Any = None
    input_audio: Any = None
    file: Any = None
    prompt_cache_breakpoint: Any = Field(None, description=_IDLE)


class CompletionMessage(BaseModel):
    """The user's last message is the question; those before it are the conversation."""

    model_config = ConfigDict(extra="forbid", defer_build=True)

    role: Literal["system", "developer", "user", "assistant", "tool", "function"] = Field(
        description="Instructions (system, developer) and tool results have no effect: the book answers"
    )
    content: str | list[ContentPart] | None = Field(None, examples=["Which durability keeps the last message?"])
    name: str | None = None
    refusal: str | None = None
    tool_call_id: str | None = None
    tool_calls: list[Any] | None = None
    function_call: Any = None
    annotations: list[Any] | None = None
    audio: Any = None

    def words(self) -> str:
        if not isinstance(self.content, list):
            return self.content or ""
        for part in self.content:
            if part.type not in ("text", "refusal"):
                raise Unsupported(
                    f"A content part of type `{part.type}` cannot be read.",
                    hint="Send text: a book is asked in words.",
                    details={"field": "messages"},
                )
        return "\n".join(part.text or part.refusal or "" for part in self.content)


class StreamOptions(BaseModel):
    model_config = ConfigDict(extra="forbid", defer_build=True)

    include_usage: bool | None = Field(None, description="A last chunk with the tokens used")
    include_obfuscation: bool | None = Field(None, description=_IDLE)


class QuothFields(BaseModel):
    """What the other chat doors take; `extra_body={"quoth": {…}}` in the openai client."""

    model_config = ConfigDict(extra="forbid", defer_build=True)

    session_id: SessionId | None = Field(
        None, description="UUID v4: the server keeps the conversation and ignores earlier messages"
    )
    selected_text: Annotated[str, StringConstraints(max_length=MAX_SELECTION)] | None = Field(
        None, description="When present, only this text may ground the answer"
    )
    filters: FilterFields | None = None
    top_k: Annotated[int, Field(ge=1, le=MAX_TOP_K, strict=True), Whole] | None = None
    similarity_threshold: Annotated[float, Field(ge=0, le=1)] | None = None


class CompletionRequest(BaseModel):
    """`POST /v1/chat/completions`. A book is a model: `quoth/<book_id>`."""

    model_config = ConfigDict(extra="forbid", defer_build=True)

    model: Name = Field(
        description="`quoth/<book_id>` or `<book_id>`; `quoth` when there is one book", examples=["quoth/my-book"]
    )
    messages: Annotated[list[CompletionMessage], Field(min_length=1, max_length=_MAX_MESSAGES)]
    stream: bool | None = Field(None, description="Chunks as server-sent events, then `[DONE]`")
    stream_options: StreamOptions | None = None
    quoth: QuothFields | None = Field(
        None, description="Session, selection, filters and limits of the other chat doors"
    )

    # These steer a sampler or an account; a book has neither.
    temperature: float | None = Field(None, description=_IDLE)
    top_p: float | None = Field(None, description=_IDLE)
    max_tokens: int | None = Field(None, description=_IDLE)
    max_completion_tokens: int | None = Field(None, description=_IDLE)
    frequency_penalty: float | None = Field(None, description=_IDLE)
    presence_penalty: float | None = Field(None, description=_IDLE)
    logit_bias: dict[str, float] | None = Field(None, description=_IDLE)
    seed: int | None = Field(None, description=_IDLE)
    user: str | None = Field(None, description=_IDLE)
    safety_identifier: str | None = Field(None, description=_IDLE)
    metadata: dict[str, Any] | None = Field(None, description=_IDLE)
    store: bool | None = Field(None, description=_IDLE)
    service_tier: str | None = Field(None, description=_IDLE)
    reasoning_effort: str | None = Field(None, description=_IDLE)
    verbosity: str | None = Field(None, description=_IDLE)
    parallel_tool_calls: bool | None = Field(None, description=_IDLE)
    prediction: Any = Field(None, description=_IDLE)
    prompt_cache_key: str | None = Field(None, description=_IDLE)
    prompt_cache_options: Any = Field(None, description=_IDLE)
    prompt_cache_retention: str | None = Field(None, description=_IDLE)

    # These ask for what a book cannot do; only the value that asks for nothing is accepted.
    n: Annotated[int, Field(ge=1)] | None = Field(None, description="1: there is one answer")
    stop: str | list[str] | None = Field(None, description="Not supported")
    logprobs: bool | None = Field(None, description="Not supported")
    top_logprobs: int | None = Field(None, description="Not supported")
    response_format: dict[str, Any] | None = Field(None, description='`{"type": "text"}` only')
    modalities: list[str] | None = Field(None, description='`["text"]` only')
    audio: Any = Field(None, description="Not supported")
    tools: list[Any] | None = Field(None, description="Not supported")
    tool_choice: Any = Field(None, description="Not supported")
    functions: list[Any] | None = Field(None, description="Not supported")
    function_call: Any = Field(None, description="Not supported")
    web_search_options: Any = Field(None, description="Not supported")
    moderation: Any = Field(None, description="Not supported")

    @property
    def with_usage(self) -> bool:
        return bool(self.stream_options and self.stream_options.include_usage)

    def _check_supported(self) -> None:
        for name, harmless in _HARMLESS.items():
            value = getattr(self, name)
            if value not in (None, False, *harmless):
                raise Unsupported(
                    f"`{name}` asks for something that a book cannot do.",
                    hint=_WHY.get(name, "Leave it out."),
                    details={"field": name},
                )

    def to_question(
        self, *, book: Book, request_id: str, top_k: int, similarity_threshold: float, refusal: str
    ) -> Question:
        self._check_supported()
        asked, before = _split_messages(self.messages)
        own = self.quoth.model_dump(exclude_unset=True) if self.quoth else {}
        request = parse(ChatRequest, {"query": asked, **own})
        question = request.to_question(
            book=book, request_id=request_id, top_k=top_k, similarity_threshold=similarity_threshold
        )
        if request.session_id is not None:
            return question
        return replace(question, history=tuple(_turns(before, refusal)))


# By field: values that are accepted because they ask for nothing.
_HARMLESS: Mapping[str, tuple[Any, ...]] = {
    "n": (1,),
    "stop": ("", []),
    "logprobs": (),
    "top_logprobs": (0,),
    "response_format": ({"type": "text"},),
    "modalities": (["text"], []),
    "audio": (),
    "tools": ([],),
    "tool_choice": ("none", "auto"),
    "functions": ([],),
    "function_call": ("none", "auto"),
    "web_search_options": (),
    "moderation": (),
}
_WHY: Mapping[str, str] = {
    "n": "There is one answer: send n=1, or leave it out.",
    "response_format": "Answers are text; sources and confidence are in the key `quoth` of the response.",
    "tools": "Leave it out: the book is searched anyway.",
    "functions": "Leave it out: the book is searched anyway.",
}


def _split_messages(messages: Sequence[CompletionMessage]) -> tuple[str, Sequence[CompletionMessage]]:
    """The question, and what was said before it."""
    spoken = [message for message in messages if message.role not in ("system", "developer")]
    if not spoken:
        raise EmptyQuery("There is no message of the user.", details={"field": "messages"})
    if spoken[-1].role != "user":
        raise WrongUsage(
            f"The last message is the {spoken[-1].role}'s.",
            hint="End with the user's question: a book does not continue an answer.",
            details={"field": "messages"},
        )
    return spoken[-1].words(), spoken[:-1]


def _turns(said: Sequence[CompletionMessage], refusal: str) -> Iterator[PastTurn]:
    """Each question with its answer. Messages do not mark a refusal, so its words do."""
    asked: str | None = None
    answered = ""
    for message in (*said, None):
        if message is None or message.role == "user":
            if asked is not None:
                yield PastTurn(asked, answered, refused=_refused(answered, refusal))
            asked, answered = (message.words() if message else None), ""
        elif message.role == "assistant":
            answered = "\n".join(filter(None, (answered, message.words())))


def _refused(answered: str, refusal: str) -> bool:
    """The refusal with the nearest sections below it, or a refusal in a model's own words."""
    return answered.strip().startswith(refusal.rstrip(".")) or refusal_in(answered, refusal) == "whole"


# --- the answer -------------------------------------------------------------------------------------------------------


class AssistantMessage(Shape):
    role: Literal["assistant"]
    content: str
    refusal: None


FinishReason = Literal["stop", "length"]


class Choice(Shape):
    index: int
    message: AssistantMessage
    logprobs: None
    finish_reason: FinishReason


class Usage(Shape):
    prompt_tokens: Annotated[int, Field(description="Of all calls of a language model; 0 where none is configured")]
    completion_tokens: int
    total_tokens: int


class Completion(Shape):
    id: Annotated[str, Field(examples=["chatcmpl-6a1f7a9e-2f7e-4c3e-9d57-0d5a3d7b6f10"])]
    object: Literal["chat.completion"]
    created: int
    model: Annotated[str, Field(examples=["quoth/my-book"])]
    choices: list[Choice]
    usage: Usage
    quoth: Annotated[
        AnswerDetails, Field(description="Sources, confidence, grounding: what `POST /chat` says beside the text")
    ]


class ModelResponse(Shape):
    """A book."""

    id: Annotated[str, Field(examples=["quoth/my-book"])]
    object: Literal["model"]
    created: Annotated[int, Field(description="When its index was last published")]
    owned_by: Annotated[str, Field(examples=["quoth"])]
    title: Annotated[str, Field(examples=["My book"])]


class ModelsResponse(Shape):
    object: Literal["list"]
    data: list[ModelResponse]


def _text_of(answer: Answer) -> str:
    """The answer's words; where a model failed, that it failed. The passages are among the sources."""
    return (answer.fallback_message or "") if answer.text is None else answer.text


def completion_view(answer: Answer, *, completion_id: str, model: str) -> Completion:
    message: AssistantMessage = {"role": "assistant", "content": _text_of(answer), "refusal": None}
    return {
        "id": completion_id,
        "object": "chat.completion",
        "created": int(answer.created_at.timestamp()),
        "model": model,
        "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": _finish_reason(answer)}],
        "usage": _usage_view(answer),
        "quoth": details_view(answer),
    }


def _finish_reason(answer: Answer) -> FinishReason:
    """`length` where a model broke off in the middle: the protocol's only word for an answer without its end."""
    return "length" if answer.interrupted else "stop"


def _usage_view(answer: Answer) -> Usage:
    """Over all calls of a model for this answer; nothing is spent where there is no model."""
    read = answer.work.prompt_tokens
    return {"prompt_tokens": read, "completion_tokens": answer.tokens_used - read, "total_tokens": answer.tokens_used}


def model_view(book: Book, created: datetime | None) -> ModelResponse:
    return {
        "id": f"{PREFIX}/{book.book_id}",
        "object": "model",
        "created": int(created.timestamp()) if created else 0,
        "owned_by": PREFIX,
        "title": book.title,
    }


Fields = dict[str, object]  # of a chunk: which ones it has depends on its place in the stream


class Chunks:
    """The chunks of one streamed answer: all have its id, its model and the moment it began."""

    def __init__(self, *, completion_id: str, model: str, created: datetime, with_usage: bool) -> None:
        self._head: Fields = {
            "id": completion_id,
            "object": "chat.completion.chunk",
            "created": int(created.timestamp()),
            "model": model,
        }
        self._usage: Fields = {"usage": None} if with_usage else {}

    def opening(self) -> Fields:
        return self._chunk({"role": "assistant", "content": "", "refusal": None})

    def words(self, text: str) -> Fields:
        return self._chunk({"content": text})

    def closing(self, answer: Answer) -> Iterator[Fields]:
        """What the reader has not seen yet, then the end with sources and confidence, then the tokens if asked for."""
        if answer.text is None:
            yield self.words(_text_of(answer))
        yield {**self._chunk({}, _finish_reason(answer)), "quoth": details_view(answer)}
        if self._usage:
            yield {**self._head, "choices": [], "usage": _usage_view(answer)}

    def _chunk(self, delta: Fields, finished: FinishReason | None = None) -> Fields:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finished}
        return {**self._head, "choices": [choice], **self._usage}

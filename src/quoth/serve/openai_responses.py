"""OpenAI's responses, the successor of chat completions: the request, and the answer as one object or as events.

In: the fields of a request, or an `Answer`. Out: a `Question` as from any other door, or a response. A response's id
names its session, so that `previous_response_id` continues the conversation that the server stores; without it, `input`
is the conversation. Text, sources and parameters without effect are those of `openai_answers` and
`openai_protocol`. Knows no transport.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from quoth.ask.request import ChatRequest, Name, parse
from quoth.domain import Answer, Book, Question
from quoth.errors import EmptyQuery, NotFound, Unsupported
from quoth.serve.openai_answers import CompletionDetails, Told, completion_details, told
from quoth.serve.openai_protocol import (
    IDLE,
    MAX_MESSAGES,
    QuothFields,
    check_supported,
    ignored_in,
    split_messages,
    turns_of,
)
from quoth.serve.shapes import Shape

_ID = re.compile(r"resp_([0-9a-f]{32})[0-9a-f]{32}")
_TEXTS = ("input_text", "output_text", "text", "refusal")

# --- the request -----------------------------------------------------------------------------------------------------


class InputPart(BaseModel):
    """A part of a message. Clients send parts of earlier answers back with all their fields."""

    model_config = ConfigDict(extra="ignore", defer_build=True)

    type: str = Field("input_text", description="Only text can be read")
    text: str | None = None
    refusal: str | None = None


class InputItem(BaseModel):
    """A message; items of other types, such as tool calls, are skipped."""

    model_config = ConfigDict(extra="ignore", defer_build=True)

    type: str | None = None
    role: Literal["system", "developer", "user", "assistant"] | None = None
    content: str | list[InputPart] | None = None

    def words(self) -> str:
        if not isinstance(self.content, list):
            return self.content or ""
        for part in self.content:
            if part.type not in _TEXTS:
                raise Unsupported(
                    f"A content part of type `{part.type}` cannot be read.",
                    hint="Send text.",
                    details={"field": "input"},
                )
        return "\n".join(part.text or part.refusal or "" for part in self.content)


class TextOptions(BaseModel):
    model_config = ConfigDict(extra="forbid", defer_build=True)

    format: dict[str, Any] | None = Field(None, description='`{"type": "text"}` only')
    verbosity: str | None = Field(None, description=IDLE)


_Items = Annotated[list[InputItem], Field(min_length=1, max_length=MAX_MESSAGES)]


class ResponseRequest(BaseModel):
    """`POST /v1/responses`. A book is a model: `quoth/<book_id>`."""

    model_config = ConfigDict(extra="forbid", defer_build=True)

    model: Name = Field(
        description="`quoth/<book_id>` or `<book_id>`; `quoth` if there is only one book", examples=["quoth/my-book"]
    )
    input: Annotated[str, Field(min_length=1, json_schema_extra={"pattern": r"\S"})] | _Items = Field(
        description="The question, or a conversation that ends with it",
        examples=["Which durability keeps the last message?"],
    )
    stream: bool | None = Field(None, description="The response as server-sent events")
    previous_response_id: Annotated[Name, Field(json_schema_extra={"pattern": f"^{_ID.pattern}$"})] | None = Field(
        None, description="Continues the conversation of this response; then only the question in `input` is read"
    )
    text: TextOptions | None = None
    quoth: QuothFields | None = Field(
        None, description="Session, selection, filters and limits of the other chat doors"
    )

    instructions: str | None = Field(None, description=f"{IDLE}: the book answers")
    max_output_tokens: int | None = Field(None, description=IDLE)
    temperature: float | None = Field(None, description=IDLE)
    top_p: float | None = Field(None, description=IDLE)
    top_logprobs: int | None = Field(None, description=IDLE)
    tools: list[Any] | None = Field(None, description=f"{IDLE}: the book is searched anyway")
    max_tool_calls: int | None = Field(None, description=IDLE)
    parallel_tool_calls: bool | None = Field(None, description=IDLE)
    reasoning: Any = Field(None, description=IDLE)
    include: list[str] | None = Field(None, description=IDLE)
    truncation: str | None = Field(None, description=IDLE)
    metadata: dict[str, Any] | None = Field(None, description=IDLE)
    store: bool | None = Field(None, description=f"{IDLE}: questions are stored as at every door")
    stream_options: Any = Field(None, description=IDLE)
    service_tier: str | None = Field(None, description=IDLE)
    user: str | None = Field(None, description=IDLE)
    safety_identifier: str | None = Field(None, description=IDLE)
    prompt_cache_key: str | None = Field(None, description=IDLE)
    prompt_cache_retention: str | None = Field(None, description=IDLE)

    tool_choice: Any = Field(None, description="`auto` or `none`")
    background: bool | None = Field(None, description="Not supported")
    conversation: Any = Field(None, description="Not supported")
    prompt: Any = Field(None, description="Not supported")

    @property
    def ignored(self) -> list[str]:
        return ignored_in(self)

    def to_question(
        self, *, book: Book, request_id: str, top_k: int, similarity_threshold: float, refusal: str
    ) -> Question:
        check_supported(self, _REFUSED)
        if self.text and self.text.format not in (None, {"type": "text"}):
            raise Unsupported(
                "`text.format` asks for something a book cannot do.",
                hint="Answers are text; sources and confidence are in the response's key `quoth`.",
                details={"field": "text.format"},
            )
        own = self.quoth.model_dump(exclude_unset=True) if self.quoth else {}
        if self.previous_response_id is not None:
            own["session_id"] = _session_of(self.previous_response_id)
        asked, before = self._said()
        request = parse(ChatRequest, {"query": asked, **own})
        question = request.to_question(
            book=book, request_id=request_id, top_k=top_k, similarity_threshold=similarity_threshold
        )
        if request.session_id is not None or not before:  # the server stores the conversation, or it starts here
            return question
        return replace(question, history=tuple(turns_of(before, refusal)))

    def _said(self) -> tuple[str, Sequence[Any]]:
        if isinstance(self.input, str):
            if not self.input.strip():
                raise EmptyQuery("The question is empty.", details={"field": "input"})
            return self.input, ()
        return split_messages([_Spoken(item) for item in self.input if item.role is not None], field="input")


@dataclass(frozen=True, slots=True)
class _Spoken:
    """A message of `input`."""

    item: InputItem

    @property
    def role(self) -> str:
        return self.item.role or ""

    def words(self) -> str:
        return self.item.words()


_REFUSED: Mapping[str, tuple[Any, ...]] = {
    "tool_choice": ("none", "auto"),
    "background": (),
    "conversation": (),
    "prompt": (),
}


def response_id(question: Question) -> str:
    """Names the session and the answer within it."""
    return f"resp_{uuid.UUID(question.session_id).hex}{uuid.UUID(question.request_id).hex}"


def _session_of(response: str) -> str:
    found = _ID.fullmatch(response)
    if found is None:
        raise NotFound(
            f"There is no response {response[:100]!r}.",
            hint="`previous_response_id` is the `id` of a response from this server.",
            details={"field": "previous_response_id"},
        )
    return str(uuid.UUID(found[1]))


# --- the answer ------------------------------------------------------------------------------------------------------


class OutputAnnotation(Shape):
    type: Literal["url_citation"]
    start_index: int
    end_index: int
    title: str
    url: str


class OutputText(Shape):
    type: Literal["output_text"]
    text: str
    annotations: list[OutputAnnotation]
    logprobs: list[Any]


Status = Literal["in_progress", "completed", "incomplete"]


class OutputMessage(Shape):
    id: str
    type: Literal["message"]
    role: Literal["assistant"]
    status: Status
    content: list[OutputText]


class ResponseUsage(Shape):
    input_tokens: int
    input_tokens_details: dict[str, int]
    output_tokens: int
    output_tokens_details: dict[str, int]
    total_tokens: int


class ResponseObject(Shape):
    id: Annotated[str, Field(examples=["resp_6a1f7a9e2f7e4c3e9d570d5a3d7b6f100b8a1f0e5a534f869a402f4be1b5a111"])]
    object: Literal["response"]
    created_at: int
    status: Status
    error: None
    incomplete_details: dict[str, str] | None
    instructions: None
    max_output_tokens: None
    metadata: dict[str, Any]
    model: Annotated[str, Field(examples=["quoth/my-book"])]
    output: list[OutputMessage]
    parallel_tool_calls: bool
    previous_response_id: str | None
    temperature: None
    text: dict[str, Any]
    tool_choice: Literal["auto"]
    tools: list[Any]
    top_p: None
    truncation: Literal["disabled"]
    usage: ResponseUsage | None
    quoth: Annotated[
        CompletionDetails | None,
        Field(
            description="Sources, confidence, grounding: everything that `POST /chat` returns except the text; null at"
            " the start"
        ),
    ]


def response_view(response: ResponseBase, answer: Answer, shown: Told) -> ResponseObject:
    status: Status = "incomplete" if answer.interrupted else "completed"
    read = answer.work.prompt_tokens
    return {
        **response.begun(),
        "status": status,
        "incomplete_details": {"reason": "max_output_tokens"} if answer.interrupted else None,
        "output": [response.message(status, [_part(shown.text, shown)])],
        "usage": {
            "input_tokens": read,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": answer.tokens_used - read,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": answer.tokens_used,
        },
        "quoth": completion_details(answer, response.ignored),
    }


def _part(text: str, shown: Told | None = None) -> OutputText:
    annotations = _annotations(shown) if shown else []
    return {"type": "output_text", "text": text, "annotations": annotations, "logprobs": []}


def _annotations(shown: Told) -> list[OutputAnnotation]:
    return [
        {"type": "url_citation", "start_index": one.start, "end_index": one.end, "title": one.title, "url": one.url}
        for one in shown.citations
    ]


@dataclass(frozen=True, slots=True)
class ResponseBase:
    """What is known about a response before its first word."""

    id: str
    model: str
    created_at: int
    previous: str | None
    ignored: Sequence[str]

    @property
    def message_id(self) -> str:
        return self.id.replace("resp_", "msg_")

    def message(self, status: Status, content: list[OutputText]) -> OutputMessage:
        return {
            "id": self.message_id,
            "type": "message",
            "role": "assistant",
            "status": status,
            "content": content,
        }

    def begun(self) -> ResponseObject:
        return {
            "id": self.id,
            "object": "response",
            "created_at": self.created_at,
            "status": "in_progress",
            "error": None,
            "incomplete_details": None,
            "instructions": None,
            "max_output_tokens": None,
            "metadata": {},
            "model": self.model,
            "output": [],
            "parallel_tool_calls": False,
            "previous_response_id": self.previous,
            "temperature": None,
            "text": {"format": {"type": "text"}},
            "tool_choice": "auto",
            "tools": [],
            "top_p": None,
            "truncation": "disabled",
            "usage": None,
            "quoth": None,
        }


Fields = dict[str, object]


@dataclass(slots=True)
class ResponseEvents:
    """The events of one streamed response, numbered, in the order that OpenAI's clients expect."""

    base: ResponseBase
    listed: bool
    _sent: int = field(default=0, init=False)

    def opening(self) -> Iterator[Fields]:
        yield self._event("response.created", response=self.base.begun())
        yield self._event("response.in_progress", response=self.base.begun())
        yield self._event("response.output_item.added", output_index=0, item=self.base.message("in_progress", []))
        yield self._event("response.content_part.added", **self._place(), part=_part(""))

    def words(self, text: str) -> Fields:
        return self._event("response.output_text.delta", **self._place(), delta=text, logprobs=[])

    def closing(self, answer: Answer) -> Iterator[Fields]:
        shown = told(answer, listed=self.listed)
        if unseen := (shown.words if answer.text is None else "") + shown.footer:
            yield self.words(unseen)
        for at, annotation in enumerate(_annotations(shown)):
            added = {"annotation_index": at, "annotation": annotation}
            yield self._event("response.output_text.annotation.added", **self._place(), **added)
        response = response_view(self.base, answer, shown)
        [message] = response["output"]
        yield self._event("response.output_text.done", **self._place(), text=shown.text, logprobs=[])
        yield self._event("response.content_part.done", **self._place(), part=message["content"][0])
        yield self._event("response.output_item.done", output_index=0, item=message)
        yield self._event(f"response.{response['status']}", response=response)

    def _place(self) -> Fields:
        return {"item_id": self.base.message_id, "output_index": 0, "content_index": 0}

    def _event(self, kind: str, **fields: object) -> Fields:
        self._sent += 1
        return {"type": kind, "sequence_number": self._sent - 1, **fields}

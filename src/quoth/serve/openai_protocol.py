"""Requests of OpenAI's clients: a chat completion request becomes a `Question`, as at any other door.

Such a client keeps the conversation itself and sends all of it each time, so the history of a question comes from its
messages. Parameters that can safely be ignored have no effect, and the answer names them; a parameter that asks for
something a book cannot do is refused by name. `openai_answers` shapes the answers. Knows no transport.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, Literal, Protocol

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from quoth.ask.refusals import refusal_in
from quoth.ask.request import MAX_SELECTION, MAX_TOP_K, ChatRequest, FilterFields, Name, SessionId, Whole, parse
from quoth.domain import Book, PastTurn, Question
from quoth.errors import EmptyQuery, Unsupported, WrongUsage
from quoth.serve.openai_answers import without_footer

MAX_MESSAGES = 1_000

IDLE = "Accepted; has no effect"


class ContentPart(BaseModel):
    model_config = ConfigDict(extra="forbid", defer_build=True)

    type: Literal["text", "refusal", "image_url", "input_audio", "file"] = Field(description="Only text can be read")
    text: str | None = None
    refusal: str | None = None
    image_url: Any = None
    input_audio: Any = None
    file: Any = None
    prompt_cache_breakpoint: Any = Field(None, description=IDLE)


class CompletionMessage(BaseModel):
    """The user's last message is the question; the messages before it are the conversation."""

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
                    hint="Send text.",
                    details={"field": "messages"},
                )
        return "\n".join(part.text or part.refusal or "" for part in self.content)


class StreamOptions(BaseModel):
    model_config = ConfigDict(extra="forbid", defer_build=True)

    include_usage: bool | None = Field(None, description="A last chunk with the tokens used")
    include_obfuscation: bool | None = Field(None, description=IDLE)


class QuothFields(BaseModel):
    """The fields of the other chat doors; `extra_body={"quoth": {…}}` in the openai client."""

    model_config = ConfigDict(extra="forbid", defer_build=True)

    session_id: SessionId | None = Field(
        None, description="UUID v4: the server keeps the conversation and ignores earlier messages"
    )
    selected_text: Annotated[str, StringConstraints(max_length=MAX_SELECTION)] | None = Field(
        None, description="If present, only this text may ground the answer"
    )
    filters: FilterFields | None = None
    top_k: Annotated[int, Field(ge=1, le=MAX_TOP_K, strict=True), Whole] | None = None
    similarity_threshold: Annotated[float, Field(ge=0, le=1)] | None = None


class CompletionRequest(BaseModel):
    """`POST /v1/chat/completions`. A book is a model: `quoth/<book_id>`."""

    model_config = ConfigDict(extra="forbid", defer_build=True)

    model: Name = Field(
        description="`quoth/<book_id>` or `<book_id>`; `quoth` if there is only one book", examples=["quoth/my-book"]
    )
    messages: Annotated[list[CompletionMessage], Field(min_length=1, max_length=MAX_MESSAGES)]
    stream: bool | None = Field(None, description="Chunks as server-sent events, then `[DONE]`")
    stream_options: StreamOptions | None = None
    quoth: QuothFields | None = Field(
        None, description="Session, selection, filters and limits of the other chat doors"
    )

    # These steer a sampler or an account; a book has neither.
    temperature: float | None = Field(None, description=IDLE)
    top_p: float | None = Field(None, description=IDLE)
    max_tokens: int | None = Field(None, description=IDLE)
    max_completion_tokens: int | None = Field(None, description=IDLE)
    frequency_penalty: float | None = Field(None, description=IDLE)
    presence_penalty: float | None = Field(None, description=IDLE)
    logit_bias: dict[str, float] | None = Field(None, description=IDLE)
    seed: int | None = Field(None, description=IDLE)
    user: str | None = Field(None, description=IDLE)
    safety_identifier: str | None = Field(None, description=IDLE)
    metadata: dict[str, Any] | None = Field(None, description=IDLE)
    store: bool | None = Field(None, description=IDLE)
    service_tier: str | None = Field(None, description=IDLE)
    reasoning_effort: str | None = Field(None, description=IDLE)
    verbosity: str | None = Field(None, description=IDLE)
    parallel_tool_calls: bool | None = Field(None, description=IDLE)
    prediction: Any = Field(None, description=IDLE)
    prompt_cache_key: str | None = Field(None, description=IDLE)
    prompt_cache_options: Any = Field(None, description=IDLE)
    prompt_cache_retention: str | None = Field(None, description=IDLE)

    # Not OpenAI's own, but clients for many servers send them.
    min_p: float | None = Field(None, description=IDLE)
    repetition_penalty: float | None = Field(None, description=IDLE)
    reasoning: Any = Field(None, description=IDLE)
    thinking: Any = Field(None, description=IDLE)
    enable_thinking: bool | None = Field(None, description=IDLE)
    chat_template_kwargs: Any = Field(None, description=IDLE)

    # A book gives one whole answer and calls none of the client's tools; these can be ignored safely.
    n: Annotated[int, Field(ge=1)] | None = Field(None, description=f"{IDLE}: there is one answer")
    stop: str | list[str] | None = Field(None, description=IDLE)
    logprobs: bool | None = Field(None, description=IDLE)
    top_logprobs: int | None = Field(None, description=IDLE)
    tools: list[Any] | None = Field(None, description=f"{IDLE}: the book is searched anyway")
    functions: list[Any] | None = Field(None, description=f"{IDLE}: the book is searched anyway")
    web_search_options: Any = Field(None, description=IDLE)

    # A book cannot do what these ask for; only the values that ask for nothing are accepted.
    response_format: dict[str, Any] | None = Field(None, description='`{"type": "text"}` only')
    modalities: list[str] | None = Field(None, description='`["text"]` only')
    audio: Any = Field(None, description="Not supported")
    tool_choice: Any = Field(None, description="`auto` or `none`")
    function_call: Any = Field(None, description="`auto` or `none`")
    moderation: Any = Field(None, description="Not supported")

    @property
    def with_usage(self) -> bool:
        return bool(self.stream_options and self.stream_options.include_usage)

    @property
    def ignored(self) -> list[str]:
        return ignored_in(self)

    def to_question(
        self, *, book: Book, request_id: str, top_k: int, similarity_threshold: float, refusal: str
    ) -> Question:
        check_supported(self, _REFUSED)
        own = self.quoth.model_dump(exclude_unset=True) if self.quoth else {}
        asked, before = split_messages(self.messages, field="messages")
        request = parse(ChatRequest, {"query": asked, **own})
        question = request.to_question(
            book=book, request_id=request_id, top_k=top_k, similarity_threshold=similarity_threshold
        )
        if request.session_id is not None:
            return question
        return replace(question, history=tuple(turns_of(before, refusal)))


# Fields that ask for what a book cannot do, with the values that ask for nothing.
_REFUSED: Mapping[str, tuple[Any, ...]] = {
    "response_format": ({"type": "text"},),
    "modalities": (["text"], []),
    "audio": (),
    "tool_choice": ("none", "auto"),
    "function_call": ("none", "auto"),
    "moderation": (),
}
_WHY: Mapping[str, str] = {
    "response_format": "Answers are text; sources and confidence are in the response's key `quoth`.",
    "text": "Answers are text; sources and confidence are in the response's key `quoth`.",
    "tool_choice": "A book calls none of the client's tools: send `auto`, or leave it out.",
    "function_call": "A book calls none of the client's functions: send `auto`, or leave it out.",
    "background": "Leave it out, and wait for the answer or stream it.",
    "conversation": "Send `previous_response_id`, or the whole conversation in `input`.",
}


def check_supported(request: BaseModel, refused: Mapping[str, tuple[Any, ...]]) -> None:
    for name, harmless in refused.items():
        value = getattr(request, name)
        if value not in (None, False, *harmless):
            raise Unsupported(
                f"`{name}` asks for something a book cannot do.",
                hint=_WHY.get(name, "Leave it out."),
                details={"field": name},
            )


def ignored_in(request: BaseModel) -> list[str]:
    """The parameters sent that have no effect, except those that ask for what happens anyway."""
    fields = type(request).model_fields
    idle = (name for name, field in fields.items() if (field.description or "").startswith(IDLE))
    sent = {name: getattr(request, name) for name in idle if name in request.model_fields_set}
    return [name for name, value in sent.items() if value not in _ANYWAY.get(name, (None, False, [], "", {}))]


# The values that ask for what happens anyway, for fields where that is not an empty value.
_ANYWAY: Mapping[str, tuple[Any, ...]] = {
    "n": (None, 1),
    "store": (None, True),
    "temperature": (None,),
    "seed": (None,),
}


class Said(Protocol):
    """One message of a conversation that a client keeps."""

    @property
    def role(self) -> str: ...

    def words(self) -> str: ...


def split_messages(messages: Sequence[Said], *, field: str) -> tuple[str, Sequence[Said]]:
    """The question, and the messages before it."""
    spoken = [message for message in messages if message.role not in ("system", "developer")]
    if not spoken:
        raise EmptyQuery("There is no message from the user.", details={"field": field})
    if spoken[-1].role != "user":
        raise WrongUsage(
            f"The last message is from the {spoken[-1].role}.",
            hint="End with the user's question: a book does not continue an answer.",
            details={"field": field},
        )
    return _question_in(spoken[-1]), spoken[:-1]


# aider ends every question with this paragraph; without this rule the book would be searched for its words too.
_REMINDER = re.compile(r"(?<=\S)\s*\n\s*\n\s*Reply in [^\n.]{1,40}\.\s*\Z")


def _question_in(message: Said) -> str:
    return _REMINDER.sub("", message.words())


def turns_of(said: Sequence[Said], refusal: str) -> Iterator[PastTurn]:
    """Each question with its answer, without the list of sources below it. Messages do not mark a refusal, so it is
    recognised by its words."""
    asked: str | None = None
    answered = ""
    for message in (*said, None):
        if message is None or message.role == "user":
            if asked is not None:
                yield PastTurn(asked, answered, refused=_refused(answered, refusal))
            asked, answered = (_question_in(message) if message else None), ""
        elif message.role == "assistant":
            answered = "\n".join(filter(None, (answered, without_footer(message.words()))))


def _refused(answered: str, refusal: str) -> bool:
    """The refusal with the nearest sections below it, or a refusal in a model's own words."""
    return answered.strip().startswith(refusal.rstrip(".")) or refusal_in(answered, refusal) == "whole"

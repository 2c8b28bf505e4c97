"""Answers in the shape of OpenAI's chat completions: whole or in chunks.

In: an `Answer`. Out: a completion. The text is the pipeline's, word for word. Most clients show nothing else, so the
list of sources follows below it, or after a refusal the list of the nearest sections. Each marker in the text is also
an annotation with the URL of its source, and the key `quoth` has all the rest. Knows no transport.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field

from quoth.domain import Answer, Book, CitedSource
from quoth.serve.shapes import Shape
from quoth.serve.views import AnswerDetails, details_view
from quoth.text.markers import markers

PREFIX = "quoth"

_SOURCES = "\n\n---\n**Sources:**\n"
_NEAREST = "\n\n---\n**Nearest sections:**\n"


# --- the text --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Cited:
    """A place in the text and the page that it cites."""

    start: int
    end: int
    title: str
    url: str


@dataclass(frozen=True, slots=True)
class Told:
    """What a client shows: the answer, the list below it, and which places in both cite which page."""

    words: str
    footer: str
    citations: tuple[Cited, ...]

    @property
    def text(self) -> str:
        return self.words + self.footer


def told(answer: Answer, *, listed: bool) -> Told:
    """The answer, or if a model failed, the message that says so. With `listed` the sources are listed below."""
    words = (answer.fallback_message or "") if answer.text is None else answer.text
    footer = _footer(answer) if listed else ""
    return Told(words, footer, tuple(_citations(words, footer, answer.sources)))


def without_footer(text: str) -> str:
    """An answer that a client sends back in its next request, without the list below it."""
    return text.partition(_SOURCES)[0].partition(_NEAREST)[0]


def _footer(answer: Answer) -> str:
    """A selected text has no list of sources: the reader can see it."""
    sources = [f"- [{source.index}] {_listed(source)}" for source in answer.sources if source.selection_length is None]
    if sources:
        return _SOURCES + "\n".join(sources)
    nearest = [f"- {_title(near.breadcrumb, near.title)} {near.url}".rstrip() for near in answer.suggestions]
    return _NEAREST + "\n".join(nearest) if nearest else ""


def _listed(source: CitedSource) -> str:
    return f"{_title(source.breadcrumb, source.title)} {source.url or f'({source.source_file}:{source.line})'}"


def _title(breadcrumb: Sequence[str], otherwise: str) -> str:
    return " › ".join(part.replace("\n", " ") for part in breadcrumb) or otherwise


def _citations(words: str, footer: str, sources: Sequence[CitedSource]) -> Iterator[Cited]:
    """Each marker in the text; for a source without a marker, its number in the list."""
    published = {source.index: source for source in sources if source.url}
    marked: set[int] = set()
    for marker in markers(words):
        for number in marker.numbers:
            if source := published.get(number):
                marked.add(number)
                yield Cited(marker.start, marker.end, _title(source.breadcrumb, source.title), source.url)
    for number, source in published.items():
        place = footer.find(f"\n- [{number}] ")
        if number not in marked and place >= 0:
            start = len(words) + place + len("\n- ")
            yield Cited(start, start + len(f"[{number}]"), _title(source.breadcrumb, source.title), source.url)


# --- a completion ----------------------------------------------------------------------------------------------------


class UrlCitation(Shape):
    start_index: Annotated[int, Field(description="Where its marker begins in the text, in characters (code points)")]
    end_index: int
    title: str
    url: str


class Annotation(Shape):
    type: Literal["url_citation"]
    url_citation: UrlCitation


class AssistantMessage(Shape):
    role: Literal["assistant"]
    content: str
    refusal: None
    annotations: list[Annotation]


FinishReason = Literal["stop", "length"]


class Choice(Shape):
    index: int
    message: AssistantMessage
    logprobs: None
    finish_reason: FinishReason


class Usage(Shape):
    prompt_tokens: Annotated[int, Field(description="In all calls of the language model; 0 if none is configured")]
    completion_tokens: int
    total_tokens: int


class CompletionDetails(AnswerDetails):
    """Everything about an answer except its text, and the request's parameters that had no effect."""

    ignored: Annotated[list[str], Field(description="Parameters of the request that had no effect")]


class Completion(Shape):
    id: Annotated[str, Field(examples=["chatcmpl-6a1f7a9e-2f7e-4c3e-9d57-0d5a3d7b6f10"])]
    object: Literal["chat.completion"]
    created: int
    model: Annotated[str, Field(examples=["quoth/my-book"])]
    choices: list[Choice]
    usage: Usage
    quoth: Annotated[
        CompletionDetails,
        Field(description="Sources, confidence, grounding: everything that `POST /chat` returns except the text"),
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


def completion_details(answer: Answer, ignored: Sequence[str]) -> CompletionDetails:
    return {**details_view(answer), "ignored": list(ignored)}


def completion_view(
    answer: Answer, *, completion_id: str, model: str, listed: bool, ignored: Sequence[str]
) -> Completion:
    shown = told(answer, listed=listed)
    message: AssistantMessage = {
        "role": "assistant",
        "content": shown.text,
        "refusal": None,
        "annotations": _annotations(shown),
    }
    return {
        "id": completion_id,
        "object": "chat.completion",
        "created": int(answer.created_at.timestamp()),
        "model": model,
        "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": finish_reason(answer)}],
        "usage": _usage_view(answer),
        "quoth": completion_details(answer, ignored),
    }


def _annotations(shown: Told) -> list[Annotation]:
    return [
        {
            "type": "url_citation",
            "url_citation": {"start_index": one.start, "end_index": one.end, "title": one.title, "url": one.url},
        }
        for one in shown.citations
    ]


def finish_reason(answer: Answer) -> FinishReason:
    """`length` if a model broke off in the middle: the protocol has no other word for an unfinished answer."""
    return "length" if answer.interrupted else "stop"


def _usage_view(answer: Answer) -> Usage:
    """Tokens of all model calls for this answer; zero if there is no model."""
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


Fields = dict[str, object]  # of a chunk; they depend on its place in the stream


@dataclass(frozen=True, slots=True)
class Chunks:
    """The chunks of one streamed answer: all share its id, its model and its start time."""

    completion_id: str
    model: str
    created: datetime
    with_usage: bool
    listed: bool
    ignored: Sequence[str]

    def opening(self) -> Iterator[Fields]:
        yield self._chunk({"role": "assistant", "content": "", "refusal": None})

    def words(self, text: str) -> Fields:
        return self._chunk({"content": text})

    def closing(self, answer: Answer) -> Iterator[Fields]:
        """The text not sent yet, then the end with sources and confidence, then the tokens if requested."""
        shown = told(answer, listed=self.listed)
        if unseen := (shown.words if answer.text is None else "") + shown.footer:
            yield self.words(unseen)
        annotated: Fields = {"annotations": _annotations(shown)} if shown.citations else {}
        last = self._chunk(annotated, finish_reason(answer))
        yield {**last, "quoth": completion_details(answer, self.ignored)}
        if self.with_usage:
            yield {**self._head(), "choices": [], "usage": _usage_view(answer)}

    def _head(self) -> Fields:
        return {
            "id": self.completion_id,
            "object": "chat.completion.chunk",
            "created": int(self.created.timestamp()),
            "model": self.model,
        }

    def _chunk(self, delta: Fields, finished: FinishReason | None = None) -> Fields:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finished}
        return {**self._head(), "choices": [choice], **({"usage": None} if self.with_usage else {})}

"""`/v1/chat/completions` and `/v1/models`: every OpenAI client can ask the book, unmodified.

A book is a model. The answer is that of the one pipeline, word for word; its sources, confidence and grounding are in
an extra key, `quoth`, of the response or of the last chunk. Errors have OpenAI's shape beside ours in one body.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse

from quoth.bootstrap import Quoth
from quoth.domain import AnswerEvent, Book, Delta, Done, Question, Retrieved
from quoth.index import status_of
from quoth.serve.asking import answered, streamed
from quoth.serve.bodies import documented, read_body
from quoth.serve.deps import owner_of, quoth_of
from quoth.serve.openai_protocol import PREFIX, Chunks, CompletionRequest, completion_view, model_view
from quoth.serve.openai_shapes import COMPLETION, ModelResponse, ModelsResponse, openai_answers
from quoth.serve.problems import request_id_of
from quoth.serve.sse import Event
from quoth.serve.views import View

router = APIRouter(prefix="/v1", tags=["openai"])

END = b"data: [DONE]\n\n"
UNNAMED = ""  # OpenAI names no events


async def read_completion(request: Request) -> tuple[CompletionRequest, Question]:
    quoth = quoth_of(request)
    asked = await read_body(request, CompletionRequest)
    question = asked.to_question(
        book=await book_of(quoth, asked.model),
        request_id=request_id_of(request),
        top_k=quoth.settings.top_k,
        similarity_threshold=quoth.settings.similarity_threshold,
        refusal=quoth.settings.refusal_sentence,
    )
    return asked, replace(question, owner=owner_of(request))


async def book_of(quoth: Quoth, model: str) -> Book:
    """The book that a model's name means; `quoth` alone means the only one, or the configured one."""
    if model == PREFIX:
        return await quoth.choose_book(None)
    book_id = model.removeprefix(f"{PREFIX}/")
    return await quoth.book(book_id)


@router.post("/chat/completions", openapi_extra=documented(CompletionRequest), responses=COMPLETION)
async def completions(request: Request) -> Response:
    """Ask a book in OpenAI's words; with `stream` the same answer in chunks."""
    quoth = quoth_of(request)
    asked, question = await read_completion(request)
    name = f"chatcmpl-{question.request_id}"
    if not asked.stream:
        answer = await answered(request, question)
        return JSONResponse(completion_view(answer, completion_id=name, model=asked.model))
    chunks = Chunks(completion_id=name, model=asked.model, created=quoth.clock.now(), with_usage=asked.with_usage)
    return await streamed(request, question, dress=lambda events: chunked(events, chunks), found=UNNAMED, farewell=END)


async def chunked(events: AsyncGenerator[AnswerEvent], chunks: Chunks) -> AsyncGenerator[Event]:
    async with aclosing(events):
        async for event in events:
            if isinstance(event, Retrieved):
                yield UNNAMED, chunks.opening()
            elif isinstance(event, Delta):
                yield UNNAMED, chunks.words(event.text)
            elif isinstance(event, Done):
                for chunk in chunks.closing(event.answer):
                    yield UNNAMED, chunk


@router.get("/models", responses=openai_answers(ModelsResponse, 503))
async def models(request: Request) -> JSONResponse:
    """Every book, as a model."""
    quoth = quoth_of(request)
    known = await quoth.books()
    return JSONResponse({"object": "list", "data": [await view_of(quoth, book) for book in known]})


@router.get("/models/{model:path}", responses=openai_answers(ModelResponse, 404, 503))
async def model(request: Request, model: str) -> JSONResponse:
    """One book, as a model: `quoth/<book_id>`."""
    quoth = quoth_of(request)
    return JSONResponse(await view_of(quoth, await book_of(quoth, model)))


async def view_of(quoth: Quoth, book: Book) -> View:
    status = await status_of(quoth.index, book.book_id)
    return model_view(book, status.published_at if status else None)

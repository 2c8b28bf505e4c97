"""What people read in the terminal: answers, refusals, search results, notices, and the command to type next.

In: domain values. Out: plain text in the format of docs/contract.md. Colour only decorates, and only on a terminal: a
pipe gets exactly that format.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from quoth.ask.cited import snippet
from quoth.domain import Answer, Coverage, Grounding, IngestJob, Notice, Passage, Share
from quoth.serve.library_views import plan_view

if TYPE_CHECKING:
    from quoth.chunks.plan import FilePlan

NOTICES_SHOWN = 20
PAGES_SHOWN = 20

_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def decorated() -> bool:
    """May the output have colours, and may a line be overwritten?"""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def harmless(text: str) -> str:
    """The text without control characters, with which a reader, a book or a model could repaint the screen. In a pipe
    too, because it often ends on a screen."""
    return _CONTROLS.sub("", text)


def echo(text: str) -> None:
    """Print untrusted text, one line or several, without control characters."""
    typer.echo(harmless(text))


def styled(text: str, **style: bool | str) -> str:
    return typer.style(harmless(text), **style) if decorated() else harmless(text)  # type: ignore[arg-type]


def print_answer(answer: Answer) -> None:
    if answer.text:
        typer.echo(marked(answer.text, answer.grounding))
    if answer.fallback_message:
        typer.echo(("\n" if answer.text else "") + styled(answer.fallback_message, fg="yellow"))
    print_basis(answer)


def print_basis(answer: Answer) -> None:
    """What follows the words of an answer: how far to trust it, its sources, or where to look instead."""
    if answer.grounding.removed:
        typer.echo(styled(f"\n({counted(answer.grounding.removed, 'unsupported sentence')} removed.)", dim=True))
    if answer.disclaimer:
        typer.echo(styled(f"\n({answer.disclaimer})", dim=True))
    if answer.citations:
        typer.echo("\n---\n**Sources:**")
        for source in answer.sources:
            typer.echo(f"[{source.index}] {styled(source.url, fg='cyan')} (score: {source.similarity:.2f})")
            typer.echo(styled(f"    {source.source_file}:{source.line} · {' › '.join(source.breadcrumb)}", dim=True))
            if decorated() and source.decisive != source.quote:
                typer.echo(f"    {styled(snippet(source.decisive), bold=True)}")
    if answer.missing_terms:
        typer.echo(styled(f"\nNowhere in the book: {', '.join(answer.missing_terms)}", dim=True))
    if answer.suggestions:
        typer.echo("\nThe nearest sections:")
        for suggestion in answer.suggestions:
            typer.echo(f"- {harmless(' › '.join(suggestion.breadcrumb))}  {styled(suggestion.url, fg='cyan')}")


def marked(text: str, grounding: Grounding) -> str:
    """The answer, with a warning after every sentence that its sources do not support."""
    out, at = "", 0
    for sentence in grounding.sentences:
        start = text.find(sentence.text, at)
        if sentence.supported or start < 0:
            continue
        end = start + len(sentence.text)
        alone = "\n" in sentence.text or sentence.text.startswith("|")  # after a block, not inside it
        warning = styled(f"⚠ not supported by the source: {sentence.reason}", fg="yellow")
        out += f"{harmless(text[at:end])}{chr(10) if alone else ' '}({warning})"
        at = end
    return out + harmless(text[at:])


def print_unsupported(grounding: Grounding) -> None:
    """The same warnings, below an answer that is already on the screen."""
    for sentence in grounding.sentences:
        if not sentence.supported:
            warning = f"⚠ not supported by the source: “{snippet(sentence.text)}” ({sentence.reason})"
            typer.echo("\n" + styled(warning, fg="yellow"))


def print_passages(passages: Sequence[Passage], total: int | None, *, explain: bool) -> None:
    for rank, passage in enumerate(passages, 1):
        chunk = passage.chunk
        typer.echo(f"{rank}. {styled(' › '.join(chunk.breadcrumb), bold=True)} (score: {passage.similarity:.2f})")
        typer.echo(f"   {styled(chunk.url, fg='cyan')}  {harmless(chunk.source_file)}:{chunk.line}")
        echo(f"   {snippet(chunk.shown)}")
        if explain:
            dense = raw_score(passage.dense_score, passage.dense_rank)
            sparse = raw_score(passage.sparse_score, passage.sparse_rank)
            looks = f"pairs {passage.pair_share:.2f} · agreement {passage.agreement:.2f}"
            typer.echo(styled(f"   fused {passage.score:.4f} · dense {dense} · sparse {sparse} · {looks}", dim=True))
    typer.echo(styled(f"{len(passages)} of {total} chunks searched", dim=True))


def raw_score(score: float | None, rank: int | None) -> str:
    return "–" if score is None else f"{score:.4f} ({f'rank {rank}' if rank else 'not in its list'})"


def counted(number: int, thing: str) -> str:
    return f"{number} {thing}{'' if number == 1 else 's'}"


def print_job(job: IngestJob) -> None:
    verb = "Would change" if job.dry_run else "Ingested"
    read = f"{job.files_processed} read, {job.files_skipped} unchanged, {job.files_deleted} deleted"
    chunks = f"{counted(job.chunks_created, 'chunk')} added, {job.chunks_kept} kept, {job.chunks_deleted} dropped"
    spent = "" if job.duration_seconds is None else f" in {job.duration_seconds:.1f} s"
    typer.echo(
        f"{verb} {job.book_id}: {counted(job.files_discovered, 'page')} ({read}); {chunks}, "
        f"{job.chunks_embedded} embedded{spent}"
    )


def print_coverage(coverage: Coverage | None) -> None:
    """The recognised toolchain, how much of the book was read, and what was not: on standard error, like notices."""
    if coverage is None:
        return
    by = f" by {coverage.recognised_by}" if coverage.recognised_by else ""
    known = "Read as plain files" if coverage.toolchain == "plain" else f"Recognised {coverage.toolchain}{by}"
    sys.stderr.write(harmless(f"{known}: {', '.join(_share(share) for share in coverage.taken)}\n"))
    for share in coverage.left:
        sys.stderr.write(harmless(f"{'Not read' if share.lost else 'Left out'}: {_share(share)} · {share.reason}\n"))


def _share(share: Share) -> str:
    words = f" ({share.words:,} word{'' if share.words == 1 else 's'})" if share.words else ""
    return f"{share.files:,} {share.kind}{words}"


def summary(plan: FilePlan) -> str:
    counts = f"{len(plan.new)} new, {len(plan.changed)} changed, {len(plan.deleted)} deleted"
    return f"Plan: {counts}, {counted(len(plan.unchanged), 'unchanged page')}"


def print_plan(plan: FilePlan, job: IngestJob) -> None:
    """What a dry run would do, page by page."""
    view = plan_view(plan, job)
    typer.echo(summary(plan))
    for what in ("new", "changed", "deleted"):
        names = view[what]
        for name in names[:PAGES_SHOWN]:
            typer.echo(f"  {what:<8}{name}")
        if len(names) > PAGES_SHOWN:
            typer.echo(f"  {what:<8}… and {len(names) - PAGES_SHOWN} more (--json lists all)")
    typer.echo(f"{view['embeddings_saved']} of {job.chunks_created + job.chunks_kept} chunks need no embedding")


def cost(planned: IngestJob, embedder: str) -> str:
    """How much the embedder will have to do, by a dry run."""
    texts = counted(planned.chunks_embedded, "text")
    return f"To embed with {embedder}: {texts}, about {planned.tokens_embedded:,} tokens"


def print_notices(notices: Sequence[Notice]) -> None:
    """Fatal notices first, each on its own line; one line per kind for the others, so that none buries another. On
    standard error, because they are not the result."""
    fatal = [notice for notice in notices if notice.fatal]
    for notice in fatal[:NOTICES_SHOWN]:
        sys.stderr.write(f"error: {harmless(str(notice))}\n")
    if len(fatal) > NOTICES_SHOWN:
        sys.stderr.write(f"… and {len(fatal) - NOTICES_SHOWN} more errors (--json and --report list all)\n")
    kinds: dict[str, list[Notice]] = {}
    for notice in notices:
        if not notice.fatal:
            kinds.setdefault(notice.code, []).append(notice)
    for alike in kinds.values():
        more = f" … and {len(alike) - 1:,} more of this kind (--json and --report list all)" if len(alike) > 1 else ""
        sys.stderr.write(f"note: {harmless(str(alike[0]))}{more}\n")


def command_line(command: str, *arguments: str, data_dir: Path | None) -> str:
    """A command to type next. The arguments are used unchanged: quote those that need it."""
    place = ("--data-dir", shlex.quote(str(data_dir))) if data_dir else ()
    return " ".join((_program(), command, *place, *arguments))


def _program() -> str:
    """`quoth` if a shell finds this installation under that name, otherwise the path that was typed."""
    called = Path(sys.argv[0])
    if called.name == "__main__.py":
        return f"{shlex.quote(sys.executable)} -m quoth"
    found = shutil.which("quoth")
    return "quoth" if found and called.exists() and called.samefile(found) else shlex.quote(sys.argv[0])

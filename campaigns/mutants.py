"""Do the tests beside the code notice small faults? `python -m campaigns.mutants` finds out.

A seeded choice of faults (`faults.py`) is put into the modules that ask, cut, index, store and serve. Each is run
against the fast tests beside the module, in a separate process (`asking.py`). Results are kept in
.campaign/mutants.jsonl as they arrive: a stopped run resumes where it was, and a survivor is tested again once a test
of its module has changed.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import importlib
import json
import os
import random
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial

from campaigns.asking import ROOT, SOURCE, Mutant, Red, answers, fork
from campaigns.faults import faults
from campaigns.notes import NOTES
from campaigns.tally import Tally

KEPT = ROOT / ".campaign" / "mutants.jsonl"
SEED = 17
EACH = 8  # the most faults per module
# What pytest and the tests import, apart from Quoth itself, so that a forked process has it immediately. (Not
# onnxruntime and numpy's own threads: they do not survive a fork.)
EARLY = """alembic.command fastapi httpx2 markdown_it numpy pydantic pytest sqlalchemy
sqlalchemy.dialects.sqlite starlette tokenizers typer uvicorn yaml"""

# A module of src/quoth, and the tests beside it (files, their classes, or folders of tests/).
BESIDE: dict[str, str] = {
    "conversation": "test_conversation.py test_outages.py ask/test_interrupted.py ask/test_conversations_follow.py",
    "ingest": "test_ingest.py",
    "ask/asked": "ask/test_asked.py ask/test_extract_kinds.py",
    "ask/cited": "ask/test_cited.py test_conversation.py ask/test_unsupported.py serve/test_chat.py",
    "ask/check": "ask/test_check.py ask/test_unsupported.py",
    "ask/conclude": "ask/test_conclude.py",
    "ask/expand": "ask/test_expand.py ask/test_extract.py ask/test_extract_kinds.py ask/test_blocks.py",
    "ask/extract": "ask/test_extract.py ask/test_extract_kinds.py",
    "ask/find": "ask/test_find.py ask/test_read.py ask/test_suited.py",
    "ask/follow_up": "ask/test_follow_up.py ask/test_conversations_follow.py",
    "ask/fuse": "ask/test_fuse.py",
    "ask/judge": "ask/test_judge.py",
    "ask/memory": "ask/test_memory.py ask/test_threads.py test_conversation.py serve/test_sessions.py",
    "ask/model_turn": "ask/test_model_turn.py ask/test_tools.py",
    "ask/reply": "ask/test_reply.py ask/test_model_turn.py test_conversation.py ask/test_unsupported.py",
    "ask/request": "ask/test_request.py",
    "ask/selection": "ask/test_selection.py ask/test_selected_text.py",
    "ask/support": "ask/test_check.py ask/test_unsupported.py",
    "ask/suited": "ask/test_suited.py",
    "ask/tools": "ask/test_tools.py",
    "ask/writing": "ask/test_writing.py",
    "chunks/cut": "chunks",
    "chunks/plan": "chunks",
    "chunks/split": "chunks",
    "index/changes": "index/test_embedded.py::TestEmbeddedIndex",
    "index/columns": "index/test_columns.py index/test_fields.py index/test_embedded.py::TestEmbeddedIndex",
    "index/generations": "index/test_generations.py index/test_embedded.py::TestEmbeddedIndex",
    "index/qdrant_nodes": "index/test_qdrant_nodes.py",
    "models/answer_filter": "models/test_answer_filter.py",
    "models/openai": "models/test_openai.py models/test_model_limits.py models/test_model_oddities.py",
    "models/openai_wire": "models/test_openai_wire.py models/test_model_oddities.py",
    "serve/access": "serve/test_access.py serve/test_limits.py",
    "serve/callers": "serve/test_callers.py serve/test_access.py",
    "serve/limits": "serve/test_limits.py",
    "serve/sse": "serve/test_sse.py serve/test_chat.py",
    "store/conversations": "store/test_library.py store/test_memory_library.py serve/test_sessions.py",
    "store/library": "store/test_library.py",
    "text/sentences": "text/test_sentences.py",
    "text/terms": "text/test_terms.py",
}


def digest_of(mutant: Mutant) -> str:
    return hashlib.sha256(mutant.fault.source.encode()).hexdigest()[:16]


def digest_with_tests(mutant: Mutant) -> str:
    digest = hashlib.sha256(mutant.fault.source.encode())
    for name in ("contracts", *mutant.tests):
        place = ROOT / "tests" / name.split("::")[0]
        for path in sorted(place.rglob("*.py")) if place.is_dir() else [place]:
            digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class Outcome:
    digest: str  # of the fault
    digest_with_tests: str  # of the fault and the tests that were run
    module: str
    line: int
    kind: str
    before: str
    after: str
    noticed: bool
    seconds: float


def chosen(modules: Sequence[str]) -> list[Mutant]:
    mutants = []
    for module in modules:
        tests = tuple(BESIDE[module].split())
        every = list(faults((SOURCE / f"{module}.py").read_text(encoding="utf-8")))
        random.Random(f"{SEED} {module}").shuffle(every)
        mutants += [Mutant(module, fault, tests) for fault in every[:EACH]]
    return mutants


class Known:
    """Results of earlier runs. A noticed fault stays noticed; a survivor stays one while its tests are the same."""

    def __init__(self) -> None:
        lines = KEPT.read_text(encoding="utf-8").splitlines() if KEPT.exists() else []
        outcomes = [Outcome(**json.loads(line)) for line in lines]
        self._noticed = {one.digest: one for one in outcomes if one.noticed}
        self._all = {one.digest_with_tests: one for one in outcomes}

    def of(self, mutant: Mutant) -> Outcome | None:
        return self._noticed.get(digest_of(mutant)) or self._all.get(digest_with_tests(mutant))


def ask(modules: Sequence[str], workers: int) -> None:
    """Tests every fault without a known result, and keeps the results."""
    KEPT.parent.mkdir(exist_ok=True)
    known = Known()
    suites: dict[tuple[str, ...], list[Mutant]] = {}
    for mutant in chosen(modules):
        if known.of(mutant) is None:
            suites.setdefault(mutant.tests, []).append(mutant)
    shares = [list(suites.values())[one::workers] for one in range(workers)]
    codes = [os.waitpid(child, 0)[1] for child in [fork(partial(_ask_share, share), silent=False) for share in shares]]
    if any(codes):
        raise SystemExit("Some small faults could not be tested; the lines above say why.")


def _ask_share(suites: Sequence[Sequence[Mutant]]) -> int:
    code = 0
    for suite in suites:
        digests = {mutant: (digest_of(mutant), digest_with_tests(mutant)) for mutant in suite}  # before tests change
        try:
            for mutant, noticed, seconds in answers(suite):
                fault = mutant.fault
                where = (*digests[mutant], mutant.module, fault.line, fault.kind, fault.before, fault.after)
                with KEPT.open("a", encoding="utf-8") as kept:
                    kept.write(json.dumps(asdict(Outcome(*where, noticed, seconds))) + "\n")
        except Red as red:
            print(f"These tests fail even without a fault: {red}", file=sys.stderr, flush=True)
            code = 1
    return code


def prepare() -> None:
    """Import third-party modules once, before anything is forked."""
    sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests")]
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    sys.dont_write_bytecode = True
    for name in EARLY.split():
        importlib.import_module(name)
    assert "quoth" not in sys.modules


async def campaign() -> Tally:
    """Runs in a separate process, because this one has already imported Quoth."""
    asked = await asyncio.create_subprocess_exec(sys.executable, "-m", "campaigns.mutants", cwd=ROOT)
    if await asked.wait() != 0:
        raise SystemExit("The campaign of small faults broke off; its last lines say why.")
    return counted()


def counted() -> Tally:
    """All faults tested so far."""
    known, mutants = Known(), chosen(list(BESIDE))
    outcomes = [one for mutant in mutants if (one := known.of(mutant))]
    tally = Tally("small faults, noticed by the tests beside the code")
    for one in outcomes:
        reason = NOTES.get((one.module, one.before, one.after), "")
        what = f"{one.module}.py:{one.line}: {one.before} → {one.after}"
        if reason and not one.noticed:
            tally.note(f"`{what}`: {reason}")
        else:
            tally.judge(one.noticed, what)
    tally.figures = {
        "modules": len({one.module for one in outcomes}),
        "chosen": len(mutants),
        "noticed, in percent": round(100 * tally.held / max(1, tally.tried)),
        "left with a reason": len(tally.noted),
    }
    return tally


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("modules", nargs="*", default=list(BESIDE), help="such as ask/judge (default: all)")
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    prepare()
    ask(options.modules, options.workers)
    known = Known()
    outcomes = [one for mutant in chosen(options.modules) if (one := known.of(mutant))]
    for one in outcomes:
        if not one.noticed:
            print(f"{one.module}.py:{one.line}: {one.before}  →  {one.after}", flush=True)
    noticed = sum(one.noticed for one in outcomes)
    print(f"{noticed} of {len(outcomes)} faults were noticed.")


if __name__ == "__main__":
    main()

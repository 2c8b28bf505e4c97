"""Do the tests beside the code notice small faults? `python -m campaigns.mutants` asks them.

A seeded choice of faults (`faults.py`) is put into what asks, cuts, indexes, stores and serves. Each is run against
the fast tests beside the module in a forked process that has everything foreign imported already. Results are kept in
.campaign/mutants.jsonl as they come: a run that is stopped goes on where it was, and a survivor is asked again once a
test of its module has changed.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import hashlib
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import json
import os
import random
import signal
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import ModuleType

from campaigns.faults import Fault, faults
from campaigns.tally import Tally

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "quoth"
KEPT = ROOT / ".campaign" / "mutants.jsonl"
SEED = 17
EACH = 12  # faults of a module, at most
PATIENCE = 240  # seconds for the tests of one fault; a mutant that never ends has been noticed
# What pytest and the tests import, apart from Quoth itself: a forked process has it at once. (Not onnxruntime and
# numpy's own threads: they do not survive a fork.)
EARLY = """alembic.command fastapi httpx2 markdown_it numpy pydantic pytest sqlalchemy
sqlalchemy.dialects.sqlite starlette tokenizers typer uvicorn yaml"""

# A module of src/quoth, and the tests beside it (files or folders of tests/).
BESIDE: dict[str, str] = {
    "conversation": "test_conversation.py test_outages.py ask/test_interrupted.py ask/test_conversations_follow.py",
    "ingest": "test_ingest.py",
    "ask/asked": "ask/test_asked.py ask/test_extract_kinds.py",
    "ask/cited": "test_conversation.py ask/test_unsupported.py serve/test_chat.py",
    "ask/check": "ask/test_check.py ask/test_unsupported.py",
    "ask/conclude": "ask/test_conclude.py",
    "ask/expand": "ask/test_extract.py ask/test_extract_kinds.py ask/test_blocks.py",
    "ask/extract": "ask/test_extract.py ask/test_extract_kinds.py",
    "ask/find": "ask/test_find.py",
    "ask/follow_up": "ask/test_follow_up.py ask/test_conversations_follow.py",
    "ask/fuse": "ask/test_fuse.py",
    "ask/judge": "ask/test_judge.py",
    "ask/memory": "ask/test_session_order.py test_conversation.py serve/test_sessions.py",
    "ask/model_turn": "ask/test_model_turn.py ask/test_tools.py",
    "ask/reply": "ask/test_model_turn.py test_conversation.py test_outages.py ask/test_unsupported.py",
    "ask/request": "ask/test_request.py",
    "ask/selection": "ask/test_selection.py ask/test_selected_text.py",
    "ask/support": "ask/test_check.py ask/test_unsupported.py",
    "ask/tools": "ask/test_tools.py",
    "ask/writing": "ask/test_writing.py",
    "chunks/cut": "chunks",
    "chunks/plan": "chunks",
    "chunks/split": "chunks",
    "index/changes": "index/test_embedded.py",
    "index/columns": "index/test_columns.py index/test_embedded.py",
    "index/generations": "index/test_generations.py index/test_embedded.py",
    "index/qdrant_nodes": "index/test_qdrant_cluster.py",
    "models/answer_filter": "models/test_answer_filter.py",
    "models/openai": "models/test_openai.py models/test_model_limits.py models/test_model_oddities.py",
    "models/openai_wire": "models/test_openai_wire.py models/test_model_oddities.py",
    "serve/access": "serve/test_access.py",
    "serve/callers": "serve/test_callers.py serve/test_access.py",
    "serve/limits": "serve/test_limits.py",
    "serve/sse": "serve/test_sse.py serve/test_chat.py",
    "store/conversations": "store/test_library.py store/test_memory_library.py serve/test_sessions.py",
    "store/library": "store/test_library.py",
    "text/sentences": "text/test_sentences.py",
    "text/terms": "text/test_terms.py",
}
SLOW = {"index/test_embedded.py", "index/test_qdrant_cluster.py"}  # files in which every test is


@dataclass(frozen=True, slots=True)
class Mutant:
    module: str
    fault: Fault
    tests: tuple[str, ...]

    @property
    def key(self) -> str:
        """Names the fault and the tests that were asked, by content."""
        digest = hashlib.sha256(self.fault.source.encode())
        for name in self.tests:
            place = ROOT / "tests" / name
            for path in sorted(place.rglob("*.py")) if place.is_dir() else [place]:
                digest.update(path.read_bytes())
        return digest.hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class Outcome:
    key: str
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
        tests = tuple(name for name in BESIDE[module].split() if (ROOT / "tests" / name).exists())
        every = list(faults((SOURCE / f"{module}.py").read_text(encoding="utf-8")))
        dice = random.Random(f"{SEED} {module}")
        some = dice.sample(every, min(EACH, len(every)))
        mutants += [Mutant(module, fault, tests) for fault in sorted(some, key=lambda fault: fault.line)]
    return mutants


class _Faulty(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports one module of Quoth with its fault, all others as they are."""

    def __init__(self, mutant: Mutant) -> None:
        self._name = "quoth." + mutant.module.replace("/", ".")
        self._path = str(SOURCE / f"{mutant.module}.py")
        self._source = mutant.fault.source

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name != self._name:
            return None
        return importlib.util.spec_from_file_location(name, self._path, loader=self)

    def exec_module(self, module: ModuleType) -> None:
        exec(compile(self._source, self._path, "exec", dont_inherit=True), module.__dict__)


def noticed_in_this_process(mutant: Mutant | None, tests: Sequence[str]) -> bool:
    """Runs the tests here, which leaves this process unfit for anything else."""
    import pytest

    if mutant is not None:
        sys.meta_path.insert(0, _Faulty(mutant))
    early = "ignore::pytest.PytestAssertRewriteWarning"  # of plugins that came with what was imported early
    without = [option for plugin in ("cacheprovider", "xdist") for option in ("-p", f"no:{plugin}")]
    arguments = ["-W", early, "-x", "-q", "--hypothesis-profile=fast", *without]
    if not set(tests) & SLOW:
        arguments += ["-m", "not slow"]
    code = pytest.main([*arguments, *(str(ROOT / "tests" / name) for name in tests)])
    return code != pytest.ExitCode.OK


class Asked:
    """The tests of one mutant (or of none), in a forked process of their own."""

    def __init__(self, mutant: Mutant | None, tests: Sequence[str]) -> None:
        self.mutant = mutant
        self.tests = tests
        self._began = time.monotonic()
        self._child = os.fork()
        if self._child == 0:
            _answer(mutant, tests)

    def noticed(self) -> bool | None:
        """None while the tests still run."""
        ended, status = os.waitpid(self._child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status) != 0
        if self.seconds < PATIENCE:
            return None
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._child, signal.SIGKILL)
        os.waitpid(self._child, 0)
        return True

    @property
    def seconds(self) -> float:
        return round(time.monotonic() - self._began, 1)


def _answer(mutant: Mutant | None, tests: Sequence[str]) -> None:
    try:
        silence = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silence, 1)
        os.dup2(silence, 2)
        os.setsid()
        os._exit(int(noticed_in_this_process(mutant, tests)))
    finally:
        os._exit(1)  # an import that fails is noticed


def asked(orders: Iterable[tuple[Mutant | None, Sequence[str]]], workers: int) -> Iterator[tuple[Asked, bool]]:
    """Each order and whether it was noticed, in the order in which they end; `workers` at a time."""
    waiting = list(reversed(list(orders)))
    running: list[Asked] = []
    while waiting or running:
        while waiting and len(running) < workers:
            running.append(Asked(*waiting.pop()))
        for one in list(running):
            noticed = one.noticed()
            if noticed is not None:
                running.remove(one)
                yield one, noticed
        time.sleep(0.05)


def known() -> dict[str, Outcome]:
    if not KEPT.exists():
        return {}
    return {line["key"]: Outcome(**line) for line in map(json.loads, KEPT.read_text().splitlines())}


def run(modules: Sequence[str], workers: int) -> Iterator[Outcome]:
    KEPT.parent.mkdir(exist_ok=True)
    before = known()
    mutants = chosen(modules)
    yield from (before[mutant.key] for mutant in mutants if mutant.key in before)
    waiting = [mutant for mutant in mutants if mutant.key not in before]
    for suite, red in asked([(None, tests) for tests in {mutant.tests for mutant in waiting}], workers):
        if red:
            raise SystemExit(f"Without any fault these tests fail already: {' '.join(suite.tests)}")
    with KEPT.open("a", encoding="utf-8") as kept:
        for one, noticed in asked([(mutant, mutant.tests) for mutant in waiting], workers):
            outcome = _outcome(one, noticed)
            kept.write(json.dumps(asdict(outcome)) + "\n")
            kept.flush()
            yield outcome


def _outcome(one: Asked, noticed: bool) -> Outcome:
    assert one.mutant is not None
    fault = one.mutant.fault
    where = (one.mutant.key, one.mutant.module, fault.line)
    return Outcome(*where, fault.kind, fault.before, fault.after, noticed, one.seconds)


def prepare() -> None:
    """Import what is foreign, once, before anything is forked."""
    sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests")]
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    sys.dont_write_bytecode = True
    for name in EARLY.split():
        importlib.import_module(name)
    assert "quoth" not in sys.modules


async def campaign() -> Tally:
    """In a process of its own: this one has Quoth imported already."""
    asked = await asyncio.create_subprocess_exec(sys.executable, "-m", "campaigns.mutants", cwd=ROOT)
    if await asked.wait() != 0:
        raise SystemExit("The campaign of small faults broke off; its last lines say why.")
    keys = {mutant.key for mutant in chosen(list(BESIDE))}
    outcomes = [outcome for key, outcome in known().items() if key in keys]
    tally = Tally("small faults, noticed by the tests beside the code")
    for one in outcomes:
        tally.judge(one.noticed, f"{one.module}.py:{one.line}: {one.before} → {one.after}")
    tally.figures = {"modules": len(BESIDE), "noticed, in percent": round(100 * tally.held / max(1, tally.tried))}
    return tally


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("modules", nargs="*", default=list(BESIDE), help="such as ask/judge (default: all)")
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    prepare()
    outcomes = []
    for outcome in run(options.modules, options.workers):
        outcomes.append(outcome)
        if not outcome.noticed:
            print(f"{outcome.module}.py:{outcome.line}: {outcome.before}  →  {outcome.after}", flush=True)
    noticed = sum(outcome.noticed for outcome in outcomes)
    print(f"{noticed} of {len(outcomes)} faults were noticed.")


if __name__ == "__main__":
    main()

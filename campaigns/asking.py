"""Runs the tests beside a module to see whether they notice a fault.

In: faults that share their tests. Out: for each fault, whether a test failed. The tests are imported and run once
without a fault, recording which lines each of them runs. Then a process is forked for each fault, the fault is put into
the code in memory, and the tests run until one fails, starting with those that run its lines. If a fault is in code
that runs at import, its process imports everything again. Must not know how faults are chosen.
"""

from __future__ import annotations

import ast
import contextlib
import importlib.abc
import importlib.machinery
import importlib.util
import json
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from campaigns.faults import Fault
from campaigns.live_code import CannotSwap, swap

if TYPE_CHECKING:
    import pytest

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "quoth"
SLOW = {"index/test_embedded.py::TestEmbeddedIndex"}  # classes in which every test is slow
PATIENCE = 60.0  # seconds, and PATIENT times the tests' time without a fault: a test that never ends has noticed
PATIENT = 10
NOTICED, SURVIVED, ANEW, RED = 1, 0, 3, 4  # exit codes of a forked process
AT_IMPORT = ""  # coverage's name for everything outside a test


class Red(Exception):
    """The tests fail even without a fault."""


@dataclass(frozen=True, slots=True)
class Mutant:
    module: str
    fault: Fault
    tests: tuple[str, ...]

    @property
    def path(self) -> Path:
        return SOURCE / f"{self.module}.py"


def answers(mutants: Sequence[Mutant]) -> Iterator[tuple[Mutant, bool, float]]:
    """Each mutant, whether it was noticed, and after how many seconds. All mutants have the same tests."""
    with tempfile.TemporaryDirectory(prefix="quoth-mutants-") as folder:
        os.environ["PYTEST_DEBUG_TEMPROOT"] = folder  # processes that are killed leave files there
        told = Path(folder, "told.jsonl")
        told.touch()
        child = fork(lambda: _pytest(mutants[0].tests, _Asking(mutants, told)))
        anew, seconds = [], PATIENCE
        for line in _lines(told, child):
            number, code, took = json.loads(line)
            if code == RED:
                raise Red(" ".join(mutants[0].tests))
            if number < 0:
                seconds = PATIENCE + PATIENT * took
            elif code == ANEW:
                anew.append(mutants[number])
            else:
                yield mutants[number], code == NOTICED, took
        for mutant in anew:
            began = time.monotonic()
            code = waited(fork(partial(_imported_anew, mutant)), seconds)
            yield mutant, code != SURVIVED, round(time.monotonic() - began, 1)


def _lines(told: Path, child: int) -> Iterator[str]:
    """What a process writes, as it arrives, until the process ends."""
    with told.open(encoding="utf-8") as lines:
        ended = False
        while True:
            line = lines.readline()
            if line:
                yield line
            elif ended:
                return
            else:
                time.sleep(0.1)
                ended = os.waitpid(child, os.WNOHANG)[0] != 0


def fork(work: Callable[[], int], *, silent: bool = True) -> int:
    """A process that does this work and exits with its result; 1 if it breaks off."""
    child = os.fork()
    if child:
        return child
    try:
        if silent:
            silence = os.open(os.devnull, os.O_WRONLY)
            os.dup2(silence, 1)
            os.dup2(silence, 2)
        os.setsid()
        os._exit(work())
    finally:
        os._exit(NOTICED)  # an import that fails is noticed


def waited(child: int, seconds: float) -> int:
    """The exit code of a process; NOTICED if it does not end in time."""
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.02)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return NOTICED


def _pytest(tests: Sequence[str], *plugins: object) -> int:
    import pytest

    early = "ignore::pytest.PytestAssertRewriteWarning"  # for plugins that were imported early
    without = [option for plugin in ("cacheprovider", "xdist") for option in ("-p", f"no:{plugin}")]
    arguments = ["-W", early, "-x", "-q", "--hypothesis-profile=fast", *without]
    if not set(tests) & SLOW:
        arguments += ["-m", "not slow"]
    return int(pytest.main([*arguments, *(str(ROOT / "tests" / name) for name in tests)], plugins=list(plugins)))


class _Asking:
    """A plugin of pytest: collects the tests, and runs them in forked processes, never in this one."""

    def __init__(self, mutants: Sequence[Mutant], told: Path) -> None:
        import coverage

        self._mutants = mutants
        self._told = told
        paths = sorted({str(mutant.path) for mutant in mutants})
        self._coverage = coverage.Coverage(data_file=None, config_file=False, include=paths)
        self._coverage.start()  # before Quoth is imported

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        lines = self._told.with_name("lines.json")
        began = time.monotonic()
        code = waited(fork(lambda: self._as_it_is(session, lines)), 600)
        self._coverage.stop()
        took = time.monotonic() - began
        self._tell(-1, RED if code or session.testsfailed else SURVIVED, took)
        if code or session.testsfailed:
            return True
        runs: dict[str, dict[str, list[str]]] = json.loads(lines.read_text(encoding="utf-8"))
        for number, mutant in enumerate(self._mutants):
            began = time.monotonic()
            fault = mutant.fault
            first = _statement(mutant.path.read_text(encoding="utf-8"), fault.line)
            here = runs[str(mutant.path)]
            tests = {name for line in range(first, fault.end + 1) for name in here.get(str(line), [])}
            if AT_IMPORT in tests:
                answer = ANEW
            elif not tests:
                answer = SURVIVED  # no test runs it
            else:
                run = fork(partial(_with_fault, session, mutant, tests))
                answer = waited(run, PATIENCE + PATIENT * took)
            self._tell(number, answer, time.monotonic() - began)
        return True

    def _tell(self, number: int, code: int, seconds: float) -> None:
        with self._told.open("a", encoding="utf-8") as told:
            told.write(json.dumps([number, code, round(seconds, 1)]) + "\n")

    def _as_it_is(self, session: pytest.Session, lines: Path) -> int:
        """Which lines each test runs; RED if one of them fails."""
        _run(session, session.items, lambda item: self._coverage.switch_context(item.nodeid))
        if session.testsfailed:
            return RED
        self._coverage.stop()
        data = self._coverage.get_data()
        found = {str(mutant.path): data.contexts_by_lineno(str(mutant.path)) for mutant in self._mutants}
        lines.write_text(json.dumps(found), encoding="utf-8")
        return SURVIVED


def _statement(source: str, line: int) -> int:
    """The first line of the innermost statement around a line."""
    nodes = (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.stmt))
    return max((node.lineno for node in nodes if node.lineno <= line <= (node.end_lineno or 0)), default=line)


def _with_fault(session: pytest.Session, mutant: Mutant, names: set[str]) -> int:
    try:
        swap(str(mutant.path), mutant.path.read_text(encoding="utf-8"), mutant.fault.source)
    except CannotSwap:
        return ANEW
    nearest = [item for item in session.items if item.nodeid in names]
    others = [item for item in session.items if item.nodeid not in names]  # they may share a fixture
    _run(session, nearest + others)
    return NOTICED if session.testsfailed else SURVIVED


def _run(
    session: pytest.Session, items: Sequence[pytest.Item], before: Callable[[pytest.Item], object] = lambda _: None
) -> None:
    """Like pytest's own loop, until one fails."""
    for number, item in enumerate(items):
        following = items[number + 1] if number + 1 < len(items) else None
        before(item)
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        if session.testsfailed:
            return


class _Faulty(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports one module of Quoth with its fault, and all others unchanged."""

    def __init__(self, mutant: Mutant) -> None:
        self._name = "quoth." + mutant.module.replace("/", ".")
        self._path = str(mutant.path)
        self._source = mutant.fault.source

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name != self._name:
            return None
        return importlib.util.spec_from_file_location(name, self._path, loader=self)

    def exec_module(self, module: ModuleType) -> None:
        exec(compile(self._source, self._path, "exec", dont_inherit=True), module.__dict__)


def _imported_anew(mutant: Mutant) -> int:
    sys.meta_path.insert(0, _Faulty(mutant))
    return NOTICED if _pytest(mutant.tests) else SURVIVED

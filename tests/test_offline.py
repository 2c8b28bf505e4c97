"""Nothing leaves the machine, and nothing is written outside the data directory, unless settings say so.

Each command is a new process with its own environment, without `CI`: some libraries keep quiet if that is set. Python's
audit events say what it opens and connects to; strace, if it is installed, and a look at the home directory afterwards
show what native code does.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import httpx2
import pytest

from doors import ASKED, PAGE
from serving import STARTED

SOURCE = Path(__file__).parents[1] / "src" / "quoth"
CONVERTER = re.compile(r"subprocess\.Popen .*'-m', 'quoth\.models\.document_process', '\d+'\]")  # a process of ours

# Goes into a file that Python runs at the start of every process.
AUDIT = """
import os, sys
log = os.open(os.environ["AUDIT_LOG"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
def hook(event, args):
    if event == "open":
        path, mode, flags = args
        if isinstance(path, int) or not flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
            return
    elif event not in ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto", "os.mkdir",
                       "os.rename", "os.link", "os.symlink", "subprocess.Popen", "os.system", "webbrowser.open"):
        return
    os.write(log, (event + " " + " ".join(map(str, args)) + "\\n").encode("utf-8", "replace"))
sys.addaudithook(hook)
"""


@dataclass
class Machine:
    """A home, a working directory, a temporary folder and a data directory, all new."""

    place: Path

    def __post_init__(self) -> None:
        for name in ("home", "work", "tmp", "data", "hook"):
            (self.place / name).mkdir()
        (self.place / "hook" / "sitecustomize.py").write_text(AUDIT, encoding="utf-8")

    @property
    def environment(self) -> dict[str, str]:
        """The whole environment: nothing comes from that of the test run."""
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.place / "home"),
            "TMPDIR": str(self.place / "tmp"),
            "PYTHONPATH": os.pathsep.join((str(self.place / "hook"), *filter(None, sys.path))),
            "PYTHONDONTWRITEBYTECODE": "1",
            "AUDIT_LOG": str(self.place / "audit.log"),
            "LANG": "C.UTF-8",
        }

    def command(self, *arguments: str | Path) -> list[str]:
        return [sys.executable, "-m", "quoth", *map(str, arguments), "--data-dir", str(self.place / "data")]

    def run(self, *arguments: str | Path, prefix: Sequence[str] = (), said: str = "") -> str:
        run = subprocess.run(
            [*prefix, *self.command(*arguments)],
            cwd=self.place / "work",
            env=self.environment,
            input=said,
            capture_output=True,
            text=True,
            timeout=110,
        )
        assert run.returncode == 0, run.stderr
        return run.stdout

    def check(self) -> None:
        """Nothing was looked up or connected to, and nothing is outside the data directory."""
        events = (self.place / "audit.log").read_text(encoding="utf-8").splitlines()
        assert any(event.startswith("open ") for event in events), "the audit hook was not there"
        allowed = (str(self.place / "data"), str(self.place / "tmp"), "/dev/null", "/dev/tty")
        outside = [
            event
            for event in events
            if (not event.startswith(("open ", "os.")) or not event.split()[1].startswith(allowed))
            and not CONVERTER.match(event)
        ]
        assert outside == []
        assert [path for name in ("home", "work", "tmp") for path in (self.place / name).rglob("*")] == []


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


@pytest.fixture(scope="module")
def used(tmp_path_factory: pytest.TempPathFactory) -> Machine:
    """A machine with a book."""
    made = Machine(tmp_path_factory.mktemp("machine"))
    docs = made.place / "docs"
    docs.mkdir()
    (docs / "topics.md").write_text(PAGE, encoding="utf-8")
    made.run("ingest", docs, "--book", "book")
    return made


pytestmark = pytest.mark.slow


def write_docx(path: Path) -> None:
    parts = {
        "[Content_Types].xml": '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"/>',
        "word/document.xml": '<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main">'
        "<w:body><w:p><w:r><w:t>A robot obeys its operator.</w:t></w:r></w:p></w:body></w:document>",
        "_rels/.rels": '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
        '<Relationship Id="r1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/'
        'officeDocument" Target="word/document.xml"/></Relationships>',
    }
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)


def test_an_ingest_keeps_to_its_data_directory(used: Machine) -> None:
    used.check()


@pytest.mark.skipif(find_spec("markitdown") is None, reason="the extra `documents` is not installed")
def test_an_ingest_of_documents_keeps_to_it(machine: Machine) -> None:
    """Their converter loads onnxruntime too."""
    docs = machine.place / "docs"
    docs.mkdir()
    write_docx(docs / "robots.docx")
    assert machine.run("ingest", docs, "--book", "book").startswith("Ingested book: 1 page")
    machine.check()


def test_a_question_keeps_to_it(used: Machine) -> None:
    assert used.run("ask", ASKED).startswith("Transient local durability keeps the last message")
    used.check()


def test_a_server_keeps_to_it(used: Machine) -> None:
    ask_the_server(used)
    used.check()


def ask_the_server(used: Machine, prefix: Sequence[str] = ()) -> None:
    with subprocess.Popen(
        [*prefix, *used.command("serve", "--port", "0")],
        cwd=used.place / "work",
        env=used.environment,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr
        try:
            [address] = STARTED.findall(process.stderr.readline())
            answer = httpx2.post(f"{address}/chat", json={"query": ASKED}, timeout=100, trust_env=False)
            assert answer.json()["answer"].startswith("Transient local durability")
            time.sleep(3)  # a library would send what it has gathered in the background
        finally:
            process.terminate()
    assert process.returncode == 0


def test_a_server_for_agents_keeps_to_it(used: Machine) -> None:
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    calls = [("initialize", hello), ("tools/call", {"name": "ask", "arguments": {"query": ASKED}})]
    with subprocess.Popen(
        used.command("mcp"),
        cwd=used.place / "work",
        env=used.environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin
        assert process.stdout
        answer = ""
        for number, (method, params) in enumerate(calls, start=1):
            process.stdin.write(json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}) + "\n")
            process.stdin.flush()
            answer = process.stdout.readline()
        process.stdin.close()
        assert process.wait(60) == 0
    assert "Transient local durability" in answer
    used.check()


# --- what native code does ---


OPENED = re.compile(r'openat\([^"]*"([^"]*)", [^)]*(?:O_WRONLY|O_RDWR|O_CREAT)')
REACHED = re.compile(r"(?:connect|sendto|sendmsg|sendmmsg)\(.*sa_family=AF_INET")


def native(trace: Path) -> Iterator[str]:
    for line in trace.read_text(encoding="utf-8", errors="replace").splitlines():
        if REACHED.search(line):
            yield line
        elif found := OPENED.search(line):
            yield found[1]


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")
@pytest.mark.parametrize("command", ["ask", "ingest", "serve"])
def test_neither_does_native_code_reach_out_or_write_elsewhere(used: Machine, command: str) -> None:
    trace = used.place / f"trace of {command}"
    strace = ("strace", "-D", "-f", "-qq", "-e", "trace=network,openat", "-o", str(trace))
    if command == "serve":
        ask_the_server(used, strace)
    elif command == "ask":
        used.run("ask", ASKED, prefix=strace)
    else:
        used.run("ingest", used.place / "docs", "--book", "book", "--mode", "recreate", prefix=strace)
    seen = list(native(trace))
    inside = str(used.place / "data")
    assert any(path.startswith(inside) for path in seen), "strace saw nothing"
    ours = (inside, str(used.place / "tmp"), str(used.place / "audit.log"), "/dev/")
    assert [path for path in seen if not path.startswith(ours)] == []


# --- what libraries would report ---


def test_the_web_framework_gives_nothing_to_the_telemetry_of_the_process() -> None:
    """Its own spans and logs would hold error messages. In a separate process, because a provider is set only once."""
    program = """
import asyncio, httpx2
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
exporter, provider = InMemorySpanExporter(), TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(exporter))
trace.set_tracer_provider(provider)
from quoth.serve.app import create_app
from quoth.settings import load_settings
async def main():
    transport = httpx2.ASGITransport(create_app(load_settings(environ={})))
    async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
        print((await client.get("/healthz")).status_code, [span.name for span in exporter.get_finished_spans()])
asyncio.run(main())
"""
    path = os.pathsep.join(filter(None, sys.path))
    run = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": path, "FASTAPI_OTEL_AUTO_CONFIGURE": "true"},
    )
    assert run.stdout.endswith(" []\n"), run.stdout + run.stderr


def test_onnxruntime_is_imported_in_one_place_and_forbidden_to_report_before() -> None:
    importing = re.compile(r"^\s*(?:import|from) (onnxruntime|markitdown|magika)\b", re.MULTILINE)
    sites = {
        (path.relative_to(SOURCE).as_posix(), found[1])
        for path in SOURCE.rglob("*.py")
        for found in importing.finditer(path.read_text(encoding="utf-8"))
    }
    converting = {f"models/document_{name}.py" for name in ("process", "pdf", "archives")}  # all in that one process
    assert sites == {("models/runtime.py", "onnxruntime"), *((file, "markitdown") for file in converting)}
    process = (SOURCE / "models" / "document_process.py").read_text(encoding="utf-8")
    assert process.index("    forbid_telemetry()") < process.index("    from markitdown import MarkItDownException")


def test_the_container_forbids_it_too() -> None:
    assert "ORT_DISABLE_TELEMETRY=1" in (SOURCE.parents[1] / "Dockerfile").read_text(encoding="utf-8")

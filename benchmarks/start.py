"""Start, memory and size: cold start of `quoth ask`, memory of an idle `quoth serve`, size of the installation.

Writes docs/benchmarks/start.json and start.md. Cold start means a new process each time, with files
warm in the page cache, as on a machine in use.
"""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
QUOTH = Path(sys.executable).with_name("quoth")
ROUNDS = 7
QUESTION = "How do late subscribers get the last message that was published?"


def timed(*command: str | Path) -> float:
    began = time.perf_counter()
    subprocess.run([str(part) for part in command], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - began


def resident_mb(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    found = re.search(r"VmRSS:\s+(\d+) kB", status)
    assert found is not None
    return int(found.group(1)) / 1024


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def post(url: str, body: dict[str, object]) -> None:
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=30) as response:
        response.read()


def serve_memory(data: Path) -> dict[str, float]:
    """Idle: the model is warm and one question has been answered, as after the first reader."""
    port = free_port()
    log = subprocess.DEVNULL
    server = subprocess.Popen(
        [str(QUOTH), "serve", "--data-dir", str(data), "--port", str(port)], stdout=log, stderr=log
    )
    try:
        base = f"http://127.0.0.1:{port}"
        began = time.perf_counter()
        while time.perf_counter() - began < 30:
            try:
                urllib.request.urlopen(f"{base}/readyz", timeout=1).read()
                break
            except OSError:
                time.sleep(0.05)
        ready = time.perf_counter() - began
        fresh = resident_mb(server.pid)
        for _ in range(20):
            post(f"{base}/chat", {"query": QUESTION})
        time.sleep(2)
        return {"ready_seconds": ready, "idle_mb_before": fresh, "idle_mb": resident_mb(server.pid)}
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait(timeout=20)


def installed_mb() -> float:
    """Size of the packages in requirements/run.lock alone, in a separate environment."""
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "venv"
        subprocess.run([sys.executable, "-m", "venv", target], check=True)
        pip = [str(target / "bin" / "python"), "-m", "pip", "install", "--quiet", "--no-deps"]
        subprocess.run([*pip, "--require-hashes", "-r", str(ROOT / "requirements" / "run.lock")], check=True)
        sizes = (path.lstat().st_blocks * 512 for path in target.rglob("*") if path.is_file() and not path.is_symlink())
        return sum(sizes) / 1e6


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder)
        timed(QUOTH, "ingest", ROOT / "examples" / "robotics-book", "--data-dir", data)
        asked = [timed(QUOTH, "ask", QUESTION, "--data-dir", data) for _ in range(ROUNDS)]
        bare = [timed(sys.executable, "-c", "pass") for _ in range(ROUNDS)]
        figures = {
            "cores": os.cpu_count(),
            "ask_cold_start_seconds": statistics.median(asked),
            "ask_cold_start_worst_seconds": max(asked),
            "python_start_seconds": statistics.median(bare),
            **serve_memory(data),
            "installed_mb": installed_mb(),
        }
    out = ROOT / "docs" / "benchmarks"
    out.mkdir(parents=True, exist_ok=True)
    (out / "start.json").write_text(json.dumps(figures, indent=2) + "\n")
    rows = [
        f"| {name} | {value:.3f} |" if isinstance(value, float) else f"| {name} | {value} |"
        for name, value in figures.items()
    ]
    (out / "start.md").write_text(
        "# Start, memory, size\n\nWritten by `make bench-start`. "
        "Target: cold start < 1.5 s, idle < 350 MB, installed < 600 MB.\n\n"
        "| figure | measured |\n|---|---|\n" + "\n".join(rows) + "\n"
    )
    print((out / "start.md").read_text())


if __name__ == "__main__":
    main()

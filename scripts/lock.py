"""Resolve pyproject.toml into requirements/*.lock, complete and hashed, for every platform: `run` is the default
install, `cluster` is for the container, `dev` is everything. Separately, `sites/` is for `make sites` and
`clients/` for `make test-clients`.

Needs `uv`. The first three leave out the packages in requirements/exclude.txt. Writes no index host.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LOCKS = {
    "run.lock": ["--group", "weights"],
    "cluster.lock": [
        "--group",
        "weights",
        *(f"--extra={name}" for name in ("postgres", "redis", "telemetry")),
    ],
    "dev.lock": ["--group", "weights", "--group", "dev"],
}
APART = ("sites/python", "clients/python", "clients/python-openai2")


def main() -> None:
    uv = shutil.which("uv")
    if uv is None:
        sys.exit("uv is not on the PATH: pip install uv, in any environment, and run this again.")
    for name, parts in LOCKS.items():
        constraints = ["--constraints", "requirements/run.lock"] if name != "run.lock" else []
        compile_lock(uv, "pyproject.toml", name, *parts, *constraints, "--excludes", "requirements/exclude.txt")
    for name in APART:
        compile_lock(uv, f"requirements/{name}.in", f"{name}.lock")


def compile_lock(uv: str, wanted: str, name: str, *parts: str) -> None:
    command = [uv, "pip", "compile", wanted, "--universal", "--python-version", "3.11"]
    command += ["--generate-hashes", "--no-emit-index-url", "--no-header", "--quiet", "--upgrade"]
    command += ["-o", f"requirements/{name}", *parts]
    subprocess.run(command, cwd=ROOT, check=True)


if __name__ == "__main__":
    main()

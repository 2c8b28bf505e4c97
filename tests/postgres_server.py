"""A real PostgreSQL server for the tests, of the system's own binaries: a data directory and a port of its own.

Made once for each process that runs tests, with nothing flushed to disk; each test gets a database of its own on it.
It listens on loopback only, and only to a password.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import uuid
from pathlib import Path

USER = "quoth"
PASSWORD = "correct horse/battery?staple"  # with signs that an address must escape
ESCAPED = "correct%20horse%2Fbattery%3Fstaple"
FAST = "-c fsync=off -c synchronous_commit=off -c full_page_writes=off -c shared_buffers=16MB"


def binaries() -> Path | None:
    """Where initdb and pg_ctl are; Debian does not put them on the PATH."""
    if (told := shutil.which("pg_config")) is None:
        return None
    folder = Path(subprocess.run([told, "--bindir"], capture_output=True, text=True).stdout.strip())
    return folder if (folder / "initdb").exists() and (folder / "pg_ctl").exists() else None


class PostgresServer:
    def __init__(self, bin_dir: Path) -> None:
        self._bin = bin_dir
        memory = Path("/dev/shm")
        self._folder = Path(tempfile.mkdtemp(prefix="quoth-pg-", dir=memory if os.access(memory, os.W_OK) else None))
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port: int = free.getsockname()[1]
        secret = self._folder / "password"
        secret.write_text(PASSWORD)
        if os.getuid() == 0:  # the server refuses to run as root
            for path in (self._folder, secret):
                shutil.chown(path, "postgres", "postgres")
        self._do(
            "initdb",
            *("--auth=scram-sha-256", f"--username={USER}", f"--pwfile={secret}", "--encoding=UTF8"),
            *("--locale=C.UTF-8", "--no-sync", "--pgdata", self._folder / "data"),
        )

    def start(self, more: str = "") -> None:
        place = f"-p {self.port} -c listen_addresses=127.0.0.1 -c unix_socket_directories="
        self._control("-l", self._folder / "log", "-o", f"{place} {FAST} {more}", "--wait", "start")

    def stop(self) -> None:
        """As an operator would: connections are cut, transactions rolled back."""
        self._control("-m", "fast", "--wait", "stop")

    def remove(self) -> None:
        if (self._folder / "data" / "postmaster.pid").exists():
            self._control("-m", "immediate", "--wait", "stop")
        shutil.rmtree(self._folder)

    def new_database(self) -> str:
        """Its address."""
        name = f"t{uuid.uuid4().hex[:12]}"
        self.sql(f"CREATE DATABASE {name} TEMPLATE template0")
        return self.url(name)

    def url(self, database: str, *, password: str = ESCAPED) -> str:
        return f"postgresql+asyncpg://{USER}:{password}@127.0.0.1:{self.port}/{database}"

    def sql(self, statement: str, *, database: str = "postgres") -> str:
        where = ["-h", "127.0.0.1", "-p", str(self.port), "-U", USER, "-d", database]
        return self._do("psql", *where, "-AtXqc", statement, environment={"PGPASSWORD": PASSWORD}).strip()

    def _control(self, *arguments: str | Path) -> None:
        self._do("pg_ctl", "-D", self._folder / "data", *arguments)

    def _do(self, name: str, *arguments: str | Path, environment: dict[str, str] | None = None) -> str:
        account = {"user": "postgres", "group": "postgres", "extra_groups": []} if os.getuid() == 0 else {}
        with tempfile.TemporaryFile("w+") as output:  # a pipe would be held open by the server that pg_ctl leaves
            done = subprocess.run(
                [self._bin / name, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd="/",
                env={**os.environ, **(environment or {})},
                **account,  # type: ignore[call-overload]  # a choice of its keywords
            )
            output.seek(0)
            said = output.read()
        assert done.returncode == 0, said
        return said

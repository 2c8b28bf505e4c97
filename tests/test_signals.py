"""What the tests themselves rely on: their processes behave alike, however the tests were started."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

IGNORED = [name for name in signal.Signals if name in (signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGHUP)]

PARENT = """
import signal, subprocess, sys
from commands import give_children_their_signals
number = signal.Signals(int(sys.argv[1]))
give_children_their_signals()
signal.raise_signal(number)
child = f"import os, signal; print(signal.getsignal({int(number)})); os.kill(os.getpid(), {int(number)})"
run = subprocess.run([sys.executable, "-c", child], capture_output=True, text=True)
print(run.stdout.strip(), run.returncode)
"""


@pytest.mark.parametrize("number", IGNORED)
def test_a_run_that_ignores_a_signal_starts_processes_that_do_not(number: signal.Signals) -> None:
    """As `nohup make test &` in a script: the run itself goes on, and Ctrl-C in a test's terminal is heard."""
    run = subprocess.run(
        ["bash", "-c", f"trap '' {int(number)}; exec {sys.executable} -c '{PARENT}' {int(number)}"],
        env={"PYTHONPATH": str(Path(__file__).parent)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "SIG_IGN" not in run.stdout
    assert run.stdout.rstrip().endswith(f" {-number}")

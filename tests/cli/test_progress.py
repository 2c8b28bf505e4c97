"""The one progress bar: a person at a terminal sees it, a program does not."""

from __future__ import annotations

import io
from collections.abc import Callable

import pytest

from quoth.cli.progress import progress_bar


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> Callable[[], Screen]:
    """To be called inside a test, because pytest replaces the stream before each test."""

    def watch() -> Screen:
        screen = Screen()
        monkeypatch.setattr("sys.stderr", screen)
        return screen

    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    return watch


def test_a_person_sees_what_is_going_on_and_how_far_it_is(watched: Callable[[], Screen]) -> None:
    screen = watched()
    with progress_bar("Asking") as bar:
        bar(3, 4)
    assert "Asking" in screen.getvalue()
    assert "3/4" in screen.getvalue()


def test_a_command_may_say_more_than_the_steps(watched: Callable[[], Screen]) -> None:
    screen = watched()
    with progress_bar("Reading") as bar:
        bar(1.5, 4, "1/4 pages · 12 chunks")
    assert "1/4 pages · 12 chunks" in screen.getvalue()


def test_a_line_above_the_bar_stays_when_the_bar_is_gone(watched: Callable[[], Screen]) -> None:
    screen = watched()
    with progress_bar("Reading") as bar:
        bar(1, 2)
        bar.say("Plan: 2 new pages")
    kept = screen.getvalue().rpartition("Plan: 2 new pages\n")
    assert kept[1]
    assert kept[2].endswith("\x1b[2K")  # the bar's own line is erased


def test_the_rate_is_measured_from_when_the_bar_appeared(watched: Callable[[], Screen]) -> None:
    watched()
    with progress_bar("Reading") as bar:
        assert bar.elapsed > 0


def test_a_program_that_reads_json_gets_no_bar(watched: Callable[[], Screen]) -> None:
    screen = watched()
    with progress_bar("Asking", quiet=True) as bar:
        bar(3, 4)
        bar.say("a line")
        assert bar.elapsed == 0
    assert screen.getvalue() == ""


def test_a_pipe_gets_no_bar(capsys: pytest.CaptureFixture[str]) -> None:
    with progress_bar("Asking") as bar:
        bar(3, 4)
        bar.say("a line")
    assert capsys.readouterr() == ("", "")

"""Text on a terminal: paragraphs, tables, and one live line, which is not written to files and pipes."""

from __future__ import annotations

import importlib
import os
import shutil
import sys
import textwrap
from collections.abc import Callable, Generator, Sequence
from time import perf_counter
from typing import Any, TextIO, TypeAlias

from penstock.core.contexts import contextmanager
from penstock.core.shown import without_credentials

Update: TypeAlias = Callable[[int, str], None]
WIDEST = 110  # columns that prose fills
MOST_OFTEN = 0.1  # seconds between two changes of a moving line


class Terminal:
    """The output of a command. `moving` is true if lines can be overwritten there."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self.stream = sys.stdout if stream is None else stream
        self.moving = self.stream.isatty() and os.environ.get("TERM") != "dumb"

    @property
    def width(self) -> int:
        """Return the number of columns of the terminal."""
        return shutil.get_terminal_size((WIDEST, 24)).columns

    @property
    def height(self) -> int:
        """Return the number of rows of the terminal."""
        return shutil.get_terminal_size((WIDEST, 24)).lines

    def heading(self, text: str) -> None:
        """Print an emphasized line, after an empty one."""
        self._write(f"\n\x1b[1m{text}\x1b[0m\n" if self.moving else f"\n{text}\n")

    def say(self, text: str, indent: int = 3) -> None:
        """Print a paragraph, wrapped."""
        margin = " " * indent
        width = min(self.width, WIDEST)
        wrapped = textwrap.fill(
            text, width, initial_indent=margin, subsequent_indent=margin, break_long_words=False, break_on_hyphens=False
        )
        self._write(wrapped + "\n")

    def show(self, lines: str, indent: int = 3) -> None:
        """Print lines unchanged, such as a table."""
        self._write(textwrap.indent(lines, " " * indent) + "\n")

    def table(self, rows: Sequence[Sequence[str]], indent: int = 3) -> None:
        """Print columns: the first aligned to the left, the others to the right."""
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        for first, *others in rows:
            cells = [first.ljust(widths[0]), *(cell.rjust(wide) for cell, wide in zip(others, widths[1:], strict=True))]
            self.show("  ".join(cells).rstrip(), indent)

    @contextmanager
    def live(self) -> Generator[Callable[[str], None]]:
        """Yield a function that replaces the text of one line, cleared at the end; in a file it does nothing."""

        def replace(text: str) -> None:
            if self.moving:
                self._write(f"\r\x1b[2K{text[: self.width - 1]}")

        try:
            yield replace
        finally:
            replace("")

    @contextmanager
    def progress(self, what: str, total: int) -> Generator[Update]:
        """Yield a function of (steps done, a note) that moves a bar, drawn by rich if installed, else as text."""
        rich = _rich() if self.moving else None
        if rich is None:
            with self.live() as replace:
                yield _throttled(lambda done, note: replace(f"   {what} {_bar(done, total)} {done}/{total} {note}"))
            return
        columns = [
            rich.TextColumn("   {task.description}"),
            rich.BarColumn(30),
            rich.MofNCompleteColumn(),
            rich.TextColumn("{task.fields[note]}"),
        ]
        with rich.Progress(*columns, transient=True, console=_console(self.stream)) as bar:
            task = bar.add_task(what, total=total, note="")
            yield _throttled(lambda done, note: bar.update(task, completed=done, note=note))

    def _write(self, text: str) -> None:
        text = without_credentials(text)
        try:
            self.stream.write(text)
        except UnicodeEncodeError as error:
            self.stream.write(text.encode(error.encoding, "replace").decode(error.encoding))
        self.stream.flush()


def _bar(done: int, total: int, width: int = 30) -> str:
    return f"[{'#' * (width * done // total):<{width}}]"


def _throttled(update: Update) -> Update:
    last = 0.0

    def sometimes(done: int, note: str = "") -> None:
        nonlocal last
        if perf_counter() - last >= MOST_OFTEN:
            last = perf_counter()
            update(done, note)

    return sometimes


def _rich() -> Any:
    try:
        return importlib.import_module("rich.progress")
    except ImportError:
        return None


def _console(stream: TextIO) -> Any:
    return importlib.import_module("rich.console").Console(file=stream)

"""A terminal for tests: the text that is left on it, and programs that run on a real one."""

from __future__ import annotations

import fcntl
import io
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from collections.abc import Callable, Sequence

CODE = re.compile(r"\x1b\[(\d*)([A-Za-z])|\x1b\[\?\d+[hl]|\x1b([D78])|\r|\n|[^\x1b\r\n]+")

BEGIN_THERE = """
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)  # so that Ctrl-C is a signal
os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
"""


class FakeTerminal(io.StringIO):
    """A terminal of some rows, which interprets the codes that the library writes, and no others."""

    def __init__(self, columns: int = 80, rows: int = 24) -> None:
        super().__init__()
        self.columns, self.rows = columns, rows
        self.screen = [""] * rows
        self.gone: list[str] = []  # lines that left at the top
        self.row = self.column = 0
        self.saved = (0, 0)
        self.raw = ""

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> int:
        self.raw += text
        at = 0
        while at < len(text):
            found = CODE.match(text, at)
            assert found is not None, f"an unknown code: {text[at : at + 10]!r}"
            self._do(found)
            at = found.end()
        return len(text)

    def _do(self, found: re.Match[str]) -> None:
        whole, number, letter, plain = found[0], found[1], found[2], found[3]
        if whole == "\r":
            self.column = 0
        elif whole == "\n" or plain == "D":
            self.column = 0 if whole == "\n" else self.column
            self._down()
        elif plain == "7":
            self.saved = self.row, self.column
        elif plain == "8":
            self.row, self.column = self.saved
        elif letter == "A":
            self.row = max(self.row - int(number or 1), 0)
        elif letter == "J":
            self.screen[self.row] = self.screen[self.row][: self.column]
            self.screen[self.row + 1 :] = [""] * (self.rows - self.row - 1)
        elif letter == "K":
            self.screen[self.row] = "" if number == "2" else self.screen[self.row][: self.column]
        elif letter != "m" and not whole.startswith("\x1b"):
            line = self.screen[self.row].ljust(self.column)
            assert self.column + len(whole) < self.columns or not self.in_view(whole), "a line that would be wrapped"
            self.screen[self.row] = line[: self.column] + whole + line[self.column + len(whole) :]
            self.column += len(whole)

    def in_view(self, text: str) -> bool:
        return "█" in text or "·" in text

    def _down(self) -> None:
        if self.row < self.rows - 1:
            self.row += 1
        else:
            self.gone.append(self.screen.pop(0))
            self.screen.append("")

    @property
    def lines(self) -> list[str]:
        """The lines that were ever on the terminal and are still, without empty ones at the end."""
        lines = [line.rstrip() for line in [*self.gone, *self.screen]]
        while lines and not lines[-1]:
            lines.pop()
        return lines


def on_terminal(
    program: Sequence[str],
    *,
    columns: int = 100,
    rows: int = 24,
    environment: dict[str, str] | None = None,
    answer: Callable[[str], str | None] = lambda _: None,
) -> tuple[int, str]:
    """Run a Python program on a real terminal, and return its status and output; `answer` may type at some output."""
    terminal, end = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    begun = subprocess.Popen(
        [sys.executable, "-c", BEGIN_THERE, *program],
        stdin=end,
        stdout=end,
        stderr=end,
        start_new_session=True,
        env={**os.environ, "TERM": "xterm", **(environment or {})},
    )
    os.close(end)
    output = b""
    while True:
        try:
            more = os.read(terminal, 1 << 16)
        except OSError:  # the program has ended
            break
        if not more:
            break
        output += more
        typed = answer(output.decode(errors="replace"))
        if typed:
            os.write(terminal, typed.encode())
    os.close(terminal)
    return begun.wait(), output.decode()

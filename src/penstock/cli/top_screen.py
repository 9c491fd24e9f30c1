"""The passes of this machine on a whole terminal, with keys that change them."""

from __future__ import annotations

import os
import select
import sys
import termios
import tty
from collections import deque
from collections.abc import Sequence
from textwrap import wrap
from typing import TYPE_CHECKING

from penstock.cli.top import NO_PASSES, details_of, table_of_passes
from penstock.watch.live.screen import Screen
from penstock.watch.live.view import Glance, Style, as_shown, clipped
from penstock.watch.top.client import ProcessSeen, change, processes_seen

if TYPE_CHECKING:
    from penstock.cli.terminal import Terminal
    from penstock.watch.top.message import PassSeen

LOOK_PAUSE_OF_TOP = 1.0  # seconds
RECENT_LOOKS = 6  # whose rates are shown
LEAST_BUDGET_SET = 1 << 20  # bytes
HELP = "q: quit   up down: select   + -: workers   p: pause   [ ]: memory ahead"  # the most needed first
KEYS = {"\x1b[A": "up", "\x1bOA": "up", "k": "up", "\x1b[B": "down", "\x1bOB": "down", "j": "down", "q": "quit"}
BEGIN, END = "\x1b[?1049h\x1b[?25l", "\x1b[?25h\x1b[?1049l"

PassKey = tuple[str, int]
"""The path of the socket of its process, and the number of a pass."""
Selected = tuple[int, int]
"""A process, and the number of its pass: the next pass of the process takes its place."""


class TopScreen:
    """The state of the screen: the passes seen last, the one that is selected, and the answer to the last change."""

    def __init__(self) -> None:
        self.selected: Selected | None = None
        self.told = ""
        self._processes: Sequence[ProcessSeen] = ()
        self._recent: dict[PassKey, deque[Glance]] = {}
        self._asked: dict[PassKey, int] = {}  # workers, until the pass has them

    def look(self, processes: Sequence[ProcessSeen]) -> None:
        """Take note of the passes of this moment."""
        self._processes = processes
        seen = self._passes()
        self._recent = {key: self._recent.get(key, deque(maxlen=RECENT_LOOKS)) for key in seen}
        for key, each in seen.items():
            self._recent[key].append(each.glance)
            if self._asked.get(key) == each.glance.stats.workers:
                del self._asked[key]
        self.selected = self._selected_now()

    def lines(self, width: int, height: int, style: Style) -> list[str]:
        """Return the lines of the screen, at most `height` of at most `width` columns."""
        before = {key: looks[0] for key, looks in self._recent.items() if len(looks) > 1}
        table = (
            table_of_passes(self._processes, before, max(width - 2, 0))
            if self._processes
            else wrap(NO_PASSES, max(width, 1))
        )
        shown = [f"{'>' if marked else ' '} {line}" for marked, line in zip(self._marks(), table, strict=False)]
        shown = shown or table
        lines = [self._marked(clipped(as_shown(line, style), width), style) for line in shown]
        if (key := self._key()) is not None:
            lines += ["", *details_of(self._passes()[key], before.get(key), width, style)]
        end = ["", clipped(as_shown(self.told, style), width), clipped(HELP, width)]
        return [*lines[: max(height - len(end), 0)], *end][:height]

    def press(self, key: str) -> bool:
        """Do what a key says; return false if it is the end."""
        do = KEYS.get(key, key)
        if do == "quit":
            return False
        if do in ("up", "down"):
            self._select(-1 if do == "up" else 1)
        elif (at := self._key()) is not None and (changes := self._changes(do, at)):
            done, refused = change(at[0], changes, at[1])
            if not refused and "workers" in changes:
                self._asked[at] = changes["workers"]
            self.told = "; ".join([*done, *refused])
        elif at is None and self.selected is not None:
            self.told = f"process {self.selected[0]} has no pass under way"
        return True

    def _changes(self, key: str, selected: PassKey) -> dict[str, int]:
        glance = self._passes()[selected].glance
        workers = self._asked.get(selected, glance.stats.workers)
        if key == "p":
            return {"resume" if glance.paused else "pause": 1}
        if key in ("+", "-"):
            return {"workers": max(workers + (1 if key == "+" else -1), 1)}
        if key in ("[", "]"):
            budget = glance.stats.budget
            return {"memory_budget": max(budget // 2 if key == "[" else budget * 2, LEAST_BUDGET_SET)}
        return {}

    def _select(self, step: int) -> None:
        places = [(process.pid, each.number) for process in self._processes for each in process.passes]
        pids = [process.pid for process in self._processes]
        if not places:
            return
        if self.selected in places:
            at = places.index(self.selected) + step
        elif self.selected is not None and self.selected[0] in pids:  # from a process between passes
            before = pids[: pids.index(self.selected[0])]
            at = sum(pid in before for pid, _ in places) - (step < 0)
            if not 0 <= at < len(places):
                return
        else:
            at = 0
        self.selected = places[min(max(at, 0), len(places) - 1)]

    def _selected_now(self) -> Selected | None:
        """Return the selected pass, or that which its process makes now: no other process takes its place."""
        if self.selected is None or not self._processes:
            return next(((process.pid, each.number) for process in self._processes for each in process.passes), None)
        pid, number = self.selected
        numbers = [each.number for process in self._processes if process.pid == pid for each in process.passes]
        if number in numbers or not numbers:
            return self.selected
        return pid, next((each for each in numbers if each > number), numbers[-1])

    def _key(self) -> PassKey | None:
        """Return the key of the selected pass; `None` if its process has no pass under way."""
        found = ((process.pid, each.number, process.path) for process in self._processes for each in process.passes)
        return next(((path, number) for pid, number, path in found if (pid, number) == self.selected), None)

    def _passes(self) -> dict[PassKey, PassSeen]:
        return {(process.path, each.number): each for process in self._processes for each in process.passes}

    def _marks(self) -> list[bool]:
        """Return for each line of the table whether it is selected."""
        marks = [False]
        for process in self._processes:
            failed = [False] * (bool(process.failed) and bool(process.passes))
            passes = [(process.pid, each.number) == self.selected for each in process.passes]
            is_selected = self.selected is not None and self.selected[0] == process.pid
            marks += [*failed, *passes] or [is_selected]
        return marks

    def _marked(self, line: str, style: Style) -> str:
        return f"\x1b[7m{line}\x1b[0m" if style.color and line.startswith(">") else line


def watch_passes(terminal: Terminal) -> None:
    """Show the passes on the terminal until q or Ctrl-C is pressed."""
    screen, keyboard, top = Screen(terminal.stream), sys.stdin.fileno(), TopScreen()
    before = termios.tcgetattr(keyboard)
    try:
        tty.setcbreak(keyboard)
        terminal.stream.write(BEGIN)
        goes_on = True
        while goes_on:
            top.look(processes_seen())
            lines = top.lines(screen.width, terminal.height, screen.style)
            terminal.stream.write("\x1b[H" + "\x1b[K\r\n".join(lines) + "\x1b[K\x1b[J")
            terminal.stream.flush()
            if select.select([keyboard], [], [], LOOK_PAUSE_OF_TOP)[0]:
                goes_on = all(map(top.press, keys_of(os.read(keyboard, 256).decode(errors="replace") or "q")))
    except KeyboardInterrupt:
        pass
    finally:
        termios.tcsetattr(keyboard, termios.TCSADRAIN, before)
        terminal.stream.write(END)
        terminal.stream.flush()


def keys_of(typed: str) -> list[str]:
    r"""Return the keys in what was typed.

    >>> keys_of("+j\x1b[Aq")
    ['+', 'j', '\x1b[A', 'q']
    """
    keys: list[str] = []
    while typed:
        key = typed[:3] if typed[:2] in ("\x1b[", "\x1bO") else typed[:1]
        keys.append(key)
        typed = typed[len(key) :]
    return keys

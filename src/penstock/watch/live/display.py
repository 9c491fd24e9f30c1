"""The thread that draws the views of all runs of a process, a few times a second."""

from __future__ import annotations

import os
import threading
from time import monotonic
from typing import Protocol, TextIO

from penstock.watch.live.screen import WIDTH_OF_FILES, Screen, without_screen
from penstock.watch.live.view import Style

DRAW_PAUSE = 0.2  # seconds
PRINT_PAUSE = 10.0  # seconds between two lines in a file
LAST_DRAW = 1.0  # seconds that the end of the last view, or a fork, waits for the thread


class View(Protocol):
    """Lines about one run."""

    def lines(self, width: int, style: Style) -> list[str]:
        """Return lines of at most `width` columns; none if there is nothing new to be shown."""
        ...

    def line(self, width: int) -> str:
        """Return one line for a file; empty if there is nothing to say."""
        ...


class Display:
    """All views of a process. Their thread exists while there are views, and ends before a fork.

    Views are asked for their lines without a lock, since the garbage collection of an iterator removes its view in any
    thread, whatever that thread holds.
    """

    def __init__(self) -> None:
        self.thread: threading.Thread | None = None
        self._forget()

    def _forget(self) -> None:
        self._lock = threading.RLock()
        self._changed = threading.Condition(self._lock)
        self._views: dict[View, Screen] = {}
        self._lines: dict[View, list[str]] = {}
        self._due: dict[View, float] = {}  # the next line in a file
        self._screens: list[Screen] = []
        self._is_showing = False
        self._said: list[tuple[Screen, str]] = []

    def add(self, view: View, stream: TextIO) -> None:
        """Show a view from now on, on a terminal in place, in a file a line now and then."""
        stream = without_screen(stream)
        with self._lock:
            screen = next((each for each in self._screens if each.stream is stream), None)
            if screen is None:
                screen = Screen(stream, self._lock)
                self._screens.append(screen)
            self._views[view] = screen
            self._due[view] = monotonic() + PRINT_PAUSE
            self._start()

    def remove(self, view: View, last: str) -> None:
        """Show a view no more, and print a last line, if there is one. Called again, do nothing."""
        with self._lock:
            screen = self._views.pop(view, None)
            if screen is None:
                return
            self._lines.pop(view, None)
            self._due.pop(view, None)
            if last:
                self._said.append((screen, last))
            self._show()
            self._changed.notify_all()
            ended = None if self._views else self.thread
        if ended is not None and ended is not threading.current_thread():
            ended.join(LAST_DRAW)

    def draw(self) -> None:
        """Draw all views now."""
        with self._lock:
            views = dict(self._views)
        for view, screen in views.items():
            lines, now = list[str](), monotonic()
            if screen.moving:
                lines = view.lines(screen.width, screen.style)
            elif now >= self._due.get(view, now + 1):
                lines = [view.line(WIDTH_OF_FILES)]
            with self._lock:
                if view in self._views:
                    self._lines[view] = lines
                    self._due[view] = now + PRINT_PAUSE if lines else self._due[view]
        with self._lock:
            self._show()

    def _show(self) -> None:
        if self._is_showing:  # garbage collection has removed a view meanwhile
            return
        self._is_showing = True
        try:
            for screen in list(self._screens):
                try:
                    self._show_on(screen)
                except (
                    OSError,
                    ValueError,
                    RuntimeError,
                ):  # the terminal is gone, closed, or busy here
                    self._lose(screen)
        finally:
            self._is_showing = False

    def _show_on(self, screen: Screen) -> None:
        for line in [line for shown_on, line in self._said if shown_on is screen]:
            screen.say(line)
        self._said = [said for said in self._said if said[0] is not screen]
        views = self._views_on(screen)
        if screen.moving:
            screen.draw([line for view in views for line in self._lines.get(view, [])])
        else:
            for line in [line for view in views for line in self._lines.pop(view, []) if line]:
                screen.say(line)
        if not views:
            screen.close()
            self._screens.remove(screen)

    def _lose(self, screen: Screen) -> None:
        """Show nothing more on a screen."""
        screen.give_back()
        self._screens.remove(screen)
        self._said = [said for said in self._said if said[0] is not screen]
        for view in self._views_on(screen):
            del self._views[view]
        self._changed.notify_all()

    def _views_on(self, screen: Screen) -> list[View]:
        return [view for view, shown_on in list(self._views.items()) if shown_on is screen]

    def _start(self) -> None:
        if self.thread is None or not self.thread.is_alive():
            self.thread = threading.Thread(target=self._work, name="penstock-display", daemon=True)
            self.thread.start()

    def _work(self) -> None:
        while True:
            with self._changed:
                self._changed.wait(DRAW_PAUSE)
                if not self._views or self.thread is not threading.current_thread():
                    if self.thread is threading.current_thread():
                        self.thread = None
                    return
            self.draw()

    def before_fork(self) -> None:
        """End the thread."""
        with self._changed:
            thread, self.thread = self.thread, None
            self._changed.notify_all()
        if thread is not None and thread is not threading.current_thread():
            thread.join(LAST_DRAW)

    def after_fork_in_parent(self) -> None:
        """Go on."""
        with self._changed:
            if self._views:
                self._start()

    def after_fork_in_child(self) -> None:
        """Forget the views, which are those of the parent process, and its lock."""
        self.thread = None
        self._forget()


display = Display()  # of the process, like its terminal
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=display.before_fork,
        after_in_parent=display.after_fork_in_parent,
        after_in_child=display.after_fork_in_child,
    )

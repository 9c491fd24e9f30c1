"""The viewer that writes a trace: tasks and operations on their threads, the consumer's waits and steps, decisions."""

from __future__ import annotations

import json
import os
import threading
from functools import lru_cache
from time import perf_counter_ns, time
from typing import TYPE_CHECKING, Any

from penstock.watch.stats import count
from penstock.watch.trace.file import GrowingFile
from penstock.watch.trace.spans import WINDOW
from penstock.watch.viewers import Moment, News, Pace

if TYPE_CHECKING:
    from penstock.watch.stats import Stats
    from penstock.watch.trace.spans import Span

FLUSH_PAUSE = 500_000_000  # ns between two additions to the file
MOST_MOMENTS = 8  # in a window, each of which becomes two events
SAMPLE_PAUSE = 50_000_000  # ns between two samples of memory and of tasks under way
MOST_TRACED = 1_000_000  # of a trace; a viewer takes gigabytes of memory for more
TRACE_FULL = "the trace {} is full at {:,} events, and the run goes on without it"

TraceEvent = dict[str, Any]
_quoted = lru_cache(maxsize=4096)(json.dumps)


class TraceViewer:
    """A viewer that writes a file for Perfetto and Chrome: a track for each thread of each process."""

    records = "operations"

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.due = 0
        self._file = GrowingFile(path)
        self._events: list[str] = []
        self._moments: list[tuple[int, int, int, int, int]] = []  # number, items before, thread, asked, and now
        self._number, self._window, self._room = 0, Pace(WINDOW), 0  # of moments; for others in a window of time
        self._unit = ""
        self._spans: list[Span] = []
        self._written = 0
        self._process = os.getpid()
        self._consumer = 0  # the thread of it
        self._tracks: dict[tuple[int, int], int] = {}  # by process and thread
        self._named: set[int] = set()  # processes
        self._last = (-1, 0, 0)  # the moment written before: its number, the items received, and the time
        self._flush, self._sample = Pace(FLUSH_PAUSE), Pace(SAMPLE_PAUSE)
        self._news = News()
        self._epoch = perf_counter_ns() - int(time() * 1e9)  # of the clock of events

    @property
    def failed(self) -> str:
        """The reason why the trace is not written, in words."""
        return self._file.failed

    def look(self, moment: Moment, spans: list[Span]) -> None:
        if self._file.failed:
            return
        self._spans += spans
        if not self._consumer:
            self._consumer = threading.get_ident()
            self._flush.is_due(moment.now)
            self._unit = moment.unit
        self._number += 1
        if self._window.is_due(moment.now):
            self._room = MOST_MOMENTS
        self._room -= 1
        self.due = 0
        if self._room < 0:
            self._number += 1  # the next moment does not follow this one
            self.due = min(self._window.next, self._sample.next)
        if self._room >= 0 or moment.now - moment.asked >= WINDOW:
            at = threading.get_ident(), moment.asked, moment.now
            self._moments.append((self._number, moment.received, *at))
        if self._sample.is_due(moment.now):
            self._take_sample(moment)
        if self._flush.is_due(moment.now):
            self._write()

    def close(self, last: Stats | None, spans: list[Span]) -> None:
        """Write what is left, and close the file."""
        self._spans += spans
        if last is not None and last.failure:
            self._add_instant("failed", "failure", perf_counter_ns(), {"error": last.failure})
        self._write()
        self._file.close()

    def _take_sample(self, moment: Moment) -> None:
        run, at = moment.run, moment.now
        self._add_counter("under way", at, {"tasks": run.pieces_ahead})
        self._add_counter("memory held (MB)", at, {kind: held / 1e6 for kind, held in run.budget.held.items()})
        self._add_counter("threads", at, {"threads": run.tuner.threads})
        for decision in self._news.decisions(run):
            self._add_instant(decision, "decision", at, {})
        for event in self._news.events(run):
            told = {"operation": event.operation, "words": event.words}
            self._add_instant(event.kind, "event", int(event.time * 1e9) + self._epoch, told)

    def _add_moments(self) -> None:
        """Add the waits of the consumer, and its steps between them."""
        moments, self._moments = self._moments, []
        for number, first, thread, asked, now in moments:
            last, before, begin = self._last
            if last == number - 1:
                step = f"step with {count(first - before, self._unit)}"
                self._add_span(step, "step", thread, begin, asked - begin, f'{{"first":{before}}}')
            self._last = number, first, now
            self._add_span(f"wait for {self._unit} {first}", "wait", thread, asked, now - asked, "{}")

    def _write(self) -> None:
        self._add_moments()
        spans, self._spans = [span for span in self._spans if span.kind != "records"], []
        workers = {(span.process, span.thread) for span in spans if span.kind in ("task", "part")}
        for span in spans:
            if span.kind == "left out":
                self._add_counter("tasks left out", span.begin, {"tasks": span.rows})
                continue
            track = self._track(span.process, span.thread, self._name_of(span, workers))
            item = f',"first item":{span.item}' if span.item >= 0 else ""
            told = f'{{"{"bytes" if span.kind == "transfer" else "rows"}":{span.rows}{item}}}'
            self._events.append(
                _complete(_quoted(span.name), span.kind, span.process, track, span.begin, span.took, told)
            )
        events, self._events = self._events, []
        room = MOST_TRACED - self._written
        self._written += len(events)
        self._file.add(events[:room])
        if len(events) > room:
            self._file.stop(TRACE_FULL.format(self._file.path, MOST_TRACED))

    def _add_span(self, name: str, kind: str, thread: int, begin: int, took: int, told: str) -> None:
        track = self._track(self._process, thread, "consumer" if thread == self._consumer else "another consumer")
        self._events.append(_complete(f'"{name}"', kind, self._process, track, begin, took, told))

    def _add_counter(self, name: str, at: int, values: dict[str, float]) -> None:
        self._add({"name": name, "ph": "C", "pid": self._process, "ts": at / 1000, "args": values})

    def _add_instant(self, name: str, kind: str, at: int, told: TraceEvent) -> None:
        track = self._track(self._process, self._consumer, "consumer")
        self._add(
            {"name": name, "cat": kind, "ph": "i", "s": "g", "pid": self._process, "tid": track, "ts": at / 1000}
            | {"args": told}
        )

    def _add(self, event: TraceEvent) -> None:
        self._events.append(json.dumps(event, separators=(",", ":")))

    def _name_of(self, span: Span, workers: set[tuple[int, int]]) -> str:
        if span.thread <= 0:
            return "transfers" if span.kind == "transfer" else "native thread"
        if span.process == self._process and span.thread == self._consumer:
            return "consumer"
        return "worker" if (span.process, span.thread) in workers else "thread"

    def _track(self, process: int, thread: int, name: str) -> int:
        """Return the number of the track of a thread, which is named when it comes first."""
        found = self._tracks.get((process, thread))
        if found is not None:
            return found
        number = self._tracks[process, thread] = len(self._tracks) + 1
        here = process == self._process
        if process not in self._named:
            self._named.add(process)
            self._add_name("process_name", process, 0, f"{'consumer' if here else 'worker process'} {process}")
        alone = thread == self._consumer or thread <= 0
        self._add_name("thread_name", process, number, name if alone and here else f"{name} {number}")
        return number

    def _add_name(self, what: str, process: int, track: int, name: str) -> None:
        self._add({"name": what, "ph": "M", "pid": process, "tid": track, "args": {"name": name}})


def _complete(name: str, kind: str, process: int, track: int, begin: int, took: int, told: str) -> str:
    """Return the event of a time as JSON; `name` and `told` are JSON already."""
    at = f'"ts":{begin / 1000},"dur":{took / 1000},"pid":{process},"tid":{track}'
    return f'{{"name":{name},"cat":"{kind}","ph":"X",{at},"args":{told}}}'

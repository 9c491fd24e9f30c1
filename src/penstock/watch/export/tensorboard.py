"""The viewer that writes the figures of a run for TensorBoard."""

from __future__ import annotations

import glob
import logging
import os
import sys
from typing import TYPE_CHECKING, Any, Protocol, cast

from penstock.core.shown import without_credentials
from penstock.watch.export.event_file import EventFile
from penstock.watch.export.figures import figures
from penstock.watch.verdict import verdict
from penstock.watch.viewers import Moment, News, Pace

if TYPE_CHECKING:
    from collections.abc import Mapping

    from penstock.watch.stats import Stats
    from penstock.watch.trace.spans import Span

POINT_PAUSE = 1_000_000_000  # ns between two points of each curve
FOLDER = "penstock"
PREFIX = "penstock/"
ANOTHER = (
    "{} holds the events of another run: TensorBoard shows the curves of both as one; give each run a folder of its own"
)
FAILED = "the figures for TensorBoard cannot be written, and the run goes on without them: {}"


class ScalarWriter(Protocol):
    """A writer of scalars and texts, such as the `SummaryWriter` of PyTorch or tensorboardX."""

    def add_scalar(self, tag: str, scalar_value: float, global_step: int, /) -> object: ...
    def add_text(self, tag: str, text_string: str, global_step: int, /) -> object: ...
    def flush(self) -> object: ...


class TensorFlowWriter:
    """A `ScalarWriter` around TensorFlow's own writer, which has no such methods.

    `tf.summary.scalar` needs the package tensorboard; `tf.summary.write`, which it calls, does not.
    """

    def __init__(self, writer: Any) -> None:
        self._writer = writer
        self._tf = sys.modules["tensorflow"]

    def add_scalar(self, tag: str, scalar_value: float, global_step: int, /) -> None:
        self._write(tag, self._tf.constant(scalar_value, self._tf.float32), global_step, "scalars", "DATA_CLASS_SCALAR")

    def add_text(self, tag: str, text_string: str, global_step: int, /) -> None:
        self._write(tag, self._tf.constant([text_string]), global_step, "text", "DATA_CLASS_TENSOR")

    def flush(self) -> None:
        self._writer.flush()

    def _write(self, tag: str, tensor: Any, step: int, plugin: str, data_class: str) -> None:
        metadata = self._tf.compat.v1.SummaryMetadata(data_class=data_class)
        metadata.plugin_data.plugin_name = plugin
        with self._writer.as_default():
            self._tf.summary.write(tag, tensor, step=step, metadata=metadata)


def writer_of(given: object) -> ScalarWriter | None:
    """Return the writer that a user has passed, if it is one."""
    if callable(getattr(given, "add_scalar", None)):
        return cast("ScalarWriter", given)
    if (
        "tensorflow" in sys.modules
        and type(given).__module__.startswith("tensorflow.")
        and hasattr(given, "as_default")
    ):
        return TensorFlowWriter(given)
    return None


class TensorBoardViewer:
    """A viewer that adds a point to each curve once a second, and the verdict at the end.

    With a folder, the file is in a folder `penstock` inside of it, a run of its own beside the user's: TensorBoard
    reads the files of one folder one after another.
    """

    def __init__(self, to: str | os.PathLike[str] | ScalarWriter) -> None:
        self.due = 0
        self.failed = ""
        """The reason why nothing more is written, in words."""
        self._news, self._pace = News(), Pace(POINT_PAUSE)
        self._before: Stats | None = None
        self._first: int | None = None  # the step of the first item
        self._step = 0
        self._ours: EventFile | None = None
        self._theirs = None if isinstance(to, str | os.PathLike) else to
        if isinstance(to, str | os.PathLike):
            self._open(os.path.join(to, FOLDER))

    def _open(self, folder: str) -> None:
        found = glob.glob(os.path.join(glob.escape(folder), "events.out.tfevents.*"))
        if any(not path.endswith(f".{os.getpid()}.{FOLDER}") for path in found):
            logging.getLogger("penstock").warning("%s", ANOTHER.format(folder))
        try:
            self._ours = EventFile(folder, f".{FOLDER}")
        except OSError as error:
            self._fail(error)

    def look(self, moment: Moment, spans: list[Span]) -> None:
        if self.failed:
            return
        if self._first is None:
            self._first = moment.first_step
            self._pace.is_due(moment.now)
            return
        self._step = self._first + moment.received
        is_due = self._pace.is_due(moment.now)
        self.due = self._pace.next
        if not is_due:
            return
        now = moment.stats()
        self._add(figures(now, self._before))
        self._before = now
        for decision in self._news.decisions(moment.run):
            self._add_text("tuner", decision)
        for event in self._news.events(moment.run):
            self._add_text("events", f"**{event.kind}**: {event.words}")

    def close(self, last: Stats | None, spans: list[Span]) -> None:
        """Add a last point and the verdict, and close the file."""
        if last is not None and last.items:
            self._step = (self._first or 0) + last.items
            if last.items > (self._before.items if self._before else 0):
                self._add(figures(last, self._before))
            self._add_text("verdict", verdict(last))
        if last is not None and last.failure:
            self._add_text("failure", last.failure)
        if self._ours is not None:
            self._ours.close()

    def _add(self, values: Mapping[str, float]) -> None:
        tagged = {PREFIX + name: value for name, value in values.items()}
        writer = self._theirs

        def write() -> None:
            if self._ours is not None:
                self._ours.add_scalars(tagged, self._step)
            elif writer is not None:
                for tag, value in tagged.items():
                    writer.add_scalar(tag, value, self._step)
                writer.flush()

        self._try(write)

    def _add_text(self, tag: str, text: str) -> None:
        to: Any = self._ours or self._theirs
        if to is not None:
            self._try(lambda: to.add_text(PREFIX + tag, without_credentials(text), self._step))

    def _try(self, write: Any) -> None:
        if self.failed:
            return
        try:
            write()
        except Exception as error:  # noqa: BLE001 - a writer of the user's raises what it likes
            self._fail(error)

    def _fail(self, error: Exception) -> None:
        self.failed = FAILED.format(error)
        logging.getLogger("penstock").warning("%s", self.failed)

"""The engine's side of measuring; `penstock.watch` measures from outside."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Generic, Literal, NamedTuple, Protocol, TypeAlias, TypeVar

from penstock.plan.flow import Flow, Mark, Open, Piece, Spread, close
from penstock.plan.step import Out, Step, program_of_steps

if TYPE_CHECKING:
    from penstock.core.arrays import Rows
    from penstock.core.events import RunEvent
    from penstock.elements.chunks.chunk import Chunk
    from penstock.engine.tasks.task import Task
    from penstock.plan.node import Node
    from penstock.plan.types import Program

FunctionKind: TypeAlias = Literal["program", "step", "spread", "flow"]
"""The kind of function that makes the elements of an operation: a `Program`, `Step`, `Spread` or `Open`."""
F = TypeVar("F")


class Occurrence(NamedTuple):
    """One occurrence of a node in the plan of a run; a node that is read twice occurs twice.

    The `number` identifies the occurrence: those of a plan are numbered from the sources up, and the virtual streams of
    one shard have the same numbers. `inputs` are the numbers of the inputs that the same tasks make.
    """

    number: int
    node: Node
    kind: FunctionKind
    inputs: tuple[int, ...] = ()


class Wrapped(NamedTuple, Generic[F]):
    """The program or step of the operation with this number, as the observer has wrapped it, and as it was before."""

    number: int
    wrapped: F
    plain: F


class TaskRecorder(Protocol):
    """A recorder of tasks, which has room for few short ones at a time: of very many tasks, most cost nothing more."""

    room: int
    """The number of short tasks to note until the next `look`; at 0 or less, none is."""
    long: int
    """The time (ns) from which on every task is to be noted."""

    def note(self, task: Task, name: str, began: int, took: int, /) -> None:
        """Note a task of the plan with that name, which began at that time (ns) and took that long."""
        ...

    def look(self, tasks: int, /) -> None:
        """Note that `tasks` were begun since the last call, roughly, and find new room if it is time."""
        ...


class Observer(Protocol):
    """An observer of every operation of the plan, which travels to other processes; its counts travel back."""

    def wrap(self, of: Occurrence | None, function: F, /) -> F:
        """Return the function to run instead of `function`, which makes the elements of an operation.

        The functions of the inputs were wrapped before. `None` stands for a flow that only passes on what wrapped
        functions make, in this thread or others.
        """
        ...

    def join(self, source: Wrapped[Program], steps: Sequence[Wrapped[Step]], /) -> Program:
        """Return the program of consecutive steps, the topmost first, over that of `source`."""
        ...

    @property
    def recorder(self) -> TaskRecorder | None:
        """The recorder of the tasks, if they are recorded."""
        ...

    def counter(self, operations: Sequence[tuple[int, bool]], /) -> CountBatches:
        """Return the function that counts batches that no wrapped function makes, for one thread.

        `operations` are the numbers of those that have a part in them, the one that reads first; true for those whose
        elements are batches, not rows.
        """
        ...

    def drain(self) -> Any:
        """Return the counts since the last call, as a picklable object."""
        ...

    def absorb(self, counted: Any, /) -> None:
        """Add the counts of an observer in another process."""
        ...

    def outline(self) -> Any:
        """Return the operations that are measured, as a picklable object."""
        ...

    def adopt(self, outline: Any, /) -> None:
        """Prepare for the counts of an observer in another process, whose operations were not wrapped here."""
        ...

    def watch(self, run: Any, awaited: Callable[[], int], note: Callable[[RunEvent], object], /) -> Any:
        """Look at a run as long as the result is kept, and `note` an event if its consumer waits and nothing moves.

        `awaited()` is another number for each request of the consumer, and 0 while there is none.
        """
        ...


CountBatches: TypeAlias = Callable[[int, int, int, int, int], None]
"""Takes a number of batches, their rows and bytes, and the wall and CPU time (ns) that they took."""


def count_nothing(batches: int, rows: int, nbytes: int, wall: int, cpu: int, /) -> None:
    """Do nothing."""


class Unobserved:
    """An observer that measures nothing."""

    def wrap(self, of: Occurrence | None, function: F, /) -> F:
        return function

    def join(self, source: Wrapped[Program], steps: Sequence[Wrapped[Step]], /) -> Program:
        return program_of_steps(source.wrapped, [step.wrapped for step in steps]) if steps else source.wrapped

    @property
    def recorder(self) -> TaskRecorder | None:
        return None

    def counter(self, operations: Sequence[tuple[int, bool]], /) -> CountBatches:
        return count_nothing

    def drain(self) -> Any:
        return None

    def absorb(self, counted: Any, /) -> None:
        pass

    def outline(self) -> Any:
        return None

    def adopt(self, outline: Any, /) -> None:
        pass

    def watch(self, run: Any, awaited: Callable[[], int], note: Callable[[RunEvent], object], /) -> Any:
        return None


Around: TypeAlias = "Callable[[], AbstractContextManager[Callable[[Rows, Chunk], object]]]"
"""Returns a context for one call of a function; its value is to be called with the elements made, and their ids."""


def called_within(around: Around, kind: FunctionKind, function: Any) -> Any:
    """Return a function of the same kind, each call of which is made within a context: a simple way to wrap it."""
    wrap: Callable[[Around, Any], Any] = {
        "program": _program_within,
        "step": _step_within,
        "spread": _spread_within,
        "flow": _flow_within,
    }[kind]
    return wrap(around, function)


def _program_within(around: Around, program: Program) -> Program:
    def run(rows: Rows, out: Out = None) -> Chunk:
        with around() as note:
            chunk = program(rows, out)
            note(rows, chunk)
            return chunk

    return run


def _step_within(around: Around, step: Step) -> Step:
    def change(chunk: Chunk, rows: Rows, below: Rows, out: Out) -> Chunk:
        with around() as note:
            chunk = chunk if step.change is None else step.change(chunk, rows, below, out)
            note(rows, chunk)
            return chunk

    return step._replace(change=change)


def _spread_within(around: Around, spread: Spread) -> Spread:
    def run(piece: Piece) -> Piece:
        with around() as note:
            made = spread(piece)
            note(made.ids, made.chunk)
            return made

    return run


def _flow_within(around: Around, begin: Open) -> Open:
    def run(epoch: int, mark: Mark = None) -> Flow:
        with around():
            flow = begin(epoch, mark)
        try:
            while True:
                with around() as note:
                    piece = next(flow, None)
                    if piece is None:
                        return
                    note(piece.ids, piece.chunk)
                yield piece
        finally:
            close(flow)

    return run

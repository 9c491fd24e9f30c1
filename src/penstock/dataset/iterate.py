"""Iteration over a dataset."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import TYPE_CHECKING, Any, TextIO, TypeVar, cast

from penstock import core, dataset, elements, engine, feed
from penstock.core.arrays import Reserve
from penstock.core.blame import Blame, ElementPlace, add_blame, copy_hint, note_blames
from penstock.core.cached import cached_property
from penstock.core.checks import check_count, check_function
from penstock.core.errors import ElementError, PlanError
from penstock.dataset.handle import Handle, T_co
from penstock.plan.functions import name_of
from penstock.plan.graph import rank_rows
from penstock.plan.types import INFINITE, UNKNOWN

if TYPE_CHECKING:
    from penstock.dataset.dataset import Dataset
    from penstock.dataset.iterator import Iterator
    from penstock.dataset.residence import Residence
    from penstock.feed.jax import JaxFeed
    from penstock.feed.torch import TorchFeed


S = TypeVar("S")


class Iterate(Handle[T_co]):
    """`iter`, `iterator`, epochs and positions, `reduce`, `get_single_element`, and the feeds to frameworks."""

    def __iter__(self) -> Iterator[T_co]:
        return self.iterator()

    def iterator(self, *, epoch: int | None = None, allocate: Reserve | None = None) -> Iterator[T_co]:
        """Return an iterator over one epoch, with the position, the counters and the verdict of its run.

        Every iterator of a dataset takes the next epoch with its first element, so shuffles and random functions differ
        from pass to pass. `epoch` selects an epoch instead, and does not count as a pass: `next(ds.iterator(epoch=0))`
        peeks at the first element, and leaves later passes as they are. Nothing runs before the first `next`.

        Batches are written into memory from `allocate(nbytes)`, such as pinned or shared memory, where the pipeline
        knows their size before it makes them, and results of functions are copied there. The first batches may be
        elsewhere, and batches with `Ragged` or `Sparse` leaves are. `allocate` is called from the threads of the run,
        and returns that many bytes as a `uint8` array at an address divisible by 64. All leaves of a batch lie in one
        such block, each at a multiple of 128 bytes. The memory is free again once the array and its views are gone.

        >>> with Dataset.range(4).batch(2).iterator() as it:
        ...     first, saved = next(it), it.state_dict()
        ...     rest = list(it)
        >>> again = Dataset.range(4).batch(2).iterator()
        >>> again.load_state_dict(saved)
        >>> [batch.tolist() for batch in again] == [batch.tolist() for batch in rest]
        True
        """
        which = None if epoch is None else check_count("iterator", "epoch", epoch, least=0)
        if allocate is not None and not callable(allocate):
            raise TypeError(f"iterator(allocate=): expected a function, not {type(allocate).__name__}")
        self._warn_once()
        return self._opened(which, self._carry_over if allocate is None else self._carry_over.into(allocate))

    def progress(
        self, title: str = "", *, details: bool = False, leave: bool = True, file: TextIO | None = None
    ) -> core.live.LivePasses[T_co]:
        """Return an iterable over the same elements, each pass of which is shown on the terminal: for any loop.

        A line shows the position in the epoch, the time left, elements per second, and the share of its time that the
        loop waits for them. With `details=True`, several lines also show memory and the work of each operation, as in
        `Iterator.live`, which describes the other arguments. The line ends with the loop, also by `break` or an
        exception. After `ds.load_state_dict(state)`, it begins at the position in the state. As in any loop,
        `ds.state_dict()` is the position, and `len()` that of the dataset. Only one thread at a time may take elements;
        for several, use `Iterator.live`.

        >>> import io
        >>> file, ds = io.StringIO(), Dataset.range(8).batch(2)
        >>> for batch in ds.progress("train", file=file):
        ...     if batch[0] == 4:
        ...         break
        >>> print(file.getvalue(), end="")
        train: 3 of 4 batches in 0:00, ... batches/s, waited ... % of the time
        """
        return core.live.LivePasses[T_co](cast("Dataset[T_co]", self), title, details=details, leave=leave, file=file)

    def _opened(self, epoch: int | None, carry_over: engine.runs.scope.CarryOver) -> Iterator[T_co]:
        rows = rank_rows(self._plan)
        if rows is not None:
            opened = dataset.ranks.iterator.RankIterator[T_co]
            return opened(self._passes, carry_over, rows, epoch, warn=self._warn_of_run)
        return dataset.iterator.Iterator(self._passes, carry_over, epoch, warn=self._warn_of_run)

    def _residence(self) -> Residence:
        """Return the elements of a dataset of batches, each once, and the batches as arrays of their numbers."""
        return dataset.residence.residence_of(cast("Dataset[T_co]", self), self._passes)

    @property
    def epoch(self) -> int:
        """Return the epoch under way, or else the epoch of the next pass: the value at which a loop over epochs begins.

        >>> ds = Dataset.range(4)
        >>> ds.load_state_dict({**ds.state_dict(), "epoch": 3})
        >>> [epoch for epoch in range(ds.epoch, 5) for x in ds]
        [3, 3, 3, 3, 4, 4, 4, 4]
        """
        return self._passes.position().epoch

    def set_epoch(self, epoch: int) -> None:
        """Set the epoch of the next pass; later passes count on from there.

        Calling this method is optional, since every pass is the next epoch by default. Use it in loops that count
        epochs themselves. If a position in this very epoch was loaded, the pass is the rest of the epoch.

        >>> ds = Dataset.range(100).shuffle(seed=0)
        >>> ds.set_epoch(7)
        >>> list(ds) == list(ds.iterator(epoch=7)) and list(ds) == list(ds.iterator(epoch=8))
        True
        """
        self._passes.set_epoch(check_count("set_epoch", "epoch", epoch, least=0))

    def state_dict(self) -> dict[str, Any]:
        """Return the position of the pass under way as plain JSON data; between passes, the start of the next one.

        A pass is under way as long as its iterator exists, and was neither closed nor exhausted. In `for batch in ds`,
        the state is the position after `batch`; after the loop, even one left by `break`, the state is the beginning of
        the next epoch. If there are several iterators, the state is that of the one begun last; iterators with an
        explicit `epoch` do not count. `Iterator.state_dict` describes the contents of a state, which loads into the
        dataset or an iterator.

        >>> ds = Dataset.range(9).batch(2)
        >>> for batch in ds:
        ...     if batch[0] == 4:
        ...         saved = ds.state_dict()
        >>> saved["epoch"], saved["row"], ds.state_dict()["epoch"]
        (0, 3, 1)
        """
        return self._passes.states.state_of(self._passes.position())

    def load_state_dict(self, state: dict[str, Any] | list[dict[str, Any]]) -> None:
        """Begin the next pass at a saved position; the pass after that is the next epoch.

        `state` is the result of `state_dict()` of this dataset or of one of its iterators, possibly in another process,
        or a list of the states of all shards. If all elements of the epoch were already received, the next pass is the
        epoch after it. Iterators that are under way keep their position. A state of another plan raises a
        `CursorError`.

        >>> ds = Dataset.range(5).shuffle(seed=0)
        >>> it = iter(ds)
        >>> received, saved = [next(it), next(it)], ds.state_dict()
        >>> again = Dataset.range(5).shuffle(seed=0)
        >>> again.load_state_dict(saved)
        >>> [*received, *again] == list(ds.iterator(epoch=0)), list(again) == list(ds.iterator(epoch=1))
        (True, True)
        """
        self._passes.load(self._passes.cursor_of(state))

    @cached_property
    def _carry_over(self) -> engine.runs.scope.CarryOver:
        return engine.runs.scope.CarryOver()

    def reduce(self, initial_state: S, reduce_func: Callable[[S, T_co], S]) -> S:
        """Compute `state = reduce_func(state, element)` for each element of one epoch, and return the last state.

        An element that is a tuple is passed as one argument. Without elements, the result is `initial_state`. The state
        must keep its structure and dtypes, otherwise an `ElementError` is raised: a sum that begins with 0 would become
        a `uint8` with the first pixel, and overflow. Lists may grow, and `None` may become anything.

        There is no `on_error`: a function that raises may have changed the state partly. For elements that cannot be
        reduced, use `map` with `on_error` before.

        >>> Dataset.range(5).reduce(0, lambda total, x: total + x)
        10
        >>> Dataset.range(5).reduce(0, lambda total, x: total + x / 2)
        Traceback (most recent call last):
        penstock.core.errors.ElementError: reduce: at element 0 the state changed: it was int64 and became float64; ...
        """
        endless = self._plan.length == INFINITE
        check_function("reduce", "reduce_func", reduce_func)
        if endless:
            raise PlanError("reduce(): this dataset never ends; take() a part of it")
        state = initial_state
        with self.iterator() as it:
            for number, element in enumerate(it):
                try:
                    before, state = state, reduce_func(state, element)
                except Exception as error:
                    place = ElementPlace("element", number)
                    add_blame(error, Blame(f"reduce({name_of(reduce_func)})", place, hints=copy_hint(error)))
                    note_blames(error)
                    raise
                if state is None and before is not None:
                    raise ElementError(f"reduce: at element {number} the function {elements.steady.RETURNED_NO_STATE}")
                if change := elements.steady.change_of(before, state):
                    raise ElementError(
                        f"reduce: at element {number} the state changed: {change}; begin with the final type, such as "
                        "np.float32(0), or convert the function's result"
                    )
        return state

    def get_single_element(self) -> T_co:
        """Return the only element of a dataset; raise a `PlanError` if there are none, or more than one.

        >>> Dataset.range(3).batch(3).get_single_element().tolist()
        [0, 1, 2]
        """
        length = self._plan.length
        if length in (1, UNKNOWN):
            with self.iterator() as it:
                found = list(islice(it, 2))
            if len(found) == 1:
                return found[0]
            length = len(found)
        many = "no element" if length == 0 else "more than one element"
        raise PlanError(f"get_single_element(): this dataset has {many}")

    def to_torch(
        self,
        device: Any = None,
        *,
        depth: int | None = None,
        split: bool = False,
        round_robin: bool = False,
        steps: int | None = None,
        micro_batches: int | None = None,
        finish: Callable[[Any], Any] | None = None,
    ) -> TorchFeed:
        """Return a feed of the same elements with PyTorch tensors for arrays, on the CPU or on `device`.

        On the CPU, tensors share the memory of the batch, without a copy. For a CUDA device, the pipeline writes each
        batch into pinned memory, and one asynchronous copy transfers it while your step runs. The feed keeps `depth`
        batches (2 by default): the one you hold and those in transfer. You may keep a batch for any time, because the
        feed never reuses its memory. Strings, bytes and objects are unchanged; images of
        `ps.image.decode(device="cuda")` are decoded on the device. The feed can be iterated once per pass. Its
        iterators have `state_dict` and `load_state_dict`; a state counts the batches that you have received.

        - With several devices, `split=True` divides each batch among them, and `round_robin=True` sends whole batches
          to them in turn. A step is a list with a batch for each device. Parts differ by at most one row; the last step
          may have fewer batches.
        - `steps=k` stacks k batches along a new first axis, for one transfer; the last stack may be shorter.
        - `micro_batches=m` returns each batch as a list of m parts, for the accumulation of gradients.
        - `finish` is called on each batch on its device while your step runs: for casts and normalization, so that
          `uint8` is transferred. With `steps` it gets the stack, with `micro_batches` each part.

        A device that does not exist raises a `PlanError`. So does a pipeline whose batches are known in advance and
        cannot be divided or stacked, such as the short last batch of an epoch.

        >>> for batch in Dataset.range(4).batch(2).to_torch():  # doctest: +SKIP
        ...     batch
        tensor([0, 1])
        tensor([2, 3])
        """
        rows = dataset.residence.rows_of_batches(self._plan)
        arrangement = feed.arrangement.Arrangement(
            "to_torch", depth, split, round_robin, steps, micro_batches, finish, rows
        )
        return feed.torch.TorchFeed(cast("Dataset[T_co]", self), device, arrangement)

    def to_jax(
        self,
        sharding: Any = None,
        *,
        depth: int | None = None,
        split: bool = False,
        round_robin: bool = False,
        steps: int | None = None,
        micro_batches: int | None = None,
        finish: Callable[[Any], Any] | None = None,
    ) -> JaxFeed:
        """Return a feed of the same elements with JAX arrays, on the CPU or placed by `sharding`.

        Without a sharding, arrays are on the CPU and share the memory of the batch where JAX allows it. `sharding` is
        any `Sharding`, a device, or a platform such as `"gpu"`. If its devices belong to several processes, each
        process passes its part of the batch, from `shard_by_rank()`, and the arrays are those of the whole batch. The
        feed keeps `depth` batches (2 by default): the one you hold and those in transfer. The other arguments are those
        of `to_torch`; `steps` stacks along an axis that is not divided, for `lax.scan`. Batches may be donated.

        JAX narrows 64-bit types, unless `jax_enable_x64` is set; a number that does not fit raises an `ElementError`,
        and so does a batch that the sharding cannot divide. `ps.Ragged` is a pytree of its values and splits.

        >>> for batch in Dataset.range(4).batch(2).to_jax():  # doctest: +SKIP
        ...     batch
        Array([0, 1], dtype=int32)
        Array([2, 3], dtype=int32)
        """
        rows = dataset.residence.rows_of_batches(self._plan)
        arrangement = feed.arrangement.Arrangement(
            "to_jax", depth, split, round_robin, steps, micro_batches, finish, rows
        )
        made = feed.jax.JaxFeed(cast("Dataset[T_co]", self), sharding, arrangement)
        if made.processes > 1:
            self._warn_of_processes(made.processes)
        return made

    def as_numpy_iterator(self) -> Iterator[Any]:
        """Return `iter(ds)`, which already yields NumPy; for pipelines ported from `tf.data`.

        >>> list(Dataset.range(2).as_numpy_iterator()) == [0, 1]
        True
        """
        return self.iterator()

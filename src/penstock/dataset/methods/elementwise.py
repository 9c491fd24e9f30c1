"""Transformations of single elements."""

from __future__ import annotations

from collections.abc import Callable
from os import PathLike
from typing import TYPE_CHECKING, Any, TypeVar, cast, overload

from penstock.core.checks import check_count, check_flag, check_flag_or_none, check_function, check_local_path
from penstock.core.errors import ElementError, PlanError
from penstock.core.on_error import NO_VALUE, ErrorBudget, OnError, budget_of, on_error_of, skip
from penstock.core.options import AUTOTUNE
from penstock.dataset.handle import Handle, T_co
from penstock.elements.nested.nesting import part_in
from penstock.elements.spec import describe
from penstock.ops import buffer, elementwise, read
from penstock.plan.functions import makes_operation, name_of, takes_rng
from penstock.plan.node import Node
from penstock.plan.operation import Operation

if TYPE_CHECKING:
    from penstock.dataset.arguments.callables import ElementCallable
    from penstock.dataset.dataset import Dataset
    from penstock.ops.elementwise.error_budget import EnforceErrorBudget

U = TypeVar("U")
T_node = TypeVar("T_node", bound=Node)


class ElementwiseMethods(Handle[T_co]):
    """`map`, `filter`, `ignore_errors`, `scan` and `enumerate`."""

    @overload
    def map(
        self,
        map_func: ElementCallable[T_co, U],
        num_parallel_calls: int | None = None,
        deterministic: bool | None = None,
        *,
        on: None = None,
        vectorized: bool | None = None,
        on_error: str | OnError = "raise",
        thread_safe: bool | None = None,
    ) -> Dataset[U]: ...
    @overload
    def map(
        self,
        map_func: ElementCallable[Any, Any],
        num_parallel_calls: int | None = None,
        deterministic: bool | None = None,
        *,
        on: str | int,
        vectorized: bool | None = None,
        on_error: str | OnError = "raise",
        thread_safe: bool | None = None,
    ) -> Dataset[Any]: ...
    def map(
        self,
        map_func: Callable[..., Any],
        num_parallel_calls: int | None = None,
        deterministic: bool | None = None,
        *,
        on: str | int | None = None,
        vectorized: bool | None = None,
        on_error: str | OnError = "raise",
        thread_safe: bool | None = None,
    ) -> Dataset[Any]:
        """Apply `map_func` to every element, or with `on` to one part of it: a dict's key, a tuple's position, a field.

        - A tuple is passed as several arguments, anything else (a dict, a list, a named tuple) as one. The function
          sees NumPy and plain Python values.
        - The dicts and lists of an element belong to the function, which may write to them. Arrays of sources and of
          caches are read-only, since later epochs see them too: copy such an array first, as in `x = x.copy()`. PyTorch
          ignores that, so functions that name `torch.from_numpy` or its like get copies.
        - A function with a parameter `rng` gets a `numpy.random.Generator` that belongs to the element's row and epoch:
          its numbers are the same for any number of workers, and after a restore.
        - `vectorized=True` calls the function once for k elements, with arrays of shape (k, ...), and expects k rows
          back. k differs from call to call, so each row must depend on the same row of the arguments only; `check()`
          warns of others. After `batch(n)` an element is a batch, and the arrays have the shape (k, n, ...).
        - By default a function of NumPy arithmetic alone, without a branch that depends on an element, is *traced*:
          called once with placeholders for an element, and then run on whole columns if the result is exactly the same.
          `explain()` shows this, and `vectorized=False` calls the function for every element.
        - `num_parallel_calls` sets how many tasks of the pipeline run at a time (`AUTOTUNE` or `None`: measured).
          `deterministic=False` yields elements in the order in which they are finished.
        - `on_error="skip"` leaves out elements for which the function raises (the result is then a stream), and
          `ps.on_error.replace(value)` uses `value` as the result instead. `ps.on_error.skip(...)` and
          `ps.on_error.replace(...)` take a budget, the number of elements that may fail, and a file in which to record
          the failures.
        - Several threads call the function at a time, unless it is found to be unsafe: it writes attributes of its
          object, global or outer variables, or uses an open file, a connection, an iterator or a random generator. Then
          one thread at a time calls it, while the rest of the work continues in all threads; a connection to SQLite is
          used only by the consumer's thread. `explain()` and `stats().alone` show this. `thread_safe=True` lets all
          threads call the function at once, and `thread_safe=False` only one; an attribute `thread_safe` of the
          function's object has the same effect.

        Exceptions of the function keep their type; notes name the row and the record, and how to reproduce the failure.

        >>> list(Dataset.range(3).map(lambda x: x * 10)) == [0, 10, 20]
        True
        >>> pairs = Dataset.from_tensor_slices(([1, 2], [3, 4]))
        >>> list(pairs.map(lambda a, b: a + b)) == [4, 6]
        True
        >>> list(pairs.map(float, on=1)) == [(1, 3.0), (2, 4.0)]
        True
        >>> print(Dataset.range(3).map(lambda x: np.sqrt(x) / 2).explain())
        as written: ...
        as run:
          range(3)                     3 × int64
          map(lambda, traced)          3 × ?
        ...
        >>> def jitter(x, *, rng):
        ...     return x + rng.random()
        >>> noisy = Dataset.range(3).map(jitter).with_options(Options(seed=0))
        >>> list(noisy.iterator(epoch=0)) == list(noisy.iterator(epoch=0))
        True
        """
        _check_function("map", "map_func", map_func)
        calls = num_parallel_calls
        if calls is not None:
            calls = check_count("map", "num_parallel_calls", calls, least=1, also=(AUTOTUNE,))
        if on is not None and (isinstance(on, bool) or not isinstance(on, str | int)):
            raise TypeError(f"map(on={on!r}): expected a key, a field name or a position")
        if deterministic is not None:
            deterministic = check_flag("map", "deterministic", deterministic)
        columns = _takes_columns("map", vectorized)
        _check_part(self._plan.spec(), on, map_func)
        draws = takes_rng(map_func)
        if columns and draws:
            raise PlanError(
                "map(vectorized=True): a function of columns cannot draw for single rows; "
                "remove `rng` or vectorized=True"
            )
        plan = elementwise.map.Map(
            self._plan,
            map_func,
            on=on,
            vectorized=columns,
            draws=draws,
            traceable=vectorized is None,
            num_parallel_calls=calls,
            deterministic=deterministic,
            thread_safe=check_flag_or_none("map", "thread_safe", thread_safe),
        )
        return self._over(with_on_error(plan, on_error_of("map", on_error)))

    def filter(
        self,
        predicate: ElementCallable[T_co, Any],
        *,
        vectorized: bool | None = None,
        on_error: str | OnError = "raise",
        thread_safe: bool | None = None,
    ) -> Dataset[T_co]:
        """Keep the elements for which `predicate` is true.

        The predicate is called as the function of `map` is: with a tuple as several arguments, with the element's
        generator if it has a parameter `rng`, with columns if `vectorized=True`, traced by default if possible. It must
        return a bool (for columns, an array of bools). The resulting dataset is a stream: its length is known only by
        iterating, and no row of it can be made alone.

        `on_error` and `thread_safe` work as in `map`; `ps.on_error.replace(True)` keeps the elements for which the
        predicate raises.

        >>> list(Dataset.range(6).filter(lambda x: x % 3 == 0)) == [0, 3]
        True
        """
        _check_function("filter", "predicate", predicate)
        columns = _takes_columns("filter", vectorized)
        draws = takes_rng(predicate)
        if columns and draws:
            raise PlanError("filter(vectorized=True): a predicate with `rng` is called for one element at a time")
        plan = elementwise.filter.Filter(
            self._plan,
            predicate,
            vectorized=columns,
            draws=draws,
            traceable=vectorized is None,
            thread_safe=check_flag_or_none("filter", "thread_safe", thread_safe),
        )
        return self._over(
            with_on_error(plan, standing_for("filter", on_error, elementwise.beside.truth, "True or False"))
        )

    def ignore_errors(
        self,
        log_warning: bool = False,
        *,
        budget: ErrorBudget | int | None = None,
        quarantine: str | PathLike[str] | None = None,
    ) -> Dataset[T_co]:
        """Leave out the elements that fail anywhere below: in reading, or in a function.

        In an indexed dataset, that includes all operations since the sources. In a stream, it includes the operations
        after the last one that takes elements in order (`batch`, `take`, `shuffle` of a stream, `scan`, `flat_map` and
        others): a failure there or before still ends the stream, and so does one in a generator. In compressed files it
        also includes each damaged record, line or sample, as long as the beginning of the next one is known. To leave
        out only the elements on which one function fails, pass `on_error="skip"` to its `map`. If an element fails, the
        other elements of its task are made again.

        A failed element is left out alone, even if `unbatch` or `expand` took it out of something larger; a failed
        batch is left out as a whole, and counts as one.

        `log_warning` logs each failure with the logger `penstock`; `budget` and `quarantine` work as in
        `ps.on_error.skip`.

        >>> list(Dataset.range(4).map(lambda x: 6 // (x - 1)).ignore_errors())
        [-6, 6, 3]
        """
        warns = check_flag("ignore_errors", "log_warning", log_warning)
        path = None if quarantine is None else check_local_path("ignore_errors", "quarantine", quarantine)
        on_error = skip(budget_of("ignore_errors", budget), quarantine=path)
        whole = read.stream.with_sound_elements(self._plan)
        below = whole
        while isinstance(below, buffer.prefetch.Prefetch | buffer.options.WithOptions):
            below = below.input
        if not below.indexed and not below.elementwise:
            if below.inputs:
                told = "or before cannot be left out, since it takes its elements in order; put ignore_errors() after "
                told += "the operation that fails, or pass it on_error='skip'"
            else:
                told = "cannot be left out: a generator ends when it raises; catch the exception inside it, or do what "
                told += "may fail in a map() after it"
            raise PlanError(f"ignore_errors(): failures in {below.label()} {told}")
        counted = on_error.counts or warns
        plan = elementwise.tolerant.IgnoreErrors(whole, counted)
        return self._over(
            elementwise.error_budget.EnforceErrorBudget(plan, on_error.budget, on_error.quarantine, warns)
            if counted
            else plan
        )

    def scan(
        self,
        initial_state: Any,
        scan_func: ElementCallable[Any, tuple[Any, U]],
        *,
        on_error: str | OnError = "raise",
        thread_safe: bool | None = None,
    ) -> Dataset[U]:
        """Pass a state along the elements: `scan_func(state, element)` returns the next state and the element to yield.

        Each epoch begins with `initial_state`. The function may change arrays and containers in the state that it
        receives. A tuple is passed as one argument; a function with a parameter `rng` gets the element's generator. The
        state must keep its structure and dtypes, as in `reduce`. The result is a stream, made one element after
        another. `thread_safe` works as in `map`: tasks may use the same object as the function.

        `on_error` works as in `map`. If the function raises, the state stays as it was before, and the operation yields
        nothing, or the value of `ps.on_error.replace(value)`.

        States of numbers, text, bytes, arrays, `Ragged`, `Sparse` and nestings of them (also named tuples and
        dataclasses that the initial state has) are saved with the iterator's state, to the last bit, up to 1 MiB. Large
        states are not saved after every element, so a restored iterator calls the function again for up to one element
        per 256 bytes. With any other state, a restored iterator runs through the epoch again, and `explain()` says so.

        >>> list(Dataset.range(5).scan(0, lambda total, x: (total + x, total + x)))
        [0, 1, 3, 6, 10]
        """
        check_function("scan", "scan_func", scan_func)
        safe = check_flag_or_none("scan", "thread_safe", thread_safe)
        draws = takes_rng(scan_func)
        plan = elementwise.scan.Scan(self._plan, initial_state, scan_func, draws=draws, thread_safe=safe)
        return self._over(with_on_error(plan, on_error_of("scan", on_error)))

    def enumerate(self, start: int = 0) -> Dataset[tuple[int, T_co]]:
        """Pair every element with its position in the epoch, an `int64` that counts from `start`.

        >>> list(Dataset.from_source(["a", "b"]).enumerate(start=5)) == [(5, "a"), (6, "b")]
        True
        """
        first = check_count("enumerate", "start", start, least=-(2**62))
        return self._over(elementwise.enumerate.Enumerate(self._plan, first))


def with_on_error(plan: T_node, on_error: OnError | None) -> T_node | EnforceErrorBudget[T_node]:
    """Return the operation with the error policy `on_error`."""
    return plan if on_error is None else elementwise.tolerant.tolerant(plan, on_error)


def standing_for(call: str, given: object, read: Callable[[Any], Any], expected: str) -> OnError | None:
    """Return the policy of an `on_error=` argument whose value replaces a result, such as a predicate's."""
    on_error = on_error_of(call, given)
    if on_error is not None and on_error.value is not NO_VALUE:
        try:
            read(on_error.value)
        except ElementError:
            raise TypeError(
                f"{call}(on_error={on_error!r}): the value replaces the function's result; expected {expected}"
            ) from None
    return on_error


def _check_function(call: str, argument: str, function: Any) -> None:
    check_function(call, argument, function)
    if makes_operation(function):
        name = name_of(function)
        raise TypeError(f"{call}({name}): {name} makes the function to apply; call it: {call}({name}(...))")


def _takes_columns(operation: str, vectorized: bool | None) -> bool:
    return vectorized is not None and check_flag(operation, "vectorized", vectorized)


def _check_part(spec: Any, on: str | int | None, function: Callable[..., Any]) -> None:
    """Refuse a part that elements of a known spec do not have, and an operation on images or audio without a part."""
    if on is None and isinstance(function, Operation) and isinstance(spec, dict | tuple | list) and spec:
        part = next(iter(cast("dict[str, Any]", spec))) if isinstance(spec, dict) else 0
        raise PlanError(
            f"map({function!r}): the function takes one array, and elements are {describe(spec)}; name the part to "
            f"apply it to, such as map({function!r}, on={part!r})"
        )
    if spec is None or on is None:
        return
    try:
        part_in(spec, on)
    except ElementError:
        raise PlanError(f"map(on={on!r}): there is no {on!r} in elements {describe(spec)}") from None

"""Datasets that draw each element from one of several, and the choice of elements by their class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast

import numpy as np

from penstock import dryrun, engine, index, rewrite
from penstock.core.blame import noting_blames
from penstock.core.checks import (
    MOST,
    check_count,
    check_flag,
    check_flag_or_none,
    check_function,
    check_seed,
    is_one_of,
)
from penstock.core.errors import PlanError
from penstock.core.on_error import OnError
from penstock.dataset.handle import Handle, T_co
from penstock.dataset.methods.elementwise import standing_for, with_on_error
from penstock.elements.spec import ArraySpec, describe, relax
from penstock.ops import buffer, combine, elementwise, order
from penstock.plan.draws import is_unseeded, varies
from penstock.plan.graph import post_order
from penstock.plan.node import Node
from penstock.plan.types import INFINITE, UNKNOWN

if TYPE_CHECKING:
    from penstock.dataset.arguments.callables import ElementCallable
    from penstock.dataset.dataset import Dataset

Stop: TypeAlias = Literal["first", "all", "never", "exact"]
MOST_KNOWN = 1 << 22  # choices that are made and counted when the dataset is built
MOST_KNOWN_ENDLESS = 1 << 16  # the same for choices that repeat without end


class MixtureMethods(Handle[T_co]):
    """`sample_from_datasets`, `choose_from_datasets`, `draw_counts` and `rejection_resample`."""

    @staticmethod
    def sample_from_datasets(
        datasets: Sequence[Dataset[Any]],
        weights: Any = None,
        seed: int | None = None,
        stop_on_empty_dataset: bool = False,
        rerandomize_each_iteration: bool | None = None,
        *,
        exact: bool = False,
        stop: Stop | None = None,
    ) -> Dataset[Any]:
        """Mix datasets in the proportions of `weights` (without weights, equally), each read in its own order.

        The dataset that an element comes from is computed from the element's position, so a mixture of indexed datasets
        is indexed: it shuffles, shards, skips and resumes at no cost. The order is random, but more even than
        independent draws: a stretch of any length is within a few elements of each dataset's share. With
        `exact=True` the order is as even as possible, within one or two elements, and the same each time; then avoid a
        `shard()` whose step coincides with the pattern. With a `seed` the random order is the same in every epoch,
        unless `rerandomize_each_iteration`; without a seed, each epoch has another order.

        `weights` need not add up to 1, and are one of

        - a list: the same weights throughout;
        - a mapping `{0: [...], 50_000: [...]}` from positions in the epoch to the weights from there on;
        - a function of the position, which is called at every 1,024th position for the elements up to the next;
        - a dataset of lists, one for each element drawn, until it ends: the result is a stream, and never `exact`.

        `stop` determines what happens when a dataset runs out:

        - `"all"`, the default: the others continue in their proportions until all are empty;
        - `"first"`, or `stop_on_empty_dataset=True`: the epoch ends where its next element is due;
        - `"never"`: each begins again separately, as by `repeat()`, reshuffled, and the mixture has no end;
        - `"exact"`: weights are the lengths, so that all run out together: every element once, evenly spread.

        To change weights during a run, see `draw_counts`. With an input that is a stream, the mixture is a stream.

        >>> few, many = Dataset.range(100, 103), Dataset.range(9)
        >>> mix = Dataset.sample_from_datasets([few, many], [1, 3], exact=True)
        >>> [int(x) for x in mix]
        [0, 100, 1, 2, 3, 101, 4, 5, 6, 102, 7, 8]
        >>> never = Dataset.sample_from_datasets([few, many], [1, 1], exact=True, stop="never")
        >>> [int(x) for x in never.take(8)]
        [100, 0, 101, 1, 102, 2, 100, 3]
        >>> sorted(Dataset.sample_from_datasets([few, many], stop="exact")) == sorted([*few, *many])
        True
        """
        call = "sample_from_datasets"
        plans = _plans(call, datasets)
        exact = check_flag(call, "exact", exact)
        seed = check_seed(call, seed)
        rerandomize = seed is None if rerandomize_each_iteration is None else rerandomize_each_iteration
        rerandomize = check_flag(call, "rerandomize_each_iteration", rerandomize)
        rule = _rule(check_flag(call, "stop_on_empty_dataset", stop_on_empty_dataset), stop)
        if rule == "exact":
            weights = _lengths(plans, weights)
        if rule == "never":
            plans = _repeated(plans)
        guide = _plan_if_dataset(weights)
        if guide is not None:
            if exact:
                raise ValueError(f"{call}(exact=True): a dataset of weights is sampled at random; omit exact")
            return _dataset(combine.sample.SampleGuided(plans, guide, rule == "first", rerandomize, seed))
        known = _weights(weights, len(plans))
        if len(plans) == 1:
            return _dataset(plans[0])
        if (total := sum(plan.length for plan in plans if plan.length > 0)) >= MOST:
            raise PlanError(f"{call}(): {total} elements; at most 2**62 - 1 are allowed")
        plan = combine.sample.Sample(
            plans, known, rule == "first", exact, rerandomize and not exact, None if exact else seed
        )
        return _dataset(plan)

    @staticmethod
    def choose_from_datasets(
        datasets: Sequence[Dataset[Any]], choice_dataset: Dataset[Any], stop_on_empty_dataset: bool = True
    ) -> Dataset[Any]:
        """Draw each element from the dataset whose number is the next element of `choice_dataset`.

        The choice of an empty dataset ends the epoch, or with `stop_on_empty_dataset=False` is skipped. Choices that
        are the same in every epoch (up to 4 million, or 65,536 repeated without end) are made and counted now; the
        result is then indexed, if the datasets are. Otherwise the result is a stream. A choice that is not the number
        of a dataset raises an `ElementError`.

        >>> tens, ones = Dataset.range(0, 100, 10), Dataset.range(10)
        >>> turns = Dataset.from_tensor_slices([0, 1, 1]).repeat()
        >>> [int(x) for x in Dataset.choose_from_datasets([tens, ones], turns).take(6)]
        [0, 0, 1, 10, 2, 3]
        """
        call = "choose_from_datasets"
        plans, guide = _plans(call, datasets), _plan_if_dataset(choice_dataset)
        if guide is None:
            raise TypeError(f"{call}(choice_dataset=): expected a dataset, not {type(choice_dataset).__name__}")
        spec = guide.spec()
        if spec is not None and not (isinstance(spec, ArraySpec) and spec.dtype.kind in "iu" and spec.shape == ()):
            raise TypeError(f"{call}(choice_dataset=): expected whole numbers, not elements {describe(spec)}")
        first = check_flag(call, "stop_on_empty_dataset", stop_on_empty_dataset)
        known = _known_choices(guide, len(plans)) if all(plan.indexed for plan in plans) else None
        if known is None:
            return _dataset(combine.choose.ChooseGuided(plans, guide, first))
        return _dataset(combine.choose.Choose(plans, known, first))

    def draw_counts(self, count: int, *, epoch: int = 0) -> list[int]:
        """Return the number of elements of each dataset among the first `count` elements of a mixture.

        Use the counts to change weights during a run, without losing or repeating an element: skip the elements already
        drawn from each dataset, and mix the rest.

        >>> one, other = Dataset.range(100).shuffle(seed=1), Dataset.range(500).shuffle(seed=2)
        >>> old = Dataset.sample_from_datasets([one, other], [1, 1], seed=3)
        >>> counts = old.draw_counts(80)
        >>> rest = [ds.skip(n) for ds, n in zip([one, other], counts)]
        >>> new = Dataset.sample_from_datasets(rest, [1, 9], seed=4)
        >>> received = [*old.take(80), *new]
        >>> sorted(received) == sorted([*one, *other])
        True

        If datasets are repeated (`stop="never"`), the rest of one is `ds.repeat().skip(n)`. The counts are those of the
        mixture itself, before other transformations: after 1,000 batches of 64, call `mix.draw_counts(64_000)`, with
        the epoch in the saved state. A mixture that draws at random needs a `seed`, or the seed in the saved state:
        `mix.with_options(ps.Options(seed=state["seed"]))`.

        For indexed datasets the counts are arithmetic, and cost no more than one element; so they are for streams with
        `stop="never"`, and with `stop="first"` up to the end of the epoch. In all other cases the end of a stream is
        found by running it: streams of unknown length run as far as they were drawn from, as does a dataset of weights
        or of choices; no other dataset runs.
        """
        plan = _without_settings(self._plan)
        wanted = check_count("draw_counts", "count", count, least=0)
        epoch = check_count("draw_counts", "epoch", epoch, least=0)
        options = buffer.options.options_of(self._plan)
        if not isinstance(plan, combine.mixture.Mixture):
            raise PlanError(f"draw_counts(): {plan.label()} is not a mixture; call draw_counts() of the mixture itself")
        runs = dryrun.draw_counts.inputs_to_run(plan)
        if options.seed is None and (is_unseeded(plan) or any(map(rewrite.seeds.needs_seed, runs))):
            raise PlanError(
                "draw_counts(): without a seed every dataset draws differently; pass a seed to the mixture and to its "
                'datasets, or the seed in the saved state: mix.with_options(Options(seed=state["seed"]))'
            )
        bound = cast("combine.mixture.Mixture", rewrite.seeds.bind_seeds(plan, options.seed or 0))
        passes = rewrite.passes.PLAIN if options.rewrite is False else rewrite.passes.PASSES
        settings, most = engine.tuning.settings.settings_of(self._plan), wanted if plan.length < 0 else plan.length
        with noting_blames():
            counts = dryrun.draw_counts.draw_counts(bound, min(wanted, most), epoch, settings, passes)
        if (there := max(sum(counts), plan.length)) < wanted:
            raise ValueError(f"draw_counts({wanted}): the mixture has {there} elements")
        return counts

    def rejection_resample(
        self,
        class_func: ElementCallable[T_co, Any],
        target_dist: Sequence[float],
        initial_dist: Sequence[float] | None = None,
        seed: int | None = None,
        *,
        on_error: str | OnError = "raise",
        thread_safe: bool | None = None,
    ) -> Dataset[tuple[int, T_co]]:
        """Drop elements at random so that classes come as in `target_dist`, and yield the rest as `(class, element)`.

        `class_func` is called as the function of `map` is, and returns a whole number below `len(target_dist)`.
        `on_error` and `thread_safe` work as in `map`, and `ps.on_error.replace(number)` gives the class of elements for
        which `class_func` raises. `initial_dist` is the share of each class in the data; without it, the share observed
        so far is used, so that the first elements are kept too often or too rarely. Neither distribution need add up to
        1. As many elements are kept as the proportions permit; none is repeated. The decision to keep an element
        depends on the element, not on the order of the work.

        >>> rare = Dataset.range(10_000).map(lambda x: int(x % 10 == 0))  # one in ten
        >>> even = rare.rejection_resample(lambda label: label, [0.5, 0.5], [0.9, 0.1], seed=0)
        >>> classes = [label for label, element in even]
        >>> len(classes), sum(classes)
        (1980, 1000)
        """
        call = "rejection_resample"
        check_function(call, "class_func", class_func)
        count = _count_of(call, target_dist)
        target = index.weights.check_weights(target_dist, count, f"{call}(target_dist=): ", "class")
        seed = check_seed(call, seed)
        node = elementwise.resample.Classify(
            self._plan, class_func, count, check_flag_or_none(call, "thread_safe", thread_safe)
        )
        forgives = standing_for(call, on_error, node.number_of, f"a whole number from 0 to {count - 1}")
        classes = with_on_error(node, forgives)
        if initial_dist is None:
            return self._over(elementwise.resample.ResampleEstimated(classes, target, seed))
        initial = index.weights.check_weights(initial_dist, count, f"{call}(initial_dist=): ", "class")
        missing = [number for number in range(count) if target[number] and not initial[number]]
        if missing:
            raise ValueError(f"{call}(initial_dist=): class {missing[0]} is 0, but not in target_dist")
        keep = elementwise.resample.keep_chances(np.array(target), np.array(initial))
        return self._over(elementwise.resample.RejectionResample(classes, tuple(keep.tolist()), seed))


def _dataset(plan: Node) -> Dataset[Any]:
    from penstock.dataset.dataset import Dataset

    return Dataset(plan, transformed=True)


def _plans(call: str, datasets: Any) -> tuple[Node, ...]:
    """Return the plans of the datasets, whose elements must fit together."""
    if isinstance(datasets, Handle) or not isinstance(datasets, Sequence):
        raise TypeError(f"{call}(datasets=): expected a list of datasets, not {type(datasets).__name__}")
    if not datasets:
        raise ValueError(f"{call}(datasets=[]): expected at least one dataset")
    plans: list[Node] = []
    for dataset in datasets:
        plan = _plan_if_dataset(dataset)
        if plan is None:
            raise TypeError(f"{call}(datasets=): expected datasets, not {type(dataset).__name__}")
        plans.append(plan)
    specs = [spec for plan in plans if (spec := plan.spec()) is not None]
    for spec in specs[1:]:
        if relax(specs[0], spec) is None:
            raise PlanError(f"{call}(): elements do not fit: {describe(specs[0])} against {describe(spec)}")
    return tuple(plans)


def _plan_if_dataset(value: Any) -> Node | None:
    return value._plan if isinstance(value, Handle) else None  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] - ours


def _rule(stop_on_empty: bool, stop: Any) -> str:
    rules = ("first", "all", "never", "exact")
    if not is_one_of(stop, None, *rules):
        raise ValueError(f"sample_from_datasets(stop={stop!r}): expected one of {', '.join(map(repr, rules))}")
    if stop_on_empty and stop not in (None, "first"):
        raise ValueError(f"sample_from_datasets(stop={stop!r}): contradicts stop_on_empty_dataset=True")
    return stop or ("first" if stop_on_empty else "all")


def _lengths(plans: tuple[Node, ...], weights: Any) -> list[int]:
    """Return the lengths of datasets, which must all be known and finite, as weights."""
    if weights is not None:
        raise ValueError("sample_from_datasets(stop='exact'): the weights are the lengths; omit weights=")
    for number, plan in enumerate(plans):
        if plan.length in (INFINITE, UNKNOWN):
            what = "never ends" if plan.length == INFINITE else "has an unknown length"
            raise PlanError(f"sample_from_datasets(stop='exact'): dataset {number}, {plan.label()}, {what}")
    lengths = [plan.length for plan in plans]
    return lengths if any(lengths) else [1] * len(plans)


def _repeated(plans: tuple[Node, ...]) -> tuple[Node, ...]:
    for number, plan in enumerate(plans):
        if plan.length == 0:
            raise PlanError(f"sample_from_datasets(stop='never'): dataset {number} has no elements to repeat")
    return tuple(plan if plan.length == INFINITE else order.repeat.Repeat(plan, INFINITE) for plan in plans)


def _weights(weights: Any, count: int) -> index.weights.Steady | index.weights.Stepped | index.weights.Asked:
    place = "sample_from_datasets(weights=): "
    if weights is None:
        return index.weights.Steady((1.0,) * count)
    if isinstance(weights, Mapping):
        steps = sorted(weights.items())
        starts = [check_count("sample_from_datasets", "weights", start, least=0) for start, _ in steps]
        if not starts or starts[0] != 0:
            raise ValueError(f"{place}{weights!r:.80}: expected weights from position 0 on")
        each = [index.weights.check_weights(vector, count, place) for _, vector in steps]
        return index.weights.Stepped(tuple(zip(starts, each, strict=True)))
    if callable(weights):
        check_function("sample_from_datasets", "weights", weights)
        return index.weights.Asked(weights, count)
    return index.weights.Steady(index.weights.check_weights(weights, count, place))


def _known_choices(guide: Node, members: int) -> combine.choose.Choices | None:
    """Return the choices, if they are indexed, not too many, and the same in every epoch; else `None`."""
    plan = _without_settings(guide)
    endless = isinstance(plan, order.repeat.Repeat) and plan.length == INFINITE
    while isinstance(plan, order.repeat.Repeat) and plan.length == INFINITE and plan.input.length != INFINITE:
        plan = _without_settings(plan.input)
    most = MOST_KNOWN_ENDLESS if endless else MOST_KNOWN
    if (
        not plan.indexed
        or not 0 <= plan.length <= most
        or rewrite.seeds.needs_seed(plan)
        or any(varies(node) for node in post_order(plan))
    ):
        return None
    program = engine.tasks.compile.compiled(plan, np.empty, engine.tasks.observer.Unobserved())
    with noting_blames():
        known = combine.choose.choices_of(program(np.arange(plan.length)), members, 0)
    return combine.choose.Choices(known, endless)


def _without_settings(plan: Node) -> Node:
    while isinstance(plan, buffer.prefetch.Prefetch | buffer.options.WithOptions):
        plan = plan.input
    return plan


def _count_of(call: str, target: Any) -> int:
    try:
        return len(target)
    except TypeError:
        raise TypeError(f"{call}(target_dist=): expected a list of numbers, not {type(target).__name__}") from None

"""`tf_data.Options`."""

from __future__ import annotations

import pytest

import penstock as ps
from penstock import tf_data as data

# Section 1.5 of the reference: what tf.data has and is let go here, and what would change something and is refused.
LET_GO = {
    "": ["experimental_slack", "experimental_symbolic_checkpoint", "experimental_warm_start"],
    "threading": ["max_intra_op_parallelism"],
    "autotune": ["enabled", "initial_parallelism", "min_parallelism"],
    "experimental_optimization": [
        *("filter_fusion", "filter_parallelization", "inject_prefetch", "map_and_batch_fusion"),
        *("map_and_filter_fusion", "map_fusion", "map_parallelization", "noop_elimination", "parallel_batch"),
        *("seq_interleave_prefetch", "shuffle_and_repeat_fusion"),
    ],
}
ABSENT = {
    "": ["experimental_external_state_policy", "experimental_service"],
    "autotune": ["autotune_algorithm"],
    "experimental_distribute": ["num_devices"],
}


def named(groups):
    return [(group, name) for group, names in groups.items() for name in names]


def test_fields_are_those_of_penstock():
    options = data.Options()
    options.deterministic = False
    options.dataset_name = "train"
    options.threading.private_threadpool_size = 3
    options.autotune.ram_budget = 1 << 30
    options.autotune.cpu_budget = 2
    options.experimental_optimization.apply_default_optimizations = False
    expected = ps.Options(deterministic=False, workers=3, cores=2, memory_budget=1 << 30, rewrite=False)
    assert options.to_penstock() == expected
    assert data.Dataset.range(3).with_options(options).options() == expected


def test_unset_options_set_nothing():
    options = data.Options()
    options.threading = data.ThreadingOptions()
    options.threading.private_threadpool_size = 0
    assert options.to_penstock() == ps.Options()


def test_later_options_count():
    first, second = data.Options(), ps.Options(seed=1, deterministic=True)
    first.deterministic = False
    merged = data.Dataset.range(3).with_options(first).with_options(second).options()
    assert merged == ps.Options(seed=1, deterministic=True)


@pytest.mark.parametrize(("group", "name"), named(LET_GO))
def test_fields_without_effect_are_ignored(group, name):
    options = data.Options()
    fields = getattr(options, group) if group else options
    assert getattr(fields, name) is None
    given = 4 if "parallelism" in name else True
    setattr(fields, name, given)
    assert getattr(fields, name) == given
    assert options.to_penstock() == ps.Options()
    with pytest.raises(TypeError, match=rf"{name} = 'yes': expected (bool|int) or None"):
        setattr(fields, name, "yes")


def test_sharding_is_off_and_cannot_be_turned_on():
    options = data.Options()
    options.experimental_distribute.auto_shard_policy = data.experimental.AutoShardPolicy.OFF
    assert options.to_penstock() == ps.Options()
    assert [len(batch) for batch in data.Dataset.range(8).batch(3).with_options(options)] == [3, 3, 2]
    with pytest.raises(ValueError, match=r"auto_shard_policy = <AutoShardPolicy\.DATA: 2>: .*ds\.shard"):
        options.experimental_distribute.auto_shard_policy = data.experimental.AutoShardPolicy.DATA


def test_reporting_fields_are_ignored():
    options = data.Options()
    options.framework_type = ["keras"]
    assert options.to_penstock() == ps.Options()


def test_older_spellings_are_the_same_fields():
    options = data.Options()
    options.experimental_deterministic = False
    options.experimental_threading.private_threadpool_size = 2
    assert (options.deterministic, options.experimental_deterministic) == (False, False)
    assert options.to_penstock() == ps.Options(deterministic=False, workers=2)
    options.experimental_threading = data.ThreadingOptions(3)
    assert options.threading.private_threadpool_size == 3


def test_options_merge_field_by_field_and_the_second_counts():
    first, second = data.Options(deterministic=True), data.Options()
    first.threading.private_threadpool_size = 2
    first.autotune.ram_budget = 1 << 30
    second.threading.private_threadpool_size = 3
    second.experimental_slack = True
    merged = first.merge(second)
    assert merged.to_penstock() == ps.Options(deterministic=True, workers=3, memory_budget=1 << 30)
    assert (merged.experimental_slack, first.experimental_slack) == (True, None)
    assert first.threading.private_threadpool_size == 2
    with pytest.raises(TypeError, match=r"expected tf_data\.Options, not int"):
        first.merge(3)


@pytest.mark.parametrize(("group", "name"), named(ABSENT))
def test_unsupported_fields_give_the_replacement(group, name):
    options = data.Options()
    fields = getattr(options, group) if group else options
    with pytest.raises(AttributeError, match=f"'{name}': "):
        setattr(fields, name, True)
    with pytest.raises(AttributeError, match=f"'{name}': "):
        getattr(fields, name)


def test_an_unknown_field_is_an_error():
    with pytest.raises(AttributeError, match=r"Options has no 'determinstic'; did you mean deterministic\?$"):
        data.Options().determinstic = True


@pytest.mark.parametrize(
    ("group", "name", "value", "said"),
    [
        (None, "deterministic", "yes", r"Options\.deterministic = 'yes': expected bool or None"),
        (None, "threading", 3, r"Options\.threading = 3: expected ThreadingOptions$"),
        (None, "autotune", None, r"Options\.autotune = None: expected AutotuneOptions$"),
        (None, "dataset_name", 3, "expected str or None"),
        ("threading", "private_threadpool_size", "4", r"ThreadingOptions\.private_threadpool_size = '4': expected int"),
        ("threading", "private_threadpool_size", -1, "private_threadpool_size = -1: expected at least 0"),
        ("autotune", "ram_budget", 1.5, r"AutotuneOptions\.ram_budget = 1\.5: expected int or None"),
        ("experimental_optimization", "apply_default_optimizations", 1, "expected bool or None"),
    ],
)
def test_wrong_values_are_refused_when_set(group, name, value, said):
    options = data.Options()
    fields = getattr(options, group) if group else options
    with pytest.raises((TypeError, ValueError), match=said):
        setattr(fields, name, value)
    with pytest.raises((TypeError, ValueError), match=said):
        type(fields)(**{name: value})

"""The names of `tf.data` that Penstock does not have, and their replacements."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from penstock.core.attributes import UnknownNameError

_GRAPH = "there is no graph here, so"
_DEVICE = "ds.to_torch() and ds.to_jax() pass batches on; moving them to a device is the framework's"
_EXAMPLES = "penstock.read_tfrecord(paths).batch(n).map(penstock.records.parse_example(features)) parses batches"
_ALONE = "sharding is never automatic: write ds.shard(num_shards, index)"
_SERVICE = "there is no data service; pass any concurrent.futures.Executor, such as a cluster's, as Options(executor=)"
_TABLE = "build a dict: {key: value for key, value in ds}, and look words up in map()"
_END = "`next(it, None)` returns the end of the data as a value"
_SPECS = f"{_GRAPH} datasets and iterators need no type as arguments; ds.element_spec is the type of the elements"

OF_DATA: Mapping[str, str] = {
    "DatasetSpec": _SPECS,
    "IteratorSpec": _SPECS,
}

OF_EXPERIMENTAL: Mapping[str, str] = {
    "AutotuneAlgorithm": "there is one algorithm, which measures; it.stats().decisions lists its decisions",
    "DatasetInitializer": _TABLE,
    "ExternalStatePolicy": "a function's state is its own; it.state_dict() is the iterator's position",
    "Optional": _END,
    "SHARD_HINT": _ALONE,
    "ServiceOptions": _SERVICE,
    "SqlDataset": "penstock.read_sql(connection, table, key=column) reads the rows as dicts, with random access",
    "copy_to_device": _DEVICE,
    "distributed_save": f"{_SERVICE}; ds.save(path) writes here",
    "enable_debug_mode": "functions are plain Python; Options(executor='inline') runs them in the caller's thread",
    "from_variant": f"{_GRAPH} a dataset is an object to pass on as it is",
    "get_model_proto": "it.stats() has the measurements and it.verdict() their conclusion",
    "get_next_as_optional": _END,
    "index_table_from_dataset": _TABLE,
    "make_batched_features_dataset": _EXAMPLES,
    "make_saveable_from_iterator": "it.state_dict() is the position, and it.load_state_dict() continues there",
    "parse_example_dataset": _EXAMPLES,
    "prefetch_to_device": _DEVICE,
    "service": _SERVICE,
    "table_from_dataset": _TABLE,
    "to_variant": f"{_GRAPH} a dataset is an object to pass on as it is",
}

_ITERATE = "there is no graph here: write `for element in ds`, or it = iter(ds) and it.get_next()"
_SPEC_OF = "ds.element_spec has the types and shapes"

OF_TENSORFLOW: Mapping[str, str] = {
    **dict.fromkeys(
        ("_variant_tensor", "_inputs"),
        "TensorFlow itself takes only its own datasets, as for a strategy or a table: pass ds.to_tensorflow()",
    ),
    **dict.fromkeys(("make_initializable_iterator", "make_one_shot_iterator", "_make_one_shot_iterator"), _ITERATE),
    **dict.fromkeys(("output_classes", "output_shapes", "output_types"), _SPEC_OF),
}
"""Names of datasets that are not of the public API of `tf.data`, but that programs or TensorFlow itself ask for."""


def unknown_name(place: str, name: str, names: Mapping[str, str], known: Iterable[str] = ()) -> AttributeError:
    """Return the error for a name that `place` does not have, out of those that are `known`.

    >>> unknown_name("penstock.tf_data.experimental", "SHARD_HINT", OF_EXPERIMENTAL)
    AttributeError("penstock.tf_data.experimental has no 'SHARD_HINT': sharding is never automatic: write ...")
    """
    instead = names.get(name)
    if instead:
        return AttributeError(f"{place} has no {name!r}: {instead}")
    return UnknownNameError(f"{place} has no {name!r}", name, known)

"""`penstock.tf_data` and docs/from-tf-data.md have every public name of `tf.data`."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

import penstock as ps
from penstock import tf_data as data
from penstock.tf_data.absent import OF_DATA, OF_EXPERIMENTAL

PAGE = (Path(__file__).resolve().parents[1] / "docs" / "from-tf-data.md").read_text("utf-8")


def names(text: str) -> list[str]:
    return text.split()


# The public names of tf.data 2.21.
MODULE = names("""
    AUTOTUNE INFINITE_CARDINALITY UNKNOWN_CARDINALITY Dataset DatasetSpec FixedLengthRecordDataset Iterator
    IteratorSpec NumpyIterator Options TFRecordDataset TextLineDataset ThreadingOptions experimental
""")
EXPERIMENTAL = names("""
    AUTOTUNE INFINITE_CARDINALITY UNKNOWN_CARDINALITY SHARD_HINT AutoShardPolicy AutotuneAlgorithm
    AutotuneOptions CsvDataset DatasetInitializer DistributeOptions ExternalStatePolicy OptimizationOptions
    Optional RandomDataset Reducer ServiceOptions SqlDataset TFRecordWriter ThreadingOptions Counter
    assert_cardinality at bucket_by_sequence_length cardinality choose_from_datasets copy_to_device
    dense_to_ragged_batch dense_to_sparse_batch distributed_save enable_debug_mode enumerate_dataset from_list
    from_variant get_model_proto get_next_as_optional get_single_element get_structure group_by_reducer
    group_by_window ignore_errors index_table_from_dataset load make_batched_features_dataset make_csv_dataset
    make_saveable_from_iterator map_and_batch pad_to_cardinality parallel_interleave parse_example_dataset
    prefetch_to_device rejection_resample sample_from_datasets save scan shuffle_and_repeat snapshot
    table_from_dataset take_while to_variant unbatch unique service
""")
SERVICE = names("""
    CrossTrainerCache DispatchServer DispatcherConfig ShardingPolicy WorkerConfig WorkerServer distribute
    from_dataset_id register_dataset
""")
DATASET = names("""
    apply as_numpy_iterator batch bucket_by_sequence_length cache cardinality choose_from_datasets concatenate
    counter element_spec enumerate filter fingerprint flat_map from_generator from_tensor_slices from_tensors
    get_single_element group_by_window ignore_errors interleave list_files load map options padded_batch
    prefetch ragged_batch random range rebatch reduce rejection_resample repeat sample_from_datasets save scan
    shard shuffle skip snapshot sparse_batch take take_while unbatch unique window with_options zip
""")
OPTIONS = names("""
    autotune dataset_name deterministic experimental_deterministic experimental_distribute
    experimental_external_state_policy experimental_optimization experimental_service experimental_slack
    experimental_symbolic_checkpoint experimental_threading experimental_warm_start framework_type threading
    merge enabled cpu_budget ram_budget autotune_algorithm initial_parallelism min_parallelism
    apply_default_optimizations filter_fusion filter_parallelization inject_prefetch map_and_batch_fusion
    map_and_filter_fusion map_fusion map_parallelization noop_elimination parallel_batch seq_interleave_prefetch
    shuffle_and_repeat_fusion auto_shard_policy num_devices max_intra_op_parallelism private_threadpool_size
    pinned
""")
WITHOUT_A_NAME = {"element_spec", "fingerprint", "load", "options", "save"}


@pytest.mark.parametrize(
    ("place", "listed", "absent"),
    [
        (data, MODULE, OF_DATA),
        (data.experimental, EXPERIMENTAL, OF_EXPERIMENTAL),
        (data.Dataset, DATASET, ()),
    ],
)
def test_every_name_exists_or_gives_a_replacement(place, listed, absent):
    assert [name for name in listed if not hasattr(place, name) and name not in absent] == []
    assert set(absent) <= set(listed)


@pytest.mark.parametrize("name", sorted({*MODULE, *EXPERIMENTAL, *SERVICE, *DATASET, *OPTIONS}))
def test_every_name_is_documented(name):
    rows = [line.split("|")[1] for line in PAGE.splitlines() if line.startswith("| `")]
    assert any(name in re.findall(r"\w+", row) for row in rows)


@pytest.mark.parametrize("name", [name for name in DATASET if name not in WITHOUT_A_NAME])
def test_every_method_takes_name(name):
    method = inspect.unwrap(getattr(data.Dataset, name), stop=lambda function: "name" in function.__code__.co_varnames)
    assert "name" in inspect.signature(method, follow_wrapped=False).parameters


def test_tf_data_is_a_part_of_penstock():
    assert ps.__getattr__("tf_data") is ps.tf_data is data
    assert issubclass(data.Dataset, ps.Dataset)
    assert data.AUTOTUNE == ps.AUTOTUNE
    assert (data.INFINITE_CARDINALITY, data.UNKNOWN_CARDINALITY) == (ps.INFINITE, ps.UNKNOWN)

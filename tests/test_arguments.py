"""Arguments of a wrong type, and counts that cannot be: the error names the call and the argument."""

from __future__ import annotations

import sqlite3
from inspect import Parameter, getattr_static, signature

import numpy as np
import pytest

import penstock as ps
from penstock import tf_data

D = ps.Dataset
READERS = (
    ps.read_files, ps.read_tfrecord, ps.read_tar, ps.read_text, ps.read_json, ps.read_numpy, ps.read_hdf5, ps.read_zarr,
    ps.read_parquet, ps.read_arrow, ps.read_csv,
)  # fmt: skip


@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.__name__)
@pytest.mark.parametrize("paths", [3, 2.5, None, bytearray(b"path"), [1], [bytearray(b"path")], []])
def test_readers_name_their_paths(reader, paths):
    with pytest.raises((TypeError, ps.errors.PlanError)) as error:
        reader(paths)
    assert str(error.value).startswith(f"{reader.__name__}(paths=")


CALLS = [
    (D.list_files, "list_files(file_pattern="),
    (D.load, "load(path="),
    (lambda value: D.range(3).save(value), "save(path="),
    (lambda value: D.range(3).write_tfrecord(value), "write_tfrecord(path="),
    (lambda value: D.range(3).write_tar(value), "write_tar(path="),
    (lambda value: D.range(3).write_parquet(value), "write_parquet(path="),
    (ps.read_image_folder, "read_image_folder(paths="),
    (ps.read_mds, "read_mds(paths="),
    (ps.read_litdata, "read_litdata(paths="),
    (lambda value: ps.read_fixed_length(value, 2), "read_fixed_length(paths="),
    (lambda value: D.range(3).locate(value), "locate(row="),
    (lambda value: D.range(3).split(value), "split(parts="),
    (lambda value: D.range(3).apply(value), "apply(transformation_func="),
    (lambda value: ps.Sparse([[0]], [1], value), "Sparse(dense_shape="),
    (ps.audio.info, "info(data="),
    (lambda value: ps.audio.log_mel(16000, floor=value), "log_mel(floor="),
    (lambda value: ps.audio.log_mel(16000, f_min=value), "log_mel(f_min="),
    (ps.records.decode_example, "decode_example(record="),
    (ps.records.infer_features, "infer_features(records="),
    (lambda value: ps.records.encode_sequence_example({}, {"a": value}), 'encode_sequence_example: feature "a"'),
    (ps.records.parse_example, "parse_example(features="),
    (ps.records.parse_sequence_example, "parse_sequence_example(context_features="),
    (lambda value: ps.records.parse_sequence_example({}, value), "parse_sequence_example(sequence_features="),
    (lambda value: ps.records.SparseFeature(value, "v", "int64", 3), "SparseFeature(index_key="),
    (lambda value: ps.records.RaggedFeature("int64", partitions=value), "RaggedFeature(partitions="),
    (lambda value: ps.records.RaggedFeature("int64", row_splits_dtype=value), "RaggedFeature(row_splits_dtype)"),
    (ps.testing.verify_resume, "verify_resume(dataset="),
    (lambda value: ps.read_sql(value, "table", key="key"), "read_sql(connection="),
    (tf_data.TextLineDataset, "TextLineDataset(filenames="),
    (lambda value: tf_data.TFRecordDataset([value]), "TFRecordDataset(filenames="),
    (lambda value: tf_data.FixedLengthRecordDataset(value, 2), "FixedLengthRecordDataset(filenames="),
    (lambda value: ps.testing.verify_resume(D.range(3), most=value), "verify_resume(most="),
    (lambda value: ps.testing.verify_determinism(D.range(3), epoch=value), "verify_determinism(epoch="),
    (lambda value: ps.testing.verify_determinism(D.range(3), ways=value), "verify_determinism(ways="),
]


@pytest.mark.parametrize("value", [3.5j, object()])
@pytest.mark.parametrize(("call", "named"), CALLS)
def test_an_argument_of_a_wrong_type_is_named(call, named, value):
    with pytest.raises(TypeError) as error:
        call(value)
    assert str(error.value).startswith(named)


METHODS = [
    name
    for name in sorted(dir(D))
    if not name.startswith("_") and name != "reduce" and not isinstance(getattr_static(D, name), property)
]
GIVEN = {
    "function": abs,
    "map_func": abs,
    "predicate": bool,
    "scan_func": max,
    "datasets": [D.range(2)] * 2,
    "dataset": D.range(2),
    "choice_dataset": D.range(2),
    "key_func": abs,
    "reduce_func": max,
    "window_size": 2,
    "init_func": abs,
    "element_length_func": abs,
    "max_tokens": 2,
    "bucket_boundaries": [2],
    "bucket_batch_sizes": [2, 2],
    "class_func": abs,
    "target_dist": [0.5, 0.5],
    "row_shape": [4],
    "tensors": np.arange(4),
    "source": [1, 2],
}


ARRAYS = (np.array([1, 2]), np.array(["keep", "drop"]), np.zeros(0))


@pytest.mark.parametrize("wrong", [object(), *ARRAYS], ids=["object", "numbers", "words", "nothing"])
@pytest.mark.parametrize("name", METHODS)
def test_impossible_values_name_the_call(name, wrong):
    method = getattr(D.range(6).with_options(ps.Options(ignore_lint="all")), name)
    parameters = [each for each in signature(method).parameters.values() if each.kind != Parameter.VAR_POSITIONAL]
    needed = {each.name: GIVEN.get(each.name, 2) for each in parameters if each.default is Parameter.empty}
    for parameter in parameters:
        arguments = {**needed, parameter.name: wrong}
        try:
            made = method(**arguments)
            if isinstance(made, D):
                made.cardinality()  # it is used then
        except Exception as error:  # noqa: BLE001 - some take any object
            told = str(error)
            assert told.startswith((f"{name}(", f"Dataset.{name}(", f"{name}:")), f"{parameter.name}: {told}"


@pytest.mark.parametrize("size", [0, -1, -3])
def test_a_buffer_of_zero_is_refused_in_user_terms(size):
    with pytest.raises(ValueError, match=rf"^shuffle\(buffer_size={size}\): expected at least 1$"):
        D.range(3).shuffle(size)
    assert sorted(D.range(3).shuffle(ps.UNKNOWN)) == [0, 1, 2]


def files_of(folder):
    """A file for each reader that needs one with something in it."""
    (folder / "a.txt").write_text("a,b\n1,2\n")
    (folder / "a.json").write_text('{"a": 1}\n')
    np.save(folder / "a.npy", np.arange(6).reshape(3, 2))
    ps.Dataset.from_source([b"x"]).write_tfrecord(folder / "a.tfrecord")
    ps.Dataset.from_source([{"__key__": "1", "cls": b"3"}]).write_tar(folder / "a.tar")
    with sqlite3.connect(folder / "a.db") as connection:
        connection.execute("create table t (id integer primary key)")
        connection.execute("insert into t values (1)")
    connection.close()
    text, tfrecord = {"paths": folder / "a.txt"}, folder / "a.tfrecord"
    return {
        ps.read_text: text,
        ps.read_csv: text,
        ps.read_fixed_length: {**text, "shape": [2], "dtype": "u1"},
        ps.read_json: {"paths": folder / "a.json"},
        ps.read_numpy: {"paths": folder / "a.npy"},
        ps.read_tfrecord: {"paths": tfrecord},
        ps.read_tar: {"paths": folder / "a.tar"},
        ps.read_sql: {"connection": folder / "a.db", "relation": "t", "key": "id"},
        D.from_source([]).write_tar: {"path": folder / "b.tar"},
        D.from_source([]).write_tfrecord: {"path": folder / "b.tfrecord"},
        D.from_source([]).write_parquet: {"path": folder / "b.parquet"},
        tf_data.TextLineDataset: {"filenames": folder / "a.txt"},
        tf_data.TFRecordDataset: {"filenames": tfrecord},
        tf_data.FixedLengthRecordDataset: {"filenames": folder / "a.txt", "record_bytes": 2},
        tf_data.Dataset.load: {"path": folder},
        tf_data.Dataset.range(3).cache: {},
        tf_data.Dataset.range(3).map: {"map_func": abs},
        tf_data.Dataset.from_generator: {"generator": list},
        tf_data.experimental.parallel_interleave: {"map_func": abs},
        ps.audio.log_mel: {"sample_rate": 16000},
        ps.image.normalize: {},
        ps.image.resize: {"size": 3},
        ps.records.encode_example: {"features": {}},
        ps.records.encode_sequence_example: {},
        ps.on_error.skip: {},
        ps.Options: {},
    }


@pytest.mark.parametrize("wrong", ARRAYS, ids=["numbers", "words", "nothing"])
def test_arrays_as_arguments_give_no_ambiguous_truth_error(tmp_path, wrong):
    for call, needed in files_of(tmp_path).items():
        for parameter in signature(call).parameters.values():
            if parameter.kind in (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD):
                continue
            try:
                made = call(**{**needed, parameter.name: wrong})
                if isinstance(made, D):
                    made.cardinality()
            except Exception as error:  # noqa: BLE001 - some take arrays
                told = str(error)
                assert not any(word in told for word in ("ambiguous", "unhashable")), (
                    f"{call}: {parameter.name}: {told}"
                )

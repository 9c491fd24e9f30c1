"""`tf_data.Dataset`: the call forms of `tf.data.Dataset`."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import penstock as ps
from penstock import tf_data as data
from penstock.core.errors import ElementError, PlanError

CHAINS = {
    "apply": lambda ds: ds.apply(lambda it: it.take(2)),
    "batch": lambda ds: ds.batch(2, drop_remainder=True, num_parallel_calls=data.AUTOTUNE, name="x"),
    "cache": lambda ds: ds.cache("", name="x"),
    "concatenate": lambda ds: ds.concatenate(ds, name="x"),
    "enumerate": lambda ds: ds.enumerate(start=1, name="x"),
    "filter": lambda ds: ds.filter(lambda x: x > 1, name="x"),
    "flat_map": lambda ds: ds.flat_map(data.Dataset.range, name="x"),
    "bucket_by_sequence_length": lambda ds: ds.map(np.arange).bucket_by_sequence_length(len, [2], [2, 2], name="x"),
    "group_by_window": lambda ds: ds.group_by_window(lambda x: x % 2, lambda key, window: window.batch(2), 2, name="x"),
    "ignore_errors": lambda ds: ds.ignore_errors(log_warning=False, name="x"),
    "interleave": lambda ds: ds.interleave(data.Dataset.range, 2, 1, data.AUTOTUNE, name="x"),
    "map": lambda ds: ds.map(lambda x: x + 1, data.AUTOTUNE, False, name="x"),
    "padded_batch": lambda ds: ds.padded_batch(2, padded_shapes=(), name="x"),
    "prefetch": lambda ds: ds.prefetch(data.AUTOTUNE, name="x"),
    "ragged_batch": lambda ds: ds.map(np.arange).ragged_batch(2, name="x"),
    "rebatch": lambda ds: ds.batch(2).rebatch(3, name="x"),
    "rejection_resample": lambda ds: ds.rejection_resample(lambda x: x % 2, [0.5, 0.5], [0.5, 0.5], seed=1, name="x"),
    "repeat": lambda ds: ds.repeat(2, name="x"),
    "scan": lambda ds: ds.scan(0, lambda state, x: (state + x, state), name="x"),
    "shard": lambda ds: ds.shard(2, 1, name="x"),
    "shuffle": lambda ds: ds.shuffle(3, seed=1, reshuffle_each_iteration=None, name="x"),
    "skip": lambda ds: ds.skip(1, name="x"),
    "slice": lambda ds: ds[1:3],
    "sparse_batch": lambda ds: ds.map(np.arange).sparse_batch(2, [9], name="x"),
    "take": lambda ds: ds.take(2, name="x"),
    "take_while": lambda ds: ds.take_while(lambda x: x < 2, name="x"),
    "unbatch": lambda ds: ds.batch(2).unbatch(name="x"),
    "unique": lambda ds: ds.unique(name="x"),
    "window": lambda ds: ds.window(2, name="x"),
    "with_options": lambda ds: ds.with_options(data.Options(), name="x"),
    "choose_from_datasets": lambda ds: data.Dataset.choose_from_datasets([ds], data.Dataset.from_tensors(0)),
    "sample_from_datasets": lambda ds: data.Dataset.sample_from_datasets([ds, ds], [0.5, 0.5], seed=1),
    "zip": lambda ds: data.Dataset.zip((ds, ds), name="x"),
    "zip of one": data.Dataset.zip,
    "counter": lambda _: data.Dataset.counter(1, 2, name="x").take(3),
    "random": lambda _: data.Dataset.random(1, rerandomize_each_iteration=None, name="x").take(3),
    "from_tensors": lambda _: data.Dataset.from_tensors({"x": 1}, name="x"),
    "from_generator": lambda _: data.Dataset.from_generator(lambda: iter([1]), name="x"),
}


@pytest.mark.parametrize("chain", CHAINS)
def test_results_of_methods_have_the_call_forms(chain):
    ds = CHAINS[chain](data.Dataset.range(5, name="numbers"))
    assert type(ds) is data.Dataset
    assert len(list(ds.take(1, name="y"))) == 1


def test_windows_have_the_call_forms():
    windows = data.Dataset.range(7).window(3, shift=1, drop_remainder=True)
    batches = windows.flat_map(lambda window: window.batch(3, drop_remainder=True, name="x"))
    assert [batch.tolist() for batch in batches] == [[n, n + 1, n + 2] for n in range(5)]


def test_a_name_must_be_text():
    with pytest.raises(TypeError, match="name=3: expected a string"):
        data.Dataset.range(3).take(2, name=3)


def test_the_plan_is_that_of_penstock():
    ours = data.Dataset.range(9).shuffle(4, seed=1).batch(2).prefetch(1)
    assert ours.fingerprint() == ps.Dataset.range(9).shuffle(4, seed=1).batch(2).prefetch(1).fingerprint()


def test_shuffle_with_a_buffer_moves_elements_by_a_few_buffers():
    ds = data.Dataset.range(10_000).shuffle(100, seed=1, reshuffle_each_iteration=False)
    first, second = list(ds), list(ds)
    assert first == second
    assert sorted(first) == list(range(10_000))
    assert 100 < max(abs(int(x) - at) for at, x in enumerate(first)) < 600


def test_shuffle_reshuffles_by_default_and_a_buffer_of_any_size_costs_nothing():
    ds = data.Dataset.range(50).shuffle(10**9, seed=1)
    assert list(ds) != list(ds)
    assert sorted(data.Dataset.range(50).shuffle(data.UNKNOWN_CARDINALITY)) == list(range(50))


def numbers():
    yield 1
    yield 2


def test_a_generator_is_converted_to_its_signature():
    for ds in (
        data.Dataset.from_generator(numbers, output_signature=data.TensorSpec(shape=(), dtype=np.uint8)),
        data.Dataset.from_generator(numbers, np.uint8),
        data.Dataset.from_generator(numbers, output_types=np.uint8, output_shapes=()),
    ):
        assert [batch.tolist() for batch in ds.batch(2)] == [[1, 2]]
        assert next(iter(ds.batch(2))).dtype == np.uint8


def test_a_generator_with_arguments():
    ds = data.Dataset.from_generator(lambda stop: iter(range(stop)), args=(3,), output_types=np.int32)
    assert list(ds.repeat(2)) == [0, 1, 2, 0, 1, 2]


@pytest.mark.parametrize("element", [1.5, "one", [1, 2], (1, 2), 300])
def test_an_element_that_does_not_fit_its_signature_is_refused(element):
    ds = data.Dataset.from_generator(lambda: iter([element]), output_signature=data.TensorSpec((), np.uint8))
    with pytest.raises(ElementError, match="the signature says uint8"):
        list(ds)


def test_two_signatures_are_refused():
    with pytest.raises(TypeError, match="not both"):
        data.Dataset.from_generator(numbers, np.int32, output_signature=data.TensorSpec((), np.int32))
    with pytest.raises(TypeError, match="needs output_types"):
        data.Dataset.from_generator(numbers, output_shapes=())
    with pytest.raises(TypeError, match="pass the function itself"):
        data.Dataset.from_generator(numbers(), np.int32)


def test_files_are_sorted_unless_shuffle_is_requested(tmp_path):
    for number in range(30):
        (tmp_path / f"{number:02}.txt").touch()
    names = [str(tmp_path / f"{number:02}.txt") for number in range(30)]
    pattern = str(tmp_path / "*.txt")
    assert list(data.Dataset.list_files(pattern)) == names
    assert list(data.Dataset.list_files(pattern, shuffle=False, seed=1)) == names
    for shuffled in (data.Dataset.list_files(pattern, shuffle=True), data.Dataset.list_files(pattern, seed=3)):
        paths = list(shuffled)
        assert sorted(paths) == names != paths


def test_a_saved_dataset_is_loaded(tmp_path):
    ds = data.Dataset.range(5)
    ds.save(tmp_path / "x", compression=None)
    with pytest.raises(FileExistsError):
        ds.save(tmp_path / "x")
    ds.take(4).save(tmp_path / "x", overwrite=True)
    loaded = data.Dataset.load(tmp_path / "x", element_spec=data.TensorSpec((), np.int64))
    assert type(loaded) is data.Dataset
    assert list(loaded) == [0, 1, 2, 3]
    with pytest.raises(PlanError, match="saved was int64"):
        data.Dataset.load(tmp_path / "x", element_spec=data.TensorSpec((), np.int32))


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda ds: ds.snapshot("file", shard_func=lambda *_: 0), "found by number"),
        (lambda ds: ds.snapshot("file", compression="GZIP"), "cache"),
        (lambda ds: ds.save("x", compression="GZIP"), "not compressed"),
        (lambda ds: ds.save("x", shard_func=lambda *_: 0), "shard_func"),
        (lambda _: data.Dataset.load("x", reader_func=lambda ds: ds), "reader_func"),
        (lambda _: data.Dataset.load("x", wait=True), "complete"),
        (lambda ds: ds.map(lambda x: x, 2, synchronous=True), "contradicts it"),
    ],
)
def test_arguments_with_other_behavior_are_refused(call, says):
    with pytest.raises(ValueError, match=says):
        call(data.Dataset.range(3))


@pytest.mark.parametrize("keep", ["cache", "snapshot"])
def test_elements_are_kept_in_a_folder(tmp_path, keep):
    (tmp_path / "data").write_text("one\n")

    def lines():
        return getattr(data.TextLineDataset(str(tmp_path / "data")), keep)(str(tmp_path / "kept"))

    assert list(lines()) == list(lines()) == [b"one"]
    (tmp_path / "data").write_text("other\n")
    with pytest.warns(UserWarning, match="changed"):
        assert list(lines()) == [b"other"]  # in TensorFlow, b"one"
    assert type(lines()) is data.Dataset


KEPT = """
import os, signal, sys
import numpy as np
from penstock import tf_data as data

how, folder, dies_at = sys.argv[1], sys.argv[2], int(sys.argv[3])
made = []


def square(x):
    made.append(int(x))
    return np.full(500, x * x)


kept = getattr(data.Dataset.range(60).map(square), how)(folder)
for number, element in enumerate(kept):
    assert element.tolist() == [number * number] * 500
    if number == dies_at:
        os.kill(os.getpid(), signal.SIGKILL)
print(len(made))
"""


@pytest.mark.parametrize("keep", ["cache", "snapshot"])
def test_a_folder_outlives_a_killed_process_and_damage(tmp_path, keep):
    def run(dies_at=-1):
        command = [sys.executable, "-c", KEPT, keep, str(tmp_path / "kept"), str(dies_at)]
        ran = subprocess.run(command, capture_output=True, text=True, check=False)
        return ran.stdout or ran.stderr or ran.returncode

    assert run(dies_at=40) == -9
    assert int(run()) <= 20
    assert run() == "0\n"
    files = list((tmp_path / "kept").glob("*/*.data"))
    for path in files:
        content = bytearray(path.read_bytes())
        content[len(content) // 2] ^= 1
        path.write_bytes(content)
    assert 1 <= int(run()) <= len(files)  # rows, of which each is in one file
    assert run() == "0\n"


def test_the_path_of_a_cache_is_given_once(tmp_path):
    assert list(data.Dataset.range(2).cache(path=tmp_path, version="1")) == [0, 1]
    with pytest.raises(TypeError, match="the same argument"):
        data.Dataset.range(2).cache(tmp_path, path=tmp_path)


def test_methods_of_penstock_exist_and_keep_the_class():
    parts = data.Dataset.range(10).split({"a": 0.5, "b": 0.5})
    assert {type(part) for part in parts.values()} == {data.Dataset}
    assert type(data.Dataset.range(3).expand(2).exclude([0])) is data.Dataset
    assert list(data.Dataset.range(2).map(lambda x: x * 2, vectorized=True)) == [0, 2]
    assert type(data.Dataset.range(3).apply(lambda _: ps.Dataset.range(2))) is data.Dataset


def test_attribute_errors_of_functions_are_unchanged():
    ds = data.Dataset.range(3).map(lambda x: x.missing)
    with pytest.raises(RuntimeError, match=r"raised AttributeError: .* has no attribute 'missing'") as info:
        ds.element_spec  # noqa: B018 - it calls the function
    assert any("in map(" in note for note in info.value.__notes__)
    assert isinstance(info.value.__cause__, AttributeError)
    with pytest.raises(RuntimeError, match="missing"):
        hasattr(ds, "element_spec")  # which would else say that there is none
    with pytest.raises(AttributeError, match="has no 'misspelled'"):
        ds.misspelled  # noqa: B018

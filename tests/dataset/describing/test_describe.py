"""Passes that describe a dataset: equal to NumPy's figures, under every executor, and after interruptions."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import penstock as ps
from penstock.core.errors import CursorError, PlanError
from penstock.dataset.describing import describe
from tests.draws import draws

D = ps.Dataset


def exact(described):
    return json.dumps(described.to_dict())


def sample(i):
    rng = np.random.default_rng(int(i))
    return {
        "image": rng.integers(0, 256, (int(i) % 3 + 1, 4), np.uint8),
        "score": float(rng.normal()),
        "wave": rng.normal(size=int(i) % 5).astype(np.float32),
        "label": int(i) % 3,
        "name": None if i % 4 == 0 else f"name {i % 5}",
        "tags": ["a"] * (int(i) % 3),
    }


@given(arrays.arrays(np.float64, arrays.array_shapes(max_dims=2, max_side=40)))
@settings(max_examples=draws(30))
def test_figures_of_floats_are_those_of_numpy(array):
    leaf = D.from_tensor_slices(array).describe()[""] if array.ndim else None
    assert leaf is not None
    finite = array[np.isfinite(array)]
    assert (leaf.count, leaf.values) == (len(array), array.size)
    assert (leaf.nan, leaf.infinite) == (np.isnan(array).sum(), np.isinf(array).sum())
    assert leaf.missing == 0
    if finite.size and np.abs(finite).max() < 1e100:
        assert leaf.mean == pytest.approx(finite.mean(), rel=1e-9, abs=1e-9 * np.abs(finite).max())
        assert leaf.std == pytest.approx(finite.std(), rel=1e-6, abs=1e-6 * np.abs(finite).max())
    there = array[~np.isnan(array)]
    assert (leaf.min, leaf.max) == ((there.min(), there.max()) if there.size else (None, None))


@given(arrays.arrays(st.sampled_from(["i8", "u1", "?"]), arrays.array_shapes(max_dims=1, max_side=60)))
@settings(max_examples=draws(30))
def test_figures_of_integers_and_their_classes_are_those_of_numpy(array):
    leaf = D.from_tensor_slices({"x": array}).batch(7).describe()["x"]
    assert (leaf.min, leaf.max, leaf.values) == (int(array.min()), int(array.max()), array.size)
    assert leaf.mean == sum(array.tolist()) / array.size
    assert leaf.std == pytest.approx(np.std(array.astype(object)) if array.dtype.kind != "b" else array.std())
    numbers, counts = np.unique(array, return_counts=True)
    assert leaf.classes == dict(zip(numbers.tolist(), counts.tolist(), strict=True))


@pytest.mark.parametrize("executor", ["inline", "threads", "processes"])
def test_every_executor_finds_the_same(executor):
    ds = D.range(300).map(sample)
    options = ps.Options(executor=executor, workers=None if executor == "inline" else 2)
    assert exact(ds.with_options(options).describe()) == exact(ds.describe())


def test_streams_and_indexed_datasets_find_the_same():
    def numbers():
        yield from (sample(i) for i in range(50))

    assert exact(D.from_generator(numbers).describe()) == exact(D.range(50).map(sample).describe())


def stopping(after):
    """Return a function for progress that interrupts the pass once that many elements are done."""

    def progress(done, total):
        if done >= after:
            raise KeyboardInterrupt

    return progress


@pytest.mark.parametrize("after", [1, 7, 40, 49, 50])
@pytest.mark.parametrize(
    "ds",
    [
        D.range(50).map(sample),
        D.range(50).shuffle(seed=3).map(sample).batch(1),
        D.range(75).map(sample).filter(lambda x: x["label"] < 2),
        D.from_generator(lambda: (sample(i) for i in range(50))),
        D.range(50).map(sample).with_options(ps.Options(executor="threads", workers=2)),
    ],
    ids=["indexed", "shuffled", "stream", "generator", "threads"],
)
def test_an_interrupted_pass_continues_to_exactly_the_same(ds, after, tmp_path, monkeypatch):
    monkeypatch.setattr("penstock.dataset.describing.progress.TOLD_EVERY", -1.0)
    path = tmp_path / "state.json"
    with pytest.raises(KeyboardInterrupt):
        ds.describe(checkpoint=path, progress=stopping(after))
    assert path.exists()
    done = []
    again = ds.describe(checkpoint=path, progress=lambda n, total: done.append(n))
    assert exact(again) == exact(ds.describe())
    assert done[0] > after or after >= 40  # what was done is not done again
    assert list(tmp_path.iterdir()) == []


def test_a_pass_that_failed_continues_after_the_last_good_element(tmp_path):
    path, bad = tmp_path / "state.json", {30}

    def fragile(x):
        if int(x) in bad:
            raise OSError("the disk is gone")
        return float(x) / 3

    ds = D.range(50).map(fragile, thread_safe=True).with_options(ps.Options(executor="inline"))
    with pytest.raises(OSError, match="the disk is gone"):
        ds.describe(checkpoint=path)
    assert json.loads(path.read_text())["tallies"]["elements"] == 30
    bad.clear()
    expected = D.range(50).map(lambda x: float(x) / 3).describe()
    assert exact(ds.describe(checkpoint=path)) == exact(expected)


def test_a_checkpoint_of_another_dataset_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("penstock.dataset.describing.progress.TOLD_EVERY", -1.0)
    path = tmp_path / "state.json"
    with pytest.raises(KeyboardInterrupt):
        D.range(9).describe(checkpoint=path, progress=stopping(2))
    with pytest.raises(CursorError) as error:
        D.range(10).describe(checkpoint=path)
    assert "remove the file to begin again" in "".join(error.value.__notes__)
    with pytest.raises(ValueError, match=r"describe\(limit=1\): the checkpoint .* already has 2 elements"):
        D.range(9).describe(checkpoint=path, limit=1)
    assert D.range(9).describe(checkpoint=path, limit=5).elements == 5


def test_a_checkpoint_that_cannot_be_written_does_not_end_the_pass(tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(describe, "SAVED_EVERY", 0.0)
    found = D.range(3).describe(checkpoint=tmp_path / "nowhere" / "state.json")
    assert found.elements == 3
    assert "cannot be written, and the pass goes on" in caplog.text


def test_checkpoints_are_written_while_the_pass_goes_on(tmp_path, monkeypatch):
    monkeypatch.setattr(describe, "SAVED_EVERY", 0.0)
    path = tmp_path / "state.json"
    seen = []

    def watched(x):
        seen.append(path.exists())
        return x

    D.range(9).map(watched, thread_safe=True).with_options(ps.Options(executor="inline")).describe(checkpoint=path)
    assert seen[-1]
    assert not path.exists()


def test_endless_datasets_need_a_limit():
    with pytest.raises(PlanError, match=r"describe\(\): this dataset never ends; pass limit="):
        D.range(3).repeat().describe()
    found = D.counter().describe(limit=100)
    assert (found.elements, found[""].max) == (100, 99)
    assert D.range(3).describe(limit=9).elements == 3
    assert D.range(3).describe(limit=0).elements == 0


def test_a_limit_takes_no_element_of_a_generator_beyond_it():
    taken = []

    def numbers():
        for number in range(100):
            taken.append(number)
            yield number

    ds = D.from_generator(numbers).with_options(ps.Options(executor="inline"))
    assert ds.describe(limit=3)[""].max == 2
    assert len(taken) <= 4


def test_passes_go_on_where_they_were():
    ds = D.range(20).shuffle(seed=0).with_options(ps.Options(executor="threads", workers=2))
    it = iter(ds)
    first = next(it)
    ds.describe()
    assert ds.epoch == 0
    assert [first, *it] == list(D.range(20).shuffle(seed=0).iterator(epoch=0))


def test_errors_of_functions_keep_their_notes():
    with pytest.raises(ZeroDivisionError) as error:
        D.range(-2, 3).map(lambda x: 1 // x).describe()
    assert "row 2" in "".join(error.value.__notes__)


def test_progress_knows_the_number_of_elements(monkeypatch):
    monkeypatch.setattr("penstock.dataset.describing.progress.TOLD_EVERY", 1e9)
    calls = []
    D.range(7).describe(progress=lambda done, total: calls.append((done, total)))
    D.range(7).describe(limit=3, progress=lambda done, total: calls.append((done, total)))
    D.range(7).filter(bool).describe(progress=lambda done, total: calls.append((done, total)))
    assert calls == [(7, 7), (3, 3), (6, None)]


def test_ranks_describe_their_part():
    ds = D.range(8).batch(4).shard_by_rank(rank=1, world=2)
    assert ds.describe()[""].classes == dict.fromkeys((2, 3, 6, 7), 1)


def test_a_bytearray_is_described_as_bytes_are():
    for kind in (bytes, bytearray):
        (leaf,) = ps.Dataset.from_source([kind(b"ab"), kind(b"abcd"), kind(b"ab")]).describe().leaves.values()
        assert (leaf.specs, leaf.lengths, leaf.classes) == ({kind.__name__: 3}, (2, 8 / 3, 4), {b"ab": 2, b"abcd": 1})

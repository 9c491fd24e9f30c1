"""Writing elements: complete or not at all."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from penstock import Dataset
from penstock.core.errors import ElementError, PlanError
from penstock.elements.ragged import Ragged
from penstock.sources.saved.reading import saved
from penstock.sources.saved.writing import save
from penstock.testing.laws import same


def written(elements, folder, *, overwrite=False):
    save(elements, str(folder), fingerprint="", overwrite=overwrite)
    return list(Dataset.load(folder))


@pytest.mark.parametrize(
    "elements",
    [
        [1, 2],
        [True, False],
        [1.5, -0.0, float("nan")],
        [np.float32(1), np.float32(2)],
        [np.datetime64("2020-01-01"), np.datetime64("NaT", "D")],
        [np.zeros((0, 3)), np.ones((0, 3))],
        [np.zeros((0, 3)), np.ones((2, 3))],
        [np.arange(n, dtype=np.int16).reshape(n, 1) for n in (3, 1, 2)],
        [np.asfortranarray(np.arange(6).reshape(2, 3)), np.arange(12).reshape(2, 6)[:, ::2]],
        [np.arange(n, n + 3).astype(">i2") for n in (0, 300)],
        [np.arange(n).astype(">f4") for n in (2, 3)],
        [np.array(["é", "ab"], ">U2")],
        [np.array([(n, 2.5)], [("a", ">i2"), ("b", "<f8")]) for n in (1, 2)],
        ["", "a", "é\ud800", "\x00"],
        [b"", b"\x00\xff"],
        [{"z": 1, "a": [1, ("x", None)]}, {"z": 2, "a": [3, ("y", None)]}],
        [{"z": 1, "a": {}}],
    ],
    ids=repr,
)
def test_elements_are_restored_exactly(elements, tmp_path):
    assert all(map(same, written(elements, tmp_path / "a"), elements))
    assert saved(tmp_path / "a").length == len(elements)


def test_shapes_may_begin_to_differ_late(tmp_path):
    elements = [np.full(3 if n < 9000 else 2, n) for n in range(9001)]
    assert all(map(same, written(elements, tmp_path / "a"), elements))
    even = elements[:-1]
    written(even, tmp_path / "b")
    assert np.load(tmp_path / "b" / "leaf-0.npy").tolist() == np.stack(even).tolist()


@pytest.mark.parametrize(
    ("elements", "says"),
    [
        ([1, 1.5], "element 1 is float64, and the first is int64 of 0 dimensions"),
        ([np.zeros(2), np.zeros((2, 2))], r"element 1 is float64\[2, 2\], and the first is float64 of 1 dimensions"),
        ([{"x": "a"}, {"x": b"a"}], r'element 1 at \["x"\] is bytes, and the first is str'),
        ([1, "a"], "element 1 is str"),
        ([(1, 2), (1, 2, 3)], "structure"),
        ([{"x": 1}, {"y": 1}], "structure"),
        ([object()], "is not a number, an array of numbers"),
        ([{"o": np.array(["a"], object)}], r'at \["o"\] is not a number'),
        ([Ragged.from_rows([[1], [2, 3]])], "is not a number, an array of numbers"),
        ([np.rec.array([(1, 0.5)], dtype=[("a", int), ("b", float)])], "has records; map it to np.asarray"),
        ([{3: 1}], r"the keys \[3\]; map them to strings"),
    ],
)
def test_unsupported_elements_are_named_and_leave_no_folder(elements, says, tmp_path):
    with pytest.raises(ElementError, match=says):
        written(elements, tmp_path / "a")
    assert os.listdir(tmp_path) == []


def test_the_advice_for_records_makes_an_array_that_can_be_saved(tmp_path):
    records = np.rec.array([(1, 0.5)], dtype=[("a", int), ("b", float)])
    written([np.asarray(records).view(np.dtype((np.void, records.dtype)))], tmp_path / "a")


@pytest.mark.parametrize(("dtype", "bits"), [("bfloat16", "uint16"), ("float8_e4m3fn", "uint8")])
def test_dtypes_that_files_do_not_hold_are_refused_with_what_to_do(dtype, bits, tmp_path):
    value = np.full(3, 1.5, getattr(pytest.importorskip("ml_dtypes"), dtype))
    with pytest.raises(ElementError, match=rf"hold no {dtype}, .*value\.view\(np\.{bits}\)"):
        written([value], tmp_path / "a")
    written([value.view(bits)], tmp_path / "a")


def test_named_tuples_are_refused(tmp_path):
    from penstock.testing.functions import Pair

    with pytest.raises(ElementError, match="contains a Pair; map it to a dict or a tuple"):
        written([Pair(1, 2)], tmp_path / "a")


def test_a_failure_keeps_the_existing_folder(tmp_path):
    written([1, 2], tmp_path / "a")

    def failing():
        yield 3
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        written(failing(), tmp_path / "a", overwrite=True)
    assert list(Dataset.load(tmp_path / "a")) == [1, 2]
    assert os.listdir(tmp_path) == ["a"]


def test_overwrite_replaces_only_saved_datasets(tmp_path):
    written([1, 2], tmp_path / "a")
    with pytest.raises(FileExistsError, match="pass overwrite=True"):
        written([3], tmp_path / "a")
    assert written([3], tmp_path / "a", overwrite=True) == [3]
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("...")
    (tmp_path / "file").write_text("...")
    for name in ("mine", "file"):
        with pytest.raises(FileExistsError, match="not a saved dataset, so it is not overwritten"):
            written([3], tmp_path / name, overwrite=True)
    (tmp_path / "empty").mkdir()
    assert written([4], tmp_path / "empty") == [4]
    assert sorted(os.listdir(tmp_path)) == ["a", "empty", "file", "mine"]
    assert written([5], tmp_path / "new" / "deeper") == [5]


def test_save_writes_one_epoch(tmp_path):
    ds = Dataset.range(50).shuffle(seed=1).map(lambda x: {"x": x})
    ds.save(tmp_path / "a")
    assert [e["x"] for e in Dataset.load(tmp_path / "a")] == [e["x"] for e in ds.iterator(epoch=0)]
    Dataset.range(9).filter(lambda x: x > 3).save(tmp_path / "b")
    assert list(Dataset.load(tmp_path / "b")) == [4, 5, 6, 7, 8]
    with pytest.raises(PlanError, match="never ends"):
        Dataset.counter().save(tmp_path / "c")
    with pytest.raises(TypeError, match=r"save\(overwrite=1\)"):
        Dataset.range(3).save(tmp_path / "a", overwrite=1)


def test_a_number_that_no_int64_holds_is_named(tmp_path):
    with pytest.raises(ElementError, match=r"element 1 is 1180591620717411303424, beyond int64"):
        Dataset.from_source([1, 2**70]).save(tmp_path / "a")


FULL = """
import gc, resource, signal, sys, warnings
import penstock as ps

warnings.simplefilter("always")
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
ds = ps.Dataset.range(3).map(lambda x: (x, str(x)))
list(ds)
resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
try:
    ds.save(sys.argv[1])
except OSError as error:
    print(error)
gc.collect()
"""


def test_a_save_that_finds_no_room_closes_all_its_files(tmp_path):
    run = subprocess.run(
        [sys.executable, "-c", FULL, str(tmp_path / "saved")], capture_output=True, text=True, check=True
    )
    assert "File too large" in run.stdout
    assert run.stderr == ""

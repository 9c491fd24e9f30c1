"""Records of one length: the slices of the file, as bytes or as rows of an array."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import penstock as ps
from penstock.core.errors import DataError, PlanError
from penstock.sources.records.fixed import fixed_files
from penstock.testing.sources import verify_source


def read(files, rows, out=None):
    return files.read_many(np.asarray(rows, np.int64), out).columns[0]


@given(
    counts=st.lists(st.integers(0, 5), min_size=1, max_size=3),
    size=st.integers(1, 9),
    header=st.integers(0, 5),
    footer=st.integers(0, 5),
)
def test_records_are_the_slices_of_the_files(tmp_path_factory, counts, size, header, footer):
    paths, wanted = [], []
    for number, count in enumerate(counts):
        path = tmp_path_factory.getbasetemp() / f"{number}.bin"
        body = np.random.default_rng(number).bytes(count * size)
        path.write_bytes(b"h" * header + body + b"f" * footer)
        paths.append(str(path))
        wanted += [body[i * size : (i + 1) * size] for i in range(count)]
    files = fixed_files(paths, size, header_bytes=header, footer_bytes=footer)
    order = np.random.default_rng(0).permutation(len(wanted))
    assert files.length == len(wanted)
    assert read(files, order) == [wanted[i] for i in order]
    if wanted:
        columns = read(fixed_files(paths, size, header_bytes=header, footer_bytes=footer, dtype=np.uint8), order)
        assert columns.tobytes() == b"".join(wanted[i] for i in order)


def test_records_are_written_into_the_memory_given(tmp_path):
    path = tmp_path / "points.bin"
    points = np.arange(24, dtype="i2").reshape(4, 2, 3)
    points.tofile(path)
    files = fixed_files([str(path)], dtype="i2", shape=(2, 3))
    out = np.zeros((3, 2, 3), "i2")
    assert read(files, [3, 0, 3], [out]) is out
    assert out.tolist() == points[[3, 0, 3]].tolist()
    strided = np.zeros((3, 2, 6), "i2")[..., ::2]
    assert read(files, [1, 2, 0], [strided]).tolist() == points[[1, 2, 0]].tolist()


def test_byte_order_is_converted_to_that_of_the_machine(tmp_path):
    path = tmp_path / "points.bin"
    points = np.arange(500, 524, dtype=">i2").reshape(4, 6)
    points.tofile(path)
    files = fixed_files([str(path)], dtype=">i2", shape=(6,))
    assert repr(files.spec()) == "int16[6]"
    for out in (None, [np.zeros((2, 6), np.int16)]):
        found = read(files, [3, 1], out)
        assert found.dtype == np.int16
        assert found.tolist() == points[[3, 1]].tolist()


def test_a_pipeline_shuffles_and_batches_them(tmp_path):
    path = tmp_path / "labels.bin"
    np.arange(100, dtype=np.int32).tofile(path)
    ds = ps.read_fixed_length(path, dtype=np.int32).shuffle(seed=1).batch(7)
    assert repr(ds.element_spec) == "int32[?]"
    assert sorted(np.concatenate(list(ds)).tolist()) == list(range(100))
    assert [place.name for place in ps.read_fixed_length(path, 4).locate(3)] == [f"{path}, record 3"]


def test_a_file_whose_size_does_not_fit_is_an_error_with_the_sizes(tmp_path):
    path = tmp_path / "a.bin"
    path.write_bytes(bytes(23))
    told = r"a\.bin has 23 bytes.* of 5, a header of 1 and a footer of 0: 4 and 2 bytes"
    with pytest.raises(DataError, match=told):
        ps.read_fixed_length(path, 5, header_bytes=1)
    with pytest.raises(DataError, match="fewer than a header of 20 and a footer of 4"):
        ps.read_fixed_length(path, 5, header_bytes=20, footer_bytes=4)


def test_a_file_that_changes_is_an_error(tmp_path):
    path = tmp_path / "a.bin"
    path.write_bytes(bytes(20))
    ds = ps.read_fixed_length(path, 5)
    path.write_bytes(bytes(15))
    with pytest.raises(
        DataError,
        match=r"record 1, at byte 5 of .*a\.bin: the file had 20 bytes .* and has 15 now",
    ):
        ds[1]


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({}, "record_bytes, or dtype and shape"),
        ({"shape": [2]}, "dtype with shape"),
        ({"record_bytes": 7, "dtype": np.int16}, "not a multiple of 2"),
        ({"record_bytes": 7, "dtype": np.int16, "shape": [3]}, "has 6 bytes; omit record_bytes="),
        ({"dtype": object}, "cannot hold values of this dtype"),
    ],
)
def test_invalid_layouts_are_refused(settings, told):
    with pytest.raises(PlanError, match=told):
        fixed_files([], **settings)


def test_the_form_of_a_record_may_be_given_in_parts():
    def layout(**settings):
        files = fixed_files([], **settings)
        return files.record_bytes, files.shape

    assert layout(dtype=np.int32) == (4, ())
    assert layout(record_bytes=12, dtype=np.int32) == (12, (3,))
    assert layout(record_bytes=12, dtype=np.int32, shape=(1, 3)) == (12, (1, 3))
    assert layout(dtype=[("x", "f4"), ("y", "u1")]) == (5, ())


@pytest.mark.parametrize("settings", [{"record_bytes": 6}, {"dtype": ">i2", "shape": (3,)}, {"dtype": np.int16}])
def test_the_source_passes_the_conformance_checks(tmp_path, settings):
    for name in "ab":
        (tmp_path / name).write_bytes(np.random.default_rng(1).bytes(6 * 50))
    verify_source(fixed_files([str(tmp_path / "a"), str(tmp_path / "b")], **settings))


def test_the_pickled_source_is_equal_and_its_fingerprint_has_the_layout(tmp_path):
    path = tmp_path / "a.bin"
    path.write_bytes(bytes(range(24)))
    settings = ({"record_bytes": 4}, {"record_bytes": 8}, {"dtype": np.int32}, {"dtype": np.float32})
    sources = [fixed_files([str(path)], **each) for each in settings]
    assert len({source.fingerprint() for source in sources}) == len(settings)
    assert read(pickle.loads(pickle.dumps(sources[0])), [1]) == [bytes([4, 5, 6, 7])]

"""Indexes with every checksum right whose arrays no scan has made: they are made again, or reading is an error."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

import penstock as ps
from penstock.core.errors import DataError
from penstock.storage.sidecar import Sidecar
from tests.sources import mutations

LINES = {"txt": ps.read_text, "some.txt": lambda path: ps.read_text(path, keep_empty=False, skip_lines=2)}
FORMATS = {
    **{name: (mutations.lines, read) for name, read in LINES.items()},
    "tfrecord": (mutations.tfrecords, ps.read_tfrecord),
    "tfrecord.zst": (mutations.frames, ps.read_tfrecord),
    "jsonl": (mutations.objects, ps.read_json),
    "tar": (mutations.samples, lambda path: ps.read_tar(path, columns=["txt?", "cls?"])),
    "csv": (
        lambda: b"a,b\n" + b"".join(b'%d,"x,%d\n"\n' % (i, i) for i in range(90)),
        lambda path: ps.read_csv(path, block_bytes=99),
    ),
    "mds": (mutations.one_mds, ps.read_mds),
    "litdata": (mutations.one_litdata, ps.read_litdata),
    "litdata.batch": (mutations.framed_litdata, ps.read_litdata),
    "litdata.sample": (mutations.sampled_litdata, ps.read_litdata),
    "litdata.arrow": (mutations.arrow_litdata, ps.read_litdata),
}
NEEDS = {
    "tfrecord.zst": "zstandard", "litdata.batch": "zstandard", "litdata.sample": "zstandard",
    "litdata.arrow": "pyarrow", "csv": "pyarrow",
}  # fmt: skip
NUMBERS = [-1, 0, 1, 7, 5000, 1 << 31, 1 << 32, 1 << 40, 1 << 62, (1 << 63) - 1, -(1 << 31), -(1 << 63)]


@pytest.fixture(params=FORMATS)
def data(request, tmp_path):
    """The path of data, how it is read, the path of its index, and that."""
    make, read = FORMATS[request.param]
    pytest.importorskip(NEEDS.get(request.param, "numpy"))
    if request.param.startswith(("mds", "litdata")):
        path = make(tmp_path)
    else:
        path = tmp_path / f"a.{request.param}"
        path.write_bytes(make())
    assert list(read(path))
    (index,) = tmp_path.rglob("*.psindex")
    found = Sidecar.load(str(index))
    return path, read, index, Sidecar(
        found.format, found.parameters, found.stamp, {name: np.array(array) for name, array in found.arrays.items()}
    )  # fmt: skip


def put(index: Path, whole: Sidecar, **arrays: np.ndarray | None) -> None:
    """Write the index with some arrays replaced or removed."""
    changed = {name: array for name, array in {**whole.arrays, **arrays}.items() if array is not None}
    Sidecar(whole.format, whole.parameters, whole.stamp, changed).save(str(index))


def test_arrays_of_another_form_are_made_again(data):
    path, read, index, whole = data
    elements = repr(list(read(path)))
    for name, array in whole.arrays.items():
        other_type = array.astype(np.float32)
        for other in (None, other_type, array[None], array[..., None], np.zeros((), array.dtype), np.array([99] * 300)):
            put(index, whole, **{name: other})
            assert repr(list(read(path))) == elements
            assert Sidecar.load(str(index)).arrays[name].dtype == array.dtype  # it was replaced


def changed(array: np.ndarray, draw: random.Random) -> np.ndarray:
    """The array with a few numbers that it should not have, or with others of them than there are."""
    made = array.copy()
    match draw.randrange(6):
        case 0:
            return made[: draw.randrange(len(made) + 1)]
        case 1:
            return np.concatenate([made, made[: draw.randrange(len(made) + 1)]])
        case 2:
            return made[::-1].copy()
        case 3:
            return made + made.dtype.type(draw.choice([1, 16, 100]))
        case _:
            for _ in range(draw.choice([1, 2, 5]) if made.size else 0):
                number = draw.choice([*NUMBERS, int(made.flat[draw.randrange(made.size)]) + draw.choice([-1, 0, 1])])
                made.flat[draw.randrange(made.size)] = np.array(number).astype(made.dtype)
            return made


def test_indexes_with_any_numbers_are_made_again_read_or_refused(data, monkeypatch):
    path, read, index, whole = data
    draw = random.Random(index.name)
    uses = [
        list,
        lambda ds: list(ds.shuffle(seed=1)),
        lambda ds: list(ds.skip(2).take(3)),
        lambda ds: [ds[0], ds[len(ds) - 1], ds.locate(len(ds) - 1)] if len(ds) else None,
    ]
    kept = 0
    for _ in range(60):
        name = draw.choice(sorted(whole.arrays))
        put(index, whole, **{name: changed(whole.arrays[name], draw)})
        before = index.read_bytes()
        try:
            draw.choice(uses)(read(path))
        except DataError as error:
            assert str(path) in "\n".join([str(error), *getattr(error, "__notes__", [])])  # noqa: PT017
        kept += index.read_bytes() == before
    assert kept < 60

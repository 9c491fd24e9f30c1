"""`ps.read_tar` and `ds.write_tar` as users meet them."""

from __future__ import annotations

import gzip
import io

import numpy as np
import pytest

import penstock as ps
from penstock.testing.laws import verify_determinism, verify_resume


@pytest.fixture
def shards(tmp_path):
    samples = [{"__key__": f"d/{i:03d}", "cls": i % 5, "txt": f"text {i}"} for i in range(50)]
    names = ps.Dataset.from_source(samples).write_tar(tmp_path / "s.tar", max_bytes=20_000)
    assert len(names) == 5
    return str(tmp_path / "s-*.tar")


def test_samples_are_read_at_random(shards):
    ds = ps.read_tar(shards, decode=True)
    assert len(ds) == 50
    assert ds[17] == {"__key__": "d/017", "cls": 2, "txt": "text 17"}
    keys = [sample["__key__"] for sample in ds.shuffle(seed=1)]
    assert keys != sorted(keys) == [f"d/{i:03d}" for i in range(50)]
    batch = next(iter(ds.batch(4)))
    assert batch["cls"].dtype == np.int64
    assert batch["cls"].tolist() == [0, 1, 2, 3]
    assert batch["txt"].tolist() == ["text 0", "text 1", "text 2", "text 3"]


def test_iterators_resume_exactly(shards):
    for ds in (ps.read_tar(shards, decode={"cls": int}), ps.read_tar(shards, columns=["cls"]).shuffle(seed=1)):
        verify_resume(ds.map(lambda x: int(x["cls"])).batch(7), most=8)
        verify_determinism(ds.map(lambda x: int(x["cls"])).batch(7))


def test_a_bad_record_is_named_and_can_be_left_out(tmp_path):
    samples = [{"cls": "3"}, {"cls": "four"}, {"cls": "5"}]
    ps.Dataset.from_source(samples).write_tar(tmp_path / "a.tar")
    ds = ps.read_tar(tmp_path / "a.tar", decode=True).map(lambda x: x["cls"])
    with pytest.raises(ps.errors.DataError, match=r"a.tar: '00000001.cls'.*b'four'") as caught:
        list(ds)
    assert any("ds[1]" in note for note in caught.value.__notes__)
    assert list(ds.ignore_errors()) == [3, 5]


def test_compressed_archives_are_a_stream(shards, tmp_path):
    import glob

    for path in glob.glob(shards):
        with open(path, "rb") as file:
            (tmp_path / (path.split("/")[-1] + ".gz")).write_bytes(gzip.compress(file.read()))
    ds = ps.read_tar(tmp_path / "*.tar.gz", columns=["cls", "txt"], decode=True)
    assert ds.cardinality() == ps.UNKNOWN
    assert list(ds) == list(ps.read_tar(shards, decode=True))
    verify_resume(ds.map(lambda x: x["cls"]).batch(7), most=8)
    with pytest.raises(
        ps.errors.PlanError, match=r"s-00000-of-00005.tar.gz is compressed \(gzip\).*name the extensions"
    ):
        ps.read_tar(tmp_path / "*.tar.gz")
    with pytest.raises(ps.errors.DataError, match="gzip data is damaged"):
        list(ps.read_tar(shards, columns=["cls"], compression="gzip"))


def test_images_are_decoded_by_the_fused_kernel(tmp_path):
    pillow = pytest.importorskip("PIL.Image")
    samples = []
    for i in range(6):
        file = io.BytesIO()
        pillow.fromarray(np.full((40, 50, 3), 40 * i, np.uint8)).save(file, "jpeg")
        samples.append({"jpg": file.getvalue(), "cls": i})
    ps.Dataset.from_source(samples).write_tar(tmp_path / "a.tar")
    ds = (
        ps.read_tar(tmp_path / "a.tar", columns={"image": "jpg;png", "label": "cls"}, decode=True)
        .map(ps.image.decode(), on="image")
        .map(ps.image.random_resized_crop(16), on="image")
        .batch(3)
    )
    assert "decode() → random_resized_crop((16, 16))" in ds.explain()
    images = np.concatenate([batch["image"] for batch in ds])
    assert images.shape == (6, 16, 16, 3)
    assert np.abs(images.mean((1, 2, 3)) - 40 * np.arange(6)).max() < 3


def test_a_dataset_is_written_to_archives(tmp_path):
    names = ps.Dataset.range(5).map(lambda x: {"cls": x}).write_tar(tmp_path / "a.tar")
    assert [x["cls"] for x in ps.read_tar(names, decode=True).shuffle(seed=3)] != [0, 1, 2, 3, 4]
    with pytest.raises(FileExistsError):
        ps.Dataset.from_source([]).write_tar(tmp_path / "a.tar")
    assert ps.Dataset.from_source([]).write_tar(tmp_path / "a.tar", overwrite=True) == names
    assert list(ps.read_tar(names)) == []


def test_wrong_arguments_are_refused(shards):
    with pytest.raises(TypeError, match="columns="):
        ps.read_tar(shards, columns="jpg")
    with pytest.raises(ps.errors.PlanError, match="compression='zip'"):
        ps.read_tar(shards, compression="zip")
    with pytest.raises(TypeError, match="decode"):
        ps.read_tar(shards, decode="yes")
    with pytest.raises(TypeError, match="overwrite"):
        ps.Dataset.from_source([]).write_tar(shards, overwrite=1)

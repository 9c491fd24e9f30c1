"""The rule that makes one kernel of a run of image operations."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

import penstock as ps
from penstock import Dataset, image
from penstock.image.fused import FusedImage
from penstock.ops.elementwise.map import Map
from penstock.plan.graph import post_order
from penstock.rewrite.fuse_images import fuse_image_chain
from penstock.rewrite.passes import rewritten
from penstock.rewrite.seeds import bind_seeds
from penstock.testing.alike import difference
from tests.image.photos import encoded

FILES = Dataset.from_tensor_slices({"image": [b"", b""], "label": [0, 1]})


def maps(ds):
    return [node for node in post_order(rewritten(bind_seeds(ds._plan, 1)).plan) if isinstance(node, Map)]


def test_a_run_on_one_part_becomes_one_operation():
    ds = (
        FILES.map(image.decode(), on="image")
        .map(image.random_resized_crop(8), on="image")
        .map(image.random_flip(), on="image")
        .batch(2)
    )
    (fused,) = maps(ds)
    assert isinstance(fused.function, FusedImage)
    assert fused.on == "image"
    assert len(fused.function.ops) == 3
    assert fused.spec() == ds._plan.input.spec()


def test_operations_on_other_parts_stay_apart():
    two = Dataset.from_tensor_slices({"a": [b""], "b": [b""]})
    made = maps(two.map(image.decode(), on="a").map(image.resize(8), on="a").map(image.decode(), on="b"))
    assert sorted({each.on for each in made}) == ["a", "b"]


def test_a_function_of_the_user_ends_the_run():
    ds = FILES.map(image.decode(), on="image").map(lambda x: x, on="image").map(image.random_flip(), on="image")
    assert [isinstance(each.function, FusedImage) and len(each.function.ops) for each in maps(ds)][1] is False


def test_the_rule_leaves_everything_else_alone():
    for ds in (FILES, FILES.map(len), FILES.batch(2)):
        assert fuse_image_chain(ds._plan) is None


@pytest.fixture
def photos(tmp_path):
    """A folder of two classes: JPEGs, a PNG, one with a name that is no text, and one of another size."""
    rng = np.random.default_rng(0)
    for number in range(12):
        folder = tmp_path / f"class{number % 2}"
        folder.mkdir(exist_ok=True)
        pixels = rng.integers(0, 255, (20 + number % 3, 30, 3), np.uint8)
        name = "odd\udcff.jpg" if number == 5 else f"{number}.{'png' if number == 4 else 'jpg'}"
        Image.fromarray(pixels).save(tmp_path / folder / name, format="PNG" if number == 4 else "JPEG")
    return tmp_path


def pipeline(folder):
    return (
        ps.read_image_folder(folder)
        .shuffle(seed=1)
        .map(image.decode(exact=True), on="image")
        .map(image.random_resized_crop(8), on="image")
        .map(image.random_flip(), on="image")
        .with_options(ps.Options(seed=2))
    )


@pytest.mark.parametrize("executor", ["inline", "threads"])
def test_files_are_read_by_the_kernel_and_give_the_same_images(photos, executor):
    ds = pipeline(photos).batch(5).with_options(ps.Options(executor=executor))
    assert "read_in_kernel" in ds.explain()
    assert "read → decode(exact=True)" in ds.explain()
    plain = ds.with_options(ps.Options(rewrite=False))
    for one, other in zip(ds.iterator(epoch=0), plain.iterator(epoch=0), strict=True):
        np.testing.assert_array_equal(one["label"], other["label"])
        np.testing.assert_array_equal(one["image"], other["image"])


def test_images_of_any_size_are_read_by_the_kernel_too(photos):
    ds = ps.read_image_folder(photos).map(image.decode(), on="image")
    assert "read_in_kernel" in ds.explain()
    plain = ds.with_options(ps.Options(rewrite=False))
    assert [e["image"].tolist() for e in ds] == [e["image"].tolist() for e in plain]


def test_the_contents_of_files_alone_are_decoded_as_they_are_read(photos):
    ds = ps.read_files(str(photos / "class0" / "*")).map(image.decode()).map(image.center_crop(8))
    assert "read_in_kernel" in ds.explain()
    assert [len(each) for each in ds] == [8] * 6


def test_a_file_that_is_gone_is_named(photos):
    ds = pipeline(photos).batch(12)
    (photos / "class0" / "8.jpg").unlink()
    with pytest.raises(FileNotFoundError, match=r"8\.jpg") as caught:
        list(ds)
    notes = "\n".join(caught.value.__notes__)
    assert "moved or deleted" in notes
    assert "made from" in notes
    assert "8.jpg" in notes.split("made from")[1]


def test_operations_that_use_the_bytes_still_get_them(photos):
    ds = ps.read_image_folder(photos).map(len, on="image").map(lambda e: e)
    assert "read_in_kernel" not in ds.explain()
    assert all(e["image"] > 100 for e in ds)
    early = ps.read_image_folder(photos).filter(lambda e: len(e["image"]) > 0).map(image.decode(), on="image")
    assert "read_in_kernel" not in early.explain()


@pytest.fixture(scope="module")
def large():
    """JPEGs that a chain decodes at a reduced scale, on which it differs from one operation after another."""
    y, x = np.mgrid[:375, :500]
    pixels = np.stack([x % 256, y % 256, x * y % 256], -1).astype(np.uint8)
    return [encoded(pixels), encoded(pixels[::-1]), encoded(pixels[:, ::-1])]


CHAINS = {
    "resize": lambda ds: ds.map(image.decode()).map(image.resize(64)),
    "cropped": lambda ds: ds.map(image.decode()).map(image.resize(20)).map(image.center_crop(16)),
    "random": lambda ds: ds.map(image.decode()).map(image.random_resized_crop(64)).map(image.random_flip()),
    "prefetched": lambda ds: ds.map(image.decode()).prefetch(1).map(image.resize(64)),
    "on a part": lambda ds: (
        ds.map(lambda x: {"image": x}).map(image.decode(), on="image").map(image.resize(9), on="image")
    ),
    "whole take between": lambda ds: ds.map(image.decode()).take(3).map(image.resize(64)),
    "ignoring errors": lambda ds: ds.map(image.decode()).map(image.resize(64)).ignore_errors(),
}


def same(one, other):
    assert difference(one, other) is None


@pytest.mark.parametrize("name", CHAINS)
def test_single_elements_have_the_pixels_of_the_run(large, name):
    ds = CHAINS[name](Dataset.from_source(large)).with_options(ps.Options(seed=5))
    first = list(ds.iterator(epoch=0))
    for row, wanted in enumerate(first):
        if ds._plan.indexed:
            same(ds[row], wanted)
        same(ds.explain(row=row).element, wanted)
        same(ds.explain(row=row).operations[-1].elements[0], wanted)
    same(list(ds.with_options(ps.Options(rewrite=False)).iterator(epoch=0)), first)
    same(list(ds.head(3)), first)
    if ds._plan.indexed:
        (batch,) = ds.batch(3)
        same(ds.batch(3)[0], batch)
        same(ds.batch(3).explain(row=0).element, batch)
        same(ds.batch(3).replay(0), batch)
        same(ds[2:][0], first[2])
    ps.testing.verify_determinism(ds)

"""The rule that makes one kernel of a run of image operations."""

from __future__ import annotations

from penstock import Dataset, image
from penstock.image.fused import FusedImage
from penstock.ops.elementwise.map import Map
from penstock.plan.graph import post_order
from penstock.rewrite.fuse_images import fuse_image_chain
from penstock.rewrite.passes import rewritten
from penstock.rewrite.seeds import bind_seeds

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
